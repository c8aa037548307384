"""`gumption kg build wordcraft --memory DIR`: what an agent saw, in a graph that can be checked and asked."""

import gymnasium as gym
import pytest

import gumption.envs  # noqa: F401
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph


@pytest.fixture
def lived(gumption) -> None:
    env = RecordMemory(gym.make_vec("gumption/WordCraft-v0", num_envs=16), "memories/ada")
    env.reset(seed=0)
    for _ in range(100):
        env.step(env.unwrapped.random_actions())
    env.close()


@pytest.mark.slow
def test_what_was_seen_gets_into_a_graph_beside_others(gumption, lived) -> None:
    gumption.ok("build", "wordcraft", "--out", "kg.nq", "--partition", "test")
    before = KnowledgeGraph.load("kg.nq").graphs()
    out = gumption.ok("build", "wordcraft", "--memory", "memories/ada", "--out", "kg.nq")
    graphs = KnowledgeGraph.load("kg.nq").graphs()
    for name in ("wordcraft/ada", "wordcraft/ada/recipes", "wordcraft/ada/evidence"):
        assert name in out
        assert graphs.pop(name) > 0
    assert graphs == before
    gumption.ok("validate", "kg.nq", "--shapes", "wordcraft")


def test_what_does_not_go_with_a_memory_is_refused(gumption, lived) -> None:
    code, out, err = gumption("build", "wordcraft", "--memory", "memories/ada", "--out", "kg.nq", "--partition", "all")
    assert (code, out) == (2, "")
    assert err == "error: --partition is for the facts of a recipe book; --memory has no use for it\n"
    code, _, err = gumption("build", "wordcraft", "--memory", "memories/bob", "--out", "kg.nq")
    assert code == 2
    assert "memories/bob: no memory of transitions there" in err
