"""ProbSol as triples: what is true of a task, from its properties and its law. A player finds it out by trying.

The graph of a task is the oracle's knowledge, and the quiz is asked of it. What an agent finds out is in a graph of its
own.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Literal

import numpy as np

from gumption.data.settings import checked

from .affordances import (
    AFFORDS,
    ATTRACTS,
    DIFFERS_FROM,
    GRABBING,
    INSIDE,
    MOVING,
    PULLING,
    REPELS,
    TURNING,
    area_label,
    goal_areas,
    point_label,
)
from .engine import CENTRES
from .geometry import area_distance
from .library import designed
from .magnets import ARM, COUPLING, CUT, DIPOLE_CUT, LAWS, RADIUS
from .quiz import DIPOLE, Triple, disc_label, property_facts, quiz_facts
from .tasks import FAMILIES, GRID, DiscData, Laws, Task

HAS_FAMILY, HAS_DISC, HAS_GOAL, HAS_DARK = "hasFamily", "hasDisc", "hasGoal", "hasDark"
HAS_AREA = {"target": "hasTarget", "block": "hasBlock"}
HAS_ACCESS, ACCESSIBLE, INACCESSIBLE = "hasAccess", "accessible", "inaccessible"
Partition = Literal["train", "validation", "test", "all"]


@checked
def facts(*, partition: Partition, laws: Laws | None = None) -> Iterator[Triple]:
    """The facts of the designed tasks, distinct and sorted; see `task_facts`.

    A task is of "train" where its number ends in 0 to 7, of "validation" where it ends in 8, and of "test" where it
    ends in 9 or lies above 9. Every fact names a task, a disc or an area of one, so the parts have none in common.

    :param laws: in place of those of the tasks.
    """
    tasks = [task for family in FAMILIES for task in designed(family)]
    chosen = [task for task in tasks if partition in ("all", part_of(task))]
    return iter(sorted({fact for task in chosen for fact in task_facts(task, laws)}))


def part_of(task: Task) -> Literal["train", "validation", "test"]:
    """The part of a designed task, by its number; see `facts`."""
    number = int(task.name.rpartition("/")[2])
    return "train" if number < 8 else "validation" if number == 8 else "test"


def task_facts(task: Task, laws: Laws | None = None) -> Iterator[Triple]:
    """What is true of a task.

    Its discs: see `property_facts`, and (a differsFrom b) in mass, magnetism or polarity; what two monopoles do by the
    law, (a attracts b) or (a repels b), each way. A dipole does either, as it is turned: nothing is stated of it.
    Its areas: (task hasTarget, hasBlock or hasDark area), (area hasAccess accessible) where a grid point of it lies
    outside the dark, else inaccessible, and (point inside area) of grid points and targets or blocks.
    (task hasFamily FAMILY), (task hasDisc disc), (task hasGoal disc) of golden ones. Its quiz: see `quiz_facts`.
    What discs afford by the law, by the friction and by where they lie at the start: (disc affords grabbing, moving,
    pulling, turning); see `affordances`.

    :param laws: in place of the task's. Under "shuffled" nothing is stated of what follows from the law.
    """
    yield from property_facts(task)
    yield from quiz_facts(task)
    yield task.name, HAS_FAMILY, task.family
    for disc in task.objects:
        yield task.name, HAS_DISC, disc_label(task, disc.id)
        if disc.at is None or not _in_the_dark(task, disc.at):
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
    """What discovery compares: mass and magnetism as numbers, and the kind of polarity."""
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
    """In px/s^2, what a disc is accelerated by at most by another one that it touches; dipoles are turned end-on."""

    def poles(one: DiscData, at: float) -> list[tuple[float, float]]:
        """Signed magnetism and place of each pole, the + pole of a dipole towards the other disc."""
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
        inside = [k for k, (x, y) in enumerate(CENTRES.tolist()) if not area_distance(x, y, shape, len(shape))]
        for point in inside:
            yield point_label(point % GRID, point // GRID), INSIDE, label
        free = any(not _in_the_dark(task, CENTRES[point].tolist()) for point in inside)
        yield label, HAS_ACCESS, ACCESSIBLE if free else INACCESSIBLE
    for k in range(len(task.inaccessible)):
        label = area_label(task, "dark", k)
        yield task.name, HAS_DARK, label
        yield label, HAS_ACCESS, INACCESSIBLE


def _in_the_dark(task: Task, place: Sequence[float]) -> bool:
    return any(x <= place[0] < x + wide and y <= place[1] < y + high for x, y, wide, high in task.inaccessible)
