"""Facts that other programs put into the default graph or other graphs, and what such programs see of ours."""

import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store.limits import Limits
from gumption.kg.store.stores import LocalStore
from tests.bench.stores import oxigraph_server, serving
from tests.conftest import running_server

FACTS = [("fire", "r", "steam"), ("water", "r", "steam"), ("steam", "q", "rain"), ("rain", "r", "mud")]
MINE, LATER = ("mud", "r", "brick"), ("ice", "r", "slush")
G, H = "http://x.org/g", "http://x.org/h"
ALL = "SELECT * { ?s ?p ?o }"

Opened: TypeAlias = Callable[..., KnowledgeGraph]
Insert: TypeAlias = Callable[..., None]


def lines(facts: list[tuple[str, str, str]]) -> str:
    ent, gum = "urn:gumption:entity:", "urn:gumption:relation:"
    return "".join(f"<{ent}{s}> <{gum}{p}> <{ent}{o}> .\n" for s, p, o in facts)


def into_server(address: str, facts: list[tuple[str, str, str]], graph: str | None = None) -> None:
    data = lines(facts) if graph is None else f"GRAPH <{graph}> {{ {lines(facts)} }}"
    kind = {"Content-Type": "application/sparql-update"}
    request = urllib.request.Request(f"{address}/update", f"INSERT DATA {{ {data} }}".encode(), kind)
    urllib.request.urlopen(request, timeout=30).close()


