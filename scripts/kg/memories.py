"""`gumption kg build WORLD --memory`: a graph of what an agent lived through."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .output import print_json, print_table
from .sources import changed_graph, check_place

MemoryFolder = Annotated[
    Path | None,
    typer.Option(help="Instead: what an agent saw, in a folder that RecordMemory wrote; other graphs stay."),
]


def build_of_memory(world: Any, folder: Path, out: str, update: str | None, as_json: bool) -> None:
    """Put what a memory shows into the graph at `out`, and tell what is there now.

    :raises InputError: no such memory, or a world that makes no facts of one.
    """
    from gumption.data import InputError

    kind, add_memory = world.get("memory"), world.get("add_memory")
    if kind is None or add_memory is None:
        raise InputError(f"the world {world.name!r} makes no facts of a memory: leave --memory out")
    check_place(out)
    memory = kind.load(folder)
    if memory.warning:
        print(f"warning: {memory.warning}", file=sys.stderr)
    with changed_graph(out, update) as graph:
        counts = add_memory(graph, memory, folder.resolve().name)
    tell_built(out, counts, as_json)


def tell_built(out: str, counts: dict[str, int], as_json: bool) -> None:
    """Name the graphs at `out` and how many facts each has."""
    if as_json:
        print_json({"out": out, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()), f"written to {out}")
