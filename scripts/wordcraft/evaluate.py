"""`gumption evaluate RUN` of WordCraft: the tasks of a part of the run's own split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Count, Seed, Whole
from gumption.envs.wordcraft.tasks import Depth
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption evaluate runs/guided --distractors 4")
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `gumption train` leaves it.")],
    partition: Annotated[str, typer.Option(help="train, test or all.")] = "test",
    draws: Annotated[Count, typer.Option(help="Tables per task.")] = 10,
    distractors: Annotated[Whole | None, typer.Option(help="Other than in training.")] = None,
    depth: Annotated[Depth | None, typer.Option(help="Other than in training.")] = None,
    alternatives: Annotated[bool, typer.Option("--alternatives", help="Tables may offer other ways.")] = False,
    recipe_book: Annotated[str | None, typer.Option(help="The file of the run's book, if it does not ship.")] = None,
    seed: Annotated[Seed, typer.Option(help="Of the tables.")] = 0,
    device: Annotated[str | None, typer.Option(help="Other than in training: auto, cpu or cuda.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play the tasks of a part of the run's own split, the best action always."""
    from gumption.agents.wordcraft.runs import evaluate as measure

    found = measure(
        run,
        partition=partition,
        draws=draws,
        seed=seed,
        num_distractors=distractors,
        depth=depth,
        alternatives=alternatives,
        recipe_book=recipe_book,
        device=device,
    )
    if as_json:
        print(json.dumps(found))
        return
    print(
        f"success {found['success']:.1%} in {found['episodes']:,} episodes ({found['partition']} tasks, "
        f"{found['num_distractors']} distractors, depth {found['depth']}); "
        f"lost by selecting one slot twice: {found['same_slot_twice']:.1%}"
    )
