"""`fit`, `tune`, `mine`, `export` and `evaluate` of a graph with literals."""

import json

import pytest

from gumption.kg import ComplEx, KnowledgeGraph
from gumption.scripts.kg.parts import read_parts

THINGS = [
    (f"e{n}", relation, f"e{(n + step) % 12}") for relation, step in (("next", 1), ("last", 11)) for n in range(12)
]
VALUES = [(f"e{n}", "comment", f'"the \\"{n}th\\" of them"') for n in range(12)]
NOTE = "note: left out: 12 facts with literals (--literals keeps them; in Python literals=True)\n"
FIT = ("--rank", "2", "--epochs", "1", "--device", "cpu")


@pytest.fixture
def graph(tmp_path):
    graph = KnowledgeGraph()
    graph.add(THINGS + VALUES, graph="a")
    graph.add([("e1", "next", "e3"), ("e1", "comment", '"another"'), ("e1", "comment", '"others"')], graph="b")
    graph.save(tmp_path / "kg.nq")
    return graph


def run(gumption, *arguments):
    code, out, err = gumption(*arguments)
    assert code == 0, err
    return out, err


def test_a_fit_leaves_literals_out_and_says_how_many(gumption, graph, tmp_path):
    out, err = run(gumption, "fit", "kg.nq#a", "--out", "model", *FIT, "--valid", "kg.nq#b", "--entities", "kg.nq")
    assert out.startswith("fitted on a: 24 facts, 12 entities")
    assert err.count(NOTE) == 1
    assert "note: left out of kg.nq#b: 2 facts with literals (" in err
    assert "note: left out of kg.nq: 14 facts with literals (" in err
    out, err = run(gumption, "evaluate", "model", "--test", "kg.nq#b")
    assert "1 test fact, " in out
    assert "note: left out of kg.nq#b: 2 facts with literals (" in err
    run(gumption, "export-pykeen", "model", "--out", "theirs", "--graph", "kg.nq#a")
    out, err = run(gumption, "fit", "kg.nq#a", "--out", "all", *FIT, "--literals")
    assert out.startswith("fitted on a: 36 facts, 24 entities")
    assert "note" not in err
    assert len(ComplEx.load(tmp_path / "all").vocabulary.relations) == 3
    code, _, err = gumption("evaluate", "all", "--test", "kg.nq#b")
    assert code == 2
    assert "kg.nq#b has 2 entities that the model was not fitted on, such as '\"another\"'" in err


def test_a_search_leaves_literals_out(gumption, graph):
    options = (
        "--valid",
        "kg.nq#b",
        "--out",
        "search",
        "--trials",
        "1",
        "--rank",
        "2",
        "--epochs",
        "1",
        "--device",
        "cpu",
    )
    _, err = run(gumption, "tune", "kg.nq#a", *options)
    assert NOTE in err
    code, _, err = gumption("tune", "kg.nq#a", *options, "--literals")
    assert code == 2
    assert "search holds a search with other facts" in err


def test_rules_are_mined_without_literals(gumption, graph):
    out, err = run(gumption, "mine", "kg.nq#a", "--json")
    assert {each["rule"] for each in json.loads(out)} == {"next(x, y) <= last(y, x)", "last(x, y) <= next(y, x)"}
    assert err == NOTE
    assert run(gumption, "mine", "kg.nq#a", "--literals")[1] == ""


def test_a_data_set_is_made_without_literals(gumption, graph, tmp_path):
    _, err = run(gumption, "export", "kg.nq#a", "--out", "set")
    assert err == NOTE
    vocabulary, _ = read_parts(tmp_path / "set")
    assert vocabulary.relations == ("last", "next")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["left_out"] == {"literals": 12, "triple_terms": 0}
    assert sum(manifest["facts"].values()) == 24
    run(gumption, "export", "kg.nq#a", "--out", "all", "--literals")
    assert sum(json.loads((tmp_path / "all" / "manifest.json").read_text())["facts"].values()) == 36


def test_literals_are_an_option_of_graphs(gumption, graph):
    code, _, err = gumption("export", "kg.nq", "--out", "x.nq", "--literals")
    assert code == 2
    assert "--literals, --validation-ratio, --test-ratio, --seed and --format are for a folder" in err
    code, _, err = gumption("fit", "--dataset", "umls", "--out", "model", "--literals")
    assert code == 2
    assert "--literals" in err
