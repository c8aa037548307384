"""What of a test a graph or a predictor knows, whatever the form."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.kg import ComplEx, DistMult, KnowledgeGraph, NaryPredictor, NaryRelation, Vocabulary, load_predictor
from gumption.kg.leaks import alike, asked_facts, count_leaks, count_marked, following
from gumption.kg.links.nary_predictor import NarySettings
from tests.processor import cost

OPENS = NaryRelation(
    "opens", "needs", "needs", "gives", entails=(("subject", "fits", "given"), ("given", "partOf", "object"))
)
LABELS = ("air", "ice", "key", "lock", "sea", "door")
recipes = st.sets(st.tuples(*[st.sampled_from(LABELS)] * 3).map(lambda one: (*sorted(one[:2]), one[2])), max_size=6)


def nodes(recipes: Any) -> list[tuple[str, str, str]]:
    """The triples of a node for each recipe."""
    return [
        (f"{a}+{b}={made}", role, party)
        for a, b, made in recipes
        for role, party in (("needs", a), ("needs", b), ("gives", made))
    ]


def entailed(recipes: Any) -> set[tuple[str, str, str]]:
    found = set()
    for a, b, made in recipes:
        for one, other in permutations((a, b)):
            found |= {(one, "fits", other), (other, "partOf", made)}
    return found


def graph_of(triples: Any) -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(triples, graph="mine")
    return graph


@given(recipes, recipes, recipes)
def test_nodes_entail_facts_of_two_parties(test: Any, train: Any, stated: Any) -> None:
    asked = asked_facts(nodes(test), nodes(train), (OPENS,))
    three = {("opens", *one) for one in test - train}
    two = entailed(test) - entailed(train)
    assert asked == three | two
    known = {("opens", *one) for one in stated} | entailed(stated)
    assert count_leaks(graph_of(nodes(stated)), None, asked, (OPENS,)) == (len(asked & known), len(asked))
    # As facts of two parties alone the graph does not say which recipe they are of.
    as_pairs = count_leaks(graph_of(sorted(entailed(stated))), None, asked, (OPENS,))
    assert as_pairs == (len(two & entailed(stated)), len(asked))


@pytest.mark.parametrize("kind", [ComplEx, DistMult])
def test_a_predictor_keeps_marks_of_its_facts(kind: Any, tmp_path: Any) -> None:
    facts = [("key", "fits", "lock"), ("lock", "partOf", "door"), ("ice", "fits", "sea")]
    kind.fit(facts, rank=2, epochs=1, device="cpu", vocabulary=Vocabulary(LABELS, ("fits", "partOf"))).save(
        tmp_path / "m"
    )
    model = load_predictor(tmp_path / "m", "cpu")
    asked = asked_facts([*facts[:2], ("lock", "fits", "key"), ("door", "partOf", "lock"), ("nobody", "fits", "key")])
    assert count_marked(model.trained_on, asked) == (2, 5), "the other direction is another fact"
    assert count_marked(model.trained_on, asked_facts([])) == (0, 0)


def test_a_predictor_of_three_parties_keeps_marks_of_its_facts(tmp_path: Any) -> None:
    rows = np.array([[0, 1, 4], [2, 3, 5]])  # air + ice gives sea, key + lock gives door
    vocabulary = Vocabulary(LABELS, ("opens: pair", "opens: part"))
    settings = NarySettings(width=4, hidden=4, epochs=1)
    model = NaryPredictor.fit(rows, np.eye(6), vocabulary, members=1, settings=settings, device="cpu")
    model.save(tmp_path / "m")
    asked = asked_facts(nodes([("key", "lock", "door"), ("air", "key", "sea")]), (), (OPENS,))
    recipes = [fact for fact in asked if len(fact) == 4]
    assert count_marked(load_predictor(tmp_path / "m", "cpu").trained_on, asked) == (1, len(asked))
    assert count_marked(model.to("cpu").trained_on, recipes) == (1, 2)
    folds = NaryPredictor.fit_folds(rows, np.eye(6), vocabulary, np.array([0, 1]), settings=settings, device="cpu")
    assert [count_marked(fold.trained_on, recipes) for fold in folds] == [(1, 2), (0, 2)], "each but its own fold"


def test_a_predictor_without_marks_is_not_known(tmp_path: Any) -> None:
    model = ComplEx.fit([("key", "fits", "lock")], rank=2, epochs=1, device="cpu")
    model.trained_on = None
    model.save(tmp_path / "m")
    loaded = load_predictor(tmp_path / "m", "cpu")
    assert count_marked(loaded.trained_on, asked_facts([("key", "fits", "lock")])) is None


# ---- what a graph says of a fact, and what stands for it


ENT, GUM, RDF = "urn:gumption:entity:", "urn:gumption:relation:", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def test_a_statement_about_a_fact_states_it() -> None:
    asked = {("fire", "componentOf", "steam"), ("ice", "componentOf", "slush")}
    graph = KnowledgeGraph()
    graph.add([("node", f"{RDF}subject", "fire"), ("node", f"{RDF}object", "steam"), ("other", f"{RDF}subject", "ice")])
    assert count_leaks(graph, None, asked).stated == 0
    graph.add([("node", f"{RDF}predicate", f"{GUM}componentOf")])
    assert count_leaks(graph, None, asked) == (1, 2)


def test_a_triple_term_states_a_fact(tmp_path: Any) -> None:
    import pyoxigraph as ox

    term = f"<<( <{ENT}fire> <{GUM}componentOf> <{ENT}acid%20rain> )>>"
    store = ox.Store(tmp_path / "kg")
    store.load(f"<urn:x> <{RDF}reifies> {term} <urn:gumption:graph:a> .\n".encode(), ox.RdfFormat.N_QUADS)
    store.flush()
    del store
    asked = {("fire", "componentOf", "acid rain")}
    with KnowledgeGraph(tmp_path / "kg", read_only=True) as graph:
        assert list(graph.triples()) == [("urn:x", f"{RDF}reifies", term)]
        assert term in graph.arrays()[0].entities
        assert count_leaks(graph, None, asked) == (1, 1)
        graph.save(tmp_path / "kg.nq")
    assert count_leaks(KnowledgeGraph.load(tmp_path / "kg.nq"), None, asked) == (1, 1)
    graph = KnowledgeGraph()
    graph.add([("a", "says", "<<( no triple )>>")])
    assert count_leaks(graph, None, asked) == (0, 1)


def test_what_is_the_same_as_the_same_counts() -> None:
    same = "http://www.w3.org/2002/07/owl#sameAs"
    graph = KnowledgeGraph()
    graph.add([("http://x.org/1", "componentOf", "steam")], graph="facts")
    graph.add([("http://y.org/2", same, "http://x.org/1"), ("http://y.org/2", same, "http://z.org/3")], graph="links")
    graph.add([("http://z.org/3", "http://www.w3.org/2000/01/rdf-schema#label", '"fire"@en')], graph="labels")
    assert count_leaks(graph, "facts", {("fire", "componentOf", "steam")}) == (1, 1)


@pytest.mark.parametrize("role", ["subject", "given", "object"])
def test_nodes_keep_their_parties_under_other_names_and_are_not_one_for_sharing_a_name(role: str) -> None:
    same, label = "http://www.w3.org/2002/07/owl#sameAs", "http://www.w3.org/2000/01/rdf-schema#label"
    recipe = {"subject": "air", "given": "ice", "object": "sea"}
    made = (recipe["subject"], recipe["given"], recipe["object"])
    other = {**recipe, role: "http://x.org/1"}
    asked = asked_facts(nodes([made, ("air", "key", "door")]), (), (OPENS,))
    graph = graph_of(nodes([(other["subject"], other["given"], other["object"]), ("key", "key", "door")]))
    graph.add([("http://x.org/1", same, recipe[role])], graph="links")
    graph.add([("key+key=door", label, '"a recipe"'), (f"{other['subject']}+{other['given']}={other['object']}", label,
                                                      '"a recipe"')], graph="links")  # fmt: skip
    own = {("opens", *made)} | entailed([made]) | {("key", "partOf", "door")}
    assert count_leaks(graph, "mine", asked, (OPENS,)) == (len(own), len(asked))


@pytest.mark.slow
def test_many_names_of_one_thing_are_counted_in_time_that_grows_with_their_number() -> None:
    same, many = "http://www.w3.org/2002/07/owl#sameAs", 20_000
    graph = KnowledgeGraph()
    graph.add((f"x{n}", same, f"x{n + 1}") for n in range(many))
    graph.add((f"x{n}", "near", f"x{many - n}") for n in range(many))
    graph.add((f"x{n}", "http://www.w3.org/2000/01/rdf-schema#label", '"it"') for n in range(many))
    asked = {(f"x{n}", "near", f"x{n + 7}") for n in range(1_000)} | {("it", "near", "it"), ("it", "near", "her")}
    counts = []
    assert cost(lambda: counts.append(count_leaks(graph, None, asked))) < 300, "pairs of names would take hours"
    assert counts == [(1_001, 1_002)]


# ---- leaks within a data set


def test_relations_that_are_alike() -> None:
    facts = [("parent", x, x + 20) for x in range(10)] + [("child", x + 20, x) for x in range(9)] + [("child", 50, 51)]
    facts += [("near", x, y) for x in range(0, 6, 2) for y in (x + 1,)] + [("near", x + 1, x) for x in range(0, 6, 2)]
    facts += [("beside", x, x + 20) for x in range(10)] + [("loop", x, x) for x in range(10)]
    facts += [("few", x, x + 20) for x in range(4)]
    vocabulary = Vocabulary([str(x) for x in range(60)], sorted({fact[0] for fact in facts}))
    ids = np.array([(x, vocabulary.relations.index(r), y) for r, x, y in facts])
    told = [tuple(one.told(vocabulary).values()) for one in alike(ids)]
    assert sorted((relation, kind, other, share) for relation, other, kind, share in told) == [
        ("beside", "duplicate", "parent", 1.0), ("beside", "inverse", "child", 0.9),
        ("child", "inverse", "beside", 0.9),
        ("child", "inverse", "parent", 0.9), ("near", "symmetric", "near", 1.0), ("parent", "duplicate", "beside", 1.0),
        ("parent", "inverse", "child", 0.9),
    ]  # fmt: skip
    train, test = ids[:10], np.concatenate([ids[10:20], ids[20:22], ids[26:28]])
    # The child facts but the last, whose pair no parent fact has, and the two of "beside"; no "near" is in training.
    assert following(alike(ids), train, test).tolist() == [*[True] * 9, False, False, False, True, True]
    assert following(alike(ids), train[:0], test).sum() == 0
    assert alike(ids[:0]) == []
