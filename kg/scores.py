"""Relation scores: link predictors and known facts frozen, from which a policy gathers the scores of its choices."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import nn

from gumption.data import InputError
from gumption.data.settings import checked_methods

from .links.nary_predictor import NaryPredictor
from .links.predictor import LinkPredictor
from .nary import NaryRelation, relation_name
from .quick_scores import FEW, Gather, LookUp, quick_form
from .scorers import FLOOR, BinaryTable, KnownFacts, PairProducts, PairTable
from .vocabulary import unknown_label

# What a table of pairs and products may take; 16 bits for each make this about 800 entities. Beyond it their scores are
# worked out when they are asked for. A table of two parties may take four times as much, about 23,000 entities.
TABLE_BYTES = 1 << 29


class FactIds(Protocol):
    """The facts that speak for each of A choices in B environments, by ids of a world's vocabulary; 0 is nothing."""

    @property
    def relations(self) -> tuple[str, ...]: ...
    @property
    def subject(self) -> np.ndarray: ...
    @property
    def object(self) -> np.ndarray: ...
    @property
    def given(self) -> np.ndarray: ...
    @property
    def partners(self) -> np.ndarray | None: ...


@checked_methods
class RelationScores(nn.Module):
    """One scorer for each of K relations, asked for the facts that speak for a choice.

    In training mode (`train()`) a scorer that holds facts out (`HeldOut`) scores each by predictors that have not seen
    it: a policy that learns on training facts then meets scores as good as those on unseen ones.

    :ivar entities: N labels; env id i + 1 is entities[i].
    :ivar relations: K names.
    """

    def __init__(self, entities: Sequence[str], scorers: Mapping[str, nn.Module]) -> None:
        """:param scorers: for each relation a module of scorers.py."""
        super().__init__()
        self.entities, self.relations = tuple(entities), tuple(scorers)
        self.scorers = nn.ModuleList(scorers.values())
        self._quick: tuple[LookUp | None, ...] | None = None  # made when first needed
        self.eval()

    def train(self, mode: bool = True) -> Self:
        self._quick = None
        return super().train(mode)

    def _apply(self, *arguments: Any, **more: Any) -> Self:
        self._quick = None  # the tables move
        return super()._apply(*arguments, **more)

    def twin(self) -> "RelationScores":
        """The same scorers with a mode of their own: training one leaves the other as it is."""
        other = copy(self)
        other._modules = {"scorers": nn.ModuleList(copy(scorer) for scorer in self.scorers)}
        return other.eval()

    def action_scores(self, facts: FactIds) -> torch.Tensor:
        """(B, A, K) float32 on the device of the scorers, 0 where a fact has no subject or no object. The facts may
        be about more relations than are scored.

        :raises InputError: a relation that is scored, and of which there are no facts.
        """
        for relation in self.relations:
            if relation not in facts.relations:
                raise InputError(
                    f"the scores are of {', '.join(self.relations)}, and the choices are about "
                    f"{', '.join(facts.relations)}: nothing speaks for a choice by {relation!r}"
                )
        columns = [facts.relations.index(relation) for relation in self.relations]
        if not columns:
            return torch.empty(*facts.subject.shape[:2], 0, device=self.device)
        if self._quick is None:
            self._quick = tuple(quick_form(scorer) for scorer in self.scorers)
        few = facts.subject.size <= FEW
        if all(isinstance(form, Gather) or (few and form is not None) for form in self._quick):
            return torch.from_numpy(_looked_up(self._quick, columns, facts))
        return self._gathered(columns, facts)

    @torch.no_grad()
    def _gathered(self, columns: Sequence[int], facts: FactIds) -> torch.Tensor:
        device = self.device
        partners = None if facts.partners is None else torch.from_numpy(facts.partners).to(device)
        scores = []
        for k, scorer in zip(columns, self.scorers, strict=True):
            parts = (torch.from_numpy(part[:, :, k]).to(device) for part in (facts.subject, facts.object, facts.given))
            scores.append(scorer(*parts, partners))
        return torch.stack(scores, dim=2)

    @property
    def device(self) -> torch.device:
        """Where the scores are."""
        return next(iter(self.buffers()), torch.empty(0)).device


