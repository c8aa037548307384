"""An agent of the discovery families that plays by facts of what discs did, with no law and no strategy that people
wrote.

In training tasks it puts discs side by side, two alone on the table, and learns afterwards how they compare
(`property_facts`). Comparisons order the discs of one task; kinds of discs are the same in all tasks, so an agent
arranges its tasks until equal kinds did equal things. What two kinds do to each other is then a fact with a count
(`gumption.kg.effects`). In a new task a hypothesis says which discs are alike and of which kind each disc is. The next
meeting is the one that is expected to tell most about the goal, per probe.
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

from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS, PUT_DOWN, TURN, TURN_BACK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.generators import generate
from gumption.envs.probsol.geometry import PLACED, STORED
from gumption.envs.probsol.memory import visible
from gumption.envs.probsol.quiz import COMPARED, DIPOLE, LARGEST, PAIR, SMALLEST, disc_label, is_right, property_facts
from gumption.envs.probsol.tasks import DISCOVERY, GRID, Laws, Task
from gumption.envs.record_memory import RecordMemory
from gumption.kg.effects import Effects, Lived

from .lived import Hand
from .players import Script, Scripts, nearest_open, play

Discs = Literal["monopoles", "with dipoles"]
Known = Literal["lived", "false", "none"]
#: What a quiz asks about -> its place among the comparisons, `COMPARED`.
TRAITS = {"mass": 0, "magnetism": 1, "polarity": 2}
#: Cells of 12 px between two discs that meet: each is a way to meet.
CELLS = (3, 4)
#: Grid points near the corners of the table.
CORNERS = [row * GRID + column for row, column in ((3, 3), (36, 36), (3, 36), (36, 3))]
#: Tasks that are arranged in the order of how clear they are; the later ones follow as they come.
EARLY = 30
#: Passes over all tasks in which each is arranged anew by what the others showed.
PASSES = 4
#: Weight of an outcome's overall share beside the counts of a pair of kinds.
PRIOR = 0.1
#: Outcomes of a pair of kinds that are compared, the likeliest ones.
LIKELIEST = 4
#: Share of meetings of known kinds that end in a way that was never seen of them.
NOISE = 1e-3
#: Assignments of kinds to discs that are kept, and their least weight.
MOST, LEAST = 1000, 1e-8
#: Drawn assignments by which meetings are compared, and replies of a quiz that are compared.
DRAWN, REPLIES = 500, 3
#: An answer that is as likely is given, and so is a reply in a quiz. Chosen on tasks of other seeds (50,000 and more).
SURE = 0.9
#: nats a probe: a meeting that is expected to tell less is not made.
WORTH = 0.003
#: Meetings on one table at most.
MOST_MEETINGS = 40
#: Actions of a meeting at most: store two discs, look at two, put both down. An answer takes two a disc, and CHECK.
LONGEST_MEETING = 4 + 2 * 8 + 4


def find_tasks(discs: Discs, many: int, first: int) -> list[Task]:
    """Generated discovery tasks without dark areas and walls, both families in turn, with one trial each. The quiz asks
    for an extreme of mass, one of magnetism, and a pair: comparisons of discs can answer these.

    :param discs: tasks without dipoles, or with some. :param first: the first seed to try.
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
    """Disc `first` was put so many cells beside disc `second`, an index of `CELLS`."""

    first: int
    second: int
    way: int


#: How a meeting ended: tenths of px that the first and the second went, along the line of the two and across it, and
#: steps until they rested.
Outcome = tuple[int, ...]


