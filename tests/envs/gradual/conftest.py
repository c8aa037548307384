"""What tests of the byte stream share: an agent that knows the answers, and dialogues."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gumption.envs.gradual.engine import Life, Stream
from gumption.envs.gradual.task import Task
from gumption.scripts.papers.gradual.validation import known_byte

#: question, answer, feedback, and the rewards of the answer's bytes, or of the last.
Exchange = tuple[str, str, str, str]

_SIGNS = {1: "+", -1: "-", 0: " "}


@pytest.fixture(scope="session")
def knower() -> Callable[[Stream], int]:
    """The next byte of an agent that knows the answers."""
    return known_byte


@pytest.fixture(scope="session")
def rows() -> Callable[..., tuple[str, str]]:
    """Plays what an agent says: the rows of the environment's bytes and of the rewards, each under the agent's byte."""

    def play(task: Task, said: str, hidden: Mapping[str, Any], questions: Sequence[str]) -> tuple[str, str]:
        stream = Stream(Life([task], 5, 0, hidden, questions))
        heard, rewards = [stream.first()], []
        for byte in said.encode("latin-1"):
            following, reward = stream.step(byte)
            heard.append(following)
            rewards.append(_SIGNS[reward])
        return bytes(heard[: len(said)]).decode("latin-1"), "".join(rewards)

    return play


@pytest.fixture(scope="session")
def check_dialogue(rows: Callable[..., tuple[str, str]]) -> Callable[..., None]:
    """Checks question, spaces while the agent answers, feedback, next question, byte by byte."""

    def check(task: Task, exchanges: Sequence[Exchange], hidden: Mapping[str, Any] | None = None) -> None:
        heard = said = rewards = ""
        for question, answer, feedback, reward in exchanges:
            heard += question + " " * (len(answer) - 1) + feedback
            said += " " * (len(question) - 1) + answer + " " * len(feedback)
            rewards += " " * (len(question) - 1) + reward.rjust(len(answer)) + " " * len(feedback)
        assert rows(task, said, hidden or {}, [question for question, *_ in exchanges]) == (heard, rewards)

    return check
