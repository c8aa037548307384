"""Players of ProbSol for the tasks of studies, with single actions of the form "paper"."""

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
    """A player for several batches in turn: each batch has its own player, which is made when its episodes begin."""

    def __init__(self, make: Callable[[], Player]) -> None:
        self._make = make
        self._of: WeakKeyDictionary[ProbSolVectorEnv, Player] = WeakKeyDictionary()

    def __call__(self, batch: ProbSolVectorEnv, first: np.ndarray) -> np.ndarray:
        if first.any() or batch not in self._of:
            self._of[batch] = self._make()
            self._of[batch].begin(batch)
        return self._of[batch].act(batch)


class OneByOne:
    """Adapter: a player of the form "objects" on a batch of size 1 of the form "paper"; its choices are decoded."""

    def __init__(self, player: Any) -> None:
        self._player, self._left = player, list[int]()

    def begin(self, batch: ProbSolVectorEnv) -> None:
        """Prepare for a new episode."""
        self._left = []
        self._player.begin(batch)

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        """Return (1,), the next action."""
        if not self._left:
            form, batch.settings = batch.settings, replace(batch.settings, actions="objects")
            try:  # the mask and the advice depend on the form
                [choice] = self._player.act(batch)
            finally:
                batch.settings = form
            self._left = batch.labels.decoded(batch.tables, 0, choice) or [batch.labels.num_actions + NONE]
        return np.array([self._left.pop(0)])


def run_player(run: Path) -> evaluation.Player:
    """Load a run as a player.

    :raises InputError: there is no run; the player raises it if the network does not fit the tables of the tasks.
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


#: Players: the recorded solution of each task, and the scripted solver, which people wrote.
oracle, scripted = OnEachBatch(Solved), OnEachBatch(Scripted)
