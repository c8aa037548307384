"""The commands of a world that offers none of its own: they need nothing but its environments, facts and contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.scripts.apps import App

from .apps import from_config

Run = Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")]


def general_train(world: Any) -> typer.Typer:
    """`gumption train WORLD`."""
    from gumption.agents.world_config import WorldConfig

    app = App(add_completion=False)

    def config_of(**settings: Any) -> Any:
        return WorldConfig(world=world.name, **settings)

    @app.command(help=f"Train an agent: {world.about}")
    @from_config(WorldConfig, skip=("world",), make=config_of)
    def train(config: Any, run: Run = Path("runs") / world.name, resume: Resume = False) -> None:
        train_and_tell(config, run, resume)

    return app


def train_and_tell(config: Any, run: Path, resume: bool) -> None:
    """Train by a `WorldConfig`, and say what came of it."""
    from gumption.agents.impala import train_impala
    from gumption.envs import worlds

    final = train_impala(config, run_dir=run, resume=resume).final
    held_out = worlds.find(config.world).environments[0].held_out
    where = "on what was held out" if held_out else "on other episodes like them"
    print(
        f"success {final['test_success']:.1%} {where}, {final['train_success']:.1%} in training, "
        f"{final['random_success']:.1%} at random; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )
