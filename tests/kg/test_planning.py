"""Looking ahead: the planner against a plain recursion over the same problem, and what it is asked through."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gumption.envs  # noqa: F401  (registers the environments)
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.action_facts import PlanningProblem
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import RecipeBook, WordCraftEnv, WordCraftVectorEnv, facts
from gumption.envs.wordcraft.facts import RELATIONS, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.planning import COMPILING, DOUBT, LIKELIEST, SHARPNESS, Planner, Products
from gumption.kg.planning_kernels import GAMMA
from gumption.kg.scores import PairTable

SIZE = 9  # 8 things
Model = dict[tuple[int, int], dict[int, float]]  # pair -> product -> probability


def value(model: Model, things: frozenset[int], goal: int, uses: int, known: Model, first: int = 0, then: int = 0):
    """The value of what is at hand, or of choosing `first` and then `then`, as the module says it."""
    if not uses:
        return 0.0
    best = 0.0
    for pair in {(min(a, b), max(a, b)) for a in things for b in things}:
        if (first and first not in pair) or (then and pair != (min(first, then), max(first, then))):
            continue
        found, made = 0.0, known.get(pair, model.get(pair, {}))
        for product, p in made.items():
            if product == goal:
                found += p
            else:
                found += GAMMA * p * value(model, things | {product}, goal, uses - 1, {**known, pair: {product: 1.0}})
        nothing = max(0.0, 1 - sum(made.values()))
        if nothing > 1e-9:
            found += GAMMA * nothing * value(model, things, goal, uses - 1, {**known, pair: {}})
        best = max(best, found)
    return best


def rows_of(model: Model) -> tuple[np.ndarray, np.ndarray]:
    found = [(*pair, product, p) for pair, made in model.items() for product, p in made.items()]
    table = np.array(found, dtype=float).reshape(-1, 4)
    return table[:, :3].astype(np.int64), table[:, 3].astype(np.float32)


def problem(things, goal, uses, *, chosen=0, tried=((0, 0, 0),)) -> PlanningProblem:
    at_hand = np.array([[*things, 0]])
    return PlanningProblem(
        "makes", at_hand, np.array([goal]), at_hand, np.array([[chosen]]), np.array([tried]), np.array([uses])
    )


@st.composite
def cases(draw, most: int, certain: bool):
    """A model in which the goal, 1, makes nothing, what is at hand, and how many uses are left."""
    pairs = draw(
        st.sets(st.tuples(st.integers(2, SIZE - 1), st.integers(2, SIZE - 1)).map(sorted).map(tuple), max_size=14)
    )
    model: Model = {}
    for pair in sorted(pairs):
        made = draw(st.lists(st.integers(1, SIZE - 1), min_size=1, max_size=1 if certain else 3, unique=True))
        shares = [1.0] if certain else [draw(st.integers(1, 8)) / 8 / len(made) for _ in made]
        model[pair] = dict(zip(made, shares, strict=True))
    things = draw(st.sets(st.integers(2, SIZE - 1), min_size=1, max_size=4))
    return model, sorted(things), draw(st.integers(1, most)), draw(st.sampled_from([0, *sorted(things)]))


def check(case) -> None:
    model, things, uses, chosen = case
    planner = Planner(Products.of(SIZE, *rows_of(model)))
    found = planner.values(problem(things, 1, uses, chosen=chosen))[0]
    for place, thing in enumerate(things):
        pair = (chosen, thing) if chosen else (thing, 0)
        expected = value(model, frozenset(things), 1, uses, {}, *pair)
        assert found[place] == pytest.approx(expected, abs=1e-5), (thing, uses)
    assert found[-1] == 0.0  # an empty slot


@settings(max_examples=150, deadline=None)
@given(case=cases(2, certain=False))
def test_the_value_of_one_and_two_uses_is_that_of_a_plain_recursion(case) -> None:
    check(case)


#: Three uses make the goal; with a fourth to spare, one that makes nothing new costs no more than itself.
WASTED: Model = {(2, 2): {2: 1.0}, (3, 3): {4: 1.0}, (3, 4): {5: 1.0}, (2, 5): {1: 1.0}}


@settings(max_examples=150, deadline=None)
@given(case=cases(4, certain=True))
@example((WASTED, [2, 3], 4, 0))
@example((WASTED, [2, 3], 5, 2))
def test_certain_facts_are_planned_exactly(case) -> None:
    check(case)


@settings(max_examples=60, deadline=None)
@given(case=cases(3, certain=False))
def test_three_uncertain_uses_are_worth_at_least_what_two_are(case) -> None:
    model, things, _, chosen = case
    planner = Planner(Products.of(SIZE, *rows_of(model)))
    two, three = (planner.values(problem(things, 1, uses, chosen=chosen)) for uses in (2, 3))
    assert (three >= GAMMA * two - 1e-6).all()


@settings(max_examples=80, deadline=None)
@given(case=cases(4, certain=True))
def test_a_derivation_can_be_followed_and_ends_with_the_goal(case) -> None:
    model, things, uses, chosen = case
    planner = Planner(Products.of(SIZE, *rows_of(model)))
    asked = problem(things, 1, uses, chosen=chosen)
    for place, worth in enumerate(planner.values(asked)[0][: len(things)]):
        steps, thing = planner.derivation(asked, 0, place), things[place]
        assert bool(steps) == bool(worth > 0)
        if not steps:
            continue
        at_hand = set(things)
        for parties, product, _ in steps:
            assert set(parties) <= at_hand
            assert model[parties] == {product: 1.0}
            at_hand.add(product)
        assert steps[-1].product == 1
        # Else the choice is wasted, and the goal possible all the same.
        named = steps[0].parties == tuple(sorted((chosen, thing))) if chosen else thing in steps[0].parties
        assert len(steps) + (not named) <= uses
        assert worth == pytest.approx(GAMMA ** (len(steps) - named), abs=1e-5)


def test_what_was_tried_in_the_episode_is_known() -> None:
    model: Model = {(2, 3): {1: 0.9}, (2, 4): {1: 0.5}}
    planner = Planner(Products.of(SIZE, *rows_of(model)))
    fresh = planner.values(problem([2, 3, 4], 1, 1))[0]
    assert fresh[:3] == pytest.approx([0.9, 0.9, 0.5])
    failed = problem([2, 3, 4], 1, 1, tried=((3, 2, 0),))
    assert planner.values(failed)[0][:3] == pytest.approx([0.5, 0.0, 0.5])
    assert planner.derivation(failed, 0, 1) == []


def test_many_environments_and_threads_give_what_one_does() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    rows = np.unique(np.sort(rng.integers(1, 30, (300, 3)), axis=1), axis=0)
    planner = Planner(Products.of(30, rows, rng.random(len(rows)).astype(np.float32)))
    at_hand = rng.integers(0, 30, (400, 6))
    goal, uses = rng.integers(1, 30, 400), rng.integers(1, 6, 400)
    none = np.zeros((400, 1), dtype=np.int64), np.zeros((400, 2, 3), dtype=np.int64)

    def asked(some: slice) -> np.ndarray:
        parts = (at_hand, goal, at_hand, none[0], none[1], uses)
        return planner.values(PlanningProblem("makes", *(part[some] for part in parts)))

    whole, before = asked(slice(None)), torch.get_num_threads()
    assert whole.any()
    assert np.array_equal(whole, np.concatenate([asked(slice(i, i + 1)) for i in range(400)]))
    torch.set_num_threads(3)
    try:
        assert np.array_equal(whole, asked(slice(None)))
    finally:
        torch.set_num_threads(before)


def test_stated_facts_win_over_the_table() -> None:
    things = 4
    log_p = torch.full((things, things * (things + 1) // 2), -20.0)
    log_p[0, 1], log_p[1, 1] = np.log(0.6), np.log(0.3)  # of the pair {1, 2}
    log_p[2, 2] = np.log(0.5)  # of {1, 3}
    table = PairTable(log_p.half(), float(np.float16(-np.log(things))))
    products = Products.of_table(table, np.array([[2, 1, 2]]))
    found = {
        (int(key), int(product)): float(p)
        for row, key in enumerate(products.pairs)
        for product, p in zip(
            products.product[products.start[row] : products.start[row + 1]],
            products.probability[products.start[row] : products.start[row + 1]],
            strict=True,
        )
    }
    size = things + 1
    assert found[1 * size + 2, 2] == 1.0
    assert found[1 * size + 2, 1] == pytest.approx(DOUBT * 0.6**SHARPNESS, rel=1e-2)
    assert found[1 * size + 3, 3] == pytest.approx(0.5**SHARPNESS, rel=1e-2)
    assert len(found) == 3


def test_the_likeliest_products_alone_are_kept() -> None:
    things = LIKELIEST + 8
    log_p = torch.full((things, things * (things + 1) // 2), -20.0)
    log_p[:, 0] = torch.linspace(-2, -3, things)
    products = Products.of_table(PairTable(log_p.half(), -100.0), np.zeros((0, 3), dtype=np.int64))
    assert products.product.tolist() == list(range(1, LIKELIEST + 1))


@pytest.mark.slow
def test_the_first_use_says_that_it_compiles(tmp_path: Path) -> None:
    program = (
        "import numpy as np; from gumption.kg.planning import Planner, Products\n"
        "from gumption.envs.action_facts import PlanningProblem\n"
        "planner, at_hand = Planner(Products.of_facts(9, np.array([[2, 3, 1]]))), np.array([[2, 3]])\n"
        "rest = np.array([[0]]), np.zeros((1, 1, 3), dtype=int), np.array([1])\n"
        "print(planner.values(PlanningProblem('makes', at_hand, np.array([1]), at_hand, *rest)))"
    )
    for told in (True, False):  # the second process reads what the first one has compiled
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.stdout == "[[1. 1.]]\n"
        assert (COMPILING in done.stderr) == told


# ---- in a world

DEEP = [
    ("mud", "water", "earth"),
    ("brick", "mud", "fire"),
    ("wall", "brick", "stone"),
    ("steam", "water", "fire"),
    ("geyser", "steam", "earth"),
    ("glass", "sand", "fire"),
    ("lens", "glass", "tool"),
    ("rain", "water", "air"),
]


@pytest.fixture(scope="module")
def book() -> RecipeBook:
    return RecipeBook("deep", sorted({label for row in DEEP for label in row}), DEEP)


@pytest.fixture
def graph(book: RecipeBook) -> KnowledgeGraph:
    found = KnowledgeGraph()
    found.add(recipe_facts(book, partition="all"), graph="recipes")
    found.add(facts(book, partition="all"), graph="facts")
    return found


@pytest.mark.parametrize("depth", [2, 3])
def test_all_facts_solve_deep_tasks(book: RecipeBook, graph: KnowledgeGraph, depth: int) -> None:
    env = WordCraftVectorEnv(64, recipe_book=book, depth=depth, num_distractors=2, split=None)
    env.reset(seed=0)
    advice = Advice(graph, env.vocabulary, env.relations[2:], look_ahead=True)
    assert advice.relations == ("plan",)
    won = np.zeros(64, dtype=bool)
    for _ in range(2 * depth):
        scores = advice(env)[:, :, 0].numpy()
        first = np.where(env.table > 0, scores, -1.0).argmax(1)
        env.step(first)
        won |= env.success
    assert won.all()


def test_why_tells_the_derivation_in_order(book: RecipeBook, graph: KnowledgeGraph) -> None:
    env = WordCraftEnv(recipe_book=book, depth=2, num_distractors=1, split=None)
    env.reset(seed=0, options={"goal": "brick", "table": ["earth", "fire", "water", "sand"]})
    advice = Advice(graph, env.unwrapped.vocabulary, RELATIONS, look_ahead=True)
    scores = advice(env)
    place = advice.relations.index("plan")
    assert scores[0, :4, place].tolist() == pytest.approx([GAMMA, 0.0, GAMMA, 0.0])
    told = [fact for fact, _ in advice.why(0, 0) if fact[1] == "makes"]
    assert told == [("earth", "makes", "mud", "water"), ("fire", "makes", "brick", "mud")]
    assert not [fact for fact, _ in advice.why(0, 3) if fact[1] == "makes"]


@pytest.mark.parametrize("single", [True, False])
def test_an_observation_has_the_scores_of_looking_ahead(book: RecipeBook, graph: KnowledgeGraph, single: bool) -> None:
    given = {"recipe_book": book, "depth": 2, "num_distractors": 2, "split": None}
    made = (
        gym.make("gumption/WordCraft-v0", **given)
        if single
        else gym.make_vec("gumption/WordCraft-v0", num_envs=5, vectorization_mode="sync", **given)
    )
    world = made.unwrapped if single else made.envs[0].unwrapped
    advice = Advice(graph, world.vocabulary, world.relations, look_ahead=True)
    env = KGScores(made, advice)
    seen, _ = env.reset(seed=3)
    plan = seen["kg_scores"][..., advice.relations.index("plan")]
    assert np.isclose(plan.reshape(-1, plan.shape[-1]).max(1), GAMMA).all()


def test_final_observations_have_the_scores_of_looking_ahead(book: RecipeBook, graph: KnowledgeGraph) -> None:
    made = WordCraftVectorEnv(6, recipe_book=book, depth=2, num_distractors=1, split=None, autoreset_mode="SameStep")
    env = KGScores(made, Advice(graph, made.vocabulary, made.relations, look_ahead=True))
    env.reset(seed=0)
    ended = 0
    for _ in range(8):
        *_, infos = env.step(np.zeros(6, dtype=np.int64))
        for seen in infos.get("final_obs", ()):
            ended += seen is not None
            assert seen is None or seen["kg_scores"].shape == (made.table.shape[1], 3)
    assert ended


# ---- bad input


def test_what_has_nothing_to_look_ahead_by_says_so(book: RecipeBook, graph: KnowledgeGraph) -> None:
    vocabulary = ("", *book.entities)
    with pytest.raises(InputError, match="look_ahead needs scores of a relation of three parties"):
        Advice(graph, vocabulary, RELATIONS[:2], look_ahead=True)
    env = gym.make("gumption/Gradual-v0").unwrapped
    with pytest.raises(InputError, match="no relation that produces"):
        env.planning_problem()
    advice = Advice(graph, vocabulary, RELATIONS, look_ahead=True)
    world = WordCraftVectorEnv(1, recipe_book=book, split=None)
    world.reset(seed=0)
    with pytest.raises(InputError, match="give the planning problem, too"):
        advice.score(world.action_facts())
    with pytest.raises(InputError, match="plans by 'makes', and in this world 'bakes' produces"):
        advice.score(world.action_facts(), world.planning_problem()._replace(relation="bakes"))
    more = world.planning_problem()._replace(candidates=np.zeros((1, 9), dtype=np.int64))
    with pytest.raises(InputError, match=r"has \(B, A\) \(1, 9\) candidates, and the choice \(1, 4\): where an action"):
        advice.score(world.action_facts(), more)
