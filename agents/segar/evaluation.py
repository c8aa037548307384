"""How well a player does on levels: each is played once, in independent roll-outs."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from gumption.data.settings import Seed, checked
from gumption.envs.segar import env as environments
from gumption.envs.segar.configurations import Levels
from gumption.envs.segar.env import SegarVectorEnv
from gumption.envs.segar.observations import ObservationSettings


class Player(Protocol):
    """Who chooses forces."""

    def __call__(self, env: SegarVectorEnv, observation: Any) -> np.ndarray:
        """Forces (B, 2) of a batch of environments."""
        ...


class Score(NamedTuple):
    """What came of playing levels.

    :ivar returns: (n,) the sum of all rewards of each episode, the last one included.
    :ivar successes: (n,) bool: the goal was reached. :ivar lengths: (n,) steps.
    """

    returns: np.ndarray
    successes: np.ndarray
    lengths: np.ndarray

    def figures(self, prefix: str) -> dict[str, float]:
        """Means, as PREFIX_return and PREFIX_success."""
        return {f"{prefix}_return": float(self.returns.mean()), f"{prefix}_success": float(self.successes.mean())}


def make_env(task: str, levels: Levels, observation: ObservationSettings, num_envs: int) -> SegarVectorEnv:
    """A batch whose next episodes begin in the same step, as learners want it."""
    kind = getattr(environments, f"{task}VectorEnv")
    return kind(num_envs, autoreset_mode="SameStep", levels=levels, observation=observation)


def begin_levels(env: SegarVectorEnv, seed: int) -> Any:
    """Put environment i on level i; the first observation."""
    env.reset(seed=seed)
    for i in range(env.num_envs):
        env.set_up(np.array([i]), {"level": i}, env.np_random)
    return env.observe()


@checked
def play_levels(player: Any, task: str, levels: Levels, observation: ObservationSettings, *, seed: Seed = 0) -> Score:
    """Play each level once.

    :param player: see `Player`; one that draws at random takes the generator of the environments.
    """
    env = make_env(task, levels, observation, len(levels))
    seen = begin_levels(env, seed)
    returns, lengths = np.zeros(len(levels)), np.zeros(len(levels), dtype=np.int64)
    successes, playing = np.zeros(len(levels), dtype=bool), np.ones(len(levels), dtype=bool)
    while playing.any():
        reward, over, success = env.step_arrays(player(env, seen))
        seen = env.observe()
        returns[playing] += reward[playing]
        lengths += playing
        successes |= success & playing
        playing &= ~over
    return Score(returns, successes, lengths)
