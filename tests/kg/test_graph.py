"""One suite over the three homes of a graph, then what only one of them can do or suffer."""

import gc
import http.server
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, Vocabulary
from gumption.kg import endpoint as endpoint_module
from gumption.kg import stores as stores_module

STEAM = [
    ("fire", "combinesWith", "water"),
    ("fire", "componentOf", "steam"),
    ("water", "combinesWith", "fire"),
    ("water", "componentOf", "steam"),
]
RAIN = [("cloud", "componentOf", "acid rain"), ("smog", "componentOf", "acid rain")]


def test_add_counts_what_is_new(graph):
    assert graph.add(STEAM, graph="wordcraft/train") == 4
    assert graph.add([*STEAM[:2], *RAIN, RAIN[0]], graph="wordcraft/train") == 2
    assert graph.add(iter(RAIN)) == 2
    assert graph.add([]) == 0
    assert graph.graphs() == {"default": 2, "wordcraft/train": 6}
    assert len(graph) == 6


def test_remove(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.add(RAIN, graph="b")
    assert graph.remove([RAIN[0], ("mud", "componentOf", "brick")], graph="a") == 1
    assert graph.graphs() == {"a": 5, "b": 2}
    assert graph.remove(RAIN) == 3
    assert graph.graphs() == {"a": 4}
    assert list(graph.triples()) == STEAM
    assert graph.remove(graph.triples(graph="a"), graph="a") == 4
    assert len(graph) == 0


def test_triples_by_any_of_their_parts(graph):
    graph.add(reversed(STEAM), graph="a")
    graph.add([*RAIN, STEAM[0]], graph="b")
    assert list(graph.triples()) == sorted([*STEAM, *RAIN])
    assert list(graph.triples(graph="b")) == [RAIN[0], STEAM[0], RAIN[1]]
    assert list(graph.triples(subject="fire")) == STEAM[:2]
    assert list(graph.triples(relation="componentOf", object="steam")) == [STEAM[1], STEAM[3]]
    assert list(graph.triples("fire", "combinesWith", "water", graph="b")) == [STEAM[0]]
    assert list(graph.triples(object="acid rain", graph="a")) == []
    assert list(graph.triples(subject="no such thing")) == []
    assert list(graph.triples(graph="no such graph")) == []


def test_arrays(graph):
    graph.add([*RAIN, *STEAM], graph="a")
    graph.add(STEAM, graph="b")
    vocabulary, ids = graph.arrays()
    assert vocabulary == Vocabulary.from_triples([*RAIN, *STEAM])
    assert ids.dtype == np.int64
    assert ids.tolist() == sorted(ids.tolist())
    assert vocabulary.ids_to_triples(ids) == list(graph.triples())
    vocabulary, ids = graph.arrays(graph="b")
    assert vocabulary.entities == ("fire", "steam", "water")
    assert ids.shape == (4, 3)
    with pytest.raises(InputError, match=re.escape("unknown graph 'c': no known label is near it (there are: a, b)")):
        graph.arrays(graph="c")


def test_an_empty_graph(graph):
    vocabulary, ids = graph.arrays()
    assert ids.shape == (0, 3)
    assert vocabulary == Vocabulary([], [])
    assert len(graph) == 0
    assert graph.graphs() == {}
    assert list(graph.triples()) == []
    assert graph.query("SELECT * { ?s ?p ?o }") == []
    assert graph.query("ASK { ?s ?p ?o }") is False
    assert graph.to_networkx().number_of_nodes() == 0


def test_queries_see_the_union_of_all_named_graphs(graph):
    graph.add(STEAM[:2], graph="a")
    graph.add([*STEAM, *RAIN], graph="b")
    assert graph.query("SELECT ?x WHERE { ?x gum:componentOf ent:steam }") == [{"x": "fire"}, {"x": "water"}]
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 6}]
    joined = "SELECT ?g ?x { GRAPH ?g { ?x gum:combinesWith ?y } ?y gum:componentOf ent:steam }"
    assert graph.query(joined) == [{"g": "a", "x": "fire"}, {"g": "b", "x": "fire"}, {"g": "b", "x": "water"}]
    assert graph.query("SELECT ?p (COUNT(?s) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)") == [
        {"p": "componentOf", "n": 4},
        {"p": "combinesWith", "n": 2},
    ]
    assert graph.query("SELECT ?s FROM <urn:gumption:graph:a> { ?s gum:componentOf ?o }") == [{"s": "fire"}]


def test_a_keyword_is_a_label_bound_to_a_variable(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.add(STEAM, graph="b")
    asked = "SELECT ?x WHERE { ?x gum:componentOf ?goal }"
    assert graph.query(asked, goal="acid rain") == [{"x": "cloud"}, {"x": "smog"}]
    assert graph.query("SELECT ?x WHERE { ent:fire ?how ?x }", how="combinesWith") == [{"x": "water"}]
    assert graph.query("SELECT ?goal { ?x gum:componentOf ?goal }", x="smog") == [{"goal": "acid rain"}]
    assert graph.query("SELECT ?goal { ?x gum:componentOf ?goal }", x="smog", goal="acid rain") == [
        {"goal": "acid rain"}
    ]
    assert graph.query("SELECT (COUNT(*) AS ?n) { GRAPH ?where { ?s ?p ?o } }", where="b") == [{"n": 4}]
    counted = "SELECT ?goal (COUNT(?x) AS ?n) { ?x gum:componentOf ?goal } GROUP BY ?goal HAVING (COUNT(?x) >= ?least)"
    assert graph.query(counted, goal="steam", least=2) == [{"goal": "steam", "n": 2}]
    assert graph.query(counted, goal="steam", least=3) == []
    nested = "SELECT ?x { { SELECT ?x { ?x ?how ?y FILTER(?y != ?goal) } } FILTER NOT EXISTS { ?x ?how ?goal } }"
    assert graph.query(nested, how="componentOf", goal="steam") == [{"x": "cloud"}, {"x": "smog"}]
    assert graph.query("ASK { ?x ?how ?goal }", goal="steam", how="componentOf", x="mud") is False


def test_values_come_as_python_values(graph):
    graph.add(
        [
            ("fire", "heat", '"900"^^<http://www.w3.org/2001/XMLSchema#integer>'),
            ("fire", "heat", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
            ("fire", "heat", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
            ("fire", "heat", '"a lot"@en'),
            ("fire", "heat", '"many"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ]
    )
    assert [row["h"] for row in graph.query("SELECT ?h { ent:fire gum:heat ?h }")] == [1.5, 900, True, "a lot", "many"]
    assert graph.query("SELECT ?x ?none { ?x gum:heat 900 OPTIONAL { ?x gum:colour ?none } }") == [
        {"x": "fire", "none": None}
    ]
    assert graph.query("ASK { ?x gum:heat ?h FILTER(?h > ?limit) }", limit=899.5) is True


def test_ask_construct_describe(graph):
    graph.add(STEAM, graph="a")
    assert graph.query("ASK { ent:fire gum:componentOf ent:steam }") is True
    inverse = graph.query("CONSTRUCT { ?y gum:madeOf ?x } WHERE { ?x gum:componentOf ?y }")
    assert inverse == [("steam", "madeOf", "fire"), ("steam", "madeOf", "water")]
    assert graph.add(inverse, graph="derived") == 2
    assert graph.query("DESCRIBE ent:fire") == STEAM[:2]


def test_labels_are_stored_but_are_no_facts(graph):
    graph.add(RAIN, graph="a")
    assert graph.query('SELECT ?x { ?x rdfs:label "acid rain" }') == [{"x": "acid rain"}]
    rows = graph.query("SELECT ?label { ?x rdfs:label ?label FILTER(CONTAINS(?label, 'o')) }")
    assert [row["label"] for row in rows] == ["cloud", "componentOf", "smog"]
    assert graph.query("SELECT DISTINCT ?p { ?s ?p ?o }") == [{"p": "componentOf"}]
    assert len(graph) == 2
    for reserved in ("urn:gumption:labels", "urn:gumption:union"):
        with pytest.raises(InputError, match=f"the graph '{reserved}' is reserved"):
            graph.add(RAIN, graph=reserved)


def test_the_same_facts_as_an_rdflib_dataset(graph):
    graph.add(STEAM, graph="a")
    entity, relation = (rdflib.Namespace(f"urn:gumption:{kind}:") for kind in ("entity", "relation"))
    named = graph.dataset.get_context(rdflib.URIRef("urn:gumption:graph:a"))
    assert set(named.subjects(relation.componentOf, entity.steam)) == {entity.fire, entity.water}
    named.add((entity.ice, relation.componentOf, entity.steam))
    assert ("ice", "componentOf", "steam") in list(graph.triples(graph="a"))


def test_networkx(graph):
    graph.add(STEAM, graph="a")
    graph.add([("fire", "heats", "water")], graph="b")
    network = graph.to_networkx()
    assert sorted(network) == ["fire", "steam", "water"]
    assert sorted(network.edges(keys=True)) == sorted((s, o, r) for s, r, o in [*STEAM, ("fire", "heats", "water")])
    assert network.edges["fire", "water", "heats"]["relation"] == "heats"
    assert graph.to_networkx(graph="b").number_of_edges() == 1


def test_pykeen_factory_has_the_ids_of_arrays(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    factory = graph.to_triples_factory(graph="a")
    vocabulary, ids = graph.arrays(graph="a")
    assert factory.mapped_triples.tolist() == ids.tolist()
    assert factory.num_entities == len(vocabulary.entities)
    assert factory.relation_to_id["componentOf"] == vocabulary.relation_id("componentOf")
    assert sorted(map(tuple, factory.triples.tolist())) == sorted([*STEAM, *RAIN])


def test_any_label_survives_a_store(graph):
    odd = ["a\tb", "a\nb", 'say "so"', "back\\slash", "é", "日本", "\u2028", "%41", "<x>", "http://x.org/a b", "-", "."]
    facts = sorted((label, "is " + label, odd[i - 1]) for i, label in enumerate(odd))
    graph.add(facts, graph="odd\tname")
    assert list(graph.triples()) == facts
    assert list(graph.graphs()) == ["odd\tname"]
    for label in odd:
        assert [row["x"] for row in graph.query("SELECT ?x { ?x ?rel ?o }", rel="is " + label)] == [label]
        assert len(graph.query("SELECT ?x { ?x ?r ?o }", o=label)) == 1
        assert len(list(graph.triples(object=label))) == 1


@pytest.mark.parametrize(
    ("sparql", "message"),
    [
        ("SELECT ?x WHERE {\n ?x gum:componentOf }", "syntax error at line 2, column 21: expected one of "),
        ("SELECT ?x WHERE {\n ?x gum:componentOf }", "\n   ?x gum:componentOf }\n                      ^"),
        ("SELECT ?x { ?x foo:bar ?y }", "undeclared prefix; declared are gum: ent: rdf: rdfs: prov:"),
        ("INSERT DATA { ent:a gum:b ent:c }", "that is an update, and a query only reads"),
        ("PREFIX a: <urn:insert> # SELECT\nDELETE { ?s ?p ?o } WHERE { SELECT * { ?s ?p ?o } }", "that is an update"),
        ("", "a query begins with SELECT"),
        ("SELECT ?x { ?x gum:a ent:b } }", "line 1, column 31: this cannot follow here"),
    ],
)
def test_a_syntax_error_says_where(graph, sparql, message):
    with pytest.raises(InputError, match=re.escape(message)):
        graph.query(sparql)


def test_bad_keywords(graph):
    with pytest.raises(InputError, match=re.escape("no variable ?gaol to bind: unknown variable 'gaol': did you mean")):
        graph.query("SELECT ?x { ?x gum:componentOf ?goal }", gaol="steam")
    with pytest.raises(InputError, match="syntax error at line 1, column 17: expected one of BIND"):
        graph.query("SELECT ?x { ?x }", x="steam")


@pytest.mark.parametrize("row", [("fire", "componentOf"), "abc", ("fire", "componentOf", 3), ("fire", "", "steam")])
def test_a_bad_row_is_named_and_nothing_is_written(graph, row):
    with pytest.raises(InputError, match=re.escape("triple 2: expected three labels (subject, relation, object), got")):
        graph.add([*RAIN, row])
    assert len(graph) == 0


def test_order_of_adding_does_not_matter(home, graph, tmp_path):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.save(tmp_path / "one.nq")
    first = graph.arrays()
    graph.remove(graph.triples())
    for fact in reversed([*STEAM, *RAIN]):
        graph.add([fact], graph="a")
    graph.save(tmp_path / "two.nq")
    assert (tmp_path / "one.nq").read_bytes() == (tmp_path / "two.nq").read_bytes()
    assert graph.arrays()[0].hash == first[0].hash
    assert graph.arrays()[1].tolist() == first[1].tolist()


@pytest.mark.parametrize("suffix", ["nq", "trig", "tsv"])
def test_files_round_trip(graph, tmp_path, suffix):
    graph.add(STEAM, graph="wordcraft/train")
    graph.add([*RAIN, ("a\tb", "http://x.org/r", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')])
    graph.save(tmp_path / f"x.{suffix}")
    again = KnowledgeGraph.load(tmp_path / f"x.{suffix}")
    assert again.graphs() == {"default": 3, "wordcraft/train": 4}
    for name in again.graphs():
        assert list(again.triples(graph=name)) == list(graph.triples(graph=name))
    assert again.query('ASK { ent:acid%20rain rdfs:label "acid rain" }') is True


# What only some homes can do or suffer.


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


def test_many_facts_are_counted_as_few_are(graph, monkeypatch):
    monkeypatch.setattr(stores_module, "MANY", 3)
    assert graph.add([*STEAM, STEAM[0]], graph="a") == 4
    assert graph.add([*STEAM, *RAIN, RAIN[0]], graph="a") == 2
    assert graph.add([*STEAM, *RAIN], graph="b") == 6
    assert graph.graphs() == {"a": 6, "b": 6}
    assert len(graph) == 6
    assert gc.isenabled()


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
def wrong_server() -> Iterator[str]:
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

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        hung.set()
        server.shutdown()
        thread.join()


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
        KnowledgeGraph().query("SELECT * { SERVICE <http://127.0.0.1:1/query> { ?s ?p ?o } }")


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


def test_arrays_of_fifty_thousand_facts_in_a_second():
    rng = np.random.default_rng(0)
    parts = zip(
        rng.integers(0, 9_000, 50_000), rng.integers(0, 20, 50_000), rng.integers(0, 9_000, 50_000), strict=True
    )
    graph = KnowledgeGraph()
    graph.add((f"thing {s}", f"relation {r}", f"thing {o}") for s, r, o in parts)
    # The best of three, so that another process on the machine does not decide.
    durations = []
    for _ in range(3):
        start = time.perf_counter()
        _, ids = graph.arrays()
        durations.append(time.perf_counter() - start)
    assert len(ids) == len(graph)
    assert min(durations) < 1


LABEL = st.text(min_size=1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(LABEL, LABEL, LABEL), min_size=1), LABEL)
def test_whatever_is_added_is_found(facts, name):
    graph = KnowledgeGraph()
    assert graph.add(facts, graph=name) == len(set(facts))
    assert list(graph.triples(graph=name)) == sorted(set(facts))
    subject, relation, object_ = facts[0]
    rows = graph.query("SELECT ?o { GRAPH ?g { ?s ?r ?o } }", g=name, s=subject, r=relation)
    assert len(rows) == len(list(graph.triples(subject, relation)))
    assert facts[0] in graph.triples(object=object_)
