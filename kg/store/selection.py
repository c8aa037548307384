"""Which facts of a store match, and which graphs they are read from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias, TypeVar

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import (
    ABOUT,
    ENTITY,
    GRAPH,
    LABELS,
    RELATION,
    RESERVED,
    UNION,
    Triple,
    Vocabulary,
    label_to_iri,
    object_to_term,
    term_to_label,
)

from .answers import Answer, Rows, to_arrays
from .files import DEFAULT_GRAPH
from .limits import Limits
from .quads import uncollected
from .sparql import keywords, mentions_labels, refuse_bomb, syntax_error
from .stores import Store
from .union_query import Sources, over
from .updates import BASE

T = TypeVar("T")
Dataset: TypeAlias = "tuple[Sequence[str] | None, Sequence[str] | None]"  # seen without GRAPH, and with it

SORTED = 20_000  # facts that are sorted before the first of them is given
_DEFAULT_IRI = label_to_iri(DEFAULT_GRAPH, GRAPH)


@dataclass(frozen=True)
class Graphs:
    """The graphs of a store, by IRI.

    :ivar named: all but the reserved ones, sorted.
    :ivar foreign: those among them that other programs made: the default graph need not have their facts.
    :ivar beside: those whose facts the default graph need not have: the foreign ones and the base.
    :ivar ours: whether any of them was made here, so that the default graph has its facts.
    :ivar unnamed: whether the default graph has facts of other programs only, and is one more graph.
    :ivar merged: whether the server shows the facts of all graphs as its default graph, the reserved ones included.
    :ivar old_union: whether the facts are in the graph UNION and not in the default graph, as older versions had it.
    """

    named: list[str]
    foreign: list[str]
    beside: list[str]
    ours: bool
    unnamed: bool
    merged: bool
    old_union: bool


class Selection:
    """Reads a store; a graph is named by its label, and None stands for the union of all graphs."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        """:param refresh: is called before anything is read of a store whose default graph is out of date."""
        self._store, self._refresh = store, refresh

    def graphs(self) -> Graphs:
        """The graphs of the store as it is now."""
        if self._store.stale:
            self._refresh()
        rows = self.select(
            f"SELECT ?g ?own ?base {{ {{ GRAPH ?g {{}} OPTIONAL {{ GRAPH <{LABELS}> {{ ?g rdfs:label ?own }} }} "
            f"OPTIONAL {{ GRAPH <{LABELS}> {{ ?g <{BASE}> ?base }} }} }} "
            "UNION { SELECT ?any { ?any ?p ?o } LIMIT 1 } }"
        )
        found: dict[str, ox.QuerySolution] = {}
        filled = False
        for row in rows:
            if isinstance(row["g"], ox.NamedNode):
                found[row["g"].value] = row
            filled |= row["g"] is None
        named = sorted(found.keys() - RESERVED)
        foreign = [iri for iri in named if found[iri]["own"] is None]
        base = [iri for iri in named if found[iri]["own"] is not None and found[iri]["base"] is not None]
        ours = len(foreign) < len(named)
        merged = bool(named) and (self._store.merged() if ours else not self._store.near and self._is_merged())
        return Graphs(named, foreign, base + foreign, ours, filled and not ours, merged, UNION in found)

    def _is_merged(self) -> bool:
        """Whether the default graph has what other programs put into named graphs, by the first facts of them."""
        some = "SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } LIMIT 100"
        return not self._store.query(f"ASK {{ {{ {some} }} FILTER NOT EXISTS {{ ?s ?p ?o }} }}")

    def answer(self, sparql: str, limits: Limits, read: Callable[[Answer], T], dataset: Dataset) -> T:
        """What `read` makes of the answer to somebody's query; the dataset is the union where nobody names another."""
        asked = sparql
        if dataset == (None, None) and "FROM" not in keywords(sparql):
            asked, dataset = self._united(sparql)
        try:
            # The answer has no name here: rdflib's parser keeps its callers' frames alive, and Oxigraph's answers have
            # to end in the thread that asked.
            return read(self._store.query(asked, *dataset, limits=limits))
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None
        except InputError:
            if asked != sparql and (reason := syntax_error(sparql)):
                raise InputError(reason) from None
            raise

    def _united(self, sparql: str) -> tuple[str, Dataset]:
        """A query over the union of all graphs, in which each fact counts once, and the dataset that it needs.

        Raises InputError where an endpoint cannot be asked for all of its facts at once.
        """
        graphs, labels = self.graphs(), mentions_labels(sparql)
        also = [LABELS] if labels else []
        named = graphs.named + also
        if graphs.old_union:
            return sparql, ([UNION, *graphs.foreign, *also], named)
        default = graphs.ours or graphs.unnamed
        sources = Sources(default, graphs.beside + also, labels=labels and not graphs.beside)
        if self._store.near:
            # FROM serves as well as long as no two places of facts can share one.
            apart = default + len(graphs.foreign) < 2 and not (labels and self._has_labels(graphs))
            whole = ["", *graphs.beside, *also]
        else:
            apart = graphs.merged or default + len(sources.named) < 2
            whole = named if graphs.named and (graphs.merged or sources.named) else [""]
        if not apart and (asked := over(sparql, sources)) is not None:
            refuse_bomb(asked)
            return asked, ([""], named)
        if whole == named and graphs.unnamed and not graphs.merged:
            raise InputError(
                "the endpoint has facts in its default graph and in named graphs, and cannot be asked for both at once "
                "by DESCRIBE, CONSTRUCT WHERE or a path with *, +, ? or !: call refresh() on a KnowledgeGraph opened "
                "with update=..., or name graphs with GRAPH or FROM"
            )
        return sparql, (whole, named)

    def _has_labels(self, graphs: Graphs) -> bool:
        """Whether an rdfs:label is among the facts of a local store."""
        return bool(self._store.query("ASK { ?any rdfs:label ?label }", ["", *graphs.beside], []))

    def adopt(self, iris: Iterable[str]) -> None:
        """Before anything is written: take over the default graph, and other programs' graphs among these."""
        graphs = self.graphs()
        if graphs.old_union:
            self._refresh()
            graphs = self.graphs()
        left = set(graphs.foreign).intersection(iris)
        if not self._store.near:  # a folder that a server serves: an endpoint keeps no base
            left.update(set(graphs.beside).difference(graphs.foreign))
        if left or graphs.unnamed:
            self._store.adopt(sorted(left), graphs.unnamed, graphs.merged)

    def select(self, sparql: str) -> ox.QuerySolutions | Rows:
        answer = self._store.query(sparql)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def where(self, pattern: str, graph: str | None = None) -> tuple[str, bool]:
        """The SPARQL for what matches a pattern in a graph, or in all; and whether it may give a row more than once.

        It says itself which graphs it reads, because not every server takes the dataset from the request.
        """
        if graph is not None and graph != DEFAULT_GRAPH:
            return f"GRAPH <{label_to_iri(graph, GRAPH)}> {{ {pattern} }}", False
        graphs = self.graphs()
        named = f"GRAPH <{_DEFAULT_IRI}> {{ {pattern} }}"
        if graph is None:
            return self._union(pattern, graphs)
        if not graphs.unnamed:
            return named, False
        apart = f" FILTER NOT EXISTS {{ GRAPH ?any {{ {pattern} }} }}" if graphs.merged else ""
        if _DEFAULT_IRI not in graphs.named:
            return pattern + apart, False
        return f"{{ {pattern}{apart} }} UNION {{ {named} }}", True

    def _union(self, pattern: str, graphs: Graphs) -> tuple[str, bool]:
        if graphs.merged:
            hidden = " ".join(f"FILTER NOT EXISTS {{ GRAPH <{iri}> {{ {pattern} }} }}" for iri in (LABELS, ABOUT))
            return f"{pattern} {hidden}", True
        first = f"GRAPH <{UNION}> {{ {pattern} }}" if graphs.old_union else pattern
        beside = graphs.foreign if graphs.old_union else graphs.beside
        if not beside:
            return first, False
        among = ", ".join(f"<{iri}>" for iri in beside)
        others = f"GRAPH ?g {{ {pattern} }} FILTER(?g IN ({among}))"
        if len(beside) == 1:
            others = f"GRAPH <{beside[0]}> {{ {pattern} }}"
        return f"{{ {first} }} UNION {{ {others} }}", bool(graphs.foreign) or not self._store.near

    def counts(self) -> dict[str, int]:
        """The name of each graph that has facts -> how many, sorted by name."""
        graphs = self.graphs()
        counts: dict[str, int] = {}
        if graphs.named:
            names = " ".join(f"<{iri}>" for iri in graphs.named)
            rows = self.select(
                f"SELECT ?g (COUNT(*) AS ?n) {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }} GROUP BY ?g"
            )
            counts = {term_to_label(row["g"], GRAPH): int(row["n"].value) for row in rows if row["g"] is not None}
        if graphs.unnamed and (number := self.count(DEFAULT_GRAPH)):
            counts[DEFAULT_GRAPH] = number
        return dict(sorted(counts.items()))

    def count(self, graph: str | None = None) -> int:
        """How many facts a graph has, or the union of all."""
        where, repeats = self.where("?s ?p ?o", graph)
        rows = f"SELECT DISTINCT ?s ?p ?o {{ {where} }}" if repeats else where
        return sum(int(row["n"].value) for row in self.select(f"SELECT (COUNT(*) AS ?n) {{ {rows} }}"))

    def triples(
        self, subject: str | None, relation: str | None, object_: str | None, graph: str | None
    ) -> Iterator[Triple]:
        """The matching facts as labels, each once; sorted where they are few."""
        given = _terms(subject, relation, object_)
        rows = iter(self.facts(given, graph))
        labels: dict[tuple[object, str], str] = {}

        def label(term: object, namespace: str) -> str:
            key = (term, namespace)
            if key not in labels:
                if len(labels) >= SORTED:
                    labels.clear()
                labels[key] = term_to_label(term, namespace)
            return labels[key]

        found = ((label(row[0], ENTITY), label(row[1], RELATION), label(row[2], ENTITY)) for row in rows)
        if self._store.near and not any(given.values()) and self._are_many(graph):
            return found
        first = list(islice(found, SORTED))
        return iter(sorted(first)) if len(first) < SORTED else chain(first, found)

    def _are_many(self, graph: str | None) -> bool:
        """Whether a graph has more than SORTED facts, which a local store counts without looking up a term."""
        where, _ = self.where("?s ?p ?o", graph)
        [row] = self.select(f"SELECT (COUNT(*) AS ?n) {{ SELECT ?s {{ {where} }} LIMIT {SORTED + 1} }}")
        return int(row["n"].value) > SORTED

    def read(self, graph: str | None) -> tuple[Vocabulary, np.ndarray]:
        """The sorted labels of the facts and (n, 3) int64 rows of ids, sorted."""
        if not self._store.near:
            return to_arrays([(None, self.facts({}, graph))])
        # Relation by relation: a local store looks up each term that it answers with, and this spares a third.
        where, _ = self.where("?s ?p ?o", graph)
        relations = [str(row["p"]) for row in self.select(f"SELECT DISTINCT ?p {{ {where} }}")]
        with uncollected():
            return to_arrays((term, self.facts({"p": term}, graph, "?s ?o")) for term in relations)

    def facts(
        self, given: Mapping[str, str | None], graph: str | None, columns: str = "?s ?p ?o"
    ) -> ox.QuerySolutions | Rows:
        """The facts that have the given terms, each once."""
        terms = {name: given.get(name) for name in ("s", "p", "o")}
        where, repeats = self.where(" ".join(term or f"?{name}" for name, term in terms.items()), graph)
        for name, term in terms.items():
            columns = columns.replace(f"?{name}", f"({term} AS ?{name})" if term else f"?{name}")
        return self.select(f"SELECT {'DISTINCT ' if repeats else ''}{columns} {{ {where} }}")


def _terms(subject: str | None, relation: str | None, object_: str | None) -> dict[str, str | None]:
    return {
        "s": None if subject is None else f"<{label_to_iri(subject, ENTITY)}>",
        "p": None if relation is None else f"<{label_to_iri(relation, RELATION)}>",
        "o": None if object_ is None else str(object_to_term(object_)),
    }
