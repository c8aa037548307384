"""Training of link predictors for `gumption bench kg`: our ComplEx beside PyKEEN's, on one thread of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from time import process_time
from typing import Any

import numpy as np
import torch

from gumption.envs.wordcraft import facts
from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
from gumption.kg.complex_training import Training, TrainingSettings, halves
from gumption.kg.predictor import LinkPredictor
from gumption.kg.vocabulary import Triple

from .measurement import BenchSettings, Measurement
from .pykeen_peer import shipped_facts, train_pykeen

RANK, BATCH_SIZE = 100, 256
N3_WEIGHTS = (5e-3, 1e-2, 2e-2, 5e-2)  # tried for both
SYMMETRIC_EPOCHS = 2  # of which one is timed
LCWA_TIMES, SYMMETRIC_TIMES = 10, 50
SECTION = f"Training ComplEx: CPU time of one epoch, one thread, rank {RANK}, batches of {BATCH_SIZE}"
OWN = "its own settings"


@dataclass(frozen=True)
class FactSets:
    """What is learned from and what is asked for; all of it counts as known when answers are ranked."""

    name: str
    train: list[Triple]
    test: list[Triple]
    valid: list[Triple]

    def mrr(self, predictor: LinkPredictor, part: list[Triple]) -> float:
        """The filtered MRR of some of the facts."""
        return evaluate_ranking(predictor, part, known=[self.train, self.valid, self.test])["mrr"]


@dataclass(frozen=True)
class Trained:
    """A model, and the CPU seconds of each epoch but the first."""

    predictor: LinkPredictor
    epoch_seconds: list[float]


def fact_sets(settings: BenchSettings) -> Iterator[FactSets]:
    """UMLS and Kinships, as PyKEEN ships them, and the facts of the recipe book, which has no validation facts."""
    for name in ("UMLS", "Kinships"):
        parts = shipped_facts(name)
        yield FactSets(name, parts["train"], parts["test"], parts["valid"])
    train, test = (list(facts(settings.recipe_book, split=split)) for split in ("train", "test"))
    yield FactSets("Recipe graph", train, test, [])


def training_rows(settings: BenchSettings, sets: FactSets) -> Iterator[Measurement]:
    """Our epoch against that of PyKEEN's LCWA loop, and of its SymmetricLCWA loop.

    Both sides take the weight of the nuclear 3-norm that gives them the best MRR of the validation facts (where there
    are none, of the test facts) with seed 0; PyKEEN is also tried as it comes. Then both train with seeds 1, 2, ...,
    in turn, so that a busy moment of the machine hits both.
    """
    vocabulary = Vocabulary.from_triples([*sets.train, *sets.valid, *sets.test])
    ids = vocabulary.triples_to_ids(sets.train)

    def ours(seed: int, n3: float, reciprocal: bool = True) -> Trained:
        return train_ours(vocabulary, ids, epochs=settings.epochs, seed=seed, n3=n3, reciprocal=reciprocal)

    def theirs(seed: int, n3: float | None) -> Trained:
        run = train_pykeen(vocabulary, ids, rank=RANK, epochs=settings.epochs, batch_size=BATCH_SIZE, seed=seed, n3=n3)
        return Trained(run.predictor, run.epoch_seconds)

    def tried(train: Callable[[int, Any], Trained], weights: Sequence[float | None]) -> dict[float | None, float]:
        return {weight: sets.mrr(train(0, weight).predictor, sets.valid or sets.test) for weight in weights}

    settings.tell(f"{sets.name}: the best settings of both")
    our_tries, their_tries = tried(ours, N3_WEIGHTS), tried(theirs, (None, *N3_WEIGHTS))
    our_n3 = max(N3_WEIGHTS, key=our_tries.__getitem__)
    their_n3 = max(their_tries, key=their_tries.__getitem__)
    runs: list[tuple[Trained, Trained, Trained]] = []
    for seed in range(1, settings.repeats + 1):
        settings.tell(f"{sets.name}: training {seed} of {settings.repeats}")
        runs.append((ours(seed, our_n3), theirs(seed, their_n3), ours(seed, our_n3, reciprocal=False)))
    settings.tell(f"{sets.name}: PyKEEN's symmetric loop")
    symmetric = train_pykeen(
        vocabulary, ids, rank=RANK, epochs=SYMMETRIC_EPOCHS, batch_size=BATCH_SIZE, n3=their_n3, symmetric=True
    )

    reciprocal, lcwa, two_sided = zip(*runs, strict=True)
    mrr, their_mrr, two_sided_mrr = (
        [sets.mrr(run.predictor, sets.test) for run in each] for each in (reciprocal, lcwa, two_sided)
    )
    told = {
        "facts": len(ids), "entities": len(vocabulary.entities), "relations": len(vocabulary.relations),
        "rank": RANK, "batch_size": BATCH_SIZE, "epochs": settings.epochs,
        "seeds": list(range(1, settings.repeats + 1)), "n3": our_n3, "n3_pykeen": their_n3,
    }  # fmt: skip
    chosen = OWN if their_n3 is None else f"N3 {their_n3:g}"
    yield _row(
        f"{sets.name}, test MRR {mean(mrr):.4f}",
        reciprocal,
        f"PyKEEN's LCWA loop, {chosen}, test MRR {mean(their_mrr):.4f}",
        lcwa,
        LCWA_TIMES,
        mean(mrr) >= mean(their_mrr),
        told
        | {"test_mrr": mrr, "test_mrr_pykeen": their_mrr}
        | {"mrr_by_n3": _named(our_tries), "mrr_by_n3_pykeen": _named(their_tries)},
    )
    yield _row(
        f"{sets.name}, both softmaxes, test MRR {mean(two_sided_mrr):.4f}",
        two_sided,
        f"PyKEEN's SymmetricLCWA loop, {chosen}",
        [Trained(symmetric.predictor, symmetric.epoch_seconds)],
        SYMMETRIC_TIMES,
        None,
        told | {"test_mrr": two_sided_mrr},
    )


def train_ours(
    vocabulary: Vocabulary, ids: np.ndarray, *, epochs: int, seed: int, n3: float, reciprocal: bool = True
) -> Trained:
    """The model that ComplEx.fit gives on the CPU; its epochs are timed here one by one."""
    told = TrainingSettings(
        rank=RANK, epochs=epochs, batch_size=BATCH_SIZE, n3=n3, reciprocal=reciprocal, seed=seed
    )  # fmt: skip
    training = Training(ids, len(vocabulary.entities), len(vocabulary.relations), told, torch.device("cpu"))
    seconds = []
    for _ in range(epochs):
        started = process_time()
        training.run_epoch()
        seconds.append(process_time() - started)
    relation = halves(training.parameters["relation"].detach())
    return Trained(ComplEx(vocabulary, halves(training.entity_slice().detach()), relation), seconds[1:])


def _named(tries: dict[float | None, float]) -> dict[str, float]:
    return {OWN if weight is None else f"{weight:g}": mrr for weight, mrr in tries.items()}


def _row(
    what: str,
    ours: Sequence[Trained],
    yardstick: str,
    theirs: Sequence[Trained],
    times: int,
    no_worse: bool | None,
    details: dict[str, Any],
) -> Measurement:
    epochs, peers = ([1000 * median(run.epoch_seconds) for run in runs] for runs in (ours, theirs))
    figure, peer = median(epochs), median(peers)
    target = f"1/{times}" if no_worse is None else f"1/{times}, and an MRR at least as high"
    met = figure * times <= peer and no_worse is not False
    return Measurement(
        what, "ms", figure, min(epochs), yardstick, peer, figure / peer, target, met, details, SECTION
    )  # fmt: skip
