"""A graph of any relations as features of entities, and as links between them."""

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, Vocabulary
from gumption.kg.sources.outside import OTHERS, beside_rows, entity_features, entity_links

FACTS = [
    (animal, relation, other)
    for kind, animals in {"bird": ("crow", "duck", "hen", "owl"), "fish": ("carp", "eel", "pike", "tuna")}.items()
    for animal in animals
    for relation, other in (("isA", kind), ("foundAt", {"bird": "air", "fish": "sea"}[kind]))
]
THINGS = ("carp", "crow", "duck", "eel", "hen", "owl", "pike", "rock", "tuna", "bird")


def graph_of(facts: list[tuple[str, str, str]]) -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(facts)
    return graph


def likeness(features: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.maximum(length, 1e-9)) @ (features / np.maximum(length, 1e-9)).T


def test_entities_with_like_neighbours_are_alike() -> None:
    features = entity_features(graph_of(FACTS), THINGS, columns=3)
    assert features.shape == (len(THINGS), 4)
    alike = likeness(features[:, :-1])
    place = THINGS.index
    assert alike[place("crow"), place("owl")] > 0.99
    assert abs(alike[place("crow"), place("eel")]) < 0.01


def test_what_the_graph_does_not_know_is_zeros_and_marked() -> None:
    features = entity_features(graph_of(FACTS), THINGS, columns=3)
    unknown = features[THINGS.index("rock")]
    assert unknown.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert [thing for thing, unknown in zip(THINGS, features[:, -1], strict=True) if unknown] == ["rock", "bird"]
    # Few facts fill few columns, and none fill none.
    wide = entity_features(graph_of(FACTS), THINGS, columns=30)
    assert wide.shape == (len(THINGS), 31)
    assert np.isfinite(wide).all()
    assert not entity_features(graph_of([("far", "isA", "away")]), THINGS)[:, :-1].any()


def test_other_names_give_the_same_features() -> None:
    other = {label: f"x{number}" for number, label in enumerate(sorted({p for f in FACTS for p in f} | set(THINGS)))}
    shuffled = dict(zip(other, np.random.default_rng(0).permutation(list(other.values())).tolist(), strict=True))
    renamed = [(shuffled[s], shuffled[r], shuffled[o]) for s, r, o in FACTS]
    one = entity_features(graph_of(FACTS), THINGS, columns=3)
    again = entity_features(graph_of(renamed), [shuffled[thing] for thing in THINGS], columns=3)
    assert np.allclose(one @ one.T, again @ again.T, atol=1e-5)
    assert np.array_equal(one, entity_features(graph_of(FACTS[::-1]), THINGS, columns=3))


def test_links_have_a_matrix_for_each_relation_and_direction() -> None:
    links = entity_links(graph_of([*FACTS, ("crow", "isA", "crow")]), THINGS)
    assert list(links) == ["isA", "^isA"]  # nothing else is between two of the things
    bird, crow = THINGS.index("bird"), THINGS.index("crow")
    assert links["isA"][crow, bird] == links["^isA"][bird, crow] == 1
    assert links["isA"].nnz == 4
    rare = graph_of(
        [("crow", f"r{number}", "owl") for number in range(5)] + [("crow", "isA", "hen"), ("owl", "isA", "hen")]
    )
    told = entity_links(rare, THINGS, most=2)
    assert list(told) == ["isA", "^isA", "r0", "^r0", OTHERS, f"^{OTHERS}"]
    assert entity_links(graph_of([("far", "isA", "away")]), THINGS) == {}


def test_facts_beside_others_share_their_vocabulary() -> None:
    mine = Vocabulary(THINGS, ("party",))
    vocabulary, ids = beside_rows(graph_of(FACTS), None, mine, np.array([[0, 0, 1]]))
    assert vocabulary.entities[: len(THINGS)] == tuple(THINGS)
    assert set(vocabulary.ids_to_triples(ids)) == {*FACTS, ("carp", "party", "crow")}


def test_a_label_twice_is_told() -> None:
    with pytest.raises(InputError, match="the entities have a label twice"):
        entity_features(graph_of(FACTS), ("crow", "crow"))
