"""Players without learning for SEGAR's levels, and an evaluation that plays each level once.

Players act by forces in a box, or choose among the pushes of `directions`, as the environment's settings define.
"""

import inspect
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gumption.agents.evaluation import GivenPlayer, Player, Rows, play
from gumption.data.settings import Seed, checked
from gumption.envs.native import as_actions
from gumption.envs.physics.entities import GoalTile, GolfBall
from gumption.envs.physics.factors import Mass, Position, Velocity
from gumption.envs.segar import env as environments
from gumption.envs.segar.configurations import Levels
from gumption.envs.segar.env import SegarVectorEnv
from gumption.envs.segar.kinds import GATES, THROUGH

from .config import SegarConfig

#: Environment of custom tasks.
OWN = "gumption/SEGAR-v0"
#: The scripted player's target velocity is this rate (1/s) times the vector to the goal, for forces and for pushes.
APPROACH, PUSHED = 4.0, 15.0
#: The player for gates: the height above which the wall is passed, its vertical target, and the alignment tolerance.
WALL_ENDS, RUN_UP, AHEAD = 0.35, 0.6, 0.12


def random_player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """Draw actions uniformly: forces from the box, or one of the pushes; for a custom task, from its action space."""
    space, rng = env.single_action_space, env.np_random
    if isinstance(space, spaces.Discrete):
        return space.start + rng.integers(space.n, size=env.num_envs)
    if isinstance(space, spaces.Box) and space.is_bounded():
        return rng.uniform(space.low, space.high, (env.num_envs, *space.shape))
    env.action_space.seed(int(rng.integers(2**31)))
    return env.action_space.sample()


def no_action(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """Return no force (push 0); for a custom task, the action of its space nearest to zero."""
    space = env.single_action_space
    nothing = np.zeros((env.num_envs, *(space.shape or ())), dtype=space.dtype)
    return np.clip(nothing, space.low, space.high) if isinstance(space, spaces.Box) else nothing


def scripted(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
    """Act by a hand-written controller that reads the positions of ball and goal and the effect of a force. It moves
    straight to the goal, whatever is on the way. With forces it is proportional-derivative; with pushes it chooses the
    push whose velocity is nearest to its target velocity."""
    state, mine = env.state, np.arange(env.num_envs)
    actor, goal = state.first(GolfBall), state.first(GoalTile)
    x, v = state.columns[Position], state.columns[Velocity]
    way = x[:, goal, mine] - x[:, actor, mine]
    if env.settings.directions:
        return _towards(env, way.T)
    force = state.columns[Mass][0, actor, mine] * (APPROACH * way - v[:, actor, mine])
    return np.clip(force, -env.settings.action_max, env.settings.action_max).T


def _towards(env: SegarVectorEnv, way: np.ndarray) -> np.ndarray:
    """Return (B,), the push whose velocity is nearest to `PUSHED` times the vector `way` (B, 2)."""
    off = env.pushed() - PUSHED * way[:, None]
    return (off**2).sum(axis=2).argmin(axis=1)


def through_gates(harmful: Collection[str] | None = None) -> Player:
    """Return a hand-written controller for walls of gates, which moves through the nearest harmless gate.

    :param harmful: labels of harmful gate types; None for the true effects, which makes it an oracle.
    """

    def player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        state, called = env.state, env.dials.called
        harms = [GATES[kind][1] != THROUGH if harmful is None else called[kind.__name__] in harmful for kind in GATES]
        safe = {kind for kind, harm in zip(GATES, harms, strict=True) if not harm}
        fits = np.array([kind in safe for kind in state.type_list])[state.types] & state.present
        ball, goal = state.of(GolfBall, Position), state.of(GoalTile, Position)
        aside = np.where(fits, state.columns[Position][0] - ball[:, 0], np.inf)
        x = aside[np.abs(aside).argmin(axis=0), np.arange(env.num_envs)]
        x = np.where(np.isfinite(x), x, goal[:, 0] - ball[:, 0])  # no harmless gate: straight to the goal
        below = ball[:, 1] < WALL_ENDS
        up = np.where((np.abs(x) > AHEAD) & (ball[:, 1] < -WALL_ENDS), -RUN_UP, RUN_UP) - ball[:, 1]
        return _towards(env, np.where(below[:, None], np.stack([x, up], axis=1), goal - ball))

    return player


BASELINES: dict[str, Player] = {"random": random_player, "no action": no_action, "scripted": scripted}
#: Tasks with a scripted player.
SCRIPTED = ("PuttPutt", "PuttPuttNegDist", "Gates", "Invisiball")


def baselines(task: str) -> dict[str, Player]:
    """Return the players of a task without learning; only variants of PuttPutt have a scripted player."""
    found = {name: player for name, player in BASELINES.items() if name != "scripted" or task in SCRIPTED}
    return found | ({"oracle": through_gates()} if task == "Gates" else {})


def own_player(function: Callable[..., Any], name: str, space: gym.Space[Any]) -> Player:
    """Return a player from a user's function. If its first argument is named env, the function is a player
    (env, first) -> actions, which may read env.state; else it is a policy (observation, info) -> action.

    :param space: space of a single action.
    :raises InputError: (from the player) the function fails, or returns no actions.
    """
    first_argument = ""
    with suppress(ValueError, TypeError):  # functions written in C have no signature
        first_argument = next(iter(inspect.signature(function).parameters), "")
    if first_argument != "env":
        return GivenPlayer(function, space, name=name)

    def act(env: SegarVectorEnv, info: dict[str, Any]) -> np.ndarray:
        return as_actions(function(env, info["first"]), space, (env.num_envs, *(space.shape or ())))

    given = GivenPlayer(act, space, name=name)
    return lambda env, first: given.actions(env, {"first": first}, env.num_envs)


def make_env(task: str, levels: Levels | None, observation: Any, num_envs: int | None = None, **settings: Any) -> Any:
    """Return a batch of `num_envs` environments, by default one per level. The next episode begins in the same step
    (autoreset mode SameStep), as learners require.

    :param task: name of a task, or "module:name" of your own. :param levels: None for the levels of the settings.
    :param settings: further settings, which override these.
    """
    given = {"autoreset_mode": "SameStep", "levels": levels, "observation": observation, **settings}
    count = num_envs or len(levels or ())
    if ":" in task or not hasattr(environments, f"{task}VectorEnv"):
        return gym.make_vec(OWN, count, task=task, **given).unwrapped
    return getattr(environments, f"{task}VectorEnv")(count, **given)


def env_of(config: SegarConfig, levels: Levels, num_envs: int | None = None, **settings: Any) -> Any:
    """Call `make_env` with the config of a run."""
    return make_env(config.task, levels, config.seen(), num_envs, **{**config.played, **settings})


def begin_levels(env: SegarVectorEnv, seed: int) -> None:
    """Reset environment i to level i."""
    env.reset(seed=seed)
    for i in range(env.num_envs):
        env.set_up(np.array([i]), {"level": i}, env.np_random)


class _Ends:
    """Record how the ball ends, if the task reports `alive`; see `gumption.agents.evaluation.Measure`."""

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
def play_levels(player: Any, env: SegarVectorEnv, seed: Seed = 0) -> Rows:
    """Play each level once, in independent roll-outs.

    :param player: see `gumption.agents.evaluation`; a random player uses the generator of the environments.
    :param env: a batch with as many environments as levels.
    :returns: per level "return", "success", "steps", and, as bool, "destroyed" and "consumed" (by a hole).
    """
    begin_levels(env, seed)
    return play(player, env, measure=_Ends(env.num_envs))
