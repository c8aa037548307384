"""What a memory shows of what things afford a ball, with the evidence.

An effect counts where one tile explains it: the ball lies on it before and after the step. For each effect the memory
is asked how often the ball met a tile in such a way that the effect could show, and how often it did show:

    affordsBurning     met: the ball lay on it before and after a step            shown: its mass fell
    affordsFallingIn   met: the ball lay on it as a whole before the step         shown: it fell in
    affordsSlowing     met: the ball rolled straight on over it, in a scene       shown: it lost more speed than on the
                       where all else are tiles, of a level where it also               bare floor of that level
                       rolled over the bare floor
    affordsReaching    met: the ball came as near to its middle as it ever was    shown: the task was done
                       to that of such a tile when the task was done

Facts are those that were shown often enough, in the vocabulary of facts.py, in the graph `segar/RUN`:

    MagmaTile  affordsBurning  ball

The evidence stands in the graph `segar/RUN/evidence`, also that of effects that were shown too rarely, or never. Each
is a node with the run in its name, so that graphs of several runs can be asked together. Counts are literals
(xsd:integer):

    evidence:RUN:MagmaTile affordsBurning      ofRun RUN, hasThing MagmaTile, hasEffect affordsBurning,
                                               hasMeetings 40, hasVisits 40 (in which it was shown),
                                               hasEpisodes 7, hasLevels 3 (in which it was shown)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gumption.data.settings import Count, Share, checked

from .affordances import BALL, BURNING, FALLING, REACHING, SLOWING
from .memory import CONSUMED, INSIDE, OVER, OWN_SCENE, SUCCESS, Memory

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

OF_RUN, HAS_THING, HAS_EFFECT = "ofRun", "hasThing", "hasEffect"
HAS_MEETINGS, HAS_VISITS, HAS_EPISODES, HAS_LEVELS = "hasMeetings", "hasVisits", "hasEpisodes", "hasLevels"
EVIDENCE = "/evidence"  # ends the name of the graph that says where facts are known from
THRESHOLD = 3  # times that an effect is shown before it is a fact
SHARE = 0.9  # of meetings that show it
#: Speeds are kept in single precision: a ball loses more than on the bare floor beyond this factor and this speed.
FACTOR, LEAST = 1.05, 1e-3
#: The way is straight if it turns by less than this angle, in radians.
STRAIGHT = 1e-4
Triple = tuple[str, str, str]


class Evidence(NamedTuple):
    """How often a type of tile was met where an effect could show, and what came of it.

    :ivar thing: the type; `effect` a relation of `affordances.EFFECTS`.
    :ivar met: steps; `shown` those that showed the effect; `episodes` and `levels` in which that was.
    """

    thing: str
    effect: str
    met: int
    shown: int
    episodes: int
    levels: int


@checked
def evidence(memory: Memory) -> list[Evidence]:
    """What the memory says to each effect of each type of tile that was met, sorted."""
    found, records = [], memory.records
    place = _places(records)
    for effect, met, shown in _meetings(records):
        for kind in np.unique(met[met > 0]).tolist():
            here = met == kind
            there = here & shown
            counts = int(here.sum()), int(there.sum()), len(np.unique(records["episode"][there]))
            found.append(Evidence(memory.types[kind], effect, *counts, len(np.unique(place[there]))))
    return sorted(found)


@checked
def memory_facts(memory: Memory, *, threshold: Count = THRESHOLD, share: Share = SHARE) -> list[Triple]:
    """What tiles afford a ball, as far as the memory shows it, sorted: (type, affords..., ball).

    :param threshold: steps that show an effect before it is a fact; :param share: of the meetings, at least.
    """
    return [(one.thing, one.effect, BALL) for one in evidence(memory) if _holds(one, threshold, share)]


@checked
def memory_evidence(memory: Memory, run: str) -> list[Triple]:
    """The nodes that the module describes, sorted."""
    triples: list[Triple] = []
    for one in evidence(memory):
        node = f"evidence:{run}:{one.thing} {one.effect}"
        triples += [(node, OF_RUN, run), (node, HAS_THING, one.thing), (node, HAS_EFFECT, one.effect)]
        counts = {HAS_MEETINGS: one.met, HAS_VISITS: one.shown, HAS_EPISODES: one.episodes, HAS_LEVELS: one.levels}
        triples += [(node, role, f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>') for role, n in counts.items()]
    return sorted(triples)


@checked
def add_memory(
    graph: KnowledgeGraph, memory: Memory, run: str, *, threshold: Count = THRESHOLD, share: Share = SHARE
) -> dict[str, int]:
    """Put what a memory shows into a graph, in place of what was there: segar/RUN and segar/RUN/evidence.

    :returns: name of each graph -> number of facts.
    """
    name = f"segar/{run}"
    facts = memory_facts(memory, threshold=threshold, share=share)
    stated = {name: facts, name + EVIDENCE: memory_evidence(memory, run)}
    old = {each: list(graph.triples(graph=each)) for each in stated}
    about = {"source": f"the memory of {run}", "run": run, "memory": memory.fingerprint, "records": str(len(memory))}
    with graph.transaction():
        for each, triples in stated.items():
            graph.remove(old[each], graph=each)
            graph.add(triples, graph=each)
            graph.annotate(each, {**about, "threshold": str(threshold), "share": str(share)})
    return {each: len(triples) for each, triples in stated.items()}


def _holds(one: Evidence, threshold: int, share: float) -> bool:
    return one.shown >= threshold and one.shown >= share * one.met


def _meetings(records: Any) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Effect, (n,) the type of tile that was met, 0 for none, and (n,) bool, whether the effect showed."""
    before, after = _below(records, "top"), _below(records, "top_after")
    yield BURNING, np.where(before == after, before, 0), records["mass_after"] < records["mass"]
    flags = records["flags"]
    fell = (flags & CONSUMED) != 0
    yield FALLING, np.where(fell, after, np.where(flags & INSIDE, before, 0)), fell
    yield SLOWING, *_slowed(records, before, after)
    done = (flags & SUCCESS) != 0
    middle = records["position"][np.arange(len(records)), records["top_after"]]
    apart = np.linalg.norm(records["position_after"] - middle, axis=1)
    reached = np.full(int(after.max(initial=0)) + 1, -1.0)
    np.maximum.at(reached, after[done], apart[done])
    yield REACHING, np.where(apart <= reached[after], after, 0), done


