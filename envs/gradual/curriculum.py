"""The tasks by name, and curricula: an order of tasks and how many successes in a row end one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from gumption.data import InputError
from gumption.data.settings import checked, checked_methods, unknown

from .hexadecimal_tasks import hexadecimal_tasks
from .logic_tasks import logic_tasks
from .mapping_tasks import mapping_tasks
from .mini_tasks import mini_tasks, production_tasks
from .rules import Rules
from .small_world_tasks import small_world_tasks
from .suggested_tasks import suggested_tasks
from .task import Task
from .text_tasks import text_tasks
from .words import filtered, load_words

SUCCESS_THRESHOLD = 5  # in the challenge


@checked_methods
@dataclass(frozen=True)
class Curriculum:
    """Tasks in the order in which they are learned.

    :ivar success_threshold: successes in a row that end a task.
    """

    name: str
    tasks: tuple[Task, ...]
    success_threshold: int = SUCCESS_THRESHOLD


@checked
@cache
def all_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008  (frozen)
    """The tasks of the challenge by name, in the order of its curriculum: micro1 to micro20, mini0 to mini5."""
    words = load_words()
    tasks = [
        *mapping_tasks(words, rules),
        *text_tasks(words),
        *logic_tasks(words, filtered(words), rules),
        *mini_tasks(rules),
    ]
    return {task.name: task for task in tasks}


@checked
@cache
def known_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008
    """All tasks by name: those of the challenge, then those that only other curricula have."""
    others = [*suggested_tasks(load_words()), *production_tasks(), *hexadecimal_tasks(), *small_world_tasks()]
    return {**all_tasks(rules), **{task.name: task for task in others}}


def find_task(name: str, tasks: Mapping[str, Task]) -> Task:
    """The task of a name.

    :raises InputError: there is none; with the nearest name.
    """
    if name not in tasks:
        raise InputError(unknown("the curriculum", name, tasks))
    return tasks[name]


def check_circles(tasks: Iterable[Task]) -> None:
    """:raises InputError: tasks require each other in a circle."""
    try:
        TopologicalSorter({task.name: task.requires for task in tasks}).prepare()
    except CycleError as error:
        raise InputError(f"tasks require each other in a circle: {' -> '.join(reversed(error.args[1]))}") from None


def check_order(tasks: Sequence[Task]) -> None:
    """Nothing is learned before what it requires, as far as that is in the curriculum, too.

    :raises InputError: a task comes before one that it requires.
    """
    names = [task.name for task in tasks]
    for place, task in enumerate(tasks):
        if late := [name for name in task.requires if name in names[place:]]:
            raise InputError(f"the curriculum has {task.name} before {late[0]}, which it requires")


@checked
def challenge(rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """The 46 tasks of the challenge."""
    return Curriculum("challenge", tuple(all_tasks(rules).values()))


@checked
def of_names(names: Iterable[str], rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """A curriculum of some of all tasks.

    :raises InputError: an unknown name, or none at all.
    """
    tasks = tuple(find_task(name, known_tasks(rules)) for name in names)
    if not tasks:
        raise InputError("a curriculum has at least one task")
    return Curriculum("-".join(task.name for task in tasks), tasks)
