"""Rules as data, what they entail, and why."""

import itertools
import math
import random
from dataclasses import replace

import networkx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.wordcraft import facts, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import (
    Atom,
    Rule,
    composition,
    inverse,
    read_rules,
    rules_from_json,
    rules_to_json,
    symmetric,
    transitive,
    write_rules,
)
from gumption.kg.rules.inference import explain, infer

from .conftest import (
    ANCHOR,
    FACTS,
    RELATIONS,
    RULE_SETS,
    SHORT,
    applied,
    best_proofs,
    check,
    closure,
    graph_of,
    rules,
)

# ---- rules


def test_a_rule_reads_as_text():
    rule = composition("hypernym", "partOf", "partOf")
    assert str(rule) == "partOf(x, z) <= hypernym(x, y) & partOf(y, z)"
    assert rule.name == "composition(hypernym, partOf, partOf)"
    assert Rule(rule.head, rule.body).name == str(rule)
    assert [str(each) for each in inverse("up", "down")] == ["down(y, x) <= up(x, y)", "up(y, x) <= down(x, y)"]
    assert str(transitive("up")) == "up(x, z) <= up(x, y) & up(y, z)"
    apart = Rule(rule.head, rule.body, distinct=True)
    assert apart.name == str(apart) == "partOf(x, z) <= hypernym(x, y) & partOf(y, z) & x != z"


