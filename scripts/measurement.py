"""What a bench case yields, what it is told, how its figures are shown, and the yardstick of environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from time import perf_counter
from typing import Any

from gumption.data.settings import Count, settings


def _silent(text: str) -> None:
    """Nobody is told."""


@settings
class BenchSettings:
    """What every case runs on; a case with options of its own has them in a subclass, annotated as typer's are.

    :ivar repeats: how often each short timing is taken, ours and the yardstick's in turn.
    :ivar tell: is told what is being measured.
    """

    device: str = "cpu"
    repeats: Count = 5
    tell: Callable[[str], None] = field(default=_silent, repr=False)

    @property
    def alone(self) -> bool:
        """Whether the cases beside the one with these settings are left out."""
        return False


@dataclass(frozen=True)
class Measurement:
    """One figure: the median and best of its repeats, the yardstick's median, their ratio (how many times better than
    the yardstick for rates, how many times as long for durations), and whether the target is met.

    :ivar section: heading of the table that it belongs in.
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

    def as_json(self) -> dict[str, Any]:
        """The measurement as plain JSON, figures to six digits."""
        return {key: _six_digits(value) for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Case:
    """Something that `gumption bench` measures.

    :ivar measure: yields the measurements, given an instance of `settings`.
    :ivar settings: BenchSettings, or a subclass with the options of the case.
    :ivar title: whose options these are: a heading of the help.
    :ivar beside: the name of a case that is asked for together with this one.
    """

    measure: Callable[[Any], Iterator[Measurement]]
    settings: type[BenchSettings] = BenchSettings
    title: str = ""
    beside: str | None = None


class CartPoleRandom:
    """Plays one CartPole-v1 at random; the yardstick of this machine's speed."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        """:param clock: counts seconds; `time.process_time` for those of CPU time."""
        import gymnasium
        import numpy as np

        self._clock = clock
        self.env = gymnasium.make("CartPole-v1")
        self.env.reset(seed=0)
        self.actions = np.random.default_rng(0).integers(0, 2, size=1024).tolist()

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds."""
        env, steps, clock = self.env, 0, self._clock
        started = clock()
        while (passed := clock() - started) < seconds:
            for action in self.actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
            steps += len(self.actions)
        return steps / passed


def sections(measurements: Iterable[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Each heading with its measurements, in their order."""
    for heading, group in groupby(measurements, key=lambda one: one.section):
        yield heading, list(group)


def markdown_tables(measurements: Iterable[Measurement]) -> list[str]:
    """Lines of Markdown: for each section its heading and its table."""
    lines: list[str] = []
    for heading, group in sections(measurements):
        lines += [""] * bool(lines) + [f"**{heading}**", ""] * bool(heading)
        lines += [
            "| what | median | best | yardstick | ratio | target | met |",
            "| --- | ---: | ---: | --- | ---: | --- | --- |",
        ]
        for one in group:
            cells = [one.what, amount(one.median, one.unit), amount(one.best, one.unit)]
            cells += [f"{one.yardstick}: {amount(one.yardstick_median, one.unit)}", ratio(one), one.target]
            lines.append("| " + " | ".join([*cells, verdict(one)]) + " |")
    return lines


def amount(value: float, unit: str) -> str:
    """A figure with its unit: rates whole, durations to three places, or two digits where they are shorter."""
    if unit.endswith("/s"):
        return f"{value:,.0f} {unit}"
    return f"{value:,.3f} {unit}" if value >= 0.01 else f"{value:.2g} {unit}"  # 0.000 s tells nothing


def ratio(one: Measurement) -> str:
    """The ratio to three digits; a duration that is a fraction of the yardstick's as 1/n."""
    if one.unit.endswith("/s") or one.ratio >= 1:
        return f"{one.ratio:.3g}"
    return f"1/{1 / one.ratio:.3g}"


def verdict(one: Measurement) -> str:
    """Whether the target is met, in a word."""
    return {True: "yes", False: "no", None: "-"}[one.met]


def _six_digits(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _six_digits(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_six_digits(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
