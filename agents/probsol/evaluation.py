"""Evaluate players: each plays an episode of up to ten trials on each task, with all tasks in one batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.agents.statistics import wilson_interval
from gumption.data.settings import Count, Seed, checked
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.settings import ActionForm
from gumption.envs.probsol.tasks import FAMILIES, Task

from .measures import auccess
from .players import DoNothing, Player, Random, Scripted, steps

#: Trials of an episode (spec section 8: AUCCESS is played with ten).
TRIALS = 10
SCRIPTED = "scripted (people wrote it)"


@dataclass(frozen=True)
class Played:
    """A player's results on n tasks.

    :ivar families: (n,) names. :ivar trial: (n,) the trial that solved the task, from 1; 0 if no trial did.
    :ivar rate: (n,) solution rate at the end of the first trial. :ivar actions: (n,) actions of the form "paper" in the
        trial that solved the task, or in the last trial.
    """

    families: np.ndarray
    trial: np.ndarray
    rate: np.ndarray
    actions: np.ndarray

    def of(self, family: str) -> "Played":
        """Return the results on the tasks of a family."""
        mine = self.families == family
        return Played(self.families[mine], self.trial[mine], self.rate[mine], self.actions[mine])

    def figures(self) -> dict[str, Any]:
        """Return the share of tasks solved in the first trial, AUCCESS over ten trials, the mean solution rate of the
        first trial, and the mean number of actions in trials that solved a task (None if no trial did)."""
        solved = self.trial > 0
        return {
            "solved": float((self.trial == 1).mean()),
            "auccess": auccess(self.trial, TRIALS),
            "rate": float(self.rate.mean()),
            "actions": float(self.actions[solved].mean()) if solved.any() else None,
        }


@checked
def play_tasks(
    player: Any, tasks: Sequence[Task], *, trials: Count = TRIALS, seed: Seed = 0, laws: str | None = None
) -> Played:
    """Play an episode on each task, without quizzes.

    :param player: see `players.Player`; its attribute `actions` is "objects" if it acts in that form.
    :param trials: largest number of trials, which replaces the tasks' limits.
    :param laws: replace the tasks' laws.
    """
    form: ActionForm = getattr(player, "actions", "paper")
    batch = ProbSolVectorEnv(
        len(tasks), autoreset_mode="Disabled", order="sequential", task=tasks, trial_number=trials,
        quiz=False, actions=form, laws=laws,
    )  # fmt: skip
    batch.reset(seed=seed)
    solved_in, rate, actions = (np.zeros(len(tasks), dtype=kind) for kind in (np.int64, float, np.int64))
    trial = batch.tables.trials.copy()
    for playing, ended in steps(batch, player):
        first, trial = playing & (trial == 1), batch.tables.trials.copy()
        _, terminated, truncated = batch.results()
        checked_first = first & (terminated | (trial > 1))
        rate[checked_first] = batch.trial_rate[checked_first]
        cut = first & truncated
        if cut.any():
            rate[cut] = 1.0 - batch.tables.distance()[cut]
        actions[playing] = batch.tables.actions[playing]
        won = ended & batch.success
        solved_in[won] = trial[won]
    return Played(np.array([task.family for task in tasks]), solved_in, rate, actions)


def baselines(seed: int) -> dict[str, Player]:
    """Return players that do not learn: masked random actions, immediate CHECK, and scripts written by people."""
    return {"random": Random(seed), "do nothing": DoNothing(), SCRIPTED: Scripted()}


def spread(tasks: Sequence[Task], most: int) -> list[Task]:
    """Select at most `most` tasks, evenly spread over all."""
    return [tasks[k * len(tasks) // most] for k in range(most)] if len(tasks) > most else list(tasks)


def compare(
    players: Mapping[str, Player], tasks: Sequence[Task], *, seed: int = 0, laws: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return player -> family, and "all" if there are several families -> `Played.figures`, with the number of "tasks"
    and the bounds "low" and "high" of Wilson's 95 % interval of the share solved."""
    families = [family for family in FAMILIES if any(task.family == family for task in tasks)]
    found: dict[str, dict[str, Any]] = {}
    for name, player in players.items():
        played = play_tasks(player, tasks, seed=seed, laws=laws)
        parts = {family: played.of(family) for family in families} | ({"all": played} if len(families) > 1 else {})
        found[name] = {}
        for part, each in parts.items():
            low, high = wilson_interval((each.trial == 1).sum(), len(each.trial))
            found[name][part] = {**each.figures(), "low": float(low), "high": float(high), "tasks": len(each.trial)}
    return found
