"""A batch of ours as a VecEnv of Stable-Baselines3."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import WordCraftVectorEnv, facts

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import VecMonitor

from gumption.envs.sb3_adapter import SB3VecEnv

SAME_STEP = AutoresetMode.SAME_STEP


@pytest.fixture
def batch(book):
    def make(num_envs=4, **more):
        return WordCraftVectorEnv(num_envs, recipe_book=book, autoreset_mode=SAME_STEP, **more)

    return make


def test_it_gives_what_the_vector_env_gives(batch):
    env, same = SB3VecEnv(batch()), batch()
    assert env.num_envs == 4
    assert env.observation_space == same.single_observation_space
    assert env.action_space == same.single_action_space
    env.seed(3)
    seen = env.reset()
    expected, infos = same.reset(seed=3)
    ended = 0
    for _ in range(30):
        for name, part in expected.items():
            assert np.array_equal(seen[name], part)
        assert np.array_equal(np.stack(env.env_method("action_masks")), infos["action_mask"] == 1)
        actions = seen["action_mask"].argmax(1)
        seen, reward, done, told = env.step(actions)
        expected, rewards, terminated, truncated, infos = same.step(actions)
        assert reward.dtype == np.float32
        assert np.allclose(reward, rewards)
        assert np.array_equal(done, terminated | truncated)
        for i in range(4):
            if done[i]:
                last = told[i]["terminal_observation"]
                assert all(np.array_equal(last[name], infos["final_obs"][i][name]) for name in expected)
                assert told[i]["success"] == told[i]["is_success"] == infos["final_info"]["success"][i]
                assert told[i]["TimeLimit.truncated"] is False
            else:
                assert told[i] == {}
        ended += done.sum()
    assert ended > 10


def test_an_episode_that_is_cut_short_says_so():
    env = SB3VecEnv(HALMAVectorEnv(2, num_mazes=2, max_steps=3, max_opt_len=1, autoreset_mode=SAME_STEP))
    env.seed(0)
    env.reset()
    cut = []
    for _ in range(3):
        *_, done, told = env.step(np.zeros((2, 2), dtype=np.int64))
        cut += [told[i]["TimeLimit.truncated"] for i in np.flatnonzero(done)]
    assert cut == [True, True]


def test_last_observations_have_scores(batch, book, look_up):
    inner = batch()
    env = SB3VecEnv(KGScores(inner, look_up(facts(book, partition="all"), inner.vocabulary, ["componentOf"])))
    seen = env.reset()
    done = np.zeros(4, dtype=bool)
    while not done.any():
        seen, _, done, told = env.step(seen["action_mask"].argmax(1))
    for i in np.flatnonzero(done):
        assert told[i]["terminal_observation"] in env.observation_space


def test_seeds_are_used_once(batch):
    env = SB3VecEnv(batch())
    assert env.seed(5) == [5, 6, 7, 8]
    first = env.reset()["table_index"]
    second = env.reset()["table_index"]
    env.seed(5)
    assert np.array_equal(env.reset()["table_index"], first)
    assert not np.array_equal(second, first)


def test_reset_options_are_those_of_all(batch):
    env = SB3VecEnv(batch())
    env.set_options({"goal": "mud", "table": ["water", "earth", "fire"]})
    goals = env.reset()["goal_index"]
    assert {env.get_attr("vocabulary")[0][goal] for goal in goals} == {"mud"}
    assert env.reset()["goal_index"].tolist() != goals.tolist()  # used once
    env.set_options([{"goal": "mud", "table": ["water", "earth"]}, {}, {}, {}])
    with pytest.raises(InputError, match="options differ between environments"):
        env.reset()


def test_attributes_and_methods_are_dealt_out(batch):
    env = SB3VecEnv(RecordEpisodeStatistics(batch()))
    env.reset()
    assert env.get_attr("goal", indices=[1, 2]) == env.env.unwrapped.goal[1:3].tolist()
    assert env.get_attr("render_mode") == [None] * 4
    assert env.env_method("describe", 2)[0]["success"] is False
    assert [mask().tolist() for mask in env.get_attr("action_masks", indices=1)] == [
        env.env_method("action_masks")[1].tolist()
    ]
    assert env.has_attr("action_masks")
    assert not env.has_attr("colour")
    assert env.env_is_wrapped(RecordEpisodeStatistics) == [True] * 4
    assert env.env_is_wrapped(VecMonitor, indices=0) == [False]
    env.set_attr("colour", "red")
    assert env.get_attr("colour", indices=0) == ["red"]
    with pytest.raises(InputError, match="cannot be set for some environments of a batch"):
        env.set_attr("colour", "blue", indices=[0, 1])


class Switches(gym.vector.VectorEnv):
    """Two switches with masks of their own; nothing ends."""

    num_envs = 2
    metadata = {"autoreset_mode": SAME_STEP}  # noqa: RUF012
    render_mode = None
    single_observation_space = spaces.Box(0, 1, (1,), np.float32)
    single_action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros((2, 1), dtype=np.float32), {}

    def action_masks(self):
        return np.array([[True, False], [False, True]])


def test_masks_of_the_env_come_first_and_may_be_missing(batch):
    env = SB3VecEnv(Switches())
    assert [mask.tolist() for mask in env.env_method("action_masks")] == [[True, False], [False, True]]
    Plain = type("Plain", (gym.vector.VectorEnv,), {**vars(Switches), "action_masks": None})
    del Plain.action_masks
    plain = SB3VecEnv(Plain())
    plain.reset()
    assert not plain.has_attr("action_masks")
    with pytest.raises(AttributeError, match="has no attribute 'action_masks'"):
        plain.env_method("action_masks")


def test_frames_are_those_of_the_env(batch):
    env = SB3VecEnv(batch(2, render_mode="rgb_array"))
    env.reset()
    assert [frame.shape for frame in env.get_images()] == [frame.shape for frame in env.env.render()]
    assert env.render().ndim == 3
    assert SB3VecEnv(batch(2)).get_images() == [None, None]


def test_another_time_of_the_reset_is_refused(book):
    with pytest.raises(InputError, match=r'NEXT_STEP; .*make the env with autoreset_mode="SameStep"'):
        SB3VecEnv(WordCraftVectorEnv(2, recipe_book=book))


def test_without_stable_baselines3_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "gumption.envs.sb3_adapter")
    with pytest.raises(InputError, match=r"pip install 'gumption\[sb3\]'"):
        import gumption.envs.sb3_adapter  # noqa: F401
