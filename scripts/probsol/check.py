"""`gumption probsol check`: whether files are tasks, what their recorded solutions come to, how difficult they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.scripts.apps import App

if TYPE_CHECKING:
    from gumption.envs.probsol.tasks import Task

app = App()


@app.command(epilog="Example: gumption probsol check mine.json")
def check(
    tasks: Annotated[list[str], typer.Argument(help="Task files, folders of them, or names such as fishing.")],
) -> None:
    """Read tasks. Of each it says what is wrong, with file, field and reason, or what its recorded solution comes to:
    whether it solves the task, the solution rate, its actions, and how the episode ends; and how many of 50 random
    policies solve it in one trial. The number of actions and this share tell how difficult a task is."""
    from gumption.data import InputError

    faulty = False
    for place in [place for given in tasks for place in _places(given)]:
        try:
            for task in _read(place):
                faulty |= not _tell(place, task)
        except InputError as error:
            print(error)
            faulty = True
    if faulty:
        raise typer.Exit(1)


def _places(given: str) -> list[str]:
    from gumption.data import InputError

    if not Path(given).is_dir():
        return [given]
    if not (paths := sorted(Path(given).rglob("*.json"))):
        raise InputError(f"{given}: no task in this folder; it holds files of tasks, *.json")
    return [str(path) for path in paths]


def _read(place: str) -> tuple[Task, ...]:
    """The task of a file, or the shipped ones of a name."""
    from gumption.envs.probsol.library import find_tasks
    from gumption.envs.probsol.tasks import read_task

    return (read_task(Path(place)),) if place.endswith(".json") else find_tasks(place)


def _tell(place: str, task: Task) -> bool:
    """Print what a task and its recorded solution come to; False where the solution does not solve it."""
    from gumption.agents.probsol.certifier import chance
    from gumption.envs.probsol.certification import RANDOM_POLICIES, holding, still
    from gumption.envs.probsol.tasks import SANDBOX

    told, solved = _played(task)
    if task.family != SANDBOX:
        told += f"; {chance(task)} of {RANDOM_POLICIES} random policies solve it"
    print(f"{place}: {task.name}, {task.family}: {told}")
    if not still([task])[0]:
        print(f"{place}: the start is not at rest: discs move before the first action")
    if solved and not holding([task], [task.solution])[0]:
        print(f"{place}: the solution is fragile: it fails with K 2 % smaller or larger or with the step halved")
    return solved or not task.solution


def _played(task: Task) -> tuple[str, bool]:
    """What the recorded solution comes to, and whether it solves the task."""
    import numpy as np

    from gumption.envs.probsol.vector_env import ProbSolVectorEnv

    if not task.solution:
        return "a task, without a recorded solution", False
    batch = ProbSolVectorEnv(1, task=task, max_actions=max(200, len(task.solution)))
    batch.reset(seed=0)
    for number, (verb, *arguments) in enumerate(task.solution):
        where = f"solution[{number}], {verb}"
        if batch.results()[1][0]:
            return f"the episode is over before {where}", False
        if verb == "answer":
            if not batch.waits[0]:
                return f"{where}: no quiz is open", False
            batch.answer(0, arguments)
            continue
        refused = int(batch.tables.refused[0])
        batch.make_step(np.array([batch.action_index(verb, *arguments)]))
        if batch.tables.refused[0] > refused:
            return f"{where} is not open then", False
    info = batch.describe(0)
    solved = bool(batch.success[0])
    end = info["end"] or ("waiting for the answers" if batch.waits[0] else "not ended")
    return (
        f"{'solved' if solved else 'not solved'}, solution rate {info['trial_rate']:.4g}, "
        f"{int(batch.tables.actions[0] + batch.tables.actions_before[0])} actions, end: {end}"
    ), solved
