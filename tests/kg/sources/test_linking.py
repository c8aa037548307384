"""Links from words to the entities of another graph."""

import math

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook
from gumption.kg import KnowledgeGraph, WordVectors
from gumption.kg.sources import linking
from gumption.kg.sources.external import conceptnet_entities
from gumption.kg.sources.linking import Link, add_links, coverage, link, remove_links
from gumption.kg.sources.weights import fact_weights


def vectors(**words: list[float]) -> WordVectors:
    keyed = KeyedVectors(2)
    keyed.add_vectors(list(words), np.array(list(words.values()), dtype=np.float32))
    return WordVectors(keyed, "test")


def partner(label: str, *targets: str, **options) -> tuple[str | None, str]:
    (found,) = link([label], targets, **options)
    return found.target, found.method


def test_exact_is_apart_from_case_underscores_hyphens_and_spaces():
    assert partner("fire", "fire", "Fire") == ("fire", "exact")
    assert partner("Ice Cream", "ice_cream") == ("ice_cream", "exact")
    assert partner("x-ray", "X Ray") == ("X Ray", "exact")
    assert partner("straße", "STRASSE") == ("STRASSE", "exact")
    assert partner("fire", "firefly") == (None, "none")


def test_the_own_spelling_wins_then_the_first():
    assert partner("ice_cream", "ICE CREAM", "ice cream", "ice_cream") == ("ice_cream", "exact")
    assert partner("Ice-Cream", "ice_cream", "ice cream") == ("ice cream", "exact")


@pytest.mark.parametrize(
    ("label", "target"),
    [("wolves", "wolf"), ("wolf", "wolves"), ("mice", "mouse"), ("melted ice", "melting ice"), ("feet", "foot"),
     ("milk shake", "milkshake"), ("firetruck", "fire truck"), ("polar bear", "Polar Bears")],
)  # fmt: skip
def test_lemma(label, target):
    assert partner(label, target, "zebra") == (target, "lemma")
    assert partner(label, target, methods=["exact"]) == (None, "none")


def test_the_dictionary_form_comes_before_an_inflected_target():
    assert partner("spiders", "spider's web", "spidering", "spider") == ("spider", "lemma")


@pytest.mark.parametrize(
    ("label", "targets", "head"),
    [("trainyard", ["train", "yard"], "yard"),
     ("trainyards", ["train", "yard"], "yard"),
     ("strawberry ice cream", ["cream", "ice cream", "strawberry"], "ice cream"),
     ("house of cards", ["card", "house"], "house"),
     ("old houses of cards", ["house"], "house"),
     ("wind-mill", ["mill"], "mill"),
     ("bat (animal)", ["animal", "bat"], "bat"),
     ("trainyard", ["yard"], None),
     ("house of cards", ["card"], None)],
)  # fmt: skip
def test_compounds_link_to_their_head(label, targets, head):
    assert partner(label, *targets) == (head, "compound" if head else "none")


def test_the_scores():
    known = vectors(fire=[1, 0], flame=[3, 4], water=[0, 1])
    links = link(["fire", "wolves", "trainyard", "fire of hell", "xyz"], ["fire", "wolf", "train", "yard"])
    assert {each.label: each.score for each in links} == {
        "fire": 1.0, "wolves": 1.0, "trainyard": 4 / 9, "fire of hell": 0.4, "xyz": 0.0
    }  # fmt: skip
    (nearest,) = link(["flame"], ["fire", "water"], vectors=known)
    assert nearest == Link("flame", "water", "nearest", pytest.approx(0.8))


def test_nearest_by_the_sum_of_the_words_of_a_label():
    known = vectors(red=[1, 0], hot=[0, 1], ember=[1, 1], cold=[-1, 0.1])
    assert partner("red hot", "ember", "cold", vectors=known, methods=["nearest"]) == ("ember", "nearest")
    assert partner("red", "cold", vectors=known) == (None, "refused")
    assert partner("red", "ember", vectors=known, max_distance=0.29) == (None, "refused")
    assert partner("red", "ember", vectors=known, max_distance=0.3) == ("ember", "nearest")
    assert partner("unheard", "ember", "red", vectors=known) == (None, "none")
    assert partner("red", "unheard", vectors=known) == (None, "none")


