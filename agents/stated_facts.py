"""What a graph states of the relations that a world asks for: read from the graph once, as ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, NaryRelation, Vocabulary
from gumption.kg.facts import distinct, nary_rows, relation_labels
from gumption.kg.rules.fixpoint import PROVENANCE
from gumption.kg.sources.weights import WEIGHTS
from gumption.kg.vocabulary import nearest_labels, unknown_label


@dataclass(frozen=True, eq=False)
class StatedFacts:
    """The facts of a graph, with the world's entities first in the vocabulary.

    :ivar vocabulary: the world's N entities in its order, then the graph's others, sorted, without the nodes.
    :ivar ids: (n, 3) int64, distinct and sorted: the facts of two parties, those of relations that the world does not
        ask for too, but without the roles of nodes.
    :ivar rows: for each relation of three parties that has facts, (m, 3) int64 rows (subject, given, object).
    :ivar relations: those that the world asks for and the graph has; `nary` those of three parties it asks for.
    :ivar report: what does not fit, in a sentence.
    :ivar graph_hash: sha256 (hex) of the facts that were read, as labels.
    :ivar size: N.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    rows: dict[str, np.ndarray]
    relations: tuple[str | NaryRelation, ...]
    nary: tuple[NaryRelation, ...]
    report: str
    graph_hash: str
    size: int

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        name: str | None,
        entities: Sequence[str],
        relations: Sequence[str | NaryRelation],
    ) -> "StatedFacts":
        """
        :param name: a named graph; None for all but those that only say something about facts.
        :raises InputError: none of the relations, or facts of them about none of the world's entities, with near
            matches.
        """
        nary = tuple(r for r in relations if isinstance(r, NaryRelation))
        roles = tuple(dict.fromkeys(role for r in nary for role in r.roles))
        names = [name] if name is not None else [n for n in graph.graphs() if not n.endswith((WEIGHTS, PROVENANCE))]
        parts = [graph.arrays(each) for each in names]
        labels, vocabulary = _vocabularies(entities, parts, roles)
        moved = distinct(labels, np.concatenate([_moved(labels, *part) for part in parts] or [_NONE]))
        of_node = moved[:, 1] >= len(vocabulary.relations)
        facts, nodes = moved[~of_node], moved[of_node]
        rows = {r.name: found for r in nary if len(found := nary_rows(labels, nodes, r))}
        stated = set(vocabulary.relations)
        there = tuple(r for r in relations if (r in stated if isinstance(r, str) else r.name in rows))
        if not there:
            raise InputError(_no_relation(relations, set(labels.relations)))
        asked = [vocabulary.relations.index(r) for r in there if isinstance(r, str)]
        parties = [facts[np.isin(facts[:, 1], asked)][:, [0, 2]].ravel(), *(found.ravel() for found in rows.values())]
        used = np.unique(np.concatenate(parties))
        report = _report(vocabulary, used, len(entities))
        return cls(vocabulary, facts, rows, there, nary, report, graph.content_hash(name), len(entities))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The world's entities of which no fact is."""
        parties = [self.ids[:, [0, 2]].ravel(), *(rows.ravel() for rows in self.rows.values())]
        known = np.isin(np.arange(self.size), np.concatenate(parties))
        return tuple(self.vocabulary.entities[i] for i in np.flatnonzero(~known).tolist())

    def world_rows(self, relation: str | NaryRelation) -> np.ndarray:
        """(n, 3) int64 rows (subject, given, object) of a relation's facts among the world's entities alone, as ids of
        its environments: 1 to N, and 0 for the third party of a relation of two."""
        if isinstance(relation, NaryRelation):
            rows = self.rows[relation.name]
            return rows[(rows < self.size).all(1)] + 1
        place = self.vocabulary.relations.index(relation)
        facts = self.ids[(self.ids[:, 1] == place) & (self.ids[:, [0, 2]] < self.size).all(1)]
        return np.stack([facts[:, 0] + 1, np.zeros(len(facts), dtype=np.int64), facts[:, 2] + 1], axis=1)


_NONE = np.zeros((0, 3), dtype=np.int64)


def _vocabularies(
    entities: Sequence[str], parts: Sequence[tuple[Vocabulary, np.ndarray]], roles: Sequence[str]
) -> tuple[Vocabulary, Vocabulary]:
    """All labels of the graphs, and those that come first in it: without nodes and their roles."""
    stated: set[str] = set()
    nodes: set[str] = set()
    kinds: set[str] = set()
    for labels, ids in parts:
        of_node = np.array([relation in roles for relation in labels.relations], dtype=bool)[ids[:, 1]]
        parties = np.concatenate([ids[~of_node, 0], ids[:, 2]])
        stated |= {labels.entities[i] for i in np.unique(parties).tolist()}
        nodes |= {labels.entities[i] for i in np.unique(ids[of_node, 0]).tolist()}
        kinds |= {labels.relations[i] for i in np.unique(ids[:, 1]).tolist()}
    mine = (*entities, *sorted(stated - set(entities)))
    relations = sorted(kinds - set(roles))
    everything = Vocabulary(
        (*mine, *sorted(nodes - set(mine))), (*relations, *(role for role in roles if role in kinds))
    )
    return everything, Vocabulary(mine, relations)


def _moved(vocabulary: Vocabulary, labels: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """Ids of one vocabulary as those of another that has all of their labels: one look-up for each label."""
    entity = {label: i for i, label in enumerate(vocabulary.entities)}
    relation = {label: i for i, label in enumerate(vocabulary.relations)}
    entity_of = np.array([entity.get(label, -1) for label in labels.entities], dtype=np.int64)
    relation_of = np.array([relation.get(label, -1) for label in labels.relations], dtype=np.int64)
    return np.stack([entity_of[ids[:, 0]], relation_of[ids[:, 1]], entity_of[ids[:, 2]]], axis=1)


def _no_relation(relations: Sequence[str | NaryRelation], stated: set[str]) -> str:
    wanted = [r if isinstance(r, str) else f"{r.name} (nodes with {', '.join(r.roles)})" for r in relations]
    near = dict.fromkeys(other for label in relation_labels(relations) for other in nearest_labels(label, stated, 1))
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    has = ", ".join(sorted(stated)[:8]) or "no facts at all"
    return f"the graph has none of the relations that the world asks for: {'; '.join(wanted)}. It has {has}{hint}"


def _report(vocabulary: Vocabulary, used: np.ndarray, size: int) -> str:
    """What of the graph's facts is about entities that the world does not have, and the other way round."""
    foreign = [vocabulary.entities[i] for i in used[used >= size].tolist()]
    known = len(used) - len(foreign)
    mine = vocabulary.entities[:size]
    near = "; ".join(unknown_label("entity", label, mine).removeprefix("unknown entity ") for label in foreign[:3])
    if not known:
        raise InputError(
            f"the graph's facts are about {len(foreign)} entities, none of them one of the world's {size}: {near}"
        )
    told = [f"the graph knows {known} of the world's {size} entities"] if known < size else []
    if foreign:
        told.append(f"{len(foreign)} of its entities {'is' if len(foreign) == 1 else 'are'} not the world's ({near})")
    return ", and ".join(told)
