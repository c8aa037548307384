"""A graph as a read-only SPARQL 1.1 endpoint: the protocol, the result formats, and a page with a query form.

Queries of untrusted clients run concurrently, within limits of time and memory, and cannot contact other servers.
`python -m tests.bench.serving` measures the endpoint.
"""

import asyncio
import math
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.store.answers import clean, serialized
from gumption.kg.store.limits import Limits, QueryProcess
from gumption.kg.store.sparql import form_and_columns, is_update, refuse_bomb, refuse_service
from gumption.kg.store.worker import memory_size

with extra("serve", "a SPARQL server"):
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException as Refusal
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

    from .security import Guard

LONGEST, BODIES = 1_000_000, 64_000_000  # bytes of one query, and of all bodies being read
RUNNING, WAITING = 32, 96  # maximum number of queries that run, and that wait
TOGETHER = 2  # memory of all queries together, in multiples of the limit of one query
LOOK, SLOW = 0.1, 0.1  # seconds between checks of a query; seconds of processor time before its priority is lowered
_PAGE = Path(__file__).with_name("pages") / "query.html"
_PAGE_ONLY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"
_FULL = 503, "the server answers as many queries as it can: try again later", {"Retry-After": "2"}
_MEMORY = 503, "all queries together take too much memory: try again later, or ask for less", {"Retry-After": "2"}

# Media types by the first word of a query, the preferred one first.
_YES_OR_NO = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "application/xml": ox.QueryResultsFormat.XML,
}
_ROWS = {**_YES_OR_NO, "text/csv": ox.QueryResultsFormat.CSV, "text/tab-separated-values": ox.QueryResultsFormat.TSV}
_FACTS = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}
_FORMATS = {"ASK": _YES_OR_NO, "CONSTRUCT": _FACTS, "DESCRIBE": _FACTS}

#: A query of the SPARQL 1.1 protocol: its text, the IRIs of its default graphs, and the IRIs of its named graphs.
#: With neither, the dataset of the query applies, or else that of the graph.
Question: TypeAlias = tuple[str, Sequence[str], Sequence[str]]


class Fork:
    """A fork of a process that holds a graph, with the methods of Popen that QueryProcess needs."""

    def __init__(self, first: QueryProcess) -> None:
        self._first, self.returncode = first, None
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
            door.bind(f"{folder}/door")
            door.listen()
            door.settimeout(20)
            self.pid = first.ask(fork=f"{folder}/door")
            with door.accept()[0] as connection:
                self.stdin, self.stdout = connection.makefile("wb"), connection.makefile("rb")

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:  # the id is not reused until the first process has waited for this one
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        with suppress(OSError, EOFError):  # the first process has ended
            self.returncode = self._first.ask(wait=self.pid) if self.returncode is None else self.returncode


def processor_seconds(process: int) -> float:
    """Return the processor time of a process in seconds; infinity without /proc or after its end."""
    try:
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return math.inf
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


@dataclass(eq=False)
class Job:
    """A query in a thread: its process, the process's own memory in bytes, and the reason if it was ended early."""

    process: QueryProcess | None = None
    size: int = 0
    ended: Exception | None = None


