"""Which facts of a store match, and which graphs they are read from."""

from collections.abc import Callable, Mapping

import numpy as np
import pyoxigraph as ox

from gumption.kg.vocabulary import (
    ENTITY,
    GRAPH,
    LABELS,
    RELATION,
    RESERVED,
    UNION,
    Vocabulary,
    label_to_iri,
    object_to_term,
)

from .answers import Rows, to_arrays
from .stores import Store


class Selection:
    """Reads a store; a graph is named by its label, and None stands for the union of all named graphs."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        """:param refresh: is called before anything is read of a store whose union is out of date."""
        self._store, self._refresh = store, refresh

    def graph_iris(self) -> tuple[list[str], list[str]]:
        """The graphs that together are the union of all, and all but the reserved ones; both sorted.

        Those that have a label were made here, so UNION has their facts; others were made by other programs.
        """
        if self._store.stale:
            self._refresh()
        rows = self.select(
            f"SELECT ?g ?own {{ GRAPH ?g {{}} OPTIONAL {{ GRAPH <{LABELS}> {{ ?g rdfs:label ?own }} }} }}"
        )
        own = {row["g"].value: row["own"] is not None for row in rows if isinstance(row["g"], ox.NamedNode)}
        named = sorted(own.keys() - RESERVED)
        return [UNION] * any(own.values()) + [iri for iri in named if not own[iri]], named

    def select(self, sparql: str) -> ox.QuerySolutions | Rows:
        answer = self._store.query(sparql)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def where(self, pattern: str, graph: str | None = None) -> tuple[str, bool]:
        """The SPARQL for what matches a pattern in a graph, or in all; and whether it may give a row more than once.

        It says itself which graphs it reads, because not every server takes the dataset from the request.
        """
        iris = self.graph_iris()[0] if graph is None else [label_to_iri(graph, GRAPH)]
        if not iris:  # an endpoint without named graphs is asked as it is
            return pattern, False
        if len(iris) == 1:
            return f"GRAPH <{iris[0]}> {{ {pattern} }}", False
        among = ", ".join(f"<{iri}>" for iri in iris)
        return f"GRAPH ?g {{ {pattern} }} FILTER(?g IN ({among}))", True

    def read(
        self, subject: str | None, relation: str | None, object_: str | None, graph: str | None
    ) -> tuple[Vocabulary, np.ndarray]:
        """The sorted labels of the matching facts and (n, 3) int64 rows of ids, sorted."""
        given = {
            "s": None if subject is None else f"<{label_to_iri(subject, ENTITY)}>",
            "p": None if relation is None else f"<{label_to_iri(relation, RELATION)}>",
            "o": None if object_ is None else str(object_to_term(object_)),
        }
        if self._store.near and not any(given.values()):
            # Relation by relation: a local store looks up each term that it answers with, and this spares a third.
            where, _ = self.where("?s ?p ?o", graph)
            relations = [str(row["p"]) for row in self.select(f"SELECT DISTINCT ?p {{ {where} }}")]
            return to_arrays((term, self.facts({"p": term}, graph, "?s ?o")) for term in relations)
        return to_arrays([(None, self.facts(given, graph))])

    def facts(
        self, given: Mapping[str, str | None], graph: str | None, columns: str = "?s ?p ?o"
    ) -> ox.QuerySolutions | Rows:
        """The facts that have the given terms, each once."""
        terms = {name: given.get(name) for name in ("s", "p", "o")}
        where, repeats = self.where(" ".join(term or f"?{name}" for name, term in terms.items()), graph)
        for name, term in terms.items():
            columns = columns.replace(f"?{name}", f"({term} AS ?{name})" if term else f"?{name}")
        return self.select(f"SELECT {'DISTINCT ' if repeats else ''}{columns} {{ {where} }}")
