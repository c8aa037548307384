"""Dialogues in which the agent speaks while a question is sent, or the environment while the agent answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gumption.envs.gradual import known_tasks
from gumption.envs.gradual.engine import Life, Stream

# What the instance hides, then lines of what is sent, what is said, and the rewards of what is said.
FIGURES: dict[str, tuple[Mapping[str, Any], Sequence[tuple[str, str, str]]]] = {
    "micro9.4.5s": (
        {},
        [
            ("listen for: l in: hello.",
             "                    !  .",
             "                       +"),
            ("good job! ;", "", ""),
            ("listen for: x in: hi.",
             "                    .",
             "                    +"),
            ("good job! ;", "", ""),
            ("listen for: hi in: hi.",
             "                   ! .",
             "                     -"),
            ("wrong!  !.;", "", ""),
        ],
    ),
    "micro9.4.7s": (
        {},
        [
            ("listen for all: l in: hello.",
             "                        !! .",
             "                           +"),
            ("good job! ;", "", ""),
        ],
    ),
    "world1": (
        {},
        [
            ("see: CUBE describe: object?",
             "                          C",
             ""),
            ("    yes", "UBE   !", "      +"),
            ("see: BALL describe: object?",
             "                          B",
             ""),
            ("   no BALL !;", "AL ", "  -"),
        ],
    ),
    "world2": (
        {},
        [
            ("see: CUBE LARGE GREEN ask: colour?",
             "                                 G",
             ""),
            ("     yes", "REEN   !", "       +"),
            ("see: CUBE LARGE GREEN ask: size?",
             "                               B",
             ""),
            ("   no LARGE !;", "IG ", "  -"),
        ],
    ),
    "world3": (
        {},
        [
            ("see: CUBE LARGE GREEN confirm: RED?",
             "                                  N",
             ""),
            ("  yes", "O   !", "    +"),
            ("see: CUBE LARGE GREEN confirm: CUBE?",
             "                                    ",
             "                                   -"),
            ("no YES !;", "", ""),
        ],
    ),
    "world4": (
        {},
        [
            ("see: table CUBE LARGE RED, floor BALL SMALL RED where: BALL?",
             "                                                           f",
             ""),
            ("     yes", "loor   !", "       +"),
        ],
    ),
    "world5": (
        {},
        [
            ("see: table CUBE LARGE RED, floor BALL SMALL RED count: RED?",
             "                                                          T",
             ""),
            ("   yes", "WO   !", "     +"),
        ],
    ),
    "world6": (
        {},
        [
            ("see: table CUBE LARGE RED, floor BALL SMALL RED move: CUBE shelf where: CUBE?",
             "                                                                            s",
             ""),
            ("     yes", "helf   !", "       +"),
            ("see: table CUBE LARGE RED, floor BALL SMALL RED move: CUBE shelf where: BALL?",
             "                                                                            f",
             ""),
            ("     yes", "loor   !", "       +"),
        ],
    ),
    "world7": (
        {"mapping": {"table": "CUBE LARGE GREEN"}},
        [
            ("see: table ask: size?", "                    L", ""),
            ("     yes", "ARGE   !", "       +"),
        ],
    ),
    "world8": (
        {"mapping": {"table": "CUBE LARGE GREEN"}},
        [
            ("see: table describe: object?",
             "                           C",
             ""),
            ("    yes", "UBE   L", ""),
            ("     yes", "ARGE   G", ""),
            ("     yes", "REEN   !", "       +"),
            ("see: table describe: object?",
             "                           C",
             ""),
            ("    yes", "UBE   S", ""),
            ("     no CUBE LARGE GREEN !;", "MALL ", "    -"),
            ("see: table describe: object?",
             "                           C",
             ""),
            ("    yes", "UBE   !", "      -"),
            ("no CUBE LARGE GREEN !;", "", ""),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_dialogue_in_turns(rows: Callable[..., tuple[str, str]], name: str) -> None:
    hidden, lines = FIGURES[name]
    sent = "".join(line for line, _, _ in lines)
    said, rewards = ("".join(line[part].ljust(len(line[0])) for line in lines) for part in (1, 2))
    questions = [line for line, _, _ in lines if ":" in line]
    assert rows(known_tasks()[name], said, hidden, questions) == (sent, rewards)


def test_each_task_in_turns_has_a_dialogue() -> None:
    micro = {name for name, task in known_tasks().items() if task.cycle == "micro"}
    assert FIGURES.keys() == {name for name in micro if known_tasks()[name].reply or name.endswith("s")}


def test_a_verdict_within_a_question_is_heard_behind_it(rows: Callable[..., tuple[str, str]]) -> None:
    question = "listen for: l in: hello."
    heard, rewards = rows(
        known_tasks()["micro9.4.5s"], "x" + " " * 17 + "." + " " * 14 + "x  ", {}, [question, question]
    )
    assert heard == f"{question}wrong!   !  "
    assert rewards == "-" + " " * 17 + "-" + " " * 14 + "-  "


def test_feedback_is_sent_in_full_at_the_end_of_an_instance(knower: Callable[[Stream], int]) -> None:
    stream = Stream(Life([known_tasks()["micro9.4.5s"]], 2, 0))
    sent = [stream.first()]
    while not stream.over:
        sent.append(stream.step(knower(stream))[0])
    assert re.fullmatch(rb"(listen for: [^ ]+ in: [^ ]+\.good job! ;){20} ", bytes(sent))


def test_a_question_is_sent_in_full_before_its_time_is_over() -> None:
    questions = ["listen for: x in: hi.", "listen for: l in: hello."]
    stream = Stream(Life([known_tasks()["micro9.4.5s"]], 2, 0, None, questions))
    sent = [stream.first()]
    while stream.age < 9_970:
        sent.append(stream.step(ord(" "))[0])
    sent.append(stream.step(ord("."))[0])
    assert stream.life.record.questions == 1
    while stream.life.record.instances == 1:
        sent.append(stream.step(ord(" "))[0])
    assert bytes(sent).count(b"listen for: l in: hello.") == 1
    assert stream.life.record.questions == 1