class Queries:
    """Answers queries on the state of a graph when its first process starts, each in a thread and a process.

    A process is a fork of a first process that has read the graph. It starts in milliseconds and shares the graph's
    memory. A query is ended by killing its process.
    """

    def __init__(self, graph: KnowledgeGraph, limits: Limits) -> None:
        self._graph, self._limits = graph, limits
        self._first: QueryProcess | None = graph.process()
        self._lock = threading.Lock()  # guards the processes of jobs and the idle processes
        self._idle: list[QueryProcess] = []
        self._jobs: set[Job] = set()
        self._threads = ThreadPoolExecutor(RUNNING, "sparql")
        self._reading = 0  # bytes

    def close(self) -> None:
        """End all queries."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for job in self._jobs:
            self._end(job, ClientDisconnect())
        if self._first is not None:
            self._first.kill()  # the idle processes end with it

    async def body(self, request: Request) -> bytes:
        """Return the body of a request; raise Refusal if it, or all bodies together, exceed the limits."""
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                self._reading += len(piece)
                if len(body) > LONGEST:
                    raise Refusal(413, f"the query has more than {LONGEST:,} bytes")
                if self._reading > BODIES:
                    raise Refusal(*_FULL)
            return bytes(body)
        finally:
            self._reading -= len(body)

    async def answer(self, question: Question, accept: str, gone: asyncio.Task[None]) -> Response:
        """Answer a query in the client's preferred format; raise ClientDisconnect if `gone` completes first."""
        if len(self._jobs) >= RUNNING + WAITING:
            raise Refusal(*_FULL)
        job = Job()
        self._jobs.add(job)
        future = self._threads.submit(self._run, job, question, accept)
        answered = asyncio.wrap_future(future)
        answered.add_done_callback(partial(self._forget, job))
        try:
            while not (await asyncio.wait({answered, gone}, timeout=LOOK, return_when="FIRST_COMPLETED"))[0]:
                self._bound(job)
            if answered.done():
                return answered.result()
            raise ClientDisconnect
        finally:
            future.cancel()
            self._end(job, ClientDisconnect())

    def _forget(self, job: Job, answered: asyncio.Future[Response]) -> None:
        self._jobs.discard(job)
        if not answered.cancelled():
            answered.exception()  # retrieve it, since asyncio logs errors that are never retrieved

    def _end(self, job: Job, reason: Exception) -> None:
        with self._lock:
            job.ended = reason
            if job.process is not None:
                job.process.stop()

    def _bound(self, job: Job) -> None:
        """Lower the priority of a slow query, and end the largest query if all take too much memory."""
        if (process := job.process) is not None and self._first is not None:
            if processor_seconds(process.pid) > SLOW:
                with suppress(OSError, AttributeError):  # Windows has no such priorities
                    os.setpriority(os.PRIO_PROCESS, process.pid, 19)
            job.size = (memory_size(process.pid) or 0) - (memory_size(self._first.pid) or 0)
            if sum(other.size for other in self._jobs) > TOGETHER * self._limits.memory_bytes:
                self._end(max(self._jobs, key=lambda other: other.size), Refusal(*_MEMORY))

    def _run(self, job: Job, question: Question, accept: str) -> Response:
        with self._lock:
            process = job.process = self._process()
        try:
            if job.ended is None:
                return self._answered(question, accept, replace(self._limits, process=process))
        except Refusal:
            if job.ended is None:
                raise
        finally:
            if process is not None:
                quick = processor_seconds(process.pid) <= SLOW
                with self._lock:
                    job.process = None
                    keep = quick and process.is_alive()
                    self._idle += [process] if keep else []
                if not keep:
                    process.kill()
        assert job.ended is not None
        raise job.ended

    def _process(self) -> QueryProcess | None:
        if self._idle or self._first is None:
            return self._idle.pop() if self._idle else None
        try:
            if not self._first.is_alive():
                self._first = self._graph.process()
            assert self._first is not None
            return QueryProcess(Fork(self._first)) if hasattr(os, "fork") else self._graph.process()
        except (OSError, EOFError, InputError):  # the system has ended the first process
            raise Refusal(*_FULL) from None

    def _answered(self, question: Question, accept: str, limits: Limits) -> Response:
        sparql, *chosen = question
        formats = _FORMATS.get(form_and_columns(sparql)[0], _ROWS)
        media = parse_accept_header(accept, MIMEAccept).best_match(list(formats))
        if media is None:
            raise Refusal(406, f"the answer can be had as {', '.join(formats)}")
        try:
            refuse_bomb(sparql)
            refuse_service(sparql)  # the query would contact another server
            dataset: Any = tuple(chosen) if any(chosen) else (None, None)
            body = self._graph.answer(sparql, limits, partial(serialized, form=formats[media]), dataset)
        except InputError as error:
            # Only the text leaves this thread: the error's frames hold answers of the engine.
            reason = str(error)
        else:
            return Response(body, media_type=media)
        raise Refusal(400, reason)


def sparql_app(graph: KnowledgeGraph, limits: Limits, host: str = "127.0.0.1") -> Starlette:
    """Return an ASGI application that answers queries at /query and serves a page with a query form at /.

    :param limits: limits of each query; all queries together may take twice the memory.
    :param host: address of the server.
    """
    queries = Queries(graph, limits)

    async def query(request: Request) -> Response:
        question = await _question(request, queries)
        gone = asyncio.create_task(_disconnected(request))
        try:
            return await queries.answer(question, request.headers.get("accept", "*/*"), gone)
        finally:
            gone.cancel()

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE.read_text(encoding="utf-8"), headers={"Content-Security-Policy": _PAGE_ONLY})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        queries.close()

    def error(status: int, _: str, reason: str, __: bool) -> Response:
        return PlainTextResponse(f"{reason}\n", status)

    def refused(_: Request, refusal: Any) -> Response:
        text = "".join(f"{clean(line)}\n" for line in refusal.detail.splitlines())
        return PlainTextResponse(text, refusal.status_code, refusal.headers)

    return Starlette(
        routes=[Route("/", page), Route("/query", query, methods=["GET", "POST"])],
        lifespan=lifespan,
        exception_handlers={Refusal: refused},
        middleware=[Middleware(Guard, host=host, error=error, reads=True)],
    )


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _question(request: Request, queries: Queries) -> Question:
    """Return the query of a request (SPARQL 1.1 Protocol, section 2.1); raise Refusal if it has no valid query."""
    fields = parse_qs(request.url.query)
    try:
        if request.method == "POST":
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            text = (await queries.body(request)).decode()
            if kind == "application/x-www-form-urlencoded":
                fields = parse_qs(text)
            elif kind in ("application/sparql-query", "application/sparql-update"):
                fields[kind.rpartition("-")[2]] = [text]
            else:
                raise Refusal(415, "post a query as application/sparql-query or as a form with the field query")
    except UnicodeDecodeError:
        raise Refusal(400, "the query is not in UTF-8") from None
    if "update" in fields or any(map(is_update, fields.get("query", ()))):
        raise Refusal(403, "this server only reads: updates are refused")
    if len(fields.get("query", ())) != 1:
        raise Refusal(400, "give one query, as the parameter query")
    default, named = fields.get("default-graph-uri", ()), fields.get("named-graph-uri", ())
    for iri in (*default, *named):
        try:
            ox.NamedNode(iri)
        except ValueError:
            raise Refusal(400, f"{iri!r} is not the IRI of a graph") from None
    return fields["query"][0], default, named
