"""Agents by name, the honest baselines among them; and the challenge's criteria 2 and 3, over chains of tasks: does an
agent learn gradually, and does it forget?

An agent learns gradually if it solves a task in fewer steps after the tasks that it builds on than without them. Each
run of either kind begins with a fresh agent of the same saved state; seeds draw the instances.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked, unknown
from gumption.envs.gradual.curriculum import Curriculum, all_tasks, find_task
from gumption.envs.gradual.engine import SPACE, Stream
from gumption.envs.gradual.session import Agent, Result, Session
from gumption.envs.gradual.task import Task

#: Makes a fresh agent, in its saved state, from a seed.
MakeAgent = Callable[[int], Agent]


def silent(reward: int, byte: int) -> int:
    """Says nothing."""
    return SPACE


def echo(reward: int, byte: int) -> int:
    """Says what it hears."""
    return byte


class RandomBytes:
    """Says any byte."""

    @checked
    def __init__(self, seed: Seed = 0) -> None:
        self._draw = Random(seed)

    def __call__(self, reward: int, byte: int) -> int:
        return self._draw.randrange(256)


class Table:
    """Keeps one reply for each byte, and replaces a punished reply by the next one.

    It tries replies in one shuffled order, silence first, so that it is silent where nobody asks.
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
    """The agent of a name on the command line: "learner", a baseline, the file of a learner's graph, the folder of a
    recurrent agent's run, or MODULE:NAME.

    :raises InputError: no such agent.
    """
    if name == LEARNER or Path(name).is_file():
        from gumption.kg import KnowledgeGraph

        from .learner import GradualLearner

        if name == LEARNER:
            return lambda seed: GradualLearner()
        graph = KnowledgeGraph.load(name)
        return lambda seed: GradualLearner.from_graph(graph)
    if (Path(name) / "config.json").is_file():
        from .recurrent import RecurrentAgent

        return RecurrentAgent.load(name)
    if ":" in name:
        from gumption.data.modules import of_module

        return of_module(name, "--agent")
    if name not in BASELINES:
        raise InputError(unknown("gumption", name, (LEARNER, *BASELINES)) + "; an agent of your own is MODULE:NAME")
    return BASELINES[name]


def known_byte(stream: Stream) -> int:
    """The next byte of the right answer when the agent may speak, else silence."""
    if not stream.listening:
        return SPACE
    life = stream.life
    before = len(life.question) - 1 if life.task.cycle == "mini" else 0  # heard while the question was sent
    answer = life.solution.answer
    return ord(answer[min(len(stream.heard) - before, len(answer) - 1)])


def play_knower(curriculum: Curriculum, seed: int = 0) -> Result:
    """The result of a perfect knower, which needs the fewest steps. It is no agent: it sees the right answers."""
    threshold = curriculum.success_threshold
    session = Session(
        curriculum.tasks, lambda reward, byte: known_byte(session.stream), success_threshold=threshold, seed=seed
    )
    return session.run()


# ---- Chains of tasks


@dataclass(frozen=True)
class Chain:
    """Tasks to learn first, and the one that builds on them."""

    prerequisites: tuple[str, ...]
    target: str

    @property
    def name(self) -> str:
        """As "micro11 -> micro12"."""
        first = self.prerequisites
        return f"{first[0]}{' ... ' + first[-1] if len(first) > 1 else ''} -> {self.target}"


_DIGITS = tuple(f"micro5.{number}" for number in range(1, 19))
_COPYING = ("micro7.1", "micro7.2", "micro7.3")
#: The dependencies that the document names.
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


