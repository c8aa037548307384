"""Gradual in `gumption bench`: one stream, and many in arrays, in seconds of CPU time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean, median
from time import process_time

import numpy as np

from gumption.data.settings import Count, settings
from gumption.scripts.measurement import BenchSettings, CartPoleRandom, Case, Measurement

POLE = "one CartPole-v1 on one core, random actions"
ONE, MANY = 500_000, 10_000_000  # steps a second to reach
SECONDS = 0.5
CORES = 2
#: Tasks that differ in how many bytes there are between two verdicts: from one at each byte to hardly any.
TASKS = ("micro1", "micro5.1", "micro5.18", "micro7.2", "micro20", "mini1")
MIX = "all 46 tasks"


@settings
class Settings(BenchSettings):
    """What the case runs on.

    :ivar streams: of the batch.
    """

    streams: Count = 4096


def gradual_case(settings: Settings) -> Iterator[Measurement]:
    """A silent agent in one stream of several tasks, a table agent in many streams, and agents of their own processes.

    :raises InputError: the extra `remote` is not installed.
    """
    from .bench_remote import remote_measurements

    pole = CartPoleRandom(process_time)
    pole(0.2)
    for name in TASKS:
        settings.tell(f"one stream of {name}")
        play = one_stream(name)
        play(SECONDS)  # first calls pay for imports, caches and memory
        pairs = [(play(SECONDS), pole(SECONDS)) for _ in range(settings.repeats)]
        yield _measurement(f"Gradual, one stream of {name}, silent agent", pairs, ONE)
    with ProcessPoolExecutor(CORES, get_context("spawn")) as processes:
        for name in (*TASKS, MIX):
            settings.tell(f"{settings.streams:,} streams of {name}")
            parts = np.array_split(np.arange(settings.streams), CORES)
            played = processes.map(
                rates_of_many, [name] * CORES, map(np.ndarray.tolist, parts), [settings.repeats] * CORES
            )
            halves = zip(*played, strict=True)
            pairs = [(sum(rate for rate, _ in both), fmean(pole for _, pole in both)) for both in halves]
            what = f"Gradual, batch of {settings.streams:,} streams of {name} in halves on {CORES} cores, table agent"
            yield _measurement(what, pairs, MANY)
    yield from remote_measurements(settings)


CASES = {"gradual": Case(gradual_case, Settings, "Gradual")}


def one_stream(name: str) -> Callable[[float], float]:
    """Steps a second of CPU time of a silent agent in a `Session` of a task, of so many seconds."""
    from gumption.agents.gradual.baselines import Silent
    from gumption.envs.gradual import Session, of_names

    tasks = of_names([name]).tasks

    def play(seconds: float) -> float:
        steps, started = 0, process_time()
        while (taken := process_time() - started) < seconds:
            steps += Session(tasks, Silent(), success_threshold=10**9, max_steps=50_000).run().steps
        return steps / taken

    return play


def rates_of_many(name: str, seeds: Sequence[int], repeats: int) -> list[tuple[float, float]]:
    """Steps a second of CPU time of an agent in streams with these seeds, each beside the yardstick. The agent has a
    table of replies, one row a stream, and learns from each reward.

    :param name: of a task, or `MIX`, where the streams are spread over all tasks.
    """
    from gumption.envs.gradual import all_tasks
    from gumption.envs.gradual.batch import Batch
    from gumption.envs.gradual.engine import Life

    tasks = list(all_tasks().values()) if name == MIX else [all_tasks()[name]]
    batch = Batch(len(seeds))
    batch.begin(range(len(seeds)), [Life([tasks[seed % len(tasks)]], 10**9, seed) for seed in seeds])
    replies = np.full((len(seeds), 256), ord(" "), dtype=np.uint8)
    each = np.arange(len(seeds))

    def play(seconds: float) -> float:
        steps, started = 0, process_time()
        while (taken := process_time() - started) < seconds:
            for _ in range(20):
                heard = batch.byte
                batch.step(replies[each, heard])
                wrong = np.flatnonzero(batch.reward < 0)
                replies[wrong, heard[wrong]] += 1
            steps += 20 * len(seeds)
        return steps / taken

    pole = CartPoleRandom(process_time)
    play(SECONDS)
    pole(0.1)
    return [(play(SECONDS), pole(SECONDS)) for _ in range(repeats)]


def _measurement(what: str, pairs: Sequence[tuple[float, float]], target: int) -> Measurement:
    rate, yardstick = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    return Measurement(
        what, "steps/s", rate, max(pair[0] for pair in pairs), POLE, yardstick, rate / yardstick,
        f"{target:,} steps/s", rate >= target,
    )  # fmt: skip
