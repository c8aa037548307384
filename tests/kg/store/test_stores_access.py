"""Read-only graphs, transactions and time-outs, in each home of a graph."""

import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

STEAM = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam")]
# Some 10**10 rows: no machine counts them while a test waits.
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
CHANGES = {
    "add": lambda graph, _: graph.add(STEAM),
    "remove": lambda graph, _: graph.remove(STEAM),
    "annotate": lambda graph, _: graph.annotate("a", {"license": "MIT"}),
    "load_file": lambda graph, folder: graph.load_file(folder / "x.tsv"),
    "transaction": lambda graph, _: graph.transaction().__enter__(),
    "refresh": lambda graph, _: graph.refresh(),
}


@pytest.fixture
def frozen(request, home, tmp_path) -> KnowledgeGraph:
    """A graph with STEAM in each kind of home, opened read-only."""
    (tmp_path / "x.tsv").write_text("a\tb\tc\n")
    graph = home()
    graph.add(STEAM, graph="a")
    kind = request.node.callspec.params["home"]
    if kind == "memory":
        graph.save(tmp_path / "x.nq")
        return KnowledgeGraph.load(tmp_path / "x.nq", read_only=True)
    if kind == "disk":
        return KnowledgeGraph(tmp_path / "graph", read_only=True)
    address = request.getfixturevalue("endpoint")
    return KnowledgeGraph(f"{address}/query", update=f"{address}/update", read_only=True)


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_graph_refuses_to_change(frozen, tmp_path, change):
    with pytest.raises(InputError, match="this knowledge graph was opened read-only"):
        CHANGES[change](frozen, tmp_path)
    with pytest.raises(InputError, match="that is an update, and a query only reads"):
        frozen.query("DELETE WHERE { ?s ?p ?o }")
    assert list(frozen.triples(graph="a")) == STEAM
    assert frozen.query("SELECT ?x { ?x gum:componentOf ent:steam }") == [{"x": "fire"}, {"x": "water"}]


def test_the_rdflib_dataset_of_a_read_only_graph_refuses_too(frozen):
    import rdflib

    named = frozen.dataset.get_context(rdflib.URIRef("urn:gumption:graph:a"))
    assert len(list(named)) == 2
    with pytest.raises((InputError, TypeError), match=r"read-only|read only"):
        named.add((rdflib.URIRef("urn:a"), rdflib.URIRef("urn:b"), rdflib.URIRef("urn:c")))


def test_a_folder_is_read_beside_a_writer(tmp_path):
    with pytest.raises(InputError, match=r"there is no knowledge graph at .*kg to be read"):
        KnowledgeGraph(tmp_path / "kg", read_only=True)
    assert not (tmp_path / "kg").exists()
    with KnowledgeGraph(tmp_path / "kg") as writer:
        writer.add(STEAM[:1])
        program = "import sys; from gumption.kg import KnowledgeGraph as K; print(len(K(sys.argv[1], read_only=True)))"
        command = [sys.executable, "-c", program, str(tmp_path / "kg")]
        assert subprocess.check_output(command, text=True) == "1\n"
        with KnowledgeGraph(tmp_path / "kg", read_only=True) as reader:
            writer.add(STEAM)
            assert len(reader) == 1  # as it was when it was opened
            assert len(writer) == 2


# Transactions.


def test_a_transaction_is_made_at_its_end(graph):
    graph.add(STEAM, graph="a")
    graph.add(STEAM[:1], graph="b")
    with graph.transaction() as same:
        assert same is graph
        assert graph.add([*STEAM, ("mud", "componentOf", "brick")], graph="a") == 1
        assert graph.remove(STEAM[:1]) == 2
        assert graph.remove(STEAM[:1]) == 0
        assert graph.add(STEAM[1:], graph="new") == 1
        assert graph.remove(STEAM[1:]) == 2
        assert graph.add(STEAM[1:], graph="b") == 1
        graph.annotate("b", {"license": "MIT"})
        assert graph.graphs() == {"a": 2, "b": 1}
        assert graph.annotations("b") == {}
    assert graph.graphs() == {"a": 1, "b": 1}
    assert list(graph.triples()) == [("mud", "componentOf", "brick"), STEAM[1]]
    assert graph.annotations("b") == {"license": "MIT"}
    assert graph.query("ASK { ent:mud gum:componentOf ent:brick }") is True
    assert len(graph) == 2


