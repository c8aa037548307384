"""A trained agent of ProbSol to look at, action by action."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.watching import Candidate, Choice
from gumption.envs.probsol.actions import WHAT, WHERE
from gumption.envs.probsol.tasks import GRID
from gumption.envs.probsol.vector_env import ProbSolVectorEnv


def player_of(run_dir: Path, task: str | None = None) -> Any:
    """The player of a run for `gumption watch`.

    :param task: what it plays; without it tasks of the test part of what it was trained on.
    :raises InputError: no run there, or no such task.
    """
    asked = {} if task is None else {"task": task}
    from .training import load_run

    run = load_run(run_dir, device="cpu")
    tasks = {"task": run.config.tasks("test"), "laws": run.config.laws, "actions": "objects", "quiz": False}
    return LearnedPlayer(run, ProbSolVectorEnv(1, render_mode="ansi", autoreset_mode="Disabled", **tasks | asked))


class LearnedPlayer:
    """Plays the actions that a run of MaskablePPO draws, which have no candidates beside them."""

    def __init__(self, run: Any, env: ProbSolVectorEnv) -> None:
        """:param run: a `ProbSolRun`."""
        self._run, self.env = run, env

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._player = self._run.players(seed)["trained"]
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
        """How near the goal is, or how the episode ended; whether it is solved."""
        told = self.env.describe(0)
        if told["end"]:
            return f"ended: {told['end']}", bool(told["success"])
        return f"solution rate {told['solution_rate']:.3f}", False
