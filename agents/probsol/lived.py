"""A ProbSol agent without a written law: it plays by facts about the movements in its own tries.

In the discovery families, meetings of discs are its tries; see `discovery`. In tool use, a try holds a disc still near
another disc. The agent has the action space, the visible state (places, areas) and the goal. It learns the effect of a
disc on another: kg/curves.py fits a family of curves to the distances before and after tries in other tasks, and infers
the effects of pairs in a new task from few tries. The agent predicts the ends of discs for candidate tries, and makes
the try with the highest value.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.ndimage import distance_transform_edt
from scipy.special import ndtr

from gumption.agents.run import Learner, run_learner
from gumption.agents.run_folder import KNOWLEDGE, RunFolder, read_final, read_metrics
from gumption.agents.watch import Candidate, Choice, Score, in_words
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.sealed import content_hash
from gumption.envs.memory import FOLDER
from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.geometry import HELD, PLACED, STORED, area_distance
from gumption.envs.probsol.magnets import RADIUS, TABLE
from gumption.envs.probsol.memory import REFUSED, Memory
from gumption.envs.probsol.tasks import CRAFTING, DISCOVERY, TOOL_USE, Task
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph
from gumption.kg.curves import KINDS, LEVELS, Curves, Pairs, Tries

from . import discovery
from .config import ProbSolConfig
from .evaluation import play_tasks, spread
from .players import Hand, Script, Scripts, steps

Known = Literal["lived", "prior", "constant", "false", "none"]
ACTING = TOOL_USE + CRAFTING  # families in which discs act on other discs to reach the goal
ALONE = 200.0  # px: a try counts if every third disc lies farther than this from the disc that it acts on
NEAREST, FARTHEST = 2 * RADIUS + 2, 220.0  # px between the discs of a try
EDGE = RADIUS + 1.0  # px from an edge of the table: a disc there was stopped by the edge
STRAIGHT = 4.0  # px away from the line of the two discs: another cause moved the disc


def seen(held: np.ndarray, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evaluate tries in which discs moved from `before` to `after` near held discs; all are (n, 2) px.

    :returns: (n,) the distance afterwards, at most the distance of the edge on the line of the two discs; whether no
        edge stopped the disc; and whether the try counts: the disc stayed on the line, or an edge stopped it.
    """
    apart = np.maximum(np.hypot(*(before - held).T), 1e-9)
    way, move = (before - held) / apart[:, None], after - before
    with np.errstate(divide="ignore"):
        edge = np.where(way > 0, (TABLE - RADIUS - held) / way, np.where(way < 0, (RADIUS - held) / way, np.inf)).min(1)
    free = np.minimum(after, TABLE - after).min(1) > EDGE
    aside = np.abs(move[:, 0] * way[:, 1] - move[:, 1] * way[:, 0])
    return np.minimum(np.hypot(*(after - held).T), np.maximum(edge, apart)), free, (aside < STRAIGHT) | ~free


def tries(memory: Memory) -> tuple[Tries, list[str]]:
    """Return the tries in a memory, and the names of the things: "TASK:ID"."""
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
    end, free, alone = seen(held, before, after)
    good = (apart.min(1) > ALONE) & (away[each, other] < np.inf) & alone
    names = [f"{name}:{disc}" for name, discs in memory.tasks for disc in discs]
    starts = np.cumsum([0, *(len(discs) for _, discs in memory.tasks)])[rows["task"]]
    pair = np.stack([starts + actor, starts + other], axis=1)
    parts = pair, away[each, other], end, free
    return Tries(*(part[good] for part in parts)), names


class RandomTries(Scripts):
    """Player that tries random pairs, each at two random distances, a try per trial, if discs can be taken."""

    def __init__(self, seed: int, tries: int) -> None:
        """:param tries: number of tries on each table."""
        super().__init__(self._script)
        self.seed, self.tries = seed, tries

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        hand, rng = Hand(batch, i), np.random.default_rng([self.seed, i, 23])
        allowed = np.flatnonzero(batch.tables.data.allowed[batch.tables.rows[i]])
        one = other = -1
        for k in range(self.tries):
            able = hand.able
            if not able or hand.many < 2 or not len(allowed):
                return
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


