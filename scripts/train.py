"""`gumption train WORLD`: train an agent, keep its run, go on with one that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Train an agent on a world.")

Run = Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")]
Seed = Annotated[int, typer.Option(help="Fixes everything.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")]


@app.command(epilog="Example: gumption train wordcraft --kg train --run runs/guided")
def wordcraft(
    run: Run = Path("runs/wordcraft"),
    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense",
    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for a book of your own.")] = None,
    depth: Annotated[int, typer.Option(help="Mixes that the goal needs: 1 to 3.")] = 1,
    distractors: Annotated[int, typer.Option(help="Entities on the table that the task does not need.")] = 8,
    split: Annotated[str, typer.Option(help="How the book is split: by_recipe, by_goal, by_task, ...")] = "by_recipe",
    train_ratio: Annotated[float, typer.Option(help="Share of the training part.")] = 0.8,
    features: Annotated[str, typer.Option(help="glove, random or onehot.")] = "glove",
    agent: Annotated[str, typer.Option(help="attention or mlp.")] = "attention",
    kg: Annotated[str, typer.Option(help="Knowledge in the policy: none, train (training facts) or full.")] = "none",
    scores: Annotated[
        str, typer.Option(help="Which scores, separated by commas: combinesWith, componentOf, recipe.")
    ] = "recipe",
    raw: Annotated[bool, typer.Option("--raw", help="Raw scores instead of log-probabilities.")] = False,
    cross_fit: Annotated[
        bool, typer.Option("--cross-fit", help="While learning, score facts by predictors that have not seen them.")
    ] = False,
    preset: Annotated[str, typer.Option(help="fast (tuned) or paper (Table 1's parameters).")] = "fast",
    steps: Annotated[int, typer.Option(help="Environment steps.")] = 3_000_000,
    eval_interval: Annotated[int, typer.Option(help="Steps between two evaluations, and checkpoints.")] = 100_000,
    seed: Seed = 0,
    device: Device = "auto",
    resume: Resume = False,
) -> None:
    """Train an agent and tell its zero-shot success on the tasks that were set aside."""
    from gumption.agents.config import TrainConfig
    from gumption.agents.impala import train_impala

    config = TrainConfig(
        recipe_book=recipe_book,
        word_vectors=word_vectors,
        depth=depth,
        num_distractors=distractors,
        split=split,
        train_ratio=train_ratio,
        features=features,
        agent=agent,
        kg=kg,
        kg_scores=tuple(scores.split(",")),
        kg_calibrated=not raw,
        cross_fit=cross_fit,
        preset=preset,
        total_steps=steps,
        eval_interval=eval_interval,
        seed=seed,
        device=device,
    )
    final = train_impala(config, run_dir=run, resume=resume).final
    print(
        f"success on unseen recipes {final['test_success']:.1%} (training recipes {final['train_success']:.1%}), "
        f"{final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


@app.command(epilog="Example: gumption train halma --agent mlp --guided --episodes 300 --run runs/halma")
def halma(
    run: Run = Path("runs/halma"),
    agent: Annotated[
        str, typer.Option(help="Sees symbols: mlp, lstm, tran, tran+lstm; sees panels: cnn+mlp, cnn+tran, space.")
    ] = "mlp",
    guided: Annotated[
        bool, typer.Option("--guided", help="Guide it by the knowledge graph of its own experience.")
    ] = False,
    guide_weight: Annotated[float, typer.Option(help="Of knowledge in the logits of a guided agent.")] = 100.0,
    guide_interval: Annotated[int, typer.Option(help="Episodes until its knowledge is made anew.")] = 100,
    max_opt_len: Annotated[int, typer.Option(help="Primitives of an option: the paper has 1, 3 and 5.")] = 5,
    mazes: Annotated[int, typer.Option(help="How many it is trained on.")] = 100,
    maze_seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
    images: Annotated[str, typer.Option(help="Handwriting of panels: train, or train-full (all of MNIST).")] = "train",
    space_model: Annotated[str | None, typer.Option(help="Folder of a pretrained SPACE model, for space.")] = None,
    episodes: Annotated[int, typer.Option(help="An episode is ten trials in a maze, or 500 moves.")] = 2000,
    seed: Seed = 0,
    device: Device = "auto",
    resume: Resume = False,
) -> None:
    """Train an agent and keep what it experienced: diagnostic splits are made of that."""
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.td3 import train_td3

    config = HALMAConfig(
        agent=agent,
        guided=guided,
        guide_weight=guide_weight,
        guide_interval=guide_interval,
        max_opt_len=max_opt_len,
        num_mazes=mazes,
        maze_seed=maze_seed,
        images=images,
        space_model=space_model,
        episodes=episodes,
        seed=seed,
        device=device,
    )
    final = train_td3(config, run, resume=resume).final
    print(
        f"finished {final['finished_trials']:.1f} of 10 trials an episode, {final['valid_moves']:.1%} of moves valid; "
        f"{final['episodes']:,} episodes, {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )


@app.command(epilog="Example: gumption train space --steps 2000 --run runs/space")
def space(
    run: Run = Path("runs/space"),
    steps: Annotated[int, typer.Option(help="Updates.")] = 20_000,
    preset: Annotated[str, typer.Option(help="The model: paper, or fast, a narrower one for a CPU.")] = "paper",
    batch_size: Annotated[int, typer.Option(help="Panels in an update.")] = 16,
    mazes: Annotated[int, typer.Option(help="Training mazes whose panels are drawn.")] = 100,
    maze_seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
    images: Annotated[str, typer.Option(help="Handwriting: train, or train-full (all of MNIST).")] = "train",
    seed: Seed = 0,
    device: Device = "auto",
    resume: Resume = False,
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
