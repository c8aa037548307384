"""Distances between distributions, and estimates from samples: one number each, or points in the plane."""

from collections.abc import Callable, Sequence
from math import gcd, log, pi
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron, vstack
from scipy.spatial import KDTree
from scipy.special import digamma, gamma

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HALVINGS = 2.0 ** np.arange(-46, 0)
_LARGEST_ASSIGNMENT = 1_500
_NEIGHBOURS = 3
_MOST_CHOICES = 1_000


class OneDimensional(Protocol):
    """What the distances ask of a distribution of one number; see `gumption.envs.physics.noise.ScalarNoise`."""

    @property
    def edges(self) -> np.ndarray: ...
    @property
    def levels(self) -> np.ndarray: ...
    def cdf(self, x: np.ndarray) -> np.ndarray: ...
    def cdf_before(self, x: np.ndarray) -> np.ndarray: ...
    def quantile(self, probability: np.ndarray) -> np.ndarray: ...


def integral(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> float:
    """The integral of a function that is smooth between the edges, from the first to the last (Gauss-Legendre)."""
    half = np.diff(edges)[:, None] / 2
    return float((function(edges[:-1, None] + half * (_NODES + 1)) * (half * _WEIGHTS)).sum())


def w2_distance(a: OneDimensional, b: OneDimensional) -> float:
    """The Wasserstein-2 distance: the square root of the integral of (difference of the quantiles)^2.

    Quantiles may be singular at 0, at 1 and at `levels`: the panels of the integral get smaller by halves towards them,
    so that the result is accurate to about 1e-10 of the larger spread.
    """
    levels = np.unique(np.clip(np.concatenate([[0.0, 1.0], a.levels, b.levels]), 0.0, 1.0))
    levels = levels[np.concatenate([[True], np.diff(levels) > 1e-14])]
    width = np.diff(levels)[:, None]
    edges = np.concatenate(
        [levels[:-1, None], levels[:-1, None] + width * _HALVINGS, levels[1:, None] - width * _HALVINGS[-2::-1]], axis=1
    )
    panels = np.unique(np.append(edges, levels[-1]))
    panels = np.clip(panels, 2.0**-50, 1 - 2.0**-50)
    return float(np.sqrt(max(0.0, integral(lambda u: (a.quantile(u) - b.quantile(u)) ** 2, panels))))


def candidates(*noises: OneDimensional, fine: int = 300) -> np.ndarray:
    """Values among or between which the `cdf` of two of them differ the most: edges, and so many quantiles."""
    grid = np.concatenate([[1e-9, 1e-6], np.linspace(1e-4, 1 - 1e-4, fine), [1 - 1e-6, 1 - 1e-9]])
    return np.unique(np.concatenate([values for noise in noises for values in (noise.edges, noise.quantile(grid))]))


def ks_distance(a: OneDimensional, b: OneDimensional) -> float:
    """The largest difference of the two `cdf`, refined between the values around it."""
    x = candidates(a, b)
    difference = np.abs(a.cdf(x) - b.cdf(x))
    best = max(difference.max(), np.abs(a.cdf_before(x) - b.cdf_before(x)).max())
    if len(x) == 1:
        return float(best)
    steepest = np.argsort(np.maximum(difference[:-1], difference[1:]))[-12:]
    low, high = x[steepest], x[steepest + 1]
    for _ in range(12):
        inner = np.linspace(low, high, 35)[1:-1]  # without the ends, where atoms may be
        difference = np.abs(a.cdf(inner) - b.cdf(inner))
        best = max(best, difference.max())
        step, place = (high - low) / 34, inner[np.argmax(difference, axis=0), np.arange(len(low))]
        low, high = place - step, place + step
    return float(best)


#: Of a group of numbers: the shares of scenes that have it in two distributions, and of each of its numbers the two
#: shares up to each value.
Curves = tuple[tuple[float, float], Sequence[tuple[np.ndarray, np.ndarray]]]


def largest_difference(curves: Sequence[Curves]) -> float:
    """The largest difference of two products of the shares up to a value, one factor for each number of each group.

    What lacks a group counts as below every value of it. Among very many combinations of values an even choice is
    looked at, which costs far less than 0.001.
    """
    swapped: list[Curves] = [((q, p), [(its, mine) for mine, its in columns]) for (p, q), columns in curves]
    return max(_largest(curves), _largest(swapped))


def _largest(curves: Sequence[Curves]) -> float:
    """The largest product of one choice for each number in the first distribution less that in the second.

    Both products grow with their factors, so that a choice that is no better in both than another can be left out.
    """
    a = b = np.ones(1)
    for (share, its_share), columns in curves:
        mine = its = np.ones(1)
        for up_to, its_up_to in columns:
            up_to, its_up_to = _frontier(np.ravel(up_to), np.ravel(its_up_to))
            mine, its = _frontier(np.outer(mine, up_to).ravel(), np.outer(its, its_up_to).ravel())
        # The value below all others has the share 0 in both.
        mine, its = 1 - share + share * np.append(mine, 0.0), 1 - its_share + its_share * np.append(its, 0.0)
        a, b = np.outer(a, mine).ravel(), np.outer(b, its).ravel()
        possible = a >= (a - b).max()  # the factors to come are at most 1
        a, b = _frontier(a[possible], b[possible])
    return float((a - b).max())


def _frontier(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The choices with a large and b small that no other beats; an even choice of them where they are very many."""
    by_a = np.lexsort((b, -a))
    a, b = a[by_a], b[by_a]
    better = b < np.concatenate([[np.inf], np.minimum.accumulate(b)[:-1]])
    a, b = a[better], b[better]
    if len(a) > _MOST_CHOICES:
        even = np.linspace(0, len(a) - 1, _MOST_CHOICES).round().astype(int)
        kept = np.union1d(even, np.argmax(a - b))
        a, b = a[kept], b[kept]
    return a, b


def empirical_entropy(samples: np.ndarray, atoms: np.ndarray) -> float:
    """An estimate of the entropy, in nats: of the atoms from their shares, of the rest by Kozachenko and Leonenko's
    estimator of nearest neighbours.

    :param samples: (n, d) values.
    :param atoms: (m, d) values that may have a positive probability.
    """
    dimension = samples.shape[1]
    at = (samples[:, None] == atoms[None]).all(-1)
    shares = np.append(at.mean(0), 1 - at.any(1).mean())
    entropy = -sum(share * log(share) for share in shares if share > 0)
    rest = samples[~at.any(1)]
    if len(rest) > 1:
        neighbours = min(_NEIGHBOURS, len(rest) - 1)
        distance, _ = KDTree(rest).query(rest, k=neighbours + 1)
        ball = pi ** (dimension / 2) / gamma(dimension / 2 + 1)
        nearest = np.log(np.maximum(distance[:, -1], 1e-300)).mean()
        entropy += shares[-1] * float(digamma(len(rest)) - digamma(neighbours) + log(ball) + dimension * nearest)
    return float(entropy)


def transport(cost: np.ndarray) -> float:
    """The exact optimal transport cost between n and m points of equal weights: the earth mover's distance.

    Sets of one size are an assignment; so are others, with each point taken as often as makes the sizes equal, while
    that is not too large; else a linear program is solved.

    :param cost: (n, m).
    """
    n, m = cost.shape
    if n == 1 or m == 1:
        return float(cost.mean())
    common = n * m // gcd(n, m)
    if common <= max(_LARGEST_ASSIGNMENT, n, m):
        whole = cost if n == m else np.repeat(np.repeat(cost, common // n, 0), common // m, 1)
        return float(whole[linear_sum_assignment(whole)].sum() / common)
    # The last sum follows from the others; without it rounding cannot make the program infeasible.
    sums = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m - 1, m))])
    weights = np.concatenate([np.full(n, 1 / n), np.full(m - 1, 1 / m)])
    found = linprog(cost.ravel(), A_eq=sums, b_eq=weights, bounds=(0, None), method="highs")
    return float(found.fun)
