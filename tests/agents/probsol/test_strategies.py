"""Strategies coded from actions, over-policies measured from them, and what the three hypotheses ask."""

from math import log2
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.probsol.library import find_tasks
from gumption.scripts.papers.probsol.goals import (
    OVER_POLICIES,
    STRATEGIES,
    agreement,
    consistency,
    entropy,
    entropy_by_tightness,
    over_policies,
    strategy,
    tendencies,
)

CHECK, NONE = ("check",), ("none",)


def put(disc: str, column: int = 5, row: int = 5, verb: str = "place") -> list[tuple[Any, ...]]:
    return [("grab", disc), (verb, column, row)]


def store(disc: str, cell: int = 0) -> list[tuple[Any, ...]]:
    return [("grab_placed", disc), ("store", cell)]


EPISODES = {
    "check only": [CHECK, NONE, CHECK],
    "place and wait": [*put("b"), NONE, NONE, CHECK],
    "hold and pull": [*put("b", verb="hold_at"), NONE, ("take_up",), ("hold_at", 6, 5), ("put_down",), CHECK],
    "push": [*put("b"), *put("b", 6), *put("b", 7), CHECK],
    "sequential probing": [*put("a"), *store("a"), *put("b"), *store("b"), *put("c"), *store("c"), CHECK],
    "all at once": [*put("a"), *put("b", 9), *put("c", 13), CHECK],
    "one by one storing": [*put("a"), *put("b", 9), *put("c", 13), *store("c"), *store("a"), CHECK],
    "turn": [("hold", "a"), ("turn", 1), ("turn", 1), ("put_down",), CHECK],
}


def test_each_of_the_eight_strategies_has_an_episode() -> None:
    assert set(EPISODES) == set(STRATEGIES)
    for name, actions in EPISODES.items():
        assert strategy(actions) == name
        assert strategy([list(action) for action in actions]) == name  # as JSON has them


def test_strategies_at_their_borders() -> None:
    assert strategy([]) == "check only"
    assert strategy([("grab", "a"), CHECK]) == "check only"
    assert strategy([*store("a"), CHECK]) == "one by one storing"
    assert strategy([*put("a"), *store("a"), CHECK]) == "place and wait"  # one probe
    assert strategy([*put("a"), *put("b"), *put("b"), CHECK]) == "all at once"  # one placement in three is again
    assert strategy([*put("a"), *put("b"), *put("b"), *put("b"), CHECK]) == "push"
    assert strategy([*put("a"), *store("a"), *put("b"), *put("c", 9), *store("c")]) == "all at once"
    assert strategy([*put("a"), *put("b", 9), ("hold", "a"), ("put_down",), CHECK]) == "hold and pull"
    solution = find_tasks("fishing/0")[0].solution
    assert strategy(solution) == "place and wait"


def test_tendencies_and_over_policies() -> None:
    assert tendencies(EPISODES["check only"]).tolist() == pytest.approx([0, 0, 2 / 3])
    # grab b and place b are new once; the second and third time they are not.
    assert tendencies(EPISODES["push"]).tolist() == pytest.approx([2 / 7, 0, 1 / 7])
    assert tendencies(EPISODES["turn"]).tolist() == pytest.approx([3 / 5, 4 / 5, 1 / 5])
    assert tendencies(EPISODES["all at once"]).tolist() == pytest.approx([6 / 7, 0, 1 / 7])
    found = over_policies([tendencies(actions) for actions in EPISODES.values()])
    named = dict(zip(EPISODES, found, strict=True))
    assert named["check only"] == "shortcut-seeking"
    assert named["turn"] == named["hold and pull"] == "empowerment"
    assert named["place and wait"] == "none"
    assert set(found) <= set(OVER_POLICIES)
    assert over_policies([[0.5, 0.5, 0.5]] * 3) == ["none"] * 3  # nobody differs from the others