ODD = st.one_of(RELATIONS, st.text(min_size=1), st.sampled_from([" r", "r ", "f(x, y)", "a & b", "r(", "\t"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(SHORT, st.lists(rules(ODD), min_size=1, max_size=1)), max_size=4))
def test_any_rules_survive_a_file(tmp_path_factory, parts):
    rule_set = tuple(itertools.chain(*parts))
    path = tmp_path_factory.getbasetemp() / "rules.json"
    write_rules(path, rule_set)
    assert read_rules(path) == rule_set


def test_the_file_form_is_short_where_it_can_be():
    rule_set = [symmetric("a"), transitive("b"), *inverse("c", "d"), composition("a", "b", "c")]
    siblings = Rule(Atom("e", "x", "y"), (Atom("a", "x", "z"), Atom("a", "y", "z")), "siblings", distinct=True)
    rule_set.append(siblings)
    assert rules_to_json(rule_set) == {
        "rules": [
            {"symmetric": "a"},
            {"transitive": "b"},
            {"inverse": ["c", "d"]},
            {"composition": ["a", "b", "c"]},
            {"name": "siblings", "head": "e(x, y)", "body": ["a(x, z)", "a(y, z)", "x != y"]},
        ]
    }


def test_a_file_may_speak_to_people():
    entry = {"name": "both ways", "symmetric": "near", "comment": "distance", "figures": {"support": 3}}
    (rule,) = rules_from_json({"rules": [entry]})
    assert rule == Rule(Atom("near", "y", "x"), (Atom("near", "x", "y"),), "both ways")


def test_a_file_keeps_confidences(tmp_path):
    """Of each form; a rule that states none is certain."""
    entries = [{"inverse": ["up", "down"], "confidence": 0.9}, {"symmetric": "near"}]
    rule_set = rules_from_json({"rules": entries})
    assert [rule.confidence for rule in rule_set] == [0.9, 0.9, 1.0]
    write_rules(tmp_path / "rules.json", rule_set)
    assert read_rules(tmp_path / "rules.json") == rule_set
    (any_,) = rules_from_json({"rules": [{"head": "of(x, y)", "body": ["*(x, y)"], "confidence": 0.6}]})
    result = infer(graph_of({("a", "up", "b")}), [any_])
    assert result.uncertain == ((("a", "of", "b"), 0.6),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "rules.json: not valid JSON (Expecting property name"),
        ("[]", 'rules.json: expected {"rules": [...]} and nothing else'),
        ('{"rules": [], "more": 1}', 'expected {"rules": [...]} and nothing else'),
        ('{"rules": [{"symmetric": "a"}, "b"]}', "rules.json: rule 2: expected an object such as"),
        ('{"rules": [{"symetric": "a"}]}', "rule 1: expected one of symmetric, transitive, inverse, composition, or"),
        ('{"rules": [{"symmetric": "a", "transitive": "a"}]}', "found 'symmetric', 'transitive'"),
        ('{"rules": [{}]}', "found nothing"),
        ('{"rules": [{"inverse": "a"}]}', "rule 1: inverse takes the names of 2 relations, got 'a'"),
        ('{"rules": [{"symmetric": 3}]}', "rule 1: symmetric takes the names of 1 relation, got 3"),
        ('{"rules": [{"symmetric": "a", "confidence": 0}]}', "its confidence is a number above 0 and at most 1, not 0"),
        ('{"rules": [{"symmetric": "a", "confidence": "high"}]}', "at most 1, not 'high'"),
        ('{"rules": [{"symmetric": "a", "confidence": NaN}]}', "at most 1, not nan"),
        ('{"rules": [{"symmetric": "a", "figures": {"confidence": 0.4}}]}', "rule 1: it has figures of mining and no"),
        ('{"rules": [{"symmetric": ""}]}', "rule 1: an atom names a relation, not ''"),
        ('{"rules": [{"name": "", "symmetric": "a"}]}', "rule 1: the name of a rule is text, not ''"),
        ('{"rules": [{"head": "a(x, y)", "body": "b(x, y)"}]}', "the body is a list of atoms, not 'b(x, y)'"),
        ('{"rules": [{"head": "a(x y)", "body": ["b(x, y)"]}]}', "'a(x y)' is no atom: write relation(x, y)"),
        ('{"rules": [{"head": "a(x, 1)", "body": ["b(x, y)"]}]}', "'1' in an atom of 'a' is no variable"),
        ('{"rules": [{"head": "a(x, z)", "body": ["b(x, y)"]}]}', "the variable z of the head is not in the body"),
        ('{"rules": [{"head": "a(x, y)", "body": []}]}', "the body of a rule has one to 3 atoms, not 0"),
        (
            '{"rules": [{"head": "a(x, y)", "body": ["b(x, z)", "b(z, y)", "x != z"]}]}',
            "'x != z': only the variables of the head can be compared, x != y",
        ),
        (
            '{"rules": [{"head": "a(x, x)", "body": ["b(x, x)", "x != x"]}]}',
            "a(x, x) <= b(x, x) & x != x: the rule never holds",
        ),
        (
            '{"rules": [{"head": "a(x, y)", "body": ["b(x, x)", "b(y, y)"]}]}',
            "a(x, y) <= b(x, x) & b(y, y): the atoms of the body have to hang together",
        ),
    ],
)
def test_a_broken_file_is_told_by_its_rule(tmp_path, content, message):
    path = tmp_path / "rules.json"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        read_rules(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: cannot be read .No such file"):
        read_rules(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"rules": ["\xe9"]}')
    with pytest.raises(InputError, match=r"latin\.json: not valid JSON .*utf-8"):
        read_rules(tmp_path / "latin.json")
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory"):
        write_rules(tmp_path, [symmetric("a")])


# ---- entailment


@settings(max_examples=100, deadline=None)
@given(FACTS, RULE_SETS)
@example({("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")}, [transitive("r"), symmetric("r")])
@example({("a", "r", "b")}, [Rule(Atom("r", "x", "x"), (Atom("r", "x", "y"), Atom("r", "x", "y")))])
def test_entailed_is_what_trying_everything_entails(stated, rule_set):
    stated = stated | ANCHOR
    graph = graph_of(stated)
    result = infer(graph, rule_set, "g")
    expected = closure(stated, rule_set) - stated
    assert set(graph.triples(graph="g/inferred")) == expected
    assert (result.stated, result.entailed, result.added, result.removed) == (
        len(stated), len(expected), len(expected), 0,
    )  # fmt: skip
    assert sum(result.by_rule.values()) == len(expected)


@settings(max_examples=60, deadline=None)
@given(FACTS, RULE_SETS)
def test_each_entailed_fact_has_an_explanation(stated, rule_set):
    stated = stated | ANCHOR
    graph = graph_of(stated)
    for fact in sorted(closure(stated, rule_set)):
        check(explain(graph, fact, rule_set, "g"), fact, stated, rule_set)


# ---- confidence

UNCERTAIN = st.lists(
    st.builds(replace, RULE_SETS.flatmap(st.sampled_from), confidence=st.sampled_from([0.2, 0.5, 0.7, 0.9, 1.0])),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(FACTS, UNCERTAIN, st.sampled_from([0.0, 0.35, 0.5]))
@example({("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")}, [replace(transitive("r"), confidence=0.9)], 0.5)
def test_a_fact_has_the_confidence_of_its_best_proof(stated, rule_set, least):
    stated = stated | ANCHOR
    expected = {fact: c for fact, c in best_proofs(stated, rule_set).items() if fact not in stated}
    graph = graph_of(stated)
    result = infer(graph, rule_set, "g", min_confidence=least, provenance=True)
    kept = {fact: c for fact, c in expected.items() if c >= least - 1e-9}
    assert set(graph.triples(graph="g/inferred")) == kept.keys()
    uncertain = {fact: c for fact, c in kept.items() if c < 1}
    assert dict(result.uncertain) == pytest.approx(uncertain)
    assert [c for _, c in result.uncertain] == sorted((c for _, c in result.uncertain), reverse=True)
    one_more = set().union(*(applied(rule, stated | kept.keys()) for rule in rule_set))
    one_more -= stated | kept.keys()
    assert result.below == len(one_more) or (
        result.below < len(one_more) and any("transitive" in r.name for r in rule_set)
    )
    told = graph.query(
        "SELECT ?s ?p ?o ?c { ?n rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o ; gum:confidence ?c }"
    )
    assert len(told) == len(uncertain)
    assert sorted(float(row["c"]) for row in told) == pytest.approx(sorted(uncertain.values()))
    for fact, confidence in expected.items():
        proof = explain(graph, fact, rule_set, "g", min_confidence=0)
        check(proof, fact, stated, rule_set)
        assert proof.steps[-1].confidence == pytest.approx(confidence)
        for step in proof.steps:
            by = [rule.confidence for rule in rule_set if rule.name == step.rule] or [1.0]
            parts = math.prod(proof.steps[premise].confidence for premise in step.premises)
            assert any(step.confidence == pytest.approx(one * parts) for one in by)


def test_uncertain_rules_follow_what_changes():
    """Facts added and removed, another threshold: the graph of entailed facts is that of a first run."""
    rule_set = [replace(composition("up", "up", "up"), confidence=0.8), symmetric("near")]
    graph = graph_of({("a", "up", "b"), ("b", "up", "c"), ("c", "up", "d"), ("a", "near", "b")})
    infer(graph, rule_set, "g", min_confidence=0.7)
    assert set(graph.triples(graph="g/inferred")) == {("a", "up", "c"), ("b", "up", "d"), ("b", "near", "a")}
    assert infer(graph, rule_set, "g", min_confidence=0.6).uncertain[-1] == (("a", "up", "d"), pytest.approx(0.64))
    graph.add([("a", "up", "d"), ("d", "up", "e")], graph="g")
    again = infer(graph, rule_set, "g", min_confidence=0.6)
    assert (again.recomputed, again.removed) == ("there are rules that are not certain", 1)
    assert dict(again.uncertain)["a", "up", "e"] == 0.8  # by the shorter proof


def test_nothing_is_said_of_a_literal():
    graph = graph_of({("fire", "hot", '"900"'), ("fire", "hot", "sun")})
    infer(graph, [symmetric("hot"), Rule(Atom("is", "y", "y"), (Atom("hot", "x", "y"),))], "g")
    assert set(graph.triples(graph="g/inferred")) == {
        ("sun", "hot", "fire"),
        ("sun", "is", "sun"),
        ("fire", "is", "fire"),
    }


# ---- worlds


def test_halma_numbers_are_ordered_across_colours():
    """Inequality is transitive; what holds of a digit holds of the same digit in another colour, an analogy."""
    rule_set = [
        transitive("greaterThan"),
        symmetric("sameDigit"),
        composition("sameDigit", "greaterThan", "greaterThan"),
        composition("greaterThan", "sameDigit", "greaterThan"),
    ]
    stated = {(f"red {n + 1}", "greaterThan", f"red {n}") for n in range(1, 9)}
    stated |= {(f"red {n}", "sameDigit", f"green {n}") for n in range(1, 10)}
    graph = graph_of(stated)
    infer(graph, rule_set, "g")
    numbers = [(colour, n) for colour in ("red", "green") for n in range(1, 10)]
    expected = {
        (f"{c} {m}", "greaterThan", f"{d} {n}") for (c, m), (d, n) in itertools.product(numbers, numbers) if m > n
    }
    assert set(graph.triples(relation="greaterThan")) == expected
    proof = explain(graph, ("green 3", "greaterThan", "green 1"), rule_set, "g")
    check(proof, ("green 3", "greaterThan", "green 1"), stated, rule_set)
    assert str(proof).endswith("]")
    assert "  1. red 3 sameDigit green 3   [stated]" in str(proof).splitlines()


def test_wordcraft_recipes_entail_the_binary_facts():
    graph = KnowledgeGraph()
    graph.add(recipe_facts(partition="all"), graph="recipes")
    made_of = Rule(Atom("componentOf", "x", "y"), (Atom("hasIngredient", "n", "x"), Atom("hasProduct", "n", "y")))
    together = Rule(Atom("combinesWith", "x", "y"), (Atom("hasIngredient", "n", "x"), Atom("hasIngredient", "n", "y")))
    infer(graph, [made_of, together], "recipes")
    stated = {fact for fact in facts(partition="all") if fact[0] != fact[2] or fact[1] == "componentOf"}
    entailed = {
        fact for fact in graph.triples(graph="recipes/inferred") if fact[0] != fact[2] or fact[1] == "componentOf"
    }
    assert entailed == stated
    half = graph_of(
        {fact for fact in facts(partition="all") if fact[1] == "combinesWith" and fact[0] <= fact[2]}, "half"
    )
    infer(half, [symmetric("combinesWith")], "half")
    assert set(half.triples()) == {fact for fact in facts(partition="all") if fact[1] == "combinesWith"}


# ---- size


@pytest.mark.slow
def test_a_path_of_two_thousand():
    names = [f"n{i:04}" for i in range(2000)]
    graph = graph_of({(a, "next", b) for a, b in itertools.pairwise(names)})
    proof = explain(graph, ("n0000", "next", "n1999"), [transitive("next")], "g")
    assert len(proof.steps) == 1999 + 1998


@pytest.mark.parametrize("acyclic", [True, False])
def test_closure_is_that_of_networkx(acyclic):
    draw = random.Random(0)
    pairs = {(draw.randrange(150), draw.randrange(150)) for _ in range(300)}
    if acyclic:
        pairs = {(a, b) for a, b in pairs if a < b}
    graph = graph_of({(str(a), "up", str(b)) for a, b in pairs})
    infer(graph, [transitive("up")], "g")
    closed = networkx.transitive_closure(networkx.DiGraph(pairs), reflexive=False)
    assert {(int(a), int(b)) for a, _, b in graph.triples()} == set(closed.edges)
    # An edge between two closed parts joins all before it with all behind it, and nothing else is looked at again.
    graph.add([("0", "up", "149"), ("149", "up", "1")], graph="g")
    assert infer(graph, [transitive("up")], "g").recomputed is None
    closed = networkx.transitive_closure(networkx.DiGraph([*pairs, (0, 149), (149, 1)]), reflexive=False)
    assert {(int(a), int(b)) for a, _, b in graph.triples()} == set(closed.edges)


def test_joins_are_made_in_pieces(monkeypatch):
    """A join larger than the memory for one piece gives the same."""
    monkeypatch.setattr("gumption.kg.rules.fixpoint.ROWS", 7)
    draw = random.Random(1)
    stated = {(str(draw.randrange(12)), draw.choice("rst"), str(draw.randrange(12))) for _ in range(40)}
    rule_set = [
        composition("r", "s", "t"),
        Rule(Atom("r", "x", "w"), (Atom("t", "x", "y"), Atom("s", "z", "y"), Atom("t", "z", "w"))),
    ]
    graph = graph_of(stated)
    infer(graph, [*rule_set, transitive("t")], "g")
    assert set(graph.triples()) == closure(stated, [*rule_set, transitive("t")])


def test_the_hypernyms_of_wordnet(shared_data):
    """Those of its verbs, against a search from each of some."""
    lines = (shared_data / "wn18rr/train.txt").read_text().splitlines()
    edges = [(s, o) for s, p, o in (line.split("\t") for line in lines) if p == "_hypernym" and ".v." in s]
    graph = graph_of({(s, "_hypernym", o) for s, o in edges})
    infer(graph, [transitive("_hypernym")], "g")
    successors: dict[str, set[str]] = {}
    for s, o in edges:
        successors.setdefault(s, set()).add(o)
    vocabulary, ids = graph.arrays()
    found: dict[int, set[int]] = {}
    for s, _, o in ids.tolist():
        found.setdefault(s, set()).add(o)
    for start in random.Random(0).sample(sorted(successors), 300):
        reached, waiting = set(), [start]
        while waiting:
            new = successors.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        assert {vocabulary.entities[o] for o in found[vocabulary.entity_id(start)]} == reached


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], "g"), "there are no rules to apply"),
        (([symmetric("up")], "h"), r"unknown graph 'h': .*\(there are: g\)"),
        (([symmetric("up")], "g", "g"), "cannot go into their own source 'g'"),
        (([symmetric("upp")], "g"), r"rule 1 \(symmetric\(upp\)\): unknown relation 'upp': did you mean 'up'"),
        (([symmetric("up"), composition("up", "dwn", "down")], "g"), "rule 2 .*unknown relation 'dwn': did you mean"),
        (([symmetric("up")], None, "g"), "the graph 'g' has facts that inference did not write"),
    ],
)
def test_bad_input(arguments, message):
    graph = graph_of({("a", "up", "b")})
    with pytest.raises(InputError, match=message):
        infer(graph, *arguments)
    assert graph.graphs() == {"g": 1}


def test_an_empty_graph():
    with pytest.raises(InputError, match="the graph has no facts to apply rules to"):
        infer(KnowledgeGraph(), [symmetric("up")])


def test_facts_of_others_are_not_overwritten():
    graph = graph_of({("a", "up", "b")})
    graph.add([("b", "up", "a")], graph="mine")
    with pytest.raises(InputError, match="the graph 'mine' has facts that inference did not write"):
        infer(graph, [symmetric("up")], "g", "mine")
    assert graph.graphs() == {"g": 1, "mine": 1}


def test_an_explanation_needs_known_labels():
    graph = graph_of({("fire", "up", "water")})
    with pytest.raises(InputError, match="unknown entity 'watr': did you mean 'water'"):
        explain(graph, ("fire", "up", "watr"), [symmetric("up")], "g")
    with pytest.raises(InputError, match="unknown relation 'upp': did you mean 'up'"):
        explain(graph, ("fire", "upp", "water"), [symmetric("up")], "g")
    with pytest.raises(InputError, match="fire up fire does not follow from g by these rules"):
        explain(graph, ("fire", "up", "fire"), [symmetric("up")], "g")
