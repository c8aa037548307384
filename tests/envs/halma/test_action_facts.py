"""What is to be asked of a knowledge graph about the ways that lead on from a panel."""

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.halma import HALMAEnv, KnowledgeBases, Maze
from gumption.envs.halma.memory import Memory
from gumption.kg import KnowledgeGraph

# A start with ways to the right (2) and upwards (1); the goal is two to the right.
MAZE = Maze((0, 0), (2, 0), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (0, 1))])
LEFT, UP, RIGHT, DOWN = range(4)


def named(env: HALMAEnv, *chosen: int) -> list[list[tuple[str, ...]]]:
    """The facts of each candidate in words, after a part of an option."""
    return env.action_facts(np.array([chosen]) if chosen else None).labels(env.vocabulary)


def test_each_direction_has_the_facts_that_speak_for_it():
    env = HALMAEnv(mazes=[MAZE])
    env.reset(seed=0)
    facts = named(env)
    assert facts[RIGHT] == [
        ("square", "leadsTo", "right"),
        ("purple 2", "pointsTo", "right"),
        ("yellow 2", "indicates", "right"),
    ]
    assert facts[UP] == [("square", "leadsTo", "up"), ("orange 1", "indicates", "up")]
    assert facts[LEFT] == [("square", "leadsTo", "left")]
    assert facts[DOWN] == [("square", "leadsTo", "down")]


def test_a_primitive_is_spoken_for_by_the_option_that_it_leads_to():
    env = HALMAEnv(mazes=[MAZE], max_opt_len=2)
    env.reset(seed=0)
    options = ["right 2", "right 1+1", "right 2", "right 3"]  # the rest of 2 filled up; 3 goes beyond
    assert named(env, RIGHT) == [[("yellow 2", "affords", option)] for option in options]
    assert named(env, RIGHT, 1) == [
        [("yellow 2", "affords", option)] for option in ("right 1", "right 1+1", "right 1+2", "right 1+3")
    ]
    assert named(env, LEFT) == [[]] * 4  # no way, no digit


def test_the_goal_straight_ahead_is_a_stop():
    # The corridor goes on past the goal, which lies two ahead.
    maze = Maze((0, 0), (2, 0), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 0)), ((3, 0), (4, 0))])
    env = HALMAEnv(mazes=[maze], max_opt_len=1)
    env.reset(seed=0)
    assert named(env, RIGHT)[2] == [("yellow 2", "affords", "right 2")]


def test_a_run_s_graph_answers_them():
    env = HALMAEnv(mazes=[MAZE], max_opt_len=1)
    before = env.reset(seed=0)[1]["panel"]
    option = [2, 2]
    env.step(option)
    after = env.batch.landed[0]
    graph = KnowledgeGraph()
    KnowledgeBases.of(Memory.of(1, [before] * 3, [option] * 3, [after] * 3)).add_to(graph, "mine")
    env.reset(seed=0)
    known = set(graph.triples(graph="halma/mine"))
    held = [[fact for fact in part if fact in known] for part in named(env)]
    assert held == [[], [], [("yellow 2", "indicates", "right")], []]


def test_what_is_no_part_of_an_option_is_told():
    env = HALMAEnv(mazes=[MAZE], max_opt_len=1)
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"chosen has shape \(1, 3\)"):
        env.action_facts(np.zeros((1, 3), dtype=np.int64))
    with pytest.raises(
        InputError, match="chosen holds something else than a direction, 0 to 3, and primitives, 0 to 3"
    ):
        env.action_facts(np.array([[4]]))
