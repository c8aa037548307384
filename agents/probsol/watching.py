"""A trained agent of ProbSol to look at, action by action."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.run_folder import NO_RUN
from gumption.agents.settings import CONFIG
from gumption.agents.watching import Candidate, Choice, PolicyPlayer, Score
from gumption.agents.world_setup import load_policy
from gumption.data.sealed import read_sealed
from gumption.envs.probsol.actions import WHAT, WHERE
from gumption.envs.probsol.tasks import GRID
from gumption.envs.probsol.vector_env import ProbSolVectorEnv


def player_of(run_dir: Path, task: str | None = None) -> Any:
    """The player of a run, of MaskablePPO or of the general learner, for `gumption watch`.

    :param task: what it plays; without it tasks of the test part of what it was trained on.
    :raises InputError: no run there, or no such task.
    """
    asked = {} if task is None else {"task": task}
    if "env" in read_sealed(run_dir / CONFIG, missing=NO_RUN):
        config, policy = load_policy(run_dir, device="cpu")
        return ActionPlayer(policy, _table({**dict(config.env), "partition": "test", **asked}))
    from .training import load_run

    run = load_run(run_dir, device="cpu")
    tasks = {"task": run.config.tasks("test"), "laws": run.config.laws, "actions": "objects", "quiz": False}
    return LearnedPlayer(run, _table({**tasks, **asked}))


def _table(settings: dict[str, Any]) -> ProbSolVectorEnv:
    return ProbSolVectorEnv(1, render_mode="ansi", autoreset_mode="Disabled", **settings)


def outcome(env: ProbSolVectorEnv) -> tuple[str, bool]:
    """How near the goal is, or how the episode ended; whether it is solved."""
    told = env.describe(0)
    if told["end"]:
        return f"ended: {told['end']}", bool(told["success"])
    return f"solution rate {told['solution_rate']:.3f}", False


class ActionPlayer(PolicyPlayer):
    """Plays the most probable actions of a policy of the general learner."""

    env: ProbSolVectorEnv

    def labels(self) -> list[str]:
        """Each action as one would type it."""
        return [" ".join(map(str, self.env.label(a))) for a in range(self.env.labels.num_actions)]

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return outcome(self.env)

    def _scores(self, action: int) -> tuple[Score, ...]:
        # Thousands of points are open at once: what is said of each would take minutes, and nobody would read it.
        return super()._scores(action) if action < self.env.labels.first_point else ()


class LearnedPlayer:
    """Plays the actions that a run of MaskablePPO draws, which have no candidates beside them."""

    def __init__(self, run: Any, env: ProbSolVectorEnv) -> None:
        """:param run: a `ProbSolRun`."""
        self._run, self.env = run, env

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._player = self._run.player(seed)
        self._player.begin(self.env)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        action = self._player.act(self.env)
        what, disc, where = action[0].tolist()
        words = [WHAT[what]]
        if WHAT[what] in ("place", "hold", "store", "turn"):
            ids = self.env.task().ids
            words.append(ids[disc] if disc < len(ids) else f"disc {disc}")
        if WHAT[what] in ("place", "hold"):
            row, column = divmod(int(WHERE[where]), GRID)
            words += ["at", f"{column}", f"{row}"]
        return action, (Choice("action", (Candidate(" ".join(words), 1.0),), 0),)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return outcome(self.env)
