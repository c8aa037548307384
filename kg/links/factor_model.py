"""Base class for your own link predictors: a model defines tensors and scores; training, saving, loading are shared."""

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from inspect import isabstract
from typing import Any, Self

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, checked_methods
from gumption.kg.checkpoint import load_checkpoint, pick_device, save_checkpoint
from gumption.kg.facts import Facts
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary

from .predictor import OWN, LinkPredictor, marks_to_tensors, take_marks
from .training import QueryPart, Regularizer, Run, Training, TrainingFacts, against_all, n3_beside
from .training_settings import TrainingSettings, Weighting


@checked_methods
class FactorModel(LinkPredictor):
    """A link predictor made of tensors. A subclass defines `tensors`, `factors` and either `queries` or `scores`.

    Each relation is learned in both directions (Lacroix et al., 2018): a query (head, p) with p < R is for objects of
    relation p, and (head, R + p) for its subjects.

    Each tensor is an attribute with its name, for example `self.entity`.

    :ivar origin: record of the training, as plain JSON: settings, loss by epoch, MRR of the validation facts, sha256
        of the facts, versions.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, origin: dict[str, Any] | None = None, **parameters: torch.Tensor
    ) -> None:
        if not parameters:
            raise InputError(f"{type(self).__name__} needs its tensors, each by its name, such as entity=...")
        self.vocabulary = vocabulary
        self.origin = origin or {}
        self._names = tuple(parameters)
        for name, tensor in parameters.items():
            setattr(self, name, tensor)
        self.device = next(iter(parameters.values())).device

    @property
    def parameters(self) -> dict[str, torch.Tensor]:
        """Return the learned tensors by name."""
        return {name: getattr(self, name) for name in self._names}

    @staticmethod
    @abstractmethod
    def tensors(entities: Count, relations: Count, rank: Count, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Draw the parameters before training, float32 on the CPU.

        :param relations: 2R, each relation in both directions.
        """

    @abstractmethod
    def factors(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> Sequence[torch.Tensor]:
        """Return the factors of n facts for the regulariser: real or complex tensors of n rows.

        :param heads, relations, tails: (n,) int64; the relations are below 2R.
        """

    def queries(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        """Map queries (B,) and (B,) ids to vectors (B, width). Their dot products with the rows of the tensor "entity"
        are the scores."""
        raise NotImplementedError(f"{type(self).__name__} has neither `queries` nor `scores`")

    def scores(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        """Score all entities: (B,) and (B,) ids of queries -> (B, N). Override it for scores that are not dot products
        with `queries`, and set `score_bytes` to the bytes that a score takes at the peak."""
        return against_all(self.queries(heads, relations), self.parameters["entity"])

    def relation_scores(self, heads: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
        """Score each (head, tail) under each relation: (n,) and (n,) ids -> (n, 2R)."""
        kinds = 2 * len(self.vocabulary.relations)
        every = torch.arange(kinds, device=heads.device).repeat(len(heads))
        queries = self.queries(heads.repeat_interleave(kinds), every).unflatten(0, (-1, kinds))
        return (queries @ self.parameters["entity"][tails].unsqueeze(2))[:, :, 0]

    @torch.no_grad()
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.scores(subjects, relations)

    @torch.no_grad()
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.scores(objects, relations + len(self.vocabulary.relations))

    @classmethod
    def fit(
        cls,
        graph_or_triples: KnowledgeGraph | Facts,
        *,
        rank: int = 128,
        epochs: int = 50,
        batch_size: int = 512,
        learning_rate: float = 0.1,
        n3: float | None = None,
        regularizer: Regularizer | None = None,
        valid: Sequence[Triple] | None = None,
        seed: int = 0,
        device: str = "auto",
        graph: str | None = None,
        vocabulary: Vocabulary | None = None,
        relation_weight: float = 0.0,
        weighting: Weighting = "fact",
        valid_every: int = 10,
        patience: int | None = None,
        known: Facts = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: NonNegative = 60.0,
        progress: bool = False,
        literals: bool = False,
    ) -> Self:
        """Train with the full softmax over all entities, Adagrad and gradients by autograd.

        See `ComplEx.fit` for the parameters.

        :raises InputError: as `ComplEx.fit`; a `relation_weight` for a model without `queries`.
        """
        if isabstract(cls):
            raise InputError(f"{cls.__name__} has no tensors of its own: fit a class that gives them, such as DistMult")
        settings = TrainingSettings(
            rank=rank, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate,
            n3=n3_beside(n3, regularizer), relation_weight=relation_weight, weighting=weighting,
            valid_every=valid_every, patience=patience, seed=seed,
        )  # fmt: skip
        if relation_weight and cls.queries is FactorModel.queries:
            raise InputError(f"{cls.__name__} has no `queries`, which predict relations: leave relation_weight at 0")
        facts = TrainingFacts.read(graph_or_triples, graph, vocabulary, valid, known, literals)
        where = pick_device(device)
        entities, relations = len(facts.vocabulary.entities), len(facts.vocabulary.relations)

        def begin(generator: torch.Generator) -> Self:
            drawn = cls.tensors(entities, 2 * relations, rank, generator)
            return cls(facts.vocabulary, origin=None, **{name: tensor.to(where) for name, tensor in drawn.items()})

        training = PlainTraining(begin, facts.ids, entities, relations, settings, where, regularizer)
        run = Run(cls, facts, training, f"training of {cls.kind()}")
        return run.train(checkpoint, checkpoint_seconds, progress)

    @classmethod
    def kind(cls) -> str:
        """Return the "kind" of the class's checkpoints: its own KIND, or else its name. `load` only compares the name
        and never imports by it."""
        return vars(cls).get("KIND", f"{OWN}{cls.__name__}/1")  # an inherited KIND belongs to another model

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON), replacing an existing folder."""
        meta = {"kind": self.kind(), "vocabulary": self.vocabulary.to_json(), "origin": self.origin}
        save_checkpoint(directory, self.parameters | marks_to_tensors(self), meta)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> Self:
        """Read a folder written by `save`; raises InputError if it is missing, damaged or of another kind."""
        tensors, meta = load_checkpoint(directory, cls.kind())
        marks = take_marks(tensors)
        where = pick_device(device)
        vocabulary = Vocabulary.from_json(meta["vocabulary"])
        held = {name: tensor.to(where) for name, tensor in tensors.items()}
        if "entity" in held and len(held["entity"]) != len(vocabulary.entities):
            raise InputError(f"{directory}: {len(held['entity'])} embeddings for {len(vocabulary.entities)} entities")
        try:
            loaded = cls(vocabulary, origin=meta.get("origin"), **held)
        except TypeError:
            raise InputError(f"{directory}: {', '.join(sorted(held))} are not the tensors of {cls.__name__}") from None
        vars(loaded).update(marks)
        return loaded


# ---- The objective as in the papers, with its gradient by autograd. It trains any model, and tests compare the closed
# form of complex.py with it.
#
# For a query q = (s, p, ?) with c true answers among the facts, the sum of the answers' cross entropies is
#
#     c * logsumexp_o z(q, o) - sum over answers o of z(q, o),
#
# so that each distinct query needs one row of scores. The regulariser adds its penalties of the factors of each fact,
# and the auxiliary objective of Chen et al. (2021) adds weight * -log softmax_p z(s, p, o).


class PlainTraining(Training):
    """Train any `FactorModel` in one process, with gradients by autograd."""

    def __init__(
        self,
        begin: Callable[[torch.Generator], FactorModel],
        ids: np.ndarray,
        entities: int,
        relations: int,
        settings: TrainingSettings,
        device: torch.device,
        regularizer: Regularizer | None = None,
    ) -> None:
        """
        :param begin: creates the untrained model on the device.
        :raises InputError: several processes.
        """
        self._make = begin
        super().__init__(ids, entities, relations, settings, device, regularizer)
        self.score_bytes = self.model.score_bytes
        if self.slice.processes > 1:
            raise InputError("several processes share the entities of ComplEx only: fit this model without torchrun")

    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        self.model = self._make(generator)
        return {name: parameter.requires_grad_() for name, parameter in self.model.parameters.items()}

    def _step(self) -> Self:
        self.optimiser.zero_grad()
        return self

    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: parameter.detach() for name, parameter in self.parameters.items()}

    @torch.enable_grad()
    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        """Add the gradient of some queries, their weights times `scale`; returns their weighted loss, on the device."""
        model = self.model
        scores = model.scores(part.anchor, part.kind)
        weight, anchor, kind = part.weight.to(scores.dtype), part.anchor[part.row], part.kind[part.row]
        loss = part.total.to(scores.dtype) @ scores.logsumexp(1) - weight @ scores[part.row, part.answer]
        objective = loss
        if self.regularizer:
            for factor in model.factors(anchor, kind, part.answer):
                objective = objective + weight @ self.regularizer.penalty(factor)
        if self.settings.relation_weight:
            relations = model.relation_scores(anchor, part.answer)
            scored = kind < relations.shape[1]  # without reciprocal relations, predict only the relations of facts
            entropy = cross_entropy(relations, kind * scored, reduction="none")
            objective = objective + self.settings.relation_weight * ((weight * scored) @ entropy)
        (scale * objective).backward()
        return loss.detach()

    def apply(self) -> None:
        """Update the parameters by one step of Adagrad."""
        self.optimiser.step()
