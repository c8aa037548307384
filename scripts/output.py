"""The output of commands: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def count(things: Any, name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def print_table(columns: list[str], rows: list[Any], caption: str | None = None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(caption=caption, caption_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Text, because a label may look like rich's markup.
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    Console().print(table)


def shown(cells: Iterable[object]) -> tuple[object, ...]:
    """The cells of a row, IRIs by their prefixes where those are known."""
    from gumption.kg.names import prefixed

    return tuple(prefixed(cell) if isinstance(cell, str) else cell for cell in cells)


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[..., Any] | None]:
    """Show on stderr, if it is a terminal, what is running and for how long.

    :param total: the amount of work, for a bar.
    :returns: a function that moves the bar by advance=, completed= or total=; None where stderr is no terminal.
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
