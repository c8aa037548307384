"""The tasks beside the challenge: what they draw, and questions that they do not ask."""

import re
from itertools import islice
from random import Random

import pytest

from gumption.data import InputError
from gumption.envs.gradual import Rules, judge, known_tasks
from gumption.envs.gradual.engine import Life, Stream
from gumption.envs.gradual.env import GradualEnv
from gumption.envs.gradual.other_tasks import evaluate
from tests.processor import cost


def drawn(name: str, number: int = 300) -> list[tuple[str, str]]:
    """Questions of a task, and their answers."""
    task, draw = known_tasks()[name], Random(0)
    hidden = next(task.instances(draw))
    return [
        (question, task.solve(question, hidden).answer) for question in islice(task.questions(hidden, draw), number)
    ]


def expression(draw: Random, depth: int) -> tuple[str, int | None]:
    """A random expression and its value, None where it divides by 0."""
    if depth == 0:
        number = draw.randint(0, 40)
        return f"{number:x}", number
    (left, first), (right, second) = expression(draw, depth - 1), expression(draw, draw.randrange(depth))
    operator = draw.choice("+-*/")
    text = f"({left}){operator}({right})"
    if first is None or second is None or (operator == "/" and second == 0):
        return text, None
    if operator == "/":
        return text, first // second
    return text, {"+": first + second, "-": first - second, "*": first * second}[operator]


