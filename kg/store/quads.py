"""Facts as quads of terms: made of labels, completed by copies and labels, and changed by SPARQL updates."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import pyoxigraph as ox

from gumption.kg.vocabulary import (
    ABOUT,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    LABELS,
    RDFS_LABEL,
    RELATION,
    RESERVED,
    Triple,
    iri_to_label,
    label_to_iri,
    object_to_term,
)

REMEMBERED = 200_000  # terms, so that a file of any length takes bounded memory

K = TypeVar("K")
V = TypeVar("V")


class Remembered(dict[K, V]):
    """Key -> what `make` gives for it, made once; at `most` keys it is cleared."""

    def __init__(self, make: Callable[[K], V], most: int = REMEMBERED) -> None:
        self._make, self._most = make, most

    def __missing__(self, key: K) -> V:
        if len(self) >= self._most:
            self.clear()
        value = self[key] = self._make(key)
        return value


class Quads:
    """Makes quads of label triples; a label that comes again is not turned into a term again."""

    def __init__(self, stored: bool = True) -> None:
        """:param stored: as in `object_to_term`."""
        self._subjects, self._relations, self._graphs = (
            Remembered(partial(_named, namespace=namespace)) for namespace in (ENTITY, RELATION, GRAPH)
        )
        self._objects = Remembered(partial(object_to_term, stored=stored))

    def __call__(self, triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
        subjects, relations, objects, name = self._subjects, self._relations, self._objects, self._graphs[graph]
        return [ox.Quad(subjects[s], relations[p], objects[o], name) for s, p, o in triples]

    def one(self, subject: str, relation: str, object_: str, graph: str) -> ox.Quad:
        """The quad of one fact."""
        return ox.Quad(self._subjects[subject], self._relations[relation], self._objects[object_], self._graphs[graph])


def _named(label: str, namespace: str) -> ox.NamedNode:
    return ox.NamedNode(label_to_iri(label, namespace))


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
    """Adds to batches of facts their copies in the default graph and the rdfs:label of new names.

    A label may come twice (a store has it once); statements in the graph ABOUT stay as they are.
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


def label_quad(name: ox.NamedNode, namespace: str) -> ox.Quad:
    """The statement of a name's rdfs:label in the graph LABELS."""
    return ox.Quad(name, _LABEL, ox.Literal(iri_to_label(name.value, namespace)), _LABELS)


def unnamed(facts: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """The same facts in the default graph."""
    return (ox.Quad(subject, predicate, object_) for subject, predicate, object_, _ in facts)


_LABEL, _LABELS, _ABOUT = (ox.NamedNode(iri) for iri in (RDFS_LABEL, LABELS, ABOUT))


# ---- Changes of a store as SPARQL updates.
#
# The default graph of a store has each fact of its named graphs once. A local store may leave out the facts of one
# graph, its base. Where `copied` is false, the server shows all graphs as its default graph, and nothing is copied.


#: In the graph LABELS: which graph is the base.
BASE = "urn:gumption:base"

_RESERVED = ", ".join(f"<{iri}>" for iri in sorted(RESERVED))
_UNNAMED = f"<{label_to_iri(DEFAULT_GRAPH, GRAPH)}>"


def insertion(quads: Iterable[ox.Quad]) -> str:
    return f"INSERT DATA {{\n{_data(quads)}\n}}"


def removal(facts: Sequence[ox.Quad], base: ox.NamedNode | None = None) -> str:
    """Removes these facts, and from the default graph those of them that no other graph has."""
    parts = [
        f"DELETE DATA {{\n{_data(facts)}\n}}",
        f"""DELETE {{ ?s ?p ?o }} WHERE {{ {_values(facts)}
          FILTER NOT EXISTS {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED})) }} }}""",
    ]
    if of_base := [fact for fact in facts if fact.graph_name == base]:
        others = f"GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED}))"
        parts.append(f"INSERT {{ ?s ?p ?o }} WHERE {{ {_values(of_base)} {others} }}")
    return " ;\n".join(parts)


def withdrawal(facts: Iterable[ox.Quad]) -> str:
    """Removes these facts from the default graph."""
    return f"DELETE DATA {{\n{_data(facts)}\n}}"


def adoption(graph: str, copied: bool = True) -> str:
    """Labels another program's graph, or the base, and copies it into the default graph; it is no base any more."""
    label = f"{insertion([label_quad(ox.NamedNode(graph), GRAPH)])} ;\n{_no_base(f'<{graph}>')}"
    return f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }} ;\n{label}" if copied else label


def naming(alone: bool = True) -> str:
    """Copies other programs' facts of the default graph, or those there `alone`, into a named graph."""
    only = "FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } }" if alone else ""
    label = f'{_UNNAMED} <{RDFS_LABEL}> "{DEFAULT_GRAPH}"'
    return f"""INSERT {{ GRAPH {_UNNAMED} {{ ?s ?p ?o }} GRAPH <{LABELS}> {{ {label} }} }}
        WHERE {{ ?s ?p ?o {only} }}"""


def bare() -> str:
    """Leaves in the default graph only facts that no named graph has."""
    return "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"


def renewal(copied: bool = True) -> str:
    """Copies each fact of the named graphs into the default graph, and those that were only there into a named one."""
    copies = f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED})) }}"
    return f"""{naming()} ;
        {_no_base("?g")} ;
        {copies if copied else ""}"""


def _no_base(graph: str) -> str:
    return f"DELETE WHERE {{ GRAPH <{LABELS}> {{ {graph} <{BASE}> ?true }} }}"


def thinning(graph: str) -> str:
    """Removes from the default graph the facts of this graph that no other one has."""
    others = f"GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN (<{graph}>, {_RESERVED}))"
    return f"DELETE {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} FILTER NOT EXISTS {{ {others} }} }}"


def forgetting(graph: str) -> str:
    """Removes a graph's label, its mark as the base, and the statements about it."""
    return " ;\n".join(f"DELETE WHERE {{ GRAPH <{about}> {{ <{graph}> ?key ?text }} }}" for about in (LABELS, ABOUT))


def dropping(graph: str, copied: bool = True) -> str:
    """Removes a graph with the statements about it, and from the default graph the facts that no other one has."""
    parts = [thinning(graph)] if copied else []
    return " ;\n".join([*parts, f"DROP SILENT GRAPH <{graph}>", forgetting(graph)])


def _values(facts: Iterable[ox.Quad]) -> str:
    return f"VALUES (?s ?p ?o) {{ {' '.join(f'({fact.subject} {fact.predicate} {fact.object})' for fact in facts)} }}"


def _data(quads: Iterable[ox.Quad]) -> str:
    return "\n".join(
        f"{q.subject} {q.predicate} {q.object} ."
        if isinstance(q.graph_name, ox.DefaultGraph)
        else f"GRAPH {q.graph_name} {{ {q.subject} {q.predicate} {q.object} }}"
        for q in quads
    )
