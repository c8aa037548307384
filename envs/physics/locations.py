"""Distributions of positions: boxes of the arena and normal distributions, and of shapes (SEGAR, appendix B.5)."""

from abc import abstractmethod
from math import hypot, log
from typing import Any, ClassVar

import numpy as np

from gumption.data import InputError
from gumption.data.settings import NonNegative, Positive, settings

from .noise import (
    Choice,
    Deterministic,
    GaussianNoise,
    Noise,
    NumericNoise,
    ScalarNoise,
    UniformNoise,
    candidates,
    empirical_entropy,
)
from .shapes import Shape, random_convex_hull


class PlanarNoise(NumericNoise):
    """A distribution of points in the plane. Arguments and samples are (..., 2)."""

    dimension = 2

    @property
    @abstractmethod
    def bends(self) -> list[tuple[ScalarNoise, ScalarNoise]]:
        """Return distributions of x and y at whose edges the `cdf` has kinks."""

    def ks(self, other: NumericNoise) -> float:
        """Return the largest difference of the two `cdf`: exact for boxes, else refined around the grid maximum."""
        if self._equals(other):
            return 0.0
        assert isinstance(other, PlanarNoise)
        axes = [candidates(*noises) for noises in zip(*self.bends, *other.bends, strict=True)]
        best = 0.0
        for round_ in range(8):
            grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
            # The limit of a cdf just below an atom excludes the atom.
            sides = [grid, *(grid - np.spacing(np.abs(grid)) * np.array(side) for side in ((1, 0), (0, 1), (1, 1)))]
            differences = [np.abs(self.cdf(side) - other.cdf(side)) for side in sides[: 4 if round_ == 0 else 1]]
            place = np.unravel_index(np.argmax(differences[0]), differences[0].shape)
            best = max(best, *(float(each.max()) for each in differences))
            axes = [_around(axis, int(at)) for axis, at in zip(axes, place, strict=True)]
        return best


class ProductNoise(PlanarNoise):
    """Independent coordinates."""

    @property
    @abstractmethod
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        """Return the distributions of x and of y."""

    @property
    def bends(self) -> list[tuple[ScalarNoise, ScalarNoise]]:
        return [self.marginals]

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.stack([part.sample(rng, n) for part in self.marginals], -1)

    def log_pdf(self, x: Any) -> np.ndarray:
        return sum(part.log_pdf(each) for part, each in self._columns(x))  # pyright: ignore[reportReturnType]

    def cdf(self, x: Any) -> np.ndarray:
        first, second = (part.cdf(each) for part, each in self._columns(x))
        return first * second

    def log_cdf(self, x: Any) -> np.ndarray:
        return sum(part.log_cdf(each) for part, each in self._columns(x))  # pyright: ignore[reportReturnType]

    def entropy(self) -> float:
        return sum(part.entropy() for part in self.marginals)

    def w2(self, other: NumericNoise) -> float:
        """:raises InputError: no exact formula is known for a noise with dependent coordinates."""
        self._equals(other)
        if not isinstance(other, ProductNoise):
            return other.w2(self)
        return hypot(*(mine.w2(its) for mine, its in zip(self.marginals, other.marginals, strict=True)))

    def empirical_entropy(self, samples: Any) -> float:
        columns = np.asarray(samples, float).T
        return sum(part.empirical_entropy(each) for part, each in zip(self.marginals, columns, strict=True))

    def _columns(self, x: Any) -> list[tuple[ScalarNoise, np.ndarray]]:
        x = np.asarray(x, float)
        return [(part, x[..., place]) for place, part in enumerate(self.marginals)]


@settings
class Point(ProductNoise):
    """A constant point."""

    value: tuple[float, float]

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        return Deterministic(self.value[0]), Deterministic(self.value[1])


@settings
class Row(ProductNoise):
    """A uniform choice of x among several values, at a fixed y."""

    x: tuple[float, ...]
    y: float

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        return Choice(self.x), Deterministic(self.y)


@settings
class GaussianNoise2D(ProductNoise):
    """Two independent normal distributions."""

    mean: tuple[float, float]
    std: tuple[Positive, Positive]

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        return GaussianNoise(self.mean[0], self.std[0]), GaussianNoise(self.mean[1], self.std[1])


@settings
class UniformNoise2D(ProductNoise):
    """A uniform distribution on the box from low to high."""

    low: tuple[float, float]
    high: tuple[float, float]

    def __post_init__(self) -> None:
        if not all(low < high for low, high in zip(self.low, self.high, strict=True)):
            raise InputError(f"UniformNoise2D: low is {self.low} and high {self.high}; low is less than high in both")

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        return UniformNoise(self.low[0], self.high[0]), UniformNoise(self.low[1], self.high[1])


