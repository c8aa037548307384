"""Players of SEGAR's levels that learn nothing, and the evaluation that plays each level once.

Players act by forces in a box, or by one of so many pushes (`directions`), as the environment is set.
"""

from typing import Any

import numpy as np

from gumption.agents.evaluation import Rows, play
from gumption.data.settings import Seed, checked
from gumption.envs.physics.entities import GoalTile, GolfBall
from gumption.envs.physics.factors import Mass, Position, Velocity
from gumption.envs.segar import env as environments
from gumption.envs.segar.configurations import Levels
from gumption.envs.segar.env import SegarVectorEnv
from gumption.envs.segar.observations import ObservationSettings

#: The scripted player wants a velocity of this rate (1/s) times the way to the goal, by forces and by pushes.
APPROACH, PUSHED = 4.0, 15.0


def random_player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """Draws forces uniformly from the box of actions, or pushes with equal probability."""
    if env.settings.directions:
        return env.np_random.integers(env.settings.directions + 1, size=env.num_envs)
    bound = env.settings.action_max
    return env.np_random.uniform(-bound, bound, (env.num_envs, 2))


def no_action(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """No force, which is the first of the pushes."""
    space = env.single_action_space
    return np.zeros((env.num_envs, *(space.shape or ())), dtype=space.dtype)


def scripted(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """A controller that people wrote: it knows the places of ball and goal and the effect of a force, and goes straight
    to the goal, whatever is on the way. By forces it is proportional-derivative; by pushes it takes the one that leads
    nearest to the velocity that it wants."""
    state, mine = env.state, np.arange(env.num_envs)
    actor, goal = state.first(GolfBall), state.first(GoalTile)
    x, v = state.columns[Position], state.columns[Velocity]
    way = x[:, goal, mine] - x[:, actor, mine]
    if env.settings.directions:
        off = env.pushed() - PUSHED * way.T[:, None]
        return (off**2).sum(axis=2).argmin(axis=1)
    force = state.columns[Mass][0, actor, mine] * (APPROACH * way - v[:, actor, mine])
    return np.clip(force, -env.settings.action_max, env.settings.action_max).T


BASELINES = {"random": random_player, "no action": no_action, "scripted": scripted}


def make_env(task: str, levels: Levels, observation: ObservationSettings, num_envs: int | None = None) -> Any:
    """A batch of `num_envs` environments, by default one for each level, that acts by forces; the next episode begins
    in the same step, as learners need it."""
    given: dict[str, Any] = {"autoreset_mode": "SameStep", "levels": levels, "observation": observation}
    if ":" in task:
        return environments.SegarVectorEnv(num_envs or len(levels), task=task, **given)
    return getattr(environments, f"{task}VectorEnv")(num_envs or len(levels), **given)


def begin_levels(env: SegarVectorEnv, seed: int) -> None:
    """Put environment i on level i."""
    env.reset(seed=seed)
    for i in range(env.num_envs):
        env.set_up(np.array([i]), {"level": i}, env.np_random)


class _Ends:
    """Records how the ball ends; see `gumption.agents.evaluation.Measure`."""

    def __init__(self, size: int) -> None:
        self.destroyed, self.consumed = np.zeros((2, size), dtype=bool)

    def add(self, env: SegarVectorEnv, actions: np.ndarray, playing: np.ndarray) -> None:
        ended = playing & env.results()[1]
        if ended.any() and (alive := env.info_arrays().get("alive")) is not None:
            self.destroyed |= ended & ~alive
            self.consumed |= ended & alive & ~env.success

    def rows(self) -> Rows:
        return {"destroyed": self.destroyed, "consumed": self.consumed}


@checked
def play_levels(player: Any, env: Any, seed: Seed = 0) -> Rows:
    """Play each level once, in independent roll-outs.

    :param player: see `gumption.agents.evaluation`; one that draws at random takes the generator of the environments.
    :param env: of as many environments as it has levels.
    :returns: of each level "return", "success", "steps", and, as bool, "destroyed" and "consumed" (by a hole).
    """
    env = env.unwrapped
    begin_levels(env, seed)
    return play(player, env, measure=_Ends(env.num_envs))
