"""What `gumption watch RUN` lets one choose for a run of SEGAR."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command()
def watch(
    run: Annotated[Path, typer.Argument()],
    partition: Annotated[str, typer.Option(help="Which levels: train, those of its training, or test.")] = "test",
    level: Annotated[
        str | None, typer.Option(help="A level by its name, as tilesx3-hard/test/0/7.  [default: drawn by the seed]")
    ] = None,
) -> Any:
    """The agent of a run on a level."""
    from gumption.agents.segar.runs import player_of
    from gumption.data.settings import check
    from gumption.envs.segar.configurations import Split

    return player_of(run, check("--partition", partition, Split), level)
