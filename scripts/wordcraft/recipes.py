"""`gumption data recipes`: a recipe book of one's own, from a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption data recipes household.csv --columns makes,first,second --out household.tsv")
def recipes(
    file: Annotated[Path, typer.Argument(help="A .csv or .tsv file with a recipe a row.")],
    out: Annotated[Path, typer.Option(help="The recipe book, a .tsv file.")],
    columns: Annotated[
        str | None, typer.Option(help="PRODUCT,INGREDIENT,INGREDIENT: names in the header, or numbers from 1.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns.", show_default=False),
    ] = None,
) -> None:
    """Make a recipe book of a table, and tell what is odd in it, line by line.

    A recipe that makes one of its own ingredients, or is there before, is left out. The rest is told and kept: things
    that nothing leads to, and words that look like one in two spellings.
    """
    from gumption.data import InputError
    from gumption.data.recipe_table import LEFT_OUT, book_text, checked, read_recipe_table
    from gumption.data.writing import write_text

    if out.suffix != ".tsv":
        raise InputError(f"--out {out}: a recipe book ends in .tsv")
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"--out {out} is the table itself: choose another name")
    kept, problems = checked(read_recipe_table(file, columns, header))

    from gumption.envs.wordcraft import RecipeBook
    from gumption.envs.wordcraft.tasks import enumerate_tasks

    rows = [recipe for _, recipe in kept]
    book = RecipeBook(out.stem, list(dict.fromkeys(label for row in rows for label in row)), rows)
    write_text(out, book_text(kept))
    for line, problem in problems:
        left_out = "; left out" if problem.kind in LEFT_OUT else ""
        print(f"note: {file}:{line}: {problem.kind}: {problem.message}{left_out}", file=sys.stderr)
    print(
        f"{out}: {len(book.entities)} entities, {len(book.roots)} of them made by no recipe; {len(book)} recipes; "
        f"{len(enumerate_tasks(book, 1))} tasks of depth 1"
    )
