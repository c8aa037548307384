"""Changes of a store as SPARQL updates.

The default graph of a store has each fact of its named graphs once. A local store may leave out the facts of one graph,
its base. Where `copied` is false, the server shows all graphs as its default graph, and nothing has to be copied there.
"""

from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from gumption.kg.vocabulary import ABOUT, GRAPH, LABELS, RDFS_LABEL, RESERVED, UNION, label_to_iri

from .files import DEFAULT_GRAPH
from .quads import label_quad

#: In the graph LABELS: which graph is the base.
BASE = "urn:gumption:base"

_RESERVED = ", ".join(f"<{iri}>" for iri in sorted(RESERVED))
_UNNAMED = f"<{label_to_iri(DEFAULT_GRAPH, GRAPH)}>"


def insertion(quads: Iterable[ox.Quad]) -> str:
    """Adds these quads."""
    return f"INSERT DATA {{\n{_data(quads)}\n}}"


def removal(facts: Sequence[ox.Quad], base: ox.NamedNode | None = None) -> str:
    """Removes these facts; the default graph then has those that other graphs still have, and no more of them."""
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
    """Labels a graph that another program wrote, and copies it into the default graph; it is no base any more."""
    label = f"{insertion([label_quad(ox.NamedNode(graph), GRAPH)])} ;\n{_no_base(f'<{graph}>')}"
    return f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }} ;\n{label}" if copied else label


def naming(alone: bool = True) -> str:
    """Copies what other programs put into the default graph, or there `alone`, into a named graph."""
    only = "FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } }" if alone else ""
    label = f'{_UNNAMED} <{RDFS_LABEL}> "{DEFAULT_GRAPH}"'
    return f"""INSERT {{ GRAPH {_UNNAMED} {{ ?s ?p ?o }} GRAPH <{LABELS}> {{ {label} }} }}
        WHERE {{ ?s ?p ?o {only} }}"""


def bare() -> str:
    """Leaves in the default graph only what no named graph has."""
    return "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"


def renewal(copied: bool = True) -> str:
    """Puts each fact of the named graphs into the default graph, and what was there alone into a named graph."""
    copies = f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED})) }}"
    return f"""DROP SILENT GRAPH <{UNION}> ;
        {naming()} ;
        {_no_base("?g")} ;
        {copies if copied else ""}"""


def _no_base(graph: str) -> str:
    return f"DELETE WHERE {{ GRAPH <{LABELS}> {{ {graph} <{BASE}> ?true }} }}"


def thinning(graph: str) -> str:
    """Removes from the default graph what this graph has and no other one."""
    others = f"GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN (<{graph}>, {_RESERVED}))"
    return f"DELETE {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} FILTER NOT EXISTS {{ {others} }} }}"


def forgetting(graph: str) -> str:
    """Removes what is said about a graph: its label, that it is the base, and statements about it."""
    return " ;\n".join(f"DELETE WHERE {{ GRAPH <{about}> {{ <{graph}> ?key ?text }} }}" for about in (LABELS, ABOUT))


def dropping(graph: str, copied: bool = True) -> str:
    """Removes a graph with what is said about it, and from the default graph what no other one has."""
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
