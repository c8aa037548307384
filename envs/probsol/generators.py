"""Generate tasks from seeds. A seed draws drafts; a simulation selects a draft and computes where its discs rest.

`generate(family, seed)` is deterministic. A draft depends only on its family, seed and number. A `Decision` stores the
result of the simulation (the draft and the places of rest), so that `finish` rebuilds the task fast on any machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import cos, pi, sin
from typing import Any

import numpy as np

from .certification import VARIANTS, replay, still
from .geometry import PLACED
from .magnets import RADIUS, TABLE
from .tasks import CELL, CRAFTING, DISCOVERY, FAMILIES, MAGNETISM, MASS, SANDBOX, Area, DiscData, Point, Polygon, Task

COLORS = ("purple", "darkblue", "red", "orange", "gold", "green", "teal", "deepskyblue", "magenta", "brown", "olive",
          "gray", "pink", "black", "lime", "coral")  # fmt: skip
#: Number of drafts per seed from which the simulation selects.
DRAFTS = 6
#: px: a disc that magnets move farther than FAR makes a shape worth building; places in slightly varied simulations
#: differ by less than SAME; the sides of a block have at least the distance MARGIN from the place of its disc.
FAR, SAME, MARGIN = 14.0, 4.0, 9.0
_IDS = "abcdefghijkl"


@dataclass(frozen=True)
class Draft:
    """A task before the simulation.

    :ivar task: for the crafting families a sandbox, without places and blocks.
    :ivar build: the actions that make Modifying's building. :ivar witness: the actions from the start to the shape.
    :ivar sides: (number of sides, angle of the first corner) of each block.
    """

    task: Task
    build: tuple[tuple[Any, ...], ...] = ()
    witness: tuple[tuple[Any, ...], ...] = ()
    sides: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Decision:
    """The result of the simulation of a seed.

    :ivar draft: number of the selected draft.
    :ivar start, end: for crafting, (id, place in px) of discs on the table at the start and in the shape.
    """

    draft: int
    start: tuple[tuple[str, Point], ...] = ()
    end: tuple[tuple[str, Point], ...] = ()


def generate(family: str, seed: int) -> Task:
    """Make the task of a seed, named as fishing/seed-123; a crafting task includes the solution that made it."""
    return generate_many(family, [seed])[0][0]


def generate_many(family: str, seeds: Sequence[int]) -> list[tuple[Task, Decision]]:
    """Make the tasks of seeds in a batch; return each task with its decision."""
    decisions = _decide_shapes(family, seeds) if family in CRAFTING else _decide_starts(family, seeds)
    return [(finish(family, seed, one), one) for seed, one in zip(seeds, decisions, strict=True)]


def finish(family: str, seed: int, decision: Decision) -> Task:
    """Make a task from its seed and its decision, without simulation."""
    draft = _draft(family, seed, decision.draft)
    if family not in CRAFTING:
        return draft.task
    start, end = dict(decision.start), dict(decision.end)
    task = replace(_placed(draft.task, start), family=family, blocks=_blocks(list(end.values()), draft.sides))
    if start:
        task = replace(task, building=_blocks(list(start.values()), draft.sides[::-1]))
    return replace(task, solution=(*draft.witness, ("check",)))


# ---- decisions by simulation


def _decide_starts(family: str, seeds: Sequence[int]) -> list[Decision]:
    """Select for each seed the first draft that is at rest at the start, or the last draft if there is none."""
    drafts = [(s, k, _draft(family, seed, k).task) for s, seed in enumerate(seeds) for k in range(DRAFTS)]
    several = [each for each in drafts if sum(disc.at is not None for disc in each[2].objects) > 1]
    rests = still([task for *_, task in several]).tolist() if several else []
    unfit = {(s, k) for (s, k, _), rest in zip(several, rests, strict=True) if not rest}
    chosen = (next((k for k in range(DRAFTS) if (s, k) not in unfit), DRAFTS - 1) for s in range(len(seeds)))
    return [Decision(k) for k in chosen]


def _decide_shapes(family: str, seeds: Sequence[int]) -> list[Decision]:
    """Select for each seed the draft with the highest score, the first of equals. A draft scores for a shape that holds
    in all `VARIANTS`, for discs that move after their placement, and for at least four blocks."""
    drafts = [(s, k, _draft(family, seed, k)) for s, seed in enumerate(seeds) for k in range(DRAFTS)]
    starts: list[tuple[tuple[str, Point], ...]] = [()] * len(drafts)
    tasks = [draft.task for *_, draft in drafts]
    worth = np.zeros(len(drafts), dtype=np.int64)
    if family == "Modifying":
        starts, holds = _settled(tasks, [draft.build for *_, draft in drafts])
        worth += holds
        tasks = [_placed(task, dict(start)) for task, start in zip(tasks, starts, strict=True)]
    witnesses = [draft.witness for *_, draft in drafts]
    played = replay(tasks, witnesses)
    same = ~played.refused & played.tables.calm
    for variant in VARIANTS:
        other = replay(tasks, witnesses, **variant)
        same &= ~other.refused & (np.abs(other.tables.place - played.tables.place).max(axis=(1, 2)) < SAME)
    ends = [_places(task, played.tables, b, 1) for b, task in enumerate(tasks)]
    for b, (*_, draft) in enumerate(drafts):
        last = {action[1]: where for action, where in _puts(draft.witness)}
        end = dict(ends[b])
        shifted = sum(_apart(end[disc], point) > FAR for disc, point in last.items() if disc in end)
        shifted += sum(_apart(end[disc], at) > FAR for disc, at in starts[b] if disc not in last)
        worth[b] += 4 * same[b] + 2 * (shifted >= 2) + 8 * (len(end) >= 4)
    decisions = []
    for s in range(len(seeds)):
        mine = [b for b, each in enumerate(drafts) if each[0] == s]
        b = max(mine, key=lambda b: (worth[b], -b))
        decisions.append(Decision(drafts[b][1], starts[b], ends[b]))
    return decisions


def _settled(tasks: Sequence[Task], build: Sequence[Any]) -> tuple[list[tuple[tuple[str, Point], ...]], np.ndarray]:
    """Return the places where discs rest, rounded such that the discs stay there, and (B,) bool: they stay."""
    played = replay(tasks, build)
    holds, moving = ~played.refused, np.zeros(len(tasks), dtype=bool)
    places = [_places(task, played.tables, b) for b, task in enumerate(tasks)]
    for _ in range(4):
        placed = [_placed(task, dict(each)) for task, each in zip(tasks, places, strict=True)]
        after = replay(placed, [[["none"]]] * len(placed))
        moving = after.moved.max(axis=1) >= 0.005
        if not (moving & holds).any():
            break
        for b in np.flatnonzero(moving).tolist():
            places[b] = _places(placed[b], after.tables, b)
    return places, holds & ~moving


def _placed(task: Task, start: dict[str, Point]) -> Task:
    objects = tuple(
        replace(disc, at=start[disc.id], stored=None) if disc.id in start else disc for disc in task.objects
    )
    return replace(task, objects=objects)


def _places(task: Task, tables: Any, b: int, digits: int = 3) -> tuple[tuple[str, Point], ...]:
    """Return (id, place) of the discs on the table, rounded and moved apart so that none overlaps (to 3 digits)."""
    there = [k for k in range(len(task.objects)) if tables.where[b, k] == PLACED]
    at = {task.objects[k].id: tables.place[b, k].copy() for k in there}
    for point in at.values():
        np.clip(point, RADIUS, TABLE - RADIUS, out=point)
    for _ in range(4):
        for i, one in enumerate(at.values()):
            for other in list(at.values())[:i]:
                apart = one - other
                if 0.0 < (distance := float(np.sqrt(apart @ apart))) < 2 * RADIUS + 1e-3:
                    push = (2 * RADIUS + 2e-3 - distance) / (2 * distance) * apart
                    one += push
                    other -= push
    return tuple((name, (round(float(x), digits), round(float(y), digits))) for name, (x, y) in at.items())


def _puts(actions: Sequence[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], Point]]:
    """Return each grab that a placement or a hold follows, with the place of its grid point in px."""
    found, grab = [], ()
    for action in actions:
        if action[0] == "grab":
            grab = action
        elif action[0] in ("place", "hold_at"):
            found.append((grab, (action[1] * CELL + CELL / 2, action[2] * CELL + CELL / 2)))
    return found


def _apart(one: Point, other: Point) -> float:
    return float(np.hypot(one[0] - other[0], one[1] - other[1]))


def _blocks(places: Sequence[Point], sides: Sequence[tuple[int, float]]) -> tuple[Polygon, ...]:
    """Return a regular polygon around each place, sized by the distance to the nearest other place."""
    found = []
    for k, (x, y) in enumerate(places):
        nearest = min((_apart((x, y), other) for m, other in enumerate(places) if m != k), default=60.0)
        many, turn = sides[k % len(sides)]
        size = min(max(0.45 * nearest, MARGIN), 20.0) / cos(pi / many)
        corners = [(x + size * cos(turn + 2 * pi * i / many), y + size * sin(turn + 2 * pi * i / many))
                   for i in range(many)]  # fmt: skip
        found.append(tuple((round(min(max(a, 0.0), TABLE), 1), round(min(max(b, 0.0), TABLE), 1)) for a, b in corners))
    return tuple(found)


# ---- drafts


def _draft(family: str, seed: int, number: int) -> Draft:
    rng = np.random.default_rng([FAMILIES.index(family), seed, number])
    name = f"{family.lower()}/seed-{seed}"
    if family in CRAFTING:
        return _crafting(name, family, rng)
    if family in DISCOVERY:
        return Draft(_discovery(name, family, rng))
    return Draft(_fishing(name, rng) if family == "Fishing" else _curling(name, rng))


class _Discs:
    """The discs of a draft in random order, with random colours and ids that carry no information."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.drawn: list[tuple[tuple[str, str, str], Point | None]] = []

    def add(self, kind: tuple[str, str, str], at: Point | None = None) -> int:
        """Add a disc and return its number.

        :param kind: classes of mass and magnetism, and polarity.
        """
        self.drawn.append((kind, at))
        return len(self.drawn) - 1

    def finish(self) -> tuple[tuple[DiscData, ...], list[str]]:
        """Return the discs, and for each number the id of its disc."""
        order = self.rng.permutation(len(self.drawn))
        colors = self.rng.permutation(len(COLORS))
        boundaries = self.rng.integers(4, size=len(order)) * 45
        ids = [""] * len(order)
        objects, cells = [], count()
        for k, number in enumerate(order.tolist()):
            (mass, magnetism, polarity), at = self.drawn[number]
            ids[number] = _IDS[k]
            boundary = int(boundaries[k]) if polarity == "dipole" else 0
            stored = next(cells) if at is None else None
            objects.append(DiscData(_IDS[k], COLORS[colors[k]], mass, magnetism, polarity, boundary, at, stored))
        return tuple(objects), ids


