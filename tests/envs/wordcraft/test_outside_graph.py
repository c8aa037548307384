"""How the graph of commonsense that ships lies beside the book: it is not made of recipes, and it speaks of them."""

import numpy as np
import pytest

from gumption.data import path
from gumption.envs import wordcraft
from gumption.envs.wordcraft import RecipeBook
from gumption.envs.wordcraft.facts import both_linked, linked
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import validate

SHAPES = next(iter(wordcraft.__path__)) + "/shapes.ttl"


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    return KnowledgeGraph.load("commonsense-facts", read_only=True)


def shares(book: RecipeBook, links: np.ndarray) -> tuple[float, float]:
    """The share of the linked pairs that are ingredient and product, and of the recipes with both ingredients linked to
    the product."""
    a, b, product = book.recipes.T
    recipe = np.zeros_like(links)
    recipe[a, product] = recipe[b, product] = True
    recipe |= recipe.T
    return (links & recipe).sum() / links.sum(), both_linked(book, links).mean()


def test_most_of_what_it_links_is_no_recipe_and_many_recipes_are_linked(graph: KnowledgeGraph) -> None:
    book = RecipeBook.load("commonsense")
    of_recipes, entailed = shares(book, linked(graph, book.entities))
    assert of_recipes <= 0.30
    assert 0.35 <= entailed <= 0.60


@pytest.mark.slow
def test_conceptnet_beside_the_same_measure(shared_data) -> None:
    """A fact between two words is what links them: so ConceptNet's pairs are 29 % ingredient and product in the 2020
    book."""
    rows = (line.split("\t") for line in (shared_data / "conceptnet_subgraph.tsv").read_text().splitlines())
    conceptnet = KnowledgeGraph()
    conceptnet.add([(s.replace("_", " "), relation, o.replace("_", " ")) for s, relation, o in rows])
    book = RecipeBook.load(shared_data / "alchemy2.json")
    of_recipes, entailed = shares(book, linked(conceptnet, book.entities))
    assert of_recipes == pytest.approx(0.29, abs=0.005)
    assert entailed == pytest.approx(0.096, abs=0.005)


def test_a_link_is_a_fact_in_either_direction() -> None:
    graph = KnowledgeGraph()
    graph.add([("b", "near", "a"), ("a", "far", "a"), ("c", "near", "d")])
    links = linked(graph, ("a", "b", "c"))
    assert links.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    book = RecipeBook("small", ["a", "b", "c"], [("a", "b", "b"), ("a", "b", "c")])
    assert both_linked(book, links).tolist() == [True, False]


@pytest.mark.slow
def test_it_has_the_shape_of_commonsense_facts(graph: KnowledgeGraph) -> None:
    report = validate(graph, SHAPES)
    assert report.conforms, report.violations[:3]
    assert (report.checked or 0) > 800


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (("saw", "isa", "tool"), "relations"),
        (("recipe:saw+wood", "isA", "tool"), "name"),
        (("saw", "hasProperty", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'), "name"),
    ],
)
def test_what_has_not_the_shape_is_found(fact: tuple[str, str, str], message: str) -> None:
    graph = KnowledgeGraph()
    graph.add([("saw", "usedFor", "wood"), fact])
    report = validate(graph, SHAPES)
    assert not report.conforms
    assert any(message in violation.message for violation in report.violations)


def test_the_file_is_the_one_of_the_manifest() -> None:
    assert path("commonsense-facts").name == "commonsense-facts.tsv"
