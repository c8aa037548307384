"""Agents that take part in a study: they play the very tasks of participants."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.envs import worlds

from .design import Task, seed_of
from .tasks import begin

#: (batch, (1,) bool of whether an episode begins) -> actions (1, ...).
Player = Callable[[Any, np.ndarray], np.ndarray]
POLICIES = "random, oracle, or run:FOLDER of a trained run"


@cache
def player_of(policy: str, world: str) -> Player:
    """The player of a policy in a world.

    :param policy: "random"; "oracle", which is told the solution; or "run:FOLDER".
    :raises InputError: no such policy, a world without an oracle, or a run of another world.
    """
    from gumption.agents.evaluation import Greedy, random_player

    entry = worlds.find(world)
    if policy == "random":
        return random_player
    if policy == "oracle":
        oracle = entry.get("oracle")
        if oracle is None:
            raise InputError(f"the world {world!r} offers no oracle; other policies are random and run:FOLDER")
        return oracle
    if policy.startswith("run:"):
        from gumption.agents.run_folder import world_of
        from gumption.agents.setup import load_policy

        run = Path(policy.removeprefix("run:"))
        if (its := world_of(run).name) != world:
            raise InputError(f"{run}: is a run of {its}, and the study's task is one of {world}")
        load = entry.get("load") or load_policy
        return Greedy(load(run)[1])
    raise InputError(f"--policy is {policy!r}; it can be {POLICIES}")


def choose(player: Player, env: Any, first: bool) -> Any:
    """The player's action in a single environment, as JSON."""
    if not hasattr(env, "batch"):
        raise InputError("agents play environments with a batch of one; this world's have none")
    action = np.asarray(player(env.batch, np.array([first])))[0]
    return action.tolist()


def played(policy: str, task: Task) -> dict[str, Any]:
    """What a task comes to for a policy: success and actions.

    :raises InputError: as `player_of`.
    """
    env, _ = begin(task)
    # Drawn tasks share a seed; chance has to differ between them.
    env.batch.np_random = np.random.Generator(np.random.PCG64(seed_of(task.seed, sorted(task.settings.items()))))
    player, over, actions, info = player_of(policy, task.world), False, 0, {}
    while not over:
        *_, terminated, truncated, info = env.step(_action(choose(player, env, actions == 0), env))
        over, actions = bool(terminated or truncated), actions + 1
    return {"success": bool(info.get("success")), "actions": actions}


def _action(action: Any, env: Any) -> Any:
    return action if isinstance(action, int) else np.asarray(action, dtype=env.action_space.dtype)
