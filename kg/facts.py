"""Facts as ids, marks (hashes) that identify a fact across vocabularies, n-ary facts, and tables of facts."""

import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeGuard, cast

import numpy as np

from gumption.data import InputError, Note
from gumption.data.settings import whole_numbers

from .vocabulary import LINKS, PROVENANCE, WEIGHTS, Triple, Vocabulary, checked_triples

if TYPE_CHECKING:
    from pykeen.triples import TriplesFactory

#: Triples of labels, or the result of `KnowledgeGraph.arrays`: a vocabulary and (n, 3) ids in it.
Facts: TypeAlias = Iterable[Triple] | tuple[Vocabulary, np.ndarray]


def fact_graphs(graphs: Iterable[str], name: str | None = None) -> list[str]:
    """Return the named graph; without a name, all graphs except those with weights or provenance of other graphs."""
    return [name] if name is not None else [each for each in graphs if not each.endswith((WEIGHTS, PROVENANCE))]


def to_ids(vocabulary: Vocabulary, facts: Facts, skip: bool = False) -> np.ndarray:
    """Return the (n, 3) int64 ids of facts in this vocabulary.

    :param skip: leave out triples with a label that the vocabulary lacks.
    :raises InputError: a label that the vocabulary lacks, ids of another vocabulary.
    """
    if is_pair(facts):
        theirs = facts[0]
        if theirs is not vocabulary and theirs.hash != vocabulary.hash:
            raise InputError(
                f"the facts are ids of {theirs!r}, the predictor has {vocabulary!r}: give the facts as label "
                "triples, or fit the predictor on this graph"
            )
        ids = whole_numbers("ids of facts", facts[1], None, 3)
        sizes = [len(vocabulary.entities), len(vocabulary.relations), len(vocabulary.entities)]
        if ((ids < 0) | (ids >= sizes)).any():
            raise InputError(f"the facts hold ids outside their vocabulary, {vocabulary!r}")
        return ids
    triples = checked_triples(cast("Iterable[Triple]", facts))
    if skip:
        entities, relations = set(vocabulary.entities), set(vocabulary.relations)
        triples = [fact for fact in triples if fact[0] in entities and fact[1] in relations and fact[2] in entities]
    return vocabulary.triples_to_ids(triples)


