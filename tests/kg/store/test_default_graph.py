"""Facts that other programs put into the default graph, and what clients that know nothing of gumption see of ours."""

import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store import stores as stores_module
from gumption.kg.store.limits import Limits
from tests.bench.stores import oxigraph_server, serving

MINE = [("mud", "componentOf", "brick")]
THEIRS = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam")]
LATER = [("ice", "componentOf", "slush")]


def lines(facts: list[tuple[str, str, str]]) -> str:
    ent, gum = "urn:gumption:entity:", "urn:gumption:relation:"
    return "".join(f"<{ent}{s}> <{gum}{p}> <{ent}{o}> .\n" for s, p, o in facts)


@pytest.fixture(params=["disk", "endpoint"])
def theirs(request, tmp_path) -> tuple[Callable[..., KnowledgeGraph], Callable[[list], None]]:
    """How to open a graph, and how another program puts facts into its default graph: nobody holds it meanwhile."""
    if request.param == "disk":

        def load(facts: list[tuple[str, str, str]]) -> None:
            (tmp_path / "x.nt").write_text(lines(facts))
            command = [oxigraph_server(), "load", "--location", tmp_path / "kg", "--file", tmp_path / "x.nt"]
            subprocess.run(command, check=True, capture_output=True)

        return lambda **how: KnowledgeGraph(tmp_path / "kg", **how), load
    address = request.getfixturevalue("endpoint")

    def insert(facts: list[tuple[str, str, str]]) -> None:
        body = f"INSERT DATA {{ {lines(facts)} }}".encode()
        kind = {"Content-Type": "application/sparql-update"}
        urllib.request.urlopen(urllib.request.Request(f"{address}/update", body, kind), timeout=30).close()

    return lambda **how: KnowledgeGraph(f"{address}/query", update=f"{address}/update", **how), insert


def test_the_default_graph_is_one_more_graph_in_every_method(theirs, tmp_path):
    open_graph, load = theirs
    load(THEIRS)
    with open_graph(read_only=True) as graph:
        assert len(graph) == 2
        assert graph.graphs() == {"default": 2}
        assert list(graph.triples()) == list(graph.triples(graph="default")) == THEIRS
        assert graph.query("SELECT ?x { ?x gum:componentOf ent:steam }") == [{"x": "fire"}, {"x": "water"}]
        assert graph.arrays("default")[1].shape == graph.arrays()[1].shape == (2, 3)
        assert graph.content_hash() == graph.content_hash("default")
        graph.save(tmp_path / "out.nq")
    assert KnowledgeGraph.load(tmp_path / "out.nq").graphs() == {"default": 2}
    with open_graph() as graph:
        assert graph.add(THEIRS[:1], graph="default") == 0
        assert graph.add(MINE, graph="mine") == 1
        assert graph.graphs() == {"default": 2, "mine": 1}
        assert list(graph.triples()) == sorted([*MINE, *THEIRS])
        assert len(graph.query("SELECT * { ?s ?p ?o }")) == len(graph) == 3
        assert {row["g"] for row in graph.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")} == {"default", "mine"}
        assert graph.to_networkx("default").number_of_edges() == graph.to_triples_factory("default").num_triples == 2
        graph.save(tmp_path / "out.nq")
    assert KnowledgeGraph.load(tmp_path / "out.nq").graphs() == {"default": 2, "mine": 1}
    load(LATER)
    with open_graph() as graph:
        assert len(graph) == 4  # in the union at once, in its graph after refresh()
        graph.refresh()
        assert graph.graphs() == {"default": 3, "mine": 1}
        assert len(graph) == len(graph.query("SELECT * { ?s ?p ?o }")) == 4
        assert graph.remove([*THEIRS, *MINE]) == 3
        assert graph.graphs() == {"default": 1}
        assert graph.drop("default") == 1
        assert len(graph) == 0
        assert graph.query("ASK { ?s ?p ?o }") is False


def test_removing_is_the_first_thing_that_is_done(theirs):
    open_graph, load = theirs
    load(THEIRS)
    with open_graph() as graph:
        assert graph.remove(THEIRS[:1]) == 1
        assert list(graph.triples()) == THEIRS[1:]


def test_default_and_named_graphs_of_others(theirs):
    """Each fact once, also where the two share one."""
    open_graph, load = theirs
    load(THEIRS)
    with open_graph() as graph:
        graph.dataset.update(f"INSERT DATA {{ GRAPH <http://x.org/g> {{ {lines([*THEIRS[:1], *LATER])} }} }}")
    with open_graph(read_only=True) as graph:
        assert graph.graphs() == {"default": 2, "http://x.org/g": 2}
        assert len(graph) == len(list(graph.triples())) == 3
        assert len(graph.query("SELECT * { ?s ?p ?o }")) == 3
        asked = "SELECT ?x FROM <http://x.org/g> { ?x gum:componentOf ?y }"
        assert graph.query(asked) == [{"x": "fire"}, {"x": "ice"}]
    with open_graph() as graph:
        graph.refresh()
        assert len(graph.query("SELECT * { ?s ?p ?o }")) == len(graph) == 3


@pytest.fixture
def shared(graph: KnowledgeGraph) -> KnowledgeGraph:
    graph.add([*THEIRS, *MINE], graph="a")
    graph.add([*THEIRS, *LATER], graph="b")
    graph.annotate("a", {"license": "MIT"})
    return graph


def test_a_graph_is_dropped(shared):
    assert shared.drop("a") == 3
    assert shared.graphs() == {"b": 3}
    assert list(shared.triples()) == sorted([*THEIRS, *LATER])
    assert len(shared.query("SELECT * { ?s ?p ?o }")) == 3
    assert shared.annotations("a") == {}
    with pytest.raises(InputError, match=r"unknown graph 'a'.*\(there are: b\)"):
        shared.drop("a")
    assert shared.drop("b") == 3
    assert len(shared) == 0
    with pytest.raises(InputError, match="unknown graph 'b'"):
        shared.drop("b")
    with pytest.raises(InputError, match="is reserved"):
        shared.drop("urn:gumption:labels")
    with shared.transaction(), pytest.raises(InputError, match="a graph cannot be dropped within a transaction"):
        shared.drop("b")


COUNTS = {
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }": 4,
    "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:gumption:relation:componentOf> ?o } }": 6,
    "SELECT (COUNT(*) AS ?n) { GRAPH <urn:gumption:graph:a> { ?s ?p ?o } }": 3,
}


