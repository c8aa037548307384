"""An agent for the discovery families that plays by facts about effects of discs, without a law or strategy written by
people.

In training tasks it puts pairs of discs next to each other on the empty table, and afterwards reads their comparisons
(`property_facts`). Comparisons order the discs of a single task; kinds of discs are shared by all tasks. The agent
assigns kinds to the discs of its tasks such that equal kinds had equal effects. The effect of two kinds on each other
is then a fact with a count (`gumption.kg.effects`). In a new task, a hypothesis states the set of equal discs and the
kind of each disc. The agent selects the meeting with the largest expected information about the goal per probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count, permutations, product
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.agents.watch import Candidate, Choice, Score
from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS, PUT_DOWN, TURN, TURN_BACK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.generators import generate
from gumption.envs.probsol.geometry import PLACED, STORED
from gumption.envs.probsol.memory import visible
from gumption.envs.probsol.quiz import COMPARED, DIPOLE, LARGEST, PAIR, SMALLEST, disc_label, is_right, property_facts
from gumption.envs.probsol.tasks import CELL, DISCOVERY, GRID, Laws, Task
from gumption.envs.record_memory import RecordMemory
from gumption.kg.effects import Effects, Lived

from .players import Hand, Script, Scripts, nearest_open, play

Discs = Literal["monopoles", "with dipoles"]
#: Property in a quiz -> its index in the comparisons, `COMPARED`.
TRAITS = {"mass": 0, "magnetism": 1, "polarity": 2}
#: Distances of two discs that meet, in cells of 12 px; each distance is a way to meet.
CELLS = (3, 4)
#: Grid points near the corners of the table.
CORNERS = [row * GRID + column for row, column in ((3, 3), (36, 36), (3, 36), (36, 3))]
#: Number of tasks that are arranged clearest first; later tasks follow in their order.
EARLY = 30
#: Passes over all tasks in which each task is arranged again by the counts of the others.
PASSES = 4
#: Weight of an outcome's overall share relative to the counts of a pair of kinds.
PRIOR = 0.1
#: Number of likeliest outcomes of a pair of kinds that are compared.
LIKELIEST = 4
#: Probability that a meeting of known kinds has an outcome never observed for them.
NOISE = 1e-3
#: Largest number of assignments of kinds to discs that are kept, and their smallest relative weight.
MOST, LEAST = 1000, 1e-8
#: Number of drawn assignments for comparing meetings, and number of replies to a question that are compared.
DRAWN, REPLIES = 500, 3
#: Probability from which an answer or a reply is accepted. Chosen on tasks of other seeds (50,000 and more).
SURE = 0.9
#: nats per probe: smallest expected information of a meeting that is made.
WORTH = 0.003
#: Largest number of meetings on a table.
MOST_MEETINGS = 40
#: Most actions of a meeting: store two discs, look at two, put both down. An answer takes two per disc, and CHECK.
LONGEST_MEETING = 4 + 2 * 8 + 4
#: Limit of actions of a trial in which the agent makes all of a table's meetings.
MOST_ACTIONS = 10_000
#: Number of meetings that a picture of a choice compares.
SHOWN = 8


def find_tasks(discs: Discs, many: int, first: int) -> list[Task]:
    """Generate discovery tasks without dark areas and walls, both families in turn, with one trial each. The quiz is
    about an extreme of mass, an extreme of magnetism, and a pair: comparisons of discs can answer these questions.

    :param discs: tasks without dipoles, or with dipoles. :param first: the first seed to try.
    """
    found: list[Task] = []
    for seed in count(first):
        if len(found) == many:
            break
        task = generate(DISCOVERY[len(found) % 2], seed)
        dipoles = any(disc.polarity == DIPOLE for disc in task.objects)
        if task.inaccessible or task.walls or dipoles != (discs == "with dipoles"):
            continue
        rng = np.random.default_rng([seed, 19])
        mass, magnetism = ((SMALLEST, LARGEST)[k] for k in rng.integers(2, size=2))
        quiz: tuple[dict[str, str], ...] = (
            {"ask": "mass", "which": mass},
            {"ask": "magnetism", "which": magnetism},
            {"ask": PAIR, "same": ("mass", "magnetism", "polarity")[int(rng.integers(3))]},
        )
        found.append(replace(task, constraints={"trial_number": 1}, quiz=quiz))
    return found


# ---- meetings


class Meeting(NamedTuple):
    """A meeting: disc `first` was put near disc `second`; `way` is an index into `CELLS`."""

    first: int
    second: int
    way: int


#: The outcome of a meeting: movements of the first and the second disc in tenths of px, along the line of the two and
#: across it, and steps until they rested.
Outcome = tuple[int, ...]


def meetings_of(task: Task) -> int:
    """Return the number of possible meetings of a task's discs."""
    return len(task.objects) * (len(task.objects) - 1) * len(CELLS)