class Hands(Hand):
    """The actions of meetings on a table that is otherwise empty.

    :ivar upright: discs meet on the middle column, instead of the middle row, because more of it is accessible.
    :ivar looked: discs that were held, which shows their boundary, and turned along the line of the meetings.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        super().__init__(batch, i)
        allowed = batch.tables.data.allowed[batch.tables.rows[i]].reshape(GRID, GRID)
        self.upright = bool(allowed[:, GRID // 2].sum() > allowed[GRID // 2].sum())
        self.labels, self.looked = batch.labels, set[int]()
        self.outcome: Outcome = ()

    def lost(self) -> bool:
        """Whether the hand, which is free, cannot take a disc because it lies in the dark."""
        lying = np.flatnonzero(self.where == PLACED).tolist()
        return not self.tables.hand[self.i] and not all(map(self.can_take, lying))

    def meet(self, first: int, second: int, way: int) -> Iterator[int]:
        """Make a meeting, and keep its `outcome`."""
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
        """Leave only these discs on the table, near its corners."""
        yield from self._clear()
        for k, disc in enumerate(disc for disc in answer if self.where[disc] == STORED):
            yield disc
            if (number := nearest_open(self.batch, self.i, CENTRES[CORNERS[k % 4]])) is not None:
                yield number

    def _clear(self) -> Iterator[int]:
        """Store the discs in hand and on the table, but for those in the dark."""
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
    """Makes random meetings, each of another pair or in another way.

    :ivar rows: (task, first, second, way) of each. :ivar outcomes: of each.
    """

    def __init__(self, seed: int, meetings: int | None = None) -> None:
        """:param meetings: on each table; all that there are, if None."""
        super().__init__(self._script)
        self.seed, self.meetings = seed, meetings
        self.rows: list[tuple[int, int, int, int]] = []
        self.outcomes: list[Outcome] = []

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        hands, rng = Hands(batch, i), np.random.default_rng([self.seed, i, 17])
        every = [
            (*pair, way) for pair in permutations(range(len(batch.task(i).objects)), 2) for way in range(len(CELLS))
        ]
        for k in rng.permutation(len(every))[: self.meetings].tolist():
            yield from hands.meet(*every[k])
            self.rows.append((i, *every[k]))
            self.outcomes.append(hands.outcome)
        yield batch.labels.num_actions + CHECK


# ---- kinds


def levels(task: Task) -> np.ndarray:
    """(N, 3) int64: the place of each disc in the order of each of `COMPARED`, from 0; equal discs have equal places.
    An equivalence is an order of its classes by their first disc."""
    number = {disc_label(task, id): k for k, id in enumerate(task.ids)}
    stated = np.zeros((3, len(number), len(number)), dtype=bool)
    for one, relation, other in property_facts(task):
        if relation in COMPARED:
            stated[COMPARED.index(relation), number[one], number[other]] = True
    same = (stated[2] | np.eye(len(number), dtype=bool)).argmax(1)
    return np.stack([np.unique(key, return_inverse=True)[1] for key in (*stated[:2].sum(2), same)], axis=1)


class Arranging:
    """The kinds of the discs of T tasks: one of K for each combination of levels. Which levels a task has that shows
    only some of them, what other tasks showed tells.

    :ivar size: of each level. :ivar kinds: (N,) of each task.
    """

    def __init__(self, orders: Sequence[np.ndarray], rows: np.ndarray) -> None:
        """
        :param orders: `levels` of the tasks. :param rows: (n, 5) task, first, second, way, number of the outcome.
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
        """(A, N) the kinds that the discs of a task can have: orders are kept, classes are any."""
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
        """(A,) the log likelihood of what happened in a task, by what the counted ones showed."""
        cells, outcome = self._cells(task, self.options[task]), self.rows[task][:, 4]
        return np.log((self.counts[cells, outcome] + self.share[outcome]) / (self.total[cells] + PRIOR)).sum(1)

    def _best(self, task: int) -> np.ndarray:
        return self.options[task][self._scores(task).argmax()]

    def _clear(self, task: int) -> float:
        """By how much the best option is likelier than the next one. Two equal ones are as good: classes that other
        tasks do not tell apart may be exchanged."""
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
    """The knowledge from other tasks.

    :ivar effects: (kind, other kind), a way to meet -> an outcome, with counts. :ivar outcomes: the number of each.
    :ivar often: (O,) how often each happened.
    :ivar value, p: (W, K, K, L) the likeliest outcomes of two kinds and their shares; 0 where they never met so.
    :ivar traits: (K, 3) the levels of each kind. :ivar prior: (K,) how often discs are of each kind.
    :ivar sizes: (family, discs of the answer) -> tasks.
    """

    effects: Effects
    outcomes: Mapping[Outcome, int]
    often: np.ndarray
    value: np.ndarray
    p: np.ndarray
    traits: np.ndarray
    prior: np.ndarray
    sizes: Mapping[tuple[str, int], int]

    def likelihood(self, way: int, outcome: Outcome) -> np.ndarray:
        """(K, K) how likely two kinds end so."""
        number = self.outcomes.get(outcome, 0)
        share = (self.often[number] if number else 1.0) / self.often.sum()
        known = (self.p[way] * (self.value[way] == number)).sum(-1) if number else np.zeros(self.p.shape[1:3])
        return np.where(self.value[way, ..., 0] > 0, (1 - NOISE) * known + NOISE * share, share)

    def knowing(self, known: Known) -> Learned:
        """With the facts that an agent is to play by: "false" ones state what a kind does of the next kind."""
        if known == "lived":
            return self
        false = {"value": np.roll(self.value, 1, axis=1), "p": np.roll(self.p, 1, axis=1)}
        return replace(self, **(false if known == "false" else {"value": 0 * self.value, "p": 0 * self.p}))


