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
        str | None, typer.Option(help="A task, a family or a file.  [default: those of the training]")
    ] = None,
) -> Any:
    """The agent of a run at a task."""
    from gumption.agents.probsol.watching import ActionPlayer
    from gumption.agents.world_setup import load_policy
    from gumption.envs.probsol.vector_env import ProbSolVectorEnv

    config, policy = load_policy(run, device="cpu")
    settings = dict(config.env) | ({} if task is None else {"task": task})
    env = ProbSolVectorEnv(1, render_mode="ansi", autoreset_mode="Disabled", **settings)
    return ActionPlayer(policy, env)
