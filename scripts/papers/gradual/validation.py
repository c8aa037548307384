"""Find agents by name, including baselines; and test the challenge's criteria 2 and 3, over chains of tasks: gradual
learning and forgetting.

An agent learns gradually if it solves a task in fewer steps after its prerequisites than without them. It has forgotten
a task if, after other tasks, it again needs about as many steps as an agent that never had the task. Each run of either
kind begins with a fresh agent of the same saved state; seeds draw the instances. Prerequisites are played in several
orders.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from math import factorial
from pathlib import Path
from random import Random
from statistics import median
from types import FunctionType
from typing import Any, Literal, Self

import numpy as np

from gumption.agents.statistics import Estimate, bootstrapped
from gumption.data import InputError
from gumption.data.modules import failure, of_module
from gumption.data.settings import Count, Seed, checked, unknown
from gumption.envs.gradual.curriculum import Curriculum, find_task, known_tasks
from gumption.envs.gradual.engine import SPACE, Stream
from gumption.envs.gradual.session import Agent, Result, Session
from gumption.envs.gradual.task import Task
from gumption.envs.gradual.variations import Variation

#: Makes a fresh agent, in its saved state, from a seed.
MakeAgent = Callable[[int], Agent]


def silent(reward: int, byte: int) -> int:
    """Reply with silence."""
    return SPACE


def echo(reward: int, byte: int) -> int:
    """Reply with the received byte."""
    return byte


class RandomBytes:
    """Reply with random bytes."""

    @checked
    def __init__(self, seed: Seed = 0) -> None:
        self._draw = Random(seed)

    def __call__(self, reward: int, byte: int) -> int:
        return self._draw.randrange(256)


class Table:
    """Keep a reply for each byte, and replace a punished reply by the next reply.

    Replies are tried in a fixed shuffled order, silence first, so that the agent is silent out of turn.
    """

    @checked
    def __init__(self, seed: Seed = 0) -> None:
        self._order = [byte for byte in range(256) if byte != SPACE]
        Random(seed).shuffle(self._order)
        self._order.insert(0, SPACE)
        self._place = [0] * 256
        self._last: int | None = None

    def __call__(self, reward: int, byte: int) -> int:
        if reward < 0 and self._last is not None:
            self._place[self._last] = (self._place[self._last] + 1) % 256
        self._last = byte
        return self._order[self._place[byte]]


BASELINES: dict[str, MakeAgent] = {
    "silent": lambda seed: silent,
    "echo": lambda seed: echo,
    "random": RandomBytes,
    "table": Table,
}
LEARNER = "learner"


def find_agent(name: str) -> MakeAgent:
    """Find an agent by its name on the command line: "learner", a baseline, the file of a learner's graph, the folder
    of a recurrent agent's run, or MODULE:NAME.

    :raises InputError: no such agent.
    """
    if name == LEARNER or Path(name).is_file():
        from gumption.agents.gradual.learner import GradualLearner
        from gumption.kg import KnowledgeGraph

        if name == LEARNER:
            return lambda seed: GradualLearner()
        graph = KnowledgeGraph.load(name)
        return lambda seed: GradualLearner.from_graph(graph)
    if (Path(name) / "config.json").is_file():
        from gumption.agents.gradual.recurrent import RecurrentAgent

        return RecurrentAgent.load(name)
    if ":" in name:
        return _maker_of_module(name)
    if name not in BASELINES:
        raise InputError(unknown("gumption", name, (LEARNER, *BASELINES)) + "; an agent of your own is MODULE:NAME")
    return BASELINES[name]


def _maker_of_module(place: str) -> MakeAgent:
    """Import the maker of agents at MODULE:NAME; a call raises InputError if it makes no agent."""
    make = of_module(place, "--agent")

    def made(seed: int) -> Agent:
        try:
            agent = make(seed)
            with suppress(ValueError):  # a compiled function may not state its parameters
                signature(agent).bind(0, 0)
        except (Exception, SystemExit) as error:
            what = f"--agent {place} made no agent of the seed {seed}, which is a function of (reward, byte)"
            raise failure(what, error) from error
        return OwnAgent(place, agent)

    return made


@dataclass(frozen=True)
class OwnAgent:
    """Wrap a user's agent; its exceptions become an InputError that names it."""

    place: str
    agent: Agent

    def __call__(self, reward: int, byte: int) -> int:
        try:
            return self.agent(reward, byte)
        except (Exception, SystemExit) as error:
            raise failure(f"the agent {self.place} failed, called with ({reward}, {byte})", error) from error

    def close(self) -> None:
        getattr(self.agent, "close", int)()