@dataclass(frozen=True)
class Compared:
    """The steps on the target of a chain, one figure a seed.

    :ivar after: with the prerequisites, None for a run that did not pass the target within its limit.
    :ivar alone: without them, likewise. :ivar knower: of a perfect knower. :ivar ratio: of the medians, alone / after.
    :ivar at_most: of the medians, alone / knower: no agent can reach a higher ratio.
    :ivar p: of the rank test that `after` takes fewer (Mann-Whitney).
    """

    chain: str
    after: tuple[int | None, ...]
    alone: tuple[int | None, ...]
    knower: tuple[int, ...]
    ratio: float
    at_most: float
    p: float

    @property
    def passed(self) -> bool:
        """Whether the median with the prerequisites is the lower one."""
        return self.ratio > 1

    def figures(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


@checked
def gradual_learning(
    make: MakeAgent, chains: Sequence[Chain] = CHAINS, *, seeds: Count = 5, first_seed: Seed = 0,
    max_steps: Count = 200_000, success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Compared]:  # fmt: skip
    """Compare both arms of each chain.

    :param max_steps: of each task. :param tasks: by name; None for those of the challenge.
    :raises InputError: an unknown task.
    """
    known = all_tasks() if tasks is None else tasks
    for chain in chains:
        target = find_task(chain.target, known)
        before = [find_task(name, known) for name in chain.prerequisites]
        after, alone, knower = [], [], []
        for seed in range(first_seed, first_seed + seeds):
            tell(f"{chain.name}, seed {seed}")
            learned = make(seed)
            for task in before:
                _steps(task, learned, seed, success_threshold, max_steps)
            after.append(_steps(target, learned, seed, success_threshold, max_steps))
            alone.append(_steps(target, make(seed), seed, success_threshold, max_steps))
            knower.append(play_knower(Curriculum(target.name, (target,), success_threshold), seed).steps)
        yield compare(chain.name, after, alone, knower, max_steps)


@dataclass(frozen=True)
class Remembered:
    """The steps on a task, one figure a seed, of an agent to which it is new, and of one that has solved it and the
    others before with other questions. Both are asked the same questions; None as in `Compared`.
    """

    task: str
    first: tuple[int | None, ...]
    again: tuple[int | None, ...]

    @property
    def kept(self) -> bool:
        """Whether all agents solve it again, in the median in no more steps than the slowest to which it is new."""
        if None in self.again:
            return False
        slowest = max((steps for steps in self.first if steps is not None), default=0)
        return median(steps for steps in self.again if steps is not None) <= slowest

    def figures(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}


@checked
def not_forgetting(
    make: MakeAgent, names: Sequence[str], *, seeds: Count = 3, first_seed: Seed = 0, max_steps: Count = 200_000,
    success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Remembered]:  # fmt: skip
    """Learn some tasks in their order, then play each of them again. Another agent learns them in the same order with
    the questions that the first one is asked again, since some draws take more steps than others.

    :raises InputError: an unknown task, or none at all.
    """
    known = all_tasks() if tasks is None else tasks
    chosen = [find_task(name, known) for name in names]
    if not chosen:
        raise InputError("name the tasks that are learned and played again")
    first: list[list[int | None]] = [[] for _ in chosen]
    again: list[list[int | None]] = [[] for _ in chosen]
    for seed in range(first_seed, first_seed + seeds):
        agent, other, later = make(seed), make(seed), seed + 1_000_000
        for task in chosen:
            tell(f"learning: {task.name}, seed {seed}")
            _steps(task, agent, seed, success_threshold, max_steps)
        for what, found, player in (("again", again, agent), ("new", first, other)):
            for place, task in enumerate(chosen):
                tell(f"{what}: {task.name}, seed {seed}")
                found[place].append(_steps(task, player, later, success_threshold, max_steps))
    return [Remembered(task.name, tuple(first[place]), tuple(again[place])) for place, task in enumerate(chosen)]


def _steps(task: Task, agent: Agent, seed: int, threshold: int, max_steps: int) -> int | None:
    result = Session([task], agent, success_threshold=threshold, seed=seed, max_steps=max_steps).run()
    return result.steps if result.solved else None


def compare(
    chain: str, after: Sequence[int | None], alone: Sequence[int | None], knower: Sequence[int], limit: int
) -> Compared:
    """Compare both arms of a chain. In ratios and test a run that did not pass counts as one at the limit."""
    from scipy.stats import mannwhitneyu

    with_, without = ([limit if steps is None else steps for steps in arm] for arm in (after, alone))
    p = float(mannwhitneyu(with_, without, alternative="less").pvalue)
    ratio, at_most = median(without) / median(with_), median(without) / median(knower)
    return Compared(chain, tuple(after), tuple(alone), tuple(knower), ratio, at_most, p)
