"""ComplEx with the weighted nuclear 3-norm, trained with the full softmax over all entities.

Trouillon et al. (2016) for the score, Lacroix et al. (2018) for reciprocal relations, the regulariser and the loss;
Jiang et al. (2020), appendix A, equations 1 and 2, for both as WordCraft uses them; Chen et al. (2021) for relation
prediction beside it. complex_training.py has the gradient.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, checked_methods
from gumption.kg.checkpoint import pick_device
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary

from .complex_training import INIT_SCALE, ComplExTraining, halves
from .fact_ids import Facts
from .factor_model import FactorModel
from .fitting import Run, TrainingFacts
from .regularizers import Regularizer, n3_beside
from .training_settings import Precision, TrainingSettings, Weighting, WordMode

if TYPE_CHECKING:
    from gumption.kg.sources.words import WordVectors

STATE = "gumption/complex-training/1"


@checked_methods
class ComplEx(FactorModel):
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

    KIND = "gumption/complex/1"
    entity: torch.Tensor
    relation: torch.Tensor
    projection: torch.Tensor | None = None

    def __init__(
        self,
        vocabulary: Vocabulary,
        entity: torch.Tensor,
        relation: torch.Tensor,
        projection: torch.Tensor | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        projections = {} if projection is None else {"projection": projection}
        super().__init__(vocabulary, origin=origin, entity=entity, relation=relation, **projections)

    @property
    def reciprocal(self) -> bool:
        return len(self.relation) == 2 * len(self.vocabulary.relations)

    @property
    def rank(self) -> int:
        return self.entity.shape[1] // 2

    @classmethod
    def fit(  # type: ignore[override]  # it takes by place, too, what others take by name
        cls,
        graph_or_triples: KnowledgeGraph | Facts,
        rank: int = 128,
        epochs: int = 50,
        batch_size: int = 512,
        learning_rate: float = 0.1,
        n3: float | None = None,
        reciprocal: bool = True,
        valid: Sequence[Triple] | None = None,
        seed: int = 0,
        device: str = "auto",
        *,
        graph: str | None = None,
        vocabulary: Vocabulary | None = None,
        relation_weight: float = 0.0,
        weighting: Weighting = "fact",
        precision: Precision = "float32",
        valid_every: int = 10,
        patience: int | None = None,
        known: Facts = (),
        words: "WordVectors | None" = None,
        word_mode: WordMode = "add",
        word_dropout: float = 0.3,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: NonNegative = 60.0,
        progress: bool = False,
        regularizer: Regularizer | None = None,
    ) -> Self:
        """Train with Adagrad on the distinct queries (s, p, ?) and (?, p, o).

        Each query's logsumexp is computed once and weighted by how many facts share it, and so is its share of the
        regulariser: the objective is that of training on the facts one by one, for less work. Under torchrun each
        process holds its slice of the entities; all of them return the model.

        :param batch_size: distinct queries in a step.
        :param n3: weight of the nuclear 3-norm, |e_s|^3 + |e_p|^3 + |e_o|^3 for each fact and direction; 0.01 unless a
            `regularizer` is given.
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
        :param progress: tell on stderr how far it is, on a terminal by a bar.
        :param regularizer: what penalises embeddings in place of N3, such as `F2(1e-3)`.
        :raises InputError: no facts, a setting out of range, a checkpoint of other facts or settings.
        """
        settings = TrainingSettings(
            rank, epochs, batch_size, learning_rate, n3_beside(n3, regularizer), reciprocal, relation_weight, weighting,
            precision, valid_every, patience, word_mode, word_dropout, seed,
        )  # fmt: skip
        facts = TrainingFacts.read(graph_or_triples, graph, vocabulary, valid, known)
        entities, relations = facts.vocabulary.entities, facts.vocabulary.relations
        vectors = None if words is None else words.vectors(entities)
        training = ComplExTraining(
            facts.ids, len(entities), len(relations), settings, pick_device(device), regularizer, vectors
        )
        return Run(cls, facts, training, STATE, vectors).train(checkpoint, checkpoint_seconds, progress)

    def _through(self, kind: torch.Tensor) -> torch.Tensor:
        """(B, 2 * rank) embeddings of kinds of query: relation p asks for objects, R + p for subjects."""
        if self.reciprocal:
            return self.relation[kind]
        real, imaginary = self.relation.chunk(2, dim=1)
        return torch.cat([self.relation, torch.cat([real, -imaginary], dim=1)])[kind]

    @staticmethod
    def tensors(entities: Count, relations: Count, rank: Count, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """As `fit` begins without words.

        :param relations: 2R, or R without reciprocal relations.
        """
        sizes = {"entity": entities, "relation": relations}
        return {
            name: halves(torch.randn(size, 2 * rank, generator=generator) * INIT_SCALE) for name, size in sizes.items()
        }

    def queries(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return _product(self.entity[heads], self._through(relations))

    def factors(
        self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.entity[heads], self._through(relations), self.entity[tails]
        subject, relation, object_ = (torch.complex(*each.chunk(2, dim=1)) for each in rows)
        return subject, relation, object_

    def relation_scores(self, heads: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
        return super().relation_scores(heads, tails)[:, : len(self.relation)]

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
        extended = ComplEx(vocabulary, entity, self.relation, self.projection, self.origin)
        extended.trained_on = self.trained_on
        return extended


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Element-wise product of complex rows in the layout (real parts, imaginary parts)."""
    (a, b), (c, d) = left.chunk(2, dim=1), right.chunk(2, dim=1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=1)
