"""Rules as data, what they entail, why, and what changes when the graph does."""

import itertools
import json
import random
from collections.abc import Sequence

import networkx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.wordcraft import facts, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.inference import infer
from gumption.kg.proof import Explanation, explain
from gumption.kg.rules import (
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
from gumption.scripts import cli

Triples = set[tuple[str, str, str]]

VARIABLES = st.sampled_from(["x", "y", "z", "w"])
RELATIONS = st.sampled_from(["r", "s", "t"])


@st.composite
def rules(draw: st.DrawFn, relations: st.SearchStrategy[str] = RELATIONS) -> Rule:
    """Any rule: chains, forks, triangles, loops and repeated atoms."""
    size = draw(st.integers(1, 3))
    body: list[Atom] = []
    bound: list[str] = []
    for _ in range(size):
        pair = [draw(st.sampled_from(bound)) if bound else draw(VARIABLES), draw(VARIABLES)]
        if draw(st.booleans()):
            pair.reverse()
        body.append(Atom(draw(relations), *pair))
        bound = sorted({*bound, *pair})
    head = Atom(draw(relations), draw(st.sampled_from(bound)), draw(st.sampled_from(bound)))
    return Rule(head, tuple(body), draw(st.sampled_from(["", "", "named"])))


SHORT = st.one_of(
    st.builds(lambda r: [symmetric(r)], RELATIONS),
    st.builds(lambda r: [transitive(r)], RELATIONS),
    st.builds(lambda r, s: list(inverse(r, s)), RELATIONS, RELATIONS),
    st.builds(lambda r, s, t: [composition(r, s, t)], RELATIONS, RELATIONS, RELATIONS),
)
RULE_SETS = st.lists(st.one_of(SHORT, st.lists(rules(), min_size=1, max_size=1)), min_size=1, max_size=4).map(
    lambda parts: list(itertools.chain(*parts))
)
ENTITIES = st.sampled_from("abcdef")
FACTS = st.sets(st.tuples(ENTITIES, RELATIONS, ENTITIES), max_size=12)
ANCHOR = {("a", "r", "a"), ("a", "s", "a"), ("a", "t", "a")}  # so that each relation is known to the graph


def applied(rule: Rule, known: Triples) -> Triples:
    """What one application entails, by trying every combination of facts."""
    found = set()
    for premises in itertools.product(*([t for t in known if t[1] == atom.relation] for atom in rule.body)):
        binding: dict[str, str] = {}
        pairs = [
            pair
            for atom, (s, _, o) in zip(rule.body, premises, strict=True)
            for pair in ((atom.subject, s), (atom.object, o))
        ]
        if all(binding.setdefault(variable, value) == value for variable, value in pairs):
            found.add((binding[rule.head.subject], rule.head.relation, binding[rule.head.object]))
    return found


def closure(stated: Triples, rule_set: Sequence[Rule]) -> Triples:
    known = set(stated)
    while new := set().union(*(applied(rule, known) for rule in rule_set)) - known:
        known |= new
    return known


def graph_of(stated: Triples, name: str = "g") -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(stated, graph=name)
    return graph


def check(explanation: Explanation, fact: tuple[str, str, str], stated: Triples, rule_set: Sequence[Rule]) -> None:
    """Each step is stated, or an application of its rule to earlier steps."""
    steps = explanation.steps
    assert steps[-1].fact == fact
    assert len({step.fact for step in steps}) == len(steps)
    for number, step in enumerate(steps):
        if step.rule is None:
            assert step.fact in stated
        else:
            assert all(premise < number for premise in step.premises)
            premises = {steps[premise].fact for premise in step.premises}
            assert any(step.fact in applied(rule, premises) for rule in rule_set if rule.name == step.rule)


# ---- rules


def test_a_rule_reads_as_text():
    rule = composition("hypernym", "partOf", "partOf")
    assert str(rule) == "partOf(x, z) <= hypernym(x, y) & partOf(y, z)"
    assert rule.name == "composition(hypernym, partOf, partOf)"
    assert Rule(rule.head, rule.body).name == str(rule)
    assert [str(each) for each in inverse("up", "down")] == ["down(y, x) <= up(x, y)", "up(y, x) <= down(x, y)"]
    assert str(transitive("up")) == "up(x, z) <= up(x, y) & up(y, z)"


ODD = st.one_of(RELATIONS, st.text(min_size=1), st.sampled_from([" r", "r ", "f(x, y)", "a & b", "r(", "\t"]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(SHORT, st.lists(rules(ODD), min_size=1, max_size=1)), max_size=4))
def test_any_rules_survive_a_file(tmp_path_factory, parts):
    rule_set = tuple(itertools.chain(*parts))
    path = tmp_path_factory.getbasetemp() / "rules.json"
    write_rules(path, rule_set)
    assert read_rules(path) == rule_set


def test_the_file_form_is_short_where_it_can_be():
    rule_set = [symmetric("a"), transitive("b"), *inverse("c", "d"), composition("a", "b", "c")]
    rule_set.append(Rule(Atom("e", "x", "y"), (Atom("a", "x", "z"), Atom("a", "y", "z")), "siblings"))
    assert rules_to_json(rule_set) == {
        "rules": [
            {"symmetric": "a"},
            {"transitive": "b"},
            {"inverse": ["c", "d"]},
            {"composition": ["a", "b", "c"]},
            {"name": "siblings", "head": "e(x, y)", "body": ["a(x, z)", "a(y, z)"]},
        ]
    }


def test_a_file_may_speak_to_people():
    entry = {"name": "both ways", "symmetric": "near", "comment": "distance", "figures": {"support": 3}}
    (rule,) = rules_from_json({"rules": [entry]})
    assert rule == Rule(Atom("near", "y", "x"), (Atom("near", "x", "y"),), "both ways")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "rules.json:1: not JSON: Expecting property name"),
        ("[]", 'rules.json: expected {"rules": [...]} and nothing else'),
        ('{"rules": [], "more": 1}', 'expected {"rules": [...]} and nothing else'),
        ('{"rules": [{"symmetric": "a"}, "b"]}', "rules.json: rule 2: expected an object such as"),
        ('{"rules": [{"symetric": "a"}]}', "rule 1: expected one of symmetric, transitive, inverse, composition, or"),
        ('{"rules": [{"symmetric": "a", "transitive": "a"}]}', "found 'symmetric', 'transitive'"),
        ('{"rules": [{}]}', "found nothing"),
        ('{"rules": [{"inverse": "a"}]}', "rule 1: inverse takes the names of 2 relations, got 'a'"),
        ('{"rules": [{"symmetric": 3}]}', "rule 1: symmetric takes the names of 1 relation, got 3"),
        ('{"rules": [{"symmetric": ""}]}', "rule 1: an atom names a relation, not ''"),
        ('{"rules": [{"name": "", "symmetric": "a"}]}', "rule 1: the name of a rule is text, not ''"),
        ('{"rules": [{"head": "a(x, y)", "body": "b(x, y)"}]}', "the body is a list of atoms, not 'b(x, y)'"),
        ('{"rules": [{"head": "a(x y)", "body": ["b(x, y)"]}]}', "'a(x y)' is no atom: write relation(x, y)"),
        ('{"rules": [{"head": "a(x, 1)", "body": ["b(x, y)"]}]}', "'1' in an atom of 'a' is no variable"),
        ('{"rules": [{"head": "a(x, z)", "body": ["b(x, y)"]}]}', "the variable z of the head is not in the body"),
        ('{"rules": [{"head": "a(x, y)", "body": []}]}', "the body of a rule has one to 3 atoms, not 0"),
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
    with pytest.raises(InputError, match=r"cannot read .*none\.json: No such file"):
        read_rules(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"rules": ["\xe9"]}')
    with pytest.raises(InputError, match=r"latin\.json: the text is not UTF-8"):
        read_rules(tmp_path / "latin.json")
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory"):
        write_rules(tmp_path, [symmetric("a")])


