"""What `gumption watch RUN` lets one choose for a run of ProbSol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command()
def watch(
    run: Annotated[Path, typer.Argument()],
    task: Annotated[
        str | None, typer.Option(help="A task, a family or a file.  [default: the test part of its tasks]")
    ] = None,
) -> Any:
    """The agent of a run at a task."""
    from gumption.agents.probsol.watching import player_of

    return player_of(run, task)
