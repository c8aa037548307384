"""Joins of binary relations on sorted int64 arrays: what inference is made of.

A pair (a, b) of ids below `size` is the key a * size + b, so a relation is an array of keys, sorted and distinct. The
pairs that begin with `a` lie next to each other, and two binary searches find them; ids may go up to three billion.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

ROWS = 1 << 22  # of one piece of a join: bounds its memory to some hundred megabytes, whatever it produces


class Pairs:
    """A growing set of pairs. It is kept as a few sorted runs whose lengths fall by half at least, so that n pairs
    added in many small steps are merged log n times each, not once a step."""

    def __init__(self, size: int, keys: np.ndarray | None = None) -> None:
        """:param keys: (n,) int64, sorted and distinct."""
        self.size = size
        self._forward: list[np.ndarray] = []
        self._backward: list[np.ndarray] | None = None  # the swapped pairs, from when they are first asked for
        if keys is not None:
            self.add(keys)

    def add(self, keys: np.ndarray) -> None:
        """(n,) int64 keys, sorted, distinct and not in the set."""
        _push(self._forward, keys)
        if self._backward is not None:
            _push(self._backward, swapped(keys, self.size))

    @property
    def keys(self) -> np.ndarray:
        """(n,) int64: all pairs, sorted."""
        return union(self._forward)

    def __contains__(self, key: int) -> bool:
        return bool(self.has(np.array([key]))[0])

    def has(self, keys: np.ndarray) -> np.ndarray:
        """(n,) bool: which of these keys are in the set."""
        found = np.zeros(len(keys), dtype=bool)
        for run in self._forward:
            places = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            found |= run[places] == keys
        return found

    def runs(self, backward: bool) -> list[np.ndarray]:
        """The sorted arrays that together hold the pairs, or the swapped pairs."""
        if not backward:
            return self._forward
        if self._backward is None:
            self._backward = []
            _push(self._backward, swapped(self.keys, self.size))
        return self._backward


@dataclass(frozen=True)
class Extension:
    """A piece of a join: row `rows[i]` of the left side goes with the id `partners[i]`."""

    rows: np.ndarray
    partners: np.ndarray


def partners(values: np.ndarray, sets: Sequence[Pairs], backward: bool) -> Iterator[Extension]:
    """For each of (n,) ids, what the pairs of some disjoint sets join it with, in pieces of about ROWS rows.

    :param backward: the id is the second of the pair, and the first is asked for.
    """
    if not len(values):
        return
    found = []
    for pairs in sets:
        for run in pairs.runs(backward):
            starts = np.searchsorted(run, values * pairs.size)
            found.append((run, starts, np.searchsorted(run, (values + 1) * pairs.size) - starts))
    if not found:
        return
    for part in pieces(np.sum([counts for *_, counts in found], axis=0), ROWS):
        for run, starts, counts in found:
            if counts[part].any():
                rows, places = ranges(starts[part], counts[part])
                yield Extension(rows + part.start, run[places] % sets[0].size)


def pieces(costs: np.ndarray, most: int) -> Iterator[slice]:
    """Slices of (n,) rows one after the other. The costs in each sum to about `most`, or to what its last row costs."""
    if not len(costs):
        return
    total = np.cumsum(costs)
    cuts = np.searchsorted(total, np.arange(most, total[-1], most)) + 1
    start = 0
    for end in np.unique([*cuts, len(costs)]).tolist():
        yield slice(start, end)
        start = end


def ranges(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For (n,) ranges of counts[i] numbers from starts[i] on: the index i of each number, and the numbers."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def swapped(keys: np.ndarray, size: int) -> np.ndarray:
    """The keys of the pairs the other way round, sorted."""
    return np.sort(keys % size * size + keys // size)


def distinct(keys: np.ndarray) -> np.ndarray:
    """The keys sorted, each once. np.unique hashes them first, which takes several times as long (NumPy 2.4)."""
    ordered = np.sort(keys, kind="stable")  # a merge where the keys are a few sorted runs
    return ordered[np.diff(ordered, prepend=-1) > 0]


def union(runs: Iterable[np.ndarray]) -> np.ndarray:
    """The sorted distinct keys of some arrays."""
    return distinct(np.concatenate([np.empty(0, dtype=np.int64), *runs]))


def _push(runs: list[np.ndarray], keys: np.ndarray) -> None:
    if not len(keys):
        return
    runs.append(keys)
    while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
        last = runs.pop()
        # A stable sort of two sorted runs is one merge.
        runs[-1] = np.sort(np.concatenate([runs[-1], last]), kind="stable")
