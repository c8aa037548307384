"""Changes of a store as SPARQL updates."""

from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from gumption.kg.vocabulary import RESERVED, UNION

_RESERVED = ", ".join(f"<{iri}>" for iri in sorted(RESERVED))


def insertion(quads: Iterable[ox.Quad]) -> str:
    """Adds these quads."""
    return f"INSERT DATA {{\n{_data(quads)}\n}}"


def removal(facts: Sequence[ox.Quad]) -> str:
    """Removes these facts, also from UNION where no other graph has them."""
    rows = "\n".join(f"({fact.subject} {fact.predicate} {fact.object})" for fact in facts)
    return f"""DELETE DATA {{\n{_data(facts)}\n}} ;
        DELETE {{ GRAPH <{UNION}> {{ ?s ?p ?o }} }} WHERE {{
          VALUES (?s ?p ?o) {{ {rows} }}
          FILTER NOT EXISTS {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED})) }}
        }}"""


def adoption(graph: str) -> str:
    """Copies a graph that another program wrote into UNION."""
    return f"ADD GRAPH <{graph}> TO GRAPH <{UNION}>"


def renewal() -> str:
    """Makes UNION anew from the named graphs."""
    return f"""CLEAR SILENT GRAPH <{UNION}> ;
        INSERT {{ GRAPH <{UNION}> {{ ?s ?p ?o }} }}
        WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN ({_RESERVED})) }}"""


def _data(quads: Iterable[ox.Quad]) -> str:
    return "\n".join(f"GRAPH {q.graph_name} {{ {q.subject} {q.predicate} {q.object} }}" for q in quads)
