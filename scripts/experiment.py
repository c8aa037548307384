"""`gumption experiment`: run one of the papers' experiments, go on with one that was stopped, or report one again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: gumption experiment wordcraft-fig3 --recipe-book alchemy2.json --workers 2")
def experiment(
    name: Annotated[str | None, typer.Argument(help="Which experiment; --list names them.")] = None,
    recipe_book: Annotated[
        str, typer.Option(help="Name of a recipe book, or a file (.tsv, or .json in the form of the 2020 release).")
    ] = "commonsense",
    word_vectors: Annotated[
        str | None, typer.Option(help="File with word vectors; without it, the ones that ship or were fetched.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs per condition, seeds 0, 1, ...  [default: 5]")] = None,
    total_steps: Annotated[
        int | None, typer.Option(min=1, help="Environment steps of each training.  [default: the paper's 3,000,000]")
    ] = None,
    preset: Annotated[str, typer.Option(help="fast (tuned) or paper (Table 1's parameters).")] = "fast",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time, each in a process with its share of cores.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs.  [default: runs/NAME]")] = None,
    save: Annotated[Path | None, typer.Option(help="Also write results, table and plots into this folder.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Run nothing: write results, table and plots of this folder's runs anew.")
    ] = None,
    human: Annotated[
        list[Path] | None, typer.Option(help="Result of `gumption play wordcraft` to draw in; may be given again.")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option(help="Link prediction: folder of train.txt, valid.txt and test.txt.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="Link prediction: only this setting; may be given again.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
) -> None:
    """Run one of the papers' experiments: every condition with several seeds, then a table and plots.

    Runs that are complete are kept: after a stop, the same command goes on where it was.
    """
    from rich.console import Console

    from gumption.data import InputError

    from .experiments.jobs import find_experiment
    from .experiments.link_prediction import LINK_PREDICTION

    console = Console()
    if list_all:
        _list_experiments(console)
        return
    if report is not None:
        _report(console, report, save, human or [])
        return
    if name is None:
        raise InputError("name an experiment, for example wordcraft-fig3; `gumption experiment --list` names them all")
    folder = out or Path("runs") / name
    if name == "kg-scale":
        from .experiments import scale

        _tell(console, scale.run([folder, *([save] if save else [])]))
        return
    if name in LINK_PREDICTION:
        _predict_links(console, LINK_PREDICTION[name], facts, setting, seeds, device, workers, folder, save)
        return
    chosen = find_experiment(name)
    common: dict[str, Any] = {"recipe_book": recipe_book, "preset": preset, "device": device}
    common["total_steps"] = total_steps or chosen.total_steps
    if word_vectors is not None:
        common["word_vectors"] = word_vectors
    _run(console, chosen, common, range(seeds or chosen.seeds), workers, folder)
    _report(console, folder, save, human or [])


def _run(console: Console, chosen: Any, common: dict[str, Any], seeds: range, workers: int, folder: Path) -> None:
    from gumption.envs.wordcraft import RecipeBook, make_split

    from .experiments.jobs import make_jobs, plan_header, read_final, run_job, run_jobs, write_plan

    book = RecipeBook.load(common["recipe_book"])
    split = make_split(book, chosen.base["split"], chosen.base["train_ratio"], 0, chosen.base["depth"])
    write_plan(folder, chosen, common, plan_header(book, split, common["device"], workers))
    jobs = make_jobs(chosen, common, seeds, folder)
    done = sum(job.complete for job in jobs)
    console.print(
        f"[bold]{chosen.name}[/bold]: {chosen.title} ({chosen.figure}); {len(jobs)} runs, {done} complete",
        soft_wrap=True,
    )
    for job, seconds in run_jobs(jobs, workers, run_job):
        done += 1
        success = read_final(job.directory)["test_success"]
        console.print(f"{done:>4}/{len(jobs)}  {job.label}, seed {job.seed}: {success:.3f} in {seconds:.0f} s")


def _predict_links(
    console: Console,
    chosen: Any,
    facts: Path | None,
    settings: list[str] | None,
    seeds: int | None,
    device: str,
    workers: int,
    folder: Path,
    save: Path | None,
) -> None:
    from gumption.data import InputError

    from .experiments.jobs import FINAL, read_json
    from .experiments.link_prediction import gather, run, write_report

    if facts is None:
        raise InputError(f"give the folder of {chosen.name}'s train.txt, valid.txt and test.txt with --facts")
    for job, seconds in run(
        chosen, settings or list(chosen.settings)[:1], facts, range(seeds or chosen.seeds), device, workers, folder
    ):
        mrr = read_json(job.directory / FINAL)["test"]["mrr"]
        console.print(f"{job.label}, seed {job.seed}: test MRR {mrr:.4f} in {seconds:.0f} s")
    results = gather(chosen, folder, device, workers)
    for place in [folder, *([save] if save is not None else [])]:
        _tell(console, write_report(results, place))


def _report(console: Console, folder: Path, save: Path | None, people: list[Path]) -> None:
    from .experiments.report import gather, write_report

    results = gather(folder, people=people)
    written = write_report(results, folder)
    if save is not None:
        written += write_report(results, save)
    console.print(_overview(results))
    _tell(console, written)


def _tell(console: Console, written: Iterable[Path]) -> None:
    for path in written:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


def _overview(results: Any) -> Any:
    """The main columns of the table, narrow enough for a terminal."""
    from rich.table import Table

    from .experiments.report import number, panels, target, with_interval

    table = Table("condition", "seeds", "success (95 %)", "2020 code", "target", title=results["title"])
    for panel, rows in panels(results).items():
        table.add_section()
        table.add_row(f"[bold]{panel}[/bold]")
        for row in rows:
            success, before = with_interval(row["success"]), number(row["measured_2020"], ".3f")
            table.add_row(row["condition"], str(len(row["seeds"])), success, before, target(row))
    return table


def _list_experiments(console: Console) -> None:
    from rich.table import Table

    from .experiments.link_prediction import LINK_PREDICTION
    from .experiments.wordcraft import EXPERIMENTS

    table = Table("name", "figure", "what", "conditions")
    for one in EXPERIMENTS.values():
        table.add_row(one.name, one.figure, one.title, str(len(one.conditions)))
    for one in LINK_PREDICTION.values():
        table.add_row(one.name, "-", one.title, str(len(one.settings)))
    table.add_row("kg-scale", "-", "What of a graph fits where, from bytes and rates measured here", "1")
    console.print(table)