def known_byte(stream: Stream) -> int:
    """Return the next byte of the right answer if the agent may answer, else silence."""
    if not stream.listening:
        return SPACE
    life = stream.life
    before = len(life.question) - 1 if life.task.cycle == "mini" else 0  # bytes collected during the question
    answer = life.solution.answer
    return ord(answer[min(len(stream.heard) - before, len(answer) - 1)])


def play_knower(curriculum: Curriculum, seed: int = 0) -> Result:
    """Return the result of a perfect knower, which needs the fewest steps; it reads the answers, so is no agent."""
    threshold = curriculum.success_threshold
    session = Session(
        curriculum.tasks, lambda reward, byte: known_byte(session.stream), success_threshold=threshold, seed=seed
    )
    return session.run()


# ---- An agent in a single stream, and copies of it.


class Player:
    """Play several tasks as a single stream: the reward of the agent's last reply in a task comes with the first byte
    of the next task. The end of a `with` block closes an agent that has a method `close`.
    """

    def __init__(self, agent: Agent, owed: int = 0) -> None:
        """:param owed: the reward that comes with the first byte."""
        self.agent, self._owed = agent, owed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        close = getattr(self.agent, "close", None)
        if close is not None:
            close()

    def steps(self, task: Task, seed: int, threshold: int, max_steps: int) -> int | None:
        """Play a task; return its steps, None if the agent does not pass it within `max_steps`.

        :raises InputError: a reply of the agent is not a byte, or the agent fails in another way.
        """
        paid, owed = 0, self._owed

        def hear(reward: int, byte: int) -> int:
            nonlocal paid, owed
            paid, reward, owed = paid + reward, reward + owed, 0
            return self.agent(reward, byte)

        result = Session([task], hear, success_threshold=threshold, seed=seed, max_steps=max_steps).run()
        if result.error is not None:
            raise InputError(f"{result.error} (at step {result.steps:,} of {task.name}, seed {seed})")
        self._owed = result.reward - paid
        return result.steps if result.solved else None

    def copy(self) -> "Player":
        """Return an independent copy with the same knowledge.

        :raises InputError: the agent cannot be copied.
        """
        agent = self.agent
        own = agent.agent if isinstance(agent, OwnAgent) else agent
        if isinstance(own, FunctionType) and own.__closure__:
            raise InputError(f"{NOT_COPIED}it is a function that keeps what it knows around it; {COPIED}")
        try:
            return Player(deepcopy(agent), self._owed)
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise InputError(f"{NOT_COPIED}{error}; {COPIED}") from None


NOT_COPIED = "the agent cannot be copied, as not forgetting is measured by copies: "
COPIED = "give an object with the method __call__, or run the agent as a program of its own, by --command"


# ---- Steps of two kinds of runs.


def orders_of(names: Sequence[str], number: int) -> list[tuple[str, ...]]:
    """Return orders of names: first the order of `names`, then drawn orders, reproducibly. Each ends with a new name as
    far as possible; there are at most as many as permutations of the names.
    """
    found, draw = {tuple(names): None}, Random(0)
    while len(found) < min(number, factorial(len(names))):
        order = tuple(draw.sample(names, len(names)))
        if len(found) >= len(names) or order[-1] not in {other[-1] for other in found}:
            found.setdefault(order)
    return list(found)


#: Steps by seed; None for a run that did not pass within its limit, which counts as the limit.
Steps = Sequence[int | None]


def ratio_of_steps(slow: Steps, quick: Sequence[Steps], limit: int) -> Estimate:
    """Estimate the ratio of the median steps, slow / quick, with its 95 % bootstrap interval over seeds, NaN for a
    single seed.

    :param slow: by seed. :param quick: by order, by seed; runs of a seed are resampled together.
    """
    arms = [np.array([limit if steps is None else steps for steps in arm], float) for arm in (slow, *quick)]

    def ratio(slow: np.ndarray, *quick: np.ndarray, axis: int) -> Any:
        return np.median(slow, axis=axis) / np.median(np.concatenate(quick, axis=axis), axis=axis)

    return Estimate(*map(float, bootstrapped(arms, ratio, 0.95, RESAMPLES, 0, paired=True)))


