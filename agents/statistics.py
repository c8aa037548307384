r"""Statistics of a handful of runs: interquartile mean, bootstrap intervals, probability of improvement.

The definitions follow Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(NeurIPS 2021). Scores are an array (runs, tasks), or (runs,) for one task. With R runs and M tasks, x[r, m] a score:

* mean:                 mean(x) = 1/(R M) * sum_{r,m} x[r, m]
* interquartile mean:   sort all n = R M scores, drop floor(n / 4) at either end, take the mean of the rest
* stratified bootstrap: draw R runs with replacement for each task separately, compute the statistic on the drawn
  (R, M) scores, repeat; the interval lies between the (1 - c)/2 and (1 + c)/2 quantiles of those values
* probability of improvement of X (R runs) over Y (K runs):
  P(X > Y) = 1/M * sum_m 1/(R K) * sum_{i,j} S(x[i, m], y[j, m]),  S(a, b) = 1 if a > b, 1/2 if a = b, 0 otherwise

Percentile intervals cannot extend beyond the observed scores: with three runs the 95 % interval is about from the
lowest to the highest score, with five it is a little narrower. One run has no interval; its ends are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, Positive, Seed, checked, real_numbers, shown

Statistic = Literal["mean", "iqm", "median"]


class Estimate(NamedTuple):
    """A value with the ends of its interval; the ends are NaN for a single run."""

    value: float
    low: float
    high: float


class Band(NamedTuple):
    """The mean over runs at each point of a curve, float64 (points,), with the ends of its pointwise interval."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def interquartile_mean(scores: ArrayLike) -> float:
    """Return the mean of the middle half of all scores, (runs,) or (runs, tasks) taken together.

    For fewer than four scores it equals the mean, since no score is dropped.
    """
    return float(_iqm(_score_table(scores).ravel(), axis=-1))


@checked
def bootstrap_interval(
    scores: ArrayLike,
    statistic: Statistic = "mean",
    *,
    confidence: InnerShare = 0.95,
    resamples: Count = 5000,
    seed: Seed = 0,
) -> Estimate:
    """Return a statistic of scores (runs,) or (runs, tasks) with its stratified percentile-bootstrap interval.

    The same scores, seed and settings give the same interval. Raises InputError for scores that are empty, not finite
    or of another shape.
    """
    table = _score_table(scores)
    compute = _STATISTICS[statistic]
    found = bootstrapped(
        tuple(table.T), lambda *tasks, axis: compute(np.concatenate(tasks, axis=axis), axis=axis),
        confidence, resamples, seed,
    )  # fmt: skip
    return Estimate(*map(float, found))