class Hands(Hand):
    """Generate the actions of meetings on a table that is otherwise empty.

    :ivar upright: discs meet on the middle column instead of the middle row, because more of it is accessible.
    :ivar looked: discs that were held, which shows their boundary, and turned along the line of the meetings.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        super().__init__(batch, i)
        allowed = batch.tables.data.allowed[batch.tables.rows[i]].reshape(GRID, GRID)
        self.upright = bool(allowed[:, GRID // 2].sum() > allowed[GRID // 2].sum())
        self.labels, self.looked = batch.labels, set[int]()
        self.outcome: Outcome = ()

    def lost(self) -> bool:
        """Return whether a free hand cannot take some disc because the disc lies in the dark."""
        lying = np.flatnonzero(self.where == PLACED).tolist()
        return not self.tables.hand[self.i] and not all(map(self.can_take, lying))

    def meet(self, first: int, second: int, way: int) -> Iterator[int]:
        """Yield the actions of a meeting, and store its `outcome`."""
        yield from self._clear()
        along, across = (GRID, 1) if self.upright else (1, GRID)
        points = [GRID // 2 * across + ((GRID - CELLS[way]) // 2 + offset) * along for offset in (0, CELLS[way])]
        if first not in self.looked:
            yield from self._look(first, points[0])
            yield from self.store(first)
        if second in self.looked:
            yield second
            yield self.labels.first_point + points[1]
        else:
            yield from self._look(second, points[1])
            yield self.last + PUT_DOWN
        yield first
        before = np.array([CENTRES[points[0]], self.tables.place[self.i, second]])
        steps = int(self.tables.steps[self.i])
        yield self.labels.first_point + points[0]
        went = (self.tables.place[self.i, [first, second]] - before)[:, :: -1 if self.upright else 1]
        self.outcome = *np.rint(10 * went).astype(int).ravel().tolist(), int(self.tables.steps[self.i]) - steps

    def leave(self, answer: Sequence[int]) -> Iterator[int]:
        """Yield the actions that leave only these discs on the table, near its corners."""
        yield from self._clear()
        for k, disc in enumerate(disc for disc in answer if self.where[disc] == STORED):
            yield disc
            if (number := nearest_open(self.batch, self.i, CENTRES[CORNERS[k % 4]])) is not None:
                yield number

    def _clear(self) -> Iterator[int]:
        """Store the discs in hand and on the table, except discs in the dark."""
        if held := int(self.tables.hand[self.i]):
            yield from self.store(held - 1)
        yield from self.clear(())

    def _look(self, disc: int, point: int) -> Iterator[int]:
        """Hold a stored disc at a point and turn it along the line of meetings, from the first disc to the second."""
        self.looked.add(disc)
        yield disc
        yield self.labels.first_point + POINTS + point
        eighths = (int(visible(self.tables)[2][self.i, disc]) // 45 - 6 * self.upright) % 8
        turns = min(eighths, 8 - eighths)
        yield from [self.last + (TURN_BACK if eighths <= 4 else TURN)] * turns


class Curious(Scripts):
    """Player that makes random meetings, each with another pair or in another way.

    :ivar rows: (task, first, second, way) of each meeting. :ivar outcomes: of each meeting.
    """

    def __init__(self, seed: int, meetings: int | None = None) -> None:
        """:param meetings: number on each table; None for all possible meetings."""
        super().__init__(self._script)
        self.seed, self.meetings = seed, meetings
        self.rows: list[tuple[int, int, int, int]] = []
        self.outcomes: list[Outcome] = []

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        hands, rng = Hands(batch, i), np.random.default_rng([self.seed, i, 17])
        pairs = permutations(range(len(batch.task(i).objects)), 2)
        every = [(*pair, way) for pair in pairs for way in range(len(CELLS))]
        for k in rng.permutation(len(every))[: self.meetings].tolist():
            yield from hands.meet(*every[k])
            self.rows.append((i, *every[k]))
            self.outcomes.append(hands.outcome)
        yield batch.labels.num_actions + CHECK


# ---- kinds


def levels(task: Task) -> np.ndarray:
    """Return (N, 3) int64: the rank of each disc by each relation of `COMPARED`, from 0; equal discs have equal ranks.
    The classes of an equivalence are ordered by their first disc."""
    number = {disc_label(task, id): k for k, id in enumerate(task.ids)}
    stated = np.zeros((3, len(number), len(number)), dtype=bool)
    for one, relation, other in property_facts(task):
        if relation in COMPARED:
            stated[COMPARED.index(relation), number[one], number[other]] = True
    same = (stated[2] | np.eye(len(number), dtype=bool)).argmax(1)
    return np.stack([np.unique(key, return_inverse=True)[1] for key in (*stated[:2].sum(2), same)], axis=1)


class Arranging:
    """Assign kinds to the discs of T tasks; each combination of levels is one of K kinds. If a task contains only some
    of the levels, the outcomes in other tasks determine which levels these are.

    :ivar size: number of values of each level. :ivar kinds: for each task, (N,) the kinds of its discs.
    """

    def __init__(self, orders: Sequence[np.ndarray], rows: np.ndarray) -> None:
        """
        :param orders: `levels` of the tasks. :param rows: (n, 5) task, first, second, way, index of the outcome.
        """
        self.size = np.max([order.max(0) for order in orders], axis=0) + 1
        self.K, self.rows = int(self.size.prod()), [rows[rows[:, 0] == i] for i in range(len(orders))]
        self.options = [self._options(order) for order in orders]
        self.share = PRIOR * np.bincount(rows[:, 4]) / len(rows)
        self.counts = np.zeros(((rows[:, 3].max() + 1) * self.K**2, len(self.share)))
        self.total = np.zeros(len(self.counts))
        self.kinds = [options[0] for options in self.options]
        left = list(range(len(orders)))
        task = max(left, key=lambda i: (int((orders[i].max(0) + 1).prod()), len(orders[i])))
        while left:
            self._put(task, self._best(task), 1)
            left.remove(task)
            if left:
                task = max(left, key=self._clear) if len(orders) - len(left) < EARLY else left[0]
        for _ in range(PASSES):
            for task in range(len(orders)):
                self._put(task, self.kinds[task], -1)
                self._put(task, self._best(task), 1)

    def _options(self, order: np.ndarray) -> np.ndarray:
        """Return (A, N), the possible kinds of a task's discs: orders are kept, classes are arbitrary."""
        have = (order.max(0) + 1).tolist()
        ways: list[Any] = [combinations(range(size), many) for size, many in zip(self.size[:2], have, strict=False)]
        ways.append(permutations(range(self.size[2]), have[2]))
        taken = (np.stack([np.array(way)[place] for way, place in zip(chosen, order.T, strict=True)])
                 for chosen in product(*ways))  # fmt: skip
        return np.array([np.ravel_multi_index(tuple(each), tuple(self.size)) for each in taken])

    def _cells(self, task: int, kinds: np.ndarray) -> np.ndarray:
        _, first, second, way, _ = self.rows[task].T
        return (way * self.K + kinds[..., first]) * self.K + kinds[..., second]

    def _scores(self, task: int) -> np.ndarray:
        """Return (A,), the log likelihood of a task's outcomes by the counts of the arranged tasks."""
        cells, outcome = self._cells(task, self.options[task]), self.rows[task][:, 4]
        return np.log((self.counts[cells, outcome] + self.share[outcome]) / (self.total[cells] + PRIOR)).sum(1)

    def _best(self, task: int) -> np.ndarray:
        return self.options[task][self._scores(task).argmax()]

    def _clear(self, task: int) -> float:
        """Return the log likelihood of the best option minus that of the next. Two equal best options are accepted:
        classes that other tasks do not distinguish are interchangeable."""
        scores = self._scores(task)
        best = scores >= scores.max() - 1e-6
        return float(scores.max() - scores[~best].max(initial=-1e9)) if best.sum() <= 2 else -1.0

    def _put(self, task: int, kinds: np.ndarray, sign: int) -> None:
        cells = self._cells(task, kinds)
        np.add.at(self.counts, (cells, self.rows[task][:, 4]), sign)
        np.add.at(self.total, cells, sign)
        self.kinds[task] = kinds


