"""Queries over the union of all graphs: each fact counts once, wherever it is and whatever the query mentions."""

import random
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store import stores as stores_module
from tests.bench.stores import oxigraph_server, serving

FACTS = [("fire", "r", "steam"), ("water", "r", "steam"), ("steam", "q", "rain"), ("rain", "r", "mud")]
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
LABELS = [
    "SELECT ?x ?l { ?x gum:r ?y . ?x rdfs:label ?l }",
    "SELECT (COUNT(*) AS ?n) { ?x gum:r ?y ; rdfs:label ?l }",
    "SELECT * { ?x gum:r/rdfs:label ?l . ?y ^gum:q [ gum:r|gum:none ?z ] FILTER NOT EXISTS { ?z rdfs:label 'no' } }",
    "SELECT (COUNT(*) AS ?n) { ?x ?p ?y FILTER(?p != rdfs:label) }",
    "SELECT ?x { ?x ?p 'fire' FILTER(?p = rdfs:label) }",
    "SELECT ?l (COUNT(?x) AS ?n) { { SELECT * { ?x gum:r ?y } } OPTIONAL { ?y rdfs:label ?l } } GROUP BY ?l",
    "PREFIX s: <http://www.w3.org/2000/01/rdf-schema#> SELECT ?l { ?x gum:r+ ent:mud ; s:label ?l }",
    "SELECT ?g ?l { GRAPH ?g { ?x gum:q ?y } ?x rdfs:label ?l }",
    "CONSTRUCT { ?x rdfs:label ?l } WHERE { ?x gum:r ?y ; rdfs:label ?l }",
    "ASK { ent:fire rdfs:label 'fire' }",
]
PLAIN = [
    "SELECT ?x { ?x gum:r ?y . ?y gum:q ?z }",
    "SELECT (COUNT(*) AS ?n) { ?x ?p ?y }",
    "SELECT * { ?x gum:r [ gum:q ?y ] } LIMIT 10",
    "SELECT ?y (COUNT(*) AS ?n) { ?x gum:r|gum:q ?y } GROUP BY ?y HAVING(COUNT(*) > 1)",
    "SELECT ?x { ?x gum:r ?y MINUS { ?y gum:q ?z } }",
    "SELECT ?x ?n { VALUES ?x { ent:fire ent:rain } { SELECT ?x (COUNT(?y) AS ?n) { ?x ?p ?y } GROUP BY ?x } }",
    "SELECT ?x ?l { BIND(ent:steam AS ?x) ?x gum:q ?y , ?z . BIND(STR(?z) AS ?l) }",
]


