"""Does an agent learn gradually, and does it forget? The challenge's criteria 2 and 3, over chains of tasks.

An agent learns gradually if it solves a task in fewer steps after the tasks that it builds on than without them. Each
run of either kind begins with a fresh agent of the same saved state; seeds draw the instances.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.envs.gradual.curriculum import Curriculum, all_tasks, find_task
from gumption.envs.gradual.session import Agent, Result, Session
from gumption.envs.gradual.task import Task

from .baselines import play_knower

#: Makes a fresh agent in its saved state.
MakeAgent = Callable[[int], Agent]


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
    """One chain: steps on the target with and without the prerequisites, one of each a seed.

    :ivar after, alone: None for a run that did not pass the target within its limit.
    :ivar knower: steps of a perfect knower on the target. :ivar ratio: of the medians, alone / after.
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
        """As JSON takes it."""
        return {**asdict(self), "passed": self.passed}


@checked
def gradual_learning(
    make: MakeAgent, chains: Sequence[Chain] = CHAINS, *, seeds: Count = 5, first_seed: Seed = 0,
    max_steps: Count = 200_000,
    success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Compared]:  # fmt: skip
    """Compare both arms on each chain.

    :param max_steps: of the target; the prerequisites have as many each.
    :param tasks: by name; None for those of the challenge.
    :raises InputError: a task that there is not.
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
    """One task, with the same questions in both: the steps of an agent to which it is new, and of one that has solved
    it and the others before with other questions. One of each a seed; None as in `Compared`.
    """

    task: str
    first: tuple[int | None, ...]
    again: tuple[int | None, ...]

    @property
    def kept(self) -> bool:
        """Whether it is solved again, in the median in no more steps than the slowest agent to which it was new."""
        if None in self.again:
            return False
        slowest = max((steps for steps in self.first if steps is not None), default=0)
        return median(steps for steps in self.again if steps is not None) <= slowest

    def figures(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {**asdict(self), "kept": self.kept}


@checked
def not_forgetting(
    make: MakeAgent, names: Sequence[str], *, seeds: Count = 3, first_seed: Seed = 0, max_steps: Count = 200_000,
    success_threshold: Count = 5, tasks: Mapping[str, Task] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Remembered]:  # fmt: skip
    """Learn some tasks in their order, then play each of them again. Another agent learns them, at the same place in
    that order, with the questions that the first one is asked again: what these ask for differs from draw to draw.

    :raises InputError: a task that there is not, or none at all.
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


def ranking(results: Mapping[str, Result]) -> list[str]:
    """Names of agents, the best first: those that solved the curriculum by their steps, then the others by the tasks
    that they passed and their steps."""

    def key(name: str) -> tuple[int, int, str]:
        result = results[name]
        return -sum(task.passed for task in result.tasks), result.steps, name

    return sorted(results, key=key)


def _steps(task: Task, agent: Agent, seed: int, threshold: int, max_steps: int) -> int | None:
    result = Session([task], agent, success_threshold=threshold, seed=seed, max_steps=max_steps).run()
    return result.steps if result.solved else None


def compare(
    chain: str, after: Sequence[int | None], alone: Sequence[int | None], knower: Sequence[int], limit: int
) -> Compared:
    """Both arms of a chain. In ratios and test a run that did not pass counts as one at its limit."""
    from scipy.stats import mannwhitneyu

    with_, without = ([limit if steps is None else steps for steps in arm] for arm in (after, alone))
    p = float(mannwhitneyu(with_, without, alternative="less").pvalue)
    ratio, at_most = median(without) / median(with_), median(without) / median(knower)
    return Compared(chain, tuple(after), tuple(alone), tuple(knower), ratio, at_most, p)
