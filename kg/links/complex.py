"""ComplEx with the weighted nuclear 3-norm, trained with the full softmax over all entities.

Sources: Trouillon et al. (2016) for the score; Lacroix et al. (2018) for reciprocal relations, the regulariser and the
loss; Jiang et al. (2020), appendix A, equations 1 and 2, for score and loss as WordCraft uses them; Chen et al. (2021)
for the auxiliary objective of relation prediction. The section below derives the gradient.
"""

import os
from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, checked_methods
from gumption.kg.checkpoint import pick_device
from gumption.kg.facts import Facts
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary

from .factor_model import FactorModel
from .training import QueryPart, Regularizer, Run, Training, TrainingFacts, against_all, n3_beside
from .training_settings import Precision, TrainingSettings, Weighting, WordMode

if TYPE_CHECKING:
    from gumption.kg.sources.words import WordVectors

# ---- How ComplEx learns: the full softmax over all entities with its gradient in closed form, and Adagrad.
#
# For a query q = (s, p, ?) with c true answers, the loss of Lacroix et al. (2018), summed over the answers, is
#
#     c * logsumexp_o z(q, o) - sum over answers o of z(q, o),      z(q, o) = Re <e_s * w_p, conj(e_o)>
#
# so each distinct query needs one row of logits Z, one softmax P and three matrix products, for any number of facts:
#
#     dZ = c * P - [o is an answer],   dE = dZ^T Q,   dQ = dZ E,   de_s = dQ * conj(w_p),   dw_p = dQ * conj(e_s).
#
# The regulariser adds its penalties of e_s, w_p and e_o for each fact; the auxiliary objective of Chen et al. (2021)
# adds weight * -log softmax_p z(s, p, o). Both are sums over facts too, so that weighting queries by their counts
# saves time and does not change the result. factor_model.py has the same objective with its gradient by autograd.
#
# With several processes (torchrun), each holds a slice of the entities. Embeddings of queries and answers, the sums of
# the softmax and dQ are summed over the processes: O(B * rank) numbers per step instead of O(N * rank) for gradients.

INIT_SCALE = 1e-3
BY_ENTRY = 4  # entries of dZ that are processed in the time of one entry of an answer's embedding
LOG2_E = 1 / log(2)


