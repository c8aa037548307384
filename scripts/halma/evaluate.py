"""`gumption evaluate RUN` of HALMA: the tests that were made for a run, in the layout of the paper's Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption evaluate runs/halma --splits splits/halma --paper --plot table.png")
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    *,
    splits: Path | None = None,
    seeds: Count = 3,
    space_model: Path | None = None,
    paper: bool = False,
    plot: Path | None = None,
    device: str | None = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play the tests that `gumption splits` made for a run.

    Several runs of one agent with different seeds become one column of the paper's Table 1. Beside a guided agent stand
    its knowledge alone, its network before training and without knowledge, random options and the oracle. Plots go to
    RUN/plots.

    :param runs: Folder of a run, as `gumption train` leaves it.
    :param splits: Folder of tests, for all runs.  [default: RUN/splits of each]
    :param seeds: How often each test is played, seeds 0, 1, ...
    :param space_model: The run's SPACE model, if it was moved.
    :param paper: Show the paper's figures beside.
    :param plot: Draw the table into this file, .png and .svg.
    :param device: Other than in training: auto, cpu or cuda.
    """
    import json

    from gumption.agents.halma.evaluation import agents_of, columns, comparisons, evaluate_splits
    from gumption.agents.halma.plots import plot_learning, plot_table, read_learning
    from gumption.agents.halma.runs import load_run
    from gumption.envs.halma.splits import load_splits
    from gumption.scripts.kg.output import working

    from .table import Overview, published_of

    stem = None if plot is None else picture_stem(plot)
    evaluations, drawn = [], []
    for run in runs:
        with working(f"reading {run}"):
            tests = load_splits(splits_of(run, splits))
            _warn_of_others(run, tests)
            agent = load_run(run, device=device, space_model=None if space_model is None else str(space_model))
        with working(f"playing the tests of {run}"):
            evaluations.append(evaluate_splits(agent, tests, seeds=range(seeds), beside=comparisons(agent)))
        alone = agents_of(columns(evaluations[-1:]))
        drawn += plot_table(alone, run / "plots" / "table", published=published_of(alone))
        if curve := read_learning(run):
            drawn += plot_learning(dict.fromkeys(alone, curve), run / "plots" / "curves")
    table = columns(evaluations)
    if stem is not None:
        drawn += plot_table(agents_of(table), stem, published=published_of(table) if paper else None)
    if as_json:
        print(json.dumps({"columns": table, "plots": [str(path) for path in drawn]}, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console()
    console.print(Overview(table, paper), highlight=False)
    for path in drawn:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


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
