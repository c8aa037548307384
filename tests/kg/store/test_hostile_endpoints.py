"""Endpoints that answer nonsense, without end, or send us elsewhere."""

import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

JSON = "application/sparql-results+json"
HEAD = b'{"head": {"vars": ["n", "g", "kept", "s", "p", "o", "key", "text", "i"]}, "results": '
NO_GRAPHS = b'{"head": {"vars": ["g", "kept"]}, "results": {"bindings": []}}'


@dataclass
class Answering:
    """A server that says it has no graphs, and then gives one answer to everything; what it was asked."""

    body: bytes = b""
    media: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    endless: bool = False
    graphs: bool = True  # whether it answers what its graphs are
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and credentials
    address: str = ""


@contextmanager
def answering(**answer: object) -> Iterator[Answering]:
    told = Answering(**answer)  # pyright: ignore[reportArgumentType]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            told.asked.append((self.path, self.headers["Authorization"]))
            own = told.graphs and b"GRAPH ?g {}" in text
            self.send_response(200 if own else told.status)
            self.send_header("Content-Type", JSON if own else told.media)
            for name, value in ({} if own else told.headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(NO_GRAPHS if own else told.body)
                while told.endless and not own:
                    self.wfile.write(b" " * (1 << 20))
            except OSError:
                pass

        do_GET = do_POST

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        told.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


ROW = b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "urn:a"}}'
SELECT, ASK, CONSTRUCT = "SELECT ?x { ?x ?y ?z }", "ASK { ?x ?y ?z }", "CONSTRUCT { ?x ?y ?z } WHERE { ?x ?y ?z }"
BROKEN = {
    "cut": (SELECT, ROW, JSON, "Parser error at line 1"),
    "cut in the middle": (SELECT, ROW + b', {"x": {"type": "u', JSON, "Parser error at line 1"),
    "cut facts": (CONSTRUCT, b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn", "application/n-triples", ""),
    "no JSON": (SELECT, b"<html>", JSON, ""),
    "no text": (SELECT, b"\xff\xfe\x00", JSON, ""),
    "a term that is none": (SELECT, ROW.replace(b"urn:a", b"no iri") + b"]}}", JSON, ""),
    "a boolean for rows": (SELECT, b'{"head": {}, "boolean": true}', JSON, "it gives a yes or no where rows belong"),
    "rows for a boolean": (ASK, ROW + b"]}}", JSON, "it gives rows where a yes or no belong"),
    "rows for facts": (CONSTRUCT, ROW + b"]}}", JSON, "it gives rows where facts belong"),
    "facts for rows": (SELECT, b"<urn:a> <urn:b> <urn:c> .", "text/turtle", "it gives facts where rows belong"),
    "a missing column": ("SELECT ?x (1 AS ?more) { }", ROW + b"]}}", JSON, "it has no column more"),
    "colours": (SELECT, b"\x1b[31mred\x1b[0m", JSON, ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer(kind):
    sparql, body, media, reason = BROKEN[kind]
    with answering(body=body, media=media) as server, KnowledgeGraph(server.address + "/query") as graph:
        with pytest.raises(InputError, match=f"^the answer of {server.address}/query is broken: .*{reason}") as told:
            graph.query(sparql)
        assert str(told.value).isprintable()


METHODS: dict[str, Callable[[KnowledgeGraph], object]] = {
    "len": len,
    "graphs": lambda graph: graph.graphs(),
    "arrays": lambda graph: graph.arrays(),
    "triples": lambda graph: list(graph.triples()),
    "content_hash": lambda graph: graph.content_hash(),
    "annotations": lambda graph: graph.annotations("a"),
    "add": lambda graph: graph.add([("a", "b", "c")]),
}
NONSENSE = {
    "cut": ROW,
    "a boolean": b'{"head": {}, "boolean": true}',
    "another column": ROW + b"]}}",
    "no rows": HEAD + b'{"bindings": []}}',
    "rows of other kinds": HEAD + b'{"bindings": [{"g": {"type": "uri", "value": "urn:gumption:graph:a"}, '
    b'"i": {"type": "literal", "value": "many"}, "n": {"type": "literal", "value": "many"}}]}}',
    "an empty row": HEAD + b'{"bindings": [{}]}}',
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", NONSENSE)
def test_every_method_answers_or_says_that_the_answer_is_broken(kind, method):
    may_pass = kind in ("no rows", "rows of other kinds", "an empty row")
    with answering(body=NONSENSE[kind], graphs=False) as server:
        graph = KnowledgeGraph(server.address + "/query", update=server.address + "/update")
        with suppress(InputError) if may_pass else pytest.raises(InputError, match="is broken"):
            METHODS[method](graph)
        graph.close()


def test_what_a_server_says_is_printed_without_its_colours():
    said = b"\x1b[2J\x1b[31mred\x1b[0m \x07bell\r\n\x9b1mmore"
    with answering(body=said, status=500, media="text/plain") as server:
        with pytest.raises(InputError, match=r"refused with HTTP 500 Internal Server Error: red bell") as told:
            KnowledgeGraph(server.address + "/query").query(SELECT)
        assert str(told.value).isprintable()
    with answering(body=b"x", media="text/\x1b[31mred") as server:
        with pytest.raises(InputError, match="not SPARQL results: is this the address") as told:
            KnowledgeGraph(server.address + "/query").query(SELECT)
        assert str(told.value).isprintable()


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_end(status):
    """In a process of its own, so that its memory can be measured."""
    with answering(body=ROW, endless=True, status=status) as server:
        program = f"""
import resource
from gumption.kg import KnowledgeGraph
graph = KnowledgeGraph({server.address + "/query"!r}, timeout=5, memory_limit=100)
graph.graphs()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    graph.query({SELECT!r})
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
        told, grown = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    refused = "refused with HTTP 500"
    assert (refused if status == 500 else f"the answer of {server.address}/query has more than 100 MB") in told
    assert int(grown) < 250_000  # kB on Linux


def test_an_answer_shorter_than_it_says():
    short = answering(body=ROW + b"]}}", headers={"Content-Length": "1000"})
    with short as server, pytest.raises(InputError, match=r"does not answer .*IncompleteRead"):
        KnowledgeGraph(server.address + "/query").query(SELECT)


# Credentials and redirects.

FOUND = b'{"head": {"vars": ["g", "kept", "i"]}, "results": {"bindings": []}}'
ANN, BEN = "Basic YW5uOnM=", "Basic YmVuOnQ="


def inside(address: str, user: str) -> str:
    return address.replace("http://", f"http://{user}@")


def test_credentials_go_to_no_other_host():
    with answering(body=FOUND, graphs=False) as one, answering(body=FOUND, graphs=False) as two:
        for query, update, first, second in (
            (inside(one.address, "ann:s"), two.address, ANN, None),
            (one.address, inside(two.address, "ann:s"), None, ANN),
            (inside(one.address, "ann:s"), inside(two.address, "ben:t"), ANN, BEN),
            (inside(one.address, "ann:s"), two.address.replace("127.0.0.1", "localhost"), ANN, None),
        ):
            one.asked.clear(), two.asked.clear()
            with KnowledgeGraph(query + "/query", update=update + "/update") as graph:
                graph._store.insert([])
                graph._store.change((), (), ["DROP GRAPH <urn:a>"])
                graph._store.query("SELECT ?i { ?i ?p ?o }")
            assert set(one.asked) == {("/query", first)}
            assert set(two.asked) == {("/update", second)}
        one.asked.clear()
        with KnowledgeGraph(inside(one.address, "ann:s") + "/query", update=one.address + "/update") as graph:
            graph._store.change((), (), ["DROP GRAPH <urn:a>"])
        assert set(one.asked) == {("/update", ANN)}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused_with_their_target(status):
    with answering(body=FOUND) as two:
        target = two.address + "/else\x1b[31m"
        with answering(status=status, headers={"Location": target}) as one:
            message = re.escape(f"{one.address}/query redirects to {two.address}/else") + rf".*\(HTTP {status}\), and"
            with KnowledgeGraph(inside(one.address, "ann:s") + "/query", update=one.address + "/update") as graph:
                with pytest.raises(InputError, match=message) as told:
                    graph.query(SELECT)
                assert str(told.value).isprintable()
                with pytest.raises(InputError, match=message.replace("query", "update")):
                    graph._store.change((), (), ["DROP GRAPH <urn:a>"])
        assert two.asked == []


def test_rdflib_takes_no_password_elsewhere():
    with answering(body=FOUND, graphs=False) as two, answering(status=302) as one:
        one.headers["Location"] = two.address + "/else"
        graph = KnowledgeGraph(inside(one.address, "ann:s") + "/query", update=two.address + "/update")
        with pytest.raises(InputError, match="redirects to"):
            list(graph.dataset.query(SELECT))
        assert two.asked == []
        graph.dataset.update("DROP GRAPH <urn:a>")
        assert set(two.asked) == {("/update", None)}
        graph.close()