@torch.no_grad()
def binary_scorer(
    predictor: LinkPredictor,
    relation: str,
    entities: Sequence[str],
    *,
    calibrated: bool = True,
    device: torch.device | str = "cpu",
) -> BinaryTable:
    """The table of a relation of two parties.

    Calibrated, L(s, r, o) is a log-probability: the mean of log softmax over objects and log softmax over subjects, so
    that a score means the same in every row. Raw scores of ComplEx are comparable within one query only, and an
    entity's score with itself is the largest of them.

    :raises InputError: a relation or entities that the predictor does not know, with near matches; scores that are not
        finite; a table larger than memory should hold.
    """
    ids = _ids(predictor, entities)
    relations = torch.full_like(ids, predictor.vocabulary.relation_id(relation))
    if (needed := 4 * len(ids) ** 2) > 4 * TABLE_BYTES:
        raise InputError(
            f"a table of {relation} over {len(ids)} entities takes {needed >> 20} MiB, more than "
            f"{4 * TABLE_BYTES >> 20}: leave this relation out"
        )
    rows = predictor.questions_at_once()
    if not calibrated:
        parts = [
            predictor.object_scores(s, r)[:, ids] for s, r in zip(ids.split(rows), relations.split(rows), strict=True)
        ]
        return BinaryTable(_finite(torch.cat(parts), relation, device))
    both = torch.zeros(len(ids), len(ids), device=predictor.device)
    for place in torch.arange(len(ids), device=ids.device).split(rows):
        some = ids[place], relations[: len(place)]
        both[place] += predictor.object_scores(*some).log_softmax(1)[:, ids]
        both[:, place] += predictor.subject_scores(some[1], some[0]).log_softmax(1)[:, ids].T
    return BinaryTable(_finite((both / 2).clamp_min(FLOOR), relation, device))


@torch.no_grad()
def pair_scorer(
    predictor: NaryPredictor,
    entities: Sequence[str],
    *,
    wanted: torch.Tensor | None = None,
    device: torch.device | str = "cpu",
) -> PairTable | PairProducts:
    """log p(object | pair) of a relation of three parties: a table while it fits into TABLE_BYTES, else worked out.

    :param wanted: (N, N) bool, the pairs that the table must have; the others stay 0.
    """
    ids = _ids(predictor, entities)
    size = len(ids)
    if size * (size + 1) * size > TABLE_BYTES:
        return PairProducts(predictor.to(device), ids.to(device))
    table = torch.zeros(size, size * (size + 1) // 2, dtype=torch.float16, device=predictor.device)
    start = 0
    for first in range(size):
        chosen = torch.arange(size - first) if wanted is None else wanted[first, first:].nonzero()[:, 0]
        partners = ids[first + chosen.to(ids.device)]
        log_p = predictor.log_probabilities(ids[first].expand(len(partners)), partners)[:, ids]
        table[:, start + chosen.to(ids.device)] = log_p.clamp_min(FLOOR).half().T
        start += size - first
    return PairTable(_finite(table, "the objects of pairs", device))


def known_scores(
    rows: Mapping[str | NaryRelation, np.ndarray], entities: Sequence[str], device: torch.device | str = "cpu"
) -> RelationScores:
    """Plain look-up: 1 for each fact that is known, 0 for any other.

    :param rows: of each relation its facts, (n, 3) int64 env ids (subject, given, object); given is 0 where the
        relation has two parties.
    """
    scorers: dict[str, nn.Module] = {}
    for relation, facts in rows.items():
        nary = isinstance(relation, NaryRelation)
        either = nary and relation.subject == relation.given
        parties = 3 if nary else 2
        scorer = KnownFacts(torch.from_numpy(facts), len(entities), parties=parties, either=either)
        scorers[relation_name(relation)] = scorer.to(device)
    return RelationScores(entities, scorers)


def _looked_up(quick: Sequence[LookUp | None], columns: Sequence[int], facts: FactIds) -> np.ndarray:
    scores = np.empty((*facts.subject.shape[:2], len(columns)), dtype=np.float32)
    for place, (k, look_up) in enumerate(zip(columns, quick, strict=True)):
        assert look_up is not None
        parts = facts.subject[:, :, k], facts.object[:, :, k], facts.given[:, :, k]
        scores[:, :, place] = look_up(*parts, facts.partners)
    return scores


def _ids(predictor: LinkPredictor, entities: Sequence[str]) -> torch.Tensor:
    known = predictor.vocabulary.entities
    missing = sorted(set(entities).difference(known))
    if missing:
        raise InputError(
            f"the predictor does not know {len(missing)} of the world's {len(entities)} entities: "
            f"{unknown_label('entity', missing[0], known)}; fit it with all of them (`gumption kg fit --entities`)"
        )
    return torch.from_numpy(predictor.vocabulary.entity_ids(entities)).to(predictor.device)


def _finite(table: torch.Tensor, what: str, device: torch.device | str) -> torch.Tensor:
    if not table.isfinite().all():
        raise InputError(f"the predictor gives scores for {what} that are NaN or infinite; train it again")
    return table.to(device)
