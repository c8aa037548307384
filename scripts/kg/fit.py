"""`gumption kg fit`: train a link predictor on a graph."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .sources import Source, only_graph, open_graph

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
