"""Trained runs of ProbSol: what they solve, beside players that learn nothing."""

from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Seed, Size, checked
from gumption.envs.probsol.settings import Partition, ProbSolSettings
from gumption.envs.probsol.tasks import FAMILIES

from .evaluation import baselines, compare, spread
from .training import load_run


@checked
def evaluate(
    run: Any,
    *,
    partition: Partition = "test",
    task: tuple[str, ...] | None = None,
    num_tasks: Size = 100,
    seed: Seed = 0,
    device: str | None = None,
) -> dict[str, Any]:
    """Play each task once, up to ten trials, with actions drawn as a run's policy has learned to.

    Beside it: the network before training, masked random actions, CHECK at once, and scripts that people wrote. solved
    is the share solved in the first trial, with its 95 % interval; AUCCESS weighs the shares solved within 1 to 10
    trials (early ones count more); rate is the mean solution rate of the first trial; actions are those of the trials
    that solved.

    :param run: its folder, or the result of a training with MaskablePPO.
    :param partition: the part of generated tasks: train, validation or test.
    :param task: other tasks than those of the training, such as curling/generated.
    :param num_tasks: at most so many of each family.
    :param seed: draws the players' actions.
    :param device: other than in training, of a run in a folder: auto, cpu or cuda.
    :returns: "partition", "tasks" (how many), and "players": name -> family -> see `evaluation.compare`. "partition" is
        "" where the tasks are in every part, so that they were trained on, too.
    :raises InputError: no run there, or a damaged one; no such task.
    """
    if hasattr(run, "config"):
        if device is not None:
            raise InputError("device is for a run in a folder: this one is in memory")
    else:
        run = load_run(Path(run), device=device)
    config = run.config
    told: dict[str, Any] = {"task": task or config.task, "fold": config.fold}
    tasks = ProbSolSettings(**told, partition=partition).load_tasks()
    parted = {one.hash for one in tasks} != {one.hash for one in ProbSolSettings(**told).load_tasks()}
    chosen = [one for family in FAMILIES for one in spread([t for t in tasks if t.family == family], num_tasks)]
    found = compare(run.players(seed) | baselines(seed), chosen, seed=seed, laws=config.laws)
    about = f"{len(chosen)} {f'{partition} tasks' if parted else 'tasks, which the training had, too'}"
    told = {"partition": partition if parted else "", "tasks": len(chosen)}
    return {**told, "players": found, "parts": "family", "about": about}
