"""Cases of `gumption bench`: settings, measurements, timing and display of rates, and CartPole as a yardstick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from statistics import median
from time import perf_counter
from typing import Any

from gumption.data.settings import Count, settings


@settings
class BenchSettings:
    """Settings of every case; a case with further options has a subclass, whose fields are annotated as for typer.

    :ivar repeats: how often each short timing is taken, ours and the yardstick's in turn.
    :ivar tell: called with the name of each measurement as it begins.
    """

    device: str = "cpu"
    repeats: Count = 5
    tell: Callable[[str], None] = field(default=lambda text: None, repr=False)


@dataclass(frozen=True)
class Measurement:
    """A figure: the median and best of its repeats, the yardstick's median, the ratio of the medians (above 1: faster
    for rates, slower for durations), and whether the ratio meets its target.

    :ivar section: heading of its table.
    """

    what: str
    unit: str
    median: float
    best: float
    yardstick: str
    yardstick_median: float
    ratio: float
    target: str = ""
    met: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    section: str = ""

    def cells(self) -> list[str]:
        """Return the cells of its line: name, median, best, yardstick, ratio, target, and "yes" or "no" if it has a
        target."""
        middle, best, yardstick = (amount(each, self.unit) for each in (self.median, self.best, self.yardstick_median))
        ratio, met = shown_ratio(self.ratio, self.unit), {True: "yes", False: "no", None: "-"}[self.met]
        return [self.what, middle, best, f"{self.yardstick}: {yardstick}", ratio, self.target, met]

    def as_json(self) -> dict[str, Any]:
        """Return the measurement as plain JSON, figures to six digits."""
        return {key: six_digits(value) for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Case:
    """A part of `gumption bench`.

    :ivar measure: function from an instance of `settings` to the measurements.
    :ivar settings: BenchSettings, or a subclass with the options of the case.
    :ivar title: the heading of its options in the help.
    :ivar code: folders and files whose speed is measured, relative to the package's folder: "envs/halma".
    """

    measure: Callable[[Any], Iterator[Measurement]]
    settings: type[BenchSettings] = BenchSettings
    title: str = ""
    code: tuple[str, ...] = ()


def compared(
    what: str,
    unit: str,
    ours: Sequence[float],
    yardstick: str,
    theirs: Sequence[float],
    limit: float | None = None,
    **more: Any,
) -> Measurement:
    """Compare our repeats with the repeats of a yardstick.

    :param unit: ends with "/s" if more is better.
    :param limit: target of the ratio: a minimum for rates, a maximum for durations.
    :param more: further fields of the Measurement, such as another wording of the target and whether it is met.
    """
    figure, peer, rate = median(ours), median(theirs), unit.endswith("/s")
    times = figure / peer
    if limit is not None:
        target = f"at {'least' if rate else 'most'} {shown_ratio(limit, unit)}"
        more = {"target": target, "met": times >= limit if rate else times <= limit, **more}
    return Measurement(what, unit, figure, (max if rate else min)(ours), yardstick, peer, times, **more)


def in_turn(repeats: int, *timings: Callable[[], float]) -> list[list[float]]:
    """Return the results of each timing, taken in turn, so that a busy moment of the machine affects all timings."""
    return [list(each) for each in zip(*([timing() for timing in timings] for _ in range(repeats)), strict=True)]


def rate(work: Callable[[], int], clock: Callable[[], float] = perf_counter) -> Callable[[float], float]:
    """Return a timing: a function that works for about so many seconds and returns the steps per second.

    :param work: does some steps and returns their number.
    :param clock: returns seconds; `time.process_time` for CPU time.
    """

    def play(seconds: float) -> float:
        steps, started = 0, clock()
        while (passed := clock() - started) < seconds:
            steps += work()
        return steps / passed

    return play


POLE = "one CartPole-v1, random actions"


def cart_pole(clock: Callable[[], float] = perf_counter) -> Callable[[float], float]:
    """Return the `rate` of one CartPole-v1 with random actions: the yardstick of this machine's speed."""
    import gymnasium
    import numpy as np

    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 2, size=1024).tolist()

    def episode() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    play = rate(episode, clock)
    play(0.2)  # warm-up: the first calls include imports, caches and memory
    return play


def sections(measurements: Iterable[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield each heading with its measurements, in their order."""
    for heading, group in groupby(measurements, key=lambda one: one.section):
        yield heading, list(group)


def markdown_tables(measurements: Iterable[Measurement]) -> list[str]:
    """Return lines of Markdown: the heading and the table of each section."""
    lines: list[str] = []
    for heading, group in sections(measurements):
        lines += [""] * bool(lines) + [f"**{heading}**", ""] * bool(heading)
        lines += [
            "| what | median | best | yardstick | ratio | target | met |",
            "| --- | ---: | ---: | --- | ---: | --- | --- |",
        ]
        lines += [f"| {' | '.join(one.cells())} |" for one in group]
    return lines


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit: rates whole, durations to three places, or two digits below 0.01."""
    if unit.endswith("/s"):
        return f"{value:,.0f} {unit}"
    return f"{value:,.3f} {unit}" if value >= 0.01 else f"{value:.2g} {unit}"  # never 0.000


def shown_ratio(ratio: float, unit: str) -> str:
    """Return a ratio to three digits; the ratio of a duration as 1/n if it is below 1."""
    return f"{ratio:.3g}" if unit.endswith("/s") or ratio >= 1 else f"1/{1 / ratio:.3g}"


def six_digits(value: Any) -> Any:
    """Round the numbers of JSON to six significant digits."""
    if isinstance(value, Mapping):
        return {key: six_digits(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [six_digits(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
