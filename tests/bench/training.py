"""Training of link predictors for `kg` and `recipes`: our ComplEx beside PyKEEN's, on one thread of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from statistics import mean, median, variance
from time import process_time
from typing import Any

import numpy as np
import torch

from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
from gumption.kg.links.complex import ComplExTraining
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.links.training_settings import Precision, TrainingSettings, Weighting
from gumption.kg.vocabulary import Triple
from gumption.scripts.kg.parts import read_dataset
from gumption.scripts.measurement import BenchSettings, Measurement, compared

from .pykeen_peer import frozen_garbage, train_pykeen

Look = Callable[[int, float, ComplEx], None]
RANK, BATCH_SIZE, EPOCHS = 100, 256, 30
LEARNING_RATES, N3_WEIGHTS = (0.1, 0.2, 0.4), (1e-2, 2e-2, 5e-2)  # tried for both
SYMMETRIC_EPOCHS = 2  # of which one is timed
LCWA_TIMES, SYMMETRIC_TIMES = 10, 50
SECTION = f"Training ComplEx: CPU time of one epoch, one thread, rank {RANK}, batches of {BATCH_SIZE}"


@dataclass(frozen=True)
class Choice:
    """What is tried: the learning rate of Adagrad, the weight of the nuclear 3-norm, None as PyKEEN comes, and whether
    facts or queries weigh the same; in PyKEEN's LCWA loop it is queries."""

    learning_rate: float = 0.1
    n3: float | None = None
    weighting: Weighting = "query"

    def __str__(self) -> str:
        by = "" if self.weighting == "query" else ", by fact"
        return f"rate {self.learning_rate:g}, " + ("own settings" if self.n3 is None else f"N3 {self.n3:g}") + by


CHOICES = tuple(Choice(rate, n3) for rate, n3 in product(LEARNING_RATES, N3_WEIGHTS))
OUR_CHOICES = (*CHOICES, *(Choice(one.learning_rate, one.n3, "fact") for one in CHOICES))


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


def fact_sets() -> Iterator[FactSets]:
    """UMLS and Kinships, as PyKEEN ships them."""
    for name in ("UMLS", "Kinships"):
        vocabulary, ids = read_dataset(name)
        yield FactSets(name, *(vocabulary.ids_to_triples(ids[part]) for part in ("train", "test", "valid")))


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def training_case(settings: BenchSettings, each: Iterable[FactSets]) -> Iterator[Measurement]:
    """`training_rows` of each set of facts, on one thread."""
    with one_thread():
        for sets in each:
            with frozen_garbage():
                yield from training_rows(settings, sets)


