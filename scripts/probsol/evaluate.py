"""`gumption evaluate RUN` of ProbSol: a run's player and players that learn nothing, on the same tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Seed, Size
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption evaluate runs/fishing --partition test --num-tasks 100")
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `gumption train` leaves it.")],
    partition: Annotated[str, typer.Option(help="The part of generated tasks: train, validation or test.")] = "test",
    task: Annotated[
        str | None, typer.Option(help="Other tasks, such as curling/generated.  [default: those of the training]")
    ] = None,
    num_tasks: Annotated[Size, typer.Option(help="At most so many of each family.")] = 100,
    seed: Annotated[Seed, typer.Option(help="Draws the players' actions.")] = 0,
    device: Annotated[str | None, typer.Option(help="Other than in training: auto, cpu or cuda.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play each task once, up to ten trials, with actions drawn as the policy has learned to; beside it the network
    before training, masked random actions, CHECK at once, and scripts that people wrote.

    solved is the share solved in the first trial, with its 95 % interval; AUCCESS weighs the shares solved within 1 to
    10 trials (early ones count more); rate is the mean solution rate of the first trial; actions are those of the
    trials that solved.
    """
    import json

    from gumption.agents.probsol.runs import evaluate as measure
    from gumption.data.settings import check
    from gumption.envs.probsol.settings import Partition

    part = check("--partition", partition, Partition)
    chosen = None if task is None else tuple(one.strip() for one in task.split(","))
    found = measure(run, partition=part, task=chosen, num_tasks=num_tasks, seed=seed, device=device)
    if as_json:
        print(json.dumps(found))
        return
    from gumption.scripts.kg.output import print_table

    rows = []
    for name, families in found["players"].items():
        for family, told in families.items():
            actions = "-" if told["actions"] is None else f"{told['actions']:.1f}"
            solved = f"{told['solved']:.1%} ({told['low']:.1%} to {told['high']:.1%})"
            rows.append((name, family, solved, f"{told['auccess']:.3f}", f"{told['rate']:.3f}", actions))
    kind = f"{found['partition']} tasks" if found["partition"] else "tasks, which the training had, too"
    print_table(["player", "family", "solved", "AUCCESS", "rate", "actions"], rows, f"{found['tasks']} {kind}")
