"""`gumption halma probe` and `failures`: what SPACE sees, and where trained agents fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data.settings import Count, Share
from gumption.scripts.apps import App

from .mazes import DrawSeed

if TYPE_CHECKING:
    from gumption.agents.halma.failures import MazeFailures

app = App()


@app.command(epilog="Example: gumption halma probe runs/space --panels 2000 --plot probe.png")
def probe(
    model: Annotated[
        Path, typer.Argument(help="Folder of a pretrained SPACE model, as `gumption halma pretrain` makes it.")
    ],
    panels: Annotated[Count, typer.Option(help="How many are looked at, of mazes that were held out.")] = 2_000,
    seed: DrawSeed = 0,
    images: Annotated[str, typer.Option(help="Handwriting: test, train, or test-full (all of MNIST).")] = "test",
    plot: Annotated[Path | None, typer.Option(help="Picture of the confusion matrices.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a linear classifier reads off the slots of a SPACE model, and off the pixels of the digits themselves."""
    import json

    from gumption.agents.halma.probe import plot_probe, probe_model
    from gumption.scripts.kg.output import print_table, working

    with working("looking at panels"):
        told = probe_model(model, panels=panels, images=images, seed=seed)
    if plot is not None:
        plot_probe(told, plot)
    if as_json:
        print(json.dumps(told))
        return
    shown = [
        (name, *(f"{told[key]['accuracy']:.1%} ± {told[key]['accuracy_std']:.1%}" for key in (name, f"{name}_pixels")))
        for name in ("colour", "digit")
    ]
    print_table(["accuracy", "of the slots", "of the pixels"], shown)
    print(f"{told['digits_with_slot']:,} of {told['digits']:,} digits have a slot, mean IoU {told['mean_iou']:.2f}")


@app.command(epilog="Example: gumption halma failures runs/halma --test RT --plot failures.png")
def failures(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folder of a run that has its tests in RUN/splits.")
    ],
    test: Annotated[str, typer.Option(help="Which test: T, RT or a diagnostic one.")] = "RT",
    seeds: Annotated[Count, typer.Option(help="How often the test is played, seeds 0, 1, ...")] = 3,
    below: Annotated[
        Share, typer.Option(help="Tell of the mazes where a smaller share of the trials reach the goal.")
    ] = 0.5,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the worst mazes and where the moves were made, .png and .svg.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Where agents fail, maze by maze: what they do in trials that miss the goal, and whether training showed it.

    "seen": training showed the digits of the panel together; "goal elsewhere": the same walls and crossings, but never
    with the goal there; "new": not even these.
    """
    import json
    from dataclasses import asdict

    from gumption.agents.halma.failures import find_failures, plot_failures
    from gumption.agents.halma.runs import load_run
    from gumption.data import InputError
    from gumption.envs.halma.splits import load_splits, read_run
    from gumption.scripts.halma.evaluate import picture_stem, splits_of
    from gumption.scripts.kg.output import working

    stem = None if plot is None else picture_stem(plot)
    found = {}
    for run in runs:
        with working(f"playing {test} of {run}"):
            splits = load_splits(splits_of(run))
            if test not in splits:
                raise InputError(f"{run} has no test {test!r}; it has {', '.join(splits)}")
            panels = read_run(run).knowledge.panels
            for told in find_failures(load_run(run), splits[test], test, panels, range(seeds)):
                found[f"{run} {told.maze}"] = splits[test][told.maze], told
    worst = dict(sorted(found.items(), key=lambda one: one[1][1].reached))
    worst = {
        name if len(runs) > 1 else str(one[1].maze): one
        for name, one in worst.items()
        if one[1].reached < below * one[1].trials
    }
    drawn = [] if stem is None or not worst else plot_failures(worst, stem, f"{test}: goals reached, of all trials")
    if as_json:
        print(json.dumps({name: asdict(told) for name, (_, told) in found.items()}))
        return
    _print_failures(test, [told for _, told in found.values()], {name: told for name, (_, told) in worst.items()})
    for path in drawn:
        print(f"saved: {path}")


def _print_failures(test: str, found: list[MazeFailures], worst: dict[str, MazeFailures]) -> None:
    from collections import Counter

    from gumption.agents.halma.failures import FAMILIARITIES, MOST
    from gumption.scripts.kg.output import print_table

    rows = []
    for name, told in worst.items():
        maze = name, f"{told.reached} of {told.trials}"
        if not told.haunts:
            rows.append((*maze, "-", "-", "-", "-"))
        for haunt in told.haunts:
            tried = f"{' '.join(map(str, haunt.move))}, {haunt.move_share:.0%}"
            right = ", ".join(f"{direction} {length}" for direction, length in haunt.justified) or "-"
            rows.append((*maze, f"{haunt.cell}, {haunt.share:.0%}", tried, right, haunt.familiarity))
            maze = "", ""
    if rows:
        columns = ["maze", "goals reached", "cell, share of moves", "tried there", "justified", "panel was"]
        print_table(columns, rows, "The cells where trials that miss the goal spend most moves.")
    reached, trials = sum(told.reached for told in found), sum(told.trials for told in found)
    print(f"{test}: {reached:,} of {trials:,} trials reached the goal; {len(worst)} of {len(found)} mazes are listed")
    if worst:
        astray, stuck = (
            sum(getattr(told, name) >= MOST for told in worst.values()) for name in ("astray", "to_and_fro")
        )
        showed = Counter(told.haunts[0].familiarity for told in worst.values() if told.haunts)
        seen = ", ".join(f"{name} in {showed[name]}" for name in FAMILIARITIES)
        print(
            f"at least {MOST:.0%} of the moves of failed trials began off the optimal path, in dead ends: in {astray}"
        )
        print(f"... began in one of two cells, to and fro: in {stuck}")
        print(f"training showed the panel of the commonest cell: {seen}")
