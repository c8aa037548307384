"""Reasons: the nearest known facts by the model's own likeness, and paths through the graph."""

import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, KnowledgeGraph, Vocabulary, why
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.links.pykeen_models import PyKEENPredictor, export_pykeen, load_pykeen
from gumption.kg.vocabulary import Triple

ANIMALS = ["ant", "bee", "cat", "dog"]
FOODS = ["fig", "ham", "jam", "nut"]


class Groups(LinkPredictor):
    """Entities are points on a line; what is near in both places is likely."""

    def __init__(self, places: dict[str, float], relations: list[str]) -> None:
        self.vocabulary = Vocabulary(list(places), relations)
        self.device = torch.device("cpu")
        self.place = torch.tensor(list(places.values()))

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return -(self.place[subjects, None] - self.place).square()

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.object_scores(objects, relations)


def test_the_nearest_facts_come_first() -> None:
    places = {"a": 0.0, "a'": 0.1, "a far": 5.0, "b": 1.0, "b'": 1.1, "b far": -4.0}
    model = Groups(places, ["likes", "hates"])
    facts = [("a'", "likes", "b"), ("a", "likes", "b'"), ("a far", "likes", "b far"), ("a'", "hates", "b'")]
    found = why(model, facts, ("a", "likes", "b"), k=3)
    assert {fact for fact, _ in found.nearest[:2]} == {("a'", "likes", "b"), ("a", "likes", "b'")}
    nearness = [near for _, near in found.nearest]
    assert nearness == sorted(nearness, reverse=True)
    assert nearness[1] > 0.9
    assert all(near < 0.5 for near in nearness[2:])
    assert all(fact[1] == "likes" for fact, _ in found.nearest)
    assert len(why(model, facts, ("a", "likes", "b"), k=1).nearest) == 1


def test_the_same_ends_are_a_nearness_of_one_and_the_fact_itself_is_no_reason() -> None:
    facts = [(animal, "eats", food) for animal in ANIMALS for food in FOODS]
    model = ComplEx.fit(facts, rank=8, epochs=20, device="cpu")
    found = why(model, facts, ("ant", "eats", "fig"), k=100)
    assert ("ant", "eats", "fig") not in [fact for fact, _ in found.nearest]
    assert all(0 < near <= 1 + 1e-6 for _, near in found.nearest)


def trained() -> tuple[ComplEx, list[Triple]]:
    """Two kinds of eaters with foods of their own, one fact left out."""
    facts = [(animal, "eats", food) for animal in ANIMALS[:2] for food in FOODS[:2]]
    facts += [(animal, "eats", food) for animal in ANIMALS[2:] for food in FOODS[2:]]
    facts.remove(("ant", "eats", "fig"))
    return ComplEx.fit(facts, rank=8, epochs=60, n3=1e-3, learning_rate=0.2, seed=1, device="cpu"), facts


def test_a_trained_model_names_its_own_kind(tmp_path) -> None:
    model, facts = trained()
    expected = {("ant", "eats", "ham"), ("bee", "eats", "fig"), ("bee", "eats", "ham")}
    found = why(model, facts, ("ant", "eats", "fig"), k=3)
    assert {fact for fact, _ in found.nearest} <= expected
    assert found.nearest
    graph = KnowledgeGraph()
    graph.add(facts, graph="meals")
    pairs = (model.vocabulary, model.vocabulary.triples_to_ids(facts))
    for given in (graph, pairs, iter(facts)):
        assert why(model, given, ("ant", "eats", "fig"), k=3) == found
    # Any predictor can be asked: PyKEEN's model with the same scores gives the same reasons.
    export_pykeen(model, tmp_path / "pykeen", facts)
    theirs = load_pykeen(tmp_path / "pykeen", device="cpu")
    assert isinstance(theirs, PyKEENPredictor)
    again = why(theirs, facts, ("ant", "eats", "fig"), k=3)
    assert [fact for fact, _ in again.nearest] == [fact for fact, _ in found.nearest]
    assert [near for _, near in again.nearest] == pytest.approx([near for _, near in found.nearest], abs=1e-4)


def test_paths_in_either_direction_the_least_common_middle_first() -> None:
    model = Groups({name: float(place) for place, name in enumerate("spotxyz")}, ["r", "q"])
    facts = [
        ("t", "q", "s"),  # direct, backwards
        ("s", "r", "x"), ("t", "r", "x"), ("z", "r", "x"), ("y", "q", "x"),  # x is common
        ("p", "q", "s"), ("p", "r", "t"),  # p is not
        ("s", "r", "o"), ("o", "r", "z"),  # leads elsewhere
        ("s", "r", "s"),
    ]  # fmt: skip
    found = why(model, facts, ("s", "r", "t"))
    assert found.paths == [
        (("t", "q", "s"),),
        (("p", "q", "s"), ("p", "r", "t")),
        (("s", "r", "x"), ("t", "r", "x")),
    ]
    assert why(model, facts, ("s", "r", "t"), k=1).paths == found.paths[:1]
    assert why(model, facts, ("s", "r", "s")).paths == []
    assert why(model, facts, ("y", "r", "p")).paths == []


def test_nothing_of_the_relation_is_known() -> None:
    model = Groups({"a": 0.0, "b": 1.0, "c": 2.0}, ["r", "q"])
    found = why(model, [("a", "q", "c"), ("c", "q", "b"), ("dragon", "q", "b")], ("a", "r", "b"))
    assert found.nearest == []
    assert found.paths == [(("a", "q", "c"), ("c", "q", "b"))]


def test_bad_input() -> None:
    model = Groups({"fire": 0.0, "water": 1.0}, ["r"])
    with pytest.raises(InputError, match="unknown entity 'fir': did you mean 'fire'"):
        why(model, [("fire", "r", "water")], ("fir", "r", "water"))
    with pytest.raises(InputError, match="there are no known facts that the predictor has labels of"):
        why(model, [("dragon", "r", "water")], ("fire", "r", "water"))
    with pytest.raises(InputError, match="k is 0; it is a whole number, at least 1"):
        why(model, [("fire", "r", "water")], ("fire", "r", "water"), k=0)
