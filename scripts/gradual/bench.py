"""Gradual in `gumption bench`: one stream, and many in arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gumption.data.settings import Count, settings
from gumption.scripts.measurement import BenchSettings, CartPoleRandom, Case, Measurement

POLE = "one CartPole-v1, random actions"
ONE, MANY = 500_000, 10_000_000  # steps a second to reach
SECONDS = 0.5
#: Tasks that differ in how many bytes there are between two verdicts.
TASKS = ("micro1", "micro5.1", "micro5.18", "micro7.2", "micro20", "mini1")


@settings
class Settings(BenchSettings):
    """What the case runs on.

    :ivar streams: of the batch.
    """

    streams: Count = 4096


def gradual_case(settings: Settings) -> Iterator[Measurement]:
    """A silent agent in one stream of several tasks, and a table agent in many streams."""
    from gumption.envs.gradual import all_tasks

    pole = CartPoleRandom()
    pole(0.2)
    for name in TASKS:
        settings.tell(f"one stream of {name}")
        stream = one_stream([all_tasks()[name]])
        yield _rates(f"Gradual, one stream of {name}, silent agent", stream, pole, settings.repeats, ONE)
    for name in TASKS:
        settings.tell(f"{settings.streams:,} streams of {name}")
        batch = many_streams([all_tasks()[name]], settings.streams)
        yield _rates(
            f"Gradual, batch of {settings.streams:,} streams of {name}, table agent",
            batch,
            pole,
            settings.repeats,
            MANY,
        )


CASES = {"gradual": Case(gradual_case, Settings, "Gradual")}


def one_stream(tasks: Any) -> Callable[[float], float]:
    """Steps a second of a silent agent in a `Session` of so many seconds."""
    from gumption.agents.gradual.baselines import Silent
    from gumption.envs.gradual import Session

    def play(seconds: float) -> float:
        steps, started = 0, perf_counter()
        while (taken := perf_counter() - started) < seconds:
            steps += Session(tasks, Silent(), success_threshold=10**9, max_steps=50_000).run().steps
        return steps / taken

    return play


def many_streams(tasks: Any, streams: int) -> Callable[[float], float]:
    """Steps a second of an agent with a table of replies, one row a stream, which learns from each reward."""
    from gumption.envs.gradual.batch import Batch
    from gumption.envs.gradual.engine import Life

    batch = Batch(streams)
    batch.begin(range(streams), [Life(tasks, 10**9, seed) for seed in range(streams)])
    replies = np.full((streams, 256), ord(" "), dtype=np.uint8)
    each = np.arange(streams)
    heard = batch.byte

    def play(seconds: float) -> float:
        nonlocal heard
        steps, started = 0, perf_counter()
        while (taken := perf_counter() - started) < seconds:
            for _ in range(20):
                heard = batch.byte
                batch.step(replies[each, heard])
                wrong = np.flatnonzero(batch.reward < 0)
                replies[wrong, heard[wrong]] += 1
            steps += 20 * streams
        return steps / taken

    return play


def _rates(what: str, play: Callable[[float], float], pole: CartPoleRandom, repeats: int, target: int) -> Measurement:
    play(0.1)  # first calls pay for imports, caches and memory
    pairs = [(play(SECONDS), pole(SECONDS)) for _ in range(repeats)]
    rate, yardstick = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    return Measurement(
        what, "steps/s", rate, max(pair[0] for pair in pairs), POLE, yardstick, rate / yardstick,
        f"{target:,} steps/s", rate >= target,
    )  # fmt: skip
