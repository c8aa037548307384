"""The statistics against their definitions, and properties that hold for any scores."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gumption.agents.statistics import (
    bootstrap_interval,
    curve_band,
    interquartile_mean,
    krippendorff_alpha,
    pareto_front,
    probability_of_improvement,
    wilson_interval,
)
from gumption.data import InputError

unit = st.floats(0.0, 1.0, allow_nan=False, width=32)
tables = st.tuples(st.integers(2, 6), st.integers(1, 3)).flatmap(lambda shape: arrays(np.float64, shape, elements=unit))


def test_iqm_drops_a_quarter_at_either_end():
    assert interquartile_mean([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 100.0, -100.0]) == pytest.approx(0.5)
    assert interquartile_mean([0.1, 0.2, 0.9, 0.3, 0.4]) == pytest.approx((0.2 + 0.3 + 0.4) / 3)
    assert interquartile_mean([0.1, 0.2, 0.9]) == pytest.approx(0.4)


def test_iqm_pools_runs_and_tasks():
    scores = np.arange(8.0).reshape(2, 4)
    assert interquartile_mean(scores) == pytest.approx(np.mean([2, 3, 4, 5]))


def test_three_runs_span_lowest_to_highest():
    estimate = bootstrap_interval([0.5, 0.6, 0.8])
    assert estimate.value == pytest.approx(0.6333333)
    assert (estimate.low, estimate.high) == pytest.approx((0.5, 0.8))


def test_five_runs_are_narrower_than_their_range():
    scores = [0.50, 0.55, 0.60, 0.65, 0.90]
    estimate = bootstrap_interval(scores)
    assert min(scores) < estimate.low < estimate.value < estimate.high < max(scores)


def test_equal_runs_have_an_interval_of_no_width():
    for statistic in ("mean", "iqm"):
        assert bootstrap_interval([0.7] * 5, statistic) == pytest.approx((0.7, 0.7, 0.7))


def test_one_run_has_a_value_and_no_interval():
    estimate = bootstrap_interval([0.4])
    assert estimate.value == 0.4
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)
    assert math.isnan(probability_of_improvement([0.4], [0.3, 0.2]).low)
    assert np.isnan(curve_band([[0.1, 0.2]]).low).all()


def test_stratified_draws_keep_every_task_in_every_draw():
    # Each task has no spread, the tasks differ: drawing runs per task leaves nothing to vary.
    scores = np.tile([0.0, 1.0], (4, 1))
    assert bootstrap_interval(scores) == pytest.approx((0.5, 0.5, 0.5))


def test_interval_covers_the_true_mean_about_as_often_as_promised():
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        estimate = bootstrap_interval(generator.normal(0.5, 0.1, size=30), resamples=400)
        covered += estimate.low <= 0.5 <= estimate.high
    assert 0.88 <= covered / 200 <= 0.99


def test_higher_confidence_is_wider():
    scores = np.random.default_rng(0).random(12)
    narrow, wide = bootstrap_interval(scores, confidence=0.5), bootstrap_interval(scores, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_probability_of_improvement_by_hand():
    # Pairs: 0.6>0.5, 0.6<0.7, 0.7>0.5, 0.7=0.7 -> (1 + 0 + 1 + 0.5) / 4
    assert probability_of_improvement([0.6, 0.7], [0.5, 0.7]).value == pytest.approx(0.625)
    clear = probability_of_improvement([0.8, 0.9, 0.85], [0.1, 0.2, 0.3])
    assert clear == (1.0, 1.0, 1.0)


def test_probability_of_improvement_averages_tasks():
    ours, theirs = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert probability_of_improvement(ours, theirs) == pytest.approx((0.5, 0.5, 0.5))


def test_curve_band_is_the_interval_at_every_point():
    curves = np.random.default_rng(1).random((5, 4))
    band = curve_band(curves)
    assert band.mean == pytest.approx(curves.mean(axis=0))
    assert band.mean.shape == band.low.shape == band.high.shape == (4,)
    assert (band.low < band.mean).all()
    assert (band.mean < band.high).all()


@pytest.mark.parametrize("scores", [[], [[[0.1]]], [0.1, float("nan")], [float("inf")], 0.5])
def test_bad_scores_are_refused(scores):
    with pytest.raises(InputError, match="score"):
        bootstrap_interval(scores)


def test_comparing_different_tasks_is_refused():
    with pytest.raises(InputError, match="2 tasks with scores on 1"):
        probability_of_improvement([[0.1, 0.2]], [0.3])


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from(["mean", "iqm"]), st.integers(0, 2**16))
def test_interval_stays_within_the_scores_and_repeats(scores, statistic, seed):
    first = bootstrap_interval(scores, statistic, resamples=200, seed=seed)
    assert first == bootstrap_interval(scores, statistic, resamples=200, seed=seed)
    slack = 1e-12
    assert scores.min() - slack <= first.low <= first.high <= scores.max() + slack
    assert scores.min() - slack <= first.value <= scores.max() + slack


@settings(max_examples=40, deadline=None)
@given(tables, st.floats(-3, 3), st.floats(0.1, 3))
def test_interval_moves_with_the_scores(scores, shift, scale):
    plain = bootstrap_interval(scores, resamples=200)
    moved = bootstrap_interval(scores * scale + shift, resamples=200)
    assert moved == pytest.approx(tuple(end * scale + shift for end in plain), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables, st.data())
def test_improvement_and_its_reverse_sum_to_one(scores, data):
    other = data.draw(arrays(np.float64, (data.draw(st.integers(2, 5)), scores.shape[1]), elements=unit))
    forward = probability_of_improvement(scores, other, resamples=100)
    backward = probability_of_improvement(other, scores, resamples=100)
    assert forward.value + backward.value == pytest.approx(1.0)
    assert 0.0 <= forward.low <= forward.high <= 1.0


@given(st.integers(1, 200).flatmap(lambda cases: st.tuples(st.integers(0, cases), st.just(cases))))
def test_wilsons_interval_is_where_the_share_is_as_far_as_the_deviation_says(counts):
    """Its ends p solve (share - p)^2 = z^2 p (1 - p) / n."""
    hits, cases = counts
    for normal in (1.959964, 2.5758):
        for end in wilson_interval(hits, cases, normal):
            assert (hits / cases - end) ** 2 == pytest.approx(normal**2 * end * (1 - end) / cases, abs=1e-12)
    low, high = wilson_interval([hits, 0], [cases, 0])
    assert low[0] - 1e-12 <= hits / cases <= high[0] + 1e-12
    assert (low[1], high[1]) == (0.0, 1.0), "without cases anything is possible"


def test_pareto_front() -> None:
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.4, 0.4], [0.5, 0.5], [1.0, -0.1]]
    assert pareto_front(vectors).tolist() == [True, True, True, False, True, False]
    assert pareto_front([[0.3, 0.3]]).tolist() == [True]
    drawn = np.random.default_rng(0).random((40, 3))
    front = pareto_front(drawn)
    beaten = [any((other >= one).all() and (other > one).any() for other in drawn) for one in drawn]
    assert front.tolist() == [not each for each in beaten]
    for weights in np.eye(3):  # whoever is best by some weights is on it
        assert front[(drawn @ (weights + 0.01)).argmax()]
    with pytest.raises(InputError, match="an array \\(policies, objectives\\)"):
        pareto_front([0.3])
    with pytest.raises(InputError, match="of finite numbers"):
        pareto_front([[math.nan, 1.0]])


# ---- Krippendorff's alpha

#: The reliability data of Krippendorff (2011), part C: values of four observers for twelve units; its alpha is 0.743.
PUBLISHED = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


def test_alpha_is_that_of_the_document() -> None:
    units = [[value for value in column if value != "."] for column in zip(*map(str.split, PUBLISHED), strict=True)]
    found = krippendorff_alpha(units)
    assert found is not None
    assert found.alpha.value == pytest.approx(0.743, abs=5e-4)
    assert (found.things, found.values) == (11, 40), "a unit with one value is compared with nothing"
    assert found.alpha.low < found.alpha.value < found.alpha.high <= 1.0
    assert found == krippendorff_alpha([unit[::-1] for unit in units]), "nobody is the first"


def test_alpha_of_all_who_agree_and_of_chance() -> None:
    agreed = krippendorff_alpha([["a", "a"], ["b", "b", "b"]])
    assert agreed is not None
    assert (agreed.alpha.value, agreed.share) == (1.0, 1.0)
    drawn = np.random.default_rng(1).integers(3, size=(400, 5)).tolist()
    chance = krippendorff_alpha(drawn)
    assert chance is not None
    assert chance.alpha.low < 0.0 < chance.alpha.high
    assert chance.share == pytest.approx(1 / 3, abs=0.03)


def test_the_interval_of_alpha_lies_around_it_where_no_two_values_are_alike() -> None:
    found = krippendorff_alpha([[f"{u}, {k % 2}" for k in range(4)] for u in range(12)] + [["x", "y"]] * 3)
    assert found is not None
    assert found.alpha.low < found.alpha.value < found.alpha.high


def test_alpha_of_little_and_of_nothing() -> None:
    same = krippendorff_alpha([["a", "a"], ["a", "a"]])
    assert same is not None
    assert math.isnan(same.alpha.value)
    assert same.figures() == {"alpha": [None, None, None], "share": 1.0, "things": 2, "values": 4}
    one = krippendorff_alpha([["a", "b"], ["c"]])
    assert one is not None
    assert one.alpha.value == 0.0, "two values that differ agree as often as by chance"
    assert math.isnan(one.alpha.low)
    assert krippendorff_alpha([["a"], []]) is None
    assert krippendorff_alpha([]) is None
