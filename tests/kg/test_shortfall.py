"""What is missing where nothing derives a goal, and what looking ahead refuses."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.action_facts import PlanningProblem
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv
from gumption.envs.wordcraft.facts import RELATIONS, recipe_facts
from gumption.kg import KnowledgeGraph, NaryPredictor, Vocabulary
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.planning import MOST_ON_THE_FLY, Planner, Products
from gumption.kg.planning_kernels import GAMMA
from gumption.kg.scores import PairProducts, PairTable, pair_scorer

SIZE = 9


def problem(things, goal, uses, tried=((0, 0, 0),)) -> PlanningProblem:
    at_hand = np.array([[*things, 0]])
    return PlanningProblem(
        "makes", at_hand, np.array([goal]), at_hand, np.array([[0]]), np.array([tried]), np.array([uses])
    )


def of_facts(*facts: tuple[int, int, int]) -> Planner:
    return Planner(Products.of_facts(SIZE, np.array(facts)))


CHAIN = (2, 3, 4), (4, 2, 5), (5, 3, 1)


def test_a_derivation_that_takes_too_many_uses_is_begun() -> None:
    planner = of_facts(*CHAIN)
    short = planner.shortfall(problem([2, 3], 1, 2), 0)
    assert short is not None
    assert short.uses == (((2, 3), 4, 1.0), ((2, 4), 5, 1.0))
    assert (short.needed, short.left, short.missing) == (3, 2, ())
    name = list("_abcdefgh")
    told = "a takes 3 uses, and 2 are left; first: b with c makes d; b with d makes e"
    assert short.told(name, "a", "makes") == told
    assert planner.shortfall(problem([2, 3], 1, 3), 0) is None


def test_the_missing_party_is_named_and_the_other_one_derived() -> None:
    short = of_facts((2, 3, 4), (4, 6, 1), (6, 7, 8)).shortfall(problem([2, 3], 1, 2), 0)
    assert short is not None
    assert (short.uses, short.missing) == ((((2, 3), 4, 1.0),), (6,))
    told = short.told(list("_abcdefgh"), "a", "makes")
    assert told == "for a there is no f, and nothing at hand leads there; the rest is: b with c makes d"


def test_a_goal_that_nothing_makes_is_told() -> None:
    short = of_facts((2, 3, 4)).shortfall(problem([2, 3], 1, 2), 0)
    assert short is not None
    assert short.missing == (1,)
    assert short.told(list("_abcdefgh"), "a", "makes") == "nothing that is known leads to a"


def test_what_was_tried_is_no_derivation_any_more() -> None:
    planner = of_facts(*CHAIN)
    short = planner.shortfall(problem([2, 3], 1, 3, tried=((3, 2, 0),)), 0)
    assert short is not None
    assert short.missing == (5,)
    assert planner.shortfall(problem([2, 3], 1, 3, tried=((3, 2, 5),)), 0) is None


def test_things_that_make_each_other_are_no_way() -> None:
    planner = of_facts((4, 2, 5), (5, 2, 4), (4, 5, 1))
    for uses in (1, 2, 3, 4):
        assert planner.values(problem([2, 3], 1, uses)).max() == 0.0
    short = planner.shortfall(problem([2, 3], 1, 3), 0)
    assert short is not None
    assert short.missing == (4, 5)
    assert planner.values(problem([2, 4], 1, 2))[0][1] == pytest.approx(GAMMA)


def test_advice_says_what_falls_short_and_why_gives_it() -> None:
    rows = [("mud", "water", "earth"), ("brick", "mud", "fire"), ("wall", "brick", "stone")]
    book = RecipeBook("small", sorted({label for row in rows for label in row}), rows)
    graph = KnowledgeGraph()
    graph.add(recipe_facts(book, partition="all"), graph="recipes")
    env = WordCraftVectorEnv(1, recipe_book=book, depth=2, num_distractors=0, split=None)
    env.reset(seed=0, options={"goal": "wall", "table": ["earth", "water", "fire"]})
    advice = Advice(graph, env.vocabulary, RELATIONS[2:], look_ahead=True)
    assert advice(env)[0, :, 0].max() == 0.0
    assert advice.falls_short(0) == (
        "for wall there is no stone, and nothing at hand leads there; the rest is: earth with water makes mud; fire "
        "with mud makes brick"
    )
    assert [fact for fact, _ in advice.why(0, 0)] == [
        ("earth", "makes", "mud", "water"),
        ("fire", "makes", "brick", "mud"),
    ]
    env.reset(seed=0, options={"goal": "brick", "table": ["earth", "water", "fire"]})
    advice(env)
    assert advice.falls_short(0) == ""
    env.step(np.array([2]))  # fire, which wastes one of two mixes
    assert advice(env)[0, :, 0].max() == 0.0
    assert advice.falls_short(0) == "brick takes 2 uses, and 1 is left; first: earth with water makes mud"
    env.step(np.array([2]))
    env.step(np.array([2]))
    advice(env)
    assert advice.falls_short(0) == "brick takes 2 uses, and none is left"
    assert Advice(graph, env.vocabulary, RELATIONS[2:]).falls_short(0) == ""


# ---- a table that does not fit


@pytest.fixture(scope="module")
def predictor() -> NaryPredictor:
    rng = np.random.Generator(np.random.PCG64(0))
    facts = np.unique(np.sort(rng.integers(0, 12, (30, 3)), axis=1), axis=0)
    vocabulary = Vocabulary([f"thing {i:02}" for i in range(12)], ("combinesWith", "componentOf"))
    settings = NarySettings(width=8, hidden=8, epochs=30)
    return NaryPredictor.fit(facts, rng.normal(size=(12, 6)), vocabulary, settings=settings, device="cpu")


def worlds(count: int, uses: int, seed: int = 0) -> PlanningProblem:
    rng = np.random.Generator(np.random.PCG64(seed))
    at_hand = rng.integers(0, 13, (count, 4))
    tried = rng.integers(0, 13, (count, 1, 3)) * rng.integers(0, 2, (count, 1, 1))
    return PlanningProblem(
        "makes", at_hand, rng.integers(1, 13, count), at_hand, np.zeros((count, 1), dtype=np.int64), tried,
        np.full(count, uses),
    )  # fmt: skip


@pytest.mark.parametrize("uses", [1, 2])
def test_pairs_that_are_scored_on_the_fly_have_the_values_of_the_table(
    predictor: NaryPredictor, monkeypatch: pytest.MonkeyPatch, uses: int
) -> None:
    labels, facts = predictor.vocabulary.entities, np.array([[1, 2, 3], [4, 4, 5]])
    table = pair_scorer(predictor, labels, unknown=labels[7:8])
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", 100)
    products = pair_scorer(predictor, labels, unknown=labels[7:8])
    assert isinstance(table, PairTable)
    assert isinstance(products, PairProducts)
    small, large = Planner.of(table, 13, facts), Planner.of(products, 13, facts)
    for seed in range(4):  # what was scored before is kept
        asked = worlds(20, uses, seed)
        expected = small.values(asked)
        assert expected.any()
        assert np.allclose(large.values(asked), expected, atol=1e-3)
        assert large.derivation(asked, 0, 0) == small.derivation(asked, 0, 0)
    monkeypatch.setattr("gumption.kg.planning.PAIRS_KEPT", 1)
    assert np.allclose(large.values(asked), expected, atol=1e-3)


def test_on_the_fly_too_many_uses_are_refused(predictor: NaryPredictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", 100)
    planner = Planner.of(pair_scorer(predictor, predictor.vocabulary.entities), 13, np.zeros((0, 3), dtype=np.int64))
    with pytest.raises(InputError, match="3 uses of the relation are left, and 12 entities are too many for a table"):
        planner.values(worlds(2, MOST_ON_THE_FLY + 1))
    with pytest.raises(InputError, match="a product that replaces its subject takes a table of all pairs"):
        planner.values(worlds(2, 1)._replace(keeps=False))


# ---- bad input


def test_sources_that_give_no_numbers_are_told(predictor: NaryPredictor, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[1, 2, 3], [1, 3, 4]])
    for wrong in (np.nan, 1.5, -0.1):
        with pytest.raises(InputError, match="1 of 2 probabilities of products are NaN or not between 0 and 1"):
            Products.of(SIZE, rows, np.array([0.5, wrong], dtype=np.float32))
    log_p = torch.full((2, 3), -1.0)
    log_p[0, 1] = torch.nan
    with pytest.raises(InputError, match="1 of 6 log-probabilities of products are NaN"):
        Products.of_table(PairTable(log_p.half(), -1.0), np.zeros((0, 3), dtype=np.int64))
    spoiled = deepcopy(predictor)
    spoiled.networks.product_bias[0, 0, 3] = float("nan")
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", 100)
    planner = Planner.of(pair_scorer(spoiled, predictor.vocabulary.entities), 13, np.zeros((0, 3), dtype=np.int64))
    with pytest.raises(InputError, match="scores for the objects of pairs that are NaN or infinite"):
        planner.values(worlds(2, 1))


def test_a_horizon_that_would_not_fit_is_told_with_its_size() -> None:
    planner = of_facts(*CHAIN)
    with pytest.raises(InputError, match=r"looking 12 uses ahead in 1 environments takes 5,159,780,352 states, about"):
        planner.values(problem([2, 3], 1, 12))


def test_a_scorer_that_gives_no_probabilities_is_refused() -> None:
    with pytest.raises(InputError, match="takes facts of three parties or their predictor, and not a Linear"):
        Planner.of(torch.nn.Linear(1, 1), 9, np.zeros((0, 3), dtype=np.int64))
