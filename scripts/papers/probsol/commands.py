"""The subcommands of `gumption probsol`: certified tasks, tasks of your own, and memories of probes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from gumption.data import InputError
from gumption.data.settings import Count, Size, Whole
from gumption.scripts.apps import App, NewPacked
from gumption.scripts.papers.probsol import pictures

if TYPE_CHECKING:
    from gumption.envs.probsol.tasks import Task

app = App(
    no_args_is_help=True,
    add_completion=False,
    help="Tasks of ProbSol, their certificates and splits, records, and pictures of solutions.",
)

Family = Literal["fishing", "curling", "findthediff", "findthesame", "building", "modifying"]
#: Number of seeds in a batch of `certify`; the outcome of a seed does not depend on the others.
CHUNK = 20
#: Number of meetings of `probe` on each table.
MEETINGS = 24


@app.command(epilog="Example: gumption probsol certify --family fishing --seeds 0:100")
def certify(*, family: Family, seeds: str, out: NewPacked | None = None) -> None:
    """Make the tasks of seeds, and count their outcomes, the first that applies: trivial (doing nothing solves it),
    chance (more than 5 % of 50 masked random policies do), naive (the family's naive policy does in more than 1 of 10
    tries), unsolved (the solver finds no solution), fragile (the solution fails with K 2 % smaller or larger or with
    the step halved), certified.

    :param family: fishing, curling, findthediff, findthesame, building, modifying.
    :param seeds: A:B, the seeds from A up to B, without B.
    :param out: Keep the outcome of each seed in this file; the command goes on with a file that is there.
    """
    from gumption.envs.probsol.certification import OUTCOMES
    from gumption.envs.probsol.library import family_of, read_rows, write_rows

    from .certifier import certify

    begin, _, end = seeds.partition(":")
    if not (begin.isdecimal() and end.isdecimal() and int(begin) < int(end) <= 2**53):
        raise InputError(f"--seeds is {seeds!r}; it is A:B with A below B, such as 0:100")
    first, last = int(begin), int(end)
    name = family_of(family)
    assert name is not None
    kept = read_rows(out) if out is not None and out.exists() else []
    mine = {row.seed: row for row in kept if row.family == name and first <= row.seed < last}
    others = [row for row in kept if row.family != name or not first <= row.seed < last]
    missing = [seed for seed in range(first, last) if seed not in mine]
    for start in range(0, len(missing), CHUNK):
        mine |= {row.seed: row for row in certify(name, missing[start : start + CHUNK])}
        if out is not None:
            write_rows(out, [*others, *mine.values()])
        passed = sum(row.outcome == "certified" for row in mine.values())
        print(f"{family}: {len(mine)} of {last - first} seeds, {passed} certified", file=sys.stderr)
    for outcome in OUTCOMES:
        print(f"{outcome} {sum(row.outcome == outcome for row in mine.values())}")


@app.command(epilog="Example: gumption probsol pack fishing.jsonl curling.jsonl --out certified.jsonl.gz")
def pack(files: list[Path], *, out: NewPacked, most: Count | None = None) -> None:
    """Put the certified seeds of several files into one, as it ships with gumption.

    :param files: Files that certify --out wrote.
    :param out: The file to write, packed where its name ends in .gz.
    :param most: Seeds of each family at most; all where it is not given.
    """
    from gumption.envs.probsol.library import read_rows, write_rows
    from gumption.envs.probsol.tasks import FAMILIES

    found = {(row.family, row.seed): row for path in files for row in read_rows(path) if row.outcome == "certified"}
    chosen = []
    for family in FAMILIES:
        rows = sorted((row for row in found.values() if row.family == family), key=lambda row: row.seed)[:most]
        for row in rows:
            row.task()  # rebuilds the task and compares its hash
        chosen += rows
        print(f"{family.lower()} {len(rows)}")
    write_rows(out, chosen)


@app.command(epilog="Example: gumption probsol check mine.json")
def check(tasks: list[str]) -> None:
    """Check tasks. It prints for each task the fault, with file, field and reason, or the result of its solution:
    whether it solves the task, the solution rate, its actions, and the end of the episode; and how many of 50 random
    policies solve it in one trial. The number of actions and this share tell how difficult a task is.

    :param tasks: Task files, folders of them, or names such as fishing.
    """
    from gumption.envs.probsol.library import find_tasks, task_files

    faulty = False
    for place in [each for one in tasks for each in (map(str, task_files(Path(one))) if Path(one).is_dir() else [one])]:
        try:
            for task in find_tasks(place):
                faulty |= not _tell(place, task)
        except InputError as error:
            print(error)
            faulty = True
    if faulty:
        raise typer.Exit(1)


def _tell(place: str, task: Task) -> bool:
    """Print the results of a task and its recorded solution; return False if the solution does not solve it."""
    from gumption.envs.probsol.certification import holding, still
    from gumption.envs.probsol.tasks import SANDBOX

    from .certifier import RANDOM_POLICIES, chance

    result, solved = _played(task)
    if task.family != SANDBOX:
        result += f"; {chance(task)} of {RANDOM_POLICIES} random policies solve it"
    print(f"{place}: {task.name}, {task.family}: {result}")
    if not still([task])[0]:
        print(f"{place}: the start is not at rest: discs move before the first action")
    if solved and not holding([task], [task.solution])[0]:
        print(f"{place}: the solution is fragile: it fails with K 2 % smaller or larger or with the step halved")
    return solved or not task.solution


def _played(task: Task) -> tuple[str, bool]:
    """Play the recorded solution; return its result as text, and whether it solves the task."""
    import numpy as np

    from gumption.envs.probsol.env import ProbSolVectorEnv

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


@app.command(epilog="Example: gumption probsol probe --out memories/curious")
def probe(*, out: Path, tasks: Size = 60, seed: Whole = 0, laws: str = "real") -> None:
    """Put discs side by side at random, alone on the table, and keep the transitions.

    `gumption kg build probsol --memory FOLDER` makes a graph of them.

    :param out: The folder of the memory; it is made.
    :param tasks: Generated discovery tasks, a table each.
    :param seed: Draws tasks and meetings.
    :param laws: real, counterfactual, inert or shuffled.
    """
    from gumption.agents.probsol.discovery import Curious, find_tasks, live_through
    from gumption.data.settings import check as checked_value
    from gumption.envs.probsol.memory import Memory
    from gumption.envs.probsol.tasks import Laws

    law = checked_value("laws", laws, Laws)
    live_through(find_tasks("monopoles", tasks, 100_000 + seed * 1000), Curious(seed, MEETINGS), law, out)
    memory = Memory.load(out)
    print(f"{len(memory)} steps on {len(memory.tasks)} tables, kept in {out}")


app.add_typer(pictures.app)
