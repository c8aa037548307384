"""What inference does when the graph has changed since its last run, and what it remembers of that run."""

import itertools
import json
from collections.abc import Sequence

import networkx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import Rule, symmetric, transitive, write_rules
from gumption.kg.rules.inference import infer
from gumption.scripts import cli

from .conftest import ANCHOR, ENTITIES, FACTS, RELATIONS, RULE_SETS, Triples, applied, closure, graph_of

FEW = st.sampled_from("abcd")  # so that a change often states what was entailed, or takes it away
CHANGE = st.sets(st.tuples(FEW, RELATIONS, FEW), min_size=1, max_size=4)
CHANGES = st.lists(st.tuples(st.booleans(), CHANGE), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(FACTS, CHANGES, RULE_SETS, st.booleans())
@example({("a", "r", "b"), ("b", "r", "c")}, [(True, {("a", "r", "c")})], [transitive("r")], True)
@example({("b", "r", "c")}, [(True, {("a", "r", "b"), ("c", "r", "d")})], [transitive("r")], True)
def test_following_changes_gives_what_starting_anew_gives(stated, changes, rule_set, provenance):
    stated = stated | ANCHOR
    graph = graph_of(stated)
    infer(graph, rule_set, "g", provenance=provenance)
    for adding, change in changes:
        before = set(stated)
        stated = stated | change if adding else stated - change
        (graph.add if adding else graph.remove)(change, graph="g")
        result = infer(graph, rule_set, "g", provenance=provenance)
        assert (result.recomputed is None) == (stated >= before)
        expected = closure(stated, rule_set) - stated
        assert set(graph.triples(graph="g/inferred")) == expected
        assert result.entailed == len(expected)
        if provenance:
            check_provenance(graph, "g/inferred", stated, expected, rule_set)
    again = infer(graph, rule_set, "g", provenance=provenance)
    assert (again.recomputed, again.added, again.removed, again.by_rule) == (None, 0, 0, {})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.tuples(ENTITIES, ENTITIES), min_size=1, max_size=4), min_size=2, max_size=4))
def test_a_closed_relation_grows_by_any_edges(batches):
    graph = KnowledgeGraph()
    edges: set[tuple[str, str]] = set()
    for batch in batches:
        edges |= batch
        graph.add([(a, "up", b) for a, b in batch], graph="g")
        infer(graph, [transitive("up")], "g")
        closed = networkx.transitive_closure(networkx.DiGraph(sorted(edges)), reflexive=False)
        assert {(a, b) for a, _, b in graph.triples()} == set(closed.edges)


def check_provenance(
    graph: KnowledgeGraph, name: str, stated: Triples, entailed: Triples, rule_set: Sequence[Rule]
) -> None:
    """Each entailed fact, and no other, has a rule and premises that give it, and the premises come first."""
    rows = graph.query(
        """SELECT ?f ?s ?p ?o ?rule ?from { GRAPH ?g {
             ?f rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o .
             OPTIONAL { ?f gum:entailedBy ?rule ; prov:wasDerivedFrom ?from } } }""",
        g=f"{name}/provenance",
    )
    of_node = {row["f"]: (row["s"], row["p"], row["o"]) for row in rows}
    by = {of_node[row["f"]]: row["rule"] for row in rows if row["rule"]}
    premises: dict[tuple[str, str, str], Triples] = {}
    for row in rows:
        if row["from"]:
            premises.setdefault(of_node[row["f"]], set()).add(of_node[row["from"]])
    assert set(by) == entailed
    for fact, rule_name in by.items():
        assert any(fact in applied(rule, premises[fact]) for rule in rule_set if rule.name == rule_name)
    proven = set(stated)
    while ready := {fact for fact in entailed - proven if premises[fact] <= proven}:
        proven |= ready
    assert proven >= entailed


def test_every_home_of_a_graph(home):
    graph = home()
    graph.add([("fire", "near", "water"), ("water", "near", "mud")], graph="w")
    graph.annotate("w", {"license": "CC0-1.0", "title": "elements"})
    rule_set = [symmetric("near"), transitive("near")]
    first = infer(graph, rule_set, "w", provenance=True)
    everything = set(itertools.product(("fire", "water", "mud"), ("near",), ("fire", "water", "mud")))
    assert set(graph.triples(graph="w/inferred")) == everything - set(graph.triples(graph="w"))
    assert first.recomputed == "first run"
    assert graph.annotations("w/inferred")["license"] == "CC0-1.0"
    assert "title" not in graph.annotations("w/inferred")
    graph.add([("mud", "near", "fire"), ("mud", "near", "clay")], graph="w")
    second = infer(graph, rule_set, "w", provenance=True)
    assert (second.recomputed, second.added, second.removed) == (None, 6, 1)
    assert second.entailed == 4**2 - 4
    asked = "SELECT ?rule { GRAPH ?g { ?f rdf:subject ent:clay ; rdf:object ent:clay ; gum:entailedBy ?rule } }"
    assert graph.query(asked, g="w/inferred/provenance") == [{"rule": "transitive(near)"}]
    graph.remove(list(graph.triples(graph="w")), graph="w")
    third = infer(graph, rule_set, "w")
    assert third.recomputed == "other rules, source or provenance than in the last run"
    assert (third.entailed, third.removed) == (0, 12)
    assert graph.graphs() == {}


