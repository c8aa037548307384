"""A single stream, byte by byte.

Texts are Latin-1: one character a byte. The environment speaks first; each reply is judged before the next byte leaves.
"""

from collections.abc import Mapping
from typing import Any

from .engine import Life
from .task import Task

SPACE, FULL_STOP = ord(" "), ord(".")


class Stream:
    """One stream of bytes and rewards.

    :ivar life: its schedule and the running instance.
    :ivar over: whether the last task has been passed.
    :ivar text: what the stream says; :ivar position: bytes of it that have been sent; :ivar turn: so many bytes of it
        have been sent when the agent may answer.
    :ivar age: bytes that the instance has sent. :ivar heard: the answer so far.
    """

    __slots__ = (
        "_counted", "_limit", "_mini", "_plain", "_waited", "age", "heard", "life", "over", "position", "text", "turn",
    )  # fmt: skip

    def __init__(self, life: Life) -> None:
        self.life = life
        self.over = False
        self._start(life.begin())

    def state(self) -> dict[str, Any]:
        """All that `restored` needs, as JSON takes it."""
        self.settle()
        return {
            "life": self.life.state(), "over": self.over, "text": self.text.decode("latin-1"), "age": self.age,
            "position": self.position, "heard": self.heard.decode("latin-1"), "waited": self._waited,
        }  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> "Stream":
        """The stream of a state; `tasks` by name."""
        stream = cls.__new__(cls)
        stream.life = Life.restored(state["life"], tasks, threshold)
        stream._start(state["text"])
        stream.over, stream._waited = state["over"], state["waited"]
        stream.age = stream._counted = state["age"]
        stream.position, stream.heard = state["position"], bytearray(state["heard"].encode("latin-1"))
        return stream

    @property
    def talk_end(self) -> int:
        """Behind the last byte of the text that is no space, but for those at which the agent may answer."""
        return len(self.text[: self.turn].rstrip(b" "))

    @property
    def talking(self) -> bool:
        """Whether more than spaces is still to be sent, so that speaking is out of turn."""
        return self.position < self.talk_end

    @property
    def listening(self) -> bool:
        """Whether a byte said now is part of an answer."""
        return self.position >= self.turn and not self.life.ended

    def first(self) -> int:
        """The first byte; its reward is 0."""
        return self._send()

    def step(self, said: int) -> tuple[int, int]:
        """Judge the byte that the agent said: the next byte, and the reward.

        When the last task has been passed, `over` is true, and the byte is a space that belongs to no task.
        """
        if self._mini:
            reward = self._mini_step(said)
        elif self.position >= self.turn:
            reward = self._micro_step(said)
        elif said == SPACE or not self.talking:  # while only spaces are left, it is nobody's turn
            reward = 0
        else:
            reward = -1
            self.life.spoke()
        return (SPACE if self.over else self._send()), reward

    def hear(self, said: int) -> int:
        """Judge a byte that may be part of an answer: its reward."""
        return self._mini_step(said) if self._mini else self._micro_step(said)

    def settle(self) -> None:
        """Count the steps of the running instance, which else is done at its end."""
        self.life.record.steps += self.age - self._counted
        self._counted = self.age

    def _send(self) -> int:
        self.age += 1
        position = self.position
        if position < len(self.text):
            self.position = position + 1
            return self.text[position]
        return SPACE

    def _start(self, text: str) -> None:
        """A new instance begins with this text."""
        task = self.life.task
        self._mini, self._limit = task.cycle == "mini", task.step_limit
        self._plain = task.letters == "end" and not task.reply
        self.age = self._counted = self.position = 0
        self.text = b""
        self._waited = False
        self.heard = bytearray()
        self._say(text)

    def _say(self, text: str) -> None:
        """Put a text behind what is still to be sent."""
        coming = text.encode("latin-1")
        if self.position < len(self.text):
            coming = self.text[self.position :] + coming
        self.text = coming
        self.position = 0
        self.turn = len(coming) - self.life.tail

    def _switch(self) -> None:
        self.settle()
        text = self.life.switch()
        if text is None:
            self.over = True
        else:
            self._start(text)

    def _micro_step(self, said: int) -> int:
        """Judge a byte that comes when the agent may answer."""
        life, heard = self.life, self.heard
        if life.ended:  # the byte is not even looked at
            self._switch()
            return 0
        if self.age >= self._limit and self.position >= len(self.text):
            life.fail()
        heard.append(said)
        reward = 0
        if self._plain and life.needed:
            complete = len(heard) >= life.needed or (said == FULL_STOP and life.task.early_stop)
        else:
            complete = said == FULL_STOP if self._plain else self._is_complete(said)
        if complete:
            right, text = life.verdict(heard.decode("latin-1"))
            reward = 1 if right else -1
            heard.clear()
            self._say(text)
        elif life.task.reply and said == SPACE:
            self._say(life.task.reply)
        elif life.task.letters == "each":
            reward = 1
        life.record.reward += reward
        if life.ended and self.position >= len(self.text):
            self._switch()
        return reward

    def _is_complete(self, said: int) -> bool:
        """Whether an answer that has parts, or whose bytes are judged one by one, ends with this byte."""
        life, number = self.life, len(self.heard)
        if life.task.reply:
            expected = life.solution.answer.encode("latin-1")
            return said == expected[-1] or (said == SPACE and not expected.startswith(self.heard))
        expected = life.solution.answer
        return number == len(expected) or said != ord(expected[number - 1])

    def _mini_step(self, said: int) -> int:
        """Judge a byte of a mini-task: letters said out of turn become spaces, a full stop is always a verdict."""
        life, heard = self.life, self.heard
        if self.position >= len(self.text):
            if life.ended and not self._waited:
                self._waited = True
                return 0
            if life.ended:
                reward = int(life.success)
                life.record.reward += reward
                self._switch()
                return reward
            if self.age >= self._limit:
                self._say(life.fail())
        heard.append(said)
        if said == FULL_STOP:
            self._say(life.declare(heard.endswith(life.solution.answer.encode("latin-1"))))
        if said != SPACE and self.position < self.talk_end:
            heard[-1] = SPACE
        return 0
