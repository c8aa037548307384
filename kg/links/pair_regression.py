"""What a pair of things is worth, learned from pairs that were tried: Gaussian process regression on unordered pairs.

A recipe predictor learns from pairs that made something. Whoever chooses what to try next also knows pairs that made
nothing, and few of both. Things are described by sources, such as word vectors or the facts of a graph about them; the
association of two things is the cosine of their rows, and their likeness r(x, y) the mean over the sources of
exp((cos(x, y) - 1) / LENGTH). Two pairs are alike where their things are, whichever way round:

    k({a, b}, {c, d}) = r(a, c) r(b, d) + r(a, d) r(b, c) + r(a, c) + r(a, d) + r(b, c) + r(b, d) + f(a, b) . f(c, d)

The products say that the whole pair is alike, the sums that a thing is as good with others as it was before. f are
features of a pair: whether it is a thing with itself, how much its things are associated, and how much both are with
the thing that is likeliest to come of them; what each is worth is learned, as all else. The expected worth of a pair is
the posterior mean under noise of variance NOISE (Rasmussen and Williams, 2006, equation 2.25).
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gumption.data import InputError
from gumption.data.settings import whole_numbers

LENGTH = 0.3
NOISE = 0.3
SAME = 3.0  # the feature of a thing with itself


class Association:
    """How things go together, by what describes them.

    :ivar cosines: (N, N) float64 of each source.
    :ivar likeness: (N, N) float64.
    """

    def __init__(self, sources: Sequence[np.ndarray]) -> None:
        """:param sources: (N, F) each, a row for each thing. :raises InputError: no source, or rows that are not finite."""
        self.cosines = [_cosines(np.asarray(source, dtype=np.float64)) for source in sources]
        if len({len(cosines) for cosines in self.cosines}) != 1:
            raise InputError(f"sources of {[len(each) for each in sources]} things; give one at least, all of the same")
        self.likeness = np.mean([np.exp((each - 1) / LENGTH) for each in self.cosines], axis=0)
        self._scale = [(each.mean(), max(each.std(), 1e-9)) for each in self.cosines]

    def features(self, first: np.ndarray, second: np.ndarray, possible: np.ndarray) -> np.ndarray:
        """(A, B, F) float64: f of each pair of one of the (A,) ids `first` and one of the (B,) ids `second`.

        :param possible: (M,) ids of what may come of them.
        """
        found = [SAME * (first[:, None] == second)]
        for cosines, (mean, deviation) in zip(self.cosines, self._scale, strict=True):
            found.append((cosines[np.ix_(first, second)] - mean) / deviation)
            third = np.zeros((len(first), len(second)))
            if len(possible):
                of_second = cosines[np.ix_(second, possible)]
                for i, row in enumerate(cosines[np.ix_(first, possible)]):
                    third[i] = (of_second + row).max(axis=1)
                third = (third - 2 * mean) / (2 * deviation)
            found.append(third)
        return np.stack(found, axis=2) / np.sqrt(len(found))


def _cosines(rows: np.ndarray) -> np.ndarray:
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"a source of shape {rows.shape}: one finite row for each thing")
    rows = rows - rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-9)
    return rows @ rows.T


class PairRegression:
    """The expected worth of pairs, after those that were tried. The same in the same order give the same bits.

    :param pairs: (n, 2) int ids of the pairs that were tried, at least one.
    :param worth: (n,) what each was worth.
    :param possible: (M,) ids, see `Association.features`.
    :raises InputError: ids outside the things, or another number of worths.
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
        """(A, B) float64: the expected worth of each pair of one of the (A,) ids `first` and one of the (B,) `second`."""
        product = (self._first[first] * self._weight) @ self._second[second].T
        product += (self._second[first] * self._weight) @ self._first[second].T
        linear = self._things.features(first, second, self._possible) @ self._of_features
        return self._mean + product + self._single[first][:, None] + self._single[second] + linear
