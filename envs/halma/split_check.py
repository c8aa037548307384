"""Whether splits ask what they claim, worked out anew from the mazes and the knowledge bases alone.

Nothing here uses how splits are made: a maze is walked edge by edge, and the tests' definitions are said once more in
the plain language of sets. So a mistake of the generator is not repeated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from gumption.data.settings import checked

from .maze import DIRECTIONS, STEPS, Cell, Maze

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBases
    from .segment_mazes import Record
    from .splits import Splits

DIGITS = range(1, 10)
ORDER = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")


@dataclass(frozen=True)
class Facts:
    """What the knowledge bases hold, as sets.

    :ivar s, c: (d1, d2, type) of KB_S and KB_C.
    :ivar a: (digit, type) understood through affordance.
    :ivar sightings: how many records show a pair with its type.
    :ivar panels: how often ten digits were met together in one panel.
    :ivar threshold: what was met less often counts as not known.
    """

    s: frozenset[tuple[int, int, str]]
    c: frozenset[tuple[int, int, str]]
    a: frozenset[tuple[int, str]]
    sightings: Mapping[tuple[int, int, str], int]
    panels: Mapping[tuple[int, ...], int]
    threshold: int

    @classmethod
    def of(cls, knowledge: KnowledgeBases) -> Facts:
        """The facts that were met often enough."""
        enough = knowledge.threshold

        def pairs(counts: list[list[list[int]]]) -> frozenset[tuple[int, int, str]]:
            found = product(DIGITS, DIGITS, range(4))
            return frozenset((i, j, DIRECTIONS[t]) for i, j, t in found if i > j and counts[i][j][t] >= enough)

        used, shown = knowledge.affordance.tolist(), knowledge.sightings.tolist()
        panels: Counter[tuple[int, ...]] = Counter()
        for row, count in zip(knowledge.panels.tolist(), knowledge.panel_counts.tolist(), strict=True):
            panels[tuple(row[:10])] += count
        return cls(
            pairs(knowledge.semantics.tolist()),
            pairs(knowledge.causality.tolist()),
            frozenset((i, DIRECTIONS[t]) for i in DIGITS for t in range(4) if used[i][t] >= enough),
            {(i, j, x): shown[i][j][t] for i, j in product(DIGITS, DIGITS) for t, x in enumerate(DIRECTIONS)},
            panels,
            enough,
        )

    def known(self, d1: int, d2: int) -> bool:
        """Whether any knowledge base has d1 > d2, with whatever types."""
        seen = any((d1, d2, x) in self.s or (d1, d2, x) in self.c for x in DIRECTIONS)
        return seen or (d1 > d2 and self.understood(d1) and self.understood(d2))

    def shown(self, d1: int, d2: int) -> bool:
        """Whether panels showed a pair often enough, whatever the colours and whatever was decided there."""
        return sum(self.sightings[d1, d2, x] for x in DIRECTIONS) >= self.threshold

    def understood(self, digit: int) -> bool:
        """Whether a digit is understood through affordance in some type."""
        return any((digit, x) in self.a for x in DIRECTIONS)

    @cached_property
    def template(self) -> bool:
        """Whether three known pairs d1 > d2, d2 > d3, d1 > d3 show what transitivity is."""
        return any(
            self.known(i, j) and self.known(j, k) and self.known(i, k) for i, j, k in product(DIGITS, DIGITS, DIGITS)
        )

    @cached_property
    def owners(self) -> dict[tuple[int, int, str], str]:
        """The test that each (d1, d2, type) belongs to: the first whose definition it meets."""
        owners = {}
        for d1, d2, x in product(DIGITS, DIGITS, DIRECTIONS):
            first = next((test for test in ORDER if d1 > d2 and self.meets(test, d1, d2, x)), None)
            if first is not None:
                owners[d1, d2, x] = first
        return owners

    def meets(self, test: str, d1: int, d2: int, type_: str) -> bool:
        """Whether a pair meets the definition of a test (the table in section 2 of the specification)."""
        in_s = {x for x in DIRECTIONS if (d1, d2, x) in self.s}
        in_c = {x for x in DIRECTIONS if (d1, d2, x) in self.c}
        in_a = {(x, y) for x in DIRECTIONS for y in DIRECTIONS if (d1, x) in self.a and (d2, y) in self.a}
        if test == "ST-1":
            return type_ in in_s
        if test == "ST-2":
            return bool(in_s) and type_ not in in_s
        if test == "AnT":
            follows = any(self.known(d1, middle) and self.known(middle, d2) for middle in DIGITS)
            return not self.known(d1, d2) and not self.shown(d1, d2) and follows and self.template
        if in_s or self.shown(d1, d2):
            return False
        return {
            "AfT-1": type_ in in_c,
            "AfT-2": (type_, type_) in in_a,
            "AfT-3": bool(in_c) and type_ not in in_c,
            "AfT-4": bool(in_a) and (type_, type_) not in in_a,
        }[test]


@checked
def check_splits(splits: Splits, knowledge: KnowledgeBases, training: Iterable[Maze]) -> list[str]:
    """Every fault of the splits, each with its test and line; none where all is as claimed.

    :param knowledge, training: of the run that the splits are said to be made from.
    """
    facts = Facts.of(knowledge)
    faults = []
    if splits.manifest["knowledge"]["fingerprint"] != knowledge.fingerprint:
        faults.append(
            "the splits were made from other knowledge bases than those of this run, or with another threshold"
        )
    faults += _check_mazes(splits.records, list(training))
    for test, records in splits.records.items():
        for line, record in enumerate(records, 1):
            faults += [f"{test}.jsonl:{line}: {fault}" for fault in check_record(record, facts)]
    return faults + _check_absent(splits, facts)


def _check_absent(splits: Splits, facts: Facts) -> list[str]:
    """A test may only be missing where it has nothing to ask that could be built."""
    faults = []
    for test in ORDER:
        pairs = {pair for pair, owner in facts.owners.items() if owner == test}
        refused = {(*entry["pair"], entry["type"]) for entry in splits.manifest["tests"][test]["refused"]}
        if test not in splits.records and pairs - refused:
            d1, d2, type_ = min(pairs - refused)
            faults.append(f"{test}: has no mazes, but it could ask for {d1}>{d2}, {type_}")
    return faults


def _check_mazes(records: Mapping[str, Sequence[Record]], training: list[Maze]) -> list[str]:
    """T is what the agent was trained on; nothing else is, and nothing stands twice."""
    faults = []
    if [record.maze for record in records.get("T", ())] != training:
        faults.append("T: not the mazes that the run was trained on")
    where = {_shape(maze): "a training maze" for maze in training}
    asked_by: dict[tuple[int, int, str], str] = {}
    for test, of_test in records.items():
        for line, record in enumerate(of_test, 1):
            if test == "T":
                continue
            here = f"{test}.jsonl:{line}"
            shape = _shape(record.maze)
            if shape in where:
                faults.append(f"{here}: the same maze as {where[shape]}")
            where.setdefault(shape, here)
            if record.asked is not None and asked_by.setdefault(record.asked.pair, test) != test:
                faults.append(f"{here}: asks for a pair that {asked_by[record.asked.pair]} asks for")
    return faults


def _shape(maze: Maze) -> tuple[object, ...]:
    """A maze wherever it lies: everything as seen from its start."""
    x0, y0 = maze.start
    moved = sorted(sorted((x - x0, y - y0) for x, y in edge) for edge in maze.edges)
    return (maze.goal[0] - x0, maze.goal[1] - y0, str(moved))


def check_record(record: Record, facts: Facts) -> list[str]:
    """Every fault of one maze of a test."""
    asked = record.asked
    if record.test in ("T", "RT"):
        return [f"{record.test} asks for no pair"] if asked else []
    if asked is None:
        return ["asks for nothing"]
    (d1, d2, type_), cell = asked.pair, asked.cell
    doors = _doors(record.maze)
    if cell not in doors:
        return [f"the maze has no cell {cell}"]
    faults = []
    panel = _panel(record.maze, doors, cell)
    t = DIRECTIONS.index(type_)
    if (panel[4 + t], panel[t]) != (d1, d2):
        faults.append(f"at {cell} a crossing is {panel[t]} and a wall {panel[4 + t]} {type_}, it claims {d2} and {d1}")
    else:
        faults += _check_decision(record.maze, doors, cell, t, d1, d2)
    others = tuple(sorted(_met_on_the_way(record.maze, doors) - facts.s - {asked.pair}))
    if others != asked.others:
        faults.append(f"elsewhere the maze asks for {_named(others)}, it claims {_named(asked.others)}")
    if list(asked.panel) != panel:
        faults.append(f"the panel at {cell} is {panel}, it claims {list(asked.panel)}")
    owner = facts.owners.get(asked.pair)
    if owner != record.test:
        told = f"it belongs to {owner}" if owner else "no test asks for it"
        faults.append(f"{d1}>{d2}, {type_} is no question of {record.test}: {told}")
    if facts.sightings.get(asked.pair, 0) != asked.sightings:
        faults.append(f"the pair was seen {facts.sightings.get(asked.pair, 0)} times, it claims {asked.sightings}")
    seen = facts.panels.get(tuple(panel[:10]), 0)
    if seen != asked.seen:
        faults.append(f"the digits at {cell} were met {seen} times, it claims {asked.seen}")
    if seen >= (facts.threshold if record.test == "ST-1" else 1):
        faults.append(f"the digits at {cell} were met {seen} times in training")
    return faults


def _check_decision(maze: Maze, doors: Mapping[Cell, set[Cell]], cell: Cell, t: int, d1: int, d2: int) -> list[str]:
    """The oracle stops at the cell, goes to the crossing and turns there; the wall is the end of a wrong way."""
    way = _way(doors, maze.start, maze.goal)
    if cell not in way:
        return [f"{cell} is not on the optimal path"]
    at = way.index(cell)
    straight = [_ahead(cell, t, i) for i in range(d2 + 1)]
    faults = []
    if at and len(doors[cell]) < 3 and _ahead(way[at - 1], t, 1) == cell:
        faults.append(f"{cell} is neither start, corner nor crossing, so that nothing is decided there")
    if way[at : at + d2 + 1] != straight:
        faults.append(f"the optimal path does not go from {cell} to the crossing")
    elif cell == maze.goal or straight[-1] == maze.goal or way[at + d2 + 1] == _ahead(cell, t, d2 + 1):
        faults.append(f"the optimal path does not turn at the crossing {straight[-1]}")
    wall = _ahead(cell, t, d1)
    if wall in way or len(doors[wall]) != 1:
        faults.append(f"the wall at {wall} is no dead end")
    return faults


def _met_on_the_way(maze: Maze, doors: Mapping[Cell, set[Cell]]) -> set[tuple[int, int, str]]:
    """A crossing and a wall behind it, straight ahead at the start, a corner or a crossing of the optimal path."""
    way = _way(doors, maze.start, maze.goal)
    met = set()
    for at, cell in enumerate(way[:-1]):
        t = next(t for t in range(4) if _ahead(cell, t, 1) == way[at + 1])
        straight_on = at and _ahead(way[at - 1], t, 1) == cell
        if straight_on and len(doors[cell]) < 3:
            continue
        panel = _panel(maze, doors, cell)
        if 0 < panel[t] < panel[4 + t]:
            met.add((panel[4 + t], panel[t], DIRECTIONS[t]))
    return met


def _named(pairs: Iterable[tuple[int, int, str]]) -> str:
    return " and ".join(f"{d1}>{d2}, {type_}" for d1, d2, type_ in pairs) or "nothing"


def _ahead(cell: Cell, t: int, distance: int) -> Cell:
    return cell[0] + STEPS[t][0] * distance, cell[1] + STEPS[t][1] * distance


def _doors(maze: Maze) -> dict[Cell, set[Cell]]:
    """The cells that each cell is joined to."""
    doors: dict[Cell, set[Cell]] = {}
    for a, b in maze.edges:
        doors.setdefault(a, set()).add(b)
        doors.setdefault(b, set()).add(a)
    return doors


def _way(doors: Mapping[Cell, set[Cell]], start: Cell, goal: Cell) -> list[Cell]:
    """The cells from the start to the goal."""
    came: dict[Cell, Cell | None] = {start: None}
    front = [start]
    for cell in front:
        for other in sorted(doors[cell] - came.keys()):
            came[other] = cell
            front.append(other)
    way: list[Cell] = []
    step: Cell | None = goal
    while step is not None:
        way.append(step)
        step = came[step]
    return way[::-1]


def _panel(maze: Maze, doors: Mapping[Cell, set[Cell]], cell: Cell) -> list[int]:
    """The eleven numbers that a panel shows, found by walking from the cell in all four directions."""
    crossings, walls = [], []
    for t in range(4):
        corridor = [cell]
        while _ahead(corridor[-1], t, 1) in doors[corridor[-1]]:
            corridor.append(_ahead(corridor[-1], t, 1))
        met = [distance for distance, passed in enumerate(corridor) if distance and len(doors[passed]) >= 3]
        crossings.append(min(met, default=0))
        walls.append(len(corridor) - 1)
    hint = 0
    if cell != maze.goal and (len(doors[cell]) >= 3 or (cell == maze.start and len(doors[cell]) == 2)):
        after = _way(doors, cell, maze.goal)[1]
        hint = 1 + next(t for t in range(4) if _ahead(cell, t, 1) == after)
    return [*crossings, *walls, maze.goal[0] - cell[0], maze.goal[1] - cell[1], hint]
