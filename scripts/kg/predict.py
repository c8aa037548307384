"""`gumption kg fit`, `predict` and `evaluate`: link predictors on a graph."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import Json, count, print_json, print_table
from .sources import Source, only_graph, open_graph, read_facts

app = typer.Typer()


@app.command(epilog="Example: gumption kg fit runs/kg.nq#wordcraft/train --out runs/complex")
def fit(
    source: Source,
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    rank: Annotated[int, typer.Option(help="Complex dimensions of an embedding.")] = 128,
    epochs: Annotated[int, typer.Option(help="Passes over the facts.")] = 50,
    batch_size: Annotated[int, typer.Option(help="Queries in a batch.")] = 512,
    learning_rate: Annotated[float, typer.Option(help="Step size of Adagrad.")] = 0.1,
    n3: Annotated[float, typer.Option(help="Weight of the nuclear 3-norm.")] = 1e-2,
    reciprocal: Annotated[bool, typer.Option(help="Learn each relation in both directions.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the first embeddings and the batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Fit the link predictor ComplEx on one named graph. Without #NAME it is the only one, recipe nodes apart."""
    from gumption.data import InputError

    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder for the model")
    graph, name = open_graph(source)
    with graph:
        name = name or only_graph(graph, source)

        from gumption.kg import ComplEx  # imports torch: after everything that can be wrong with the input

        settings: dict[str, Any] = {
            "rank": rank, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "n3": n3,
            "reciprocal": reciprocal, "seed": seed, "device": device,
        }  # fmt: skip
        model = ComplEx.fit(graph, graph=name, **settings)
    model.save(out)
    print(f"fitted on {name}, written to {out}")


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
