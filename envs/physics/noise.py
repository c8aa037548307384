"""Distributions of factors: the base class, and distributions of one number (SEGAR, appendix B.5).

A noise draws with a NumPy generator, and has exact statistics. Some noises have atoms: single values of positive
probability, such as the ends of a clipped Gaussian. `pdf` is the density with respect to length plus counting measure
at the atoms: the probability of an atom, elsewhere the usual density. Entropies, in nats, use the same measure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from inspect import isabstract
from itertools import pairwise
from math import gcd, log, pi
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron, vstack
from scipy.spatial import KDTree
from scipy.special import digamma, gamma, log_ndtr, logsumexp, ndtr, ndtri

from gumption.data.errors import InputError, located
from gumption.data.modules import class_of_module, name_of
from gumption.data.settings import Positive, settings, shown, unknown

#: All noises by name, including your own.
NOISES: dict[str, "type[Noise]"] = {}


class Noise(ABC):
    """A distribution of values of a factor.

    :cvar dimension: length of a value: 1 or 2, or 0 for shapes.
    """

    dimension: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            NOISES[cls.__name__] = cls

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Any:
        """Draw n values: (n,), or (n, 2) in the plane."""

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files: {"noise": name, field: value}."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # pyright: ignore[reportArgumentType]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"noise": name_of(type(self)), **plain}


class NumericNoise(Noise):
    """A distribution of numbers with statistics."""

    @abstractmethod
    def log_pdf(self, x: Any) -> np.ndarray:
        """Return the logarithm of `pdf`."""

    @abstractmethod
    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of values up to x, in both coordinates in the plane."""

    @abstractmethod
    def entropy(self) -> float:
        """Return the exact entropy, in nats."""

    @abstractmethod
    def w2(self, other: "NumericNoise") -> float:
        """Return the exact Wasserstein-2 distance to a noise of the same dimension."""

    @abstractmethod
    def ks(self, other: "NumericNoise") -> float:
        """Return the Kolmogorov-Smirnov distance, the largest difference of the two `cdf`."""

    @abstractmethod
    def empirical_entropy(self, samples: Any) -> float:
        """Estimate the entropy from samples (n,) or (n, 2) of a noise with the same atoms."""

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density; at an atom its probability."""
        return np.exp(self.log_pdf(x))

    def log_cdf(self, x: Any) -> np.ndarray:
        """Return the logarithm of `cdf`."""
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x))

    def log_likelihood(self, samples: Any) -> float:
        """Return the sum of `log_pdf` over samples."""
        return float(np.sum(self.log_pdf(samples)))

    def _equals(self, other: Any) -> bool:
        """Compare two noises. :raises InputError: they differ in dimension."""
        if not isinstance(other, NumericNoise) or other.dimension != self.dimension:
            raise InputError(f"{shown(self)} cannot be compared with {shown(other)}: take noises of one dimension")
        return self == other


class ScalarNoise(NumericNoise):
    """A distribution of a single number."""

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Return values of positive probability, in ascending order, and their probabilities."""
        return np.zeros(0), np.zeros(0)

    @property
    @abstractmethod
    def edges(self) -> np.ndarray:
        """Return values between which density and `cdf` are smooth."""

    @property
    def levels(self) -> np.ndarray:
        """Return probabilities between which `quantile` is smooth."""
        points, masses = self.atoms
        above = self.cdf(points)
        return np.concatenate([above - masses, above])

    @abstractmethod
    def quantile(self, probability: Any) -> np.ndarray:
        """Return the smallest x whose `cdf` is at least the probability."""

    @abstractmethod
    def log_density(self, x: Any) -> np.ndarray:
        """Return the logarithm of the density, without the atoms."""

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return self.quantile(rng.random(n))

    def log_pdf(self, x: Any) -> np.ndarray:
        x = np.asarray(x, float)
        points, masses = self.atoms
        found = np.asarray(self.log_density(x))
        for point, mass in zip(points, masses, strict=True):
            with np.errstate(divide="ignore"):
                found = np.where(x == point, np.log(mass), found)
        return found

    def cdf_before(self, x: Any) -> np.ndarray:
        """Return the probability of values below x."""
        x = np.asarray(x, float)
        points, masses = self.atoms
        return self.cdf(x) - ((x[..., None] == points) * masses).sum(-1)

    def w2(self, other: NumericNoise) -> float:
        """Return the Wasserstein-2 distance: the square root of the integral of (difference of the quantiles)^2.

        Quantiles may be singular at 0, at 1 and at `levels`, so the panels of the integral are halved repeatedly
        towards these; the result is accurate to about 1e-10 of the larger spread.
        """
        if self._equals(other):
            return 0.0
        assert isinstance(other, ScalarNoise)
        levels = np.unique(np.clip(np.concatenate([[0.0, 1.0], self.levels, other.levels]), 0.0, 1.0))
        levels = levels[np.concatenate([[True], np.diff(levels) > 1e-14])]
        width = np.diff(levels)[:, None]
        first, last = levels[:-1, None], levels[1:, None]
        edges = np.concatenate([first, first + width * _HALVINGS, last - width * _HALVINGS[-2::-1]], axis=1)
        panels = np.unique(np.append(edges, levels[-1]))
        panels = np.clip(panels, 2.0**-50, 1 - 2.0**-50)
        squares = integral(lambda u: (self.quantile(u) - other.quantile(u)) ** 2, panels)
        return float(np.sqrt(max(0.0, squares)))

    def ks(self, other: NumericNoise) -> float:
        """Return the largest difference of the two `cdf`, refined around the largest differences on a grid."""
        if self._equals(other):
            return 0.0
        assert isinstance(other, ScalarNoise)
        x = candidates(self, other)
        difference = np.abs(self.cdf(x) - other.cdf(x))
        best = max(difference.max(), np.abs(self.cdf_before(x) - other.cdf_before(x)).max())
        if len(x) == 1:
            return float(best)
        steepest = np.argsort(np.maximum(difference[:-1], difference[1:]))[-12:]
        low, high = x[steepest], x[steepest + 1]
        for _ in range(12):
            inner = np.linspace(low, high, 35)[1:-1]  # without the ends, which may be atoms
            difference = np.abs(self.cdf(inner) - other.cdf(inner))
            best = max(best, difference.max())
            step, place = (high - low) / 34, inner[np.argmax(difference, axis=0), np.arange(len(low))]
            low, high = place - step, place + step
        return float(best)

    def empirical_entropy(self, samples: Any) -> float:
        return empirical_entropy(np.asarray(samples, float)[:, None], self.atoms[0][:, None])


