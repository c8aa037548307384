"""Derive facts from an agent's experience and store them in a KnowledgeGraph, with their evidence.

A meeting is a step that puts a disc on the table while exactly one other disc lies there: with three discs, the cause
of a movement would be ambiguous. In a free meeting both can move; in a held meeting the player holds the first disc.
Facts of a single meeting:

    (a attracts b), (a repels b)            they came nearer to each other, or farther apart; stated both ways
    (a reached b)                           a moved until it touched b
    (a stayedBy b)                          a was free and lay still, at all distances at which it met b
    (a movedFartherThan b), (.. AsFarAs ..) both were free, and no edge of the table stopped a disc

Facts of two meetings with the same third disc, at the same place, from the same side and at the same distance:

    (a didAs b), (a didOtherwiseThan b)     a and the third, free, moved exactly as b and the third; or they did not
    (a endedAs b)                           as didAs, but an edge of the table stopped a disc
    (a metAs b), (a drewAs b)               as didAs and actedAsMuchAs, but the discs touch in the end, so that only
                                            the time, counted in steps, could distinguish them
    (a actedMoreThan b), (.. AsMuchAs ..)   held, a moved the third and b did not, or a pushed it farther, or pulled it
                                            in less time

Facts of four meetings, two of a and two of b, held near the same third disc in two opposite orientations:

    (a keptSignAs b)                        after half a turn, each had the same effect on the third: pull or push
    (a changedSignAs b)                     each pulled the third in one orientation, and pushed it in the other

No code relates these relations to mass, magnetism and polarity: rules mined from experience do.

The graph `probsol/RUN` holds the facts of a run, and `probsol/RUN/evidence` their evidence: a node for each fact, with
the run in its name, so that graphs of several runs can be queried together. Counts and amounts are literals:

    evidence:RUN:fishing/0:a attracts fishing/0:b       ofRun RUN, hasSubject, hasRelation, hasObject,
                                                        hasVisits 3, hasEpisodes 2,
                                                        hasLeastDistance 48, hasGreatestDistance 96 (px, at the start),
                                                        hasLeastAmount 12.5, hasGreatestAmount 61.0 (px that it moved,
                                                        or more than the other)
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gumption.data.settings import checked
from gumption.data.tables import grouped
from gumption.envs.memory import OF_RUN, Triple, integer, state_facts

from .actions import WHAT, WHERE
from .engine import CENTRES, POINTS, PUT_DOWN
from .facts import ATTRACTS, REPELS
from .geometry import GRABBED, HELD, PLACED
from .magnets import RADIUS, TABLE
from .memory import REFUSED, Memory

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

REACHED, STAYED_BY = "reached", "stayedBy"
MOVED_FARTHER, MOVED_AS_FAR = "movedFartherThan", "movedAsFarAs"
DID_AS, ENDED_AS, MET_AS, DID_OTHERWISE = "didAs", "endedAs", "metAs", "didOtherwiseThan"
ACTED_MORE, ACTED_AS_MUCH, DREW_AS = "actedMoreThan", "actedAsMuchAs", "drewAs"
KEPT_SIGN, CHANGED_SIGN = "keptSignAs", "changedSignAs"
#: px: smaller movements and smaller differences count as 0. Records have single precision; the physics is
#: deterministic.
SEEN = 0.05
#: px between the centres of discs that touch, and from an edge to the centre of a disc that lies at it.
TOUCH, EDGE = 2 * RADIUS + 0.6, RADIUS + 0.6


class Meeting(NamedTuple):
    """A meeting of two discs: the player put `first` on the table while `second` lay there.

    :ivar first, second: "TASK:ID". :ivar held: the player holds the first. :ivar boundary: of a held first, degrees.
    :ivar starts, ends: (2, 2) px, places of both before and after. :ivar steps: physics steps of the record.
    """

    episode: int
    first: str
    second: str
    held: bool
    boundary: int
    starts: np.ndarray
    ends: np.ndarray
    steps: int

    @property
    def distance(self) -> float:
        """Return the distance of the centres at the start, in px."""
        return float(np.hypot(*(self.starts[0] - self.starts[1])))

    @property
    def moved(self) -> np.ndarray:
        """Return the distance that each disc moved, (2,) px."""
        return np.hypot(*(self.ends - self.starts).T)

    @property
    def nearer(self) -> np.ndarray:
        """Return the movement of each disc towards the start of the other, (2,) px; negative: away from it."""
        towards = (self.starts[::-1] - self.starts) / self.distance
        return ((self.ends - self.starts) * towards).sum(axis=1)

    @property
    def distance_after(self) -> float:
        """Return the distance of the centres in the end, in px."""
        return float(np.hypot(*(self.ends[0] - self.ends[1])))

    @property
    def touching(self) -> bool:
        """Return whether the discs touch in the end."""
        return self.distance_after <= TOUCH

    @property
    def stopped(self) -> bool:
        """Return whether a disc that moved lies at an edge of the table in the end."""
        room = np.minimum(self.ends, TABLE - self.ends).min(axis=1)
        return bool(((room <= EDGE) & (self.moved > SEEN)).any())


class Shown(NamedTuple):
    """A fact with the meeting that completed it.

    :ivar amount: size of the effect in px; for two meetings the difference.
    """

    fact: Triple
    episode: int
    distance: float
    amount: float


def meetings(memory: Memory) -> Iterator[Meeting]:
    """Yield the meetings in a memory, in order."""
    records = memory.records
    for record in records[(records["flags"] & REFUSED) == 0]:
        after = record["state_after"]
        there = np.flatnonzero((after == PLACED) | (after == HELD))
        if len(there) != 2:
            continue
        found = _put(memory, record)
        if found is None or found[0] not in there:
            continue
        first, place = found
        second = int(there[there != first][0])
        if record["state"][second] != PLACED or after[second] != PLACED:
            continue
        name, ids = memory.tasks[record["task"]]
        both = [first, second]
        yield Meeting(
            episode=int(record["episode"]),
            first=f"{name}:{ids[first]}",
            second=f"{name}:{ids[second]}",
            held=bool(after[first] == HELD),
            boundary=int(record["boundary_after"][first]),
            starts=np.array([place, record["place"][second]], dtype=np.float64),
            ends=record["place_after"][both].astype(np.float64),
            steps=int(record["steps"]),
        )


def _put(memory: Memory, record: np.ndarray) -> tuple[int, np.ndarray] | None:
    """Return the disc that a step put onto the table, and its place; None for other steps."""
    settings, action = memory.layout.settings, record["action"]
    in_hand = np.flatnonzero((record["state"] == GRABBED) | (record["state"] == HELD))
    if settings["actions"] == "objects":
        what, disc = WHAT[action[0]], int(action[1])
        if what in ("place", "hold"):
            return None if any(in_hand != disc) else (disc, CENTRES[WHERE[action[2]]])
        puts_down = what == "put_down"
    else:
        first_point = 3 * settings["discs"] + settings["cells"]
        point, number = int(action[0]) - first_point, first_point + 2 * POINTS + 8
        if 0 <= point < 2 * POINTS and len(in_hand) == 1:
            return int(in_hand[0]), CENTRES[point % POINTS]
        puts_down = int(action[0]) == number + PUT_DOWN
    return (int(in_hand[0]), record["place"][in_hand[0]]) if puts_down and len(in_hand) == 1 else None


def shown(met: Iterable[Meeting]) -> list[Shown]:
    """Return all facts that follow from the meetings, alone and combined, in order."""
    experience = Experience()
    found = [one for each in met for one in experience.add(each)]
    return [*found, *experience.stayed()]


class Experience:
    """Collect the meetings of an agent, and derive the facts that each new meeting adds."""

    def __init__(self) -> None:
        self._still: dict[tuple[str, str], list[Meeting]] = defaultdict(list)
        self._moved: set[tuple[str, str]] = set()
        self._setups: dict[tuple[int, ...], list[tuple[str, str, Meeting]]] = defaultdict(list)
        #: (.., first, second, ..) of a held first: its boundary -> px by which it pulled the second.
        self._drew: dict[tuple[int | str, ...], dict[int, float]] = defaultdict(dict)
        #: (episode, second): each first that was held in opposite orientations -> whether its effect was the same.
        self._kept: dict[tuple[int, str], dict[str, bool]] = defaultdict(dict)

    def add(self, each: Meeting) -> list[Shown]:
        """Return the facts of a meeting, alone and with each earlier meeting, except (a stayedBy b); see `stayed`."""
        found = list(_of_one(each))
        names = each.first, each.second
        for i in (1,) if each.held else (0, 1):
            pair = names[i], names[1 - i]
            if each.moved[i] > SEEN:
                self._moved.add(pair)
            else:
                self._still[pair].append(each)
        for i in (0, 1):
            alike = self._setups[each.episode, (1 + i) * each.held, each.boundary, *_rounded(each, i)]
            for third, other, before in alike:
                if third == names[1 - i] and other != names[i]:
                    found += _of_two(names[i], each, other, before, i)
            alike.append((names[1 - i], names[i], each))
        return [*found, *self._of_turning(each)] if each.held else found

    def _of_turning(self, each: Meeting) -> Iterator[Shown]:
        """Yield the facts about a held first that made half a turn, and others that did so near the same second."""
        way = float(each.nearer[1])
        if abs(way) <= SEEN:
            return
        ways = self._drew[each.episode, each.first, each.second, *_rounded(each, 1)]
        ways[each.boundary] = way
        other_way, kept = ways.get((each.boundary + 180) % 360), self._kept[each.episode, each.second]
        if other_way is None or each.first in kept:
            return
        kept[each.first] = mine = (way > 0) == (other_way > 0)
        relation = KEPT_SIGN if mine else CHANGED_SIGN
        for other in [one for one, same in kept.items() if same == mine and one != each.first]:
            for fact in ((each.first, relation, other), (other, relation, each.first)):
                yield Shown(fact, each.episode, each.distance, abs(way))

    def stayed(self) -> list[Shown]:
        """Return (a stayedBy b) for each free meeting, if b never moved a."""
        lasting = ((pair, many) for pair, many in self._still.items() if pair not in self._moved)
        return [Shown((a, STAYED_BY, b), one.episode, one.distance, 0.0) for (a, b), many in lasting for one in many]


def _rounded(each: Meeting, subject: int) -> tuple[int, ...]:
    """Return the places at the start, the subject's first, in tenths of a px."""
    return tuple(np.rint(each.starts[[subject, 1 - subject]] * 10).astype(int).ravel().tolist())


