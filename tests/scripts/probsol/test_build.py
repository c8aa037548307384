"""`gumption kg build probsol`: what is true of tasks as a graph, by part, law and task."""

import json

import pytest

from gumption.envs.probsol import facts, task_facts
from gumption.envs.probsol.library import find_tasks
from gumption.kg import KnowledgeGraph


def test_it_states_the_facts_of_parts(gumption) -> None:
    told = json.loads(gumption.ok("build", "probsol", "--out", "kg.nq", "--partition", "train", "--json"))
    graph = KnowledgeGraph.load("kg.nq")
    assert set(graph.triples(graph="probsol/train")) == set(facts(partition="train"))
    assert told["graphs"] == {"probsol/train": len(graph)}
    assert "conforms" in gumption.ok("validate", "kg.nq", "--shapes", "probsol")


def test_it_states_a_task_under_another_law(gumption, tmp_path) -> None:
    (task,) = find_tasks("fishing/0")
    (tmp_path / "mine.json").write_text(json.dumps({**task.to_json(), "name": "mine/0"}))
    gumption.ok(
        "build", "probsol", "--out", "kg.nq", "--task", "fishing/0", "--task", "mine.json", "--laws", "counterfactual"
    )
    found = set(KnowledgeGraph.load("kg.nq").triples(graph="probsol/all"))
    assert set(task_facts(task, "counterfactual")) < found
    assert ("mine/0:b", "repels", "mine/0:a") in found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--partition", "nowhere"], "partition is 'nowhere'; it can be train, validation, test, all"),
        (["--laws", "none"], "laws is 'none'"),
        (["--fold", "10"], "fold is 10; it is a whole number from 0 to 9"),
        (["--task", "fishin/0"], "did you mean 'fishing/0'?"),
        (["--memory", ".", "--laws", "real"], "--memory takes none"),
    ],
)
def test_what_cannot_be_built_is_told(gumption, arguments: list[str], message: str) -> None:
    assert message in gumption.refused("build", "probsol", "--out", "kg.nq", *arguments)
