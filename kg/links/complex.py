"""ComplEx with the weighted nuclear 3-norm, trained with the full softmax over all entities.

Trouillon et al. (2016) for the score, Lacroix et al. (2018) for reciprocal relations, the regulariser and the loss;
Jiang et al. (2020), appendix A, equations 1 and 2, for both as WordCraft uses them; Chen et al. (2021) for relation
prediction beside it. complex_training.py has the gradient.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.provenance import versions
from gumption.data.settings import NonNegative, check, checked
from gumption.data.wording import shown
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, pick_device, save_checkpoint
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary, checked_triples

from .complex_training import Training, halves
from .fact_ids import Facts, is_pair, to_ids
from .predictor import LinkPredictor
from .products import against_all
from .ranking import evaluate_ranking
from .training_settings import TrainingSettings

if TYPE_CHECKING:
    from gumption.kg.sources.words import WordVectors

KIND = "gumption/complex/1"
STATE = "gumption/complex-training/1"


class ComplEx(LinkPredictor):
    """phi(s, p, o) = Re <e_s, e_p, conj(e_o)> with complex embeddings of a given rank (equation 1).

    Embeddings are real arrays of width 2 * rank: the real parts, then the imaginary ones. Subjects are predicted
    through reciprocal relations (rows R to 2R - 1 of `relation`), or, with `reciprocal=False`, by the same phi: the
    two softmaxes of equation 2.

    :ivar entity: (N, 2 * rank) float32.
    :ivar relation: (2R, 2 * rank) float32 with reciprocal relations, else (R, 2 * rank).
    :ivar projection: (F, 2 * rank) float32, the embedding of an entity without facts from its word vector; None where
        the model was fitted without words.
    :ivar origin: how it was trained, as plain JSON: settings, loss by epoch, MRR of the validation facts, sha256 of
        the facts, versions.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        entity: torch.Tensor,
        relation: torch.Tensor,
        projection: torch.Tensor | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.entity = entity
        self.relation = relation
        self.projection = projection
        self.origin = origin or {}
        self.device = entity.device

    @property
    def reciprocal(self) -> bool:
        return len(self.relation) == 2 * len(self.vocabulary.relations)

    @property
    def rank(self) -> int:
        return self.entity.shape[1] // 2

    @classmethod
    @checked
    def fit(
        cls,
        graph_or_triples: KnowledgeGraph | Facts,
        rank: int = 128,
        epochs: int = 50,
        batch_size: int = 512,
        learning_rate: float = 0.1,
        n3: float = 1e-2,
        reciprocal: bool = True,
        valid: Sequence[Triple] | None = None,
        seed: int = 0,
        device: str = "auto",
        *,
        graph: str | None = None,
        vocabulary: Vocabulary | None = None,
        relation_weight: float = 0.0,
        weighting: str = "fact",
        precision: str = "float32",
        valid_every: int = 10,
        patience: int | None = None,
        known: Facts = (),
        words: "WordVectors | None" = None,
        word_mode: str = "add",
        word_dropout: float = 0.3,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: NonNegative = 60.0,
        progress: bool = False,
    ) -> "ComplEx":
        """Train with Adagrad on the distinct queries (s, p, ?) and (?, p, o).

        Each query's logsumexp is computed once and weighted by how many facts share it, and so is its share of the
        regulariser: the objective is that of training on the facts one by one, for less work. Under torchrun each
        process holds its slice of the entities; all of them return the model.

        :param batch_size: distinct queries in a step.
        :param n3: weight of the nuclear 3-norm, |e_s|^3 + |e_p|^3 + |e_o|^3 for each fact and direction.
        :param valid: facts whose MRR is taken every `valid_every` epochs; the best parameters are kept.
        :param graph: the named graph to train on, where a KnowledgeGraph is given; None for all.
        :param vocabulary: the labels to learn, where they are more than those of the facts.
        :param relation_weight: weight of the auxiliary objective, predicting the relation (Chen et al., 2021).
        :param weighting: what counts the same: each "fact" (Lacroix et al., 2018), or each "query" with all its answers
            (KvsAll training with labels that sum to 1; Dettmers et al., 2018, Ruffinelli et al., 2020), which helps
            where some queries have very many answers.
        :param precision: of the products with all entities: "float32", "tf32" (on a GPU that has it) or "bfloat16".
        :param patience: stop after so many looks at `valid` without a better MRR; None never stops.
        :param known: other true facts, left out when `valid` is ranked, as those trained on are; some may have labels
            that the model does not learn.
        :param words: word vectors. An entity is then a free embedding with a projection of its word's vector, and one
            without facts (of a wider `vocabulary`, or added by `extended`) is the projection alone. Labels without a
            vector are an error.
        :param word_mode: "add" the projection, or mix it in by a learned "gate" for each dimension.
        :param word_dropout: share of the entities whose free embedding is left out in a step, so that words carry
            what they can.
        :param checkpoint: a folder for the state of the training, written every `checkpoint_seconds` and at the end;
            where it has one, training goes on from there, to the same bits on a CPU, until there are `epochs` in all.
        :param progress: show a bar on a terminal.
        :raises InputError: no facts, a setting out of range, a checkpoint of other facts or settings.
        """
        settings = TrainingSettings(
            rank, epochs, batch_size, learning_rate, n3, reciprocal, relation_weight, weighting, precision,
            valid_every, patience, word_mode, word_dropout, seed,
        )  # fmt: skip
        check("vocabulary", vocabulary, Vocabulary | None)
        if words is not None and not hasattr(words, "vectors"):
            raise InputError(f"words is {shown(words)}; it is a WordVectors or None")
        vocabulary, ids = _arrays(graph_or_triples, graph, vocabulary)
        looked_at = None if valid is None else vocabulary.triples_to_ids(valid)
        if looked_at is not None and not len(looked_at):
            raise InputError("there are no test facts to rank in `valid`; leave it out or give some")
        others = to_ids(vocabulary, known, skip=True)
        if looked_at is None and len(others):
            raise InputError("`known` is left out when `valid` is ranked: give `valid`, too")
        run = _Run(vocabulary, ids, settings, looked_at, others, words, pick_device(device))
        if checkpoint is not None:
            run.keep_in(checkpoint, checkpoint_seconds)
        return run.train(progress)

    def _through(self, kind: torch.Tensor) -> torch.Tensor:
        """(B, 2 * rank) embeddings of kinds of query: relation p asks for objects, R + p for subjects."""
        if self.reciprocal:
            return self.relation[kind]
        real, imaginary = self.relation.chunk(2, dim=1)
        return torch.cat([self.relation, torch.cat([real, -imaginary], dim=1)])[kind]

    @torch.no_grad()
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return against_all(_product(self.entity[subjects], self._through(relations)), self.entity)

    @torch.no_grad()
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        backwards = self._through(relations + len(self.vocabulary.relations))
        return against_all(_product(self.entity[objects], backwards), self.entity)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON), replacing one that is there."""
        meta = {"kind": KIND, "vocabulary": self.vocabulary.to_json(), "origin": self.origin}
        tensors = {"entity": self.entity, "relation": self.relation}
        if self.projection is not None:
            tensors["projection"] = self.projection
        save_checkpoint(directory, tensors, meta)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "ComplEx":
        """Read what `save` wrote; InputError where it is missing, damaged or of another kind."""
        tensors, meta = load_checkpoint(directory, KIND)
        where = pick_device(device)
        vocabulary = Vocabulary.from_json(meta["vocabulary"])
        held = {name: tensor.to(where) for name, tensor in tensors.items()}
        if len(held["entity"]) != len(vocabulary.entities):
            raise InputError(f"{directory}: {len(held['entity'])} embeddings for {len(vocabulary.entities)} entities")
        return cls(vocabulary, held["entity"], held["relation"], held.get("projection"), meta.get("origin"))

    def extended(self, labels: Sequence[str], words: "WordVectors") -> "ComplEx":
        """The same model with more entities, known by their words only.

        :raises InputError: a model fitted without words or with vectors of another width; a label that it has already
            or that has no vector.
        """
        if self.projection is None:
            raise InputError("this model was fitted without word vectors and cannot score unknown entities: fit one")
        vectors = torch.from_numpy(words.vectors(labels)).to(self.device)
        if vectors.shape[1] != len(self.projection):
            raise InputError(f"the words have {vectors.shape[1]} dimensions, those of the model {len(self.projection)}")
        vocabulary = Vocabulary((*self.vocabulary.entities, *labels), self.vocabulary.relations)
        entity = torch.cat([self.entity, vectors @ self.projection])
        return ComplEx(vocabulary, entity, self.relation, self.projection, self.origin)


class _Run:
    """One training: what it learns from, what it has found so far, where its state is kept."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        ids: np.ndarray,
        settings: TrainingSettings,
        valid: np.ndarray | None,
        known: np.ndarray,
        words: "WordVectors | None",
        device: torch.device,
    ) -> None:
        self.vocabulary, self.settings = vocabulary, settings
        self.others = known
        self.known = vocabulary, np.concatenate([ids, known])
        self.valid = None if valid is None else (vocabulary, valid)
        self.learned = np.arange(len(vocabulary.entities))
        self.vectors: np.ndarray | None = None
        fingerprint = hashlib.sha256(vocabulary.hash.encode() + np.unique(ids, axis=0).tobytes())
        if words is not None:
            # An entity without facts would only be told what it is not: it is left to its words.
            self.vectors = words.vectors(vocabulary.entities)
            self.learned = np.unique(ids[:, [0, 2]])
            ids = np.stack([np.searchsorted(self.learned, ids[:, 0]), ids[:, 1],
                            np.searchsorted(self.learned, ids[:, 2])], axis=1)  # fmt: skip
            fingerprint.update(self.vectors.tobytes())
        chosen = None if self.vectors is None else self.vectors[self.learned]
        self.training = Training(ids, len(self.learned), len(vocabulary.relations), settings, device, chosen)
        self.facts = fingerprint.hexdigest()
        self.history: list[dict[str, float]] = []
        self.best: dict[str, torch.Tensor] = {}
        self.best_mrr = -1.0
        self.stale = 0  # looks at `valid` since the best one
        self.folder: str | os.PathLike[str] | None = None
        self.seconds = 0.0

    def keep_in(self, folder: str | os.PathLike[str], seconds: float) -> None:
        """Write the state there from now on; go on from the one that is there."""
        self.folder, self.seconds = folder, seconds
        if not self.training.slice.agreed(float(has_checkpoint(folder))):
            return
        tensors, meta = load_checkpoint(folder, STATE)
        if meta["facts"] != self.facts:
            raise InputError(f"{folder} is the state of training on other facts: choose another folder")
        ours, theirs = self._comparable(), meta["settings"]
        if differing := [name for name in ours if theirs.get(name) != ours[name]]:
            listed = ", ".join(f"{name} {theirs.get(name)!r} there, {ours[name]!r} here" for name in differing)
            raise InputError(f"{folder} is the state of training with other settings: {listed}")
        self.training.restore(tensors, meta)
        if self.training.epoch > self.settings.epochs:
            raise InputError(
                f"{folder} has gone through {self.training.epoch} epochs: give at least as many, or remove it"
            )
        self.history, self.best_mrr, self.stale = meta["history"], meta["best_mrr"], meta["stale"]
        self.best = {name[5:]: tensor for name, tensor in tensors.items() if name.startswith("best.")}

    def train(self, progress: bool) -> ComplEx:
        """Train to the end and give the best model."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        hidden = not progress or not console.is_terminal
        columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Progress(*columns, TimeRemainingColumn(), console=console, disable=hidden) as bar:
            task = bar.add_task("", total=self.settings.epochs, completed=self.training.epoch)
            saved = monotonic()
            while not self._finished():
                self._epoch()
                bar.update(task, completed=self.training.epoch, description=self._told())
                due = self._finished() or monotonic() - saved >= self.seconds
                if self.folder is not None and self.training.slice.agreed(float(due)):
                    self._save()
                    saved = monotonic()
        return self._model(self.best or self._tensors())

    def _finished(self) -> bool:
        patience = self.settings.patience
        return self.training.epoch >= self.settings.epochs or (patience is not None and self.stale >= patience)

    def _epoch(self) -> None:
        loss = self.training.run_epoch()
        epoch = self.training.epoch
        self.history.append({"epoch": epoch, "loss": loss})
        if self.valid is None or (epoch % self.settings.valid_every and epoch != self.settings.epochs):
            return
        tensors, held = self._tensors(), self.training.slice
        mrr = 0.0
        if held.first:
            mrr = evaluate_ranking(self._model(tensors), self.valid, known=[self.known, self.valid])["mrr"]
        mrr = held.agreed(mrr)
        self.history[-1]["valid_mrr"] = mrr
        self.stale += 1
        if mrr > self.best_mrr:
            self.best_mrr, self.stale = mrr, 0
            self.best = {name: tensor.clone() for name, tensor in tensors.items()}

    def _told(self) -> str:
        looks = [row["valid_mrr"] for row in self.history if "valid_mrr" in row]
        return f"loss {self.history[-1]['loss']:.4f}" + (f", valid MRR {looks[-1]:.4f}" if looks else "")

    def _tensors(self) -> dict[str, torch.Tensor]:
        """The model's tensors as they are now, in ComplEx's layout."""
        training = self.training
        entity = halves(training.slice.whole(training.entity_slice()))
        tensors = {"entity": entity, "relation": halves(training.parameters["relation"].detach())}
        if self.vectors is not None:
            projection = halves(training.word_projection())
            words = torch.from_numpy(self.vectors).to(entity.device)
            tensors["entity"] = words @ projection
            tensors["entity"][torch.from_numpy(self.learned).to(entity.device)] = entity
            tensors["projection"] = projection
        return tensors

    def _model(self, tensors: dict[str, torch.Tensor]) -> ComplEx:
        where = {name: tensor.to(self.training.device) for name, tensor in tensors.items()}
        origin = {
            "settings": asdict(self.settings),
            "facts": self.facts,
            "history": self.history,
            "versions": versions(),
        }
        return ComplEx(self.vocabulary, where["entity"], where["relation"], where.get("projection"), origin)

    def _save(self) -> None:
        tensors, state = self.training.state()
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        found = {"history": self.history, "best_mrr": self.best_mrr, "stale": self.stale}
        meta = {"kind": STATE, "facts": self.facts, "settings": self._comparable(), **state, **found}
        held = self.training.slice
        if held.first:
            assert self.folder is not None
            save_checkpoint(self.folder, tensors, meta)
        held.agreed(0.0)  # no process goes on before the state is there

    def _comparable(self) -> dict[str, Any]:
        """What must be the same to go on: all settings but the number of epochs and the patience, what is looked at and
        what is left out then, because the best so far is best by that."""
        same = {name: value for name, value in asdict(self.settings).items() if name not in ("epochs", "patience")}
        valid = None if self.valid is None else _hash(self.valid[1])
        return {**same, "valid": valid, "known": _hash(self.others) if len(self.others) else None}


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


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Element-wise product of complex rows in the layout (real parts, imaginary parts)."""
    (a, b), (c, d) = left.chunk(2, dim=1), right.chunk(2, dim=1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=1)
