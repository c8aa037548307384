"""The settings of ProbSol's environments."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Size, settings
from gumption.envs.priors import Names

from .tasks import Laws, Task

ActionForm = Literal["paper", "objects"]
Partition = Literal["train", "validation", "test", "all"]
Fold = Annotated[int, Ge(0), Le(9)]


@settings
class ProbSolSettings:
    """Settings of a batch.

    :ivar task: a designed task ("fishing/0"), a family's designed tasks ("fishing"), its certified generated ones
        ("fishing/generated"), "designed" or "generated" for all families, the path of a task file or of a folder of
        them, a `Task`, a mapping as a file has it, or a list of such.
    :ivar partition: the part of generated tasks by the split within families; `fold` is which of its ten.
    :ivar order: how tasks follow one another: drawn at random, or one after the other.
    :ivar observation: "paper" (7 numbers a disc, nothing of the goal) or "full".
    :ivar actions: "paper" (Discrete) or "objects" (what to do, with which disc, where).
    :ivar laws: overrides that of the tasks: "real", "counterfactual" (opposite poles repel), "inert" (no forces) or
        "shuffled" (one of the three, drawn for each episode).
    :ivar names: "real" colours and names, "anonymous" ones, or "shuffled" among the discs of a task.
    :ivar quiz: whether a solved task opens its quiz.
    :ivar reward: "solved" (1 at the end of a solved task) or "solution_rate" (1 - d at the end of each trial).
    :ivar on_violation: "end": a broken constraint ends the episode; "go_on": only `excess` grows.
    :ivar max_actions: of a trial; refused actions count, too.
    :ivar trial_number: most trials, instead of the limit of the tasks.
    :ivar action_seconds: time of an action, beside the time that the world runs; None in real time (`act_now` and
        `pass_time`), where an action takes the time that has passed since the action before.
    :ivar max_obj_num, max_grid_num: M and G; None for the most that the tasks need.
    """

    # Settings whose content a memory keeps.
    CONTENT: ClassVar = ("task", "partition", "fold")

    task: Any = "fishing/0"
    partition: Partition = "all"
    fold: Fold = 0
    order: Literal["random", "sequential"] = "random"
    observation: Literal["paper", "full"] = "full"
    actions: ActionForm = "paper"
    laws: Laws | None = None
    names: Names = "real"
    quiz: bool = True
    reward: Literal["solved", "solution_rate"] = "solved"
    on_violation: Literal["end", "go_on"] = "end"
    max_actions: Count = 200
    trial_number: Count | None = None
    action_seconds: NonNegative | None = 1.0
    max_obj_num: Size | None = None
    max_grid_num: Size | None = None

    def load_tasks(self) -> tuple[Task, ...]:
        """Load the tasks of `task`, with colours and names by `names`.

        :raises InputError: there is no such task, or it cannot be read.
        """
        from .library import find_tasks, renamed

        given = self.task
        many = given if isinstance(given, Sequence) and not isinstance(given, str | os.PathLike) else [given]
        found = [task for each in many for task in find_tasks(each, self.partition, self.fold)]
        if not found:
            raise InputError("task is an empty list; it names one task at least")
        if self.trial_number is not None:
            limit = {"trial_number": self.trial_number}
            found = [replace(task, constraints={**task.constraints, **limit}) for task in found]
        return tuple(renamed(self.checked_task(task), self.names) for task in found)

    def checked_task(self, task: Task) -> Task:
        """Return the task; raise InputError if its limit of the time before an action is shorter than an action."""
        limit = task.constraints.get("action_time")
        if limit is not None and limit < (self.action_seconds or 0.0):
            raise InputError(
                f"the task {task.name!r}: constraints.action_time is {limit:g}, and every action takes "
                f"{self.action_seconds:g} s here: no action could keep it; lower action_seconds"
            )
        return task
