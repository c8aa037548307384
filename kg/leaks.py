"""Leaks: how many facts of a test a graph states or entails, in whatever form it has them.

A fact of two parties is (subject, relation, object). One of three parties is a node with roles (see `NaryRelation`);
here it is (name, subject, given, object), and it entails the facts of two parties that `NaryRelation.entails` names.
What the graph calls an entity, by rdfs:label, skos:prefLabel, skos:altLabel, skos:exactMatch or owl:sameAs, stands for
it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from .facts import NaryRelation, label_numbers, marks, pair_marks
from .graph import KnowledgeGraph
from .vocabulary import Triple

#: (subject, relation, object), or (relation, subject, given, object).
Fact = tuple[str, ...]

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", f"{_SKOS}prefLabel", f"{_SKOS}altLabel")
_SAME = (f"{_SKOS}exactMatch", "http://www.w3.org/2002/07/owl#sameAs")


class Leaks(NamedTuple):
    """How many facts of a test a graph tells, and of how many."""

    stated: int
    of: int


def asked_facts(
    test: Iterable[Triple], train: Iterable[Triple] = (), nary: Sequence[NaryRelation] = ()
) -> frozenset[Fact]:
    """The facts of a test part that the training part neither states nor entails.

    :param test, train: triples of the parts, with the nodes of facts of three parties.
    :param nary: the relations of three parties.
    """
    known = list(train)
    both = chain(test, known)  # a node of the test may share its parties with one of the training part
    return frozenset(_in_one_form(both, nary)).difference(_in_one_form(known, nary))


def count_leaks(
    graph: KnowledgeGraph, name: str | None, asked: Collection[Fact], nary: Sequence[NaryRelation] = ()
) -> Leaks:
    """How many of the facts that are asked a graph states or entails.

    :param name: one of its graphs, None for all of them. What entities are called is read in all of them.
    :param asked: see `asked_facts`.
    """
    called = _called(graph)
    stated = (fact for triple in graph.triples(graph=name) for fact in _by_all_names(triple, called))
    return Leaks(len({fact for fact in _in_one_form(stated, nary) if fact in asked}), len(asked))


def count_marked(trained_on: np.ndarray | None, asked: Collection[Fact]) -> Leaks | None:
    """How many of the facts that are asked a predictor was trained on, or rules were mined from; None where that is
    not known.

    :param trained_on: marks of facts, see facts.py.
    :param asked: see `asked_facts`. What they entail of each other is not counted: a predictor knows what it was told.
    """
    if trained_on is None:
        return None
    two, three = (_numbers([fact for fact in asked if len(fact) == size], size) for size in (3, 4))
    found = np.isin(np.concatenate([marks(*two), pair_marks(*three[1:])]), trained_on)
    return Leaks(int(found.sum()), len(asked))


def _numbers(facts: Sequence[Fact], size: int) -> list[np.ndarray]:
    """A column of label numbers for each of the parts of facts."""
    return [label_numbers(column) for column in np.array(facts, dtype=object).reshape(-1, size).T.tolist()]


def _in_one_form(facts: Iterable[Triple], nary: Sequence[NaryRelation]) -> Iterator[Fact]:
    """The facts of two parties, those of three parties, and what these entail."""
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
    either = relation.subject == relation.given  # then a node with one party has it twice
    for subject, given, made in product(subjects, givens, objects):
        if either and (subject > given or (subject == given and len(subjects) > 1)):
            continue
        yield relation.name, subject, given, made
        for one, other in {(subject, given), (given, subject)} if either else {(subject, given)}:
            party = {"subject": one, "given": other, "object": made}
            for first, entailed, second in relation.entails:
                yield party[first], entailed, party[second]


def _called(graph: KnowledgeGraph) -> dict[str, set[str]]:
    """Label -> the other names of what it stands for."""
    called: defaultdict[str, set[str]] = defaultdict(set)
    for relation in (*_NAMES, *_SAME):
        for subject, _, object_ in graph.triples(relation=relation):
            called[subject].add(_text(object_))
            if relation in _SAME:
                called[object_].add(subject)
    return called


def _text(label: str) -> str:
    """The text of a literal such as "steam"@en."""
    return label[1 : label.rindex('"')] if label.startswith('"') and label.count('"') > 1 else label


def _by_all_names(triple: Triple, called: Mapping[str, set[str]]) -> Iterator[Triple]:
    if not called:
        yield triple
        return
    subject, relation, object_ = ((label, *called.get(label, ())) for label in triple)
    yield from product(subject, relation, object_)
