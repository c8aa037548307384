"""Players of ProbSol that do not learn: baselines for learners, also used by certification.

A player has `begin(batch)`, called when all tables of a batch begin, and `act(batch) -> (B,) actions` of the form
"paper". Random, do-nothing and naive players use only visible state. Scripted players follow strategies written by
people; result tables label them as such.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

import numpy as np

from gumption.agents import evaluation
from gumption.data import InputError
from gumption.envs.probsol.engine import CENTRES, CHECK, NONE, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.geometry import GRABBED, HELD, PLACED, STORED, area_distance
from gumption.envs.probsol.magnets import RADIUS, TABLE
from gumption.envs.probsol.tasks import CELL, CONSTRAINTS, CRAFTING, DISCOVERY, GRID, Task

from .solvers import Solution, solve

# ---- the scripted player of discovery


#: Yields the actions of a table, as numbers or by name, and resumes after the action.
Script = Generator[int | tuple[object, ...], None, None]
#: The same, with groups of discs as its result.
Grouping = Generator[int | tuple[object, ...], None, list[list[int]]]
#: Columns of the grid for the probed disc and for the held disc: near, and far; their row.
NEAR, FAR, ROW = (18, 15), (15, 1), 19
NEAR_PX = NEAR[0] * CELL + CELL / 2
#: Number of actions of a trial that are reserved for a probe and for the answer.
KEPT = 32
Look = tuple[float, ...]


class PairTests:
    """Probe the discs of a table that is otherwise empty, and leave the answer on it.

    A probe puts a disc down and holds another disc near it. The first disc's place of rest and the time until rest are
    a look. Equal discs give the same look to the last bit, since the physics is deterministic. Different discs may give
    the same look if they run into the edge or into the held disc. Therefore discs of equal look get another probe: from
    a larger distance, near a disc that repels them, or after half a turn.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        self.batch, self.i, self.task, self.tables = batch, i, batch.task(i), batch.tables
        self.mine = [self.task.ids.index(one) for one in self.task.first_stored]
        self.last = batch.labels.num_actions
        self.looks: dict[tuple[int, int, bool, int], Look | None] = {}
        self._turned: set[int] = set()  # discs that are turned to the direction of the row, `_base`
        # If a part of the row is not accessible, the probes are made along the column.
        row = [ROW * GRID + column for column in range(1, GRID - 1)]
        self._down = not self.tables.data.allowed[self.tables.rows[i]][row].all()
        self._base = 6 if self._down else 0

    def script(self) -> Script:
        """Yield the actions, up to CHECK."""
        first, *others = self.mine
        groups: list[list[int]] = []
        for same in (yield from self._groups(others, first)):
            groups += yield from self._refine(same, first, others)
        groups.sort(key=len, reverse=True)
        yield from self._place_first(first, others, groups)
        alike = max(groups, key=len)
        leave = alike if self.task.family == "FindTheSame" else [disc for disc in self.mine if disc not in alike]
        allowed = self.tables.data.allowed[self.tables.rows[self.i]]
        spots = [(column, row) for row in (5, 34, 20) for column in (5, 34, 20) if allowed[row * GRID + column]]
        for disc, at in zip(leave, spots, strict=False):
            yield disc
            yield ("place", *at)
        yield ("check",)

    def _refine(self, same: Sequence[int], by: int, others: Sequence[int]) -> Grouping:
        """Probe discs that have the same look near `by` in other ways."""
        found = [list(same)]
        look = self.looks.get((same[0], by, False, 0))
        if len(same) > 1 and look is not None and look[0] < NEAR_PX:  # pulled: another disc may repel them
            pulled = [disc for disc in others if self._pulled(disc, by)]
            found = yield from self._split(found, pulled, False, 0)
            if any(len(group) > 1 and self._pulled(group[0], group[1]) for group in found):
                found = yield from self._split(found, [by], False, 4)
        elif len(same) > 1 and look is not None and look[0] >= TABLE - RADIUS - 1:
            found = yield from self._split(found, [by], True, 0)
        return found

    def _split(self, groups: Sequence[list[int]], by: Sequence[int], far: bool, turned: int) -> Grouping:
        """Split groups of several discs by another probe of each disc: near the first of `by` that does not pull them,
        or near each other."""
        found: list[list[int]] = []
        for group in groups:
            if len(group) == 1:
                found.append(group)
                continue
            seen: dict[Look | None, list[int]] = {}
            common = None
            for one in by:
                if one not in group:
                    yield from self._probe(group[0], one, far, turned)
                    look = self.looks[group[0], one, far, turned]
                    if far or turned or (look is not None and look[0] >= NEAR_PX):
                        common = one
                        break
            for disc in group:
                beside = next(one for one in group if one != disc) if common is None else common
                yield from self._probe(disc, beside, far, turned)
                look = self.looks[disc, beside, far, turned]
                if look is not None and look[0] >= TABLE - RADIUS - 1 and not far:
                    yield from self._probe(disc, beside, True, turned)
                    look = (*look, *(self.looks[disc, beside, True, turned] or ()))
                seen.setdefault(look, []).append(disc)
            found += seen.values()
        return found

    def _place_first(self, first: int, others: Sequence[int], groups: list[list[int]]) -> Script:
        """Add the disc near which the others were probed to a group, or make a new group for it."""
        several = [group for group in groups if len(group) > 1]
        for group in several[:1] or list(groups):
            by = next(disc for disc in (*group[1:], *others) if disc != group[0])
            pair = yield from self._groups([first, group[0]], by)
            if len(pair) == 1:
                pair = yield from self._refine([first, group[0]], by, [*others, first])
            if len(pair) == 1:
                group.append(first)
                return
        groups.append([first])

    def _groups(self, discs: Sequence[int], by: int) -> Grouping:
        """Group the discs by their look near `by`."""
        seen: dict[Look | None, list[int]] = {}
        for disc in discs:
            yield from self._probe(disc, by, False, 0)
            seen.setdefault(self.looks[disc, by, False, 0], []).append(disc)
        return list(seen.values())

    def _pulled(self, disc: int, by: int) -> bool:
        look = self.looks.get((disc, by, False, 0))
        return look is not None and look[0] < NEAR_PX

    def _probe(self, disc: int, by: int, far: bool, turned: int) -> Script:
        """Put a disc down, turned by `turned` eighths, hold `by` near it, and store both in their cells again."""
        key = disc, by, far, turned
        if key in self.looks or disc == by:
            self.looks.setdefault(key, None)
            return
        used = int(self.tables.actions[self.i] + self.tables.refused[self.i])
        if self.batch.settings.max_actions - used < KEPT:
            limit = self.tables.data.limits[self.tables.rows[self.i], CONSTRAINTS.index("trial_number")]
            if self.tables.trials[self.i] >= limit:
                self.looks[key] = None
                return
            yield ("check",)  # the next trial has a new budget of actions
            self._turned.clear()
        put, held = FAR if far else NEAR
        if by not in self._turned:
            yield from self._held_turned(by, held, 0)
            yield self.last + TAKE_UP
            yield self._cell(by)
        yield from self._held_turned(disc, put, turned)
        yield self.last + PUT_DOWN
        yield by
        before = int(self.tables.steps[self.i])
        yield self._hold(held)
        x, y = self.tables.place[self.i, disc].tolist()
        x, y = (y, x) if self._down else (x, y)
        self.looks[key] = round(x, 3), round(y, 3), int(self.tables.steps[self.i]) - before
        yield self.last + TAKE_UP
        yield self._cell(by)
        yield ("grab", self.task.ids[disc])
        yield self._cell(disc)

    def _held_turned(self, disc: int, column: int, eighths: int) -> Script:
        """Grab a stored disc, and hold it turned by `eighths`."""
        yield disc
        yield self._hold(column)
        turns = (self._base + eighths - int(self.tables.theta[self.i, disc])) % 8
        for _ in range(min(turns, 8 - turns)):
            yield self.last + (TURN if turns <= 4 else TURN_BACK)
        (self._turned.add if eighths == 0 else self._turned.discard)(disc)

    def _hold(self, column: int) -> tuple[object, ...]:
        return ("hold_at", ROW, column) if self._down else ("hold_at", column, ROW)

    def _cell(self, disc: int) -> tuple[object, ...]:
        stored = self.task.objects[disc].stored
        assert stored is not None
        return "store", stored


