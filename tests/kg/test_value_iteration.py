"""Looking ahead where a product replaces its subject: value iteration against a plain recursion over the same maze."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.action_facts import PlanningProblem
from gumption.kg import KnowledgeGraph
from gumption.kg.planning import Planner, Products
from gumption.kg.planning_kernels import GAMMA
from gumption.kg.value_iteration import ENTRIES, Transitions

PLACES, WAYS = 6, 3  # ids 1 to 6, and 7 to 9
SIZE = 1 + PLACES + WAYS
Model = dict[tuple[int, int], dict[int, float]]  # place and way -> next place -> probability


def value(model: Model, place: int, goal: int, uses: int, way: int = 0) -> float:
    """The value of a place, or of a way out of it, as the module says it."""
    if not uses:
        return 0.0
    best = 0.0
    for each in [way] if way else range(PLACES + 1, SIZE):
        made = model.get((place, each), {})
        mass = sum(made.values())
        found = GAMMA * max(0.0, 1 - mass) * value(model, place, goal, uses - 1)
        for place_after, p in made.items():
            share = p / max(mass, 1.0)
            found += share * (1.0 if place_after == goal else GAMMA * value(model, place_after, goal, uses - 1))
        best = max(best, found)
    return best


def planner_of(model: Model) -> Planner:
    rows = [(place, way, after, p) for (place, way), made in model.items() for after, p in made.items()]
    table = np.array(rows, dtype=float).reshape(-1, 4)
    moves = Transitions.of(SIZE, table[:, :3].astype(np.int64), table[:, 3])
    return Planner(Products.of_facts(SIZE, np.zeros((0, 3), dtype=np.int64)), transitions=moves)


def problem(places, goals, uses, tried=None) -> PlanningProblem:
    count = len(places)
    ways = np.tile(np.arange(PLACES + 1, SIZE + 1) % SIZE, (count, 1))  # the last candidate is nothing
    lived = np.zeros((count, 0, 3), dtype=np.int64) if tried is None else np.array(tried)
    none = np.zeros((count, 0), dtype=np.int64)
    return PlanningProblem(
        "leadsOn", np.array(places)[:, None], np.array(goals), ways, none, lived, np.array(uses), keeps=False
    )


@st.composite
def mazes(draw, certain: bool) -> Model:
    model: Model = {}
    for place in range(1, PLACES + 1):
        for way in range(PLACES + 1, SIZE):
            after = draw(st.lists(st.integers(1, PLACES), max_size=1 if certain else 3, unique=True))
            if after:
                model[place, way] = {each: 1.0 if certain else draw(st.integers(1, 8)) / 8 for each in after}
    return model


@settings(max_examples=60, deadline=None)
@given(model=mazes(certain=False), seed=st.integers(0, 1000), uses=st.integers(1, 4))
def test_values_are_those_of_a_plain_recursion(model: Model, seed: int, uses: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    places, goals = rng.integers(1, PLACES + 1, (2, 5))
    found = planner_of(model).values(problem(places, goals, np.full(5, uses)))
    for row, place, goal in zip(found, places, goals, strict=True):
        expected = [value(model, place, goal, uses, way) for way in range(PLACES + 1, SIZE)]
        assert row[:-1].tolist() == pytest.approx(expected, abs=1e-5)
        assert row[-1] == 0.0


@settings(max_examples=60, deadline=None)
@given(model=mazes(certain=True), seed=st.integers(0, 1000))
def test_a_derivation_is_a_shortest_way(model: Model, seed: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    place, goal = (int(each) for each in rng.choice(np.arange(1, PLACES + 1), 2, replace=False))
    planner, asked = planner_of(model), problem([place], [goal], [30])
    for way, worth in enumerate(planner.values(asked)[0][:-1]):
        steps, at = planner.derivation(asked, 0, way), place
        assert bool(steps) == bool(worth > 0)
        for (before, option), after, p in steps:
            assert before == at
            assert model[before, option] == {after: 1.0}
            assert p == 1.0
            at = after
        if steps:
            assert at == goal
            wasted = steps[0].parties != (place, PLACES + 1 + way) or (place, PLACES + 1 + way) not in model
            assert worth == pytest.approx(GAMMA ** (len(steps) - 1 + wasted), abs=1e-5)


def test_horizons_and_goals_of_a_batch_are_each_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    model = {
        (int(place), int(way)): {int(rng.integers(1, PLACES + 1)): 0.75}
        for place in range(1, PLACES + 1)
        for way in range(PLACES + 1, SIZE)
    }
    places, goals = rng.integers(1, PLACES + 1, (2, 40))
    uses = rng.integers(0, 8, 40)
    tried = np.stack([places, rng.integers(PLACES + 1, SIZE, 40), rng.integers(0, PLACES + 1, 40)], axis=1)[:, None]
    planner = planner_of(model)
    whole = planner.values(problem(places, goals, uses, tried))
    assert (whole[uses == 0] == 0).all()
    assert whole.any()
    for i in range(40):
        one = planner.values(problem(places[[i]], goals[[i]], uses[[i]], tried[[i]]))
        assert one[0].tolist() == pytest.approx(whole[i].tolist(), abs=1e-6)
    monkeypatch.setattr("gumption.kg.value_iteration.ENTRIES", 40)  # a few goals at a time
    assert ENTRIES > 40
    assert np.array_equal(whole, planner.values(problem(places, goals, uses, tried)))


def test_what_was_tried_is_known() -> None:
    model: Model = {(1, 7): {2: 1.0}, (2, 7): {3: 1.0}}
    planner = planner_of(model)
    blocked = problem([1], [3], [5], tried=[[[2, 7, 0]]])
    assert planner.values(blocked)[0].max() == 0.0
    assert planner.derivation(blocked, 0, 0) == []
    found = problem([1], [3], [5], tried=[[[1, 8, 3]]])
    assert planner.values(found)[0][:2].tolist() == pytest.approx([GAMMA, 1.0])
    assert planner.derivation(found, 0, 1) == [((1, 8), 3, 1.0)]


def test_a_circle_of_facts_ends() -> None:
    model: Model = {(1, 7): {2: 1.0}, (2, 7): {1: 1.0}, (2, 8): {3: 1.0}}
    planner = planner_of(model)
    assert planner.values(problem([1], [3], [10_000]))[0][:3].tolist() == pytest.approx([GAMMA, GAMMA**2, GAMMA**2])
    assert planner.values(problem([1], [4], [10_000])).max() == 0.0


def test_pairs_in_either_order_where_the_relation_has_no_roles() -> None:
    planner = Planner(Products.of_facts(SIZE, np.array([[7, 1, 2], [2, 8, 3]])))
    assert planner.values(problem([1], [3], [2]))[0][:2].tolist() == pytest.approx([GAMMA, 0.0])


def test_a_world_of_ones_own_is_advised_and_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1]))
    monkeypatch.setattr(worlds, "WORLDS", dict(worlds.WORLDS))  # other tests have no sixth world
    monkeypatch.delitem(sys.modules, "sixth.maze", raising=False)
    maze = importlib.import_module("sixth.maze")
    graph, env = KnowledgeGraph(), maze.MazeVectorEnv(50)
    graph.add(maze.facts(partition="all"), graph="maze")
    advice = Advice(graph, env.vocabulary, env.relations, look_ahead=True)
    env.reset(seed=0)
    won = env.success.copy()
    for _ in range(maze.STEPS):
        env.step(advice(env)[:, :, 0].numpy().argmax(1))
        won |= env.success
    assert won.all()
    one = maze.MazeEnv()
    one.reset(seed=0, options={"room": "room 00", "goal": "room 01"})
    advice(one)
    steps = [fact for fact, _ in advice.why(0, 2)]
    assert steps[0] == ("room 00", "leadsOn", "room 10", "south")
    assert [fact[2] for fact in steps] == ["room 10", "room 20", "room 21", "room 11", "room 01"]
    assert advice.falls_short(0) == ""
    graph = KnowledgeGraph()
    graph.add([fact for fact in maze.facts(partition="all") if not fact[0].startswith("room 10")], graph="maze")
    advice = Advice(graph, env.vocabulary, env.relations, look_ahead=True)
    advice(one)
    assert advice.falls_short(0) == "nothing that is known leads to room 01"


def test_what_falls_short_is_told() -> None:
    model: Model = {(1, 7): {2: 1.0}, (2, 7): {3: 1.0}, (3, 8): {4: 1.0}}
    planner = planner_of(model)
    short = planner.shortfall(problem([1], [4], [2]), 0)
    assert short is not None
    assert (short.uses, short.needed, short.missing) == ((((1, 7), 2, 1.0), ((2, 7), 3, 1.0)), 3, ())
    assert planner.shortfall(problem([1], [4], [3]), 0) is None
    away = planner.shortfall(problem([1], [5], [3]), 0)
    assert away is not None
    assert (away.uses, away.missing) == ((), (5,))


def test_bad_input() -> None:
    planner = planner_of({(1, 7): {2: 1.0}})
    asked = problem([1], [2], [1])
    with pytest.raises(InputError, match=r"one thing is at hand .* at_hand has shape \(1, 2\), and 0 parties"):
        planner.values(asked._replace(at_hand=np.array([[1, 2]])))
    with pytest.raises(InputError, match="and 1 parties are chosen already"):
        planner.values(asked._replace(chosen=np.array([[1]])))