CANDIDATES = 1000  # number of tries of a pair that are compared
DRAWN = 16_000  # number of random pairs of points; pairs that aim at an area become candidates
PROBE = -2  # stands for the area of probes, tries in the open that serve no goal
PROBES = 8  # largest number of probes of a pair
LATER = 0.7  # discount of a success one try later
GUESS = 0.5  # value of a try with unknown effect, once its disc is within reach
NOTHING = 0.02  # smallest value of a try that is made
MAP = 4.0  # px between the points of maps of the table
SIDE = int(TABLE / MAP)
#: (SIDE, SIDE, 2) px, x first.
GROUND = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), axis=-1) * MAP + MAP / 2


def covered(areas: Sequence[Sequence[float]], room: float = 0.0) -> np.ndarray:
    """Return (SIDE, SIDE) bool: the map point lies inside an area [x, y, width, height], or within `room` px of it."""
    x, y = GROUND[..., 0], GROUND[..., 1]
    inside = np.zeros((SIDE, SIDE), dtype=bool)
    for left, top, wide, high in areas:
        inside |= (left - room <= x) & (x <= left + wide + room) & (top - room <= y) & (y <= top + high + room)
    return inside


def _within(corners: np.ndarray, count: int) -> np.ndarray:
    """Return (SIDE, SIDE) bool: the map point lies inside a polygon (V, 2), whose first `count` corners count."""
    inside, low, high = np.zeros((SIDE, SIDE), dtype=bool), corners[:count].min(0), corners[:count].max(0)
    for cell in map(tuple, np.argwhere(((low <= GROUND) & (high >= GROUND)).all(-1))):
        inside[cell] = area_distance(GROUND[cell][0], GROUND[cell][1], corners, count) == 0.0
    return inside


