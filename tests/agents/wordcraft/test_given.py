"""How often a function of a user's makes the goal, with its interval."""

import numpy as np
import pytest

from gumption.agents.wordcraft.evaluation import evaluate_policy
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, make_split

ROWS = [("mud", "water", "earth"), ("steam", "water", "fire"), ("lava", "earth", "fire"), ("dust", "air", "earth")]


@pytest.fixture(scope="module")
def small() -> RecipeBook:
    return RecipeBook("tiny", list(dict.fromkeys(label for row in ROWS for label in row)), ROWS)


def in_turn(observation, info):
    """The first slot, then the second: all that there is without distractors."""
    return (observation["selection_index"][:, 0] > 0).astype(int)


def by_name(observation, info):
    return len(info["selection"])


def test_success_is_counted_over_tasks_with_its_interval(small) -> None:
    settings = {"recipe_book": small, "num_distractors": 0, "split": None, "partition": "train", "draws": 3}
    for policy, single in ((in_turn, False), (by_name, True)):
        found = evaluate_policy(policy, single=single, **settings)
        assert (found["success"], found["low"], found["high"], found["same_slot_twice"]) == (1.0, 1.0, 1.0, 0.0)
        assert (found["tasks"], found["episodes"], found["policy"]) == (4, 12, policy.__name__)
    found = evaluate_policy(lambda observation: np.zeros(len(observation["goal_index"]), dtype=int), **settings)
    assert (found["success"], found["same_slot_twice"]) == (0.0, 1.0)

    def only_mud(observation, info):
        goal = observation["goal_index"] == small.entity_id("mud") + 1
        return in_turn(observation, info) * goal

    found = evaluate_policy(only_mud, **settings)
    assert found["success"] == 0.25
    assert 0 <= found["low"] < 0.25 < found["high"] <= 1


def test_the_tasks_are_those_of_the_split_and_partition(small) -> None:
    split = make_split(small, "by_goal", 0.5, 3)
    goals = set()

    def act(observation, info):
        goals.update(observation["goal_index"].tolist())
        return in_turn(observation, info)

    found = evaluate_policy(act, recipe_book=small, split=split, partition="test", draws=1)
    assert found["tasks"] == len(split.test_tasks) == 2
    assert goals == {row[2] + 1 for row in split.test_recipes.tolist()}
    assert found["split"] == {**split.parameters, "sha256": split.hash}


def test_first_says_where_an_episode_begins(small) -> None:
    told = []

    def act(observation, info):
        told.append((bool(info["first"]), len(info["selection"])))
        return len(info["selection"])

    evaluate_policy(act, single=True, recipe_book=small, num_distractors=0, split=None, partition="train", draws=1)
    assert told == [(True, 0), (False, 1)] * 4


def test_what_does_not_fit_is_told(small) -> None:
    settings = {"recipe_book": small, "split": None, "partition": "train"}
    with pytest.raises(InputError, match=r"returned no action at step 1 of an episode"):
        evaluate_policy(lambda observation: None, **settings)
    with pytest.raises(InputError, match=r"draws is 0; it is a whole number, at least 1"):
        evaluate_policy(in_turn, draws=0, **settings)
    with pytest.raises(InputError, match="has no test part"):
        evaluate_policy(in_turn, recipe_book=small, split=None)
