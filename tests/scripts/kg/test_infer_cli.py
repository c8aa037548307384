"""`gumption kg infer` and `mine`, as they are called."""

import itertools
import json
import random

import pytest

from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import read_rules, symmetric, transitive, write_rules


@pytest.fixture
def gumption(gumption):
    """`gumption kg` in a folder with a graph and rules."""
    graph = KnowledgeGraph()
    graph.add([("fire", "near", "water"), ("water", "near", "[red]mud[/red]")], graph="w")
    graph.save("kg.nq")
    write_rules("rules.json", [symmetric("near"), transitive("near")])
    return gumption


RULES = ("--rules", "rules.json")


def test_infer_from_a_file_to_a_file(gumption, tmp_path):
    table = gumption.ok("infer", "kg.nq#w", *RULES, "--out", "out.nq")
    assert "symmetric(near)" in table
    assert "written to the graph w/inferred; computed anew: first run" in table
    graph = KnowledgeGraph.load(tmp_path / "out.nq")
    assert graph.graphs() == {"w": 2, "w/inferred": 7}
    graph.add([("[red]mud[/red]", "near", "clay")], graph="w")
    graph.save(tmp_path / "out.nq")
    again = json.loads(gumption.ok("infer", "out.nq#w", *RULES, "--out", "out.nq", "--json"))
    assert {key: again[key] for key in ("into", "stated", "entailed", "added", "removed", "recomputed")} == {
        "into": "w/inferred", "stated": 3, "entailed": 13, "added": 6, "removed": 0, "recomputed": None,
    }  # fmt: skip
    assert sum(again["by_rule"].values()) == 6
    assert "only new facts were followed" in gumption.ok("infer", "out.nq#w", *RULES, "--out", "out.nq")
    assert KnowledgeGraph.load(tmp_path / "kg.nq").graphs() == {"w": 2}


def test_infer_in_a_folder_into_a_named_graph_with_provenance(gumption, tmp_path):
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add([("a", "near", "b")], graph="one")
        graph.add([("b", "near", "c")], graph="two")
    answer = json.loads(gumption.ok("infer", "kg", *RULES, "--into", "more", "--provenance", "--json"))
    assert (answer["into"], answer["stated"], answer["entailed"]) == ("more", 2, 7)
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert set(graph.graphs()) == {"one", "two", "more", "more/provenance"}