RESAMPLES = 5_000


def _figures(estimate: Estimate) -> dict[str, float | None]:
    """Return JSON, with None for NaN."""
    names = ("ratio", "low", "high")
    return {name: None if np.isnan(value) else value for name, value in zip(names, estimate, strict=True)}


# ---- Criterion 2: chains of tasks


@dataclass(frozen=True)
class Chain:
    """Hold tasks to learn first, and the target task that builds on them."""

    prerequisites: tuple[str, ...]
    target: str

    @property
    def name(self) -> str:
        """Return a name such as "micro11 -> micro12"."""
        first = self.prerequisites
        return f"{first[0]}{' ... ' + first[-1] if len(first) > 1 else ''} -> {self.target}"


_DIGITS = tuple(f"micro5.{number}" for number in range(1, 19))
_COPYING = ("micro7.1", "micro7.2", "micro7.3")
#: The dependencies stated in the document.
CHAINS = (
    Chain(_DIGITS, "micro6"),
    Chain(_DIGITS, "micro7.2"),
    Chain(_DIGITS, "micro8"),
    Chain(_COPYING, "micro9.2"),
    Chain(("micro11",), "micro12"),
    Chain(("micro6",), "micro15"),
    Chain(("micro13.1", "micro13.2"), "mini1"),
    Chain(("micro19",), "micro20"),
)


def required(tasks: Sequence[Task]) -> list[Chain]:
    """Return the chains of tasks and the tasks that they require."""
    return [Chain(task.requires, task.name) for task in tasks if task.requires]


@dataclass(frozen=True)
class Compared:
    """Hold the steps on the target of a chain.

    :ivar orders: of the prerequisites. :ivar after: steps with them, by order, by seed. :ivar alone: without them, by
        seed. :ivar knower: of a perfect knower, by seed.
    :ivar ratio: alone / after, of all orders together. :ivar by_order: the ratio of each order.
    :ivar at_most: ratio of medians, alone / knower: an upper bound of the ratio for any agent.
    :ivar p: p-value of the rank test that `after`, the median of the orders, takes fewer steps (Mann-Whitney).
    """

    chain: str
    orders: tuple[tuple[str, ...], ...]
    after: tuple[tuple[int | None, ...], ...]
    alone: tuple[int | None, ...]
    knower: tuple[int, ...]
    ratio: Estimate
    by_order: tuple[Estimate, ...]
    at_most: float
    p: float

    @property
    def passed(self) -> bool:
        """Return whether the lower end of the ratio's interval is above 1."""
        return self.ratio.low > 1

    def figures(self) -> dict[str, Any]:
        """Return JSON."""
        orders = [
            {"order": list(order), "after": list(after), **_figures(ratio), "passed": ratio.low > 1}
            for order, after, ratio in zip(self.orders, self.after, self.by_order, strict=True)
        ]
        return {
            "chain": self.chain, "orders": orders, "alone": list(self.alone), "knower": list(self.knower),
            **_figures(self.ratio), "at_most": self.at_most, "p": self.p, "passed": self.passed,
        }  # fmt: skip


@checked
def gradual_learning(
    make: MakeAgent, chains: Sequence[Chain] = CHAINS, *, seeds: Count = 5, orders: Count = 2, first_seed: Seed = 0,
    max_steps: Count = 200_000, success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Compared]:  # fmt: skip
    """Compare both arms of each chain (Evaluation criteria 2).

    :param orders: number of orders of the prerequisites, see `orders_of`.
    :param max_steps: of each task. :param tasks: by name; None for all known tasks.
    :raises InputError: an unknown task, or an agent that fails.
    """
    known = known_tasks() if tasks is None else tasks
    for chain in chains:
        target, played = find_task(chain.target, known), orders_of(chain.prerequisites, orders)
        before = [[find_task(name, known) for name in order] for order in played]
        after: list[list[int | None]] = [[] for _ in played]
        alone: list[int | None] = []
        knower: list[int] = []
        for seed in range(first_seed, first_seed + seeds):
            how = seed, success_threshold, max_steps
            for number, (found, order) in enumerate(zip(after, before, strict=True), 1):
                tell(f"{chain.name}, seed {seed}, order {number}")
                with Player(make(seed)) as learned:
                    for task in order:
                        learned.steps(task, *how)
                    found.append(learned.steps(target, *how))
            tell(f"{target.name} alone, seed {seed}")
            with Player(make(seed)) as fresh:
                alone.append(fresh.steps(target, *how))
            knower.append(play_knower(Curriculum(target.name, (target,), success_threshold), seed).steps)
        yield compare(chain.name, played, after, alone, knower, max_steps)


