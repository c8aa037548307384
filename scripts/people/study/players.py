"""Agents that take part in a study: they play the same tasks as participants."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts.people.web.views import view_of

from .design import Task
from .tasks import begin

#: (batch, bool array (1,): whether an episode begins) -> actions, shape (1, ...).
Player = Callable[[Any, np.ndarray], np.ndarray]
POLICIES = "random, oracle, scripted, or run:FOLDER of a trained run"
#: Policies that a world may offer -> their names in tables.
OFFERED = {"oracle": "oracle", "scripted": "scripted (people wrote it)"}


@cache
def player_of(policy: str, world: str) -> Player:
    """Return the player of a policy in a world, which is shared by all episodes of all participants.

    :param policy: "random"; "oracle", which reads the solution; "scripted", written by hand; or "run:FOLDER".
    :raises InputError: no such policy, the world does not offer it, or a run of another world.
    """
    from gumption.agents.evaluation import Greedy

    entry = worlds.find(world)
    if policy == "random":
        return random_actions
    if policy in OFFERED:
        player = entry.get(policy)
        if player is None:
            others = ", ".join(["random", *(name for name in OFFERED if name in entry.offers)])
            raise InputError(f"the world {world!r} offers no policy {policy!r}; others are {others} and run:FOLDER")
        return player
    if policy.startswith("run:"):
        from gumption.agents.run_folder import load_policy, world_of

        run = Path(policy.removeprefix("run:"))
        if (its := world_of(run).name) != world:
            raise InputError(f"{run}: is a run of {its}, and the study's task is one of {world}")
        if (player := entry.get("run_player")) is not None:
            return player(run)
        return Greedy(load_policy(run)[1])
    raise InputError(f"--policy is {policy!r}; it can be {POLICIES}")


def random_actions(batch: Any, first: np.ndarray) -> np.ndarray:
    """Draw actions uniformly from the open choices; in MultiDiscrete and Box spaces, each component uniformly."""
    from gymnasium import spaces

    from gumption.agents.evaluation import random_player

    space, rng = batch.single_action_space, batch.np_random
    if isinstance(space, spaces.MultiDiscrete):
        return rng.integers(space.nvec, size=(batch.num_envs, *space.shape))
    if isinstance(space, spaces.Box):
        return rng.uniform(space.low, space.high, size=(batch.num_envs, *space.shape))
    return random_player(batch, first)


class Agent:
    """A policy that plays a task in a separate environment.

    In a real-time world it waits after each action until nothing moves, as in training.
    """

    def __init__(self, policy: str, task: Task, seed: int) -> None:
        """:param seed: seed of the policy's random choices.

        :raises InputError: as `player_of`, or the environment has no batch.
        """
        self.view, self.player = view_of(worlds.find(task.world)), player_of(policy, task.world)
        self.env, _ = begin(task)
        if not hasattr(self.env, "batch"):
            raise InputError("agents play environments with a batch of one; this world's have none")
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._first = True

    def choose(self) -> Any:
        """Return the next action, as a page names it. Call `make` with it next, since players may have a memory."""
        batch = self.env.batch
        own, batch.np_random = batch.np_random, self._rng  # the policy's draws must not change the world's
        try:
            [action] = np.asarray(self.player(batch, np.array([self._first]))).tolist()
        finally:
            batch.np_random = own
        self._first = False
        for choice in self.view.choices(self.env):
            if self.view.parse(choice["action"], self.env) == action:
                return choice["action"]
        return self.view.name(action, self.env)

    def make(self, action: Any) -> tuple[bool, bool, float]:
        """Make an action; return whether the episode is over, whether it is solved, and its seconds of world time."""
        live = self.view.live
        before = 0 if live is None else live.step(self.env)
        *_, terminated, truncated, info = self.env.step(self._numbers(self.view.parse(action, self.env)))
        seconds = 0.0 if live is None else max(0, live.step(self.env) - before) / live.rate
        return bool(terminated or truncated), bool(info.get("success")), seconds

    def _numbers(self, action: Any) -> Any:
        return np.asarray(action, dtype=self.env.action_space.dtype) if isinstance(action, list) else action


def can_play(task: Task) -> bool:
    """Return whether agents can play a task with the same actions that a page sends."""
    try:
        agent = Agent("random", task, 0)
        agent.view.parse(agent.choose(), agent.env)
    except InputError:
        return False
    return True


def played(policy: str, task: Task, seed: int) -> dict[str, Any]:
    """Play a task with a policy; return success, number of attempts and actions, and the first action.

    :param seed: seed of the policy's random choices.
    :raises InputError: as `Agent`.
    """
    agent = Agent(policy, task, seed)
    made: list[Any] = []
    over = solved = False
    while not over:
        made.append(agent.choose())
        over, solved, _ = agent.make(made[-1])
    return {"success": solved, "attempts": agent.view.attempt(agent.env), "actions": len(made), "first": made[0]}
