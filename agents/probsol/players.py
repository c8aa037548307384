"""Players of ProbSol that learn nothing: what a learner has to beat, and what certification plays.

A player has `begin(batch)`, called when all tables of a batch begin, and `act(batch) -> (B,) actions` of the paper's
form. Random, do-nothing and naive players look at what anybody sees. Scripted players follow strategies that people
wrote: tables that say so call them that.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from gumption.data import InputError
from gumption.envs.probsol.engine import CENTRES, CHECK, NONE, POINTS
from gumption.envs.probsol.geometry import PLACED, STORED, area_distance
from gumption.envs.probsol.tasks import CRAFTING, DISCOVERY, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv

from .scripted_probing import Probing, Script
from .solvers import Solution, solve

#: A seed for a batch, or one for each of its tables.
Seeds = int | Sequence[int]


class Player(Protocol):
    """Plays the tables of a batch."""

    def begin(self, batch: ProbSolVectorEnv) -> None:
        """All tables begin."""
        ...

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        """(B,) int64: an action for each table, also for those whose episode is over."""
        ...


def play(batch: ProbSolVectorEnv, player: Player) -> np.ndarray:
    """Play one episode on each table, begun by a reset.

    :returns: (B,) bool: which end with success.
    :raises InputError: a task without a limit of trials, which could be tried for ever.
    """
    for i in range(batch.num_envs):
        if "trial_number" not in batch.task(i).constraints:
            raise InputError(f"the task {batch.task(i).name!r} has no limit of trials: it could be tried for ever")
    success = np.zeros(batch.num_envs, dtype=bool)
    for _, ended in steps(batch, player):
        success |= ended & batch.success
    return success


def steps(batch: ProbSolVectorEnv, player: Player) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Play one episode on each table, begun by a reset; after each step (B,) bool who made it, and whose episode ended
    with it."""
    player.begin(batch)
    over = np.zeros(batch.num_envs, dtype=bool)
    while not over.all():
        batch.make_step(player.act(batch), over)
        _, terminated, truncated = batch.results()
        ended = (terminated | truncated) & ~over
        yield ~over, ended
        over |= ended


class Random:
    """Open actions, each as likely as another one."""

    def __init__(self, seeds: Seeds) -> None:
        self.seeds = seeds

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self._streams = _streams(self.seeds, batch.num_envs, 11)
        self._draws, self._next = np.zeros((batch.num_envs, 0)), 0

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        if self._next == self._draws.shape[1]:
            self._draws, self._next = np.stack([stream.random(64) for stream in self._streams]), 0
        mask = batch.action_mask()
        many = mask.sum(axis=1)
        chosen = (self._draws[:, self._next] * many).astype(np.int64)
        self._next += 1
        return np.flatnonzero(mask)[np.cumsum(many) - many + chosen] - np.arange(len(many)) * mask.shape[1]


def _streams(seeds: Seeds, batch: int, purpose: int) -> list[np.random.Generator]:
    """A generator for each table, so that what one draws does not depend on the others."""
    each = [[seeds, i] for i in range(batch)] if isinstance(seeds, int) else [[seed, 0] for seed in seeds]
    return [np.random.default_rng([*seed, purpose]) for seed in each]


class DoNothing:
    """CHECK at once."""

    def begin(self, batch: ProbSolVectorEnv) -> None:
        pass

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        return np.full(batch.num_envs, batch.labels.num_actions + CHECK)


class Scripts:
    """Plays a script of its own on each table; NONE once the script is at its end.

    :ivar write: (batch, i) -> the script of table i.
    """

    def __init__(self, write: Callable[[ProbSolVectorEnv, int], Script]) -> None:
        self.write = write

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self._scripts = [self.write(batch, i) for i in range(batch.num_envs)]
        self._over = [False] * batch.num_envs

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        none = batch.labels.num_actions + NONE
        actions = np.full(batch.num_envs, none)
        for i, script in enumerate(self._scripts):
            if not self._over[i]:
                action = next(script, None)
                self._over[i] = action is None
                if isinstance(action, tuple):
                    actions[i] = batch.action_index(*action, i=i)  # pyright: ignore[reportArgumentType]
                elif action is not None:
                    actions[i] = action
        return actions


# ---- the naive policy of each family