def study(follows: bool, seed: int = 0) -> tuple[list[str], list[tuple[str, str]], list[int]]:
    """Strategies, conditions and layouts of 96 episodes, by players that follow goal and constraint, or do not."""
    rng, names = np.random.default_rng(seed), list(STRATEGIES)
    strategies, conditions, layouts = [], [], []
    for g in range(4):
        for c in range(3):
            for layout in range(4):
                for _ in range(2):
                    own = names[(g + 3 * c) % 8]
                    strategies.append(own if follows and rng.random() < 0.7 else str(rng.choice(names)))
                    conditions.append((f"goal {g}", f"constraint {c}"))
                    layouts.append(layout)
    return strategies, conditions, layouts


def test_agreement_between_layouts_is_seen_where_it_is_and_nowhere_else() -> None:
    strategies, conditions, layouts = study(follows=True)
    found = agreement(strategies, conditions, layouts, resamples=300)
    assert found.value > found.shuffled + 0.2
    assert found.p == pytest.approx(1 / 301)
    assert found == agreement(strategies, conditions, layouts, resamples=300)
    chance = agreement(*study(follows=False), resamples=300)
    assert chance.p > 0.05
    assert abs(chance.value - chance.shuffled) < 0.1


def test_agreement_counts_other_layouts_only() -> None:
    """Players who stick to a strategy within a layout do not agree between layouts."""
    strategies, conditions, layouts = ["push", "push", "turn", "turn"], ["x"] * 4, [0, 0, 1, 1]
    assert agreement(strategies, conditions, layouts, resamples=10).value == 0.0
    assert agreement(["push", "turn", "push", "turn"], conditions, layouts, resamples=10).value == 0.5


def test_consistency() -> None:
    # Two pairs of equal conditions, one of them with the same strategy; of all six pairs two have the same one.
    assert consistency(["push", "push", "turn", "push"], ["x", "x", "y", "y"]) == pytest.approx(1 / 2 - 3 / 6)
    assert consistency(["push", "push", "turn", "turn"], ["x", "x", "y", "y"]) == pytest.approx(1 - 2 / 6)
    strategies, conditions, _ = study(follows=True)
    assert consistency(strategies, conditions) > 0.25
    assert abs(consistency(*study(follows=False)[:2])) < 0.1
    assert consistency(["push"] * 6, ["x", "x", "y", "y", "z", "z"]) == 0.0  # always the same, whatever the task


def test_entropy_falls_where_the_constraint_is_tight() -> None:
    assert entropy(["push"] * 5) == 0.0
    assert entropy(list(STRATEGIES)) == pytest.approx(3.0)
    assert entropy(["push", "push", "push", "turn"]) == pytest.approx(-(0.75 * log2(0.75) + 0.25 * log2(0.25)))
    found = entropy_by_tightness(
        ["push", "turn", "push", "turn", "push", "push", "turn", "turn"],
        ["a", "a", "b", "b", "a", "a", "b", "b"],
        ["none"] * 4 + ["critical"] * 4,
    )
    assert found == {"none": 1.0, "critical": 0.0}  # goals by themselves: pooled, "critical" would have 1 bit, too


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: strategy([("dance",)]), r"\('dance',\) is no action by name"),
        (lambda: strategy([("grab",)]), r"\('grab',\) is no action by name"),
        (lambda: strategy(["check"]), "'check' is no action by name"),
        (lambda: tendencies([]), "without actions"),
        (lambda: over_policies([[0.1, 0.2]]), r"\(episodes, 3\)"),
        (lambda: agreement(["push"], ["x"], [0, 1]), "1 conditions given; they are as many"),
        (lambda: agreement(["push", "push"], ["x", "x"], [0, 0]), "different layouts"),
        (lambda: consistency(["push", "push"], ["x", "y"]), "no two episodes have the same condition"),
        (lambda: entropy([]), "no strategies"),
        (lambda: entropy_by_tightness(["push"], ["a"], []), "they are as many"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
