"""Which pairs of digits each diagnostic test asks for, worked out from an agent's knowledge bases (paper, 3.4 and D).

Everything is boolean algebra over tables (10, 10, 4): greater digit d1, lesser digit d2, type (direction). "In KB_S" is
meant as the knowledge bases mean it: visited as often as the threshold asks. A pair that was seen once or twice is not
in it (paper, footnote 6).

Decision: no AfT or AnT test asks for a pair that panels showed as often as the threshold asks, in whatever colours, at
valid or invalid moves, in s or s'. KB_S counts valid decisions alone, so such a pair may be in it with no type; but it
was seen, and these tests ask what was not.

Decision: what is asked once and never again is a pair together with its type, (d1, d2, type). Were it the two digits
alone, ST-2 and AfT-3 could ask nothing at all: ST-2 asks for (5, 3, up) because 5 and 3 were seen with another type,
and with that other type ST-1 asks for them. Decision: such a triple belongs to the first test whose definition it
meets, whether or not that test draws it, so that what a test asks depends neither on a seed nor on how many mazes are
made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gumption.data.settings import checked

from .maze import DIRECTIONS

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBases

TESTS = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")  # in the order in which they choose
GREATER = np.tri(10, k=-1, dtype=bool)  # (d1, d2) with d1 > d2
GREATER[:, 0] = False  # a zero is never shown
PAIRS = int(GREATER.sum())


class Pair(NamedTuple):
    """What a test maze asks about: a wall d1 away and a crossing d2 away, both in the direction `type`."""

    d1: int
    d2: int
    type: str


@dataclass(frozen=True)
class Diagnosis:
    """What each test asks.

    :ivar queries: (10, 10, 4) bool by test, in the order of TESTS; no two overlap.
    :ivar reasons: why there is nothing to ask, by test, for those where it is so.
    """

    queries: dict[str, np.ndarray]
    reasons: dict[str, str]

    def pairs(self, test: str) -> list[Pair]:
        """The pairs of a test, sorted by d1, d2 and type."""
        return [Pair(int(d1), int(d2), DIRECTIONS[t]) for d1, d2, t in np.argwhere(self.queries[test])]


@checked
def diagnose(knowledge: KnowledgeBases) -> Diagnosis:
    """Choose what each test asks for (paper, 3.4 and D; the table in section 2 of the specification)."""
    met = definitions(knowledge)
    belongs = np.zeros((10, 10, 4), dtype=bool)
    queries: dict[str, np.ndarray] = {}
    reasons: dict[str, str] = {}
    for test in TESTS:
        queries[test] = met[test] & ~belongs
        belongs |= queries[test]
        if not queries[test].any():
            owners = [earlier for earlier in queries if (queries[earlier] & met[test]).any()]
            reasons[test] = _why_none(test, knowledge, int(met[test].sum()), owners)
    return Diagnosis(queries, reasons)


def definitions(knowledge: KnowledgeBases) -> dict[str, np.ndarray]:
    """(10, 10, 4) bool by test: the triples that meet its definition, before each is given to the first such test."""
    s, c, a = knowledge.s, knowledge.c, np.einsum("itjt->ijt", knowledge.a)  # a: both digits understood in this type
    seen = s.any(2, keepdims=True)
    unseen = (GREATER & ~shown_pairs(knowledge))[:, :, None] & ~seen  # in KB_S with no type, and hardly ever shown
    return {
        "ST-1": s,
        "ST-2": seen & ~s,
        "AfT-1": unseen & c,
        "AfT-2": unseen & a,
        "AfT-3": unseen & ~c & c.any(2, keepdims=True),
        "AfT-4": unseen & ~a & _in_affordance(knowledge)[:, :, None],
        "AnT": np.repeat((_transitive(known_pairs(knowledge)) & ~shown_pairs(knowledge))[:, :, None], 4, axis=2),
    }


def shown_pairs(knowledge: KnowledgeBases) -> np.ndarray:
    """(10, 10) bool: pairs d1 > d2 that panels showed often enough, whatever was decided there and in any colours."""
    return knowledge.sightings.sum(2) >= knowledge.threshold


def known_pairs(knowledge: KnowledgeBases) -> np.ndarray:
    """(10, 10) bool: pairs d1 > d2 that the agent has evidence of, in any knowledge base and with any types.

    The paper's KB_ST holds what ST-2 asks, so no pair that is in KB_S with all four types. Decision: for AnT such a
    pair is known all the same. Otherwise AnT would ask for exactly those pairs that were seen most.
    """
    return knowledge.s.any(2) | knowledge.c.any(2) | _in_affordance(knowledge)


def _in_affordance(knowledge: KnowledgeBases) -> np.ndarray:
    """(10, 10) bool: pairs of KB_A, whatever the types in which the digits are understood."""
    return np.any(knowledge.a, axis=(1, 3))


def _transitive(known: np.ndarray) -> np.ndarray:
    """(10, 10): pairs d1 > d3 that are not known but follow from known d1 > d2 and d2 > d3.

    None where no known pair follows from two others: then nothing was there to learn transitivity from.
    """
    chains = known @ known  # a product of booleans: some digit lies between
    return chains & ~known & (known & chains).any()


def _why_none(test: str, knowledge: KnowledgeBases, met: int, owners: list[str]) -> str:
    """Why a test has nothing to ask, in words with counts.

    :param met: how many triples meet its definition, all of which belong to the tests `owners`.
    """
    seen = knowledge.s.any(2)
    n_seen, unseen = int(seen.sum()), GREATER & ~seen
    if test == "ST-1" or (test == "ST-2" and not n_seen):
        return f"of {PAIRS} pairs none is in KB_S"
    if test == "ST-2":
        return f"of {PAIRS} pairs {n_seen} are in KB_S, each of them with all four types"
    shown = shown_pairs(knowledge)
    if test == "AnT":
        return _why_no_analogy(known_pairs(knowledge), shown)
    if n_seen == PAIRS:
        return f"all {PAIRS} pairs are in KB_S"
    unseen &= ~shown
    n_shown = PAIRS - n_seen - int(unseen.sum())
    begin = f"of {PAIRS} pairs {n_seen} are in KB_S"
    if n_shown:
        begin += f" and {n_shown} more were shown as often"
    if n_seen + n_shown == PAIRS:
        return begin
    begin += f"; of the other {PAIRS - n_seen - n_shown}, "
    if met:
        return f"{begin}{met} (counted with types) would do, but they belong to {' and '.join(owners)}"
    causal = test in ("AfT-1", "AfT-3")
    name, pairs = ("KB_C", knowledge.c.any(2)) if causal else ("KB_A", _in_affordance(knowledge))
    inside = int((pairs & unseen).sum())
    if not inside:
        return f"{begin}none is in {name}"
    told = {
        "AfT-2": "none with both digits understood in one type",
        "AfT-3": "each with all four types",
        "AfT-4": "each with both digits understood in all four types",
    }[test]
    return f"{begin}{inside} are in {name}, {told}"


def _why_no_analogy(known: np.ndarray, shown: np.ndarray) -> str:
    n_known = int(known.sum())
    if n_known == PAIRS:
        return f"all {PAIRS} pairs are known from KB_S, KB_C or KB_A"
    begin = f"of {PAIRS} pairs {n_known} are known from KB_S, KB_C or KB_A; "
    chains = known @ known
    if not (chains & ~known).any():
        return f"{begin}none of the other {PAIRS - n_known} follows from two known ones"
    if follow := int(_transitive(known).sum()):
        return f"{begin}of the other {PAIRS - n_known}, {follow} that two known ones entail were shown as often"
    return f"{begin}there is no template, three known pairs d1>d2, d2>d3 and d1>d3"