def test_the_value_of_an_expression() -> None:
    draw = Random(0)
    for _ in range(500):
        text, value = expression(draw, draw.randrange(5))
        if value is None:
            with pytest.raises(InputError, match="divides by 0"):
                evaluate(text, 16)
        else:
            assert evaluate(text, 16) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14), ("2*3+4", 10), ("9-3-2", 4), ("9/2*2", 8), ("7/2", 3), ("(1-8)/2", -4), ("((5))", 5),
        ("x=2; y=x*3; x+y", 8), ("x=1; x=x+1; x", 2), ("007", 7),
    ],
)  # fmt: skip
def test_precedence_and_variables(text: str, value: int) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no expression"), ("1+", "'1+' is no expression"), ("+1", "is no expression"),
        ("(1", "is no expression"), ("1)", "is no expression"), ("()", "is no expression"),
        ("1 2", "is no expression"), ("1(2)", "is no expression"), ("1//2", "is no expression"),
        ("__import__", "is no expression"), ("a+1", "'a' is no number of base 10"), ("1/(2-2)", "divides by 0"),
        ("12=3; 1", "'12=3' gives no value"), ("x; x", "'x' gives no value"), ("x=; x", "'' is no expression"),
        ("x=9" + "; x=x*x" * 60 + "; x", "'x*x' has a number of more than 1,000 digits"),
        ("1" * 1_001, "is no number of base 10"),
    ],
)  # fmt: skip
def test_texts_without_a_value(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate(text)


def test_a_variable_is_no_hexadecimal_number() -> None:
    with pytest.raises(InputError, match="'bad=1' gives no value"):
        evaluate("bad=1; bad", 16)
    assert evaluate("bad=1; bad", 10) == 1


@pytest.mark.parametrize("number", range(1, 18))
def test_results_are_not_negative(number: int) -> None:
    assert all(re.fullmatch("(?:[0-9]+ )?[0-9]+", answer) for _, answer in drawn(f"hex{number}"))


def test_all_operations_and_both_numbers_of_variables_are_asked_for() -> None:
    questions = [question for question, _ in drawn("hex17")]
    assert all(any(sign in question for question in questions) for sign in "+-*/(")
    assert {question.count(";") for question in questions} == {1, 2}


@pytest.mark.parametrize(
    ("name", "question", "message"),
    [
        ("hex4", "Evaluate: 1+1=", "is no question of this task"),
        ("hex17", "Evaluate: foo+1=", "'foo' is no number of base 16"),
        ("micro9.4.1", "shorter: cat dog.", "has no single answer: two words of 3 letters"),
        ("micro9.4.2", "longest: a cat dog.", "has no single answer: two words of 3 letters"),
        ("micro9.4.3", "say: a b.", "is no question of this task"),
        ("micro11.2", "say: ab say: cd concatenate: reverse:.", "is no question of this task"),
        ("micro13.3", "say: a xor b.", "is no question of this task"),
        ("world2", "see: CUBE RED LARGE ask: size?", "'CUBE RED LARGE' is no thing"),
        ("world4", "see: table CUBE LARGE RED, floor CUBE SMALL RED where: CUBE?", "2 things are a CUBE"),
        (
            "world5",
            "see: a CUBE LARGE RED, b CUBE LARGE RED, c CUBE LARGE RED, d CUBE LARGE RED count: RED?",
            "up to 4",
        ),
        ("world6", "see: table CUBE LARGE RED move: BALL floor where: CUBE?", "0 things are a BALL"),
        ("world8", "see: table describe: object?", "needs the mapping of the instance"),
    ],
)
def test_no_question_of_the_task(name: str, question: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        judge(name, question, "x.")


def test_a_remembered_thing_has_to_be_one() -> None:
    with pytest.raises(InputError, match="'LARGE CUBE' is no thing with a kind, a size and a colour"):
        judge("world8", "see: table describe: object?", "CUBE !", mapping={"table": "LARGE CUBE"})
    with pytest.raises(InputError, match="asks for 'shelf'; the mapping has 'table'"):
        judge("world8", "see: shelf describe: object?", "CUBE !", mapping={"table": "CUBE LARGE GREEN"})


def test_parts_are_found_as_often_as_they_are_there() -> None:
    for question, answer in drawn("micro9.4.5"):
        part, host = re.fullmatch("find: (.+) in: (.+)[.]", question).groups()  # pyright: ignore
        assert answer == ("true." if part in host else "false.")
    answers = [answer for _, answer in drawn("micro9.4.5")]
    assert 100 < answers.count("true.") < 200
    for question, answer in drawn("micro9.4.7s"):
        part, host = re.fullmatch("listen for all: (.+) in: (.+)[.]", question).groups()  # pyright: ignore
        ends = [i for i in range(len(host)) if host[: i + 1].endswith(part)]
        assert answer == "".join("!" if i in ends else " " for i in range(len(host))) + "."
        assert len(ends) > 1


def test_a_long_answer_is_judged_at_once() -> None:
    def judged() -> None:
        for name in ("micro13.2", "micro13.3"):
            question = "say: a or b or ab." if name == "micro13.2" else "say: a or b or a and b."
            assert not judge(name, question, "ab" * 4_000 + "x.", rules=Rules(joined_or=True)).correct
            assert judge(name, question, "ab" * 4_000 + ".", rules=Rules(joined_or=True)).correct

    assert cost(judged) < 60


def test_feedback_drops_the_full_stop_while_answers_have_it() -> None:
    rules = Rules(adaptive_stop=True)
    task = known_tasks(rules)["micro5.6"]
    stream = Stream(Life([task], 5, 0, {"mapping": dict.fromkeys("0123456789", "7.")}, ["4."] * 40))
    stream.first()

    def feedback(answer: str) -> str:
        while not stream.listening:
            stream.step(ord(" "))
        for byte in answer.encode():
            stream.step(byte)
        return stream.text.decode().partition(";")[0]

    assert [feedback("1.") for _ in range(9)] == ["7."] * 9
    assert [feedback("1.") for _ in range(3)] == ["7"] * 3
    assert [feedback("1 "), feedback("7."), feedback("1.")] == ["7.", "7", "7."]
    for answer in ("1.", "1 "):
        assert judge("micro5.6", "4.", answer, {"4": "7"}, rules=rules).feedbacks == {"7.;", "7;"}
    assert judge("micro5.6", "4.", "1.", {"4": "7"}).feedbacks == {"7.;"}


def test_an_environment_plays_another_curriculum() -> None:
    env = GradualEnv(tasks="small_world")
    _, info = env.reset(seed=0)
    assert info["task"] == "world1"
    _, info = env.reset(options={"task": "world8", "mapping": {"table": "CUBE LARGE GREEN"}})
    assert info["question"] == "see: table describe: object?"
