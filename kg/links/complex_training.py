"""How ComplEx learns: the full softmax over all entities with its gradient in closed form, and Adagrad.

For a query q = (s, p, ?) with c true answers among the facts, the loss of Lacroix et al. (2018), summed over them, is

    c * logsumexp_o z(q, o) - sum over answers o of z(q, o),      z(q, o) = Re <e_s * w_p, conj(e_o)>

so each distinct query needs one row of logits Z, one softmax P and three matrix products, however many facts share it:

    dZ = c * P - [o is an answer],   dE = dZ^T Q,   dQ = dZ E,   de_s = dQ * conj(w_p),   dw_p = dQ * conj(e_s).

The regulariser adds its penalties of e_s, w_p and e_o for each fact; the auxiliary objective of Chen et al. (2021) adds
weight * -log softmax_p z(s, p, o). Both are sums over facts too, so that weighting queries by their counts changes
nothing but the time. The objective as it is written, with its gradient by autograd, is in factor_model.py.

Several processes (torchrun) hold a slice of the entities each. Embeddings of queries and answers, the softmax's sums
and dQ are added up over the processes: O(B * rank) numbers a step, where gradients of all entities were O(N * rank).
"""

from collections.abc import Iterator
from math import log

import numpy as np
import torch

from .products import against_all
from .queries import QueryPart
from .regularizers import Regularizer
from .training import Training
from .training_settings import TrainingSettings

INIT_SCALE = 1e-3
BY_ENTRY = 4  # entries of dZ that are handled in the time of one of an answer's embedding
LOG2_E = 1 / log(2)


class ComplExTraining(Training):
    """The training of ComplEx, by one process or several.

    Tensors are real; width 2 * rank holds (real, imaginary) pairs side by side, which torch reads as complex numbers
    without a copy. `tensors` gives the layout of ComplEx.

    :ivar parameters: "entity" (slice of N, 2 * rank) and "relation" (2R or R, 2 * rank); with word vectors "entity" is
        the free part of the entities with facts and "projection" (F, 2 * rank) reads the words; with word_mode="gate"
        also "gate" (2 * rank,).
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
            # An entity without facts would only be told what it is not: it is left to its words.
            self.learned = np.unique(ids[:, [0, 2]])
            ids = np.stack([np.searchsorted(self.learned, ids[:, 0]), ids[:, 1],
                            np.searchsorted(self.learned, ids[:, 2])], axis=1)  # fmt: skip
            entities = len(self.learned)
        self.words: torch.Tensor | None = None  # of the entities held here
        super().__init__(ids, entities, relations, settings, device, regularizer)
        # Answers are taken off the entries of dZ where a pass over it is less work than rows of embeddings for each.
        rows = 2 * self.queries.facts * 2 * settings.rank
        self.by_entry = self.slice.alone and len(self.queries) * entities <= BY_ENTRY * rows
        self._logits: torch.Tensor | None = None

    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        settings, low, high, width = self.settings, self.slice.low, self.slice.high, 2 * self.settings.rank
        held = torch.empty(high - low, width)
        entities = self.slice.entities
        for start in range(0, entities, 1 << 16):  # the same numbers however the entities are shared out
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
            if "gate" in self.parameters:  # what is left of it where there is no free embedding
                projection = projection * (1 - self.parameters["gate"].sigmoid())
            tensors["projection"] = halves(projection)
            tensors["entity"] = torch.from_numpy(self.vectors).to(self.device) @ tensors["projection"]
            tensors["entity"][torch.from_numpy(self.learned).to(self.device)] = entity
        return tensors

    def logits(self, query: torch.Tensor, entity: torch.Tensor) -> torch.Tensor:
        """(B, slice of N) scores; in low precision in memory that the next call takes again."""
        if query.dtype == torch.float32:
            return against_all(query, entity)
        if self._logits is None or self._logits.numel() < len(query) * len(entity):
            self._logits = torch.empty(len(query) * len(entity), dtype=query.dtype, device=self.device)
        out = self._logits[: len(query) * len(entity)].view(len(query), len(entity))
        return torch.mm(query, entity.T, out=out)


class _Gradient:
    """The gradient of one batch, gathered part by part."""

    def __init__(self, training: ComplExTraining) -> None:
        self.training = training
        self.kept: torch.Tensor | None = None  # which free embeddings are not dropped
        parameters, words, dropout = training.parameters, training.words, training.settings.word_dropout
        if words is not None and dropout:
            drawn = torch.from_numpy(training.shuffle.random(training.slice.entities, dtype=np.float32))
            kept = drawn[training.slice.low : training.slice.high] >= dropout
            self.kept = kept.to(training.device)[:, None]
        self.entity = compose(parameters, words, self.kept)
        self.low = self.entity.bfloat16() if training.settings.precision == "bfloat16" else self.entity
        self.d_entity = torch.empty(0, device=training.device)  # the first product is its first value
        self.d_relation = torch.zeros_like(parameters["relation"])
        self.asked = self.d_relation.new_zeros(len(self.d_relation))  # the weight of the facts of each relation

    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        training, settings, regularizer = self.training, self.training.settings, self.training.regularizer
        held, weight, of_query = training.slice, part.weight * scale, part.total[:, None] * scale
        start, through = held.rows(self.entity, part.anchor), self._through(part.kind)
        query = _times(start, through)
        logits = training.logits((query * LOG2_E).to(self.low.dtype), self.low)  # in bits: exp2 is faster than exp
        entry, true = part.row * len(self.entity) + part.answer, torch.zeros(())
        if training.by_entry:
            true = part.weight @ logits.view(-1).index_select(0, entry).float() / LOG2_E
        # exp(z - m), in place; what makes it a weighted probability is left to the narrow matrices.
        # torch finds the largest bfloat16 of a row in twice the time that it takes by way of float32.
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
            if regularizer:  # each entity's penalty by the weight of where it is an answer or asked about
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
        """(B, 2 * rank) embeddings of kinds of query; without reciprocal relations R + p is the conjugate of p."""
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
        """-weight * log softmax_p z(s, p, o) for each fact, where z is the product of w_p with conj(e_s) * e_o; over
        all kinds of query, or, without reciprocal relations, over the R relations and for each fact once."""
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
    """(n, 2 * rank) the embeddings that score: the free ones, with the projection of word vectors added, or mixed with
    it by a gate for each dimension (Kristiadi et al., 2019, LiteralE, with a gate that does not depend on the entity).

    :param words: (n, F) float32, or None where there are none.
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
    """(..., 2 * rank) with (real, imaginary) side by side -> the real parts, then the imaginary ones."""
    return torch.cat([pairs[..., 0::2], pairs[..., 1::2]], dim=-1)


def _times(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Product of complex rows, as real ones."""
    return (left.view(torch.complex64) * right.view(torch.complex64)).view(torch.float32)


def _conj(rows: torch.Tensor) -> torch.Tensor:
    return rows.view(torch.complex64).conj_physical().view(torch.float32)


def _penalised(regularizer: Regularizer, rows: torch.Tensor) -> tuple[float, torch.Tensor]:
    """The gradient of the penalties of complex rows, as real ones; see Regularizer.gradient."""
    by, gradient = regularizer.gradient(rows.view(torch.complex64))
    return by, gradient.view(torch.float32)