class Naive(Scripts):
    """Tool use: any disc to the open point nearest to a goal disc or target. Crafting: discs straight into the blocks.
    Discovery: as many discs as the answer has, at random. Then CHECK."""

    def __init__(self, seeds: Seeds) -> None:
        super().__init__(self._script)
        self.seeds = seeds

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self._streams = _streams(self.seeds, batch.num_envs, 13)
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        while True:  # each trial alike
            yield from self._trial(batch, i)

    def _trial(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task, rng = batch.task(i), self._streams[i]
        check = batch.labels.num_actions + CHECK
        tables = batch.tables
        if task.family in DISCOVERY:
            for disc in rng.permutation(np.flatnonzero(tables.data.concerned[tables.rows[i]]))[: len(task.answer)]:
                yield int(disc)
                points = np.flatnonzero(_open_points(batch, i))
                yield int(rng.choice(points)) + batch.labels.first_point if len(points) else check
        elif task.family in CRAFTING:
            middles = [np.mean(block, axis=0) for block in task.blocks]
            served, idle = _serving(batch, i)
            discs = rng.permutation(idle).tolist()
            for block in rng.permutation(len(middles)).tolist():
                if block not in served and discs:
                    yield from _set(batch, i, discs.pop(), middles[block])
        else:
            places = tables.place[i][tables.data.golden[tables.rows[i]]].tolist()
            places += [[x + wide / 2, y + high / 2] for x, y, wide, high in task.targets]
            discs = np.flatnonzero(tables.where[i] == STORED)
            discs = discs if len(discs) else np.flatnonzero(tables.mask()[i, tables.discs : 2 * tables.discs])
            if len(discs):
                yield from _set(batch, i, int(rng.choice(discs)), np.array(places[int(rng.integers(len(places)))]))
        yield check


def _set(batch: ProbSolVectorEnv, i: int, disc: int, point: np.ndarray) -> Script:
    """Put a disc, which lies in the side bar or on the table, at the open point nearest to a place."""
    yield "grab", batch.task(i).ids[disc]
    if (number := nearest_open(batch, i, point)) is not None:
        yield number


def nearest_open(batch: ProbSolVectorEnv, i: int, place: np.ndarray) -> int | None:
    """The action that places the disc in hand at the open point nearest to a place, (2,) px; None if none is open."""
    open_points = _open_points(batch, i)
    if not open_points.any():
        return None
    apart = ((CENTRES - place) ** 2).sum(axis=1)
    return int(np.where(open_points, apart, np.inf).argmin()) + batch.labels.first_point


def _open_points(batch: ProbSolVectorEnv, i: int) -> np.ndarray:
    """(1600,) bool: the points at which the disc in hand can be placed."""
    first = batch.labels.first_point
    return batch.tables.mask()[i, first : first + POINTS]


def _serving(batch: ProbSolVectorEnv, i: int) -> tuple[set[int], list[int]]:
    """Of a crafting task, the blocks that hold a disc, and the discs that are in no block."""
    tables, task = batch.tables, batch.task(i)
    served: set[int] = set()
    idle = []
    for disc in range(len(task.objects)):
        inside = []
        if tables.where[i, disc] == PLACED:
            x, y = tables.place[i, disc]
            inside = [k for k, block in enumerate(task.blocks)
                      if area_distance(x, y, np.array(block), len(block)) == 0.0]  # fmt: skip
        served.update(inside[:1])
        if not inside:
            idle.append(disc)
    return served, idle


# ---- scripted players


class Solved(Scripts):
    """Does what a solution says, which `solutions` gives for a task; answers of quizzes are left to others."""

    def __init__(self, solutions: Callable[[Task], Solution] = lambda task: task.solution) -> None:
        super().__init__(self._script)
        self.solutions = solutions

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        yield from (action for action in self.solutions(batch.task(i)) if action[0] != "answer")


class Scripted(Scripts):
    """The scripted solver of each family. People wrote it: in tool use and crafting it searches with the simulator and
    looks hidden properties up; in discovery it finds the answer by probing, from what anybody sees."""

    def __init__(self) -> None:
        super().__init__(self._script)
        self._found: dict[str, Solution] = {}

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task = batch.task(i)
        if task.family in DISCOVERY:
            yield from Probing(batch, i).script()
            return
        if task.hash not in self._found:
            self._found[task.hash] = solve(task)
        yield from (action for action in self._found[task.hash] if action[0] != "answer")
        yield ("check",)