def test_explain_writes_nothing(gumption, tmp_path):
    fact = ("[red]mud[/red]", "near", "fire")
    text = gumption.ok("infer", "kg.nq#w", *RULES, "--explain", *fact)
    assert text.splitlines() == [
        "  1. water near [red]mud[/red]   [stated]",
        "  2. [red]mud[/red] near water   [symmetric(near) from 1]",
        "  3. fire near water   [stated]",
        "  4. water near fire   [symmetric(near) from 3]",
        "  5. [red]mud[/red] near fire   [transitive(near) from 2, 4]",
    ]
    steps = json.loads(gumption.ok("infer", "kg.nq", *RULES, "--explain", *fact, "--json"))["steps"]
    assert steps[-1] == {"fact": list(fact), "rule": "transitive(near)", "premises": [1, 3]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kg.nq", "rules.json"]


def test_mine_then_infer(gumption, tmp_path):
    graph = KnowledgeGraph()
    graph.add([(f"{k}{i}", "partOf", f"{k}{i + 1}") for k in "abcd" for i in range(2)], graph="g")
    graph.add([(f"{k}0", "within", f"{k}2") for k in "abc"], graph="g")
    graph.save(tmp_path / "parts.nq")
    settings = ("--min-support", "3", "--min-confidence", "0.7", "--min-head-coverage", "1")
    rows = json.loads(gumption.ok("mine", "parts.nq", *settings, "--out", "mined.json", "--json"))
    assert rows == [
        {
            "rule": "within(x, y) <= partOf(x, z) & partOf(z, y)",
            "support": 3, "body_size": 4, "head_coverage": 1.0, "confidence": 0.75, "pca_confidence": 1.0,
            "contradiction_confidence": 1.0, "contradictions": 0, "contradicted_by": [],
        }
    ]  # fmt: skip
    assert [str(rule) for rule in read_rules(tmp_path / "mined.json")] == [rows[0]["rule"]]
    table = gumption.ok("mine", "parts.nq#g", *settings, "--out", "mined.json")
    assert "within(x, y) <= partOf(x, z) & partOf(z, y)" in table
    assert "0.750" in table
    assert "contradiction" not in table  # nothing can contradict these rules
    assert "1 of 1 rules, all written to mined.json" in table
    assert "1 of 3 rules" in gumption.ok("mine", "parts.nq", "--min-support", "3", "--top", "1")
    out = gumption.ok("infer", "parts.nq#g", "--rules", "mined.json", "--out", "parts.nq", "--json")
    assert json.loads(out)["added"] == 1


def test_mine_a_graph_of_which_facts_are_missing(gumption, tmp_path):
    """Two thirds of the pairs of some tables were weighed; whatever was weighed shows which rules are wrong."""
    draw = random.Random(0)
    heavier = [
        (f"{table}.{a}", "heavierThan", f"{table}.{b}")
        for table in range(20)
        for a, b in itertools.combinations(range(6), 2)
        if draw.random() < 0.67
    ]
    graph = KnowledgeGraph()
    graph.add(heavier, graph="scales")
    graph.save(tmp_path / "scales.nq")
    chain = "heavierThan(x, y) <= heavierThan(x, z) & heavierThan(z, y)"
    chosen = ("--min-confidence", "0", "--min-contradiction-confidence", "0.9")
    (rule,) = json.loads(gumption.ok("mine", "scales.nq", *chosen, "--out", "mined.json", "--json"))
    assert (rule["rule"], rule["contradiction_confidence"]) == (chain, 1.0)
    assert (rule["contradictions"], rule["contradicted_by"]) == (0, ["heavierThan(y, x)"])
    assert rule["confidence"] < 0.8
    (entry,) = json.loads((tmp_path / "mined.json").read_text())["rules"]
    assert entry["figures"] == {name: value for name, value in rule.items() if name != "rule"}
    table = gumption.ok("mine", "scales.nq", *chosen)
    assert "contradiction confidence" in table
    assert "heavierThan(x, y) is contradicted by heavierThan(y, x)" in table
    everything = ("mine", "scales.nq", "--min-confidence", "0", "--json", "--sort-by")
    for figure in ("confidence", "pca-confidence", "contradiction-confidence", "support", "head-coverage"):
        values = [row[figure.replace("-", "_")] for row in json.loads(gumption.ok(*everything, figure))]
        assert len(set(values)) > 1
        assert values == sorted(values, reverse=True)
    assert json.loads(gumption.ok("infer", "scales.nq", "--rules", "mined.json", "--out", "all.nq", "--json"))["added"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("infer", "kg.nq", *RULES), "kg.nq is a file: say with --out which file to write"),
        (("infer", "none.nq", *RULES), "there is no graph at none.nq"),
        (("infer", "kg.nq", *RULES, "--out", "x.xlsx"), "x.xlsx: a graph's file ends in"),
        (("infer", "folder", *RULES, "--out", "x.nq"), "folder is changed in place: leave out --out"),
        (("infer", "kg.nq#v", *RULES, "--out", "x.nq"), "unknown graph 'v'"),
        (("infer", "kg.nq", "--rules", "none.json", "--out", "x.nq"), "none.json: cannot be read (No such file"),
        (
            ("infer", "kg.nq", "--rules", "bad.json", "--out", "x.nq"),
            "bad.json: rule 1: symmetric takes the names of 1",
        ),
        (("infer", "kg.nq", "--rules", "typo.json", "--out", "x.nq"), "unknown relation 'neer': did you mean 'near'?"),
        (("infer", "kg.nq", *RULES, "--into", "w", "--out", "x.nq"), "the graph 'w' has facts that inference did not"),
        (
            ("infer", "kg.nq", *RULES, "--explain", "fire", "near", "watr"),
            "unknown entity 'watr': did you mean 'water'",
        ),
        (("infer", "kg.nq", *RULES, "--out", "x.nq", "--update", "http://x.org"), "update='http://x.org' goes with"),
        (("infer", "http://127.0.0.1:9/q#", *RULES, "--update", "http://127.0.0.1:9/u"), "missing after #"),
        (("mine", "none.nq"), "there is no graph at none.nq"),
        (("mine", "kg.nq#v"), "unknown graph 'v'"),
        (("mine", "kg.nq", "--min-support", "0"), "min_support is 0"),
        (("mine", "kg.nq", "--min-pca-confidence", "2"), "--min-pca-confidence is 2.0; it is a number from 0 to 1"),
        (("mine", "kg.nq", "--min-contradiction-confidence", "-1"), "--min-contradiction-confidence is -1.0; it is a"),
        (("mine", "kg.nq", "--sort-by", "lift"), "--sort-by is 'lift'"),
        (("mine", "kg.nq", "--min-confidence", "2"), "--min-confidence is 2.0; it is a number from 0 to 1"),
        (("mine", "kg.nq", "--out", "bad.json/x.json"), "cannot write bad.json/x.json: Not a directory"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(gumption, tmp_path, arguments, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.json").write_text('{"rules": [{"symmetric": 1}]}')
    write_rules(tmp_path / "typo.json", [symmetric("neer")])
    assert message in gumption.refused(*arguments)


@pytest.mark.parametrize("place", ["kg.nq", "kg"])
def test_remove_counts_the_entailed_facts_that_rest_on_what_is_removed(gumption, tmp_path, place):
    graph = KnowledgeGraph()
    graph.add([("a", "near", "b"), ("b", "near", "c"), ("x", "far", "y")], graph="w")
    write_rules("rules.json", [transitive("near")])
    graph.save("kg.nq")
    out = ("--out", "kg.nq") if place == "kg.nq" else ()
    if place == "kg":
        gumption.ok("load", "kg", "kg.nq")
    for proofs, number in (((), None), (("--provenance",), 1)):
        gumption.ok("infer", f"{place}#w", *RULES, *out, *proofs)
        code, said, err = gumption("remove", f"{place}#w", "--relation", "near", "--object", "c", "--json")
        assert (code, json.loads(said)["stale"]) == (0, {"w/inferred": number})
        which = "1 fact rested on what was removed" if proofs else "may be stale, for no proofs are kept"
        assert f"note: w/inferred: {'' if proofs else 'its facts '}{which}" in err
        again = " ".join(("infer", f"{place}#w", "--rules FILE --into w/inferred", *out, *proofs))
        assert again in err
        gumption.ok(*again.replace("FILE", "rules.json").split())
        graph = KnowledgeGraph.load(place) if out else KnowledgeGraph(place, read_only=True)
        assert list(graph.triples(graph="w/inferred")) == []
        graph.close()
        (tmp_path / "c.tsv").write_text("b\tnear\tc\n")
        gumption.ok("load", place, "c.tsv", "--graph", "w")
    gumption.ok("infer", f"{place}#w", *RULES, *out, "--provenance")
    code, said, err = gumption("remove", f"{place}#w", "--relation", "far", "--json")
    assert (code, json.loads(said)["stale"], err) == (0, {}, "")
