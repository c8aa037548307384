"""`gumption train wordcraft`: an agent that combines words, with or without knowledge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.agents.wordcraft.config import TrainConfig
from gumption.scripts.apps import App, from_config

app = App(add_completion=False)

FLAGS = {
    "num_distractors": "distractors",
    "subgoal_rewards": "!no-subgoal-rewards",
}


@app.command(epilog="Example: gumption train wordcraft --kg train --run runs/guided")
@from_config(TrainConfig, flags=FLAGS, skip=("world",))
def train(
    config: TrainConfig,
    run: Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")] = Path(
        "runs/wordcraft"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
) -> None:
    """Train an agent and tell its zero-shot success on the tasks that were set aside."""
    from gumption.agents.impala import train_impala
    from gumption.agents.wordcraft.wording import success_sentence

    result = train_impala(config, run_dir=run, resume=resume)
    final = result.final
    print(
        f"{success_sentence(config.split, final)}, {final['wall_s']:.0f} s, "
        f"{final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )
