"""`gumption kg serve`, asked over a real socket."""

import http.client
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from SPARQLWrapper import JSON, SPARQLWrapper

from gumption.kg import KnowledgeGraph
from gumption.kg.store.limits import Limits
from gumption.kg.vocabulary import GRAPH
from gumption.scripts.people.web import security, sparql
from tests.bench.serving import KILLER, RELATIONS, THINGS, play, serving_graph, write_facts
from tests.bench.serving import served as serving

FACTS = [(f"thing {number}", "near", "water") for number in range(40)]
COMMAND = [sys.executable, "-m", "gumption", "kg", "serve"]


# So many rows that sorting them takes gigabytes.
SORTED = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l } ORDER BY ?a ?d ?g ?j"


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    process = subprocess.Popen([*COMMAND, str(folder), "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(word for word in process.stdout.readline().split() if word.endswith("/query,")).rstrip(",")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    with KnowledgeGraph(folder / "kg") as graph:
        graph.add(FACTS, graph="mine")
        graph.add(FACTS[:1], graph="yours")
    with served(folder / "kg", "--max-rows", "50", "--timeout", "2") as found:
        yield found


def sent(request: urllib.request.Request) -> tuple[int, str]:
    """The status and the text of an answer, which pages of other hosts may not read."""
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        return answer.status, answer.read().decode()


def ask(address: str, accept: str = "*/*", host: str | None = None, **fields: str) -> tuple[int, str]:
    headers = {"Accept": accept, "Origin": "http://evil.example"} | ({"Host": host} if host else {})
    return sent(urllib.request.Request(address, urllib.parse.urlencode(fields).encode(), headers))


def test_a_stock_client_sees_the_union_with_each_fact_once(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    client = SPARQLWrapper(address)
    client.setReturnFormat(JSON)
    client.setQuery("SELECT ?s { ?s ?p ?o }")
    assert len(client.queryAndConvert()["results"]["bindings"]) == len(FACTS)  # pyright: ignore


@pytest.mark.parametrize(
    ("accept", "begin"),
    [
        ("application/sparql-results+xml", "<?xml"),
        ("text/csv", "s\r\n"),
        ("text/tab-separated-values", "?s\n"),
        ("text/csv;q=0.5, text/tab-separated-values;q=0.6, image/png", "?s\n"),
        ("text/csv;q=0, application/json", "{"),
        ("text/html, */*;q=0.1", "{"),
    ],
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
        ({"query": "ASK {}", "accept": "text/csv"}, 406, "as application/sparql-results+json, application/json, app"),
        ({"query": "CONSTRUCT WHERE { ?a ?b ?c }", "accept": "text/csv"}, 406, "had as text/turtle, application/n-"),
        ({"query": "ASK {}", "host": "evil.example"}, 421, "not known by that name"),
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


@pytest.mark.parametrize("kind", ["text/plain", "application/json", ""])
def test_a_body_of_another_type_is_refused(address: str, kind: str) -> None:
    request = urllib.request.Request(address, b"ASK {}", {"Content-Type": kind})
    assert sent(request) == (415, "post a query as application/sparql-query or as a form with the field query\n")
    right = urllib.request.Request(address, b"ASK {}", {"Content-Type": "application/sparql-query; charset=utf-8"})
    assert sent(right)[0] == 200


def test_a_browser_is_not_told_that_pages_of_other_hosts_may_ask(address: str) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    assert sent(urllib.request.Request(address, headers=headers, method="OPTIONS"))[0] == 405


def test_a_request_names_the_graphs_of_its_dataset(tmp_path: Path) -> None:
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(FACTS[:2], graph="few")
        graph.add(FACTS[1:], graph="more")
    with served(tmp_path / "kg") as address:
        for dataset, rows in (
            ({}, len(FACTS)),
            ({"default-graph-uri": GRAPH + "few"}, 2),
            ({"default-graph-uri": GRAPH + "more"}, len(FACTS) - 1),
        ):
            assert ask(address, "text/csv", query="SELECT ?s { ?s gum:near ?o }", **dataset)[1].count("\n") == rows + 1
        text = ask(address, "text/csv", query="SELECT ?g { GRAPH ?g { ent:thing%201 ?p ?o } } ORDER BY ?g")[1]
        assert text.split() == ["g", GRAPH + "few", GRAPH + "more"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space of a process")
def test_a_query_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(FACTS)
    with served(tmp_path / "kg", "--memory-limit", "200", "--max-rows", "10000000") as address:
        status, text = ask(address, query=SORTED)
        assert (status, "took more than 200 MB of memory and was stopped" in text) == (400, True), text
        assert ask(address, query="ASK { ?s ?p ?o }")[0] == 200


# ---- Many clients, and bad ones


@pytest.fixture
def graph() -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph() as made:
        made.add([(f"e{i}", "r", f"e{i * 7 % 600}") for i in range(600)])
        yield made


def begin(address: str, query: str) -> http.client.HTTPConnection:
    """A client that has sent a query and waits."""
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=60)
    connection.request("POST", "/query", query, {"Content-Type": "application/sparql-query"})
    return connection


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("many", [8, 40])
def test_a_query_waits_for_no_slow_one_and_for_none_whose_client_has_gone(graph: KnowledgeGraph, many: int) -> None:
    """Of 40 more than can run at once have gone."""
    with serving_graph(graph, Limits(timeout=1000)) as address, ExitStack() as clients:
        for _ in range(8):
            clients.enter_context(closing(begin(address, KILLER)))
        assert ask(address, query="ASK {}")[0] == 200
        for _ in range(many):
            begin(address, KILLER).close()
        assert ask(address, query="ASK { ?s ?p ?o }")[0] == 200


def test_more_queries_than_can_wait_are_to_come_again(graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql, "RUNNING", 1)
    monkeypatch.setattr(sparql, "WAITING", 1)
    with serving_graph(graph, Limits(timeout=1000)) as address, ExitStack() as clients:
        for _ in range(2):
            clients.enter_context(closing(begin(address, KILLER)))
        answers = []

        def refused() -> bool:
            with closing(begin(address, "ASK {}")) as third:
                answers.append(third.getresponse())
            return answers[-1].status == 503

        until(refused)
        assert int(answers[-1].headers["Retry-After"]) >= 1
        clients.close()
        until(lambda: ask(address, query="ASK {}")[0] == 200)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="knows the memory of a process")
def test_all_queries_together_have_a_limit_of_memory(graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql, "TOGETHER", 0.1)
    with serving_graph(graph, Limits(timeout=1000, memory_limit=2000)) as address:
        status, text = ask(address, query=SORTED)
        assert (status, "take too much memory" in text) == (503, True), text
        assert ask(address, query="ASK {}")[0] == 200


HEAD = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
LINE = b"GET /query?query=" + b"a" * 1_000_000
BAD = {
    "nothing": (b"", b"408"),
    "half of the headers": (HEAD, b"408"),
    "half of the body": (HEAD + b"Content-Length: 9\r\n\r\nASK", b"408"),
    "half of the next request": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD, b"408"),
    "a long line": (LINE + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"431"),
    "a line without end": (LINE, b"431"),
    "a long header": (HEAD + b"X: " + b"a" * 1_000_000, b"431"),
    "no HTTP": (b"\x16\x03\x01" * 100 + b"\r\n\r\n", b"400"),
    "a false length": (HEAD + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", b"400"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_request_that_is_none_gets_its_status(
    graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    monkeypatch.setattr(security, "FIRST_REQUEST", 0.5)
    sent, status = BAD[bad]
    with serving_graph(graph, Limits(timeout=10)) as address:
        host, _, port = address.split("/")[2].partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(sent)
            text = b"".join(iter(lambda: client.recv(65_536), b""))
        assert b"HTTP/1.1 " + status in text
        with socket.create_connection((host, int(port))) as client:  # and breaks off
            client.sendall(sent)
        assert ask(address, query="ASK {}")[0] == 200
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_client_that_never_reads_is_cut_off(graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "UNREAD", 0.5)
    with serving_graph(graph, Limits(timeout=60)) as address:
        query = "SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 100000"  # 30 MB, more than the system keeps for a connection
        with closing(begin(address, query)) as client:
            answer = client.getresponse()
            time.sleep(2)
            with pytest.raises((OSError, http.client.HTTPException)):
                answer.read()
        assert ask(address, query="ASK {}")[0] == 200


def test_a_folder_is_served_as_it_was_also_after_a_query_was_ended(tmp_path: Path) -> None:
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(FACTS)
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    with served(tmp_path / "kg", "--timeout", "0.5") as address:
        for _ in range(2):
            assert ask(address, "text/csv", query=count)[1].split() == ["n", str(len(FACTS))]
            assert ask(address, query=KILLER.replace("}", "?m ?n1 ?o . ?p ?q ?r }"))[0] == 400
            with KnowledgeGraph(tmp_path / "kg") as graph:
                graph.add([("salt", "near", f"sea {len(graph)}")])
        assert ask(address, "text/csv", query=count)[1].split() == ["n", str(len(FACTS))]


@pytest.mark.slow
def test_honest_clients_get_right_answers_among_those_with_endless_queries(tmp_path: Path) -> None:
    write_facts(tmp_path / "facts.tsv", THINGS * RELATIONS)
    with serving(tmp_path / "facts.tsv", 2) as (process, port):
        load = play(port, process.pid, queries=600, clients=32, killer_every=100)
    assert load.wrong == []
    assert (load.killed, len(load.seconds)) == (6, 594)
    assert load.memory < 5_000  # MB: twice the limit of a query, and the graph
