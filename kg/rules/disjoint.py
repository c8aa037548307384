"""Disjoint relations, found from the facts, and how often a body holds where they contradict a rule's head.

Two relations are disjoint if no pair (x, y) has both (OWL 2's DisjointObjectProperties; a relation that is disjoint
with its own inverse is an AsymmetricObjectProperty). Fleischhacker, Voelker and Stuckenschmidt, "Mining RDF data for
property axioms", OTM 2012, find such axioms in facts. The criterion here is ours:

    r and s are disjoint if no pair is stated in both, although at least EXPECTED pairs would be by chance.

Chance is what the facts give if r and s are independent among n pairs: |r| * |s| / n are expected in both. The n pairs
are those of different entities x and y for which x is a subject and y an object of both relations, and which two facts
of r or s, in any direction, connect. They have to be connected because facts come in patches (one table, one family):
two entities of different patches have neither relation, and if such pairs counted, n would be so large that hardly any
pair is expected in both. One fact would not do as a connection, since it is itself a fact of r or s.

One pair in both is enough for two relations not to be disjoint, so a single wrong fact can hide that they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .joins import pieces
from .supports import StatedPairs

# Pairs in both by chance. Of a Poisson distribution with this mean one draw in 22,000 is 0; where each pair counts in
# both directions (symmetric relations, a relation and its inverse) it is one in 150.
EXPECTED = 10
PATHS = 1 << 24  # of one piece of a product: bounds its memory to some hundred megabytes


def disjoint_relations(stated: StatedPairs, matrices: Sequence[Any]) -> Any:
    """(R, 2R) sparse int64, 0/1: which oriented relations no pair of a relation has.

    :param matrices: 2R sparse (N, N) bool arrays: the pairs of each oriented relation.
    """
    many, half = 2 * stated.relations, stated.relations
    reverse = (np.arange(many) + half) % many
    subjects = _subjects(matrices, stated.entities)
    objects = subjects[:, reverse]
    shared: dict[tuple[int, int], int] = {}  # facts of i whose x is a subject and whose y is an object of j
    for i in range(half):
        x, y = stated.pairs(i)
        both_ends = subjects[x].multiply(objects[y]).sum(axis=0)
        kept = np.flatnonzero((both_ends >= EXPECTED) & (stated.shared(i) == 0))
        shared.update({(i, j): int(both_ends[j]) for j in kept.tolist()})
    found: list[tuple[int, int]] = []
    for (i, j), first in shared.items():
        mirrored = (j, i) if j < half else (j - half, i + half)  # the same two relations, seen from the other one
        second = shared.get(mirrored, 0)
        # Without a pair in both, n is at least |r| + |s|: most relations need no product.
        if (i, j) <= mirrored and first * second >= EXPECTED * (first + second):
            starts, ends = (
                np.flatnonzero((np.diff(matrices[a].indptr) > 0) & (np.diff(matrices[b].indptr) > 0))
                for a, b in ((i, j), (reverse[i], reverse[j]))
            )
            near = matrices[i] + matrices[j] + matrices[reverse[i]] + matrices[reverse[j]]
            if _would_overlap(near, matrices[i], matrices[j], starts, ends, first * second):
                found += {(i, j), mirrored}
    rows, columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array((np.ones(len(found), dtype=np.int64), (rows, columns)), shape=(half, many))


def _subjects(matrices: Sequence[Any], entities: int) -> Any:
    """(N, 2R) sparse int64, 0/1: which entities are subjects of each oriented relation."""
    of_each = [np.flatnonzero(np.diff(each.indptr)) for each in matrices]
    columns = np.repeat(np.arange(len(matrices)), [len(each) for each in of_each])
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(of_each), columns)), shape=(entities, len(matrices)))


def _would_overlap(near: Any, first: Any, second: Any, starts: np.ndarray, ends: np.ndarray, most: int) -> bool:
    """Whether at least EXPECTED pairs of a start and an end would be in both relations by chance.

    :param near: (N, N) sparse bool: the pairs that one fact connects, in both directions.
    :param most: no less than the product of the facts of both relations.
    """
    left, right = near[starts], near[:, ends]
    relations = [each[starts][:, ends] for each in (first, second)]
    pairs, facts = 0, [0, 0]
    for rows in pieces(left @ np.diff(right.indptr), PATHS):
        joined = left[rows] @ right
        x = np.repeat(starts[rows], np.diff(joined.indptr))
        joined.data = x != ends[joined.indices]
        joined.eliminate_zeros()
        pairs += joined.nnz
        facts = [before + joined.multiply(each[rows]).nnz for before, each in zip(facts, relations, strict=True)]
        if most < EXPECTED * pairs:
            return False
    return pairs > 0 and facts[0] * facts[1] >= EXPECTED * pairs


class Contradictions:
    """The pairs that contradict each relation, and how often bodies hold at them.

    A pair contradicts r if it has a relation that is disjoint with r; x = y contradicts no irreflexive relation.
    """

    def __init__(self, stated: StatedPairs, disjoint: Any) -> None:
        """:param disjoint: (R, 2R) sparse int64, 0/1, of `disjoint_relations`."""
        self._stated, self._many = stated, 2 * stated.relations
        pairs = stated.contradicted(disjoint)
        self._of_relation = pairs.tocsc()
        self._chains = sparse.csr_array((stated.relations, self._many**2), dtype=np.int64)
        for places, codes in stated.chains_at(np.flatnonzero(np.diff(pairs.indptr))):
            rows, chains = np.divmod(codes, self._many**2)
            starts = np.searchsorted(rows, np.arange(len(places) + 1))
            shape = (len(places), self._many**2)
            holds = sparse.csr_array((np.ones(len(chains), dtype=np.int64), chains, starts), shape=shape)
            self._chains += pairs[places].T @ holds
        self._chains.sort_indices()

    def counts(self, head: int, chain: bool, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(n,) int64: the pairs of n bodies that contradict the head; `first` and `second` as in Bodies."""
        if chain:
            row = slice(*self._chains.indptr[head : head + 2])
            codes, counts = self._chains.indices[row], self._chains.data[row]
        else:
            places = self._of_relation.indices[slice(*self._of_relation.indptr[head : head + 2])]
            both = self._stated.together(places)
            both.sort_indices()
            codes = np.repeat(np.arange(self._many), np.diff(both.indptr)) * self._many + both.indices
            counts = both.data
        asked = first.astype(np.int64) * self._many + second
        found = np.searchsorted(codes, asked)
        return np.where(np.append(codes, -1)[found] == asked, np.append(counts, 0)[found], 0)
