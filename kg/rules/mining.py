"""Horn rules that a graph mostly obeys, with their figures: AMIE's language and measures.

Galarraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence in ontological
knowledge bases", WWW 2013. Found are all closed rules with one or two atoms in the body:

    r(x, y) <= b(x, y)                  r(x, y) <= b(x, z) & c(z, y)            r(x, y) <= b(x, y) & c(x, y)

with each body atom in either direction. AMIE refines rules one by one; here a relation is a sparse 0/1 matrix, and one
product of two of them counts a chain for all heads at once, exactly.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gumption.data import InputError
from gumption.data.writing import write_json
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Vocabulary

from .horn import Atom, Rule, rule_to_json
from .joins import distinct

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


@dataclass(frozen=True)
class _Counts:
    """Of one body, for each head h: how often both hold; how often the body does; how often something is known of h."""

    support: np.ndarray
    body: int
    known: np.ndarray


def write_mined(path: str | PathLike[str], mined: Sequence[MinedRule]) -> None:
    """Write mined rules to a JSON file that `read_rules` understands; it appears when it is complete."""
    write_json(Path(path), {"rules": [each.to_json() for each in mined]})


def mine_rules(
    facts: KnowledgeGraph | tuple[Vocabulary, np.ndarray],
    graph: str | None = None,
    *,
    min_support: int = 10,
    min_head_coverage: float = 0.01,
    min_confidence: float = 0.1,
    min_pca_confidence: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[MinedRule]:
    """The rules that reach all four thresholds, by falling confidence, then support, then text.

    A body of two atoms between x and y is left out unless its confidence is above that of either atom alone (section
    4.1: a longer rule has to say more than a shorter one).

    :param facts: a graph, of which `graph` names the part (None: the union), or what its `arrays` gives.
    :param progress: called with how many bodies are done, and of how many.
    :raises InputError: no facts; a threshold out of its range; an unknown graph.
    """
    if min_support < 1:
        raise InputError(f"min_support is {min_support}: a rule is supported by one fact at least")
    for name, value in (
        ("min_head_coverage", min_head_coverage),
        ("min_confidence", min_confidence),
        ("min_pca_confidence", min_pca_confidence),
    ):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}: it is a share between 0 and 1")
    vocabulary, ids = facts.arrays(graph) if isinstance(facts, KnowledgeGraph) else facts
    if not len(ids):
        raise InputError("there are no facts to mine rules from")
    job = _Mining(len(vocabulary.entities), len(vocabulary.relations), ids, progress or (lambda _done, _of: None))
    mined = []
    for body, counts in job.bodies(min_support):
        shares = counts.support / job.head_sizes
        confidences = counts.support / max(counts.body, 1)
        pca = counts.support / np.maximum(counts.known, 1)
        good = (counts.support >= min_support) & (shares >= min_head_coverage)
        good &= (confidences >= min_confidence) & (pca >= min_pca_confidence)
        for head in np.flatnonzero(good).tolist():
            rule = _rule(vocabulary.relations, head, body)
            figures = float(shares[head]), float(confidences[head]), float(pca[head])
            mined.append(MinedRule(rule, int(counts.support[head]), counts.body, *figures))
    return sorted(mined, key=lambda each: (-each.confidence, -each.support, str(each.rule)))


# Of R relations, the oriented relation i < R is b(x, y), and R + i is b(y, x). A body is some of them with variables.
_Body = tuple[tuple[int, str, str], ...]


def _rule(relations: Sequence[str], head: int, body: _Body) -> Rule:
    atoms = tuple(
        Atom(relations[each], a, b) if each < len(relations) else Atom(relations[each - len(relations)], b, a)
        for each, a, b in body
    )
    return Rule(Atom(relations[head], "x", "y"), atoms)


class _Mining:
    """The matrices of a graph of N entities and R relations, and the counts of every body over them."""

    def __init__(self, entities: int, relations: int, ids: np.ndarray, progress: Callable[[int, int], None]) -> None:
        self.entities, self.relations = entities, relations
        self._progress = progress
        subjects, kinds, objects = ids.T
        ones = np.ones(len(ids), dtype=np.int64)
        self._matrices = []
        for relation in range(relations):
            rows = kinds == relation
            shape = (entities, entities)
            matrix = sparse.csr_array((ones[rows], (subjects[rows], objects[rows])), shape=shape)
            matrix.data[:] = 1
            self._matrices.append(matrix)
        self._matrices += [matrix.T.tocsr() for matrix in self._matrices]
        self.head_sizes = np.array([matrix.nnz for matrix in self._matrices[:relations]])
        # (N, 2R) bool: what occurs as a subject of an oriented relation.
        self._domains = np.stack([np.diff(matrix.indptr) > 0 for matrix in self._matrices], axis=1)
        subjects_of, objects_of = self._domains[:, :relations].sum(0), self._domains[:, relations:].sum(0)
        self._by_object = objects_of > subjects_of
        # Every stated pair, in both directions, with the oriented relations that have it: (pairs, 2R) 0/1.
        keys = [self._keys(matrix) for matrix in self._matrices]
        self._pairs = distinct(np.concatenate(keys))
        columns = np.repeat(np.arange(2 * relations), [len(each) for each in keys])
        places = np.searchsorted(self._pairs, np.concatenate(keys))
        self._has = sparse.csr_array(
            (np.ones(len(columns), dtype=np.int64), (places, columns)), shape=(len(self._pairs), 2 * relations)
        )

    def _keys(self, matrix: Any) -> np.ndarray:
        """The sorted keys row * entities + column of the entries of some rows."""
        rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
        return rows * self.entities + matrix.indices

    def bodies(self, min_support: int) -> Iterator[tuple[_Body, _Counts]]:
        """Each body with its counts. Chains that too few paths go through to reach the support are left out."""
        chains = self._chains(min_support)
        steps = len(chains) + self.relations
        for done, (first, second) in enumerate(chains):
            yield from self._chain(first, second)
            self._progress(done + 1, steps)
        yield from self._between(len(chains), steps)

    def _between(self, done: int, steps: int) -> Iterator[tuple[_Body, _Counts]]:
        """Bodies b(x, y) and b(x, y) & c(x, y), from how often two oriented relations have the same pair."""
        many, relations = 2 * self.relations, self.relations
        both = (self._has.T @ self._has).toarray()
        first, second = self._pairs // self.entities, self._pairs % self.entities
        known, supports = np.zeros((relations, many, many), dtype=np.int64), np.zeros((relations, many, many), np.int64)
        for head in range(relations):
            anchored = self._domains[second, relations + head] if self._by_object[head] else self._domains[first, head]
            of_head = self._has[np.flatnonzero(self._has[:, [head]].toarray()[:, 0])]
            of_known = self._has[np.flatnonzero(anchored)]
            supports[head], known[head] = (of_head.T @ of_head).toarray(), (of_known.T @ of_known).toarray()
            self._progress(done + head + 1, steps)
        single = supports.diagonal(axis1=1, axis2=2) / np.maximum(both.diagonal(), 1)  # (heads, bodies): confidences
        for i in range(many):
            for j in np.flatnonzero(both[i, i:]) + i:
                support = supports[:, i, j].copy()
                if i != j:
                    alone = np.maximum(single[:, i], single[:, j])
                    support[support <= alone * both[i, j] * (1 + 1e-12)] = 0
                support[[each for each in (i, int(j)) if each < relations]] = 0  # the head itself in the body
                body = ((i, "x", "y"),) if i == j else ((i, "x", "y"), (int(j), "x", "y"))
                yield body, _Counts(support, int(both[i, j]), known[:, i, j])

    def _chains(self, min_support: int) -> list[tuple[int, int]]:
        """Pairs of oriented relations with enough paths b(x, z), c(z, y); of a pair and its reverse, one."""
        degrees = np.stack([np.diff(matrix.indptr) for matrix in self._matrices], axis=1).astype(np.float64)
        paths = np.roll(degrees, self.relations, axis=1).T @ degrees
        found = zip(*np.nonzero(paths >= min_support), strict=True)
        pairs = [(int(i), int(j)) for i, j in found]
        return [(i, j) for i, j in pairs if (i, j) <= (self._reverse(j), self._reverse(i))]

    def _reverse(self, oriented: int) -> int:
        return (oriented + self.relations) % (2 * self.relations)

    def _chain(self, first: int, second: int) -> Iterator[tuple[_Body, _Counts]]:
        """The body b(x, z) & c(z, y), and its reverse c(y, z) & b(z, x), which joins the same pairs turned round."""
        many = 2 * self.relations
        support = np.zeros(many, dtype=np.int64)
        starts, ends = np.zeros(self.entities, dtype=np.int64), np.zeros(self.entities, dtype=np.int64)
        for rows, product in self._products(first, second):
            starts[rows] += np.diff(product.indptr)
            ends += np.bincount(product.indices, minlength=self.entities)
            keys = self._keys(product) + rows.start * self.entities
            places = np.minimum(np.searchsorted(self._pairs, keys), len(self._pairs) - 1)
            hits = places[self._pairs[places] == keys]
            support += self._has[hits].sum(axis=0)
        size = int(starts.sum())
        of_starts, of_ends = starts @ self._domains, ends @ self._domains
        heads = np.arange(self.relations)
        known = np.where(self._by_object, of_ends[heads + self.relations], of_starts[heads])
        yield ((first, "x", "z"), (second, "z", "y")), _Counts(support[heads], size, known)
        back = self._reverse(second), self._reverse(first)
        if back != (first, second):
            known = np.where(self._by_object, of_starts[heads + self.relations], of_ends[heads])
            body = ((back[0], "x", "z"), (back[1], "z", "y"))
            yield body, _Counts(support[heads + self.relations], size, known)

    def _products(self, first: int, second: int) -> Iterator[tuple[slice, Any]]:
        """The rows of the product of two matrices, in pieces of about PATHS paths."""
        left, right = self._matrices[first], self._matrices[second]
        paths = np.cumsum(left @ np.diff(right.indptr))
        cuts = np.searchsorted(paths, np.arange(PATHS, paths[-1] + PATHS, PATHS)) + 1
        start = 0
        for end in np.unique(np.minimum(cuts, self.entities)).tolist():
            yield slice(start, end), left[start:end] @ right
            start = end
