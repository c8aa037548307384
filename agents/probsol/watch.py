"""A trained agent of ProbSol to look at, action by action."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.watch import SHOWN, Candidate, Choice, Score, scores_of
from gumption.envs.probsol.actions import WHAT, WHERE
from gumption.envs.probsol.tasks import GRID
from gumption.envs.probsol.text import TextFace
from gumption.envs.probsol.vector_env import ProbSolVectorEnv


def watch(run: Path, *, task: str | None = None) -> LearnedPlayer:
    """The agent of a run at a task.

    :param task: A task, a family or a file.  [default: the test part of its tasks]
    """
    from .training import load_run  # needs Stable-Baselines3

    loaded = load_run(run, device="cpu")
    played = loaded.config.tasks("test") if task is None else task
    settings = {"task": played, "laws": loaded.config.laws, "actions": "objects", "quiz": False}
    return LearnedPlayer(loaded, ProbSolVectorEnv(1, **SHOWN, **settings))


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
        now = self.env.describe(0)
        return TextFace(rate=True).told(now), bool(now["success"])


def _point(number: int) -> str:
    row, column = divmod(number, GRID)
    return f"{column} {row}"
