"""`gumption halma pretrain`: the eyes of the agent that sees panels through SPACE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Count, Seed, Size
from gumption.envs.halma.maze import NumMazes
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption halma pretrain --steps 2000 --run runs/space")
def pretrain(
    run: Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")] = Path(
        "runs/space"
    ),
    steps: Annotated[Count, typer.Option(help="Updates.")] = 20_000,
    preset: Annotated[str, typer.Option(help="The model: paper, or fast, a narrower one for a CPU.")] = "paper",
    batch_size: Annotated[Size, typer.Option(help="Panels in an update.")] = 16,
    mazes: Annotated[NumMazes, typer.Option(help="Training mazes whose panels are drawn.")] = 100,
    maze_seed: Annotated[Seed, typer.Option(help="Which ones.")] = 0,
    images: Annotated[str, typer.Option(help="Handwriting: train, or train-full (all of MNIST).")] = "train",
    seed: Annotated[Seed, typer.Option(help="Fixes everything.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
) -> None:
    """Pretrain SPACE on the panels of HALMA's training mazes: the eyes of the agent space."""
    from gumption.agents.halma.space_training import PRESETS, pretrain_space
    from gumption.data import InputError
    from gumption.envs.halma import Mazes, sample_mazes
    from gumption.envs.halma.visual import PanelPainter

    if preset not in PRESETS:
        raise InputError(f"preset is {preset!r}; it can be {', '.join(PRESETS)}")
    config, learning = PRESETS[preset]
    pretrain_space(
        Mazes(sample_mazes(mazes, maze_seed)),
        PanelPainter(images),
        run_dir=run,
        steps=steps,
        batch_size=batch_size,
        seed=seed,
        device=device,
        config=config,
        learning=learning,
        resume=resume,
    )
    print(f"pretrained on panels of {mazes} mazes, {steps:,} steps; the model is in {run}")