# ---- knowledge


@dataclass(frozen=True)
class Learned:
    """The knowledge learned in other tasks.

    :ivar effects: (kind, other kind), a way to meet -> an outcome, with counts. :ivar outcomes: outcome -> its index.
    :ivar often: (O,) count of each outcome.
    :ivar value, p: (W, K, K, L) the likeliest outcomes of two kinds and their shares; 0 if they never met in this way.
    :ivar traits: (K, 3) the levels of each kind. :ivar prior: (K,) the prior probability of each kind.
    :ivar sizes: (family, number of discs in the answer) -> number of tasks.
    :ivar met: the arrays of `arranged`, from which the rest is computed.
    """

    effects: Effects
    outcomes: Mapping[Outcome, int]
    often: np.ndarray
    value: np.ndarray
    p: np.ndarray
    traits: np.ndarray
    prior: np.ndarray
    sizes: Mapping[tuple[str, int], int]
    met: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, met: Mapping[str, np.ndarray]) -> Learned:
        """Count the effects of kinds on each other in the meetings that `arranged` returns."""
        rows, size = met["rows"], tuple(met["size"].tolist())
        K, outcome, ends = int(np.prod(size)), rows[:, 4], np.cumsum(met["many"])
        kinds = met["kinds"][(ends - met["many"])[rows[:, :1]] + rows[:, 1:3]]
        effects = Effects.fit(
            Lived(
                thing=np.ones((len(rows), 1), dtype=np.int64),
                before=_state(kinds, 0 * outcome),
                after=_state(np.full_like(kinds, -1), outcome),
                action=rows[:, 3:4] + 1,
                episode=rows[:, 0],
                carried=np.ones(len(rows), dtype=bool),
            )
        )
        pairs = np.indices((K, K)).reshape(2, -1).T
        ways = np.broadcast_to(np.arange(len(CELLS))[:, None] + 1, (len(pairs), len(CELLS), 1))
        states = _state(pairs, np.zeros(len(pairs), dtype=np.int64))
        expected = effects.predict(np.ones((len(pairs), 1), dtype=np.int64), states, ways, LIKELIEST)
        value, p = (part[:, :, 0, 2].swapaxes(0, 1).reshape(len(CELLS), K, K, LIKELIEST) for part in expected[:2])
        tables = np.split(met["kinds"], ends[:-1])
        prior = np.bincount(np.concatenate([np.unique(mine) for mine in tables]), minlength=K) + PRIOR
        sizes: Counter[tuple[str, int]] = Counter()
        for family, mine in zip(met["family"].tolist(), tables, strict=True):
            alike = int(np.bincount(mine).max())
            sizes[DISCOVERY[family], alike if family else len(mine) - alike] += 1
        numbers = {tuple(outcome): k + 1 for k, outcome in enumerate(met["outcomes"].tolist())}
        traits = np.stack(np.unravel_index(np.arange(K), size), axis=1)
        return cls(effects, numbers, np.bincount(rows[:, 4]), value, p, traits, prior / prior.sum(), sizes, met)

    def named(self, slot: int, value: int) -> str:
        """Name a value of a meeting: the kind of its first or second disc, or, of slot 2, its outcome."""
        if slot < 2:
            return f"{('first', 'second')[slot]} disc of kind {value - 1}"
        first, _, second, _, steps = self.met["outcomes"][value - 1].tolist()
        return f"moved {first / 10:+.1f} px and {second / 10:+.1f} px in {steps} steps"

    def fact(self, way: int, first: int, second: int) -> str:
        """Return the fact about a meeting of two kinds in words; "" if none is sure."""
        state = _state(np.array([[first, second]]), np.zeros(1, dtype=np.int64))[0, 0]
        for slot, _, value, times, _ in self.effects.why(state, np.array([way + 1])):
            if slot == 2:
                return f"kind {first} next to kind {second}: {self.named(slot, value)}, {times} times"
        return ""

    def likelihood(self, way: int, outcome: Outcome) -> np.ndarray:
        """Return (K, K), the likelihood of an outcome for each pair of kinds."""
        number = self.outcomes.get(outcome, 0)
        share = (self.often[number] if number else 1.0) / self.often.sum()
        known = (self.p[way] * (self.value[way] == number)).sum(-1) if number else np.zeros(self.p.shape[1:3])
        return np.where(self.value[way, ..., 0] > 0, (1 - NOISE) * known + NOISE * share, share)

    def knowing(self, known: str) -> Learned:
        """Return a copy with other facts for controls: "false" facts state the effects of a kind for the next kind, and
        "none" and "constant" distinguish no kinds. "prior" facts, from other tasks, are the lived ones."""
        if known in ("lived", "prior"):
            return self
        false = {"value": np.roll(self.value, 1, axis=1), "p": np.roll(self.p, 1, axis=1)}
        return replace(self, **(false if known == "false" else {"value": 0 * self.value, "p": 0 * self.p}))


