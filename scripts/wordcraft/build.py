"""`gumption kg build wordcraft`: the facts of a recipe book."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from gumption.data.settings import Seed, SmallShare
from gumption.envs.wordcraft.splits import Mode, TrainRatio
from gumption.scripts.apps import App
from gumption.scripts.kg.output import Json
from gumption.scripts.kg.sources import (
    PLACE,
    MemoryFolder,
    Update,
    build_of_memory,
    changed_graph,
    check_place,
    tell_built,
)

if TYPE_CHECKING:
    from gumption.envs.wordcraft.facts import FactPart

app = App(add_completion=False)

PARTS = ("all", "train", "test")
OF_A_BOOK = ("recipe_book", "partition", "split", "train_ratio", "split_seed", "validation_ratio")
NODES = "/recipes"  # ends the name of a graph that holds recipes as nodes


EPILOG = """Example: gumption kg build wordcraft --out runs/kg.nq --partition train --partition test

Example: gumption kg build wordcraft --out runs/kg.nq --memory memories/mine
"""


@app.command(epilog=EPILOG)
def build(
    context: typer.Context,
    out: Annotated[str, typer.Option(help=PLACE)],
    update: Update = None,
    recipe_book: Annotated[str, typer.Option(help="Name of a shipped recipe book, or a file.")] = "commonsense",
    partition: Annotated[
        list[str] | None, typer.Option(help="all (the default), train or test; may be repeated.")
    ] = None,
    split: Annotated[
        Mode, typer.Option(help="How train and test are drawn: by_recipe, by_goal, by_task, ...")
    ] = "by_recipe",
    train_ratio: Annotated[TrainRatio, typer.Option(help="Share of the training part.")] = 0.8,
    split_seed: Annotated[Seed, typer.Option(help="Seed of the draw.")] = 0,
    validation_ratio: Annotated[
        SmallShare,
        typer.Option(help="Share of the training pairs whose facts go to wordcraft/validation, to choose settings by."),
    ] = 0.0,
    memory: MemoryFolder = None,
    as_json: Json = False,
) -> None:
    """The facts of a recipe book: graph wordcraft/PART, and each recipe as a node in wordcraft/PART/recipes.

    With --memory those of the recipes that an agent saw made: wordcraft/NAME and wordcraft/NAME/recipes, after the
    folder's name, and in wordcraft/NAME/evidence how often it saw each.
    """
    from gumption.data import InputError
    from gumption.envs import worlds

    if memory is not None:
        given = [name for name in OF_A_BOOK if _is_given(context, name)]
        if given:
            raise InputError(
                f"--{given[0].replace('_', '-')} is for the facts of a recipe book; --memory takes none of it"
            )
        build_of_memory(worlds.find("wordcraft"), memory, out, update, as_json)
        return
    parts = list(dict.fromkeys(partition or ["all"]))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"--partition {unknown[0]!r} is not one of {', '.join(PARTS)}")
    if validation_ratio and "train" not in parts:
        raise InputError(
            "--validation-ratio takes facts out of the training part: add --partition train, or leave it out"
        )
    if validation_ratio:
        parts.insert(parts.index("train") + 1, "validation")
    check_place(out)

    from gumption.envs.wordcraft import facts, recipe_facts

    how: dict[str, Any] = {"split": split, "train_ratio": train_ratio, "split_seed": split_seed}
    how["validation_ratio"] = validation_ratio
    stated = {}
    for part in cast("list[FactPart]", parts):
        stated[f"wordcraft/{part}"] = list(facts(recipe_book, partition=part, **how))
        stated[f"wordcraft/{part}{NODES}"] = list(recipe_facts(recipe_book, partition=part, **how))

    with changed_graph(out, update, anew=True) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        counts = graph.graphs()
    tell_built(out, counts, as_json)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
