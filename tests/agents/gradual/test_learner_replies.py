"""The learner goes on with an answer after the environment has replied to a part of it."""

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from gumption.agents.gradual import GradualLearner
from gumption.envs.gradual import Session, Solution, Task, known_tasks
from gumption.envs.gradual.engine import TaskRecord
from gumption.envs.gradual.task import Hidden, stateless
from gumption.kg import KnowledgeGraph


def play(names: Sequence[str], learner: GradualLearner, seed: int = 0, max_steps: int = 30_000) -> list[TaskRecord]:
    tasks = [known_tasks()[name] for name in names]
    return list(Session(tasks, learner, seed=seed, max_steps=max_steps).run().tasks)


def talk(reply: str) -> Task:
    """Answers of two words, each of which gets this reply."""
    names = {"pim": "zor kel", "pam": "kel", "pum": "wex zor"}

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield f"who is {draw.choice(list(names))}?"

    def solve(question: str, hidden: Hidden) -> Solution:
        answer = f"{names[question[7:-1]]} /"
        return Solution(answer, wrong=(f"nay {answer}|",))

    return Task("talk", "", stateless, questions, solve, reply=reply)


@pytest.mark.parametrize("name", ["world1", "world8"])
def test_word_by_word(name: str) -> None:
    [record] = play([name], GradualLearner())
    assert record.passed


@pytest.mark.slow
@pytest.mark.parametrize("names", [("world1", "world2", "world3"), ("world7", "world8")])
def test_one_task_of_the_small_world_after_the_other(names: Sequence[str]) -> None:
    records = play(names, GradualLearner())
    assert [record.task for record in records if record.passed] == list(names)


@pytest.mark.parametrize("reply", ["ja", "go on", "so. "])
def test_whatever_the_reply_is(reply: str) -> None:
    [record] = Session([talk(reply)], GradualLearner(), max_steps=10_000).run().tasks
    assert record.passed


def test_other_tasks_before_and_after() -> None:
    learner = GradualLearner()
    names = ("micro5.5", "world1", "micro7.2", "world1", "micro5.5")
    records = [play([name], learner, seed)[0] for seed, name in enumerate(names)]
    assert all(record.passed for record in records)
    assert records[3].steps < records[1].steps


def test_a_learner_made_from_the_graph_knows_the_replies() -> None:
    learner, graph = GradualLearner(), KnowledgeGraph()
    [first] = play(["world1"], learner)
    learner.update(graph)
    assert ("learner", "goesOnBehind", "yes") in graph.triples()
    [second] = play(["world1"], GradualLearner.from_graph(graph))
    assert second.questions == second.right < first.questions