@pytest.fixture(params=["memory", "disk", "endpoint in memory", "endpoint on disk"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    if request.param.startswith("endpoint"):
        address = request.getfixturevalue("memory_server" if "memory" in request.param else "endpoint")
        request = urllib.request.Request(
            f"{address}/update", b"DROP ALL", {"Content-Type": "application/sparql-update"}
        )
        urllib.request.urlopen(request, timeout=30).close()
        found = KnowledgeGraph(f"{address}/query", update=f"{address}/update")
    else:
        found = KnowledgeGraph(None if request.param == "memory" else tmp_path / "graph")
    with found:
        yield found


def asked(graph: KnowledgeGraph, queries: list[str]) -> list[object]:
    return [graph.query(query) for query in queries]


def test_facts_that_graphs_share_count_once_where_labels_are_asked_for(graph: KnowledgeGraph) -> None:
    """The oracle has each fact in one graph only."""
    oracle = KnowledgeGraph()
    oracle.add(FACTS[:3], graph="a")
    oracle.add(FACTS[3:], graph="b")
    graph.add(FACTS[:3], graph="a")
    graph.add([*FACTS[:2], *FACTS[3:]], graph="b")
    assert asked(graph, LABELS + PLAIN) == asked(oracle, LABELS + PLAIN)
    assert graph.query(LABELS[1], timeout=30) == [{"n": 3}]


def test_a_label_that_is_also_a_fact_counts_once(graph: KnowledgeGraph) -> None:
    graph.add([*FACTS, ("fire", LABEL, '"fire"'), ("fire", LABEL, '"Feuer"@de')], graph="a")
    assert graph.query("SELECT ?l { ent:fire rdfs:label ?l }") == [{"l": "Feuer"}, {"l": "fire"}]


def test_a_prefix_that_is_only_declared_asks_for_no_labels(graph: KnowledgeGraph) -> None:
    graph.add(FACTS, graph="a")
    declared = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert graph.query(declared) == [{"n": 4}]


def test_an_error_shows_the_query_as_it_was_written(graph: KnowledgeGraph) -> None:
    graph.add(FACTS, graph="a")
    graph.add(FACTS, graph="b")
    with pytest.raises(
        InputError, match=r"(?s)syntax error at line 1, .*\n  SELECT \?l { \?x rdfs:label \?l FILTER\( }\n"
    ):
        graph.query("SELECT ?l { ?x rdfs:label ?l FILTER( }")
    with pytest.raises(InputError, match=r"\n  SELECT \?l { \?x rdfs:label \?l } LIMIT x\n"):
        graph.query("SELECT ?l { ?x rdfs:label ?l } LIMIT x")


def quads(facts: list[tuple[str, str, str]], graph: str | None) -> str:
    ent, gum = "urn:gumption:entity:", "urn:gumption:relation:"
    name = "" if graph is None else f"<{graph}> "
    return "".join(f"<{ent}{s}> <{gum}{p}> <{ent}{o}> {name}.\n" for s, p, o in facts)


def loaded(folder: Path, text: str) -> None:
    """Another program puts quads into a folder."""
    file = folder.with_suffix(".nq")
    file.write_text(text)
    command = [oxigraph_server() or "", "load", "--location", str(folder), "--file", str(file)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(params=["disk", "endpoint"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., KnowledgeGraph]]:
    """Opens a folder, or a server of one, where other programs put facts: one of them into three places."""
    a, b, c, d = ([fact] for fact in FACTS)
    loaded(tmp_path / "kg", quads(a + b, None) + quads(b + c, "http://x.org/g") + quads(b + c + d, "http://x.org/h"))
    if request.param == "disk":
        yield lambda **how: KnowledgeGraph(tmp_path / "kg", **how)
        return
    with serving(oxigraph_server() or "", tmp_path / "kg") as address:
        yield lambda **how: KnowledgeGraph(f"{address}/query", update=f"{address}/update", **how)


def everything(graph: KnowledgeGraph, folder: Path) -> list[object]:
    graph.save(folder / "x.nt")
    graph.save(folder / "x.nq")
    return [
        len(graph), list(graph.triples()), graph.arrays()[1].tolist(), graph.content_hash(),
        len(KnowledgeGraph.load(folder / "x.nt")), len(KnowledgeGraph.load(folder / "x.nq")),
        *asked(graph, PLAIN),
    ]  # fmt: skip


def test_other_programs_facts_count_once_in_every_method(opened: Callable[..., KnowledgeGraph], tmp_path: Path) -> None:
    oracle = KnowledgeGraph()
    oracle.add(FACTS)
    with opened(read_only=True) as graph:
        assert graph.graphs() == {"default": 2, "http://x.org/g": 2, "http://x.org/h": 3}
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
    with opened() as graph:
        new = ("ash", "r", "mud")
        oracle.add([new])
        assert graph.add([new, FACTS[1]], graph="own") == 2
        assert graph.graphs() == {"default": 2, "http://x.org/g": 2, "http://x.org/h": 3, "own": 2}
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
        assert graph.query("SELECT (COUNT(?l) AS ?n) { ?x gum:r ?y ; rdfs:label ?l }") == [{"n": 2}]
        graph.refresh()
        assert everything(graph, tmp_path) == everything(oracle, tmp_path)
        assert asked(graph, LABELS[:7]) == asked(oracle, LABELS[:7])


def test_what_cannot_be_asked_of_default_and_named_graphs_at_once(opened: Callable[..., KnowledgeGraph]) -> None:
    with opened() as graph:
        query = "SELECT ?x { ?x gum:r* ent:mud }"
        if not graph._store.near:
            with pytest.raises(InputError, match=r"cannot be asked for both at once by DESCRIBE, .* call refresh\(\)"):
                graph.query(query)
            assert graph.query("SELECT ?x FROM <http://x.org/g> { ?x gum:q ?y }") == [{"x": "steam"}]
        graph.refresh()
        assert graph.query(query) == [{"x": "mud"}, {"x": "rain"}]


def test_random_queries_over_other_programs_graphs(opened: Callable[..., KnowledgeGraph]) -> None:
    draw = random.Random(0)
    oracle = KnowledgeGraph()
    oracle.add(FACTS)
    terms = ["?a", "?b", "?c", "_:n", "ent:steam", "ent:rain", "[]", "[ gum:r ?d ]"]
    verbs = ["gum:r", "gum:q", "?p", "^gum:r", "gum:r/gum:q", "(gum:r|gum:q)", "^(gum:q/gum:r)", "gum:r|^gum:q"]
    with opened(read_only=True) as graph:
        for _ in range(60):
            parts = [[draw.choice(terms), *(draw.choice(each) for each in (verbs, terms) * 2)] for _ in range(2)]
            statements = [
                "{} {} {} ; {} {}".format(*part).replace("_:n", f"_:n{number}")  # one group's, as SPARQL wants it
                for number, part in enumerate(parts[: draw.randint(1, 2)])
            ]
            join = draw.choice([" . ", " . OPTIONAL { ?a gum:r ?e } ", " . FILTER EXISTS { ?a ?q ?c } "])
            form = draw.choice(["SELECT *", "SELECT (COUNT(*) AS ?n)", "SELECT DISTINCT ?a ?b"])
            query = f"{form} {{ {join.join(statements)} }}"
            assert graph.query(query) == oracle.query(query), query


def base_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose first graph is the base, and a second graph that shares a fact with it."""
    monkeypatch.setattr(stores_module, "BASE_FACTS", 2)
    with KnowledgeGraph(folder) as graph:
        graph.add(FACTS, graph="a")
        graph.add([*FACTS[:1], ("ash", "r", "mud")], graph="b")
        assert FACTS[0] in list(graph.triples(graph="b"))
        assert len(list(graph._store._quads.quads_for_pattern(None, None, None, ox.DefaultGraph()))) == 1


def test_a_folder_with_a_base_behind_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base_folder(tmp_path / "kg", monkeypatch)
    facts = sorted([*FACTS, ("ash", "r", "mud")])
    with (
        serving(oxigraph_server() or "", tmp_path / "kg") as address,
        KnowledgeGraph(f"{address}/query", update=f"{address}/update") as graph,
    ):

        def check() -> None:
            assert list(graph.triples()) == facts
            assert len(graph) == len(facts)
            assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": len(facts)}]
            assert graph.query("SELECT (COUNT(*) AS ?n) { ?s gum:r ?o ; rdfs:label ?l }") == [{"n": len(facts) - 1}]

        check()
        assert graph.add(FACTS[:2], graph="c") == 2
        check()
        assert graph.remove(FACTS[:2], graph="a") == 2
        check()
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert list(graph.triples()) == facts
        assert len(graph) == len(facts)
        assert graph.graphs() == {"a": 2, "b": 2, "c": 2}
