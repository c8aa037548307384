"""A WordCraft agent to look at."""

from pathlib import Path

import numpy as np

from gumption.agents.run_folder import load_policy
from gumption.agents.watch import SHOWN, PolicyPlayer
from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftVectorEnv


class GoalPlayer(PolicyPlayer):
    """Plays tasks of one goal; where there are several, the seed decides."""

    tasks: np.ndarray

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.env.set_tasks(self.env.np_random.choice(self.tasks, 1))


def watch(
    run: Path, *, partition: str = "test", goal: str | None = None, recipe_book: str | None = None
) -> PolicyPlayer:
    """The agent of a run, on tasks of a partition.

    :param partition: Part of the run's split: train, validation, test or all.
    :param goal: Play a task of this goal.  [default: drawn by the seed]
    :param recipe_book: File of the run's book, if it does not ship.
    """
    config, policy = load_policy(run, recipe_book=recipe_book, device="cpu")
    env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings(partition))
    told = {"question": "what to select", "outcome": lambda env: env.last_mix(0) or "selected"}
    if goal is None:
        return PolicyPlayer(policy, env, **told)
    player = GoalPlayer(policy, env, **told)
    env.book.entity_id(goal)
    tasks = env.split.tasks(partition)
    player.tasks = np.array([task for task in tasks.tolist() if env.tasks[task].goal == goal], dtype=np.int64)
    if not len(player.tasks):
        some = ", ".join(sorted({env.tasks[task].goal for task in tasks.tolist()})[:5])
        raise InputError(f"no {partition} task has the goal {goal!r}; some that there are: {some}")
    return player
