"""A remote SPARQL 1.1 endpoint as a store of quads."""

import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

import pyoxigraph as ox
import requests
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError

from gumption.data import InputError
from gumption.kg.vocabulary import ABOUT, DEFAULT_GRAPH, GRAPH, PREFIXES, Term, label_to_iri

from .answers import Answer, Rows, clean, parse_errors
from .limits import Limits, too_many
from .quads import (
    ALONE,
    KEPT,
    Dataset,
    Graphs,
    bare,
    copying,
    forgetting,
    insertion,
    naming,
    pattern,
    removal,
    renewal,
    thinning,
    written,
)
from .sparql import bounded, form_and_columns, syntax_error
from .worker import graph_term, rows_in

if TYPE_CHECKING:
    import rdflib

    from .files import FactFile


TIMEOUT_S = 120  # seconds without data from an endpoint
_REFUSAL_BYTES = 1 << 16  # maximum number of bytes read from the body of a refusal


class Refused(InputError):
    """The server answered with a status (`code`) other than success."""

    code = 0


class Address:
    """An http or https address; a user and a password in it are sent as basic authentication and are not in `url`.

    Connections are kept open, for ten times as many requests per second. The proxy of the environment is used
    (http_proxy, https_proxy, no_proxy). Threads may share an address.

    :raises ValueError: an invalid address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.credentials: tuple[str, str] | None = None
        if parts.username is not None:
            self.credentials = unquote(parts.username), unquote(parts.password or "")
        host = parts.netloc.rpartition("@")[2]
        self.origin = parts.scheme, host.lower()  # identifies the server
        self.url = urlunsplit(parts._replace(netloc=host))
        requests.Request("POST", self.url).prepare()  # raises ValueError
        self.session = requests.Session()

    def post(self, body: bytes, content_type: str, accept: str, limits: Limits) -> tuple[bytes, str]:
        """Post a request. Return the body and the media type of the answer. Redirects are not followed; if a kept
        connection was closed, the request may be sent twice.

        :raises Refused: a status other than success.
        :raises InputError: no answer, or an answer beyond the limits.
        """
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "gumption"}
        deadline = None if limits.timeout is None else time.monotonic() + limits.timeout
        auth = self.credentials and tuple(map(str.encode, self.credentials))
        silence = min(limits.timeout or TIMEOUT_S, TIMEOUT_S)
        # A function as `auth` prevents the use of a password from ~/.netrc.
        auth = auth or (lambda request: request)
        how: Any = {"headers": headers, "auth": auth, "timeout": silence, "allow_redirects": False}
        try:
            try:
                response = self.session.post(self.url, body, stream=True, **how)
            except requests.ConnectionError as error:
                if not isinstance(error.args[0], ProtocolError):
                    raise
                response = self.session.post(self.url, body, stream=True, **how)
            with response:
                most = limits.memory_bytes if response.ok else _REFUSAL_BYTES
                answer = _read(response, deadline, most)
        except (OSError, HTTPError, ValueError) as error:
            late = isinstance(error, (TimeoutError, requests.Timeout, ReadTimeoutError))
            if late and limits.timeout is not None and limits.timeout <= TIMEOUT_S:
                raise InputError(
                    f"the SPARQL endpoint {self.url} did not answer within {limits.timeout:g} seconds: request less, "
                    "or allow more time"
                ) from None
            reason = "timed out" if late else clean(str(error))
            raise InputError(f"the SPARQL endpoint {self.url} does not answer ({reason}): is it running?") from None
        if not 200 <= response.status_code < 300:
            raise self._refusal(response, answer[:1000])
        if len(answer) > most:
            raise InputError(
                f"the answer of {self.url} has more than {most / 1e6:,.0f} MB and was not read on: request less, or "
                "allow more (memory_limit, on the command line --memory-limit)"
            )
        return answer, response.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    def _refusal(self, response: requests.Response, body: bytes) -> Refused:
        if response.is_redirect:
            refusal = Refused(
                f"{self.url} redirects to {clean(response.headers['Location'])[:200]} (HTTP {response.status_code}), "
                "and redirects are not followed: give that address if it is the right one"
            )
        else:
            text = " ".join(clean(body.decode(errors="replace")).split())[:200]
            refusal = Refused(f"{self.url} refused with HTTP {response.status_code} {clean(response.reason)}: {text}")
        refusal.code = response.status_code
        return refusal


def _read(response: requests.Response, deadline: float | None, most: int) -> bytes:
    """Return the first bytes of the body, at most `most` + 1.

    The clock is read at each piece, because a server that sends a little now and then never triggers the timeout.
    """
    answer = io.BytesIO()
    while part := response.raw.read1(min(most - answer.tell() + 1, 1 << 20), decode_content=True):
        answer.write(part)
        if answer.tell() > most:
            break
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError
    return answer.getvalue()


# ---- The endpoint


_ABOUT = ox.NamedNode(ABOUT)
_DEFAULT = label_to_iri(DEFAULT_GRAPH, GRAPH)
_KINDS = {"SELECT": "rows", "ASK": "a yes or no", "CONSTRUCT": "facts", "DESCRIBE": "facts"}
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.9, application/n-triples;q=0.8"


class EndpointStore:
    """An address for queries and, if the graph may be written, an address for updates.

    A user and a password before the host (`http://user:password@host/query`) are sent as basic authentication and
    appear in no message. They serve both addresses if scheme, host and port are the same. Queries of KnowledgeGraph
    itself name their graphs; users' queries are sent with the protocol's parameters for the dataset (SPARQL 1.1
    Protocol, section 2.1.4), without which a server answers from its own default graph. Whole answers must arrive
    within the limits of time and bytes. The protocol cannot name a blank node, so that facts are written with Skolem
    IRIs. Marks in the graph ABOUT name the graphs of which the default graph has copies.
    """

    batch = 5_000  # facts per request: about a megabyte of text

    def __init__(self, query_url: str, update_url: str | None = None, limits: Limits | None = None) -> None:
        try:
            self._query = Address(query_url)
            self._update = None if update_url is None else Address(update_url)
        except ValueError as error:
            raise InputError(f"{query_url!r} or {update_url!r} is no address of an endpoint: {error}") from None
        if self._update is not None and self._update.origin == self._query.origin:
            self._query.credentials = self._query.credentials or self._update.credentials
            self._update.credentials = self._update.credentials or self._query.credentials
        self._limits = limits or Limits()
        self._stale = False
        self._merged: bool | None = None

    def graphs(self) -> Graphs:
        if self._stale:
            self.renew()
        rows = self.select(
            f"SELECT ?g ?kept {{ {{ GRAPH ?g {{}} OPTIONAL {{ GRAPH <{ABOUT}> {{ ?kept <{KEPT}> ?g }} }} }} "
            "UNION { SELECT ?any { ?any ?p ?o } LIMIT 1 } }"
        )
        found: dict[str, bool] = {}
        filled = False
        for row in rows:
            if isinstance(row["g"], ox.NamedNode):
                found[row["g"].value] = row["kept"] is not None
            filled |= row["g"] is None
        named = sorted(found.keys() - {ABOUT})
        foreign = [iri for iri in named if not found[iri]]
        unnamed = filled and len(foreign) == len(named)
        merged = bool(found) and self.merged(ours=ABOUT in found)
        return Graphs(named, foreign, unnamed, merged, ABOUT in found)

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
        prefixes = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
        dataset: list[tuple[str, str | bytes]] = []
        if default == [""]:  # the protocol cannot name the server's own default graph
            sparql = bounded(sparql, named or ())
        else:
            dataset += [("default-graph-uri", iri) for iri in default or ()]
            dataset += [("named-graph-uri", iri) for iri in named or ()]
        # With a dataset a form, because the names of many graphs would not fit into an address; else the plain query.
        body, kind = f"{prefixes}\n{sparql}".encode(), "application/sparql-query"
        if dataset:
            body, kind = urlencode([("query", body), *dataset]).encode(), "application/x-www-form-urlencoded"
        try:
            body, media = self._query.post(body, kind, _RESULTS, limits or self._limits)
        except Refused as error:
            raise InputError((syntax_error(sparql) if error.code == 400 else None) or str(error)) from None
        return self._parsed(body, media, sparql, limits)

    def union(self, by_name: bool) -> Dataset:
        graphs = self.graphs()
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

    def counts(self) -> dict[str, int]:
        graphs, counts = self.graphs(), {}
        if graphs.named:
            names = " ".join(f"<{iri}>" for iri in graphs.named)
            rows = self.select(
                f"SELECT ?g (COUNT(*) AS ?many) {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }} GROUP BY ?g"
            )  # without any graph a server may return a row
            counts = {row["g"].value: int(row["many"].value) for row in rows if row["g"] is not None}
        if graphs.unnamed and (number := self.count(_DEFAULT)):
            counts[_DEFAULT] = number
        return counts

    def count(self, graph: str) -> int:
        where, distinct = self._where("?s ?p ?o", graph)
        rows = f"SELECT DISTINCT ?s ?p ?o {{ {where} }}" if distinct else where
        return sum(int(row["n"].value) for row in self.select(f"SELECT (COUNT(*) AS ?n) {{ {rows} }}"))

    def match(self, terms: Sequence[Term | None], graph: str) -> Iterator[tuple[Any, Any, Any]]:
        return ((row[0], row[1], row[2]) for row in self.facts(terms, graph))

    def facts(self, terms: Sequence[Term | None], graph: str, columns: str = "?s ?p ?o") -> Rows:
        text, columns = pattern(terms, columns)
        where, distinct = self._where(text, graph)
        return self.select(f"SELECT {'DISTINCT ' if distinct else ''}{columns} {{ {where} }}")

    def select(self, sparql: str) -> Rows:
        answer = self.query(sparql)
        assert isinstance(answer, Rows)
        return answer

    def _where(self, pattern: str, graph: str) -> tuple[str, bool]:
        """Return the SPARQL group for a pattern in a graph, or in all graphs, and whether it may repeat a row. It names
        the graphs, because not every server takes them from the request."""
        graphs = self.graphs()
        if not graph and graphs.merged:
            return f"{pattern} FILTER NOT EXISTS {{ GRAPH <{ABOUT}> {{ {pattern} }} }}", True
        if not graph and graphs.foreign:
            return f"{{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} FILTER(?g != <{ABOUT}>) }}", True
        if not graph:
            return pattern, False
        named = f"GRAPH {written(graph_term(graph))} {{ {pattern} }}"
        if graph != _DEFAULT or not graphs.unnamed:
            return named, False
        apart = f" FILTER NOT EXISTS {{ GRAPH ?any {{ {pattern} }} }}" if graphs.merged else ""
        if graph not in graphs.named:
            return pattern + apart, False
        return f"{{ {pattern}{apart} }} UNION {{ {named} }}", True

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        found = []
        for batch in self._batches(facts):
            # Facts are identified by number, because a server may change the spelling of a literal.
            rows = " ".join(f"({i} {' '.join(map(written, quad))})" for i, quad in enumerate(batch))
            query = f"SELECT ?i {{ VALUES (?i ?s ?p ?o ?g) {{ {rows} }} GRAPH ?g {{ ?s ?p ?o }} }}"
            numbers = sorted(int(row["i"].value) for row in self.select(query))
            if numbers and numbers[-1] >= len(batch):
                raise InputError(f"the answer of {self._query.url} is broken: it has a value that was not given")
            found += [batch[number] for number in numbers]
        return found

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        if facts:
            self._keep(facts)
        new = 0
        for batch in self._batches(facts):
            present = self.present(batch)
            self._change((), batch)
            new += len(batch) - len(present)
        return new

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        self._keep(())
        removed = 0
        for batch in self._batches(facts):
            removed += len(self.present(batch))
            self._change(batch, ())
        return removed

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        if removed or added:
            self._keep(added)
        self._change(removed, added, updates)

    def _change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        parts = [removal(removed, copied=not self._merged)] if removed else []
        parts += [insertion(added, copied=not self._merged)] if added else []
        if parts or updates:
            self._send(" ;\n".join([*parts, *updates]))

    def _keep(self, added: Iterable[ox.Quad]) -> None:
        """Make the default graph hold copies of the graphs to which these quads are added, and mark these graphs."""
        graphs = self.graphs()
        names = {written(quad.graph_name)[1:-1] for quad in added} - {ABOUT}
        new = sorted(names - (set(graphs.named) - set(graphs.foreign)))
        if not new and not graphs.unnamed:
            return
        marked = dict.fromkeys([*new, _DEFAULT] if graphs.unnamed else new)
        self._send(insertion([ox.Quad(_ABOUT, ox.NamedNode(KEPT), ox.NamedNode(iri), _ABOUT) for iri in marked]))
        self._merged = None
        merged = self.merged()
        updates = [naming(ALONE if merged else "")] if graphs.unnamed else []
        updates += [] if merged else [copying(iri) for iri in new if iri in graphs.foreign]
        if updates:
            self._send(" ;\n".join(updates))

    def merged(self, ours: bool = True) -> bool:
        """Return whether the server presents the facts of all graphs as its default graph.

        :param ours: whether statements about graphs exist, which are never copied to the default graph.
        """
        if not ours:  # tested with the first 100 facts, of other programs
            some = "SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } LIMIT 100"
            return not self.query(f"ASK {{ {{ {some} }} FILTER NOT EXISTS {{ ?s ?p ?o }} }}")
        if self._merged is None:
            one = f"SELECT ?s ?p ?o {{ GRAPH <{ABOUT}> {{ ?s ?p ?o }} }} LIMIT 1"
            self._merged = bool(self.query(f"ASK {{ {{ {one} }} ?s ?p ?o }}"))
        return self._merged

    def load_first(self, file: "FactFile") -> bool:
        return False

    def drop(self, graph: str) -> None:
        name = written(graph_term(graph))
        parts = [] if self._merged else [thinning(name)]
        self._send(" ;\n".join([*parts, f"DROP SILENT GRAPH {name}", forgetting(name)]))

    def renew(self) -> None:
        self._stale = False
        names = [ox.NamedNode(name) for name in (_DEFAULT, *self.graphs().named)]
        self._keep(ox.Quad(_ABOUT, _ABOUT, _ABOUT, name) for name in names)
        self._send(renewal(copied=not self._merged))

    def _change_by_rdflib(self, update: str) -> None:
        """Send an update from rdflib, which writes to either the default graph or a named graph."""
        if not self._stale:
            if not self.graphs().merged:
                self._send(f"DELETE WHERE {{ GRAPH <{ABOUT}> {{ <{ABOUT}> <{KEPT}> ?g }} }} ;\n{bare()}")
            self._stale = True
        self._send(update)

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        import rdflib

        from .datasets import ReadableEndpoint, WritableEndpoint

        if read_only or self._update is None:
            store = ReadableEndpoint(self._query.url, self._asked)
        else:
            store = WritableEndpoint(self._query.url, self._asked, self._change_by_rdflib)
        return rdflib.Dataset(store=store, default_union=True)

    def _asked(self, sparql: str, dataset: Mapping[str, str], accept: str) -> tuple[bytes, str]:
        """Send a query. Return the body and media type of the answer; `dataset` has parameters of the protocol."""
        form = urlencode([("query", sparql), *dataset.items()]).encode()
        return self._query.post(form, "application/x-www-form-urlencoded", accept, self._limits)

    def close(self) -> None:
        if self._stale:
            with suppress(InputError):  # without the marks, the next client detects that the union is not kept
                self.renew()
        for address in filter(None, (self._query, self._update)):
            address.session.close()

    def _send(self, sparql: str) -> None:
        if self._update is None:
            raise InputError(
                f"{self._query.url} was opened for queries only: give KnowledgeGraph(..., update=ADDRESS) to change it"
            )
        self._update.post(sparql.encode(), "application/sparql-update", "*/*", self._limits)

    def _batches(self, quads: Iterable[ox.Quad]) -> Iterator[list[ox.Quad]]:
        distinct = list(dict.fromkeys(quads))
        for start in range(0, len(distinct), self.batch):
            yield distinct[start : start + self.batch]

    def _parsed(self, body: bytes, media: str, sparql: str, limits: Limits | None) -> Answer:
        """Parse the answer to a query; InputError for another kind of answer, or a missing column of the query."""
        broken = f"the answer of {self._query.url} is broken"
        most = None if limits is None else limits.max_rows
        number = 0
        answer: Answer
        with parse_errors(broken):
            if results := ox.QueryResultsFormat.from_media_type(media):
                answer = ox.parse_query_results(body, results)
                number = rows_in(body, results) if most and isinstance(answer, ox.QuerySolutions) else 0
            elif rdf := ox.RdfFormat.from_media_type(media):
                answer = list(ox.parse(body, rdf))
                number = len(answer)
            else:
                raise InputError(
                    f"{self._query.url} answered {clean(media) or 'without a content type'}, not SPARQL results: "
                    "is this the address of the query service?"
                )
        if isinstance(answer, ox.QuerySolutions):
            answer = Rows(answer, partial(parse_errors, broken), own=limits is None)
        form, columns = form_and_columns(sparql)
        kind = "rows" if isinstance(answer, Rows) else "facts" if isinstance(answer, list) else "a yes or no"
        wanted = _KINDS.get(form, kind)
        missing = set(columns).difference(answer.names) if isinstance(answer, Rows) else set()
        if kind != wanted or missing:
            del answer  # must be freed in this thread: an error's frames would keep it
            reason = f"it has no column {min(missing)}" if kind == wanted else f"it gives {kind} where {wanted} belong"
            raise InputError(f"{broken}: {reason}")
        if limits is not None and most is not None and number > most:
            del answer
            raise InputError(too_many(limits))
        return answer
