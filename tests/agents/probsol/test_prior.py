"""Equation 7 as tables: its two factorings, what they tell of pairs left out, and where they can tell nothing."""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.scripts.papers.probsol.goals import Prior, Row, left_out_likelihoods

ROWS = [
    Row("goal first", "curiosity", "fish", "tight"), Row("goal first", "curiosity", "fish", "loose"),
    Row("goal first", "none", "build", "loose"), Row("constraint first", "none", "build", "tight"),
]  # fmt: skip
GOALS, CONSTRAINTS = ("fish", "curl", "build"), ("none", "relaxed", "critical")


def episodes(solver: Callable[[str, str], tuple[str, str]], noise: float = 0.1) -> list[Row]:
    """20 episodes of each goal and constraint, by solvers that differ as said, one in ten at random."""
    rng, rows = np.random.default_rng(0), []
    for goal in GOALS:
        for constraint in CONSTRAINTS:
            for _ in range(20):
                preference, over_policy = solver(goal, constraint)
                if rng.random() < noise:
                    preference = str(rng.choice(["goal first", "constraint first"]))
                rows.append(Row(preference, over_policy, goal, constraint))
    return rows


def test_the_tables_of_a_hand_worked_case() -> None:
    prior = Prior(ROWS, smoothing=1.0)
    assert prior.preferences == ["constraint first", "goal first"]
    assert prior.over_policies == ["curiosity", "none"]
    # P(constraint first) = (1 + 1) / (4 + 2); P(none | constraint first) = (1 + 1) / (1 + 2).
    assert prior.solvers()[0, 1] == pytest.approx(2 / 6 * 2 / 3)
    assert prior.solvers()[1, 0] == pytest.approx(4 / 6 * (2 + 1) / (3 + 2))
    # P(fish | tight) = (1 + 1) / (2 + 2); goals in order are build and fish.
    assert prior.difficulty()[1].tolist() == [0.5, 0.5]
    # P(fish | goal first, curiosity) = (2 + 1) / (2 + 2), and P(fish | any other solver): 1/3, 1/2, 1/3.
    joint = np.array([[2 / 6 * 1 / 3 * 1 / 2, 2 / 6 * 2 / 3 * 1 / 3], [4 / 6 * 3 / 5 * 3 / 4, 4 / 6 * 2 / 5 * 1 / 3]])
    assert prior.posterior("fish", "tight", "goal") == pytest.approx(joint / joint.sum())


@pytest.mark.parametrize("factoring", ["goal", "constraint"])
def test_both_factorings_are_distributions(factoring: Any) -> None:
    prior = Prior(episodes(lambda goal, _: ("goal first", goal)), smoothing=0.5)
    joint = prior.joint(factoring)
    assert joint.shape == (2, 3, 3, 3)
    assert joint.sum() == pytest.approx(1.0)
    assert (joint > 0).all()
    assert prior.posterior("fish", "none", factoring).sum() == pytest.approx(1.0)
    assert prior.difficulty().sum(axis=0) == pytest.approx(np.ones(3))


def test_a_factoring_depends_on_what_its_likelihood_is_of() -> None:
    prior = Prior(ROWS)
    for one, other in (("tight", "loose"), ("loose", "tight")):
        assert prior.posterior("fish", one, "goal") == pytest.approx(prior.posterior("fish", other, "goal"))
    assert prior.posterior("fish", "tight", "constraint") == pytest.approx(
        prior.posterior("build", "tight", "constraint")
    )


def test_pairs_left_out_are_told_by_the_factoring_that_knows_why_solvers_differ() -> None:
    by_goal = left_out_likelihoods(episodes(lambda goal, _: ("goal first", f"as {goal}")))
    assert by_goal["goal"] > by_goal["frequency"] + 0.5 > by_goal["constraint"]
    order = {"none": "goal first", "relaxed": "goal first", "critical": "constraint first"}
    by_constraint = left_out_likelihoods(episodes(lambda _, constraint: (order[constraint], "none")))
    assert by_constraint["constraint"] > by_constraint["frequency"] + 0.1
    assert by_constraint["goal"] < by_constraint["frequency"] + 0.02


def test_solvers_that_care_for_neither_are_told_no_better_than_by_frequency() -> None:
    told = left_out_likelihoods(episodes(lambda *_: ("goal first", "none"), noise=1.0))
    assert told["frequency"] == pytest.approx(log(0.5), abs=0.05)
    assert max(told["goal"], told["constraint"]) < told["frequency"] + 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Prior([]), "there is one .* at least"),
        (lambda: Prior(ROWS, smoothing=0.0), "smoothing is 0"),
        (lambda: Prior(ROWS, 1.0, ROWS[:2]), "there is no over policy 'none'; there are curiosity"),
        (lambda: Prior(ROWS).posterior("dance", "tight", "goal"), "there is no goal 'dance'; there are build, fish"),
        (lambda: left_out_likelihoods(ROWS[:1]), "two at least"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
