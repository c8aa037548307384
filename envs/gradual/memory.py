"""What an agent lived through in the byte stream, in the files that `gumption.envs.memory` describes."""

import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Len

from gumption.data.settings import Whole, checked, checked_methods
from gumption.envs.memory import Layout, TransitionMemory, TransitionWriter

from .engine import Life

SCHEMA = "gumption/gradual-memory/1"
Names = Annotated[Sequence[str], Len(1, 65_536)]


@checked
def layout(tasks: Names) -> Layout:
    """The record of a step: 13 bytes.

    :param tasks: the names of the curriculum's tasks in order; `task` is an index of them.
    :raises InputError: no names, or more than `task` can count.
    """
    fields = [("sent", "u1"), ("said", "u1"), ("reward", "i1"), ("task", "<u2"), ("instance", "<u4")]
    return Layout(SCHEMA, fields, {"tasks": list(tasks)})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of a session in order. A byte that was not answered, at the end of a session, has no record.

    :ivar records: (n,) of `layout(tasks).record_type`; each field is also a property.
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the curriculum's tasks, in order."""
        return tuple(self.layout.settings["tasks"])

    @property
    def sent(self) -> np.ndarray:
        """(n,) uint8: the byte of the environment."""
        return self.records["sent"]

    @property
    def said(self) -> np.ndarray:
        """(n,) uint8: the byte that the agent replied."""
        return self.records["said"]

    @property
    def reward(self) -> np.ndarray:
        """(n,) int8: the reward of that reply. The agent gets it with the next byte."""
        return self.records["reward"]

    @property
    def task(self) -> np.ndarray:
        """(n,) uint16 index of the running task in `tasks`."""
        return self.records["task"]

    @property
    def instance(self) -> np.ndarray:
        """(n,) uint32 number of the running instance in its task, from 0."""
        return self.records["instance"]

    def instances(self) -> list[range]:
        """The records of each instance, in order."""
        changes = (np.diff(self.task) != 0) | (np.diff(self.instance) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(self)]
        return [range(begin, end) for begin, end in pairwise(edges) if begin < end]


@checked_methods
class MemoryWriter(TransitionWriter):
    """Appends steps to the memory of a session: `append(sent, said, reward, task, instance)`.

    A `Session` that gets one writes its steps to it. Close it after the session.
    """

    def __init__(self, folder: str | os.PathLike[str], tasks: Names, *, keep: Whole | None = None) -> None:
        """As `TransitionWriter`, for the curriculum of the tasks with these names."""
        super().__init__(folder, layout(tasks), keep=keep)


class Recorder:
    """Gathers the steps of a session and appends them to its memory an instance at a time.

    :ivar sent, said, reward: of the steps of the running instance that were not appended yet; one of each a step.
    """

    def __init__(self, writer: MemoryWriter, life: Life) -> None:
        self._writer, self._life = writer, life
        self.sent, self.said, self.reward = bytearray(), bytearray(), array("b")
        self._look()

    def store(self) -> None:
        """Append what was gathered. To be called when an instance has begun, and at the end."""
        count = len(self.reward)
        sent, said = (np.frombuffer(bytes(column[:count]), dtype=np.uint8) for column in (self.sent, self.said))
        reward = np.array(self.reward, dtype=np.int8)
        task, instance = np.full(count, self._task), np.full(count, self._instance)
        for column in (self.sent, self.said, self.reward):
            del column[:]
        self._writer.append(sent, said, reward, task, instance)
        self._look()

    def write(self) -> None:
        """Hand all steps to the system, so that a crash of the program does not cost them."""
        self.store()
        self._writer.write()

    def _look(self) -> None:
        self._task, self._instance = len(self._life.records) - 1, self._life.record.instances - 1
