"""Facts as quads of terms: made of labels, and completed with what a store keeps beside them."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyoxigraph as ox

from gumption.kg.vocabulary import (
    ABOUT,
    ENTITY,
    GRAPH,
    LABELS,
    RDFS_LABEL,
    RELATION,
    Triple,
    checked_triples,
    iri_to_label,
    label_to_iri,
    object_to_term,
)

# Terms that are remembered, so that memory stays bounded while a file of any length goes by.
REMEMBERED = 200_000


class Quads:
    """Makes quads of label triples; a label that comes again is not turned into a term again."""

    def __init__(self, stored: bool = True) -> None:
        """:param stored: as in `object_to_term`."""
        self._stored = stored
        self._terms: dict[tuple[str, str], ox.NamedNode] = {}
        self._objects: dict[str, ox.NamedNode | ox.Literal] = {}

    def __call__(self, triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
        name = self._named(graph, GRAPH)
        return [
            ox.Quad(self._named(subject, ENTITY), self._named(relation, RELATION), self._object(object_), name)
            for subject, relation, object_ in triples
        ]

    def one(self, subject: str, relation: str, object_: str, graph: str) -> ox.Quad:
        """The quad of one fact."""
        return ox.Quad(
            self._named(subject, ENTITY), self._named(relation, RELATION), self._object(object_),
            self._named(graph, GRAPH),
        )  # fmt: skip

    def _named(self, label: str, namespace: str) -> ox.NamedNode:
        term = self._terms.get((namespace, label))
        if term is None:
            if len(self._terms) >= REMEMBERED:
                self._terms.clear()
            term = self._terms[namespace, label] = ox.NamedNode(label_to_iri(label, namespace))
        return term

    def _object(self, label: str) -> ox.NamedNode | ox.Literal:
        term = self._objects.get(label)
        if term is None:
            if len(self._objects) >= REMEMBERED:
                self._objects.clear()
            term = self._objects[label] = object_to_term(label, stored=self._stored)
        return term


def checked_quads(triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
    """Label triples as quads of a graph; InputError for the first row that is not three labels."""
    return Quads()(checked_triples(triples), graph)


@contextmanager
def uncollected() -> Iterator[None]:
    """A block without Python's search for cycles, which would visit each of a million new quads and find none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Completion:
    """Adds to batches of facts what a store keeps beside them: copies in its default graph, rdfs:label of new names.

    A label may come twice (a store has it once); statements in the graph ABOUT are passed on as they are.
    """

    def __init__(self) -> None:
        self._seen: set[ox.NamedNode] = set()

    def __call__(self, quads: Sequence[ox.Quad]) -> list[ox.Quad]:
        facts = [quad for quad in quads if quad.graph_name != _ABOUT]
        return [*quads, *unnamed(facts), *self.labels(facts)]

    def labels(self, facts: Sequence[ox.Quad], graphs: bool = True) -> list[ox.Quad]:
        """The rdfs:label, in the graph LABELS, of these facts' `graphs` and of gumption's entities and relations."""
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        # Column by column, because most terms of many facts come many times. Dicts are sets that keep an order.
        columns = (
            ({fact.subject: None for fact in facts}, ENTITY),
            ({fact.predicate: None for fact in facts}, RELATION),
            ({fact.object: None for fact in facts}, ENTITY),
            ({fact.graph_name: None for fact in facts if graphs}, GRAPH),
        )
        labels = []
        for terms, namespace in columns:
            for term in terms:
                if term in self._seen or not isinstance(term, ox.NamedNode):
                    continue
                self._seen.add(term)
                if namespace == GRAPH or term.value.startswith(namespace):
                    labels.append(label_quad(term, namespace))
        return labels


def namespace_of(name: ox.NamedNode) -> str:
    """In which of gumption's namespaces an entity or a relation is."""
    return RELATION if name.value.startswith(RELATION) else ENTITY


def label_quad(name: ox.NamedNode, namespace: str) -> ox.Quad:
    """The statement of a name's rdfs:label in the graph LABELS."""
    return ox.Quad(name, _LABEL, ox.Literal(iri_to_label(name.value, namespace)), _LABELS)


def unnamed(facts: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """The same facts in the default graph."""
    return (ox.Quad(subject, predicate, object_) for subject, predicate, object_, _ in facts)


_LABEL, _LABELS, _ABOUT = (ox.NamedNode(iri) for iri in (RDFS_LABEL, LABELS, ABOUT))
