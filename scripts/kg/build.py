"""`gumption kg build`: graphs of what a world states."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import Json, print_json, print_table
from .sources import FILES, RECIPES, Update, changed_graph, is_address

app = typer.Typer(no_args_is_help=True, help="Build a graph from what a world states.")

PARTS = ("all", "train", "test")


@app.command(epilog="Example: gumption kg build wordcraft --out runs/kg.nq --split train --split test")
def wordcraft(
    out: Annotated[str, typer.Option(help=f"A {FILES}, a folder, or an endpoint's http address.")],
    update: Update = None,
    recipe_book: Annotated[str, typer.Option(help="Name of a shipped recipe book, or a file.")] = "commonsense",
    split: Annotated[list[str] | None, typer.Option(help="all (the default), train or test; may be repeated.")] = None,
    split_mode: Annotated[str, typer.Option(help="How train and test are drawn.")] = "by_recipe",
    train_ratio: Annotated[float, typer.Option(help="Share of the training part.")] = 0.8,
    split_seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    as_json: Json = False,
) -> None:
    """The facts of a recipe book: graph wordcraft/PART, and each recipe as a node in wordcraft/PART/recipes."""
    from gumption.data import InputError
    from gumption.envs.wordcraft import facts, recipe_facts
    from gumption.kg.files import file_format

    parts = list(dict.fromkeys(split or ["all"]))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"--split {unknown[0]!r} is not one of {', '.join(PARTS)}")
    if Path(out).suffix and not Path(out).is_dir() and not is_address(out):
        file_format(Path(out))  # before anything is worked out
    how: dict[str, Any] = {"split_mode": split_mode, "train_ratio": train_ratio, "split_seed": split_seed}
    stated = {}
    for part in parts:
        stated[f"wordcraft/{part}"] = list(facts(recipe_book, split=part, **how))
        stated[f"wordcraft/{part}{RECIPES}"] = list(recipe_facts(recipe_book, split=part, **how))

    with changed_graph(out, update, anew=True) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        counts = graph.graphs()
    if as_json:
        print_json({"out": out, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()), f"written to {out}")
