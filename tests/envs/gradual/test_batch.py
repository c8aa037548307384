"""Streams in arrays do what single streams do, byte by byte."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from gumption.envs.gradual import Rules, Solution, Task, all_tasks, stateless
from gumption.envs.gradual.batch import Batch
from gumption.envs.gradual.engine import Life, Stream
from gumption.envs.gradual.task import Deal, OptionsLeft

TASKS = list(all_tasks().values())
SPACE, STOP = ord(" "), ord(".")


def life(i: int) -> Life:
    """Five tasks of the curriculum, one success each."""
    return Life([TASKS[(i + place) % len(TASKS)] for place in range(5)], 1, i)


def said(stream: Stream, rng: np.random.Generator, skill: float) -> int:
    """Mostly the right byte, else silence, a full stop or something else at any time."""
    if stream.listening and rng.random() < skill:
        answer, number = stream.life.solution.answer, len(stream.heard)
        return ord(answer[number]) if number < len(answer) else STOP
    return int(rng.choice([SPACE, SPACE, SPACE, STOP, ord("a"), ord("1")]))


@pytest.mark.parametrize("skill", [0.99, 0.9, 0.3])
def test_a_batch_is_many_streams(skill: float) -> None:
    size = 2 * len(TASKS)
    rng = np.random.default_rng(0)
    batch = Batch(size)
    batch.begin(range(size), [life(i) for i in range(size)])
    streams = [Stream(life(i)) for i in range(size)]
    sent = np.array([stream.first() for stream in streams])
    for _ in range(1_200):
        assert np.array_equal(sent, batch.byte)
        # Half of them speak only when it is their turn.
        bytes_said = [
            said(stream, rng, skill) if i % 2 or stream.listening else SPACE for i, stream in enumerate(streams)
        ]
        going = ~batch.over
        rewards = np.zeros(size, dtype=int)
        for i in np.flatnonzero(going):
            sent[i], rewards[i] = streams[i].step(bytes_said[i])
        listening = [not stream.over and stream.listening for stream in streams]
        batch.step(np.array(bytes_said, dtype=np.uint8), None if going.all() else ~going)
        assert np.array_equal(rewards, batch.reward)
        assert [stream.over for stream in streams] == batch.over.tolist()
        assert listening == (batch.listening() & ~batch.over).tolist()
    batch.settle()
    for stream, other in zip(streams, batch.streams, strict=True):
        assert other is not None
        stream.settle()
        assert stream.life.records == other.life.records
    assert batch.over.any() == (skill > 0.5)


def test_the_bytes_of_a_step_stay_what_they_were() -> None:
    batch = Batch(1)
    batch.begin([0], [Life([all_tasks()["micro7.2"]], 1, 0)])
    first = batch.byte
    batch.step(np.full(1, SPACE, dtype=np.uint8))
    assert (bytes(first), bytes(batch.byte)) == (b"s", b"a")


def test_a_column_can_begin_again() -> None:
    batch = Batch(2)
    batch.begin([0, 1], [life(0), life(1)])
    for _ in range(50):
        batch.step(np.full(2, SPACE, dtype=np.uint8))
    batch.begin([1], [life(7)])
    fresh = Stream(life(7))
    assert batch.byte[1] == fresh.first()
    for _ in range(50):
        batch.step(np.full(2, SPACE, dtype=np.uint8))
        assert (batch.byte[1], batch.reward[1]) == fresh.step(SPACE)


def letters(hidden: Any, draw: Random) -> Iterator[str]:
    while True:
        yield draw.choice("abcd ")


def dealt(hidden: Any, draw: Random) -> Iterator[str]:
    return Deal("abcd ", draw, 2)


def fixed(name: str, questions: Any = dealt, presumption: Any = None, **solutions: Solution) -> Task:
    """A task with answers of a fixed length to "a", "b", "c", "d" and " "."""
    others = Solution("1", (), ("  ",))
    return Task(
        name, "", stateless, questions, lambda question, _: solutions.get(question, others), presumption,
        fixed_length=True,
    )  # fmt: skip


def others_draws(hidden: Any, draw: Random) -> Iterator[str]:
    return Deal("abcd ", Random(draw.getrandbits(64)), 2)


class Third:
    """A presumption that a person has written."""

    def __init__(self, hidden: Any) -> None:
        self.answers = 0

    def after(self, key: Any, right: bool) -> bool:
        self.answers += 1
        return self.answers >= 3


OTHER_RULES = all_tasks(Rules(early_stop=True, adaptive_stop=True))
JUDGED = [task for task in TASKS if task.fixed_length] + [
    *(replace(OTHER_RULES[name], name=f"{name}, other rules") for name in ("micro5.5", "micro5.6", "micro5.18")),
    fixed("drawn", a=Solution("2", ("x", "y"), ("z",)), b=Solution("3", ("x", "y"), ("z", "w"))),
    fixed("noisy", a=Solution("2", (";",), (";",), noise=(0, 3)), b=Solution("3", ("x",), ("z",), noise=(14, 20))),
    fixed("long", a=Solution("2" * 17, ("x",), ("z" * 16,)), b=Solution("3" * 16, ("y" * 300,), ("z" * 30,))),
    fixed("spaces", a=Solution("2 ", (" ",), ("   ",)), b=Solution(" ", ("x ",), ("",))),
    fixed("space", **{" ": Solution("1", ("x ",), (" y  ",)), "a": Solution("1", ("x",), ("y ",))}),
    fixed("one by one", letters, a=Solution("2", ("x",), ("y",))),
    fixed("others", others_draws, a=Solution("2", ("x",), ("y",))),
    fixed("third", presumption=Third, a=Solution("2", ("x",), ("y",))),
    fixed("silent noise", a=Solution("2", (), ("y",), noise=(1,)), b=Solution("2", ("x",), ("y",), noise=(1, 2, 3))),
    fixed(
        "options",
        presumption=lambda _: OptionsLeft({"a": 3, "b": 2}, {"c": "a"}),
        a=Solution("2", key="a"),
        b=Solution("2", ("x",), ("y",), noise=(4, 16), key="b"),
        c=Solution("33", key="c"),
    ),
    fixed("patient", presumption=lambda _: OptionsLeft({"a": 2**40}), a=Solution("2", ("x",), ("y",), key="a")),
    replace(fixed("tolerant", a=Solution("2", ("x",), ("y",))), tolerance=2**40),
    fixed("any", a=Solution("22", ("x",), ("z",), accepts=lambda answer: answer[0] == "2"), b=Solution("\0")),
]


@pytest.mark.slow
@pytest.mark.parametrize("skill", [1.0, 0.97, 0.7, 0.0])
def test_arrays_judge_as_streams_do(skill: float) -> None:
    size = 2 * len(JUDGED)
    rng = np.random.default_rng(1)
    one, kept = Batch(size), Batch(size)
    one.begin(range(size), [Life([JUDGED[i // 2]], 10**9, i) for i in range(size)])
    streams = [Stream(Life([JUDGED[i // 2]], 10**9, i)) for i in range(size)]
    sent = [stream.first() for stream in streams]
    ended = 0
    for step in range(2_000):
        assert sent == one.byte.tolist()
        if step % 397 == 200:  # in the middle of questions that are drawn ahead
            kept.restore(one.state(), {task.name: task for task in JUDGED}, 10**9)
            one = kept
        if step % 100 == 50:
            assert one.questions() == [stream.life.question for stream in streams]
            assert one.life(3).question == streams[3].life.question
        # Half of them speak only when it is their turn.
        heard = [said(stream, rng, skill) if i % 2 or stream.listening else SPACE for i, stream in enumerate(streams)]
        sent, rewards = zip(*(stream.step(byte) for stream, byte in zip(streams, heard, strict=True)), strict=True)
        sent = list(sent)
        one.step(np.array(heard, dtype=np.uint8))
        assert list(rewards) == one.reward.tolist()
        assert [stream.listening for stream in streams] == one.listening().tolist()
    one.settle()
    for stream, other in zip(streams, one.streams, strict=True):
        assert other is not None
        stream.settle()
        assert stream.life.records == other.life.records
        ended += stream.life.record.instances - 1
    assert ended > size / 2


@pytest.mark.parametrize("task", [task for task in TASKS if task.fixed_length], ids=lambda task: task.name)
def test_arrays_judge_without_asking_the_task(task: Task) -> None:
    asked: list[str] = []

    def solve(question: str, hidden: Any) -> Solution:
        asked.append(question)
        return task.solve(question, hidden)

    batch = Batch(1)
    batch.begin([0], [Life([replace(task, solve=solve)], 5, 0)])
    before = len(asked)
    for _ in range(60):  # no instance ends before its 51st question
        batch.step(np.full(1, SPACE, dtype=np.uint8))
    assert len(asked) == before
    assert batch.life(0).asked > 0


def test_an_instance_without_limits_times_out_in_arrays_too() -> None:
    task = Task(
        "unlimited", "", stateless, dealt, lambda question, _: Solution("123"), lambda _: OptionsLeft({"never": 2}),
        fixed_length=True,
    )  # fmt: skip
    batch, stream = Batch(1), Stream(Life([task], 5, 0))
    batch.begin([0], [Life([task], 5, 0)])
    stream.first()
    for _ in range(10_100):
        batch.step(np.full(1, SPACE, dtype=np.uint8))
        assert stream.step(SPACE) == (batch.byte[0], batch.reward[0])
    assert stream.life.record.instances == batch.life(0).record.instances == 2
