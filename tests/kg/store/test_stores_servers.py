"""What has to work at any SPARQL 1.1 server: here rdflib's, which shares no code with Oxigraph."""

import http.server
import re
from collections.abc import Callable

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

STEAM = [("fire", "combinesWith", "water"), ("fire", "componentOf", "steam"), ("water", "combinesWith", "fire")]


def test_a_server_of_another_make(rdflib_server, tmp_path):
    graph = KnowledgeGraph(rdflib_server, update=rdflib_server)
    assert graph.graphs() == {}
    assert graph.add(STEAM, graph="a") == 3
    assert graph.add([*STEAM[:1], ("acid rain", "componentOf", "mud")], graph="b") == 2
    assert graph.add(STEAM, graph="a") == 0
    assert graph.graphs() == {"a": 3, "b": 2}
    assert len(graph) == 4
    assert list(graph.triples(relation="componentOf")) == [("acid rain", "componentOf", "mud"), STEAM[1]]
    assert graph.query("SELECT ?x { ?x gum:componentOf ?goal }", goal="steam") == [{"x": "fire"}]
    assert graph.query("ASK { ent:fire gum:componentOf ent:steam }") is True
    assert graph.query("CONSTRUCT { ?y gum:madeOf ?x } WHERE { ?x gum:componentOf ?y . FILTER(?x = ent:fire) }") == [
        ("steam", "madeOf", "fire")
    ]
    with pytest.raises(InputError, match="syntax error at line 1"):
        graph.query("SELECT ?x {")
    assert graph.remove(STEAM[:1]) == 2
    assert graph.graphs() == {"a": 2, "b": 1}
    with graph.transaction():
        graph.add([("ice", "componentOf", "water")], graph="c")
        graph.remove(STEAM[1:], graph="a")
    assert graph.graphs() == {"b": 1, "c": 1}
    graph.annotate("b", {"license": "CC0-1.0"})
    assert graph.annotations("b") == {"license": "CC0-1.0"}
    here = KnowledgeGraph()
    here.add(graph.triples(), graph="a")
    assert graph.content_hash() == here.content_hash()
    here.save(tmp_path / "x.nt.gz")
    assert graph.load_file(tmp_path / "x.nt.gz", graph="d") == 2
    assert graph.content_hash("d") == here.content_hash("a")


@pytest.fixture
def auth_server(serve: Callable[..., str]) -> tuple[str, list[str]]:
    """The address of a server that wants a password, and the credentials that were right."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            given = self.headers.get("Authorization", "")
            if given != "Basic YW5uOnM6Y3JldA==":  # ann, s:cret
                self.send_error(401)
                return
            asked.append(given)
            self.send_response(200)
            self.send_header("Content-Type", "application/sparql-results+json")
            self.end_headers()
            # First it is asked for the names of its graphs, then what the test asks.
            no_graphs = b'{"head": {"vars": ["g", "kept"]}, "results": {"bindings": []}}'
            self.wfile.write(no_graphs if len(asked) == 1 else b'{"head": {}, "boolean": true}')

    return f"{serve(Handler)}/query", asked


def test_a_password_is_sent_and_not_shown(auth_server):
    bare, asked = auth_server
    inside = bare.replace("http://", "http://ann:s%3Acret@")
    assert KnowledgeGraph(inside).query("ASK { ?s ?p ?o }") is True
    assert set(asked) == {"Basic YW5uOnM6Y3JldA=="}
    with pytest.raises(InputError, match=re.escape(f"{bare} refused with HTTP 401")) as refused:
        KnowledgeGraph(bare.replace("http://", "http://ann:wrong@")).query("ASK { ?s ?p ?o }")
    assert "wrong" not in str(refused.value)


@pytest.fixture
def forgetful_server(serve: Callable[..., str]) -> tuple[str, list[tuple[int, str]]]:
    """A server that promises to keep connections, and ends each after two answers; (client's port, path) of each."""
    asked: list[tuple[int, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.client_address[1], self.path))
            body = b'{"head": {"vars": ["g", "kept"]}, "results": {"bindings": []}}'
            self.send_response(200)
            self.send_header("Content-Type", "application/sparql-results+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = len([port for port, _ in asked if port == self.client_address[1]]) == 2

    return serve(Handler), asked


def test_connections_are_kept_and_made_again_when_they_have_ended(forgetful_server):
    address, asked = forgetful_server
    with KnowledgeGraph(f"{address}/query") as graph:
        for _ in range(5):
            assert graph.graphs() == {}
    ports = [port for port, _ in asked]
    assert len(ports) == 5
    assert ports[0] == ports[1] != ports[2] == ports[3] != ports[4]


def test_the_proxy_of_the_environment_is_asked(forgetful_server, monkeypatch):
    address, asked = forgetful_server
    monkeypatch.setenv("http_proxy", address)
    monkeypatch.delenv("no_proxy", raising=False)
    with KnowledgeGraph("http://far.invalid/query?x=1") as graph:
        assert graph.graphs() == {}
    assert [path for _, path in asked] == ["http://far.invalid/query?x=1"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:x/query", "http://[::1/query"])
def test_an_address_that_is_none(address):
    with pytest.raises(InputError, match=r"not a valid host or port|is no address of an endpoint: Invalid IPv6 URL"):
        KnowledgeGraph(address).graphs()