# ---- Players


#: A seed for a batch, or a seed for each of its tables.
Seeds = int | Sequence[int]


class Player(Protocol):
    """A player of the tables of a batch."""

    def begin(self, batch: ProbSolVectorEnv) -> None:
        """Prepare for new episodes on all tables."""
        ...

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        """Return (B,) int64: an action for each table, including tables whose episode is over."""
        ...


def play(batch: ProbSolVectorEnv, player: Player) -> np.ndarray:
    """Play an episode on each table of a batch that was just reset.

    :returns: (B,) bool: the episode ended with success.
    :raises InputError: a task without a limit of trials, whose episode might not end.
    """
    for i in range(batch.num_envs):
        if "trial_number" not in batch.task(i).constraints:
            raise InputError(f"the task {batch.task(i).name!r} has no limit of trials: it could be tried for ever")
    success = np.zeros(batch.num_envs, dtype=bool)
    for _, ended in steps(batch, player):
        success |= ended & batch.success
    return success


def steps(batch: ProbSolVectorEnv, player: Player) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Play an episode on each table of a batch that was just reset; yield after each step (B,) bool: the tables that
    made the step, and the tables whose episode ended with it."""
    player.begin(batch)
    for _, playing in evaluation.steps(lambda batch, first: player.act(batch), batch):
        _, terminated, truncated = batch.results()
        yield playing, (terminated | truncated) & playing


class Random:
    """Player that draws uniformly among the open actions."""

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
    """Return a generator for each table, so that no table's draws depend on the others."""
    each = [[seeds, i] for i in range(batch)] if isinstance(seeds, int) else [[seed, 0] for seed in seeds]
    return [np.random.default_rng([*seed, purpose]) for seed in each]


