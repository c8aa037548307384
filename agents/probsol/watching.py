"""A trained agent of ProbSol to look at, action by action."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.watching import Candidate, Choice, Score, scores_of
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
    """Plays the actions that a run draws: what is done, with which disc, which a graph may advise, and where."""

    def __init__(self, run: Any, env: ProbSolVectorEnv) -> None:
        """:param run: a `ProbSolRun`."""
        self._run, self.env = run, env

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._player = self._run.player(seed)
        self._player.begin(self.env)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        action = self._player.act(self.env)
        what = WHAT[action[0, 0]]
        asked = ["action", "disc"][: 1 + (what in ("place", "hold", "store", "turn"))]
        asked += ["point"] * (what in ("place", "hold"))
        labels = {"action": WHAT, "disc": self.env.task().ids, "point": [_point(number) for number in WHERE.tolist()]}
        found = []
        for question, chances, chosen in zip(asked, self._player.chances, action[0].tolist(), strict=False):
            places = sorted({chosen, *np.flatnonzero(chances[0].numpy() > 0).tolist()})
            candidates = tuple(
                Candidate(
                    labels[question][k], float(chances[0, k]), scores=self._scores(k) if question == "disc" else ()
                )
                for k in places
            )
            found.append(Choice(question, candidates, places.index(chosen)))
        return action, tuple(found)

    def _scores(self, disc: int) -> tuple[Score, ...]:
        advice = self._player.latest.advice
        return () if advice is None else scores_of(advice, disc)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """How near the goal is, or how the episode ended; whether it is solved."""
        told = self.env.describe(0)
        if told["end"]:
            return f"ended: {told['end']}", bool(told["success"])
        return f"solution rate {told['solution_rate']:.3f}", False


def _point(number: int) -> str:
    row, column = divmod(number, GRID)
    return f"{column} {row}"
