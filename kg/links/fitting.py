"""One fit from its facts to the model: looking at held-out facts, stopping early, keeping the state, telling."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from time import monotonic
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.provenance import versions
from gumption.data.settings import check
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary, checked_triples

from .fact_ids import Facts, is_pair, marks_of, to_ids
from .predictor import LinkPredictor
from .ranking import evaluate_ranking
from .training import Training

Fitted = TypeVar("Fitted", bound=LinkPredictor)


@dataclass(frozen=True)
class TrainingFacts:
    """What a model learns from and what it is looked at by.

    :ivar ids: (n, 3) int64, the facts to learn from.
    :ivar valid: facts whose MRR chooses the best parameters, or None.
    :ivar known: other true facts, left out when `valid` is ranked.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    valid: np.ndarray | None
    known: np.ndarray

    @classmethod
    def read(
        cls,
        graph_or_triples: KnowledgeGraph | Facts,
        graph: str | None,
        vocabulary: Vocabulary | None,
        valid: Sequence[Triple] | None,
        known: Facts,
    ) -> Self:
        """Labels as ids, in the vocabulary given or in that of the facts.

        :raises InputError: no facts, an unknown label, or `known` without `valid`.
        """
        check("vocabulary", vocabulary, Vocabulary | None)
        vocabulary, ids = _arrays(graph_or_triples, graph, vocabulary)
        looked_at = None if valid is None else vocabulary.triples_to_ids(valid)
        if looked_at is not None and not len(looked_at):
            raise InputError("there are no test facts to rank in `valid`; leave it out or give some")
        others = to_ids(vocabulary, known, skip=True)
        if looked_at is None and len(others):
            raise InputError("`known` is left out when `valid` is ranked: give `valid`, too")
        return cls(vocabulary, ids, looked_at, others)


