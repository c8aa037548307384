"""`gumption kg predict` and `evaluate`: ask a fitted link predictor, and rank test facts with it."""

from pathlib import Path
from typing import Annotated

import typer

from .output import Json, count, print_json, print_table
from .sources import read_facts

app = typer.Typer()


@app.command(epilog="Example: gumption kg predict runs/complex --subject fire --relation combinesWith -k 10")
def predict(
    model: Annotated[Path, typer.Argument(help="The folder of a fitted model.")],
    relation: Annotated[str, typer.Option(help="A relation's label.")],
    subject: Annotated[str | None, typer.Option(help="An entity's label: asks for objects.")] = None,
    object_: Annotated[str | None, typer.Option("--object", help="An entity's label: asks for subjects.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """The k entities that most probably complete a fact."""
    from gumption.data import InputError

    if (subject is None) == (object_ is None):
        raise InputError("give either --subject or --object: the other one is what is predicted")

    from gumption.kg import ComplEx

    found = ComplEx.load(model).predict(subject=subject, relation=relation, object=object_, k=k)
    if as_json:
        print_json([{"label": label, "score": score, "probability": p} for label, score, p in found])
    else:
        rows = [(label, f"{score:.3f}", f"{p:.4f}") for label, score, p in found]
        print_table(["object" if object_ is None else "subject", "score", "probability"], rows)


@app.command(
    epilog="Example: gumption kg evaluate runs/complex --test kg.nq#wordcraft/test --known kg.nq#wordcraft/train"
)
def evaluate(
    model: Annotated[Path, typer.Argument(help="The folder of a fitted model.")],
    test: Annotated[str, typer.Option(help="The graph whose facts are ranked: GRAPH#NAME, or GRAPH if it has one.")],
    known: Annotated[list[str] | None, typer.Option(help="True facts, GRAPH or GRAPH#NAME; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Filtered ranking of test facts, both sides: mean reciprocal rank and hits."""
    facts = read_facts(test, only=True)
    others = [read_facts(source, only=False) for source in known or ()]

    from gumption.kg import ComplEx, evaluate_ranking

    figures = evaluate_ranking(ComplEx.load(model), facts, known=[facts, *others])
    if as_json:
        print_json({"facts": len(facts), **figures})
    else:
        rows = [(name, f"{value:.4f}") for name, value in figures.items()]
        print_table(["figure", "value"], rows, count(facts, "test fact"))
