"""Players of ProbSol at the tasks of studies, an action of the form "paper" at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gumption.agents import evaluation
from gumption.agents.probsol.lived import GraphRun
from gumption.agents.probsol.players import Player, Scripted, Solved
from gumption.data import InputError
from gumption.envs.probsol.engine import NONE
from gumption.envs.probsol.env import ProbSolVectorEnv


class OnEachBatch:
    """A player of batches that may take turns: each batch has one of its own, made anew when its episodes begin."""

    def __init__(self, make: Callable[[], Player]) -> None:
        self._make = make
        self._of: WeakKeyDictionary[ProbSolVectorEnv, Player] = WeakKeyDictionary()

    def __call__(self, batch: ProbSolVectorEnv, first: np.ndarray) -> np.ndarray:
        if first.any() or batch not in self._of:
            self._of[batch] = self._make()
            self._of[batch].begin(batch)
        return self._of[batch].act(batch)


class OneByOne:
    """A player of the form "objects" on a batch of one of the form "paper": its choices, taken apart."""

    def __init__(self, player: Any) -> None:
        self._player, self._left = player, list[int]()

    def begin(self, batch: ProbSolVectorEnv) -> None:
        """The table begins."""
        self._left = []
        self._player.begin(batch)

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        """(1,) the next action."""
        if not self._left:
            form, batch.settings = batch.settings, replace(batch.settings, actions="objects")
            try:  # what is open, and what a graph says of it, follows from the form
                [choice] = self._player.act(batch)
            finally:
                batch.settings = form
            self._left = batch.labels.decoded(batch.tables, 0, choice) or [batch.labels.num_actions + NONE]
        return np.array([self._left.pop(0)])


def run_player(run: Path) -> evaluation.Player:
    """A run as a player.

    :raises InputError: no run, or none whose network fits the tables of the tasks.
    """
    from gumption.agents.probsol.training import load_run  # needs Stable-Baselines3

    loaded = load_run(run, device="cpu")
    if isinstance(loaded, GraphRun):
        return OnEachBatch(loaded.player)
    playing = OnEachBatch(lambda: OneByOne(loaded.player()))
    discs = loaded.policy.observation_space["discs"].shape[1]  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]

    def player(batch: ProbSolVectorEnv, first: np.ndarray) -> np.ndarray:
        if batch.tables.discs != discs:
            raise InputError(f"{run}: learned on tables of {discs} discs, and the study's have {batch.tables.discs}")
        return playing(batch, first)

    return player


#: Does the recorded solution of each task, and the scripted solver, which people wrote.
oracle, scripted = OnEachBatch(Solved), OnEachBatch(Scripted)
