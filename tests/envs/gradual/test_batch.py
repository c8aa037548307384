"""Streams in arrays do what single streams do, byte by byte."""

import numpy as np
import pytest

from gumption.envs.gradual import all_tasks
from gumption.envs.gradual.batch import Batch
from gumption.envs.gradual.engine import Life
from gumption.envs.gradual.stream import Stream

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
        bytes_said = [said(stream, rng, skill) for stream in streams]
        going = ~batch.over
        rewards = np.zeros(size, dtype=int)
        for i in np.flatnonzero(going):
            byte, rewards[i] = streams[i].step(bytes_said[i])
            sent[i] = batch.byte[i] if streams[i].over else byte
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
    assert batch.over.any() == (skill > 0.9)


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
