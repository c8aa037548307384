"""Run a session: an agent of this process plays tasks in a stream; and record its steps in a memory."""

import os
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from time import monotonic
from typing import Annotated, Any, TypeAlias

import numpy as np
from annotated_types import Len

from gumption.data import InputError
from gumption.data.settings import Count, Seconds, Seed, Whole, checked, checked_methods, shown
from gumption.envs.memory import Field, Layout, TransitionMemory, TransitionWriter

from .engine import Life, Stream, TaskRecord
from .task import Task

# ---- The memory of a session, in the file format of `gumption.envs.memory`.

SCHEMA = "gumption/gradual-memory/1"
Names = Annotated[Sequence[str], Len(1, 65_536)]


@checked
def layout(tasks: Names) -> Layout:
    """Return the layout of a step's record, 13 bytes; its `task` is an index into these names.

    :raises InputError: no names, or more than fit in `task`.
    """
    fields = [("sent", "u1"), ("said", "u1"), ("reward", "i1"), ("task", "<u2"), ("instance", "<u4")]
    return Layout(SCHEMA, fields, {"tasks": list(tasks)})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """Hold the steps of a session in order; the last byte of a session has no reply, and so no record.

    :ivar records: (n,) of `layout(tasks).record_type`; each field is also a property.
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the names of the curriculum's tasks, in order."""
        return tuple(self.layout.settings["tasks"])

    sent = Field("(n,) uint8: the byte of the environment.")
    said = Field("(n,) uint8: the byte that the agent replied.")
    reward = Field("(n,) int8: the reward of that reply. The agent gets it with the next byte.")
    task = Field("(n,) uint16 index of the running task in `tasks`.")
    instance = Field("(n,) uint32 number of the running instance in its task, from 0.")

    def instances(self) -> list[range]:
        """Return the range of records of each instance, in order."""
        changes = (np.diff(self.task) != 0) | (np.diff(self.instance) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(self)]
        return [range(begin, end) for begin, end in pairwise(edges) if begin < end]


@checked_methods
class MemoryWriter(TransitionWriter):
    """Write the transitions of a session of tasks with these names. Pass it to the `Session`, and close it later."""

    def __init__(self, folder: str | os.PathLike[str], tasks: Names, *, keep: Whole | None = None) -> None:
        super().__init__(folder, layout(tasks), keep=keep)


class StepRecorder:
    """Collect the steps of an instance, an entry of `sent`, `said` and `reward` each, and append them to a memory."""

    def __init__(self, writer: MemoryWriter, life: Life) -> None:
        self._writer, self._life = writer, life
        self.sent, self.said, self.reward = bytearray(), bytearray(), array("b")
        self._look()

    def store(self) -> None:
        """Append the collected steps. Call it when an instance has begun, and at the end."""
        count = len(self.reward)
        sent, said = (np.frombuffer(bytes(column[:count]), dtype=np.uint8) for column in (self.sent, self.said))
        reward = np.array(self.reward, dtype=np.int8)
        task, instance = np.full(count, self._task), np.full(count, self._instance)
        for column in (self.sent, self.said, self.reward):
            del column[:]
        self._writer.append(sent, said, reward, task, instance)
        self._look()

    def write(self) -> None:
        """Pass all steps to the operating system, so that they survive a crash of the program."""
        self.store()
        self._writer.write()

    def _look(self) -> None:
        self._task, self._instance = len(self._life.records) - 1, self._life.record.instances - 1


#: Maps a reward and a byte to the reply, a byte.
Agent: TypeAlias = Callable[[int, int], int]

_BETWEEN = 4_096  # steps between checks of the clock


