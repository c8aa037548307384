"""WordCraft as Gymnasium calls it, in batches too, and saving their state."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftEnv, WordCraftVectorEnv, make_split


@pytest.mark.parametrize("more", [{}, {"depth": 2, "num_distractors": 3}, {"features": "random"}])
def test_checkers_pass_without_a_warning(book, more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("gumption/WordCraft-v0", recipe_book=book, **more).unwrapped
        check_env(env, skip_render_check=False)
        if "features" not in more:  # SB3 advises to flatten two-dimensional features
            from stable_baselines3.common.env_checker import check_env as check_for_sb3

            check_for_sb3(env)


def test_make_vec_takes_the_native_batch(book):
    envs = gym.make_vec("gumption/WordCraft-v0", num_envs=7, recipe_book=book)
    assert isinstance(envs.unwrapped, WordCraftVectorEnv)
    observation, infos = envs.reset(seed=3)
    assert observation in envs.observation_space
    assert infos["success"].tolist() == [False] * 7
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    again, _ = envs.reset(seed=3)
    assert all(np.array_equal(again[name], observation[name]) for name in observation)
    later, _ = envs.reset()
    assert not np.array_equal(later["table_index"], observation["table_index"])


def same(single, batch):
    return all(np.array_equal(single[name], batch[name][0]) for name in single)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_single_env_is_a_batch_of_one(book, mode):
    options = {"recipe_book": book, "depth": 2, "num_distractors": 3, "features": "onehot"}
    single, batch = WordCraftEnv(**options), WordCraftVectorEnv(1, autoreset_mode=mode, **options)
    expected, info = single.reset(seed=5)
    observation, infos = batch.reset(seed=5)
    rng = np.random.default_rng(0)
    over = False
    for _ in range(300):
        assert same(expected, observation)
        for name in ("success", "invalid_action", "invalid_actions", "action_mask"):
            assert np.array_equal(infos[name][0], info[name])
            assert infos[f"_{name}"].all()
        if mode == AutoresetMode.DISABLED and over:
            with pytest.raises(ResetNeeded):
                batch.step(np.array([0]))
            observation, infos = batch.reset(options={"reset_mask": np.array([True])})
            expected, info = single.reset()
            over = False
            continue
        action = int(rng.integers(0, single.action_space.n))
        observation, reward, terminated, truncated, infos = batch.step(np.array([action]))
        if mode == AutoresetMode.NEXT_STEP and over:
            expected, info = single.reset()
            assert not terminated[0]
            assert reward[0] == 0
            over = False
            continue
        expected, wanted, over, _, info = single.step(action)
        assert (reward[0], terminated[0], truncated[0]) == (wanted, over, False)
        if mode == AutoresetMode.SAME_STEP and over:
            assert infos["_final_obs"].all()
            assert all(np.array_equal(infos["final_obs"][0][name], expected[name]) for name in expected)
            assert infos["final_info"]["success"][0] == info["success"]
            expected, info = single.reset()


def test_final_observations_are_given_for_ended_environments_only(book):
    env = WordCraftVectorEnv(6, recipe_book=book, split=None, autoreset_mode=AutoresetMode.SAME_STEP)
    env.reset(seed=0)
    first_half = np.arange(6) < 3
    env.step(env.random_actions())
    env.reset(options={"reset_mask": first_half})
    for step in range(6):
        _, _, ended, _, infos = env.step(env.random_actions())
        assert np.array_equal(ended, ~first_half if step % 2 == 0 else first_half)
        assert np.array_equal(infos["_final_obs"], ended)
        assert np.array_equal([x is not None for x in infos["final_obs"]], ended)
        assert not (infos["success"] & ended).any()
    env.reset(seed=0)
    assert "final_obs" not in env.step(env.random_actions())[4]


def test_lean_steps_agree_with_full_steps(book):
    options = {"recipe_book": book, "depth": 2, "num_distractors": 3}
    full = WordCraftVectorEnv(5, autoreset_mode=AutoresetMode.SAME_STEP, **options)
    lean = WordCraftVectorEnv(5, **options)
    full.reset(seed=1)
    lean.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        actions = rng.integers(lean.engine.slots, size=5)
        observation, reward, terminated, _, infos = full.step(actions)
        lean_reward, done, success = lean.step_arrays(actions)
        assert np.array_equal(reward, lean_reward.astype(float))
        assert np.array_equal(terminated, done)
        if done.any():
            assert np.array_equal(infos["final_info"]["success"], success)
        assert np.array_equal(observation["table_index"], lean.table)
        assert np.array_equal(observation["goal_index"], lean.goal)
        assert np.array_equal(observation["selection_index"][:, 0], lean.selection)
        assert np.array_equal(observation["action_mask"], lean.action_mask)


def test_lean_steps_after_full_ones_renew_what_had_ended(book):
    env = WordCraftVectorEnv(3, recipe_book=book)
    env.step_arrays(np.zeros(3, dtype=int))
    env.step(np.zeros(3, dtype=int))
    env.step_arrays(np.zeros(3, dtype=int))
    assert (env.engine.steps == 1).all()


def test_observations_are_not_live(book):
    env = WordCraftVectorEnv(3, recipe_book=book, depth=2)
    observation, _ = env.reset(seed=0)
    kept = {name: array.copy() for name, array in observation.items()}
    for _ in range(20):
        env.step(env.random_actions())
    assert all(np.array_equal(observation[name], kept[name]) for name in kept)


def test_set_tasks(book):
    env = WordCraftVectorEnv(8, recipe_book=book, split=None, num_distractors=3)
    env.set_tasks(np.arange(5))
    assert env.task_index[:5].tolist() == list(range(5))
    env.set_tasks(np.array([20, 21]), envs=np.array([7, 0]))
    assert env.task_index[[7, 0, 1]].tolist() == [20, 21, 1]
    assert env.goal[7] == env.tasks.goal[20]
    with pytest.raises(InputError, match="9 episodes for 8 environments"):
        env.set_tasks(np.arange(9))
    with pytest.raises(InputError, match="between 0 and 34"):
        env.set_tasks(np.array([35]))


def test_partitions_play_their_tasks(book):
    split = make_split(book, "by_recipe", 0.6, seed=2)
    for partition in ("train", "validation", "test", "all"):
        tasks = split.tasks(partition)
        env = WordCraftVectorEnv(400, recipe_book=book, train_ratio=0.6, split_seed=2, partition=partition)
        env.reset(seed=0)
        assert set(env.task_index.tolist()) == set(tasks.tolist())


@pytest.mark.parametrize("depth", [1, 2])
def test_resume_is_exact(book, depth):
    def new():
        return WordCraftVectorEnv(6, recipe_book=book, depth=depth, num_distractors=3)

    env = new()
    env.reset(seed=3)
    for _ in range(700):
        env.step_arrays(env.random_actions())
    env.step(env.random_actions())
    state = env.state_dict()
    resumed = new()
    resumed.load_state_dict(state)
    for _ in range(900):
        actions = env.random_actions()
        assert np.array_equal(actions, resumed.random_actions())
        for one, other in zip(env.step_arrays(actions), resumed.step_arrays(actions), strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(env.table, resumed.table)
        assert np.array_equal(env.task_index, resumed.task_index)


def test_state_of_another_world_is_refused(book, alchemy):
    env = WordCraftVectorEnv(2, recipe_book=book)
    env.reset(seed=0)
    state = env.state_dict()
    with pytest.raises(InputError, match="another book"):
        WordCraftVectorEnv(2, recipe_book=alchemy).load_state_dict(state)
    with pytest.raises(InputError, match="another split"):
        WordCraftVectorEnv(2, recipe_book=book, split_seed=1).load_state_dict(state)
    with pytest.raises(InputError, match="is a batch of 2, here 3"):
        WordCraftVectorEnv(3, recipe_book=book).load_state_dict(state)