def _of_one(each: Meeting) -> Iterator[Shown]:
    names, moved, nearer = (each.first, each.second), each.moved, each.distance - each.distance_after
    if abs(nearer) > SEEN:
        relation = ATTRACTS if nearer > 0 else REPELS
        for fact in ((names[0], relation, names[1]), (names[1], relation, names[0])):
            yield Shown(fact, each.episode, each.distance, abs(nearer))
    for i in (1,) if each.held else (0, 1):
        if moved[i] > SEEN and each.touching and each.nearer[i] > SEEN:
            yield Shown((names[i], REACHED, names[1 - i]), each.episode, each.distance, float(moved[i]))
    if not each.held and not each.stopped and moved.max() > SEEN:
        more = float(moved[0] - moved[1])
        if abs(more) <= SEEN:
            facts = [(names[0], MOVED_AS_FAR, names[1]), (names[1], MOVED_AS_FAR, names[0])]
        else:
            facts = [(names[0], MOVED_FARTHER, names[1])] if more > 0 else [(names[1], MOVED_FARTHER, names[0])]
        yield from (Shown(fact, each.episode, each.distance, abs(more)) for fact in facts)


def _of_two(one: str, its: Meeting, other: str, others: Meeting, subject: int) -> Iterator[Shown]:
    """Yield the facts of two meetings with the same third disc about the discs that met it.

    :param subject: the index of `one` and of `other` in their meetings; the third disc has the other index.
    """
    third = 1 - subject
    apart = float(np.abs(its.ends[[subject, third]] - others.ends[[subject, third]]).max())
    same = apart <= SEEN and its.steps == others.steps

    def both_ways(relation: str) -> Iterator[Shown]:
        yield Shown((one, relation, other), its.episode, its.distance, apart)
        yield Shown((other, relation, one), its.episode, its.distance, apart)

    free = not its.held
    clean = not its.stopped and not others.stopped
    if not same:
        yield from both_ways(DID_OTHERWISE)
    elif free and its.moved.min() > SEEN:
        yield from both_ways(MET_AS if its.touching else DID_AS if clean else ENDED_AS)
    if free or subject == 1:
        return
    first, second = its.moved[third], others.moved[third]
    if (first > SEEN) != (second > SEEN):
        more = 1 if first > second else -1
    elif first <= SEEN or (its.nearer[third] > 0) != (others.nearer[third] > 0):
        return
    elif its.nearer[third] > 0:
        more = int(np.sign(others.steps - its.steps))
    elif clean:
        more = int(np.sign(first - second)) if abs(first - second) > SEEN else 0
    else:
        return
    if more == 0:
        if same:
            yield from both_ways(DREW_AS if its.touching else ACTED_AS_MUCH)
        return
    fact = (one, ACTED_MORE, other) if more > 0 else (other, ACTED_MORE, one)
    yield Shown(fact, its.episode, its.distance, abs(float(first - second)))


