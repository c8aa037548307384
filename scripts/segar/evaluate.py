"""`gumption evaluate RUN` of SEGAR: levels played once each, beside players that learn nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Size
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption evaluate runs/segar --levels empty-hard")
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `gumption train` leaves it.")],
    partition: Annotated[str, typer.Option(help="train (the run's own training levels) or test.")] = "test",
    levels: Annotated[str | None, typer.Option(help="Another configuration, such as objectsx2-hard.")] = None,
    num_levels: Annotated[Size | None, typer.Option(help="How many.  [default: as in the run's config]")] = None,
    device: Annotated[str | None, typer.Option(help="Other than in training: auto, cpu or cuda.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play levels once each with the most probable actions; beside it the network before training, random forces, no
    force, and a controller that people wrote (scripted). Beside a run that knowledge guides, the same network with its
    knowledge taken away."""
    import json

    from gumption.agents.segar.runs import evaluate as measure
    from gumption.data.settings import check
    from gumption.envs.segar.configurations import Split

    part = check("--partition", partition, Split)
    found = measure(run, partition=part, levels=levels, num_levels=num_levels, device=device)
    if as_json:
        print(json.dumps(found))
        return
    from gumption.scripts.kg.output import print_table

    rows = [(name, f"{told['return']:.2f}", f"{told['success']:.1%}") for name, told in found["players"].items()]
    told = f"{found['num_levels']} {found['partition']} levels of {found['levels']}"
    print_table(["player", "return", "success"], rows, told)