def compare(
    chain: str, orders: Sequence[Sequence[str]], after: Sequence[Steps], alone: Steps, knower: Sequence[int], limit: int
) -> Compared:
    """Compare both arms of a chain. A run that did not pass counts with `limit` steps."""
    from scipy.stats import mannwhitneyu

    filled = [[limit if steps is None else steps for steps in arm] for arm in (alone, *after)]
    p = float(mannwhitneyu(np.median(filled[1:], axis=0), filled[0], alternative="less").pvalue)
    return Compared(
        chain, tuple(map(tuple, orders)), tuple(map(tuple, after)), tuple(alone), tuple(knower),
        ratio_of_steps(alone, after, limit), tuple(ratio_of_steps(alone, [one], limit) for one in after),
        median(filled[0]) / median(knower), p,
    )  # fmt: skip


# ---- Criterion 3: not forgetting

KEPT, FORGOTTEN, NOT_TOLD = "kept", "forgotten", "not told"
Verdict = Literal["kept", "forgotten", "not told"]


@dataclass(frozen=True)
class Remembered:
    """Hold the steps on a task by three agents with the same questions, which are new to all of them.

    :ivar orders: the orders in which other tasks followed this task.
    :ivar fresh: steps of an agent that has learned nothing, by seed.
    :ivar learned: steps of a copy of the agent, right after it has learned the task; by order, by seed.
    :ivar again: steps of a copy of the agent after all tasks; by order, by seed.
    :ivar told: ratio fresh / learned, of all orders together; above 1 if there is anything to forget.
    :ivar verdict: of all orders together. :ivar by_order: of each order.
    """

    task: str
    orders: tuple[tuple[str, ...], ...]
    fresh: tuple[int | None, ...]
    learned: tuple[tuple[int | None, ...], ...]
    again: tuple[tuple[int | None, ...], ...]
    told: Estimate
    verdict: Verdict
    by_order: tuple[Verdict, ...]

    def figures(self) -> dict[str, Any]:
        """Return JSON."""
        orders = [
            {"order": list(order), "learned": list(learned), "again": list(again), "verdict": verdict}
            for order, learned, again, verdict in zip(self.orders, self.learned, self.again, self.by_order, strict=True)
        ]
        return {
            "task": self.task, "orders": orders, "fresh": list(self.fresh), **_figures(self.told),
            "verdict": self.verdict,
        }  # fmt: skip


@checked
def not_forgetting(
    make: MakeAgent, names: Sequence[str], *, seeds: Count = 5, orders: Count = 2, first_seed: Seed = 0,
    max_steps: Count = 200_000, success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Remembered]:  # fmt: skip
    """Learn tasks in sequence, and measure how well each is kept after the others (Evaluation criteria 3).

    :param orders: number of orders of the tasks, see `orders_of`.
    :raises InputError: an unknown task, fewer than two tasks, an agent that fails or that cannot be copied.
    """
    known = known_tasks() if tasks is None else tasks
    chosen = {name: find_task(name, known) for name in names}
    if len(chosen) < 2:
        raise InputError("name at least two tasks to play again: one is forgotten, if at all, while others are learned")
    played, runs = orders_of(list(chosen), orders), range(first_seed, first_seed + seeds)
    fresh: dict[str, list[int | None]] = {name: [] for name in chosen}
    learned, again = ([{name: [] for name in order[:-1]} for order in played] for _ in range(2))
    for seed in runs:
        how = seed + _OTHER_INSTANCES, success_threshold, max_steps
        for name, task in chosen.items():
            tell(f"new: {name}, seed {seed}")
            with Player(make(seed)) as player:
                fresh[name].append(player.steps(task, *how))
        for number, order in enumerate(played):
            with Player(make(seed)) as player:
                for name in order:
                    tell(f"learning: {name}, seed {seed}, order {number + 1}")
                    player.steps(chosen[name], seed, *how[1:])
                    if name != order[-1]:
                        with player.copy() as copy:
                            learned[number][name].append(copy.steps(chosen[name], *how))
                for name in order[:-1]:
                    tell(f"again: {name}, seed {seed}, order {number + 1}")
                    with player.copy() as copy:
                        again[number][name].append(copy.steps(chosen[name], *how))
    found = []
    for name in chosen:
        those = [number for number, order in enumerate(played) if name != order[-1]]
        arms = ([arm[number][name] for number in those] for arm in (learned, again))
        found.append(remembered(name, [played[number] for number in those], fresh[name], *arms, limit=max_steps))
    return found


