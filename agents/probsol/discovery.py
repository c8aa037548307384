"""How few probes it takes to find out which discs are alike: strategies compared on the same tasks.

All but the oracle and "all at once" know what other tasks have taught: a curious agent lived through these, was told
how their discs compare, and rules were mined from both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.envs.probsol.engine import CHECK
from gumption.envs.probsol.experience import (
    ACTED_AS_MUCH,
    ACTED_MORE,
    ATTRACTS,
    DID_AS,
    DID_OTHERWISE,
    ENDED_AS,
    MOVED_AS_FAR,
    MOVED_FARTHER,
    REPELS,
    Meeting,
    Triple,
    shown,
)
from gumption.envs.probsol.facts import properties
from gumption.envs.probsol.generators import generate
from gumption.envs.probsol.quiz import (
    DIPOLE,
    HEAVIER_THAN,
    SAME_POLARITY,
    STRONGER_THAN,
    disc_label,
    property_facts,
)
from gumption.envs.probsol.tasks import DISCOVERY, Laws, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv
from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import Rule
from gumption.kg.rules.mining import MinedRule, mine_rules

from .players import Script, Scripts, play
from .prober import CELLS, DIFFERS_FROM, IS_LIKE, MOVED, Expectations, Follows, Prober, Probing, Setup, outcome

Discs = Literal["monopoles", "with dipoles"]
#: What rules are mined from: relations of the experience, and of what is told of the tasks that one learns from.
LIVED = (
    ATTRACTS, REPELS, MOVED_FARTHER, MOVED_AS_FAR, DID_AS, ENDED_AS, DID_OTHERWISE, ACTED_MORE, ACTED_AS_MUCH
)  # fmt: skip
COMPARED = (HEAVIER_THAN, STRONGER_THAN, SAME_POLARITY)
#: Rules have no exception, since the world has none, and this support.
CONFIDENCE, SUPPORT = 1.0, 15
#: Meetings of the curious agent on a table.
CURIOUS = 24


def find_tasks(discs: Discs, many: int, first: int) -> list[Task]:
    """Generated discovery tasks without dark areas and walls, both families in turn, with one trial each.

    :param discs: tasks without dipoles, or those with some. :param first: the number of the first seed that is tried.
    """
    found: list[Task] = []
    seed = first
    while len(found) < many:
        task = generate(DISCOVERY[len(found) % 2], seed)
        dipoles = any(disc.polarity == DIPOLE for disc in task.objects)
        if not task.inaccessible and not task.walls and dipoles == (discs == "with dipoles"):
            found.append(replace(task, constraints={"trial_number": 1}, quiz=()))
        seed += 1
    return found


# ---- what other tasks teach


@dataclass(frozen=True)
class Learned:
    """What other tasks have taught.

    :ivar facts: what was lived through. :ivar mined: the rules of it with their figures.
    :ivar rules: those of them that say what no others do. :ivar expected: of meetings.
    """

    facts: tuple[Triple, ...]
    mined: tuple[MinedRule, ...]
    rules: tuple[Rule, ...]
    expected: Expectations


class Curious(Prober):
    """Makes meetings at random, to learn: two of the discs meet others, each at two distances."""

    def __init__(self, labels: Sequence[str], family: str, rng: np.random.Generator) -> None:
        super().__init__(labels, family, (), Expectations())
        thirds = rng.permutation(len(labels))[:2].tolist()
        distances = rng.permutation(CELLS)[:2].tolist()
        every = [Setup(first, second, cells, held) for first in range(len(labels)) for second in thirds
                 if first != second for cells in distances for held in (False, True)]  # fmt: skip
        self._plan = [every[k] for k in rng.permutation(len(every))[:CURIOUS].tolist()]

    def next(self) -> Setup | None:
        return self._plan[len(self.met)] if len(self.met) < len(self._plan) else None


def told(task: Task) -> Iterator[Triple]:
    """What an agent is told of a task that it learns from: how its discs compare."""
    yield from (fact for fact in property_facts(task) if fact[1] in COMPARED)
    for one, other in permutations(task.objects, 2):
        relation = IS_LIKE if properties(task, one) == properties(task, other) else DIFFERS_FROM
        yield disc_label(task, one.id), relation, disc_label(task, other.id)


def learn(tasks: Sequence[Task], laws: Laws, seed: int) -> Learned:
    """Live through tasks as a curious agent, be told how their discs compare, and mine rules from both."""
    rng = np.random.default_rng([seed, 17])
    player = Probing(lambda labels, family: Curious(labels, family, rng))
    play_tasks(tasks, player, laws)
    lived = sorted({fact for prober in player.probers for fact in prober.facts() if fact[1] in LIVED})
    compared = [fact for task in tasks for fact in told(task)]
    graph = KnowledgeGraph()
    graph.add(lived, graph="probsol/lived")
    graph.add(compared, graph="probsol/told")
    found = mine_rules(
        graph, min_support=SUPPORT, min_head_coverage=0.0, min_confidence=0.0, min_contradiction_confidence=CONFIDENCE
    )
    mined = [one for one in found if _is_reliable(one)]
    rules = chosen_rules([one.rule for one in sorted(mined, key=_rank)], lived, compared)
    met = [[each for _, each in prober.met] for prober in player.probers]
    differ = {(one, other) for one, relation, other in compared if relation == DIFFERS_FROM}
    clean = [each for many in met for each in many if not each.held and outcome(each) == MOVED]
    shows = [_tells(each, Follows(rules)) for each in clean if (each.first, each.second) in differ]
    expected = Expectations.of(met, float(np.mean(shows)) if shows else 0.0)
    return Learned(tuple(lived), tuple(mined), rules, expected)


def _is_reliable(one: MinedRule) -> bool:
    """Of all pairs it is told how they compare, so there what is not stated does not hold. What was lived through is a
    part of the pairs: there contradictions count, and what was told does not say what would be seen."""
    if one.rule.head.relation in LIVED:
        return all(atom.relation in LIVED for atom in one.rule.body)
    return one.confidence >= CONFIDENCE


def _rank(one: MinedRule) -> tuple[bool, bool, int, int]:
    """Which rules come first: those about one relation, of the others those of what was told, the shorter ones."""
    relations = {atom.relation for atom in (one.rule.head, *one.rule.body)}
    return len(relations) > 1, one.rule.head.relation in LIVED, len(one.rule.body), -one.support


def _tells(met: Meeting, follows: Follows) -> bool:
    """Whether it follows from one meeting that the two differ."""
    number = {met.first: 0, met.second: 1}
    facts = [(number[a], relation, number[b]) for a, relation, b in (each.fact for each in shown([met]))]
    return bool(follows.closure(facts, 2)[DIFFERS_FROM].any())


def chosen_rules(rules: Sequence[Rule], lived: Sequence[Triple], compared: Sequence[Triple]) -> tuple[Rule, ...]:
    """The rules, in their order, without those that say nothing new, and those that lead to something false.

    A rule says nothing new where its body entails its head by the rules before. It leads to something false where, with
    those, it entails of what was lived through a comparison that was not told. A rule about what was told never does:
    it was mined without a single exception.
    """
    kept: list[Rule] = []
    place = {"x": 0, "y": 1, "z": 2}
    number = {label: k for k, label in enumerate(sorted({one for fact in compared for one in fact[::2]}))}
    facts = [(number[one], relation, number[other]) for one, relation, other in lived]
    true = {(number[one], relation, number[other]) for one, relation, other in compared}
    for rule in rules:
        head = place[rule.head.subject], place[rule.head.object]
        body = [(place[atom.subject], atom.relation, place[atom.object]) for atom in rule.body]
        asked = [rule.head.relation, *(atom.relation for atom in rule.body)]
        if Follows(kept, asked).closure(body, 3)[rule.head.relation][head]:
            continue
        if rule.head.relation in LIVED:
            holds = Follows([*kept, rule]).closure(facts, len(number))
            told = [name for name in (IS_LIKE, DIFFERS_FROM, *COMPARED) if name in holds]
            entailed = {(a, name, b) for name in told for a, b in np.argwhere(holds[name]).tolist()}
            if not entailed <= true:
                continue
        kept.append(rule)
    return tuple(kept)


# ---- other strategies


class Oracle(Prober):
    """Knows the law, not the properties, and no meeting fails to show something.

    By the law it can compare any two discs that meetings connect, directly or over others, in each property.
    """

    def __init__(self, labels: Sequence[str], family: str, tasks: Sequence[Task]) -> None:
        """:param tasks: among which that of the labels is."""
        super().__init__(labels, family, (), Expectations(dict.fromkeys(CELLS, 1.0), told=1.0))
        kinds = {disc_label(task, disc.id): properties(task, disc) for task in tasks for disc in task.objects}
        self._kinds = [kinds[label] for label in labels]

    def facts(self) -> list[Triple]:
        group = list(range(len(self.labels)))  # of each disc, the first one that it is connected with
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


class AtOnce(Scripts):
    """Puts all discs on a ring, one after the other, and compares how far each went in all."""

    def __init__(self) -> None:
        super().__init__(self._script)

    def begin(self, batch: ProbSolVectorEnv) -> None:
        self.probes = np.zeros(batch.num_envs, dtype=np.int64)
        super().begin(batch)

    def _script(self, batch: ProbSolVectorEnv, i: int) -> Script:
        yield batch.labels.num_actions + CHECK


# ---- playing


def play_tasks(tasks: Sequence[Task], player: Scripts, laws: Laws = "real") -> np.ndarray:
    """One episode of each task. :returns: (B,) bool, which were solved."""
    batch = ProbSolVectorEnv(
        len(tasks), task=list(tasks), order="sequential", autoreset_mode=AutoresetMode.DISABLED, laws=laws,
        max_actions=10_000,
    )  # fmt: skip
    batch.reset(seed=0)
    return play(batch, player)
