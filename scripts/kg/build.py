"""`gumption kg build WORLD`: a graph of what a world states, or of what a run has understood of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gumption.scripts.apps import App
from gumption.scripts.worlds import world_group

from .output import Json
from .sources import PLACE, MemoryFolder, Update, build_of_memory, changed_graph, tell_built


def general_build(world: Any) -> typer.Typer:
    """`gumption kg build WORLD`."""
    app = App(add_completion=False)

    @app.command(help=f"The facts of {world.title}: graph {world.name}/PART.")
    def build(
        out: Annotated[str, typer.Option(help=PLACE)],
        update: Update = None,
        partition: Annotated[
            list[str] | None,
            typer.Option(help="all (the default), train, test or, where there is one, validation; may be repeated."),
        ] = None,
        memory: MemoryFolder = None,
        as_json: Json = False,
    ) -> None:
        from gumption.data import InputError

        if memory is not None:
            if partition:
                raise InputError("--partition is for the facts of the world; --memory takes none of it")
            build_of_memory(world, memory, out, update, as_json)
            return
        parts = list(dict.fromkeys(partition or ["all"]))
        stated = {f"{world.name}/{part}": list(world.facts(part)) for part in parts}
        with changed_graph(out, update, anew=True) as graph:
            for name, triples in stated.items():
                graph.add(triples, graph=name)
            counts = graph.graphs()
        tell_built(out, counts, as_json)

    return app


app = world_group(
    "build",
    "Build a graph from what a world states, or a run has understood of it.",
    general_build,
    epilog="Example: gumption kg build wordcraft --out kg.nq --partition train",
)
