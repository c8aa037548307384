"""Which facts speak for an action: about the disc that it moves, what that would come near, and where it would lie.

Facts name what a player sees: discs, where they lie, which one is in hand, the areas of the goal. Whether they hold, a
graph says: the true one (`facts`), one that an agent has made by trying, or a false one.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numba import njit

from gumption.data import InputError
from gumption.data.settings import whole_numbers
from gumption.envs.action_facts import ActionFacts, action_facts

from .actions import WHAT, WHERE
from .engine import CENTRES, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK, Tables
from .geometry import ABSENT, GRABBED, HELD, PLACED, STORED, area_distance
from .quiz import HEAVIER_THAN, disc_label
from .tasks import GRID, Task, goal_areas

ATTRACTS, REPELS, DIFFERS_FROM, AFFORDS, INSIDE = "attracts", "repels", "differsFrom", "affords", "inside"
#: Facts of a disc and the disc that it comes near, and then what a disc affords and where a grid point lies.
OF_TWO_DISCS = (ATTRACTS, REPELS, HEAVIER_THAN, DIFFERS_FROM)
RELATIONS = (*OF_TWO_DISCS, AFFORDS, INSIDE)
#: What a disc affords: it can be grabbed, it moves once it is put down, it pulls while it is held, turning tells.
GRABBING, MOVING, PULLING, TURNING = "grabbing", "moving", "pulling", "turning"
EFFECTS = (GRABBING, MOVING, PULLING, TURNING)
_EFFECT_OF = {"place": MOVING, "hold": PULLING, "turn": TURNING}
#: px within which discs count as near: a quarter of the table's side.
NEAR = 120.0


def point_label(column: int, row: int) -> str:
    """The label of a grid point, the same in all tasks."""
    return f"point {column} {row}"


def area_label(task: Task, kind: str, k: int) -> str:
    """The label of the k-th "target", "block" or "dark" area of a task."""
    return f"{task.name}/{kind} {k}"


def askable(task: Task) -> Iterator[tuple[str, str, str]]:
    """Every fact about two discs of a task, or about a disc and what it affords, that an action can be asked about."""
    discs = [disc_label(task, id) for id in task.ids]
    yield from ((one, relation, other) for one, other in permutations(discs, 2) for relation in OF_TWO_DISCS)
    yield from ((disc, AFFORDS, effect) for disc in discs for effect in EFFECTS)


class Affordances:
    """The facts that speak for each action on the tables of a batch.

    For grabbing or holding disc i: (i attracts, repels, heavierThan, differsFrom the disc that is nearest to it), or,
    while it is stored, the golden disc, or without one the first disc on the table. For putting the disc in hand at a
    grid point or holding it there: the same with the disc nearest to the point, and (the point inside the target or
    block nearest to it). For what is done to a held disc: the same with the disc nearest to it. And (the disc affords
    grabbing, moving, pulling or turning), by what the action is. Discs farther than NEAR are not met.

    :ivar vocabulary: "", effects, grid points, then discs and areas of the tasks. It only grows, at its end.
    """

    def __init__(self, tasks: Sequence[Task], known: Sequence[str] = ()) -> None:
        """:param known: the vocabulary before there were more tasks."""
        points = [point_label(k % GRID, k // GRID) for k in range(POINTS)]
        labels = [label for task in tasks for label in _labels(task)]
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
        """(1600,) int64: the label of the target or block nearest to each grid point, 0 where the task has none."""
        kind, areas = goal_areas(task)
        nearest, distance = np.zeros(POINTS, dtype=np.int64), np.full(POINTS, np.inf)
        for k, corners in enumerate(areas):
            away = distances_to(CENTRES, np.array(corners, dtype=float))
            closer = away < distance
            nearest[closer], distance[closer] = self._ids[area_label(task, kind, k)], away[closer]
        return nearest

    def __call__(self, tables: Tables, chosen: np.ndarray | None = None) -> ActionFacts:
        """The facts that speak for each of the paper's N actions.

        :param chosen: of the form "objects" (B, t) what was chosen so far: the A candidates are what to do, with which
            disc (t = 1), or where (t = 2).
        """
        seen = _Seen(tables, self._discs[tables.rows])
        areas = self._areas[tables.rows]
        if chosen is None:
            return self._of_actions(tables, seen, areas)
        return self._of_parts(tables, seen, areas, chosen)

    def _of_actions(self, tables: Tables, seen: "_Seen", areas: np.ndarray) -> ActionFacts:
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
    """What a player sees of the discs of a batch.

    :ivar ids: (B, M) their labels, 0 for absent ones.
    :ivar near: (B, M) the label of the disc that each would come near where it lies; see `Affordances`.
    """

    def __init__(self, tables: Tables, ids: np.ndarray) -> None:
        """:param ids: (B, m) labels of the discs of each table's task, m at most M."""
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
        """(n, P) the label of the disc nearest to each grid point on the tables `rows`, that of `own` left out."""
        places = np.broadcast_to(CENTRES[points], (len(rows), len(points), 2))
        found = _nearest(places, self._place[rows], self._lies[rows], own, NEAR)
        return self._labels(found, rows)

    def _labels(self, discs: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        ids = self.ids if rows is None else self.ids[rows]
        return np.where(discs >= 0, np.take_along_axis(ids, np.maximum(discs, 0), axis=1), 0)


def check_chosen(chosen: np.ndarray, num_envs: int, parts: np.ndarray) -> np.ndarray:
    """(B, t) int64, the part of an action of the form "objects" that is chosen so far.

    :param parts: how many choices each part has.
    :raises InputError: another shape, or choices that there are not.
    """
    chosen = whole_numbers("chosen", chosen, num_envs, None)
    if chosen.shape[1] >= len(parts):
        raise InputError(f"chosen has shape {chosen.shape}; it is what was chosen so far, 0 to {len(parts) - 1} parts")
    for k, many in enumerate(parts[: chosen.shape[1]].tolist()):
        if ((chosen[:, k] < 0) | (chosen[:, k] >= many)).any():
            raise InputError(f"chosen[:, {k}] holds something else than 0 to {many - 1}")
    return chosen


def _labels(task: Task) -> list[str]:
    kind, areas = goal_areas(task)
    return [*(disc_label(task, id) for id in task.ids), *(area_label(task, kind, k) for k in range(len(areas)))]


def _facts(
    subject: np.ndarray, other: np.ndarray, effect: np.ndarray, point: np.ndarray, area: np.ndarray
) -> ActionFacts:
    """The facts of discs, near discs, effects, points and areas, (B, A) ids each."""
    parties = [(subject, other, 0)] * len(OF_TWO_DISCS)
    return action_facts(RELATIONS, subject.shape, [*parties, (subject, effect, 0), (point, area, 0)])


@njit(cache=True)
def distances_to(points, corners):
    """(P,) the distance of each point (P, 2) from a polygon (V, 2)."""
    found = np.empty(len(points))
    for p in range(len(points)):
        found[p] = area_distance(points[p, 0], points[p, 1], corners, len(corners))
    return found


@njit(cache=True)
def _nearest(points, place, lies, own, reach):
    """(B, P) the disc nearest to each point (B, P, 2), the first of equally near ones; -1 if none is within reach.

    :param place: (B, M, 2). :param lies: (B, M) bool, discs on the table. :param own: (B,) the disc left out.
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