def test_what_was_done_is_remembered_on_disk_and_in_files(tmp_path):
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add([("a", "up", "b"), ("b", "up", "c")], graph="g")
        infer(graph, [transitive("up")], "g")
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add([("c", "up", "d")], graph="g")
        result = infer(graph, [transitive("up")], "g")
        assert (result.recomputed, result.added) == (None, 2)
        graph.save(tmp_path / "x.nq")
    again = KnowledgeGraph.load(tmp_path / "x.nq")
    assert infer(again, [transitive("up")], "g").recomputed is None


def test_the_command_at_an_endpoint(endpoint, tmp_path, monkeypatch, capsys):
    query, update = f"{endpoint}/query", f"{endpoint}/update"
    graph = KnowledgeGraph(query, update=update)
    graph.add([("a", "near", "b")], graph="w")
    write_rules(tmp_path / "rules.json", [symmetric("near"), transitive("near")])

    def command(*options: str) -> tuple[str, str]:
        arguments = ["infer", f"{query}#w", "--rules", str(tmp_path / "rules.json"), *options]
        monkeypatch.setattr("sys.argv", ["gumption", "kg", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        return capsys.readouterr()

    assert "opened for queries only: give" in command()[1]
    assert json.loads(command("--update", update, "--json")[0])["entailed"] == 3
    assert graph.graphs() == {"w": 1, "w/inferred": 3}


@pytest.mark.parametrize(
    ("disturb", "reason"),
    [
        (lambda g: g.remove([("b", "up", "c")], graph="g"), "1 stated fact was removed since the last run"),
        (lambda g: g.remove(list(g.triples(graph="g")), graph="g"), "2 stated facts were removed since the last run"),
        (lambda g: g.add([("z", "up", "z")], graph="g/inferred"), "the entailed facts were changed since the last run"),
        (lambda g: g.remove([("a", "up", "c")]), "the entailed facts were changed since the last run"),
        (lambda g: g.annotate("g/inferred", {"inferenceState": "?"}), "the last run was not finished"),
    ],
)
def test_starting_anew_says_why(disturb, reason):
    graph = graph_of({("a", "up", "b"), ("b", "up", "c")})
    infer(graph, [transitive("up")], "g")
    disturb(graph)
    result = infer(graph, [transitive("up")], "g")
    assert result.recomputed == reason
    stated = set(graph.triples(graph="g"))
    assert set(graph.triples(graph="g/inferred")) == closure(stated, [transitive("up")]) - stated
    assert infer(graph, [symmetric("up")], "g").recomputed == "other rules, source or provenance than in the last run"


def test_a_run_that_is_killed_is_repeated(monkeypatch):
    graph = graph_of({("a", "up", "b"), ("b", "up", "c")})
    infer(graph, [transitive("up")], "g")
    graph.add([("c", "up", "d")], graph="g")

    def killed(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(graph, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            infer(graph, [transitive("up")], "g")
    assert infer(graph, [transitive("up")], "g").recomputed == "the last run was not finished"
    assert set(graph.triples(graph="g/inferred")) == {("a", "up", "c"), ("a", "up", "d"), ("b", "up", "d")}


def test_all_graphs_together():
    graph = graph_of({("a", "up", "b")}, "one")
    graph.add([("b", "up", "c"), ("a", "up", "b")], graph="two")
    result = infer(graph, [transitive("up")], provenance=True)
    assert (result.into, result.stated, result.entailed) == ("inferred", 2, 1)
    assert infer(graph, [transitive("up")], provenance=True).added == 0
    assert infer(graph, [transitive("up")], "one", "elsewhere").into == "elsewhere"


def test_provenance_goes_when_it_is_not_asked_for():
    graph = graph_of({("a", "up", "b"), ("b", "up", "c")})
    infer(graph, [transitive("up")], "g", provenance=True)
    text = graph.query("SELECT ?text { GRAPH ?g { ?rule gum:ruleText ?text } }", g="g/inferred/provenance")
    assert text == [{"text": "up(x, z) <= up(x, y) & up(y, z)"}]
    infer(graph, [transitive("up")], "g")
    assert list(graph.graphs()) == ["g", "g/inferred"]
