"""The fewest combinations that make a goal: an integer program whose missing constraints are added as they are needed.

One 0/1 variable y for each thing, 1 where it is made, and for each recipe a share x of the making of its product. The
goal is made; what is made has one maker; a thing that a recipe takes is made or basic; of two things, not each is made
of the other. What such a choice may still have are longer circles of things that are made of each other and not of the
basic ones. They are cut off by landmarks: a set of things that holds the basic ones and not the goal must be left by
some recipe, so of the recipes that lead out of it one is used (implicit hitting sets: Bonet and Castillo 2011, "A
complete algorithm for generating landmarks"; Haslum, Slaney and Thiebaux 2012, "Minimal landmarks for optimal
delete-free planning").
"""

from typing import Any

import numpy as np
from scipy import optimize, sparse

ROUNDS = 30  # integer programs solved for one goal
LARGEST = 20_000  # recipes that one integer program may have
BRANCHES = 200  # nodes of one integer program: a count and not a time, so that every machine gives the same answer


class Problem:
    """A goal over recipes `ingredients` (R, k) -> `products` (R,), ids of things; `start` (things,) bool are basic.

    `depth` (things,) are least generations and `work` (things,) costs by which recipes are preferred, inf out of reach.
    """

    def __init__(
        self, ingredients: np.ndarray, products: np.ndarray, start: np.ndarray, target: int,
        depth: np.ndarray, work: np.ndarray,
    ) -> None:  # fmt: skip
        self.ingredients, self.products, self.start, self.target = ingredients, products, start, target
        self.work = work
        self._depth = 1 + depth[ingredients].max(axis=1)
        self._away = self._distances(np.isfinite(self._depth))

    def minimum(self, found: list[int]) -> tuple[list[int], int]:
        """The rows of a derivation with no more rows than `found`, and a number below which none is possible."""
        at_least = int(self._depth[self.products == self.target].min())
        while len(found) > at_least:
            rows, bound = self._shorter(len(found) - 1)
            at_least = max(at_least, min(bound, len(found)))
            if rows is None:
                break
            found = rows
        return sorted(found), at_least

    def _shorter(self, most: int) -> tuple[list[int] | None, int]:
        """The least derivation with at most this many rows, None where none was found; and a lower bound."""
        rows = self._candidates(most)
        if not (self.products[rows] == self.target).any():
            return None, most + 1
        if len(rows) > LARGEST:
            return None, 0
        made, matrix, low, high = self._constraints(rows, most)
        counted = np.repeat([1.0, 0.0], [len(made), len(rows)])
        # Any, because scipy's types take numbers only where it also takes arrays.
        low_bound: Any = np.concatenate([made == self.target, np.zeros(len(rows))])
        high_bound: Any = np.ones(len(counted))
        bounds = optimize.Bounds(low_bound, high_bound)
        bound = 0
        for _ in range(ROUNDS):
            answer = optimize.milp(
                counted,
                integrality=counted,
                bounds=bounds,
                constraints=(matrix, low, high),
                options={"node_limit": BRANCHES},
            )
            if answer.status == 2:  # infeasible
                return None, most + 1
            if answer.mip_dual_bound is not None and np.isfinite(answer.mip_dual_bound):
                bound = max(bound, int(np.ceil(answer.mip_dual_bound - 1e-6)))
            if answer.status != 0:
                return None, bound
            chosen = self.start.copy()
            chosen[made[answer.x[: len(made)] > 0.5]] = True
            within = np.flatnonzero(chosen[self.products[rows]] & chosen[self.ingredients[rows]].all(axis=1))
            cuts = self._landmarks(rows, within)
            if not cuts:
                return self._makers(rows[within]), bound
            more = np.zeros((len(cuts), len(counted)))
            for cut, members in enumerate(cuts):
                more[cut, len(made) + members] = 1
            matrix = sparse.vstack([matrix, sparse.csr_array(more)], format="csr")
            low = np.concatenate([low, np.ones(len(cuts))])
            high = np.concatenate([high, np.full(len(cuts), np.inf)])
        return None, bound

    def _distances(self, usable: np.ndarray) -> np.ndarray:
        """(things,) float64: the least number of recipes on a way from a thing to the goal."""
        away = np.full(len(self.start), np.inf)
        away[self.target] = 0
        inputs, outputs = self.ingredients[usable], self.products[usable]
        while True:
            after = away.copy()
            np.minimum.at(after, inputs, (away[outputs] + 1)[:, None])
            if np.array_equal(after, away):
                return away
            away = after

    def _candidates(self, most: int) -> np.ndarray:
        """The rows that a derivation of at most this many rows can have, by the ways up to them and on to the goal."""
        useful = ~self.start[self.products] & (self.ingredients != self.products[:, None]).all(axis=1)
        rows = np.flatnonzero(useful & (self._depth + self._away[self.products] <= most))
        while True:
            there = self.start.copy()
            there[self.products[rows]] = True
            possible = there[self.ingredients[rows]].all(axis=1)
            if possible.all():
                return rows
            rows = rows[possible]

    def _constraints(self, rows: np.ndarray, most: int) -> tuple[np.ndarray, sparse.csr_array, np.ndarray, np.ndarray]:
        """The things that the variables y stand for; then low <= matrix @ (y, x) <= high."""
        things = len(self.start)
        inputs, outputs = self.ingredients[rows], self.products[rows]
        made, maker = np.unique(outputs, return_inverse=True)
        columns = np.arange(len(rows))
        makers = _ones(maker, columns, (len(made), len(rows)))
        # One row for each (product, ingredient) instead of one for each recipe: of its recipes at most one is used, so
        # that all of them together need the ingredient once. So do those that make the ingredient of the product.
        taken = ~self.start[inputs]
        kinds, kind = np.unique((outputs[:, None] * things + inputs)[taken], return_inverse=True)
        uses = _ones(kind, np.broadcast_to(columns[:, None], inputs.shape)[taken], (len(kinds), len(rows)))
        swapped = kinds % things * things + kinds // things
        both = np.flatnonzero(np.isin(swapped, kinds))
        uses = uses + _ones(both, np.searchsorted(kinds, swapped[both]), (len(kinds), len(kinds))) @ uses
        needs = _ones(np.arange(len(kinds)), np.searchsorted(made, kinds % things), (len(kinds), len(made)))
        matrix = sparse.block_array(
            [[-sparse.eye_array(len(made)), makers], [needs, -uses], [np.ones((1, len(made))), None]]
        )
        low = np.zeros(len(made) + len(kinds) + 1)
        high = np.concatenate([np.zeros(len(made)), np.full(len(kinds), np.inf), [most]])
        return made, sparse.csr_array(matrix), low, high

    def _makers(self, rows: np.ndarray) -> list[int]:
        """One of these rows for each thing that they make, in an order of making; those that the goal needs."""
        known = self.start.copy()
        maker: dict[int, int] = {}
        while not known[self.target]:
            for row in rows[known[self.ingredients[rows]].all(axis=1) & ~known[self.products[rows]]].tolist():
                maker.setdefault(int(self.products[row]), row)
            known[list(maker)] = True
        return sorted(maker.values())

    def _landmarks(self, rows: np.ndarray, chosen: np.ndarray) -> list[np.ndarray]:
        """Sets of places in `rows`, of each of which every derivation uses one and `chosen` none; empty if it works.

        One set is found, its cheapest recipe is taken as chosen too, and so on until the goal is made: the later sets
        hold as well, and make the next program much better.
        """
        inputs, outputs = self.ingredients[rows], self.products[rows]
        # Things are tried farthest from the goal first, so that what stays outside is small and close to it.
        used = np.unique(np.concatenate([inputs.ravel(), outputs]))
        order = used[np.lexsort((used, -self._away[used]))].tolist()
        taken = [(frozenset(inputs[c].tolist()), int(outputs[c])) for c in chosen.tolist()]
        cuts: list[np.ndarray] = []
        while True:
            inside = _closure(set(np.flatnonzero(self.start).tolist()), taken)
            if self.target in inside:
                return cuts
            for thing in order:
                if thing not in inside:
                    larger = _closure(inside | {thing}, taken)
                    if self.target not in larger:
                        inside = larger
            within = np.zeros(len(self.start), dtype=bool)
            within[list(inside)] = True
            cut = np.flatnonzero(within[inputs].all(axis=1) & ~within[outputs])
            cuts.append(cut)
            costs = self.work[inputs[cut]].sum(axis=1)
            best = int(cut[np.lexsort((cut, costs))[0]])
            taken.append((frozenset(inputs[best].tolist()), int(outputs[best])))


def _closure(things: set[int], recipes: list[tuple[frozenset[int], int]]) -> set[int]:
    """The things, and all that these recipes make of them."""
    reached = set(things)
    left = recipes
    while True:
        later = [recipe for recipe in left if recipe[1] not in reached]
        new = {product for inputs, product in later if inputs <= reached}
        if not new:
            return reached
        reached |= new
        left = later


def _ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix with 1 at these places, however often they are named."""
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
