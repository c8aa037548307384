"""A graph as a read-only SPARQL 1.1 endpoint: the protocol, the formats of answers, and a page to type a query in.

Queries of strangers are answered within limits, several at once, and ask no other server. `python -m
tests.bench.serving` measures it.
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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
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
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

    from .security import Guard

LONGEST = 1_000_000  # bytes of a query
RUNNING, WAITING = 32, 96  # queries at once; further ones are refused
BODIES = 64_000_000  # bytes of requests that are being read
TOGETHER = 2  # times the memory of a query that all of them may take
LOOK, SLOW = 0.1, 0.1  # seconds between looks at a query; of processor time after which it gets what others leave
_PAGE = Path(__file__).with_name("pages") / "query.html"
_PAGE_ONLY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"

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


@dataclass(frozen=True)
class Question:
    """A query of the SPARQL 1.1 protocol.

    :ivar default, named: the IRIs of the graphs that it sees; with neither, the query or the graph decides.
    """

    sparql: str
    default: Sequence[str]
    named: Sequence[str]


class Refusal(Exception):
    """A request is refused: the HTTP status and, as the exception's text, the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Fork:
    """A fork of a process with a graph, with what QueryProcess uses of a Popen."""

    def __init__(self, first: QueryProcess) -> None:
        """:raises OSError, EOFError: the first process has ended."""
        self._first, self._lock = first, threading.Lock()
        self.returncode: int | None = None
        self._killed = False
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
            door.bind(f"{folder}/door")
            door.listen()
            door.settimeout(20)
            self.pid = first.ask(fork=f"{folder}/door")
            with door.accept()[0] as connection:
                self.stdin, self.stdout = connection.makefile("wb"), connection.makefile("rb")

    def poll(self) -> int | None:
        return -signal.SIGKILL if self._killed else None

    def kill(self) -> None:
        with self._lock:
            self._killed = True
            if self.returncode is None:  # until it is waited for, its id is no other process's
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Let the first process wait for it, after `kill`."""
        with self._lock, suppress(OSError, EOFError):
            if self.returncode is None:
                self.returncode = self._first.ask(wait=self.pid)


def processor_seconds(process: int) -> float:
    """The processor time that a process has taken; infinity where the system does not say."""
    try:
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return math.inf
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


@dataclass(eq=False)
class Job:
    """A query that a thread answers.

    :ivar process: answers it, None until it begins and at an endpoint.
    :ivar size: bytes of memory that it takes.
    :ivar began: processor time of the process before it; `slow` when it has taken much of its own.
    :ivar refusal: why it was ended.
    """

    process: QueryProcess | None = None
    size: int = 0
    began: float = 0
    slow: bool = False
    refusal: Refusal | None = None

    def end(self, refusal: Refusal) -> None:
        """End it from another thread."""
        self.refusal = refusal
        if self.process is not None:
            self.process.stop()


_GONE = 499, "the client has gone"
_FULL = 503, "the server answers as many queries as it can: try again later"
_MEMORY = 503, "the queries of this moment take more memory than they may together: try again, or ask for less"


class Queries:
    """Answers queries on a graph as it is now, each in a thread and a process.

    A process is a fork of one that has read the graph: it is there in milliseconds and shares the graph's memory, so
    that one with a query that has to end is killed. Slow queries leave the processors to others.
    """

    def __init__(self, graph: KnowledgeGraph, limits: Limits) -> None:
        self._graph, self._limits = graph, limits
        self._first = graph.process()
        self._lock = threading.Lock()
        self._idle: list[QueryProcess] = []
        self._jobs: set[Job] = set()
        self._threads = ThreadPoolExecutor(RUNNING, "sparql")

    def close(self) -> None:
        """End all queries, and refuse further ones."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for job in self._jobs:
            job.end(Refusal(*_GONE))
        if self._first is not None:
            self._first.kill()  # which ends the idle ones

    async def answer(self, question: Question, accept: str, gone: asyncio.Future[Any]) -> Response:
        """The answer in the format that the client likes best.

        :param gone: is done when the client has gone.
        :raises Refusal: there is none.
        """
        if len(self._jobs) >= RUNNING + WAITING:
            raise Refusal(*_FULL)
        job = Job()
        self._jobs.add(job)
        future = self._threads.submit(self._run, job, question, accept)
        answered = asyncio.wrap_future(future)
        answered.add_done_callback(lambda done: done.cancelled() or done.exception())  # also where nobody waits for it
        try:
            while not (await asyncio.wait({answered, gone}, timeout=LOOK, return_when="FIRST_COMPLETED"))[0]:
                self._slow_down(job)
            if not answered.done():
                job.end(Refusal(*_GONE))
                future.cancel()
                await asyncio.wait({answered})
                raise Refusal(*_GONE)
            return answered.result()
        except asyncio.CancelledError:
            job.end(Refusal(*_GONE))
            raise
        finally:
            self._jobs.discard(job)

    def _slow_down(self, job: Job) -> None:
        """Let a slow query have what others leave, and end the largest one where all take too much memory."""
        process, first = job.process, self._first
        if process is None or first is None:
            return
        if not job.slow and processor_seconds(process.pid) - job.began > SLOW:
            job.slow = True
            with suppress(OSError, AttributeError):  # Windows has no such priorities
                os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        job.size = (memory_size(process.pid) or 0) - (memory_size(first.pid) or 0)
        if sum(other.size for other in self._jobs) > TOGETHER * self._limits.memory_bytes:
            max(self._jobs, key=lambda other: other.size).end(Refusal(*_MEMORY))

    def _run(self, job: Job, question: Question, accept: str) -> Response:
        try:
            job.process = process = self._take()
            if process is not None:
                job.began = processor_seconds(process.pid)
            if job.refusal is None:
                return self._answered(question, accept, replace(self._limits, process=process))
        except Refusal:
            if job.refusal is None:
                raise
        finally:
            if job.process is not None:
                self._give(job.process, not job.slow)
        raise job.refusal

    def _take(self) -> QueryProcess | None:
        with self._lock:
            if self._first is None:
                return None
            if self._idle:
                return self._idle.pop()
            if not self._first.is_alive():
                self._first = self._graph.process()
        try:
            return QueryProcess(Fork(self._first)) if hasattr(os, "fork") else self._graph.process()
        except (OSError, EOFError):
            raise Refusal(*_FULL) from None

    def _give(self, process: QueryProcess, quick: bool) -> None:
        if quick and len(self._idle) < RUNNING and process.is_alive():
            self._idle.append(process)
        else:
            process.kill()

    def _answered(self, question: Question, accept: str, limits: Limits) -> Response:
        formats = _FORMATS.get(form_and_columns(question.sparql)[0], _ROWS)
        media = parse_accept_header(accept, MIMEAccept).best_match(list(formats))
        if media is None:
            raise Refusal(406, f"the answer can be had as {', '.join(formats)}")
        chosen = bool(question.default or question.named)
        dataset = (question.default, question.named) if chosen else (None, None)
        try:
            refuse_bomb(question.sparql)
            refuse_service(question.sparql)  # an endpoint would decide for itself
            body = self._graph.answer(
                question.sparql, limits, lambda answer: serialized(answer, formats[media]), dataset
            )
        except InputError as error:
            # Only the text leaves this thread: the error's frames hold answers of the engine.
            reason = str(error)
        else:
            return Response(body, media_type=media)
        raise Refusal(400, reason)


