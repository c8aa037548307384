"""A remote SPARQL 1.1 endpoint as a store of quads."""

import http.client
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import LABELS, PREFIXES

from .http import Address, Refused
from .quads import Completion
from .sparql import bounded, syntax_error
from .updates import adoption, bare, dropping, insertion, naming, removal, renewal, withdrawal

if TYPE_CHECKING:
    import rdflib

    from .quads import Answer
    from .reading import FactFile

_LABELS = ox.NamedNode(LABELS)
TIMEOUT_S = 120  # of silence from an endpoint

_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.9, application/n-triples;q=0.8"


class EndpointStore:
    """An address for queries and, where the graph may be written, one for updates.

    A user and a password before the host (`http://user:password@host/query`) are sent as basic authentication, and
    shown in no message. What KnowledgeGraph asks itself names its graphs in the query; other people's queries are sent
    with the protocol's parameters for the dataset (SPARQL 1.1 Protocol, section 2.1.4), without which a server answers
    them from its own default graph. Whole answers have to come within `timeout` seconds where it is given.
    """

    batch = 5_000  # facts in one request: about a megabyte of text
    near = False

    def __init__(self, query_url: str, update_url: str | None = None, timeout: float | None = None) -> None:
        try:
            self._query = Address(query_url)
            self._update = None if update_url is None else Address(update_url)
        except ValueError as error:
            raise InputError(f"{query_url!r} or {update_url!r} is no address of an endpoint: {error}") from None
        if self._update is not None:  # the credentials of one address go for both
            self._query.credentials = self._query.credentials or self._update.credentials
            self._update.credentials = self._update.credentials or self._query.credentials
        self._timeout = timeout
        self.stale = False
        self._merged: bool | None = None

    def query(
        self,
        sparql: str,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> "Answer":
        prefixes = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
        dataset: list[tuple[str, str | bytes]] = []
        if default == [""]:  # the protocol has no name for the server's own default graph
            sparql = bounded(sparql, named or ())
        else:
            dataset += [("default-graph-uri", iri) for iri in default or ()]
            dataset += [("named-graph-uri", iri) for iri in named or ()]
        # A form, because the names of many graphs would not fit into an address; without them the query as it is.
        body, kind = f"{prefixes}\n{sparql}".encode(), "application/sparql-query"
        if dataset:
            body, kind = urlencode([("query", body), *dataset]).encode(), "application/x-www-form-urlencoded"
        try:
            body, media = self._post(self._query, body, kind, _RESULTS, timeout)
        except Refused as error:
            raise InputError(
                (syntax_error(sparql) if error.code == 400 else None) or _refusal(self._query, error)
            ) from None
        try:
            if results := ox.QueryResultsFormat.from_media_type(media):
                return ox.parse_query_results(body, results)
            if rdf := ox.RdfFormat.from_media_type(media):
                return ox.parse(body, rdf)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"the answer of {self._query.url} is broken: {error}") from None
        raise InputError(
            f"{self._query.url} answered {media or 'without a content type'}, not SPARQL results: "
            "is this the address of the query service?"
        )

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        found = []
        for batch in self._batches(facts):
            # By number, because a server may write a literal in another way.
            rows = " ".join(f"({i} {q.subject} {q.predicate} {q.object} {q.graph_name})" for i, q in enumerate(batch))
            answer = self.query(f"SELECT ?i {{ VALUES (?i ?s ?p ?o ?g) {{ {rows} }} GRAPH ?g {{ ?s ?p ?o }} }}")
            assert isinstance(answer, ox.QuerySolutions)
            found += [batch[number] for number in sorted(int(row["i"].value) for row in answer)]
        return found

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        new = 0
        complete = Completion()
        for batch in self._batches(facts):
            present = set(self.present(batch))
            self.change((), complete(batch))
            new += len(batch) - len(present)
        return new

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        removed = 0
        for batch in self._batches(facts):
            removed += len(self.present(batch))
            self.change(batch, ())
        return removed

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        def send(added: Sequence[ox.Quad]) -> None:
            parts = [removal(removed) if self._copied else withdrawal(removed)] if removed else []
            parts += [insertion(added)] if added else []
            if parts or updates:
                self._send(" ;\n".join([*parts, *updates]))

        named = [quad for quad in added if not isinstance(quad.graph_name, ox.DefaultGraph)]
        try:
            send(added if self._copied else named)
        except InputError:
            if self._merged is not None or len(named) == len(added):
                raise
            # Some servers show all graphs as their default graph and take no facts for that one alone. Whether this is
            # such a server is seen by the labels, which are not copied.
            self._send(insertion(quad for quad in added if quad.graph_name == _LABELS))
            if not self.merged():
                raise
            send(named)

    def load(self, batches: Iterable[Sequence[ox.Quad]]) -> None:
        written = 0
        for batch in batches:
            try:
                self.change((), batch)
            except InputError as error:
                raise InputError(
                    f"{error} ({written} quads of the file were written before; the same call can be made again)"
                ) from None
            written += len(batch)

    def merged(self) -> bool:
        if self._merged is None:
            one = f"SELECT ?s ?p ?o {{ GRAPH <{LABELS}> {{ ?s ?p ?o }} }} LIMIT 1"
            self._merged = bool(self.query(f"ASK {{ {{ {one} }} ?s ?p ?o }}"))
        return self._merged

    @property
    def _copied(self) -> bool:
        """Whether facts have to be put into the default graph to be seen there."""
        return not self._merged

    def takes_base(self, size: int) -> bool:
        return False

    def load_first(self, file: "FactFile") -> None:
        raise NotImplementedError("an endpoint takes every file in batches")

    def adopt(self, graphs: Iterable[str], unnamed: bool, merged: bool) -> None:
        names = [naming(alone=merged)] if unnamed else []
        self.change((), (), names + [adoption(graph, copied=not merged) for graph in graphs])

    def drop(self, graph: str) -> None:
        self._send(dropping(graph, self._copied))

    def renew(self) -> None:
        self._send(renewal(self._copied))

    def written_by_rdflib(self) -> None:
        """What rdflib writes is not in the default graph, and what it puts there is not in a named one."""
        if not self.stale:
            self.stale = True
            if self._copied:
                self._send(bare())

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        import rdflib
        from rdflib.plugins.stores.sparqlstore import SPARQLStore

        from .rdflib_store import EndpointFacts

        if read_only or self._update is None:
            store = SPARQLStore(self._query.url, method="POST", auth=self._query.credentials)
        else:
            store = EndpointFacts(
                self.written_by_rdflib, self._query.url, self._update.url, method="POST", auth=self._query.credentials
            )
        return rdflib.Dataset(store=store, default_union=True)

    def close(self) -> None:
        for address in filter(None, (self._query, self._update)):
            address.close()

    def _send(self, sparql: str) -> None:
        if self._update is None:
            raise InputError(
                f"{self._query.url} was opened for queries only: give KnowledgeGraph(..., update=ADDRESS) to change it"
            )
        try:
            self._post(self._update, sparql.encode(), "application/sparql-update", "*/*")
        except Refused as error:
            raise InputError(_refusal(self._update, error)) from None

    def _batches(self, quads: Iterable[ox.Quad]) -> Iterator[list[ox.Quad]]:
        distinct = list(dict.fromkeys(quads))
        for start in range(0, len(distinct), self.batch):
            yield distinct[start : start + self.batch]

    def _post(
        self, address: Address, body: bytes, content_type: str, accept: str, timeout: float | None = None
    ) -> tuple[bytes, str]:
        """The body and media type of the answer; Refused where the server refuses, InputError where none answers."""
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "gumption"}
        limit = timeout if timeout is not None else self._timeout
        try:
            return address.post(body, headers, min(limit or TIMEOUT_S, TIMEOUT_S), limit)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, TimeoutError) and limit is not None and limit <= TIMEOUT_S:
                raise InputError(
                    f"the SPARQL endpoint {address.url} did not answer within {limit:g} seconds: ask for less, or "
                    "allow more time"
                ) from None
            raise InputError(f"the SPARQL endpoint {address.url} does not answer ({error}): is it running?") from None


def _refusal(address: Address, error: Refused) -> str:
    body = " ".join(error.body[:1000].decode(errors="replace").split())[:200]
    return f"{address.url} refused with HTTP {error.code} {error.reason}: {body}"
