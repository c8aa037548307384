"""Rules about any relation of a graph: `*(x, y)`."""

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, infer, read_rules
from gumption.kg.rules.horn import Atom, Rule, of_any, rules_from_json, rules_to_json, write_rules
from gumption.kg.rules.inference import explain

LINKED = {"rules": [{"head": "linked(x, y)", "body": ["*(x, y)"]}, {"head": "linked(x, y)", "body": ["*(y, x)"]}]}
FACTS = [("hammer", "usedFor", "nail"), ("nail", "madeOf", "iron"), ("iron", "linked", "rust")]


@pytest.fixture
def graph() -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(FACTS, graph="mine")
    return graph


def test_it_holds_of_each_relation_that_no_rule_names(graph: KnowledgeGraph) -> None:
    infer(graph, rules_from_json(LINKED), "mine", "new")
    both = {("hammer", "nail"), ("nail", "iron")}
    assert {(s, o) for s, _, o in graph.triples(graph="new")} == both | {(o, s) for s, o in both}
    # A relation that is new since then is followed, too.
    graph.add([("rust", "hasProperty", "red")], graph="mine")
    infer(graph, rules_from_json(LINKED), "mine", "new")
    assert ("red", "linked", "rust") in set(graph.triples(graph="new"))


def test_it_is_one_relation_in_all_of_a_body(graph: KnowledgeGraph) -> None:
    graph.add([("saw", "madeOf", "iron"), ("saw", "usedFor", "wood")], graph="mine")
    rules = rules_from_json({"rules": [{"head": "like(x, y)", "body": ["*(x, z)", "*(y, z)", "x != y"]}]})
    infer(graph, rules, "mine", "new")
    assert {(s, o) for s, _, o in graph.triples(graph="new")} == {("nail", "saw"), ("saw", "nail")}


def test_a_fact_is_explained_by_the_relation_that_it_follows_from(graph: KnowledgeGraph) -> None:
    text = str(explain(graph, ("iron", "linked", "nail"), rules_from_json(LINKED), "mine"))
    assert "nail madeOf iron   [stated]" in text
    assert "linked(x, y) <= madeOf(y, x)" in text


def test_it_is_read_and_written(tmp_path) -> None:
    rules = rules_from_json(LINKED)
    write_rules(tmp_path / "rules.json", rules)
    assert read_rules(tmp_path / "rules.json") == rules
    assert rules_to_json(rules) == LINKED


def test_what_it_cannot_stand_for_is_refused(graph: KnowledgeGraph) -> None:
    with pytest.raises(InputError, match=r"only the body of a rule can be of any relation"):
        Rule(Atom("*", "x", "y"), (Atom("near", "x", "y"),))
    with pytest.raises(InputError, match=r"no relation that \* could stand for: the rules name all of them"):
        of_any(rules_from_json(LINKED), ["linked"])
    named = [{"head": "linked(x, y)", "body": ["usedfor(x, y)"]}, *LINKED["rules"]]
    with pytest.raises(InputError, match=r"unknown relation 'usedfor': did you mean 'usedFor'"):
        infer(graph, rules_from_json({"rules": named}), "mine", "new")
