"""`gumption play gradual`: a person is the agent; the input comes from a pipe."""

import subprocess
import sys

import pytest

from gumption.scripts.people.gradual import begin

COMMAND = [sys.executable, "-m", "gumption", "play", "gradual"]


def play(typed: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *options], input=typed, capture_output=True, text=True, check=False, timeout=60)


def right_answers(*names: str) -> list[str]:
    """The right answers in the first instance of each task, seed 0."""
    env, _ = begin(tasks=",".join(names), threshold=1)
    answers, over = [], False
    while not over:
        answers.append(env.batch.batch.life(0).solution.answer)
        *_, over, _, _ = env.step(answers[-1])
    return answers


def test_whole_answers_pass_a_task() -> None:
    answers = right_answers("micro5.7", "micro4")
    assert len(answers) == 20
    done = play("\n".join(answers) + "\n", "--tasks", "micro5.7,micro4", "--threshold", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "micro5.7, task 1 of 2: 9 of 9 answers right" in done.stdout
    assert "reward 1, so far 10; micro5.7 is passed; another task has begun" in done.stdout
    assert "micro4, task 2 of 2: 0 of 0 answers right" in done.stdout
    assert "reward 1, so far 20; all tasks are passed" in done.stdout
    assert "The episode ended with success after 20 steps; reward 20." in done.stdout


def test_the_rows_stand_below_each_other() -> None:
    """The stream: `4` is wrong after the first digit and the sign, and what else was typed is not said."""
    first = right_answers("micro5.2")[0]
    wrong = "x" if first != "x" else "y"
    done = play(f"{wrong}bc\n/q\n", "--tasks", "micro5.2")
    assert done.returncode == 0, done.stderr
    blocks = done.stdout.split("> ")
    feedback = blocks[1].splitlines()
    *question, figures = blocks[0].splitlines()[-4:]
    asked = question[0].removeprefix("Input : ")
    assert [line.rstrip() for line in question[1:]] == ["Output:", "Reward:"]
    assert figures == "micro5.2, task 1 of 1: 0 of 0 answers right"
    assert feedback[0].startswith("reward -1, so far -1; the beginning of what you typed was already the answer")
    assert feedback[2].startswith(f"Input : {asked}{first};")
    assert feedback[3] == f"Output: {wrong}  "
    assert feedback[4] == "Reward: -  "
    assert feedback[5] == "micro5.2, task 1 of 1: 0 of 1 answers right"
    assert "Stopped after 1 steps" in done.stdout


def test_spaces_and_q_are_answers() -> None:
    done = play(" q\nq\n/q\n", "--tasks", "micro4")
    assert done.returncode == 0, done.stderr
    assert "Output:  q\n" in done.stdout
    assert "Stopped after 2 steps" in done.stdout


def test_silence_and_what_is_no_byte() -> None:
    done = play("€\n\n/q\n", "--tasks", "micro4")
    assert "'€' is no byte: a character's code is at most 255" in done.stdout
    assert "Stopped after 1 steps" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tasks", "micro4"], "error: the input ended after 2 steps, before the episode did"),
        (["--tasks", "micro0"], "error: the curriculum has no 'micro0'"),
    ],
)
def test_an_end_before_the_end_and_a_wrong_task(options: list[str], told: str) -> None:
    done = play("x\nx\n", *options)
    assert done.returncode == 2
    assert told in done.stderr
