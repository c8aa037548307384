"""A ProbSol agent without a written law: it plays tool use by facts of what its own tries moved.

A try holds one disc still near another. Given are the action space, what a player sees (places, areas) and the goal.
Lived is what a disc does to another: kg/curves.py fits one family of curves to the distances before and after tries in
other tasks, and knows by few tries in a task what the pairs there do. The agent predicts where discs of candidate tries
would end, and makes the one that is worth most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS, TAKE_UP, Tables
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.geometry import GRABBED, HELD, PLACED, STORED
from gumption.envs.probsol.magnets import RADIUS, TABLE
from gumption.envs.probsol.memory import REFUSED, Memory
from gumption.envs.probsol.tasks import GRID
from gumption.kg.curves import LEVELS, Curves, Pairs, Tries

from .players import Script, Scripts

Known = Literal["lived", "constant", "false", "none"]
ALONE = 200.0  # px: a try counts where any third disc lies farther than this from the disc that it acts on
NEAREST, FARTHEST = 2 * RADIUS + 2, 220.0  # px between the discs of a try
KEPT = 14  # actions of a trial that are kept for its end
EDGE = RADIUS + 1.0  # px from an edge of the table: a disc there was stopped
STRAIGHT = 4.0  # px aside of the line of the two discs: something else moved the disc


def straight(held: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(n,) bool: no third disc drew discs aside of the line to the held ones; (n, 2) px each."""
    way = (before - held) / np.maximum(np.hypot(*(before - held).T), 1e-9)[:, None]
    move = after - before
    aside = np.abs(move[:, 0] * way[:, 1] - move[:, 1] * way[:, 0])
    return aside < STRAIGHT


def free(after: np.ndarray) -> np.ndarray:
    """(n,) bool: no edge stopped discs that ended at (n, 2) px."""
    return np.minimum(after, TABLE - after).min(-1) > EDGE


def tries(memory: Memory) -> tuple[Tries, list[str]]:
    """The tries in a memory, and the names of the things: "TASK:ID"."""
    rows = memory.records[(memory.records["flags"] & REFUSED) == 0]
    first = 3 * memory.layout.settings["discs"] + memory.layout.settings["cells"] + POINTS
    point = rows["action"][:, 0] - first
    rows, point = rows[(point >= 0) & (point < POINTS)], point[(point >= 0) & (point < POINTS)]
    actor, held = (rows["state_after"] == HELD).argmax(1), CENTRES[point]
    lies = (rows["state"] == PLACED) & (rows["state_after"] == PLACED)
    away = np.where(lies, np.hypot(*(rows["place"] - held[:, None]).transpose(2, 0, 1)), np.inf)
    other, each = away.argmin(1), np.arange(len(rows))
    before, after = rows["place"][each, other].astype(float), rows["place_after"][each, other].astype(float)
    apart = np.where(lies, np.hypot(*(rows["place"] - before[:, None]).transpose(2, 0, 1)), np.inf)
    apart[each, other] = np.inf
    good = (apart.min(1) > ALONE) & (away[each, other] < np.inf) & straight(held, before, after)
    names = [f"{name}:{disc}" for name, discs in memory.tasks for disc in discs]
    starts = np.cumsum([0, *(len(discs) for _, discs in memory.tasks)])[rows["task"]]
    pair = np.stack([starts + actor, starts + other], axis=1)
    numbers = away[each, other], np.hypot(*(after - held).T)
    parts = pair, *numbers, free(after)
    return Tries(*(part[good] for part in parts)), names


