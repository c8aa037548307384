"""Players that learn nothing: what a learner has to beat."""

from typing import Any

import numpy as np

from gumption.envs.physics.entities import GoalTile, GolfBall
from gumption.envs.physics.factors import Mass, Position, Velocity
from gumption.envs.segar.env import SegarVectorEnv

#: Of the scripted player: the speed that it wants, in 1/s, times the distance to the goal.
APPROACH = 4.0


def random_player(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """Forces drawn uniformly from the box of actions."""
    bound = env.settings.action_max
    return env.np_random.uniform(-bound, bound, (env.num_envs, 2))


def no_action(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """No force at all."""
    return np.zeros((env.num_envs, 2))


def scripted(env: SegarVectorEnv, observation: Any) -> np.ndarray:
    """A proportional-derivative controller that people wrote: it reads where the ball and the goal are, and how fast
    and heavy the ball is, and goes straight to the goal whatever is on the way."""
    state, mine = env.state, np.arange(env.num_envs)
    actor, goal = state.first(GolfBall), state.first(GoalTile)
    x, v = state.columns[Position], state.columns[Velocity]
    wanted = APPROACH * (x[:, goal, mine] - x[:, actor, mine])
    force = state.columns[Mass][0, actor, mine] * (wanted - v[:, actor, mine])
    return np.clip(force, -env.settings.action_max, env.settings.action_max).T


BASELINES = {"random": random_player, "no action": no_action, "scripted": scripted}