def _kind(rng: np.random.Generator, dipoles: float = 0.1, masses: Sequence[float] = (0.25, 0.4, 0.25, 0.1)) -> Any:
    """Draw the mass class, magnetism class and polarity of a disc."""
    mass = tuple(MASS)[int(np.searchsorted(np.cumsum(masses), rng.random() * sum(masses)))]
    magnetism = tuple(MAGNETISM)[int(rng.integers(len(MAGNETISM)))]
    polarity = "dipole" if rng.random() < dipoles else "+-"[int(rng.integers(2))]
    return mass, magnetism, polarity


def _pick(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw an integer from low to high, both included."""
    return float(rng.integers(round(low), round(high) + 1))


def _within(point: Point, area: Area, margin: float = 0.0) -> bool:
    x, y, wide, high = area
    return x - margin <= point[0] <= x + wide + margin and y - margin <= point[1] <= y + high + margin


def _overlap(one: Area, other: Area, margin: float) -> bool:
    return (
        one[0] < other[0] + other[2] + margin
        and other[0] < one[0] + one[2] + margin
        and one[1] < other[1] + other[3] + margin
        and other[1] < one[1] + one[3] + margin
    )


def _turned(areas: Sequence[Area], turns: int) -> tuple[Area, ...]:
    """Rotate areas by a number of quarter turns of the table."""
    for _ in range(turns):
        areas = [(TABLE - y - high, x, high, wide) for x, y, wide, high in areas]
    return tuple(areas)


def _turned_point(point: Point, turns: int) -> Point:
    for _ in range(turns):
        point = TABLE - point[1], point[0]
    return point


def _free_place(
    rng: np.random.Generator, taken: Sequence[Point], areas: Sequence[Area], apart: float, top: float = 24.0
) -> Point | None:
    """Draw a place away from others and outside the areas; return None if twenty tries fail."""
    for _ in range(20):
        point = _pick(rng, 24, TABLE - 24), _pick(rng, top, TABLE - 24)
        if all(_apart(point, each) >= apart for each in taken) and not any(
            _within(point, area, RADIUS + 2) for area in areas
        ):
            return point
    return None


def _wall(rng: np.random.Generator, areas: Sequence[Area], points: Sequence[Point]) -> tuple[Area, ...]:
    """Draw a wall that touches no area and no disc; return () if ten tries fail."""
    for _ in range(10):
        long, wide = _pick(rng, 50, 130), _pick(rng, 8, 14)
        size = (long, wide) if rng.random() < 0.5 else (wide, long)
        wall = _pick(rng, 0, TABLE - size[0]), _pick(rng, 0, TABLE - size[1]), *size
        if not any(_overlap(wall, area, 4.0) for area in areas) and not any(
            _within(point, wall, RADIUS + 4) for point in points
        ):
            return (wall,)
    return ()


def _fishing(name: str, rng: np.random.Generator) -> Task:
    """Draw one or two goal discs in the dark near its edge, and targets outside the dark, which lies at the top."""
    deep = _pick(rng, 110, 190)
    left, wide = (0.0, TABLE) if rng.random() < 0.6 else (_pick(rng, 70, 130), _pick(rng, 200, 280))
    dark = (left, 0.0 if wide == TABLE else _pick(rng, 40, 90), wide, deep)
    edge = dark[1] + deep
    discs = _Discs(rng)
    goals: list[Point] = []
    targets: list[Area] = []
    for _ in range(2 if rng.random() < 0.15 else 1):
        at = _pick(rng, left + 40, left + wide - 40), edge - _pick(rng, 16, 60)
        if all(_apart(at, other) > 110 for other in goals):
            goals.append(at)
    golden = [discs.add(_kind(rng, 0.05, (0.35, 0.45, 0.2, 0.0)), at) for at in goals]
    for at in goals if rng.random() < 0.8 else goals[:1]:
        size = _pick(rng, 50, 84), _pick(rng, 50, 84)
        x = min(max(at[0] + _pick(rng, -110, 110) - size[0] / 2, 0.0), TABLE - size[0])
        area = (x, min(edge + _pick(rng, 6, 70), TABLE - size[1]), *size)
        if not any(_overlap(area, other, 4.0) for other in targets):
            targets.append(area)
    taken = list(goals)
    for _ in range(int(rng.integers(3))):
        at = _free_place(rng, taken, targets, 130.0)
        if at is not None:
            taken.append(at)
            discs.add(_kind(rng, masses=(0.1, 0.3, 0.3, 0.3)), at)
    for _ in range(int(rng.integers(2, 6))):
        discs.add(_kind(rng))
    walls = _wall(rng, [*targets, dark], taken) if rng.random() < 0.2 else ()
    return _tool_use(name, "Fishing", rng, discs, (dark,), targets, walls, golden)


def _curling(name: str, rng: np.random.Generator) -> Task:
    """Draw one or two targets in the dark, and discs to send there; the dark lies at the top."""
    deep = _pick(rng, 150, 250)
    dark = (0.0, 0.0, TABLE, deep)
    targets: list[Area] = []
    for _ in range(2 if rng.random() < 0.25 else 1):
        size = _pick(rng, 60, 100), _pick(rng, 60, 100)
        area = (_pick(rng, 10, TABLE - 10 - size[0]), max(deep - _pick(rng, 40, 110) - size[1], 4.0), *size)
        if not any(_overlap(area, other, 60.0) for other in targets):
            targets.append(area)
    discs = _Discs(rng)
    taken: list[Point] = []
    for _ in range(int(rng.integers(3))):
        at = _free_place(rng, taken, targets, 130.0, deep + 24)
        if at is not None:
            taken.append(at)
            discs.add(_kind(rng), at)
    for _ in range(int(rng.integers(3, 7))):
        discs.add(_kind(rng))
    walls = _wall(rng, targets, taken) if rng.random() < 0.2 else ()
    return _tool_use(name, "Curling", rng, discs, (dark,), targets, walls, [])


def _tool_use(
    name: str,
    family: str,
    rng: np.random.Generator,
    discs: _Discs,
    dark: Sequence[Area],
    targets: Sequence[Area],
    walls: Sequence[Area],
    golden: Sequence[int],
) -> Task:
    """Make the task, rotated by a random number of quarter turns."""
    turns = int(rng.integers(4))
    objects, ids = discs.finish()
    objects = tuple(disc if disc.at is None else replace(disc, at=_turned_point(disc.at, turns)) for disc in objects)
    dark, targets, walls = (_turned(areas, turns) for areas in (dark, targets, walls))
    goal = tuple(sorted(ids[number] for number in golden))
    return Task(name, family, objects, inaccessible=dark, targets=targets, walls=walls, goal=goal)


def _discovery(name: str, family: str, rng: np.random.Generator) -> Task:
    """Draw for FindTheDiff 1 odd disc of 8 to 10, or 2 of 6 to 10; for FindTheSame 2 to 4 equal discs of 6 to 9."""
    dipoles = 0.25 if rng.random() < 0.4 else 0.0
    kinds: list[Any] = []
    while len(kinds) < 8:
        kind = _kind(rng, dipoles, (0.25, 0.25, 0.25, 0.25))
        if kind not in kinds:
            kinds.append(kind)
    discs = _Discs(rng)
    if family == "FindTheDiff":
        odd = 1 if rng.random() < 0.4 else 2
        many = int(rng.integers(8, 11)) if odd == 1 else int(rng.integers(6, 11))
        for _ in range(many - odd):
            discs.add(kinds[0])
        second = kinds[1] if rng.random() < 0.3 else kinds[2]
        answer = [discs.add(kind) for kind in (kinds[1], second)[:odd]]
    else:
        many, same = int(rng.integers(6, 10)), int(rng.integers(2, 5))
        answer = [discs.add(kinds[0]) for _ in range(same)]
        for kind in kinds[1 : 1 + many - same]:
            discs.add(kind)
    objects, ids = discs.finish()
    named = tuple(sorted(ids[number] for number in answer))
    actions: list[tuple[Any, ...]] = []
    corners = ((5, 5), (34, 34), (5, 34), (34, 5))
    for one, (column, row) in zip(named, corners, strict=False):
        actions += [("grab", one), ("place", column, row)]
    strip = (0.0, 0.0, TABLE, _pick(rng, 24, 48))
    dark = _turned([strip], int(rng.integers(4))) if rng.random() < 0.25 else ()
    return Task(name, family, objects, inaccessible=dark, answer=named, solution=(*actions, ("check",)))


def _crafting(name: str, family: str, rng: np.random.Generator) -> Draft:
    """Draw actions that place discs in turn, near enough to move each other; Modifying places some discs afterwards."""
    discs = _Discs(rng)
    many = int(rng.integers(5, 8)) if family == "Building" else int(rng.integers(4, 7))
    for _ in range(many + int(rng.integers(3))):
        discs.add(_kind(rng, 0.08))
    objects, ids = discs.finish()
    middle = rng.uniform(180, 300, size=2)
    put: list[Point] = []
    first = [_put(rng, one, put, middle) for one in ids[:many]]
    moved = [ids[k] for k in rng.permutation(len(ids))[: int(rng.integers(2, 5))].tolist()]
    second = [_put(rng, one, put, middle) for one in moved] if family == "Modifying" else []
    sides = tuple((int(rng.integers(4, 7)), round(float(rng.uniform(0, 1)), 2)) for _ in range(12))
    task = Task(name, SANDBOX, objects, walls=_wall(rng, [], put) if rng.random() < 0.2 else ())
    if family == "Building":
        return Draft(task, witness=sum(first, ()), sides=sides)
    return Draft(task, sum(first, ()), sum(second, ()), sides)


def _put(rng: np.random.Generator, one: str, put: list[Point], middle: np.ndarray) -> tuple[tuple[Any, ...], ...]:
    """Draw actions that place a disc at a grid point near others; some hold the disc there first."""
    point = middle
    for _ in range(30):
        base = put[int(rng.integers(len(put)))] if put else middle
        angle, away = rng.uniform(0, 2 * pi), rng.uniform(30, 100)
        point = np.clip(np.array([base[0] + away * cos(angle), base[1] + away * sin(angle)]), 40, TABLE - 40)
        if all(_apart((point[0], point[1]), each) > 30 for each in put):
            break
    column, row = (int(each // CELL) for each in point)
    put.append((column * CELL + CELL / 2, row * CELL + CELL / 2))
    if rng.random() < 0.2:
        return ("grab", one), ("hold_at", column, row), ("put_down",)
    return ("grab", one), ("place", column, row)
