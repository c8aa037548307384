"""Quizzes: their questions are checked, their answers are what SPARQL finds in the facts of the discs."""

from itertools import combinations
from typing import Any

import gymnasium as gym
import pytest

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.probsol import read_task
from gumption.envs.probsol.quiz import is_right, questions, right_answers
from gumption.envs.probsol.tasks import Task
from tests.processor import cost

DISCS = [
    ("a", "small", "medium", "+", {}),
    ("b", "large", "large", "-", {}),
    ("c", "small", "medium", "dipole", {"boundary": "diagonalA"}),
    ("d", "large", "small", "dipole", {"boundary": 225}),
    ("e", "medium", "medium", "+", {}),
]
COLORS = ["red", "green", "blue", "orange", "black"]


def task(*quiz: Any, **more: Any) -> Task:
    objects = [
        {"id": id, "color": color, "mass": mass, "magnetism": magnetism, "polarity": polarity, "stored": k, **rest}
        for k, ((id, mass, magnetism, polarity, rest), color) in enumerate(zip(DISCS, COLORS, strict=True))
    ]
    return read_task(
        {"schema": 1, "name": "quiz/0", "family": "Sandbox", "objects": objects, "quiz": list(quiz), **more}, "q.json"
    )


def found(question: dict[str, str], theta: list[int] | None = None) -> set[str]:
    return {"".join(sorted(answer)) for answer in right_answers(task(question), question, theta)}


@pytest.mark.parametrize(
    ("ask", "which", "answers"),
    [
        ("mass", "small", {"a", "c"}), ("mass", "smallest", {"a", "c"}), ("mass", "largest", {"b", "d"}),
        ("magnetism", "medium", {"a", "c", "e"}), ("magnetism", "smallest", {"d"}), ("magnetism", "largest", {"b"}),
        ("boundary", "diagonalA", {"c", "d"}),
    ],
)  # fmt: skip
def test_answers_to_concept_questions(ask: str, which: str, answers: set[str]) -> None:
    assert found({"ask": ask, "which": which}) == answers


@pytest.mark.parametrize(
    ("same", "answers"),
    [("mass", {"ac", "bd"}), ("magnetism", {"ac", "ae", "ce"}), ("polarity", {"ae", "cd"}), ("boundary", {"cd"})],
)
def test_answers_to_theory_questions(same: str, answers: set[str]) -> None:
    assert found({"ask": "pair", "same": same}) == answers


def test_answers_are_those_of_a_plain_count() -> None:
    """What SPARQL finds, a loop over the discs finds too; classes of equal numbers count as the same."""
    made = task(classes={"mass": {"medium": 0.5}})
    mass = {disc.id: made.masses[disc.mass] for disc in made.objects}
    equal = {frozenset(pair) for pair in combinations(mass, 2) if mass[pair[0]] == mass[pair[1]]}
    assert right_answers(made, {"ask": "pair", "same": "mass"}) == equal
    least = {frozenset([id]) for id in mass if mass[id] == min(mass.values())}
    assert right_answers(made, {"ask": "mass", "which": "smallest"}) == least == {frozenset(id) for id in "ace"}


def test_boundaries_are_those_at_check() -> None:
    asked = {"ask": "boundary", "which": "vertical"}
    assert found(asked) == set()
    assert found(asked, [0, 0, 180, 45, 0]) == {"c"}  # a disc of one pole has no boundary
    made = task(asked, {"ask": "pair", "same": "boundary"})
    assert is_right(made, [["c"], ["c", "d"]], [0, 0, 180, 0, 0])
    assert not is_right(made, [["c"], ["c", "d"]], [0, 0, 180, 45, 0])


