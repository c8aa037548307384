"""A graph as a read-only SPARQL 1.1 endpoint: the protocol, the formats of answers, and a page to type a query in.

Queries of strangers are answered within limits, one after the other, and ask no other server.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.listening import is_loopback, names_of
from gumption.kg.graph import KnowledgeGraph

from .answers import clean, serialized
from .limits import Limits
from .sparql import form_and_columns, is_update, refuse_bomb, refuse_service

with extra("serve", "a SPARQL server"):
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

LONGEST = 1_000_000  # bytes of a query
_PAGE = Path(__file__).with_name("query.html")
_SAFE = {"X-Content-Type-Options": "nosniff"}  # no browser takes text of a graph for a page
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


def sparql_app(graph: KnowledgeGraph, limits: Limits, host: str = "127.0.0.1") -> Starlette:
    """An ASGI application that answers queries at /query and has a page to type one in at /.

    :param limits: of each query.
    :param host: its address. On the loopback interface, requests for any other host are refused, because a page in a
        browser can give its own host's name this machine's address.
    """
    # One thread, because the stores answer one query at a time and an answer of the engine belongs to its thread.
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sparql")

    async def query(request: Request) -> Response:
        try:
            question = await _question(request)
            accept = request.headers.get("accept", "*/*")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(thread, _answered, graph, limits, question, accept)
        except Refusal as refusal:
            text = "\n".join(clean(line) for line in str(refusal).splitlines())
            return PlainTextResponse(text + "\n", refusal.status, _SAFE)

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE.read_text(encoding="utf-8"), headers={"Content-Security-Policy": _PAGE_ONLY})

    async def guarded(request: Request, answer: RequestResponseEndpoint) -> Response:
        if not is_here(request.headers.get("host", "")):
            return PlainTextResponse("this server is not known by that name\n", 421, _SAFE)
        return await answer(request)

    is_here = names_of(host)
    # What others may ask, they may ask by any name.
    middleware = [Middleware(BaseHTTPMiddleware, dispatch=guarded)] if is_loopback(host) else []
    routes = [Route("/", page), Route("/query", query, methods=["GET", "POST"])]
    return Starlette(routes=routes, middleware=middleware)


async def _question(request: Request) -> Question:
    """The query of a request; Refusal for a request without one (SPARQL 1.1 Protocol, section 2.1)."""
    fields = parse_qs(request.url.query)
    try:
        if request.method == "POST":
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            text = (await _body(request)).decode()
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


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST:
            raise Refusal(413, f"the query has more than {LONGEST:,} bytes")
    return bytes(body)


def _answered(graph: KnowledgeGraph, limits: Limits, question: Question, accept: str) -> Response:
    """The answer in the format that the client likes best."""
    formats = _FORMATS.get(form_and_columns(question.sparql)[0], _ROWS)
    media = parse_accept_header(accept, MIMEAccept).best_match(list(formats))
    if media is None:
        raise Refusal(406, f"the answer can be had as {', '.join(formats)}")
    chosen = bool(question.default or question.named)
    dataset = (question.default, question.named) if chosen else (None, None)
    try:
        refuse_bomb(question.sparql)
        refuse_service(question.sparql)  # an endpoint would decide for itself
        body = graph.answer(question.sparql, limits, lambda answer: serialized(answer, formats[media]), dataset)
    except InputError as error:
        # Only the text leaves this thread: the error's frames hold answers of the engine.
        reason = str(error)
    else:
        return Response(body, headers=_SAFE, media_type=media)
    raise Refusal(400, reason)
