"""Facts with literals and with triple terms: what predictors, rules and data sets leave out of a graph, and keep."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import Note
from gumption.kg import ComplEx, DistMult, KnowledgeGraph, Vocabulary, mine_rules
from gumption.kg.facts import LeftOut, between_entities, is_literal, is_triple_term, learnable

FIVE = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
TERM = "<<( <http://e.org/a> <http://e.org/p> <http://e.org/b> )>>"
PLAIN = [("fire", "makes", "steam"), ("ice", "makes", "water"), ("steam", "near", "fire")]
WITH_LITERALS = [*PLAIN, ("fire", "comment", '"is \\"hot\\""@en'), ("ice", "comment", '"cold"'), ("ice", "costs", FIVE)]
NOTE = r"^left out: 3 facts with literals \(--literals keeps them; in Python literals=True\)$"


@pytest.mark.parametrize(
    ("label", "is_one"),
    [
        ('""', True), ('"a b"', True), ('"a \\" b"', True), (FIVE, True), ('"a"@en-GB', True), ('"a"@ar--rtl', True),
        ('"', False), ('"a', False), ('"a" b', False), ('say "a"', False), ('"a"b"', False), ("5", False),
        ('"a"^^integer', False), ('"a\nb"', False),
    ],
)  # fmt: skip
def test_which_labels_are_literals(label, is_one):
    assert is_literal(label) == is_one
    assert not is_triple_term(label)


LABELS = st.sampled_from(["a", "b", '"a"', '"b"', FIVE, TERM])


@settings(max_examples=200, deadline=None)
@given(st.sets(st.tuples(LABELS, st.sampled_from("pqr"), LABELS)), st.booleans())
def test_what_is_left_out_is_counted_and_the_rest_kept(facts, literals):
    vocabulary = Vocabulary.from_triples([*facts, ("alone", "r of nothing", "alone")])
    ids = vocabulary.triples_to_ids(sorted(facts))
    kept, rows, left_out = between_entities(vocabulary, ids, literals)
    of_literals = [] if literals else [fact for fact in facts if fact[2].startswith('"')]
    of_terms = [fact for fact in facts if fact[2].startswith("<<(")]
    expected = sorted(facts - {*of_literals, *of_terms})
    assert left_out == LeftOut(len(of_literals), len(of_terms))
    assert kept.ids_to_triples(rows) == expected
    wanted = Vocabulary.from_triples([*expected, ("alone", "r of nothing", "alone")])
    gone = {label for fact in facts for label in (fact[0], fact[2])} - set(wanted.entities)
    assert set(kept.entities) == set(vocabulary.entities) - gone
    assert set(kept.relations) == set(wanted.relations)
    assert kept.entities == tuple(sorted(kept.entities))
    if not of_literals and not of_terms:
        assert kept is vocabulary
        assert rows is ids


def test_a_graph_without_literals_is_learned_as_it_is_and_without_a_note():
    graph = KnowledgeGraph()
    graph.add(PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vocabulary, ids = learnable(*graph.arrays())
    assert vocabulary == graph.arrays()[0]
    assert np.array_equal(ids, graph.arrays()[1])


@pytest.mark.parametrize("kind", [ComplEx, DistMult])
def test_a_predictor_of_a_graph_learns_no_literals_unless_they_are_kept(kind):
    graph = KnowledgeGraph()
    graph.add(WITH_LITERALS)
    short = {"rank": 2, "epochs": 1, "device": "cpu"}
    with pytest.warns(Note, match=NOTE):
        model = kind.fit(graph, **short)
    assert model.vocabulary == Vocabulary.from_triples(PLAIN)
    with pytest.warns(Note, match=NOTE):
        wide = kind.fit(graph, vocabulary=Vocabulary.from_triples(WITH_LITERALS), **short)
    assert len(wide.vocabulary.entities) == 7
    assert len(wide.trained_on) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        assert '"cold"' in kind.fit(graph, literals=True, **short).vocabulary.entities
        assert '"cold"' in kind.fit(WITH_LITERALS, **short).vocabulary.entities  # triples are what they are


def test_rules_of_a_graph_are_not_about_literals_unless_they_are_kept():
    graph = KnowledgeGraph()
    graph.add([(f"cup {n}", "costs", FIVE) for n in range(12)])
    graph.add([(f"cup {n}", "worth", FIVE) for n in range(12)])
    graph.add([(f"cup {n}", "near", f"plate {n}") for n in range(12)])
    with pytest.warns(Note, match=r"^left out: 24 facts with literals"):
        assert mine_rules(graph) == []
    assert {each.rule.head.relation for each in mine_rules(graph, literals=True)} == {"costs", "worth"}
