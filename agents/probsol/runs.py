"""Trained runs of ProbSol, of whichever learner: what they solve, beside players that learn nothing.

A run of MaskablePPO has a `ProbSolConfig`; one of the general learner, which a graph advises, a `WorldConfig`.
"""

from pathlib import Path
from typing import Any

from gumption.agents.run_folder import NO_RUN
from gumption.agents.settings import CONFIG
from gumption.data import InputError
from gumption.data.sealed import read_sealed
from gumption.data.settings import Seed, Size, checked
from gumption.envs.probsol.settings import Partition, ProbSolSettings
from gumption.envs.probsol.tasks import FAMILIES

from .evaluation import baselines, compare, spread


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
        config, players = run.config, {"trained": run.player(seed), "untrained": run.untrained(seed)}
    else:
        config, players = _players(Path(run), device, seed)
    env = dict(getattr(config, "env", ())) or {"task": config.task, "fold": config.fold, "laws": config.laws}
    told: dict[str, Any] = {"task": task or env.get("task", "fishing/0"), "fold": env.get("fold", 0)}
    tasks = ProbSolSettings(**told, partition=partition).load_tasks()
    parted = {one.hash for one in tasks} != {one.hash for one in ProbSolSettings(**told).load_tasks()}
    chosen = [one for family in FAMILIES for one in spread([t for t in tasks if t.family == family], num_tasks)]
    found = compare(players | baselines(seed), chosen, seed=seed, laws=env.get("laws"))
    return {"partition": partition if parted else "", "tasks": len(chosen), "players": found}


def _players(run_dir: Path, device: str | None, seed: int) -> tuple[Any, dict[str, Any]]:
    if "env" in read_sealed(run_dir / CONFIG, missing=NO_RUN):
        from . import guided

        return guided.players(run_dir, device, seed)
    from .training import load_run

    run = load_run(run_dir, device=device)
    return run.config, {"trained": run.player(seed), "untrained": run.untrained(seed)}