def training_rows(settings: BenchSettings, sets: FactSets) -> Iterator[Measurement]:
    """Our epoch, also with bfloat16 products, against that of PyKEEN's LCWA loop, then of its SymmetricLCWA loop.

    Both sides take the settings among their choices that give them the best MRR of the validation facts (where there
    are none, of the test facts) with seed 0; PyKEEN is also tried as it comes. Then both train with seeds 1, 2, ..., in
    turn, so that a busy moment of the machine hits both. An MRR is at least as high where the means of the seeds
    differ by no more than the standard error of their difference.
    """
    vocabulary = Vocabulary.from_triples([*sets.train, *sets.valid, *sets.test])
    ids = vocabulary.triples_to_ids(sets.train)

    def ours(seed: int, choice: Choice, **told: Any) -> Trained:
        return train_ours(vocabulary, ids, choice, epochs=EPOCHS, seed=seed, **told)

    def theirs(seed: int, choice: Choice, epochs: int = EPOCHS, symmetric: bool = False) -> Trained:
        run = train_pykeen(
            vocabulary, ids, rank=RANK, epochs=epochs, batch_size=BATCH_SIZE, learning_rate=choice.learning_rate,
            n3=choice.n3, seed=seed, symmetric=symmetric,
        )  # fmt: skip
        return Trained(run.predictor, run.epoch_seconds)

    def tried(train: Callable[[int, Choice], Trained], choices: Sequence[Choice]) -> dict[Choice, float]:
        return {choice: sets.mrr(train(0, choice).predictor, sets.valid or sets.test) for choice in choices}

    settings.tell(f"{sets.name}: the best settings of both")
    our_tries, their_tries = tried(ours, OUR_CHOICES), tried(theirs, (Choice(), *CHOICES))
    our_choice, their_choice = (max(tries, key=tries.__getitem__) for tries in (our_tries, their_tries))
    runs: list[tuple[Trained, ...]] = []
    for seed in range(1, settings.repeats + 1):
        settings.tell(f"{sets.name}: training {seed} of {settings.repeats}")
        runs.append(
            (
                theirs(seed, their_choice),
                ours(seed, our_choice),
                ours(seed, our_choice, precision="bfloat16"),
                ours(seed, our_choice, reciprocal=False),
            )
        )
    settings.tell(f"{sets.name}: PyKEEN's symmetric loop")
    symmetric = theirs(0, their_choice, SYMMETRIC_EPOCHS, symmetric=True)

    lcwa, *others, two_sided = zip(*runs, strict=True)
    their_mrr, two_sided_mrr = ([sets.mrr(run.predictor, sets.test) for run in each] for each in (lcwa, two_sided))
    told = {
        "facts": len(ids), "entities": len(vocabulary.entities), "relations": len(vocabulary.relations),
        "rank": RANK, "batch_size": BATCH_SIZE, "epochs": EPOCHS,
        "seeds": list(range(1, settings.repeats + 1)), "settings": str(our_choice),
        "settings_pykeen": str(their_choice),
    }  # fmt: skip
    for how, trained in zip(("", ", bfloat16 products"), others, strict=True):
        mrr = [sets.mrr(run.predictor, sets.test) for run in trained]
        yield _row(
            f"{sets.name}, {our_choice}{how}, test MRR {mean(mrr):.4f}",
            trained,
            f"PyKEEN's LCWA loop, {their_choice}, test MRR {mean(their_mrr):.4f}",
            lcwa,
            LCWA_TIMES,
            at_least(mrr, their_mrr),
            told
            | {"test_mrr": mrr, "test_mrr_pykeen": their_mrr}
            | {"mrr_tried": _named(our_tries), "mrr_tried_pykeen": _named(their_tries)},
        )
    yield _row(
        f"{sets.name}, {our_choice}, both softmaxes, test MRR {mean(two_sided_mrr):.4f}",
        two_sided,
        f"PyKEEN's SymmetricLCWA loop, {their_choice}",
        [symmetric],
        SYMMETRIC_TIMES,
        None,
        told | {"test_mrr": two_sided_mrr},
    )


def at_least(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether the mean of ours is not lower by more than the standard error of the difference of the means."""
    error = sum(variance(each) / len(each) for each in (ours, theirs) if len(each) > 1) ** 0.5
    return mean(ours) >= mean(theirs) - error


def train_ours(
    vocabulary: Vocabulary,
    ids: np.ndarray,
    choice: Choice,
    *,
    epochs: int,
    seed: int,
    reciprocal: bool = True,
    precision: Precision = "float32",
) -> Trained:
    """The model that ComplEx.fit gives on the CPU, and its epochs' seconds."""
    told = TrainingSettings(
        rank=RANK, epochs=epochs, batch_size=BATCH_SIZE, learning_rate=choice.learning_rate, n3=choice.n3 or 0.0,
        reciprocal=reciprocal, weighting=choice.weighting, precision=precision, seed=seed,
    )  # fmt: skip
    model, seconds = train_timed(vocabulary, ids, told)
    return Trained(model, seconds[1:])


def train_timed(
    vocabulary: Vocabulary, ids: np.ndarray, settings: TrainingSettings, look: Look | None = None
) -> tuple[ComplEx, list[float]]:
    """The model that ComplEx.fit gives on the CPU without validation facts, and the CPU seconds of each epoch.

    :param look: told each epoch, its CPU seconds and the model as it is then; what it does is not timed. The first
        epoch's seconds have those of setting up.
    """
    seconds = []
    started = process_time()
    training = ComplExTraining(ids, len(vocabulary.entities), len(vocabulary.relations), settings, torch.device("cpu"))
    for epoch in range(1, settings.epochs + 1):
        training.run_epoch()
        seconds.append(process_time() - started)
        if look is not None:
            look(epoch, seconds[-1], ComplEx(vocabulary, origin=None, **training.tensors()))
        started = process_time()
    return ComplEx(vocabulary, origin=None, **training.tensors()), seconds


def _named(tries: dict[Choice, float]) -> dict[str, float]:
    return {str(choice): mrr for choice, mrr in tries.items()}


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
    target = f"1/{times}" if no_worse is None else f"1/{times}, and an MRR at least as high"
    row = compared(what, "ms", epochs, yardstick, peers, target=target, details=details, section=SECTION)
    return replace(row, met=row.median * times <= row.yardstick_median and no_worse is not False)
