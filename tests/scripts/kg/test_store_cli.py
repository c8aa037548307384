"""`gumption kg load`, `query`, `export`, `remove`, `validate` and `hash`, as they are called."""

import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

BOOK = "result\tingredient\tingredient\nsteam\tfire\twater\nmud\tearth\twater\n"


def test_a_bad_file_leaves_no_new_folder(gumption, tmp_path):
    (tmp_path / "bad.tsv").write_text("fire\tmeets\n")
    (tmp_path / "good.tsv").write_text("fire\tmeets\twater\n")
    code, _, err = gumption("load", "new", "bad.tsv")
    assert code == 2
    assert "bad.tsv:1: expected subject, relation, object" in err
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match=r"bad\.tsv:1"):
        KnowledgeGraph.load(tmp_path / "bad.tsv", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    gumption.ok("load", "old", "good.tsv")
    assert gumption("load", "old", "bad.tsv")[0] == 2
    with KnowledgeGraph(tmp_path / "old") as graph:
        assert list(graph.triples()) == [("fire", "meets", "water")]


@pytest.fixture
def facts(tmp_path: Path) -> str:
    (tmp_path / "facts.tsv").write_text("fire\tcomponentOf\tsteam\ncloud\tcomponentOf\tacid rain\tmore\n")
    return "facts.tsv"


@pytest.mark.parametrize("place", ["runs/kg", "kg.nq", "kg.tsv.gz"])
def test_load_into_a_folder_or_a_file(gumption, facts, tmp_path, place):
    code, out, err = gumption("load", place, facts, "--graph", "train", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"new": {facts: 2}, "graphs": {"more": 1, "train": 1}}
    (tmp_path / "x.nt").write_text("<urn:a> <urn:b> <urn:c> .\noops\n")
    code, out, err = gumption("load", place, facts, "x.nt", "--skip-bad", "1")
    assert code == 0
    assert out.endswith("1 new from facts.tsv\n1 new from x.nt\n")
    assert err.startswith("note: 1 bad line was skipped: x.nt:2: ")
    asked = "SELECT ?x { GRAPH ent:none { ?x ?r ?y } }"
    assert gumption("query", place, asked) == (0, "nothing found\n", "")
    rows = json.loads(gumption("query", place, "SELECT ?x { ?x gum:componentOf ?y }", "--json")[1])
    assert rows == [{"x": "cloud"}, {"x": "fire"}]


@pytest.mark.parametrize("place", ["runs/kg", "kg.nq", "kg.tsv.gz"])
def test_a_graph_or_some_facts_are_removed(gumption, facts, place):
    gumption.ok("load", place, facts, "--graph", "train")
    assert gumption.ok("remove", place, "--subject", "mud").endswith("0 facts removed\n")
    assert json.loads(gumption.ok("remove", f"{place}#train", "--json")) == {
        "removed": 1, "graphs": {"more": 1}, "stale": {},
    }  # fmt: skip
    told = gumption.ok("remove", f"{place}#more", "--relation", "componentOf", "--object", "acid rain")
    assert told.endswith("1 fact removed\n")
    assert gumption.ok("query", place, "SELECT * { ?s ?p ?o }") == "nothing found\n"


def test_what_cannot_be_removed(gumption, facts):
    for arguments, message in (
        ([facts], f"say what to remove: {facts}#NAME for a whole graph, or --subject, --relation or --object"),
        ([f"{facts}#moer"], "unknown graph 'moer': did you mean 'more'? (there are: default, more)"),
        ([f"{facts}#moer", "--object", "steam"], "unknown graph 'moer': did you mean 'more'?"),
        (["none.nq#more"], "there is no graph at none.nq"),
        ([f"{facts}#"], f"{facts}#: the name of a graph is missing after #"),
    ):
        code, out, err = gumption("remove", *arguments)
        assert (code, out) == (2, "")
        assert message in err


def test_a_table_of_ones_own_is_loaded_and_asked(gumption, tmp_path):
    (tmp_path / "own.csv").write_text("thing,rel,other,weight\ncup,usedFor,drinking,1\nknife,usedFor,cutting,2\n")
    told = gumption.ok("load", "kg.nq", "own.csv", "--columns", "thing,rel,other", "--graph", "home")
    assert told.endswith("2 new from own.csv\n")
    assert gumption.ok("load", "again.nq", "own.csv", "--columns", "1,2,3", "--header").endswith("2 new from own.csv\n")
    code, _, err = gumption("load", "kg.nq", "own.csv", "--columns", "thing,relation,other")
    assert (code, err) == (
        2, "error: own.csv:1: there is no column 'relation': there are thing, rel, other, weight\n"
    )  # fmt: skip
    (tmp_path / "plain.csv").write_text("subject,relation,object\ncup,usedFor,drinking\n")
    for command in (("load", "kg.nq", "plain.csv"), ("stats", "plain.csv")):
        code, _, err = gumption(*command)
        assert code == 2
        assert "plain.csv:1: subject, relation, object looks like a header" in err
    assert gumption.ok("load", "one.csv", "plain.csv", "--header").endswith("1 new from plain.csv\n")
    assert (tmp_path / "one.csv").read_text() == "cup,usedFor,drinking\n"
    assert "cup" in gumption.ok("query", "one.csv", "SELECT ?x { ?x gum:usedFor ?y }")
    assert gumption.ok("load", "two.nq", "plain.csv", "--no-header").endswith("2 new from plain.csv\n")


def test_load_reads_all_or_nothing(gumption, facts, tmp_path):
    (tmp_path / "x.nt").write_text("<urn:a> <urn:b> <urn:c> .\noops\noops\n")
    for place in ("kg", "kg.nq"):
        code, out, err = gumption("load", place, facts, "x.nt", "--skip-bad", "1")
        assert (code, out) == (2, "")
        assert err.startswith("error: x.nt:3: ")
        assert "this is bad line 2, and 1 may be skipped" in err
    assert not (tmp_path / "kg.nq").exists()
    # In a folder the file before the bad one is there, and nothing of the bad one.
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.graphs() == {"default": 1, "more": 1}


def test_reading_takes_no_lock(gumption, facts, tmp_path):
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.load_file(tmp_path / facts)
        assert gumption("query", "kg", "ASK { ent:fire ?r ?x }") == (0, "yes\n", "")
        assert gumption("hash", "kg") == (0, f"{graph.content_hash()}\n", "")
        assert gumption("export", "kg", "--out", "x.nt") == (0, "2 facts written to x.nt\n", "")
        code, _, err = gumption("load", "kg", facts)
        assert code == 2
        assert "is in use: close it there first, or open it with read_only=True" in err


def test_query_stops_in_time(gumption, tmp_path):
    graph = KnowledgeGraph()
    graph.add([(f"e{i}", "r", f"e{i * 7 % 300}") for i in range(300)])
    graph.save(tmp_path / "kg.nq")
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    code, out, err = gumption("query", "kg.nq", endless, "--timeout", "0.3")
    assert (code, out) == (2, "")
    assert err == ("error: the query took longer than 0.3 seconds and was stopped: ask for less, or allow more time\n")
    assert gumption("query", "kg.nq", "ASK { ent:e1 ?r ?x }", "--timeout", "20") == (0, "yes\n", "")


def test_export_does_not_overwrite_what_it_reads(gumption, facts, tmp_path):
    before = (tmp_path / "facts.tsv").read_bytes()
    for source in (facts, f"{facts}#default"):
        code, _, err = gumption("export", source, "--out", f"../{tmp_path.name}/facts.tsv")
        assert code == 2
        assert "facts.tsv is the graph that is read: write to another file" in err
    assert (tmp_path / "facts.tsv").read_bytes() == before


def test_export_tells_the_licences(gumption, facts, tmp_path):
    graph = KnowledgeGraph.load(tmp_path / facts)
    graph.annotate("default", {"license": "CC-BY-4.0", "attribution": "Ann", "source": "http://x.org"})
    graph.save(tmp_path / "kg.nq")
    out = "2 facts written to x.tsv\ndefault: license CC-BY-4.0, attribution Ann\n"
    assert gumption("export", "kg.nq", "--out", "x.tsv") == (0, out, "")
    assert "default\tlicense\tCC-BY-4.0\n" in (tmp_path / "x.tsv.license").read_text()
    code, out, err = gumption("export", "kg.nq#more", "--out", "more.trig", "--json")
    assert (code, json.loads(out), err) == (0, {"out": "more.trig", "facts": 1, "about": {}}, "")


def test_hash_is_the_same_in_every_format(gumption, facts):
    hashes = {gumption("hash", facts)[1]}
    for out in ("x.nq", "x.nt.gz", "x.ttl", "y.tsv"):
        gumption("export", facts, "--out", out)
        hashes.add(gumption("hash", out)[1])
    assert len(hashes) == 1
    assert len(hashes.pop()) == 65
    assert gumption("hash", f"{facts}#more")[1] != gumption("hash", facts)[1]


def test_validate_a_world(gumption, tmp_path):
    (tmp_path / "book.tsv").write_text(BOOK)
    gumption("build", "wordcraft", "--out", "kg.nq", "--recipe-book", "book.tsv")
    code, out, err = gumption("validate", "kg.nq", "--shapes", "wordcraft")
    assert (code, out, err) == (0, "conforms to wordcraft: 7 nodes checked\n", "")
    graph = KnowledgeGraph.load(tmp_path / "kg.nq")
    graph.add([("fire", "combinesWith", "acid rain")], graph="wrong")
    graph.save(tmp_path / "kg.nq")
    code, out, err = gumption("validate", "kg.nq", "--shapes", "wordcraft")
    assert (code, err) == (1, "")
    assert "2 things found, 8 nodes checked" in out
    assert "acid rain" in out
    assert "urn:gumption" not in out
    code, out, _ = gumption("validate", "kg.nq", "--shapes", "wordcraft", "--json")
    assert code == 1
    assert json.loads(out)["violations"][0] == {
        "subject": "acid rain", "relation": "^combinesWith", "value": "fire",
        "message": "combinesWith holds in both directions", "severity": "Violation",
    }  # fmt: skip
    assert gumption("validate", "kg.nq#wordcraft/all", "--shapes", "wordcraft", "--json")[0] == 0


@pytest.fixture
def mute_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_an_endpoint_that_is_mute_or_down(gumption, mute_port):
    address = f"http://127.0.0.1:{mute_port}/query"
    code, out, err = gumption("query", address, "ASK { ?s ?p ?o }", "--timeout", "0.3")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: the SPARQL endpoint {address} did not answer within 0.3 seconds")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{probe.getsockname()[1]}/query"
        code, out, err = gumption("hash", down)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: the SPARQL endpoint {down} does not answer (")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("load", "kg", "none.nq"), "cannot read none.nq: No such file or directory"),
        (("load", "kg.xlsx", "facts.tsv"), "kg.xlsx: a graph's file ends in"),
        (
            ("load", "kg.nq", "facts.tsv", "--update", "http://x.org"),
            "update='http://x.org' goes with the http address",
        ),
        (("load", "http://127.0.0.1:1/query", "facts.tsv"), "does not answer"),
        (("load", "kg.nq", "facts.tsv", "--graph", "urn:gumption:labels"), "is reserved: choose another name"),
        (("query", "facts.tsv", "DELETE WHERE { ?s ?p ?o }"), "that is an update, and a query only reads"),
        (("query", "facts.tsv", "ASK { ?s ?p ?o }", "--timeout", "0"), "--timeout is 0.0; it is a number above 0"),
        (("query", "facts.tsv", "ASK { ?s ?p }"), "SPARQL syntax error at line 1, column 14"),
        (("hash", "facts.tsv#mare"), "unknown graph 'mare': did you mean 'more'?"),
        (("hash", "none.nq"), "there is no graph at none.nq"),
        (("export", "facts.tsv#mare", "--out", "x.nq"), "unknown graph 'mare'"),
        (("validate", "facts.tsv", "--shapes", "halma2"), "there are no shapes 'halma2': name a file, or one of the"),
        (("validate", "facts.tsv", "--shapes", "facts.tsv"), "facts.tsv:1: the shapes are not Turtle"),
    ],
)
def test_bad_input_is_one_error_and_leaves_no_file(gumption, facts, tmp_path, arguments, message):
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = gumption(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert {path.name for path in tmp_path.iterdir()} - before <= {"kg", ".kg.lock", ".kg.nq.lock"}


def test_a_table_keeps_words_whole_and_an_empty_text_is_none_but_unbound(gumption, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    iri = "http://example.org/a/rather/long/name/" + "of/somebody/" * 9 + "else"
    (tmp_path / "kg.nq").write_text(f'<{iri}> <urn:p> "" <urn:g> .\n<{iri}> <urn:q> "in a few words" <urn:g> .\n')
    out = gumption.ok("query", "kg.nq", "SELECT ?s ?o ?un { ?s ?p ?o OPTIONAL { ?s <urn:x> ?un } }")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if iri in line]
    assert sorted(rows) == [[iri, '""', ""], [iri, "in a", ""]]
    assert iri in gumption.ok("query", "kg.nq", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }")


def test_a_table_of_many_rows_is_a_line_for_each(gumption, tmp_path):
    lines = [f"a thing {i}\tnear\tthe {i * 7}\\nsecond line" for i in range(600)]
    (tmp_path / "kg.tsv").write_text("".join(f"{line}\n" for line in lines).replace("\\n", "\x85"))
    out = gumption.ok("query", "kg.tsv", "SELECT ?a ?b { ?a ?near ?b }").splitlines()
    assert len(out) == 602
    assert out[0].split() == ["a", "b"]
    assert out[-1] == "600 rows"
    assert len({line.index("the ") for line in out[1:-1]}) == 1


@pytest.mark.parametrize("line", ["remove new --object steam", "infer new --rules rules.json", "query new 'ASK {}'"])
def test_an_empty_folder_is_no_graph(gumption, tmp_path, line):
    (tmp_path / "new").mkdir()
    (tmp_path / "rules.json").write_text('{"rules": [{"transitive": "componentOf"}]}')
    code, _, err = gumption(*shlex.split(line))
    assert (code, err) == (2, "error: there is no graph at new: make one with `gumption kg build`\n")
    assert not list((tmp_path / "new").iterdir())