@pytest.fixture(params=["disk", "endpoint"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Opened, Insert]:
    """How to open a graph, and how another program puts facts into it: nobody holds it meanwhile."""
    if request.param == "endpoint":
        address = request.getfixturevalue("endpoint")
        return (
            lambda **how: KnowledgeGraph(f"{address}/query", update=f"{address}/update", **how),
            lambda *what: into_server(address, *what),
        )

    def load(facts: list[tuple[str, str, str]], graph: str | None = None) -> None:
        (tmp_path / "x.nt").write_text(lines(facts))
        command = [oxigraph_server(), "load", "--location", tmp_path / "kg", "--file", tmp_path / "x.nt"]
        subprocess.run([*command, *(["--graph", graph] if graph else [])], check=True, capture_output=True)

    return lambda **how: KnowledgeGraph(tmp_path / "kg", **how), load


def everything(graph: KnowledgeGraph, folder: Path) -> list[object]:
    """What the methods that name their graphs say of the union."""
    graph.save(folder / "x.nt")
    graph.save(folder / "x.nq")
    return [
        len(graph), list(graph.triples()), graph.arrays()[1].tolist(), graph.content_hash(),
        len(KnowledgeGraph.load(folder / "x.nt")), len(KnowledgeGraph.load(folder / "x.nq")),
    ]  # fmt: skip


def test_other_programs_facts_count_once_in_every_method(theirs: tuple[Opened, Insert], tmp_path: Path) -> None:
    """One of them is in three places. An endpoint's default graph is not the union before `refresh`."""
    open_graph, insert = theirs
    for facts, name in ((FACTS[:2], None), (FACTS[1:3], G), (FACTS[1:], H)):
        insert(facts, name)
    oracle = KnowledgeGraph()
    oracle.add(FACTS)
    with open_graph(read_only=True) as graph:
        assert graph.graphs() == {"default": 2, G: 2, H: 3}
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
        assert graph.query(f"SELECT ?x FROM <{G}> {{ ?x gum:r ?y }}") == [{"x": "water"}]
        if isinstance(graph._store, LocalStore):
            assert graph.query(ALL) == oracle.query(ALL)
        else:
            for query in (ALL, "SELECT ?g { GRAPH ?g { ?x gum:r ?y } }"):
                with pytest.raises(InputError, match=r"other programs have written here.*call refresh\(\) once"):
                    graph.query(query)
    with open_graph() as graph:
        oracle.add([MINE])
        assert graph.add([MINE, FACTS[1]], graph="own") == 2
        assert graph.graphs() == {"default": 2, G: 2, H: 3, "own": 2}
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
        graph.refresh()
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
        assert graph.query(ALL) == oracle.query(ALL)
        assert [row["g"] for row in graph.query("SELECT DISTINCT ?g { GRAPH ?g { } }")] == ["default", G, H, "own"]


def test_what_others_add_later_is_in_the_union(theirs: tuple[Opened, Insert]) -> None:
    """In a folder when it is opened, at an endpoint after `refresh`, where it is in a graph that gumption wrote."""
    open_graph, insert = theirs
    insert(FACTS[:1])
    with open_graph() as graph:
        assert graph.remove(FACTS[:1]) == 1
        graph.add([MINE], graph="mine")
        at_once = isinstance(graph._store, LocalStore)
    insert([LATER])
    insert([LATER, *FACTS], "urn:gumption:graph:mine")
    for read_only in (True, False):
        with open_graph(read_only=read_only) as graph:
            assert len(graph) == len(list(graph.triples())) == (6 if at_once else 2)
    with open_graph() as graph:
        graph.refresh()
        assert graph.graphs()["mine"] == 6
        assert list(graph.triples()) == sorted([MINE, LATER, *FACTS])
        assert len(graph) == len(graph.query(ALL)) == 6
        assert graph.remove([LATER, MINE], graph="mine") == 2
        assert len(graph) == len(graph.query(ALL)) == 4


@pytest.fixture(params=["rdflib", "oxigraph"])
def merged(
    request: pytest.FixtureRequest, tmp_path: Path, free_port: Callable[[], int]
) -> Iterator[tuple[KnowledgeGraph, Callable[[], str]]]:
    """An empty graph at a server that shows all graphs as its default graph; and what that graph itself has."""
    if request.param == "rdflib":
        address = request.getfixturevalue("rdflib_server")
        graph = KnowledgeGraph(address, update=address)
        facts = "CONSTRUCT { ?s ?p ?o } { GRAPH <urn:x-rdflib:default> { ?s ?p ?o } }"
        yield graph, lambda: "\n".join(map(str, graph.query(facts)))
        return
    with running_server(tmp_path, f"127.0.0.1:{free_port()}", "--union-default-graph") as address:
        graph = KnowledgeGraph(f"{address}/query", update=f"{address}/update")
        yield graph, lambda: urllib.request.urlopen(f"{address}/store?default", timeout=30).read().decode()


def test_where_a_server_shows_all_graphs_as_one_nothing_is_copied(merged, tmp_path: Path) -> None:
    graph, in_default_graph = merged
    oracle = KnowledgeGraph()
    oracle.add(FACTS)
    graph.annotate("a", {"license": "MIT"})
    assert len(graph) == 0
    graph.add(FACTS[:3], graph="a")
    graph.add(FACTS[2:], graph="b")
    assert graph.graphs() == {"a": 3, "b": 2}
    assert everything(graph, tmp_path) == everything(oracle, tmp_path)
    assert graph.query("SELECT DISTINCT ?s ?o { ?s gum:r ?o }") == oracle.query("SELECT ?s ?o { ?s gum:r ?o }")
    assert graph.remove(FACTS[:1]) == 1
    graph.refresh()
    assert graph.graphs() == {"a": 2, "b": 2}
    assert in_default_graph() == ""
    assert graph.drop("a") == 2
    assert list(graph.triples()) == sorted(FACTS[2:])
    assert graph.remove(FACTS) == 2
    assert graph.graphs() == {}
    assert len(graph) == 0
    assert graph.query("SELECT ?s ?o { ?s gum:r ?o }") == []


@pytest.fixture
def shared(graph: KnowledgeGraph) -> KnowledgeGraph:
    graph.add([*FACTS[:2], MINE], graph="a")
    graph.add([*FACTS[:2], LATER], graph="b")
    graph.annotate("a", {"license": "MIT"})
    return graph


def test_a_graph_is_dropped(shared: KnowledgeGraph) -> None:
    assert shared.drop("a") == 3
    assert shared.graphs() == {"b": 3}
    assert list(shared.triples()) == sorted([*FACTS[:2], LATER])
    assert len(shared.query(ALL)) == 3
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
    "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:gumption:relation:r> ?o } }": 6,
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


@pytest.mark.parametrize("home", ["endpoint"], indirect=True)
def test_stock_clients_see_the_union_of_an_endpoint(shared: KnowledgeGraph, endpoint: str) -> None:
    counts_of_stock_clients(f"{endpoint}/query")


@pytest.mark.parametrize("home", ["disk"], indirect=True)
def test_stock_clients_see_the_union_of_a_folder_that_is_served(shared: KnowledgeGraph, tmp_path: Path) -> None:
    shared.close()
    with serving(oxigraph_server() or "", tmp_path / "graph") as address:
        counts_of_stock_clients(f"{address}/query")


def test_stock_clients_see_the_union_of_whatever_gumption_serves(shared: KnowledgeGraph) -> None:
    """The three homes, behind the server of `gumption kg serve`."""
    from tests.bench.serving import serving_graph

    with serving_graph(shared, Limits(timeout=30)) as address:
        counts_of_stock_clients(address)