def test_the_distance_at_the_limit_is_allowed_and_nothing_farther():
    known = vectors(fire=[1, 0], flame=[3, 4], blaze=[7, 0], smoke=[4, 3], ice=[-1, 0])
    assert link(["flame"], ["fire"], vectors=known) == [Link("flame", "fire", "nearest", 0.6)]  # 0.4 if not given
    for label, distance in (("flame", 0.4), ("smoke", 0.2), ("blaze", 0), ("ice", 2)):
        (near,) = link([label], ["fire"], vectors=known, max_distance=distance)
        assert (near.target, near.method, near.distance) == ("fire", "nearest", distance)
        if distance:
            (far,) = link([label], ["fire"], vectors=known, max_distance=distance - 0.001)
            assert (far.target, far.method, far.distance) == (None, "refused", distance)


def test_distance_0_allows_only_the_same_direction():
    known = vectors(fire=[0.3, 0.7], blaze=[0.9, 2.1], flame=[0.3, 0.701], dog=[1, 0])
    links = link(["blaze", "flame", "dogs"], ["fire", "dog"], vectors=known, max_distance=0)
    assert [(each.label, each.target, each.method) for each in links] == [
        ("blaze", "fire", "nearest"),
        ("dogs", "dog", "lemma"),
        ("flame", "fire", "nearest"),  # the same to 5 decimals
    ]
    assert partner("dog fire", "fire dog", vectors=known, methods=["nearest"], max_distance=0) == (
        "fire dog",
        "nearest",
    )
    assert partner("fire", "dog", vectors=known, max_distance=0) == (None, "refused")


def test_a_vector_is_not_near_a_target_without_one():
    known = vectors(red=[1, 0], cold=[-1, 0])
    assert partner("red", "a target", vectors=known, max_distance=2) == (None, "none")
    assert partner("red", "a target", "cold", vectors=known, max_distance=2) == ("cold", "nearest")


def test_coverage_has_a_number_for_each_kind():
    known = vectors(flame=[1, 0], fire=[1, 0.1], ice=[-1, 0])
    links = link(
        ["dog", "wolves", "firetruck driver", "flame", "ice", "xyz"], ["dog", "wolf", "fire", "driver"], vectors=known
    )
    assert coverage(links) == {"exact": 1, "lemma": 1, "compound": 1, "nearest": 1, "refused": 1, "none": 1}
    assert [each.distance is None for each in links] == [each.method not in ("nearest", "refused") for each in links]


def test_a_name_with_an_unknown_word_is_not_near():
    known = vectors(acid=[1, 0], rain=[0.9, 0.1], sour=[0.95, 0])
    assert partner("sour", "nucleic acid", "rain", vectors=known) == ("rain", "nearest")
    assert partner("nucleic sour", "rain", vectors=known) == (None, "none")


def test_equal_cosines_go_to_the_first_target_wherever_the_chunks_end(monkeypatch):
    known = vectors(a=[1, 0], b=[0, 1], query=[1, 1])
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(linking, "CHUNK", size)
        monkeypatch.setattr(linking, "BLOCK", size)
        found = link(["query", "a b", "b"], ["b a", "a", "a b", "b"], vectors=known, methods=["nearest"])
        assert [(each.label, each.target) for each in found] == [("a b", "a b"), ("b", "b"), ("query", "a b")]


WORDS = st.lists(st.text("abc _-A", min_size=1, max_size=6), max_size=8)


@given(WORDS, WORDS, st.randoms())
def test_links_do_not_depend_on_order(labels, targets, random):
    before = link(labels, targets)
    random.shuffle(labels)
    random.shuffle(targets)
    assert link(labels, targets) == before
    assert [each.label for each in before] == sorted(set(labels))
    assert all(each.target in targets for each in before if each.target is not None)
    assert all((each.target is None) == (each.method == "none") == (each.score == 0) for each in before)
    assert sum(coverage(before).values()) == len(before)
    assert all(each == Link(each.label, each.label, "exact", 1.0) for each in before if each.label in targets)