@checked
def probability_of_improvement(
    scores: ArrayLike,
    baseline: ArrayLike,
    *,
    confidence: InnerShare = 0.95,
    resamples: Count = 2000,
    seed: Seed = 0,
) -> Estimate:
    """Return P(a run of `scores` (runs, tasks) beats a run of `baseline` (other runs, same tasks) on a random task).

    0.5 means no difference. The interval resamples the runs of both sides; it is NaN if a side has only one run.
    """
    ours, theirs = _score_table(scores), _score_table(baseline)
    if ours.shape[1] != theirs.shape[1]:
        raise InputError(
            f"cannot compare scores on {ours.shape[1]} tasks with scores on {theirs.shape[1]}: give both the same tasks"
        )
    tasks = ours.shape[1]

    def improvement(*samples: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        samples = tuple(np.moveaxis(sample, axis, -1) for sample in samples)
        chances = [
            np.heaviside(mine[..., :, None] - other[..., None, :], 0.5).mean(axis=(-2, -1))
            for mine, other in zip(samples[:tasks], samples[tasks:], strict=True)
        ]
        return np.mean(chances, axis=0)

    return Estimate(*map(float, bootstrapped((*ours.T, *theirs.T), improvement, confidence, resamples, seed)))


def bootstrapped(
    samples: Sequence[NDArray[np.float64]], statistic: Callable[..., Any], confidence: float, resamples: int, seed: int,
    paired: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return a statistic of samples over their first axis, and the ends of its interval; NaN if a sample has one score.

    The bootstrap is stratified, since scipy resamples the samples, one for each task, independently.

    :param paired: resample the samples together instead.
    """
    from scipy import stats

    value = statistic(*samples, axis=0)
    if min(map(len, samples)) < 2:
        nothing = np.full_like(value, np.nan, dtype=np.float64)
        return value, nothing, nothing
    interval: Any = stats.bootstrap(
        samples,
        statistic,
        paired=paired,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return value, interval.low, interval.high


@checked
def curve_band(curves: ArrayLike, *, confidence: InnerShare = 0.95, resamples: Count = 1000, seed: Seed = 0) -> Band:
    """Return the mean curve of (runs, points) with a pointwise interval that resamples whole runs; NaN for one run."""
    return Band(*map(np.asarray, bootstrapped((_score_table(curves),), np.mean, confidence, resamples, seed)))


def _iqm(scores: NDArray[np.float64], axis: int) -> Any:
    from scipy import stats

    return stats.trim_mean(scores, 0.25, axis=axis)


_STATISTICS: dict[Statistic, Callable[..., Any]] = {"mean": np.mean, "iqm": _iqm, "median": np.median}


def _score_table(scores: ArrayLike) -> NDArray[np.float64]:
    """Check scores and convert them to float64 (runs, tasks)."""
    table = real_numbers("scores", scores)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        raise InputError(
            f"scores have shape {np.shape(scores)}: give (runs,) or (runs, tasks) with at least one of each"
        )
    if not np.isfinite(table).all():
        run, task = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"score of run {run}, task {task} is {table[run, task]}: every run needs a finite score")
    return table


@checked
def wilson_interval(hits: ArrayLike, cases: ArrayLike, normal: float = 1.959964) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of Wilson's interval of the shares hits / cases; 0 and 1 without cases.

    :param normal: half the width in standard deviations: 1.959964 for 95 %, 2.5758 for 99 %.
    :raises InputError: more hits than cases, shapes that do not fit, or values that are not numbers.
    """
    hits, cases = real_numbers("hits", hits), real_numbers("cases", cases)
    try:
        fits = ((hits >= 0) & (hits <= cases)).all()
    except ValueError:  # of other shapes
        fits = False
    if not fits:
        raise InputError(f"hits {shown(hits)} do not fit cases {shown(cases)}: for each share 0 <= hits <= cases")
    n = np.maximum(1, cases)
    share, spread = hits / n, normal**2 / n
    middle, half = share + spread / 2, normal * np.sqrt((share * (1 - share) + spread / 4) / n)
    low, high = ((end / (1 + spread)).clip(0.0, 1.0) for end in (middle - half, middle + half))
    return low, np.where(cases > 0, high, 1.0)


@checked
def pareto_front(vectors: ArrayLike) -> np.ndarray:
    """Return (n,) bool: no other vector dominates this one, that is, is at least as large in every objective and
    larger in at least one. Equal vectors are on the front together.

    :param vectors: (n, d) objectives; larger is better.
    :raises InputError: another shape, or a number that is not finite.
    """
    found = real_numbers("vectors", vectors)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError(f"vectors {found.shape} are an array (policies, objectives) of finite numbers")
    at_least = (found[:, None] >= found[None]).all(axis=2)
    larger = (found[:, None] > found[None]).any(axis=2)
    return np.logical_not((at_least & larger).any(axis=0))


# ---- Agreement of several raters on the same things


class Reliability(NamedTuple):
    """How well the values that several raters assign to the same things agree.

    :ivar alpha: Krippendorff's alpha with its bootstrap interval over things: 1 for full agreement, 0 for agreement by
        chance, below 0 for less; NaN, undefined, if all values are the same.
    :ivar share: of equal pairs among the pairs of values of one thing; the mean over values.
    :ivar things, values: the number of things with two or more values, and the number of their values.
    """

    alpha: Estimate
    share: float
    things: int
    values: int

    def figures(self) -> dict[str, Any]:
        """Return the figures for JSON; None replaces NaN, which JSON lacks."""
        alpha = [None if np.isnan(end) else round(end, 5) for end in self.alpha]
        return {"alpha": alpha, "share": round(self.share, 5), "things": self.things, "values": self.values}


@checked
def krippendorff_alpha(
    things: Iterable[Sequence[Any]], *, confidence: InnerShare = 0.95, resamples: Count = 2000, seed: Seed = 0
) -> Reliability | None:
    """Return Krippendorff's alpha of nominal values, for any number of raters and with values missing; None if no thing
    has two values (Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011).

    alpha = 1 - D_o / D_e. Of n values, n_c of which are c, of things u with m_u >= 2 values, n_uc of which are c:

    * D_o = 1/n * sum_u sum_c n_uc (m_u - n_uc) / (m_u - 1), the observed disagreement
    * D_e = sum_c n_c (n - n_c) / (n (n - 1)), the disagreement of values paired by chance

    The interval draws whole things with replacement (Zapf et al., "Measuring inter-rater reliability for nominal data",
    BMC Medical Research Methodology 16, 2016). D_e is not recomputed (Hayes and Krippendorff, "Answering the Call for a
    Standard Reliability Measure for Coding Data", 2007), since a thing drawn twice would pair its own values as if by
    chance. One thing has no interval.

    :param things: for each thing its values, hashable, in any order.
    """
    several = [list(values) for values in things]
    several = [values for values in several if len(values) > 1]
    if not several:
        return None
    known = {value: c for c, value in enumerate(dict.fromkeys(value for values in several for value in values))}
    counts = np.zeros((len(several), len(known)))
    for u, values in enumerate(several):
        np.add.at(counts[u], [known[value] for value in values], 1.0)
    many = counts.sum(axis=1)
    apart = (counts * (many[:, None] - counts)).sum(axis=1) / (many - 1)
    n, of_each = many.sum(), counts.sum(axis=0)
    expected = float((of_each * (n - of_each)).sum() / (n * (n - 1)))
    share = float(1.0 - apart.sum() / n)
    alpha = Estimate(np.nan, np.nan, np.nan)
    if expected > 0:
        value = 1.0 - (1.0 - share) / expected
        alpha = Estimate(value, np.nan, np.nan)
        if len(many) > 1:
            times = np.random.default_rng(seed).multinomial(len(many), np.full(len(many), 1 / len(many)), resamples)
            drawn = 1.0 - (times @ apart) / (times @ many) / expected
            edges = [(1 - confidence) / 2, (1 + confidence) / 2]
            alpha = Estimate(value, *np.quantile(drawn, edges).tolist())
    return Reliability(alpha, share, len(many), int(n))


# ---- Correlation of two quantities of runs

#: Points this many standard deviations from the mean, or more, are left out, as in SEGAR (section 5).
Z_LIMIT = 3.0
#: The fewest points with a coefficient.
FEWEST = 4


class Correlation(NamedTuple):
    """The correlation of two quantities.

    :ivar pearson, spearman: the coefficients with bootstrap intervals over points; `pearson_p`, `spearman_p` their
        two-sided p-values.
    :ivar points: the number of points used; `outliers` the number left out.
    """

    pearson: Estimate
    pearson_p: float
    spearman: Estimate
    spearman_p: float
    points: int
    outliers: int

    def figures(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "pearson": list(self.pearson), "pearson_p": self.pearson_p,
            "spearman": list(self.spearman), "spearman_p": self.spearman_p,
            "points": self.points, "outliers": self.outliers,
        }  # fmt: skip


@checked
def inliers(x: ArrayLike, y: ArrayLike, z: Positive = Z_LIMIT) -> np.ndarray:
    """Return (n,) bool: the point is less than z standard deviations from the mean in both coordinates.

    :raises InputError: coordinates of different shapes, or not finite.
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
    """Return the correlation of points without outliers; None if fewer than four are left, or a coordinate is constant.

    :param resamples: of the points, for the intervals.
    :raises InputError: as `inliers`.
    """
    from scipy import stats

    kept = inliers(x, y)
    points = _points(x, y)[kept]
    if len(points) < FEWEST or (np.ptp(points, axis=0) == 0).any():
        return None
    pearson: Any = stats.pearsonr(*points.T)
    spearman: Any = stats.spearmanr(*points.T)
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
    """Subtract from each (n,) value the mean of its (n,) group. :raises InputError: other shapes, or not numbers."""
    found = real_numbers("values", values)
    try:
        labels = np.asarray(groups)
    except ValueError:  # rows of different lengths
        labels = np.array(None)
    if found.ndim != 1 or found.shape != labels.shape:
        raise InputError(f"values {found.shape} and groups {labels.shape} are (n,) both: one group for each value")
    for label in np.unique(labels):
        found = np.where(labels == label, found - found[labels == label].mean(), found)
    return found


class Fit(NamedTuple):
    """A line of best fit: `x` (n,), the line's `mean` (n,) and the ends of its interval."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@checked
def best_fit(x: ArrayLike, y: ArrayLike, *, confidence: InnerShare = 0.95) -> Fit:
    """Fit the least-squares line to at least three points, with the interval of its mean."""
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
    """Return Pearson's coefficients (R,) of points (R, n, 2); NaN if a coordinate is constant."""
    apart = drawn - drawn.mean(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (apart[..., 0] * apart[..., 1]).sum(1) / np.sqrt((apart**2).sum(1).prod(1))


def _points(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    a, b = real_numbers("x", x), real_numbers("y", y)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"x and y have the shapes {a.shape} and {b.shape}; they are (n,) both")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("x or y has a number that is not finite; leave that point out")
    return np.stack([a, b], axis=1)
