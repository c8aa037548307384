"""A remote SPARQL 1.1 endpoint as a store of quads."""

import http.client
import io
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import LABELS, PREFIXES

from .answers import Answer, Rows, clean, parse_errors
from .limits import Limits, too_many
from .quads import Completion, adoption, bare, dropping, insertion, naming, removal, renewal, withdrawal
from .sparql import bounded, form_and_columns, syntax_error
from .worker import rows_in

if TYPE_CHECKING:
    import rdflib

    from .files import FactFile


# ---- HTTP requests over connections that are kept open: ten times as many in a second.


_REFUSAL_BYTES = 1 << 16  # read of the body of a refusal


@dataclass
class Refused(Exception):
    """The server answered with a status other than success; `target` is the address of a redirect."""

    code: int
    reason: str
    body: bytes
    target: str | None


class TooLong(Exception):
    """The answer has more bytes than allowed."""


class Address:
    """An http or https address; a user and a password in it are sent as basic authentication and are not in `url`.

    The proxy of the environment is used (http_proxy, https_proxy, no_proxy). Threads may share an address.

    :raises ValueError: no valid address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.credentials: tuple[str, str] | None = None
        if parts.username is not None:
            self.credentials = unquote(parts.username), unquote(parts.password or "")
        self._host = parts.netloc.rpartition("@")[2]
        self.origin = parts.scheme, self._host.lower()  # two addresses with the same one are at the same server
        self.url = urlunsplit(parts._replace(netloc=self._host))
        self._secure = parts.scheme == "https"
        self._target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        self._idle: list[http.client.HTTPConnection] = []
        proxy = urllib.request.getproxies().get(parts.scheme)
        self._proxy = None
        if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
            self._proxy = urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc
            if not self._secure:  # a proxy gets the whole address
                self._target = self.url

    def post(
        self, body: bytes, headers: dict[str, str], silence: float, limit: float | None, most: int
    ) -> tuple[bytes, str]:
        """The body and the media type of the answer. Redirects are not followed; where a kept connection was closed,
        the request may be sent twice.

        :param silence: seconds without a byte until TimeoutError.
        :param limit: seconds for the whole answer until TimeoutError.
        :param most: bytes that the answer may have.
        :raises Refused, TooLong: see there.
        :raises OSError, http.client.HTTPException: no answer.
        """
        if self.credentials is not None:
            headers = headers | {"Authorization": "Basic " + b64encode(":".join(self.credentials).encode()).decode()}
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect(silence)
            try:
                if kept is not None and kept.sock is not None:
                    kept.sock.settimeout(silence)
                connection.request("POST", self._target, body, headers)
                response = connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                connection.close()
                if kept is not None:  # the server has closed it in the meantime
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            try:
                good = 200 <= response.status < 300
                answer = _read(response, deadline, most if good else _REFUSAL_BYTES, whole=good)
            except BaseException:
                connection.close()
                raise
            if response.will_close or not response.isclosed():
                connection.close()
            else:
                self._idle.append(connection)
            if not good:
                target = response.headers["Location"] if 300 <= response.status < 400 else None
                raise Refused(response.status, response.reason, answer, target)
            return answer, response.headers.get_content_type() if "Content-Type" in response.headers else ""

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        if self._proxy is None:
            return kind(self._host, timeout=timeout)
        connection = kind(self._proxy, timeout=timeout)
        if self._secure:
            connection.set_tunnel(self._host)
        return connection


def _read(response: http.client.HTTPResponse, deadline: float | None, most: int, *, whole: bool) -> bytes:
    """The body; where it has more than `most` bytes those, or TooLong when it has to be `whole`."""
    answer = io.BytesIO()
    # The clock is read at each piece: a server that sends a little now and then never times out by silence.
    while part := response.read1(min(most - answer.tell() + 1, 1 << 20)):
        answer.write(part)
        if answer.tell() > most:
            if whole:
                raise TooLong
            return answer.getvalue()
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("timed out")
    if response.length:
        raise http.client.IncompleteRead(answer.getvalue()[:0], response.length)
    response.close()  # an answer without a body does not end by itself
    return answer.getvalue()


# ---- The endpoint


_LABELS = ox.NamedNode(LABELS)
TIMEOUT_S = 120  # of silence from an endpoint

_KINDS = {"SELECT": "rows", "ASK": "a yes or no", "CONSTRUCT": "facts", "DESCRIBE": "facts"}
_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.9, application/n-triples;q=0.8"


class EndpointStore:
    """An address for queries and, where the graph may be written, one for updates.

    A user and a password before the host (`http://user:password@host/query`) are sent as basic authentication and
    appear in no message; those of one address serve the other where scheme, host and port are the same. Queries of
    KnowledgeGraph itself name their graphs; users' queries are sent with the protocol's parameters for the dataset
    (SPARQL 1.1 Protocol, section 2.1.4), without which a server answers from its own default graph. Whole answers have
    to come within the limits of time and bytes.
    """

    batch = 5_000  # facts in one request: about a megabyte of text
    near = False

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
        self.stale = False
        self._merged: bool | None = None

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
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
            body, media = self._post(self._query, body, kind, _RESULTS, limits)
        except Refused as error:
            raise InputError(
                (syntax_error(sparql) if error.code == 400 else None) or _refusal(self._query, error)
            ) from None
        return self._parsed(body, media, sparql, limits)

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        found = []
        for batch in self._batches(facts):
            # By number, because a server may write a literal in another way.
            rows = " ".join(f"({i} {q.subject} {q.predicate} {q.object} {q.graph_name})" for i, q in enumerate(batch))
            answer = self.query(f"SELECT ?i {{ VALUES (?i ?s ?p ?o ?g) {{ {rows} }} GRAPH ?g {{ ?s ?p ?o }} }}")
            assert isinstance(answer, Rows)
            numbers = sorted(int(row["i"].value) for row in answer)
            if numbers and numbers[-1] >= len(batch):
                raise InputError(f"the answer of {self._query.url} is broken: it has a value that was not given")
            found += [batch[number] for number in numbers]
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
            # Some servers show all graphs as their default graph and take no facts for that one alone. The labels,
            # which are not copied, show whether this is such a server.
            self._send(insertion(quad for quad in added if quad.graph_name == _LABELS))
            if not self.merged():
                raise
            send(named)

    def merged(self, ours: bool = True) -> bool:
        if not ours:  # seen by the first facts of other programs
            some = "SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } LIMIT 100"
            return not self.query(f"ASK {{ {{ {some} }} FILTER NOT EXISTS {{ ?s ?p ?o }} }}")
        if self._merged is None:
            one = f"SELECT ?s ?p ?o {{ GRAPH <{LABELS}> {{ ?s ?p ?o }} }} LIMIT 1"
            self._merged = bool(self.query(f"ASK {{ {{ {one} }} ?s ?p ?o }}"))
        return self._merged

    @property
    def _copied(self) -> bool:
        """Whether the default graph needs copies of the facts."""
        return not self._merged

    def load_first(self, file: "FactFile") -> bool:
        return False

    def adopt(self, graphs: Iterable[str], unnamed: bool, merged: bool) -> None:
        names = [naming(alone=merged)] if unnamed else []
        self.change((), (), names + [adoption(graph, copied=not merged) for graph in graphs])

    def drop(self, graph: str) -> None:
        self._send(dropping(graph, self._copied))

    def renew(self) -> None:
        self._send(renewal(self._copied))

    def _change_by_rdflib(self, update: str) -> None:
        """Send an update of rdflib's, which writes to the default graph or to a named one, not to both."""
        if not self.stale:
            self.stale = True
            if self._copied:
                self._send(bare())
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
        """The body and media type of the answer to a query; `dataset` has parameters of the protocol."""
        form = urlencode([("query", sparql), *dataset.items()]).encode()
        try:
            return self._post(self._query, form, "application/x-www-form-urlencoded", accept)
        except Refused as error:
            raise InputError(_refusal(self._query, error)) from None

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

    def _parsed(self, body: bytes, media: str, sparql: str, limits: Limits | None) -> Answer:
        """The answer to a query; InputError for one of another kind, or without the columns that the query names."""
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
            del answer  # to be freed in this thread: an error's frames would keep it
            reason = f"it has no column {min(missing)}" if kind == wanted else f"it gives {kind} where {wanted} belong"
            raise InputError(f"{broken}: {reason}")
        if limits is not None and most is not None and number > most:
            del answer
            raise InputError(too_many(limits))
        return answer

    def _post(
        self, address: Address, body: bytes, content_type: str, accept: str, limits: Limits | None = None
    ) -> tuple[bytes, str]:
        """The body and media type of the answer; Refused, or InputError where there is none."""
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "gumption"}
        limits = limits or self._limits
        silence = min(limits.timeout or TIMEOUT_S, TIMEOUT_S)
        try:
            return address.post(body, headers, silence, limits.timeout, limits.memory_bytes)
        except TooLong:
            raise InputError(
                f"the answer of {address.url} has more than {limits.memory_bytes / 1e6:,.0f} MB and was not read on: "
                "ask for less, or allow more (memory_limit, on the command line --memory-limit)"
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, TimeoutError) and limits.timeout is not None and limits.timeout <= TIMEOUT_S:
                raise InputError(
                    f"the SPARQL endpoint {address.url} did not answer within {limits.timeout:g} seconds: ask for "
                    "less, or allow more time"
                ) from None
            reason = clean(str(error))
            raise InputError(f"the SPARQL endpoint {address.url} does not answer ({reason}): is it running?") from None


def _refusal(address: Address, error: Refused) -> str:
    if error.target is not None:
        return (
            f"{address.url} redirects to {clean(error.target)[:200]} (HTTP {error.code}), and redirects are not "
            "followed: give that address if it is the right one"
        )
    body = " ".join(clean(error.body[:1000].decode(errors="replace")).split())[:200]
    return f"{address.url} refused with HTTP {error.code} {clean(error.reason)}: {body}"
