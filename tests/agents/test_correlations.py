"""Correlations with intervals, against scipy; outliers as in the paper."""

import numpy as np
import pytest
from scipy import stats

from gumption.agents.statistics import best_fit, centred, correlation, inliers
from gumption.data import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=60)
Y = 0.6 * X + RNG.normal(size=60)


def test_the_coefficients_are_scipys_and_the_intervals_hold_them():
    found = correlation(X, Y)
    pearson, spearman = stats.pearsonr(X, Y), stats.spearmanr(X, Y)
    assert found.pearson.value == pytest.approx(pearson.statistic)
    assert found.pearson_p == pytest.approx(pearson.pvalue)
    assert found.spearman.value == pytest.approx(spearman.statistic)
    assert found.spearman_p == pytest.approx(spearman.pvalue)
    theirs = stats.bootstrap(
        (X, Y), lambda a, b: stats.pearsonr(a, b).statistic, paired=True, vectorized=False, n_resamples=1000,
        method="percentile", rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert found.pearson[1:] == pytest.approx([theirs.low, theirs.high], abs=0.03)
    assert found.spearman.low < found.spearman.value < found.spearman.high
    assert (found.points, found.outliers) == (60, 0)


def test_outliers_of_either_coordinate_are_left_out():
    x, y = np.append(X, [30.0, 0.0]), np.append(Y, [0.0, -40.0])
    assert inliers(x, y).tolist() == [True] * 60 + [False] * 2
    found = correlation(x, y)
    assert (found.points, found.outliers) == (60, 2)
    assert found.pearson.value == pytest.approx(stats.pearsonr(X, Y).statistic)


def test_too_few_or_constant_points_have_no_coefficient():
    assert correlation(X[:3], Y[:3]) is None
    assert correlation(np.ones(10), Y[:10]) is None


def test_centring_leaves_what_differs_within_groups():
    groups = np.repeat(["a", "b", "c"], 20)
    shifted = Y + np.repeat([0.0, 50.0, -50.0], 20)
    assert np.allclose(centred(shifted, groups), centred(Y, groups))
    assert centred(Y, groups)[:20].mean() == pytest.approx(0)


def test_the_line_is_that_of_least_squares_with_a_band_that_is_narrowest_at_the_mean():
    fit = best_fit(X, Y)
    line = stats.linregress(X, Y)
    assert np.allclose(fit.mean, line.intercept + line.slope * fit.x)
    width = fit.high - fit.low
    assert abs(fit.x[width.argmin()] - X.mean()) < 0.1
    slope_error = line.stderr * stats.t.ppf(0.975, 58)
    far = best_fit(X, Y).x[-1] - X.mean()
    assert width[-1] / 2 == pytest.approx(np.hypot(width.min() / 2, slope_error * far), rel=0.02)


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [(X, Y[:-1], "the shapes \\(60,\\) and \\(59,\\)"), (X, np.where(Y > 0, Y, np.nan), "not finite")],
)
def test_bad_points_are_told(x, y, told):
    with pytest.raises(InputError, match=told):
        correlation(x, y)
