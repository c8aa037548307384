"""An agent that finds out by trying which discs are alike, in the discovery families.

What it sees of meetings becomes facts (`gumption.envs.probsol.experience`). Rules that were mined from other tasks say
what follows from these facts, also of pairs that never met. An answer is possible as long as nothing that follows
speaks against it. The next meeting is the one with the largest expected information about which answer is right; the
agent stops when one is left. People wrote this strategy; what the facts mean, and at which distances discs show
something, is learned.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK
from gumption.envs.probsol.experience import SEEN, Meeting, Shown, Triple, shown
from gumption.envs.probsol.geometry import HELD, PLACED
from gumption.envs.probsol.memory import visible
from gumption.envs.probsol.quiz import disc_label
from gumption.envs.probsol.tasks import GRID, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv
from gumption.kg.rules.fixpoint import Fixpoint
from gumption.kg.rules.horn import Rule

from .players import Script, Scripts

IS_LIKE, DIFFERS_FROM = "isLike", "differsFrom"
#: Distances at which discs are put side by side, in cells of 12 px.
CELLS = (4, 6, 9, 12, 16, 20)
MOVED, STILL = "moved", "still"
#: Meetings of one table at most, so that an agent whose rules contradict what it sees ends.
MOST_MEETINGS = 60


class Setup(NamedTuple):
    """A meeting to be made: `first` is put so many cells to the left of `second`, and held there or not."""

    first: int
    second: int
    cells: int
    held: bool = False


def outcome(met: Meeting) -> str:
    """MOVED: each free disc did. STILL: one did not."""
    return MOVED if (met.moved[1:] if met.held else met.moved).min() > SEEN else STILL


@dataclass
class Expectations:
    """What the meetings of other tasks let expect of the next one.

    :ivar shares: cells -> share of the meetings in which both moved.
    :ivar following: (outcome, cells, other cells) -> share of the meetings at the other cells in which both moved,
        in tasks that had this outcome at these cells.
    :ivar told: of pairs that differ, the share of which one meeting in which both moved tells it.
    """

    shares: dict[int, float] = field(default_factory=dict)
    following: dict[tuple[str, int, int], float] = field(default_factory=dict)
    told: float = 0.0

    @staticmethod
    def of(tasks: Iterable[Sequence[Meeting]], told: float) -> "Expectations":
        """:param tasks: the meetings of each task."""
        moved: dict[int, list[bool]] = defaultdict(list)
        after: dict[tuple[str, int, int], list[bool]] = defaultdict(list)
        for met in tasks:
            results = [(outcome(each), round(each.distance / 12)) for each in met if not each.held]
            for found, cells in results:
                moved[cells].append(found == MOVED)
            for (found, cells), (then, others) in permutations(results, 2):
                after[found, cells, others].append(then == MOVED)
        return Expectations(
            {cells: sum(many) / len(many) for cells, many in sorted(moved.items())},
            {key: (sum(many) + 0.5) / (len(many) + 1) for key, many in sorted(after.items())},
            told,
        )

    def moves(self, cells: int, before: Sequence[tuple[str, int]]) -> float:
        """The share of meetings in which both move, after these outcomes at these distances in the same task."""
        share = self.shares.get(cells, 0.0)
        others = [self.following.get((found, at, cells), share) for found, at in before if at != cells]
        here = [found == MOVED for found, at in before if at == cells]
        return (float(np.mean(others or [share])) + sum(here)) / (1 + len(here))


class Follows:
    """What rules entail of facts about N discs.

    :param relations: that are asked about, beside those that the rules name; facts of others say nothing here.
    """

    def __init__(self, rules: Sequence[Rule], relations: Iterable[str] = (IS_LIKE, DIFFERS_FROM)) -> None:
        self.rules = tuple(rules)
        atoms = [atom for rule in rules for atom in (rule.head, *rule.body)]
        names = sorted({*relations, *(atom.relation for atom in atoms)})
        self.relations = {name: k for k, name in enumerate(names)}

    def closure(self, facts: Iterable[tuple[int, str, int]], size: int) -> dict[str, np.ndarray]:
        """Relation -> (N, N) bool, the pairs that are stated or entailed."""
        keys: dict[int, set[int]] = defaultdict(set)
        for one, relation, other in facts:
            if relation in self.relations:
                keys[self.relations[relation]].add(one * size + other)
        stated = {relation: np.array(sorted(many), dtype=np.int64) for relation, many in sorted(keys.items())}
        found = Fixpoint(self.rules, self.relations, size, np.empty(0, dtype=np.int64)).run({}, stated)
        holds = {}
        for name, relation in self.relations.items():
            matrix = np.zeros(size * size, dtype=bool)
            for part in (stated, found.keys):
                matrix[part.get(relation, np.empty(0, dtype=np.int64))] = True
            holds[name] = matrix.reshape(size, size)
        return holds


def possible_answers(family: str, discs: int) -> np.ndarray:
    """(H, N) bool: the sets of discs that can be an answer.

    FindTheDiff: fewer than half, since they differ from the rest. FindTheSame: two at least, and not all.
    """
    sizes = range(1, (discs + 1) // 2) if family == "FindTheDiff" else range(2, discs)
    found = [chosen for size in sizes for chosen in combinations(range(discs), size)]
    answers = np.zeros((len(found), discs), dtype=bool)
    for row, chosen in zip(answers, found, strict=True):
        row[list(chosen)] = True
    return answers


class Prober:
    """One table's agent.

    :ivar answers: (H, N) bool, see `possible_answers`. :ivar same, differs: (H, N, N) bool: under an answer two discs
        have to be alike, or to differ. In FindTheDiff nothing is said of two that differ from the rest.
    """

    def __init__(self, labels: Sequence[str], family: str, rules: Sequence[Rule], expected: Expectations) -> None:
        """:param labels: of the discs in question, "TASK:ID"."""
        self.labels, self.family, self.expected = tuple(labels), family, expected
        self.follows = Follows(rules)
        self.answers = possible_answers(family, len(labels))
        inside = self.answers[:, :, None] & self.answers[:, None, :]
        outside = ~self.answers[:, :, None] & ~self.answers[:, None, :]
        self.same = outside if family == "FindTheDiff" else inside
        self.differs = ~(inside | outside) if family == "FindTheDiff" else ~inside
        self.met: list[tuple[Setup, Meeting]] = []
        self.outcomes: list[tuple[str, int]] = []  # of the meetings, with their distances in cells
        self.wrong = np.zeros(len(self.answers), dtype=bool)  # answers that a CHECK refused
        self._alive: np.ndarray | None = None

    # ---- what is known

    def add(self, setup: Setup, met: Meeting) -> None:
        """Learn from a meeting."""
        self.met.append((setup, met))
        self.outcomes.append((outcome(met), setup.cells))
        self._alive = None

    def refuse(self, answer: Sequence[int]) -> None:
        """Learn that a CHECK found this answer wrong."""
        self.wrong |= (self.answers == np.isin(np.arange(len(self.labels)), list(answer))).all(axis=1)
        self._alive = None

    def seen(self) -> list[Shown]:
        """What the meetings showed."""
        return shown(met for _, met in self.met)

    def facts(self) -> list[Triple]:
        """The facts that the meetings showed, sorted."""
        return sorted({each.fact for each in self.seen()})

    def known(self) -> dict[str, np.ndarray]:
        """Relation -> (N, N) bool: what was shown, and what follows."""
        number = {label: k for k, label in enumerate(self.labels)}
        facts = [(number[one], relation, number[other]) for one, relation, other in self.facts()]
        return self.follows.closure(facts, len(self.labels))

    def alive(self) -> np.ndarray:
        """(H,) bool: the answers that the fewest facts speak against; that is none, unless facts contradict."""
        if self._alive is None:
            known = self.known()
            like, unlike = (np.triu(known[name] | known[name].T, 1) for name in (IS_LIKE, DIFFERS_FROM))
            against = (self.differs & like).sum(axis=(1, 2)) + (self.same & unlike).sum(axis=(1, 2))
            against[self.wrong] = np.iinfo(np.int64).max
            self._alive = against == against.min()
        return self._alive

    def answer(self) -> tuple[int, ...]:
        """The discs of the first answer that is possible; smaller ones come first."""
        return tuple(np.flatnonzero(self.answers[int(np.argmax(self.alive()))]).tolist())

    # ---- what to try next

    def next(self) -> Setup | None:
        """The meeting with the largest expected information; None when the answer follows, or nothing would tell."""
        alive = np.flatnonzero(self.alive())
        if len(alive) == 1 or len(self.met) >= MOST_MEETINGS:
            return None
        sizes = self.answers[alive].sum(axis=1)
        weights = 1.0 / np.bincount(sizes)[sizes]  # each number of discs is as likely, and each set of so many
        weights /= weights.sum()
        best, most = None, 1e-9
        moves = {cells: self._moves(cells) for cells in CELLS}
        for setup in self._setups():
            gain = moves[setup.cells] * self._information(setup, alive, weights)
            if gain > most + 1e-12:
                best, most = setup, gain
        return best

    def _setups(self) -> Iterator[Setup]:
        """Pairs at the distances used here, and at that one of the others where most is to be seen."""
        used = dict.fromkeys(setup.cells for setup, _ in self.met)
        rest = [cells for cells in CELLS if cells not in used]
        fresh = [max(rest, key=self._moves)] if rest else []
        made = {setup for setup, _ in self.met}
        for first, second in permutations(range(len(self.labels)), 2):
            for cells in (*used, *fresh):
                setup = Setup(first, second, cells)
                if setup not in made and Setup(second, first, cells) not in made:
                    yield setup

    def _moves(self, cells: int) -> float:
        return self.expected.moves(cells, self.outcomes)

    def _information(self, setup: Setup, alive: np.ndarray, weights: np.ndarray) -> float:
        """Of a meeting in which both move, in nats: entropy of what it can show, less what is left of it when the answer
        is known."""
        first, second, cells, _ = setup
        compared = {(first, done.first) for done, _ in self.met if (done.second, done.cells) == (second, cells)}
        compared |= {(second, done.second) for done, _ in self.met if (done.first, done.cells) == (first, cells)}
        code = np.zeros(len(alive), dtype=np.int64)
        for one, other in sorted(compared):
            code = code * 2 + self.same[alive, one, other]
        groups = np.unique(code, return_inverse=True)[1]
        tells = np.where(self.differs[alive, first, second], self.expected.told, 0.0)
        shares = np.concatenate([np.bincount(groups, weights * part) for part in (tells, 1.0 - tells)])
        left = float((weights * (_plogp(tells) + _plogp(1.0 - tells))).sum())
        return float(_plogp(shares).sum() - left)


def _plogp(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)


class EveryPair(Prober):
    """All pairs, one after the other; a meeting in which one lay still is made again at another distance, twice at most."""

    def pairs(self) -> list[tuple[int, int]]:
        """Who meets whom, (first, second)."""
        return [(first, second) for second, first in combinations(range(len(self.labels)), 2)]

    def next(self) -> Setup | None:
        tried: dict[tuple[int, int], list[str]] = defaultdict(list)
        for setup, met in self.met:
            tried[setup.first, setup.second].append(outcome(met))
        for pair in self.pairs():
            if MOVED not in tried[pair] and len(tried[pair]) < 3:
                done = {setup.cells for setup, _ in self.met if (setup.first, setup.second) == pair}
                return Setup(*pair, max((cells for cells in CELLS if cells not in done), key=self._moves))
        return None


class Star(EveryPair):
    """The first disc meets each other one."""

    def pairs(self) -> list[tuple[int, int]]:
        return [(first, 0) for first in range(1, len(self.labels))]


class RandomPairs(EveryPair):
    """As many pairs as a star has, drawn by a seed that the labels give."""

    def pairs(self) -> list[tuple[int, int]]:
        every = super().pairs()
        rng = np.random.default_rng(list("".join(self.labels).encode()))
        return [every[k] for k in rng.permutation(len(every))[: len(self.labels) - 1].tolist()]


class Probing(Scripts):
    """Has an agent for each table, and makes its meetings, one at a time, on a table that is empty but for them.

    A disc is looked at before its first meeting: it is held, which shows its boundary, and turned to the boundary 0, so
    that discs meet as they lay before. Then the answer is put on the table, and checked.

    :ivar make: (labels of the discs in question, family) -> the agent.
    :ivar probers: of each table. :ivar probes: (B,) places, holds and turns made to learn; `checks` made.
    """

    def __init__(self, make: Callable[[Sequence[str], str], Prober]) -> None:
        super().__init__(self._script)
        self.make = make

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self.probers = [self.make(*_in_question(batch.task(i))) for i in range(batch.num_envs)]
        self.probes = np.zeros(batch.num_envs, dtype=np.int64)
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task, prober = batch.task(i), self.probers[i]
        discs = [k for k, disc in enumerate(task.objects) if disc.stored is not None]
        looked: set[int] = set()
        while True:
            while (setup := prober.next()) is not None:
                hands = _Hands(batch, i)
                for action in hands.meet(discs[setup.first], discs[setup.second], setup, looked):
                    self.probes[i] += batch.label(action, i)[0] in ("place", "hold", "hold_at", "turn")
                    yield action
                prober.add(setup, hands.seen(*(prober.labels[k] for k in setup[:2])))
            answer, trial = prober.answer(), batch.tables.trials[i]
            yield from _Hands(batch, i).leave([discs[k] for k in answer])
            yield batch.labels.num_actions + CHECK
            if batch.tables.trials[i] == trial:
                return  # the episode is over
            prober.refuse(answer)


def _in_question(task: Task) -> tuple[list[str], str]:
    return [disc_label(task, id) for id in task.first_stored], task.family


class _Hands:
    """The actions of one meeting on table i, and what was seen of it."""

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        self.batch, self.i, self.labels = batch, i, batch.labels

    def meet(self, first: int, second: int, setup: Setup, looked: set[int]) -> Iterator[int]:
        yield from self._clear()
        points = [GRID // 2 * GRID + (GRID - setup.cells) // 2 + offset for offset in (0, setup.cells)]
        if first not in looked:
            looked.add(first)
            yield from self._look(first, points[0])
            yield self.labels.num_actions + TAKE_UP
            yield self._free_cell()
        if second in looked:
            yield second
            yield self.labels.first_point + points[1]
        else:
            looked.add(second)
            yield from self._look(second, points[1])
            yield self.labels.num_actions + PUT_DOWN
        yield first
        place = visible(self.batch.tables)[1][self.i, second]
        before = int(self.batch.tables.steps[self.i])
        yield self.labels.first_point + points[0] + POINTS * setup.held
        state, after, boundary = (part[self.i] for part in visible(self.batch.tables))
        self._told = {
            "held": bool(state[first] == HELD),
            "boundary": int(boundary[first]),
            "starts": np.array([CENTRES[points[0]], place]),
            "ends": after[[first, second]],
            "steps": int(self.batch.tables.steps[self.i]) - before,
        }

    def seen(self, first: str, second: str) -> Meeting:
        return Meeting(episode=0, first=first, second=second, **self._told)

    def leave(self, answer: Sequence[int]) -> Iterator[int]:
        """Leave these discs alone on the table, as far apart as may be."""
        yield from self._clear()
        for k, disc in enumerate(answer):
            yield disc
            yield self.labels.first_point + _SPREAD[k % len(_SPREAD)]

    def _clear(self) -> Iterator[int]:
        """Store all that is on the table or in hand."""
        tables = self.batch.tables
        if tables.hand[self.i]:
            if tables.where[self.i, tables.hand[self.i] - 1] == HELD:
                yield self.labels.num_actions + TAKE_UP
            yield self._free_cell()
        for disc in np.flatnonzero(tables.where[self.i] == PLACED).tolist():
            yield self.labels.discs + disc
            yield self._free_cell()

    def _look(self, disc: int, point: int) -> Iterator[int]:
        """Hold a stored disc at a point and turn it to the boundary 0."""
        yield disc
        yield self.labels.first_point + POINTS + point
        eighths = int(visible(self.batch.tables)[2][self.i, disc]) // 45
        turns = eighths if eighths <= 4 else 8 - eighths
        yield from [self.labels.num_actions + (TURN_BACK if eighths <= 4 else TURN)] * turns

    def _free_cell(self) -> int:
        taken = set(self.batch.tables.cell[self.i].tolist())
        return 3 * self.labels.discs + min(set(range(self.labels.cells)) - {cell - 1 for cell in taken})


#: Grid points of a spread answer: corners, middles of the sides, then between these and the middle.
_SPREAD = [
    row * GRID + column
    for row, column in ((3, 3), (36, 36), (3, 36), (36, 3), (3, 20), (36, 20), (20, 3), (20, 36), (20, 20), (12, 12),
                        (28, 28), (12, 28))
]  # fmt: skip
