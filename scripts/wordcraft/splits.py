"""`gumption splits wordcraft`: split files of a recipe book, made or checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data.settings import Seed
from gumption.envs.wordcraft.splits import TrainRatio
from gumption.envs.wordcraft.tasks import Depth

if TYPE_CHECKING:
    from gumption.envs.wordcraft import Split


def splits(
    out: Annotated[Path | None, typer.Option(help="The split file to write, FILE.json.")] = None,
    check: Annotated[Path | None, typer.Option(help="Instead of --out: check this split file.")] = None,
    recipe_book: Annotated[str, typer.Option(help="Name of a shipped recipe book, or a file.")] = "commonsense",
    split: Annotated[
        str | None,
        typer.Option(
            help="by_recipe, by_recipe_train_all_goals, by_goal, by_goal_train_terminals, by_task, or none.",
            show_default="by_recipe",
        ),
    ] = None,
    train_ratio: Annotated[
        TrainRatio | None, typer.Option(help="Share of the training part.", show_default="0.8")
    ] = None,
    seed: Annotated[Seed | None, typer.Option(help="Fixes the draw.", show_default="0")] = None,
    depth: Annotated[Depth | None, typer.Option(help="Mixes that a task needs, 1 to 3.", show_default="1")] = None,
    shortcuts: Annotated[
        bool, typer.Option("--shortcuts", help="Keep tasks that can be done in fewer mixes than --depth.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace another split in the file.")] = False,
) -> None:
    """Divide a recipe book into a training and a test part, as a file that every command and environment takes
    (`--split FILE`), or check such a file: its hash, its book, that nothing of a test item is in training, and that its
    parameters give it again. The same book and parameters give the same bytes.

    Example: gumption splits wordcraft --split by_goal --train-ratio 0.8 --seed 0 --depth 1 --out goals.json

    Example: gumption splits wordcraft --check goals.json
    """
    from gumption.data import InputError
    from gumption.envs.split_files import write_file
    from gumption.envs.wordcraft import RecipeBook, Split, make_split
    from gumption.envs.wordcraft.split_check import check_split
    from gumption.scripts.kg.output import working

    if (out is None) == (check is None):
        raise InputError("give either --out, a file to write the split to, or --check, a file to check")
    how = {"mode": split, "train_ratio": train_ratio, "seed": seed, "depth": depth}
    given = {name: value for name, value in how.items() if value is not None}
    if check is not None and (given or shortcuts or force):
        raise InputError(
            "--split, --train-ratio, --seed, --depth, --shortcuts and --force say how a split is made; --check takes "
            "none of them"
        )
    if out is not None and out.suffix != ".json":
        raise InputError(f"{out}: a split file ends in .json")
    book = RecipeBook.load(recipe_book)
    if check is not None:
        made, place = Split.load(check, book), check
        with working("checking the split"):
            faults = check_split(made, book)
        for fault in faults:
            print(fault)
        if faults:
            raise typer.Exit(1)
        _show(made, f"{place}: nothing of a test item is in training")
    elif out is not None:
        with working("making the split"):
            made = make_split(book, **given, shortcuts=shortcuts)
            if faults := check_split(made, book):
                raise RuntimeError(f"gumption made a split that is not what it claims: {faults[0]}")
        write_file(out, made.to_bytes(), force=force)
        _show(made, f"{out}: made and checked, sha256 {made.hash[:12]}")


def _show(made: Split, caption: str) -> None:
    from gumption.scripts.kg.output import print_table

    rows = [
        (part, *(f"{len(getattr(made, f'{part}_{kind}')):,}" for kind in ("tasks", "recipes")))
        for part in ("train", "test")
    ]
    told = ", ".join(f"{name} {value}" for name, value in made.parameters.items())
    print_table(["part", "tasks", "recipes"], rows)
    print(f"{caption} ({told})")