@checked_methods
@dataclass(frozen=True)
class Result:
    """Hold the result of a session.

    :ivar steps: bytes of the environment; they rank entrants. :ivar reward: the sum.
    :ivar tasks: statistics of each task that began, in order.
    :ivar ended: why it ended: "solved", "steps", "seconds" or "agent"; or the argument of `Session.so_far`.
    :ivar error: the fault of the agent.
    """

    steps: int
    reward: int
    tasks: tuple[TaskRecord, ...]
    ended: str
    error: str | None = None

    @property
    def solved(self) -> bool:
        """Return whether the agent passed all tasks."""
        return self.ended == "solved"

    def figures(self) -> dict[str, Any]:
        """Return the result as JSON, with the average reward per step."""
        tasks = [{**asdict(task), "average_reward": task.reward / max(task.steps, 1)} for task in self.tasks]
        return {
            "steps": self.steps, "reward": self.reward, "average_reward": self.reward / max(self.steps, 1),
            "ended": self.ended, "error": self.error, "tasks": tasks,
        }  # fmt: skip


@checked_methods
class Session:
    """Let an agent play a sequence of tasks, in a single stream without marks."""

    def __init__(
        self,
        tasks: Sequence[Task],
        agent: Agent,
        *,
        success_threshold: Count = 5,
        seed: Seed = 0,
        max_steps: Count | None = None,
        max_seconds: Seconds | None = None,
        watch: Callable[[int, Sequence[TaskRecord]], None] | None = None,
        memory: MemoryWriter | None = None,
    ) -> None:
        """
        :param agent: maps the reward and the byte to its reply, a byte.
        :param success_threshold: solved instances in a row that end a task.
        :param max_steps, max_seconds: limits; the challenge's limit was 24 hours.
        :param watch: called with the steps and the statistics of the tasks, every 4,096 steps and at the end.
        :param memory: stores a record of each step; a crash of the program loses at most the last 4,096 steps.
        :raises InputError: no task.
        """  # fmt: skip
        if not tasks:
            raise InputError("a session has at least one task")
        self._agent, self._max_steps, self._max_seconds, self._watch = agent, max_steps, max_seconds, watch
        self.stream = Stream(Life(tasks, success_threshold, seed))
        self._recorder = None if memory is None else StepRecorder(memory, self.stream.life)

    def run(self) -> Result:
        """Play to the end. A reply that is not a byte, or an InputError of the agent, also ends the session."""
        try:
            return self._play()
        finally:
            if self._recorder is not None:
                self._recorder.write()

    def _play(self) -> Result:
        stream, agent, step, recorder = self.stream, self._agent, self.stream.step, self._recorder
        limit = self._max_steps
        started = monotonic()
        byte, reward, steps = stream.first(), 0, 1
        error, ended = None, "steps"
        pause = _BETWEEN  # steps at which to check the clock
        while steps != limit:
            try:
                said = agent(reward, byte)
                if type(said) is not int or not 0 <= said <= 255:
                    raise InputError(f"the agent said {shown(said)}: it has to be a byte, a whole number from 0 to 255")
                answered, (byte, reward) = byte, step(said)
            except InputError as problem:
                error, ended = str(problem), "agent"
                break
            if recorder is not None:
                recorder.sent.append(answered)
                recorder.said.append(said)
                recorder.reward.append(reward)
                if stream.age == 1:  # the first byte of an instance
                    recorder.store()
            if stream.over:
                ended = "solved"
                break
            steps += 1
            if steps == pause:
                pause += _BETWEEN
                if recorder is not None:
                    recorder.write()
                if self._watch is not None:
                    stream.settle()
                    self._watch(steps, stream.life.records)
                if self._max_seconds is not None and monotonic() - started > self._max_seconds:
                    ended = "seconds"
                    break
        return self._result(steps, ended, error)

    def so_far(self, ended: str = "running") -> Result:
        """Return the result while the session runs, or after an exception."""
        self.stream.settle()
        return self._result(sum(record.steps for record in self.stream.life.records), ended, None)

    def _result(self, steps: int, ended: str, error: str | None) -> Result:
        stream = self.stream
        stream.settle()
        records = tuple(stream.life.records)
        if self._watch is not None:
            self._watch(steps, records)
        return Result(steps, sum(record.reward for record in records), records, ended, error)