class Hand:
    """The actions of one table."""

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
        """Actions that are left in the trial."""
        used = self.tables.actions[self.i] + self.tables.refused[self.i]
        return int(self.batch.settings.max_actions - used) - KEPT

    def can_take(self, disc: int) -> bool:
        """Whether the hand, which is empty, can take a disc."""
        return bool(self.tables.mask()[self.i, disc + self.tables.discs * (self.where[disc] == PLACED)])

    def put(self, disc: int, point: int, *, hold: bool = False) -> Iterator[int]:
        """Put or hold a disc at a point, or store it where that is refused."""
        yield disc + self.tables.discs * int(self.where[disc] == PLACED)
        action = self.batch.labels.first_point + POINTS * hold + point
        yield action if self.tables.mask()[self.i, action] else self.batch.labels.free_cell(self.tables, self.i)

    def store(self, disc: int) -> Iterator[int]:
        """Take a disc off the table."""
        if self.where[disc] == HELD:
            yield self.last + TAKE_UP
        elif self.where[disc] == PLACED:
            yield self.tables.discs + disc
        if self.where[disc] == GRABBED:
            yield self.batch.labels.free_cell(self.tables, self.i)

    def clear(self, keep: Sequence[int]) -> Iterator[int]:
        """Take all discs off the table that can be taken, but some."""
        for disc in range(self.many):
            if disc not in keep and self.where[disc] == PLACED and self.can_take(disc):
                yield from self.store(disc)


class Curious(Scripts):
    """Tries random pairs, each at two random distances, from the start of the task."""

    def __init__(self, seed: int, tries: int) -> None:
        """:param tries: of each table."""
        super().__init__(self._script)
        self.seed, self.tries = seed, tries

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        hand, rng = Hand(batch, i), np.random.default_rng([self.seed, i, 23])
        allowed = np.flatnonzero(batch.tables.data.allowed[batch.tables.rows[i]])
        one = other = -1
        for k in range(self.tries):
            able = [disc for disc in range(hand.many) if hand.where[disc] == STORED or hand.can_take(disc)]
            if k % 2 == 0 or one not in able:  # each pair twice, at two distances
                one = int(rng.choice(able))
                other = int(rng.choice([disc for disc in range(hand.many) if disc != one]))
            yield from hand.clear(() if other in able else (other,))
            if other in able:
                yield from hand.put(other, int(rng.choice(allowed)))
            away = np.hypot(*(CENTRES[allowed] - hand.place[other]).T)
            near = allowed[(away >= NEAREST) & (away <= FARTHEST)]
            if len(near) and hand.where[other] == PLACED:
                yield from hand.put(one, int(rng.choice(near)), hold=True)
                yield from hand.store(one)
            yield hand.last + CHECK


# ---- playing


CANDIDATES = 1500  # tries of a pair that are compared
DRAWN = 60_000  # random pairs of points, of which candidates are those that aim at an area
LATER = 0.7  # worth of a success one try later
GUESS = 0.5  # worth of a try of which nothing is known yet, once its disc is within reach
NOTHING = 0.02  # a try that is worth less is not made
MAP = 4.0  # px between the points of maps of the table
SIDE = int(TABLE / MAP)
#: (SIDE, SIDE, 2) px, x first.
GROUND = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), axis=-1) * MAP + MAP / 2


def covered(areas: Sequence[Sequence[float]], room: float = 0.0) -> np.ndarray:
    """(SIDE, SIDE) bool: the points of the map inside areas [x, y, width, height], or within `room` px of them."""
    x, y = GROUND[..., 0], GROUND[..., 1]
    inside = np.zeros((SIDE, SIDE), dtype=bool)
    for left, top, wide, high in areas:
        inside |= (left - room <= x) & (x <= left + wide + room) & (top - room <= y) & (y <= top + high + room)
    return inside


