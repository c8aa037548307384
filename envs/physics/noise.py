"""Distributions of one number; see `gumption.envs.physics.distribution` for what they can do."""

from abc import abstractmethod
from functools import cached_property
from itertools import pairwise
from math import log, pi
from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

from gumption.data import InputError
from gumption.data.settings import Positive, settings
from gumption.data.wording import shown

from .distribution import NumericNoise, ScalarNoise
from .noise_distances import integral


class DiscreteNoise(ScalarNoise):
    """A distribution of finitely many values."""

    @property
    @abstractmethod
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """The values, with their type, and their probabilities."""

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
    """Always the same value."""

    value: float | bool

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.value]), np.ones(1)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.full(n, self.value)


@settings
class DiscreteRangeNoise(DiscreteNoise):
    """A whole number from low to high, both included, all equally likely."""

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
    """One of some values.

    :ivar p: their probabilities; None for equal ones.
    """

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
    """Any number from low to high, all equally likely."""

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

    :ivar clip: draws below the first number become it, those above the second that one: both ends are atoms.
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
    """One of several normal distributions. Its entropy is an integral, accurate to about 1e-12.

    :ivar pvals: the probability of each; None for equal ones.
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
        """Where the quantile jumps, or nearly so: in the valleys between the means."""
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
        low, high = each.min(-1), each.max(-1)  # the quantile lies between those of the parts
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
    """:raises InputError: not n numbers from 0 on whose sum is 1."""
    if len(given) != n or min(given) < 0 or abs(sum(given) - 1) > 1e-9:
        raise InputError(f"{name} is {shown(given)}; it is {n} probabilities whose sum is 1")


def _atom_entropy(masses: np.ndarray) -> float:
    masses = masses[masses > 0]
    return float(-(masses * np.log(masses)).sum()) + 0.0
