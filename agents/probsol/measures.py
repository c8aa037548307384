r"""What the study of goals and constraints measures (Shi et al., "Problem Formulation", A.1 and A.2).

Upsilon is the solution rate of a task, Omega its constraint satisfaction rate, s_last the last state of a trial, g the
goal, c the constraint and c* what it came to.

* solution rate, eq. 1:                  Upsilon = 1 - d(s_last, g)
* constraint satisfaction rate, eq. 2:   Omega = 1 - d(c*, c), the mean of d where there are several constraints
* chances for trials and the like:       d = |c* - c| / (max c - min c) where c* breaks c, else 0; at most 1 (eq. 12)
* world understanding (A.2):             d = |c* - c| of accuracies, or 1 - cos(c*, c) of displacements
* Pareto front, eq. 4 and 5:             the vectors that no other one reaches in all objectives and beats in one
* PHYRE's AUCCESS:                       sum w_k s_k / sum w_k, w_k = ln(k + 1) - ln k, k = 1..10

Equation 7, strategies and what is asked of them are in goals.py.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gumption.data import InputError
from gumption.data.settings import Count, checked, shown
from gumption.envs.probsol.geometry import ADD, edits


def solution_rate(distances: ArrayLike) -> np.ndarray:
    """Equation 1 for each episode: 1 - d(s_last, g).

    :param distances: (n,) from 0, where the goal is reached, to 1.
    :raises InputError: a distance that is not from 0 to 1.
    """
    return 1.0 - _shares("distances", distances)


@checked
def discovery_distance(table: Sequence[int], answer: Sequence[int], concerned: Count) -> float:
    """Equation 10: the Damerau-Levenshtein distance between the sorted ids on the table and those of the answer, with
    the weights add 2, substitute 1, delete 2, over the largest possible one, 2 n.

    :param concerned: n, how many discs were first stored.
    :raises InputError: an id twice, or more ids than n.
    """
    lists = [np.unique(np.asarray(ids, dtype=np.int64)) for ids in (table, answer)]
    for given, ids in zip((table, answer), lists, strict=True):
        if len(ids) != len(given) or len(ids) > concerned:
            raise InputError(f"ids are {shown(list(given))}; they are distinct, and at most {concerned}")
    return float(edits(*lists) / (ADD * concerned))


def constraint_distances(values: ArrayLike, limits: ArrayLike) -> np.ndarray:
    """Equation 12 for each episode and constraint: 0 where the limit is kept, else what it is broken by over the
    difference between the largest and the smallest limit of that constraint among the episodes given, at most 1.
    Where all of them have the same limit, a broken one is 1.

    :param values: (n, C) c*. :param limits: (n, C) c; inf for none.
    :returns: (n, C), NaN where there is no limit.
    :raises InputError: arrays of different shapes, or a number that is NaN.
    """
    value, limit = np.asarray(values, dtype=float), np.asarray(limits, dtype=float)
    if value.shape != limit.shape or value.ndim != 2 or np.isnan(value).any() or np.isnan(limit).any():
        raise InputError(f"values {value.shape} and limits {limit.shape} are arrays (episodes, constraints) of numbers")
    there = np.isfinite(limit)
    largest = np.where(there, limit, -np.inf).max(axis=0, initial=-np.inf)
    smallest = np.where(there, limit, np.inf).min(axis=0, initial=np.inf)
    span = np.where(largest > smallest, largest - smallest, 0.0)
    excess = np.where(there, np.maximum(value - np.where(there, limit, 0.0), 0.0), 0.0)
    share = np.where(span > 0, excess / np.where(span > 0, span, 1.0), excess > 0)
    return np.where(there, np.minimum(share, 1.0), np.nan)


def constraint_satisfaction_rate(distances: ArrayLike) -> np.ndarray:
    """Equation 2 for each episode: 1 - d, where d is the mean over the constraints that it has; 1 where it has none.

    :param distances: (n, C) of `constraint_distances` and of world understanding, NaN for a constraint that an episode
        does not have. Above 1, where told and true displacements are opposite, they count as 1.
    :raises InputError: a distance below 0, or no such array.
    """
    found = np.asarray(distances, dtype=float)
    if found.ndim != 2 or (found < 0).any():
        raise InputError(f"distances {found.shape} are an array (episodes, constraints) of numbers from 0")
    there = ~np.isnan(found)
    total = np.where(there, np.minimum(found, 1.0), 0.0).sum(axis=1)
    return 1.0 - total / np.maximum(there.sum(axis=1), 1)


def accuracy_distance(told: ArrayLike, wanted: ArrayLike = 1.0) -> np.ndarray:
    """World understanding as discrimination (A.2): |c* - c| of the share of right answers and the share wanted.

    :param told, wanted: (n,) from 0 to 1.
    """
    return np.abs(_shares("told", told) - _shares("wanted", wanted))


def displacement_distance(told: ArrayLike, true: ArrayLike) -> float:
    """World understanding as generation (A.2): 1 - cos between the told and the true displacements of all discs after
    a told placement, from 0 to 2. It is 0 where neither moves anything, and 1 where only one does.

    :param told, true: (M, 2) px.
    :raises InputError: arrays of different shapes, or numbers that are not finite.
    """
    one, other = np.asarray(told, dtype=float), np.asarray(true, dtype=float)
    if one.shape != other.shape or one.ndim != 2 or not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError(f"told {one.shape} and true {other.shape} are arrays (discs, 2) of finite numbers")
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    if lengths == 0:
        return float((np.linalg.norm(one) > 0) != (np.linalg.norm(other) > 0))
    return float(1.0 - (one * other).sum() / lengths)


@checked
def auccess(solved_in: ArrayLike, trials: Count = 10) -> float:
    """PHYRE's AUCCESS: sum w_k s_k / sum w_k over k = 1 to `trials`, w_k = ln(k + 1) - ln k, and s_k the share of tasks
    that are solved within k trials. 1 is to solve each in its first trial.

    :param solved_in: (n,) the trial in which each task was solved, from 1; 0 where it was not.
    :raises InputError: no task, or a number below 0.
    """
    found = np.asarray(solved_in)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu" or (found < 0).any():
        raise InputError(f"solved_in is {shown(solved_in)}; it is a trial for each task, 0 for an unsolved one")
    k = np.arange(1, trials + 1)
    weights = np.log(k + 1) - np.log(k)
    within = ((found[:, None] >= 1) & (found[:, None] <= k)).mean(axis=0)
    return float((weights * within).sum() / weights.sum())


def efficiency(solution: ArrayLike, used: ArrayLike, solved: ArrayLike) -> float:
    """Actions of the recorded solution over actions used, the mean over episodes; 0 for an unsolved one. It is above 1
    where a player needs fewer actions than the record.

    :param solution, used: (n,) numbers of actions, at least 1. :param solved: (n,) bool.
    :raises InputError: arrays of different lengths, or numbers below 1.
    """
    best, made, won = np.asarray(solution), np.asarray(used), np.asarray(solved, dtype=bool)
    if not (best.shape == made.shape == won.shape and best.ndim == 1 and len(best)):
        raise InputError(f"solution {best.shape}, used {made.shape} and solved {won.shape} have a number an episode")
    if (best < 1).any() or (made < 1).any():
        raise InputError("solution and used are numbers of actions, at least 1")
    return float(np.where(won, best / made, 0.0).mean())


def pareto_front(vectors: ArrayLike) -> np.ndarray:
    """(n,) bool: the vectors on the Pareto front (eq. 4 of one task, eq. 5 of many).

    A vector is off the front where another one is at least as large in every objective and larger in one.

    :param vectors: (n, d) a policy's objectives, each the better the larger: Upsilon and Omega of each task.
    :raises InputError: no such array, or a number that is not finite.
    """
    found = _vectors(vectors)
    at_least = (found[:, None] >= found[None]).all(axis=2)
    larger = (found[:, None] > found[None]).any(axis=2)
    return np.logical_not((at_least & larger).any(axis=0))


def preference_order(vectors: ArrayLike, policy: int) -> list[list[int]]:
    """The preference order lambda that a policy stands for: its objectives, those that it gives up least first.

    What it gives up of an objective is the largest value that any of the policies reaches, minus its own. Objectives of
    which it gives up equally much are in one group: the order is partial.

    :param vectors: (n, d) as in `pareto_front`. :param policy: which of the n.
    :returns: numbers of objectives, 0 to d - 1, in groups.
    :raises InputError: as `pareto_front`, or no such policy.
    """
    found = _vectors(vectors)
    if not 0 <= policy < len(found):
        raise InputError(f"policy is {policy}; there are 0 to {len(found) - 1}")
    given_up = (found.max(axis=0) - found[policy]).round(12)
    return [np.flatnonzero(given_up == loss).tolist() for loss in np.unique(given_up)]


def _vectors(vectors: ArrayLike) -> np.ndarray:
    found = np.asarray(vectors, dtype=float)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError(f"vectors {found.shape} are an array (policies, objectives) of finite numbers")
    return found


def _shares(name: str, given: ArrayLike) -> np.ndarray:
    found = np.asarray(given, dtype=float)
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(f"{name} is {shown(given)}; it is from 0 to 1")
    return found