def test_an_exception_undoes_a_transaction(graph):
    graph.add(STEAM, graph="a")

    def changes() -> None:
        with graph.transaction():
            graph.remove(STEAM)
            graph.add([("mud", "componentOf", "brick")])
            graph.annotate("a", {"license": "MIT"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        changes()
    assert graph.graphs() == {"a": 2}
    assert graph.annotations("a") == {}
    with graph.transaction():
        pass
    assert graph.add([("mud", "componentOf", "brick")]) == 1


def test_what_a_transaction_cannot_do(graph, tmp_path):
    with graph.transaction():
        with pytest.raises(InputError, match="they do not nest"), graph.transaction():
            pass
        with pytest.raises(InputError, match="a file cannot be loaded within a transaction"):
            graph.load_file(tmp_path / "x.nq")
        with pytest.raises(InputError, match="is reserved"):
            graph.annotate("urn:gumption:about", {"license": "MIT"})


def test_adding_to_anothers_graph_in_a_transaction(endpoint):
    import urllib.request

    body = b"INSERT DATA { GRAPH <http://x.org/g> { <urn:gumption:entity:a> <urn:gumption:relation:b> <urn:x> } }"
    headers = {"Content-Type": "application/sparql-update"}
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/update", body, headers), timeout=30).close()
    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update")
    with graph.transaction():
        graph.add(STEAM, graph="http://x.org/g")
    assert len(graph) == 3
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 3}]


def test_what_is_written_through_rdflib_is_in_the_union(graph):
    import rdflib

    graph.add(STEAM, graph="a")
    named = graph.dataset.get_context(rdflib.URIRef("urn:gumption:graph:a"))
    entity, relation = (rdflib.Namespace(f"urn:gumption:{kind}:") for kind in ("entity", "relation"))
    named.add((entity.ice, relation.componentOf, entity.steam))
    named.remove((entity.fire, None, None))
    assert list(graph.triples()) == [("ice", "componentOf", "steam"), STEAM[1]]
    assert graph.query("SELECT ?x { ?x ?y ?z }") == [{"x": "ice"}, {"x": "water"}]


@pytest.mark.parametrize("home", ["disk", "endpoint"], indirect=True)
def test_what_is_written_through_rdflib_last_is_in_the_union_of_the_next_client(home):
    with home() as graph:
        graph.add(STEAM, graph="a")
        graph.dataset.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <urn:o> } }")
    with home() as graph:
        assert list(graph.triples()) == sorted([*STEAM, ("urn:s", "urn:p", "urn:o")])
        assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 3}]


# Time-outs.


@pytest.fixture
def busy(home) -> Iterator[KnowledgeGraph]:
    graph = home()
    graph.add([(f"e{i}", "r", f"e{i * 7 % 300}") for i in range(300)], graph="a")
    yield graph
    graph.close()


@pytest.mark.parametrize("home", ["memory", "disk"], indirect=True)
def test_a_query_is_stopped_when_its_time_is_over(busy):
    with pytest.raises(InputError, match=r"the query took longer than 0.3 seconds and was stopped: ask for less"):
        busy.query(ENDLESS, timeout=0.3)
    # The process is really gone: what it was is the only child, and it is waited for.
    assert busy._store._process.is_alive() is False


def test_answers_within_a_timeout_are_the_same(busy):
    for sparql in (
        "SELECT ?x { ent:e1 gum:r ?x }",
        "SELECT ?g ?none (1.5 AS ?v) { GRAPH ?g { ent:e1 gum:r ?x } OPTIONAL { ?x gum:no ?none } }",
        "ASK { ?s ?p ent:none }",
        "CONSTRUCT { ?x gum:back ?y } WHERE { ?y gum:r ?x FILTER(?y = ent:e1) }",
        "SELECT ?x { ?x gum:r+ ent:e1 }",
    ):
        assert busy.query(sparql, timeout=30) == busy.query(sparql)
    with pytest.raises(InputError, match="SPARQL syntax error at line 1, column 12"):
        busy.query("SELECT ?x {", timeout=30)
    busy.add([("e1", "r", "new")], graph="a")
    assert {"x": "new"} in busy.query("SELECT ?x { ent:e1 gum:r ?x }", timeout=30)
    busy.remove([("e1", "r", "new")])
    assert {"x": "new"} not in busy.query("SELECT ?x { ent:e1 gum:r ?x }", timeout=30)
    with pytest.raises(InputError, match="timeout is 0; it is a number above 0"):
        busy.query("ASK { ?s ?p ?o }", timeout=0)