class DoNothing:
    """Player that checks immediately."""

    def begin(self, batch: ProbSolVectorEnv) -> None:
        pass

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        return np.full(batch.num_envs, batch.labels.num_actions + CHECK)


class Scripts:
    """Player that runs the script from `write(batch, i)` on each table, and NONE after its end."""

    def __init__(self, write: Callable[[ProbSolVectorEnv, int], Script]) -> None:
        self.write = write

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self._scripts = [self.write(batch, i) for i in range(batch.num_envs)]

    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        actions = np.full(batch.num_envs, batch.labels.num_actions + NONE)
        for i, script in enumerate(self._scripts):
            action = next(script, None)
            if isinstance(action, tuple):
                actions[i] = batch.action_index(*action, i=i)  # pyright: ignore[reportArgumentType]
            elif action is not None:
                actions[i] = action
        return actions


#: Number of actions that `Hand.left` reserves for the end of a trial.
RESERVE = 14


class Hand:
    """Generate actions for a table."""

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        self.batch, self.i, self.task, self.tables = batch, i, batch.task(i), batch.tables
        self.many, self.last = len(self.task.objects), batch.labels.num_actions

    @property
    def where(self) -> np.ndarray:
        return self.tables.where[self.i, : self.many]

    @property
    def place(self) -> np.ndarray:
        return self.tables.place[self.i, : self.many].copy()

    @property
    def left(self) -> int:
        """Return the number of actions left in the trial, without the reserve for its end, `RESERVE`."""
        used = self.tables.actions[self.i] + self.tables.refused[self.i]
        return int(self.batch.settings.max_actions - used) - RESERVE

    @property
    def able(self) -> list[int]:
        """Return the discs that the empty hand can take from the table or the side bar."""
        return [disc for disc in range(self.many) if self.where[disc] == STORED or self.can_take(disc)]

    def can_take(self, disc: int) -> bool:
        """Return whether the empty hand can take a disc."""
        return bool(self.tables.mask()[self.i, disc + self.tables.discs * (self.where[disc] == PLACED)])

    def put(self, disc: int, point: int, *, hold: bool = False) -> Iterator[int]:
        """Put or hold a disc at a point, or store it if that is refused."""
        yield disc + self.tables.discs * int(self.where[disc] == PLACED)
        action = self.batch.labels.first_point + POINTS * hold + point
        yield action if self.tables.mask()[self.i, action] else self.batch.labels.free_cell(self.tables, self.i)

    def store(self, disc: int) -> Iterator[int]:
        """Move a disc from the table or the hand to the side bar."""
        if self.where[disc] == HELD:
            yield self.last + TAKE_UP
        elif self.where[disc] == PLACED:
            yield self.tables.discs + disc
        if self.where[disc] == GRABBED:
            yield self.batch.labels.free_cell(self.tables, self.i)

    def clear(self, keep: Sequence[int]) -> Iterator[int]:
        """Store all discs on the table that can be taken, except `keep`."""
        for disc in range(self.many):
            if disc not in keep and self.where[disc] == PLACED and self.can_take(disc):
                yield from self.store(disc)


