"""An agent of the discovery families that finds out by trying which discs are alike.

Its meetings become facts (`gumption.envs.probsol.knowledge_base`). Rules mined from other tasks entail further facts,
also about pairs that never met. An answer is possible as long as no fact contradicts it. The next meeting is the one
with the largest expected information about the right answer; the agent stops when one answer is left. People wrote this
strategy; the agent learns the meaning of the facts, and the distances at which discs act.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from gumption.envs.memory import Triple
from gumption.envs.probsol.engine import CENTRES, CHECK, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.facts import DIFFERS_FROM
from gumption.envs.probsol.geometry import HELD, PLACED, STORED
from gumption.envs.probsol.knowledge_base import SEEN, Experience, Meeting
from gumption.envs.probsol.memory import visible
from gumption.envs.probsol.quiz import HEAVIER_THAN, LARGEST, PAIR, SAME_POLARITY, STRONGER_THAN, disc_label
from gumption.envs.probsol.tasks import GRID
from gumption.kg.rules.horn import Rule

from .players import Script, Scripts, nearest_open

IS_LIKE = "isLike"
SAME_MASS, SAME_MAGNETISM = "sameMass", "sameMagnetism"
#: Property that a quiz asks for -> the relation that orders discs ("" where none does), and that of equal ones.
_COMPARED = {
    "mass": (HEAVIER_THAN, SAME_MASS), "magnetism": (STRONGER_THAN, SAME_MAGNETISM), "polarity": ("", SAME_POLARITY)
}  # fmt: skip
#: Distances of meetings, in cells of 12 px.
CELLS = (4, 6, 9, 12, 16, 20)
#: Cells between which a quiz about magnetism looks for the distance where a held disc no longer moves another one.
NEAREST, FARTHEST = 4, 25
#: Cells at which a held disc turns half round beside another one, to show whether it then does the same.
CLOSE = 5
MOVED, STILL = "moved", "still"
#: Meetings of one table at most, so that an agent ends whose rules contradict its facts.
MOST_MEETINGS = 60
#: Actions of one meeting at most: store two discs, look at two, put both down. An answer takes two actions a disc, and
#: CHECK.
LONGEST_MEETING = 4 + 2 * 8 + 4


class Setup(NamedTuple):
    """A meeting to make: `first` lies so many cells to the left of `second`, free or held, and perhaps turned half
    round."""

    first: int
    second: int
    cells: int
    held: bool = False
    turned: bool = False


def outcome(met: Meeting) -> str:
    """MOVED: each free disc did. STILL: one did not."""
    return MOVED if (met.moved[1:] if met.held else met.moved).min() > SEEN else STILL


@dataclass
class Expectations:
    """Statistics of the meetings of other tasks, from which the agent expects the next outcome.

    :ivar shares: cells -> share of the meetings in which both moved.
    :ivar following: (outcome, cells, other cells) -> share of the meetings at the other cells in which both moved,
        in tasks that had this outcome at these cells.
    :ivar told: the share of pairs that differ whose meeting, if both move, shows the difference.
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
        """The expected share of meetings in which both move, after these outcomes at these cells in the same task."""
        share = self.shares.get(cells, 0.0)
        others = [self.following.get((found, at, cells), share) for found, at in before if at != cells]
        here = [found == MOVED for found, at in before if at == cells]
        return (float(np.mean(others or [share])) + sum(here)) / (1 + len(here))


