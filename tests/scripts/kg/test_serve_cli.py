"""`gumption kg serve`, asked over a real socket."""

import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from SPARQLWrapper import JSON, SPARQLWrapper

from gumption.kg import KnowledgeGraph

FACTS = [(f"thing {number}", "near", "water") for number in range(40)]
COMMAND = [sys.executable, "-m", "gumption", "kg", "serve"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    with KnowledgeGraph(folder / "kg") as graph:
        graph.add(FACTS, graph="mine")
        graph.add(FACTS[:1], graph="yours")
    limits = ["--port", "0", "--max-rows", "50", "--timeout", "2"]
    process = subprocess.Popen([*COMMAND, str(folder / "kg"), *limits], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield next(word for word in process.stdout.readline().split() if word.endswith("/query,")).rstrip(",")
    process.kill()
    process.wait()
    process.stdout.close()


def ask(address: str, accept: str = "*/*", host: str | None = None, **fields: str) -> tuple[int, str]:
    headers = {"Accept": accept} | ({"Host": host} if host else {})
    request = urllib.request.Request(address, urllib.parse.urlencode(fields).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert "access-control-allow-origin" not in answer.headers
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_stock_client_sees_the_union_with_each_fact_once(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    client = SPARQLWrapper(address)
    client.setReturnFormat(JSON)
    client.setQuery("SELECT ?s { ?s ?p ?o }")
    assert len(client.queryAndConvert()["results"]["bindings"]) == len(FACTS)  # pyright: ignore


@pytest.mark.parametrize(
    ("accept", "begin"),
    [("application/sparql-results+xml", "<?xml"), ("text/csv", "s\r\n"), ("text/tab-separated-values", "?s\n")],
)
def test_rows_come_in_the_format_that_is_accepted(address: str, accept: str, begin: str) -> None:
    status, text = ask(address, accept, query="SELECT ?s { ?s ?p ?o } LIMIT 1")
    assert status == 200
    assert text.startswith(begin)


def test_facts_come_as_turtle_or_n_triples(address: str) -> None:
    query = "CONSTRUCT WHERE { ?s gum:near ?o }"
    assert ask(address, query=query)[1].startswith("@prefix")
    assert ask(address, "application/n-triples", query=query)[1].count("\n") == len(FACTS)


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"update": "CLEAR ALL"}, 403, "only reads"),
        ({"query": "CLEAR ALL"}, 403, "only reads"),
        ({}, 400, "give one query"),
        ({"query": "SELECT {"}, 400, "SPARQL syntax error at line 1"),
        ({"query": "SELECT * { ?s ?p ?o.SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }"}, 400, "asks another server"),
        ({"query": "SELECT * { ?s ?p ?o . ?a ?b ?c }"}, 400, "more than 50 rows"),
        ({"query": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o }"}, 400, "2 sec"),
        ({"query": "ASK {}", "default-graph-uri": "no iri"}, 400, "not the IRI of a graph"),
        ({"query": "ASK {}", "accept": "image/png"}, 406, "the answer can be had as"),
        ({"query": "ASK {}", "host": "evil.example"}, 400, "Invalid host"),
        ({"query": "#" * 1_000_001}, 413, "more than 1,000,000 bytes"),
    ],
)
def test_what_is_refused_says_why(address: str, fields: dict[str, str], status: int, reason: str) -> None:
    found, text = ask(address, **fields)
    assert (found, reason in text) == (status, True), text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["kg.tsv#one"], "leave out #one"), (["kg.tsv", "--host", "192.0.2.1"], "cannot listen at 192.0.2.1")],
)
def test_a_server_that_cannot_start_says_why(tmp_path: Path, arguments: list[str], reason: str) -> None:
    (tmp_path / "kg.tsv").write_text("fire\tnear\twater\n")
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert reason in done.stderr
