"""`gumption train segar`: PPO or SAC on n training levels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.agents.segar.config import SegarConfig
from gumption.scripts.apps import App
from gumption.scripts.options import from_config

app = App(add_completion=False)

FLAGS = {"total_steps": "steps"}


EPILOG = """Example: gumption train segar --levels empty-hard --observation state --run runs/segar

An agent that knowledge guides: gumption segar train-guided --help
"""


@app.command(epilog=EPILOG)
@from_config(SegarConfig, flags=FLAGS, skip=("world",))
def train(
    config: SegarConfig,
    run: Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")] = Path(
        "runs/segar"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
) -> None:
    """Train an agent, and tell its return and success on the training levels and on test levels."""
    from gumption.agents.segar.training import train_segar

    final = train_segar(config, run, resume=resume).final
    print(
        f"return {final['train_return']:.2f} and success {final['train_success']:.1%} on the training levels, "
        f"{final['test_return']:.2f} and {final['test_success']:.1%} on test levels; {final['wall_s']:.0f} s, "
        f"{final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )
