"""Mazes: trees of cells on the integer lattice with a monotone path from start to goal; their panels; the oracle.

x grows to the right, y grows upwards. Neighbouring cells are connected only by an edge of the tree, so parallel
corridors may touch (thin walls). All cells lie in a box, 10 x 10 unless the rules differ. Every distance and every
offset of the goal, from any cell, is then a digit (paper, A.2 and F.1).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from gumption.data.errors import InputError, located
from gumption.data.reading import read_text
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.data.settings import check, checked, checked_methods, shown
from gumption.data.writing import write_text

from .rules import LARGEST_SIDE, RULES, OptLen, PanelsEqual, Primitive, Rules, Side, fewest_options, option_of, spans

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

Cell = tuple[int, int]
Edge = tuple[Cell, Cell]

DIRECTIONS = ("left", "up", "right", "down")
STEPS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
COLOURS = ("red", "orange", "yellow", "green")  # of wall and crossing digits, by direction
GOAL_COLOURS = ("cyan", "blue", "purple", "white")  # of goal digits, by direction
ALL_COLOURS = (*COLOURS, *GOAL_COLOURS)
SHAPES = ("circle", "triangle", "square", "pentagon")  # of hints, by direction
SCHEMA = "gumption/halma-maze/1"


class Digit(NamedTuple):
    """A distance on a panel, at least 1, in one of ALL_COLOURS; `kind` is "crossing", "wall" or "goal"."""

    value: int
    colour: str
    direction: str
    kind: str


class Maze:
    """A validated maze. Mazes with the same start, goal, edges and side are equal.

    :ivar start, goal: cells.
    :ivar edges: sorted pairs of sorted cells.
    :ivar side: side of the box that contains the maze.
    """

    def __init__(
        self, start: Iterable[int], goal: Iterable[int], edges: Iterable[Iterable[Iterable[int]]], side: Side = 10
    ) -> None:
        """:raises InputError: no tree, an unreachable goal, a path to it that is not monotone, or cells that do not fit
        into a box of side x side.
        """
        self.side = check("side", side, Side)
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
            if max(values) - min(values) >= self.side:
                raise InputError(
                    f"the cells are {max(values) - min(values) + 1} wide; a maze fits into {self.side} x {self.side}"
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
        """The predecessor of each cell on the path from the start; the start is its own predecessor."""
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
        """Return the number of edges; 0 if the maze has no such cell."""
        return len(self._next.get(cell, ()))

    @checked
    def hint(self, cell: Cell) -> int | None:
        """Return the direction index of the next cell towards the goal; None if no hint is shown.

        Hints are shown at crossings except the goal, and at a start with at least two edges (decision: the agent has a
        choice there, and the paper's example shows a hint).
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
            **({} if self.side == RULES.side else {"side": self.side}),
        }

    @classmethod
    @checked
    def from_json(cls, value: Any, where: str = "") -> "Maze":
        """Build a maze from the output of `to_json`.

        :param where: prefix of error messages, such as a file and a line.
        :raises InputError: another schema, missing parts, hints that the maze does not have, or no valid maze.
        """
        before = f"{where}: " if where else ""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            other = value.get("schema") if isinstance(value, dict) else value
            raise InputError(f"{before}not a maze of schema {SCHEMA} but {other!r:.60}")
        try:
            edges = [((x, y), (x2, y2)) for x, y, x2, y2 in value["edges"]]
            maze = cls(value["start"], value["goal"], edges, value.get("side", RULES.side))
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
        mine, theirs = ((maze.start, maze.goal, maze.edges, maze.side) for maze in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.start, self.goal, self.edges))

    def __repr__(self) -> str:
        return f"Maze(start={self.start}, goal={self.goal}, cells={len(self.cells)})"


@checked
def panel_row(maze: Maze, cell: Cell, panels_equal: PanelsEqual = "both") -> np.ndarray:
    """Return the panel of a cell, (11,) int8: distance to the nearest crossing in each direction (0-3) and to the wall
    (4-7), offset of the goal dx, dy (8, 9; signed), and the hint (10; 1 + its direction). A 0 is not shown.

    :param panels_equal: see `Rules`.
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
        if panels_equal == "one" and row[direction] == length:
            row[direction] = 0
    row[8:10] = maze.goal[0] - cell[0], maze.goal[1] - cell[1]
    hint = maze.hint(cell)
    row[10] = 0 if hint is None else 1 + hint
    return row


def row_digits(row: np.ndarray) -> list[Digit]:
    """Return the digits of a panel row (11,): crossings, walls, then the goal's digits."""
    values = row.tolist()
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
    """Map panel rows (..., 11) to (..., 4): the goal's digit by direction, 0 if the goal does not lie there."""
    dx, dy = rows[..., 8], rows[..., 9]
    return np.stack([-dx, dy, dx, -dy], axis=-1).clip(min=0)


def place_codes(rows: np.ndarray) -> np.ndarray:
    """Encode the first n numbers of panel rows (..., n) as (...) int64. Equal numbers have equal codes."""
    most = LARGEST_SIDE - 1
    return (rows.astype(np.int64) + most) @ (2 * most + 1) ** np.arange(rows.shape[-1], dtype=np.int64)


@checked
def panel_digits(maze: Maze, cell: Cell, panels_equal: PanelsEqual = "both") -> list[Digit]:
    """Return the digits shown at a cell, of at most four crossings, four walls and two of the goal (3.1, B.2).

    :param panels_equal: see `Rules`.
    :raises InputError: the maze has no such cell.
    """
    return row_digits(panel_row(maze, cell, panels_equal))


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


# ---- The oracle: the moves of an agent that understands every panel (paper, 3.3 and A.3).


class Move(NamedTuple):
    """:ivar length: cells; for an option with user-defined primitives, the sum of their digits."""

    direction: str
    length: int


class OracleTrials(NamedTuple):
    """:ivar exploring: the moves of the first trial; `planned` the moves of each later trial."""

    exploring: list[Move]
    planned: list[Move]


def justified_moves(row: np.ndarray) -> list[tuple[int, int]]:
    """Return the moves (direction, distance) that a panel row (11,) justifies in a first trial; one at a valid state.

    The direction is the hint's. Without a hint, it is any open direction that lowers the distance to the goal (paper,
    A.3). The distance is that of the nearest crossing, wall or, straight ahead, goal.
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
def oracle_trials(maze: Maze, max_opt_len: OptLen, rules: Rules | None = None) -> OracleTrials:
    """Return the oracle's trials: exploring from panel to panel, then reaching the goal in the fewest options.

    :param rules: None for the paper's, in a box of the maze's side.
    :raises InputError: max_opt_len below 1; a maze in which several moves or none are justified.
    """
    trials = oracle_options(maze, max_opt_len, rules)
    digits = (rules or RULES).digits
    exploring, planned = (
        [Move(DIRECTIONS[direction], int(digits[way].sum())) for direction, *way in trial] for trial in trials
    )
    return OracleTrials(exploring, planned)


@checked
def oracle_options(
    maze: Maze, max_opt_len: OptLen, rules: Rules | None = None
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the options (1 + T numbers each) of the oracle's first and of each later trial; see `oracle_trials`."""
    if rules is None:
        rules = Rules(side=maze.side)
    reach = spans(rules, max_opt_len)
    own = None if rules.walks_only else Mazes([maze], rules)
    first = reach.first
    cell, exploring = maze.start, []
    while cell != maze.goal:
        direction, distance = _justified(maze, cell)
        length = int(first[distance]) if own is None else distance
        ahead = (cell[0] + STEPS[direction][0] * length, cell[1] + STEPS[direction][1] * length)
        if own is None:
            exploring.append(option_of(rules, max_opt_len, direction, length))
        else:
            begin, end = own.index(0, cell), own.index(0, ahead)
            exploring += fewest_options(own.landings[:, 0], begin, end, max_opt_len, [direction])
        cell = ahead
    if own is not None or not reach.without_gaps:
        own = Mazes([maze], rules) if own is None else own
        ends = int(own.start[0]), int(own.goal[0])
        return exploring, fewest_options(own.landings[:, 0], *ends, max_opt_len)
    planned = []
    for direction, left in straight_runs(maze):
        while left:
            planned.append(option_of(rules, max_opt_len, direction, int(first[left])))
            left -= int(first[left])
    return exploring, planned


