"""ProbSol as triples: what is true of a task, from its properties and its law. A player finds it out by trying.

The graph of a task is the oracle's knowledge, and the quiz is asked of it. What an agent finds out is in a graph of its
own.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

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
    distances_to,
    point_label,
)
from .engine import CENTRES
from .magnets import ARM, COUPLING, CUT, DIPOLE_CUT, LAWS, RADIUS
from .quiz import DIPOLE, Triple, disc_label, property_facts, quiz_facts
from .settings import Fold, Partition, ProbSolSettings
from .splits import partition_of
from .tasks import GRID, DiscData, Laws, Task, goal_areas

HAS_FAMILY, HAS_DISC, HAS_GOAL, HAS_DARK = "hasFamily", "hasDisc", "hasGoal", "hasDark"
HAS_AREA = {"target": "hasTarget", "block": "hasBlock"}
HAS_ACCESS, ACCESSIBLE, INACCESSIBLE = "hasAccess", "accessible", "inaccessible"


@checked
def facts(
    *, partition: Partition, task: Any = "designed", fold: Fold = 0, laws: Laws | None = None
) -> Iterator[Triple]:
    """The facts of the tasks of a part, distinct and sorted; see `task_facts` and `part_of`.

    Every fact names a task, a disc or an area of one, so the parts have none in common.

    :param task: which tasks, as the setting of that name: the designed ones, "fishing/generated", a file, a list.
    :param fold: of the split of generated tasks.
    :param laws: in place of those of the tasks.
    :raises InputError: another part, or no such task.
    """
    tasks = ProbSolSettings(task=task, partition=partition, fold=fold).load_tasks()
    chosen = [each for each in tasks if partition in ("all", part_of(each, fold))]
    return iter(sorted({fact for each in chosen for fact in task_facts(each, laws)}))


def part_of(task: Task, fold: int = 0) -> str:
    """The part that a task is of.

    A designed task is of "train" where its number is 0 to 7, of "validation" where it is 8, and of "test" from 9 on; a
    generated one where `splits` puts its seed. Any other task, a person's own, is of "train".
    """
    family, _, rest = task.name.partition("/")
    if family == task.family.lower() and rest.isdecimal():
        return "train" if int(rest) < 8 else "validation" if int(rest) == 8 else "test"
    seed = rest.removeprefix("seed-")
    if family == task.family.lower() and rest != seed and seed.isdecimal():
        return partition_of(task.family, [int(seed)], fold)[0]
    return "train"


def about_other_discs(task: Task) -> Iterator[Triple]:
    """False facts of a task: what is true of a disc is said of the next one in the file."""
    discs = [disc_label(task, id) for id in task.ids]
    following = dict(zip(discs, [*discs[1:], *discs[:1]], strict=True))
    for one, relation, other in task_facts(task):
        yield following.get(one, one), relation, following.get(other, other)


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
        inside = np.flatnonzero(distances_to(CENTRES, shape) == 0).tolist()
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