def _at(map_: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the values of a map at places (..., 2) px."""
    cell = np.clip((places / MAP).astype(np.int64), 0, SIDE - 1)
    return map_[cell[..., 0], cell[..., 1]]


class Aims(NamedTuple):
    """Candidate tries that move a disc. :ivar key: identifies them. :ivar put: (C,) points to put the disc, -1 if it
    stays; `hold` (C,) points of the acting disc; `start` (C, 2) px. :ivar worth: (SIDE, SIDE) value of an end there.
    """

    key: tuple[int, ...]
    put: np.ndarray
    hold: np.ndarray
    start: np.ndarray
    worth: np.ndarray


class GraphPlayer(Scripts):
    """Player by facts of its tries.

    :ivar curves: fitted to its tries in training tasks of tool use. :ivar learned: from its meetings in training tasks
        of discovery. Either is None if it had no such tasks.
    """

    def __init__(
        self,
        curves: Curves | None,
        known: Known = "lived",
        learned: discovery.Learned | None = None,
        seed: int = 0,
    ) -> None:
        """:param known: "lived" facts; "prior", without facts about the pairs of the task; "false" facts, which state
        the effect of a disc or kind for the next one; "constant", all pairs have the commonest kind and the mean reach;
        "none", no fact and no curve, so that the values of tries are drawn at random.
        :param seed: draws the hypotheses that are compared in discovery."""
        super().__init__(lambda batch, i: self.tables[i].script())
        self.curves, self.seed = curves, seed
        self.known: Known = known
        self.learned = learned and learned.knowing(known)
        self.tables: list[Any] = []

    def begin(self, batch: ProbSolVectorEnv) -> None:
        """Prepare a player for each table; :raises InputError: tasks of families that it has no facts for."""
        self.tables = [self._table(batch, i) for i in range(batch.num_envs)]
        super().begin(batch)

    def _table(self, batch: ProbSolVectorEnv, i: int) -> TablePlayer | discovery.DiscoveryTable:
        task = batch.task(i)
        if task.family in DISCOVERY and self.learned is not None:
            return discovery.DiscoveryTable(batch, i, self.learned, self.seed)
        if task.family in ACTING and self.curves is not None:
            return TablePlayer(batch, i, self.curves, self.known)
        similar = " or ".join(DISCOVERY if task.family in DISCOVERY else ACTING)
        raise InputError(
            f"the task {task.name!r} is of the family {task.family}, for which the agent has no facts: it plays "
            f"{', '.join(ACTING + DISCOVERY)}, if its training tasks have {similar} among them"
        )


class TablePlayer:
    """The player of a table.

    :ivar compared: for the latest choice, each pair with a try of relevant value: (acting disc, other disc), the value
        of its best try, and the probabilities of the kinds of its effect, (2,). :ivar chosen: the chosen pair.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int, curves: Curves, known: Known) -> None:
        self.hand, self.known, self.curves = Hand(batch, i), known, curves
        self.task, tables = batch.task(i), batch.tables
        self.pairs = Pairs(curves, self.hand.many)
        row = tables.rows[i]
        self.golden = np.flatnonzero(tables.data.golden[row, : self.hand.many])
        self.points = np.flatnonzero(tables.data.allowed[row])
        corners, counts = tables.data.corners[row], tables.data.counts[row]
        self.areas = [(corners[k], int(counts[k])) for k in range(tables.data.areas[row])]
        blocks = [_within(*area) for area in self.areas] if self.task.family in CRAFTING else []
        self.targets = blocks or [covered([area], -MAP) for area in self.task.targets]
        self.within_targets = [self.points[_at(area, CENTRES[self.points])] for area in self.targets]
        self.dark, self.walls = covered(self.task.inaccessible), covered(self.task.walls, RADIUS)
        open_ = np.zeros((SIDE, SIDE), dtype=bool)
        open_[tuple((CENTRES[self.points] / MAP).astype(np.int64).T)] = True
        away = np.asarray(distance_transform_edt(~open_)) * MAP
        #: (SIDE, SIDE) probability that a disc at an open point reaches a disc there.
        self.within = ndtr((curves.reach - np.log(away + NEAREST + RADIUS)) / curves.deviation)
        self.inner = covered([(20.0, 20.0, TABLE - 40, TABLE - 40)])
        self.carried, self.compared, self.chosen = 0, [], None
        self.aims: dict[tuple[int, ...], Aims] = {}
        self.values: dict[Any, tuple[Any, np.ndarray, float]] = {}
        self.spent: dict[Any, np.ndarray] = {}
        self.rng = np.random.default_rng([i, 29])

    def choice(self) -> Choice | None:
        """Return the comparison of the best tries of pairs, with the probabilities of the kinds of their effects."""
        if self.chosen is None:
            return None
        best = {pair: (value, kinds) for pair, value, kinds in sorted(self.compared, key=lambda row: row[1])}
        ids, candidates = self.task.ids, []
        for (one, other), (value, kinds) in best.items():
            facts = [(ids[one], f"{kind}DistanceOf", ids[other]) for kind in KINDS]
            scores = tuple(Score(fact[1], float(p), (in_words(fact),)) for fact, p in zip(facts, kinds, strict=True))
            candidates.append(Candidate(f"{ids[one]} on {ids[other]}", min(value, 1.0), scores=scores))
        return Choice("try", tuple(candidates), list(best).index(self.chosen))

    def script(self) -> Script:
        """Yield the actions of one trial after another."""
        while True:
            yield from self._trial()
            held = int(self.hand.tables.hand[self.hand.i]) - 1
            if held >= 0:
                yield from self.hand.store(held)
            yield self.hand.last + CHECK
            _, terminated, truncated = self.hand.batch.results()
            if (terminated | truncated)[self.hand.i]:
                return

    def _trial(self) -> Script:
        hand = self.hand
        while hand.left > 0:
            goals = self._open_goals()
            if not goals:
                yield from hand.clear(self._serving())
                if not self._open_goals():
                    return
                continue
            able = hand.able
            near = [(disc, area) for discs, area in goals for disc in discs if disc in able and len(self._free(area))]
            if near:
                yield from self._carry(near[0][0], self._free(near[0][1]))
                continue
            choice = self._choice(goals, able)
            if choice is None:
                return
            yield from self._try(*choice)

    def _serving(self) -> list[int]:
        """Return the discs that lie in an area of the goal and count for it."""
        hand = self.hand
        mine = self.golden if len(self.golden) else np.arange(hand.many)
        inside = self._inside().any(0)
        return mine[(inside & (hand.where == PLACED))[mine]].tolist()

    def _open_goals(self) -> list[tuple[list[int], int]]:
        """Return the unsolved parts of the goal, (discs, area): one of the discs has to come to rest in the area, an
        index of `targets`, or -1 for any target."""
        serving = self._serving()
        if len(self.golden):
            return [([int(disc)], -1) for disc in self.golden if disc not in serving]
        idle = [disc for disc in range(self.hand.many) if disc not in serving]
        return [(idle, k) for k, inside in enumerate(self._inside()) if not inside[serving].any()]

    def _inside(self) -> np.ndarray:
        """Return (T, M) bool: the disc's place is inside the target."""
        place = self.hand.place.tolist()
        return np.array([[area_distance(x, y, at, many) == 0.0 for x, y in place] for at, many in self.areas])

    def _free(self, area: int) -> np.ndarray:
        """Return the points of an area at which the hand may put a disc."""
        return self.within_targets[area] if area >= 0 else np.concatenate(self.within_targets)

    def _carry(self, disc: int, free: np.ndarray) -> Script:
        """Put a disc that can be taken into an area, far from other discs."""
        hand = self.hand
        yield from hand.clear([disc, *self._serving()])
        others = [k for k in range(hand.many) if k != disc and hand.where[k] == PLACED]
        away = np.full(len(free), 1e3)
        for k in others:
            away = np.minimum(away, np.hypot(*(CENTRES[free] - hand.place[k]).T))
        order = np.argsort(-np.round(away, 1), kind="stable")
        yield from hand.put(disc, int(free[order[self.carried % len(order)]]))
        self.carried += 1

    def _try(self, one: int, other: int, put: int, hold: int) -> Script:
        """Put `other` at the point `put` (-1: it stays), hold `one` at the point `hold`, and record the effect."""
        hand = self.hand
        yield from hand.clear([*self._serving(), *([other] if put < 0 else [])])
        if put >= 0:
            if hand.where[other] == PLACED:
                yield from hand.store(other)
            yield from hand.put(other, put)
        before = hand.place[other]
        yield from hand.put(one, hold, hold=True)
        if hand.where[one] == HELD and hand.where[other] == PLACED and self.known in ("lived", "false"):
            held = CENTRES[hold][None]
            end, free, alone = (part[0] for part in seen(held, before[None], hand.place[other][None]))
            actor = one
            if self.known == "false":  # attribute the effect to the next disc other than `other`
                actor = next(k % hand.many for k in (one + 1, one + 2) if k % hand.many != other)
            if alone:
                self.pairs.see(actor, other, float(np.hypot(*(before - held[0]))), float(end), bool(free))
        yield from hand.store(one)

    def _believed(self) -> tuple[np.ndarray, np.ndarray]:
        kinds, levels = self.pairs.levels()
        if self.known == "constant":
            kinds = np.zeros_like(kinds) + (np.arange(2) == self.curves.often.argmax())
            levels = np.full_like(levels, self.curves.reach)
        return kinds, levels

    def _choice(self, goals: Any, able: Sequence[int]) -> tuple[int, int, int, int] | None:
        """Return the try with the highest value: (acting disc, other disc, point to put it or -1, point to hold). The
        value of a probe, which serves no goal, is the discounted value of the best try once the pair is known."""
        believed = self._believed()
        best, chosen, spent = NOTHING, None, None
        self.compared: list[tuple[tuple[int, int], float, np.ndarray]] = []
        for discs, area in goals:
            for other in discs:
                if self.hand.where[other] not in (STORED, PLACED):
                    continue
                moves, probes = other in able, self._aims(PROBE, other, True)
                aim = self._aims(area, other, moves)
                for one in able:
                    if one == other or one in self.golden:
                        continue
                    pair = one, other
                    kinds, levels = believed[0][pair], believed[1][pair]
                    values, known = self._values(aim, pair, kinds, levels)
                    options = [(aim, values)]
                    if moves and LATER * known > best and self._asks(pair):
                        options.append((probes, LATER * known * self._values(probes, pair, kinds, levels)[0]))
                    for tries, value in options:
                        if (most := float(value.max(initial=0.0))) > NOTHING:
                            self.compared.append((pair, most, kinds))
                        if most > best:
                            k = int(value.argmax())
                            best, chosen = most, (one, other, int(tries.put[k]), int(tries.hold[k]))
                            spent = self.spent[tries.key, one, other], k
        if spent is not None:
            spent[0][spent[1]] = True
        self.chosen = chosen and chosen[:2]
        return chosen

    def _asks(self, pair: tuple[int, int]) -> bool:
        """Return whether a probe can add information about a pair."""
        made = self.spent.get(((PROBE,), *pair))
        learns = self.known in ("lived", "false") and np.isnan(self.pairs.point[pair])
        return learns and (made is None or int(made.sum()) < PROBES)

    def _aims(self, area: int, other: int, moves: bool) -> Aims:
        """Return the candidates of a disc for an area: an index of `targets`, -1 for all targets, or `PROBE`."""
        place = self.hand.place[other]
        key = (area,) if moves else (area, other, *np.round(place / 2).astype(int).tolist())
        if key in self.aims:
            return self.aims[key]
        wanted = ~self.dark & self.inner
        worth = wanted & ~self.walls
        if area != PROBE:
            wanted = self.targets[area] if area >= 0 else np.logical_or.reduce(self.targets)
            reachable = (wanted & ~self.dark).any()  # then the hand can put any disc there that it can take
            wanted = (wanted | ~self.dark if reachable else wanted) & ~self.walls
            worth = np.where(wanted, 1.0, LATER * GUESS * self.within * reachable)
        if moves:
            put, hold = np.random.default_rng(0).choice(self.points, (2, DRAWN if len(self.points) else 0))
            way = CENTRES[put] - CENTRES[hold]
            away = np.hypot(*way.T)
            near = (away >= NEAREST) & (away <= FARTHEST)
            put, hold, way = put[near], hold[near], way[near] / away[near, None]
            far = np.arange(12, 240 if area == PROBE else int(TABLE), 12)
            at = CENTRES[put][:, None] + way[:, None] * far[:, None]
            on = (at[..., 0] > 0) & (at[..., 0] < TABLE) & (at[..., 1] > 0) & (at[..., 1] < TABLE)
            hits = (_at(wanted, at) & on).sum(1)
            order = np.argsort(-np.minimum(hits, 20 if area == PROBE else 4), kind="stable")
            order = order[hits[order] > 0][: CANDIDATES // (5 if area == PROBE else 1)]
            put, hold = put[order], hold[order]
            start = CENTRES[put]
        else:
            away = np.hypot(*(CENTRES[self.points] - place).T)
            hold = self.points[(away >= NEAREST) & (away <= FARTHEST)]
            put, start = np.full(len(hold), -1), np.broadcast_to(place, (len(hold), 2))
        self.aims[key] = Aims(key, put, hold, start, worth.astype(float))
        return self.aims[key]

    def _values(
        self, aim: Aims, pair: tuple[int, int], kinds: np.ndarray, levels: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return (C,) the expected values of candidates, 0 if already made; and the expected value of the best
        candidate if kind and reach of the pair were known."""
        key, believed = (aim.key, *pair), (*kinds.tolist(), *levels.tolist())
        if key not in self.values or self.values[key][0] != believed:
            held = CENTRES[aim.hold]
            way = aim.start - held
            before = np.hypot(*way.T)
            after = self.curves.after(np.arange(2)[:, None], levels[None], before[:, None, None])  # (C, 2, L)
            ends = held[:, None, None] + (way / before[:, None])[:, None, None] * after[..., None]
            ends = np.clip(ends, RADIUS, TABLE - RADIUS)
            worth = _at(aim.worth, ends)
            if aim.key[0] == PROBE:
                worth *= np.abs(after - before[:, None, None]) > STRAIGHT
            if self.task.walls:
                for share in np.linspace(0, 1, 9):
                    worth[_at(self.walls, aim.start[:, None, None] * (1 - share) + ends * share)] = 0.0
            weight = kinds[:, None] / LEVELS
            best = (worth.max(0, initial=0.0) * weight).sum()
            self.values[key] = believed, (worth * weight).sum((1, 2)), float(best)
        worth = self.values[key][1]
        if self.known == "none":
            worth = 2 * NOTHING * (1 + self.rng.random(len(aim.hold)))
        made = self.spent.setdefault(key, np.zeros(len(aim.hold), dtype=bool))
        return np.where(made, 0.0, worth), self.values[key][2]


# ---- a run


KIND = "gumption/probsol-graph/2"
TRIES = 32  # tries on each table of tool use
FACTS, EFFECTS = "curves.nq", "effects.nq"  # in the folder of knowledge


def lived_on(config: ProbSolConfig, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks of a run's tries, discovery last. Both these and the others have the number of tries, rounded up
    to whole tasks: all meetings of a task's discs, or `TRIES`.

    :param tasks: the training tasks.
    :raises InputError: a task of another family; discovery tasks that all have dark areas or walls.
    """
    rng, chosen = np.random.default_rng(config.seed), list[Task]()
    for task in tasks:
        if task.family not in ACTING + DISCOVERY:
            plays = ", ".join(ACTING + DISCOVERY)
            raise InputError(f"the task {task.name!r} is of the family {task.family}; agent='graph' plays {plays}")
    for families in (ACTING, DISCOVERY):
        mine = [task for task in tasks if task.family in families]
        clear = [task for task in mine if families == ACTING or not (task.inaccessible or task.walls)]
        if mine and not clear:
            raise InputError(
                f"the task {mine[0].name!r} has dark areas or walls, where discs of a meeting get lost: name a task "
                "without them, too, such as findthediff/generated"
            )
        order = np.resize(rng.permutation(len(clear)), config.tries if clear else 0)
        many = [TRIES if families == ACTING else discovery.meetings_of(clear[k]) for k in order]
        chosen += [clear[k] for k in order[: np.cumsum(many).searchsorted(config.tries) + 1]]
    return chosen


def live(config: ProbSolConfig, tasks: Sequence[Task], folder: Path) -> tuple[int, discovery.Learned | None]:
    """Make the tries of a config on tasks from `lived_on`; store the transitions in FOLDER/memory. Return the number of
    tries, and the knowledge from meetings."""
    acting = sum(task.family in ACTING for task in tasks)
    batch = ProbSolVectorEnv(
        len(tasks), task=tasks, order="sequential", autoreset_mode="Disabled", quiz=False, laws=config.laws,
        trial_number=TRIES, max_actions=discovery.MOST_ACTIONS,
    )  # fmt: skip
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    env = RecordMemory(batch, folder / FOLDER)
    env.reset(seed=config.seed)
    trying, meeting = RandomTries(config.seed, TRIES), discovery.Curious(config.seed)
    for _ in steps(batch, Scripts(lambda batch, i: (trying if i < acting else meeting).write(batch, i))):
        pass
    env.close()
    rows = [(i - acting, *row) for i, *row in meeting.rows]
    learned = discovery.Learned.of(discovery.arranged(tasks[acting:], rows, meeting.outcomes)) if rows else None
    return acting * TRIES + len(rows), learned


def curves_of_run(folder: Path) -> tuple[Curves, list[str]]:
    """Fit the curves to the memory of a run; return them and the names of things.

    :raises InputError: no try in the memory changed anything.
    """
    made, names = tries(Memory.load(folder / FOLDER))
    return Curves.fit(made), names


class Living(Learner):
    """Learner that makes tries on training tasks. A stopped run starts again from the beginning: it takes seconds, or
    minutes with thousands of meetings."""

    kind = KIND

    def __init__(self, config: ProbSolConfig, folder: Path) -> None:
        """:param folder: the run's folder, which holds its memory."""
        self.config, self.folder, self.made = config, folder, 0
        self.curves: Curves | None = None
        self.learned: discovery.Learned | None = None
        self.total = self.measured_every = self.kept_every = config.tries
        self.tasks = {part: list(config.tasks(part)) for part in ("train", "validation")}
        self.on = lived_on(config, self.tasks["train"])

    @property
    def step(self) -> int:
        return self.made

    def learn(self, bar: Bar) -> None:
        self.made, self.learned = live(self.config, self.on, self.folder)
        (self.folder / KNOWLEDGE).mkdir(exist_ok=True)
        graph = KnowledgeGraph()
        if self.learned is not None:
            self.learned.effects.to_graph(graph, "own", self.learned.named)
            graph.save(self.folder / KNOWLEDGE / EFFECTS)
        if self.on[0].family in ACTING:
            graph, (self.curves, names) = KnowledgeGraph(), curves_of_run(self.folder)
            self.curves.to_graph(graph, "own", names)
            graph.save(self.folder / KNOWLEDGE / FACTS)

    def measure(self) -> dict[str, float]:
        """Return the share of tasks solved in one trial, and the share of the variance that each curve explains."""
        line: dict[str, float] = {}
        for part, tasks in self.tasks.items():
            player = GraphPlayer(self.curves, learned=self.learned, seed=self.config.seed)
            played = spread(tasks, self.config.eval_tasks)
            figures = play_tasks(player, played, trials=1, laws=self.config.laws).figures()
            line |= {f"{part}_{name}": figures[name] for name in ("solved", "rate")}
        explained = [] if self.curves is None else np.nan_to_num(self.curves.explained).tolist()
        return {**line, **{f"explained_{kind}": share for kind, share in zip(KINDS, explained, strict=False)}}

    def words(self, line: dict[str, float]) -> str:
        return f"{line['validation_solved']:.0%} of validation tasks solved"

    def manifest(self) -> dict[str, Any]:
        hashes = {part: content_hash([task.hash for task in tasks]) for part, tasks in self.tasks.items()}
        return {"tasks": hashes, "learner": "graph"}

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        met = {} if self.learned is None else self.learned.met
        return {"tries": torch.tensor([self.made]), **{name: torch.from_numpy(part) for name, part in met.items()}}, {}

    def put_state(self, tensors: dict[str, torch.Tensor], meta: dict[str, Any], where: Path) -> None:
        self.made, (self.curves, self.learned) = int(tensors["tries"][0]), knowledge_of_run(where, tensors)


def knowledge_of_run(folder: Path, tensors: dict[str, torch.Tensor]) -> tuple[Curves | None, discovery.Learned | None]:
    """Return the curves and the meetings' facts of a run with this state; None for what it did not live."""
    met = {name: part.numpy() for name, part in tensors.items() if name != "tries"}
    curves = curves_of_run(folder)[0] if (folder / KNOWLEDGE / FACTS).is_file() else None
    return curves, discovery.Learned.of(met) if met else None


@dataclass(frozen=True)
class GraphRun:
    """A run of the agent "graph"; fields as in `training.ProbSolRun`. :ivar curves, learned: see `GraphPlayer`."""

    config: ProbSolConfig
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    curves: Curves | None = field(repr=False)
    learned: discovery.Learned | None = field(repr=False)

    def player(self, seed: int = 0, *, known: Known = "lived") -> GraphPlayer:
        """:param seed: see `GraphPlayer`."""
        return GraphPlayer(self.curves, known, self.learned, seed)

    def players(self, seed: int = 0) -> dict[str, GraphPlayer]:
        return {"graph": self.player(seed), "knowledge taken away": self.player(seed, known="none")}


def train_graph(config: ProbSolConfig, folder: RunFolder | None, *, progress: bool = True) -> GraphRun:
    """Run the agent's tries; :param folder: of the run, from `opened`; None stores nothing."""
    with TemporaryDirectory() as place:
        path = None if folder is None else folder.path
        learner, curve, final = run_learner(
            folder, lambda: Living(config, path or Path(place)), title="living", progress=progress
        )
        return GraphRun(config, final, curve, path, learner.curves, learner.learned)


def load_graph(config: ProbSolConfig, folder: RunFolder) -> GraphRun:
    """Load a run. :raises InputError: the run has no memory."""
    final = read_final(folder.path) if folder.complete else {}
    known = knowledge_of_run(folder.path, folder.load(KIND)[0])
    return GraphRun(config, final, read_metrics(folder.path), folder.path, *known)
