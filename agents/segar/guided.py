"""Agents that choose among pushes of PuttPutt, with knowledge and without, and how they do on levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.world_config import WorldConfig
from gumption.agents.world_setup import WorldPolicy, make_policy
from gumption.data.settings import Count, Seed, Size, checked
from gumption.envs import worlds
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.physics.entities import GoalTile, GolfBall
from gumption.envs.physics.factors import Position
from gumption.envs.segar.configurations import Split
from gumption.envs.segar.env import SegarVectorEnv

ID = "gumption/PuttPutt-v0"
DIRECTIONS = 16
#: What the ball, the goal and the tiles are, as numbers. It does not tell which tile is a hole.
OBSERVATION = {
    "kind": "multimodal",
    "parts": {
        "ball": {"kind": "entity", "id": "golfball", "factors": ["Position", "Velocity", "Mass"]},
        "goal": {"kind": "entity", "id": "goal", "factors": ["Position"]},
        "tiles": {"kind": "tiles", "n_things": 4, "factors": ["Position", "Heat", "Friction"], "unique_ids": ["goal"]},
    },
}
#: What the relations are worth to the player whose weights people chose.
BY_HAND = {"affordsReaching": 2.0, "affordsBurning": -1.0, "affordsFallingIn": -3.0}
#: Of the scores in an observation. A graph that is looked up says 0 or 1, and 0 of pushes that meet nothing.
BOUND = 1.0
#: Of the scripted player: the velocity that it wants, in 1/s, times the way to the goal.
APPROACH = 15.0

#: (environments, observation) -> (B,) actions.
Player = Callable[[SegarVectorEnv, Any], np.ndarray]


class Outcome(NamedTuple):
    """What came of playing each of n levels once, (n,) each.

    :ivar returns: the sum of rewards.
    :ivar success: the goal was reached; `destroyed` the ball was; `consumed` it fell into a hole.
    """

    returns: np.ndarray
    success: np.ndarray
    destroyed: np.ndarray
    consumed: np.ndarray

    def figures(self) -> dict[str, float]:
        """The means."""
        named = {"return": self.returns, **{name: getattr(self, name) for name in self._fields[1:]}}
        return {name: float(values.mean()) for name, values in named.items()}


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


def level_env(where: Mapping[str, Any], partition: Split, advice: Advice | None = None) -> Any:
    """An environment for each level.

    :param where: arguments of `env_settings`.
    :param advice: whose scores are put into the observation.
    """
    settings = env_settings(**where, partition=partition)
    env = gym.make_vec(ID, num_envs=settings["num_levels"], **settings)
    return env if advice is None else KGScores(env, advice, bound=BOUND)


def advice_of(config: WorldConfig) -> Advice:
    """What the config's knowledge says."""
    env: Any = gym.make_vec(ID, num_envs=1, **dict(config.env)).unwrapped
    world = worlds.find(config.world)
    knowledge = Knowledge.of(config, world, env.vocabulary, env.relations, device=config.device)
    return knowledge.advice(env.vocabulary, env.relations)


def play_each_level(env: Any, player: Player, seed: Seed = 0) -> Outcome:
    """Play each level once.

    :param env: a vector env, perhaps with `KGScores`, of as many environments as it has levels; its autoreset is in the
        next step.
    """
    batch: SegarVectorEnv = env.unwrapped
    n = batch.num_envs
    seen, _ = env.reset(seed=seed)
    for i in range(n):
        seen, _ = env.reset(options={"level": i, "reset_mask": np.arange(n) == i})
    returns, playing = np.zeros(n), np.ones(n, dtype=bool)
    success, destroyed, consumed = np.zeros((3, n), dtype=bool)
    while playing.any():
        seen, reward, terminated, truncated, infos = env.step(player(batch, seen))
        returns[playing] += reward[playing]
        ended = playing & terminated
        success |= ended & infos["success"]
        destroyed |= ended & ~infos["alive"]
        playing &= ~(terminated | truncated)
        consumed |= ended & ~success & ~destroyed
    return Outcome(returns, success, destroyed, consumed)


