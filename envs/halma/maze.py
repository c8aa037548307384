"""A maze: a tree of cells on the integer lattice with one monotone way from the start to the goal.

x grows to the right, y grows upwards. Two neighbouring cells are connected only where the tree has an edge, so that
parallel corridors may touch (thin walls). All cells lie in a box of 10 x 10: then every distance and every offset of
the goal, from wherever the agent may get to, is a digit (paper, A.2 and F.1).
"""

import hashlib
import itertools
import json
from collections.abc import Iterable
from functools import cached_property
from itertools import groupby, pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import checked, shown

# ---- What the settings of HALMA's environments, mazes and runs can be.

Observation = Literal["symbolic", "visual"]
Panels = Literal["redrawn", "fixed"]
Images = Literal["train", "test", "train-full", "test-full"]
Order = Literal["random", "sequential"]

MOST_MAZES = 738_980  # so many optimal paths there are, and mazes without branches: `count_optimal_paths`
NumMazes = Annotated[int, Ge(1), Le(MOST_MAZES)]
TestMazes = Annotated[int, Ge(1), Le(10_000)]  # of one test: their optimal paths all differ
MeanDepth = Annotated[float, Ge(1), Le(100)]  # in a box of so few cells more is the same
MeanBranches = Annotated[float, Ge(0), Le(100)]
OptLen = Annotated[int, Ge(1), Le(100)]
Shown = Annotated[int, Ge(0), Le(9)]  # a digit of a panel, and 0 for none
Direction = Annotated[int, Ge(0), Le(3)]  # index of one of DIRECTIONS


Cell = tuple[int, int]
Edge = tuple[Cell, Cell]

DIRECTIONS = ("left", "up", "right", "down")
STEPS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
COLOURS = ("red", "orange", "yellow", "green")  # of wall and crossing digits, by direction
GOAL_COLOURS = ("cyan", "blue", "purple", "white")  # of goal digits, by direction
SHAPES = ("circle", "triangle", "square", "pentagon")  # of hints, by direction
SIDE = 10
SCHEMA = "gumption/halma-maze/1"


class Digit(NamedTuple):
    """What a panel shows of one distance.

    :ivar value: 1 to 9.
    :ivar colour: one of COLOURS or GOAL_COLOURS.
    :ivar direction: one of DIRECTIONS.
    :ivar kind: "crossing", "wall" or "goal".
    """

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
        """:raises InputError: no tree, a goal that cannot be reached, a way to it that is not monotone, or cells that
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
            at = next(b for a, b in itertools.pairwise(path) if self._distance(b) > self._distance(a))
            raise InputError(
                f"the way to the goal is ambiguous: it leads away from it at {at}; each move of an optimal path lowers "
                "the Manhattan distance by 1 (paper, A.1)"
            )

    def _distance(self, cell: Cell) -> int:
        return abs(self.goal[0] - cell[0]) + abs(self.goal[1] - cell[1])

    @cached_property
    def _parents(self) -> dict[Cell, Cell]:
        """The cell before each cell on the way from the start; the start is its own."""
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
        """The cells that an edge leads to.

        :raises InputError: the maze has no such cell.
        """
        if cell not in self._next:
            raise InputError(f"the maze has no cell {cell}")
        return sorted(self._next[cell])

    @checked
    def degree(self, cell: Cell) -> int:
        """How many edges meet there; 0 where the maze has no such cell."""
        return len(self._next.get(cell, ()))

    @checked
    def hint(self, cell: Cell) -> int | None:
        """Index of the direction of the next cell towards the goal; None where no hint is shown.

        Hints are shown at crossings, and at a start with at least two ways to go (decision: there is a choice, and the
        paper's example shows one). None at the goal, where nothing comes next.
        """
        self.neighbours(cell)
        choice = self.degree(cell) >= (2 if cell == self.start else 3)
        if not choice or cell == self.goal:
            return None
        ahead = self._onward.get(cell, self._parents[cell])  # off the path, back towards the start is towards the goal
        return STEPS.index((ahead[0] - cell[0], ahead[1] - cell[1]))

    @cached_property
    def _onward(self) -> dict[Cell, Cell]:
        return dict(zip(self.optimal_path, self.optimal_path[1:], strict=False))

    def to_json(self) -> dict[str, Any]:
        """A dict for json.dump; `from_json` gives the maze back."""
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
        """The maze of such a dict.

        :param where: what the message of an error begins with, such as a file and a line.
        :raises InputError: another schema, missing parts, hints that the maze does not have, or no valid maze.
        """
        before = f"{where}: " if where else ""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            told = value.get("schema") if isinstance(value, dict) else value
            raise InputError(f"{before}not a maze of schema {SCHEMA} but {told!r:.60}")
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
        """sha256 of the maze's JSON."""
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
    """What the panel of a cell shows, (11,) int8: distance to the nearest crossing in each direction (0-3), to the wall
    (4-7), offset of the goal dx, dy (8, 9; signed), and the hint (10; 1 + its direction). 0 is not shown.

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
    """The digits that a panel row (11,) stands for, crossings first, then walls, then the goal."""
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


@checked
def panel_digits(maze: Maze, cell: Cell) -> list[Digit]:
    """The digits that are shown at a cell: at most four crossings, four walls and two of the goal (paper, 3.1, B.2).

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
    """What is drawn for the places of a panel row (11,) that are not 0, in their order: class and colour."""
    items = [(str(digit.value), digit.colour) for digit in row_digits(row)]
    return [*items, (SHAPES[row[10] - 1], "grey")] if row[10] else items


# ---- The oracle: what an agent does that understands every panel, and how long its trials are (paper, 3.3 and A.3).

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
