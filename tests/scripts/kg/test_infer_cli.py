"""`gumption kg infer` and `mine`, as they are called."""

import itertools
import json
import random
import re

import pytest

from gumption.kg import KnowledgeGraph, evaluate_ranking
from gumption.kg.rules.horn import read_rules, symmetric, transitive, write_rules
from gumption.kg.rules.prediction import RulePredictor


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
        "  1. fire near water   [stated]",
        "  2. water near [red]mud[/red]   [stated]",
        "  3. fire near [red]mud[/red]   [transitive(near) from 1, 2]",
        "  4. [red]mud[/red] near fire   [symmetric(near) from 3]",
    ]
    steps = json.loads(gumption.ok("infer", "kg.nq", *RULES, "--explain", *fact, "--json"))["steps"]
    assert steps[-1] == {"fact": list(fact), "rule": "symmetric(near)", "premises": [2], "confidence": 1.0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kg.nq", "rules.json"]


def family(tmp_path):
    """18 facts of a family, and three rules that two people wrote, who are not sure of them."""
    facts = "anna parentOf carl,bert parentOf carl,anna parentOf dora,bert parentOf dora,carl parentOf emil"
    facts += ",fina parentOf emil,dora parentOf gina,carl parentOf ida,anna marriedTo bert,bert marriedTo anna"
    facts += ",carl marriedTo fina,carl siblingOf dora,dora siblingOf carl,emil siblingOf ida,ida siblingOf emil"
    facts += ",anna grandparentOf emil,bert grandparentOf emil,anna grandparentOf gina"
    graph = KnowledgeGraph()
    graph.add([tuple(fact.split()) for fact in facts.split(",")], graph="family")
    graph.save(tmp_path / "family.nq")


def test_uncertain_facts_show_their_confidence_and_those_below_the_threshold_are_not_written(gumption, tmp_path):
    family(tmp_path)
    rules = [
        {"symmetric": "marriedTo"},
        {"head": "parentOf(x, y)", "body": ["parentOf(x, z)", "siblingOf(z, y)"], "confidence": 0.8},
        {"head": "parentOf(x, y)", "body": ["parentOf(x, z)", "parentOf(y, z)"], "confidence": 0.6},
    ]
    (tmp_path / "hand.json").write_text(json.dumps({"rules": rules}))
    hand = ("infer", "family.nq", "--rules", "hand.json")
    everything = json.loads(gumption.ok(*hand, "--out", "all.nq", "--min-confidence", "0", "--json"))
    doubtful = {" ".join(fact): confidence for fact, confidence in everything["uncertain"]}
    assert everything["entailed"] == len(doubtful) + 1  # fina marriedTo carl is certain
    assert doubtful["anna parentOf anna"] == 0.6
    result = json.loads(gumption.ok(*hand, "--out", "some.nq", "--min-confidence", "0.7", "--json"))
    assert [" ".join(fact) for fact, _ in result["uncertain"]] == ["fina parentOf ida"]
    written = set(KnowledgeGraph.load(tmp_path / "some.nq").triples(graph="inferred"))
    assert written == {("fina", "marriedTo", "carl"), ("fina", "parentOf", "ida")}
    assert result["below"] == 9  # pairs of parents of one child, each with itself too
    assert len(doubtful) > 1 + 9  # what would follow from those
    table = gumption.ok(*hand, "--out", "some.nq", "--min-confidence", "0.7", "--provenance")
    assert re.search(r"of these uncertain +│ 1 .*below 0.7, left out +│ " + str(result["below"]), table, re.DOTALL)
    assert re.search(r"fina +│ parentOf +│ ida +│ 0.800", table)
    kept = KnowledgeGraph.load(tmp_path / "some.nq").query("SELECT ?c { ?f gum:confidence ?c ; rdf:object ent:ida }")
    assert len(list(kept)) == 1
    assert "from 1, 2; confidence 0.800]" in gumption.ok(*hand, "--explain", "fina", "parentOf", "ida")
    why = (*hand, "--explain", "anna", "parentOf", "fina")
    assert "facts of a confidence of at least 0.7" in gumption.refused(*why, "--min-confidence", "0.7")


def test_mined_rules_keep_the_confidence_that_they_were_selected_by(gumption, tmp_path):
    family(tmp_path)
    mine = ("mine", "family.nq", "--min-support", "2", "--out", "mined.json")
    for option, figure in (("--min-confidence", "confidence"), ("--min-pca-confidence", "pca_confidence")):
        rows = json.loads(gumption.ok(*mine, "--min-confidence", "0.1", option, "0.2", "--json"))
        assert [rule.confidence for rule in read_rules(tmp_path / "mined.json")] == [row[figure] for row in rows]
    assert {row["confidence"] for row in rows} != {row["pca_confidence"] for row in rows}


def test_mine_names_the_support_that_finds_rules(gumption, tmp_path):
    family(tmp_path)
    code, table, err = gumption("mine", "family.nq")
    assert (code, "0 of 0 rules" in table) == (0, True)
    assert err == "no rule reaches --min-support 10 and the other thresholds; --min-support 6 finds some\n"
    assert "0 of 0 rules" not in gumption.ok("mine", "family.nq", "--min-support", "6")
    assert "--min-support 7 and the other thresholds" in gumption("mine", "family.nq", "--min-support", "7")[2]
    _, _, err = gumption("mine", "kg.nq", "--min-confidence", "1")
    assert "no smaller --min-support finds any: lower the others" in err


def test_rules_rank_by_their_confidence_and_show_the_proof(gumption, tmp_path):
    family(tmp_path)
    gumption.ok("mine", "family.nq", "--min-support", "2", "--out", "mined.json")
    graph = KnowledgeGraph()
    graph.add([("fina", "parentOf", "ida"), ("dora", "grandparentOf", "emil")], graph="test")
    graph.save(tmp_path / "test.nq")
    asked = ("predict", "mined.json", "--subject", "fina", "--relation", "parentOf", "--graph", "family.nq")
    first, second, *_ = json.loads(gumption.ok(*asked, "--json"))
    assert (first["label"], first["confidence"], first["known"]) == ("emil", 1.0, True)
    assert (second["label"], second["known"], second["why"][-1]["confidence"]) == ("ida", False, second["confidence"])
    assert second["why"][-1]["fact"] == ["fina", "parentOf", "ida"]
    table = gumption.ok(*asked, "--exclude-known")
    assert "parentOf emil   [stated]" in table
    assert " known" not in table.split("why")[1]
    figures = json.loads(gumption.ok("evaluate", "mined.json", "--test", "test.nq", "--known", "family.nq", "--json"))
    predictor = RulePredictor.load(tmp_path / "mined.json", KnowledgeGraph.load(tmp_path / "family.nq").triples())
    test, known = list(graph.triples()), list(KnowledgeGraph.load(tmp_path / "family.nq").triples())
    assert figures["mrr"] == pytest.approx(evaluate_ranking(predictor, test, [known])["mrr"])
    assert predictor.score(test)[test.index(("fina", "parentOf", "ida"))] == pytest.approx(second["confidence"])
    assert predictor.score([("fina", "marriedTo", "gina")]) == 0.0
    for bad, message in (
        (("predict", "mined.json", "--subject", "fina", "--relation", "parentOf"), "and there are none: give them"),
        (("evaluate", "mined.json", "--test", "test.nq"), "the facts that they were mined from, and there are none"),
        (("calibrate", "mined.json", "--held-out", "test.nq"), "only the folder of a fitted model can be calibrated"),
        (("evaluate", "mined.json", "--test", "kg.nq", "--known", "family.nq"), "leave their facts out with --skip-"),
    ):
        assert message in gumption.refused(*bad)


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
        (("mine", "kg.nq", "--out", "kg.nq"), "cannot write kg.nq: choose a name that ends in .json"),
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
