"""Facts as quads of terms: made from labels, copied into the default graph, and changed by SPARQL updates.

The default graph of a store has each fact of the named graphs once, so that a query without GRAPH sees their union. A
server may present all graphs as its default graph; then nothing is copied there (`copied=False`).
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

import pyoxigraph as ox

from gumption.data.tables import grouped
from gumption.kg.vocabulary import (
    ABOUT,
    BLANK,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    RELATION,
    Term,
    Triple,
    label_to_iri,
    label_to_term,
    object_to_term,
)

REMEMBERED = 200_000  # number of cached terms, so that a file of any length takes bounded memory

cached = lru_cache(REMEMBERED)
ALL = (None, None, None)  # the pattern of all facts
#: The IRIs of the graphs that a query sees without GRAPH, and with it; None for no choice.
Dataset: TypeAlias = tuple[Sequence[str] | None, Sequence[str] | None]


@dataclass(frozen=True)
class Graphs:
    """The graphs of a store, each as its IRI or, for a blank node, as "_:ID".

    :ivar named: all graphs with facts of a user, sorted.
    :ivar foreign: named graphs from other programs, whose facts may be missing from the default graph.
    :ivar unnamed: whether the default graph has facts of other programs only, so that it is a further graph.
    :ivar merged: whether the server presents the facts of all graphs as its default graph.
    :ivar about: whether there are statements about graphs.
    """

    named: list[str]
    foreign: list[str]
    unnamed: bool
    merged: bool
    about: bool


class Quads:
    """Make quads of label triples; the terms of labels are cached."""

    def __init__(self) -> None:
        self._subject, self._relation, self._graph = (
            cached(partial(label_to_term, namespace=namespace)) for namespace in (ENTITY, RELATION, GRAPH)
        )
        self._object = cached(object_to_term)

    def __call__(self, triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
        subject, relation, object_, name = self._subject, self._relation, self._object, self._graph(graph)
        return [ox.Quad(subject(s), relation(p), object_(o), name) for s, p, o in triples]  # pyright: ignore

    def one(self, subject: str, relation: str, object_: str, graph: str) -> ox.Quad:
        """Make the quad of a single fact."""
        [quad] = self([(subject, relation, object_)], graph)
        return quad


def graph_name(graph: str | None) -> str:
    """Return the IRI of the graph with this label, or "_:ID"; "" for None, the union of all graphs."""
    term = None if graph is None else label_to_term(graph, GRAPH)
    return "" if term is None else term.value if isinstance(term, ox.NamedNode) else str(term)


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable Python's garbage collector in a block: it would visit each of a million new quads, none in a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def with_copies(quads: Sequence[ox.Quad]) -> list[ox.Quad]:
    """Return the quads, each followed by the copy of its fact in the default graph.

    Queries within GRAPH skip the copies; in memory, copies stored apart would make them up to twice as slow.
    """
    facts: list[ox.Quad] = []
    for quad in quads:
        facts.append(quad)
        if quad.graph_name != _ABOUT:
            facts.append(ox.Quad(quad.subject, quad.predicate, quad.object))
    return facts


# ---- Changes of a store as SPARQL updates.
#
# An update cannot name a blank node, so that its Skolem IRI is written. An endpoint keeps the IRI; a local store turns
# it into the blank node with the function NODE.

#: In the graph ABOUT of an endpoint, `ABOUT KEPT graph`: the default graph has copies of this graph's facts.
KEPT = "urn:gumption:about:kept"
NODE = "urn:gumption:node"

_ABOUT = ox.NamedNode(ABOUT)
_UNNAMED = f"<{label_to_iri(DEFAULT_GRAPH, GRAPH)}>"
_NODES = " ".join(f"BIND(<{NODE}>(?_{name}) AS ?{name})" for name in "spog")
_OTHER = f"GRAPH ?other {{ ?s ?p ?o }} FILTER(?other != <{ABOUT}>"


#: Filter for facts of the default graph that no named graph has.
ALONE = "FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } }"


def written(term: object) -> str:
    """Return a term in the syntax of an update."""
    if isinstance(term, ox.BlankNode):
        return f"<{BLANK}{term.value}>"
    if isinstance(term, ox.Triple):
        return f"<<( {written(term.subject)} {term.predicate} {written(term.object)} )>>"
    return str(term)


def pattern(terms: Sequence[Term | None], columns: str) -> tuple[str, str]:
    """Return the pattern of facts with this subject, predicate and object, and the columns with these values filled."""
    texts = {f"?{name}": f"?{name}" if term is None else written(term) for name, term in zip("spo", terms, strict=True)}
    for name, text in texts.items():
        columns = columns if text == name else columns.replace(name, f"({text} AS {name})")
    return " ".join(texts.values()), columns


def insertion(quads: Iterable[ox.Quad], *, copied: bool = True, nodes: bool = False) -> str:
    """Write the update that adds quads, and copies of their facts.

    :param nodes: whether to turn Skolem IRIs into blank nodes.
    """
    about = [quad for quad in quads if quad.graph_name == _ABOUT]
    facts = [quad for quad in quads if quad.graph_name != _ABOUT]
    copy = "?s ?p ?o" if copied else ""
    parts = [f"INSERT DATA {{ GRAPH <{ABOUT}> {{ {_data(about)} }} }}"] if about else []
    if nodes and facts:
        parts.append(f"INSERT {{ GRAPH ?g {{ ?s ?p ?o }} {copy} }} WHERE {{ {_rows(facts, nodes)} }}")
    elif facts:
        graphs = grouped((fact.graph_name, fact) for fact in facts)
        data = [f"GRAPH {written(name)} {{\n{_data(some)}\n}}" for name, some in graphs.items()]
        parts.append(f"INSERT DATA {{\n{' '.join(data)}\n{_data(facts) if copied else ''} }}")
    return " ;\n".join(parts)


def removal(facts: Sequence[ox.Quad], *, copied: bool = True, nodes: bool = False) -> str:
    """Write the update that removes facts, and their copies unless another graph has the fact."""
    rows = _rows(facts, nodes)
    parts = [f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{ {rows} }}"]
    if copied:
        parts.append(f"DELETE {{ ?s ?p ?o }} WHERE {{ {rows} FILTER NOT EXISTS {{ {_OTHER}) }} }}")
    return " ;\n".join(parts)


def copying(graph: str) -> str:
    """Write the update that copies a graph's facts into the default graph."""
    return f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"