class ComplExTraining(Training):
    """Train ComplEx in one process or several.

    Tensors are real. Width 2 * rank holds interleaved (real, imaginary) pairs, which torch views as complex numbers
    without a copy. `tensors` converts them to the layout of ComplEx.

    :ivar parameters: "entity" (slice of N, 2 * rank) and "relation" (2R or R, 2 * rank). With word vectors, "entity"
        holds the free embeddings of the entities with facts, and "projection" (F, 2 * rank) maps word vectors to
        embeddings; word_mode="gate" adds "gate" (2 * rank,).
    """

    def __init__(
        self,
        ids: np.ndarray,
        entities: int,
        relations: int,
        settings: TrainingSettings,
        device: torch.device,
        regularizer: Regularizer | None = None,
        words: np.ndarray | None = None,
    ) -> None:
        """
        :param words: (N, F) float32, the word vectors of all entities.
        """
        self.vectors = words
        self.learned = np.empty(0, dtype=np.int64)
        if words is not None:
            # Entities without facts would only be negative examples: their embeddings come from words alone.
            self.learned = np.unique(ids[:, [0, 2]])
            ids = np.stack([np.searchsorted(self.learned, ids[:, 0]), ids[:, 1],
                            np.searchsorted(self.learned, ids[:, 2])], axis=1)  # fmt: skip
            entities = len(self.learned)
        self.words: torch.Tensor | None = None  # word vectors of the slice's entities
        super().__init__(ids, entities, relations, settings, device, regularizer)
        # Subtract answers from the entries of dZ if that is less work than gathering the embedding of each answer.
        rows = 2 * self.queries.facts * 2 * settings.rank
        self.by_entry = self.slice.alone and len(self.queries) * entities <= BY_ENTRY * rows
        self._logits: torch.Tensor | None = None

    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        settings, low, high, width = self.settings, self.slice.low, self.slice.high, 2 * self.settings.rank
        held = torch.empty(high - low, width)
        entities = self.slice.entities
        for start in range(0, entities, 1 << 16):  # draw the same numbers for any number of processes
            block = torch.randn(min(1 << 16, entities - start), width, generator=generator)
            first, last = max(low, start), min(high, start + len(block))
            if first < last:
                held[first - low : last - low] = block[first - start : last - start] * INIT_SCALE
        kinds = self.relations * (1 + settings.reciprocal)
        parameters = {"entity": held, "relation": torch.randn(kinds, width, generator=generator) * INIT_SCALE}
        if self.vectors is not None:
            self.words = torch.from_numpy(self.vectors[self.learned[low:high]]).to(self.device)
            drawn = torch.randn(self.vectors.shape[1], width, generator=generator)
            parameters["projection"] = drawn * INIT_SCALE
            if settings.word_mode == "gate":
                parameters["gate"] = torch.zeros(width)
        return {name: parameter.to(self.device) for name, parameter in parameters.items()}

    def _step(self) -> "_Gradient":
        return _Gradient(self)

    def tensors(self) -> dict[str, torch.Tensor]:
        entity = halves(self.slice.whole(compose(self.parameters, self.words)))
        tensors = {"entity": entity, "relation": halves(self.parameters["relation"])}
        if self.vectors is not None:
            projection = self.parameters["projection"]
            if "gate" in self.parameters:  # without a free embedding, only the projection's share remains
                projection = projection * (1 - self.parameters["gate"].sigmoid())
            tensors["projection"] = halves(projection)
            tensors["entity"] = torch.from_numpy(self.vectors).to(self.device) @ tensors["projection"]
            tensors["entity"][torch.from_numpy(self.learned).to(self.device)] = entity
        return tensors

    def logits(self, query: torch.Tensor, entity: torch.Tensor) -> torch.Tensor:
        """Compute (B, slice of N) scores; in low precision, in memory that the next call overwrites."""
        if query.dtype == torch.float32:
            return against_all(query, entity)
        if self._logits is None or self._logits.numel() < len(query) * len(entity):
            self._logits = torch.empty(len(query) * len(entity), dtype=query.dtype, device=self.device)
        out = self._logits[: len(query) * len(entity)].view(len(query), len(entity))
        return torch.mm(query, entity.T, out=out)