class Follows:
    """The facts that rules entail about N discs, also of many tables at once.

    The discs of a table are few, so relations are dense here: a rule is a product of matrices, which for a dozen discs
    takes a fortieth of the time of the joins of `gumption.kg.rules`. Both entail the same.

    :param rules: mined ones: the head is about x and y, the body has one atom or two.
    :param relations: of interest, beside those of the rules; facts of other relations do not count.
    """

    def __init__(self, rules: Sequence[Rule], relations: Iterable[str] = (IS_LIKE, DIFFERS_FROM)) -> None:
        self.rules = tuple(rules)
        atoms = [atom for rule in rules for atom in (rule.head, *rule.body)]
        self.relations = {name: k for k, name in enumerate(sorted({*relations, *(atom.relation for atom in atoms)}))}

    def closure(self, facts: Iterable[tuple[int, str, int]], size: int) -> dict[str, np.ndarray]:
        """Relation -> (N, N) bool: pairs stated or entailed. :param facts: about discs 0 to N - 1."""
        holds = np.zeros((len(self.relations), size, size), dtype=bool)
        for one, relation, other in facts:
            if relation in self.relations:
                holds[self.relations[relation], one, other] = True
        return self.close(holds)

    def close(self, holds: np.ndarray) -> dict[str, np.ndarray]:
        """As `closure`, in place. :param holds: (R, ..., N, N) bool in the order of `relations`."""
        before = -1
        while (count := int(holds.sum())) != before:
            before = count
            for rule in self.rules:
                holds[self.relations[rule.head.relation]] |= self.entailed(rule, holds)
        return {name: holds[k] for name, k in self.relations.items()}

    def entailed(self, rule: Rule, holds: np.ndarray) -> np.ndarray:
        """(..., N, N) bool: the pairs (x, y) for which the body of the rule holds."""
        chain = any("z" in atom.variables for atom in rule.body)
        ends = (("x", "z"), ("z", "y")) if chain else (("x", "y"),) * len(rule.body)  # rows and columns of each atom
        parts = []
        for atom, rows_columns in zip(rule.body, ends, strict=True):
            matrix = holds[self.relations[atom.relation]]
            parts.append(matrix if (atom.subject, atom.object) == rows_columns else matrix.swapaxes(-1, -2))
        found = parts[0]
        if len(parts) == 2:
            found = parts[0] @ parts[1] if chain else parts[0] & parts[1]
        return found & ~np.eye(holds.shape[-1], dtype=bool) if rule.distinct else found


