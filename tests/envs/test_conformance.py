"""What every registered world keeps to."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gumption.envs  # noqa: F401  (registers)
from gumption.envs.native import NativeEnv

WORLDS = sorted(name for name in gym.registry if name.startswith("gumption/"))


def trace(env, seed, steps=60):
    """Masks, rewards and ends of random valid play."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=seed)
    seen = []
    for _ in range(steps):
        mask = info["action_mask"]
        action = int(rng.choice(np.flatnonzero(mask)))
        _, reward, terminated, truncated, info = env.step(action)
        seen.append((mask.tolist(), reward, terminated, truncated))
        if terminated or truncated:
            _, info = env.reset()
    return seen


@pytest.mark.parametrize("name", WORLDS)
def test_worlds(name, book):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(name, recipe_book=book).unwrapped
        check_env(env)
    assert isinstance(env, NativeEnv)
    assert trace(env, 3) == trace(gym.make(name, recipe_book=book).unwrapped, 3)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["action_mask"].dtype == np.int8
    assert np.array_equal(info["action_mask"], env.action_masks())
    assert env.action_masks().dtype == bool
    assert len(env.action_facts()) == env.action_space.n == env.kg_query()[1].shape[1]
    assert env.step(env.action_space.n)[4]["invalid_action"]
    text = type(env).__doc__
    assert all(part in text for part in ("Description:", "Observation", "Actions:", "Reward", "Termination:", "Info:"))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_frames(name, mode, book):
    env = gym.make(name, recipe_book=book, render_mode=mode)
    env.reset(seed=0)
    frame = env.render()
    assert isinstance(frame, str) if mode == "ansi" else frame.dtype == np.uint8
    envs = gym.make_vec(name, num_envs=3, recipe_book=book, render_mode=mode)
    envs.reset(seed=0)
    assert len(envs.render()) == 3