class _Gradient:
    """Sum the gradient of one batch over its parts."""

    def __init__(self, training: ComplExTraining) -> None:
        self.training = training
        self.kept: torch.Tensor | None = None  # mask of the free embeddings that are not dropped
        parameters, words, dropout = training.parameters, training.words, training.settings.word_dropout
        if words is not None and dropout:
            drawn = torch.from_numpy(training.shuffle.random(training.slice.entities, dtype=np.float32))
            kept = drawn[training.slice.low : training.slice.high] >= dropout
            self.kept = kept.to(training.device)[:, None]
        self.entity = compose(parameters, words, self.kept)
        self.low = self.entity.bfloat16() if training.settings.precision == "bfloat16" else self.entity
        self.d_entity = torch.empty(0, device=training.device)  # the first part's product replaces it
        self.d_relation = torch.zeros_like(parameters["relation"])
        self.asked = self.d_relation.new_zeros(len(self.d_relation))  # sum of the fact weights of each relation

    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        training, settings, regularizer = self.training, self.training.settings, self.training.regularizer
        held, weight, of_query = training.slice, part.weight * scale, part.total[:, None] * scale
        start, through = held.rows(self.entity, part.anchor), self._through(part.kind)
        query = _times(start, through)
        logits = training.logits((query * LOG2_E).to(self.low.dtype), self.low)  # in bits: exp2 is faster than exp
        entry, true = part.row * len(self.entity) + part.answer, torch.zeros(())
        if training.by_entry:
            true = part.weight @ logits.view(-1).index_select(0, entry).float() / LOG2_E
        # p is exp(z - m), in place. The narrow matrices are scaled instead of p to make it a weighted probability.
        # torch takes twice as long for the maximum of a bfloat16 row as for a float32 copy of it.
        wide = logits.float() if training.by_entry else logits
        largest = held.max(wide.amax(1, keepdim=True)).to(logits.dtype)
        p = logits.sub_(largest).exp2_()
        total = held.sum(p.sum(1, keepdim=True, dtype=torch.float32))
        share = of_query / total
        loss = part.total @ (total.log() + largest / LOG2_E)[:, 0]
        if training.by_entry:
            p.view(-1).index_add_(0, entry, -(weight / share[:, 0].index_select(0, part.row)).to(p.dtype))
        product = against_all(p.T, (query * share).to(p.dtype).T)
        self.d_entity = self.d_entity.add_(product) if len(self.d_entity) else product.float()
        d_query = held.sum(against_all(p, self.low.T).float() * share)
        if training.by_entry:
            if regularizer:  # weight each entity's penalty by its occurrences as answer and as anchor
                times = weight.new_zeros(len(self.entity))
                times.index_add_(0, torch.cat([part.answer, part.anchor]), torch.cat([weight, of_query[:, 0]]))
                by, slope = _penalised(regularizer, self.entity)
                self.d_entity.addcmul_(times[:, None], slope, value=by)
        else:
            answers, asked = held.rows(self.entity, part.answer), query.index_select(0, part.row)
            true = part.weight @ (asked * answers).sum(1)
            by_answer = -weight[:, None]
            d_query.index_add_(0, part.row, answers * by_answer)
            d_answers = asked * by_answer
            if regularizer:
                by, slope = _penalised(regularizer, answers)
                d_answers -= by * by_answer * slope
            held.add(self.d_entity, part.answer, d_answers)
        d_start, d_through = _times(d_query, _conj(through)), _times(d_query, _conj(start))
        if regularizer:
            self.asked.index_add_(0, part.kind % len(self.asked), of_query[:, 0])
            if not training.by_entry:
                by, slope = _penalised(regularizer, start)
                d_start += by * of_query * slope
        held.add(self.d_entity, part.anchor, d_start)
        self._add_through(part.kind, d_through)
        if settings.relation_weight:
            self._add_relation_prediction(start, part, settings.relation_weight * weight[:, None])
        return loss - true

    def _through(self, kind: torch.Tensor) -> torch.Tensor:
        """Return (B, 2 * rank) relation embeddings; without reciprocal relations, R + p is the conjugate of p."""
        relation = self.training.parameters["relation"]
        if self.training.settings.reciprocal:
            return relation.index_select(0, kind)
        backward = kind >= len(relation)
        through = relation.index_select(0, kind - backward * len(relation))
        return torch.where(backward[:, None], _conj(through), through)

    def _add_through(self, kind: torch.Tensor, gradient: torch.Tensor) -> None:
        if not self.training.settings.reciprocal:
            backward = kind >= len(self.d_relation)
            kind = kind - backward * len(self.d_relation)
            gradient = torch.where(backward[:, None], _conj(gradient), gradient)
        self.d_relation.index_add_(0, kind, gradient)

    def _add_relation_prediction(self, start: torch.Tensor, part: QueryPart, weight: torch.Tensor) -> None:
        """Add the gradient of -weight * log softmax_p z(s, p, o), where z is the product of w_p with conj(e_s) * e_o.
        The softmax is over all kinds of query; without reciprocal relations over R relations, each fact once."""
        held = self.training.slice
        relation, kind = self.training.parameters["relation"], part.kind.index_select(0, part.row)
        anchor = part.anchor.index_select(0, part.row)
        subject, object_ = start.index_select(0, part.row), held.rows(self.entity, part.answer)
        pair = _times(_conj(subject), object_)
        p = (pair @ relation.T).softmax(1) * weight
        forward = kind < len(relation)
        p.scatter_add_(1, (kind * forward)[:, None], -weight)
        p *= forward[:, None]
        self.d_relation += p.T @ pair
        d_pair = p @ relation
        held.add(self.d_entity, anchor, _times(_conj(d_pair), object_))
        held.add(self.d_entity, part.answer, _times(d_pair, subject))

    def apply(self) -> None:
        training = self.training
        parameters, d_entity = training.parameters, self.d_entity
        if training.regularizer:
            by, slope = _penalised(training.regularizer, parameters["relation"])
            self.d_relation.addcmul_(self.asked[:, None], slope, value=by)
        parameters["relation"].grad = self.d_relation
        if training.words is not None:
            for name, gradient in self._word_gradients(d_entity, training.words):
                parameters[name].grad = training.slice.sum(gradient)
            if "gate" in parameters:
                d_entity = d_entity * parameters["gate"].sigmoid()
            if self.kept is not None:
                d_entity = d_entity * self.kept
        parameters["entity"].grad = d_entity
        training.optimiser.step()

    def _word_gradients(self, d_entity: torch.Tensor, words: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        parameters = self.training.parameters
        if "gate" not in parameters:
            yield "projection", words.T @ d_entity
            return
        gate = parameters["gate"].sigmoid()
        free = parameters["entity"] if self.kept is None else parameters["entity"] * self.kept
        projected = words @ parameters["projection"]
        yield "projection", words.T @ (d_entity * (1 - gate))
        yield "gate", (d_entity * (free - projected)).sum(0) * gate * (1 - gate)


def compose(
    parameters: dict[str, torch.Tensor], words: torch.Tensor | None, kept: torch.Tensor | None = None
) -> torch.Tensor:
    """Return (n, 2 * rank) entity embeddings: free embeddings plus the projection of word vectors, or both mixed by a
    gate for each dimension (Kristiadi et al., 2019, LiteralE, with a gate that does not depend on the entity).

    :param words: (n, F) float32 word vectors; None for free embeddings alone.
    :param kept: (n, 1) bool, False where the free embedding counts as zero.
    """
    free = parameters["entity"]
    if words is None:
        return free
    if kept is not None:
        free = free * kept
    projected = words @ parameters["projection"]
    if "gate" not in parameters:
        return free + projected
    return torch.lerp(projected, free, parameters["gate"].sigmoid())


def halves(pairs: torch.Tensor) -> torch.Tensor:
    """Rearrange (..., 2 * rank) from interleaved (real, imaginary) pairs to real parts, then imaginary parts."""
    return torch.cat([pairs[..., 0::2], pairs[..., 1::2]], dim=-1)


def _times(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply interleaved complex rows element by element."""
    return (left.view(torch.complex64) * right.view(torch.complex64)).view(torch.float32)


def _conj(rows: torch.Tensor) -> torch.Tensor:
    return rows.view(torch.complex64).conj_physical().view(torch.float32)


def _penalised(regularizer: Regularizer, rows: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Return the gradient of the penalties of interleaved complex rows; see Regularizer.gradient."""
    by, gradient = regularizer.gradient(rows.view(torch.complex64))
    return by, gradient.view(torch.float32)


# ---- The model

STATE = "gumption/complex-training/1"


@checked_methods
class ComplEx(FactorModel):
    """phi(s, p, o) = Re <e_s, e_p, conj(e_o)> with complex embeddings of a chosen rank (equation 1).

    Embeddings are real arrays of width 2 * rank: real parts, then imaginary parts. Reciprocal relations (rows R to
    2R - 1 of `relation`) predict subjects. With `reciprocal=False` the same phi predicts both sides: the two softmaxes
    of equation 2.

    :ivar entity: (N, 2 * rank) float32.
    :ivar relation: (2R, 2 * rank) float32 with reciprocal relations, else (R, 2 * rank).
    :ivar projection: (F, 2 * rank) float32, maps the word vector of an entity without facts to its embedding; None for
        a model fitted without words.
    :ivar origin: record of the training, as plain JSON: settings, loss by epoch, MRR of the validation facts, sha256
        of the facts, versions.
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
    def fit(  # type: ignore[override]  # some parameters are positional here only
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
        literals: bool = False,
    ) -> Self:
        """Train with Adagrad on the distinct queries (s, p, ?) and (?, p, o).

        Each query's logsumexp and its share of the regulariser are computed once and weighted by the number of its
        facts: the objective of training on single facts, for less work. Under torchrun each process holds a slice of
        the entities, and all processes return the model. On a CPU, small graphs are trained with one thread, unless
        OMP_NUM_THREADS is set; the size of graph, batch and rank decides, not the machine.

        :param batch_size: distinct queries in a step.
        :param n3: weight of the nuclear 3-norm, |e_s|^3 + |e_p|^3 + |e_o|^3 for each fact and direction; 0.01 unless
            `regularizer` replaces it.
        :param valid: facts whose MRR is measured every `valid_every` epochs; the best parameters are kept.
        :param graph: the named graph of a KnowledgeGraph to train on; None for all graphs.
        :param vocabulary: the labels to learn, if more than the labels of the facts.
        :param relation_weight: weight of the auxiliary objective, predicting the relation (Chen et al., 2021).
        :param weighting: equal weights for each "fact" (Lacroix et al., 2018), or for each "query" with all its answers
            (KvsAll training with labels that sum to 1; Dettmers et al., 2018, Ruffinelli et al., 2020), which helps
            if some queries have very many answers.
        :param precision: of the products with all entities: "float32", "tf32" (on a GPU that has it) or "bfloat16".
        :param patience: stop after so many measurements on `valid` without a better MRR; None never stops.
        :param known: other true facts; like the training facts, they are filtered out when `valid` is ranked. They may
            have labels that the model does not learn.
        :param words: word vectors. An entity's embedding then combines a free embedding with a projection of its word
            vector; an entity without facts (of a wider `vocabulary`, or added by `extended`) has the projection alone.
            Labels without a vector are an error.
        :param word_mode: "add" the projection, or mix it in by a learned "gate" for each dimension.
        :param word_dropout: share of the entities whose free embedding is dropped in a step, so that the projection
            learns to predict without it.
        :param checkpoint: folder for the state of the training, written every `checkpoint_seconds` and at the end.
            If it holds a state, training resumes from it, with the same bits on a CPU, up to `epochs` in total.
        :param progress: show progress on stderr, on a terminal by a bar.
        :param regularizer: replaces N3, for example `F2(1e-3)`.
        :param literals: whether to learn facts of a KnowledgeGraph with literals too. Otherwise they are left out, as
            facts with triple terms always are, and a Note counts them. Facts passed as triples are all learned.
        :raises InputError: no facts, a setting out of range, a checkpoint of other facts or settings.
        """
        settings = TrainingSettings(
            rank, epochs, batch_size, learning_rate, n3_beside(n3, regularizer), reciprocal, relation_weight, weighting,
            precision, valid_every, patience, word_mode, word_dropout, seed,
        )  # fmt: skip
        facts = TrainingFacts.read(graph_or_triples, graph, vocabulary, valid, known, literals)
        entities, relations = facts.vocabulary.entities, facts.vocabulary.relations
        vectors = None if words is None else words.vectors(entities)
        training = ComplExTraining(
            facts.ids, len(entities), len(relations), settings, pick_device(device), regularizer, vectors
        )
        return Run(cls, facts, training, STATE, vectors).train(checkpoint, checkpoint_seconds, progress)

    def _through(self, kind: torch.Tensor) -> torch.Tensor:
        """Return (B, 2 * rank) relation embeddings: kind p queries objects, kind R + p subjects."""
        if self.reciprocal:
            return self.relation[kind]
        real, imaginary = self.relation.chunk(2, dim=1)
        return torch.cat([self.relation, torch.cat([real, -imaginary], dim=1)])[kind]

    @staticmethod
    def tensors(entities: Count, relations: Count, rank: Count, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Draw the initial tensors of `fit` without words.

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
        """Return the model with more entities, whose embeddings come from their word vectors alone.

        :raises InputError: a model fitted without words or with vectors of another width; a label that the model
            already has or that has no vector.
        """
        if self.projection is None:
            raise InputError("this model was fitted without word vectors and cannot score unknown entities: fit one")
        vectors = torch.from_numpy(words.vectors(labels)).to(self.device)
        if vectors.shape[1] != len(self.projection):
            raise InputError(f"the words have {vectors.shape[1]} dimensions, those of the model {len(self.projection)}")
        vocabulary = Vocabulary((*self.vocabulary.entities, *labels), self.vocabulary.relations)
        entity = torch.cat([self.entity, vectors @ self.projection])
        extended = ComplEx(vocabulary, entity, self.relation, self.projection, self.origin)
        extended.trained_on, extended.chosen_by = self.trained_on, self.chosen_by
        return extended


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply complex rows in the layout (real parts, imaginary parts) element by element."""
    (a, b), (c, d) = left.chunk(2, dim=1), right.chunk(2, dim=1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=1)
