"""The measures of the study of goals and constraints (Shi et al., "Problem Formulation", A.1 and A.2).

Upsilon is the solution rate of a task, Omega its constraint satisfaction rate, s_last the last state of a trial, g the
goal, c the constraint and c* its value in the episode.

* solution rate, eq. 1:                  Upsilon = 1 - d(s_last, g), which the environment computes
* constraint satisfaction rate, eq. 2:   Omega = 1 - d(c*, c), the mean of d if there are several constraints
* limits of trials and the like:         d = |c* - c| / (max c - min c) if c* breaks c, else 0; at most 1 (eq. 12)
* world understanding (A.2):             d = |c* - c| of accuracies, or 1 - cos(c*, c) of displacements
* Pareto front, eq. 4 and 5:             `pareto_front` of gumption.agents.statistics
* PHYRE's AUCCESS:                       sum w_k s_k / sum w_k, w_k = ln(k + 1) - ln k, k = 1..10

goals.py defines equation 7 and strategies.
"""

import numpy as np
from numpy.typing import ArrayLike

from gumption.data import InputError
from gumption.data.settings import Count, checked, shown, whole_numbers


def constraint_distances(values: ArrayLike, limits: ArrayLike) -> np.ndarray:
    """Compute equation 12 for each episode and constraint: 0 within the limit, else the excess divided by the
    difference of the largest and the smallest limit of that constraint among the episodes, at most 1. If all episodes
    have the same limit, the distance of a broken limit is 1.

    :param values: (n, C) c*. :param limits: (n, C) c; inf for no limit.
    :returns: (n, C), NaN if there is no limit.
    :raises InputError: arrays of different shapes, or NaN.
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
    """Compute equation 2 for each episode: 1 - d, with d the mean over its constraints; 1 without constraints.

    :param distances: (n, C) of `constraint_distances` and of world understanding, NaN for a constraint that an episode
        does not have. Distances above 1, of opposite displacements, count as 1.
    :raises InputError: a distance below 0, or an array of another shape.
    """
    found = np.asarray(distances, dtype=float)
    if found.ndim != 2 or (found < 0).any():
        raise InputError(f"distances {found.shape} are an array (episodes, constraints) of numbers from 0")
    there = ~np.isnan(found)
    total = np.where(there, np.minimum(found, 1.0), 0.0).sum(axis=1)
    return 1.0 - total / np.maximum(there.sum(axis=1), 1)


def accuracy_distance(told: ArrayLike, wanted: ArrayLike = 1.0) -> np.ndarray:
    """Compute world understanding as discrimination (A.2): |c* - c| of shares of right answers, (n,) from 0 to 1."""
    return np.abs(_shares("told", told) - _shares("wanted", wanted))


def displacement_distance(told: ArrayLike, true: ArrayLike) -> float:
    """Compute world understanding as generation (A.2): 1 - cos between the stated and the true displacements of all
    discs after a placement, from 0 to 2. It is 0 if both are zero, and 1 if exactly one of them is zero.

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
    """Compute PHYRE's AUCCESS: sum w_k s_k / sum w_k over k = 1 to `trials`, w_k = ln(k + 1) - ln k, and s_k the share
    of tasks solved within k trials; 1 if the first trial solves each task.

    :param solved_in: (n,) the trial that solved each task, from 1; 0 if no trial did.
    :raises InputError: no task, or a number below 0.
    """
    found = whole_numbers("solved_in", solved_in, None)
    if not len(found) or (found < 0).any():
        raise InputError(f"solved_in is {shown(solved_in)}; it is a trial for each task, 0 for an unsolved one")
    k = np.arange(1, trials + 1)
    weights = np.log(k + 1) - np.log(k)
    within = ((found[:, None] >= 1) & (found[:, None] <= k)).mean(axis=0)
    return float((weights * within).sum() / weights.sum())


def efficiency(solution: ArrayLike, used: ArrayLike, solved: ArrayLike) -> float:
    """Return the mean over episodes of actions in the recorded solution / actions used; 0 for an unsolved episode,
    above 1 for fewer actions than in the record.

    :param solution, used: (n,) numbers of actions, at least 1. :param solved: (n,) bool.
    :raises InputError: arrays of different lengths, or numbers below 1.
    """
    best, made, won = np.asarray(solution), np.asarray(used), np.asarray(solved, dtype=bool)
    if not (best.shape == made.shape == won.shape and best.ndim == 1 and len(best)):
        raise InputError(f"solution {best.shape}, used {made.shape} and solved {won.shape} have a number an episode")
    if (best < 1).any() or (made < 1).any():
        raise InputError("solution and used are numbers of actions, at least 1")
    return float(np.where(won, best / made, 0.0).mean())


def preference_order(vectors: ArrayLike, policy: int) -> list[list[int]]:
    """Return the preference order lambda of a policy: the objectives, sorted by its loss, smallest first.

    The loss in an objective is the largest value among all policies minus the policy's value. Objectives of equal loss
    form a group: the order is partial.

    :param vectors: (n, d) objectives of policies, larger is better. :param policy: index of the policy, 0 to n - 1.
    :returns: indices of objectives, 0 to d - 1, in groups.
    :raises InputError: an array of another shape, a number that is not finite, or no such policy.
    """
    found = _vectors(vectors)
    if not 0 <= policy < len(found):
        raise InputError(f"policy is {policy}; there are 0 to {len(found) - 1}")
    losses = (found.max(axis=0) - found[policy]).round(12)
    return [np.flatnonzero(losses == loss).tolist() for loss in np.unique(losses)]


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