def possible_answers(family: str, discs: int) -> np.ndarray:
    """(H, N) bool: the sets of discs that can be an answer, smaller ones first.

    FindTheDiff: fewer than half, since they differ from the rest. FindTheSame: two at least, and not all.
    """
    sizes = range(1, (discs + 1) // 2) if family == "FindTheDiff" else range(2, discs)
    found = [chosen for size in sizes for chosen in combinations(range(discs), size)]
    return np.array([np.isin(np.arange(discs), chosen) for chosen in found]).reshape(-1, discs)


class Prober:
    """The agent of one table.

    :ivar answers: (H, N) bool, see `possible_answers`. :ivar same, differs: (H, N, N) bool: an answer implies that two
        discs are alike, or that they differ. In FindTheDiff two discs that differ from the rest may do either.
    """

    def __init__(
        self,
        labels: Sequence[str],
        family: str,
        rules: Sequence[Rule],
        expected: Expectations,
        likely: Sequence[Rule] = (),
    ) -> None:
        """
        :param labels: of the discs, "TASK:ID".
        :param rules: without exceptions. :param likely: others, which exclude answers, too, but answer no quiz.
        """
        self.labels, self.family, self.expected = tuple(labels), family, expected
        self.follows, self.probably_follows = Follows(rules), Follows([*rules, *likely])
        self.answers = possible_answers(family, len(labels))
        inside = self.answers[:, :, None] & self.answers[:, None, :]
        outside = ~self.answers[:, :, None] & ~self.answers[:, None, :]
        self.same = outside if family == "FindTheDiff" else inside
        self.differs = ~(inside | outside) if family == "FindTheDiff" else ~inside
        self.met: list[tuple[Setup, Meeting]] = []
        self.outcomes: list[tuple[str, int]] = []  # of the meetings, with their distances in cells
        self.wrong = np.zeros(len(self.answers), dtype=bool)  # answers that a CHECK refused
        self._experience = Experience()
        self._facts: set[Triple] = set()
        self._alive: np.ndarray | None = None
        self._known: dict[str, np.ndarray] | None = None

    # ---- knowledge

    def add(self, setup: Setup, met: Meeting) -> None:
        """Learn from a meeting."""
        self.met.append((setup, met))
        self.outcomes.append((outcome(met), setup.cells))
        self._facts.update(one.fact for one in self._experience.add(met))
        self._alive = self._known = None

    def refuse(self, answer: Sequence[int]) -> None:
        """Learn that a CHECK found this answer wrong."""
        self.wrong |= (self.answers == np.isin(np.arange(len(self.labels)), list(answer))).all(axis=1)
        self._alive = None

    def facts(self) -> list[Triple]:
        """The facts that the meetings showed, sorted."""
        return sorted(self._facts)

    def known(self) -> dict[str, np.ndarray]:
        """Relation -> (N, N) bool: the facts of the meetings, and those that follow."""
        if self._known is None:
            self._known = self._closure(self.follows)
        return self._known

    def _closure(self, follows: Follows) -> dict[str, np.ndarray]:
        number = {label: k for k, label in enumerate(self.labels)}
        facts = [(number[one], relation, number[other]) for one, relation, other in self.facts()]
        return follows.closure(facts, len(self.labels))

    def alive(self) -> np.ndarray:
        """(H,) bool: the answers that the fewest facts contradict: no fact, unless facts contradict one another."""
        alive = self._alive
        if alive is None:
            known = self._closure(self.probably_follows)
            like, unlike = (np.triu(known[name] | known[name].T, 1) for name in (IS_LIKE, DIFFERS_FROM))
            against = (self.differs & like).sum(axis=(1, 2)) + (self.same & unlike).sum(axis=(1, 2))
            against[self.wrong] = np.iinfo(np.int64).max
            self._alive = alive = against == against.min()
        return alive

    def answer(self) -> tuple[int, ...]:
        """The discs of the first possible answer."""
        return tuple(np.flatnonzero(self.answers[int(np.argmax(self.alive()))]).tolist())

    # ---- the next meeting

    def next(self) -> Setup | None:
        """The meeting with the largest expected information; None when the answer follows, or no meeting informs."""
        alive = np.flatnonzero(self.alive())
        if len(alive) == 1 or len(self.met) >= MOST_MEETINGS:
            return None
        sizes = self.answers[alive].sum(axis=1)
        weights = 1.0 / np.bincount(sizes)[sizes]  # all sizes are equally likely, and all sets of one size
        weights /= weights.sum()
        best, most = None, 1e-9
        moves = {cells: self._moves(cells) for cells in CELLS}
        for setup in self._setups():
            gain = moves[setup.cells] * self._information(setup, alive, weights)
            if gain > most + 1e-12:
                best, most = setup, gain
        return best

    def _setups(self) -> Iterator[Setup]:
        """Pairs at the distances used here, and at the one of the others with the largest chance of movement."""
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
        """The information, in nats, of a meeting in which both move about the right answer."""
        first, second, cells, *_ = setup
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

    # ---- quizzes

    def next_asked(self, question: Mapping[str, str]) -> Setup | None:
        """A meeting for a question of a quiz; None when its answer follows, or no meeting is left that may show it.

        To compare the masses of two candidates, both meet free. To compare their magnetism, each is held beside a third
        disc, close by and both ways round, then by bisection at the distance where it no longer moves the third.
        """
        if len(self.met) >= 3 * MOST_MEETINGS:
            return None
        if question["ask"] == PAIR:
            about, candidates = question["same"], list(range(len(self.labels)))
            more, equal = self._compared(about)
            sure = equal.any()
        else:
            about, candidates = question["ask"], self._candidates(question)
            more, equal = self._compared(about)
            beyond = more if question["which"] == LARGEST else more.T
            sure = (beyond | equal | equal.T | np.eye(len(equal), dtype=bool))[candidates[0]].all()
        if sure:
            return None
        made = {setup for setup, _ in self.met}
        for one, other in combinations(candidates, 2):
            if (more | more.T | equal | equal.T)[one, other]:
                continue
            if about == "magnetism":
                thirds = [k for k in range(len(self.labels)) if k not in (one, other)][:2]
                wanted = [Setup(k, third, CLOSE, True, turned)
                          for third in thirds for k in (one, other) for turned in (False, True)]  # fmt: skip
                wanted += [self._between(one, other, third) for third in thirds]
            else:
                wanted = [Setup(one, other, cells) for cells in CELLS if Setup(other, one, cells) not in made]
            for setup in wanted:
                if setup is not None and setup not in made:
                    return setup
        return None

    def _between(self, one: int, other: int, third: int) -> Setup | None:
        """One of the two held beside the third, half-way between a distance where both move it and one where neither
        does."""
        beside = [(done, met) for done, met in self.met if done.held and not done.turned and done.second == third]
        held = {(done.first, done.cells): outcome(met) for done, met in beside}
        near, far = NEAREST - 1, FARTHEST
        while far - near > 1:
            cells = (near + far) // 2
            for first in (one, other):
                if (first, cells) not in held:
                    return Setup(first, third, cells, held=True)
            if held[one, cells] != held[other, cells]:
                return None
            near, far = (cells, far) if held[one, cells] == MOVED else (near, cells)
        return None

    def _compared(self, about: str) -> tuple[np.ndarray, np.ndarray]:
        """(N, N) bool: pairs of which the first has more of the property, and pairs of equal discs."""
        known, none = self.known(), np.zeros((len(self.labels),) * 2, dtype=bool)
        order, equal = _COMPARED[about]
        return known.get(order, none), known.get(equal, none)

    def reply(self, question: Mapping[str, str]) -> tuple[int, ...]:
        """The discs to name: a candidate, or the first pair that is known to be equal."""
        if question["ask"] != PAIR:
            return (self._candidates(question)[0],)
        pairs = np.argwhere(self._compared(question["same"])[1]).tolist()
        return tuple(pairs[0]) if pairs else (0, 1)

    def _candidates(self, question: Mapping[str, str]) -> list[int]:
        """The discs that no fact excludes from the largest or smallest, those first with the most facts."""
        size = len(self.labels)
        more, equal = self._compared(question["ask"])
        beyond = more if question["which"] == LARGEST else more.T
        certain = (beyond | equal | equal.T).sum(axis=1)
        left = [k for k in range(size) if not beyond[:, k].any()] or list(range(size))
        return sorted(left, key=lambda k: (-certain[k], k))


def _plogp(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)


class Probing(Scripts):
    """Plays with an agent for each table, whose meetings it makes one at a time on the otherwise empty table.

    Before its first meeting a disc is held, which shows its boundary, and turned along the line of the meetings, so
    that its direction is always the same. At the end the answer goes onto the table, and CHECK. Where the actions of a
    trial run out, or a disc has gone into the dark, the player checks the first possible answer, and the next trial
    goes on with the same agent.

    :ivar make: (labels of the discs, family) -> the agent. :ivar probers: of each table.
    :ivar probes: (B,) places, holds and turns made to learn the answer. :ivar meetings: (B,).
    :ivar replies: of each table, the discs that it names for each question of the quiz.
    """

    def __init__(self, make: Callable[[Sequence[str], str], Prober]) -> None:
        super().__init__(self._script)
        self.make = make
        self.replies: list[list[list[str]]] = []

    def begin(self, batch: ProbSolVectorEnv) -> None:
        tasks = map(batch.task, range(batch.num_envs))
        self.probers = [self.make([disc_label(task, id) for id in task.first_stored], task.family) for task in tasks]
        self.probes, self.meetings = (np.zeros(batch.num_envs, dtype=np.int64) for _ in range(2))
        self.replies = [[] for _ in range(batch.num_envs)]
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task, prober = batch.task(i), self.probers[i]
        discs = [k for k, disc in enumerate(task.objects) if disc.stored is not None]
        looked: set[int] = set()
        needed = LONGEST_MEETING + 4 + 2 * len(discs)

        def goes_on() -> bool:
            used = batch.tables.actions[i] + batch.tables.refused[i]
            return batch.settings.max_actions - used > needed and not len(Hands(batch, i).lost())

        def meeting(setup: Setup) -> Iterator[int]:
            hands = Hands(batch, i)
            yield from hands.meet(discs[setup.first], discs[setup.second], setup, looked)
            prober.add(setup, hands.seen(*(prober.labels[k] for k in setup[:2])))

        while True:
            while goes_on() and (setup := prober.next()) is not None:
                for action in meeting(setup):
                    self.probes[i] += batch.label(action, i)[0] in ("place", "hold", "hold_at", "turn")
                    yield action
            answer, self.meetings[i] = prober.answer(), len(prober.met)
            for question in task.quiz:
                while goes_on() and (setup := prober.next_asked(question)) is not None:
                    yield from meeting(setup)
            self.replies[i] = [[task.ids[discs[k]] for k in prober.reply(question)] for question in task.quiz]
            trial = batch.tables.trials[i]
            yield from Hands(batch, i).leave([discs[k] for k in answer])
            left = np.flatnonzero(batch.tables.where[i, discs] == PLACED).tolist()
            yield batch.labels.num_actions + CHECK
            if batch.tables.trials[i] == trial:
                return  # the episode is over
            looked.clear()
            prober.refuse(left)


class Hands:
    """The actions of one meeting on table i, and their result.

    :ivar upright: discs meet on the middle column, instead of the middle row, because more of it is accessible.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        self.batch, self.i, self.labels = batch, i, batch.labels
        allowed = batch.tables.data.allowed[batch.tables.rows[i]].reshape(GRID, GRID)
        self.upright = bool(allowed[:, GRID // 2].sum() > allowed[GRID // 2].sum())

    def lost(self) -> np.ndarray:
        """The discs in the dark, as far as the hand is free."""
        tables, M = self.batch.tables, self.labels.discs
        shut = (tables.where[self.i] == PLACED) & ~tables.mask()[self.i, M : 2 * M] & (tables.hand[self.i] == 0)
        return np.flatnonzero(shut)

    def meet(self, first: int, second: int, setup: Setup, looked: set[int]) -> Iterator[int]:
        yield from self._clear()
        along, across = (GRID, 1) if self.upright else (1, GRID)
        points = [GRID // 2 * across + ((GRID - setup.cells) // 2 + offset) * along for offset in (0, setup.cells)]
        if first not in looked or setup.turned:
            looked.add(first)
            yield from self._look(first, points[0], setup.turned)
            yield self.labels.num_actions + TAKE_UP
            yield self.labels.free_cell(self.batch.tables, self.i)
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
        if setup.turned:
            looked.remove(first)

    def seen(self, first: str, second: str) -> Meeting:
        """The meeting of discs with these labels."""
        return Meeting(episode=0, first=first, second=second, **self._told)

    def leave(self, answer: Sequence[int]) -> Iterator[int]:
        """Leave only these discs on the table, as far apart as possible."""
        yield from self._clear()
        for k, disc in enumerate(each for each in answer if self.batch.tables.where[self.i, each] == STORED):
            yield disc
            if (number := nearest_open(self.batch, self.i, CENTRES[_SPREAD[k % len(_SPREAD)]])) is not None:
                yield number

    def _clear(self) -> Iterator[int]:
        """Store the discs in hand and on the table, but for those in the dark."""
        tables = self.batch.tables
        if tables.hand[self.i]:
            if tables.where[self.i, tables.hand[self.i] - 1] == HELD:
                yield self.labels.num_actions + TAKE_UP
            yield self.labels.free_cell(tables, self.i)
        for disc in np.setdiff1d(np.flatnonzero(tables.where[self.i] == PLACED), self.lost()).tolist():
            yield self.labels.discs + disc
            yield self.labels.free_cell(tables, self.i)

    def _look(self, disc: int, point: int, turned: bool = False) -> Iterator[int]:
        """Hold a stored disc at a point and turn it along the line of meetings, or the other way round."""
        yield disc
        yield self.labels.first_point + POINTS + point
        eighths = (int(visible(self.batch.tables)[2][self.i, disc]) // 45 - 2 * self.upright - 4 * turned) % 8
        turns = eighths if eighths <= 4 else 8 - eighths
        yield from [self.labels.num_actions + (TURN_BACK if eighths <= 4 else TURN)] * turns


#: Grid points of an answer: corners, middles of the sides, then between these and the middle.
_SPREAD = [
    row * GRID + column
    for row, column in ((3, 3), (36, 36), (3, 36), (36, 3), (3, 20), (36, 20), (20, 3), (20, 36), (20, 20), (12, 12),
                        (28, 28), (12, 28))
]  # fmt: skip