def read_noise(given: Any, where: str) -> Noise:
    """Read a noise, or its data {"noise": name, field: value}.

    :raises InputError: an unknown name, or an invalid field; the message begins with `where`.
    """
    if isinstance(given, Noise):
        return given
    if not isinstance(given, Mapping) or "noise" not in given:
        raise InputError(f"{where} is {shown(given)}; it is {{'noise': name, ...}}")
    known = {name: kind for name, kind in NOISES.items() if not isabstract(kind)}
    name = given["noise"]
    if name not in known and isinstance(name, str) and ":" in name:
        known = {name: class_of_module(name, f"{where}: noise", Noise)}
    if name not in known:
        raise InputError(f"{where}: {unknown('noise', name, known)}")
    with located(f"{where}: {name}"):
        return known[name](**{str(field): value for field, value in given.items() if field != "noise"})


# ---- Distances between distributions, and estimates from samples, of numbers or points in the plane.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HALVINGS = 2.0 ** np.arange(-46, 0)
_LARGEST_ASSIGNMENT = 1_500
_NEIGHBOURS = 3
_MOST_CHOICES = 1_000


def integral(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> float:
    """Integrate a function that is smooth between the edges, from the first to the last (Gauss-Legendre)."""
    half = np.diff(edges)[:, None] / 2
    return float((function(edges[:-1, None] + half * (_NODES + 1)) * (half * _WEIGHTS)).sum())


def candidates(*noises: ScalarNoise, fine: int = 300) -> np.ndarray:
    """Return values at or between which two `cdf` differ most: edges, and about `fine` quantiles of each noise."""
    grid = np.concatenate([[1e-9, 1e-6], np.linspace(1e-4, 1 - 1e-4, fine), [1 - 1e-6, 1 - 1e-9]])
    return np.unique(np.concatenate([values for noise in noises for values in (noise.edges, noise.quantile(grid))]))


#: A group of numbers: the share of scenes with the group in two distributions, and for each number its cumulative
#: shares in both.
Curves = tuple[tuple[float, float], Sequence[tuple[np.ndarray, np.ndarray]]]


def largest_difference(curves: Sequence[Curves]) -> float:
    """Return the largest difference of two products of cumulative shares, with a factor for each number of each group.

    A scene without a group counts as below every value of it. Very many combinations of values are subsampled evenly;
    the error is far less than 0.001.
    """
    swapped: list[Curves] = [((q, p), [(its, mine) for mine, its in columns]) for (p, q), columns in curves]
    return max(_largest(curves), _largest(swapped))


def _largest(curves: Sequence[Curves]) -> float:
    """Return the largest excess of the first distribution's product over the second's, with a value for each number.

    Both products increase with their factors, so that dominated pairs of factors can be left out.
    """
    a = b = np.ones(1)
    for (share, its_share), columns in curves:
        mine = its = np.ones(1)
        for up_to, its_up_to in columns:
            up_to, its_up_to = _frontier(np.ravel(up_to), np.ravel(its_up_to))
            mine, its = _frontier(np.outer(mine, up_to).ravel(), np.outer(its, its_up_to).ravel())
        # A value below all others has the cumulative share 0 in both.
        mine, its = 1 - share + share * np.append(mine, 0.0), 1 - its_share + its_share * np.append(its, 0.0)
        a, b = np.outer(a, mine).ravel(), np.outer(b, its).ravel()
        possible = a >= (a - b).max()  # later factors are at most 1
        a, b = _frontier(a[possible], b[possible])
    return float((a - b).max())


def _frontier(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Pareto frontier of pairs (large a, small b); an even selection if there are very many."""
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
    """Estimate the entropy of samples (n, d), in nats: for atoms (m, d) from their shares, for the rest by Kozachenko
    and Leonenko's nearest-neighbour estimator.
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
    """Return the exact earth mover's distance between n and m points of equal weights, for costs (n, m).

    Sets of equal size are an assignment problem. So are others, with points repeated until the sizes are equal, unless
    this becomes too large; then solve a linear program.
    """
    n, m = cost.shape
    if n == 1 or m == 1:
        return float(cost.mean())
    common = n * m // gcd(n, m)
    if common <= max(_LARGEST_ASSIGNMENT, n, m):
        whole = cost if n == m else np.repeat(np.repeat(cost, common // n, 0), common // m, 1)
        return float(whole[linear_sum_assignment(whole)].sum() / common)
    # The last constraint follows from the others; without it rounding cannot make the program infeasible.
    sums = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m - 1, m))])
    weights = np.concatenate([np.full(n, 1 / n), np.full(m - 1, 1 / m)])
    found = linprog(cost.ravel(), A_eq=sums, b_eq=weights, bounds=(0, None), method="highs")
    return float(found.fun)


