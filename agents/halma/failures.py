"""Where an agent fails, maze by maze: where the moves of its failed trials are made, and what training showed of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gumption.agents.plots import save_figure
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, Maze, Mazes, Move
from gumption.envs.halma.maze import DIRECTIONS, Cell, justified_moves
from gumption.kg.views.pictures import COLOURS

from .acting import Actor, moves_of
from .evaluation import Playable, env_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 12  # mazes of a picture
HAUNTS = 2  # cells of a maze that are looked at closely

# What training showed of a panel, hints apart: its digits together; its walls and crossings, with the goal elsewhere;
# not even these.
Familiarity = Literal["seen", "goal elsewhere", "new"]
FAMILIARITIES: tuple[Familiarity, ...] = get_args(Familiarity)
MOST = 0.8  # of moves: from this share on a maze counts as one where agents go astray, or to and fro


@dataclass(frozen=True)
class Haunt:
    """A cell where failed trials spent moves.

    :ivar share: of all moves of the maze's failed trials.
    :ivar move: the one tried most often there, `move_share` of the moves there.
    :ivar justified: what the panel justifies, see `justified_moves`; off the optimal path it may be several or none.
    """

    cell: Cell
    share: float
    move: Move
    move_share: float
    justified: tuple[Move, ...]
    familiarity: Familiarity


@dataclass(frozen=True)
class MazeFailures:
    """One maze, over all seeds.

    :ivar trials: that an agent is given; `reached` how many ended on the goal. Those never begun have no moves.
    :ivar moves: of the trials that were begun and failed; `invalid` the share of them that were not carried out,
        `astray` of those that began off the optimal path, in a branch that ends nowhere.
    :ivar visits: share of these moves by the cell where they began, the commonest first.
    :ivar haunts: the first of these cells, HAUNTS at most; none where all trials that were begun arrived.
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
        """Share of the failed trials' moves that began in one of `haunts`."""
        return sum(haunt.share for haunt in self.haunts)


def find_failures(
    run: Playable, mazes: Mazes, test: str, panels: np.ndarray, seeds: Sequence[int]
) -> list[MazeFailures]:
    """Play the mazes of a test as `evaluate_splits` does, and tell of each maze what its failed trials were like.

    :param test: its name, which says whose handwriting visual panels show.
    :param panels: (n, 11) int8, what training showed (`KnowledgeBases.panels`).
    :returns: in the order of the mazes.
    :raises InputError: no seed.
    """
    if not seeds:
        raise InputError("no seeds; give at least one")
    env, actor = env_of(run.config, mazes, test), run.actor()
    reached, failed = np.zeros(len(mazes), dtype=np.int64), []
    for seed in seeds:
        won, moves = _failed_moves(actor, env, seed)
        reached += won
        failed.append(moves)
    maze, panel, option, valid = map(np.concatenate, zip(*failed, strict=True))
    seen = _Seen(panels)
    trials = len(seeds) * env.settings.trials
    return [
        _failures_of(mazes[m], m, trials, int(reached[m]), panel[maze == m], option[maze == m], valid[maze == m], seen)
        for m in range(len(mazes))
    ]


def _failed_moves(
    actor: Actor, env: HALMAVectorEnv, seed: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Trials that reached the goal (M,) of an episode in each of M mazes, and the n moves of the other trials: maze
    (n,), panel where it began (n, 11), direction and length (n, 2), valid (n,)."""
    won = np.zeros((env.num_envs, env.settings.trials), dtype=bool)
    over = np.zeros(env.num_envs, dtype=bool)
    made = []
    for options, outcome in moves_of(actor, env, np.arange(env.num_envs), seed):
        on = np.flatnonzero(~over)
        won[on, outcome.trial[on]] |= outcome.reached[on]
        option = np.stack([options[:, 0], options[:, 1:].sum(1)], axis=1)
        made.append((on, outcome.trial[on], outcome.before[on], option[on], outcome.valid[on]))
        over |= outcome.done
    maze, trial, *parts = map(np.concatenate, zip(*made, strict=True))
    lost = ~won[maze, trial]
    panel, option, valid = (part[lost] for part in parts)
    return won.sum(1), (maze[lost], panel, option, valid)


class _Seen:
    """What training showed, hints apart."""

    def __init__(self, panels: np.ndarray) -> None:
        self.digits, self.distances = ({row.tobytes() for row in panels[:, :width]} for width in (10, 8))

    def familiarity(self, panel: np.ndarray) -> Familiarity:
        if panel[:10].tobytes() in self.digits:
            return "seen"
        return "goal elsewhere" if panel[:8].tobytes() in self.distances else "new"


def _failures_of(
    maze: Maze, number: int, trials: int, reached: int, panel: np.ndarray, option: np.ndarray, valid: np.ndarray,
    seen: _Seen,
) -> MazeFailures:  # fmt: skip
    count = len(panel)
    # No two cells of a maze have the same panel: the goal lies elsewhere from each.
    distinct, which, counts = np.unique(panel, axis=0, return_inverse=True, return_counts=True)
    visits, haunts = [], []
    for rank, i in enumerate(np.argsort(-counts, kind="stable").tolist()):
        row = distinct[i]
        cell, share = (maze.goal[0] - int(row[8]), maze.goal[1] - int(row[9])), _share(int(counts[i]), count)
        visits.append((cell, share))
        if rank < HAUNTS:
            tried, times = np.unique(option[which.reshape(-1) == i], axis=0, return_counts=True)
            most = int(times.argmax())
            move, justified = _move(*tried[most]), tuple(_move(*one) for one in justified_moves(row))
            often = _share(int(times[most]), int(counts[i]))
            haunts.append(Haunt(cell, share, move, often, justified, seen.familiarity(row)))
    invalid = _share(count - int(valid.sum()), count)
    astray = round(sum(share for cell, share in visits if cell not in maze.optimal_path), 4)
    return MazeFailures(number, trials, reached, count, invalid, astray, tuple(visits), tuple(haunts))


def _move(direction: int, length: int) -> Move:
    return Move(DIRECTIONS[direction], int(length))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 5) if whole else 0.0


def plot_failures(
    found: Mapping[str, tuple[Maze, MazeFailures]], stem: str | os.PathLike[str], title: str = ""
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: mazes with their optimal paths; the larger a disc, the more moves of failed trials
    began there.

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
        for axis, (name, (maze, told)) in zip(axes, shown.items(), strict=False):
            _draw_maze(axis, maze, told)
            axis.set_title(f"{name}: {told.reached} of {told.trials}", fontsize=9)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, title=title)

    return save_figure(draw, (2.3 * columns + 1.0, 2.5 * lines + 0.8), Path(stem))


def _draw_maze(axis: Axes, maze: Maze, told: MazeFailures) -> None:
    axis.set_aspect("equal")
    for a, b in maze.edges:
        axis.plot(*zip(a, b, strict=True), color="#cccccc", linewidth=5, solid_capstyle="round", zorder=1)
    axis.plot(*zip(*maze.optimal_path, strict=True), color="#777777", linewidth=1.2, label="optimal path", zorder=2)
    x, y = np.array([cell for cell, _ in told.visits]).reshape(-1, 2).T
    sizes = [400 * share for _, share in told.visits]
    axis.scatter(
        x, y, sizes, color=COLOURS[0], alpha=0.7, linewidths=0, clip_on=False, label="moves of failed trials", zorder=3
    )
    for name, cell, marker in (("start", maze.start, "s"), ("goal", maze.goal, "*")):
        axis.plot(*cell, marker, color="#222222", markersize=5, linestyle="none", label=name, zorder=4)
