"""Episodes are played and counted alike whatever follows an end; a policy that is not ours is asked as its signature
says, and what is no action is told with its step."""

import re

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from gumption.agents import evaluation
from gumption.agents.evaluation import (
    GivenPlayer,
    evaluate_policy,
    most_probable,
    play,
    random_player,
    success_rate,
)
from gumption.agents.segar.evaluation import begin_levels, scripted
from gumption.data import InputError, Note

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


# ---- playing


def levels(mode: str):
    settings = {"levels": "tilesx2-medium", "num_levels": 4, "observation": "state"}
    return gym.make_vec("gumption/PuttPutt-v0", num_envs=4, autoreset_mode=mode, **settings).unwrapped


def test_rows_are_the_same_whatever_follows_an_end() -> None:
    found = []
    for mode in ("SameStep", "NextStep", "Disabled"):
        env = levels(mode)
        begin_levels(env, 0)
        found.append({name: values.tolist() for name, values in play(scripted, env).items()})
    assert found[0] == found[1] == found[2]
    assert len(set(found[0]["steps"])) > 1, "episodes of several lengths"
    assert found[0]["ended"] == [True] * 4


def test_a_row_is_what_the_steps_of_its_episode_gave() -> None:
    env = levels("SameStep")
    env.reset(seed=3)
    rewards, begun, told = np.zeros(4), [], []

    def act(env, first):
        begun.append(first.copy())
        return scripted(env, first)

    rows = play(act, env, 10, tell=lambda number, row: told.append((number, row)))
    assert sorted(number for number, _ in told) == list(range(10))
    assert all(row == {name: rows[name][number] for name in row} for number, row in told)
    again = levels("SameStep")
    again.reset(seed=3)
    counted = []
    while len(counted) < 40 and min([sum(i == j for i, _ in counted) for j in range(4)]) < 3:
        reward, over, _ = again.step_arrays(scripted(again, np.zeros(4)))
        rewards += reward
        for i in np.flatnonzero(over).tolist():
            counted.append((i, rewards[i]))
            rewards[i] = 0.0
    for i in range(4):  # three, three, two and two episodes: no environment plays more than its share
        mine = [value for j, value in counted if j == i][: len(rows["return"][i::4])]
        assert rows["return"][i::4] == pytest.approx(mine)
    starts = np.array(begun).sum(axis=0)
    assert begun[0].all()
    assert (starts >= [3, 3, 2, 2]).all()


# ---- of several best choices


def states(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The inputs of a network: numbers of two kinds, no two states alike."""
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.integers(0, 2, size=(count, 3))), torch.arange(count, dtype=torch.float32)[:, None]


def test_each_of_the_best_is_chosen_as_often() -> None:
    logits = torch.tensor([[0.5, 2.0, 2.0, -1.0, 2.0]]).repeat(6000, 1)
    for step in (0, 3):
        counts = np.bincount(most_probable(logits, states(6000), np.full(6000, step)), minlength=5)
        assert counts[[0, 3]].tolist() == [0, 0]
        assert ((counts[[1, 2, 4]] - 2000) ** 2 / 2000).sum() < 13.8, "chi square of 2 degrees, one in a thousand"


@given(st.lists(st.lists(st.integers(-2, 1), min_size=4, max_size=4), min_size=1, max_size=20), st.integers(0, 5))
def test_none_but_the_best_is_chosen(rows: list[list[int]], step: int) -> None:
    logits = torch.tensor(rows, dtype=torch.float32)
    chosen = most_probable(logits, states(len(rows)), np.full(len(rows), step))
    assert chosen.dtype == np.int64
    assert [row[place] for row, place in zip(rows, chosen.tolist(), strict=True)] == list(map(max, rows))


def test_the_choice_depends_on_the_episode_and_its_step_and_not_on_the_batch() -> None:
    size = 64
    logits, (kinds, numbers), begun = torch.zeros(size, 6), states(size), np.arange(size) % 5
    chosen = most_probable(logits, (kinds, numbers), begun)
    order = np.random.default_rng(1).permutation(size)
    for batch in (1, 7, size):
        for rows in (np.arange(size), order):
            for part in np.split(rows, range(batch, size, batch)):
                seen = kinds[part], numbers[part]
                assert most_probable(logits[part], seen, begun[part]).tolist() == chosen[part].tolist()
    others = (
        most_probable(logits, (kinds, numbers), begun + 1),
        most_probable(logits, (1 - kinds, numbers), begun),
        most_probable(logits, (kinds, numbers + 64), begun),
    )
    for other in others:
        assert 0 < (other == chosen).sum() < size / 2, "one in six is the same by chance"


def test_an_evaluation_that_would_take_too_long_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gym.make_vec("gumption/Gradual-v0", num_envs=2, autoreset_mode="SameStep", max_steps=500).unwrapped
    monkeypatch.setattr(evaluation, "MOST_STEPS", 20)
    with pytest.warns(Note, match="ends after 20 steps: 3 of 3 episodes had not ended, and count as they stood"):
        assert success_rate(random_player, env, 3) == 0.0


def test_a_policy_plays_what_training_does_not_show() -> None:
    def middle(observation, info):
        return np.zeros((len(observation), 2))

    settings = {"levels": "empty-easy", "num_levels": 3, "observation": "state"}
    found = evaluate_policy(middle, "segar", episodes=4, **settings)
    assert found["settings"] == {"partition": "test", **settings}
    assert (found["episodes"], found["steps"], found["policy"]) == (4, 50, middle.__qualname__)
    loops = "in 100.0% of episodes of three steps or more, four of five steps repeat the action before"
    assert found["failures"] == [loops]
    alone = evaluate_policy(lambda observation: [0.0, 0.0], "segar", episodes=1, single=True, **settings)
    assert (alone["success"], alone["low"], alone["high"]) == (0.0, None, None)
    for arguments, told in (
        ({"environment": "PuttPutt"}, "environment is 'PuttPutt'; segar has gumption/PuttPutt-v0"),
        ({"episodes": 0}, "episodes is 0"),
        ({"num_level": 3}, "has no 'num_level'; did you mean 'num_levels'"),
    ):
        with pytest.raises(InputError, match=re.escape(told)):
            evaluate_policy(middle, "segar", **arguments)
    with pytest.raises(InputError, match=r"returned \[3.0, 0.0\] at step 1 of an episode, which is outside Box"):
        evaluate_policy(lambda observation: np.tile([3.0, 0.0], (len(observation), 1)), "segar", **settings)
