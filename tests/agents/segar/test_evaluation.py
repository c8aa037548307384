"""Levels played once each: returns with the last reward, and players that learn nothing."""

import gymnasium as gym
import numpy as np
import pytest

from gumption.agents.segar.evaluation import BASELINES, make_env, no_action, play_levels, random_player, scripted
from gumption.envs.segar.configurations import draw_levels
from gumption.envs.segar.observations import ObservationSettings

STATE = ObservationSettings(kind="state")


def push_right(env, observation):
    return np.tile([2.0, 0.3], (env.num_envs, 1))


@pytest.mark.parametrize("player", [push_right, scripted, no_action])
def test_returns_are_those_of_single_environments(player):
    levels = draw_levels("tilesx2-hard", "test", n=12)
    score = play_levels(player, make_env("PuttPutt", levels, STATE))
    env = gym.make("gumption/PuttPutt-v0", levels="tilesx2-hard", observation="state", num_levels=1).unwrapped
    for i, name in enumerate(levels.names):
        env.reset(seed=0, options={"level": name})
        total, steps, over = 0.0, 0, False
        while not over:
            action = player(env.batch, None)[0].astype(np.float32)
            _, reward, terminated, truncated, info = env.step(action)
            total, steps, over = total + reward, steps + 1, terminated or truncated
        assert score["return"][i] == pytest.approx(total, rel=1e-5)
        assert (score["steps"][i], score["success"][i]) == (steps, info["success"])
    assert (score["return"] < -100).any() or player is not no_action, "a burned ball costs 100 in its last step"


def test_scripted_goes_to_the_goal_and_others_do_not():
    levels = draw_levels("empty-hard", "train", n=30)
    found = {name: play_levels(player, make_env("PuttPutt", levels, STATE)) for name, player in BASELINES.items()}
    assert found["scripted"]["success"].all()
    assert found["scripted"]["return"].mean() > found["random"]["return"].mean() + 3
    assert not found["no action"]["success"].any()
    assert (found["no action"]["steps"] == 50).all()


def test_random_forces_depend_on_the_seed():
    levels = draw_levels("empty-hard", n=3)
    one, same, other = (
        play_levels(random_player, make_env("PuttPutt", levels, STATE), seed=s)["return"] for s in (0, 0, 1)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
