"""The tasks by name, and curricula: an order of tasks and how many successes in a row end one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gumption.data import InputError
from gumption.data.settings import unknown

from .logic_tasks import logic_tasks
from .mapping_tasks import mapping_tasks
from .mini_tasks import mini_tasks
from .rules import Rules
from .task import Task
from .text_tasks import text_tasks
from .words import filtered, load_words

SUCCESS_THRESHOLD = 5  # in the challenge


@dataclass(frozen=True)
class Curriculum:
    """Tasks in the order in which they are learned.

    :ivar success_threshold: successes in a row that end a task.
    """

    name: str
    tasks: tuple[Task, ...]
    success_threshold: int = SUCCESS_THRESHOLD


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


def find_task(name: str, tasks: Mapping[str, Task]) -> Task:
    """The task of a name.

    :raises InputError: there is none; with the nearest name.
    """
    if name not in tasks:
        raise InputError(unknown("the curriculum", name, tasks))
    return tasks[name]


def check_order(tasks: Sequence[Task]) -> None:
    """Nothing is learned before what it requires, as far as that is in the curriculum, too.

    :raises InputError: a task comes before one that it requires; a cycle is such a case.
    """
    names = [task.name for task in tasks]
    for place, task in enumerate(tasks):
        if late := [name for name in task.requires if name in names[place:]]:
            raise InputError(f"the curriculum has {task.name} before {late[0]}, which it requires")


def challenge(rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """The 46 tasks of the challenge."""
    return Curriculum("challenge", tuple(all_tasks(rules).values()))


def of_names(names: Iterable[str], rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """A curriculum of some of the challenge's tasks.

    :raises InputError: an unknown name, or none at all.
    """
    tasks = tuple(find_task(name, all_tasks(rules)) for name in names)
    if not tasks:
        raise InputError("a curriculum has at least one task")
    return Curriculum("-".join(task.name for task in tasks), tasks)
