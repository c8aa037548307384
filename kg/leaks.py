"""Leaks: count the test facts that a graph states or entails, in any form.

A fact of two parties is (subject, relation, object). An n-ary fact is a node with roles (see `NaryRelation`); here it
is (name, subject, given, object), and it entails the triples of `NaryRelation.entails`. An entity is matched by all its
names in the graph (see names.py), skos:altLabel, skos:exactMatch and owl:sameAs. A statement about a fact counts as the
fact: a node with rdf:subject, rdf:predicate and rdf:object, or a triple term of RDF-star, which some endpoints have.

A data set can leak without any other graph: a test fact follows from a training fact whose relation is symmetric, or an
inverse or near-duplicate of the test relation (Toutanova and Chen 2015; Dettmers et al. 2018; Akrami et al. 2020).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox
from scipy import sparse
from scipy.sparse import csgraph

from .facts import FactTable, NaryRelation, label_numbers, marks, pair_marks
from .graph import KnowledgeGraph
from .names import NAMING, Names, text_of
from .vocabulary import PREFIXES, RELATION, SKOS, Triple, Vocabulary, term_to_label

#: (subject, relation, object), or (relation, subject, given, object).
Fact = tuple[str, ...]

_SAME = (SKOS + "exactMatch", PREFIXES["owl"] + "sameAs")
_ABOUT_FACTS = tuple(PREFIXES["rdf"] + part for part in ("subject", "predicate", "object"))

#: A relation is like another if it has at least this share of the other's facts (Akrami et al. 2020, section 3), and at
#: least this number of them, because two small relations can share a fact by chance.
SHARE, FEWEST = 0.8, 5


class Leaks(NamedTuple):
    """The number of test facts that are stated or entailed, and the number of all test facts."""

    stated: int
    of: int


def asked_facts(
    test: Iterable[Triple], train: Iterable[Triple] = (), nary: Sequence[NaryRelation] = ()
) -> frozenset[Fact]:
    """Return the facts of a test part that the training part neither states nor entails.

    :param test, train: triples of the parts, including the nodes of n-ary facts.
    :param nary: the relations of three parties.
    """
    known = list(train)
    both = chain(test, known)  # a node of the test may share its parties with a node of the training part
    return frozenset(_in_one_form(both, nary)).difference(_in_one_form(known, nary))


def count_leaks(
    graph: KnowledgeGraph | FactTable, name: str | None, asked: Collection[Fact], nary: Sequence[NaryRelation] = ()
) -> Leaks:
    """Count the test facts that a graph states or entails.

    :param name: a named graph; None for all graphs. Names of entities are always read from all graphs.
    :param asked: see `asked_facts`.
    """
    first, called = _classes(graph)
    names = Names(graph, naming=(*NAMING, SKOS + "altLabel"))

    def things(label: str, meant: Iterable[str]) -> frozenset[str]:
        """Return the things in the graph that the label denotes, each as the first label of its class."""
        return frozenset((*(first.get(each, each) for each in (label, *meant)), *called.get(label, ())))

    asked_relations = {fact[1] for fact in asked if len(fact) == 3}.union(*(each.roles for each in nary))
    relations: defaultdict[str, set[str]] = defaultdict(set)  # thing -> the relations that denote it
    for relation in asked_relations:
        for thing in things(relation, names.matches(relation, "relation")):
            relations[thing].add(relation)
    # Parties that denote the same things are merged, so that work grows with statements, not with pairs of names.
    one: dict[frozenset[str], str] = {}
    party_of = {
        label: one.setdefault(things(label, names.meanings(label)), label)
        for label in sorted(chain.from_iterable(asked))
    }
    parties: defaultdict[str, set[str]] = defaultdict(set)
    for stands_for, party in one.items():
        for thing in stands_for:
            parties[thing].add(party)
    stated = (
        (first.get(subject, subject), asked_relation, first.get(object_, object_))
        for subject, relation, object_ in _read(graph, name)
        for asked_relation in relations.get(first.get(relation, relation), ())
    )
    either = {each.name for each in nary if each.subject == each.given}
    found = {fact for each in _in_one_form(stated, nary) for fact in _renamed(each, parties, either)}
    alone = {label: (party,) for label, party in party_of.items()}
    return Leaks(sum(not found.isdisjoint(_renamed(fact, alone, either)) for fact in asked), len(asked))


def _renamed(fact: Fact, names: Mapping[str, Collection[str]], either: Collection[str]) -> Iterator[Fact]:
    """Yield the fact with each combination of its parties' names.

    :param either: n-ary relations in which the order of the first two parties does not matter; these are sorted.
    """
    if len(fact) == 3:
        subject, relation, object_ = (names.get(fact[0], ()), (fact[1],), names.get(fact[2], ()))
        yield from product(subject, relation, object_)
        return
    for subject, given, object_ in product(*(names.get(party, ()) for party in fact[1:])):
        pair = sorted((subject, given)) if fact[0] in either else (subject, given)
        yield fact[0], *pair, object_


def count_marked(
    trained_on: np.ndarray | None, asked: Collection[Fact], called: Mapping[Fact, Fact] = MappingProxyType({})
) -> Leaks | None:
    """Count the test facts that a predictor was trained on or rules were mined from; return None if that is unknown.

    :param trained_on: marks of facts, see facts.py.
    :param asked: see `asked_facts`. Entailed facts are not counted: a predictor is trained on facts as stated.
    :param called: test fact -> the same fact with the source's names of relations. Either form counts.
    """
    if trained_on is None:
        return None
    facts = list(asked)
    found = _marked(trained_on, facts)
    if called:
        found |= _marked(trained_on, [called.get(fact, fact) for fact in facts])
    return Leaks(int(found.sum()), len(facts))


def _marked(trained_on: np.ndarray, facts: Sequence[Fact]) -> np.ndarray:
    """Return (n,) bool: whether the mark of each fact is in `trained_on`."""
    of_two = np.array([len(fact) == 3 for fact in facts], dtype=bool)
    two, three = (_numbers([fact for fact in facts if len(fact) == size], size) for size in (3, 4))
    found = np.zeros(len(facts), dtype=bool)
    found[of_two] = np.isin(marks(*two), trained_on)
    found[~of_two] = np.isin(pair_marks(*three[1:]), trained_on)
    return found


def _numbers(facts: Sequence[Fact], size: int) -> list[np.ndarray]:
    """Return a column of label numbers for each position in the facts."""
    return [label_numbers(column) for column in np.array(facts, dtype=object).reshape(-1, size).T.tolist()]


def _in_one_form(facts: Iterable[Triple], nary: Sequence[NaryRelation]) -> Iterator[Fact]:
    """Yield the facts of two parties, the n-ary facts, and the triples that these entail."""
    roles = {role for relation in nary for role in relation.roles}
    nodes: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for subject, relation, object_ in facts:
        if relation in roles:
            nodes[subject][relation].add(object_)
        else:
            yield subject, relation, object_
    for parties, relation in product(nodes.values(), nary):
        yield from _facts_of_node(parties, relation)


def _facts_of_node(parties: Mapping[str, set[str]], relation: NaryRelation) -> Iterator[Fact]:
    if not all(role in parties for role in relation.roles):
        return
    subjects, givens, objects = (sorted(parties[role]) for role in relation[1:4])
    either = relation.subject == relation.given  # then a node with a single party uses it twice
    for subject, given, made in product(subjects, givens, objects):
        if either and (subject > given or (subject == given and len(subjects) > 1)):
            continue
        yield relation.name, subject, given, made
        for one, other in {(subject, given), (given, subject)} if either else {(subject, given)}:
            party = {"subject": one, "given": other, "object": made}
            for first, entailed, second in relation.entails:
                yield party[first], entailed, party[second]


def _classes(graph: KnowledgeGraph | FactTable) -> tuple[Mapping[str, str], Mapping[str, Collection[str]]]:
    """Map labels to the first label of their class (sameAs, exactMatch), and texts to these labels of all classes."""
    same = [(subject, object_) for relation in _SAME for subject, _, object_ in graph.triples(relation=relation)]
    places = {label: number for number, label in enumerate(dict.fromkeys(chain.from_iterable(same)))}
    edges = np.array([(places[one], places[other]) for one, other in same], dtype=np.int64).reshape(-1, 2)
    groups: dict[int, str] = {}
    first = {
        label: groups.setdefault(group, label)
        for label, group in zip(places, _components(edges, len(places)).tolist(), strict=True)
    }
    called: defaultdict[str, set[str]] = defaultdict(set)
    for label, of in first.items():
        called[text_of(label)[0]].add(of)
    return first, called


def _read(graph: KnowledgeGraph | FactTable, name: str | None) -> Iterator[Triple]:
    """Yield a graph's facts and the facts it makes statements about, by triple terms or nodes with rdf:subject etc."""
    for triple in graph.triples(graph=name):
        yield triple
        if triple[2].startswith("<<("):
            with suppress(SyntaxError):  # a label that only looks like a triple term
                [quad] = ox.parse(f"<urn:s> <urn:p> {triple[2]} .", ox.RdfFormat.N_TRIPLES)
                subject, relation, object_ = quad.object  # pyright: ignore
                yield term_to_label(subject), term_to_label(relation, RELATION), term_to_label(object_)
    parts = ({s: o for s, _, o in graph.triples(relation=relation, graph=name)} for relation in _ABOUT_FACTS)
    subjects, relations, objects = parts
    for node in subjects.keys() & relations.keys() & objects.keys():
        # The label of an object of rdf:predicate is the relation's IRI.
        yield subjects[node], relations[node].removeprefix(RELATION), objects[node]


