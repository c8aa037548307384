"""Random RDF for tests, and whether two collections of RDF terms are equal up to the names of their blank nodes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from random import Random

import pyoxigraph as ox
from hypothesis import strategies as st

from gumption.kg.vocabulary import RDFS_LABEL

X, XSD, OWN = "http://x.org/", "http://www.w3.org/2001/XMLSchema#", "urn:gumption:graph:default"
Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple

# ---- Equality up to the names of blank nodes


def isomorphic(left: Iterable[Sequence[Term | None]], right: Iterable[Sequence[Term | None]]) -> bool:
    """Whether two multisets of rows of terms are equal, numbers by value and blank nodes up to their names."""
    return _canonical(left) == _canonical(right)


def _canonical(rows: Iterable[Sequence[Term | None]]) -> ox.Dataset:
    """The rows as triples (row, position, term): one node for equal rows, with their number."""
    dataset = ox.Dataset()
    for row, number in Counter(tuple(map(by_value, row)) for row in rows).items():
        node = ox.BlankNode()
        dataset.add(ox.Quad(node, ox.NamedNode("urn:number"), ox.Literal(number)))
        for position, term in enumerate(row):
            if term is not None:
                dataset.add(ox.Quad(node, ox.NamedNode(f"urn:position:{position}"), term))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def by_value(term: Term | None) -> Term | None:
    """The term, a number in a form that all numbers of its type and value have."""
    kind = term.datatype.value.removeprefix(XSD) if isinstance(term, ox.Literal) else ""
    try:
        if kind in ("integer", "decimal"):
            return ox.Literal(f"{Decimal(term.value).normalize()} {kind}")
        return ox.Literal(f"{float(term.value)!r} {kind}") if kind in ("float", "double") else term
    except (ArithmeticError, ValueError):  # such as "many"^^xsd:integer
        return term


# ---- Facts


def typed(text: str, kind: str) -> ox.Literal:
    return ox.Literal(text, datatype=ox.NamedNode(XSD + kind))


IRIS = [ox.NamedNode(iri) for iri in (f"{X}a", f"{X}b", "urn:gumption:entity:acid%20rain")]
BLANKS = [ox.BlankNode(name) for name in ("m", "n")]
NODES = [*IRIS, *BLANKS]
RELATIONS = [ox.NamedNode(iri) for iri in (f"{X}p", "urn:gumption:relation:r", RDFS_LABEL)]
NAMES = [ox.NamedNode(f"{X}g"), ox.NamedNode("urn:gumption:graph:own"), ox.BlankNode("h")]
#: The text of a number is not what Oxigraph makes of it; no two are equal, so that MIN and MAX have one answer.
LITERALS = [
    ox.Literal("a"), ox.Literal("a", language="en"), ox.Literal("<http://x.org/a>"), ox.Literal('say "a"\t\\\n\r.'),
    typed("007", "integer"), typed("5200.50", "decimal"), typed("6.1e3", "double"), typed("many", "integer"),
    typed("1", "boolean"), typed("false", "boolean"), typed("2026-01-02T03:04:05.000Z", "dateTime"),
    ox.Literal("5", datatype=ox.NamedNode(f"{X}kind")),
]  # fmt: skip
#: Drawn from one source of random numbers: hypothesis itself prefers small data, which few queries have answers on.
randoms = st.randoms(use_true_random=True)


def dataset(random: Random) -> list[ox.Quad]:
    """Quads of three named graphs and of the default graph, which share facts and blank nodes."""

    def fact(depth: int) -> ox.Triple:
        object_ = random.choice([random.choice(NODES), random.choice(LITERALS)])
        if depth and random.random() < 0.2:
            object_ = fact(depth - 1)
        return ox.Triple(random.choice(NODES), random.choice(RELATIONS), object_)

    facts = [fact(depth=2) for _ in range(random.randint(1, 25))]
    places = [*NAMES, ox.DefaultGraph()]
    quads = [ox.Quad(*each, graph) for each in facts for graph in random.sample(places, random.randint(1, 3))]
    return list(dict.fromkeys(quads))


def oracle(quads: Iterable[ox.Quad]) -> ox.Store:
    """A plain store of these quads, those of no graph in the graph "default", and their set union in no graph."""
    store = ox.Store()
    for subject, predicate, object_, graph in quads:
        name = ox.NamedNode(OWN) if isinstance(graph, ox.DefaultGraph) else graph
        store.extend([ox.Quad(subject, predicate, object_, name), ox.Quad(subject, predicate, object_)])
    return store
