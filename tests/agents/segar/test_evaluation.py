"""Levels played once each: returns with the last reward, and players that learn nothing."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from gumption.agents.segar.evaluation import (
    BASELINES,
    baselines,
    make_env,
    no_action,
    own_player,
    play_levels,
    random_player,
    scripted,
)
from gumption.data import InputError
from gumption.envs.segar.configurations import draw_levels
from gumption.envs.segar.observations import ObservationSettings

STATE = ObservationSettings(kind="state")


def push_right(env, observation):
    return np.tile([2.0, 0.3], (env.num_envs, 1))


@pytest.mark.slow
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


def test_people_wrote_a_player_of_three_tasks_alone():
    assert list(baselines("Invisiball")) == ["random", "no action", "scripted"]
    for task in ("Billiards", "my_module:DustyPutt"):
        assert list(baselines(task)) == ["random", "no action"]


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(5),
        spaces.Box(np.array([1.0, -3.0, 0.0]), np.array([2.0, -1.0, 4.0]), dtype=np.float64),
        spaces.Box(-np.inf, np.inf, (2,)),
        spaces.MultiDiscrete([2, 3]),
    ],
    ids=str,
)
def test_random_and_no_action_are_of_the_space_of_any_task(space):
    def env(seed):
        rng = np.random.default_rng(seed)
        return SimpleNamespace(
            single_action_space=space, action_space=batch_space(space, 40), num_envs=40, np_random=rng
        )

    one, same, other = (random_player(env(seed), np.ones(40, dtype=bool)) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(np.unique(one, axis=0)) > 3
    for action in (*one, *no_action(env(0), np.ones(40, dtype=bool))):
        assert space.contains(action.astype(space.dtype) if space.shape else int(action))


def test_random_forces_are_those_of_a_uniform_draw():
    env = make_env("PuttPutt", draw_levels("empty-easy", n=3), STATE)
    env.reset(seed=4)
    drawn = random_player(env, env.episode_begins())
    env.reset(seed=4)
    assert np.array_equal(drawn, env.np_random.uniform(-2.0, 2.0, (3, 2)))


def test_a_function_of_ones_own_is_a_player_or_a_policy():
    levels = draw_levels("empty-hard", n=3)
    env = make_env("PuttPutt", levels, STATE)

    def policy(observation, info):
        return np.ones((len(observation), 2))

    def player(env, first):
        return np.ones((env.num_envs, 2))

    found = [play_levels(own_player(one, "mine", env.single_action_space), env) for one in (policy, player)]
    assert np.array_equal(found[0]["return"], found[1]["return"])
    with pytest.raises(InputError, match="the policy mine failed at step 1 of an episode: TypeError"):
        play_levels(own_player(lambda env, first: len(env), "mine", env.single_action_space), env)
