"""The keyword arguments of the Gradual environments and their reset options, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from random import Random
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed, settings, shown, unknown

from .curriculum import Curriculum, find_task, load_curriculum, of_names, shipped_curricula
from .task import Hidden, Rules, Task

_OPTIONS = ("task", "mapping", "context", "questions")


@settings
class GradualSettings(Rules):
    """What is learned, and by which rules.

    :ivar tasks: "challenge" or another curriculum that ships, the path of a curriculum file, names of tasks, or a
        `Curriculum`.
    :ivar success_threshold: successes in a row that end a task; None for what the curriculum says.
    :ivar max_steps: an episode is cut off after so many bytes; None for never.
    """

    tasks: str | tuple[str, ...] | Curriculum = "challenge"
    success_threshold: Count | None = None
    max_steps: Count | None = None

    def curriculum(self) -> Curriculum:
        """The tasks in order.

        :raises InputError: an unknown name, or a wrong file.
        """
        chosen = self.tasks
        if isinstance(chosen, str) and (chosen in shipped_curricula() or chosen.endswith((".toml", ".json"))):
            chosen = load_curriculum(chosen, self.rules)
        elif not isinstance(chosen, Curriculum):
            chosen = of_names(_names(chosen), self.rules)
        if self.success_threshold is not None:
            chosen = replace(chosen, success_threshold=self.success_threshold)
        return chosen


def _names(tasks: str | Sequence[str]) -> list[str]:
    return [tasks] if isinstance(tasks, str) else list(tasks)


def read_options(options: Mapping[str, Any], tasks: Sequence[Task]) -> tuple[list[Task], Hidden, list[str]]:
    """The tasks to be played, beginning with the chosen one, and of its first instance what is given of its hidden
    state and its first questions.

    :param options: "task", a name; "mapping", key -> answer; "context", what else the instance hides, by name;
        "questions", a list of texts.
    :raises InputError: an unknown option or task, a hidden state that the task does not have, or a question that it
        does not ask.
    """
    for name in options:
        if name not in _OPTIONS:
            raise InputError(unknown("reset", name, _OPTIONS))
    tasks = list(tasks)
    if "task" in options:
        task = find_task(options["task"], {task.name: task for task in tasks})
        tasks = tasks[tasks.index(task) :]
    given = _hidden(options, tasks[0])
    questions = options.get("questions", [])
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise InputError(f"questions is {shown(questions)}; it is a list of texts")
    for question in questions:
        if not isinstance(question, str):
            raise InputError(f"questions has {shown(question)}, which is no text")
        if "mapping" in given or "context" in options or not _draws(tasks[0]):
            tasks[0].solve(question, given)
    return tasks, given, list(questions)


def _hidden(options: Mapping[str, Any], task: Task) -> dict[str, Any]:
    drawn = next(task.instances(Random(0)))
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
        for _, question in zip(range(20), task.questions(hidden, Random(0)), strict=False):
            task.solve(question, hidden)
    return given


def _draws(task: Task) -> bool:
    """Whether its instances hide something."""
    return bool(next(task.instances(Random(0))))


def _mapping(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"mapping is {shown(given)}; it is a dict, key -> answer")
    for key, value in given.items():
        for text in (key, value):
            if not isinstance(text, str) or not text or any(ord(character) > 255 for character in text):
                raise InputError(f"the mapping has {shown(text)}; keys and answers are texts of one-byte characters")
    return dict(given)


# ---- What a command plays: the tasks by name, and the rules.


@settings
class SessionSettings(Rules):
    """What is played.

    :ivar tasks: names of tasks with commas between them, or a curriculum: "challenge", "extended", "hexadecimal",
        "small_world", or the path of a .toml or .json file.
    :ivar success_threshold: successes in a row that end a task; the challenge's is 5.
    :ivar seed: fixes all that is drawn.
    """

    tasks: tuple[str, ...] = ("challenge",)
    success_threshold: Count | None = None
    seed: Seed = 0

    def curriculum(self) -> Curriculum:
        """The tasks in order.

        :raises InputError: an unknown name, or none.
        """
        tasks = self.tasks[0] if len(self.tasks) == 1 else self.tasks
        return GradualSettings(tasks=tasks, success_threshold=self.success_threshold, **asdict(self.rules)).curriculum()