class DiscreteNoise(ScalarNoise):
    """A distribution of finitely many values."""

    @property
    @abstractmethod
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the values, in their own dtype, and their probabilities."""

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        values, masses = self.support
        order = np.argsort(values)
        return values[order].astype(float), masses[order]

    @property
    def edges(self) -> np.ndarray:
        return self.atoms[0]

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        values, masses = self.support
        return values[rng.choice(len(values), n, p=masses)]

    def cdf(self, x: Any) -> np.ndarray:
        points, masses = self.atoms
        total = np.minimum(np.concatenate([[0.0], np.cumsum(masses)]), 1.0)
        total[-1] = 1.0
        return total[np.searchsorted(points, np.asarray(x, float), side="right")]

    def quantile(self, probability: Any) -> np.ndarray:
        points, masses = self.atoms
        place = np.searchsorted(np.cumsum(masses), np.asarray(probability, float) - 1e-15)
        return points[np.minimum(place, len(points) - 1)]

    def log_density(self, x: Any) -> np.ndarray:
        return np.full(np.shape(x), -np.inf)

    def entropy(self) -> float:
        return _atom_entropy(self.atoms[1])


@settings
class Deterministic(DiscreteNoise):
    """A constant value."""

    value: float | bool

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.value]), np.ones(1)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.full(n, self.value)


@settings
class DiscreteRangeNoise(DiscreteNoise):
    """A uniform distribution of integers from low to high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low <= self.high < self.low + 1_000_000:
            raise InputError(
                f"DiscreteRangeNoise: low is {self.low} and high {self.high}; low is at most high, "
                "and there are at most a million values"
            )

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.high - self.low + 1
        return np.arange(self.low, self.high + 1), np.full(n, 1 / n)


