"""Locate an agent's failures by maze: where failed trials spend their moves, and if training showed the panels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gumption.agents.halma.acting import moves_of
from gumption.agents.halma.evaluation import Playable, env_of
from gumption.agents.plots import save_figure
from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, Move
from gumption.envs.halma.maze import DIRECTIONS, Cell, justified_moves
from gumption.kg.views.pictures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 12  # mazes in a picture
HAUNTS = 2  # described cells per maze

# Training showed all digits of a panel together; its walls and crossings with another goal; not even these.
Familiarity = Literal["seen", "goal elsewhere", "new"]
FAMILIARITIES: tuple[Familiarity, ...] = get_args(Familiarity)
MOST = 0.8  # share of moves from which a maze counts as one where agents go astray, or to and fro


@dataclass(frozen=True)
class Haunt:
    """A cell where failed trials spent moves.

    :ivar share: share of all moves of the maze's failed trials.
    :ivar move: the most frequent move there, `move_share` its share of the moves there.
    :ivar justified: see `justified_moves`; off the optimal path there may be several or none.
    """

    cell: Cell
    share: float
    move: Move
    move_share: float
    justified: tuple[Move, ...]
    familiarity: Familiarity


@dataclass(frozen=True)
class MazeFailures:
    """The failures in one maze, over all seeds.

    :ivar trials: trials of all episodes, begun or not; `reached` of them ended on the goal.
    :ivar moves: moves of the trials that were begun and failed. `invalid` is the share that was not carried out,
        `astray` the share that began off the optimal path, in a deceptive branch.
    :ivar visits: share of these moves by the cell where they began, the commonest first.
    :ivar haunts: the first of these cells, HAUNTS at most.
    """

    maze: int
    trials: int
    reached: int
    moves: int
    invalid: float
    astray: float
    visits: tuple[tuple[Cell, float], ...]
    haunts: tuple[Haunt, ...]

    @property
    def to_and_fro(self) -> float:
        """The share of the failed trials' moves that began in one of `haunts`."""
        return sum(haunt.share for haunt in self.haunts)


def find_failures(
    run: Playable, mazes: Mazes, test: str, panels: np.ndarray, seeds: Sequence[int]
) -> list[MazeFailures]:
    """Play the mazes of a test as `evaluate_splits` does, and describe the failed trials of each.

    :param test: name of the test; it determines the handwriting of visual panels.
    :param panels: (n, 11) int8 panels of the training (`KnowledgeBases.panels`).
    :raises InputError: no seed.
    """
    if not seeds:
        raise InputError("no seeds; give at least one")
    env, actor = env_of(run.config, mazes, test), run.actor()
    reached, failed = np.zeros(len(mazes), dtype=np.int64), []
    for seed in seeds:
        won = np.zeros((len(mazes), env.settings.trials), dtype=bool)
        over, made = np.zeros(len(mazes), dtype=bool), []
        for options, outcome in moves_of(actor, env, np.arange(len(mazes)), seed):
            on = np.flatnonzero(~over)
            won[on, outcome.trial[on]] |= outcome.reached[on]
            move = np.stack([options[:, 0], options[:, 1:].sum(1)], axis=1)
            made.append((on, outcome.trial[on], outcome.before[on], move[on], outcome.valid[on]))
            over |= outcome.done
        maze, trial, *parts = map(np.concatenate, zip(*made, strict=True))
        lost = ~won[maze, trial]
        failed.append([part[lost] for part in (maze, *parts)])
        reached += won.sum(1)
    maze, panel, move, valid = map(np.concatenate, zip(*failed, strict=True))
    digits, distances = ({row.tobytes() for row in panels[:, :width]} for width in (10, 8))

    def familiarity(row: np.ndarray) -> Familiarity:
        if row[:10].tobytes() in digits:
            return "seen"
        return "goal elsewhere" if row[:8].tobytes() in distances else "new"

    def failures_of(m: int) -> MazeFailures:
        own = maze == m
        count, invalid = int(own.sum()), int((~valid[own]).sum())
        # Panels identify the cells of a maze, because they contain the goal's offset.
        distinct, which, counts = np.unique(panel[own], axis=0, return_inverse=True, return_counts=True)
        visits, haunts = [], []
        for rank, i in enumerate(np.argsort(-counts, kind="stable").tolist()):
            row = distinct[i]
            cell = mazes[m].goal[0] - int(row[8]), mazes[m].goal[1] - int(row[9])
            share = _share(int(counts[i]), count)
            visits.append((cell, share))
            if rank < HAUNTS:
                tried, times = np.unique(move[own][which.reshape(-1) == i], axis=0, return_counts=True)
                most = int(times.argmax())
                justified = tuple(_move(*one) for one in justified_moves(row))
                often = _share(int(times[most]), int(counts[i]))
                haunts.append(Haunt(cell, share, _move(*tried[most]), often, justified, familiarity(row)))
        astray = round(sum(share for cell, share in visits if cell not in mazes[m].optimal_path), 4)
        trials, invalid_share = len(seeds) * env.settings.trials, _share(invalid, count)
        return MazeFailures(m, trials, int(reached[m]), count, invalid_share, astray, tuple(visits), tuple(haunts))

    return [failures_of(m) for m in range(len(mazes))]


def _move(direction: int, length: int) -> Move:
    return Move(DIRECTIONS[direction], int(length))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 5) if whole else 0.0


def plot_failures(
    found: Mapping[str, tuple[Maze, MazeFailures]], stem: str | os.PathLike[str], title: str = ""
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: mazes with their optimal paths, and discs whose area is the share of the moves of
    failed trials that began there.

    :param found: by the name of the maze; the first SHOWN are drawn.
    :raises InputError: nothing to draw.
    """
    if not found:
        raise InputError("no maze to draw")
    shown = dict(islice(found.items(), SHOWN))
    columns = min(4, len(shown))
    lines = -(-len(shown) // columns)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for axis in axes:
            axis.set_axis_off()
        for axis, (name, (maze, failures)) in zip(axes, shown.items(), strict=False):
            _draw_maze(axis, maze, failures)
            axis.set_title(f"{name}: {failures.reached} of {failures.trials}", fontsize=9)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, title=title)

    return save_figure(draw, (2.3 * columns + 1.0, 2.5 * lines + 0.8), Path(stem))


def _draw_maze(axis: Axes, maze: Maze, failures: MazeFailures) -> None:
    axis.set_aspect("equal")
    for a, b in maze.edges:
        axis.plot(*zip(a, b, strict=True), color="#cccccc", linewidth=5, solid_capstyle="round", zorder=1)
    axis.plot(*zip(*maze.optimal_path, strict=True), color="#777777", linewidth=1.2, label="optimal path", zorder=2)
    x, y = np.array([cell for cell, _ in failures.visits]).reshape(-1, 2).T
    sizes = [400 * share for _, share in failures.visits]
    axis.scatter(
        x, y, sizes, color=COLOURS[0], alpha=0.7, linewidths=0, clip_on=False, label="moves of failed trials", zorder=3
    )
    for name, cell, marker in (("start", maze.start, "s"), ("goal", maze.goal, "*")):
        axis.plot(*cell, marker, color="#222222", markersize=5, linestyle="none", label=name, zorder=4)