_OTHER_INSTANCES = 1_000_000  # offset of test seeds above the seeds for learning


def remembered(
    task: str, orders: Sequence[Sequence[str]], fresh: Steps, learned: Sequence[Steps], again: Sequence[Steps],
    limit: int,
) -> Remembered:  # fmt: skip
    """Compute whether a task is kept. A run that did not pass counts with `limit` steps.

    :param orders: the orders in which other tasks followed it; if empty, the verdict is "not told".
    """
    told = ratio_of_steps(fresh, learned, limit) if orders else Estimate(np.nan, np.nan, np.nan)
    pairs = zip(learned, again, strict=True)
    return Remembered(
        task, tuple(map(tuple, orders)), tuple(fresh), tuple(map(tuple, learned)), tuple(map(tuple, again)), told,
        _verdict(fresh, learned, again, limit),
        tuple(_verdict(fresh, [right_after], [after_all], limit) for right_after, after_all in pairs),
    )  # fmt: skip


def _verdict(fresh: Steps, learned: Sequence[Steps], again: Sequence[Steps], limit: int) -> Verdict:
    """Return NOT_TOLD unless an agent that has just learned the task is surely faster than a fresh agent. Return KEPT
    if the median of `again` is nearer to `learned` than to `fresh`, and each run that passed then passes again."""
    if not learned or not ratio_of_steps(fresh, learned, limit).low > 1:
        return NOT_TOLD
    new, then, now = (
        median(limit if steps is None else steps for arm in arms for steps in arm) for arms in ([fresh], learned, again)
    )
    lost = any(
        before is not None and after is None
        for one, other in zip(learned, again, strict=True)
        for before, after in zip(one, other, strict=True)
    )
    return KEPT if abs(now - then) < abs(now - new) and not lost else FORGOTTEN


# ---- The same tasks in other forms.


@dataclass(frozen=True)
class Varied:
    """Hold the steps on the tasks of a variation.

    :ivar steps: task -> steps by seed, of agents that play only this task; None for a run that did not pass.
    """

    variation: str
    steps: Mapping[str, Steps]

    @property
    def passed(self) -> int:
        """Return the number of tasks that every agent passed."""
        return sum(None not in steps for steps in self.steps.values())

    def figures(self) -> dict[str, Any]:
        """Return JSON."""
        return {"variation": self.variation, "passed": self.passed, "steps": {**self.steps}}


@checked
def vary(
    make: MakeAgent, tasks: Sequence[Task], variations: Sequence[Variation], *, seeds: Count = 3, first_seed: Seed = 0,
    max_steps: Count = 20_000, success_threshold: Count = 5, tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Varied]:  # fmt: skip
    """Play each task in each variation, separately, with fresh agents.

    :raises InputError: an agent that fails.
    """
    for variation in variations:
        steps: dict[str, Steps] = {}
        for task in tasks:
            found: list[int | None] = []
            for seed in range(first_seed, first_seed + seeds):
                tell(f"{variation.name}: {task.name}, seed {seed}")
                with Player(make(seed)) as player:
                    other = Player(variation.agent(player.agent))
                    found.append(other.steps(variation.task(task), seed, success_threshold, max_steps))
            steps[task.name] = found
        yield Varied(variation.name, steps)