@lru_cache
def learn_from(discs: Discs, laws: Laws, many: int, seed: int) -> Learned:
    """Call `learn` with `many` generated tasks, which differ by seed."""
    return learn(find_tasks(discs, many, 100_000 + seed * 1000), laws, seed)


def learn(tasks: Sequence[Task], laws: Laws = "real", seed: int = 0) -> Learned:
    """Make meetings in tasks, read the comparisons of their discs, and learn the effects of kinds of discs."""
    player = Curious(seed)
    live_through(tasks, player, laws)
    return Learned.of(arranged(tasks, player.rows, player.outcomes))


def arranged(
    tasks: Sequence[Task], rows: Sequence[tuple[int, ...]], outcomes: Sequence[Outcome]
) -> dict[str, np.ndarray]:
    """Assign kinds to the discs of tasks, in which meetings were made.

    :param rows: (task, first, second, way) of each meeting.
    :returns: "rows" (n, 5), with the number of the outcome from 1; "outcomes" (O, 5); of the T tasks "family" (T,), an
        index into DISCOVERY, and "many" (T,) discs; their "kinds" (D,); "size" (3,), the number of values of a trait.
    """
    numbers = {outcome: k + 1 for k, outcome in enumerate(sorted(set(outcomes)))}
    table = np.column_stack([rows, [numbers[outcome] for outcome in outcomes]])
    arranging = Arranging([levels(task) for task in tasks], table)
    family = [DISCOVERY.index(task.family) for task in tasks]
    parts = {"rows": table, "outcomes": list(numbers), "family": family, "many": [*map(len, arranging.kinds)]}
    parts |= {"kinds": np.concatenate(arranging.kinds), "size": arranging.size}
    return {name: np.array(part, dtype=np.int64) for name, part in parts.items()}


