"""A single HALMA: the rules, and which maze is played."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.halma import HALMAEnv, HALMAVectorEnv, Mazes, panel_row, sample_mazes

from .conftest import DOWN, LEFT, RIGHT, UP, option

WAY = [(RIGHT, 5), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]  # of the golden maze


def walk(env, *moves):
    """The results of the steps."""
    return [env.step(option(*move)) for move in moves]


@pytest.fixture
def env(golden):
    made = HALMAEnv(mazes=[golden])
    made.reset(seed=0)
    return made


# ---- the rules


def test_reset_shows_the_start(golden):
    env = HALMAEnv(mazes=[golden])
    observation, info = env.reset(seed=0)
    assert (observation.shape, observation.dtype) == ((11, 19), np.uint8)
    assert info["cell"] == (0, 0)
    assert info["hint"] == "square"
    assert info["panel"].tolist() == panel_row(golden, (0, 0)).tolist()
    assert {"value": 5, "colour": "yellow", "direction": "right", "kind": "wall"} in info["digits"]
    assert (info["maze"], info["trial"], info["trial_steps"]) == (0, 0, 0)
    assert not info["success"]
    assert not info["valid_move"]
    assert not info["trial_over"]


def test_the_published_trial_step_by_step(env, golden):
    moves = [(RIGHT, 2), (RIGHT, 1), (RIGHT, 1), (RIGHT, 1), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]
    cells = [(2, 0), (3, 0), (4, 0), (5, 0), (5, -1), (7, -1)]
    results = walk(env, *moves)
    assert [info["cell"] for *_, info in results[:-1]] == cells
    assert [reward for _, reward, *_ in results] == [2, 1, 1, 1, 1, 2, 101]
    for (observation, _, terminated, truncated, info), cell in zip(results, cells, strict=False):
        assert (terminated, truncated, info["success"], info["trial_over"]) == (False,) * 4
        assert info["valid_move"]
        assert (observation[:10].argmax(1) - 9).tolist() == panel_row(golden, cell)[:10].tolist()
    info = results[-1][4]
    assert info["success"]
    assert info["trial_over"]
    assert (info["trial"], info["trial_steps"], info["cell"]) == (1, 0, (0, 0)), "back at the start"
    assert results[-1][0].tolist() == env.reset()[0].tolist()


def test_an_episode_is_ten_trials(env):
    for trial in range(10):
        *_, (_, reward, terminated, truncated, info) = walk(env, *WAY)
        assert reward == 101
        assert (terminated, truncated) == (trial == 9, False)
        assert info["trial"] == trial + 1
    with pytest.raises(ResetNeeded):
        env.step(option(RIGHT, 1))


def test_options_are_carried_out_whole_or_not_at_all(env):
    for move, valid, cell, reward in [
        ((RIGHT, 6), False, (0, 0), -5),  # the wall is five away
        ((LEFT, 1), False, (0, 0), -5),
        ((UP, 2), False, (0, 0), -5),
        ((RIGHT, 0), False, (0, 0), -5),  # standing still
        ((RIGHT, 5), True, (5, 0), 5),
        ((LEFT, 4), True, (1, 0), -4),
        ((RIGHT, 1), True, (2, 0), 1),
        ((UP, 1), True, (2, 1), -1),
        ((DOWN, 15), False, (2, 1), -5),
    ]:
        _, told, *_, info = env.step(option(*move))
        assert (info["valid_move"], info["cell"], told) == (valid, cell, reward), move


def test_the_sum_of_the_primitives_is_what_counts(env):
    for option_ in ([2, 1, 1, 1, 1, 1], [2, 0, 0, 3, 0, 2], [2, 2, 0, 0, 0, 3]):
        env.reset()
        assert env.step(option_)[4]["cell"] == (5, 0)


def test_passing_over_the_goal_does_not_count(env):
    *_, (_, reward, _, _, info) = walk(env, (RIGHT, 5), (DOWN, 1), (RIGHT, 2), (DOWN, 2))
    assert (info["cell"], info["success"], reward) == ((7, -3), False, 0), "one past the goal is as far as one before"
    _, reward, _, _, info = env.step(option(UP, 1))
    assert (info["success"], reward) == (True, 101)


def test_a_trial_ends_after_its_steps(golden):
    env = HALMAEnv(mazes=[golden], max_trial_steps=3, trials=2)
    env.reset(seed=0)
    results = walk(env, (RIGHT, 1), (LEFT, 3), (RIGHT, 1), *WAY[:2], (LEFT, 9))
    told = [(info["trial"], info["trial_steps"], info["trial_over"], info["cell"]) for *_, info in results]
    assert told == [
        (0, 1, False, (1, 0)),
        (0, 2, False, (1, 0)),
        (1, 0, True, (0, 0)),
        (1, 1, False, (5, 0)),
        (1, 2, False, (5, -1)),
        (2, 0, True, (0, 0)),
    ]
    assert not any(info["success"] for *_, info in results)
    assert [(terminated, truncated) for _, _, terminated, truncated, _ in results[-2:]] == [
        (False, False),
        (True, False),
    ]


def test_an_episode_is_cut_off_after_its_steps(golden):
    env = HALMAEnv(mazes=[golden], max_steps=5)
    env.reset(seed=0)
    ends = [result[2:4] for result in walk(env, *WAY, (LEFT, 1))]
    assert ends == [(False, False)] * 4 + [(False, True)]
    env = HALMAEnv(mazes=[golden], max_steps=8, trials=2)
    env.reset(seed=0)
    assert walk(env, *WAY, *WAY)[-1][2:4] == (True, False), "ended and cut off at once is ended"


def test_defaults_are_the_paper_s(golden):
    env = HALMAEnv(mazes=[golden])
    env.reset(seed=0)
    results = walk(env, *[(LEFT, 1)] * 500)
    assert [i + 1 for i, (*_, info) in enumerate(results) if info["trial_over"]] == [200, 400]
    assert [i + 1 for i, result in enumerate(results) if result[2] or result[3]] == [500]
    assert {result[1] for result in results} == {-5.0}


def test_rewards_are_settings(golden):
    env = HALMAEnv(mazes=[golden], goal_reward=7, invalid_penalty=-2, progress_reward=0.5)
    env.reset(seed=0)
    assert [result[1] for result in walk(env, *WAY, (LEFT, 1))] == [2.5, 0.5, 1, 7.5, -2]


@pytest.mark.parametrize("size", [1, 3, 5])
def test_options_of_other_lengths(golden, size):
    env = HALMAEnv(mazes=[golden], max_opt_len=size)
    env.reset(seed=0)
    assert env.action_space == gym.spaces.MultiDiscrete([4] + [4] * size)
    assert len(env.action_masks()) == 4 + 4 * size
    assert env.step(option(RIGHT, 3, size))[4]["cell"] == (3, 0)
    assert env.step(option(RIGHT, 2, size))[4]["cell"] == (5, 0)


@pytest.mark.parametrize("action", [[0.5] * 6, ["0"] * 6])
def test_options_of_other_kinds(env, action):
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"the action: .* actions are whole numbers"):
        env.step(action)


@pytest.mark.parametrize("action", [[4, 0, 0, 0, 0, 0], [0, 0, 4, 0, 0, 0], [-1, 0, 0, 0, 0, 0]])
def test_options_out_of_range(env, action):
    with pytest.raises(InputError, match="out of range: it is a whole number from 0 to 3"):
        env.step(action)
    assert env.step(option(RIGHT, 1))[4]["trial_steps"] == 1, "nothing had happened"


def test_options_of_another_shape(env, golden):
    with pytest.raises(InputError, match=r"the action has shape \(2,\), expected \(6,\)"):
        env.step([0, 1])
    batch = HALMAVectorEnv(3, mazes=[golden])
    batch.reset(seed=0)
    with pytest.raises(InputError, match=r"actions have shape \(6,\), expected \(3, 6\)"):
        batch.step([0, 1, 1, 1, 1, 1])


# ---- which maze is played


def test_mazes_come_in_their_order_or_at_random(tmp_path):
    mazes = Mazes(sample_mazes(4, 0))
    mazes.save(tmp_path / "mazes.jsonl")
    env = HALMAEnv(mazes=tmp_path / "mazes.jsonl", order="sequential")
    assert [env.reset(seed=0 if i == 0 else None)[1]["maze"] for i in range(6)] == [0, 1, 2, 3, 0, 1]
    assert env.reset(seed=5)[1]["maze"] == 0
    batch = HALMAVectorEnv(3, mazes=mazes, order="sequential")
    assert batch.reset(seed=0)[1]["maze"].tolist() == [0, 1, 2]
    env = HALMAEnv(mazes=mazes)
    assert {env.reset(seed=seed)[1]["maze"] for seed in range(40)} == {0, 1, 2, 3}
    assert list(HALMAEnv(num_mazes=4, maze_seed=0).mazes) == list(mazes)


def test_reset_puts_it_in_a_maze(env, golden):
    other = sample_mazes(1, 8)[0]
    for chosen in (other, other.to_json()):
        _, info = env.reset(options={"maze": chosen})
        assert env.mazes[info["maze"]] == other
        assert info["cell"] == other.start
    _, info = env.reset(options={"maze": golden})
    assert (info["maze"], len(env.mazes)) == (0, 2), "known mazes are not added again"
    assert env.reset(options={"maze": 0})[1]["panel"].tolist() == info["panel"].tolist()


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_a_maze_of_a_reset_is_played_when_asked_for_only(golden, order):
    """What was put in by a reset is no part of the set that episodes are drawn from."""
    env = HALMAEnv(mazes=[golden], order=order)
    env.reset(seed=0, options={"maze": sample_mazes(1, 8)[0]})
    assert {env.reset()[1]["maze"] for _ in range(20)} == {0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maze": 1}, "maze is 1; there are 1 mazes"),
        ({"maze": -1}, "maze is -1; there are 1 mazes"),
        ({"maze": {"schema": "other"}}, "not a maze of schema gumption/halma-maze/1"),
        ({"maze": "a.json"}, "not a maze of schema gumption/halma-maze/1"),
        ({"start": 3}, "reset has no 'start'; it has maze"),
        ({"maze": 0, "seed": 3}, "reset has no 'seed'; it has maze"),
    ],
)
def test_bad_reset_options(env, options, message):
    with pytest.raises(InputError, match=message):
        env.reset(options=options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"observation": "audio"}, "observation is 'audio'; it can be symbolic, visual"),
        ({"panels": "fixed"}, "panels='fixed' is for observation='visual': symbols are not drawn"),
        ({"mazes": []}, "no mazes; give at least one"),
        ({"mazes": "missing.jsonl"}, r"missing.jsonl: cannot be read"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        HALMAVectorEnv(2, **settings)