@settings
class Location(PlanarNoise):
    """Locations at least `margin` away from the walls, which lie at the two boundaries on both axes."""

    boundaries: tuple[float, float] = (-1.0, 1.0)
    margin: NonNegative = 0.05

    def __post_init__(self) -> None:
        low, high = self.boundaries
        if not low + self.margin < high - self.margin:
            raise InputError(
                f"{type(self).__name__}: between boundaries {self.boundaries} with the margin {self.margin} "
                "there is no room"
            )

    def _span(self, first: int, last: int) -> UniformNoise:
        """Return a uniform noise between two of the lines 0 to 4 that divide the arena into quarters."""
        low, high = self.boundaries[0] + self.margin, self.boundaries[1] - self.margin
        at = [low + (high - low) * place / 4 for place in (first, last)]
        return UniformNoise(at[0], at[1])


class _Box(Location, ProductNoise):
    """A uniform distribution on a box, in quarters of the arena."""

    x: ClassVar[tuple[int, int]] = (0, 4)
    y: ClassVar[tuple[int, int]] = (0, 4)

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        return self._span(*self.x), self._span(*self.y)


class RandomUniformLocation(_Box):
    """A uniform location in the arena."""


class RandomBottomLocation(_Box):
    """A uniform location in the lowest quarter."""

    y = (0, 1)


class RandomTopLocation(_Box):
    """A uniform location in the highest quarter."""

    y = (3, 4)


class RandomLeftLocation(_Box):
    """A uniform location in the left quarter."""

    x = (0, 1)


class RandomRightLocation(_Box):
    """A uniform location in the right quarter."""

    x = (3, 4)


class RandomTopRightLocation(_Box):
    """A uniform location in the top right cell of a 4 x 4 grid."""

    x, y = (3, 4), (3, 4)


class RandomTopLeftLocation(_Box):
    """A uniform location in the top left cell of a 4 x 4 grid."""

    x, y = (0, 1), (3, 4)


class RandomBottomRightLocation(_Box):
    """A uniform location in the bottom right cell of a 4 x 4 grid."""

    x, y = (3, 4), (0, 1)


class RandomBottomLeftLocation(_Box):
    """A uniform location in the bottom left cell of a 4 x 4 grid."""

    x, y = (0, 1), (0, 1)


class RandomMiddleLocation(_Box):
    """A uniform location in the middle half of both axes."""

    x, y = (1, 3), (1, 3)


class Center(Location, ProductNoise):
    """The centre of the arena, a constant location."""

    @property
    def marginals(self) -> tuple[ScalarNoise, ScalarNoise]:
        middle = Deterministic(sum(self.boundaries) / 2)
        return middle, middle


class RandomEdgeLocation(Location):
    """A location in one of the 12 border cells of a 4 x 4 grid."""

    @property
    def bends(self) -> list[tuple[ScalarNoise, ScalarNoise]]:
        return [box.marginals for box in self._boxes()]

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        cells = np.array([(x, y) for x in range(4) for y in range(4) if x in (0, 3) or y in (0, 3)])
        whole = self._span(0, 4)
        drawn = cells[rng.integers(len(cells), size=n)] + rng.random((n, 2))
        return whole.low + (whole.high - whole.low) / 4 * drawn

    def log_pdf(self, x: Any) -> np.ndarray:
        x = np.asarray(x, float)
        whole, middle = self._boxes()
        outside = np.isneginf(middle.log_pdf(x)) & np.isfinite(whole.log_pdf(x))
        return np.where(outside, -self.entropy(), -np.inf)

    def cdf(self, x: Any) -> np.ndarray:
        whole, middle = self._boxes()
        return (4 * whole.cdf(x) - middle.cdf(x)) / 3

    def entropy(self) -> float:
        whole, _ = self._boxes()
        return whole.entropy() + log(3 / 4)

    def w2(self, other: NumericNoise) -> float:
        """:raises InputError: the other distribution differs; no exact formula is known."""
        if self._equals(other):
            return 0.0
        raise InputError(
            "RandomEdgeLocation: W2 to another distribution has no exact formula; draw samples of both and measure them"
        )

    def empirical_entropy(self, samples: Any) -> float:
        return empirical_entropy(np.asarray(samples, float), np.zeros((0, 2)))

    def _boxes(self) -> tuple[ProductNoise, ProductNoise]:
        arena = (self.boundaries, self.margin)
        return RandomUniformLocation(*arena), RandomMiddleLocation(*arena)


@settings
class RandomConvexHull(Noise):
    """A convex polygon per entity: the hull of 100 normally distributed points with the standard deviation size / 2."""

    dimension = 0

    size: Positive

    def sample(self, rng: np.random.Generator, n: int) -> list[Shape]:
        return [random_convex_hull(self.size, rng) for _ in range(n)]


def _around(axis: np.ndarray, at: int) -> np.ndarray:
    """Return a finer grid between the neighbours of axis[at], including axis[at]."""
    low, high = axis[max(at - 1, 0)], axis[min(at + 1, len(axis) - 1)]
    return np.unique(np.append(np.linspace(low, high, 33), axis[at]))
