"""Tasks by name: designed ones, certified generated ones, files and folders."""

import hashlib
import os
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown
from gumption.data.writing import can_be_named

from .tasks import FAMILIES, Task, read_task

FOLDER = "designed"
#: Numbers of the designed tasks of each family that look alike and need another strategy.
PAIRS = ((2, 3), (4, 5))
#: Colours of anonymous discs, by their number.
PALETTE = ("steelblue", "peru", "seagreen", "orchid", "goldenrod", "slategray", "tomato", "olive", "teal", "plum",
           "sienna", "navy")  # fmt: skip


def family_of(name: str) -> str | None:
    """The family of a name in small letters, "fishing"; None where there is none."""
    return next((family for family in FAMILIES if family.lower() == name), None)


@cache
def designed(family: str) -> tuple[Task, ...]:
    """The designed tasks of a family, by their numbers."""
    folder = files("gumption.envs.probsol") / FOLDER / family.lower()
    paths = [Path(str(each)) for each in folder.iterdir() if each.name.endswith(".json")] if folder.is_dir() else []
    return tuple(read_task(path) for path in sorted(paths, key=lambda path: int(path.stem)))


def names() -> list[str]:
    """The names of all designed tasks."""
    return [task.name for family in FAMILIES for task in designed(family)]


def find_tasks(given: Any, partition: str = "all", fold: int = 0) -> tuple[Task, ...]:
    """The tasks that a name, a path, a mapping or a `Task` stands for; see `ProbSolSettings`.

    :param partition, fold: of generated tasks, the part of the split within families.
    :raises InputError: none, or one that cannot be read.
    """
    if isinstance(given, str):
        if given in ("designed", "generated"):
            chosen = [family.lower() + ("/generated" if given == "generated" else "") for family in FAMILIES]
            return tuple(task for name in chosen for task in find_tasks(name, partition, fold))
        head, _, number = given.partition("/")
        family = family_of(head)
        if family is not None and not number:
            return designed(family)
        if family is not None and number == "generated":
            from .generated import generated

            return generated(family, partition, fold)
        if family is not None:
            found = [task for task in designed(family) if task.name == given]
            if found:
                return tuple(found)
    if isinstance(given, str | os.PathLike):
        if not can_be_named(given):
            raise InputError(f"there is no task {shown(given)}: no file can have that name")
        path = Path(given)
        if path.is_dir():
            return _folder(path)
        if path.is_file() or path.suffix == ".json":
            return (read_task(path),)
        near = get_close_matches(str(given), [*names(), *(family.lower() for family in FAMILIES)], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "tasks are fishing/0, fishing, fishing/generated, or a file"
        raise InputError(f"there is no task {str(given)!r}, nor such a file; {hint}")
    return (read_task(given),)


def _folder(path: Path) -> tuple[Task, ...]:
    paths = sorted(path.rglob("*.json"))
    if not paths:
        raise InputError(f"{path}: no task in this folder; it holds files of tasks, *.json")
    return tuple(read_task(each) for each in paths)


def is_shipped(task: Task, how: str) -> bool:
    """Whether the task's name stands for it in every copy of gumption; `how` as in `renamed`."""
    try:
        found = find_tasks(task.name)
    except InputError:
        return False
    return len(found) == 1 and renamed(found[0], how).hash == task.hash


def renamed(task: Task, how: str) -> Task:
    """The task with other colours and names: "anonymous" ones, or its own "shuffled" among its discs."""
    if how == "real":
        return task
    if how == "anonymous":
        palette = [*PALETTE, *(f"#{64 + 2 * k:02x}{96 + k:02x}80" for k in range(64))]
        objects = [replace(disc, color=palette[k], name="") for k, disc in enumerate(task.objects)]
    else:
        seed = int(hashlib.sha256(task.name.encode()).hexdigest()[:8], 16)
        order = np.random.default_rng([seed, 5]).permutation(len(task.objects))
        of = [task.objects[k] for k in order]
        objects = [
            replace(disc, color=other.color, name=other.name) for disc, other in zip(task.objects, of, strict=True)
        ]
    return replace(task, objects=tuple(objects))
