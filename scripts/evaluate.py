"""`gumption evaluate RUN`: play the tasks of a partition, or the tests that were made for it, with a trained agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import refuse_foreign

app = typer.Typer(add_completion=False)

_WORDCRAFT, _HALMA = "runs of WordCraft", "runs of HALMA"
_OWNERS = {
    **dict.fromkeys(
        ("partition", "draws", "distractors", "depth", "alternatives", "recipe_book", "word_vectors", "seed"),
        _WORDCRAFT,
    ),
    **dict.fromkeys(("splits", "seeds", "space_model", "paper", "plot"), _HALMA),
}

EPILOG = """Example: gumption evaluate runs/guided --distractors 4

Example: gumption evaluate runs/halma --splits splits/halma --paper --plot table.png
"""


@app.command(epilog=EPILOG)
def evaluate(
    context: typer.Context,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folder of a run, as `gumption train` leaves it.")
    ],
    partition: Annotated[str, typer.Option(help="WordCraft: train, test or all.")] = "test",
    draws: Annotated[int, typer.Option(min=1, help="WordCraft: tables per task.")] = 10,
    distractors: Annotated[int | None, typer.Option(help="WordCraft: other than in training.")] = None,
    depth: Annotated[int | None, typer.Option(help="WordCraft: other than in training.")] = None,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="WordCraft: tables may offer other ways.")
    ] = False,
    recipe_book: Annotated[
        str | None, typer.Option(help="WordCraft: the file of the run's book, if it does not ship.")
    ] = None,
    word_vectors: Annotated[
        str | None, typer.Option(help="WordCraft: the file of the run's word vectors, likewise.")
    ] = None,
    seed: Annotated[int, typer.Option(help="WordCraft: of the tables.")] = 0,
    splits: Annotated[
        Path | None, typer.Option(help="HALMA: folder of tests, for all runs.  [default: RUN/splits of each]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="HALMA: how often each test is played, seeds 0, 1, ...")] = 3,
    space_model: Annotated[Path | None, typer.Option(help="HALMA: the run's SPACE model, if it was moved.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="HALMA: show the paper's figures beside.")] = False,
    plot: Annotated[Path | None, typer.Option(help="HALMA: draw the table into this file, .png and .svg.")] = None,
    device: Annotated[str | None, typer.Option(help="Other than in training: auto, cpu or cuda.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play with trained agents, and tell how well they did.

    A run of WordCraft plays the tasks of its own split. A run of HALMA plays the tests that `gumption splits` made for
    it; several runs of one agent with different seeds become one column of the paper's Table 1. Plots go to RUN/plots.
    """
    from gumption.data import InputError

    worlds = {world_of(run) for run in runs}
    if len(worlds) > 1:
        raise InputError("these are runs of different worlds; evaluate them apart")
    kind = worlds.pop()
    refuse_foreign(context, _OWNERS, kind, str(runs[0]))
    if kind == _HALMA:
        _evaluate_halma(runs, splits, range(seeds), space_model, device, paper, plot, as_json)
        return
    if len(runs) > 1:
        raise InputError("give one run of WordCraft at a time")
    settings = {"num_distractors": distractors, "depth": depth, "recipe_book": recipe_book}
    _evaluate_wordcraft(
        runs[0],
        {"partition": partition, "draws": draws, "alternatives": alternatives, "seed": seed, "device": device}
        | settings
        | {"word_vectors": word_vectors},
        as_json,
    )


def world_of(run: Path) -> str:
    """Of which world a run is; a folder that is no run counts as WordCraft's, which says what is wrong with it."""
    import json

    try:
        config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return _WORDCRAFT
    return _HALMA if isinstance(config, dict) and config.get("world") == "halma" else _WORDCRAFT


def _evaluate_wordcraft(run: Path, settings: dict[str, Any], as_json: bool) -> None:
    import json

    from gumption.agents.runs import evaluate as measure

    found = measure(run, **settings)
    if as_json:
        print(json.dumps(found))
        return
    print(
        f"success {found['success']:.1%} in {found['episodes']:,} episodes ({found['partition']} tasks, "
        f"{found['num_distractors']} distractors, depth {found['depth']}); "
        f"lost by selecting one slot twice: {found['same_slot_twice']:.1%}"
    )


def _evaluate_halma(
    runs: list[Path],
    splits: Path | None,
    seeds: range,
    space_model: Path | None,
    device: str | None,
    paper: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    import json

    from gumption.agents.halma.evaluation import columns, evaluate_splits
    from gumption.agents.halma.plots import plot_learning, plot_table, read_learning
    from gumption.agents.halma.runs import load_run
    from gumption.envs.halma.split_files import load_splits

    from .experiments.halma_table import published_of
    from .kg.output import working

    stem = None if plot is None else picture_stem(plot)
    evaluations, drawn = [], []
    for run in runs:
        with working(f"reading {run}"):
            tests = load_splits(splits_of(run, splits))
            _warn_of_others(run, tests)
            agent = load_run(run, device=device, space_model=None if space_model is None else str(space_model))
        with working(f"playing the tests of {run}"):
            evaluations.append(evaluate_splits(agent, tests, seeds=tuple(seeds)))
        alone = columns(evaluations[-1:])
        drawn += plot_table(alone, run / "plots" / "table", published=published_of(alone))
        if curve := read_learning(run):
            drawn += plot_learning(dict.fromkeys(alone, curve), run / "plots" / "curves")
    table = columns(evaluations)
    if stem is not None:
        drawn += plot_table(table, stem, published=published_of(table) if paper else None)
    if as_json:
        print(json.dumps({"columns": table, "plots": [str(path) for path in drawn]}, ensure_ascii=False))
        return
    _show(table, paper, drawn)


def picture_stem(plot: Path) -> Path:
    """Where to put the two pictures that are asked for by the name of one; InputError for other kinds of files."""
    from gumption.data import InputError

    if plot.suffix not in (".png", ".svg"):
        raise InputError(f"{plot}: a plot is a .png or .svg file; both are written")
    return plot.with_suffix("")


def splits_of(run: Path, given: Path | None = None) -> Path:
    """The folder of a run's tests, its own unless another is given; InputError where it has none."""
    from gumption.data import InputError

    own = run / "splits"
    if given is None and not own.is_dir():
        raise InputError(
            f"{run} has no tests of its own in {own}: make them with `gumption splits halma --run {run} --out {own}`, "
            "or name others with --splits"
        )
    return given or own


def _warn_of_others(run: Path, tests: Any) -> None:
    """Tell where tests were made for what another run has seen."""
    import sys

    from gumption.envs.halma.memory import FOLDER, Memory

    made_for = tests.manifest["knowledge"]["memory"]
    if not (run / FOLDER).is_dir() or Memory.load(run / FOLDER).fingerprint != made_for:
        print(f"warning: {run}: these tests were made for what another run has seen", file=sys.stderr)


def _show(table: Any, paper: bool, drawn: list[Path]) -> None:
    from rich.console import Console

    from .experiments.halma_table import Overview

    console = Console()
    console.print(Overview(table, paper), highlight=False)
    for path in drawn:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)