def naming(only: str = "") -> str:
    """Write the update that copies facts of the default graph, filtered by `only`, into the graph "default"."""
    return f"INSERT {{ GRAPH {_UNNAMED} {{ ?s ?p ?o }} }} WHERE {{ ?s ?p ?o {only} }}"


def bare() -> str:
    """Write the update that removes from the default graph the facts that a named graph has."""
    return "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"


def renewal(copied: bool = True, only: str = ALONE) -> str:
    """Write the update that makes the default graph the union of the named graphs, after `naming`."""
    copies = f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g != <{ABOUT}>) }}"
    return f"{naming(only)} ;\n{copies}" if copied else naming(only)


def thinning(graph: str) -> str:
    """Write the update that removes the copies of facts that only this graph has."""
    others = f"{_OTHER} && ?other != {graph})"
    return f"DELETE {{ ?s ?p ?o }} WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} FILTER NOT EXISTS {{ {others} }} }}"


def forgetting(graph: str) -> str:
    """Write the update that removes the statements about a graph."""
    return (
        f"DELETE WHERE {{ GRAPH <{ABOUT}> {{ {graph} ?key ?text }} }} ;\n"
        f"DELETE DATA {{ GRAPH <{ABOUT}> {{ <{ABOUT}> <{KEPT}> {graph} }} }}"
    )


def _rows(facts: Iterable[ox.Quad], nodes: bool) -> str:
    names = " ".join(f"?_{name}" if nodes else f"?{name}" for name in "spog")
    rows = " ".join(f"({' '.join(map(written, fact))})" for fact in facts)
    return f"VALUES ({names}) {{ {rows} }} {_NODES if nodes else ''}"


def _data(quads: Iterable[ox.Quad]) -> str:
    return "\n".join(f"{written(q.subject)} {q.predicate} {written(q.object)} ." for q in quads)
