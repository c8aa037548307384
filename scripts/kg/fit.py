"""`gumption kg fit`: train a link predictor on a graph."""

import shutil
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from .output import count
from .sources import Source, new_folder, only_graph, open_graph, read_facts

app = typer.Typer()


@app.command(
    epilog="Examples: gumption kg fit runs/kg.nq#wordcraft/train --out runs/complex; "
    "torchrun --nproc-per-node 2 -m gumption.scripts.cli kg fit runs/kg.nq#wordcraft/train --out runs/complex"
)
def fit(
    source: Source,
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    rank: Annotated[int, typer.Option(help="Complex dimensions of an embedding.")] = 128,
    epochs: Annotated[int, typer.Option(help="Passes over the facts.")] = 50,
    batch_size: Annotated[int, typer.Option(help="Queries in a batch.")] = 512,
    learning_rate: Annotated[float, typer.Option(help="Step size of Adagrad.")] = 0.1,
    n3: Annotated[float, typer.Option(help="Weight of the nuclear 3-norm.")] = 1e-2,
    reciprocal: Annotated[bool, typer.Option(help="Learn each relation in both directions.")] = True,
    relation_weight: Annotated[float, typer.Option(help="Weight of predicting the relation beside the entity.")] = 0.0,
    weighting: Annotated[str, typer.Option(help="What weighs the same: each fact, or each query.")] = "fact",
    valid: Annotated[str | None, typer.Option(help="Facts to stop by, GRAPH or GRAPH#NAME; the best is kept.")] = None,
    valid_every: Annotated[int, typer.Option(help="Epochs between two looks at --valid.")] = 10,
    patience: Annotated[int | None, typer.Option(help="Stop after so many looks without a better MRR.")] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(help="True facts to leave out besides when --valid is ranked, GRAPH or GRAPH#NAME. Repeatable."),
    ] = None,
    entities: Annotated[
        list[str] | None, typer.Option(help="GRAPH whose labels it shall know too, such as test facts. Repeatable.")
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="Read word vectors: a file, or `shipped`. Entities without facts get a score.")
    ] = None,
    word_mode: Annotated[str, typer.Option(help="add the word's projection, or gate it.")] = "add",
    precision: Annotated[str, typer.Option(help="float32, tf32 or bfloat16.")] = "float32",
    seed: Annotated[int, typer.Option(help="Seed of the first embeddings and the batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped fit into this folder was.")] = False,
) -> None:
    """Fit the link predictor ComplEx on one named graph. Without #NAME it is the only one, recipe nodes apart.

    The state of the training is kept in a folder beside --out, OUT.training, until the model is complete: after a kill
    the same command with --resume goes on from there, until there are --epochs in all.
    torchrun spreads the entities over processes and machines.
    """
    from gumption.data import InputError
    from gumption.data.writing import check_writable
    from gumption.kg.links.training_settings import TrainingSettings

    settings: dict[str, Any] = {
        "rank": rank, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "n3": n3,
        "reciprocal": reciprocal, "relation_weight": relation_weight, "weighting": weighting,
        "valid_every": valid_every, "patience": patience, "word_mode": word_mode, "precision": precision, "seed": seed,
    }  # fmt: skip
    TrainingSettings(**settings)  # refuses bad values before anything is read
    if known and valid is None:
        raise InputError("--known is left out when --valid is ranked: give --valid, too")
    check_writable(out)
    state = out.with_name(f"{out.name}.training")
    if resume and (out / "checkpoint.json").is_file():
        _tell_complete(out, epochs, state)
        return
    new_folder(out)
    if state.exists() and not resume:
        raise InputError(f"{state} is the state of a fit that was stopped: give --resume, or remove it")
    graph, name = open_graph(source)
    with graph:
        name = name or only_graph(graph, source)
        vocabulary, ids = graph.arrays(name)
    facts = vocabulary.ids_to_triples(ids)
    held_out = None if valid is None else read_facts(valid, only=True)
    true = [fact for place in known or () for fact in read_facts(place, only=False)]
    others = [fact for place in entities or () for fact in read_facts(place, only=False)]
    vocabulary = vocabulary.extended([*(held_out or ()), *others])

    from gumption.kg import ComplEx, WordVectors  # import torch: after everything that can be wrong with the input
    from gumption.kg.links.entity_slice import processes

    vectors = None if words is None else WordVectors.load(None if words == "shipped" else words)
    started = perf_counter()
    with processes(device) as (where, first):
        model = ComplEx.fit(
            facts, vocabulary=vocabulary, device=where, checkpoint=state, progress=first, valid=held_out, known=true,
            words=vectors, **settings,
        )  # fmt: skip
    if not first:
        return
    model.save(out)
    shutil.rmtree(state, ignore_errors=True)
    last = model.origin["history"][-1]
    looks = [row["valid_mrr"] for row in model.origin["history"] if "valid_mrr" in row]
    print(
        f"fitted on {name}: {count(facts, 'fact')}, {len(vocabulary.entities)} entities, {last['epoch']} epochs in "
        f"{perf_counter() - started:.1f} s, loss {last['loss']:.4f}"
        + (f", best valid MRR {max(looks):.4f}" if looks else "")
        + f"; written to {out}"
    )


def _tell_complete(out: Path, epochs: int, state: Path) -> None:
    """Say that a fit has nothing left to do, and remove what a kill at its very end left of its state."""
    from gumption.data import InputError
    from gumption.kg import ComplEx

    model = ComplEx.load(out, device="cpu")
    asked = model.origin["settings"]["epochs"]
    if asked != epochs:
        raise InputError(
            f"{out} is complete with --epochs {asked}, and its state is not kept: fit {epochs} into a new folder"
        )
    if state.exists():
        shutil.rmtree(state)
    print(f"{out} is complete: {model.origin['history'][-1]['epoch']} epochs")
