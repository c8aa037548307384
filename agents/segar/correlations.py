"""Whether two quantities of runs go together: Pearson's and Spearman's coefficients with intervals, and outliers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gumption.agents.statistics import Estimate
from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, Positive, Seed, checked

#: Points as many standard deviations from the mean, or more, are left out, as in SEGAR (section 5).
Z_LIMIT = 3.0
#: Fewer points have no coefficient.
FEWEST = 4


class Correlation(NamedTuple):
    """How two quantities go together.

    :ivar pearson, spearman: the coefficients with bootstrap intervals over points; `pearson_p`, `spearman_p` the
        probability of so large a coefficient, of either sign, where there is no relation.
    :ivar points: how many were used; `outliers` how many were left out before.
    """

    pearson: Estimate
    pearson_p: float
    spearman: Estimate
    spearman_p: float
    points: int
    outliers: int

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "pearson": list(self.pearson), "pearson_p": self.pearson_p,
            "spearman": list(self.spearman), "spearman_p": self.spearman_p,
            "points": self.points, "outliers": self.outliers,
        }  # fmt: skip


@checked
def inliers(x: ArrayLike, y: ArrayLike, z: Positive = Z_LIMIT) -> np.ndarray:
    """(n,) bool: the points less than z standard deviations from the mean in both coordinates.

    :raises InputError: numbers of different shapes, or that are not finite.
    """
    kept = np.ones(len(_points(x, y)), dtype=bool)
    for column in _points(x, y).T:
        deviation = column.std()
        if deviation > 0:
            kept &= np.abs(column - column.mean()) / deviation < z
    return kept


@checked
def correlation(
    x: ArrayLike, y: ArrayLike, *, confidence: InnerShare = 0.95, resamples: Count = 2000, seed: Seed = 0
) -> Correlation | None:
    """The coefficients of points without outliers; None where fewer than four are left, or one coordinate is constant.

    :param resamples: of the points, for the intervals.
    :raises InputError: as `inliers`.
    """
    from scipy import stats

    kept = inliers(x, y)
    points = _points(x, y)[kept]
    if len(points) < FEWEST or (np.ptp(points, axis=0) == 0).any():
        return None
    pearson, spearman = stats.pearsonr(*points.T), stats.spearmanr(*points.T)
    rng = np.random.default_rng(seed)
    drawn = points[rng.integers(len(points), size=(resamples, len(points)))]
    ranks = stats.rankdata(drawn, axis=1)
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = [np.nanquantile(_coefficients(each), edges) for each in (drawn, ranks)]
    return Correlation(
        Estimate(float(pearson.statistic), *map(float, ends[0])),
        float(pearson.pvalue),
        Estimate(float(spearman.statistic), *map(float, ends[1])),
        float(spearman.pvalue),
        len(points),
        int((~kept).sum()),
    )


@checked
def centred(values: ArrayLike, groups: ArrayLike) -> np.ndarray:
    """Each value less the mean of its group, so that only differences within groups are left."""
    found, labels = np.asarray(values, dtype=np.float64), np.asarray(groups)
    for label in np.unique(labels):
        found = np.where(labels == label, found - found[labels == label].mean(), found)
    return found


class Fit(NamedTuple):
    """A line of best fit: `x` (n,) with its mean (n,) and the ends of its interval."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@checked
def best_fit(x: ArrayLike, y: ArrayLike, *, confidence: InnerShare = 0.95) -> Fit:
    """The least-squares line through at least three points, with the interval of its mean."""
    from scipy import stats

    points = _points(x, y)
    found: Any = stats.linregress(*points.T)
    at = np.linspace(points[:, 0].min(), points[:, 0].max(), 50)
    mean = found.intercept + found.slope * at
    left = len(points) - 2
    error = np.sqrt(((points[:, 1] - found.intercept - found.slope * points[:, 0]) ** 2).sum() / left)
    spread = ((points[:, 0] - points[:, 0].mean()) ** 2).sum()
    half = stats.t.ppf((1 + confidence) / 2, left) * error
    half = half * np.sqrt(1 / len(points) + (at - points[:, 0].mean()) ** 2 / spread)
    return Fit(at, mean, mean - half, mean + half)


def _coefficients(drawn: np.ndarray) -> np.ndarray:
    """(R,) Pearson's coefficients of (R, n, 2); NaN where a coordinate is constant."""
    apart = drawn - drawn.mean(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (apart[..., 0] * apart[..., 1]).sum(1) / np.sqrt((apart**2).sum(1).prod(1))


def _points(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """(n, 2)."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"x and y have the shapes {a.shape} and {b.shape}; they are (n,) both")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("x or y has a number that is not finite; leave that point out")
    return np.stack([a, b], axis=1)
