"""Stable-Baselines3 as a client: PPO and MaskablePPO learn WordCraft from graph scores, and play HALMA."""

import numpy as np
import pytest

from gumption.envs.halma import HALMAEnv
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import WordCraftEnv, WordCraftVectorEnv, facts

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from gumption.envs.sb3_adapter import SB3VecEnv

PARTS = {"split": "by_task", "train_ratio": 0.8, "num_distractors": 3}


@pytest.fixture
def world(book, look_up):
    """Make a world, single or a batch, with what the book's facts say to each choice."""

    def make(num_envs=None, **more):
        if num_envs is None:
            env = WordCraftEnv(recipe_book=book, **PARTS, **more)
        else:
            env = WordCraftVectorEnv(num_envs, recipe_book=book, autoreset_mode="SameStep", **PARTS, **more)
        advice = look_up(facts(book, partition="all"), env.vocabulary, ["combinesWith", "componentOf"])
        return KGScores(env, advice, bound=1.0)

    return make


def success_rate(env, choose, episodes=300):
    observation, _ = env.reset(seed=1)
    won = ended = 0
    while ended < episodes:
        observation, _, over, _, info = env.step(choose(observation, env))
        if over:
            won, ended = won + info["success"], ended + 1
            observation, _ = env.reset()
    return won / ended


@pytest.mark.slow
@pytest.mark.parametrize(("masked", "num_envs"), [(False, None), (True, None), (True, 16)])
def test_learns_from_graph_scores(world, masked, num_envs):
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    algorithm = MaskablePPO if masked else PPO
    model = algorithm(
        "MultiInputPolicy",
        world() if num_envs is None else SB3VecEnv(world(num_envs)),
        n_steps=512 // (num_envs or 1),
        batch_size=128,
        learning_rate=1e-3,
        gamma=0.9,
        seed=0,
        device="cpu",
    )
    model.learn(6_000)
    rng = np.random.default_rng(0)

    def learned(observation, env):
        masks = {"action_masks": env.action_masks()} if masked else {}
        return model.predict(observation, deterministic=True, **masks)[0]

    def random(observation, env):
        return rng.choice(np.flatnonzero(env.action_masks()))

    floor = success_rate(world(partition="test"), random)
    assert floor < 0.15
    assert success_rate(world(partition="test"), learned) > 0.5


@pytest.mark.parametrize("observation", ["symbolic", "visual"])
def test_halma_passes_its_checker(observation):
    from stable_baselines3.common.env_checker import check_env

    # It warns of every observation that is neither a vector nor a picture.
    check_env(HALMAEnv(num_mazes=3, observation=observation), warn=observation == "visual")


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
def test_halma_is_played(masked):
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    env = HALMAEnv(num_mazes=2, max_steps=20, max_opt_len=3)
    algorithm = MaskablePPO if masked else PPO
    model = algorithm("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(128)
    observation, _ = env.reset(seed=0)
    masks = {"action_masks": env.action_masks()} if masked else {}
    option, _ = model.predict(observation, **masks)
    assert option in env.action_space