def test_what_is_refused():
    with pytest.raises(InputError, match="unknown method of linking 'lemmas': did you mean 'lemma'"):
        link(["a"], ["b"], methods=["lemmas"])
    for distance in (-0.1, 2.1):
        with pytest.raises(InputError, match=rf"max_distance is {distance}; it is a number from 0 to 2"):
            link(["a"], ["b"], max_distance=distance)


def test_a_query_walks_from_an_ingredient_over_the_link_into_the_other_graph(graph):
    graph.add([("trainyard", "componentOf", "city"), ("wood", "componentOf", "city")], graph="wordcraft/train")
    graph.add([("yard", "UsedFor", "playing"), ("train", "UsedFor", "travel"), ("Wood", "UsedFor", "fire")], graph="cn")
    links = link(["trainyard", "wood"], graph.arrays("cn")[0].entities)
    assert add_links(graph, links, "links/wordcraft/cn") == 2
    found = graph.query(
        """PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
        SELECT ?ingredient ?concept ?use {
          GRAPH ?task  { ?ingredient gum:componentOf ?goal }
          GRAPH ?links { ?ingredient skos:exactMatch|skos:closeMatch|skos:broadMatch ?concept }
          GRAPH ?other { ?concept gum:UsedFor ?use }
        }""",
        task="wordcraft/train", links="links/wordcraft/cn", other="cn", goal="city",
    )  # fmt: skip
    assert found == [
        {"ingredient": "trainyard", "concept": "yard", "use": "playing"},
        {"ingredient": "wood", "concept": "Wood", "use": "fire"},
    ]
    assert fact_weights(graph, "links/wordcraft/cn").tolist() == [np.float32(4 / 9), 1.0]


def test_links_are_removed_with_their_weights_between_the_two_sides_only(graph):
    fact = ("trainyard", "near", "yard")
    graph.add([fact], graph="links")
    assert remove_links(graph, ["trainyard"], ["yard"], "links") == 0
    first = link(["trainyard", "wood"], ["train", "yard", "Wood"])
    add_links(graph, first, "links")
    other = [Link("trainyard", "place", "compound", 0.5)]
    add_links(graph, other, "links")
    assert remove_links(graph, ["trainyard", "wood"], ["yard", "Wood"], "links") == 2
    broad = "http://www.w3.org/2004/02/skos/core#broadMatch"
    assert set(graph.triples(graph="links")) == {fact, ("trainyard", broad, "place")}
    assert {(s, o) for s, _, o in graph.triples(graph="links/weights") if s == "trainyard"} == {("trainyard", "place")}
    assert remove_links(graph, ["a"], ["b"], "not there") == 0


def test_no_links_without_partners():
    graph = KnowledgeGraph()
    assert add_links(graph, link(["a"], ["b"]), "links") == 0
    assert graph.graphs() == {}


def test_the_recipe_book_against_the_real_conceptnet_part(shared_data):
    targets = conceptnet_entities(shared_data / "conceptnet_subgraph.tsv")
    assert len(targets) == 19_176
    links = link(RecipeBook.load("commonsense").entities, targets, vectors=WordVectors.load())
    by_label = {each.label: (each.target, each.method) for each in links}
    assert by_label["ice cream"] == ("ice cream", "exact")
    assert by_label["polar bear"] == ("polar bears", "lemma")
    assert by_label["spaceship"] == ("ship", "compound")
    assert by_label["nurse"] == ("doctor", "nearest")
    many = coverage(links)
    assert many["exact"] == 547
    assert many["refused"] + many["none"] < 0.15 * len(links)
    assert all(each.distance <= 0.4 for each in links if each.method == "nearest")
    assert all(each.distance > 0.4 for each in links if each.method == "refused")
    assert all(math.isfinite(each.score) for each in links)
