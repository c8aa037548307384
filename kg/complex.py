"""ComplEx with the weighted nuclear 3-norm, trained with the full softmax over all entities.

Trouillon et al. (2016) for the score, Lacroix et al. (2018) for reciprocal relations, the regulariser and the loss;
Jiang et al. (2020), appendix A, equations 1 and 2, for both as WordCraft uses them.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gumption.data import InputError

from .checkpoint import load_checkpoint, pick_device, save_checkpoint
from .graph import KnowledgeGraph
from .predictor import LinkPredictor
from .ranking import evaluate_ranking
from .vocabulary import Triple, Vocabulary

KIND = "gumption/complex/1"
INIT_SCALE = 1e-3
VALID_EVERY = 10


class ComplEx(LinkPredictor):
    """phi(s, p, o) = Re <e_s, e_p, conj(e_o)> with complex embeddings of a given rank (equation 1).

    Embeddings are real arrays of width 2 * rank: the real parts, then the imaginary ones. Subjects are predicted
    through reciprocal relations (rows R to 2R - 1 of `relation`), or, with `reciprocal=False`, by the same phi: the
    two softmaxes of equation 2.

    :ivar entity: (N, 2 * rank) float32.
    :ivar relation: (2R, 2 * rank) float32 with reciprocal relations, else (R, 2 * rank).
    """

    def __init__(self, vocabulary: Vocabulary, entity: torch.Tensor, relation: torch.Tensor) -> None:
        self.vocabulary = vocabulary
        self.entity = entity
        self.relation = relation
        self.device = entity.device

    @property
    def reciprocal(self) -> bool:
        return len(self.relation) == 2 * len(self.vocabulary.relations)

    @property
    def rank(self) -> int:
        return self.entity.shape[1] // 2

    @classmethod
    def fit(
        cls,
        graph_or_triples: KnowledgeGraph | Iterable[Triple],
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
    ) -> "ComplEx":
        """Train with Adagrad on the distinct queries (s, p, ?) and (?, p, o).

        Each query's logsumexp is computed once and weighted by how many facts share it, and so is its share of the
        regulariser: the objective is that of training on the facts one by one, for less work.

        :param batch_size: distinct queries in a step.
        :param n3: weight of the nuclear 3-norm, |e_s|^3 + |e_p|^3 + |e_o|^3 for each fact and direction.
        :param valid: facts whose MRR is taken every ten epochs; the best parameters are kept.
        :param graph: the named graph to train on, where a KnowledgeGraph is given; None for all.
        :param vocabulary: the labels to learn, where they are more than those of the facts.
        :raises InputError: no facts, or a setting out of range.
        """
        for name, value in (("rank", rank), ("epochs", epochs), ("batch_size", batch_size)):
            if value < 1:
                raise InputError(f"{name} is {value}; it is at least 1")
        if seed < 0:
            raise InputError(f"seed is {seed}; it is at least 0")
        if learning_rate <= 0 or n3 < 0:
            raise InputError(f"learning_rate is {learning_rate} and n3 {n3}; they are above 0 and at least 0")
        vocabulary, ids = _arrays(graph_or_triples, graph, vocabulary)
        where = pick_device(device)
        generator = torch.Generator().manual_seed(seed)  # on the CPU, so that every device starts alike
        width, relations = 2 * rank, len(vocabulary.relations)
        entity = torch.randn(len(vocabulary.entities), width, generator=generator) * INIT_SCALE
        relation = torch.randn(relations * (1 + reciprocal), width, generator=generator) * INIT_SCALE
        model = cls(vocabulary, entity.to(where).requires_grad_(), relation.to(where).requires_grad_())
        optimiser = torch.optim.Adagrad([model.entity, model.relation], lr=learning_rate)
        queries = _Queries.of(ids, relations)
        shuffle = np.random.Generator(np.random.PCG64(seed))
        best: tuple[float, torch.Tensor, torch.Tensor] | None = None
        for epoch in range(1, epochs + 1):
            for anchor, kind, rows, answers in queries.batches(shuffle, batch_size):
                loss = model._loss(anchor.to(where), kind.to(where), rows.to(where), answers.to(where), n3)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            if valid is not None and (epoch % VALID_EVERY == 0 or epoch == epochs):
                mrr = evaluate_ranking(model, valid, known=[vocabulary.ids_to_triples(ids), valid])["mrr"]
                if best is None or mrr > best[0]:
                    best = mrr, model.entity.detach().clone(), model.relation.detach().clone()
        if best is not None:
            return cls(vocabulary, best[1], best[2])
        return cls(vocabulary, model.entity.detach(), model.relation.detach())

    def _loss(
        self, anchor: torch.Tensor, kind: torch.Tensor, rows: torch.Tensor, answers: torch.Tensor, n3: float
    ) -> torch.Tensor:
        """Mean over the facts behind B queries: anchor, kind (B,); rows, answers (n,) pair a query with its answers."""
        start = functional.embedding(anchor, self.entity)
        through = self._through(kind)
        logits = _product(start, through) @ self.entity.T
        # A dense 0/1 matrix beside the logits: its products are sums in a fixed order, also in the gradient.
        facts = torch.zeros_like(logits)
        facts[rows, answers] = 1.0
        count = facts.sum(1)
        loss = (count * logits.logsumexp(1)).sum() - (facts * logits).sum()
        if n3:
            cubes = (count * (_cubes(start) + _cubes(through))).sum() + facts.sum(0) @ _cubes(self.entity)
            loss = loss + n3 * cubes
        return loss / len(rows)

    def _through(self, kind: torch.Tensor) -> torch.Tensor:
        """(B, 2 * rank) embeddings of kinds of query: relation p asks for objects, R + p for subjects."""
        if self.reciprocal:
            return functional.embedding(kind, self.relation)
        real, imaginary = self.relation.chunk(2, dim=1)
        return functional.embedding(kind, torch.cat([self.relation, torch.cat([real, -imaginary], dim=1)]))

    @torch.no_grad()
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return _product(self.entity[subjects], self._through(relations)) @ self.entity.T

    @torch.no_grad()
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        backwards = self._through(relations + len(self.vocabulary.relations))
        return _product(self.entity[objects], backwards) @ self.entity.T

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON), replacing one that is there."""
        meta = {"kind": KIND, "vocabulary": self.vocabulary.to_json()}
        save_checkpoint(directory, {"entity": self.entity, "relation": self.relation}, meta)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "ComplEx":
        """Read what `save` wrote; InputError where it is missing, damaged or of another kind."""
        tensors, meta = load_checkpoint(directory, KIND)
        where = pick_device(device)
        vocabulary = Vocabulary.from_json(meta["vocabulary"])
        return cls(vocabulary, tensors["entity"].to(where), tensors["relation"].to(where))