@lru_cache
def learn_from(discs: Discs, laws: Laws, many: int, seed: int) -> Learned:
    """`learn` in so many generated tasks, which differ by seed."""
    return learn(find_tasks(discs, many, 100_000 + seed * 1000), laws, seed)


def learn(tasks: Sequence[Task], laws: Laws = "real", seed: int = 0) -> Learned:
    """Live in tasks, learn how their discs compare, and what kinds of discs do."""
    player = Curious(seed)
    live_through(tasks, player, laws)
    outcomes = {outcome: k + 1 for k, outcome in enumerate(sorted(set(player.outcomes)))}
    rows = np.column_stack([player.rows, [outcomes[outcome] for outcome in player.outcomes]])
    arranged = Arranging([levels(task) for task in tasks], rows)
    task, outcome = rows[:, 0], rows[:, 4]
    kinds = np.array([arranged.kinds[i][[one, other]] for i, one, other, *_ in rows])
    effects = Effects.fit(
        Lived(
            thing=np.ones((len(rows), 1), dtype=np.int64),
            before=_state(kinds, 0 * outcome),
            after=_state(np.full_like(kinds, -1), outcome),
            action=rows[:, 3:4] + 1,
            episode=task,
            carried=np.ones(len(rows), dtype=bool),
        )
    )
    pairs = np.indices((arranged.K, arranged.K)).reshape(2, -1).T
    ways = np.broadcast_to(np.arange(len(CELLS))[:, None] + 1, (len(pairs), len(CELLS), 1))
    states = _state(pairs, np.zeros(len(pairs), dtype=np.int64))
    expected = effects.predict(np.ones((len(pairs), 1), dtype=np.int64), states, ways, LIKELIEST)
    shape = len(CELLS), arranged.K, arranged.K, LIKELIEST
    value, p = (part[:, :, 0, 2].swapaxes(0, 1).reshape(shape) for part in expected[:2])
    traits = np.stack(np.unravel_index(np.arange(arranged.K), tuple(arranged.size)), axis=1)
    prior = np.bincount(np.concatenate([np.unique(kinds) for kinds in arranged.kinds]), minlength=arranged.K) + PRIOR
    sizes: Counter[tuple[str, int]] = Counter()
    for one, kinds in zip(tasks, arranged.kinds, strict=True):
        alike = int(np.bincount(kinds).max())
        sizes[one.family, len(kinds) - alike if one.family == DISCOVERY[0] else alike] += 1
    often = np.bincount(outcome)
    return Learned(effects, outcomes, often, value, p, traits, prior / prior.sum(), sizes)


