"""A remote SPARQL 1.1 endpoint as a store of quads."""

import http.client
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

import pyoxigraph as ox

from gumption.data import InputError

from .quads import Completion
from .sparql import syntax_error
from .updates import insertion, removal
from .vocabulary import PREFIXES

if TYPE_CHECKING:
    import rdflib

    from .stores import Answer

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
    stale = False

    def __init__(self, query_url: str, update_url: str | None = None, timeout: float | None = None) -> None:
        self.query_url, self._credentials = _without_credentials(query_url)
        self.update_url, own = (None, None) if update_url is None else _without_credentials(update_url)
        self._credentials = self._credentials or own
        self._timeout = timeout

    def query(
        self,
        sparql: str,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> "Answer":
        prefixes = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
        dataset = [("default-graph-uri", iri) for iri in default or ()]
        dataset += [("named-graph-uri", iri) for iri in named or ()]
        # A form, because the names of many graphs would not fit into an address; without them the query as it is.
        body, kind = f"{prefixes}\n{sparql}".encode(), "application/sparql-query"
        if dataset:
            body, kind = urlencode([("query", body), *dataset]).encode(), "application/x-www-form-urlencoded"
        try:
            body, media = self._post(self.query_url, body, kind, _RESULTS, timeout)
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
        parts = [removal(removed)] if removed else []
        parts += [insertion(added)] if added else []
        if parts or updates:
            self._update(" ;\n".join([*parts, *updates]))

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

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        import rdflib
        from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

        if read_only or self.update_url is None:
            store = SPARQLStore(self.query_url, method="POST", auth=self._credentials)
        else:
            store = SPARQLUpdateStore(self.query_url, self.update_url, method="POST", auth=self._credentials)
        return rdflib.Dataset(store=store, default_union=True)

    def close(self) -> None:
        """Each request has its own connection: nothing is held."""

    def _update(self, sparql: str) -> None:
        if self.update_url is None:
            raise InputError(
                f"{self.query_url} was opened for queries only: give KnowledgeGraph(..., update=ADDRESS) to change it"
            )
        try:
            self._post(self.update_url, sparql.encode(), "application/sparql-update", "*/*")
        except urllib.error.HTTPError as error:
            raise InputError(_refusal(self.update_url, error)) from None

    def _batches(self, quads: Iterable[ox.Quad]) -> Iterator[list[ox.Quad]]:
        distinct = list(dict.fromkeys(quads))
        for start in range(0, len(distinct), self.batch):
            yield distinct[start : start + self.batch]

    def _post(
        self, url: str, body: bytes, content_type: str, accept: str, timeout: float | None = None
    ) -> tuple[bytes, str]:
        """The body and media type of the answer; HTTPError where the server refuses, InputError where none answers."""
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "gumption"}
        if self._credentials is not None:
            headers["Authorization"] = "Basic " + b64encode(":".join(self._credentials).encode()).decode()
        limit = timeout if timeout is not None else self._timeout
        deadline = None if limit is None else time.monotonic() + limit
        try:
            request = urllib.request.Request(url, data=body, headers=headers)
            with urllib.request.urlopen(request, timeout=min(limit or TIMEOUT_S, TIMEOUT_S)) as response:
                parts = []
                # A server that sends a little now and then is never silent: the clock is looked at for each piece.
                while part := response.read1(1 << 20):
                    parts.append(part)
                    if deadline is not None and time.monotonic() > deadline:
                        raise TimeoutError("timed out")
                return b"".join(parts), response.headers.get_content_type()
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError) and limit is not None and limit <= TIMEOUT_S:
                raise InputError(
                    f"the SPARQL endpoint {url} did not answer within {limit:g} seconds: ask for less, or allow more "
                    "time"
                ) from None
            raise InputError(f"the SPARQL endpoint {url} does not answer ({reason}): is it running?") from None


def _without_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    parts = urlsplit(url)
    if parts.username is None:
        return url, None
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return bare, (unquote(parts.username), unquote(parts.password or ""))


def _refusal(url: str, error: urllib.error.HTTPError) -> str:
    body = " ".join(error.read(1000).decode(errors="replace").split())[:200]
    return f"{url} refused with HTTP {error.code} {error.reason}: {body}"