def _state(kinds: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Return (n, 1, 3), the state of meetings: kinds (n, 2), -1 for none, and the outcome (n,), 0 for none."""
    return np.column_stack([kinds + 1, outcome])[:, None]


class Part(NamedTuple):
    """The belief about discs that meetings connect. :ivar kinds: (R, D) possible kinds; weight (R,)."""

    discs: list[int]
    kinds: np.ndarray
    weight: np.ndarray


class Belief:
    """An agent's belief about the discs of a table.

    :ivar answers: (H, N) bool: the sets of discs that can be an answer. :ivar alike: (H, N) bool: the discs that are
        then of a common kind; no other disc is of this kind.
    :ivar chance: (H,) prior probability of an answer by its size.
    """

    def __init__(self, learned: Learned, family: str, many: int) -> None:
        self.learned, self.many, differs = learned, many, family == DISCOVERY[0]
        sizes = range(1, (many + 1) // 2) if differs else range(2, many)
        chosen = [(size, discs) for size in sizes for discs in combinations(range(many), size)]
        self.answers = np.array([np.isin(np.arange(many), discs) for _, discs in chosen]).reshape(-1, many)
        self.alike = ~self.answers if differs else self.answers
        of_size = np.array([learned.sizes.get((family, size), 0) + PRIOR for size, _ in chosen])
        self.chance = of_size / np.bincount([size for size, _ in chosen])[[size for size, _ in chosen]]
        self.refused = np.zeros(len(chosen), dtype=bool)
        self.parts: list[Part] = []
        self.met: list[Meeting] = []

    def add(self, meeting: Meeting, outcome: Outcome) -> None:
        """Update the belief with the outcome of a meeting."""
        self.met.append(meeting)
        like = self.learned.likelihood(meeting.way, outcome)
        one, other = self._part(meeting.first), self._part(meeting.second)
        self.parts = [part for part in self.parts if part is not one and part is not other]
        first, second = one.kinds[:, one.discs.index(meeting.first)], other.kinds[:, other.discs.index(meeting.second)]
        if one is other:
            discs, kinds, weight = one.discs, one.kinds, one.weight * like[first, second]
        else:
            joint = one.weight[:, None] * other.weight * like[first[:, None], second]
            rows = np.argsort(-joint, axis=None, kind="stable")[:MOST]
            a, b = np.unravel_index(rows, joint.shape)
            discs, kinds, weight = one.discs + other.discs, np.hstack([one.kinds[a], other.kinds[b]]), joint[a, b]
        kept = weight > LEAST * weight.max()
        self.parts.append(Part(discs, kinds[kept], weight[kept] / weight[kept].sum()))

    def _part(self, disc: int) -> Part:
        fresh = Part([disc], np.arange(len(self.learned.prior))[:, None], self.learned.prior)
        return next((part for part in self.parts if disc in part.discs), fresh)

    def refuse(self, discs: Sequence[int]) -> None:
        """Exclude these discs as an answer."""
        self.refused |= (self.answers == np.isin(np.arange(self.many), discs)).all(1)

    def _bits(self, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a part's alike discs as bits: (H,) by answer and (R, K) by assignment and kind; and the weights
        (R, K)."""
        bits = 1 << np.arange(len(part.discs))
        same = part.kinds[:, :, None] == np.arange(len(self.learned.prior))
        weight = part.weight[:, None] / self.learned.prior ** same.sum(1)
        return self.alike[:, part.discs] @ bits, (same * bits[:, None]).sum(1), weight

    def chances(self) -> np.ndarray:
        """Return (H, K), the joint probability of an answer and of the kind of the alike discs. If the facts contradict
        every answer, return the prior."""
        prior = self.learned.prior
        p = before = np.where(self.refused & ~self.refused.all(), 0.0, self.chance)[:, None] * prior
        for part in self.parts:
            wanted, bits, weight = self._bits(part)
            table = np.zeros((1 << len(part.discs), len(prior)))
            np.add.at(table, (bits, np.arange(len(prior))), weight)
            p = p * table[wanted]
            p /= max(p.sum(), 1e-300)
        rest = [disc for disc in range(self.many) if not any(disc in part.discs for part in self.parts)]
        p = p * (1 - prior) ** (~self.alike[:, rest]).sum(1)[:, None]
        p = p if p.any() else before
        return p / p.sum()

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (S,) answers and (S, N) kinds of the discs from the belief."""
        chances, prior = self.chances(), self.learned.prior
        drawn = rng.choice(chances.size, DRAWN, p=chances.ravel())
        answer, kind = np.divmod(drawn, len(prior))
        others = rng.choice(len(prior), (DRAWN, self.many), p=prior)
        kinds = np.where(self.alike[answer], kind[:, None], others)
        for part in self.parts:
            wanted, bits, weight = self._bits(part)
            cases, case = np.unique(np.stack([wanted[answer], kind]), axis=1, return_inverse=True)
            fits = np.cumsum(np.where(cases[0][:, None] == bits[:, cases[1]].T, weight[:, cases[1]].T, 0.0), axis=1)
            steps = (fits / np.maximum(fits[:, -1:], 1e-300) + np.arange(len(fits))[:, None]).ravel()
            case = case.reshape(-1)
            row = steps.searchsorted(case + rng.random(DRAWN)) - case * len(part.kinds)
            kinds[:, part.discs] = part.kinds[np.clip(row, 0, len(part.kinds) - 1)]
        return answer, kinds

    def gains(
        self, goal: np.ndarray, kinds: np.ndarray, looked: set[int], rng: np.random.Generator
    ) -> tuple[list[Meeting], np.ndarray]:
        """Return the meetings that were not made yet, and the expected information of each about a goal per probe.

        :param goal: (S,) the value of the unknown in drawn assignments, as integers; `kinds` (S, N).
        """
        made = set(self.met)
        meetings = [
            Meeting(*pair, way)
            for pair in permutations(range(self.many), 2)
            for way in range(len(self.learned.value))
            if Meeting(*pair, way) not in made and (pair[0] in looked or pair[1] not in looked)
        ]  # if only the second was looked at, the exchanged pair takes fewer probes
        if not meetings:
            return [], np.zeros(0)
        first, second, way = np.array(meetings).T
        outcomes = self.learned.value[way[:, None], kinds[:, first].T, kinds[:, second].T, 0]  # (C, S)
        size = len(self.learned.often)
        left = entropies(goal * size + outcomes)
        gain = entropies(rng.permutation(goal) * size + outcomes) - left  # relative to a shuffled goal, to remove bias
        return meetings, gain / (2 + np.array([one not in looked for one in first]))


def entropies(numbers: np.ndarray) -> np.ndarray:
    """Return (C,), the entropy in nats of each row of drawn numbers (C, S)."""
    ordered = np.sort(numbers, axis=1)
    starts = np.flatnonzero(np.diff(ordered, axis=1, prepend=-1))
    share = np.diff(starts, append=numbers.size) / numbers.shape[1]
    return np.bincount(starts // numbers.shape[1], -share * np.log(share), minlength=len(numbers))


# ---- playing


class DiscoveryTable:
    """The player of a table of a discovery family. At the end it puts the answer onto the table and checks. If the
    actions of a trial run out, or a disc is in the dark, it checks the likeliest answer, and the next trial continues
    with the same belief.

    :ivar probes: number of places, holds and turns to learn the answer. :ivar meetings: their number.
    :ivar replies: the discs of its reply to each question of the quiz.
    :ivar compared: for the latest choice, each meeting, its expected information, and the drawn kinds (S, N) of discs;
        None when it makes no meeting.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int, learned: Learned, seed: int) -> None:
        self.batch, self.i, self.task, self.learned = batch, i, batch.task(i), learned
        self.discs = [k for k, disc in enumerate(self.task.objects) if disc.stored is not None]
        self.belief = Belief(learned, self.task.family, len(self.task.first_stored))
        self.rng, self.hands = np.random.default_rng([seed, i, 31]), Hands(batch, i)
        self.probes = self.meetings = 0
        self.replies: list[list[str]] = []
        self.compared: tuple[list[Meeting], np.ndarray, np.ndarray] | None = None

    def script(self) -> Script:
        """Yield the actions of one trial after another."""
        batch, i, belief, discs = self.batch, self.i, self.belief, self.discs
        while True:
            while (meeting := self._next()) is not None:
                for action in self._meet(meeting):
                    self.probes += batch.label(action, i)[0] in ("place", "hold", "hold_at", "turn")
                    yield action
            answer, self.meetings = belief.answers[int(belief.chances().sum(1).argmax())], len(belief.met)
            for question in self.task.quiz:
                while (meeting := self._next(question)) is not None:
                    yield from self._meet(meeting)
            self.replies = [self._reply(question) for question in self.task.quiz]
            self.compared, trial = None, batch.tables.trials[i]
            yield from self.hands.leave([discs[k] for k in np.flatnonzero(answer)])
            left = np.flatnonzero(batch.tables.where[i, discs] == PLACED).tolist()
            yield batch.labels.num_actions + CHECK
            if batch.tables.trials[i] == trial:
                return  # the episode is over
            self.hands = Hands(batch, i)
            belief.refuse(left)

    def choice(self) -> Choice | None:
        """Return the comparison of the likeliest meetings, with facts about the likeliest kinds of their discs."""
        if self.compared is None:
            return None
        meetings, gains, kinds = self.compared
        candidates, many = [], len(self.learned.prior)
        for k in np.argsort(-gains, kind="stable")[:SHOWN].tolist():
            first, second, way = meetings[k]
            pairs = np.bincount(kinds[:, first] * many + kinds[:, second])
            likely = [divmod(pair, many) for pair in np.argsort(-pairs, kind="stable")[:LIKELIEST].tolist()]
            facts = filter(None, (self.learned.fact(way, *pair) for pair in likely))
            scores = (Score("likeliest kinds", float(pairs.max() / len(kinds)), tuple(facts)),)
            one, other = (self.task.ids[self.discs[disc]] for disc in (first, second))
            label = f"{one} {CELLS[way] * CELL:g} px from {other}"
            candidates.append(Candidate(label, float(np.clip(gains[k], 0.0, 1.0)), scores=scores))
        return Choice("probe", tuple(candidates), 0)

    def _next(self, question: Mapping[str, str] | None = None) -> Meeting | None:
        """Return the meeting with the largest expected information about the answer, or about the reply to a question,
        per probe; None if the most likely one is sure enough, or if no further meeting can be made or is worth it."""
        tables, belief = self.batch.tables, self.belief
        left = self.batch.settings.max_actions - tables.actions[self.i] - tables.refused[self.i]
        enough = left > LONGEST_MEETING + 4 + 2 * len(self.discs)
        if not enough or self.hands.lost() or len(belief.met) >= MOST_MEETINGS:
            return None
        if question is None and belief.chances().sum(1).max() >= SURE:
            return None
        goal, kinds = belief.draw(self.rng)
        if question is not None:
            right, _ = correct(question, self.learned.traits[kinds])
            likeliest = np.argsort(-right.mean(0), kind="stable")[:REPLIES]
            if right[:, likeliest[0]].mean() >= SURE:
                return None
            goal = right[:, likeliest] @ (1 << np.arange(len(likeliest)))
        looked = {self.discs.index(disc) for disc in self.hands.looked}
        meetings, gains = belief.gains(goal, kinds, looked, self.rng)
        if gains.max(initial=0.0) <= WORTH:
            return None
        self.compared = meetings, gains, kinds
        return meetings[int(gains.argmax())]

    def _meet(self, meeting: Meeting) -> Iterator[int]:
        yield from self.hands.meet(self.discs[meeting.first], self.discs[meeting.second], meeting.way)
        self.belief.add(meeting, self.hands.outcome)

    def _reply(self, question: Mapping[str, str]) -> list[str]:
        """Return the ids of the discs of the reply that is most probably right."""
        right, named = correct(question, self.learned.traits[self.belief.draw(self.rng)[1]])
        return [self.task.ids[self.discs[k]] for k in named[int(right.mean(0).argmax())]]


