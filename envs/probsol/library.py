"""Load tasks by name: designed tasks, certified generated tasks, files and folders.

A generated task ships as a row of certified.jsonl.gz and is rebuilt from this row on demand.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.packed import open_packed
from gumption.data.sealed import damaged
from gumption.data.settings import shown
from gumption.data.writing import can_be_named, write_bytes

from .certification import OUTCOMES, Solution
from .generators import Decision, finish
from .tasks import FAMILIES, Task, read_task

SCHEMA = "gumption/probsol-certified/1"
SHIPPED = files("gumption.envs.probsol")
DESIGNED, CERTIFIED = "designed", "certified.jsonl.gz"
#: Number of characters of a task's hash that a row stores.
DIGITS = 16
FOLDS = 10
#: Tenths of a family in the test part of a fold, and in its validation part.
TEST, VALIDATION = 2, 1
#: Colours of anonymous discs, by their number.
PALETTE = ("steelblue", "peru", "seagreen", "orchid", "goldenrod", "slategray", "tomato", "olive", "teal", "plum",
           "sienna", "navy")  # fmt: skip


def family_of(name: str) -> str | None:
    """Return the family with a name in lower case, such as "fishing"; None for other names."""
    return next((family for family in FAMILIES if family.lower() == name), None)


@cache
def designed(family: str) -> tuple[Task, ...]:
    """Return a family's designed tasks by number. 2 and 3, and 4 and 5, look alike but need different strategies."""
    folder = SHIPPED / DESIGNED / family.lower()
    paths = [Path(str(each)) for each in folder.iterdir() if each.name.endswith(".json")] if folder.is_dir() else []
    return tuple(read_task(path) for path in sorted(paths, key=lambda path: int(path.stem)))


def find_tasks(given: Any, partition: str = "all", fold: int = 0) -> tuple[Task, ...]:
    """Return the tasks for a name, a path, a mapping or a `Task`; see `ProbSolSettings`.

    :param partition, fold: select generated tasks by the split within families.
    :raises InputError: there is no such task, or it cannot be read.
    """
    if isinstance(given, str):
        if given in ("designed", "generated"):
            chosen = [family.lower() + ("/generated" if given == "generated" else "") for family in FAMILIES]
            return tuple(task for name in chosen for task in find_tasks(name, partition, fold))
        head, _, number = given.partition("/")
        if (family := family_of(head)) is not None:
            if not number:
                return designed(family)
            if number == "generated":
                return generated(family, partition, fold)
            if found := [task for task in designed(family) if task.name == given]:
                return tuple(found)
    if not isinstance(given, str | os.PathLike):
        return (read_task(given),)
    if not can_be_named(given):
        raise InputError(f"there is no task {shown(given)}: no file can have that name")
    path = Path(given)
    if path.is_dir():
        return tuple(map(read_task, task_files(path)))
    if path.is_file() or path.suffix == ".json":
        return (read_task(path),)
    names = [name for family in FAMILIES for name in (*(task.name for task in designed(family)), family.lower())]
    hint = did_you_mean(given, names, "tasks are fishing/0, fishing, fishing/generated, or a file")
    raise InputError(f"there is no task {str(given)!r}, nor such a file; {hint}")


