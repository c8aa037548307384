"""What has to work at any SPARQL 1.1 server: here rdflib's, which shares no code with Oxigraph."""

import http.server
import re
import threading
from collections.abc import Iterator

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
def auth_server() -> Iterator[tuple[str, list[str]]]:
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
            no_graphs = b'{"head": {"vars": ["g", "own"]}, "results": {"bindings": []}}'
            self.wfile.write(no_graphs if len(asked) == 1 else b'{"head": {}, "boolean": true}')

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/query", asked
        server.shutdown()
        thread.join()


def test_a_password_is_sent_and_not_shown(auth_server):
    bare, asked = auth_server
    inside = bare.replace("http://", "http://ann:s%3Acret@")
    assert KnowledgeGraph(inside).query("ASK { ?s ?p ?o }") is True
    assert set(asked) == {"Basic YW5uOnM6Y3JldA=="}
    with pytest.raises(InputError, match=re.escape(f"{bare} refused with HTTP 401")) as refused:
        KnowledgeGraph(bare.replace("http://", "http://ann:wrong@")).query("ASK { ?s ?p ?o }")
    assert "wrong" not in str(refused.value)
