"""What every registered world keeps to."""

import os
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gumption.envs  # noqa: F401  (registers)
from gumption.envs.native import NativeEnv

WORLDS = sorted(name for name in gym.registry if name.startswith("gumption/"))
HALMA = "gumption/HALMA-v0"
LOOKS = [(name, look) for name in WORLDS for look in (("symbolic", "visual") if name == HALMA else (None,))]
PLAY = """
import hashlib, sys
import gymnasium as gym, numpy as np
import gumption.envs
look = sys.argv[1]
envs = gym.make_vec("gumption/HALMA-v0", num_envs=4, num_mazes=6, max_steps=20, observation=look)
told = hashlib.sha256(envs.reset(seed=5)[0].tobytes())
for _ in range(50):
    observation, reward, *_ = envs.step(envs.random_actions())
    told.update(observation.tobytes() + reward.tobytes())
told.update(repr(sorted(gym.make("gumption/HALMA-v0", num_mazes=2).reset(seed=1)[1].items(), key=str)).encode())
print(told.hexdigest(), envs.unwrapped.mazes.fingerprint)
"""


@pytest.fixture
def make(book):
    """Make a world of a small size, as it looks."""

    def world(name, look=None, **more):
        small = {"num_mazes": 5} | ({"observation": look} if look else {}) if name == HALMA else {"recipe_book": book}
        return gym.make(name, **small, **more).unwrapped

    return world


def choose(env, mask, rng):
    """A random action that the mask allows: a choice, or one for each part of it."""
    if isinstance(env.action_space, gym.spaces.Discrete):
        return int(rng.choice(np.flatnonzero(mask)))
    parts = np.split(mask, np.cumsum(env.action_space.nvec)[:-1])
    return np.array([rng.choice(np.flatnonzero(part)) for part in parts])


def trace(env, seed, steps=60):
    """Masks, rewards and ends of random valid play."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=seed)
    seen = []
    for _ in range(steps):
        mask = info["action_mask"]
        _, reward, terminated, truncated, info = env.step(choose(env, mask, rng))
        seen.append((mask.tolist(), reward, terminated, truncated))
        if terminated or truncated:
            _, info = env.reset()
    return seen


@pytest.mark.parametrize(("name", "look"), LOOKS)
def test_worlds(name, look, make):
    env = make(name, look)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    assert isinstance(env, NativeEnv)
    assert trace(env, 3) == trace(make(name, look), 3)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["action_mask"].dtype == np.int8
    assert np.array_equal(info["action_mask"], env.action_masks())
    assert env.action_masks().dtype == bool
    text = type(env).__doc__
    assert all(part in text for part in ("Description:", "Observation", "Actions:", "Reward", "Termination:", "Info:"))


@pytest.mark.parametrize("name", [name for name in WORLDS if name != HALMA])
def test_worlds_whose_actions_are_slots(name, make):
    env = make(name)
    env.reset(seed=0)
    assert len(env.action_facts()) == env.action_space.n == env.kg_query()[1].shape[1]
    assert env.step(env.action_space.n)[4]["invalid_action"]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_frames(name, mode, make, book):
    env = make(name, render_mode=mode)
    env.reset(seed=0)
    frame = env.render()
    assert isinstance(frame, str) if mode == "ansi" else frame.dtype == np.uint8
    settings = {"num_mazes": 5} if name == HALMA else {"recipe_book": book}
    envs = gym.make_vec(name, num_envs=3, render_mode=mode, **settings)
    envs.reset(seed=0)
    assert len(envs.render()) == 3


@pytest.mark.parametrize("look", ["symbolic", "visual"])
def test_the_order_of_hashes_does_not_matter(look):
    told = [
        subprocess.run(
            [sys.executable, "-c", PLAY, look],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
