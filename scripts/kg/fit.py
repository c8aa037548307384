"""`gumption kg fit`: train a link predictor on a graph, or on a data set and rank its test facts; `gumption kg tune`:
search for settings of ComplEx by the MRR of validation facts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.errors import InputError, located
from gumption.data.progress import Bar
from gumption.data.reading import read_json
from gumption.data.sealed import hashed_file
from gumption.data.settings import Count, Seed, Size, check
from gumption.data.writing import sole_writer, write_json
from gumption.kg.links.training_settings import TrainingSettings
from gumption.scripts.apps import App, NewFolder, from_config, refuse_foreign, was_typed
from gumption.scripts.kg.parts import rank_part, read_dataset, side_rows
from gumption.scripts.output import count, print_table, working

from .sources import READ, Literals, new_folder, only_graph, open_graph, read_facts

if TYPE_CHECKING:
    import numpy as np
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

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
_OF_A_GRAPH = ("valid", "known", "entities", "literals")


@dataclass(frozen=True)
class TrainingInput:
    """The facts of a training.

    :ivar name: of the graph or the data set.
    :ivar vocabulary: the labels of the facts, and possibly more.
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
        """Return the sha256 (hex) of the training facts, validation facts and known facts."""
        import numpy as np

        content = hashlib.sha256(self.vocabulary.hash.encode() + np.unique(self.train, axis=0).tobytes())
        content.update(json.dumps([sorted(self.valid or ()), sorted(self.known)]).encode())
        return content.hexdigest()


def check_source(context: typer.Context, source: str | None, dataset: str | None) -> None:
    """Raise InputError unless exactly one of GRAPH and --dataset is set, with only options that apply to it."""
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
    literals: bool = False,
) -> TrainingInput:
    """Read the facts of a GRAPH with its options, or of a data set without changes.

    :param literals: keep facts with literals.
    """
    from gumption.kg.facts import learnable

    if dataset is not None:
        with working(f"reading {dataset}"):
            vocabulary, parts = read_dataset(dataset)
            looked_at = vocabulary.ids_to_triples(parts["valid"])
        return TrainingInput(Path(dataset).name, vocabulary, parts["train"], looked_at, [], parts)
    assert source is not None
    graph, name = open_graph(source)
    with graph:
        name = name or only_graph(graph, source)
        vocabulary, ids = learnable(*graph.arrays(name), literals)
    held_out = None if valid is None else read_facts(valid, only=True, literals=literals)
    true = [fact for place in known or () for fact in read_facts(place, only=False, literals=literals)]
    others = [fact for place in entities or () for fact in read_facts(place, only=False, literals=literals)]
    return TrainingInput(name, vocabulary.extended([*(held_out or ()), *others]), ids, held_out, true)


def read_settings(file: Path) -> dict[str, Any]:
    """Read a JSON object of settings, such as best.json of `gumption kg tune`.

    :raises InputError: not a JSON object, or a setting that is unknown or out of range.
    """
    given = read_json(file, advice="write names and values of settings")
    if not isinstance(given, dict):
        raise InputError(f'{file}: expected an object of settings, such as {{"rank": 100}}')
    with located(file):
        TrainingSettings(**given)
    return given


app = App()

OURS = "complex"
_OURS_ALONE = (
    "n3", "reciprocal", "relation_weight", "weighting", "words", "word_mode", "word_dropout", "precision", "settings",
    "resume",
)  # fmt: skip