# ---- Leaks within a data set


class Likeness(NamedTuple):
    """A relation that has most facts of another relation.

    :ivar relation, other: ids of the relations, equal for a symmetric relation.
    :ivar backwards: whether `relation` has (object, subject) for the other's (subject, object).
    :ivar share: the share of the other's facts that `relation` has.
    """

    relation: int
    other: int
    backwards: bool
    share: float

    def told(self, vocabulary: Vocabulary) -> dict[str, str | float]:
        """Return the likeness in labels, with its kind: duplicate, symmetric or inverse."""
        kind = "duplicate" if not self.backwards else "symmetric" if self.relation == self.other else "inverse"
        relation, other = vocabulary.relations[self.relation], vocabulary.relations[self.other]
        return {"relation": relation, "other": other, "kind": kind, "share": round(self.share, 4)}


def alike(ids: np.ndarray) -> list[Likeness]:
    """Return the inverse, near-duplicate and symmetric relations of (n, 3) int64 facts, sorted, ignoring (x, r, x)."""
    ids = np.unique(ids[ids[:, 0] != ids[:, 2]], axis=0)
    if not len(ids):
        return []
    size, relations = int(ids.max()) + 1, int(ids[:, 1].max()) + 1
    pairs = np.concatenate([ids[:, 0] * size + ids[:, 2], ids[:, 2] * size + ids[:, 0]])
    distinct, column = np.unique(pairs, return_inverse=True)
    forwards, backwards = (
        sparse.csr_array((np.ones(len(ids), dtype=np.int64), (ids[:, 1], of)), (relations, len(distinct)))
        for of in (column[: len(ids)], column[len(ids) :])
    )
    facts = np.bincount(ids[:, 1], minlength=relations)
    found = []
    for turned, other in ((False, forwards), (True, backwards)):
        shared = (forwards @ other.T).tocoo()  # (relation, other relation): number of common facts
        share = shared.data / facts[shared.col]
        for at in np.flatnonzero((share >= SHARE) & (shared.data >= FEWEST)):
            relation, of = int(shared.row[at]), int(shared.col[at])
            if turned or relation != of:
                found.append(Likeness(relation, of, turned, float(share[at])))
    return sorted(found)


