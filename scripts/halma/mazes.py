"""`gumption halma maze`, `generate` and `statistics`: mazes drawn, sampled and measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data.settings import Count, Seed
from gumption.envs.halma.maze import MeanBranches, MeanDepth, NumMazes, OptLen
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from gumption.envs.halma import Maze, Move
    from gumption.envs.halma.generator import PanelStatistics

app = App()

DrawSeed = Annotated[Seed, typer.Option(help="Draws the mazes.")]
Depth = Annotated[MeanDepth, typer.Option(help="Mean depth of dead ends in cells: 2 for training, 5 in tests.")]
Branches = Annotated[MeanBranches, typer.Option(help="Mean number of dead ends of a maze.")]


@app.command(epilog="Example: gumption halma maze --seed 3 --gif oracle.gif")
def maze(
    *,
    seed: DrawSeed = 0,
    mean_depth: Depth = 2,
    mean_branches: Branches = 5,
    file: Path | None = None,
    line: Count = 1,
    max_opt_len: OptLen = 5,
    gif: Path | None = None,
    png: Path | None = None,
    json: Path | None = None,
) -> None:
    """Draw a maze with the panel of its start, and tell the oracle's first trial and its later ones.

    :param file: Take a maze of this file instead (JSON, or JSON Lines with a maze a line).
    :param line: Which line of the file.
    :param max_opt_len: Primitives of the oracle's options.
    :param gif: Save the oracle's first trial as an animation.
    :param png: Save the panel of the start beside the maze.
    :param json: Save the maze, for --file and for reset options.
    """
    from gumption.data.writing import check_writable
    from gumption.envs.halma import oracle_trials
    from gumption.envs.halma.render import draw, trial_gif

    for path in (json, png, gif):
        if path is not None:
            check_writable(path, new_folder=False)
    drawn = _sampled(seed, mean_depth, mean_branches) if file is None else _loaded(file, line)
    trials = oracle_trials(drawn, max_opt_len)
    ends = sum(drawn.degree(cell) == 1 for cell in drawn.cells if cell not in (drawn.start, drawn.goal))
    far = len(drawn.optimal_path) - 1
    print(f"{len(drawn.cells)} cells, {len(drawn.crossings)} crossings, {ends} dead ends, {far} cells to the goal\n")
    print(draw(drawn, drawn.start, "ansi"))
    print(f"oracle, first trial: {_told(trials.exploring)}")
    print(f"oracle, then:        {_told(trials.planned)}")
    if json is not None:
        from gumption.envs.halma import Mazes

        Mazes([drawn]).save(json)
    if png is not None:
        _save_png(drawn, png)
    if gif is not None:
        trial_gif(gif, drawn, trials.exploring)
    for path in (json, png, gif):
        if path is not None:
            print(f"saved: {path}")


def _sampled(seed: int, mean_depth: float, mean_branches: float) -> Maze:
    from gumption.envs.halma import sample_mazes

    return sample_mazes(1, seed, mean_depth, mean_branches)[0]


def _loaded(file: Path, line: int) -> Maze:
    from gumption.data import InputError
    from gumption.envs.halma import Mazes

    mazes = Mazes.load(file)
    if line > len(mazes):
        raise InputError(f"--line is {line}; {file} has {len(mazes)}")
    return mazes[line - 1]


def _told(moves: list[Move]) -> str:
    count = f"{len(moves)} move{'' if len(moves) == 1 else 's'}"
    return f"{', '.join(f'{direction} {length}' for direction, length in moves)} ({count})"


def _save_png(drawn: Maze, path: Path) -> None:
    from PIL import Image

    from gumption.data.writing import whole_file
    from gumption.envs.halma.render import draw

    with whole_file(path) as beside:
        Image.fromarray(draw(drawn, drawn.start, "rgb_array")).save(beside, format="PNG")


@app.command(epilog="Example: gumption halma generate --count 50 --mean-depth 5 --seed 1 --out mazes.jsonl")
def generate(
    *, out: Path, count: NumMazes = 100, seed: DrawSeed = 0, mean_depth: Depth = 2, mean_branches: Branches = 5
) -> None:
    """Sample mazes into a file for the environment's `mazes`, each checked by following the oracle to the goal.

    :param out: File to write: JSON Lines, a maze a line.
    :param count: How many, each another one.
    """
    from gumption.data.writing import check_writable
    from gumption.envs.halma import Mazes, check_unambiguous, sample_mazes
    from gumption.scripts.kg.output import working

    check_writable(out)
    with working(f"{count} mazes"):
        mazes = sample_mazes(count, seed, mean_depth, mean_branches)
        for drawn in mazes:
            check_unambiguous(drawn)
        Mazes(mazes).save(out)
    print(f"{out}: {count} maze{'' if count == 1 else 's'}, all of them trees on which the oracle never has a choice")


@app.command(epilog="Example: gumption halma statistics --sets 10 --plot statistics.png")
def statistics(
    *,
    sets: Count = 10,
    mazes: NumMazes = 100,
    seed: Seed = 0,
    mean_depth: Depth = 2,
    mean_branches: Branches = 5,
    plot: Path | None = None,
) -> None:
    """Count colours and digits over the panels of all cells (Xie et al., 2021, Appendix C, Fig. S5).

    :param sets: How many sets of mazes.
    :param mazes: Mazes of a set.
    :param seed: Draws the first set; the next ones have the next seeds.
    :param plot: Save the four plots of Fig. S5 as a PNG file.
    """
    from gumption.data.writing import check_writable
    from gumption.envs.halma.generator import sample_statistics, save_plot
    from gumption.scripts.kg.output import working

    if plot is not None:
        check_writable(plot, new_folder=False)
    with working("panels"):
        found = sample_statistics(sets, mazes, seed, mean_depth, mean_branches)
        if plot is not None:
            save_plot(found, plot)
    _print_statistics(found)
    if plot is not None:
        print(f"saved: {plot}")


def _print_statistics(found: PanelStatistics) -> None:
    from gumption.envs.halma.generator import MOST, PANEL_COLOURS
    from gumption.scripts.kg.output import print_table

    for title, names, counts in (
        ("colour", PANEL_COLOURS, found.colours),
        ("digits in a panel", range(MOST + 1), found.panels),
        ("digit", range(1, 10), found.digits),
    ):
        of_all = counts.sum()
        rows = [
            (name, f"{mean:.1f}", f"{deviation:.1f}", f"{mean * len(counts) / of_all:.1%}")
            for name, mean, deviation in zip(names, counts.mean(0), counts.std(0), strict=True)
        ]
        print_table([title, "mean", "standard deviation", "share"], rows)
    walls, goal = found.unevenness
    fit, most = found.log_fit, max(count for count in range(MOST + 1) if found.panels[:, count].any())
    print(f"panels of 3 to 6 digits: {found.share(3, 6).mean():.1%}; the most digits of a panel: {most}")
    print(f"commonest colour above the rarest: {walls:.1%} of walls and crossings, {goal:.1%} of the goal's")
    print(f"log10 of a digit's count: {fit.intercept:.2f} {fit.slope:+.3f} x digit, R² {fit.r_squared:.3f}")
