"""How few probes tell which discs are alike: strategies compared on the same tasks.

All but the oracle and "all at once" use what other tasks have taught: a curious agent made meetings there, learned how
the discs compare, and mined rules from both.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count, permutations
from os import PathLike
from typing import Literal

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.envs.memory import Triple
from gumption.envs.probsol.engine import CHECK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.facts import DIFFERS_FROM, properties
from gumption.envs.probsol.generators import generate
from gumption.envs.probsol.knowledge_base import LIVED, shown
from gumption.envs.probsol.magnets import TABLE
from gumption.envs.probsol.quiz import COMPARED, DIPOLE, LARGEST, PAIR, SMALLEST, disc_label, is_right, property_facts
from gumption.envs.probsol.tasks import DISCOVERY, Laws, Task
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import Rule
from gumption.kg.rules.mining import MinedRule, mine_rules

from .players import Script, nearest_open, play
from .prober import (
    CELLS,
    CLOSE,
    FARTHEST,
    IS_LIKE,
    MOVED,
    NEAREST,
    SAME_MAGNETISM,
    SAME_MASS,
    Expectations,
    Follows,
    Hands,
    Prober,
    Probing,
    Setup,
    outcome,
)

Discs = Literal["monopoles", "with dipoles"]
#: Relations by which a teacher compares discs.
TOLD = (*COMPARED, SAME_MASS, SAME_MAGNETISM, IS_LIKE, DIFFERS_FROM)
#: Least confidence of rules, since the world has no exceptions, least support, and least number of tasks with it: pairs
#: of one table are no independent cases.
CONFIDENCE, SUPPORT, TASKS = 1.0, 30, 5
#: Least confidence of likely rules: two discs may do the same by chance.
LIKELY = 0.9
#: Random meetings of the curious agent on a table.
CURIOUS = 24
#: px: radius of the ring of `AtOnce`.
RING = 150.0


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


# ---- learning from other tasks


@dataclass(frozen=True)
class Learned:
    """The knowledge from other tasks.

    :ivar facts: of the meetings. :ivar mined: the reliable rules, with their figures. :ivar rules: see `chosen_rules`.
    :ivar likely: rules with exceptions: a fact makes it probable that two discs are alike, or differ.
    :ivar expected: of meetings.
    """

    facts: tuple[Triple, ...]
    mined: tuple[MinedRule, ...]
    rules: tuple[Rule, ...]
    likely: tuple[Rule, ...]
    expected: Expectations

    @property
    def taught(self) -> tuple[tuple[Rule, ...], Expectations, tuple[Rule, ...]]:
        """The arguments of a `Prober`."""
        return self.rules, self.expected, self.likely


class Curious(Prober):
    """Makes random meetings, to learn: two of the discs meet others, each at two distances. Then each is held close to
    the same disc, both ways round. No meetings for a quiz."""

    def __init__(self, labels: Sequence[str], family: str, rng: np.random.Generator) -> None:
        super().__init__(labels, family, (), Expectations())
        thirds = rng.permutation(len(labels))[:2].tolist()
        free = rng.permutation(CELLS)[:2].tolist()
        held = rng.permutation(np.arange(NEAREST, FARTHEST))[:2].tolist()
        distances = [(cells, False) for cells in free] + [(cells, True) for cells in held]
        pairs = [(first, second) for first in range(len(labels)) for second in thirds if first != second]
        every = [Setup(*pair, cells, is_held) for pair in pairs for cells, is_held in distances]
        self._plan = [every[k] for k in rng.permutation(len(every))[:CURIOUS].tolist()]
        others = [first for first in range(len(labels)) if first != thirds[0]]
        self._plan += [Setup(first, thirds[0], CLOSE, True, turned) for first in others for turned in (False, True)]

    def next(self) -> Setup | None:
        return self._plan[len(self.met)] if len(self.met) < len(self._plan) else None

    def next_asked(self, question: Mapping[str, str]) -> None:
        pass


def told(task: Task) -> Iterator[Triple]:
    """What a teacher states of a task: how its discs compare."""
    yield from (fact for fact in property_facts(task) if fact[1] in COMPARED)
    for one, other in permutations(task.objects, 2):
        (mass, magnetism, kind), others = properties(task, one), properties(task, other)
        same = {SAME_MASS: mass == others[0], SAME_MAGNETISM: magnetism == others[1]}
        same |= {IS_LIKE: (mass, magnetism, kind) == others, DIFFERS_FROM: (mass, magnetism, kind) != others}
        yield from ((disc_label(task, one.id), name, disc_label(task, other.id)) for name, it in same.items() if it)


@lru_cache
def learn_from(discs: Discs, laws: Laws, many: int, seed: int) -> Learned:
    """Play so many generated tasks, which differ by seed, as a curious agent, learn how their discs compare, and mine
    rules from both."""
    tasks, player = find_tasks(discs, many, 100_000 + seed * 1000), curious(seed)
    live_through(tasks, player, laws)
    lived = sorted({fact for prober in player.probers for fact in prober.facts() if fact[1] in LIVED})
    compared = [fact for task in tasks for fact in told(task)]
    graph = KnowledgeGraph()
    graph.add(lived, graph="probsol/lived")
    graph.add(compared, graph="probsol/told")
    found = mine_rules(
        graph, min_support=SUPPORT, min_head_coverage=0.0, min_confidence=0.0, min_contradiction_confidence=LIKELY
    )

    def is_reliable(one: MinedRule) -> bool:
        # The comparisons of all pairs are known, so there a missing fact is false. Only some pairs met: about meetings
        # only contradictions count, and comparisons do not entail what one would see.
        if one.rule.head.relation in LIVED:
            exact = one.contradiction_confidence >= CONFIDENCE
            return exact and all(atom.relation in LIVED for atom in one.rule.body)
        return one.confidence >= CONFIDENCE

    def rank(one: MinedRule) -> tuple[bool, bool, int, int]:
        # First rules about one relation, then comparisons, then short rules.
        relations = {atom.relation for atom in (one.rule.head, *one.rule.body)}
        return len(relations) > 1, one.rule.head.relation in LIVED, len(one.rule.body), -one.support

    def is_likely(one: MinedRule) -> bool:
        about_likeness = one.rule.head.relation in (IS_LIKE, DIFFERS_FROM)
        seen_directly = len(one.rule.body) == 1 and one.rule.body[0].relation in LIVED
        return about_likeness and seen_directly and LIKELY <= one.confidence < CONFIDENCE

    mined = [one for one in found if is_reliable(one)]
    rules = chosen_rules([one.rule for one in sorted(mined, key=rank)], lived, compared)
    likely = tuple(one.rule for one in found if is_likely(one))
    met = [[each for _, each in prober.met] for prober in player.probers]
    differ = {(one, other) for one, relation, other in compared if relation == DIFFERS_FROM}
    follows, shows = Follows(rules), []  # whether a meeting alone implies that two discs differ that do
    for each in (each for many in met for each in many if not each.held and outcome(each) == MOVED):
        if (each.first, each.second) in differ:
            number = {each.first: 0, each.second: 1}
            facts = [(number[a], relation, number[b]) for a, relation, b in (one.fact for one in shown([each]))]
            shows.append(bool(follows.closure(facts, 2)[DIFFERS_FROM].any()))
    expected = Expectations.of(met, float(np.mean(shows)) if shows else 0.0)
    return Learned(tuple(lived), tuple(mined), rules, likely, expected)


def chosen_rules(rules: Sequence[Rule], lived: Sequence[Triple], compared: Sequence[Triple]) -> tuple[Rule, ...]:
    """The rules, in their order, without redundant ones, those that entail something false, and those of use in few
    tasks.

    A rule is redundant where the rules before entail its head from its body. It entails something false where, with
    those, it entails a comparison that does not hold from the facts of meetings. A rule about comparisons never does:
    mining found it without a single exception.
    """
    kept: list[Rule] = []
    place = {"x": 0, "y": 1, "z": 2}
    relations = sorted({*TOLD, *(fact[1] for fact in lived)})
    facts, true = (_by_task(each, relations, compared) for each in (lived, compared))
    comparisons = [relations.index(name) for name in TOLD]
    every, asked = facts | true, Follows((), relations)
    for rule in rules:
        if asked.entailed(rule, every).any(axis=(1, 2)).sum() < min(TASKS, every.shape[1]):
            continue
        body = [(place[atom.subject], atom.relation, place[atom.object]) for atom in rule.body]
        entailed = Follows(kept, relations).closure(body, 3)[rule.head.relation]
        if entailed[place[rule.head.subject], place[rule.head.object]]:
            continue
        if rule.head.relation in LIVED:
            holds = facts.copy()
            Follows([*kept, rule], relations).close(holds)
            if (holds[comparisons] & ~true[comparisons]).any():
                continue
        kept.append(rule)
    return tuple(kept)


def _by_task(facts: Sequence[Triple], relations: Sequence[str], compared: Sequence[Triple]) -> np.ndarray:
    """(R, T, N, N) bool: the facts of T tasks, with the discs of the comparisons."""
    discs: dict[str, list[str]] = {}
    for label in sorted({one for fact in compared for one in fact[::2]}):
        discs.setdefault(label.rpartition(":")[0], []).append(label)
    number = {label: (t, k) for t, labels in enumerate(discs.values()) for k, label in enumerate(labels)}
    most = max(map(len, discs.values()))
    holds = np.zeros((len(relations), len(discs), most, most), dtype=bool)
    for one, relation, other in facts:
        (task, k), (_, m) = number[one], number[other]
        holds[relations.index(relation), task, k, m] = True
    return holds


# ---- other strategies


class EveryPair(Prober):
    """All pairs, one after the other; where a disc lay still, again at another distance, twice at most. No meetings for
    a quiz."""

    def next_asked(self, question: Mapping[str, str]) -> None:
        pass

    def pairs(self) -> list[tuple[int, int]]:
        """The meetings, (first, second)."""
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
    """As many random pairs as a star has; the labels are the seed."""

    def pairs(self) -> list[tuple[int, int]]:
        every = super().pairs()
        rng = np.random.default_rng(list("".join(self.labels).encode()))
        return [every[k] for k in rng.permutation(len(every))[: len(self.labels) - 1].tolist()]


class Oracle(Prober):
    """Knows the law, not the properties, and each of its meetings shows something.

    By the law it can compare any two discs that meetings connect, directly or over others, in each property.
    """

    def __init__(self, labels: Sequence[str], family: str, tasks: Sequence[Task]) -> None:
        """:param tasks: with the task of the labels."""
        super().__init__(labels, family, (), Expectations(dict.fromkeys(CELLS, 1.0), told=1.0))
        kinds = {disc_label(task, disc.id): properties(task, disc) for task in tasks for disc in task.objects}
        self._kinds = [kinds[label] for label in labels]

    def facts(self) -> list[Triple]:
        group = list(range(len(self.labels)))  # the first disc that each one is connected with
        for setup, _ in self.met:
            first, second = sorted((group[setup.first], group[setup.second]))
            group = [first if one == second else one for one in group]
        pairs = [(a, b) for a, b in permutations(range(len(group)), 2) if group[a] == group[b]]
        relation = {True: IS_LIKE, False: DIFFERS_FROM}
        return sorted((self.labels[a], relation[self._kinds[a] == self._kinds[b]], self.labels[b]) for a, b in pairs)

    def _setups(self) -> Iterator[Setup]:
        met = {frozenset(setup[:2]) for setup, _ in self.met}
        pairs = permutations(range(len(self.labels)), 2)
        return (Setup(*pair, CELLS[0]) for pair in pairs if frozenset(pair) not in met)


class AtOnce(Probing):
    """Puts all discs on a ring, one after the other, and compares the ways that they went in all. FindTheDiff: the disc
    farthest from the median. FindTheSame: the two with the most similar ways."""

    def __init__(self) -> None:
        super().__init__(lambda labels, family: Prober(labels, family, (), Expectations()))

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        task, tables, labels = batch.task(i), batch.tables, batch.labels
        way = np.zeros(len(task.objects))
        for k in range(len(way)):
            turn = 2 * np.pi * k / len(way)
            wanted = TABLE / 2 + RING * np.array([np.cos(turn), np.sin(turn)])
            yield k
            self.probes[i] += 1
            if (number := nearest_open(batch, i, wanted)) is not None:
                yield number
            way += np.hypot(*tables.moved[i, : len(way)].T)
        if task.family == "FindTheDiff":
            answer = [int(np.abs(way - np.median(way)).argmax())]
        else:
            order = np.argsort(way, kind="stable")
            least = int(np.diff(way[order]).argmin())
            answer = order[least : least + 2].tolist()
        yield from Hands(batch, i).leave(answer)
        yield labels.num_actions + CHECK


# ---- playing


def live_through(
    tasks: Sequence[Task], player: Probing, laws: Laws = "real", memory: str | PathLike[str] | None = None
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


def curious(seed: int) -> Probing:
    """A player with a `Curious` agent on each table."""
    rng = np.random.default_rng([seed, 17])
    return Probing(lambda labels, family: Curious(labels, family, rng))


#: Strategies -> their agents; "all at once" has none, and the oracle is made with the tasks.
STRATEGIES: dict[str, type[Prober] | None] = {
    "every pair": EveryPair, "star": Star, "all at once": None, "random": RandomPairs, "graph": Prober, "oracle": Oracle
}  # fmt: skip


def compare(strategy: str, tasks: Sequence[Task], laws: Laws, learned: Learned) -> dict[str, np.ndarray]:
    """Play the tasks by one of the strategies.

    :param learned: its knowledge from other tasks, of these laws or of other ones.
    :returns: "solved" (B,) bool; "probes" (B,), places, holds and turns made to learn the answer; "meetings" (B,);
        "right" (B, 3) bool, of the questions of the quiz, (B, 0) where the strategy answers none.
    :raises InputError: no such strategy.
    """
    if strategy not in STRATEGIES:
        raise InputError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    kind = STRATEGIES[strategy]
    if kind is None:
        player: Probing = AtOnce()
    elif kind is Oracle:
        tasks = [replace(task, quiz=()) for task in tasks]
        player = Probing(lambda labels, family: Oracle(labels, family, tasks))
    else:
        player = Probing(lambda labels, family: kind(labels, family, *learned.taught))
    solved = live_through(tasks, player, laws)
    right = [
        [is_right(replace(task, quiz=(question,)), [reply], [0] * len(task.objects))
         for question, reply in zip(task.quiz, replies, strict=False)]
        for task, replies in zip(tasks, player.replies, strict=True)
    ]  # fmt: skip
    answered = np.array(right, dtype=bool).reshape(len(tasks), -1)
    return {"solved": solved, "probes": player.probes, "meetings": player.meetings, "right": answered}
