"""The facts of an agent's experience in a KnowledgeGraph, with the evidence.

What `experience` reads from a memory goes into the graph `probsol/RUN`:

    fishing/0:a  attracts  fishing/0:b

The evidence stands in the graph `probsol/RUN/evidence`: a node for each fact, with the run in its name, so that graphs
of several runs can be asked together. Counts and amounts are literals:

    evidence:RUN:fishing/0:a attracts fishing/0:b       ofRun RUN, hasSubject, hasRelation, hasObject,
                                                        hasVisits 3, hasEpisodes 2,
                                                        hasLeastDistance 48, hasGreatestDistance 96 (px, at the start),
                                                        hasLeastAmount 12.5, hasGreatestAmount 61.0 (px that it moved,
                                                        or more than the other)
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gumption.data.settings import checked
from gumption.envs.memory import OF_RUN, integer, state_facts

from .experience import Shown, Triple, meetings, shown
from .memory import Memory

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

HAS_SUBJECT, HAS_RELATION, HAS_OBJECT = "hasSubject", "hasRelation", "hasObject"


class Evidence(NamedTuple):
    """How often a fact was seen, and when.

    :ivar visits: meetings that show it; `episodes` in which these were.
    :ivar distances, amounts: least and greatest of the meetings; see `Shown`.
    """

    fact: Triple
    visits: int
    episodes: int
    distances: tuple[float, float]
    amounts: tuple[float, float]


def evidence_of(seen: Sequence[Shown]) -> list[Evidence]:
    """What was shown, put together by fact, sorted."""
    by_fact: dict[Triple, list[Shown]] = defaultdict(list)
    for each in seen:
        by_fact[each.fact].append(each)
    found = []
    for fact, many in sorted(by_fact.items()):
        distances, amounts = [one.distance for one in many], [one.amount for one in many]
        episodes = len({one.episode for one in many})
        ends = (min(distances), max(distances)), (min(amounts), max(amounts))
        found.append(Evidence(fact, len(many), episodes, *ends))
    return found


@checked
def evidence(memory: Memory) -> list[Evidence]:
    """What the memory shows, sorted by fact."""
    return evidence_of(shown(meetings(memory)))


@checked
def memory_facts(memory: Memory) -> list[Triple]:
    """The facts that the memory shows, sorted."""
    return [one.fact for one in evidence(memory)]


@checked
def memory_evidence(memory: Memory, run: str) -> list[Triple]:
    """The nodes that the module describes, sorted."""
    return _nodes(evidence(memory), run)


def _nodes(found: Sequence[Evidence], run: str) -> list[Triple]:
    triples: list[Triple] = []
    for one in found:
        node = f"evidence:{run}:{' '.join(one.fact)}"
        triples += [(node, OF_RUN, run), (node, HAS_SUBJECT, one.fact[0]), (node, HAS_RELATION, one.fact[1])]
        triples += [(node, HAS_OBJECT, one.fact[2])]
        counts = {"hasVisits": one.visits, "hasEpisodes": one.episodes}
        triples += [(node, role, integer(n)) for role, n in counts.items()]
        ends = zip(("Distance", "Amount"), (one.distances, one.amounts), strict=True)
        triples += [
            (node, f"has{which}{what}", f'"{px:.2f}"^^<http://www.w3.org/2001/XMLSchema#decimal>')
            for what, pair in ends
            for which, px in zip(("Least", "Greatest"), pair, strict=True)
        ]
    return sorted(triples)


@checked
def add_memory(graph: "KnowledgeGraph", memory: Memory, run: str) -> dict[str, int]:
    """Put what a memory shows into a graph, in place of what was there: probsol/RUN and probsol/RUN/evidence.

    :returns: name of each graph -> number of facts.
    """
    found = evidence(memory)
    about = {"source": f"the memory of {run}", "run": run, "memory": memory.fingerprint, "records": str(len(memory))}
    return state_facts(graph, f"probsol/{run}", [one.fact for one in found], _nodes(found, run), about)
