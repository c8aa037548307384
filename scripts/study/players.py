"""Agents that take part in a study: they play the very tasks of participants."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts.web.views import view_of

from .design import Task
from .tasks import begin

#: (batch, (1,) bool of whether an episode begins) -> actions (1, ...).
Player = Callable[[Any, np.ndarray], np.ndarray]
POLICIES = "random, oracle, scripted, or run:FOLDER of a trained run"
#: Players that a world may offer, and how tables call them.
OFFERED = {"oracle": "oracle", "scripted": "scripted (people wrote it)"}


@cache
def player_of(policy: str, world: str) -> Player:
    """The player of a policy in a world, for all episodes of all participants.

    :param policy: "random"; "oracle", which is told the solution; "scripted", which people wrote; or "run:FOLDER".
    :raises InputError: no such policy, a world that does not offer it, or a run of another world.
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
    """One of the open choices, each alike; where actions are no choices, each number of theirs alike."""
    from gymnasium import spaces

    from gumption.agents.evaluation import random_player

    space, rng = batch.single_action_space, batch.np_random
    if isinstance(space, spaces.MultiDiscrete):
        return rng.integers(space.nvec, size=(batch.num_envs, *space.shape))
    if isinstance(space, spaces.Box):
        return rng.uniform(space.low, space.high, size=(batch.num_envs, *space.shape))
    return random_player(batch, first)


class Agent:
    """A policy at a task, in an environment of its own.

    In a world in real time it waits after each action until nothing moves, as agents do that are trained there.
    """

    def __init__(self, policy: str, task: Task, seed: int) -> None:
        """:param seed: of what it draws.

        :raises InputError: as `player_of`, or the world has no batches.
        """
        self.view, self.player = view_of(worlds.find(task.world)), player_of(policy, task.world)
        self.env, _ = begin(task)
        if not hasattr(self.env, "batch"):
            raise InputError("agents play environments with a batch of one; this world's have none")
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._first = True

    def choose(self) -> Any:
        """The next action, as a page names it. It has to be made: players may have a memory."""
        batch = self.env.batch
        own, batch.np_random = batch.np_random, self._rng  # drawn choices change nothing of what the world draws
        try:
            [action] = np.asarray(self.player(batch, np.array([self._first]))).tolist()
        finally:
            batch.np_random = own
        self._first = False
        for choice in self.view.choices(self.env):
            if self.view.parse(choice["action"], self.env) == action:
                return choice["action"]
        return action if self.view.name is None else self.view.name(action, self.env)

    def make(self, action: Any) -> tuple[bool, bool, float]:
        """Make an action: (whether the episode is over, whether it is solved, seconds that it took in real time)."""
        live = self.view.live
        before = 0 if live is None else live.step(self.env)
        *_, terminated, truncated, info = self.env.step(self._numbers(self.view.parse(action, self.env)))
        seconds = 0.0 if live is None else max(0, live.step(self.env) - before) / live.rate
        return bool(terminated or truncated), bool(info.get("success")), seconds

    def _numbers(self, action: Any) -> Any:
        return np.asarray(action, dtype=self.env.action_space.dtype) if isinstance(action, list) else action

    @property
    def attempt(self) -> int:
        """The how-manieth attempt at the task this is."""
        return 1 if self.view.attempt is None else self.view.attempt(self.env)


def can_play(task: Task) -> bool:
    """Whether agents can do at a task what people do: their actions are those that a page sends."""
    try:
        agent = Agent("random", task, 0)
        agent.view.parse(agent.choose(), agent.env)
    except InputError:
        return False
    return True


def played(policy: str, task: Task, seed: int) -> dict[str, Any]:
    """What a task comes to for a policy: success, attempts, actions, and the first action.

    :param seed: of what it draws.
    :raises InputError: as `Agent`.
    """
    agent = Agent(policy, task, seed)
    made: list[Any] = []
    over = solved = False
    while not over:
        made.append(agent.choose())
        over, solved, _ = agent.make(made[-1])
    return {"success": solved, "attempts": agent.attempt, "actions": len(made), "first": made[0]}
