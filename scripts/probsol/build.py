"""`gumption kg build probsol`: what is true of tasks, or what an agent has found out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gumption.scripts.apps import App
from gumption.scripts.kg.output import Json, working
from gumption.scripts.kg.sources import PLACE, MemoryFolder, Update, build_of_memory, changed_graph, tell_built

app = App(add_completion=False)

EPILOG = """Examples:

gumption kg build probsol --out kg.nq --task fishing/0

gumption kg build probsol --out kg.nq --task fishing/generated --partition train

gumption kg query kg.nq 'SELECT ?a ?b WHERE { ?a gum:attracts ?b }'
"""


@app.command(epilog=EPILOG)
def build(
    out: Annotated[str, typer.Option(help=PLACE)],
    update: Update = None,
    task: Annotated[
        list[str] | None,
        typer.Option(help="designed (the default), fishing, fishing/0, fishing/generated, a file; may be repeated."),
    ] = None,
    partition: Annotated[
        list[str] | None, typer.Option(help="all (the default), train, validation or test; may be repeated.")
    ] = None,
    fold: Annotated[int, typer.Option(help="Which of the ten splits of generated tasks.")] = 0,
    laws: Annotated[
        str | None, typer.Option(help="real, counterfactual, inert or shuffled, in place of the tasks'.")
    ] = None,
    memory: MemoryFolder = None,
    as_json: Json = False,
) -> None:
    """What is true of the discs and areas of tasks: graph probsol/PART. With --memory what an agent has found out.

    With the facts of other laws than the table's an agent is told what is false.
    """
    from gumption.data import InputError
    from gumption.envs import worlds
    from gumption.envs.probsol import facts

    if memory is not None:
        if task or partition or laws or fold:
            raise InputError("--task, --partition, --fold and --laws are for the facts of tasks; --memory takes none")
        build_of_memory(worlds.find("probsol"), memory, out, update, as_json)
        return
    asked: Any = {"task": task or "designed", "fold": fold, "laws": laws}
    with working("stating what is true of the tasks"):
        parts: Any = dict.fromkeys(partition or ["all"])
        stated = {f"probsol/{part}": list(facts(partition=part, **asked)) for part in parts}
    with changed_graph(out, update, anew=True) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        counts = graph.graphs()
    tell_built(out, counts, as_json)
