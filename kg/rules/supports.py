"""For each head, the bodies that hold where the head is stated, and how often: the supports of AMIE's rules.

A body is counted only at the pairs that the head states. So a chain through a hub, which joins millions of pairs, costs
no more than the paths between those that are stated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .joins import distinct, pieces, ranges

STEPS = 1 << 20  # of one piece of a search: bounds its memory to some hundred megabytes


@dataclass(frozen=True)
class Bodies:
    """Bodies of one head, as (n,) arrays.

    :ivar first, second: the oriented relations of the atoms; both the same for a body of one atom between x and y.
    :ivar support: pairs for which the body and the head hold.
    :ivar alone: the higher confidence that either atom has by itself, where both are between x and y; else 0.
    """

    chain: bool
    first: np.ndarray
    second: np.ndarray
    support: np.ndarray
    alone: np.ndarray


class StatedPairs:
    """The facts of N entities and R relations as pairs (x, y), keys x * N + y, with the relations of each.

    A pair is kept in both directions: the oriented relation i < R is r_i(x, y), and R + i is r_i(y, x). P is the number
    of distinct pairs.

    :ivar sizes: (2R,) int64: the facts of each oriented relation.
    :ivar irreflexive: (2R,) bool: the oriented relations without a fact r(x, x). A pair x = y counts neither for nor
        against a rule with such a head: an entity and itself are not among the pairs that the relation is about.
    """

    def __init__(self, entities: int, relations: int, ids: np.ndarray) -> None:
        self.entities, self.relations = entities, relations
        subjects, kinds, objects = ids.T
        keys = np.concatenate([subjects * entities + objects, objects * entities + subjects])
        self._keys = distinct(keys)
        at = np.searchsorted(self._keys, keys), np.concatenate([kinds, kinds + relations])
        shape = (len(self._keys), 2 * relations)
        self._oriented = sparse.csr_array((np.ones(len(keys), dtype=np.int64), at), shape=shape)  # 0/1, by pair
        self._oriented.data[:] = 1
        self._by_relation = self._oriented.tocsc()
        self.sizes = np.diff(self._by_relation.indptr).astype(np.int64)
        self._equal = self._keys // entities == self._keys % entities  # (P,)
        self._reflexive = self._oriented[self._equal]
        self._loops = np.bincount(self._reflexive.indices, minlength=2 * relations)
        self.irreflexive = self._loops == 0
        self._starts = np.searchsorted(self._keys, np.arange(entities + 1) * entities)  # of the pairs of each x
        turned = (self._oriented.indices + relations) % (2 * relations)
        # What a step x -> z of a path and a step y -> z add to first * 2R + second, where the path goes x -> z -> y;
        # in the second half, where it goes the other way.
        ahead, back = self._oriented.indices * np.int64(2 * relations), turned.astype(np.int64)
        self._near, self._far = np.concatenate([ahead, back]), np.concatenate([back, ahead])

    def pairs(self, oriented: int) -> tuple[np.ndarray, np.ndarray]:
        """The x and the y of an oriented relation, sorted."""
        return np.divmod(self._keys[self._places(oriented)], self.entities)

    def _places(self, oriented: int) -> np.ndarray:
        return self._by_relation.indices[slice(*self._by_relation.indptr[oriented : oriented + 2])]

    def shared(self, oriented: int) -> np.ndarray:
        """(2R,) int64: how many pairs of a relation each oriented relation has, too."""
        return self._oriented[self._places(oriented)].sum(axis=0)

    def contradicted(self, disjoint: Any) -> Any:
        """(P, R) sparse int64: 1 where a pair has a relation that is disjoint with r.

        :param disjoint: (R, 2R) sparse int64, 0/1: the oriented relations that no pair of r has.
        """
        found = sparse.coo_array(self._oriented @ disjoint.T)
        pairs, relations = found.coords
        kept = ~(self._equal[pairs] & self.irreflexive[relations])
        ones = np.ones(int(kept.sum()), dtype=np.int64)
        return sparse.csr_array((ones, (pairs[kept], relations[kept])), shape=found.shape)

    def closed(self, first: int) -> Any:
        """(N, 2R) sparse: which x have, for some z, first(x, z) and each oriented relation (x, z).

        So column c tells where the chain of `first` and the reverse of c holds for x = y.
        """
        places = self._places(first)  # sorted by x, so that the relations of each x lie together
        of_pair = self._oriented[places]
        starts = of_pair.indptr[np.searchsorted(places, self._starts)]
        shape = (self.entities, 2 * self.relations)
        of_x = sparse.csr_array((of_pair.data, of_pair.indices, starts), shape=shape)
        of_x.sum_duplicates()
        return of_x.tocsc()

    def reflexive(self, first: int, second: int) -> np.ndarray:
        """The x for which both relations state (x, x), sorted."""
        if not self._loops[first] or not self._loops[second]:  # saves the look-up for nearly all relations
            return np.empty(0, dtype=np.int64)
        found = (self._reflexive[:, [first, second]].toarray() == 1).all(axis=1)
        return self._keys[self._equal][found] % self.entities

    def between(self, head: int) -> Bodies:
        """The bodies of one and two atoms between x and y, without the head itself."""
        both = sparse.coo_array(self.together(self._places(head)))
        first, second = both.coords
        # The confidence of an atom is taken over the pairs that count for this head.
        sizes = self.sizes - self._loops if self.irreflexive[head] else self.sizes
        alone = both.tocsr().diagonal() / np.maximum(sizes, 1)
        kept = (first <= second) & (first != head) & (second != head)
        first, second = first[kept], second[kept]
        best = np.where(first == second, 0.0, np.maximum(alone[first], alone[second]))
        return Bodies(False, first, second, both.data[kept], best)

    def together(self, places: np.ndarray) -> Any:
        """(2R, 2R) sparse int64: how many of these pairs have both relations."""
        of_pair = self._oriented[places]
        return of_pair.T @ of_pair

    def chains(self, head: int) -> Bodies:
        """The bodies b(x, z) & c(z, y)."""
        many = 2 * self.relations
        found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        for _, codes in self.chains_at(self._places(head)):
            bodies = np.sort(codes % many**2)
            first_of = np.flatnonzero(np.diff(bodies, prepend=-1))
            found.append((bodies[first_of], np.diff(first_of, append=len(bodies))))
        bodies, support = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        total = sparse.coo_array((support, np.divmod(bodies, many)), shape=(many, many))
        total.sum_duplicates()
        first, second = total.coords
        return Bodies(True, first, second, total.data, np.zeros(total.nnz))

    def chains_at(self, places: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Which chains hold at some pairs, in pieces: the places of n pairs, and codes i * (2R)^2 + first * 2R + second
        of a chain at the i-th of them, sorted and distinct.

        Each z is found among the neighbours of the end that has fewer of them.
        """
        many, starts, half = 2 * self.relations, self._starts, self._oriented.nnz
        neighbours, relations = np.diff(starts), np.diff(self._oriented.indptr)
        x, y = np.divmod(self._keys[places], self.entities)
        turned = neighbours[x] > neighbours[y]
        near, far = np.where(turned, y, x), np.where(turned, x, y)
        order = np.argsort(far, kind="stable")  # then what is looked for next to each other lies next to each other
        near, far, turned = near[order], far[order], turned[order]
        for part in pieces(neighbours[near], STEPS):
            rows, steps = ranges(starts[near[part]], neighbours[near[part]])
            asked = far[part][rows] * self.entities + self._keys[steps] % self.entities
            others = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
            met = np.flatnonzero(self._keys[others] == asked)
            rows, steps, others = rows[met], steps[met], others[met]
            # All pairs of a relation of the step from the near end and one of the step from the far end.
            other_way = turned[part][rows] * half
            paths = relations[steps] * relations[others]
            for each in pieces(np.bincount(rows, paths, part.stop - part.start), STEPS):
                of = slice(*np.searchsorted(rows, [each.start, each.stop]))
                path, entry = ranges(self._oriented.indptr[steps[of]] + other_way[of], relations[steps[of]])
                codes = self._near[entry] + rows[of][path] * many**2
                to = self._oriented.indptr[others[of]] + other_way[of]
                path, entry = ranges(to[path], relations[others[of]][path])
                codes = np.sort(codes[path] + self._far[entry])  # (x, y) and the body, once for each z
                yield places[order[part]], codes[np.diff(codes, prepend=-1) > 0]