# ---- evidence


class Evidence(NamedTuple):
    """The number of times and of episodes in which the meetings of a memory showed a fact; see `Shown`.

    :ivar distances, amounts: least and greatest.
    """

    fact: Triple
    visits: int
    episodes: int
    distances: tuple[float, float]
    amounts: tuple[float, float]


@checked
def evidence(memory: Memory) -> list[Evidence]:
    """Return the facts that follow from a memory, sorted, with their evidence."""
    found = []
    for fact, many in sorted(grouped((each.fact, each) for each in shown(meetings(memory))).items()):
        distances, amounts = [one.distance for one in many], [one.amount for one in many]
        ends = (min(distances), max(distances)), (min(amounts), max(amounts))
        found.append(Evidence(fact, len(many), len({one.episode for one in many}), *ends))
    return found


@checked
def add_memory(graph: "KnowledgeGraph", memory: Memory, run: str) -> dict[str, int]:
    """Replace the graphs probsol/RUN and probsol/RUN/evidence with the facts and evidence of a memory.

    :returns: name of each graph -> number of facts.
    """
    found, nodes = evidence(memory), []
    for one in found:
        (subject, relation, other), node = one.fact, f"evidence:{run}:{' '.join(one.fact)}"
        nodes += [(node, OF_RUN, run), (node, "hasSubject", subject), (node, "hasRelation", relation)]
        nodes += [(node, "hasObject", other)]
        nodes += [(node, "hasVisits", integer(one.visits)), (node, "hasEpisodes", integer(one.episodes))]
        for what, ends in (("Distance", one.distances), ("Amount", one.amounts)):
            for which, px in zip(("Least", "Greatest"), ends, strict=True):
                decimal = f'"{px:.2f}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
                nodes.append((node, f"has{which}{what}", decimal))
    about = {"source": f"the memory of {run}", "run": run, "memory": memory.fingerprint, "records": str(len(memory))}
    return state_facts(graph, f"probsol/{run}", [one.fact for one in found], sorted(nodes), about)