def correct(question: Mapping[str, str], traits: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Return (S, R) bool: the reply to a question is right; and the discs that each reply names.

    :param traits: (S, N, 3) levels of the discs.
    """
    many = traits.shape[1]
    if question["ask"] == PAIR:
        pairs = list(combinations(range(many), 2))
        one, other = np.array(pairs).T
        trait = traits[..., TRAITS[question["same"]]]
        return trait[:, one] == trait[:, other], pairs
    trait = traits[..., TRAITS[question["ask"]]]
    extreme = trait.max(1) if question["which"] == LARGEST else trait.min(1)
    return trait == extreme[:, None], [(k,) for k in range(many)]


def live_through(
    tasks: Sequence[Task], player: Any, laws: Laws = "real", memory: str | PathLike[str] | None = None
) -> np.ndarray:
    """Play an episode of each task, without quizzes.

    :param memory: a folder for the transitions.
    :returns: (B,) bool: the task was solved.
    """
    batch = ProbSolVectorEnv(
        len(tasks), task=list(tasks), order="sequential", autoreset_mode=AutoresetMode.DISABLED, laws=laws, quiz=False,
        max_actions=MOST_ACTIONS,
    )  # fmt: skip
    env = batch if memory is None else RecordMemory(batch, memory)
    env.reset(seed=0)
    solved = play(batch, player)
    env.close()
    return solved


def compare(player: Any, tasks: Sequence[Task], laws: Laws) -> dict[str, np.ndarray]:
    """Play the tasks.

    :param player: a `GraphPlayer`.
    :returns: "solved" (B,) bool; "probes" (B,), number of places, holds and turns to learn the answer; "meetings"
        (B,); "right" (B, 3) bool, for the questions of the quiz.
    """
    solved = live_through(tasks, player, laws)
    right = [
        [is_right(replace(task, quiz=(question,)), [reply], [0] * len(task.objects))
         for question, reply in zip(task.quiz, table.replies, strict=True)]
        for task, table in zip(tasks, player.tables, strict=True)
    ]  # fmt: skip
    counts = {name: np.array([getattr(table, name) for table in player.tables]) for name in ("probes", "meetings")}
    return {"solved": solved, **counts, "right": np.array(right)}
