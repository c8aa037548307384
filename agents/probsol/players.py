"""Players of ProbSol that learn nothing: what a learner has to beat, and what certification plays.

A player has `begin(batch)`, called when all tables of a batch begin, and `act(batch) -> (B,) actions` of the paper's
form. Random, do-nothing and naive players look at what anybody sees. Scripted players follow strategies that people
wrote: tables that say so call them that.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import numpy as np

from gumption.envs.probsol.engine import CENTRES, CHECK, NONE, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK
from gumption.envs.probsol.geometry import PLACED, STORED, area_distance
from gumption.envs.probsol.tasks import CRAFTING, DISCOVERY, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv

from .solvers import Solution, solve

#: What one table's strategy gives: an action, or a name and its arguments. It goes on once the action is done.
Script = Generator[int | tuple[object, ...], None, None]
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
    """
    player.begin(batch)
    over, success = np.zeros(batch.num_envs, dtype=bool), np.zeros(batch.num_envs, dtype=bool)
    while not over.all():
        batch.make_step(player.act(batch), over)
        _, terminated, truncated = batch.results()
        ended = (terminated | truncated) & ~over
        success |= ended & batch.success
        over |= ended
    return success


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
        task, rng = batch.task(i), self._streams[i]
        check = batch.labels.num_actions + CHECK
        tables = batch.tables
        if task.family in DISCOVERY:
            for disc in rng.permutation(np.flatnonzero(tables.data.concerned[tables.rows[i]]))[: len(task.answer)]:
                yield int(disc)
                yield int(rng.choice(np.flatnonzero(_open_points(batch, i)))) + batch.labels.first_point
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
            discs = (
                discs if len(discs) else np.flatnonzero(tables.mask(batch.waits)[i, tables.discs : 2 * tables.discs])
            )
            if len(discs):
                yield from _set(batch, i, int(rng.choice(discs)), np.array(places[int(rng.integers(len(places)))]))
        yield check
        while True:  # where more trials are allowed, each is played in the same way
            yield check


def _set(batch: ProbSolVectorEnv, i: int, disc: int, point: np.ndarray) -> Script:
    """Put a disc, which lies in the side bar or on the table, at the open point nearest to a place."""
    yield "grab", batch.task(i).ids[disc]
    open_points = _open_points(batch, i)
    if not open_points.any():
        return
    apart = ((CENTRES - point) ** 2).sum(axis=1)
    yield int(np.where(open_points, apart, np.inf).argmin()) + batch.labels.first_point


def _open_points(batch: ProbSolVectorEnv, i: int) -> np.ndarray:
    """(1600,) bool: the points at which the disc in hand can be placed."""
    first = batch.labels.first_point
    return batch.tables.mask(batch.waits)[i, first : first + POINTS]


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
            yield from probing(batch, i)
            return
        if task.hash not in self._found:
            self._found[task.hash] = solve(task)
        yield from (action for action in self._found[task.hash] if action[0] != "answer")
        yield ("check",)


#: Columns of the grid where the probed disc is put down, and where the one that probes it is held; their row.
PUT_AT, HELD_AT, ROW = 21, 18, 19


def probing(batch: ProbSolVectorEnv, i: int) -> Script:
    """Tells discs apart by experiments on an otherwise empty table, as people would: each disc is put down at one point
    while another one is held 36 px away, both turned to 0 before; how far it then goes, and for how long, is compared.

    The physics is deterministic, so that discs which are alike move alike, to the last bit; others do not, since all
    quotients of magnetism and mass differ.
    """
    task, tables = batch.task(i), batch.tables
    mine = [task.ids.index(one) for one in task.first_stored]
    last = batch.labels.num_actions

    def held_turned(disc: int, column: int) -> Script:
        """Grab a stored disc and hold it at a point, turned to 0."""
        yield disc
        yield ("hold_at", column, ROW)
        theta = int(tables.theta[i, disc])
        for _ in range(min(theta, 8 - theta)):
            yield last + (TURN_BACK if theta <= 4 else TURN)

    def cell(disc: int) -> tuple[object, ...]:
        stored = task.objects[disc].stored
        assert stored is not None
        return "store", stored

    seen: dict[tuple[int, int], tuple[float, ...]] = {}

    def probe(disc: int, by: int) -> Script:
        """Fills seen[disc, by]: where the disc goes, and how long that takes."""
        if (disc, by) in seen:
            return
        yield from held_turned(disc, PUT_AT)
        yield last + PUT_DOWN
        yield by
        before = int(tables.steps[i])
        yield ("hold_at", HELD_AT, ROW)
        x, y = tables.place[i, disc].tolist()
        seen[disc, by] = round(x, 3), round(y, 3), int(tables.steps[i]) - before
        yield last + TAKE_UP
        yield cell(by)
        yield ("grab", task.ids[disc])
        yield cell(disc)

    first, *others = mine
    yield from held_turned(first, HELD_AT)
    yield last + TAKE_UP
    yield cell(first)
    for disc in others:
        yield from probe(disc, first)
    groups: list[list[int]] = []
    for disc in others:
        for group in groups:
            if seen[group[0], first] == seen[disc, first]:
                group.append(disc)
                break
        else:
            groups.append([disc])
    # The first disc is compared by another one, which is alike in no case that matters.
    groups.sort(key=len, reverse=True)
    for k, group in enumerate(groups):
        by = next((disc for disc in reversed(groups[0]) if disc != group[0]), others[0])
        if by == group[0]:
            by = next(disc for disc in others if disc != group[0])
        yield from probe(first, by)
        yield from probe(group[0], by)
        if seen[first, by] == seen[group[0], by]:
            group.append(first)
            break
        if k == 0 and len(group) > 1:  # a group of several is the alike ones of the task, and it is not one of them
            groups.append([first])
            break
    else:
        groups.append([first])
    alike = max(groups, key=len)
    leave = alike if task.family == "FindTheSame" else [disc for disc in mine if disc not in alike]
    for disc, (column, row) in zip(leave, ((5, 5), (34, 34), (5, 34), (34, 5), (20, 5), (20, 34)), strict=False):
        yield disc
        yield ("place", column, row)
    yield ("check",)
