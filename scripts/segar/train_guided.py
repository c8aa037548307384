"""`gumption segar train-guided`: an agent that chooses among pushes, with knowledge of what they meet."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.agents.world_config import WorldConfig
from gumption.data.settings import Seed, Size
from gumption.scripts.apps import App
from gumption.scripts.options import from_config
from gumption.scripts.world_commands import FLAGS, Resume, Run, train_and_tell

app = App()


@app.command("train-guided", epilog="Example: gumption segar train-guided --levels tilesx3-hard --run runs/guided")
@from_config(WorldConfig, flags=FLAGS, skip=("world", "env", "kg"), make=partial(WorldConfig, "segar", kg="full"))
def train_guided(
    config: Any,
    levels: Annotated[str, typer.Option(help="A configuration, or a file of one: the training levels.")] = (
        "tilesx2-medium"
    ),
    num_levels: Annotated[Size, typer.Option(help="How many there are.")] = 100,
    level_seed: Annotated[Seed, typer.Option(help="Draws them.")] = 0,
    kg: Annotated[
        str, typer.Option(help="full: the facts of the world; a graph; the folder of a link predictor; or none.")
    ] = "full",
    run: Run = Path("runs/guided"),
    resume: Resume = False,
) -> None:
    """Train an agent that chooses among 16 pushes of PuttPutt, and is guided by facts about tiles.

    It sees where the ball, the goal and the tiles are, their heat and friction, but not which tile is a hole. With
    --kg none it is the same agent without knowledge.
    """
    from gumption.agents.segar.guided import env_settings

    env = env_settings(levels, level_seed=level_seed, num_levels=num_levels)
    train_and_tell(replace(config, kg=kg, env=tuple(env.items())), run, resume)
