"""Horn rules that a graph mostly obeys, with their figures: AMIE's language and measures.

Galarraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence in ontological
knowledge bases", WWW 2013. Found are all closed rules with one or two atoms in the body:

    r(x, y) <= b(x, y)                  r(x, y) <= b(x, z) & c(z, y)            r(x, y) <= b(x, y) & c(x, y)

with each body atom in either direction. AMIE refines rules one by one. Here `supports` counts all bodies of a head at
once; then the pairs of each body with enough support are counted, for all its heads, as a product of sparse matrices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gumption.data import InputError
from gumption.data.settings import Count, Share, checked
from gumption.data.writing import write_json
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.links.fact_ids import to_ids
from gumption.kg.vocabulary import Vocabulary

from .horn import Atom, Rule, rule_to_json
from .joins import pieces
from .supports import Bodies, StatedPairs

PATHS = 1 << 24  # of one piece of a product: bounds its memory to some hundred megabytes


@dataclass(frozen=True)
class MinedRule:
    """A rule with its figures (section 3.3 and 4 of the paper). A pair (x, y) counts once, whatever z is.

    :ivar support: pairs for which the body and the head hold.
    :ivar body_size: pairs for which the body holds.
    :ivar head_coverage: support / facts of the head's relation.
    :ivar confidence: support / body_size: what is not stated counts as false.
    :ivar pca_confidence: support / pairs of the body of which the head's relation states anything (the partial
        completeness assumption): of x, or of y where the relation has more distinct y than x for its facts.
    """

    rule: Rule
    support: int
    body_size: int
    head_coverage: float
    confidence: float
    pca_confidence: float

    def __str__(self) -> str:
        return (
            f"{self.rule}  support {self.support}  head coverage {self.head_coverage:.2f}  "
            f"confidence {self.confidence:.2f}  PCA confidence {self.pca_confidence:.2f}"
        )

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        return {
            "support": self.support,
            "body_size": self.body_size,
            "head_coverage": self.head_coverage,
            "confidence": self.confidence,
            "pca_confidence": self.pca_confidence,
        }

    def to_json(self) -> dict[str, Any]:
        """An entry of a file of rules, with the figures beside it."""
        return {**rule_to_json(self.rule), "figures": self.figures()}


@checked
def write_mined(path: str | PathLike[str], mined: Sequence[MinedRule]) -> None:
    """Write mined rules to a JSON file that `read_rules` understands; it appears when it is complete."""
    write_json(Path(path), {"rules": [each.to_json() for each in mined]})


@checked
def mine_rules(
    facts: KnowledgeGraph | tuple[Vocabulary, np.ndarray],
    graph: str | None = None,
    *,
    min_support: Count = 10,
    min_head_coverage: Share = 0.01,
    min_confidence: Share = 0.1,
    min_pca_confidence: Share = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[MinedRule]:
    """The rules that reach all four thresholds, by falling confidence, then support, then text.

    A body of two atoms between x and y is left out unless its confidence is above that of either atom alone (section
    4.1: a longer rule has to say more than a shorter one).

    :param facts: a graph, of which `graph` names the part (None: the union), or what its `arrays` gives.
    :param progress: called with how many steps are done, and of how many.
    :raises InputError: no facts; a threshold out of its range; an unknown graph.
    """
    vocabulary, ids = facts.arrays(graph) if isinstance(facts, KnowledgeGraph) else (facts[0], to_ids(facts[0], facts))
    if not len(ids):
        raise InputError("there are no facts to mine rules from")
    thresholds = _Thresholds(min_support, min_head_coverage, min_confidence, min_pca_confidence)
    rules = _Mining(vocabulary, ids, thresholds).rules(progress or (lambda _done, _of: None))
    return sorted(rules, key=lambda each: (-each.confidence, -each.support, str(each.rule)))


@dataclass(frozen=True)
class _Thresholds:
    support: int
    head_coverage: float
    confidence: float
    pca_confidence: float


# A body with enough support for a head, in which x and y change places where `turned`. The code of the body is
# (first * 2 + chain) * 2R + second; the other names are those of Bodies.
_CANDIDATE = np.dtype([("code", "i8"), ("turned", "?"), ("head", "i8"), ("support", "i8"), ("alone", "f8")])


class _Mining:
    """The matrices of a graph of N entities and R relations, one for each direction, and the rules that it obeys."""

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, thresholds: _Thresholds) -> None:
        self.entities, self.labels = len(vocabulary.entities), vocabulary.relations
        self.relations, self.thresholds = len(self.labels), thresholds
        self.stated = StatedPairs(self.entities, self.relations, ids)
        self._matrices = [self._matrix(oriented) for oriented in range(2 * self.relations)]
        self._atoms: dict[tuple[int, str, str], Atom] = {}
        self._anchors = [self._anchor(head) for head in range(self.relations)]

    def _matrix(self, oriented: int) -> Any:
        """(N, N) bool: the pairs of an oriented relation."""
        rows, columns = self.stated.pairs(oriented)
        starts = np.searchsorted(rows, np.arange(self.entities + 1))
        shape = (self.entities, self.entities)
        return sparse.csr_array((np.ones(len(rows), dtype=bool), columns, starts), shape=shape)

    def _anchor(self, head: int) -> tuple[bool, np.ndarray]:
        """Whether y is the side of which a relation has to state something, and the entities of which it does."""
        subjects, objects = (
            np.flatnonzero(np.diff(self._matrices[each].indptr)) for each in (head, self._reverse(head))
        )
        return (True, objects) if len(objects) > len(subjects) else (False, subjects)

    def _reverse(self, oriented: Any) -> Any:
        return (oriented + self.relations) % (2 * self.relations)

    def rules(self, progress: Callable[[int, int], None]) -> Iterator[MinedRule]:
        """The rules that reach the thresholds, in no order that matters."""
        many, steps = 2 * self.relations, 3 * self.relations
        found = [np.empty(0, dtype=_CANDIDATE)]
        for head in range(self.relations):
            if self.stated.sizes[head] >= self.thresholds.support:
                found += [self._candidates(head, self.stated.chains(head))]
                found += [self._candidates(head, self.stated.between(head))]
            progress(head + 1, steps)
        candidates = np.concatenate(found)
        candidates = candidates[np.argsort(candidates["code"], kind="stable")]
        codes = candidates["code"]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        of_first = np.searchsorted(codes[starts], np.arange(many + 1) * 2 * many).tolist()
        bounds = [*starts.tolist(), len(codes)]
        for first in range(many):
            for body in range(of_first[first], of_first[first + 1]):
                yield from self._of_body(candidates[bounds[body] : bounds[body + 1]])
            progress(self.relations + first + 1, steps)

    def _candidates(self, head: int, bodies: Bodies) -> np.ndarray:
        """The bodies with enough support. A chain has the code of its reverse, c(y, z) & b(z, x), if that is less."""
        enough = bodies.support >= self.thresholds.support
        enough &= bodies.support / self.stated.sizes[head] >= self.thresholds.head_coverage
        many, first, second = 2 * self.relations, bodies.first[enough], bodies.second[enough]
        candidates = np.empty(len(first), dtype=_CANDIDATE)
        code = (first.astype(np.int64) * 2 + bodies.chain) * many + second
        reverse = (self._reverse(second).astype(np.int64) * 2 + 1) * many + self._reverse(first)
        candidates["turned"] = turned = bodies.chain & (reverse < code)
        candidates["code"] = np.where(turned, reverse, code)
        candidates["head"] = head
        candidates["support"], candidates["alone"] = bodies.support[enough], bodies.alone[enough]
        return candidates

    def _of_body(self, candidates: np.ndarray) -> Iterator[MinedRule]:
        """The rules among the candidates of one body."""
        rest, second = divmod(int(candidates["code"][0]), 2 * self.relations)
        first, chain = divmod(rest, 2)
        counts = self._counts(bool(chain), first, second, int(candidates["support"].max()))
        if counts is None:
            return
        starts, ends = counts
        size = int(starts.sum())
        for _, turned, head, support, alone in candidates.tolist():
            confidence = support / size
            # By 1e-12 rounding cannot keep a longer body with no more confidence than a shorter one.
            if confidence < self.thresholds.confidence or support <= alone * size * (1 + 1e-12):
                continue
            by_object, anchor = self._anchors[head]
            pca_confidence = support / int((ends if by_object != turned else starts)[anchor].sum())
            if pca_confidence >= self.thresholds.pca_confidence:
                rule = self._rule(head, bool(chain), *self._turned(first, second, turned))
                coverage = support / int(self.stated.sizes[head])
                yield MinedRule(rule, support, size, coverage, confidence, pca_confidence)

    def _turned(self, first: int, second: int, turned: bool) -> tuple[int, int]:
        return (self._reverse(second), self._reverse(first)) if turned else (first, second)

    def _rule(self, head: int, chain: bool, first: int, second: int) -> Rule:
        if chain:
            body = (self._atom(first, "x", "z"), self._atom(second, "z", "y"))
        else:
            body = tuple(self._atom(each, "x", "y") for each in dict.fromkeys((first, second)))
        return Rule(self._atom(head, "x", "y"), body)

    def _atom(self, oriented: int, a: str, b: str) -> Atom:
        """An oriented relation with its variables: one object for all rules, of which there may be very many."""
        if (oriented, a, b) not in self._atoms:
            turned, relation = divmod(oriented, self.relations)
            self._atoms[oriented, a, b] = Atom(self.labels[relation], *((b, a) if turned else (a, b)))
        return self._atoms[oriented, a, b]

    def _counts(self, chain: bool, first: int, second: int, support: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of a body with each entity as x, and as y. None if they are too many for rules of that support."""
        left, right = self._matrices[first], self._matrices[second]
        if not chain:
            both = left if first == second else left.multiply(right)
            return np.diff(both.indptr), np.bincount(both.indices, minlength=self.entities)
        leaving = np.diff(right.indptr)
        through = np.diff(self._matrices[self._reverse(first)].indptr).astype(np.int64) * leaving
        if support / through.max() < self.thresholds.confidence:  # the paths through one z join different pairs
            return None
        starts, ends = np.zeros(self.entities, dtype=np.int64), np.zeros(self.entities, dtype=np.int64)
        for rows in pieces(left @ leaving, PATHS):
            product = left[rows] @ right
            starts[rows] = np.diff(product.indptr)
            ends += np.bincount(product.indices, minlength=self.entities)
            if support / ends.sum() < self.thresholds.confidence:
                return None
        return starts, ends
