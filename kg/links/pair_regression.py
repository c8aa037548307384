"""Gaussian process regression on unordered pairs: predict the worth of a pair of things from pairs already tried.

A recipe predictor learns from pairs that made something. An agent that chooses its next pair also has a few pairs that
made nothing. Each `Source` (word vectors, or the facts of a graph) provides similarities and links between things. The
kernel compares two pairs in both orders; r is the mean likeness of the sources:

    k({a, b}, {c, d}) = r(a, c) r(b, d) + r(a, d) r(b, c) + r(a, c) + r(a, d) + r(b, c) + r(b, d) + f(a, b) . f(c, d)

The products compare whole pairs. The sums carry the worth of one thing over to its pairs with other things. f are the
features of a pair: whether both things are the same and, from each source, the strength of their link and of their
common links to possible products x: sum over x of l(a, x) l(b, x) / degree(x), the resource allocation index (Zhou, Lü
and Zhang, 2009). The weights of the features are learned too. The expected worth of a pair is the posterior mean under
noise of variance NOISE (Rasmussen and Williams, 2006, equation 2.25).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gumption.data import InputError
from gumption.data.settings import whole_numbers

LENGTH, LINK_LENGTH = 0.3, 0.1  # length scales of likeness and links from vectors: exp((cos - 1) / length)
NOISE = 0.3
SAME = 3.0  # value of the feature "both things are the same"


@dataclass(frozen=True, eq=False)
class Source:
    """Similarities and links between N things, from one source.

    :ivar likeness: (N, N) in [0, 1], the similarity of two things; 1 on the diagonal.
    :ivar links: (N, N) at least 0, the strength of the link between two things; 0 on the diagonal.
    """

    likeness: np.ndarray
    links: np.ndarray

    @classmethod
    def of_vectors(cls, vectors: np.ndarray, links: np.ndarray | None = None) -> "Source":
        """Compute a source from vectors of the things.

        :param vectors: (N, F).
        :param links: (N, N) links of a graph; by default similar things are linked.
        :raises InputError: vectors that are not a finite matrix.
        """
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InputError(f"vectors of shape {rows.shape}: one finite row for each thing")
        rows = rows - rows.mean(axis=0)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-9)
        cosines = rows @ rows.T
        if links is None:
            links = np.exp((cosines - 1) / LINK_LENGTH)
            np.fill_diagonal(links, 0.0)  # pyright: ignore[reportArgumentType]
        return cls(np.exp((cosines - 1) / LENGTH), links)  # pyright: ignore[reportArgumentType]


class Association:
    """Similarities and links between N things, combined from all sources.

    :ivar likeness: (N, N) float64, the mean over the sources.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        """:raises InputError: no source, or sources of different numbers of things."""
        if len({len(source.likeness) for source in sources}) != 1:
            raise InputError(f"{len(sources)} sources: give one at least, all of the same things")
        self.likeness = np.mean([source.likeness for source in sources], axis=0)
        size = len(self.likeness)
        self._links, self._through = [], []  # in units of their means over all pairs
        for source in sources:
            through = source.links / np.sqrt(source.links.sum(axis=0).clip(1e-9))
            self._links.append(source.links / max(source.links.mean(), 1e-9))
            self._through.append(through * size / max(np.linalg.norm(through.sum(axis=0)), 1e-9))

    def features(self, first: np.ndarray, second: np.ndarray, possible: np.ndarray) -> np.ndarray:
        """Compute f for each pair of an id of `first` (A,) with an id of `second` (B,): (A, B, F) float64.

        :param possible: (M,) ids of possible products.
        """
        found = [SAME * (first[:, None] == second)]
        for links, through in zip(self._links, self._through, strict=True):
            both = through[np.ix_(first, possible)] @ through[np.ix_(second, possible)].T
            found += [np.log1p(links[np.ix_(first, second)]), np.log1p(both)]
        return np.stack(found, axis=2)


class PairRegression:
    """Predict the worth of pairs from tried pairs. The same pairs in the same order give the same bits.

    :param pairs: (n, 2) int ids of the tried pairs, at least one.
    :param worth: (n,) the worth of each tried pair.
    :param possible: (M,) ids, see `Association.features`.
    :raises InputError: ids out of range, or another number of worths than of pairs.
    """

    def __init__(self, things: Association, pairs: np.ndarray, worth: np.ndarray, possible: np.ndarray) -> None:
        pairs, size = whole_numbers("pairs", pairs, None, 2), len(things.likeness)
        if not len(pairs) or len(pairs) != len(worth) or not 0 <= pairs.min() <= pairs.max() < size:
            raise InputError(f"{len(pairs)} pairs of {size} things, {len(worth)} worths: one for each, at least one")
        self._things, self._possible = things, possible
        likeness, (a, b) = things.likeness, pairs.T
        along, across, other = (likeness[np.ix_(one, two)] for one, two in ((a, a), (a, b), (b, b)))
        there, place = np.unique(pairs, return_inverse=True)
        row, column = place.reshape(-1, 2).T
        features = things.features(there, there, possible)[row, column]
        kernel = along * other + across * across.T + along + other + across + across.T + features @ features.T
        kernel[np.diag_indices(len(a))] += NOISE
        self._mean = float(np.mean(worth))
        weight = cho_solve(cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False), worth - self._mean)
        self._first, self._second, self._weight = likeness[:, a], likeness[:, b], weight
        self._single = (self._first + self._second) @ weight
        self._of_features = features.T @ weight

    def expected(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the expected worth of each pair of ids, from `first` (A,) and from `second` (B,): (A, B) float64."""
        product = (self._first[first] * self._weight) @ self._second[second].T
        product += (self._second[first] * self._weight) @ self._first[second].T
        linear = self._things.features(first, second, self._possible) @ self._of_features
        return self._mean + product + self._single[first][:, None] + self._single[second] + linear