def _slowed(records: Any, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) the type of tile that was rolled over, 0 for none, and (n,) bool, whether it took more than the floor."""
    mass = records["mass"].astype(np.float64)
    push = records["force"] / np.where(mass > 0, mass, 1.0)[:, None]
    pushed, left = records["velocity"][:, 0] + push, records["velocity_after"].astype(np.float64)
    fast, slow = np.linalg.norm(pushed, axis=1), np.linalg.norm(left, axis=1)
    turned = np.abs(pushed[:, 0] * left[:, 1] - pushed[:, 1] * left[:, 0])
    straight = (turned <= STRAIGHT * fast * slow) & ((pushed * left).sum(axis=1) > 0)
    # There may be a greatest speed, which a push goes beyond; what was ever seen is within it.
    rolls = straight & (mass > 0) & (fast <= slow.max(initial=0.0)) & ((records["flags"] & OVER) == 0)
    rolls &= (before == after) & _tiles_only(records, before, after)
    floor = _floor(_places(records), fast - slow, rolls & (before == 0))
    return np.where(rolls & np.isfinite(floor), before, 0), fast - slow > FACTOR * floor + LEAST


def _floor(place: np.ndarray, loss: np.ndarray, bare: np.ndarray) -> np.ndarray:
    """(n,) the median loss of speed on the bare floor of each step's level; inf where that is not known."""
    groups = np.unique(place, return_inverse=True)[1]
    rows = np.flatnonzero(bare)
    rows = rows[np.lexsort((loss[rows], groups[rows]))]
    known, starts, counts = np.unique(groups[rows], return_index=True, return_counts=True)
    medians = np.full(int(groups.max(initial=0)) + 1, np.inf)
    medians[known] = loss[rows[starts + counts // 2]]
    return medians[groups]


def _tiles_only(records: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(n,) bool: the ball lay on things of the types of all others in the scene, so that these are tiles."""
    tiles = np.union1d(np.concatenate([before, after]), [0])
    return np.asarray(np.isin(records["type"][:, 1:], tiles).all(axis=1))


def _below(records: Any, name: str) -> np.ndarray:
    """(n,) the type of the topmost tile below the ball; 0 for the bare floor."""
    place = records[name]
    return np.where(place > 0, records["type"][np.arange(len(records)), place], 0)


def _places(records: Any) -> np.ndarray:
    """(n,) a number of its own for each level, and for each episode in a scene of reset options."""
    return np.where(records["level"] == OWN_SCENE, OWN_SCENE - records["episode"], records["level"])
