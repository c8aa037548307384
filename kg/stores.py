"""Where a graph's quads are kept: Oxigraph in memory or on disk, or a remote SPARQL 1.1 endpoint.

Both kinds take and return pyoxigraph terms and have the same methods, which are all that KnowledgeGraph uses.

Each fact is stored twice: in its named graph, and in the graph UNION. SPARQL says that a union of graphs has each fact
once, but Oxigraph repeats a fact for each graph that has it (0.5.13), which would falsify counts and joins.
"""

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

import pyoxigraph as ox

from gumption.data import InputError

from .sparql import syntax_error
from .vocabulary import ABOUT, LABELS, PREFIXES, UNION

if TYPE_CHECKING:
    import rdflib

Answer = ox.QueryBoolean | ox.QuerySolutions | ox.QueryTriples | ox.QuadParser

TIMEOUT_S = 120  # of silence from an endpoint
BATCH = 5_000  # quads in one request: about a megabyte of text


class Store(Protocol):
    """Quads, each in a named graph."""

    def query(self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """The answer to a query whose default graph is the union of `default`, and whose GRAPH ranges over `named`.

        Where both are None, they are what the query's FROM says, else what the store makes of them.
        """
        ...

    def insert(self, facts: Sequence[ox.Quad], labels: Sequence[ox.Quad]) -> int:
        """Add both, the facts also to UNION; how many of them were new."""
        ...

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        """Remove, also from UNION what no other graph has; how many there were."""
        ...

    def update(self, sparql: str) -> None:
        """Carry out a SPARQL update."""
        ...

    def dataset(self) -> "rdflib.Dataset":
        """The same quads as an rdflib Dataset."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class LocalStore:
    """An Oxigraph store in memory (`path=None`) or in a folder, which one process at a time may hold."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None and path.is_file():
            raise InputError(f"{path} is a file: read it with KnowledgeGraph.load; a graph on disk is a folder")
        if path is not None and path.is_dir() and any(path.iterdir()) and not (path / "CURRENT").exists():
            raise InputError(f"{path} holds other files and no knowledge graph: choose a new or an empty folder")
        try:
            if path is not None:
                path.mkdir(parents=True, exist_ok=True)
            self._open: ox.Store | None = ox.Store() if path is None else ox.Store(path)
        except OSError as error:
            lock = "lock" in str(error).lower()
            hint = "it is in use: close it there first" if lock else str(error)
            raise InputError(f"cannot open the knowledge graph {path}: {hint}") from None
        self._dataset: rdflib.Dataset | None = None

    @property
    def _quads(self) -> ox.Store:
        if self._open is None:
            raise InputError("this knowledge graph is closed: open it again")
        return self._open

    def query(self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        try:
            return self._quads.query(
                sparql,
                prefixes=PREFIXES,
                default_graph=None if default is None else [ox.NamedNode(iri) for iri in default],
                named_graphs=None if named is None else [ox.NamedNode(iri) for iri in named],
            )
        except SyntaxError as error:
            raise InputError(syntax_error(sparql) or str(error)) from None

    def insert(self, facts: Sequence[ox.Quad], labels: Sequence[ox.Quad]) -> int:
        store = self._quads
        new = [quad for quad in dict.fromkeys(facts) if quad not in store]
        # One transaction: all of it or nothing.
        store.extend([*new, *_in_union(new), *(quad for quad in labels if quad not in store)])
        return len(new)

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        present = [quad for quad in dict.fromkeys(facts) if quad in self._quads]
        if present:
            self.update(_removal(present))
        return len(present)

    def update(self, sparql: str) -> None:
        self._quads.update(sparql)

    def dataset(self) -> "rdflib.Dataset":
        if self._dataset is None:
            import rdflib
            from oxrdflib import OxigraphStore

            self._dataset = rdflib.Dataset(store=OxigraphStore(store=self._quads), default_union=True)
        return self._dataset

    def close(self) -> None:
        if self._dataset is not None:
            self._dataset.close()  # it also holds the store, and the store's lock goes with its last holder
        self._dataset = self._open = None


class EndpointStore:
    """A SPARQL 1.1 endpoint: an address for queries and, where it may be written, one for updates."""

    def __init__(self, query_url: str, update_url: str | None = None) -> None:
        self.query_url = query_url
        self.update_url = update_url

    def query(self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        prefixes = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
        form = [("query", f"{prefixes}\n{sparql}")]
        form += [("default-graph-uri", iri) for iri in default or ()]
        form += [("named-graph-uri", iri) for iri in named or ()]
        accept = "application/sparql-results+json, application/sparql-results+xml;q=0.9, application/n-triples;q=0.8"
        try:
            body, media = self._post(
                self.query_url, urlencode(form).encode(), "application/x-www-form-urlencoded", accept
            )
        except urllib.error.HTTPError as error:
            raise InputError(
                (syntax_error(sparql) if error.code == 400 else None) or _refusal(self.query_url, error)
            ) from None
        try:
            if results := ox.QueryResultsFormat.from_media_type(media):
                return ox.parse_query_results(body, results)
            if rdf := ox.RdfFormat.from_media_type(media):
                return ox.parse(body, rdf)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"the answer of {self.query_url} is broken: {error}") from None
        raise InputError(
            f"{self.query_url} answered {media or 'without a content type'}, not SPARQL results: "
            "is this the address of the query service?"
        )

    def insert(self, facts: Sequence[ox.Quad], labels: Sequence[ox.Quad]) -> int:
        new = 0
        for batch in _batches(facts):
            new += len(batch) - self._count(batch)
            self.update(_insertion([*batch, *_in_union(batch)]))
        for batch in _batches(labels):
            self.update(_insertion(batch))
        return new

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        removed = 0
        for batch in _batches(facts):
            removed += self._count(batch)
            self.update(_removal(batch))
        return removed

    def update(self, sparql: str) -> None:
        if self.update_url is None:
            raise InputError(
                f"{self.query_url} was opened for queries only: give KnowledgeGraph(..., update=ADDRESS) to change it"
            )
        try:
            self._post(self.update_url, sparql.encode(), "application/sparql-update", "*/*")
        except urllib.error.HTTPError as error:
            raise InputError(_refusal(self.update_url, error)) from None

    def dataset(self) -> "rdflib.Dataset":
        import rdflib
        from rdflib.plugins.stores.sparqlstore import SPARQLUpdateStore

        store = SPARQLUpdateStore(self.query_url, self.update_url, method="POST")
        return rdflib.Dataset(store=store, default_union=True)

    def close(self) -> None:
        """Each request has its own connection: nothing is held."""

    def _count(self, batch: Sequence[ox.Quad]) -> int:
        rows = " ".join(f"({q.subject} {q.predicate} {q.object} {q.graph_name})" for q in batch)
        table = f"VALUES (?s ?p ?o ?g) {{ {rows} }}"
        answer = self.query(f"SELECT (COUNT(*) AS ?n) {{ {table} GRAPH ?g {{ ?s ?p ?o }} }}")
        assert isinstance(answer, ox.QuerySolutions)
        return int(next(answer)["n"].value)

    def _post(self, url: str, body: bytes, content_type: str, accept: str) -> tuple[bytes, str]:
        """The body and media type of the answer; HTTPError where the server refuses, InputError where none answers."""
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "gumption"}
        try:
            request = urllib.request.Request(url, data=body, headers=headers)
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                return response.read(), response.headers.get_content_type()
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise InputError(f"the SPARQL endpoint {url} does not answer ({reason}): is it running?") from None


def _refusal(url: str, error: urllib.error.HTTPError) -> str:
    body = " ".join(error.read(1000).decode(errors="replace").split())[:200]
    return f"{url} refused with HTTP {error.code} {error.reason}: {body}"


def _in_union(facts: Sequence[ox.Quad]) -> Iterator[ox.Quad]:
    union = ox.NamedNode(UNION)
    return (ox.Quad(fact.subject, fact.predicate, fact.object, union) for fact in facts)


def _insertion(quads: Sequence[ox.Quad]) -> str:
    return f"INSERT DATA {{\n{_data(quads)}\n}}"


def _removal(facts: Sequence[ox.Quad]) -> str:
    rows = "\n".join(f"({fact.subject} {fact.predicate} {fact.object})" for fact in facts)
    return f"""DELETE DATA {{\n{_data(facts)}\n}} ;
        DELETE {{ GRAPH <{UNION}> {{ ?s ?p ?o }} }} WHERE {{
          VALUES (?s ?p ?o) {{ {rows} }}
          FILTER NOT EXISTS {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?g NOT IN (<{UNION}>, <{LABELS}>, <{ABOUT}>)) }}
        }}"""


def _data(quads: Sequence[ox.Quad]) -> str:
    return "\n".join(f"GRAPH {q.graph_name} {{ {q.subject} {q.predicate} {q.object} }}" for q in quads)


def _batches(quads: Sequence[ox.Quad]) -> Iterator[list[ox.Quad]]:
    distinct = list(dict.fromkeys(quads))
    for start in range(0, len(distinct), BATCH):
        yield distinct[start : start + BATCH]
