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
    """What a run's player solves, and players that learn nothing, on the same tasks.

    :param run: its folder, or the result of a training with MaskablePPO.
    :param partition: the part of generated tasks.
    :param task: other tasks than those of the training.
    :param num_tasks: at most so many of each family.
    :param seed: draws the players' actions.
    :param device: other than the training's, of a run in a folder.
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
    return {"partition": partition if parted else "", "tasks": len(chosen), "players": found}
