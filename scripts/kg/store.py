"""`gumption kg query` and `export`: ask a graph, write it to a file."""

from pathlib import Path
from typing import Annotated

import typer

from .output import Json, count, print_json, print_table
from .sources import Source, open_graph

app = typer.Typer()


@app.command(
    epilog="Example: gumption kg query runs/kg.nq 'SELECT ?x { ?x gum:componentOf ?goal }' --bind goal='acid rain'"
)
def query(
    source: Source,
    sparql: Annotated[str, typer.Argument(help="SELECT, ASK, CONSTRUCT or DESCRIBE; gum: and ent: are declared.")],
    bind: Annotated[list[str] | None, typer.Option(help="VARIABLE=LABEL; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a graph a question in SPARQL."""
    from gumption.data import InputError

    labels = dict(_binding(text) for text in bind or ())
    graph, name = open_graph(source)
    with graph:
        if name is not None:
            raise InputError(f"a query sees all graphs: leave out #{name} and ask for GRAPH ?g {{ ... }} with g={name}")
        answer = graph.query(sparql, **labels)
    if as_json:
        print_json(answer)
    elif isinstance(answer, bool):
        print("yes" if answer else "no")
    elif answer and isinstance(answer[0], dict):
        print_table(list(answer[0]), [tuple(row.values()) for row in answer], count(answer, "row"))
    elif answer:
        print_table(["subject", "relation", "object"], answer, count(answer, "fact"))
    else:
        print("nothing found")


@app.command(epilog="Example: gumption kg export runs/kg.nq#wordcraft/train --out train.tsv")
def export(
    source: Source,
    out: Annotated[Path, typer.Option(help="A .nq, .trig, .ttl or .tsv file.")],
) -> None:
    """Write a graph, or the one that #NAME picks, to a file of another kind."""
    from gumption.kg import KnowledgeGraph

    graph, name = open_graph(source)
    with graph:
        if name is not None:
            vocabulary, ids = graph.arrays(name)
            chosen = KnowledgeGraph()
            chosen.add(vocabulary.ids_to_triples(ids), graph=name)
        else:
            chosen = graph
        chosen.save(out)
        print(f"{count(chosen, 'fact')} written to {out}")


def _binding(text: str) -> tuple[str, str]:
    from gumption.data import InputError

    variable, mark, label = text.partition("=")
    if not variable or not mark:
        raise InputError(f"--bind {text!r}: expected VARIABLE=LABEL, such as goal=mud")
    return variable.lstrip("?$"), label
