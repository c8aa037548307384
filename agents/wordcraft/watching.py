"""A WordCraft agent to look at: which task it plays, and what a mix made."""

from typing import Any

import numpy as np

from gumption.agents.watching import PolicyPlayer
from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftVectorEnv


class WordCraftPlayer(PolicyPlayer):
    """Plays tasks of the partition of its environment, or of one goal only."""

    env: WordCraftVectorEnv

    def __init__(self, policy: Any, env: WordCraftVectorEnv, partition: str = "all", goal: str | None = None) -> None:
        """:param goal: the goal of the tasks; where there are several, the seed decides.
        :raises InputError: no such thing in the book, or no task of the partition makes it.
        """
        super().__init__(policy, env, question="what to select")
        self.tasks: np.ndarray | None = None
        if goal is not None:
            env.book.entity_id(goal)
            tasks = env.split.tasks(partition)
            self.tasks = np.array([task for task in tasks.tolist() if env.tasks[task].goal == goal], dtype=np.int64)
            if not len(self.tasks):
                some = ", ".join(sorted({env.tasks[task].goal for task in tasks.tolist()})[:5])
                raise InputError(f"no {partition} task has the goal {goal!r}; some that there are: {some}")

    def begin(self, seed: int) -> None:
        super().begin(seed)
        if self.tasks is not None:
            self.env.set_tasks(self.env.np_random.choice(self.tasks, 1))

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        mixed = self.env.last_mix(0)
        return mixed or "selected", bool(infos["success"][0])
