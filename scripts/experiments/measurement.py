"""What a bench case yields, what it is told, how its figures are shown, and the yardstick of environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from time import perf_counter
from typing import Any


def _silent(text: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class BenchSettings:
    """What the cases run on. `repeats`: how often each timing is taken, ours and the yardstick's in turn.

    :ivar wn18rr: folder with train.txt, valid.txt and test.txt, for the ranking of the case kg.
    :ivar triples: facts in each store of the case kg.
    :ivar epochs: of a training of the case kg.
    :ivar halma_envs, halma_episodes, halma_slice: of the case halma: environments, episodes of the memory that
        tests are made for, and of the training that is measured.
    :ivar halma_agents: of the case halma: agents whose whole training is measured too, which takes minutes each.
    :ivar tell: is told what is being measured.
    """

    recipe_book: str = "commonsense"
    word_vectors: str | None = None
    device: str = "cpu"
    repeats: int = 5
    total_steps: int = 3_000_000
    num_envs: int = 4096
    wn18rr: str | None = None
    triples: int = 500_000
    epochs: int = 30
    halma_envs: int = 1024
    halma_episodes: int = 2_000
    halma_slice: int = 64
    halma_agents: tuple[str, ...] = ()
    tell: Callable[[str], None] = field(default=_silent, repr=False)


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


class CartPoleRandom:
    """Plays one CartPole-v1 at random; the yardstick of this machine's speed."""

    def __init__(self) -> None:
        import gymnasium
        import numpy as np

        self.env = gymnasium.make("CartPole-v1")
        self.env.reset(seed=0)
        self.actions = np.random.default_rng(0).integers(0, 2, size=1024).tolist()

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds."""
        env, steps = self.env, 0
        started = perf_counter()
        while (passed := perf_counter() - started) < seconds:
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
    """A figure with its unit: rates whole, durations to three places."""
    return f"{value:,.0f} {unit}" if unit.endswith("/s") else f"{value:,.3f} {unit}"


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
