"""The output of commands: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
BOXED = 500  # most rows of a table with boxes; rich takes 0.3 ms per row


def count(things: Any, name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def print_table(columns: list[str], rows: list[Any], caption: str | None = None) -> None:
    """Print a table for people; `--json`, or `--format` of `gumption kg query`, is for programs.

    Words are not broken, so a table of long IRIs is wider than the terminal. More than `BOXED` rows are printed as
    lines of aligned columns, without boxes.
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if len(rows) > BOXED:
        lines = [columns, *([cell if cell.isprintable() else repr(cell)[1:-1] for cell in row] for row in cells)]
        widths = [min(max(map(len, column)), 40) for column in zip(*lines, strict=True)]
        texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        print("\n".join([*texts, *([caption] if caption else [])]))
        return
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table, console = Table(caption=caption, caption_justify="left"), Console()
    parts = [" ".join(column).split() for column in zip(columns, *cells, strict=True)]
    least = [max(map(cell_len, words), default=0) for words in parts]
    lines = ["\n".join(column).splitlines() for column in zip(columns, *cells, strict=True)]
    most = [max(map(cell_len, column), default=0) for column in lines]
    spare = max(0, console.width - 3 * len(columns) - 1 - sum(least)) / max(1, sum(most) - sum(least))
    for column, short, long in zip(columns, least, most, strict=True):
        table.add_column(column, width=short + int(min(1, spare) * (long - short)))
    for row in cells:
        table.add_row(*map(Text, row))  # Text, since a label may look like rich's markup
    console.width = max(console.width, sum(least) + 3 * len(columns) + 1)
    console.print(table)


def shown(cells: Iterable[object]) -> tuple[object, ...]:
    """Return the cells of a row: abbreviate IRIs with a known prefix, show an empty text as two quotes, keep None."""
    from gumption.kg.names import prefixed

    return tuple((prefixed(cell) or '""') if isinstance(cell, str) else cell for cell in cells)


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[..., Any] | None]:
    """Show the running work and its time on stderr, if that is a terminal.

    :param total: the amount of work, for a bar.
    :returns: a function that moves the bar by advance=, completed= or total=; None if stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = () if total is None else (BarColumn(), TaskProgressColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *bar, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield partial(progress.update, progress.add_task(what.replace("[", r"\["), total=total))
