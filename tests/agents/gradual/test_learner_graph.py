"""What the learner knows stands in a knowledge graph, and another learner goes on from there."""

from pathlib import Path

import pytest

from gumption.agents.gradual import GradualLearner
from gumption.data import InputError
from gumption.envs.gradual import Session, all_tasks
from gumption.kg import KnowledgeGraph

NAMES = ("micro5.5", "micro7.2", "micro11", "micro14", "mini1")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    learner = GradualLearner()
    assert Session([all_tasks()[name] for name in NAMES], learner, max_steps=40_000).run().solved
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam")], graph="other")
    learner.update(graph)
    learner.update(graph)
    path: Path = tmp_path_factory.mktemp("learned") / "learned.nq"
    graph.save(path)
    return KnowledgeGraph.load(path)


@pytest.mark.slow
def test_facts_skills_and_evidence_can_be_asked_for(graph: KnowledgeGraph) -> None:
    assert list(graph.triples(subject="k", relation="followedBy")) == [("k", "followedBy", "l")]
    assert list(graph.triples(subject="after k comes what:.", relation="hasAnswer")) == [
        ("after k comes what:.", "hasAnswer", "l.")
    ]
    answer = graph.query(
        "SELECT ?how ?uses ?successes WHERE { ?skill gum:answersQuestionsWith ?word ; gum:answersBy ?how ;"
        " gum:uses ?uses ; gum:successes ?successes }",
        word="concatenate",
    )
    assert any(int(row["successes"]) > 10 for row in answer)
    assert ("fire", "componentOf", "steam") in graph.triples(graph="other")


def test_a_learner_made_from_it_knows_the_tasks(graph: KnowledgeGraph) -> None:
    learner = GradualLearner.from_graph(graph)
    for name in NAMES[1:]:
        record = Session([all_tasks()[name]], learner, seed=5, max_steps=10_000).run().tasks[0]
        assert record.passed
        assert record.questions - record.right <= 4, name


@pytest.mark.slow
def test_another_learner_goes_on_from_one_fact_of_the_export(graph: KnowledgeGraph) -> None:
    """The readable facts are for people: with the JSON alone the learner says the same."""
    state = KnowledgeGraph()
    state.add(graph.triples(subject="learner", relation="state", graph="gradual/learned"), graph="gradual/learned")
    assert len(state) == 1 < len(graph)
    whole, alone = (GradualLearner.from_graph(one) for one in (graph, state))
    for name in NAMES[-2:]:
        steps = [Session([all_tasks()[name]], one, seed=5, max_steps=10_000).run().steps for one in (whole, alone)]
        assert steps[0] == steps[1], name


def test_it_writes_the_same_graph_again(graph: KnowledgeGraph) -> None:
    copy = KnowledgeGraph()
    GradualLearner.from_graph(graph).update(copy)
    kept = {triple for triple in graph.triples(graph="gradual/learned") if triple[1] != "state"}
    assert {triple for triple in copy.triples(graph="gradual/learned") if triple[1] != "state"} == kept


def test_a_graph_without_a_learner_is_refused() -> None:
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam")])
    with pytest.raises(InputError, match="the graph holds no learner"):
        GradualLearner.from_graph(graph)


def test_a_broken_state_is_refused() -> None:
    graph = KnowledgeGraph()
    graph.add([("learner", "state", "{}")], graph="gradual/learned")
    with pytest.raises(InputError, match="cannot be read"):
        GradualLearner.from_graph(graph)
