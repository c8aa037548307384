"""A trained agent of ProbSol for `gumption watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.watch import SHOWN, Candidate, Choice, scores_of
from gumption.envs.probsol.actions import WHAT, WHERE
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.tasks import GRID
from gumption.envs.probsol.text import TextFace


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
    """Plays actions that a run draws, and lists the probabilities of what to do, with which disc, and where."""

    def __init__(self, run: Any, env: ProbSolVectorEnv) -> None:
        """:param run: a `ProbSolRun`."""
        self._run, self.env = run, env

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._player = self._run.player(seed)
        self._player.begin(self.env)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        action = self._player.act(self.env)
        what, advice = WHAT[action[0, 0]], self._player.latest.advice
        points = [f"{number % GRID} {number // GRID}" for number in WHERE.tolist()]
        labels = {"action": WHAT, "disc": self.env.task().ids, "point": points}
        depth = 3 if what in ("place", "hold") else 2 if what in ("store", "turn") else 1
        found = []
        for question, chances, chosen in zip(
            list(labels)[:depth], self._player.chances, action[0].tolist(), strict=False
        ):
            places = sorted({chosen, *np.flatnonzero(chances[0].numpy() > 0).tolist()})
            candidates = []
            for k in places:
                scores = scores_of(advice, k) if advice is not None and question == "disc" else ()
                candidates.append(Candidate(labels[question][k], float(chances[0, k]), scores=scores))
            found.append(Choice(question, tuple(candidates), places.index(chosen)))
        return action, tuple(found)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """The solution rate, or the end of the episode; whether it is solved."""
        now = self.env.describe(0)
        return TextFace(rate=True).told(now), bool(now["success"])