def task_files(folder: Path) -> list[Path]:
    """Return the sorted task files of a folder; raise InputError if there is none."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise InputError(f"{folder}: no task in this folder; it holds files of tasks, *.json")
    return paths


def is_shipped(task: Task, how: str) -> bool:
    """Return whether gumption ships this task under its name; `how` as in `renamed`."""
    try:
        found = find_tasks(task.name)
    except InputError:
        return False
    return len(found) == 1 and renamed(found[0], how).hash == task.hash


def renamed(task: Task, how: str) -> Task:
    """Return the task with other colours and names: "anonymous", or its own "shuffled" among its discs."""
    if how == "real":
        return task
    if how == "anonymous":
        palette = [*PALETTE, *(f"#{64 + 2 * k:02x}{96 + k:02x}80" for k in range(64))]
        objects = [replace(disc, color=palette[k], name="") for k, disc in enumerate(task.objects)]
    else:
        seed = int(hashlib.sha256(task.name.encode()).hexdigest()[:8], 16)
        order = np.random.default_rng([seed, 5]).permutation(len(task.objects)).tolist()
        others = [task.objects[k] for k in order]
        objects = [replace(disc, color=other.color, name=other.name)
                   for disc, other in zip(task.objects, others, strict=True)]  # fmt: skip
    return replace(task, objects=tuple(objects))


# ---- generated tasks


def partition_of(family: str, seeds: Sequence[int], fold: int) -> list[str]:
    """Return the part of each seed of a family: train (70 %), validation (10 %) or test (20 %).

    A hash assigns each seed to a tenth of its family, independent of other seeds. Fold f tests on the tenths f and
    f + 1 and validates on f + 2, modulo 10.
    """
    names = [f"{family.lower()}/seed-{seed}" for seed in seeds]
    tenths = [int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % FOLDS for name in names]
    places = [(tenth - fold) % FOLDS for tenth in tenths]
    return ["test" if at < TEST else "validation" if at < TEST + VALIDATION else "train" for at in places]


@dataclass(frozen=True)
class Row:
    """The outcome of a seed of a family.

    :ivar outcome: an element of `OUTCOMES`. :ivar solution: actions by name, () if there is none.
    :ivar hash: the first characters of the task's hash. :ivar chance: share of masked random policies that solved the
        task in one trial; 0 if they did not play.
    """

    family: str
    seed: int
    outcome: str
    decision: Decision
    solution: Solution
    hash: str
    chance: float

    def task(self) -> Task:
        """Rebuild the task, with the solution.

        :raises InputError: it differs from the certified task.
        """
        task = replace(finish(self.family, self.seed, self.decision), solution=tuple(map(tuple, self.solution)))
        if task.hash[:DIGITS] != self.hash:
            damaged(f"{task.name} of {CERTIFIED}", "its seed gives another task now than the one that was certified")
        return task

    def to_json(self) -> list[Any]:
        """Return the row as a list for a line of a file."""
        decision = [self.decision.draft, self.decision.start, self.decision.end]
        solution = " ".join(",".join(map(str, action)) for action in self.solution)
        many = len(self.solution)
        return [self.family, self.seed, self.outcome, decision, solution, many, self.hash, self.chance]

    @staticmethod
    def read(line: Any) -> "Row":
        """:raises ValueError, TypeError: the line is no row."""
        family, seed, outcome, (draft, start, end), solution, many, digest, chance = line
        start, end = (tuple((one, (x, y)) for one, (x, y) in part) for part in (start, end))
        actions = tuple(
            (verb, *(int(each) if each.lstrip("-").isdigit() else each for each in rest))
            for verb, *rest in (action.split(",") for action in solution.split())
        )
        if family not in FAMILIES or outcome not in OUTCOMES or len(actions) != many:
            raise ValueError(f"no row of a seed: {line}")
        return Row(family, seed, outcome, Decision(draft, start, end), actions, digest, chance)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a file from `write_rows`, plain or packed.

    :raises InputError: the file cannot be read, or has other content.
    """
    try:
        with open_packed(path) as file:
            first, *lines = file.read().decode().splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if first != json.dumps({"schema": SCHEMA}):
        raise InputError(f"{path}: holds no certified seeds of schema {SCHEMA}; make it with gumption probsol certify")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            rows.append(Row.read(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}: line {number}: {error}") from None
    return rows


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows sorted by family and seed, packed if the name ends in .gz; the same rows give the same bytes."""
    ordered = sorted(rows, key=lambda row: (FAMILIES.index(row.family), row.seed))
    lines = [json.dumps({"schema": SCHEMA}), *(json.dumps(row.to_json(), separators=(",", ":")) for row in ordered)]
    content = "".join(f"{line}\n" for line in lines).encode()
    write_bytes(path, gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)


@cache
def certified() -> dict[str, tuple[Row, ...]]:
    """Return family -> the rows of its certified seeds that ship with gumption, by seed."""
    rows = read_rows(Path(str(SHIPPED / CERTIFIED)))
    return {family: tuple(row for row in rows if row.family == family) for family in FAMILIES}


@cache
def generated(family: str, partition: str = "all", fold: int = 0) -> tuple[Task, ...]:
    """Return the certified tasks of a part of a family, by seed; see `partition_of`."""
    rows = certified()[family]
    parts = partition_of(family, [row.seed for row in rows], fold)
    return tuple(_made(row) for row, part in zip(rows, parts, strict=True) if partition in ("all", part))


@cache
def _made(row: Row) -> Task:
    return row.task()
