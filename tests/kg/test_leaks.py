"""What of a test a graph or a predictor knows, whatever the form."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.kg import ComplEx, DistMult, KnowledgeGraph, NaryPredictor, NaryRelation, Vocabulary, load_predictor
from gumption.kg.leaks import asked_facts, count_leaks, count_marked
from gumption.kg.links.nary_predictor import NarySettings

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
