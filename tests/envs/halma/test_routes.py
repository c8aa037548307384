"""Planning in HALMA by an agent's own memory."""

from collections import deque
from itertools import pairwise

import numpy as np
import pytest

from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, Memory, Rules, oracle_trials, sample_mazes
from gumption.envs.halma.memory import REACHED, TRIAL_OVER, VALID
from gumption.envs.halma.routes import GOAL, LEADS_ON, Routes
from gumption.kg import KnowledgeGraph
from gumption.kg.planning_kernels import GAMMA

MAZES, STEPS = 2, 150


def lived(moves: int) -> tuple[HALMAVectorEnv, Memory]:
    """What random options came to in a few mazes."""
    mazes = sorted(sample_mazes(40, 0), key=lambda maze: len(oracle_trials(maze, 2).exploring))[:MAZES]
    env = HALMAVectorEnv(30, mazes=mazes, max_opt_len=2, order="sequential", max_trial_steps=STEPS)
    env.reset(seed=0)
    before, option, after, flags = [], [], [], []
    for _ in range(moves):
        options = env.random_actions()
        out = env.move(options)
        before.append(out.before)
        option.append(options)
        after.append(out.after)
        flags.append(VALID * out.valid + REACHED * out.reached + TRIAL_OVER * out.trial_over)
    parts = (np.concatenate(part) for part in (before, option, after))
    return env, Memory.of(2, *parts, flags=np.concatenate(flags))


@pytest.fixture(scope="module")
def world() -> tuple[HALMAVectorEnv, Memory, Routes, Advice]:
    env, memory = lived(600)
    routes = env.recall(memory)
    graph = KnowledgeGraph()
    graph.add(routes.facts(), graph="halma/run/routes")
    return env, memory, routes, Advice(graph, routes.vocabulary, (LEADS_ON,), look_ahead=True)


def distances(routes: Routes) -> dict[int, int]:
    """The fewest options from each place to the goal, by a plain breadth-first search."""
    found, queue = {1: 0}, deque([1])
    while queue:
        at = queue.popleft()
        for place, _, following in routes.rows.tolist():
            if following == at and place not in found:
                found[place] = found[at] + 1
                queue.append(place)
    return found


def test_values_are_those_of_the_shortest_way_in_the_memory(world) -> None:
    env, _, routes, advice = world
    away = distances(routes)
    env.reset(seed=1)
    problem = env.planning_problem()
    assert (problem.relation, problem.keeps) == ("leadsOn", False)
    values = advice.planner.values(problem)
    assert (problem.at_hand > 0).all()
    expected = [GAMMA ** (away[place] - 1) for place in problem.at_hand[:, 0].tolist()]
    assert values.max(1).tolist() == pytest.approx(expected, abs=1e-5)


def test_its_plan_leads_to_the_goal(world) -> None:
    env, _, routes, advice = world
    away = distances(routes)
    env.reset(seed=2)
    needed = np.array([away[place] for place in env.planning_problem().at_hand[:, 0].tolist()])
    took = np.zeros(env.num_envs, dtype=np.int64)
    for move in range(1, int(needed.max()) + 1):
        chosen = advice.planner.values(env.planning_problem()).argmax(1)
        out = env.move(routes.options[chosen])
        took[out.reached & (took == 0)] = move
    assert took.tolist() == needed.tolist()


def test_a_derivation_names_places_and_options(world) -> None:
    env, _, routes, advice = world
    env.set_mazes([0], [0])
    problem = env.planning_problem()
    best = int(advice.planner.values(problem)[0].argmax())
    uses = advice.planner.derivation(problem, 0, best)
    label = routes.vocabulary
    assert uses[0].parties == (problem.at_hand[0, 0], problem.candidates[0, best])
    assert label[uses[0].parties[0]].startswith("place ")
    assert label[uses[0].parties[1]].split()[0] in ("left", "up", "right", "down")
    assert label[uses[-1].product] == GOAL
    assert all(after.parties[0] == before.product for before, after in pairwise(uses))


def test_the_horizon_is_what_is_left_of_the_trial_and_of_the_episode() -> None:
    env, memory = lived(3)
    env.recall(memory)
    env.reset(seed=0)
    assert env.planning_problem().horizon.tolist() == [STEPS] * 30
    still = np.zeros((30, 3), dtype=np.int64)
    env.move(still)
    assert env.planning_problem().horizon.tolist() == [STEPS - 1] * 30
    short = HALMAVectorEnv(1, num_mazes=1, max_opt_len=2, max_steps=5)
    short.recall(memory)
    short.reset(seed=0)
    assert short.planning_problem().horizon.tolist() == [5]


def test_a_place_that_was_never_seen_has_no_plan(world) -> None:
    _, memory, _, advice = world
    other = HALMAVectorEnv(1, num_mazes=1, maze_seed=7, max_opt_len=2)
    other.recall(memory)
    other.reset(seed=0)
    problem = other.planning_problem()
    assert problem.at_hand.tolist() == [[0]]
    assert advice.planner.values(problem).max() == 0.0


def test_equal_panels_are_one_place_and_share(world) -> None:
    rows = np.zeros((3, 11), dtype=np.int8)
    rows[0, 4], rows[1, 4], rows[2, 5] = 3, 2, 2
    memory = Memory.of(2, rows[[0, 0, 1]], [[0, 1, 0], [0, 1, 0], [0, 2, 0]], rows[[1, 2, 0]], flags=[1, 1, 7])
    env = HALMAVectorEnv(1, num_mazes=1, max_opt_len=2)
    routes = env.recall(memory)
    graph = KnowledgeGraph()
    graph.add(routes.facts(), graph="routes")
    planner = Advice(graph, routes.vocabulary, (LEADS_ON,), look_ahead=True).planner
    values = planner.values(routes.problem(rows[:1], np.array([2])))
    assert routes.options.tolist() == [[0, 1, 0], [0, 2, 0]]
    assert values[0].tolist() == pytest.approx([GAMMA / 2, 0.0])


def test_bad_memories_are_told() -> None:
    env = HALMAVectorEnv(1, num_mazes=1, max_opt_len=2)
    env.reset(seed=0)
    with pytest.raises(InputError, match="plans by its own memory, and there is none yet"):
        env.planning_problem()
    with pytest.raises(InputError, match="memory is 'runs/maze'; it is a Memory"):
        env.recall("runs/maze")
    rows = np.zeros((1, 11), dtype=np.int8)
    with pytest.raises(InputError, match="another world: its options have 1 primitives, here 2"):
        env.recall(Memory.of(1, rows, [[0, 1]], rows))
    other = Memory.of(2, rows, [[0, 1, 0]], rows, rules=Rules(side=12))
    with pytest.raises(InputError, match=r"its rules are \{'side': 12\}, here the paper's"):
        env.recall(other)
    with pytest.raises(InputError, match="none of the 1 moves of the memory led on"):
        env.recall(Memory.of(2, rows, [[0, 1, 0]], rows, flags=0))


def test_scores_of_steps_of_an_action_are_refused(world) -> None:
    env, _, _, advice = world
    with pytest.raises(InputError, match="nothing speaks for a choice by 'leadsOn'"):
        advice.score(env.action_facts(), env.planning_problem())