class Naive(Scripts):
    """The naive policy of each family. Tool use: any disc to the open point nearest to a goal disc or target. Crafting:
    discs directly into the blocks. Discovery: random discs, as many as in the answer. Then CHECK."""

    def __init__(self, seeds: Seeds) -> None:
        super().__init__(self._script)
        self.seeds = seeds

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self._streams = _streams(self.seeds, batch.num_envs, 13)
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        while True:  # every trial is played the same way
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
            served, idle = _serving(batch, i)
            discs = rng.permutation(idle).tolist()
            for block in rng.permutation(len(task.blocks)).tolist():
                if block not in served and discs:
                    yield from _set(batch, i, discs.pop(), np.mean(task.blocks[block], axis=0))
        else:
            places = tables.place[i][tables.data.golden[tables.rows[i]]].tolist()
            places += [[x + wide / 2, y + high / 2] for x, y, wide, high in task.targets]
            discs = np.flatnonzero(tables.where[i] == STORED)
            discs = discs if len(discs) else np.flatnonzero(tables.mask()[i, tables.discs : 2 * tables.discs])
            if len(discs):
                yield from _set(batch, i, int(rng.choice(discs)), np.array(places[int(rng.integers(len(places)))]))
        yield check


def _set(batch: ProbSolVectorEnv, i: int, disc: int, point: np.ndarray) -> Script:
    """Yield the actions that put a disc at the open point nearest to a place."""
    yield "grab", batch.task(i).ids[disc]
    if (number := nearest_open(batch, i, point)) is not None:
        yield number


def nearest_open(batch: ProbSolVectorEnv, i: int, place: np.ndarray) -> int | None:
    """Return the action that places the disc in hand at the open point nearest to `place`, (2,) px; None if closed."""
    open_points = _open_points(batch, i)
    if not open_points.any():
        return None
    apart = ((CENTRES - place) ** 2).sum(axis=1)
    return int(np.where(open_points, apart, np.inf).argmin()) + batch.labels.first_point


def _open_points(batch: ProbSolVectorEnv, i: int) -> np.ndarray:
    """Return (1600,) bool: the point is open to the disc in hand."""
    first = batch.labels.first_point
    return batch.tables.mask()[i, first : first + POINTS]


def _serving(batch: ProbSolVectorEnv, i: int) -> tuple[set[int], list[int]]:
    """Return the blocks of a crafting task that hold a disc, and the discs that lie in no block."""
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


class Solved(Scripts):
    """Player that carries out the actions of a solution, without answers to a quiz.

    :ivar solutions: task -> its solution, by default the recorded solution.
    """

    def __init__(self, solutions: Callable[[Task], Solution] = lambda task: task.solution) -> None:
        super().__init__(self._script)
        self.solutions = solutions

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        yield from (action for action in self.solutions(batch.task(i)) if action[0] != "answer")


class Scripted(Solved):
    """The scripted solver of each family, written by people. In tool use and crafting it searches with the simulator
    and reads hidden properties; in discovery it determines the answer by probes, from visible state."""

    def __init__(self) -> None:
        super().__init__(self._solve)
        self._found: dict[str, Solution] = {}

    def _solve(self, task: Task) -> Solution:
        if task.hash not in self._found:
            self._found[task.hash] = solve(task)
        return self._found[task.hash]

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        if batch.task(i).family in DISCOVERY:
            yield from PairTests(batch, i).script()
        else:
            yield from super()._script(batch, i)
            yield ("check",)
