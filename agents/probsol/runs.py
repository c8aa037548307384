"""Watch and evaluate trained agents of ProbSol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.evaluation import compared, loaded
from gumption.agents.watch import SHOWN, Candidate, Choice, Player, scores_of
from gumption.data.settings import Seed, Size, checked
from gumption.envs.probsol.actions import WHAT, WHERE
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.settings import Partition
from gumption.envs.probsol.tasks import FAMILIES, GRID
from gumption.envs.probsol.text import TextFace

from .evaluation import TRIALS, baselines, compare, spread
from .lived import GraphRun


def watch(run: Path, *, task: str | None = None) -> LearnedPlayer | LivedPlayer:
    """The agent of a run at a task.

    :param task: A task, a family or a file.  [default: the test part of its tasks]
    """
    agent = _load(run, device="cpu")
    played = agent.config.tasks("test") if task is None else task
    settings = {"task": played, "laws": agent.config.laws, "quiz": False}
    if isinstance(agent, GraphRun):
        return LivedPlayer(agent, ProbSolVectorEnv(1, **SHOWN, **settings, trial_number=TRIALS))
    return LearnedPlayer(agent, ProbSolVectorEnv(1, **SHOWN, **settings, actions="objects"))


def _load(run: str | Path, **places: Any) -> Any:
    from .training import load_run  # needs Stable-Baselines3

    return load_run(run, **places)


class LivedPlayer(Player):
    """Play a run, and list the next action and the comparison that led to the present try or meeting."""

    def __init__(self, run: Any, env: ProbSolVectorEnv) -> None:
        """:param run: a `ProbSolRun` or a `GraphRun`."""
        super().__init__(env)
        self._run = run

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self._player = self._run.player(seed)
        self._player.begin(self.env)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        action = self._player.act(self.env)
        named = " ".join(map(str, self.env.label(action[0])))
        choice = self._player.tables[0].choice()
        return action, (Choice("action", (Candidate(named, 1.0),), 0), *([] if choice is None else [choice]))

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """Return the solution rate or the end of the episode as text, and whether the task is solved."""
        now = self.env.describe(0)
        return TextFace(rate=True).told(now), bool(now["success"])


class LearnedPlayer(LivedPlayer):
    """Play actions drawn from a run's policy, and list the probabilities of the verbs, discs and points."""

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


@checked
def evaluate(
    run: Any,
    *,
    partition: Partition = "test",
    task: tuple[str, ...] | None = None,
    num_tasks: Size = 100,
    seed: Seed = 0,
    device: str | None = None,
) -> dict[str, Any]:
    """Play each task once, up to ten trials, with actions drawn from a run's policy.

    Further rows: the network before training, masked random actions, CHECK at once, and scripts that people wrote.
    solved is the share solved in the first trial, with its 95 % interval; AUCCESS weighs the shares solved within 1 to
    10 trials (early ones count more); rate is the mean solution rate of the first trial; actions counts those of trials
    that solved.

    :param run: its folder, or the result of a training.
    :param partition: the part of generated tasks: train, validation or test.
    :param task: other tasks than those of the training, such as curling/generated.
    :param num_tasks: at most so many of each family.
    :param seed: draws the players' actions.
    :param device: other than in training, of a run in a folder: auto, cpu or cuda.
    :returns: "partition", "tasks" (how many), and "players": name -> family -> see `evaluation.compare`;
        "failures", sentences on the run's choices. "partition" is
        "" where the tasks are in every part, so that the training had them, too.
    :raises InputError: no run there, or a damaged one; no such task.
    """
    run = loaded(run, _load, device=device)
    config = run.config
    tasks, every = config.tasks(partition, task), config.tasks("all", task)
    parted = {one.hash for one in tasks} != {one.hash for one in every}
    chosen = [one for family in FAMILIES for one in spread([t for t in tasks if t.family == family], num_tasks)]
    players = run.players(seed) | baselines(seed)
    return {
        "partition": partition if parted else "",
        "tasks": len(chosen),
        **compared(players, lambda player: compare({"": player}, chosen, seed=seed, laws=config.laws)[""]),
        "parts": "family",
        "about": f"{len(chosen)} {f'{partition} tasks' if parted else 'tasks, which the training had, too'}",
    }
