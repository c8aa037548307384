"""`gumption kg fit`: train a link predictor on a graph, or on a data set, whose test facts it then ranks."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.reading import read_json
from gumption.data.writing import check_writable, sole_writer
from gumption.kg.links.training_settings import TrainingSettings
from gumption.scripts.apps import App, from_config, refuse_foreign, was_typed
from gumption.scripts.parts import rank_part, read_dataset

from .output import count, print_table, side_rows, working
from .sources import READ, new_folder, only_graph, open_graph, read_facts

if TYPE_CHECKING:
    import numpy as np

    from gumption.kg import ComplEx, PyKEENPredictor, Vocabulary
    from gumption.kg.links.predictor import LinkPredictor
    from gumption.kg.vocabulary import Triple

OptionalSource = Annotated[
    str | None,
    typer.Argument(metavar="[GRAPH]", help=f"A {READ}, a folder or an http address; #NAME picks one graph."),
]
DataSet = Annotated[
    str | None,
    typer.Option(
        help="In place of a GRAPH: a data set that PyKEEN knows (umls, fb15k237, wn18rr, ...), or a folder of "
        "train, valid and test facts (.txt or .tsv)."
    ),
]
Valid = Annotated[str | None, typer.Option(help="Facts to stop by, GRAPH or GRAPH#NAME; the best is kept.")]
Known = Annotated[
    list[str] | None,
    typer.Option(help="True facts to leave out besides when --valid is ranked, GRAPH or GRAPH#NAME. Repeatable."),
]
_OF_A_GRAPH = ("valid", "known", "entities")


@dataclass(frozen=True)
class TrainingInput:
    """The facts of a training.

    :ivar name: of the graph or the data set.
    :ivar vocabulary: the labels, perhaps more than those of the facts.
    :ivar train: (n, 3) int64 ids.
    :ivar valid: validation facts, or None.
    :ivar known: further true facts.
    :ivar parts: the ids of all parts of a data set; empty for a graph.
    """

    name: str
    vocabulary: Vocabulary
    train: np.ndarray
    valid: list[Triple] | None
    known: list[Triple]
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def hash(self) -> str:
        """sha256 (hex) of the training facts, validation facts and known facts."""
        import numpy as np

        content = hashlib.sha256(self.vocabulary.hash.encode() + np.unique(self.train, axis=0).tobytes())
        content.update(json.dumps([sorted(self.valid or ()), sorted(self.known)]).encode())
        return content.hexdigest()


def check_source(context: typer.Context, source: str | None, dataset: str | None) -> None:
    """Raise InputError unless one of the two is given, and only options that apply to it."""
    if (source is None) == (dataset is None):
        raise InputError("give either a GRAPH or --dataset")
    kind = "a GRAPH" if dataset is None else "a data set"
    refuse_foreign(context, dict.fromkeys(_OF_A_GRAPH, "a GRAPH"), kind, kind)
    if context.params.get("known") and context.params.get("valid") is None:
        raise InputError("--known is left out when --valid is ranked: give --valid, too")


def read_training_facts(
    source: str | None,
    dataset: str | None,
    valid: str | None = None,
    known: Sequence[str] | None = None,
    entities: Sequence[str] | None = None,
) -> TrainingInput:
    """The facts of a GRAPH with its options, or of a data set."""
    if dataset is not None:
        with working(f"reading {dataset}"):
            vocabulary, parts = read_dataset(dataset)
            looked_at = vocabulary.ids_to_triples(parts["valid"])
        return TrainingInput(Path(dataset).name, vocabulary, parts["train"], looked_at, [], parts)
    assert source is not None
    graph, name = open_graph(source)
    with graph:
        name = name or only_graph(graph, source)
        vocabulary, ids = graph.arrays(name)
    held_out = None if valid is None else read_facts(valid, only=True)
    true = [fact for place in known or () for fact in read_facts(place, only=False)]
    others = [fact for place in entities or () for fact in read_facts(place, only=False)]
    return TrainingInput(name, vocabulary.extended([*(held_out or ()), *others]), ids, held_out, true)


def read_settings(file: Path) -> dict[str, Any]:
    """A JSON object of settings, such as best.json of `gumption kg tune`.

    :raises InputError: a file that is not one, a setting that is unknown or out of range.
    """
    given = read_json(file, advice="write names and values of settings")
    if not isinstance(given, dict):
        raise InputError(f'{file}: expected an object of settings, such as {{"rank": 100}}')
    try:
        TrainingSettings(**given)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return given


app = App()

OURS = "complex"
_OURS_ALONE = (
    "n3", "reciprocal", "relation_weight", "weighting", "words", "word_mode", "precision", "settings", "again",
)  # fmt: skip


@app.command(
    epilog="Examples: gumption kg fit runs/kg.nq#wordcraft/train --out runs/complex; "
    "gumption kg fit --dataset umls --model rotate --out runs/rotate; "
    "torchrun --nproc-per-node 2 -m gumption.scripts.cli kg fit runs/kg.nq#wordcraft/train --out runs/complex"
)
@from_config(TrainingSettings, flags={"reciprocal": "reciprocal/--no-reciprocal"}, skip=("word_dropout",), into="typed")
def fit(
    typed: TrainingSettings, context: typer.Context, source: OptionalSource = None, *, out: Path,
    dataset: DataSet = None, model: str = OURS, settings: Path | None = None, valid: Valid = None, known: Known = None,
    entities: list[str] | None = None, words: str | None = None, device: str = "auto",
    again: Annotated[bool, typer.Option("--resume")] = False,
) -> None:  # fmt: skip
    """Fit a link predictor on one named graph, or on a data set. Without #NAME it is the only one, recipe nodes apart.

    A data set is trained on its train part and looked at by its valid part; then the test facts are ranked, filtered by
    all three, beside a baseline that counts how often each entity answers a relation.

    The state of the training is kept in a folder beside --out, OUT.training, until the model is complete: after a kill
    the same command with --resume goes on from there, until there are --epochs in all.
    torchrun spreads the entities over processes and machines. A model of PyKEEN's is trained by PyKEEN's loops, in one
    process and without --resume; --rank, --batch-size and --learning-rate (of Adam) are PyKEEN's own where not given.

    :param out: A new folder for the model.
    :param model: The model: complex is our own; else a model of PyKEEN's, such as rotate.
    :param settings: JSON of settings, as best.json of `kg tune`; options typed beside it win.
    :param entities: GRAPH whose labels it shall know too, such as test facts. Repeatable.
    :param words: Read word vectors: a file, or `shipped`. Entities without facts get a score.
    :param device: Where to compute: auto, cpu or cuda.
    :param again: Go on where a stopped fit into this folder was.
    """
    check_source(context, source, dataset)
    kind = OURS if model.lower() == OURS else model
    refuse_foreign(context, dict.fromkeys(_OURS_ALONE, OURS), kind, model)
    given = {} if settings is None else read_settings(settings)
    kept = {name: one for name, one in asdict(typed).items() if name not in given or was_typed(context, name)}
    chosen = TrainingSettings(**{**given, **kept})
    check_writable(out)
    if os.environ.get("RANK", "0") == "0":  # the other processes of torchrun work for the first one
        context.with_resource(sole_writer(out, wait=False))
    if again and (out / "checkpoint.json").is_file():
        complete = _complete(out, chosen.epochs)
        if dataset is not None:
            _rank(read_training_facts(source, dataset), complete, kind, None)
        return
    new_folder(out)
    if (state := _state(out)).exists() and not again:
        raise InputError(f"{state} is the state of a fit that was stopped: give --resume, or remove it")
    facts = read_training_facts(source, dataset, valid, known, entities)
    if kind == OURS:
        predictor, seconds = _fit_ours(facts, out, chosen, device, words)
    else:
        own = {name for name in ("rank", "batch_size", "learning_rate") if was_typed(context, name)}
        predictor, seconds = _fit_pykeen(facts, model, chosen, own, device)
    if predictor is None:  # another process has the model
        return
    predictor.save(out)
    if _state(out).exists():
        shutil.rmtree(_state(out), ignore_errors=True)
    history = predictor.origin["history"]
    looks = [row["valid_mrr"] for row in history if "valid_mrr" in row]
    print(
        f"fitted on {facts.name}: {count(facts.train, 'fact')}, {len(facts.vocabulary.entities)} entities, "
        f"{history[-1]['epoch']} epochs in {seconds:.1f} s, loss {history[-1]['loss']:.4f}"
        + (f", best valid MRR {max(looks):.4f}" if looks else "")
        + f"; written to {out}"
    )
    if dataset is not None:
        _rank(facts, predictor, kind, seconds)


def _fit_ours(
    facts: TrainingInput, out: Path, settings: TrainingSettings, device: str, words: str | None
) -> tuple[ComplEx | None, float]:
    """Our ComplEx, or None in all processes of torchrun but the first, and the seconds of the training."""
    from gumption.kg import ComplEx, WordVectors  # import torch: after everything that can be wrong with the input
    from gumption.kg.links.training import processes

    vectors = None if words is None else WordVectors.load(None if words == "shipped" else words)
    started = perf_counter()
    with processes(device) as (where, first):
        model = ComplEx.fit(
            (facts.vocabulary, facts.train), device=where, checkpoint=_state(out), progress=first, valid=facts.valid,
            known=facts.known, words=vectors, **asdict(settings),
        )  # fmt: skip
    return model if first else None, perf_counter() - started


def _fit_pykeen(
    facts: TrainingInput, model: str, settings: TrainingSettings, own: Collection[str], device: str
) -> tuple[PyKEENPredictor, float]:
    """A model of PyKEEN's, and the seconds of the training; `own` names the settings that are not PyKEEN's defaults."""
    from gumption.kg import fit_pykeen

    started = perf_counter()
    with Bar(settings.epochs, f"fitting {model}") as bar:
        predictor = fit_pykeen(
            (facts.vocabulary, facts.train), model, epochs=settings.epochs, valid=facts.valid, known=facts.known,
            valid_every=settings.valid_every, patience=settings.patience, seed=settings.seed, device=device,
            progress=bar.show, **{name: getattr(settings, name) for name in own},
        )  # fmt: skip
    return predictor, perf_counter() - started


def _rank(facts: TrainingInput, predictor: LinkPredictor, name: str, seconds: float | None) -> None:
    """Print the ranking of the test facts by the predictor and by the baseline."""
    import numpy as np

    from gumption.kg.leaks import alike, following
    from gumption.kg.links.predictor import FrequencyBaseline

    from .split import follows_text

    started = perf_counter()
    baseline = FrequencyBaseline(facts.vocabulary, facts.train)
    table = []
    for title, each, took in ((name, predictor, seconds), ("frequency", baseline, perf_counter() - started)):
        columns, rows = side_rows(rank_part(each, facts.vocabulary, facts.parts))
        table += [(title, *row, "-" if took is None else f"{took:.1f}") for row in rows]
    print_table(["model", *columns, "seconds"], table)
    test = count(facts.parts["test"], "test fact")
    print(f"{test}, filtered by train, valid and test; frequency is how often an entity answers a relation in train")
    likenesses = alike(np.concatenate([*facts.parts.values()]))
    follow = int(following(likenesses, facts.parts["train"], facts.parts["test"]).sum())
    print(follows_text(follow, len(facts.parts["test"]), [one.told(facts.vocabulary) for one in likenesses]))


def _state(out: Path) -> Path:
    """The folder of the state of a training."""
    return out.with_name(f"{out.name}.training")


def _complete(out: Path, epochs: int) -> ComplEx:
    """The complete model of a fit; removes the state that a kill at its end left."""
    from gumption.kg import ComplEx

    model = ComplEx.load(out, device="cpu")
    asked = model.origin["settings"]["epochs"]
    if asked != epochs:
        raise InputError(
            f"{out} is complete with --epochs {asked}, and its state is not kept: fit {epochs} into a new folder"
        )
    if _state(out).exists():
        shutil.rmtree(_state(out), ignore_errors=True)
    print(f"{out} is complete: {model.origin['history'][-1]['epoch']} epochs")
    return model