def test_the_timeout_of_a_graph_holds_for_each_query(tmp_path):
    graph = KnowledgeGraph(timeout=0.2)
    graph.add([(f"e{i}", "r", f"e{i * 7 % 300}") for i in range(300)])
    with pytest.raises(InputError, match=r"took longer than 0\.2 seconds"):
        graph.query(ENDLESS)
    with pytest.raises(InputError, match="the query could not be evaluated"):
        graph.query("SELECT * { SERVICE <http://127.0.0.1:1/query> { ?s ?p ?o } }", timeout=20, allow_service=True)
    graph.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for a process in /proc")
def test_the_process_ends_itself_when_its_parent_is_gone(tmp_path):
    program = f"""
import os, threading, time
from gumption.kg import KnowledgeGraph
from gumption.kg.store.endpoint import EndpointStore
graph = KnowledgeGraph()
graph.add([(f"e{{i}}", "r", f"e{{i * 7 % 300}}") for i in range(300)])
graph.query("ASK {{ ?s ?p ?o }}", timeout=9)
print(graph._store._process._process.pid, flush=True)
threading.Timer(0.2, lambda: os._exit(0)).start()
graph.query({ENDLESS!r}, timeout=0.5)
"""
    child = int(subprocess.check_output([sys.executable, "-c", program], text=True))
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def slow_server(serve: Callable[..., str]) -> Iterator[str]:
    """A server that reads a request and then never answers, or answers a drop at a time."""
    ended = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/drops":
                self.send_response(200)
                self.send_header("Content-Type", "application/sparql-results+json")
                self.end_headers()
                while not ended.wait(0.05):
                    try:
                        self.wfile.write(b" ")
                    except OSError:
                        return
            ended.wait(20)

    yield serve(Handler)
    ended.set()


@pytest.mark.parametrize("path", ["/silent", "/drops"])
def test_an_endpoint_that_is_too_slow(slow_server, path):
    message = re.escape(f"the SPARQL endpoint {slow_server}{path} did not answer within 0.4 seconds: request less")
    with pytest.raises(InputError, match=message):
        KnowledgeGraph(slow_server + path, timeout=0.4).query("ASK { ?s ?p ?o }")
    with pytest.raises(InputError, match=message):
        KnowledgeGraph(slow_server + path, update=slow_server + path, timeout=0.4).add(STEAM)


def test_a_graph_in_memory_that_does_not_fit_its_process(monkeypatch):
    graph = KnowledgeGraph()
    graph.add(STEAM)
    monkeypatch.setattr(sys, "executable", "/bin/false" if os.path.exists("/bin/false") else "/usr/bin/false")
    with pytest.raises(InputError, match="the process that answers queries within a time-out could not read the graph"):
        graph.query("ASK { ?s ?p ?o }", timeout=5)


@pytest.mark.slow
def test_of_two_programs_that_make_a_graph_at_once_both_find_one(tmp_path):
    code = (
        "import sys, time\nfrom gumption.data import InputError\nfrom gumption.kg import KnowledgeGraph\n"
        "for i in range(20):\n    try:\n        with KnowledgeGraph(f'{sys.argv[1]}/kg{i}') as graph:\n"
        "            graph.add([(sys.argv[2], 'is', 'here')])\n"
        "    except InputError as error:\n        assert 'in use' in str(error), error\n"
    )
    programs = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path, name], stderr=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    assert [program.communicate()[1] for program in programs] == ["", ""]
    folders = list(tmp_path.glob("kg*"))
    assert len(folders) == 20
    for folder in folders:
        with KnowledgeGraph(folder) as graph:
            assert {subject for subject, *_ in graph.triples()} <= {"a", "b"} != set()
