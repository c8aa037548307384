"""Depths and derivations of recipes: by hand, against exhaustive search, and on whole books."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, recipe_facts
from gumption.envs.wordcraft.facts import MAKES
from gumption.kg import KnowledgeGraph, NaryRelation
from gumption.kg.views import derivations
from gumption.kg.views.derivations import Derivation, Recipes

Rows = list[tuple[str, str, str]]  # (ingredient, ingredient, product)

BOOK: Rows = [
    ("fire", "water", "steam"),
    ("earth", "water", "mud"),
    ("fire", "mud", "brick"),
    ("brick", "brick", "wall"),
    ("wall", "wall", "house"),
    ("air", "steam", "cloud"),
    ("cloud", "cloud", "sky"),
    ("sky", "moon", "night"),
    ("night", "sky", "moon"),
    ("earth", "earth", "land"),
    ("land", "fire", "brick"),
]


def recipes(rows: Rows) -> Recipes:
    graph = KnowledgeGraph()
    for a, b, product in rows:
        node = f"recipe:{a}+{b}"
        graph.add([(node, "hasIngredient", a), (node, "hasIngredient", b), (node, "hasProduct", product)])
    return Recipes.of(graph, MAKES)


def depths(found: Recipes, basic: list[str] | None = None) -> dict[str, float]:
    return dict(zip(found.things.entities, found.depths(basic).tolist(), strict=True))


def check(rows: Rows, derivation: Derivation, basic: set[str]) -> None:
    """Each step is a recipe, takes what is there, and makes something new; the last thing wanted is the goal."""
    there = set(basic)
    for step in derivation.steps:
        a, b = step.ingredients
        assert (a, b, step.product) in rows or (b, a, step.product) in rows
        assert {a, b} <= there
        assert step.product not in there
        there.add(step.product)
    assert derivation.goal in there
    used = {thing for step in derivation.steps for thing in step.ingredients}
    assert all(step.product in used or step.product == derivation.goal for step in derivation.steps)


def fewest(rows: Rows, goal: str, basic: set[str]) -> int | None:
    """The least number of things to make, by trying all sets of things."""
    made = sorted({product for _, _, product in rows} - basic)
    for size in range(len(made) + 1):
        for chosen in itertools.combinations(made, size):
            allowed, there = basic | set(chosen), set(basic)
            for _ in range(size):
                there |= {c for a, b, c in rows if c in allowed and {a, b} <= there}
            if goal in there:
                return size
    return None


def test_depth_is_the_least_number_of_generations():
    found = recipes(BOOK)
    assert found.basic == ("air", "earth", "fire", "water")
    assert depths(found) == {
        "air": 0, "earth": 0, "fire": 0, "water": 0, "steam": 1, "mud": 1, "land": 1, "brick": 2, "cloud": 2,
        "wall": 3, "sky": 3, "house": 4, "moon": np.inf, "night": np.inf,
    }  # fmt: skip
    given_moon = depths(found, ["air", "earth", "fire", "water", "moon"])
    assert (given_moon["night"], given_moon["moon"]) == (4, 0)


def test_a_derivation_lists_steps_that_work_in_order():
    found = recipes(BOOK).derive("house")
    assert [(step.ingredients, step.product, step.generation) for step in found.steps] == [
        (("earth", "earth"), "land", 1),
        (("fire", "land"), "brick", 2),
        (("brick", "brick"), "wall", 3),
        (("wall", "wall"), "house", 4),
    ]
    assert found.minimal
    assert recipes(BOOK).derive("fire") == Derivation("fire", (), 0)


# p, q and r can each be made in three steps of their own, or in one from s, which takes three steps.
SHARED: Rows = [
    ("fire", "water", "s1"), ("s1", "fire", "s2"), ("s2", "fire", "s"), ("p", "q", "t"), ("t", "r", "goal"),
    *((("s", f"{x}0", x)) for x in "pqr"),
    *(row for x in "pqr" for row in ((f"{x}0", "fire", f"{x}1"), (f"{x}1", "fire", f"{x}2"), (f"{x}2", "fire", x))),
]  # fmt: skip
SHARED_BASIC = {"fire", "water", "p0", "q0", "r0"}


def test_what_is_made_once_is_shared_even_where_no_way_alone_would_go_there():
    found = recipes(SHARED).derive("goal")
    check(SHARED, found, SHARED_BASIC)
    assert (len(found.steps), found.minimal) == (3 + 3 + 2, True)
    quick = recipes(SHARED).derive("goal", prove=False)
    check(SHARED, quick, SHARED_BASIC)
    assert (len(quick.steps), quick.at_least, quick.minimal) == (3 * 3 + 2, 5, False)


@pytest.mark.parametrize(("limit", "value"), [("ROUNDS", 1), ("LARGEST", 5)])
def test_things_that_are_made_of_each_other_do_not_make_themselves(monkeypatch, limit, value):
    rows = [*SHARED, ("p", "fire", "q"), ("q", "fire", "r"), ("r", "fire", "p")]
    found = recipes(rows).derive("goal")
    check(rows, found, SHARED_BASIC)
    # One of the three from its own beginning, the others from each other: 3 + 2 + 2.
    assert (len(found.steps), found.minimal) == (7, True)
    # The first program has them in a circle: 5 things, no derivation. One round is not enough.
    monkeypatch.setattr(derivations, limit, value)
    cut_short = recipes(rows).derive("goal")
    check(rows, cut_short, SHARED_BASIC)
    assert cut_short.at_least == 5
    assert not cut_short.minimal


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(2, 8)), min_size=4, max_size=22),
    st.integers(2, 8),
)
def test_minimal_is_what_exhaustive_search_finds(triples, goal):
    rows = sorted({(f"t{min(a, b)}", f"t{max(a, b)}", f"t{c}") for a, b, c in triples})
    basic = {"t0", "t1"}
    found = recipes([*rows, ("t0", "t1", f"t{goal}+")])  # so that basic ones are known to some recipe
    wanted = f"t{goal}"
    if wanted not in found.things.entities:
        return
    least = fewest(rows, wanted, basic)
    if least is None:
        with pytest.raises(InputError, match="cannot be made"):
            found.derive(wanted, ["t0", "t1"])
        return
    derivation = found.derive(wanted, ["t0", "t1"])
    check(rows, derivation, basic)
    assert len(derivation.steps) == derivation.at_least == least


def test_a_very_deep_book_where_the_work_is_beyond_exact_numbers():
    # Work grows like Fibonacci's numbers: beyond 2**53, where x + 1 is x, each of the last two seems to cost the same.
    rows: Rows = [(f"f{i:03}", f"f{i + 1:03}", f"f{i + 2:03}") for i in range(120)]
    rows += [("f121", "f121", "b"), ("a", "a", "b"), ("b", "b", "a")]
    found = recipes(rows).derive("a", ["f000", "f001"])
    assert [step.product for step in found.steps[-3:]] == ["f121", "b", "a"]
    assert (len(found.steps), found.minimal) == (122, True)


def test_recipes_with_one_three_and_no_ingredients_and_with_two_products():
    graph = KnowledgeGraph()
    graph.add([("r1", "hasIngredient", "dough"), ("r1", "hasProduct", "bread"), ("r1", "hasProduct", "crumbs")])
    graph.add([("r2", "hasIngredient", x) for x in ("flour", "water", "salt")] + [("r2", "hasProduct", "dough")])
    graph.add([("r3", "hasProduct", "gold"), ("r4", "hasIngredient", "lead"), ("bread", "isA", "food")])
    found = Recipes.of(graph, MAKES)
    assert (len(found), found.incomplete) == (3, 2)
    assert found.things.entities == ("bread", "crumbs", "dough", "flour", "salt", "water")
    assert [step.ingredients for step in found.derive("crumbs").steps] == [
        ("flour", "salt", "water"),
        ("dough", "dough"),
    ]


def test_relations_of_other_names():
    graph = KnowledgeGraph()
    graph.add([("task1", "needs", "key"), ("task1", "with", "hand"), ("task1", "gives", "door")])
    found = Recipes.of(graph, NaryRelation("opens", "needs", "with", "gives"))
    assert found.derive("door").steps[0].ingredients == ("hand", "key")


@pytest.mark.slow
def test_the_shipped_book():
    graph = KnowledgeGraph()
    graph.add(recipe_facts("commonsense", partition="all"))
    found = Recipes.of(graph, MAKES)
    book = RecipeBook.load("commonsense")
    rows = [tuple(book.entities[e] for e in row) for row in book.recipes.tolist()]
    assert found.basic == tuple(book.entities[e] for e in book.roots.tolist())
    assert len(found) == len(rows)
    by_hand: dict[str, int] = dict.fromkeys(found.basic, 0)
    for generation in itertools.count(1):
        new = {c for a, b, c in rows if a in by_hand and b in by_hand and c not in by_hand}
        if not new:
            break
        by_hand |= dict.fromkeys(new, generation)
    depth = depths(found)
    assert depth == by_hand
    for goal in sorted(depth)[::100]:
        derivation = found.derive(goal)
        check(rows, derivation, set(found.basic))
        assert derivation.minimal
        assert len(derivation.steps) >= depth[goal]


def test_the_book_of_2020(shared_data):
    graph = KnowledgeGraph()
    graph.add(recipe_facts(shared_data / "alchemy2.json", partition="all"))
    found = Recipes.of(graph, MAKES)
    depth = depths(found, ["air", "earth", "fire", "water"])
    assert (len(found), len(depth)) == (3417, 700)
    assert sorted(thing for thing, value in depth.items() if np.isinf(value)) == ["archeologist", "ruins", "time"]
    assert max(value for value in depth.values() if np.isfinite(value)) == 16
    assert depth["acid rain"] == 6
    steps = found.derive("acid rain", ["air", "earth", "fire", "water"]).steps
    made = ["land", "smoke", "continent", "planet", "atmosphere", "cloud", "acid rain"]
    assert [step.product for step in steps] == made


def test_bad_input_is_told():
    found = recipes(BOOK)
    with pytest.raises(InputError, match="unknown entity 'hause': did you mean 'house'"):
        found.derive("hause")
    with pytest.raises(InputError, match="unknown entity 'wind'"):
        found.derive("house", ["wind"])
    with pytest.raises(InputError, match=r"'night' cannot be made from the basic entities \(air, earth, fire, water\)"):
        found.derive("night")
    with pytest.raises(InputError, match="its recipes need moon, out of reach too"):
        found.derive("night")
    with pytest.raises(InputError, match=r"'steam' cannot be made .*\(earth\): its recipes need fire, water"):
        found.derive("steam", ["earth"])
    with pytest.raises(InputError, match=r"'air' cannot be made .* no recipe makes it"):
        found.derive("air", ["earth"])
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam"), ("x", "hasProduct", "y"), ("z", "hasIngredient", "w")])
    with pytest.raises(InputError, match="the graph has no recipes: no node has both hasIngredient and hasProduct"):
        Recipes.of(graph, MAKES)
    with pytest.raises(InputError, match="the graph has no recipes"):
        Recipes.of(KnowledgeGraph(), MAKES)
