"""Further sources, in a product of experts, of the predictors of relations of three parties.

    --kg train --kg-beside GRAPH  ->  words, outside, links, rules  ->  Experts  ->  PairTable  ->  scores, planner

A source is computed from the known facts and a graph of any relations of the world's things (`gumption.kg.sources`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse

from gumption.kg import KnowledgeGraph, NaryPredictor, Vocabulary, mine_rules
from gumption.kg.facts import FactTable, distinct
from gumption.kg.links.experts import VERSION, Experts, Sources, mixed_folds
from gumption.kg.links.nary_predictor import PairPredictor
from gumption.kg.rules.horn import Rule
from gumption.kg.rules.mining import MinedRule
from gumption.kg.rules.prediction import rule_scores
from gumption.kg.sources.outside import beside_rows, entity_features, entity_links

from .fits import Fits, keep
from .settings import LINKS, OUTSIDE, RULES, WORDS

FOLDS = 5  # of the facts; each fold is held out once while weights are learned
MEMBERS = 1  # networks of the predictor of each fold
PARTY = "party"  # relation between a party of a fact and the fact's object; rules for it are mined
#: Thresholds of rule mining; below them a rule's weight cannot separate facts from chance.
MINING = {"min_support": 5, "min_confidence": 0.02, "min_head_coverage": 0.001}


@dataclass(frozen=True, eq=False)
class Outside:
    """
    :ivar sources: names; see `KnowledgeConfig.kg_sources`.
    :ivar facts: of any relations; empty without a graph.
    :ivar about: description of the graph for a run's manifest.
    """

    sources: tuple[str, ...]
    facts: FactTable = field(default_factory=lambda: FactTable.of(KnowledgeGraph()))
    about: dict[str, Any] = field(default_factory=dict)

    def fits(self, *given: Any) -> Fits:
        """Return the predictors with these sources. :param given: arguments of `Fits`."""
        return FedFits(self, *given)

    def parts(self, rows: np.ndarray, vocabulary: Vocabulary) -> dict[str, list[sparse.csr_array]]:
        """Return, by source, the scores of a single party, computed from these facts only.

        :param rows: (n, 3) int64 facts (subject, given, object), ids of the vocabulary.
        """
        entities, found = vocabulary.entities, dict[str, list[sparse.csr_array]]()
        if LINKS in self.sources:
            found[LINKS] = list(entity_links(self.facts, entities).values())
        if RULES in self.sources:
            of_party = Vocabulary(entities, (PARTY,))
            kind = np.zeros(len(rows), dtype=np.int64)
            stated = np.concatenate([np.stack([rows[:, party], kind, rows[:, 2]], axis=1) for party in (0, 1)])
            both = beside_rows(self.facts, None, of_party, distinct(of_party, stated))
            mined = [each for each in mine_rules(both, **MINING) if each.rule.head.relation == PARTY]
            found[RULES] = [rule_scores(kind, both, PARTY, len(entities)) for kind in _kinds(mined)]
        return found


class FedFits(Fits):
    """Fits whose predictors of three parties use more sources than the word vectors of their entities."""

    def __init__(self, outside: Outside, *given: Any) -> None:
        """:param given: arguments of `Fits`."""
        super().__init__(*given)
        self.outside = outside

    @cached_property
    def words(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """(N, F) features of the entities of the facts, word vectors and features from the graph, and the entities
        without either."""
        entities, sources = self.stated.vocabulary.entities, self.outside.sources
        if OUTSIDE not in sources:
            return super().words
        features = entity_features(self.outside.facts, entities)
        unknown = [label for label, none in zip(entities, features[:, -1], strict=True) if none]
        if WORDS not in sources:
            return features, tuple(unknown)
        vectors, drawn = super().words
        return np.concatenate([vectors, features], axis=1), tuple(label for label in drawn if label in unknown)

    def nary(self, relation: str) -> PairPredictor:
        """Return the experts of a relation of three parties, or only its predictor if there is no other source."""
        if self._only_predictor:
            return super().nary(relation)
        rows, vocabulary, seed = self.stated.rows[relation], self.pairs(relation), self.config.kg_seed
        where = self.place(f"{relation}-experts", rows, vocabulary, self._parameters())

        def fit() -> list[Experts]:
            folds = mixed_folds(rows, FOLDS, seed)
            predictor = super(FedFits, self).nary(relation) if self._has_predictor else None
            whole = Sources(cast("NaryPredictor | None", predictor), self.outside.parts(rows, vocabulary))
            held_out = self._held_out(relation, folds, MEMBERS)
            return [Experts.fit(rows, vocabulary, folds, whole, held_out, seed=seed, device=self.device)]

        keep(fit, [where])
        return Experts.load(where, self.device)

    def nary_folds(self, relation: str, folds: np.ndarray, members: int) -> Sequence[PairPredictor]:
        """Return predictors as `Fits` does; experts take the weights that were fitted on all folds."""
        if self._only_predictor:
            return super().nary_folds(relation, folds, members)
        whole, rows = self.nary(relation), self.stated.rows[relation]
        assert isinstance(whole, Experts)
        return [
            Experts.of(rows[folds != fold], self.pairs(relation), sources, whole.weights, self.device)
            for fold, sources in enumerate(self._held_out(relation, folds, members))
        ]

    @property
    def _only_predictor(self) -> bool:
        return {LINKS, RULES}.isdisjoint(self.outside.sources)

    @property
    def _has_predictor(self) -> bool:
        return not {WORDS, OUTSIDE}.isdisjoint(self.outside.sources)

    def _held_out(self, relation: str, folds: np.ndarray, members: int) -> list[Sources]:
        """Return the sources without the facts of each fold."""
        rows, vocabulary = self.stated.rows[relation], self.pairs(relation)
        known = super().nary_folds(relation, folds, members) if self._has_predictor else [None] * len(set(folds))
        return [
            Sources(cast("NaryPredictor | None", predictor), self.outside.parts(rows[folds != fold], vocabulary))
            for fold, predictor in enumerate(known)
        ]

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of a fit of experts, for the name of its folder."""
        predictor = self.nary_parameters(self.config.kg_members) if self._has_predictor else {}
        facts, sources = self.outside.facts, self.outside.sources
        graph = hashlib.sha256(facts.vocabulary.hash.encode() + facts.ids.astype("<i8").tobytes()).hexdigest()
        return {**predictor, "sources": sources, "graph": graph, "mining": MINING, "folds": FOLDS, "experts": VERSION}


def _kinds(mined: Sequence[MinedRule]) -> tuple[list[MinedRule], ...]:
    """Group the rules by body: facts between the two variables, chains with a known fact, chains of the graph alone."""

    def kind(rule: Rule) -> int:
        if len({variable for atom in rule.body for variable in atom.variables}) == 2:
            return 0
        return 1 if any(atom.relation == PARTY for atom in rule.body) else 2

    return tuple([each for each in mined if kind(each.rule) == number] for number in range(3))
