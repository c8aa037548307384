"""PyKEEN as the yardstick of link prediction: its ComplEx trained by its own loops, and its evaluator.

Importing this module imports PyKEEN.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import torch

from gumption.kg import ComplEx, PyKEENPredictor, Vocabulary

if "PYSTOW_HOME" not in os.environ:
    # Importing PyKEEN makes a folder for downloads, by default in the home directory; this one goes with the process.
    _home = TemporaryDirectory(prefix="gumption-pystow-")
    os.environ["PYSTOW_HOME"] = _home.name

import pykeen.models
from pykeen.evaluation import RankBasedEvaluator
from pykeen.regularizers import PowerSumRegularizer
from pykeen.training import LCWATrainingLoop, SymmetricLCWATrainingLoop
from pykeen.training.callbacks import TrainingCallback
from pykeen.triples import CoreTriplesFactory

from gumption.kg.links.pykeen_training import frozen_garbage, quiet

Look = Callable[[int, float, PyKEENPredictor], None]
INIT_SCALE = 1e-3  # that of our ComplEx
EVALUATION_BATCH = 32  # PyKEEN's own choice on a CPU


@dataclass(frozen=True)
class PeerRun:
    """A model that PyKEEN has trained, and what each epoch but the first took, in seconds of the clock."""

    predictor: PyKEENPredictor
    epoch_seconds: list[float]


def train_pykeen(
    vocabulary: Vocabulary,
    ids: np.ndarray,
    *,
    rank: int,
    epochs: int,
    batch_size: int,
    learning_rate: float = 0.1,
    seed: int = 0,
    n3: float | None = None,
    symmetric: bool = False,
    clock: Callable[[], float] = process_time,
    look: Look | None = None,
) -> PeerRun:
    """Train PyKEEN's ComplEx on the CPU with cross entropy and Adagrad.

    :param ids: (n, 3) int64 facts in the vocabulary.
    :param epochs: at least 2; the first is not timed, because the data loader is made in it.
    :param batch_size: distinct (subject, relation) pairs in a step, inverse relations included; facts if `symmetric`.
    :param n3: weight of the nuclear 3-norm, together with our initialisation N(0, 1e-3); None leaves both to PyKEEN,
        which draws from N(0, 1) and regularises with a 2-norm.
    :param look: told each epoch, its seconds and the model as it is then; what it does is not timed. The first epoch's
        seconds have those of setting up.
    :param symmetric: with both softmaxes for each fact (SymmetricLCWATrainingLoop), without inverse relations.
    """
    ends = _Ends(clock, vocabulary, look)
    factory = _factory(vocabulary, ids, create_inverse_triples=not symmetric)
    chosen: dict[str, Any] = {}
    if n3 is not None:
        initializer = partial(torch.nn.init.normal_, std=INIT_SCALE)
        chosen = {
            "entity_initializer": initializer,
            "relation_initializer": initializer,
            "regularizer": PowerSumRegularizer,
            "regularizer_kwargs": {"p": 3.0, "dim": -1, "normalize": False, "weight": n3},
        }
    with quiet():
        model = pykeen.models.ComplEx(
            triples_factory=factory, embedding_dim=rank, loss="crossentropy", random_seed=seed, **chosen
        )
        kind = SymmetricLCWATrainingLoop if symmetric else LCWATrainingLoop
        optimizer = torch.optim.Adagrad(model.parameters(), lr=learning_rate)
        loop = kind(model=model, triples_factory=factory, optimizer=optimizer)
        with frozen_garbage():
            loop.train(factory, num_epochs=epochs, batch_size=batch_size, use_tqdm=False, callbacks=ends)
    return PeerRun(PyKEENPredictor(model, vocabulary), ends.seconds[1:])


def random_pykeen(vocabulary: Vocabulary, ids: np.ndarray, rank: int, seed: int = 0) -> pykeen.models.ComplEx:
    """PyKEEN's ComplEx, not trained."""
    with quiet():
        return pykeen.models.ComplEx(
            triples_factory=_factory(vocabulary, ids), embedding_dim=rank, random_seed=seed
        ).eval()


def as_ours(model: pykeen.models.ComplEx, vocabulary: Vocabulary) -> ComplEx:
    """Our ComplEx with the weights of a model of PyKEEN's that has no inverse relations."""
    rows = [each[0](indices=None).detach() for each in (model.entity_representations, model.relation_representations)]
    entity, relation = (torch.cat([row.real, row.imag], dim=1) for row in rows)
    return ComplEx(vocabulary, entity, relation)


class OurScores(pykeen.models.ComplEx):
    """A model for PyKEEN's evaluator whose scores are those of a ComplEx of ours, made by our matrix product."""

    def __init__(self, ours: ComplEx, ids: np.ndarray) -> None:
        super().__init__(triples_factory=_factory(ours.vocabulary, ids), embedding_dim=1, random_seed=0)
        self.ours = ours

    def score_t(self, hr_batch: torch.Tensor, **_: Any) -> torch.Tensor:
        return self.ours.object_scores(hr_batch[:, 0], hr_batch[:, 1])

    def score_h(self, rt_batch: torch.Tensor, **_: Any) -> torch.Tensor:
        return self.ours.subject_scores(rt_batch[:, 0], rt_batch[:, 1])


def pykeen_mrr(model: pykeen.models.ComplEx, test: np.ndarray, others: Sequence[np.ndarray]) -> float:
    """The filtered, realistic MRR of both sides by PyKEEN's evaluator; (n, 3) int64 ids."""
    with quiet():
        result = RankBasedEvaluator(filtered=True).evaluate(
            model=model,
            mapped_triples=torch.from_numpy(test),
            additional_filter_triples=[torch.from_numpy(ids) for ids in others],
            batch_size=EVALUATION_BATCH,
            use_tqdm=False,
        )
    return float(result.get_metric("both.realistic.inverse_harmonic_mean_rank"))


class _Ends(TrainingCallback):
    """Notes what each epoch takes, and looks at the model between them."""

    def __init__(self, clock: Callable[[], float], vocabulary: Vocabulary, look: Look | None) -> None:
        super().__init__()
        self.clock, self.vocabulary, self.look = clock, vocabulary, look
        self.seconds: list[float] = []
        self.started = clock()

    def post_epoch(self, epoch: int, epoch_loss: float, **kwargs: Any) -> None:
        self.seconds.append(self.clock() - self.started)
        if self.look is not None:
            self.look(epoch, self.seconds[-1], PyKEENPredictor(self.model, self.vocabulary))
        self.started = self.clock()


def _factory(vocabulary: Vocabulary, ids: np.ndarray, create_inverse_triples: bool = False) -> CoreTriplesFactory:
    return CoreTriplesFactory(
        torch.from_numpy(ids),
        num_entities=len(vocabulary.entities),
        num_relations=len(vocabulary.relations),
        create_inverse_triples=create_inverse_triples,
    )
