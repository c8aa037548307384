"""ProbSol as triples: the true facts of a task, from its properties and its law, and the candidate facts of actions.

The graph of a task holds the oracle's knowledge and answers the quiz. A player learns facts by trial and keeps them in
its own graph. The candidate facts of an action name only what a player sees: discs, their places, the disc in hand, the
areas of the goal. A graph decides whether these facts are true.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numba import njit

from gumption.data.settings import checked
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.memory import Triple

from .actions import WHAT, WHERE
from .engine import CENTRES, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK, Tables
from .geometry import ABSENT, GRABBED, HELD, PLACED, STORED, area_distance
from .library import partition_of
from .magnets import ARM, COUPLING, CUT, DIPOLE_CUT, LAWS, RADIUS
from .quiz import DIPOLE, HEAVIER_THAN, disc_label, property_facts, quiz_facts
from .settings import Fold, Partition, ProbSolSettings
from .tasks import GRID, DiscData, Laws, Task, goal_areas, in_the_dark

HAS_FAMILY, HAS_DISC, HAS_GOAL, HAS_DARK = "hasFamily", "hasDisc", "hasGoal", "hasDark"
HAS_AREA = {"target": "hasTarget", "block": "hasBlock"}
HAS_ACCESS, ACCESSIBLE, INACCESSIBLE = "hasAccess", "accessible", "inaccessible"
ATTRACTS, REPELS, DIFFERS_FROM, AFFORDS, INSIDE = "attracts", "repels", "differsFrom", "affords", "inside"
#: Relations of a disc to a disc near it; `RELATIONS` adds the effects that a disc affords and the area of a point.
OF_TWO_DISCS = (ATTRACTS, REPELS, HEAVIER_THAN, DIFFERS_FROM)
RELATIONS = (*OF_TWO_DISCS, AFFORDS, INSIDE)
#: Effects that a disc affords: it can be grabbed, moves once put down, pulls while held, acts by its direction.
GRABBING, MOVING, PULLING, TURNING = "grabbing", "moving", "pulling", "turning"
EFFECTS = (GRABBING, MOVING, PULLING, TURNING)
_EFFECT_OF = {"place": MOVING, "hold": PULLING, "turn": TURNING}
#: px within which discs count as near: a quarter of the table's side.
NEAR = 120.0


@checked
def facts(
    *, partition: Partition, task: Any = "designed", fold: Fold = 0, laws: Laws | None = None
) -> Iterator[Triple]:
    """Return the distinct facts of the tasks of a part, sorted; see `task_facts` and `part_of`.

    Every fact names a task, or a disc or area of a task, so that no two parts share a fact.

    :param task: the tasks, as in `ProbSolSettings`: the designed tasks, "fishing/generated", a file, a list.
    :param fold: of the split of generated tasks.
    :param laws: replace the laws of the tasks.
    :raises InputError: an unknown part or task.
    """
    tasks = ProbSolSettings(task=task, partition=partition, fold=fold).load_tasks()
    chosen = [each for each in tasks if partition in ("all", part_of(each, fold))]
    return iter(sorted({fact for each in chosen for fact in task_facts(each, laws)}))


def part_of(task: Task, fold: int = 0) -> str:
    """Return the part to which a task belongs.

    Designed tasks 0 to 7 belong to "train", 8 to "validation" and 9 to "test". `partition_of` assigns generated tasks
    by their seeds. Any other task, such as a user's own, belongs to "train".
    """
    family, _, rest = task.name.partition("/")
    if family == task.family.lower():
        if rest.isdecimal():
            return "train" if int(rest) < 8 else "validation" if int(rest) == 8 else "test"
        seed = rest.removeprefix("seed-")
        if rest != seed and seed.isdecimal():
            return partition_of(task.family, [int(seed)], fold)[0]
    return "train"


def about_other_discs(task: Task) -> Iterator[Triple]:
    """Yield false facts of a task: the true facts, with each disc replaced by the next disc in the file."""
    discs = [disc_label(task, id) for id in task.ids]
    following = dict(zip(discs, [*discs[1:], *discs[:1]], strict=True))
    for one, relation, other in task_facts(task):
        yield following.get(one, one), relation, following.get(other, other)


def task_facts(task: Task, laws: Laws | None = None) -> Iterator[Triple]:
    """Yield the true facts of a task.

    - (task hasFamily FAMILY), (task hasDisc disc), (task hasGoal disc) for golden discs, and the quiz: `quiz_facts`.
    - Discs: `property_facts`; (a differsFrom b) in mass, magnetism or polarity; by the law, two monopoles have (a
      attracts b) or (a repels b), both ways. A dipole does either, by its direction, so it has no such fact.
    - Affordances by the law, the friction and the places at the start: (disc affords grabbing, moving, pulling or
      turning).
    - Areas: (task hasTarget, hasBlock or hasDark area); (area hasAccess accessible) if a grid point of it lies outside
      the dark, else inaccessible; (point inside area) for grid points in targets or blocks.

    :param laws: replace the task's laws. With "shuffled", facts that follow from the law are left out.
    """
    yield from property_facts(task)
    yield from quiz_facts(task)
    yield task.name, HAS_FAMILY, task.family
    for disc in task.objects:
        yield task.name, HAS_DISC, disc_label(task, disc.id)
        if disc.at is None or not in_the_dark(task, *disc.at):
            yield disc_label(task, disc.id), AFFORDS, GRABBING
    for id in task.goal:
        yield task.name, HAS_GOAL, disc_label(task, id)
    for one, other in permutations(task.objects, 2):
        if properties(task, one) != properties(task, other):
            yield disc_label(task, one.id), DIFFERS_FROM, disc_label(task, other.id)
    law = laws or task.laws
    if law != "shuffled":
        yield from _of_the_law(task, LAWS[law])
    yield from _of_areas(task)


def properties(task: Task, disc: DiscData) -> tuple[float, float, str]:
    """Return the properties that discovery compares: mass and magnetism as numbers, and the kind of polarity."""
    return task.masses[disc.mass], task.magnetisms[disc.magnetism], disc.polarity


def _of_the_law(task: Task, sign: float) -> Iterator[Triple]:
    """:param sign: 1 where opposite poles attract, -1 where they repel, 0 where there are no forces."""
    for disc in task.objects:
        label = disc_label(task, disc.id)
        others = [other for other in task.objects if other is not disc]
        pulls = False
        for other in others if sign else ():
            if DIPOLE in (disc.polarity, other.polarity):
                pulls = True
                continue
            attracts = (disc.polarity != other.polarity) == (sign > 0)
            pulls |= attracts
            yield label, ATTRACTS if attracts else REPELS, disc_label(task, other.id)
        if pulls:
            yield label, AFFORDS, PULLING
        if sign and others and disc.polarity == DIPOLE:
            yield label, AFFORDS, TURNING
        if sign and any(acceleration(task, disc, other) > task.friction for other in others):
            yield label, AFFORDS, MOVING


def acceleration(task: Task, disc: DiscData, other: DiscData) -> float:
    """Return the largest acceleration of a disc by a disc that it touches, in px/s^2: dipoles point at each other."""

    def poles(one: DiscData, at: float) -> list[tuple[float, float]]:
        """Return (magnetism, place) of each pole, signed for dipoles; a dipole's + pole is towards the other disc."""
        q = task.magnetisms[one.magnetism]
        if one.polarity != DIPOLE:
            return [(q, at)]
        toward = ARM if at == 0 else -ARM
        return [(q, at + toward), (-q, at - toward)]

    cut = DIPOLE_CUT if DIPOLE in (disc.polarity, other.polarity) else CUT
    pairs = [(p, q) for p in poles(disc, 0.0) for q in poles(other, 2 * RADIUS)]
    share = sum(q1 * q2 / max(abs(x2 - x1), cut) ** 2 for (q1, x1), (q2, x2) in pairs)
    return COUPLING * abs(share) / task.masses[disc.mass]