def counts_of_stock_clients(address: str) -> None:
    from rdflib import Graph
    from rdflib.plugins.stores.sparqlstore import SPARQLStore
    from SPARQLWrapper import JSON, SPARQLWrapper

    client = SPARQLWrapper(address, returnFormat=JSON)
    stock = Graph(SPARQLStore(address))
    for query, count in COUNTS.items():
        client.setQuery(query)
        [row] = client.queryAndConvert()["results"]["bindings"]
        assert int(row["n"]["value"]) == count, query
        assert [int(number) for (number,) in stock.query(query)] == [count], query
    assert len(list(stock.triples((None, None, None)))) == len(stock) == 4


@pytest.fixture(params=["copied", "base"])
def written(request, graph, monkeypatch) -> KnowledgeGraph:
    """The graph of a home; with a base, where it can have one, its first graph is not in the default graph."""
    monkeypatch.setattr(stores_module, "BASE_FACTS", 2 if request.param == "base" else 100)
    graph.add([*THEIRS, *MINE], graph="a")
    graph.add([*THEIRS, *LATER], graph="b")
    return graph


@pytest.mark.parametrize("home", ["endpoint"], indirect=True)
def test_stock_clients_see_the_union_of_an_endpoint(written, endpoint):
    counts_of_stock_clients(f"{endpoint}/query")


@pytest.mark.parametrize("home", ["disk"], indirect=True)
def test_stock_clients_see_the_union_of_a_folder_that_is_served(written, tmp_path):
    written.refresh()  # copies a base
    written.close()
    binary = oxigraph_server()
    assert binary
    with serving(binary, tmp_path / "graph") as address:
        counts_of_stock_clients(f"{address}/query")


def test_stock_clients_see_the_union_of_whatever_gumption_serves(written, free_port):
    """The three homes, behind the server of `gumption kg serve`."""
    import uvicorn

    from gumption.kg.store.serving import sparql_app

    port = free_port()
    config = uvicorn.Config(sparql_app(written, Limits(timeout=30)), port=port, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        counts_of_stock_clients(f"http://127.0.0.1:{port}/query")
    finally:
        server.should_exit = True
        thread.join()
