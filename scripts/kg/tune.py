"""`gumption kg tune`: search for settings of ComplEx by the MRR of validation facts."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Size, check
from gumption.data.writing import check_writable, write_json, write_text
from gumption.scripts.apps import App

from .fit import DataSet, Known, OptionalSource, TrainingInput, Valid, check_source, read_training_facts
from .output import print_table

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

app = App()

STUDY, BEST, TRIALS, TRAINING = "study.db", "best.json", "trials.csv", "training"
BATCH_SIZES = (64, 128, 256, 512, 1024)
RELATION_WEIGHTS = (0.0, 0.0625, 0.25, 1.0)
SHOWN = 10
_SEEDS = 1_000_003  # more than the trials of a search, so that no two searches share a sampler's seed


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
        """The search space."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "rank": CategoricalDistribution(self.ranks),
            "learning_rate": FloatDistribution(0.01, 1.0, log=True),
            "n3": FloatDistribution(1e-4, 0.5, log=True),
            "batch_size": CategoricalDistribution(BATCH_SIZES),
            "relation_weight": CategoricalDistribution(RELATION_WEIGHTS),
        }

    def settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of a trial with these draws, for `gumption kg fit --settings`."""
        fixed = ("epochs", "valid_every", "patience", "seed")
        return {name: params[name] for name in self.space()} | {name: getattr(self, name) for name in fixed}


@app.command(epilog="Example: gumption kg tune --dataset umls --trials 30 --out runs/umls-settings")
def tune(
    context: typer.Context, source: OptionalSource = None, *, out: Path, dataset: DataSet = None,
    trials: Count = 30, rank: list[Size] | None = None, valid: Valid = None, known: Known = None,
    epochs: Count = 100, valid_every: Count = 5, patience: Count = 3, seed: Seed = 0, device: str = "auto",
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
    from gumption.kg.links.training_settings import TrainingSettings

    ranks = tuple(dict.fromkeys(check("--rank", one, Size) for one in rank or [TrainingSettings().rank]))
    check_source(context, source, dataset)
    if source is not None and valid is None:
        raise InputError("settings are chosen by validation facts: give --valid")
    check_writable(out)
    if out.exists() and not (out / STUDY).is_file():
        raise InputError(f"{out} exists and holds no search: choose another folder")
    pick_device(device)
    facts = read_training_facts(source, dataset, valid, known)
    search = Search(facts.hash(), ranks, epochs, valid_every, patience, seed)
    study = _study(out, search)
    done = _complete(study)
    if done:
        print(f"{len(done)} trials are complete")
        _write(search, done, out)
    while len(done) < trials:
        told = _try_next(study, search, facts, out, device, len(done))
        done = _complete(study)
        print(f"trial {len(done)} of {trials}: {told}", flush=True)
        _write(search, done, out)
    _remove_training(out)
    _show(done, out)


def _study(out: Path, search: Search) -> Study:
    """The search in the folder, a new one where there is none; InputError for a different search."""
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
    for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):  # killed; it is drawn again
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _complete(study: Study) -> list[FrozenTrial]:
    from optuna.trial import TrialState

    return study.get_trials(states=[TrialState.COMPLETE])


def _try_next(study: Study, search: Search, facts: TrainingInput, out: Path, device: str, number: int) -> str:
    """Draw settings, train with them and store the MRR; returns a line about the trial.

    :param number: of complete trials. The sampler's seed depends on it, so that an interrupted search continues with
        the trials of an uninterrupted one.
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
    """Remove the states of killed trials, but not `kept`."""
    for state in out.glob(f"{TRAINING}-*"):
        if state != kept:
            shutil.rmtree(state)


def _write(search: Search, done: list[FrozenTrial], out: Path) -> None:
    """Write best.json and trials.csv of the complete trials."""
    write_json(out / BEST, search.settings(max(done, key=_mrr).params))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["trial", "valid_mrr", "epoch", *search.space()])
    for number, trial in enumerate(done, start=1):
        writer.writerow(
            [number, trial.value, trial.user_attrs["epoch"], *(trial.params[one] for one in search.space())]
        )
    write_text(out / TRIALS, table.getvalue())


def _show(done: list[FrozenTrial], out: Path) -> None:
    """Print the best trials."""
    ordered = sorted(enumerate(done, start=1), key=lambda one: -_mrr(one[1]))[:SHOWN]
    rows = [(number, f"{_mrr(one):.4f}", one.user_attrs["epoch"], _words(one.params)) for number, one in ordered]
    print_table(["trial", "valid MRR", "epoch", "settings"], rows)
    print(f"gumption kg fit --settings {out / BEST} trains with the best; all trials are in {out / TRIALS}")


def _mrr(trial: FrozenTrial) -> float:
    assert trial.value is not None
    return trial.value


def _words(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in params.items())