@settings
class Choice(DiscreteNoise):
    """A choice among values; `p` are their probabilities, None for a uniform choice."""

    values: tuple[float | bool, ...]
    p: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise InputError(f"Choice: values is {shown(self.values)}; give one value or more, each once")
        if self.p is not None:
            check_probabilities("Choice: p", self.p, len(self.values))

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        n = len(self.values)
        return np.array(self.values), np.full(n, 1 / n) if self.p is None else np.array(self.p) / sum(self.p)


@settings
class UniformNoise(ScalarNoise):
    """A uniform distribution of numbers from low to high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"UniformNoise: low is {self.low} and high {self.high}; low is less than high")

    @property
    def edges(self) -> np.ndarray:
        return np.array([self.low, self.high])

    def cdf(self, x: Any) -> np.ndarray:
        return np.clip((np.asarray(x, float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def quantile(self, probability: Any) -> np.ndarray:
        return self.low + (self.high - self.low) * np.asarray(probability, float)

    def log_density(self, x: Any) -> np.ndarray:
        x = np.asarray(x, float)
        return np.where((x >= self.low) & (x <= self.high), -log(self.high - self.low), -np.inf)

    def entropy(self) -> float:
        return log(self.high - self.low)


@settings
class GaussianNoise(ScalarNoise):
    """A normal distribution.

    :ivar clip: clip draws to these two numbers, which thus become atoms.
    """

    mean: float
    std: Positive
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.clip is not None and not self.clip[0] < self.clip[1]:
            raise InputError(f"GaussianNoise: clip is {self.clip}; the first is less than the second")

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        if self.clip is None:
            return super().atoms
        low, high = self._z(self.clip)
        return np.array(self.clip), np.array([ndtr(low), ndtr(-high)])

    @property
    def edges(self) -> np.ndarray:
        return np.array(self.clip or ())

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        drawn = rng.normal(self.mean, self.std, n)
        return drawn if self.clip is None else np.clip(drawn, *self.clip)

    def cdf(self, x: Any) -> np.ndarray:
        x = np.asarray(x, float)
        found = ndtr(self._z(x))
        if self.clip is not None:
            found = np.where(x < self.clip[0], 0.0, np.where(x >= self.clip[1], 1.0, found))
        return found

    def log_cdf(self, x: Any) -> np.ndarray:
        return log_ndtr(self._z(x)) if self.clip is None else super().log_cdf(x)

    def quantile(self, probability: Any) -> np.ndarray:
        found = self.mean + self.std * ndtri(np.asarray(probability, float))
        return found if self.clip is None else np.clip(found, *self.clip)

    def log_density(self, x: Any) -> np.ndarray:
        x = np.asarray(x, float)
        found = -0.5 * self._z(x) ** 2 - log(self.std) - 0.5 * log(2 * pi)
        if self.clip is not None:
            found = np.where((x >= self.clip[0]) & (x <= self.clip[1]), found, -np.inf)
        return found

    def entropy(self) -> float:
        if self.clip is None:
            return 0.5 * (1 + log(2 * pi)) + log(self.std)
        low, high = self._z(self.clip)
        inside = ndtr(high) - ndtr(low)
        bell = [z * np.exp(-0.5 * z * z) / np.sqrt(2 * pi) for z in (low, high)]
        between = inside * (log(self.std) + 0.5 * log(2 * pi)) + 0.5 * (inside + bell[0] - bell[1])
        return float(between) + _atom_entropy(self.atoms[1])

    def w2(self, other: NumericNoise) -> float:
        if isinstance(other, GaussianNoise) and self.clip is None and other.clip is None:
            return float(np.hypot(self.mean - other.mean, self.std - other.std))
        return super().w2(other)

    def _z(self, x: Any) -> np.ndarray:
        return (np.asarray(x, float) - self.mean) / self.std


@settings
class GaussianMixtureNoise(ScalarNoise):
    """A mixture of normal distributions. Its entropy is an integral, accurate to about 1e-12.

    :ivar pvals: probability of each component; None for equal probabilities.
    """

    means: tuple[float, ...]
    stds: tuple[Positive, ...]
    pvals: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.means or len(self.means) != len(self.stds):
            raise InputError(
                f"GaussianMixtureNoise: {len(self.means)} means and {len(self.stds)} stds; give as many of each"
            )
        if self.pvals is not None:
            check_probabilities("GaussianMixtureNoise: pvals", self.pvals, len(self.means))

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = len(self.means)
        weights = np.full(n, 1 / n) if self.pvals is None else np.array(self.pvals) / sum(self.pvals)
        return np.array(self.means, float), np.array(self.stds, float), weights

    @property
    def edges(self) -> np.ndarray:
        return np.array(sorted(set(self.means)), float)

    @property
    def levels(self) -> np.ndarray:
        """Return the probabilities at the density minima between the means, where the quantile jumps, or nearly so."""
        means = self.edges
        valleys = [np.linspace(low, high, 401) for low, high in pairwise(means)]
        return self.cdf(np.array([valley[np.argmin(self.log_density(valley))] for valley in valleys]))

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        means, stds, weights = self._parts
        part = rng.choice(len(means), n, p=weights)
        return rng.normal(means[part], stds[part])

    def cdf(self, x: Any) -> np.ndarray:
        means, stds, weights = self._parts
        return ndtr((np.asarray(x, float)[..., None] - means) / stds) @ weights

    def log_cdf(self, x: Any) -> np.ndarray:
        means, stds, weights = self._parts
        each = log_ndtr((np.asarray(x, float)[..., None] - means) / stds)
        return np.asarray(logsumexp(each, b=weights, axis=-1))

    def quantile(self, probability: Any) -> np.ndarray:
        means, stds, _ = self._parts
        probability = np.asarray(probability, float)
        each = means + stds * ndtri(probability)[..., None]
        low, high = each.min(-1), each.max(-1)  # the quantile lies between the components' quantiles
        for _ in range(64):
            middle = low + (high - low) / 2
            below = self.cdf(middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def log_density(self, x: Any) -> np.ndarray:
        means, stds, weights = self._parts
        z = (np.asarray(x, float)[..., None] - means) / stds
        return np.asarray(logsumexp(-0.5 * z * z - np.log(stds) - 0.5 * log(2 * pi), b=weights, axis=-1))

    def entropy(self) -> float:
        means, stds, _ = self._parts
        edges = np.unique(means[:, None] + stds[:, None] * np.arange(-12.0, 12.5, 0.5))

        def surprise(x: np.ndarray) -> np.ndarray:
            found = self.log_density(x)
            return -np.exp(found) * found

        return integral(surprise, edges)


def check_probabilities(name: str, given: tuple[float, ...], n: int) -> None:
    """:raises InputError: not n nonnegative numbers with the sum 1."""
    if len(given) != n or min(given) < 0 or abs(sum(given) - 1) > 1e-9:
        raise InputError(f"{name} is {shown(given)}; it is {n} probabilities whose sum is 1")


def _atom_entropy(masses: np.ndarray) -> float:
    masses = masses[masses > 0]
    return float(-(masses * np.log(masses)).sum()) + 0.0