def distinct(vocabulary: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """Return the distinct rows, sorted."""
    # One number per row sorts much faster than three; 63 bits hold a billion entities.
    size, relations = max(len(vocabulary.entities), 1), max(len(vocabulary.relations), 1)
    keys = np.unique((ids[:, 0] * relations + ids[:, 1]) * size + ids[:, 2])
    return np.stack([keys // (relations * size), keys // size % relations, keys % size], axis=1)


def is_pair(facts: object) -> TypeGuard[tuple[Vocabulary, np.ndarray]]:
    """Return whether the facts are a pair of a vocabulary and ids."""
    return isinstance(facts, tuple) and len(facts) == 2 and isinstance(facts[0], Vocabulary)


def triples_factory(vocabulary: Vocabulary, ids: np.ndarray, inverse: bool = False) -> "TriplesFactory":
    """Make a PyKEEN TriplesFactory of these ids; `inverse` adds inverse relations. InputError without facts."""
    import torch
    from pykeen.triples import TriplesFactory

    if not vocabulary.entities:
        raise InputError("there are no facts: a TriplesFactory of PyKEEN holds at least one; add facts to the graph")
    return TriplesFactory(
        mapped_triples=torch.from_numpy(ids),
        entity_to_id={label: index for index, label in enumerate(vocabulary.entities)},
        relation_to_id={label: index for index, label in enumerate(vocabulary.relations)},
        create_inverse_triples=inverse,
    )


# ---- Facts between entities, without literals and triple terms: the facts from which predictors and rules learn.


# N-Triples (RDF 1.2): a text in quotes, optionally with a language (and its direction) or a datatype.
_LITERAL = re.compile(
    r'"(?:[^"\\\n\r]|\\.)*+"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--(?:ltr|rtl))?|\^\^<[^<>"{}|^`\\\x00-\x20]+>)?'
)


def is_literal(label: str) -> bool:
    """Return whether an object's label is a literal."""
    return label.startswith('"') and _LITERAL.fullmatch(label) is not None


def is_triple_term(label: str) -> bool:
    """Return whether an object's label is a triple term, `<<( subject relation object )>>`."""
    return label.startswith("<<(") and label.endswith(")>>")


class LeftOut(NamedTuple):
    """Numbers of facts that are not between entities: with a literal (unless literals are kept), with a triple term."""

    literals: int = 0
    triple_terms: int = 0

    def note(self, of: str = "") -> None:
        """Issue a Note with the numbers, unless both are 0.

        :param of: what was read, such as " of test.nt".
        """
        parts = [
            f"{number:,} fact{'s' * (number > 1)} with {what}"
            for number, what in (
                (self.literals, "literals (--literals keeps them; in Python literals=True)"),
                (self.triple_terms, "triple terms"),
            )
            if number
        ]
        if parts:
            warnings.warn(f"left out{of}: {', '.join(parts)}", Note, stacklevel=3)


def between_entities(
    vocabulary: Vocabulary, ids: np.ndarray, literals: bool = False
) -> tuple[Vocabulary, np.ndarray, LeftOut]:
    """Return the facts without triple terms and, unless `literals` keeps them, without literals, in their order.

    If nothing is left out, the vocabulary is the same; otherwise it drops the labels that no remaining fact uses.
    """
    of_literal, of_term = (
        np.fromiter(map(test, vocabulary.entities), dtype=bool, count=len(vocabulary.entities))[ids[:, 2]]
        for test in (is_literal, is_triple_term)
    )
    dropped = of_term if literals else of_literal | of_term
    if not dropped.any():
        return vocabulary, ids, LeftOut()
    labels: list[list[str]] = []
    kept = ids[~dropped]
    for columns, all_labels in (((0, 2), vocabulary.entities), ((1,), vocabulary.relations)):
        gone = np.setdiff1d(ids[dropped][:, columns], kept[:, columns])
        here = np.ones(len(all_labels), dtype=bool)
        here[gone] = False
        kept[:, columns] = (np.cumsum(here) - 1)[kept[:, columns]]
        labels.append([all_labels[index] for index in np.flatnonzero(here)])
    left_out = LeftOut(0 if literals else int(of_literal.sum()), int(of_term.sum()))
    return Vocabulary(*labels), kept, left_out


def learnable(vocabulary: Vocabulary, ids: np.ndarray, literals: bool = False) -> tuple[Vocabulary, np.ndarray]:
    """Return the facts `between_entities`; a Note counts the others."""
    vocabulary, ids, left_out = between_entities(vocabulary, ids, literals)
    left_out.note()
    return vocabulary, ids


# ---- Marks: a hash of 64 bits for each fact, the same in any vocabulary.

_SUBJECT, _RELATION, _OBJECT, _PAIR = (
    np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
)


def label_numbers(labels: Sequence[str]) -> np.ndarray:
    """Return (n,) uint64, a 64-bit hash (BLAKE2b) of each label."""
    numbers = (int.from_bytes(blake2b(label.encode(), digest_size=8).digest(), "little") for label in labels)
    return np.fromiter(numbers, dtype=np.uint64, count=len(labels))


def marks(subjects: np.ndarray, relations: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return the (n,) uint64 marks of facts (subject, relation, object) from their `label_numbers`."""
    with np.errstate(over="ignore"):
        return subjects * _SUBJECT + relations * _RELATION + objects * _OBJECT


def pair_marks(subjects: np.ndarray, givens: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return the (n,) uint64 marks of n-ary facts. They depend on neither the relation nor the order of the pair."""
    with np.errstate(over="ignore"):
        return (subjects + givens) * _SUBJECT + _PAIR + objects * _OBJECT


def marks_of(vocabulary: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """Return the sorted marks of (n, 3) facts (subject, relation, object)."""
    entities, relations = label_numbers(vocabulary.entities), label_numbers(vocabulary.relations)
    return np.unique(marks(entities[ids[:, 0]], relations[ids[:, 1]], entities[ids[:, 2]]))


def note_trained(trained_on: np.ndarray, given: np.ndarray, what: str) -> int:
    """Count the facts in `given` that are training facts, both by their marks. A Note reports a number above 0.

    :param what: a name for the facts, such as "validation facts".
    """
    if number := int(np.isin(given, trained_on).sum()):
        warnings.warn(
            f"{number:,} of the {len(given):,} {what} are training facts of the model, so that its figures on them do "
            "not hold for new facts: give facts that it was not trained on, or train it without them",
            Note,
            stacklevel=3,
        )
    return number


def pair_marks_of(vocabulary: Vocabulary, rows: np.ndarray) -> np.ndarray:
    """Return the sorted marks of (n, 3) facts (subject, given, object)."""
    return np.unique(pair_marks(*label_numbers(vocabulary.entities)[rows.T]))


# ---- N-ary facts, of three parties: their relations in the graph, and the facts as rows of ids.


class NaryRelation(NamedTuple):
    """Name a relation of three parties. Each of its facts is a node of the graph with these roles.

    "water, given fire, makes steam" is a node n with (n, hasIngredient, water), (n, hasIngredient, fire) and
    (n, hasProduct, steam). If subject and given have the same role, either party may be the subject.

    :ivar name: its name when choices are scored.
    :ivar subject, given, object: the relations from a node to its parties.
    :ivar entails: the triples that follow from a node, such as ("subject", "componentOf", "object").
    """

    name: str
    subject: str
    given: str
    object: str
    entails: tuple[tuple[str, str, str], ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """The distinct roles."""
        return tuple(dict.fromkeys((self.subject, self.given, self.object)))


def relation_name(relation: "str | NaryRelation") -> str:
    """Return the name of a relation of two or three parties."""
    return relation if isinstance(relation, str) else relation.name


#: Separates a relation's name from a place, in worlds that score one relation for several things in order: "affords@2"
#: is the relation "affords" of the second thing. Graphs state "affords".
PLACE = "@"


def stated_name(relation: str) -> str:
    """Return a relation's name as graphs state it: without its place, see `PLACE`."""
    return relation.partition(PLACE)[0]


def relation_labels(relations: "Iterable[str | NaryRelation]") -> list[str]:
    """Return the labels that a graph uses for relations, each once: names (two parties) and roles (three parties)."""
    names = ((stated_name(r),) if isinstance(r, str) else r.roles for r in relations)
    return list(dict.fromkeys(label for labels in names for label in labels))


def nary_rows(vocabulary: Vocabulary, ids: np.ndarray, relation: NaryRelation) -> np.ndarray:
    """Return (n, 3) int64 rows (subject, given, object) of entity ids, a row for each object of a node that has all
    roles, distinct and sorted. If subject and given have the same role, the lesser id comes first.

    :param ids: (m, 3) int64 facts of any relations.
    :raises InputError: a node with more parties in a role than the relation has.
    """
    if not set(relation.roles) <= set(vocabulary.relations):
        return np.zeros((0, 3), dtype=np.int64)
    facts = distinct(vocabulary, ids)  # sorted by node
    parts = {role: facts[facts[:, 1] == vocabulary.relations.index(role)][:, [0, 2]] for role in relation.roles}
    nodes = reduce(np.intersect1d, (part[:, 0] for part in parts.values()))
    same = relation.subject == relation.given
    pair = []
    for role in dict.fromkeys((relation.subject, relation.given)):
        node, party = parts[role].T
        begin, end = node.searchsorted(nodes), node.searchsorted(nodes, side="right")
        if (crowded := np.flatnonzero(end - begin > 1 + same)).size:
            at = crowded[0]
            raise InputError(
                f"the node {vocabulary.entities[nodes[at]]!r} has {(end - begin)[at]} {role}; a fact of "
                f"{relation.name!r} has {'two at most' if same else 'one'}"
            )
        pair += [party[begin], party[end - 1]] if same else [party[begin]]
    made = parts[relation.object][np.isin(parts[relation.object][:, 0], nodes)]
    of = nodes.searchsorted(made[:, 0])
    return np.unique(np.stack([pair[0][of], pair[1][of], made[:, 1]], axis=1), axis=0)


# ---- All facts of a source in one table, which can be renamed: source -> FactTable -> scores -> advice.


@dataclass(frozen=True, eq=False)
class FactTable:
    """Hold the facts of a graph as ids, to rename them and to compute scores from them.

    :ivar ids: (n, 3) int64 (subject, relation, object), distinct.
    :ivar strengths: (n,) float32, the largest weight of each fact; None if weights are not used.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    strengths: np.ndarray | None = None

    @classmethod
    def of(cls, source: Any, name: str | None = None, weigh: Callable[[Any, str], np.ndarray] | None = None) -> Self:
        """Read the facts of a named graph of a KnowledgeGraph, or of all graphs except weights and provenance. Return a
        table unchanged.

        :param weigh: `fact_weights` (kg/sources/weights.py), if weights are used.
        """
        if isinstance(source, cls):
            return source
        names = fact_graphs(source.graphs(), name)
        parts = [cls(*source.arrays(each), strengths=weigh(source, each) if weigh else None) for each in names]
        none = np.zeros(0, dtype=np.float32) if weigh else None
        parts = parts or [cls(Vocabulary((), ()), np.zeros((0, 3), dtype=np.int64), none)]
        return cls.joined(parts) if len(parts) > 1 else parts[0]

    @classmethod
    def joined(cls, tables: Sequence[Self]) -> Self:
        """Return the union of the tables, with sorted labels."""
        entities, relations = (
            sorted({*chain.from_iterable(getattr(table.vocabulary, kind) for table in tables)})
            for kind in ("entities", "relations")
        )
        vocabulary = Vocabulary(entities, relations)
        ids = np.concatenate([moved(vocabulary, table.vocabulary, table.ids) for table in tables])
        strengths = [table.strengths for table in tables if table.strengths is not None]
        return cls(vocabulary, ids, np.concatenate(strengths) if strengths else None).once()

    def once(self) -> Self:
        """Return each fact once, with its largest strength, sorted."""
        if self.strengths is None:
            return replace(self, ids=distinct(self.vocabulary, self.ids))
        order = np.argsort(-self.strengths, kind="stable")
        ids, first = np.unique(self.ids[order], axis=0, return_index=True)
        return replace(self, ids=ids, strengths=self.strengths[order][first])

    def only(self, rows: np.ndarray) -> Self:
        """Return the facts of some rows, selected by index or by (n,) bool."""
        return replace(self, ids=self.ids[rows], strengths=None if self.strengths is None else self.strengths[rows])

    def of_relations(self, labels: Collection[str]) -> np.ndarray:
        """Return (n,) bool: whether a fact has one of these relations."""
        return np.array([label in labels for label in self.vocabulary.relations], dtype=bool)[self.ids[:, 1]]

    def triples(self, relation: str | None = None, graph: str | None = None) -> Iterator[Triple]:
        """Iterate over the facts (of a relation) as labels. :param graph: as in `KnowledgeGraph.triples`, None."""
        rows = self.ids if relation is None else self.ids[self.of_relations((relation,))]
        return iter(self.vocabulary.ids_to_triples(rows))

    def arrays(self, graph: str | None = None) -> tuple[Vocabulary, np.ndarray]:
        """Return the vocabulary and the ids, as in `KnowledgeGraph`."""
        return self.vocabulary, self.ids

    def relabelled(self, names: Mapping[str, Collection[str]]) -> Self:
        """Rename entities: repeat a fact for each name that `names` has for a label; drop it if that has no names."""
        called = [names.get(label, (label,)) for label in self.vocabulary.entities]
        vocabulary = Vocabulary(sorted({*chain.from_iterable(called)}), self.vocabulary.relations)
        new, counts = vocabulary.entity_ids(chain.from_iterable(called)), np.array([*map(len, called)], dtype=np.int64)
        starts, table = np.cumsum(counts) - counts, self
        for column in (0, 2):
            many = counts[table.ids[:, column]]
            table = table.only(np.repeat(np.arange(len(table.ids)), many))
            name = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            table.ids[:, column] = new[starts[table.ids[:, column]] + name]
        return replace(table, vocabulary=vocabulary).once()

    def about(self, words: Collection[str], links: Iterable[Triple] = ()) -> Self:
        """Return the facts about some words.

        :param links: (word, relation, entity) as from `gumption kg link`: each linked word takes the facts of the
            entity.
        """
        called: defaultdict[str, set[str]] = defaultdict(set)
        for word, _, entity in links:
            if word in words:
                called[entity].add(word)
        named = self.only(~self.of_relations(LINKS.values())).relabelled(called)
        known = np.array([label in words for label in named.vocabulary.entities], dtype=bool)
        return named.only(np.flatnonzero(known[named.ids[:, [0, 2]]].any(1)))


def moved(vocabulary: Vocabulary, labels: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """Map the ids of `labels` to ids of `vocabulary`, which has all of their labels, with one look-up per label."""
    entity = {label: i for i, label in enumerate(vocabulary.entities)}
    relation = {label: i for i, label in enumerate(vocabulary.relations)}
    entity_of = np.array([entity.get(label, -1) for label in labels.entities], dtype=np.int64)
    relation_of = np.array([relation.get(label, -1) for label in labels.relations], dtype=np.int64)
    return np.stack([entity_of[ids[:, 0]], relation_of[ids[:, 1]], entity_of[ids[:, 2]]], axis=1)