@dataclass(frozen=True)
class _Queries:
    """The distinct queries of some facts: query i is (anchor[i], kind[i]), its answers are
    answer[first[i] : first[i + 1]]."""

    anchor: np.ndarray
    kind: np.ndarray
    first: np.ndarray
    answer: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, relations: int) -> "_Queries":
        ids = np.unique(ids, axis=0)
        forward, backward = ids, np.stack([ids[:, 2], ids[:, 1] + relations, ids[:, 0]], axis=1)
        rows = np.concatenate([forward, backward])
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
        first = np.flatnonzero(new)
        return cls(rows[first, 0], rows[first, 1], np.append(first, len(rows)), rows[:, 2].copy())

    def batches(self, rng: np.random.Generator, size: int) -> "Iterable[tuple[torch.Tensor, ...]]":
        """One epoch in random order: anchor (B,), kind (B,), and for each answer its row in the batch and its id."""
        order = rng.permutation(len(self.anchor))
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            counts = self.first[chosen + 1] - self.first[chosen]
            rows = np.repeat(np.arange(len(chosen)), counts)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            answers = self.answer[np.repeat(self.first[chosen], counts) + within]
            yield tuple(map(torch.from_numpy, (self.anchor[chosen], self.kind[chosen], rows, answers)))


def _arrays(
    facts: KnowledgeGraph | Iterable[Triple], graph: str | None, vocabulary: Vocabulary | None
) -> tuple[Vocabulary, np.ndarray]:
    if isinstance(facts, KnowledgeGraph) and vocabulary is None:
        vocabulary, ids = facts.arrays(graph=graph)
    elif graph is not None and not isinstance(facts, KnowledgeGraph):
        raise InputError(f"the named graph {graph!r} is asked for, but triples were given; give a KnowledgeGraph")
    else:
        triples = list(facts.triples(graph=graph) if isinstance(facts, KnowledgeGraph) else facts)
        vocabulary = vocabulary or Vocabulary.from_triples(triples)
        ids = vocabulary.triples_to_ids(triples)
    if not len(ids):
        raise InputError("there are no facts to learn from" + (f" in the graph {graph!r}" if graph else ""))
    return vocabulary, ids


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Element-wise product of complex rows in the layout (real parts, imaginary parts)."""
    (a, b), (c, d) = left.chunk(2, dim=1), right.chunk(2, dim=1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=1)


def _cubes(rows: torch.Tensor) -> torch.Tensor:
    """(n,) sum over the rank of |z|^3."""
    real, imaginary = rows.chunk(2, dim=1)
    # The small constant keeps the gradient of the root finite at zero.
    return (real.square() + imaginary.square() + 1e-20).pow(1.5).sum(1)
