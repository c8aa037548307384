"""How a condition of WordCraft's experiments becomes a run: training, or a baseline without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.data.settings import Count, settings
from gumption.scripts.experiments import FINAL, Condition, Experiment, Job, Kind

from . import report

if TYPE_CHECKING:
    from rich.console import RenderableType


@settings
class Options:
    """Of the command line, for WordCraft's experiments alone."""

    recipe_book: Annotated[
        str, typer.Option(help="Name of a recipe book, or a file (.tsv, or .json in the form of the 2020 release).")
    ] = "commonsense"
    word_vectors: Annotated[
        str | None, typer.Option(help="File with word vectors; without it, the ones that ship or were fetched.")
    ] = None
    total_steps: Annotated[
        Count | None, typer.Option(help="Steps of each training.  (default: the paper's 3,000,000)")
    ] = None
    preset: Annotated[Literal["fast", "paper"], typer.Option(help="fast (tuned) or paper (Table 1's parameters).")] = (
        "fast"
    )
    human: Annotated[
        list[Path] | None, typer.Option(help="Result of `gumption play wordcraft` to draw in; may be given again.")
    ] = None


class WordCraftRuns(Kind):
    """WordCraft's experiments."""

    title = "WordCraft's experiments"
    options = Options
    fixed = ("recipe_book_hash", "split_hash")

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """Recipe book, preset and device, and what else was given."""
        given = {"word_vectors": options.word_vectors, "total_steps": options.total_steps}
        common = {"recipe_book": options.recipe_book, "preset": options.preset, "device": device}
        return common | {name: value for name, value in given.items() if value is not None}

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """Which book and which split."""
        from gumption.envs.wordcraft import RecipeBook, make_split

        book, base = RecipeBook.load(common["recipe_book"]), experiment.base
        split = make_split(book, base["split"], base["train_ratio"], 0, base["depth"])
        return {"recipe_book": book.name, "recipe_book_hash": book.hash, "split_hash": split.hash}

    def run(self, job: Job, progress: bool) -> None:
        """Train the agent of a job, or measure its baseline; either leaves final.json in the job's directory."""
        run_job(job, progress)

    def told(self, job: Job) -> str:
        """Its success on the test tasks."""
        return f"{report.read_final(job.directory)['test_success']:.3f}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Panels, method, and the scores with their intervals."""
        return report.row(condition, runs)

    def more_rows(
        self, options: Options, plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """A row for each person who played."""
        return [report.person(path, plan, rows) for path in options.human or []]

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """A table for each panel, with what the figures come from below."""
        return report.markdown(results)

    def headline(self, results: Mapping[str, Any]) -> str:
        """The success of each condition, a column for each panel."""
        return report.headline(results)

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """The main columns of the table."""
        return report.overview(results)

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Curves over training and final success, .png and .svg."""
        return report.plots(results, directory)


KIND = WordCraftRuns()


def run_job(job: Job, progress: bool) -> None:
    """Train the agent of a job, or measure its baseline; either leaves final.json in the job's directory."""
    from gumption.agents.impala import train_impala
    from gumption.agents.wordcraft.config import TrainConfig
    from gumption.agents.wordcraft.runs import baseline

    config = TrainConfig(**job.settings)
    if job.method == "train":
        train_impala(config, run_dir=job.directory, progress=progress, resume=True)
        return
    started = perf_counter()
    policy = _trained(job) if job.method == "without_kg" else None
    final = baseline(job.method, config, policy, seed=job.seed)  # pyright: ignore[reportArgumentType]
    write_sealed(job.directory / FINAL, {**final, "wall_s": perf_counter() - started})


def _trained(job: Job) -> Any:
    """The policy of the run that a job looks into; InputError where that run is not complete."""
    from gumption.agents.run_folder import load_policy

    assert job.source is not None
    if not (job.source / FINAL).is_file():
        raise InputError(f"{job.label} looks into {job.source}, which is not complete: run that condition first")
    settings = job.settings
    places = {name: settings.get(name) for name in ("recipe_book", "device")}
    return load_policy(job.source, **places)[1]
