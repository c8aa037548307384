"""Agents that choose among pushes of PuttPutt, with knowledge and without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from gumption.agents.advice import Advice
from gumption.agents.evaluation import Player
from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import WorldConfig
from gumption.data.settings import Count, Seed, Size, checked
from gumption.envs import worlds
from gumption.envs.kg_wrapper import KG_SCORES, KGScores
from gumption.envs.segar.configurations import Split
from gumption.envs.segar.env import SegarVectorEnv

ID = "gumption/PuttPutt-v0"
DIRECTIONS = 16
#: The ball, the goal and the tiles as numbers. It does not show which tile is a hole.
OBSERVATION = {
    "kind": "multimodal",
    "parts": {
        "ball": {"kind": "entity", "id": "golfball", "factors": ["Position", "Velocity", "Mass"]},
        "goal": {"kind": "entity", "id": "goal", "factors": ["Position"]},
        "tiles": {"kind": "tiles", "n_things": 4, "factors": ["Position", "Heat", "Friction"], "unique_ids": ["goal"]},
    },
}
#: The weights that people chose for the relations.
BY_HAND = {"affordsReaching": 2.0, "affordsBurning": -1.0, "affordsFallingIn": -3.0}
#: The bound of scores in an observation. Look-up in a graph gives 0 or 1, and 0 for pushes that meet nothing.
BOUND = 1.0


@checked
def env_settings(levels: str, level_seed: Seed, num_levels: Size = 100, partition: Split = "train") -> dict[str, Any]:
    """Settings of an environment in which these agents play."""
    return {
        "levels": levels,
        "level_seed": level_seed,
        "num_levels": num_levels,
        "partition": partition,
        "directions": DIRECTIONS,
        "observation": OBSERVATION,
    }


def level_env(where: Mapping[str, Any], partition: Split) -> Any:
    """An environment for each level; `where` are arguments of `env_settings`."""
    settings = env_settings(**where, partition=partition)
    return gym.make_vec(ID, num_envs=settings["num_levels"], **settings)


def advice_of(config: WorldConfig) -> Advice:
    """The advice of the config's knowledge."""
    env: Any = gym.make_vec(ID, num_envs=1, **dict(config.env)).unwrapped
    world = worlds.find(config.world)
    knowledge = Knowledge.of(config, world, env.vocabulary, env.relations, device=config.device)
    return knowledge.advice(env.vocabulary, env.relations)


def follows_scores(advice: Advice, weights: Mapping[str, float] | None = None) -> Player:
    """A player that takes the push with the highest weighted sum of scores, one of the best at random, and learns
    nothing.

    :param weights: of the relations, 0 for the others; None adds up all scores as they are.
    """
    given = weights if weights is not None else dict.fromkeys(advice.relations, 1.0)
    factors = np.array([given.get(relation, 0.0) for relation in advice.relations])

    def player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        sums = advice(env).numpy() @ factors
        best = np.isclose(sums, sums.max(axis=1, keepdims=True))
        return np.where(best, env.np_random.random(sums.shape), -1.0).argmax(axis=1)

    return player


@checked
def train_ppo(
    settings: Mapping[str, Any], advice: Advice | None, total_steps: Count, seed: Seed, **parameters: Any
) -> Any:
    """PPO of Stable-Baselines3 on the same observations and pushes.

    :param settings: of the environment.
    :param advice: adds its scores to the observation.
    :param parameters: of PPO, where they differ from its defaults.
    """
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    from gumption.envs.sb3_adapter import SB3VecEnv

    env: Any = gym.make_vec(ID, num_envs=64, autoreset_mode="SameStep", **settings)
    batch = SB3VecEnv(env if advice is None else KGScores(env, advice, bound=BOUND))
    scaled = VecNormalize(batch, norm_obs=False)  # else the -100 of a ball that is destroyed drowns all other rewards
    return PPO("MultiInputPolicy", scaled, seed=seed, device="cpu", **parameters).learn(total_steps)


def ppo_player(model: Any, advice: Advice | None) -> Player:
    """A player that takes the most probable push of a model of `train_ppo`, trained with this advice."""

    def player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        seen: Any = env.observe()
        if advice is not None:
            seen[KG_SCORES] = advice(env).numpy().clip(-BOUND, BOUND)
        return model.predict(seen, deterministic=True)[0]

    return player