class Run(Generic[Fitted]):
    """One training: what it learns from, what it has found so far, where its state is kept."""

    def __init__(
        self,
        make: Callable[..., Fitted],
        facts: TrainingFacts,
        training: Training,
        state_kind: str,
        words: np.ndarray | None = None,
    ) -> None:
        """
        :param make: gives the model by (vocabulary, origin=..., and the tensors of the training by their names).
        :param state_kind: what checkpoints of the training say they are.
        :param words: the word vectors that the training reads, which are part of what it learns from.
        """
        self.make, self.facts, self.training, self.state_kind = make, facts, training, state_kind
        vocabulary = facts.vocabulary
        fingerprint = hashlib.sha256(vocabulary.hash.encode() + np.unique(facts.ids, axis=0).tobytes())
        if words is not None:
            fingerprint.update(words.tobytes())
        self.fingerprint = fingerprint.hexdigest()
        self.marks = marks_of(vocabulary, facts.ids)
        self.history: list[dict[str, float]] = []
        self.best: dict[str, torch.Tensor] = {}
        self.best_mrr = -1.0
        self.stale = 0  # looks at `valid` since the best one

    def train(self, folder: str | os.PathLike[str] | None, seconds: float, progress: bool) -> Fitted:
        """Train to the end and give the best model.

        :param folder: where the state is kept, written every so many seconds; training goes on from one that is there.
        """
        training, epochs = self.training, self.training.settings.epochs
        if folder is not None and training.slice.agreed(float(has_checkpoint(folder))):
            self._restore(folder)
        with Bar(epochs, "fitting", progress) as bar:
            saved = monotonic()
            while not self._finished():
                self._epoch()
                bar.show(training.epoch, self._told())
                due = self._finished() or monotonic() - saved >= seconds
                if folder is not None and training.slice.agreed(float(due)):
                    self._save(folder)
                    saved = monotonic()
        found = self.best or training.tensors()
        if not all(bool(tensor.isfinite().all()) for tensor in found.values()):
            raise self._diverged("numbers of the model are not finite")
        return self._model(found)

    def _diverged(self, how: str) -> InputError:
        return InputError(
            f"the training diverges: after epoch {self.training.epoch} {how}; learning_rate is "
            f"{self.training.settings.learning_rate:g}, give a smaller one"
        )

    def _finished(self) -> bool:
        settings = self.training.settings
        stale = settings.patience is not None and self.stale >= settings.patience
        return self.training.epoch >= settings.epochs or stale

    def _epoch(self) -> None:
        loss = self.training.run_epoch()
        if not isfinite(loss):
            raise self._diverged(f"the loss is {loss}")
        epoch, settings, valid = self.training.epoch, self.training.settings, self.facts.valid
        self.history.append({"epoch": epoch, "loss": loss})
        if valid is None or (epoch % settings.valid_every and epoch != settings.epochs):
            return
        tensors, held = self.training.tensors(), self.training.slice
        mrr = 0.0
        if held.first:
            vocabulary, known = self.facts.vocabulary, np.concatenate([self.facts.ids, self.facts.known])
            mrr = evaluate_ranking(self._model(tensors), (vocabulary, valid), known=[(vocabulary, known)])["mrr"]
        mrr = held.agreed(mrr)
        self.history[-1]["valid_mrr"] = mrr
        self.stale += 1
        if mrr > self.best_mrr:
            self.best_mrr, self.stale = mrr, 0
            self.best = {name: tensor.clone() for name, tensor in tensors.items()}

    def _told(self) -> str:
        looks = [row["valid_mrr"] for row in self.history if "valid_mrr" in row]
        return f"loss {self.history[-1]['loss']:.4f}" + (f", valid MRR {looks[-1]:.4f}" if looks else "")

    def _model(self, tensors: dict[str, torch.Tensor]) -> Fitted:
        where = {name: tensor.to(self.training.device) for name, tensor in tensors.items()}
        origin = {
            "settings": self.training.told,
            "facts": self.fingerprint,
            "history": self.history,
            "versions": versions(),
        }
        made = self.make(self.facts.vocabulary, origin=origin, **where)
        made.trained_on = self.marks
        return made

    def _restore(self, folder: str | os.PathLike[str]) -> None:
        tensors, meta = load_checkpoint(folder, self.state_kind)
        if meta["facts"] != self.fingerprint:
            raise InputError(f"{folder} is the state of training on other facts: choose another folder")
        ours, theirs = self._comparable(), meta["settings"]
        if differing := [name for name in ours if theirs.get(name) != ours[name]]:
            listed = ", ".join(f"{name} {theirs.get(name)!r} there, {ours[name]!r} here" for name in differing)
            raise InputError(f"{folder} is the state of training with other settings: {listed}")
        self.training.restore(tensors, meta)
        if self.training.epoch > self.training.settings.epochs:
            raise InputError(
                f"{folder} has gone through {self.training.epoch} epochs: give at least as many, or remove it"
            )
        self.history, self.best_mrr, self.stale = meta["history"], meta["best_mrr"], meta["stale"]
        self.best = {name[5:]: tensor for name, tensor in tensors.items() if name.startswith("best.")}

    def _save(self, folder: str | os.PathLike[str]) -> None:
        tensors, state = self.training.state()
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        found = {"history": self.history, "best_mrr": self.best_mrr, "stale": self.stale}
        meta = {"kind": self.state_kind, "facts": self.fingerprint, "settings": self._comparable(), **state, **found}
        if self.training.slice.first:
            save_checkpoint(folder, tensors, meta)
        self.training.slice.agreed(0.0)  # no process goes on before the state is there

    def _comparable(self) -> dict[str, Any]:
        """What must be the same to go on: all settings but the number of epochs and the patience, what is looked at and
        what is left out then, because the best so far is best by that."""
        same = {name: value for name, value in self.training.told.items() if name not in ("epochs", "patience")}
        valid, known = self.facts.valid, self.facts.known
        return {
            **same,
            "valid": None if valid is None else _hash(valid),
            "known": _hash(known) if len(known) else None,
        }


def _hash(ids: np.ndarray) -> str:
    """sha256 (hex) of facts as a set."""
    return hashlib.sha256(np.unique(ids, axis=0).tobytes()).hexdigest()


def _arrays(
    facts: KnowledgeGraph | Facts, graph: str | None, vocabulary: Vocabulary | None
) -> tuple[Vocabulary, np.ndarray]:
    if is_pair(facts):
        vocabulary, ids = facts[0], to_ids(vocabulary or facts[0], facts)
    elif isinstance(facts, KnowledgeGraph) and vocabulary is None:
        vocabulary, ids = facts.arrays(graph=graph)
    elif graph is not None and not isinstance(facts, KnowledgeGraph):
        raise InputError(f"the named graph {graph!r} is asked for, but triples were given; give a KnowledgeGraph")
    else:
        # Sorted, because a large graph gives its facts in no order that can be relied on.
        triples = (
            sorted(facts.triples(graph=graph))
            if isinstance(facts, KnowledgeGraph)
            else checked_triples(cast("Iterable[Triple]", facts))
        )
        vocabulary = vocabulary or Vocabulary.from_triples(triples)
        ids = vocabulary.triples_to_ids(triples)
    if not len(ids):
        raise InputError("there are no facts to learn from" + (f" in the graph {graph!r}" if graph else ""))
    return vocabulary, ids
