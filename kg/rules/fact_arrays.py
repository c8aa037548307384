"""What inference reads: the facts of a graph's parts as arrays over one vocabulary, and a hash of each."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Vocabulary, object_to_term, unknown_label

from .fixpoint import NONE, Entailed, Facts
from .horn import Rule
from .joins import union

PROVENANCE = "/provenance"  # ends the name of the graph that says what each entailed fact was derived from


def default_into(source: str | None) -> str:
    """The graph for what a source entails."""
    return "inferred" if source is None else f"{source}/inferred"


def sources_of(graph: KnowledgeGraph, source: str | None, into: str, must_exist: bool) -> list[str]:
    """The graphs whose facts rules are applied to; InputError for none, and for an unknown source."""
    names = graph.graphs()
    if source is None:
        sources = [name for name in names if name not in (into, into + PROVENANCE)]
        if must_exist and not sources:
            raise InputError("the graph has no facts to apply rules to")
        return sources
    if must_exist and source not in names:
        raise InputError(f"{unknown_label('graph', source, names)} (there are: {', '.join(names) or 'none'})")
    return [source]


class FactArrays:
    """The facts of some graphs, and those of the graph `into` of what they entailed, as ids of one vocabulary.

    :ivar stated, derived: (n, 3) int64 distinct rows of ids, of the sources and of `into`.
    :ivar vocabulary: of both, and of the relations of the rules.
    :ivar literals: ids of the entities that are literals.
    """

    def __init__(self, graph: KnowledgeGraph, sources: Sequence[str], into: str | None, rules: Sequence[Rule]) -> None:
        present = graph.graphs()
        parts = [
            (*graph.arrays(name), name == into) for name in [*sources, into] if name is not None and name in present
        ]
        names = {atom.relation for rule in rules for atom in (rule.head, *rule.body)}
        self.stated_relations = sorted({name for part, _, derived in parts if not derived for name in part.relations})
        self.vocabulary = Vocabulary(
            sorted({name for part, *_ in parts for name in part.entities}),
            sorted(names.union(*(part.relations for part, *_ in parts))),
        )
        self.size = max(len(self.vocabulary.entities), 1)
        self.relations = {name: index for index, name in enumerate(self.vocabulary.relations)}
        keys: dict[bool, list[np.ndarray]] = {False: [], True: []}
        for part, ids, derived in parts:
            entities = self.vocabulary.entity_ids(part.entities)
            relations = self.vocabulary.relation_ids(part.relations)
            # One number a row, as in KnowledgeGraph: it finds the facts that several graphs state.
            keys[derived].append(
                (relations[ids[:, 1]] * self.size + entities[ids[:, 0]]) * self.size + entities[ids[:, 2]]
            )
        self.stated, self.derived = (self._rows(union(keys[kind])) for kind in (False, True))
        quoted = [name for name in self.vocabulary.entities if name.startswith('"')]
        self.literals = self.vocabulary.entity_ids(n for n in quoted if isinstance(object_to_term(n), ox.Literal))
        self._hashes = [_label_hashes(labels) for labels in (self.vocabulary.entities, self.vocabulary.relations)]

    def hashes(self, ids: np.ndarray) -> np.ndarray:
        """(n,) uint64 of (n, 3) ids; they depend on the labels and not on the ids."""
        entities, relations = self._hashes
        return _mixed(_mixed(_mixed(entities[ids[:, 0]]) ^ relations[ids[:, 1]]) ^ entities[ids[:, 2]])

    def keys(self, ids: np.ndarray) -> Facts:
        """Sorted keys by relation of distinct rows."""
        keys = ids[:, 0] * self.size + ids[:, 2]
        order = np.lexsort((keys, ids[:, 1]))
        relations, starts = np.unique(ids[order, 1], return_index=True)
        return dict(zip(relations.tolist(), np.split(keys[order], starts[1:]), strict=False))

    def rows(self, keys: Facts) -> np.ndarray:
        """(n, 3) ids of keys by relation."""
        parts = [each + relation * self.size**2 for relation, each in keys.items()]
        return self._rows(np.concatenate([np.empty(0, dtype=np.int64), *parts]))

    def _rows(self, keys: np.ndarray) -> np.ndarray:
        """(n, 3) ids of keys (relation * size + subject) * size + object."""
        return np.stack([keys // self.size % self.size, keys // self.size**2, keys % self.size], axis=1)

    def premises(self, found: Entailed, rules: Sequence[Rule]) -> np.ndarray:
        """(n, 3, 3) ids of the premises of the facts found, in the order of `rows`; NONE where there are fewer."""
        atoms = np.full((len(rules), 3), NONE)
        for index, rule in enumerate(rules):
            atoms[index, : len(rule.body)] = [self.relations[atom.relation] for atom in rule.body]
        parts = [np.empty((0, 3, 3), dtype=np.int64)]
        for relation, keys in found.premises.items():
            relations = atoms[found.rules[relation]]
            rows = self._rows((keys + relations * self.size**2).ravel()).reshape(-1, 3, 3)
            rows[keys == NONE] = NONE
            parts.append(rows)
        return np.concatenate(parts)


def _label_hashes(labels: Iterable[str]) -> np.ndarray:
    digests = b"".join(hashlib.blake2b(label.encode(), digest_size=8).digest() for label in labels)
    return np.frombuffer(digests, dtype="<u8")


def _mixed(values: np.ndarray) -> np.ndarray:
    """A bijection of uint64 that spreads its bits (SplitMix64's; Steele, Lea and Flood, OOPSLA 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
