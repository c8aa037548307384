"""What `gumption watch RUN` lets one choose for a run of HALMA."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data.settings import Count, Whole
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command()
def watch(
    run: Annotated[Path, typer.Argument()],
    partition: Annotated[
        str, typer.Option(help="Which mazes: train, those of its training, or a test of RUN/splits, such as RT.")
    ] = "train",
    maze: Annotated[Whole, typer.Option(help="Which of these mazes, from 0.")] = 0,
    trials: Annotated[Count, typer.Option(help="How often it has to find the goal; 10 in training.")] = 2,
    space_model: Annotated[str | None, typer.Option(help="The run's SPACE model, if it was moved.")] = None,
) -> Any:
    """The agent of a run in one maze."""
    from gumption.agents.halma.evaluation import images
    from gumption.agents.halma.runs import load_run
    from gumption.agents.halma.watching import HALMAPlayer
    from gumption.data import InputError
    from gumption.envs.halma import HALMAVectorEnv
    from gumption.envs.halma.diagnostics import TRAINING
    from gumption.envs.halma.splits import load_splits

    loaded = load_run(run, device="cpu", space_model=space_model)
    config, test, mazes = loaded.config, TRAINING, loaded.mazes
    if partition != "train":
        if not (run / "splits").is_dir():
            raise InputError(f"{run} has no tests in {run / 'splits'}: `gumption splits halma` makes them of a run")
        splits = load_splits(run / "splits")
        if partition not in splits:
            raise InputError(f"--partition is {partition!r}; it can be train, {', '.join(splits)}")
        test, mazes = partition, splits[partition]
    seen = {"images": images(config, test)} if config.observation == "visual" else {}
    env = HALMAVectorEnv(
        1,
        mazes=mazes,
        observation=config.observation,
        max_opt_len=config.max_opt_len,
        trials=trials,
        render_mode="ansi",
        autoreset_mode="Disabled",
        **seen,
    )
    return HALMAPlayer(loaded.actor(), env, maze)
