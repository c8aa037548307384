"""Transport between point sets, against values that POT (ot.emd2) computed."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from gumption.envs.physics.noise import transport


@pytest.mark.parametrize(
    ("n", "m", "expected"),
    [
        (5, 5, 0.25387996777250776),
        (3, 5, 0.4576601071706188),
        (6, 4, 0.1708991645151557),
        (40, 37, 0.04229609020934041),
        (100, 100, 0.017677595697092117),
    ],
)
def test_transport_costs_what_pot_says(n: int, m: int, expected: float) -> None:
    cost = np.random.default_rng(n * 1000 + m).random((n, m))
    assert transport(cost) == pytest.approx(expected, abs=1e-12)
    assert transport(cost.T) == pytest.approx(expected, abs=1e-12)


def test_one_point_goes_to_all() -> None:
    assert transport(np.array([[1.0, 2.0, 6.0]])) == 3.0


def test_large_sets_of_other_sizes_are_a_linear_program() -> None:
    cost = np.random.default_rng(0).random((41, 43))
    equal = np.vstack([np.kron(np.eye(41), np.ones(43)), np.kron(np.ones(41), np.eye(43))])
    weights = np.concatenate([np.full(41, 1 / 41), np.full(43, 1 / 43)])
    expected = linprog(cost.ravel(), A_eq=equal, b_eq=weights, method="highs").fun
    assert transport(cost) == pytest.approx(expected, abs=1e-12)


@given(st.integers(2, 5), st.integers(0, 1000))
def test_equal_sets_are_matched_in_the_best_way(n: int, seed: int) -> None:
    cost = np.random.default_rng(seed).random((n, n))
    best = min(cost[range(n), order].mean() for order in map(list, permutations(range(n))))
    assert transport(cost) == pytest.approx(best, abs=1e-12)
