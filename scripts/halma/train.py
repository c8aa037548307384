"""`gumption train halma`: an agent that finds its way; what it lived through is kept, and tests are made of that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.agents.halma.config import HALMAConfig
from gumption.scripts.apps import App, from_config

app = App(add_completion=False)

FLAGS = {"num_mazes": "mazes"}


@app.command(epilog="Example: gumption train halma --agent mlp --guided --episodes 300 --run runs/halma")
@from_config(HALMAConfig, flags=FLAGS, skip=("world",))
def train(
    config: HALMAConfig,
    run: Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")] = Path(
        "runs/halma"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
) -> None:
    """Train an agent and keep what it experienced: diagnostic splits are made of that."""
    from gumption.agents.halma.runs import train_td3

    final = train_td3(config, run, resume=resume).final
    print(
        f"finished {final['finished_trials']:.1f} of 10 trials an episode, {final['valid_moves']:.1%} of moves valid; "
        f"{final['episodes']:,} episodes, {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )
