"""What a distribution that factors are drawn from can do (SEGAR, appendix B.5); `noise` and `locations` have them all.

A noise is drawn from with a NumPy generator, and knows its own statistics exactly. Some have atoms: single values of
positive probability, such as the ends of a Gaussian that is clipped. For all of them `pdf` is the density with respect
to length plus counting at the atoms: at an atom it is the probability of that value, elsewhere the usual density.
Entropies are with respect to the same measure, in nats.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from inspect import isabstract
from typing import Any, ClassVar

import numpy as np

from gumption.data import InputError
from gumption.data.settings import unknown
from gumption.data.wording import shown

from .noise_distances import empirical_entropy, ks_distance, w2_distance

#: Noises by name, those that a person defines too.
NOISES: dict[str, "type[Noise]"] = {}


class Noise(ABC):
    """A distribution that values of factors are drawn from.

    :cvar dimension: numbers of one value: 1 or 2, or 0 for shapes.
    """

    dimension: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            NOISES[cls.__name__] = cls

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Any:
        """n values: (n,), or (n, 2) in the plane."""

    def to_data(self) -> dict[str, Any]:
        """As it stands in a file: {"noise": name, field: value}."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # pyright: ignore[reportArgumentType]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"noise": type(self).__name__, **plain}


class NumericNoise(Noise):
    """A distribution of numbers, with its statistics."""

    @abstractmethod
    def log_pdf(self, x: Any) -> np.ndarray:
        """The logarithm of `pdf`."""

    @abstractmethod
    def cdf(self, x: Any) -> np.ndarray:
        """The probability of values up to x, in both coordinates in the plane."""

    @abstractmethod
    def entropy(self) -> float:
        """The exact entropy, in nats."""

    @abstractmethod
    def w2(self, other: "NumericNoise") -> float:
        """The exact Wasserstein-2 distance to a noise of the same dimension."""

    @abstractmethod
    def ks(self, other: "NumericNoise") -> float:
        """The Kolmogorov-Smirnov distance: the largest difference of the two `cdf`."""

    @abstractmethod
    def empirical_entropy(self, samples: Any) -> float:
        """An estimate of the entropy from samples (n,) or (n, 2) of a noise with these atoms."""

    def pdf(self, x: Any) -> np.ndarray:
        """The density; at an atom its probability."""
        return np.exp(self.log_pdf(x))

    def log_cdf(self, x: Any) -> np.ndarray:
        """The logarithm of `cdf`."""
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x))

    def log_likelihood(self, samples: Any) -> float:
        """The sum of `log_pdf` over samples."""
        return float(np.sum(self.log_pdf(samples)))

    def _compared(self, other: Any) -> None:
        if not isinstance(other, NumericNoise) or other.dimension != self.dimension:
            raise InputError(f"{shown(self)} cannot be compared with {shown(other)}: take noises of one dimension")


class ScalarNoise(NumericNoise):
    """A distribution of one number."""

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of positive probability, in ascending order, and their probabilities."""
        return np.zeros(0), np.zeros(0)

    @property
    @abstractmethod
    def edges(self) -> np.ndarray:
        """Values between which density and `cdf` are smooth."""

    @property
    def levels(self) -> np.ndarray:
        """Probabilities between which `quantile` is smooth."""
        points, masses = self.atoms
        above = self.cdf(points)
        return np.concatenate([above - masses, above])

    @abstractmethod
    def quantile(self, probability: Any) -> np.ndarray:
        """The smallest x whose `cdf` is at least the probability."""

    @abstractmethod
    def log_density(self, x: Any) -> np.ndarray:
        """The logarithm of the density, without the atoms."""

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
        """The probability of values below x."""
        x = np.asarray(x, float)
        points, masses = self.atoms
        return self.cdf(x) - ((x[..., None] == points) * masses).sum(-1)

    def w2(self, other: NumericNoise) -> float:
        self._compared(other)
        return 0.0 if self == other else w2_distance(self, other)  # pyright: ignore[reportArgumentType]

    def ks(self, other: NumericNoise) -> float:
        self._compared(other)
        return 0.0 if self == other else ks_distance(self, other)  # pyright: ignore[reportArgumentType]

    def empirical_entropy(self, samples: Any) -> float:
        return empirical_entropy(np.asarray(samples, float)[:, None], self.atoms[0][:, None])


def read_noise(given: Any, where: str) -> Noise:
    """A noise, or one of data: {"noise": name, field: value}.

    :param where: what it belongs to, for messages.
    :raises InputError: a name that there is not, or a field that does not fit.
    """
    if isinstance(given, Noise):
        return given
    if not isinstance(given, Mapping) or "noise" not in given:
        raise InputError(f"{where} is {shown(given)}; it is {{'noise': name, ...}}")
    known = {name: kind for name, kind in NOISES.items() if not isabstract(kind)}
    name = given["noise"]
    if name not in known:
        raise InputError(f"{where}: {unknown('noise', name, known)}")
    try:
        return known[name](**{str(field): value for field, value in given.items() if field != "noise"})
    except InputError as error:
        raise InputError(f"{where}: {name}: {error}") from None
