"""What feeds the predictors of relations of three parties beside facts: sources of a product of experts.

    --kg train --kg-beside GRAPH  ->  words, outside, links, rules  ->  Experts  ->  PairTable  ->  scores, planner

A source is made of the known facts and of a graph of any relations about the world's things (`gumption.kg.sources`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gumption.kg import KnowledgeGraph, Vocabulary, mine_rules
from gumption.kg.facts import distinct
from gumption.kg.rules.horn import Rule
from gumption.kg.rules.mining import MinedRule
from gumption.kg.rules.prediction import rule_scores
from gumption.kg.sources.outside import beside_rows, entity_features, entity_links

from .settings import LINKS, OUTSIDE, RULES, WORDS

FOLDS = 5  # of the facts, each of which is held out once while weights are learned
MEMBERS = 1  # networks of the predictor of each fold
PARTY = "party"  # the relation of a party of a fact to the fact's object, whose rules are mined
#: Of the rules: a fact is at least so much likelier than by chance that their weight can tell it.
MINING = {"min_support": 5, "min_confidence": 0.02, "min_head_coverage": 0.001}


@dataclass(frozen=True, eq=False)
class Outside:
    """
    :ivar sources: names; see `KnowledgeConfig.kg_sources`.
    :ivar graph, name: of any relations; an empty graph without one.
    :ivar about: of the graph, for a run's manifest.
    """

    sources: tuple[str, ...]
    graph: KnowledgeGraph = field(default_factory=KnowledgeGraph)
    name: str | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def weighed(self) -> bool:
        """Whether there are sources whose weights are learned."""
        return not {LINKS, RULES}.isdisjoint(self.sources)

    @property
    def predicts(self) -> bool:
        """Whether a predictor of whole facts is among the sources."""
        return not {WORDS, OUTSIDE}.isdisjoint(self.sources)

    @cached_property
    def hash(self) -> str:
        """Of the graph's facts."""
        return self.graph.content_hash(self.name)

    def features(self, entities: Sequence[str]) -> np.ndarray:
        """(N, F) float32 of each entity; the last tells which the graph does not know. F is 0 without that source."""
        if OUTSIDE not in self.sources:
            return np.zeros((len(entities), 0), dtype=np.float32)
        return entity_features(self.graph, entities, name=self.name)

    def parts(self, rows: np.ndarray, vocabulary: Vocabulary) -> dict[str, list[sparse.csr_array]]:
        """What speaks for one party, by source, with no more facts known than these.

        :param rows: (n, 3) int64 facts (subject, given, object), ids of the vocabulary.
        """
        entities, found = vocabulary.entities, dict[str, list[sparse.csr_array]]()
        if LINKS in self.sources:
            found[LINKS] = list(entity_links(self.graph, entities, name=self.name).values())
        if RULES in self.sources:
            of_party = Vocabulary(entities, (PARTY,))
            kind = np.zeros(len(rows), dtype=np.int64)
            stated = np.concatenate([np.stack([rows[:, party], kind, rows[:, 2]], axis=1) for party in (0, 1)])
            facts = beside_rows(self.graph, self.name, of_party, distinct(of_party, stated))
            mined = [each for each in mine_rules(facts, **MINING) if each.rule.head.relation == PARTY]
            found[RULES] = [rule_scores(kind, facts, PARTY, len(entities)) for kind in _kinds(mined)]
        return found


def _kinds(mined: Sequence[MinedRule]) -> tuple[list[MinedRule], ...]:
    """The rules by their body: facts between the two, a chain with a known fact, a chain of the graph alone."""

    def kind(rule: Rule) -> int:
        if len({variable for atom in rule.body for variable in atom.variables}) == 2:
            return 0
        return 1 if any(atom.relation == PARTY for atom in rule.body) else 2

    return tuple([each for each in mined if kind(each.rule) == number] for number in range(3))
