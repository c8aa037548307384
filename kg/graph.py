"""KnowledgeGraph: facts as triples of labels in named graphs, in memory, on disk or at a SPARQL endpoint."""

import hashlib
import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError

from .about import annotation_update, iri_to_key
from .files import DEFAULT_GRAPH, Quads, label_quads, read_facts, write_facts
from .sparql import bind, keywords, mentions_labels, variable_namespaces
from .stores import Answer, EndpointStore, LocalStore, Store
from .vocabulary import (
    ABOUT,
    ENTITY,
    GRAPH,
    LABELS,
    RELATION,
    RESERVED,
    UNION,
    Triple,
    Vocabulary,
    iri_to_label,
    label_to_iri,
    object_to_term,
    term_to_label,
    unknown_label,
)

if TYPE_CHECKING:
    import networkx
    import rdflib
    from pykeen.triples import TriplesFactory

_XSD = "http://www.w3.org/2001/XMLSchema#"
_PYTHON = {
    _XSD + "integer": int,
    _XSD + "decimal": float,
    _XSD + "double": float,
    _XSD + "float": float,
    _XSD + "boolean": {"true": True, "1": True, "false": False, "0": False}.__getitem__,
}


class KnowledgeGraph:
    """Facts `(subject, relation, object)`, three labels each, in named graphs.

    `KnowledgeGraph()` keeps them in memory, `KnowledgeGraph("runs/kg")` in that folder (Oxigraph; one process at a
    time), `KnowledgeGraph("http://host/query", update="http://host/update")` at a SPARQL 1.1 endpoint. The methods are
    the same for all three. vocabulary.py says how labels become IRIs, and how facts with other IRIs and with literals
    look as labels. The rdfs:label of each name is kept too, in a reserved graph that is not counted among the facts.

    Where a method takes `graph`, it is a graph's name, and None stands for the union of all named graphs, in which a
    fact that several graphs hold counts once. Nothing here depends on the order in which facts were added.

    A graph on disk is closed by `close()` or at the end of a `with` block. Raises InputError for an address that
    cannot be opened; every method raises InputError when an endpoint does not answer as one.
    """

    def __init__(self, location: str | os.PathLike[str] | None = None, *, update: str | None = None) -> None:
        remote = isinstance(location, str) and location.startswith(("http://", "https://"))
        if update is not None and not remote:
            raise InputError(f"update={update!r} goes with the http address of an endpoint, not with {location!r}")
        if remote:
            self._store: Store = EndpointStore(str(location), update)
        else:
            self._store = LocalStore(None if location is None else Path(location))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], location: str | os.PathLike[str] | None = None, *, update: str | None = None
    ) -> Self:
        """The facts of a .nq, .trig, .ttl or .tsv file, added to the graph at `location` (a new one in memory if None).

        The whole file is read before anything is added. Raises InputError with file and line for a broken one.
        """
        graph = cls(location, update=update)
        try:
            graph.load_file(path)
        except InputError:
            graph.close()
            raise
        return graph

    def load_file(self, path: str | os.PathLike[str], graph: str | None = None, *, skip_bad: int = 0) -> int:
        """Add the facts of a .nq, .trig, .ttl or .tsv file; how many of them the graph did not have yet.

        Facts that the file puts in no named graph go to `graph`, "default" where it is None.
        """
        return self._insert(read_facts(Path(path), DEFAULT_GRAPH if graph is None else graph))

    def annotate(self, name: str, about: Mapping[str, str]) -> None:
        """Say something about a named graph: source, license, attribution, title, ... -> text.

        What was said under the same keys is replaced, the rest stays. It is kept beside the facts and not counted among
        them, and travels into files.
        """
        self._store.update(annotation_update(name, about))

    def annotations(self, name: str) -> dict[str, str]:
        """What `annotate` said about a named graph, sorted by key; empty where nothing was said."""
        rows = self._select(f"SELECT ?key ?text {{ <{label_to_iri(name, GRAPH)}> ?key ?text }}", [ABOUT], [])
        return dict(sorted((iri_to_key(row["key"].value), row["text"].value) for row in rows))

    def content_hash(self, graph: str | None = None) -> str:
        """sha256 (hex) of the facts as a set: the same for the same facts, whatever holds them and in any order.

        The sum of the facts' own sha256, modulo 2**256, is what is hashed with their number: enough to tell contents
        apart, and no defence against someone who forges a graph.
        """
        facts = list(self.triples(graph=graph))
        total = sum(int.from_bytes(hashlib.sha256("\t".join(fact).encode()).digest()) for fact in facts)
        return hashlib.sha256(f"{len(facts)} {total % 2**256}".encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all facts to a .nq, .trig, .ttl or .tsv file, sorted; the file appears when it is complete.

        Turtle (.ttl) has no named graphs and holds their union.
        """
        path = Path(path)
        if path.suffix == ".ttl":
            write_facts(path, {DEFAULT_GRAPH: self.triples()})
        else:
            write_facts(path, {name: self.triples(graph=name) for name in self.graphs()})

    def add(self, triples: Iterable[Triple], graph: str = DEFAULT_GRAPH) -> int:
        """Add facts to a named graph; how many of them it did not have yet.

        All are checked before the first is written. In memory and on disk they are written at once or not at all; at
        an endpoint in requests of 5,000, so that after an error the same call can be made again.
        Raises InputError for a row that is not three labels.
        """
        return self._insert(self._quads(triples, graph))

    def remove(self, triples: Iterable[Triple], graph: str | None = None) -> int:
        """Remove facts from a named graph, or from each one that has them; how many there were, counted per graph."""
        rows = list(triples)
        names = list(self.graphs()) if graph is None else [graph]
        return self._store.delete([quad for name in names for quad in self._quads(rows, name)])

    def triples(
        self, subject: str | None = None, relation: str | None = None, object: str | None = None,
        graph: str | None = None,
    ) -> Iterator[Triple]:  # fmt: skip
        """The facts that have these labels where one is given, sorted, each once."""
        vocabulary, ids = self._read(subject, relation, object, graph)
        return iter(vocabulary.ids_to_triples(ids))

    def arrays(self, graph: str | None = None) -> tuple[Vocabulary, np.ndarray]:
        """The facts as ids: a vocabulary of their sorted labels, and (n, 3) int64 rows in sorted order.

        Raises InputError for the name of a graph that has no facts while others have.
        """
        vocabulary, ids = self._read(None, None, None, graph)
        if graph is not None and not len(ids) and (known := self.graphs()):
            raise InputError(f"{unknown_label('graph', graph, known)} (there are: {', '.join(known)})")
        return vocabulary, ids

    def query(self, sparql: str, /, **labels: str | float) -> Any:
        """The answer to a SPARQL query over the union of all named graphs.

        SELECT gives a list of dicts, variable -> label or value (None where unbound), sorted unless the query orders
        them; ASK a bool; CONSTRUCT and DESCRIBE a sorted list of label triples. The prefixes gum: (relations), ent:
        (entities), rdf:, rdfs: and prov: are declared. `GRAPH ?g { ... }` gives graphs by name; a query with FROM sees
        what that says instead of the union. A query that mentions rdfs:label also sees the labels.

        Each keyword binds a variable to a label: that of a relation where the variable is a predicate in the query,
        of a graph where it follows GRAPH, else of an entity. A number or a bool is bound as a literal.

        Raises InputError for a query that does not parse, with its line, and for a keyword that is no variable of it.
        """
        text = bind(sparql, self._terms(sparql, labels)) if labels else sparql
        words = keywords(text)
        try:
            if "FROM" in words:
                answer = self._store.query(text)
            else:
                default, named = self._graph_iris()
                labels_too = [LABELS] if mentions_labels(text) else []
                answer = self._store.query(text, default + labels_too, named + labels_too)
            return _plain(answer, ordered="ORDER" in words)
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None

    def graphs(self) -> dict[str, int]:
        """The name of each named graph that has facts -> how many, sorted by name."""
        rows = self._select("SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", *self._graph_iris())
        counts = {term_to_label(row["g"], GRAPH): int(row["n"].value) for row in rows if row["g"] is not None}
        return dict(sorted(counts.items()))

    def __len__(self) -> int:
        """How many facts the union of all named graphs has."""
        default, named = self._graph_iris()
        facts = "?s ?p ?o" if default == [UNION] else "SELECT DISTINCT ?s ?p ?o { ?s ?p ?o }"
        return int(next(self._select(f"SELECT (COUNT(*) AS ?n) {{ {facts} }}", default, named))["n"].value)

    def to_networkx(self, graph: str | None = None) -> "networkx.MultiDiGraph":
        """The facts as a directed multigraph: labels as nodes, one edge a fact, its key and `relation` the relation."""
        import networkx

        vocabulary, ids = self.arrays(graph)
        result = networkx.MultiDiGraph()
        result.add_nodes_from(vocabulary.entities)
        for subject, relation, object_ in vocabulary.ids_to_triples(ids):
            result.add_edge(subject, object_, key=relation, relation=relation)
        return result

    def to_triples_factory(self, graph: str | None = None) -> "TriplesFactory":
        """The facts as a PyKEEN TriplesFactory with the ids of `arrays`."""
        import torch
        from pykeen.triples import TriplesFactory

        vocabulary, ids = self.arrays(graph)
        return TriplesFactory(
            mapped_triples=torch.from_numpy(ids),
            entity_to_id={label: index for index, label in enumerate(vocabulary.entities)},
            relation_to_id={label: index for index, label in enumerate(vocabulary.relations)},
        )

    @property
    def dataset(self) -> "rdflib.Dataset":
        """The same store as an rdflib Dataset, for programs that take one.

        Its graph `urn:gumption:union` has each fact once. Write with `add`: what is written here into a graph that
        `add` has made is not in the union.
        """
        return self._store.dataset()

    def close(self) -> None:
        """Let go of a graph on disk, so that another process can open it."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _graph_iris(self) -> tuple[list[str], list[str]]:
        """The graphs that together are the union of all, and all but the reserved ones; both sorted.

        Those that have a label were made by `_insert`, so UNION has their facts; others were made by other programs.
        """
        rows = self._select(
            f"SELECT ?g ?own {{ GRAPH ?g {{}} OPTIONAL {{ GRAPH <{LABELS}> {{ ?g rdfs:label ?own }} }} }}"
        )
        own = {row["g"].value: row["own"] is not None for row in rows if isinstance(row["g"], ox.NamedNode)}
        named = sorted(own.keys() - RESERVED)
        return [UNION] * any(own.values()) + [iri for iri in named if not own[iri]], named

    def _select(
        self, sparql: str, default: list[str] | None = None, named: list[str] | None = None
    ) -> ox.QuerySolutions:
        answer = self._store.query(sparql, default, named)
        assert isinstance(answer, ox.QuerySolutions)
        return answer

    def _insert(self, facts: list[ox.Quad]) -> int:
        default, _ = self._graph_iris()
        names = {str(fact.graph_name) for fact in facts}
        for iri in default:
            if f"<{iri}>" in names:  # until now another program's graph
                self._store.update(f"ADD GRAPH <{iri}> TO GRAPH <{UNION}>")
        return self._store.insert(facts, label_quads(facts))

    def _quads(self, triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
        if label_to_iri(graph, GRAPH) in RESERVED:
            raise InputError(f"the graph {graph!r} is reserved: choose another name")
        rows = list(triples)
        for number, row in enumerate(rows):
            if isinstance(row, str) or len(row) != 3 or not all(isinstance(label, str) and label for label in row):
                raise InputError(f"triple {number}: expected three labels (subject, relation, object), got {row!r}")
        return Quads()(rows, graph)

    def _terms(self, sparql: str, labels: dict[str, Any]) -> dict[str, str]:
        namespaces = variable_namespaces(sparql)
        terms = {}
        for name, label in labels.items():
            if name not in namespaces:
                raise InputError(
                    f"the query has no variable ?{name} to bind: {unknown_label('variable', name, namespaces)}"
                )
            if not isinstance(label, str):
                terms[name] = str(ox.Literal(label))
            elif namespaces[name] == ENTITY:
                terms[name] = str(object_to_term(label))
            else:
                terms[name] = f"<{label_to_iri(label, namespaces[name])}>"
        return terms

    def _read(
        self, subject: str | None, relation: str | None, object_: str | None, graph: str | None
    ) -> tuple[Vocabulary, np.ndarray]:
        """The sorted labels of the matching facts and (n, 3) int64 rows of ids, sorted."""
        given = {
            "s": None if subject is None else f"<{label_to_iri(subject, ENTITY)}>",
            "p": None if relation is None else f"<{label_to_iri(relation, RELATION)}>",
            "o": None if object_ is None else str(object_to_term(object_)),
        }
        default = self._graph_iris()[0] if graph is None else [label_to_iri(graph, GRAPH)]
        shown = " ".join(f"({term} AS ?{name})" if term else f"?{name}" for name, term in given.items())
        pattern = " ".join(term or f"?{name}" for name, term in given.items())
        table = self._select(f"SELECT {shown} {{ {pattern} }}", default, []).serialize(format=ox.QueryResultsFormat.TSV)
        assert table is not None
        # Python strings are made for distinct terms only; everything per row happens on bytes and in NumPy.
        fields = table[table.index(b"\n") + 1 :].replace(b"\n", b"\t").split(b"\t")[:-1]
        (entities, subjects, objects), (relations, predicates) = (
            _number([fields[0::3], fields[2::3]], ENTITY), _number([fields[1::3]], RELATION)
        )  # fmt: skip
        # One number a row: sorts and finds repeated rows (of other programs' graphs) several times faster than three.
        # It fits into 63 bits for a billion entities.
        many, kinds = max(len(entities), 1), max(len(relations), 1)
        keys = np.sort((subjects * kinds + predicates) * many + objects)
        keys = keys[np.diff(keys, prepend=-1) > 0]
        ids = np.stack([keys // (kinds * many), keys // many % kinds, keys % many], axis=1)
        return Vocabulary(entities, relations), ids


def _number(columns: list[list[bytes]], namespace: str) -> tuple[Any, ...]:
    """The sorted labels of the terms in some columns, then per column the (n,) int64 places of its terms in them."""
    codes: defaultdict[bytes, int] = defaultdict(itertools.count().__next__)  # a new term gets the next number
    coded = [np.fromiter(map(codes.__getitem__, column), np.int64, len(column)) for column in columns]
    labels = _labels(list(codes), namespace)
    names = sorted(set(labels))
    place = {label: index for index, label in enumerate(names)}
    places = np.fromiter((place[label] for label in labels), np.int64, len(labels))
    return names, *(places[column] for column in coded)


def _labels(terms: list[bytes], namespace: str) -> list[str]:
    """The labels of terms as they stand in a TSV answer."""
    others = [term for term in terms if not term.startswith(b"<")]
    answer = ox.parse_query_results(b"?x\n" + b"".join(term + b"\n" for term in others), ox.QueryResultsFormat.TSV)
    assert isinstance(answer, ox.QuerySolutions)
    texts = iter([str(row["x"]) for row in answer])
    return [iri_to_label(t[1:-1].decode(), namespace) if t.startswith(b"<") else next(texts) for t in terms]


def _plain(answer: Answer, ordered: bool) -> Any:
    """An answer in labels and Python values."""
    if isinstance(answer, ox.QueryBoolean):
        return bool(answer)
    if isinstance(answer, ox.QuerySolutions):
        names = [variable.value for variable in answer.variables]
        rows = [{name: _value(row[name]) for name in names} for row in answer]
        return rows if ordered else sorted(rows, key=lambda row: [str(value) for value in row.values()])
    found = {(term_to_label(t.subject), term_to_label(t.predicate, RELATION), term_to_label(t.object)) for t in answer}
    return sorted(found)


def _value(term: Any) -> Any:
    if isinstance(term, ox.Literal):
        try:
            return _PYTHON.get(term.datatype.value, str)(term.value)
        except (KeyError, ValueError):  # such as "many"^^xsd:integer
            return term.value
    if isinstance(term, ox.NamedNode):
        namespace = next((ns for ns in (ENTITY, RELATION, GRAPH) if term.value.startswith(ns)), ENTITY)
        return iri_to_label(term.value, namespace)
    return None if term is None else str(term)
