"""Certified generated tasks: rows of one small file, from which the tasks are made again when they are asked for."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.packed import open_packed
from gumption.data.sealed import damaged
from gumption.data.writing import write_bytes

from .certification import OUTCOMES, Solution
from .generators import Decision, finish
from .splits import partition_of
from .tasks import FAMILIES, Task

SCHEMA = "gumption/probsol-certified/1"
FILE = "certified.jsonl.gz"
#: Characters of a task's hash that a row keeps.
DIGITS = 16


@dataclass(frozen=True)
class Row:
    """What a seed of a family came to.

    :ivar outcome: one of `OUTCOMES`. :ivar solution: actions by name, () where there is none.
    :ivar hash: the first characters of the task's. :ivar chance: share of masked random policies that solved it, one
        trial each; 0 where they did not play.
    """

    family: str
    seed: int
    outcome: str
    decision: Decision
    solution: Solution
    hash: str
    chance: float

    @property
    def actions(self) -> int:
        """Actions of the solution, CHECK included."""
        return len(self.solution)

    def task(self) -> Task:
        """The task, made again, with the solution.

        :raises InputError: it is another one than was certified.
        """
        task = replace(finish(self.family, self.seed, self.decision), solution=tuple(map(tuple, self.solution)))
        if task.hash[:DIGITS] != self.hash:
            damaged(f"{task.name} of {FILE}", "its seed gives another task now than the one that was certified")
        return task

    def to_json(self) -> list[Any]:
        """As a line of a file."""
        decision = [self.decision.draft, self.decision.start, self.decision.end]
        solution = " ".join(",".join(map(str, action)) for action in self.solution)
        return [self.family, self.seed, self.outcome, decision, solution, self.actions, self.hash, self.chance]

    @staticmethod
    def read(line: Any) -> "Row":
        """:raises ValueError, TypeError: no such line."""
        family, seed, outcome, (draft, start, end), solution, actions, digest, chance = line
        start, end = (tuple((one, (x, y)) for one, (x, y) in part) for part in (start, end))
        done = tuple(
            (verb, *(int(each) if each.lstrip("-").isdigit() else each for each in rest))
            for verb, *rest in (action.split(",") for action in solution.split())
        )
        if family not in FAMILIES or outcome not in OUTCOMES or len(done) != actions:
            raise ValueError(f"no row of a seed: {line}")
        return Row(family, seed, outcome, Decision(draft, start, end), done, digest, chance)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file that `write_rows` wrote, plain or packed.

    :raises InputError: it cannot be read, or holds something else.
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
    """Write rows sorted by family and seed, packed where the name ends in .gz; the same rows give the same bytes."""
    ordered = sorted(rows, key=lambda row: (FAMILIES.index(row.family), row.seed))
    lines = [{"schema": SCHEMA}, *(row.to_json() for row in ordered)]
    text = json.dumps(lines[0]) + "\n"
    text += "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines[1:])
    content = text.encode()
    write_bytes(path, gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)


@cache
def certified(family: str) -> tuple[Row, ...]:
    """The rows of the certified seeds of a family that ship with gumption, by seed."""
    return tuple(row for row in _shipped() if row.family == family)


@cache
def _shipped() -> tuple[Row, ...]:
    return tuple(read_rows(Path(str(files("gumption.envs.probsol") / FILE))))


@cache
def generated(family: str, partition: str = "all", fold: int = 0) -> tuple[Task, ...]:
    """The certified tasks of a family, by seed.

    :param partition, fold: which part of the split within the family; see `splits.partition_of`.
    """
    rows = certified(family)
    parts = partition_of(family, [row.seed for row in rows], fold)
    return tuple(_task(row) for row, part in zip(rows, parts, strict=True) if _takes(partition, part))


def _takes(partition: str, part: str) -> bool:
    return partition in ("all", part)


_tasks: dict[tuple[str, int], Task] = {}


def _task(row: Row) -> Task:
    if (row.family, row.seed) not in _tasks:
        _tasks[row.family, row.seed] = row.task()
    return _tasks[row.family, row.seed]