def _state(kinds: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """(n, 1, 3) what is seen of a meeting: kinds (n, 2), -1 for none, and the outcome (n,), 0 for none."""
    return np.column_stack([kinds + 1, outcome])[:, None]


class Part(NamedTuple):
    """What is believed of discs that meetings connect. :ivar kinds: (R, D) kinds they may have; weight (R,)."""

    discs: list[int]
    kinds: np.ndarray
    weight: np.ndarray


class Belief:
    """What an agent believes of the discs of one table.

    :ivar answers: (H, N) bool: the sets of discs that can be an answer. :ivar alike: (H, N) bool: the discs of one kind
        then, and no other disc is of this kind.
    :ivar chance: (H,) of an answer before the first meeting, by its size.
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
        """Take in how a meeting ended."""
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
        """These discs are no answer."""
        self.refused |= (self.answers == np.isin(np.arange(self.many), discs)).all(1)

    def _bits(self, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(H,) the discs of a part that are alike as bits, the same (R, K) for each kind of the alike ones, and its
        weight."""
        bits = 1 << np.arange(len(part.discs))
        same = part.kinds[:, :, None] == np.arange(len(self.learned.prior))
        weight = part.weight[:, None] / self.learned.prior ** same.sum(1)
        return self.alike[:, part.discs] @ bits, (same * bits[:, None]).sum(1), weight

    def chances(self) -> np.ndarray:
        """(H, K) how likely an answer is the right one and the alike discs are of a kind. Where the facts contradict
        every answer, as before the first meeting."""
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
        """(S,) answers, and (S, N) kinds of the discs, as likely as they are."""
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

    def next(self, goal: np.ndarray, kinds: np.ndarray, looked: set[int], rng: np.random.Generator) -> Meeting | None:
        """The meeting that is expected to tell most about a goal, per probe; None where none is worth one.

        :param goal: (S,) numbers of what one wants to know, in drawn assignments; `kinds` (S, N).
        """
        made = set(self.met)
        meetings = [
            Meeting(*pair, way)
            for pair in permutations(range(self.many), 2)
            for way in range(len(self.learned.value))
            if Meeting(*pair, way) not in made and (pair[0] in looked or pair[1] not in looked)
        ]  # where one of the two was looked at, the other way round takes more probes
        if not meetings:
            return None
        first, second, way = np.array(meetings).T
        outcomes = self.learned.value[way[:, None], kinds[:, first].T, kinds[:, second].T, 0]  # (C, S)
        size = len(self.learned.often)
        left = entropies(goal * size + outcomes)
        gain = entropies(rng.permutation(goal) * size + outcomes) - left  # what it would tell by chance is left out
        gain = gain / (2 + np.array([one not in looked for one in first]))
        best = int(gain.argmax())
        return meetings[best] if gain[best] > WORTH else None


def entropies(numbers: np.ndarray) -> np.ndarray:
    """(C,) nats of each row of drawn numbers (C, S)."""
    ordered = np.sort(numbers, axis=1)
    starts = np.flatnonzero(np.diff(ordered, axis=1, prepend=-1))
    share = np.diff(starts, append=numbers.size) / numbers.shape[1]
    return np.bincount(starts // numbers.shape[1], -share * np.log(share), minlength=len(numbers))


# ---- playing


class Discoverer(Scripts):
    """Plays with a belief for each table. At the end the answer goes onto the table, and CHECK. Where the actions of a
    trial run out, or a disc has gone into the dark, the player checks the likeliest answer, and the next trial goes on
    with the same belief.

    :ivar probes: (B,) places, holds and turns made to learn the answer. :ivar meetings: (B,).
    :ivar replies: of each table, the discs that it names for each question of the quiz.
    """

    def __init__(self, learned: Learned, seed: int = 0) -> None:
        super().__init__(self._script)
        self.learned, self.seed = learned, seed

    def begin(self, batch: ProbSolVectorEnv) -> None:
        tasks = [batch.task(i) for i in range(batch.num_envs)]
        self.beliefs = [Belief(self.learned, task.family, len(task.first_stored)) for task in tasks]
        self.probes, self.meetings = (np.zeros(batch.num_envs, dtype=np.int64) for _ in range(2))
        self.replies: list[list[list[str]]] = [[] for _ in tasks]
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task, belief, rng = batch.task(i), self.beliefs[i], np.random.default_rng([self.seed, i, 31])
        discs = [k for k, disc in enumerate(task.objects) if disc.stored is not None]
        needed = LONGEST_MEETING + 4 + 2 * len(discs)
        hands = Hands(batch, i)

        def next_meeting(question: Mapping[str, str] | None = None) -> Meeting | None:
            used = batch.tables.actions[i] + batch.tables.refused[i]
            if batch.settings.max_actions - used <= needed or hands.lost() or len(belief.met) >= MOST_MEETINGS:
                return None
            if question is None and belief.chances().sum(1).max() >= SURE:
                return None
            goal, kinds = belief.draw(rng)
            if question is not None:
                right, _ = correct(question, self.learned.traits[kinds])
                likeliest = np.argsort(-right.mean(0), kind="stable")[:REPLIES]
                if right[:, likeliest[0]].mean() >= SURE:
                    return None
                goal = right[:, likeliest] @ (1 << np.arange(len(likeliest)))
            return belief.next(goal, kinds, {discs.index(disc) for disc in hands.looked}, rng)

        def meet(meeting: Meeting) -> Iterator[int]:
            yield from hands.meet(discs[meeting.first], discs[meeting.second], meeting.way)
            belief.add(meeting, hands.outcome)

        while True:
            while (meeting := next_meeting()) is not None:
                for action in meet(meeting):
                    self.probes[i] += batch.label(action, i)[0] in ("place", "hold", "hold_at", "turn")
                    yield action
            answer, self.meetings[i] = belief.answers[int(belief.chances().sum(1).argmax())], len(belief.met)
            for question in task.quiz:
                while (meeting := next_meeting(question)) is not None:
                    yield from meet(meeting)
            self.replies[i] = []
            for question in task.quiz:
                right, named = correct(question, self.learned.traits[belief.draw(rng)[1]])
                self.replies[i].append([task.ids[discs[k]] for k in named[int(right.mean(0).argmax())]])
            trial = batch.tables.trials[i]
            yield from hands.leave([discs[k] for k in np.flatnonzero(answer)])
            left = np.flatnonzero(batch.tables.where[i, discs] == PLACED).tolist()
            yield batch.labels.num_actions + CHECK
            if batch.tables.trials[i] == trial:
                return  # the episode is over
            hands = Hands(batch, i)
            belief.refuse(left)


def correct(question: Mapping[str, str], traits: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """(S, R) bool: which replies to a question are right, and the discs that each reply names.

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
    """Play one episode of each task, without quizzes.

    :param memory: a folder for the transitions.
    :returns: (B,) bool: solved.
    """
    batch = ProbSolVectorEnv(
        len(tasks), task=list(tasks), order="sequential", autoreset_mode=AutoresetMode.DISABLED, laws=laws, quiz=False,
        max_actions=10_000,
    )  # fmt: skip
    env = batch if memory is None else RecordMemory(batch, memory)
    env.reset(seed=0)
    solved = play(batch, player)
    env.close()
    return solved


def compare(player: Discoverer, tasks: Sequence[Task], laws: Laws) -> dict[str, np.ndarray]:
    """Play the tasks.

    :returns: "solved" (B,) bool; "probes" (B,), places, holds and turns made to learn the answer; "meetings" (B,);
        "right" (B, 3) bool, of the questions of the quiz.
    """
    solved = live_through(tasks, player, laws)
    right = [
        [is_right(replace(task, quiz=(question,)), [reply], [0] * len(task.objects))
         for question, reply in zip(task.quiz, replies, strict=True)]
        for task, replies in zip(tasks, player.replies, strict=True)
    ]  # fmt: skip
    return {"solved": solved, "probes": player.probes, "meetings": player.meetings, "right": np.array(right)}
