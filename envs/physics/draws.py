"""Random numbers for rules, drawn for all scenes of a batch at once, and reproducible when a scene is replayed.

A number is a hash of the scene's seed, the step, the rule, the entities of the row, and the count of earlier numbers of
the rule (splitmix64: Steele et al., 2014). It depends neither on the batch nor on earlier episodes.
"""

from typing import Any
from zlib import crc32

import numpy as np

from .factors import FactorArray

_GOLDEN = 0x9E3779B97F4A7C15
_SHIFTS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


class Generator:
    """A hint for an argument of a rule: draw numbers for the rows of the rule.

        def jitter(v: Velocity, rng: Generator) -> Differential[Velocity]:
            return Differential(v, rng.normal(0.0, 0.1, width=2))

    Each method returns (B, n1, ..., width) numbers, independent of each other and of all other calls.
    """

    def __init__(self, rule: str, seeds: np.ndarray, steps: np.ndarray, entities: list[np.ndarray]) -> None:
        """:param seeds, steps: (B,). :param entities: for each pattern (B, n) indices in the scene."""
        key = _mixed(seeds.astype(np.uint64) + np.uint64(crc32(rule.encode())))
        key = _mixed(key + steps.astype(np.uint64)).reshape(-1, *[1] * len(entities))
        for place, mine in enumerate(entities):
            others = [1] * len(entities)
            others[place] = mine.shape[1]
            key = _mixed(key + mine.astype(np.uint64).reshape(len(mine), *others) + np.uint64(place))
        self._key, self._drawn = key, 0

    def row(self, at: tuple[int, ...]) -> "Generator":
        """Return a generator for a single row, which draws the same numbers as for this row among all rows."""
        mine = object.__new__(_OfRow)
        mine._key, mine._drawn = self._key[at], 0
        return mine

    def random(self, width: int = 1) -> Any:
        """Draw uniform numbers from 0 to 1."""
        counts = np.arange(self._drawn, self._drawn + width, dtype=np.uint64)
        self._drawn += width
        bits = _mixed(self._key[..., None] + (counts + np.uint64(1)) * np.uint64(_GOLDEN))
        return ((bits >> np.uint64(11)) + 0.5) * 2.0**-53

    def uniform(self, low: Any = 0.0, high: Any = 1.0, width: int = 1) -> Any:
        """Draw uniform numbers from low to high."""
        return low + (high - low) * self.random(width)

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, width: int = 1) -> Any:
        """Draw numbers from a normal distribution."""
        from scipy.special import ndtri

        return mean + deviation * ndtri(self.random(width))

    def integers(self, low: int, high: int, width: int = 1) -> Any:
        """Draw uniform integers from low to high - 1."""
        return np.floor(self.uniform(low, high, width)).astype(np.int64)


class _OfRow(Generator):
    def random(self, width: int = 1) -> Any:
        found = super().random(width)
        return (found if width > 1 else found.reshape(())).view(FactorArray)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Apply splitmix64 to each number; the sums overflow on purpose."""
    bits = np.atleast_1d(bits) + np.uint64(_GOLDEN)
    for shift, factor in _SHIFTS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
