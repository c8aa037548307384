"""Queries that ask other servers, nest without end or want all memory."""

import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store.limits import Limits
from gumption.scripts.cli import app

STEAM = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam")]
LIMITED = sys.platform == "linux"
# 216 million rows that have to be sorted before the first is given.
SORTED = "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?c ?f ?i"


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """The address of a server with one row for everybody, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            rdf = self.path == "/facts.nt"
            row = b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "urn:a"}}]}}'
            body = b"<urn:a> <urn:b> <urn:c> ." if rdf else row
            self.send_response(200)
            self.send_header("Content-Type", "application/n-triples" if rdf else "application/sparql-results+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/sparql", asked
        server.shutdown()
        thread.join()


@pytest.fixture(params=["memory", "disk"])
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph(tmp_path / "graph" if request.param == "disk" else None) as graph:
        graph.add(STEAM)
        yield graph


ASKING = {
    "plain": "SELECT ?x { SERVICE <ADDRESS> { ?x ?y ?z } }",
    "ask": "ASK { SERVICE <ADDRESS> { ?x ?y ?z } }",
    "small": "SELECT ?x { { ?a ?b ?c } UNION { service silent <ADDRESS> { ?x ?y ?z } } }",
    "behind a name": "PREFIX s: <urn:> SELECT ?x { ?a ?b s:\\# . SERVICE <ADDRESS> { ?x ?y ?z } }",
    "behind words": 'SELECT ?x { ?service ?b "SERVICE" . # SERVICE <x>\n SERVICE # here\n <ADDRESS> { ?x ?y ?z } }',
    "in a subquery": "SELECT ?x { { SELECT ?x { ?a ?b 1SERVICE<ADDRESS>{ ?x ?y ?z } } } }",
}


@pytest.mark.parametrize("limits", [{}, {"timeout": 20}, {"memory_limit": 500}], ids=str)
@pytest.mark.parametrize("kind", ASKING)
def test_no_other_server_is_asked(local, elsewhere, kind, limits):
    address, asked = elsewhere
    told = f"that asks another server, <{address}>: where a query may use SERVICE, allow it with query(..."
    with pytest.raises(InputError, match=re.escape(told)):
        local.query(ASKING[kind].replace("ADDRESS", address), **limits)
    assert asked == []


@pytest.mark.parametrize("limits", [{}, {"timeout": 20}], ids=str)
def test_another_server_is_asked_where_that_is_allowed(local, elsewhere, limits):
    address, asked = elsewhere
    query = ASKING["plain"].replace("ADDRESS", address)
    assert local.query(query, allow_service=True, **limits) == [{"x": "urn:a"}]
    assert asked == ["/sparql"]


def test_the_word_is_no_clause(local):
    for sparql in (
        'SELECT ?service { ?service gum:componentOf ent:steam . FILTER(STR(?service) != "SERVICE <http://x.org/>") }',
        "# SERVICE <http://x.org/> { }\nSELECT ?service { ?service gum:componentOf ent:steam }",
        "PREFIX service: <urn:gumption:relation:> SELECT ?service { ?service service:componentOf ent:steam }",
    ):
        assert local.query(sparql) == [{"service": "fire"}, {"service": "water"}]
        assert local.query(sparql, timeout=20) == [{"service": "fire"}, {"service": "water"}]
    for sparql in ("SELECT ?service {", "SELECT ?service ?x (COUNT(*) AS ?n) { ?service ?x ?y } GROUP BY ?x"):
        with pytest.raises(InputError, match="SPARQL syntax error at line 1"):
            local.query(sparql)


def test_an_endpoint_that_refuses_a_query_does_not_make_us_ask_elsewhere(endpoint, elsewhere):
    address, asked = elsewhere
    query = "SELECT ?x { SERVICE <ADDRESS> { ?x ?y ?z } FILTER(bif:contains(?x)) }".replace("ADDRESS", address)
    with pytest.raises(InputError, match="refused with HTTP 400"):
        KnowledgeGraph(f"{endpoint}/query").query(query)
    assert asked == []


def test_rdflib_asks_and_loads_nothing_from_elsewhere(local, elsewhere):
    address, asked = elsewhere
    facts = address.replace("/sparql", "/facts.nt")
    with pytest.raises(InputError, match=re.escape(f"that asks another server, <{address}>")):
        local.dataset.query(ASKING["plain"].replace("ADDRESS", address))
    for update in (f"LOAD <{facts}>", "INSERT { ?x ?y ?z } WHERE { SERVICE <FACTS> { ?x ?y ?z } }"):
        with pytest.raises(InputError, match=re.escape(f"that asks another server, <{facts}>")):
            local.dataset.update(update.replace("FACTS", facts))
    assert asked == []
    local.dataset.update('INSERT DATA { GRAPH <urn:g> { <urn:load> <urn:service> "LOAD <x>" } }')
    assert list(local.dataset.query("ASK { GRAPH <urn:g> { <urn:load> ?p ?o } }")) == [True]


def test_the_switch_of_the_command(elsewhere, tmp_path):
    address, asked = elsewhere
    (tmp_path / "x.tsv").write_text("a\tb\tc\n")
    command = ["kg", "query", str(tmp_path / "x.tsv"), ASKING["plain"].replace("ADDRESS", address)]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, InputError)
    assert asked == []
    allowed = CliRunner().invoke(app, [*command, "--allow-service", "--json"])
    assert allowed.exit_code == 0, allowed.output
    assert allowed.output == '[{"x": "urn:a"}]\n'
    for name, taken in (("memory_limit", "--memory-limit"), ("terms", "terms"), ("format", "--format")):
        told = CliRunner().invoke(app, [*command, "--bind", f"{name}=x"])
        assert f"--bind {name}: call the variable something else, because {taken} is" in str(told.exception)


# Nesting.

DEEP = {
    "parentheses": lambda n: "SELECT * { ?a ?b ?c FILTER(" + "(" * n + "?a" + ")" * n + ") }",
    "groups": lambda n: "SELECT * " + "{" * n + "?a ?b ?c" + "}" * n,
    "lists": lambda n: "SELECT * { ?a ?b " + "(" * n + "?c" + ")" * n + " }",
    "nodes": lambda n: "SELECT * { ?a ?b " + "[ <urn:p> " * n + "?c" + " ]" * n + " }",
    "calls": lambda n: "SELECT * { ?a ?b ?c FILTER(" + "STR(" * n + "?a" + ")" * n + ") }",
    "quoted triples": lambda n: "SELECT * { ?a ?b " + "<<( <urn:a> <urn:b> " * n + "?c" + " )>>" * n + " }",
    "behind false ends": lambda n: "SELECT * { ?a ?b ?c FILTER(" + "( # )))\n" * n + "?a" + ")" * n + ") }",
}
LONG = {
    "sums": lambda n: "SELECT * { ?a ?b ?c FILTER(?a" + "+?a" * n + ") }",
    "nots": lambda n: "SELECT * { ?a ?b ?c FILTER(" + "!" * n + "?a) }",
    "unions": lambda n: "SELECT * { {?a ?b ?c}" + "UNION{?a ?b ?c}" * n + " }",
    "paths": lambda n: "SELECT * { ?a <urn:p>" + "|<urn:p>" * n + " ?c }",
}


@pytest.mark.parametrize("kind", DEEP)
def test_nesting_is_capped(kind):
    graph = KnowledgeGraph()
    graph.add(STEAM)
    graph.query(DEEP[kind](40))
    with pytest.raises(InputError, match=r"the query nests brackets more than 200 deep \(line \d+\): ask in a flatter"):
        graph.query(DEEP[kind](100_000))


@pytest.mark.parametrize("kind", LONG)
def test_chains_are_capped(kind):
    graph = KnowledgeGraph()
    graph.add(STEAM)
    graph.query(LONG[kind](300))
    with pytest.raises(InputError, match="the query has more than 3,000 operators and clauses"):
        graph.query(LONG[kind](100_000))


def test_many_values_are_no_chain(local):
    rows = "\n".join(f"(ent:fire-{i} <urn:a/b#{i}> '(({i}' {i}.5 '-'^^xsd:x)" for i in range(5_000))
    query = f"PREFIX xsd: <urn:> SELECT (COUNT(*) AS ?n) {{ VALUES (?a ?b ?c ?d ?e) {{ {rows} }} }}"
    assert local.query(query) == [{"n": 5_000}]


# Memory.


@pytest.fixture
def crowd() -> Iterator[KnowledgeGraph]:
    graph = KnowledgeGraph()
    graph.add([(f"e{i}", "r", f"e{i * 7 % 600}") for i in range(600)])
    yield graph
    graph.close()


@pytest.mark.skipif(not LIMITED, reason="limits the address space of a process")
@pytest.mark.parametrize("limits", [{"memory_limit": 200}, {"memory_limit": 200, "timeout": 60}], ids=str)
def test_a_query_that_wants_all_memory_is_stopped(crowd, limits):
    with pytest.raises(
        InputError, match=r"took more than 200 MB of memory and was stopped: ask for less, or allow more"
    ):
        crowd.query(SORTED, **limits)
    assert len(crowd.query("SELECT ?x { ?x gum:r ?y }", memory_limit=200)) == 600


@pytest.mark.skipif(not LIMITED, reason="limits the address space of a process")
def test_the_memory_of_a_graph_holds_for_each_query(tmp_path):
    with KnowledgeGraph(tmp_path / "graph", memory_limit=100) as graph:
        graph.add([(f"e{i}", "r", f"e{i * 7 % 600}") for i in range(600)])
        with pytest.raises(InputError, match="took more than 100 MB of memory"):
            graph.query(SORTED)
        with pytest.raises(InputError, match="took more than 150 MB of memory"):
            graph.query(SORTED, memory_limit=150)
    with pytest.raises(InputError, match="memory_limit is 0; it is a number above 0"):
        KnowledgeGraph(memory_limit=0)


@pytest.mark.slow
@pytest.mark.skipif(not LIMITED, reason="limits the address space of a process")
def test_memory_under_a_limit_of_the_shell():
    program = f"""
from gumption.kg import KnowledgeGraph
graph = KnowledgeGraph()
graph.add([(f"e{{i}}", "r", f"e{{i * 7 % 600}}") for i in range(600)])
try:
    graph.query({SORTED!r}, timeout=60)
except ValueError as error:
    print(error)
print(len(graph.query("SELECT ?x {{ ?x gum:r ?y }}", timeout=60)))
"""
    shell = ["bash", "-c", 'ulimit -v 2000000; exec "$@"', "bash", sys.executable, "-c", program]
    told = subprocess.run(shell, capture_output=True, text=True, check=True)
    assert "MB of memory and was stopped: ask for less" in told.stdout
    assert told.stdout.endswith("\n600\n")
    assert told.stderr == ""


def test_a_process_that_crashes_ends_alone(crowd):
    """What the cap on nesting keeps from the engine would end the process that asks it."""
    with pytest.raises(InputError, match="the process that was answering the query has ended"):
        crowd._store.query(DEEP["calls"](100_000), limits=Limits(timeout=60))
    assert crowd.query("ASK { ?s ?p ?o }", timeout=20) is True
