"""`gumption train WORLD`: train an agent, keep its run, go on with one that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: gumption train wordcraft --kg train --run runs/guided")
def train(
    world: Annotated[str, typer.Argument(help="The world to train on: wordcraft.")],
    run: Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")] = Path(
        "runs/wordcraft"
    ),
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
    seed: Annotated[int, typer.Option(help="Fixes everything.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")] = False,
) -> None:
    """Train an agent and tell its zero-shot success on the tasks that were set aside."""
    from gumption.data import InputError

    if world != "wordcraft":
        raise InputError(f"there is no learner for the world {world!r}; there is one for wordcraft")
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
