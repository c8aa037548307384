"""Curricula as files, in TOML or JSON: the tasks in order, and tasks that the file itself defines.

    success_threshold = 3
    tasks = ["micro7.*", "capital"]          # without it, the tasks of the file

    [[task]]                                 # see file_tasks.py for what a task can be
    name = "capital"
    requires = ["micro7.2"]
    pairs = {"capital of France." = "Paris."}
    wrong = "no, {answer};"

Nothing in a file is executed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Len

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.settings import Count, checked, unknown

from .curriculum import SUCCESS_THRESHOLD, Curriculum, check_circles, check_order, find_task, known_tasks
from .file_tasks import Table, task_of_table
from .rules import Rules
from .task import Task
from .words import load_words

_FOLDER = Path(__file__).parent / "curricula"


def shipped_curricula() -> list[str]:
    """The names of the curricula that ship with gumption."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@checked
def load_curriculum(source: str | PathLike, rules: Rules = Rules()) -> Curriculum:  # noqa: B008  (frozen)
    """A curriculum that ships with gumption, by its name, or one from a file.

    :param source: "challenge", or a path that ends in .toml or .json.
    :raises InputError: there is none, or something in the file is wrong; with the file, the task and the key.
    """
    path = _FOLDER / f"{source}.toml" if source in shipped_curricula() else Path(source)
    if path.suffix not in (".toml", ".json"):
        raise InputError(
            unknown("the curricula that ship", str(source), shipped_curricula())
            + "; a path to another one ends in .toml or .json"
        )
    content = _read(path)
    if not isinstance(content, Mapping):
        raise InputError(f"{path} has to be a table with the keys tasks, task, success_threshold")
    table = Table(str(path), content)
    table.known(("tasks", "task", "success_threshold"))
    own = _own_tasks(table, path, load_words())
    tasks = _chosen(table, own, {**known_tasks(rules), **own})
    return Curriculum(path.stem, tasks, table.get("success_threshold", Count, SUCCESS_THRESHOLD))


def _read(path: Path) -> Any:
    if path.suffix == ".json":
        return read_json(path, advice="mend it")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML ({error}); mend it") from None


def _own_tasks(table: Table, path: Path, words: Sequence[str]) -> dict[str, Task]:
    """The tasks that the file defines."""
    own: dict[str, Task] = {}
    for number, content in enumerate(table.get("task", list[Mapping[str, Any]], []), 1):
        name = content.get("name")
        place = f"{path}: task {name!r}" if isinstance(name, str) else f"{path}: task {number}"
        task = task_of_table(place, content, words)
        if task.name in own or task.name in known_tasks():
            raise InputError(f"{place}, key 'name': there is a task of this name already; choose another")
        own[task.name] = task
    for task in own.values():
        for name in task.requires:
            if name not in own and name not in known_tasks():
                problem = unknown("the curriculum", name, (*own, *known_tasks()))
                raise InputError(f"{path}: task {task.name!r}, key 'requires': {problem}")
    try:
        check_circles(own.values())
    except InputError as error:
        raise InputError(f"{path}, key 'requires': {error}") from None
    return own


def _chosen(table: Table, own: Mapping[str, Task], known: Mapping[str, Task]) -> tuple[Task, ...]:
    """The tasks of the curriculum in order."""
    names: list[str] = table.get("tasks", Annotated[list[str], Len(1)], list(own))
    with table.at("tasks"):
        if not names:
            raise InputError("a curriculum has at least one task")
        found: list[Task] = []
        for name in names:
            found += _matching(name, known)
        every = [task.name for task in found]
        if twice := [name for name in every if every.count(name) > 1]:
            raise InputError(f"{twice[0]} is in the curriculum twice")
        check_order(found)
    return tuple(found)


def _matching(name: str, known: Mapping[str, Task]) -> list[Task]:
    """The task of a name, or all that a pattern such as "micro5.*" fits."""
    if "*" not in name:
        return [find_task(name, known)]
    found = [task for each, task in known.items() if fnmatchcase(each, name)]
    if not found:
        raise InputError(f"no task has a name of the form {name!r}")
    return found
