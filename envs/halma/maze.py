"""Mazes, trees of cells on the integer lattice with a monotone path from the start to the goal; panels; the oracle.

x grows to the right, y grows upwards. Two neighbouring cells are connected only where the tree has an edge, so that
parallel corridors may touch (thin walls). All cells lie in a box of 10 x 10: then every distance and every offset of
the goal, from any cell, is a digit (paper, A.2 and F.1).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.data.settings import checked, checked_methods, shown
from gumption.data.writing import write_text

# ---- Types of the settings of environments, mazes and runs

Observation = Literal["symbolic", "visual"]
Panels = Literal["redrawn", "fixed"]
Images = Literal["train", "test", "train-full", "test-full"]
Order = Literal["random", "sequential"]

MOST_MAZES = 738_980  # the number of optimal paths, and of mazes without branches: `count_optimal_paths`
NumMazes = Annotated[int, Ge(1), Le(MOST_MAZES)]
TestMazes = Annotated[int, Ge(1), Le(10_000)]  # of one test: their optimal paths all differ
MeanDepth = Annotated[float, Ge(1), Le(100)]  # the box has 100 cells
MeanBranches = Annotated[float, Ge(0), Le(100)]
OptLen = Annotated[int, Ge(1), Le(100)]

Cell = tuple[int, int]
Edge = tuple[Cell, Cell]

DIRECTIONS = ("left", "up", "right", "down")
STEPS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
COLOURS = ("red", "orange", "yellow", "green")  # of wall and crossing digits, by direction
GOAL_COLOURS = ("cyan", "blue", "purple", "white")  # of goal digits, by direction
ALL_COLOURS = (*COLOURS, *GOAL_COLOURS)
SHAPES = ("circle", "triangle", "square", "pentagon")  # of hints, by direction
SIDE = 10
SCHEMA = "gumption/halma-maze/1"


class Digit(NamedTuple):
    """A distance on a panel: 1 to 9 in one of ALL_COLOURS; `kind` is "crossing", "wall" or "goal"."""

    value: int
    colour: str
    direction: str
    kind: str


class Maze:
    """A validated maze; equal to another with the same start, goal and edges.

    :ivar start, goal: cells.
    :ivar edges: sorted pairs of sorted cells.
    """

    def __init__(self, start: Iterable[int], goal: Iterable[int], edges: Iterable[Iterable[Iterable[int]]]) -> None:
        """:raises InputError: no tree, a goal that cannot be reached, a path to it that is not monotone, or cells that
        do not fit into a box of 10 x 10.
        """
        self.start = _cell(start)
        self.goal = _cell(goal)
        self.edges: tuple[Edge, ...] = tuple(sorted(map(_edge, _members(edges))))
        self._next: dict[Cell, list[Cell]] = {self.start: []}
        for a, b in self.edges:
            self._next.setdefault(a, []).append(b)
            self._next.setdefault(b, []).append(a)
        self.cells: tuple[Cell, ...] = tuple(sorted(self._next))
        self._check()

    def _check(self) -> None:
        if self.start == self.goal:
            raise InputError(f"start and goal are both {self.start}; a maze leads somewhere")
        if len(set(self.edges)) != len(self.edges):
            raise InputError("an edge is given twice; a maze is a tree")
        reached = self._parents
        if self.goal not in reached:
            raise InputError(f"the goal {self.goal} cannot be reached from the start {self.start}")
        if len(reached) != len(self.cells):
            lost = next(cell for cell in self.cells if cell not in reached)
            raise InputError(f"cell {lost} cannot be reached from the start {self.start}; a maze is one tree")
        if len(self.edges) != len(self.cells) - 1:
            raise InputError(
                f"{len(self.cells)} cells have {len(self.edges)} edges: there is a circle; a maze is a tree"
            )
        for axis in (0, 1):
            values = [cell[axis] for cell in self.cells]
            if max(values) - min(values) >= SIDE:
                raise InputError(
                    f"the cells are {max(values) - min(values) + 1} wide; a maze fits into {SIDE} x {SIDE}"
                )
        path = self.optimal_path
        if len(path) - 1 != abs(path[-1][0] - path[0][0]) + abs(path[-1][1] - path[0][1]):
            at = next(b for a, b in pairwise(path) if self._distance(b) > self._distance(a))
            raise InputError(
                f"the way to the goal is ambiguous: it leads away from it at {at}; each move of an optimal path lowers "
                "the Manhattan distance by 1 (paper, A.1)"
            )

    def _distance(self, cell: Cell) -> int:
        return abs(self.goal[0] - cell[0]) + abs(self.goal[1] - cell[1])

    @cached_property
    def _parents(self) -> dict[Cell, Cell]:
        """The cell before each cell on the path from the start; the start is its own."""
        parents = {self.start: self.start}
        front = [self.start]
        while front:
            cell = front.pop()
            for other in self._next[cell]:
                if other not in parents:
                    parents[other] = cell
                    front.append(other)
        return parents

    @cached_property
    def optimal_path(self) -> list[Cell]:
        """The cells from the start to the goal."""
        path = [self.goal]
        while path[-1] != self.start:
            path.append(self._parents[path[-1]])
        return path[::-1]

    @cached_property
    def crossings(self) -> frozenset[Cell]:
        """Cells where three or four corridors meet."""
        return frozenset(cell for cell in self.cells if self.degree(cell) >= 3)

    @checked
    def neighbours(self, cell: Cell) -> list[Cell]:
        """:raises InputError: the maze has no such cell."""
        if cell not in self._next:
            raise InputError(f"the maze has no cell {cell}")
        return sorted(self._next[cell])

    @checked
    def degree(self, cell: Cell) -> int:
        """The number of edges; 0 where the maze has no such cell."""
        return len(self._next.get(cell, ()))

    @checked
    def hint(self, cell: Cell) -> int | None:
        """Index of the direction of the next cell towards the goal; None where no hint is shown.

        Hints are shown at crossings but the goal, and at a start with at least two edges (decision: there is a choice,
        and the paper's example shows one).
        """
        self.neighbours(cell)
        choice = self.degree(cell) >= (2 if cell == self.start else 3)
        if not choice or cell == self.goal:
            return None
        ahead = self._onward.get(cell, self._parents[cell])  # off the path, towards the start is towards the goal
        return STEPS.index((ahead[0] - cell[0], ahead[1] - cell[1]))

    @cached_property
    def _onward(self) -> dict[Cell, Cell]:
        return dict(pairwise(self.optimal_path))

    def to_json(self) -> dict[str, Any]:
        shown = ((cell, self.hint(cell)) for cell in self.cells)
        return {
            "schema": SCHEMA,
            "start": list(self.start),
            "goal": list(self.goal),
            "edges": [[*a, *b] for a, b in self.edges],
            "hints": [[*cell, SHAPES[hint]] for cell, hint in shown if hint is not None],
        }

    @classmethod
    @checked
    def from_json(cls, value: Any, where: str = "") -> "Maze":
        """The maze of what `to_json` gave.

        :param where: the begin of an error's message, such as a file and a line.
        :raises InputError: another schema, missing parts, hints that the maze does not have, or no valid maze.
        """
        before = f"{where}: " if where else ""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            other = value.get("schema") if isinstance(value, dict) else value
            raise InputError(f"{before}not a maze of schema {SCHEMA} but {other!r:.60}")
        try:
            edges = [((x, y), (x2, y2)) for x, y, x2, y2 in value["edges"]]
            maze = cls(value["start"], value["goal"], edges)
        except InputError as error:
            raise InputError(f"{before}{error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{before}not a maze: start, goal and edges of four whole numbers each ({error})"
            ) from None
        if value.get("hints", maze.to_json()["hints"]) != maze.to_json()["hints"]:
            raise InputError(f"{before}the hints are not those of this maze")
        return maze

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) of the maze's JSON."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Maze):
            return NotImplemented
        return (self.start, self.goal, self.edges) == (other.start, other.goal, other.edges)

    def __hash__(self) -> int:
        return hash((self.start, self.goal, self.edges))

    def __repr__(self) -> str:
        return f"Maze(start={self.start}, goal={self.goal}, cells={len(self.cells)})"


@checked
def panel_row(maze: Maze, cell: Cell) -> np.ndarray:
    """The panel of a cell, (11,) int8: distance to the nearest crossing in each direction (0-3) and to the wall (4-7),
    offset of the goal dx, dy (8, 9; signed), and the hint (10; 1 + its direction). 0 is not shown.

    :raises InputError: the maze has no such cell.
    """
    maze.neighbours(cell)
    row = np.zeros(11, dtype=np.int8)
    for direction, (dx, dy) in enumerate(STEPS):
        here, length = cell, 0
        while (ahead := (here[0] + dx, here[1] + dy)) in maze.neighbours(here):
            here, length = ahead, length + 1
            if not row[direction] and here in maze.crossings:
                row[direction] = length
        row[4 + direction] = length
    row[8:10] = maze.goal[0] - cell[0], maze.goal[1] - cell[1]
    hint = maze.hint(cell)
    row[10] = 0 if hint is None else 1 + hint
    return row


def row_digits(row: np.ndarray) -> list[Digit]:
    """The digits of a panel row (11,): crossings, walls, the goal's."""
    values = [int(value) for value in row]
    digits = [
        Digit(values[4 * part + d], COLOURS[d], DIRECTIONS[d], kind)
        for part, kind in enumerate(("crossing", "wall"))
        for d in range(4)
        if values[4 * part + d]
    ]
    for offset, (behind, ahead) in ((values[8], (0, 2)), (values[9], (3, 1))):
        if offset:
            d = ahead if offset > 0 else behind
            digits.append(Digit(abs(offset), GOAL_COLOURS[d], DIRECTIONS[d], "goal"))
    return digits


def goal_distances(rows: np.ndarray) -> np.ndarray:
    """Panel rows (..., 11) -> (..., 4): the goal's digit by direction, 0 where it does not lie in that direction."""
    dx, dy = rows[..., 8], rows[..., 9]
    return np.stack([-dx, dy, dx, -dy], axis=-1).clip(min=0)


def place_codes(rows: np.ndarray) -> np.ndarray:
    """(..., n) the first n numbers of panel rows -> (...) int64, equal where these are: so a place is recognised."""
    return (rows.astype(np.int64) + 9) @ 19 ** np.arange(rows.shape[-1], dtype=np.int64)


@checked
def panel_digits(maze: Maze, cell: Cell) -> list[Digit]:
    """The digits that are shown at a cell: of at most four crossings, four walls and two of the goal (3.1, B.2).

    :raises InputError: the maze has no such cell.
    """
    return row_digits(panel_row(maze, cell))


def _cell(value: Iterable[int]) -> Cell:
    parts = _members(value)
    if len(parts) != 2 or not all(isinstance(part, int | np.integer) for part in parts):
        raise InputError(f"{shown(parts)} is no cell: a cell is two whole numbers")
    return int(parts[0]), int(parts[1])


def _members(value: Any) -> tuple[Any, ...]:
    try:
        return tuple(value)
    except TypeError:  # one thing, and no members
        return (value,)


def _edge(pair: Iterable[Iterable[int]]) -> Edge:
    ends = sorted(map(_cell, _members(pair)))
    if len(ends) != 2:
        raise InputError(f"{shown(pair)} is no edge: an edge is two cells")
    a, b = ends
    if abs(a[0] - b[0]) + abs(a[1] - b[1]) != 1:
        raise InputError(f"the edge {a} to {b} does not join neighbours")
    return a, b


def panel_items(row: np.ndarray) -> list[tuple[str, str]]:
    """Class and colour of the items of a panel row (11,), in the order of its places that are not 0."""
    items = [(str(digit.value), digit.colour) for digit in row_digits(row)]
    return [*items, (SHAPES[row[10] - 1], "grey")] if row[10] else items


# ---- The oracle: the moves of an agent that understands every panel (paper, 3.3 and A.3).

LONGEST_PRIMITIVE = 3


class Move(NamedTuple):
    direction: str
    length: int


class OracleTrials(NamedTuple):
    """:ivar exploring: the moves of the first trial; `planned` those of each later one."""

    exploring: list[Move]
    planned: list[Move]


def justified_moves(row: np.ndarray) -> list[tuple[int, int]]:
    """The moves (direction, distance) that a panel row (11,) justifies in a first trial; at a valid state it is one.

    The direction is the hint's, or without a hint each that is open and lowers the distance to the goal (paper, A.3).
    The distance is that of the nearest crossing, wall or, straight ahead, goal.
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
    """The oracle's trials: exploring from panel to panel, then along the known path in as few options as possible.

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
        named = ", ".join(f"{DIRECTIONS[d]} {n}" for d, n in moves) or "nothing"
        raise InputError(f"the optimal path is ambiguous: at {cell} the panel justifies {named}")
    return moves[0]


@checked
def check_unambiguous(maze: Maze) -> None:
    """Follow the oracle's first trial, along the optimal path.

    :raises InputError: a state where not exactly one move is justified, or it leaves the optimal path.
    """
    at = {cell: i for i, cell in enumerate(maze.optimal_path)}
    cell = maze.start
    while cell != maze.goal:
        direction, length = _justified(maze, cell)
        ahead = (cell[0] + STEPS[direction][0] * length, cell[1] + STEPS[direction][1] * length)
        if at.get(ahead, -1) != at[cell] + length:
            raise InputError(f"the optimal path is ambiguous: at {cell} the panel leads away from it, to {ahead}")
        cell = ahead


def straight_runs(maze: Maze) -> list[tuple[int, int]]:
    """The optimal path as (direction, length) with consecutive unit moves of one direction merged."""
    path = maze.optimal_path
    units = (STEPS.index((b[0] - a[0], b[1] - a[1])) for a, b in pairwise(path))
    return [(direction, len(list(run))) for direction, run in groupby(units)]


@checked
def option_capacity(max_opt_len: OptLen) -> int:
    """The longest move of an option."""
    return LONGEST_PRIMITIVE * max_opt_len


# ---- Many mazes as arrays: every panel is computed once, so that a step of many environments is a few gathers.

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
            for i in order:  # from the border inwards: the next cell's distances are known
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
        """(M, 100) int64: the direction of the next cell towards the goal, by a search outwards from the goal."""
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
        """:raises InputError: no such maze, or an index out of range."""
        self._check(m)
        if not 0 <= index < CELLS:
            raise InputError(f"index is {index}; cells have an index from 0 to {CELLS - 1}")
        return int(self.corner[m, 0] + index // SIDE), int(self.corner[m, 1] + index % SIDE)

    def index(self, m: int, cell: Cell) -> int:
        """:raises InputError: no such maze, or it has no such cell."""
        self._check(m)
        x, y = cell[0] - int(self.corner[m, 0]), cell[1] - int(self.corner[m, 1])
        if not (0 <= x < SIDE and 0 <= y < SIDE and self.inside[m, x * SIDE + y]):
            raise InputError(f"maze {m} has no cell {tuple(cell)}")
        return x * SIDE + y

    @cached_property
    def _stops(self) -> list[list[int]]:
        """Distances between the oracle's stops on its first trial: crossings, corners and the goal."""
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
        """The files of a run or a memory: MAZES, JSON Lines with a maze a line."""
        return {MAZES: sealed_lines(maze.to_json() for maze in self.mazes)[0]}

    def save(self, path: str | Path) -> None:
        """Write JSON Lines, a maze a line."""
        write_text(Path(path), self.files[MAZES])

    @classmethod
    def load(cls, path: str | Path) -> "Mazes":
        """:raises InputError: no such file, a line that is no maze, or one that was changed."""
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

    :raises InputError: no panel rows.
    """
    if rows.shape[-1:] != (11,) or rows.dtype.kind not in "iu":
        raise InputError(f"rows have shape {rows.shape} and are {rows.dtype}; they are (..., 11) whole numbers")
    codes = rows.astype(np.intp)
    codes[..., :10] += ZERO
    codes[..., 10] += COLUMNS
    return _ONE_HOT.take(codes, axis=0)


# By code: 19 values, then no hint, then the four shapes.
_ONE_HOT = np.concatenate([np.eye(COLUMNS), np.zeros((1, COLUMNS)), np.eye(4, COLUMNS)]).astype(np.uint8)
