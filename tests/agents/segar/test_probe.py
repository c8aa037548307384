"""The mutual-information probe, where the mutual information is known."""

from math import log

import numpy as np
import pytest

from gumption.agents.segar.probe import ProbeSettings, information
from gumption.data import InputError

QUICK = ProbeSettings(hidden=128, epochs=20, learning_rate=1e-3)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4))


def test_independent_rows_tell_nothing():
    found = information(X, RNG.normal(size=(3000, 3)), settings=QUICK)
    assert found.accuracy == pytest.approx(0.5, abs=0.04)
    assert found.bound < 0.02
    assert found.pairs == 600


def test_a_copy_tells_all():
    found = information(X, X[:, :2] * 3 + 1, settings=QUICK)
    assert found.accuracy > 0.9
    assert 0.7 < found.bound <= 2 * log(2)


def test_one_of_two_values_is_told_half_the_time():
    # The factors of another observation are the same with probability 1/2: at best 3/4 of the pairs are told rightly.
    bit = RNG.integers(0, 2, size=(3000, 1)).astype(float)
    assert information(bit, bit, settings=QUICK).accuracy == pytest.approx(0.75, abs=0.04)


def test_factors_that_depend_on_each_other_alone_tell_nothing_of_the_features():
    # To shuffle each column by itself, as the first release did, measures what the columns tell of each other.
    factor = RNG.normal(size=(3000, 1))
    found = information(X, np.hstack([factor, factor]), settings=QUICK)
    assert found.accuracy == pytest.approx(0.5, abs=0.04)


def test_constants_do_no_harm():
    assert information(np.hstack([X, np.ones((3000, 1))]), X, settings=QUICK).accuracy > 0.9


def test_the_seed_fixes_the_result():
    first, same, other = (information(X, X[::-1], settings=ProbeSettings(epochs=1, seed=s)) for s in (0, 0, 1))
    assert first == same
    assert first != other


@pytest.mark.parametrize(
    ("features", "factors", "told"),
    [
        (X, X[:-1], "3000 rows of features and 2999 of factors"),
        (X[:, 0], X, "features have the shape \\(3000,\\)"),
        (X, np.full((3000, 1), np.nan), "factors have a number that is not finite in row 0"),
        (X[:4], X[:4], "4 rows are too few"),
    ],
)
def test_bad_rows_are_told(features, factors, told):
    with pytest.raises(InputError, match=told):
        information(features, factors)