# ---- entailment


@settings(max_examples=250, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(FACTS, RULE_SETS)
def test_sparql_constructs_entail_the_same(stated, rule_set):
    stated = stated | ANCHOR
    graph = graph_of(stated)
    infer(graph, rule_set, "g")
    other = graph_of(stated)
    while sum(other.add(other.query(rule.construct()), graph="found") for rule in rule_set):
        pass
    assert set(graph.triples()) == set(other.triples())
    assert set(other.query(rule_set[0].construct("g"))) == applied(rule_set[0], stated)


@settings(max_examples=60, deadline=None)
@given(FACTS, RULE_SETS)
def test_each_entailed_fact_has_an_explanation(stated, rule_set):
    stated = stated | ANCHOR
    graph = graph_of(stated)
    for fact in sorted(closure(stated, rule_set)):
        check(explain(graph, fact, rule_set, "g"), fact, stated, rule_set)


FEW = st.sampled_from("abcd")  # so that a change often states what was entailed, or takes it away
CHANGE = st.sets(st.tuples(FEW, RELATIONS, FEW), min_size=1, max_size=4)
CHANGES = st.lists(st.tuples(st.booleans(), CHANGE), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
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
    graph.add(recipe_facts(split="all"), graph="recipes")
    made_of = Rule(Atom("componentOf", "x", "y"), (Atom("hasIngredient", "n", "x"), Atom("hasProduct", "n", "y")))
    together = Rule(Atom("combinesWith", "x", "y"), (Atom("hasIngredient", "n", "x"), Atom("hasIngredient", "n", "y")))
    infer(graph, [made_of, together], "recipes")
    stated = {fact for fact in facts(split="all") if fact[0] != fact[2] or fact[1] == "componentOf"}
    entailed = {
        fact for fact in graph.triples(graph="recipes/inferred") if fact[0] != fact[2] or fact[1] == "componentOf"
    }
    assert entailed == stated
    half = graph_of({fact for fact in facts(split="all") if fact[1] == "combinesWith" and fact[0] <= fact[2]}, "half")
    infer(half, [symmetric("combinesWith")], "half")
    assert set(half.triples()) == {fact for fact in facts(split="all") if fact[1] == "combinesWith"}


# ---- size


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
    monkeypatch.setattr("gumption.kg.joins.ROWS", 7)
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
