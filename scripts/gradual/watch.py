"""`gumption gradual watch RUN`: a recorded session as the rows of input, output and reward, task by task."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data import InputError, Note
from gumption.data.settings import unknown
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from gumption.envs.gradual import Memory

app = App(add_completion=False)

_STEPS = re.compile(r"([0-9]{1,15})-([0-9]{1,15})", re.ASCII)


@app.command("watch", epilog="Example: gumption gradual watch run --task micro4 --steps 1-200")
def watch(
    run: Annotated[Path, typer.Argument(help="Folder that `gumption gradual run --memory --out RUN` has made.")],
    task: Annotated[str | None, typer.Option(help="Show this task alone.")] = None,
    steps: Annotated[
        str | None, typer.Option(metavar="A-B", help="Show these steps alone; the session's first is 1.")
    ] = None,
) -> None:
    """Show what the environment sent, what the agent said below it, and the reward of that, instance by instance."""
    from gumption.envs.gradual import Memory
    from gumption.envs.gradual.render import WIDTH, rows_of_text
    from gumption.envs.memory import FOLDER, HEADER

    if not (run / FOLDER / HEADER).is_file():
        raise InputError(f"{run} holds no memory of a session: `gumption gradual run --memory --out RUN` keeps one")
    memory = Memory.load(run / FOLDER)
    if memory.warning:
        warnings.warn(memory.warning, Note, stacklevel=2)
    for part in _chosen(memory, task, steps):
        name, number = memory.tasks[memory.task[part.start]], memory.instance[part.start] + 1
        reward = memory.reward[part.start : part.stop].sum()
        print(f"{name}, instance {number}, steps {part.start + 1:,} to {part.stop:,}, reward {reward:+,}")
        for begin in part[::WIDTH]:
            row = slice(begin, min(begin + WIDTH, part.stop))
            print(rows_of_text(memory.sent[row].tobytes(), memory.said[row].tobytes(), memory.reward[row].tolist()))
        print()


def _chosen(memory: Memory, task: str | None, steps: str | None) -> list[range]:
    """The records of each instance, as far as they belong to the task and are among the steps.

    :raises InputError: an unknown task, no range of steps, or a choice without a record.
    """
    if task is not None and task not in memory.tasks:
        raise InputError(unknown("the session", task, memory.tasks))
    first, last = (1, len(memory)) if steps is None else _range(steps)
    parts = [
        range(max(one.start, first - 1), min(one.stop, last))
        for one in memory.instances()
        if task is None or memory.tasks[memory.task[one.start]] == task
    ]
    parts = [part for part in parts if part]
    if not parts:
        where = f" of {task}" * (task is not None) + f" among {steps}" * (steps is not None)
        end = f", the last of them in {memory.tasks[memory.task[-1]]}" if len(memory) else ""
        raise InputError(f"there is no step{where}: the memory has {len(memory):,} steps{end}")
    return parts


def _range(steps: str) -> tuple[int, int]:
    """ "51-100" -> (51, 100)."""
    match = _STEPS.fullmatch(steps)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--steps is {steps!r}; it is the first and the last step, counted from 1, such as 51-100")
    return int(match[1]), int(match[2])
