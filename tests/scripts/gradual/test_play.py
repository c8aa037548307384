"""`gumption play gradual`: a person is the agent; the input comes from a pipe."""

import subprocess
import sys

import pytest

from gumption.envs.gradual import Session, of_names

COMMAND = [sys.executable, "-m", "gumption", "play", "gradual"]


def play(typed: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *options], input=typed, capture_output=True, text=True, check=False, timeout=60)


def right_answers(*names: str) -> list[str]:
    """What is right in the first instance of each task, seed 0."""
    answers: list[str] = []
    left: list[int] = []

    def knower(_reward: int, _byte: int) -> int:
        stream = session.stream
        if not stream.listening:
            return 32
        if not left:
            answers.append(stream.life.solution.answer)
            left.extend(answers[-1].encode("latin-1"))
        return left.pop(0)

    session = Session(of_names(names).tasks, knower, success_threshold=1)
    assert session.run().solved
    return answers


def test_whole_answers_pass_a_task() -> None:
    answers = right_answers("micro5.7", "micro4")
    assert len(answers) == 20
    done = play("\n".join(answers) + "\n", "--tasks", "micro5.7,micro4", "--threshold", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "micro5.7, task 1 of 2: 9 of 9 answers right, reward +9" in done.stdout
    assert "micro5.7 is passed.\n\nmicro4, task 2 of 2: 0 of 0 answers right, reward +0" in done.stdout
    assert "all tasks passed after" in done.stdout
    assert ", reward +20" in done.stdout


def test_the_rows_stand_below_each_other() -> None:
    """The stream: `4` is wrong after the first digit and the sign, and what else was typed is not said."""
    first = right_answers("micro5.2")[0]
    wrong = "x" if first != "x" else "y"
    done = play(f"{wrong}bc\n/q\n", "--tasks", "micro5.2")
    assert done.returncode == 0, done.stderr
    blocks = done.stdout.split("> ")
    question, feedback = blocks[0].splitlines()[-3:], blocks[1].splitlines()
    asked = question[0].removeprefix("Input : ")
    assert [line.rstrip() for line in question[1:]] == ["Output:", "Reward:"]
    assert feedback[0] == "(that was already the answer: the rest of what you typed is not said)"
    assert feedback[1] == "micro5.2, task 1 of 1: 0 of 1 answers right, reward -1"
    assert feedback[2].startswith(f"Input : {asked}{first};")
    assert feedback[3] == f"Output: {wrong}  "
    assert feedback[4] == "Reward: -  "
    assert "stopped after" in done.stdout


def test_silence_and_what_is_no_byte() -> None:
    done = play("€\n\n/q\n", "--tasks", "micro4")
    assert "'€' is no byte: a character's code is at most 255" in done.stdout
    assert "stopped after 2 steps" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tasks", "micro4"], "error: the input ended after 3 steps, before the last task was passed"),
        (["--tasks", "micro0"], "error: the curriculum has no 'micro0'"),
    ],
)
def test_an_end_before_the_end_and_a_wrong_task(options: list[str], told: str) -> None:
    done = play("x\nx\n", *options)
    assert done.returncode == 2
    assert told in done.stderr
