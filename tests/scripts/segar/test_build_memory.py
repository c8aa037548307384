"""`gumption kg build segar --memory DIR`: what an agent lived through, in a graph that can be checked and asked."""

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs  # noqa: F401
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph


@pytest.fixture
def lived(gumption) -> None:
    levels = gym.make_vec("gumption/PuttPutt-v0", num_envs=32, levels="tilesx3-hard", num_levels=8, observation="state")
    env, rng = RecordMemory(levels, "memories/ada"), np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(60):
        env.step(rng.uniform(-1, 1, (32, 2)).astype(np.float32))
    env.close()


def test_what_was_lived_through_gets_into_a_graph_beside_the_facts_of_the_world(gumption, lived) -> None:
    gumption.ok("build", "segar", "--out", "kg.nq")
    before = KnowledgeGraph.load("kg.nq").graphs()
    told = gumption.ok("build", "segar", "--memory", "memories/ada", "--out", "kg.nq")
    graphs = KnowledgeGraph.load("kg.nq").graphs()
    for name in ("segar/ada", "segar/ada/evidence"):
        assert name in told
        assert graphs.pop(name) > 0
    assert graphs == before
    gumption.ok("validate", "kg.nq", "--shapes", "segar")
    question = "SELECT ?thing { GRAPH ?graph { ?thing gum:affordsBurning ent:ball } }"
    assert "MagmaTile" in gumption.ok("query", "kg.nq", "--bind", "graph=segar/ada", question)


def test_the_facts_of_levels_are_built(gumption) -> None:
    gumption.ok("build", "segar", "--setting", "levels=tilesx3-hard", "--setting", "num_levels=20", "--out", "kg.nq")
    assert ("SandTile", "actsBy", "apply_burn") in set(KnowledgeGraph.load("kg.nq").triples())


def test_the_evidence_is_not_among_the_facts_that_a_link_predictor_learns(gumption, lived) -> None:
    gumption.ok("build", "segar", "--memory", "memories/ada", "--out", "kg.nq")
    gumption.ok("fit", "kg.nq", "--out", "model", "--epochs", "1", "--rank", "2", "--device", "cpu")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("segar", "--memory", "memories/bob"), "memories/bob: no memory of transitions there"),
        (("segar", "--memory", "m", "--partition", "all"), "--partition is for the facts of the world; --memory takes"),
        (
            ("segar", "--memory", "m", "--setting", "levels=empty-easy"),
            "--setting is for the facts of the world; --memory",
        ),
        (("segar", "--setting", "level=empty-easy"), "unknown setting 'level': did you mean 'levels'"),
        (("gradual", "--memory", "m"), "the world 'gradual' makes no facts of a memory: leave --memory out"),
    ],
)
def test_what_cannot_be_built_of_a_memory(gumption, words, message) -> None:
    assert message in gumption.refused("build", *words, "--out", "kg.nq")
