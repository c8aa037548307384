"""The gradual learner solves tasks with nothing but bytes and rewards."""

import hashlib
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from gumption.agents.gradual import GradualLearner
from gumption.envs.gradual import Result, Session, Solution, Task, all_tasks, challenge
from gumption.envs.gradual.task import Hidden, stateless

CHARS = "bcdfghklmnprst"


def play(tasks: Sequence[Task], learner: GradualLearner, seed: int = 0, max_steps: int = 20_000) -> Result:
    return Session(tasks, learner, seed=seed, max_steps=max_steps).run()


def named(*names: str) -> list[Task]:
    return [all_tasks()[name] for name in names]


def made_up(command: str, other: str) -> Task:
    """Two commands of unknown words: one copies a text, one turns its characters around."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            text = "".join(draw.choice(CHARS) for _ in range(draw.randint(2, 5)))
            yield f"{draw.choice((command, other))}> {text}!"

    def solve(question: str, hidden: Hidden) -> Solution:
        word, text = question[:-1].split("> ")
        answer = (text if word == command else text[::-1]) + "!"
        return Solution(answer, ("ja |",), (f"nein {answer}|",))

    return Task("made up", "", stateless, questions, solve)


def test_it_learns_the_protocol_from_the_first_tasks_on() -> None:
    tasks = named("micro1", "micro2", "micro3", "micro4", "micro5.1", "micro5.2", "micro5.3", "micro5.4", "micro5.5")
    result = play(tasks, GradualLearner())
    assert result.solved
    assert result.steps < 5_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["micro5.14", "micro6", "micro7.2", "micro9.3", "micro12", "mini1"])
def test_a_task_can_be_the_first_one(name: str) -> None:
    assert play(named(name), GradualLearner()).solved


@pytest.mark.slow
def test_commands_are_told_apart() -> None:
    result = play(named("micro7.1", "micro10", "micro11", "micro12"), GradualLearner())
    assert result.solved
    assert all(task.right > 0.7 * task.questions for task in result.tasks)


def test_words_and_signs_that_no_task_has_are_learned() -> None:
    task = made_up("zorb", "quix")
    # The engine ends answers with full stops: the made-up task is asked as one of fixed length.
    fixed = Task(task.name, "", task.instances, task.questions, task.solve, fixed_length=True)
    result = play([fixed], GradualLearner())
    assert result.solved
    assert result.tasks[0].right > 0.7 * result.tasks[0].questions


@pytest.mark.slow
def test_nothing_is_forgotten() -> None:
    learner = GradualLearner()
    tasks = named("micro5.5", "micro7.2", "micro9.2", "micro11")
    first = play(tasks, learner)
    again = [play([task], learner, seed=7) for task in tasks[1:]]
    assert first.solved
    for before, after in zip(first.tasks[1:], again, strict=True):
        assert after.solved
        assert after.tasks[0].questions - after.tasks[0].right <= before.questions - before.right + 1


@pytest.mark.slow
def test_what_ends_an_answer_is_found_out_again() -> None:
    """Lengths end the answers of micro5.5, a sign those of micro6: the one must not be taken for the other."""
    learner = GradualLearner()
    names = ("micro5.5", "micro6", "micro9.1", "micro5.5", "micro6")
    records = [play(named(name), learner, seed).tasks[0] for seed, name in enumerate(names)]
    assert all(record.passed for record in records)
    assert records[4].steps < 1.2 * records[1].steps


@pytest.mark.slow
def test_a_question_within_a_question_is_answered_by_what_is_known() -> None:
    learner = GradualLearner()
    assert play(named("micro11"), learner, seed=1).solved

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        name = "".join(draw.choice(CHARS) for _ in range(4))
        for question in all_tasks()["micro11"].questions(hidden, draw):
            yield f"{name} is as say - {question.replace('say', name)}"

    def solve(question: str, hidden: Hidden) -> Solution:
        name, known = question.split()[0], question.split(" - ")[1]
        return all_tasks()["micro11"].solve(known.replace(name, "say"), hidden)

    [record] = play([Task("hinted", "", stateless, questions, solve)], learner, seed=1).tasks
    assert record.passed
    assert record.questions - record.right <= 3


@pytest.mark.slow
def test_known_programs_do_not_stand_in_the_way_of_a_new_one() -> None:
    learner = GradualLearner()
    assert play(named("micro11"), learner).solved
    assert play(named("micro12"), learner).steps < 2_500


@pytest.mark.slow
def test_a_seed_fixes_every_byte() -> None:
    def said(seed: int) -> str:
        learner, digest = GradualLearner(), hashlib.sha256()

        def agent(reward: int, byte: int) -> int:
            answer = learner(reward, byte)
            digest.update(bytes((answer,)))
            return answer

        Session(named("micro5.3"), agent, seed=seed, max_steps=2_000).run()
        return digest.hexdigest()

    assert said(0) == said(0) != said(1)


@pytest.mark.slow
def test_a_program_that_costs_more_than_the_known_ones_is_found_at_last() -> None:
    """It has learned a needlessly long program before, whose operations the search then tries first."""
    learner = GradualLearner()
    for name in ("micro2", "micro5.7", "micro5.18", "micro6", "micro7.2", "micro9.2"):
        result = play(named(name), learner, seed=1_000_006)
        assert result.solved, name
    assert result.steps < 6_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_whole_curriculum_in_less_than_200_000_steps(seed: int) -> None:
    curriculum = challenge()
    result = Session(curriculum.tasks, GradualLearner(), seed=seed, max_steps=200_000).run()
    assert [task.task for task in result.tasks if not task.passed] == []
    assert result.solved