def _at(map_: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values of a map at places (..., 2) px."""
    cell = np.clip((places / MAP).astype(np.int64), 0, SIDE - 1)
    return map_[cell[..., 0], cell[..., 1]]


class GraphPlayer(Scripts):
    """Plays Fishing and Curling by facts of its tries.

    :ivar curves: of its life.
    """

    def __init__(self, curves: Curves, known: Known = "lived") -> None:
        """:param known: "lived" facts; "false" ones, what a disc does is said of the next disc; "constant", all pairs
        have the commonest kind and the mean reach; "none", only how often kinds and reaches occurred."""
        super().__init__(lambda batch, i: _Table(batch, i, curves, known).script())


class _Table:
    """The player of one table."""

    def __init__(self, batch: ProbSolVectorEnv, i: int, curves: Curves, known: Known) -> None:
        self.hand, self.known, self.curves = Hand(batch, i), known, curves
        self.task, tables = batch.task(i), batch.tables
        self.pairs = Pairs(curves, self.hand.many)
        row = tables.rows[i]
        self.golden = np.flatnonzero(tables.data.golden[row, : self.hand.many])
        self.points = np.flatnonzero(tables.data.allowed[row])
        self.targets = [covered([area]) for area in self.task.targets]
        self.dark, self.walls = covered(self.task.inaccessible), covered(self.task.walls, RADIUS)
        away = np.hypot(*(GROUND[:, :, None] - CENTRES[self.points][::7]).transpose(3, 0, 1, 2)).min(2)
        mean, deviation = curves.reach, curves.deviation
        from scipy.special import ndtr

        #: (SIDE, SIDE) how likely some disc at an open point reaches a disc there.
        self.within = ndtr((mean - np.log(away + NEAREST + RADIUS)) / deviation)
        self.tried: set[tuple[int, ...]] = set()
        self.aimed: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def script(self) -> Script:
        """Trial after trial."""
        while True:
            yield from self._trial()
            held = int(self.hand.tables.hand[self.hand.i]) - 1
            if held >= 0:
                yield from self.hand.store(held)
            yield self.hand.last + CHECK

    def _trial(self) -> Script:
        hand = self.hand
        while hand.left > 0:
            goals = self._open_goals()
            if not goals:
                yield from hand.clear(self._serving())
                if not self._open_goals():
                    return
                continue
            able = [disc for disc in range(hand.many) if hand.where[disc] == STORED or hand.can_take(disc)]
            carried = False
            for discs, areas in goals:
                for disc in discs:
                    free = [p for p in self.points if any(_at(area, CENTRES[p]) for area in areas)]
                    if disc in able and free and not carried:
                        carried = True
                        yield from self._carry(disc, np.array(free))
            if carried:
                continue
            choice = self._choice(goals, able)
            if choice is None:
                return
            yield from self._try(*choice)

    def _serving(self) -> list[int]:
        """Discs that lie where the goal wants one."""
        hand = self.hand
        mine = self.golden if len(self.golden) else range(hand.many)
        return [disc for disc in mine if hand.where[disc] == PLACED and any(_at(area, hand.place[disc]) for area in self.targets)]

    def _open_goals(self) -> list[tuple[list[int], list[np.ndarray]]]:
        """What is left to do: (discs of which one, areas in one of which) it has to come to rest."""
        serving = self._serving()
        if len(self.golden):
            return [([int(disc)], self.targets) for disc in self.golden if disc not in serving]
        place = self.hand.place
        idle = [disc for disc in range(self.hand.many) if disc not in serving]
        return [(idle, [area]) for area in self.targets if not any(_at(area, place[disc]) for disc in serving)]

    def _carry(self, disc: int, free: np.ndarray) -> Script:
        """Put a disc that can be taken into an area, far from other discs."""
        hand = self.hand
        yield from hand.clear([disc, *self._serving()])
        others = [k for k in range(hand.many) if k != disc and hand.where[k] == PLACED]
        away = np.full(len(free), 1e3)
        for k in others:
            away = np.minimum(away, np.hypot(*(CENTRES[free] - hand.place[k]).T))
        tries = sum(key[0] == -1 for key in self.tried)
        self.tried.add((-1, tries))
        order = np.argsort(-np.round(away, 1), kind="stable")
        yield from hand.put(disc, int(free[order[tries % len(order)]]))

    def _try(self, one: int, other: int, put: int, hold: int) -> Script:
        """Hold `one` at a point, once `other` lies at a point of its own (-1: where it is); take in what it did."""
        hand = self.hand
        yield from hand.clear([*self._serving(), *([other] if put < 0 else [])])
        if put >= 0:
            if hand.where[other] == PLACED:
                yield from hand.store(other)
            yield from hand.put(other, put)
        before = hand.place[other]
        yield from hand.put(one, hold, hold=True)
        if hand.where[one] == HELD and hand.where[other] == PLACED:
            held, after = CENTRES[hold], hand.place[other]
            if self.known in ("lived", "false") and straight(held[None], before[None], after[None])[0]:
                shift = int(self.known == "false")
                pair = (one + shift) % hand.many, (other + shift) % hand.many
                numbers = [float(np.hypot(*(where - held))) for where in (before, after)]
                self.pairs.see(*pair, *numbers, bool(free(after)))
            yield from hand.store(one)
        else:
            yield from hand.store(one)

    def _believed(self) -> tuple[np.ndarray, np.ndarray]:
        kinds, levels = self.pairs.levels()
        if self.known == "constant":
            kinds = np.zeros_like(kinds) + (np.arange(2) == self.curves.often.argmax())
            levels = np.full_like(levels, self.curves.reach)
        return kinds, levels

    def _choice(self, goals: Any, able: Sequence[int]) -> tuple[int, int, int, int] | None:
        """The try that is worth most: (acting disc, other disc, point to put it or -1, point to hold)."""
        kinds, levels = self._believed()
        best, chosen = NOTHING, None
        for discs, areas in goals:
            wanted = np.logical_or.reduce(areas)
            reachable = (wanted & ~self.dark).any()
            if reachable:
                wanted = wanted | ~self.dark
            wanted = wanted & ~self.walls
            later = LATER * GUESS * self.within if reachable else np.zeros((SIDE, SIDE))
            for other in discs:
                if self.hand.where[other] not in (STORED, PLACED):
                    continue
                moves = other in able
                put, hold = self._candidates(wanted, moves, other)
                if not len(hold):
                    continue
                start = CENTRES[put] if moves else np.broadcast_to(self.hand.place[other], (len(hold), 2))
                for one in able:
                    if one == other or (one in self.golden):
                        continue
                    value, ends = self._values(kinds[one, other], levels[one, other], start, CENTRES[hold], wanted, later)
                    key = (one, other, *np.round(self.hand.place[other] / 3).astype(int).tolist()) if not moves else (one, other)
                    fresh = np.array([(*key, int(p), int(h)) not in self.tried for p, h in zip(put, hold, strict=True)]) if self.tried else True
                    value = np.where(fresh, value, 0)
                    k = int(value.argmax())
                    if value[k] > best:
                        best, chosen = value[k], (one, other, int(put[k]), int(hold[k]))
                        chosen_key = (*key, int(put[k]), int(hold[k]))
        if chosen is not None:
            self.tried.add(chosen_key)
        return chosen

    def _candidates(self, wanted: np.ndarray, moves: bool, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Points to put the other disc and to hold the first one, (C,) each; -1 where the other stays."""
        if not moves:
            away = np.hypot(*(CENTRES[self.points] - self.hand.place[other]).T)
            hold = self.points[(away >= NEAREST) & (away <= FARTHEST)]
            return np.full(len(hold), -1), hold
        key = hash(wanted.tobytes())
        if key not in self.aimed:
            rng = np.random.default_rng(0)
            put, hold = rng.choice(self.points, (2, DRAWN))
            way = CENTRES[put] - CENTRES[hold]
            away = np.hypot(*way.T)
            near = (away >= NEAREST) & (away <= FARTHEST)
            put, hold, way, away = put[near], hold[near], way[near], away[near]
            hits = np.zeros(len(put), dtype=int)
            for far in range(20, 480, 10):
                at = CENTRES[put] + way / away[:, None] * far
                hits += _at(wanted, at) & (np.abs(at - TABLE / 2).max(1) < TABLE / 2)
            order = np.argsort(-np.minimum(hits, 4), kind="stable")
            order = order[hits[order] > 0][:CANDIDATES]
            self.aimed[key] = put[order], hold[order]
        return self.aimed[key]

    def _values(self, kinds, levels, start, held, wanted, later) -> tuple[np.ndarray, np.ndarray]:
        """(C,) what candidates are worth."""
        way = start - held
        before = np.hypot(*way.T)
        after = self.curves.after(np.arange(2)[:, None], levels[None], before[:, None, None])  # (C, 2, L)
        ends = held[:, None, None] + (way / before[:, None])[:, None, None] * after[..., None]
        inside = np.clip(ends, RADIUS, TABLE - RADIUS)
        success = _at(wanted, inside)
        if self.task.walls:
            for share in np.linspace(0, 1, 9):
                success &= ~_at(self.walls, start[:, None, None] * (1 - share) + inside * share)
        worth = np.where(success, 1.0, _at(later, inside))
        return (worth * kinds[:, None]).sum((1, 2)) / LEVELS, inside