def sparql_app(graph: KnowledgeGraph, limits: Limits, host: str = "127.0.0.1") -> Starlette:
    """An ASGI application that answers queries at /query and has a page to type one in at /.

    :param limits: of each query; all of them together may take twice the memory.
    :param host: its address.
    """
    queries = Queries(graph, limits)
    bodies = Bodies()

    async def query(request: Request) -> Response:
        try:
            question = await _question(request, bodies)
            gone = asyncio.create_task(_disconnected(request))
            try:
                return await queries.answer(question, request.headers.get("accept", "*/*"), gone)
            finally:
                gone.cancel()
        except Refusal as refusal:
            text = "\n".join(clean(line) for line in str(refusal).splitlines())
            return PlainTextResponse(text + "\n", refusal.status, {"Retry-After": "2"} if refusal.status == 503 else {})

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE.read_text(encoding="utf-8"), headers={"Content-Security-Policy": _PAGE_ONLY})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        queries.close()

    def error(status: int, _: str, reason: str, __: bool) -> Response:
        return PlainTextResponse(f"{reason}\n", status)

    return Starlette(
        routes=[Route("/", page), Route("/query", query, methods=["GET", "POST"])],
        lifespan=lifespan,
        middleware=[Middleware(Guard, host=host, error=error, reads=True)],
    )


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _question(request: Request, bodies: "Bodies") -> Question:
    """The query of a request; Refusal for a request without one (SPARQL 1.1 Protocol, section 2.1)."""
    fields = parse_qs(request.url.query)
    try:
        if request.method == "POST":
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            text = (await bodies.read(request)).decode()
            if kind == "application/x-www-form-urlencoded":
                fields = parse_qs(text)
            elif kind == "application/sparql-query":
                fields["query"] = [text]
            elif kind == "application/sparql-update":
                fields["update"] = [text]
            else:
                raise Refusal(415, "post a query as application/sparql-query or as a form with the field query")
    except UnicodeDecodeError:
        raise Refusal(400, "the query is not in UTF-8") from None
    if "update" in fields or any(map(is_update, fields.get("query", ()))):
        raise Refusal(403, "this server only reads: updates are refused")
    if len(fields.get("query", ())) != 1:
        raise Refusal(400, "give one query, as the parameter query")
    question = Question(fields["query"][0], fields.get("default-graph-uri", ()), fields.get("named-graph-uri", ()))
    for iri in (*question.default, *question.named):
        try:
            ox.NamedNode(iri)
        except ValueError:
            raise Refusal(400, f"{iri!r} is not the IRI of a graph") from None
    return question


class Bodies:
    """Reads the bodies of requests, which together have a limit, too."""

    def __init__(self) -> None:
        self._bytes = 0

    async def read(self, request: Request) -> bytes:
        """The body of a request; Refusal where it is too long."""
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                self._bytes += len(piece)
                if len(body) > LONGEST:
                    raise Refusal(413, f"the query has more than {LONGEST:,} bytes")
                if self._bytes > BODIES:
                    raise Refusal(*_FULL)
            return bytes(body)
        finally:
            self._bytes -= len(body)