# ---- players


def random_player(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """Any push, each alike."""
    return env.np_random.integers(env.settings.directions + 1, size=env.num_envs)


def no_push(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """None at all."""
    return np.zeros(env.num_envs, dtype=np.int64)


def scripted(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """A controller that people wrote: the push after which the velocity is nearest to `APPROACH` times the way to the
    goal, whatever is on that way. It reads where the ball and the goal are and what a push does."""
    x, mine = env.state.columns[Position], np.arange(env.num_envs)
    way = x[:, env.state.first(GoalTile), mine] - x[:, env.state.first(GolfBall), mine]
    off = env.pushed() - APPROACH * way.T[:, None]
    return (off**2).sum(axis=2).argmin(axis=1)


class FollowsScores:
    """Takes the push with the highest weighted sum of scores, one of the best at random; nothing is learned."""

    def __init__(self, advice: Advice, weights: Mapping[str, float] | None = None) -> None:
        """
        :param weights: of the relations, 0 for one that is not named; None adds up all scores as they are.
        """
        self._advice = advice
        given = weights if weights is not None else dict.fromkeys(advice.relations, 1.0)
        self._weights = np.array([given.get(relation, 0.0) for relation in advice.relations])

    def __call__(self, env: SegarVectorEnv, observation: Any) -> np.ndarray:
        """See `Player`."""
        sums = self._advice(env).numpy() @ self._weights
        best = np.isclose(sums, sums.max(axis=1, keepdims=True))
        return np.where(best, env.np_random.random(sums.shape), -1.0).argmax(axis=1)


class Trained:
    """Takes the most probable push of a policy of the general learner."""

    def __init__(self, policy: WorldPolicy, *, without_knowledge: bool = False) -> None:
        """
        :param without_knowledge: every score that it reads is 0.
        """
        self._policy, self._without = policy.eval(), without_knowledge

    @torch.no_grad()
    def __call__(self, env: SegarVectorEnv, observation: Any) -> np.ndarray:
        """See `Player`."""
        state = self._policy.read(env)
        if self._without:
            state = state._replace(scores=torch.zeros_like(state.scores))
        return self._policy(state).logits.argmax(1).cpu().numpy()


def untrained(config: WorldConfig, advice: Advice | None) -> Trained:
    """The policy with which training begins, with the advice of its knowledge."""
    env: Any = gym.make_vec(ID, num_envs=1, **dict(config.env)).unwrapped
    env.reset(seed=config.seed)
    with torch.random.fork_rng(devices=[] if not torch.cuda.is_available() else None):
        torch.manual_seed(config.seed)
        return Trained(make_policy(config, env, advice))


# ---- PPO of Stable-Baselines3


@checked
def train_ppo(
    settings: Mapping[str, Any], advice: Advice | None, total_steps: Count, seed: Seed, **parameters: Any
) -> Any:
    """PPO of Stable-Baselines3 on the same observations and pushes.

    :param settings: of the environment.
    :param advice: whose scores are put into the observation.
    :param parameters: of PPO, those that differ from its defaults.
    """
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    from gumption.envs.sb3_adapter import SB3VecEnv

    env: Any = gym.make_vec(ID, num_envs=64, autoreset_mode="SameStep", **settings)
    batch = SB3VecEnv(env if advice is None else KGScores(env, advice, bound=BOUND))
    scaled = VecNormalize(batch, norm_obs=False)  # else the -100 of a ball that is destroyed drowns all other rewards
    return PPO("MultiInputPolicy", scaled, seed=seed, device="cpu", **parameters).learn(total_steps)


class PPOPlayer:
    """Takes the most probable push of a model of Stable-Baselines3."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, env: SegarVectorEnv, observation: Any) -> np.ndarray:
        """See `Player`."""
        return self._model.predict(observation, deterministic=True)[0]