MASS, PAIR = {"ask": "mass", "which": "largest"}, {"ask": "pair", "same": "magnetism"}


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        ([["b"], ["a", "c"]], True), ([["b", "d"], ["c", "a"]], True), ([["d", "d"], ["a", "e"]], True),
        ([[], ["a", "c"]], False), ([["b", "a"], ["a", "c"]], False), ([["b"], ["a", "b"]], False),
    ],
)  # fmt: skip
def test_every_question_is_answered_and_no_named_disc_is_wrong(answers: list[list[str]], right: bool) -> None:
    assert is_right(task(MASS, PAIR), answers, [0] * 5) is right


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("bd", "is 'bd'; it is a list of ids for each question"),
        (["b", "a"], "it is a list of ids for each question"),
        ([["b"]], "has 1 lists; it is a list of ids for each of the 2 questions"),
        ([["z"], ["a", "c"]], "question 0 names 'z', which is no disc; there are a, b, c, d, e"),
        ([["b"], ["a", "c", "e"]], "question 1 asks for a pair, which is two discs; it names a, c, e"),
        ([["b"], ["a", "a"]], "question 1 asks for a pair, which is two discs; it names a, a"),
        ([["b"], []], "question 1 asks for a pair, which is two discs; it names none"),
    ],
)
def test_malformed_answers_are_refused(answers: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^answers: .*{message}"):
        is_right(task(MASS, PAIR), answers, [0] * 5)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("mass", r"quiz\[1\]: is 'mass'; it is an object such as"),
        ({}, r"quiz\[1\].ask: is None; it can be mass, magnetism, boundary, pair"),
        ({"ask": "mas"}, r"quiz\[1\].ask: is 'mas'; did you mean 'mass'\?"),
        ({"ask": "mass"}, r"quiz\[1\].which: is None; it can be small, medium"),
        ({"ask": "magnetism", "which": "extremely large"}, r"quiz\[1\].which: is 'extremely large'; it can be"),
        ({"ask": "boundary", "which": "largest"}, r"quiz\[1\].which: is 'largest'; it can be vertical, diagonalA"),
        ({"ask": "pair", "same": "color"}, r"quiz\[1\].same: is 'color'; it can be mass, magnetism, polarity"),
        ({"ask": "pair", "which": "mass"}, r"quiz\[1\].which: a question for pair has 'ask' and 'same' only"),
        ({"ask": "mass", "which": "extremely large"}, r"quiz\[1\].which: no disc has the mass 'extremely large'"),
    ],
)
def test_bad_questions_are_refused_with_file_field_and_reason(question: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^q.json: {message}"):
        task(MASS, question)


@pytest.mark.parametrize(
    ("objects", "question", "message"),
    [
        ("ab", {"ask": "boundary", "which": "vertical"}, "which: only dipoles have a boundary; .* 1 of them, .* none"),
        ("abc", {"ask": "pair", "same": "boundary"}, "same: only dipoles have a boundary; .* 2 of them, .* is 1"),
        ("ab", {"ask": "pair", "same": "polarity"}, "same: no two discs have an equal 'polarity'"),
    ],
)
def test_questions_without_a_right_answer_are_refused(objects: str, question: Any, message: str) -> None:
    given = task().to_json()
    given["objects"] = [disc for disc in given["objects"] if disc["id"] in objects]
    with pytest.raises(InputError, match=rf"^q.json: quiz\[0\].{message}"):
        read_task({**given, "quiz": [question]}, "q.json")


def test_questions_are_told_in_words() -> None:
    asked = [MASS, PAIR, {"ask": "magnetism", "which": "medium"}, {"ask": "boundary", "which": "diagonalA"}]
    told = questions(task(*asked))
    assert [{name: part for name, part in one.items() if name != "text"} for one in told] == asked
    assert [one["text"] for one in told] == [
        "Which disc has the largest mass?", "Which two discs have the same magnetism?",
        "Which disc is of medium magnetism?", "Which disc has the boundary diagonalA?",
    ]  # fmt: skip


def test_reading_a_quiz_takes_little_time() -> None:
    task(MASS)  # the first one imports the store
    masses = (0.1, 0.2, 0.3, 0.4)  # other facts, so nothing comes from the cache
    assert cost(lambda: [task(MASS, PAIR, classes={"mass": {"small": mass}}) for mass in masses]) / 4 < 1


def test_an_environment_asks_refuses_and_ends() -> None:
    env: Any = gym.make("gumption/ProbSol-v0", task="fishing/0").unwrapped
    env.reset(seed=0)
    with pytest.raises(InputError, match="no quiz is open"):
        env.answer([["b"], ["a", "c"]])
    for action in (("grab", "b"), ("place", 10, 16), ("check",)):
        _, reward, terminated, _, info = env.step(env.action_index(*action))
    assert reward == 0
    assert not terminated
    assert [question["text"] for question in info["quiz"]] == [
        "Which disc has the largest mass?", "Which two discs have the same magnetism?",
    ]  # fmt: skip
    opened = env.save()
    for malformed in ([["b"]], [["b"], ["a", "b", "c"]], [["b"], ["a", "z"]]):
        with pytest.raises(InputError, match=r"^answers"):
            env.answer(malformed)
    assert env.save() == opened  # the quiz is open still
    _, reward, terminated, _, info = env.answer([["b"], ["a", "c"]])
    assert (reward, terminated, info["end"]) == (1.0, True, "solved")
    env.reset(seed=0)
    env.restore(opened)
    _, reward, terminated, _, info = env.answer([["a"], ["a", "c"]])
    assert (reward, terminated, info["end"]) == (0.0, True, "quiz")
