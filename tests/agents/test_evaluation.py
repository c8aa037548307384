"""A policy that is not ours is asked as its signature says, and what is no action is told with its step."""

import re

import numpy as np
import pytest
from gymnasium import spaces

from gumption.agents.evaluation import GivenPlayer
from gumption.data import InputError

SPACE = spaces.MultiDiscrete([4, 3])
OBSERVATION, INFO = np.arange(6).reshape(3, 2), {"first": np.ones(3, dtype=bool)}


def ask(policy, space=SPACE, **settings) -> np.ndarray:
    count = 1 if settings.get("single") else 3
    info = {"first": INFO["first"][:count]}
    return GivenPlayer(policy, space, where="RT", **settings).actions(OBSERVATION[:count], info, count)


def test_it_is_asked_with_what_it_takes() -> None:
    def both(observation, info):
        assert info["first"].all()
        return observation % 3

    class Keeps:
        def predict(self, observation, state=None, deterministic=False):
            return observation % 3

        def __call__(self, observation, info=None):
            return both(observation, info)

    def any_number(*given):
        return both(*given)

    for policy in (both, lambda observation: observation % 3, any_number, Keeps(), Keeps().predict):
        actions = ask(policy)
        assert actions.dtype == np.int64
        assert actions.tolist() == [[0, 1], [2, 0], [1, 2]]
    assert ask(lambda observation: [1, 2, 0], spaces.Discrete(3)).tolist() == [1, 2, 0]


def test_one_for_a_single_environment_sees_no_batch() -> None:
    def act(observation, info):
        assert observation.shape == (2,)
        assert info["first"]
        return np.array([1, 1])

    assert ask(act, single=True).tolist() == [[1, 1]]
    assert ask(lambda observation: 2, spaces.Discrete(3), single=True).tolist() == [2]
    seen = GivenPlayer(lambda observation: observation["goal"], spaces.Discrete(3), single=True)
    assert seen.actions({"goal": np.array([2])}, {"first": np.array([True])}, 1).tolist() == [2]


def fails(observation):
    return observation["nothing"]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (lambda observation: None, "returned no action at step 1 of RT: it is to return integers of the shape (3, 2)"),
        (lambda observation: (observation, None), "returned a pair at step 1 of RT, as predict of Stable-Baselines3"),
        (lambda observation: observation[:2], "returned the shape (2, 2) at step 1 of RT: it is to return integers"),
        (lambda observation: [1, 1], "(3, 2); one that acts in a single environment is given with single=True"),
        (lambda observation: [[1], [1, 2]], "returned no array at step 1 of RT ("),
        (lambda observation: np.full((3, 2), np.nan), "returned NaN at step 1 of RT"),
        (lambda observation: np.ones((3, 2)), "returned float64 at step 1 of RT: it is to return integers"),
        (lambda observation: np.full((3, 2), "up"), "returned <U2 at step 1 of RT"),
        (lambda observation: [[0, 0], [0, 3], [0, 0]], "returned [0, 3] at step 1 of RT, which is outside Multi"),
        (lambda observation: [[0, 0], [-1, 0], [0, 0]], "returned [-1, 0] at step 1 of RT"),
        (fails, "the policy fails failed at step 1 of RT: IndexError: "),
    ],
)
def test_what_is_no_action_is_told(policy, told) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        ask(policy)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("act", "the policy str is no function"),
        (lambda: None, "takes 0 arguments; it is to take (observation, info)"),
        (lambda a, b, c: None, "takes 3 arguments; it is to take (observation, info)"),
    ],
)
def test_what_is_no_policy_is_told_at_once(policy, told) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        GivenPlayer(policy, SPACE)
