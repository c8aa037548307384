"""Conditions that a certified task and its solution meet; `gumption.scripts.papers.probsol.certifier` has the players.

Scenes of many discs are chaotic. A solution is expected to hold on another machine only if it also solves the task with
K 2 % smaller and larger and with half the step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .actions import Labels
from .engine import DIAGONAL, FRAMERATE, Tables
from .geometry import GRABBED, goal_distances
from .magnets import COUPLING
from .tasks import Task

#: Outcomes of a seed; the first that applies counts: doing nothing solves it; masked random policies solve it too
#: often; the family's naive policy solves it; the solver finds no solution; the solution fails in one of `VARIANTS`.
OUTCOMES = ("trivial", "chance", "naive", "unsolved", "fragile", "certified")
#: Arguments of `Tables`: K 2 % smaller and larger, half the step.
VARIANTS: tuple[dict[str, Any], ...] = (
    {"coupling": 0.98 * COUPLING},
    {"coupling": 1.02 * COUPLING},
    {"framerate": 2 * FRAMERATE},
)
Solution = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Replays:
    """The results of B solutions, each on its own table.

    :ivar solved: (B,) bool: the goal was reached at a CHECK. :ivar refused: (B,) bool: some action was closed.
    :ivar tables: at the end. :ivar moved: (B, M) px that each disc moved, summed over all actions.
    """

    solved: np.ndarray
    refused: np.ndarray
    tables: Tables
    moved: np.ndarray


def replay(tasks: Sequence[Task], solutions: Sequence[Solution], **how: Any) -> Replays:
    """Carry out the actions of each solution on its own table, except answers to a quiz.

    :param tasks: a task per solution. :param how: coupling, framerate, compiled; see `Tables`.
    :raises InputError: an action that the task cannot have.
    """
    batch = len(tasks)
    discs, cells = max(task.max_obj_num for task in tasks), max(task.max_grid_num for task in tasks)
    different = {id(task): task for task in tasks}
    numbers = {key: number for number, key in enumerate(different)}
    tables = Tables(list(different.values()), batch, discs, cells, **how)
    rows = np.array([numbers[id(task)] for task in tasks])
    tables.begin(np.arange(batch), rows, [0] * batch)
    labels = Labels(discs, cells)
    solved, refused = np.zeros(batch, dtype=bool), np.zeros(batch, dtype=bool)
    moved = np.zeros((batch, discs))
    for k in range(max(map(len, solutions), default=0)):
        idle, actions = np.ones(batch, dtype=bool), np.zeros(batch, dtype=np.int64)
        for b, (task, solution) in enumerate(zip(tasks, solutions, strict=True)):
            if k < len(solution) and solution[k][0] != "answer" and not solved[b]:
                idle[b], actions[b] = False, labels.index_on(tables, b, task, *solution[k])
        before = tables.refused.copy()
        check, most = tables.act(actions, idle)
        refused |= tables.refused > before
        tables.run(most)
        moved += np.where(idle[:, None], 0.0, np.sqrt((tables.moved**2).sum(axis=2)))
        if check.any():
            solved |= check & (tables.distance() == 0.0)
            tables.next_trial(np.flatnonzero(check & ~solved))
    return Replays(solved, refused, tables, moved)


def solves(task: Task, solution: Solution, **how: Any) -> bool:
    """Return whether a solution solves the task without a closed action; `how` as in `replay`."""
    played = replay([task], [solution], **how)
    return bool(played.solved[0] and not played.refused[0])


def holding(tasks: Sequence[Task], solutions: Sequence[Solution]) -> np.ndarray:
    """Return (B,) bool: the solution also solves its task with K 2 % smaller and larger, and with half the step."""
    holds = np.ones(len(tasks), dtype=bool)
    for variant in VARIANTS if len(tasks) else ():
        played = replay(tasks, solutions, **variant)
        holds &= played.solved & ~played.refused
    return holds


def start_distance(tasks: Sequence[Task]) -> np.ndarray:
    """Return (B,) d at the start, without the rule that d is 1 if nothing has changed."""
    discs, cells = max(task.max_obj_num for task in tasks), max(task.max_grid_num for task in tasks)
    tables = Tables(tasks, len(tasks), discs, cells)
    rows, data = np.arange(len(tasks)), tables.data
    tables.begin(rows, rows, [0] * len(tasks))
    found, elsewhere = np.empty(len(tasks)), np.full_like(data.where, GRABBED)
    goal_distances(
        rows, data.family, tables.where, elsewhere, np.ascontiguousarray(tables.place), data.place,
        np.ascontiguousarray(tables.speed), tables.cell, data.cell, tables.theta, data.theta, data.golden,
        data.concerned, data.answer, data.corners, data.counts, data.areas, DIAGONAL, found,
    )  # fmt: skip
    return found


def still(tasks: Sequence[Task]) -> np.ndarray:
    """Return (B,) bool: at the start, no disc moves by 0.01 px or more during a NONE."""
    return replay(tasks, [[["none"]]] * len(tasks)).moved.max(axis=1) < 0.01
