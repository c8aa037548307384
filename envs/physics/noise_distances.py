"""Distances between distributions, and estimates from samples: one number each, or points in the plane."""

from collections.abc import Callable
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


def candidates(*noises: OneDimensional) -> np.ndarray:
    """Values among or between which the `cdf` of two of them differ the most."""
    grid = np.concatenate([[1e-9, 1e-6], np.linspace(1e-4, 1 - 1e-4, 300), [1 - 1e-6, 1 - 1e-9]])
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
