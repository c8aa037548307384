"""The study's measures against cases worked out by hand, and by what must fail them."""

from itertools import combinations
from math import log
from typing import Any

import numpy as np
import pytest

from gumption.agents.probsol.measures import (
    accuracy_distance,
    auccess,
    constraint_distances,
    constraint_satisfaction_rate,
    displacement_distance,
    efficiency,
    preference_order,
)
from gumption.data import InputError
from gumption.envs.probsol.geometry import ADD, edits

INF, NAN = float("inf"), float("nan")


def discovery_distance(table: list[int], answer: list[int], concerned: int) -> float:
    """Equation 10 of sorted ids."""
    return edits(*(np.unique(np.array(ids, dtype=np.int64)) for ids in (table, answer))) / (ADD * concerned)


def test_discovery_distance() -> None:
    assert discovery_distance([1, 3], [1, 3], 4) == 0
    assert discovery_distance([2, 3], [1, 3], 4) == 1 / 8  # one substituted
    assert discovery_distance([], [1, 3], 4) == 4 / 8  # two added
    assert discovery_distance([0, 1, 2, 3], [1], 4) == 6 / 8  # three deleted
    assert discovery_distance([3, 1], [1, 3], 4) == 0  # ids are sorted first
    for first, second in combinations([[0], [1, 2], [0, 2, 3]], 2):
        assert discovery_distance(first, second, 4) == discovery_distance(second, first, 4)


def test_constraint_distances_are_over_the_span_of_limits() -> None:
    limits = [[3, 10.0], [5, INF], [7, 10.0]]
    values = [[5, 10.0], [5, 99.0], [100, 10.5]]
    found = constraint_distances(values, limits)
    # Trials: limits 3 to 7. Seconds: one limit only, so a broken one is 1; the second task has none.
    assert found.tolist()[0] == [0.5, 0.0]
    assert found[1, 0] == 0
    assert np.isnan(found[1, 1])
    assert found.tolist()[2] == [1.0, 1.0]
    assert constraint_satisfaction_rate(found).tolist() == [0.75, 1.0, 0.0]


def test_constraint_satisfaction_with_world_understanding() -> None:
    trials = constraint_distances([[4], [4], [4]], [[3], [7], [INF]])
    understood = accuracy_distance([0.5, 1.0, 0.0])
    rates = constraint_satisfaction_rate(np.column_stack([trials, understood]))
    assert rates.tolist() == [1 - (0.25 + 0.5) / 2, 1.0, 0.0]
    assert constraint_satisfaction_rate([[NAN, NAN]]).tolist() == [1.0]  # without constraints none is broken
    assert constraint_satisfaction_rate([[2.0, 0.0]]).tolist() == [0.5]  # an opposite displacement counts as 1


def test_displacement_distance() -> None:
    moved = [[3.0, 0.0], [0.0, 4.0]]
    assert displacement_distance(moved, moved) == pytest.approx(0.0)
    assert displacement_distance(np.multiply(moved, 0.1), moved) == pytest.approx(0.0)  # the direction counts
    assert displacement_distance(np.multiply(moved, -1), moved) == pytest.approx(2.0)
    assert displacement_distance([[0.0, 3.0], [4.0, 0.0]], moved) == pytest.approx(1.0)
    assert displacement_distance([[3.0, 0.0], [0.0, 0.0]], moved) == pytest.approx(1 - 9 / 15)
    still = [[0.0, 0.0], [0.0, 0.0]]
    assert displacement_distance(still, still) == 0.0
    assert displacement_distance(still, moved) == displacement_distance(moved, still) == 1.0


def test_auccess() -> None:
    assert auccess([1, 1, 1]) == pytest.approx(1.0)
    assert auccess([0, 0]) == 0.0
    # Solved in the third trial: w_3 + ... + w_10 = ln 11 - ln 3.
    assert auccess([3]) == pytest.approx((log(11) - log(3)) / log(11))
    assert auccess([1, 3, 0, 11]) == pytest.approx((1 + (log(11) - log(3)) / log(11)) / 4)
    assert auccess([2], trials=2) == pytest.approx((log(3) - log(2)) / log(3))
    scores = [auccess([k]) for k in range(1, 12)]
    assert scores == sorted(scores, reverse=True)


def test_efficiency() -> None:
    assert efficiency([3, 3, 4], [3, 6, 2], [True, True, False]) == pytest.approx((1 + 0.5 + 0) / 3)
    assert efficiency([3], [2], [True]) == 1.5


def test_preference_order() -> None:
    goal_first, constraint_first, neither = [1.0, 0.2], [0.6, 1.0], [0.9, 0.9]
    vectors = [goal_first, constraint_first, neither]
    assert preference_order(vectors, 0) == [[0], [1]]
    assert preference_order(vectors, 1) == [[1], [0]]
    assert preference_order(vectors, 2) == [[0, 1]]  # it gives up 0.1 of each
    assert preference_order([[1.0, 1.0, 0.0]], 0) == [[0, 1, 2]]  # alone it gives up nothing


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: constraint_distances([[1]], [[1, 2]]), "arrays .episodes, constraints. of numbers"),
        (lambda: constraint_distances([[NAN]], [[1]]), "of numbers"),
        (lambda: constraint_satisfaction_rate([[-0.1]]), "numbers from 0"),
        (lambda: accuracy_distance([2.0]), "told is .* from 0 to 1"),
        (lambda: displacement_distance([[1, 2]], [[1, 2], [3, 4]]), "finite numbers"),
        (lambda: displacement_distance([[1, INF]], [[1, 2]]), "finite numbers"),
        (lambda: auccess([]), "a trial for each task"),
        (lambda: auccess([-1]), "0 for an unsolved one"),
        (lambda: efficiency([3], [3, 4], [True]), "a number an episode"),
        (lambda: efficiency([3], [0], [True]), "at least 1"),
        (lambda: preference_order([[1.0]], 1), "policy is 1; there are 0 to 0"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