def _justified(maze: Maze, cell: Cell) -> tuple[int, int]:
    moves = justified_moves(panel_row(maze, cell))
    if len(moves) != 1:
        named = ", ".join(f"{DIRECTIONS[d]} {n}" for d, n in moves) or "nothing"
        raise InputError(f"the optimal path is ambiguous: at {cell} the panel justifies {named}")
    return moves[0]


@checked
def check_unambiguous(maze: Maze) -> None:
    """Check that the oracle's first trial follows the optimal path.

    :raises InputError: a state where not exactly one move is justified, or where it leaves the optimal path.
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
    """Return the optimal path as (direction, length), with consecutive unit moves of one direction merged."""
    path = maze.optimal_path
    units = (STEPS.index((b[0] - a[0], b[1] - a[1])) for a, b in pairwise(path))
    return [(direction, len(list(run))) for direction, run in groupby(units)]


# ---- Many mazes as arrays. Every panel is computed once, so that a step of many environments is a few gathers.

MAZES = "mazes.jsonl"  # of a run or a memory


@checked_methods
class Mazes:
    """M mazes and the panels of all their cells.

    The index of a cell is (x - x0) * side + (y - y0), with the lowest x and y of its maze as x0 and y0.

    :ivar rules: rules of their world.
    :ivar cells: side * side, the number of indices; `offsets` (4,) int64, the index step to the neighbour in each
        direction; `place` (side * side, 2) int64, x - x0 and y - y0 of each index.
    :ivar corner: (M, 2) int64, x0 and y0 of each maze.
    :ivar inside: (M, side * side) bool, the indices that are cells.
    :ivar rows: (M, side * side, 11) int8, the panel row of each cell (see `panel_row`), zeros outside; `places` the
        same, (M * side * side, 11).
    :ivar start, goal: (M,) int64 indices.
    """

    def __init__(self, mazes: Iterable[Maze], rules: Rules | None = None) -> None:
        """:param rules: None for the paper's rules, in boxes of the mazes' side.
        :raises InputError: no mazes, or a maze of another side.
        """
        self.mazes = list(mazes)
        if not self.mazes:
            raise InputError("no mazes; give at least one")
        self.rules = Rules(side=self.mazes[0].side) if rules is None else rules
        side = self.rules.side
        if other := next((maze for maze in self.mazes if maze.side != side), None):
            raise InputError(f"{other} is for boxes of side {other.side}, not {side}; give side={other.side}")
        self.cells, self.offsets = side * side, np.array([dx * side + dy for dx, dy in STEPS])
        self._found: dict[int, np.ndarray] = {}
        self.place = np.stack(np.divmod(np.arange(self.cells), side), 1)
        count = len(self.mazes)
        self.corner = np.array([np.min(maze.cells, axis=0) for maze in self.mazes])
        sizes = [len(maze.edges) for maze in self.mazes]
        owner = np.repeat(np.arange(count), sizes)
        ends = np.array([edge for maze in self.mazes for edge in maze.edges])  # (E, 2, 2): lower end first
        scale = np.array([side, 1])
        lower, upper = ((ends[:, i] - self.corner[owner]) @ scale for i in (0, 1))
        along_x = ends[:, 0, 0] != ends[:, 1, 0]
        open_ = np.zeros((count, self.cells, 4), dtype=bool)
        open_[owner, lower, np.where(along_x, 2, 1)] = True
        open_[owner, upper, np.where(along_x, 0, 3)] = True
        self.inside = np.any(open_, axis=2)
        ends_of = np.array([(maze.start, maze.goal) for maze in self.mazes]) - self.corner[:, None]
        self.start, self.goal = (ends_of @ scale).T
        self.rows = self._panels(open_)
        self.places = self.rows.reshape(-1, 11)

    def _panels(self, open_: np.ndarray) -> np.ndarray:
        count, side = len(self.mazes), self.rules.side
        each = np.arange(count)
        rows = np.zeros((count, self.cells, 11), dtype=np.int8)
        degree = open_.sum(2)
        crossing = degree >= 3
        grid = rows.reshape(count, side, side, 11)
        passage, meeting = open_.reshape(count, side, side, 4), crossing.reshape(count, side, side)
        for d, (dx, dy) in enumerate(STEPS):
            axis, forward = (1, dx > 0) if dx else (2, dy > 0)
            lines, doors = np.moveaxis(grid, axis, 0), np.moveaxis(passage, axis, 0)
            meetings = np.moveaxis(meeting, axis, 0)
            order = range(side - 2, -1, -1) if forward else range(1, side)
            for i in order:  # from the border inwards, where the next cell's distances are known
                ahead = i + 1 if forward else i - 1
                door = doors[i, ..., d]
                to_crossing, to_wall = lines[ahead, ..., d], lines[ahead, ..., 4 + d]
                further = np.where(to_crossing > 0, to_crossing + 1, 0)
                lines[i, ..., d] = door * np.where(meetings[ahead], 1, further)
                lines[i, ..., 4 + d] = door * (to_wall + 1)
        if self.rules.panels_equal == "one":
            rows[..., :4] *= rows[..., :4] != rows[..., 4:8]
        place = np.arange(self.cells)
        rows[..., 8] = (self.goal // side)[:, None] - place // side
        rows[..., 9] = (self.goal % side)[:, None] - place % side
        hinted = crossing.copy()
        hinted[each, self.start] = degree[each, self.start] >= 2
        hinted[each, self.goal] = False
        rows[..., 10] = np.where(hinted, 1 + self._towards_goal(open_), 0)
        rows[~self.inside] = 0
        return rows

    def _towards_goal(self, open_: np.ndarray) -> np.ndarray:
        """Return (M, side * side) int64: the direction of the next cell towards the goal, by breadth-first search."""
        each = np.arange(len(self.mazes))
        known = np.zeros(open_.shape[:2], dtype=bool)
        known[each, self.goal] = True
        towards = np.zeros(open_.shape[:2], dtype=np.int64)
        front = (each, self.goal)
        while len(front[0]):
            maze, cell = [], []
            for d in range(4):
                passable = open_[front[0], front[1], d]
                m, c = front[0][passable], front[1][passable] + self.offsets[d]
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
        if not 0 <= index < self.cells:
            raise InputError(f"index is {index}; cells have an index from 0 to {self.cells - 1}")
        x, y = divmod(index, self.rules.side)
        return int(self.corner[m, 0] + x), int(self.corner[m, 1] + y)

    def index(self, m: int, cell: Cell) -> int:
        """:raises InputError: no such maze, or it has no such cell."""
        self._check(m)
        x, y = cell[0] - int(self.corner[m, 0]), cell[1] - int(self.corner[m, 1])
        side = self.rules.side
        if not (0 <= x < side and 0 <= y < side and self.inside[m, x * side + y]):
            raise InputError(f"maze {m} has no cell {tuple(cell)}")
        return x * side + y

    def ahead(self, distance: Annotated[int, Ge(0), Le(LARGEST_SIDE)]) -> np.ndarray:
        """Return (M, side * side, 4) int64: the index of the cell `distance` steps ahead in each direction, regardless
        of walls; -1 if the maze has no such cell, or if the index of the origin is no cell."""
        there = self.place[:, None] + np.array(STEPS) * distance
        within = ((there >= 0) & (there < self.rules.side)).all(-1)
        index = np.where(within, there @ [self.rules.side, 1], 0)
        return np.where(within & self.inside[:, index] & self.inside[:, :, None], index, -1)

    @cached_property
    def landings(self) -> np.ndarray:
        """(P, M, side * side, 4) int32: where each primitive ends, by maze, cell and direction; -1 if it is impossible.

        :raises InputError: a user-defined primitive that returns no such array.
        """
        return np.stack([self._landing(part) for part in self.rules.parts])

    def _landing(self, part: Primitive) -> np.ndarray:
        shape = (len(self), self.cells, 4)
        if part.landing is None:
            end = np.arange(self.cells)[:, None] + self.offsets * part.digit
            return np.where((part.digit <= self.rows[..., 4:8]) & self.inside[..., None], end, -1).astype(np.int32)
        found = np.asarray(part.landing(self))
        if found.shape != shape or found.dtype.kind not in "iu":
            raise InputError(
                f"the primitive {part.name} gives {found.shape} of {found.dtype}; where it ends is an array {shape} of "
                "whole numbers: by maze, cell and direction the index of a cell, or -1"
            )
        reached = np.take_along_axis(self.inside, np.clip(found, 0, self.cells - 1).reshape(len(self), -1), 1)
        wrong = (found < -1) | (found >= self.cells) | ((found >= 0) & ~reached.reshape(shape))
        if wrong[self.inside].any():
            m, cell, d = np.argwhere(wrong & self.inside[..., None])[0].tolist()
            raise InputError(
                f"the primitive {part.name} ends at {found[m, cell, d]} in maze {m}, from {cell} {DIRECTIONS[d]}; it "
                "ends at the index of one of the maze's cells, or -1"
            )
        return np.where(self.inside[..., None], found, -1).astype(np.int32)

    @cached_property
    def _stops(self) -> list[list[int]]:
        """Distances between the oracle's stops in its first trial: crossings, corners and the goal."""
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
        """Return (M,) int64: moves of the oracle's first trial, in closed form if all primitives walk."""
        if not self.rules.walks_only:
            return self._searched(max_opt_len)[:, 0]
        options = spans(self.rules, max_opt_len).options
        return np.array([options[lengths].sum() for lengths in self._stops])

    def planned(self, max_opt_len: OptLen) -> np.ndarray:
        """Return (M,) int64: moves of each later trial of the oracle, in closed form if options walk all lengths up to
        the longest. Otherwise a search is needed, since overshooting and returning can be shorter."""
        if not (self.rules.walks_only and spans(self.rules, max_opt_len).without_gaps):
            return self._searched(max_opt_len)[:, 1]
        options = spans(self.rules, max_opt_len).options
        return np.array([options[[length for _, length in straight_runs(maze)]].sum() for maze in self.mazes])

    def _searched(self, max_opt_len: OptLen) -> np.ndarray:
        """Return (M, 2) int64: moves of the oracle's first and of its later trials."""
        if max_opt_len not in self._found:
            trials = (oracle_options(maze, max_opt_len, self.rules) for maze in self.mazes)
            self._found[max_opt_len] = np.array([[len(trial) for trial in pair] for pair in trials])
        return self._found[max_opt_len]

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the mazes, in their order, and of rules that differ from the paper's."""
        rules = json.dumps(self.rules.changes, sort_keys=True) if self.rules.changes else ""
        return hashlib.sha256(("".join(maze.fingerprint for maze in self.mazes) + rules).encode()).hexdigest()

    @cached_property
    def files(self) -> dict[str, str]:
        """The files of a run or a memory: MAZES, JSON Lines with one maze per line."""
        return {MAZES: sealed_lines(maze.to_json() for maze in self.mazes)[0]}

    def save(self, path: str | Path) -> None:
        """Write JSON Lines, one maze per line."""
        write_text(Path(path), self.files[MAZES])

    @classmethod
    def load(cls, path: str | Path, rules: Rules | None = None) -> "Mazes":
        """:raises InputError: no such file, a line that is no maze or was changed; mazes of another side."""
        text = read_text(Path(path))
        lines, _ = unsealed_lines(text, Path(path))
        mazes = [Maze.from_json(value, f"{path}:{number}") for number, value in enumerate(lines, 1)]
        if not mazes:
            raise InputError(f"{path}: no mazes in it")
        with located(path):
            return cls(mazes, rules)


@checked
def one_hot(rows: np.ndarray, side: Side = 10) -> np.ndarray:
    """Return symbolic observations (..., 11, 2 side - 1) uint8 of panel rows (..., 11): column value + side - 1, the
    hint in columns 0 to 3.

    A value that is not shown is a zero, in column side - 1; without a hint row 10 is all zeros (paper, F.1).

    :raises InputError: no panel rows; no side of a box.
    """
    if rows.shape[-1:] != (11,) or rows.dtype.kind not in "iu":
        raise InputError(f"rows have shape {rows.shape} and are {rows.dtype}; they are (..., 11) whole numbers")
    codes = rows.astype(np.intp)
    codes[..., :10] += side - 1
    codes[..., 10] += 2 * side - 1
    return _one_hot(side).take(codes, axis=0)


@cache
def _one_hot(side: int) -> np.ndarray:
    """Return a table by code: 2 side - 1 values, then no hint, then the four shapes."""
    columns = 2 * check("side", side, Side) - 1
    return np.concatenate([np.eye(columns), np.zeros((1, columns)), np.eye(4, columns)]).astype(np.uint8)
