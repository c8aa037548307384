"""The oracle: what an agent does that understands every panel, and how long its trials are (paper, 3.3 and A.3)."""

from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import checked

from .choices import OptLen
from .maze import DIRECTIONS, STEPS, Cell, Maze, panel_row

LONGEST_PRIMITIVE = 3


class Move(NamedTuple):
    """:ivar direction: one of DIRECTIONS; `length` in cells."""

    direction: str
    length: int


class OracleTrials(NamedTuple):
    """:ivar exploring: the moves of the first trial; `planned` those of each later one."""

    exploring: list[Move]
    planned: list[Move]


def justified_moves(row: np.ndarray) -> list[tuple[int, int]]:
    """The moves (direction, distance) that a panel row (11,) justifies in a first trial.

    Where a hint is shown its direction, elsewhere each direction that is open and lowers the distance to the goal
    (paper, A.3); as far as the nearest crossing, wall or, straight ahead, the goal. At a valid state there is one.
    """
    dx, dy, hint = (int(value) for value in row[8:11])
    moves = []
    for d, (step_x, step_y) in enumerate(STEPS):
        crossing, wall = int(row[d]), int(row[4 + d])
        gain = dx * step_x + dy * step_y
        if (d != hint - 1 if hint else gain <= 0) or not wall:
            continue
        straight = gain if (dy if step_x else dx) == 0 else 0
        moves.append((d, min(distance for distance in (crossing, wall, straight) if distance > 0)))
    return moves


@checked
def oracle_trials(maze: Maze, max_opt_len: OptLen) -> OracleTrials:
    """The oracle's trials in a maze: exploring from panel to panel, then the known way in as few moves as options of
    so many primitives allow.

    :raises InputError: max_opt_len below 1; a maze where the oracle meets a choice.
    """
    capacity = option_capacity(max_opt_len)
    cell, exploring = maze.start, []
    while cell != maze.goal:
        direction, distance = _justified(maze, cell)
        length = min(distance, capacity)
        exploring.append(Move(DIRECTIONS[direction], length))
        cell = (cell[0] + STEPS[direction][0] * length, cell[1] + STEPS[direction][1] * length)
    planned = [
        Move(DIRECTIONS[direction], min(capacity, length - done))
        for direction, length in straight_runs(maze)
        for done in range(0, length, capacity)
    ]
    return OracleTrials(exploring, planned)


def _justified(maze: Maze, cell: Cell) -> tuple[int, int]:
    moves = justified_moves(panel_row(maze, cell))
    if len(moves) != 1:
        told = ", ".join(f"{DIRECTIONS[d]} {n}" for d, n in moves) or "nothing"
        raise InputError(f"the optimal path is ambiguous: at {cell} the panel justifies {told}")
    return moves[0]


@checked
def check_unambiguous(maze: Maze) -> None:
    """Follow the oracle's first trial, along the optimal path.

    :raises InputError: a state where not exactly one move is justified, or it leaves the optimal path.
    """
    way = {cell: i for i, cell in enumerate(maze.optimal_path)}
    cell = maze.start
    while cell != maze.goal:
        direction, length = _justified(maze, cell)
        ahead = (cell[0] + STEPS[direction][0] * length, cell[1] + STEPS[direction][1] * length)
        if way.get(ahead, -1) != way[cell] + length:
            raise InputError(f"the optimal path is ambiguous: at {cell} the panel leads away from it, to {ahead}")
        cell = ahead


def straight_runs(maze: Maze) -> list[tuple[int, int]]:
    """The optimal path as (direction, length) with consecutive unit moves of one direction merged."""
    path = maze.optimal_path
    units = (STEPS.index((b[0] - a[0], b[1] - a[1])) for a, b in pairwise(path))
    return [(direction, len(list(run))) for direction, run in groupby(units)]


@checked
def option_capacity(max_opt_len: OptLen) -> int:
    """The longest move of an option.

    :raises InputError: a max_opt_len out of range.
    """
    return LONGEST_PRIMITIVE * max_opt_len
