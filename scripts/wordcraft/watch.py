"""What `gumption watch RUN` lets one choose for a run of WordCraft."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command()
def watch(
    run: Annotated[Path, typer.Argument()],
    partition: Annotated[str, typer.Option(help="Part of the run's split: train, test or all.")] = "test",
    goal: Annotated[str | None, typer.Option(help="Play a task of this goal.  [default: drawn by the seed]")] = None,
    recipe_book: Annotated[str | None, typer.Option(help="File of the run's book, if it does not ship.")] = None,
) -> Any:
    """The agent of a run, on tasks of a partition."""
    from gumption.agents.run_folder import load_policy
    from gumption.agents.wordcraft.watching import WordCraftPlayer
    from gumption.envs.wordcraft import WordCraftVectorEnv

    config, policy = load_policy(run, recipe_book=recipe_book, device="cpu")
    env = WordCraftVectorEnv(1, render_mode="ansi", autoreset_mode="Disabled", **config.env_settings(partition))
    return WordCraftPlayer(policy, env, partition, goal)