@app.command(
    epilog="Examples: gumption kg fit runs/kg.nq#wordcraft/train --out runs/complex; "
    "gumption kg fit --dataset umls --model rotate --out runs/rotate; "
    "torchrun --nproc-per-node 2 -m gumption.scripts.cli kg fit runs/kg.nq#wordcraft/train --out runs/complex"
)
@from_config(TrainingSettings, flags={"reciprocal": "reciprocal/--no-reciprocal"}, into="chosen")
def fit(
    context: typer.Context, source: OptionalSource = None, *, chosen: TrainingSettings, out: NewFolder,
    dataset: DataSet = None, model: str = OURS, settings: Path | None = None, valid: Valid = None,
    known: Known = None, entities: list[str] | None = None, words: str | None = None, device: str = "auto",
    literals: Literals = False, resume: bool = False,
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
    :param resume: Go on where a stopped fit into this folder was.
    """
    check_source(context, source, dataset)
    kind = OURS if model.lower() == OURS else model
    refuse_foreign(context, dict.fromkeys(_OURS_ALONE, OURS), kind, model)
    if settings is not None:
        own = {name: value for name, value in read_settings(settings).items() if not was_typed(context, name)}
        chosen = replace(chosen, **own)
    if os.environ.get("RANK", "0") == "0":  # only the first process of torchrun writes
        context.with_resource(sole_writer(out, wait=0))
    if resume and (out / "checkpoint.json").is_file():
        complete = _complete(out, chosen.epochs)
        if dataset is not None:
            _rank(read_training_facts(source, dataset), complete, kind, None)
        return
    new_folder(out)
    if (state := _state(out)).exists() and not resume:
        raise InputError(f"{state} is the state of a fit that was stopped: give --resume, or remove it")
    facts = read_training_facts(source, dataset, valid, known, entities, literals)
    if kind == OURS:
        predictor, seconds = _fit_ours(facts, out, chosen, device, words)
    else:
        own = {name for name in ("rank", "batch_size", "learning_rate") if was_typed(context, name)}
        predictor, seconds = _fit_pykeen(facts, model, chosen, own, device)
    if predictor is None:  # the first process of torchrun has the model
        return
    predictor.save(out)
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
    """Fit our ComplEx; return the model (None in all processes of torchrun but the first) and the seconds."""
    from gumption.kg import ComplEx, WordVectors  # imports torch, hence only after all checks of the input
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
    """Fit a model of PyKEEN; return it and the seconds. `own` names the settings that replace PyKEEN's defaults."""
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
    return out.with_name(f"{out.name}.training")


def _complete(out: Path, epochs: int) -> ComplEx:
    """Load the complete model of a fit; remove the training state if the fit was killed just before removing it."""
    from gumption.kg import ComplEx

    model = ComplEx.load(out, device="cpu")
    asked = model.origin["settings"]["epochs"]
    if asked != epochs:
        raise InputError(
            f"{out} is complete with --epochs {asked}, and its state is not kept: fit {epochs} into a new folder"
        )
    shutil.rmtree(_state(out), ignore_errors=True)
    print(f"{out} is complete: {model.origin['history'][-1]['epoch']} epochs")
    return model


# ---- Search for settings

STUDY, BEST, TRIALS, TRAINING = "study.db", "best.json", "trials.csv", "training"
BATCH_SIZES = (64, 128, 256, 512, 1024)
RELATION_WEIGHTS = (0.0, 0.0625, 0.25, 1.0)
SHOWN = 10
_SEEDS = 1_000_003  # exceeds the trials of a search, so that no two searches share a sampler's seed


@dataclass(frozen=True)
class Search:
    """The identity of a search: an equal search continues in its folder.

    :ivar facts: the hash of its `TrainingInput`.
    """

    facts: str
    ranks: tuple[int, ...]
    epochs: int
    valid_every: int
    patience: int
    seed: int

    def space(self) -> dict[str, BaseDistribution]:
        """Return the search space."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "rank": CategoricalDistribution(self.ranks),
            "learning_rate": FloatDistribution(0.01, 1.0, log=True),
            "n3": FloatDistribution(1e-4, 0.5, log=True),
            "batch_size": CategoricalDistribution(BATCH_SIZES),
            "relation_weight": CategoricalDistribution(RELATION_WEIGHTS),
        }

    def settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings of a trial with these draws, for `gumption kg fit --settings`."""
        fixed = ("epochs", "valid_every", "patience", "seed")
        return {name: params[name] for name in self.space()} | {name: getattr(self, name) for name in fixed}


@app.command(epilog="Example: gumption kg tune --dataset umls --trials 30 --out runs/umls-settings")
def tune(
    context: typer.Context, source: OptionalSource = None, *, out: NewFolder, dataset: DataSet = None,
    trials: Count = 30, rank: list[Size] | None = None, valid: Valid = None, known: Known = None,
    epochs: Count = 100, valid_every: Count = 5, patience: Count = 3, seed: Seed = 0, device: str = "auto",
    literals: Literals = False,
) -> None:  # fmt: skip
    """Search for settings of ComplEx: rank, learning rate, N3, batch size and the weight of predicting relations.

    Each trial trains on the training facts and counts by its best MRR of the validation facts; test facts are not
    looked at. The next settings are drawn by a Tree-structured Parzen Estimator. --out gets best.json (for `gumption kg
    fit --settings`), trials.csv, and study.db, which optuna reads. With one seed, searches agree to the bit on a CPU.

    :param out: Folder of the search; the same command goes on with one that was stopped.
    :param trials: Settings to try, in all.
    :param rank: A rank to try. Repeatable.  (default: 128)
    :param epochs: Passes over the facts, at most.
    :param valid_every: Epochs between two looks at the validation facts.
    :param patience: Stop a trial after so many looks without a better MRR.
    :param seed: Seed of the search and of every training.
    :param device: Where to compute: auto, cpu or cuda.
    """
    from gumption.kg.checkpoint import pick_device

    ranks = tuple(dict.fromkeys(check("--rank", one, Size) for one in rank or [TrainingSettings().rank]))
    check_source(context, source, dataset)
    if source is not None and valid is None:
        raise InputError("settings are chosen by validation facts: give --valid")
    if out.exists() and not (out / STUDY).is_file():
        raise InputError(f"{out} exists and holds no search: choose another folder")
    pick_device(device)
    facts = read_training_facts(source, dataset, valid, known, literals=literals)
    search = Search(facts.hash(), ranks, epochs, valid_every, patience, seed)
    study = _study(out, search)
    done = _complete_trials(study)
    if done:
        print(f"{len(done)} trials are complete")
        _write(search, done, out)
    while len(done) < trials:
        told = _try_next(study, search, facts, out, device, len(done))
        done = _complete_trials(study)
        print(f"trial {len(done)} of {trials}: {told}", flush=True)
        _write(search, done, out)
    _remove_training(out)
    _show(done, out)


def _study(out: Path, search: Search) -> Study:
    """Load or create the search in the folder; raise InputError if it holds a different search."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    out.mkdir(parents=True, exist_ok=True)
    storage = f"sqlite:///{(out / STUDY).absolute()}"
    study = optuna.create_study(storage=storage, study_name="complex", direction="maximize", load_if_exists=True)
    for name, value in asdict(search).items():
        wanted = list(value) if isinstance(value, tuple) else value
        before = study.user_attrs.get(name, wanted)
        if before != wanted:
            raise InputError(f"{out} holds a search with other {name} ({before}, not {wanted}): choose another folder")
        study.set_user_attr(name, wanted)
    for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):  # killed; will be drawn again
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _complete_trials(study: Study) -> list[FrozenTrial]:
    from optuna.trial import TrialState

    return study.get_trials(states=[TrialState.COMPLETE])


def _try_next(study: Study, search: Search, facts: TrainingInput, out: Path, device: str, number: int) -> str:
    """Draw settings, train with them and store the MRR; return a line about the trial.

    :param number: number of complete trials. It determines the sampler's seed, so that an interrupted search continues
        with the same trials as an uninterrupted search.
    """
    from optuna.samplers import TPESampler

    from gumption.kg import ComplEx

    state = out / f"{TRAINING}-{number}"
    _remove_training(out, state)
    study.sampler = TPESampler(seed=search.seed * _SEEDS + number)
    trial = study.ask(search.space())
    started = perf_counter()
    model = ComplEx.fit(
        (facts.vocabulary, facts.train), valid=facts.valid, known=facts.known, device=device, progress=True,
        checkpoint=state, **search.settings(trial.params),
    )  # fmt: skip
    looks = {row["epoch"]: row["valid_mrr"] for row in model.origin["history"] if "valid_mrr" in row}
    epoch = max(looks, key=looks.__getitem__)
    trial.set_user_attr("epoch", epoch)
    study.tell(trial, looks[epoch])
    shutil.rmtree(state)
    return (
        f"{_words(trial.params)}: valid MRR {looks[epoch]:.4f} at epoch {epoch}, best {study.best_value:.4f}; "
        f"{perf_counter() - started:.1f} s"
    )


def _remove_training(out: Path, kept: Path | None = None) -> None:
    """Remove the states of killed trials, except `kept`."""
    for state in out.glob(f"{TRAINING}-*"):
        if state != kept:
            shutil.rmtree(state)


def _write(search: Search, done: list[FrozenTrial], out: Path) -> None:
    write_json(out / BEST, search.settings(max(done, key=_mrr).params))
    rows: list[list[Any]] = [["trial", "valid_mrr", "epoch", *search.space()]]
    for number, trial in enumerate(done, start=1):
        rows.append([number, trial.value, trial.user_attrs["epoch"], *map(trial.params.get, search.space())])
    with hashed_file(out / TRIALS) as part:
        part.write_bytes("".join(",".join(map(str, row)) + "\n" for row in rows).encode())


def _show(done: list[FrozenTrial], out: Path) -> None:
    ordered = sorted(enumerate(done, start=1), key=lambda one: -_mrr(one[1]))[:SHOWN]
    rows = [(number, f"{_mrr(one):.4f}", one.user_attrs["epoch"], _words(one.params)) for number, one in ordered]
    print_table(["trial", "valid MRR", "epoch", "settings"], rows)
    print(f"gumption kg fit --settings {out / BEST} trains with the best; all trials are in {out / TRIALS}")


def _mrr(trial: FrozenTrial) -> float:
    assert trial.value is not None
    return trial.value


def _words(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in params.items())
