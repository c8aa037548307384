"""What is to be asked of a knowledge graph about the ways that lead on from a panel."""

from gumption.envs.halma import HALMAEnv, KnowledgeBases, Maze
from gumption.envs.halma.memory import Memory
from gumption.kg import KnowledgeGraph


def test_each_direction_has_the_triples_that_speak_for_it():
    # A start with ways to the right (2) and upwards (1); the goal is two to the right.
    maze = Maze((0, 0), (2, 0), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (0, 1))])
    env = HALMAEnv(mazes=[maze])
    env.reset(seed=0)
    facts = env.action_facts()
    assert facts[2] == [
        ("orange 1", "indicates", "right"),
        ("yellow 2", "indicates", "right"),
        ("purple 2", "indicates", "right"),
        ("square", "leadsTo", "right"),
    ]
    assert [[fact[2] for fact in part] for part in facts] == [[name] * 4 for name in ("left", "up", "right", "down")]


def test_a_run_s_graph_answers_them():
    maze = Maze((0, 0), (2, 0), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (0, 1))])
    env = HALMAEnv(mazes=[maze], max_opt_len=1)
    before = env.reset(seed=0)[1]["panel"]
    option = [2, 2]
    env.step(option)
    after = env.batch.landed[0]
    graph = KnowledgeGraph()
    KnowledgeBases.of(Memory.of(1, [before] * 3, [option] * 3, [after] * 3)).add_to(graph, "mine")
    env.reset(seed=0)
    known = set(graph.triples(graph="halma/mine"))
    held = [[fact for fact in part if fact in known] for part in env.action_facts()]
    assert held == [[], [], [("yellow 2", "indicates", "right")], []]
