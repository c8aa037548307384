"""Many mazes as arrays: every panel worked out once, so that a step of many environments is a few gathers."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.data.settings import checked, checked_methods
from gumption.data.writing import write_text

from .maze import SIDE, STEPS, Cell, Maze, OptLen, option_capacity, straight_runs

MAZES = "mazes.jsonl"  # of a run or a memory

CELLS = SIDE * SIDE
OFFSETS = np.array([dx * SIDE + dy for dx, dy in STEPS])  # of the neighbour's index, by direction: -10, 1, 10, -1
COLUMNS, ZERO = 19, 9  # of a symbolic observation: values from -9 to 9


@checked_methods
class Mazes:
    """M mazes and the panels of all their cells.

    The index of a cell is (x - x0) * 10 + (y - y0), with the lowest x and y of its maze.

    :ivar corner: (M, 2) int64, x0 and y0 of each maze.
    :ivar inside: (M, 100) bool, the indices that are cells.
    :ivar rows: (M, 100, 11) int8, the panel row of each cell (see `panel_row`), zeros outside.
    :ivar start, goal: (M,) int64 indices.
    """

    def __init__(self, mazes: Iterable[Maze]) -> None:
        """:raises InputError: no maze at all."""
        self.mazes = list(mazes)
        if not self.mazes:
            raise InputError("no mazes; give at least one")
        count = len(self.mazes)
        self.corner = np.array([np.min(maze.cells, axis=0) for maze in self.mazes])
        sizes = [len(maze.edges) for maze in self.mazes]
        owner = np.repeat(np.arange(count), sizes)
        ends = np.array([edge for maze in self.mazes for edge in maze.edges])  # (E, 2, 2): lower end first
        scale = np.array([SIDE, 1])
        lower, upper = ((ends[:, i] - self.corner[owner]) @ scale for i in (0, 1))
        along_x = ends[:, 0, 0] != ends[:, 1, 0]
        open_ = np.zeros((count, CELLS, 4), dtype=bool)
        open_[owner, lower, np.where(along_x, 2, 1)] = True
        open_[owner, upper, np.where(along_x, 0, 3)] = True
        self.inside = np.any(open_, axis=2)
        ends_of = np.array([(maze.start, maze.goal) for maze in self.mazes]) - self.corner[:, None]
        self.start, self.goal = (ends_of @ scale).T
        self.rows = self._panels(open_)

    def _panels(self, open_: np.ndarray) -> np.ndarray:
        count = len(self.mazes)
        each = np.arange(count)
        rows = np.zeros((count, CELLS, 11), dtype=np.int8)
        degree = open_.sum(2)
        crossing = degree >= 3
        grid = rows.reshape(count, SIDE, SIDE, 11)
        passage, meeting = open_.reshape(count, SIDE, SIDE, 4), crossing.reshape(count, SIDE, SIDE)
        for d, (dx, dy) in enumerate(STEPS):
            axis, forward = (1, dx > 0) if dx else (2, dy > 0)
            lines, doors = np.moveaxis(grid, axis, 0), np.moveaxis(passage, axis, 0)
            meetings = np.moveaxis(meeting, axis, 0)
            order = range(SIDE - 2, -1, -1) if forward else range(1, SIDE)
            for i in order:  # away from the border: the next cell's distances are known already
                ahead = i + 1 if forward else i - 1
                door = doors[i, ..., d]
                to_crossing, to_wall = lines[ahead, ..., d], lines[ahead, ..., 4 + d]
                further = np.where(to_crossing > 0, to_crossing + 1, 0)
                lines[i, ..., d] = door * np.where(meetings[ahead], 1, further)
                lines[i, ..., 4 + d] = door * (to_wall + 1)
        place = np.arange(CELLS)
        rows[..., 8] = (self.goal // SIDE)[:, None] - place // SIDE
        rows[..., 9] = (self.goal % SIDE)[:, None] - place % SIDE
        hinted = crossing.copy()
        hinted[each, self.start] = degree[each, self.start] >= 2
        hinted[each, self.goal] = False
        rows[..., 10] = np.where(hinted, 1 + self._towards_goal(open_), 0)
        rows[~self.inside] = 0
        return rows

    def _towards_goal(self, open_: np.ndarray) -> np.ndarray:
        """(M, 100) int64: the direction of the next cell on the way to the goal, found outwards from the goal."""
        each = np.arange(len(self.mazes))
        known = np.zeros(open_.shape[:2], dtype=bool)
        known[each, self.goal] = True
        towards = np.zeros(open_.shape[:2], dtype=np.int64)
        front = (each, self.goal)
        while len(front[0]):
            maze, cell = [], []
            for d in range(4):
                passable = open_[front[0], front[1], d]
                m, c = front[0][passable], front[1][passable] + OFFSETS[d]
                new = ~known[m, c]
                m, c = m[new], c[new]
                known[m, c] = True
                towards[m, c] = (d + 2) % 4
                maze.append(m)
                cell.append(c)
            front = (np.concatenate(maze), np.concatenate(cell))
        return towards

    def _check(self, m: int) -> None:
        if not 0 <= m < len(self.mazes):
            raise InputError(f"m is {m}; there are {len(self.mazes)} mazes, from 0 on")

    def __len__(self) -> int:
        return len(self.mazes)

    def __getitem__(self, m: int) -> Maze:
        return self.mazes[m]

    def __iter__(self) -> Iterator[Maze]:
        return iter(self.mazes)

    def cell(self, m: int, index: int) -> Cell:
        """The cell of maze m with an index.

        :raises InputError: no such maze, or an index that no cell has.
        """
        self._check(m)
        if not 0 <= index < CELLS:
            raise InputError(f"index is {index}; cells have an index from 0 to {CELLS - 1}")
        return int(self.corner[m, 0] + index // SIDE), int(self.corner[m, 1] + index % SIDE)

    def index(self, m: int, cell: Cell) -> int:
        """The index of a cell of maze m.

        :raises InputError: no such maze, or it has no such cell.
        """
        self._check(m)
        x, y = cell[0] - int(self.corner[m, 0]), cell[1] - int(self.corner[m, 1])
        if not (0 <= x < SIDE and 0 <= y < SIDE and self.inside[m, x * SIDE + y]):
            raise InputError(f"maze {m} has no cell {tuple(cell)}")
        return x * SIDE + y

    @cached_property
    def _stops(self) -> list[list[int]]:
        """Lengths of the stretches between the oracle's stops on its first trial: crossings, corners and the goal."""
        stretches = []
        for maze in self.mazes:
            place, lengths = 0, []
            for _, run in straight_runs(maze):
                since = 0
                for _ in range(run):
                    place, since = place + 1, since + 1
                    if maze.optimal_path[place] in maze.crossings:
                        lengths.append(since)
                        since = 0
                if since:
                    lengths.append(since)
            stretches.append(lengths)
        return stretches

    def exploring(self, max_opt_len: OptLen) -> np.ndarray:
        """(M,) int64: moves of the oracle's first trial, in closed form."""
        capacity = option_capacity(max_opt_len)
        return np.array([sum(-(-length // capacity) for length in lengths) for lengths in self._stops])

    def planned(self, max_opt_len: OptLen) -> np.ndarray:
        """(M,) int64: moves of each later trial of the oracle, in closed form."""
        capacity = option_capacity(max_opt_len)
        return np.array([sum(-(-length // capacity) for _, length in straight_runs(maze)) for maze in self.mazes])

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the mazes, in their order."""
        return hashlib.sha256("".join(maze.fingerprint for maze in self.mazes).encode()).hexdigest()

    @cached_property
    def files(self) -> dict[str, str]:
        """What a run or a memory keeps of the mazes that it is of: MAZES, JSON Lines, a maze a line."""
        return {MAZES: sealed_lines(maze.to_json() for maze in self.mazes)[0]}

    def save(self, path: str | Path) -> None:
        """Write JSON Lines, a maze a line."""
        write_text(Path(path), self.files[MAZES])

    @classmethod
    def load(cls, path: str | Path) -> "Mazes":
        """The mazes of such a file.

        :raises InputError: no such file, a line that is no maze, or one that was changed.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
        lines, _ = unsealed_lines(text, Path(path))
        mazes = [Maze.from_json(value, f"{path}:{number}") for number, value in enumerate(lines, 1)]
        if not mazes:
            raise InputError(f"{path}: no mazes in it")
        return cls(mazes)


@checked
def one_hot(rows: np.ndarray) -> np.ndarray:
    """Symbolic observations (..., 11, 19) uint8 of panel rows (..., 11): column value + 9, the hint in columns 0 to 3.

    A value that is not shown is a zero, in column 9; without a hint row 10 is all zeros (paper, F.1).

    :raises InputError: something else than panel rows.
    """
    if rows.shape[-1:] != (11,) or rows.dtype.kind not in "iu":
        raise InputError(f"rows have shape {rows.shape} and are {rows.dtype}; they are (..., 11) whole numbers")
    codes = rows.astype(np.intp)
    codes[..., :10] += ZERO
    codes[..., 10] += COLUMNS
    return _ONE_HOT.take(codes, axis=0)


# By code: 19 values, then no hint, then the four shapes.
_ONE_HOT = np.concatenate([np.eye(COLUMNS), np.zeros((1, COLUMNS)), np.eye(4, COLUMNS)]).astype(np.uint8)