def following(likenesses: Sequence[Likeness], train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return (n,) bool: whether a (n, 3) test fact follows from a training fact of a like relation."""
    size = int(max(train.max(initial=0), test.max(initial=0))) + 1
    follows = np.zeros(len(test), dtype=bool)
    for relation, other, backwards, _ in likenesses:
        asked = np.flatnonzero(test[:, 1] == relation)
        known = train[train[:, 1] == other]
        subject, object_ = (2, 0) if backwards else (0, 2)
        pairs = test[asked, subject] * size + test[asked, object_]
        follows[asked] |= np.isin(pairs, known[:, 0] * size + known[:, 2])
    return follows


def families(likenesses: Sequence[Likeness], ids: np.ndarray) -> np.ndarray:
    """Return (n,) int64: facts of (n, 3) ids get the same number if one can follow from the other."""
    size = int(ids.max(initial=0)) + 1
    edges = np.array([pair[:2] for pair in likenesses], dtype=np.int64).reshape(-1, 2)
    kind = _components(edges, size)[ids[:, 1]]
    ends = np.sort(ids[:, [0, 2]], axis=1)
    lone = ~np.isin(ids[:, 1], edges)
    keys = np.column_stack([kind, ends, np.where(lone, np.arange(len(ids)), -1)])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)


def _components(edges: np.ndarray, size: int) -> np.ndarray:
    """Return (size,), the component of each node of an undirected graph with (n, 2) edges."""
    if not size:
        return np.zeros(0, dtype=np.int64)
    matrix = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (size, size))
    return csgraph.connected_components(matrix, directed=False)[1]
