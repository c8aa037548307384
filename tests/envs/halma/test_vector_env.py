"""HALMA in batches, as Gymnasium calls them, and saving their state."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.halma import HALMAEnv, HALMAVectorEnv, Maze, sample_mazes

from .conftest import RIGHT, option

NAME = "gumption/HALMA-v0"


# ---- the batch


@pytest.mark.parametrize("observation", ["symbolic", "visual"])
def test_checkers_pass_without_a_warning(observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(NAME, num_mazes=3, observation=observation).unwrapped)


def test_make_vec_takes_the_native_batch():
    envs = gym.make_vec(NAME, num_envs=6, num_mazes=3)
    assert isinstance(envs, HALMAVectorEnv)
    observation, info = envs.reset(seed=0)
    assert observation in envs.observation_space
    assert observation.shape == (6, 11, 19)
    assert info["cell"].shape == (6, 2)
    assert envs.action_space.shape == (6, 6)


@pytest.mark.parametrize("observation", ["symbolic", "visual"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_batch_is_many_single_environments(golden, mode, observation):
    """The same options in the same mazes: what each environment of the batch tells is what a single one tells."""
    settings = {"mazes": [golden, *sample_mazes(2, 5)], "max_steps": 7, "observation": observation}
    envs = HALMAVectorEnv(3, autoreset_mode=mode, order="sequential", **settings)
    envs.reset(seed=0)
    singles = [HALMAEnv(**settings) for _ in range(3)]
    for i, env in enumerate(singles):
        env.reset(seed=i, options={"maze": i})
    rng = np.random.default_rng(0)
    for _ in range(7):
        options = rng.integers(0, 2, size=(3, 6))
        options[:, 0] = rng.integers(4, size=3)
        seen, reward, terminated, truncated, infos = envs.step(options)
        for i, env in enumerate(singles):
            last, single_reward, single_terminated, single_truncated, info = env.step(options[i])
            assert (reward[i], terminated[i], truncated[i]) == (single_reward, single_terminated, single_truncated)
            told, mine = infos, seen[i]
            if single_truncated and mode == AutoresetMode.SAME_STEP:
                told, mine = infos["final_info"], infos["final_obs"][i]
            if observation == "symbolic":
                assert mine.tolist() == last.tolist()
            assert tuple(told["cell"][i]) == info["cell"]
            assert told["panel"][i].tolist() == info["panel"].tolist()
            for name, part in (("valid_move", "valid_move"), ("success", "success"), ("trial", "trial")):
                assert told[name][i] == info[part]
    assert truncated.all()
    if mode == AutoresetMode.DISABLED:
        with pytest.raises(ResetNeeded):
            envs.step(options)
        envs.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    elif mode == AutoresetMode.NEXT_STEP:
        _, reward, terminated, truncated, infos = envs.step(options)
        assert not reward.any()
        assert not (terminated | truncated).any()
    assert infos["maze"].tolist() == [0, 1, 2] or mode == AutoresetMode.DISABLED
    assert (envs.steps == 0).all()
    assert (envs.cell == envs.mazes.start[envs.maze_index]).all()


def test_moves_agree_with_steps(golden):
    """The lean way tells what `step` tells, and what it does not: where a move ended before the next trial began."""
    near = [Maze((0, 0), goal, [((0, 0), (1, 0)), ((1, 0), (1, 1))]) for goal in ((1, 0), (1, 1))]
    settings = {"mazes": [golden, *near], "max_steps": 60, "trials": 4, "autoreset_mode": AutoresetMode.SAME_STEP}
    full, lean, arrays = (HALMAVectorEnv(64, **settings) for _ in range(3))
    for env in (full, lean, arrays):
        env.reset(seed=4)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(200):
        options = rng.integers(4, size=(64, 6)) * (rng.random((64, 6)) < 0.5)
        before = lean.rows
        _, reward, terminated, truncated, infos = full.step(options)
        outcome = lean.move(options)
        told = arrays.step_arrays(options)
        assert (outcome.done == (terminated | truncated)).all()
        assert (outcome.reward == reward).all()
        assert (outcome.before == before).all()
        assert (lean.rows == infos["panel"]).all()
        for mine, other in zip(told, (outcome.reward, outcome.done, outcome.reached), strict=True):
            assert (mine == other).all()
        stayed = ~(outcome.trial_over | outcome.done)
        assert (outcome.after[stayed] == lean.rows[stayed]).all()
        assert not outcome.after[outcome.reached][:, 8:10].any(), "at the goal"
        still = ~outcome.valid
        assert (outcome.after[still] == before[still]).all()
        seen += int(outcome.reached.sum())
    assert seen > 30


def test_observations_and_infos_are_not_live(golden):
    envs = HALMAVectorEnv(2, mazes=[golden])
    observation, infos = envs.reset(seed=0)
    kept = observation.copy(), {name: array.copy() for name, array in infos.items()}
    envs.step([option(RIGHT, 5)] * 2)
    assert (observation == kept[0]).all()
    assert all((infos[name] == array).all() for name, array in kept[1].items())


def test_set_mazes():
    envs = HALMAVectorEnv(4, num_mazes=5)
    envs.reset(seed=0)
    envs.set_mazes([4, 2, 0])
    assert envs.maze_index[:3].tolist() == [4, 2, 0]
    envs.set_mazes([1], envs=[3])
    assert envs.maze_index.tolist() == [4, 2, 0, 1]
    with pytest.raises(InputError, match="5 episodes for 4 environments"):
        envs.set_mazes([0] * 5)
    with pytest.raises(InputError, match="maze indices lie between 0 and 4"):
        envs.set_mazes([5])


# ---- saving


@pytest.mark.parametrize("observation", ["symbolic", "visual"])
@pytest.mark.parametrize("order", ["random", "sequential"])
def test_resume_is_exact(observation, order):
    settings = {"num_mazes": 6, "max_steps": 12, "observation": observation, "order": order}
    rng = np.random.default_rng(1)
    options = rng.integers(4, size=(50, 4, 6))
    envs = HALMAVectorEnv(4, **settings)
    envs.reset(seed=3)
    for step in options[:20]:
        envs.step(step)
    state = envs.state_dict()
    again = HALMAVectorEnv(4, **settings)
    again.load_state_dict(state)
    for step in options[20:]:
        one, other = envs.step(step), again.step(step)
        for mine, theirs in zip(one[:4], other[:4], strict=True):
            assert (mine == theirs).all()
        assert all((one[4][name] == other[4][name]).all() for name in one[4])


def test_state_of_other_environments_is_refused():
    state = HALMAVectorEnv(2, num_mazes=3).state_dict()
    with pytest.raises(InputError, match=r"the saved environment has other mazes \(\w{12}, here \w{12}\)"):
        HALMAVectorEnv(2, num_mazes=4).load_state_dict(state)
    with pytest.raises(InputError, match="the saved environment is a batch of 2, here 3"):
        HALMAVectorEnv(3, num_mazes=3).load_state_dict(state)


def test_the_same_seed_gives_the_same_episodes():
    told = []
    for _ in range(2):
        envs = HALMAVectorEnv(8, num_mazes=30, max_steps=10)
        envs.reset(seed=11)
        moves = np.random.default_rng(0).integers(4, size=(40, 8, 6))
        told.append([(envs.step(step)[1].tolist(), envs.maze_index.tolist()) for step in moves])
    assert told[0] == told[1]
