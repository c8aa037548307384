"""What only some homes of a graph can do or suffer, and what holds of the process that reads one."""

import http.server
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store import endpoint as endpoint_module
from tests.processor import cost

from .conftest import RAIN, STEAM


@pytest.mark.parametrize("home", ["disk"], indirect=True)
def test_one_process_at_a_time_holds_a_graph_on_disk(home, tmp_path, monkeypatch):
    home()
    with pytest.raises(InputError, match="is in use: close it there first"):
        home()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is in use: close it there first"):
        KnowledgeGraph("graph")


@pytest.mark.parametrize("home", ["endpoint"], indirect=True)
def test_an_endpoint_has_many_clients(home):
    one, other = home(), home()
    one.add(STEAM, graph="a")
    other.add(STEAM[:1], graph="b")
    assert list(one.triples()) == list(other.triples()) == STEAM
    assert one.graphs() == {"a": 4, "b": 1}


def test_graphs_of_other_programs(endpoint):
    def update(text: str) -> None:
        headers = {"Content-Type": "application/sparql-update"}
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/update", text.encode(), headers), timeout=30).close()

    fire = "<urn:gumption:entity:fire> <urn:gumption:relation:"
    update(f"INSERT DATA {{ GRAPH <http://x.org/g> {{ {fire}is> <http://x.org/1> }} }}")
    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update")
    assert graph.graphs() == {"http://x.org/g": 1}
    graph.add(STEAM, graph="a")
    facts = [*STEAM[:2], ("fire", "is", "http://x.org/1"), *STEAM[2:]]
    assert list(graph.triples()) == facts
    # A fact that an own graph and another program's have is one fact.
    assert graph.add(facts[2:3], graph="b") == 1
    assert len(graph) == 5
    assert list(graph.triples()) == facts
    # A graph that was another program's is whole when facts are added to it.
    update(f"INSERT DATA {{ GRAPH <http://x.org/g> {{ {fire}was> <http://x.org/2> }} }}")
    assert graph.add(RAIN, graph="http://x.org/g") == 2
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 8}]
    assert graph.graphs() == {"a": 4, "b": 1, "http://x.org/g": 4}


def test_a_graph_on_disk_is_there_when_opened_again(tmp_path):
    with KnowledgeGraph(tmp_path / "runs" / "kg") as graph:
        graph.add(STEAM, graph="a")
        assert len(graph.dataset) > 0
    with pytest.raises(InputError, match="this knowledge graph is closed"):
        len(graph)
    with KnowledgeGraph(str(tmp_path / "runs" / "kg")) as graph:
        assert list(graph.triples(graph="a")) == STEAM


def test_load_into_a_store(tmp_path, endpoint):
    KnowledgeGraph().save(tmp_path / "empty.nq")
    (tmp_path / "x.tsv").write_text("fire\tcomponentOf\tsteam\nfire\tcomponentOf\tash\tmore\n")
    address = {"location": f"{endpoint}/query", "update": f"{endpoint}/update"}
    for where in ({"location": tmp_path / "kg"}, address):
        graph = KnowledgeGraph.load(tmp_path / "x.tsv", **where)
        assert graph.graphs() == {"default": 1, "more": 1}
        graph.close()


