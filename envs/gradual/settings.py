"""Define and check the keyword arguments of the Gradual environments, their reset options, and session settings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from random import Random
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed, check, refuse_unknown, settings, shown
from gumption.envs.priors import other_than_real

from .curriculum import Curriculum, all_tasks, at_place, find_task, load_curriculum, of_names, shipped_curricula
from .task import Hidden, Rules, Task


@settings
class GradualSettings(Rules):
    """Which tasks are played, and by which rules.

    :ivar tasks: "challenge" or another curriculum that ships, the path of a curriculum file, names of tasks,
        "module:name" of tasks of your own, or a `Curriculum`.
    :ivar success_threshold: successes in a row that end a task; None for the curriculum's.
    :ivar max_steps: bytes after which an episode is cut off.
    """

    tasks: str | tuple[str, ...] | Curriculum = "challenge"
    success_threshold: Count | None = None
    max_steps: Count | None = None

    def curriculum(self) -> Curriculum:
        """Return the curriculum.

        :raises InputError: an unknown name, or a wrong file.
        """
        chosen = self.tasks
        if isinstance(chosen, str) and (chosen in shipped_curricula() or chosen.endswith((".toml", ".json"))):
            chosen = load_curriculum(chosen, self.rules)
        elif isinstance(chosen, str) and ":" in chosen:
            chosen = at_place(chosen)
        elif not isinstance(chosen, Curriculum):
            chosen = of_names([chosen] if isinstance(chosen, str) else chosen, self.rules)
        self._check_dials(chosen)
        if self.success_threshold is not None:
            chosen = replace(chosen, success_threshold=self.success_threshold)
        return chosen

    def _check_dials(self, chosen: Curriculum) -> None:
        """:raises InputError: with other names or laws, a task that is not of the challenge."""
        for name, value in other_than_real(names=self.names, laws=self.laws).items():
            known = all_tasks(self.rules)
            if other := next((task.name for task in chosen.tasks if known.get(task.name) is not task), None):
                raise InputError(
                    f"{name} is {value!r}, and {other} is no task of the challenge: it has its own words and answers; "
                    "leave it out"
                )


def read_options(options: Mapping[str, Any], tasks: Sequence[Task]) -> tuple[list[Task], Hidden, list[str]]:
    """Read the tasks from the chosen task on, and the hidden data and first questions of its first instance. See
    `GradualEnv`.

    :raises InputError: an unknown option or task, hidden data that the task does not have, or a question of another
        task.
    """
    known = ("task", "mapping", "context", "questions")
    refuse_unknown("reset", options, known)
    tasks = list(tasks)
    if "task" in options:
        task = find_task(check("task", options["task"], str), {task.name: task for task in tasks})
        tasks = tasks[tasks.index(task) :]
    task = tasks[0]
    drawn = next(task.instances(Random(0)))
    given = _hidden(options, task, drawn)
    questions = options.get("questions", [])
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise InputError(f"questions is {shown(questions)}; it is a list of texts")
    for question in questions:
        if not isinstance(question, str):
            raise InputError(f"questions has {shown(question)}, which is no text")
        if "mapping" in given or "context" in options or not drawn:
            task.solve(question, given)
    return tasks, given, list(questions)


def _hidden(options: Mapping[str, Any], task: Task, drawn: Hidden) -> Hidden:
    """Return the hidden data in the options, which replaces drawn data."""
    context = options.get("context", {})
    if not isinstance(context, Mapping):
        raise InputError(f"context is {shown(context)}; it is a dict of what the instance hides")
    given = dict(context)
    if "mapping" in options:
        given["mapping"] = _mapping(options["mapping"])
    for name in given:
        if name not in drawn:
            hides = f"it hides {', '.join(drawn)}" if drawn else "it hides nothing"
            raise InputError(f"an instance of {task.name} has no {name}: {hides}")
    if given:
        hidden = {**drawn, **given}
        for question in islice(task.questions(hidden, Random(0)), 20):
            task.solve(question, hidden)
    return given


def _mapping(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"mapping is {shown(given)}; it is a dict, key -> answer")
    for text in (*given, *given.values()):
        if not isinstance(text, str) or not text or any(ord(character) > 255 for character in text):
            raise InputError(f"the mapping has {shown(text)}; keys and answers are texts of one-byte characters")
    return dict(given)


@settings
class SessionSettings(Rules):
    """What a command plays.

    :ivar tasks: names of tasks with commas between them, or a curriculum: "challenge", "extended", "hexadecimal",
        "small_world", the path of a .toml or .json file, or MODULE:NAME of tasks in Python.
    :ivar success_threshold: successes in a row that end a task; the challenge's is 5.
    :ivar seed: fixes all that is drawn.
    """

    tasks: tuple[str, ...] = ("challenge",)
    success_threshold: Count | None = None
    seed: Seed = 0

    def curriculum(self) -> Curriculum:
        """Return the curriculum.

        :raises InputError: an unknown name, or no name.
        """
        tasks = self.tasks[0] if len(self.tasks) == 1 else self.tasks
        return GradualSettings(tasks=tasks, success_threshold=self.success_threshold, **asdict(self.rules)).curriculum()
