"""Facts of a store that match a pattern, and the graphs that they are read from."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import (
    ABOUT,
    DEFAULT_GRAPH,
    GRAPH,
    RELATION,
    Term,
    Triple,
    Vocabulary,
    label_to_iri,
    label_to_term,
    object_to_term,
    term_to_label,
)

from .answers import Answer, Rows, to_arrays
from .limits import Limits
from .quads import Graphs, cached, uncollected, written
from .sparql import keywords
from .stores import LocalStore
from .worker import graph_term

if TYPE_CHECKING:
    from .endpoint import EndpointStore

T = TypeVar("T")
Store: TypeAlias = "LocalStore | EndpointStore"
#: The IRIs of the graphs that a query sees without GRAPH, and with it; None for no choice.
Dataset: TypeAlias = "tuple[Sequence[str] | None, Sequence[str] | None]"

SORTED = 20_000  # up to so many facts come sorted
_DEFAULT_IRI = label_to_iri(DEFAULT_GRAPH, GRAPH)


class Selection:
    """Reads a store; a graph is named by its label, and None stands for the union of all graphs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(self, sparql: str, limits: Limits, read: Callable[[Answer], T], dataset: Dataset) -> T:
        """What `read` makes of the answer to a user's query, which sees the union of all graphs unless the dataset or
        FROM names some."""
        words = keywords(sparql)
        if dataset == (None, None) and "FROM" not in words:
            dataset = self._union("GRAPH" in words)
        try:
            # The answer has no name here: rdflib's parser keeps its callers' frames alive, and Oxigraph's answers have
            # to be freed in the thread that asked.
            return read(self._store.query(sparql, *dataset, limits=limits))
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None

    def _union(self, by_name: bool) -> Dataset:
        """The dataset that shows the union of all graphs, and them `by_name`.

        :raises InputError: a store whose default graph is another.
        """
        if self._store.near and not by_name:
            return None, None
        graphs = self._store.graphs()
        if graphs.merged:
            return graphs.named, graphs.named
        if not graphs.foreign:
            return ([""], graphs.named) if by_name and graphs.about else (None, None)
        if len(graphs.named) == 1 and not graphs.unnamed:
            return graphs.named, graphs.named
        raise InputError(
            "other programs have written here, and the default graph is not the union of the named graphs: call "
            "refresh() once on a KnowledgeGraph that may write, or name graphs with GRAPH or FROM"
        )

    def select(self, sparql: str, default: Sequence[str] | None = None) -> ox.QuerySolutions | Rows:
        """The rows of a query of this package."""
        answer = self._store.query(sparql, default)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def counts(self) -> dict[str, int]:
        """The name of each graph with facts -> how many, sorted by name."""
        graphs, counts = self._store.graphs(), {}
        if self._store.near:
            labels = [term_to_label(graph_term(name), GRAPH) for name in graphs.named]
            counts = {label: number for label in labels if (number := self.count(label))}
        elif graphs.named:
            names = " ".join(f"<{iri}>" for iri in graphs.named)
            # A server may answer with a row for no graph.
            rows = self.select(
                f"SELECT ?g (COUNT(*) AS ?many) {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }} GROUP BY ?g"
            )
            counts = {term_to_label(row["g"], GRAPH): int(row["many"].value) for row in rows if row["g"] is not None}
        if graphs.unnamed and (number := self.count(DEFAULT_GRAPH)):
            counts[DEFAULT_GRAPH] = number
        return dict(sorted(counts.items()))

    def count(self, graph: str | None = None) -> int:
        """How many facts a graph has, or the union of all."""
        if isinstance(self._store, LocalStore):  # no COUNT: Oxigraph's (0.5.13) never ends where a block is damaged
            return sum(1 for _ in self._store.match((None, None, None), "" if graph is None else graph_name(graph)))
        where, distinct, default = self._where("?s ?p ?o", graph)
        rows = f"SELECT DISTINCT ?s ?p ?o {{ {where} }}" if distinct else where
        return sum(int(row["n"].value) for row in self.select(f"SELECT (COUNT(*) AS ?n) {{ {rows} }}", default))

    def triples(
        self, subject: str | Term | None, relation: str | Term | None, object_: str | Term | None, graph: str | None
    ) -> Iterator[Triple]:
        """The matching facts as labels, each once; sorted where they are few."""
        terms: list[Term | None] = [
            label_to_term(subject) if isinstance(subject, str) else subject,
            label_to_term(relation, RELATION) if isinstance(relation, str) else relation,
            object_to_term(object_) if isinstance(object_, str) else object_,
        ]
        if isinstance(terms[0], ox.Literal | ox.Triple) or not isinstance(terms[1], ox.NamedNode | None):
            return iter(())  # no fact has one there
        label, verb = cached(term_to_label), cached(partial(term_to_label, namespace=RELATION))
        found = ((label(s), verb(p), label(o)) for s, p, o in self._matches(terms, graph))
        first = list(islice(found, SORTED))
        return iter(sorted(first)) if len(first) < SORTED else chain(first, found)

    def _matches(self, terms: Sequence[Term | None], graph: str | None) -> Iterator[tuple[object, object, object]]:
        store = self._store
        if isinstance(store, LocalStore):
            for quad in store.match(terms, "" if graph is None else graph_name(graph)):
                yield quad.subject, quad.predicate, quad.object
        else:
            for row in self.facts(terms, graph):
                yield row[0], row[1], row[2]

    def read(self, graph: str | None) -> tuple[Vocabulary, np.ndarray]:
        """The sorted labels of the facts and (n, 3) int64 rows of ids, sorted."""
        if not self._store.near:
            return to_arrays([(None, self.facts((None, None, None), graph))])
        # Relation by relation: a local store looks up each term that it answers with, and this spares a third.
        where, _, default = self._where("?s ?p ?o", graph)
        relations = [row["p"] for row in self.select(f"SELECT DISTINCT ?p {{ {where} }}", default)]
        with uncollected():
            return to_arrays((str(term), self.facts((None, term, None), graph, "?s ?o")) for term in relations)

    def facts(
        self, terms: Sequence[Term | None], graph: str | None, columns: str = "?s ?p ?o"
    ) -> ox.QuerySolutions | Rows:
        """The facts with the given subject, predicate and object, each once."""
        texts = {name: None if term is None else written(term) for name, term in zip("spo", terms, strict=True)}
        where, distinct, default = self._where(" ".join(text or f"?{name}" for name, text in texts.items()), graph)
        for name, text in texts.items():
            columns = columns.replace(f"?{name}", f"({text} AS ?{name})" if text else f"?{name}")
        return self.select(f"SELECT {'DISTINCT ' if distinct else ''}{columns} {{ {where} }}", default)

    def _where(self, pattern: str, graph: str | None) -> tuple[str, bool, Sequence[str] | None]:
        """The SPARQL group for a pattern in a graph, or in all; whether it may repeat a row; and the default graph.

        At an endpoint it names the graphs that it reads, because not every server takes them from the request.
        """
        if self._store.near:
            return pattern, False, None if graph is None else [graph_name(graph)]
        graphs = self._store.graphs()
        if graph is None:
            return *_union(pattern, graphs), None
        named = f"GRAPH {written(label_to_term(graph, GRAPH))} {{ {pattern} }}"
        if graph != DEFAULT_GRAPH or not graphs.unnamed:
            return named, False, None
        apart = f" FILTER NOT EXISTS {{ GRAPH ?any {{ {pattern} }} }}" if graphs.merged else ""
        if _DEFAULT_IRI not in graphs.named:
            return pattern + apart, False, None
        return f"{{ {pattern}{apart} }} UNION {{ {named} }}", True, None


def graph_name(graph: str) -> str:
    """The IRI of the graph with this label, or "_:ID"."""
    term = label_to_term(graph, GRAPH)
    return term.value if isinstance(term, ox.NamedNode) else str(term)


def _union(pattern: str, graphs: Graphs) -> tuple[str, bool]:
    if graphs.merged:
        return f"{pattern} FILTER NOT EXISTS {{ GRAPH <{ABOUT}> {{ {pattern} }} }}", True
    if not graphs.foreign:
        return pattern, False
    return f"{{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} FILTER(?g != <{ABOUT}>) }}", True