def test_places_that_are_no_graph(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files and no knowledge graph"):
        KnowledgeGraph(tmp_path)
    with pytest.raises(InputError, match=re.escape("notes.txt is a file: read it with KnowledgeGraph.load")):
        KnowledgeGraph(tmp_path / "notes.txt")
    assert os.listdir(tmp_path) == ["notes.txt"]
    with pytest.raises(InputError, match="goes with the http address of an endpoint"):
        KnowledgeGraph(tmp_path / "kg", update="http://127.0.0.1/update")


def test_blank_nodes_have_the_same_labels_in_each_home(graph):
    facts = [("_:n", "r", "<<( _:n <urn:p> _:m )>>"), ("_:n", "r", "_:m")]
    assert graph.add(facts, graph="_:g") == 2
    assert sorted(graph.triples()) == sorted(graph.triples(graph="_:g")) == sorted(facts)
    assert [row["o"] for row in graph.query("SELECT ?o { GRAPH ?g { ?s ?p ?o } }")] == sorted(o for _, _, o in facts)
    assert list(graph.triples("_:n", object="_:m")) == facts[1:]
    assert graph.arrays("_:g")[1].shape == (2, 3)
    assert graph.drop("_:g") == 2
    assert len(graph) == 0


def test_adding_to_an_endpoint_takes_several_requests(endpoint, monkeypatch):
    monkeypatch.setattr(endpoint_module.EndpointStore, "batch", 3)
    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update")
    facts = [(f"e{i}", "r", f"e{i + 1}") for i in range(8)]
    assert graph.add(facts[:4]) == 4
    assert graph.add(facts) == 4
    assert list(graph.triples()) == facts
    assert graph.remove(facts) == 8


def test_an_endpoint_without_named_graphs_is_asked_as_it_is(endpoint):
    body = b"INSERT DATA { <urn:gumption:entity:fire> <urn:gumption:relation:is> <http://x.org/Hot> }"
    request = urllib.request.Request(f"{endpoint}/update", body, {"Content-Type": "application/sparql-update"})
    urllib.request.urlopen(request, timeout=30).close()
    graph = KnowledgeGraph(f"{endpoint}/query")
    assert list(graph.triples()) == [("fire", "is", "http://x.org/Hot")]
    with pytest.raises(InputError, match="was opened for queries only: give KnowledgeGraph"):
        graph.add(STEAM)


def test_nobody_listens(silent_address):
    with pytest.raises(InputError, match=rf"the SPARQL endpoint {silent_address} does not answer \(.*refused"):
        len(KnowledgeGraph(silent_address))


@pytest.fixture
def wrong_server(serve: Callable[..., str]) -> Iterator[str]:
    """A server that is no SPARQL endpoint; the path says what it does wrong."""

    hung = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/hangs":
                hung.wait(10)
            if self.path == "/refuses":
                self.send_error(503, "Busy", "come back later")
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if self.path == "/html" else "application/sparql-results+json")
            self.end_headers()
            self.wfile.write(b"<html>Welcome</html>")

    yield serve(Handler)
    hung.set()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/html", "{url} answered text/html, not SPARQL results: is this the address of the query service?"),
        ("/broken", "the answer of {url} is broken"),
        ("/refuses", "{url} refused with HTTP 503 Busy:"),
    ],
)
def test_a_server_that_is_no_endpoint(wrong_server, path, message):
    url = wrong_server + path
    with pytest.raises(InputError, match=re.escape(message.format(url=url))):
        KnowledgeGraph(url).query("ASK { ?s ?p ?o }")


def test_an_endpoint_that_is_silent_for_too_long(wrong_server, monkeypatch):
    monkeypatch.setattr(endpoint_module, "TIMEOUT_S", 0.1)
    with pytest.raises(InputError, match=rf"the SPARQL endpoint {wrong_server}/hangs does not answer \(timed out\)"):
        len(KnowledgeGraph(f"{wrong_server}/hangs"))


def test_an_update_that_is_refused(endpoint, wrong_server):
    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{wrong_server}/refuses")
    with pytest.raises(InputError, match=re.escape(f"{wrong_server}/refuses refused with HTTP 503")):
        graph.add(STEAM)


def test_a_query_that_fails_while_it_runs():
    with pytest.raises(InputError, match="the query could not be evaluated"):
        KnowledgeGraph().query("SELECT * { SERVICE <http://127.0.0.1:1/query> { ?s ?p ?o } }", allow_service=True)


def test_hash_seeds_change_nothing(tmp_path):
    program = """
import sys
from gumption.kg import KnowledgeGraph
graph = KnowledgeGraph()
for name in ("b", "a"):
    graph.add({(f"e{i}", f"r{i % 3}", f"e{i * 7 % 50}") for i in range(50)}, graph=name)
graph.save(sys.argv[1])
print(graph.arrays()[0].hash, graph.query("SELECT DISTINCT ?p ?g { GRAPH ?g { ?s ?p ?o } }"))
"""
    outputs = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", program, str(tmp_path / f"{seed}.trig")]
        outputs.append(subprocess.check_output(command, env=os.environ | {"PYTHONHASHSEED": seed}))
    assert outputs[0] == outputs[1]
    assert (tmp_path / "1.trig").read_bytes() == (tmp_path / "2.trig").read_bytes()


def test_importing_the_graph_leaves_the_heavy_libraries_alone():
    program = (
        "import sys, gumption.kg; print(sorted({'torch', 'pykeen', 'gensim', 'rdflib', 'networkx'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
    with pytest.raises(ImportError, match="NoSuchModel"):
        from gumption.kg import NoSuchModel  # noqa: F401  # pyright: ignore


@pytest.mark.slow
def test_arrays_of_fifty_thousand_facts_take_little_time():
    rng = np.random.default_rng(0)
    parts = zip(
        rng.integers(0, 9_000, 50_000), rng.integers(0, 20, 50_000), rng.integers(0, 9_000, 50_000), strict=True
    )
    graph = KnowledgeGraph()
    graph.add((f"thing {s}", f"relation {r}", f"thing {o}") for s, r, o in parts)
    assert len(graph.arrays()[1]) == len(graph)
    assert cost(graph.arrays, repeats=3) < 15