def _of_areas(task: Task) -> Iterator[Triple]:
    kind, polygons = goal_areas(task)
    for k, corners in enumerate(polygons):
        label, shape = area_label(task, kind, k), np.array(corners, dtype=float)
        yield task.name, HAS_AREA[kind], label
        inside = np.flatnonzero(distances_to(CENTRES, shape) == 0).tolist()
        for point in inside:
            yield point_label(point % GRID, point // GRID), INSIDE, label
        free = any(not in_the_dark(task, *CENTRES[point].tolist()) for point in inside)
        yield label, HAS_ACCESS, ACCESSIBLE if free else INACCESSIBLE
    for k in range(len(task.inaccessible)):
        label = area_label(task, "dark", k)
        yield task.name, HAS_DARK, label
        yield label, HAS_ACCESS, INACCESSIBLE


# ---- knowledge of actions


def point_label(column: int, row: int) -> str:
    """Return the label of a grid point, which is the same in all tasks."""
    return f"point {column} {row}"


def area_label(task: Task, kind: str, k: int) -> str:
    """Return the label of the k-th "target", "block" or "dark" area of a task."""
    return f"{task.name}/{kind} {k}"


def askable(task: Task) -> Iterator[tuple[str, str, str]]:
    """Yield all candidate facts of actions about two discs of a task, or about a disc and the effects it affords."""
    discs = [disc_label(task, id) for id in task.ids]
    yield from ((one, relation, other) for one, other in permutations(discs, 2) for relation in OF_TWO_DISCS)
    yield from ((disc, AFFORDS, effect) for disc in discs for effect in EFFECTS)


class Affordances:
    """Compute the candidate facts of each action on the tables of a batch.

    Each action moves a disc i near another disc j: (i attracts, repels, heavierThan or differsFrom j). If the action
    puts or holds i at a grid point, j is the disc nearest to the point, and another fact is (point inside A), with A
    the target or block nearest to the point. For other actions, j is the disc nearest to i; while i is stored, j is the
    golden disc, or if there is none the first disc on the table. Discs farther away than NEAR do not count. The last
    fact is (i affords grabbing, moving, pulling or turning), by the kind of action.

    :ivar vocabulary: "", effects, grid points, then discs and areas of the tasks. New labels are only appended.
    """

    def __init__(self, tasks: Sequence[Task], known: Sequence[str] = ()) -> None:
        """:param known: the vocabulary of an earlier list of tasks."""
        points = [point_label(k % GRID, k // GRID) for k in range(POINTS)]
        labels: list[str] = []
        for task in tasks:
            kind, areas = goal_areas(task)
            labels += [disc_label(task, id) for id in task.ids]
            labels += [area_label(task, kind, k) for k in range(len(areas))]
        self.vocabulary = tuple(dict.fromkeys(("", *EFFECTS, *points, *known, *labels)))
        self.tasks = len(tasks)
        ids = self._ids = {label: k for k, label in enumerate(self.vocabulary)}
        self._points = np.array([ids[label] for label in points])
        most = max(len(task.objects) for task in tasks)
        self._discs = np.zeros((len(tasks), most), dtype=np.int64)
        for k, task in enumerate(tasks):
            self._discs[k, : len(task.objects)] = [ids[disc_label(task, id)] for id in task.ids]
        self._areas = np.stack([self._nearest_areas(task) for task in tasks])

    def _nearest_areas(self, task: Task) -> np.ndarray:
        """Return (1600,) int64: the id of the target or block nearest to each grid point, 0 if the task has none."""
        kind, areas = goal_areas(task)
        nearest, distance = np.zeros(POINTS, dtype=np.int64), np.full(POINTS, np.inf)
        for k, corners in enumerate(areas):
            away = distances_to(CENTRES, np.array(corners, dtype=float))
            closer = away < distance
            nearest[closer], distance[closer] = self._ids[area_label(task, kind, k)], away[closer]
        return nearest

    def __call__(self, tables: Tables, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the candidate facts of each of the paper's N actions.

        :param chosen: (B, t) the parts chosen so far of an action of the form "objects"; the A candidates are verbs
            (t = 0), discs (t = 1), or points (t = 2).
        """
        seen, areas = _Seen(tables, self._discs[tables.rows]), self._areas[tables.rows]
        if chosen is not None:
            return self._of_parts(tables, seen, areas, chosen)
        M, batch, first = tables.discs, tables.batch, 3 * tables.discs + tables.cells
        last = tables.num_actions
        subject, other, effect, point, area = np.zeros((5, batch, last), dtype=np.int64)
        for k, state, what in ((0, STORED, GRABBING), (1, PLACED, GRABBING), (2, PLACED, PULLING)):
            here = slice(k * M, (k + 1) * M)
            subject[:, here] = np.where(tables.where == state, seen.ids, 0)
            other[:, here], effect[:, here] = seen.near, self._ids[what]
        hand, disc = tables.hand > 0, np.maximum(tables.hand - 1, 0)
        grabbed, held = (hand & (tables.where[np.arange(batch), disc] == state) for state in (GRABBED, HELD))
        mine = seen.ids[np.arange(batch), disc]
        rows = np.flatnonzero(grabbed)
        near = seen.near_points(rows, disc[rows], np.arange(POINTS))
        for k, what in enumerate((MOVING, PULLING)):
            here = slice(first + k * POINTS, first + (k + 1) * POINTS)
            subject[rows, here], other[rows, here] = mine[rows, None], near
            effect[:, here] = self._ids[what]
            point[rows, here], area[rows, here] = self._points, areas[rows]
        for action, what in ((PUT_DOWN, MOVING), (TAKE_UP, GRABBING), (TURN_BACK, TURNING), (TURN, TURNING)):
            subject[:, last + action] = np.where(held, mine, 0)
            other[:, last + action], effect[:, last + action] = seen.near[np.arange(batch), disc], self._ids[what]
        return _facts(subject, other, effect, point, area)

    def _of_parts(self, tables: Tables, seen: "_Seen", areas: np.ndarray, chosen: np.ndarray) -> ActionFacts:
        batch, t = tables.batch, chosen.shape[1]
        if t == 0:
            nothing = np.zeros((batch, len(WHAT)), dtype=np.int64)
            return _facts(nothing, nothing, nothing, nothing, nothing)
        effects = np.array([self._ids.get(_EFFECT_OF.get(what, ""), 0) for what in WHAT])[chosen[:, 0]]
        if t == 1:
            moved = (effects > 0)[:, None]
            nothing = np.zeros_like(seen.ids)
            return _facts(np.where(moved, seen.ids, 0), seen.near, effects[:, None], nothing, nothing)
        disc = chosen[:, 1]
        placing = np.isin(chosen[:, 0], [WHAT.index("place"), WHAT.index("hold")])
        rows = np.flatnonzero(placing & (tables.where[np.arange(batch), disc] != ABSENT))
        subject, other, point, area = np.zeros((4, batch, len(WHERE)), dtype=np.int64)
        subject[rows], other[rows] = seen.ids[rows, disc[rows], None], seen.near_points(rows, disc[rows], WHERE)
        point[rows], area[rows] = self._points[WHERE], areas[rows][:, WHERE]
        return _facts(subject, other, effects[:, None], point, area)


class _Seen:
    """The discs of a batch as a player sees them.

    :ivar ids: (B, M), 0 for absent discs.
    :ivar near: (B, M) the id of the disc j of each disc; see `Affordances`.
    """

    def __init__(self, tables: Tables, ids: np.ndarray) -> None:
        """:param ids: (B, m) ids of the discs of each table's task, m at most M."""
        self.ids = np.zeros(tables.where.shape, dtype=np.int64)
        self.ids[:, : ids.shape[1]] = ids
        self._place = np.ascontiguousarray(tables.place)
        self._lies = (tables.where == PLACED) | (tables.where == HELD)
        M = tables.discs
        wanted = self._lies + 2 * (tables.data.golden[tables.rows] & (tables.where != ABSENT))
        wanted = np.where(np.eye(M, dtype=bool), 0, wanted[:, None, :])
        goal = np.where(wanted.max(axis=2) > 0, wanted.argmax(axis=2), -1)
        nearest = np.full_like(goal, -1)
        for m in range(M):
            own = np.full(tables.batch, m)
            nearest[:, m] = _nearest(self._place[:, m, None], self._place, self._lies, own, NEAR)[:, 0]
        self.near = self._labels(np.where(self._lies, nearest, goal))

    def near_points(self, rows: np.ndarray, own: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return (n, P): the id of the disc nearest to each grid point on the tables `rows`, except disc `own` (n,)."""
        places = np.broadcast_to(CENTRES[points], (len(rows), len(points), 2))
        found = _nearest(places, self._place[rows], self._lies[rows], own, NEAR)
        return self._labels(found, rows)

    def _labels(self, discs: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        ids = self.ids if rows is None else self.ids[rows]
        return np.where(discs >= 0, np.take_along_axis(ids, np.maximum(discs, 0), axis=1), 0)


def _facts(
    subject: np.ndarray, other: np.ndarray, effect: np.ndarray, point: np.ndarray, area: np.ndarray
) -> ActionFacts:
    """Combine (B, A) ids of discs, near discs, effects, points and areas into facts."""
    parties = [(subject, other, 0)] * len(OF_TWO_DISCS)
    return action_facts(RELATIONS, subject.shape, [*parties, (subject, effect, 0), (point, area, 0)])


@njit(cache=True)
def distances_to(points, corners):
    """Return the (P,) distances of points (P, 2) from a polygon (V, 2)."""
    found = np.empty(len(points))
    for p in range(len(points)):
        found[p] = area_distance(points[p, 0], points[p, 1], corners, len(corners))
    return found


@njit(cache=True)
def _nearest(points, place, lies, own, reach):
    """Return (B, P): the disc nearest to each point (B, P, 2), the first of equally near discs; -1 if out of reach.

    :param place: (B, M, 2). :param lies: (B, M) bool, discs on the table. :param own: (B,) the disc to leave out.
    """
    batch, many = points.shape[0], points.shape[1]
    found = np.full((batch, many), -1)
    for b in range(batch):
        for p in range(many):
            least = reach * reach
            for m in range(place.shape[1]):
                if lies[b, m] and m != own[b]:
                    dx, dy = points[b, p, 0] - place[b, m, 0], points[b, p, 1] - place[b, m, 1]
                    away = dx * dx + dy * dy
                    if away < least:
                        least, found[b, p] = away, m
    return found
