"""Recipes as a directed hypergraph: the depth of each thing, and the fewest combinations that make it.

A recipe graph has a node for each recipe, such as `(recipe:fire+water, hasIngredient, fire)`, `(.., hasProduct,
steam)`. An NaryRelation names the roles: its subject and given are ingredients, its object is a product. A combination
uses all ingredients of a node and makes one of its products; ingredients and products stay available. A node with a
single ingredient uses it twice (fire + fire), because facts do not repeat.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import optimize, sparse

from gumption.data import InputError
from gumption.kg.facts import NaryRelation
from gumption.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class Step:
    """A combination; `generation` is 1 for products of basic entities alone."""

    ingredients: tuple[str, ...]
    product: str
    generation: int


@dataclass(frozen=True)
class Derivation:
    """A derivation of a goal from basic entities.

    :ivar steps: sorted by generation and then by label; empty for a basic goal.
    :ivar at_least: a lower bound of the number of steps of any derivation.
    """

    goal: str
    steps: tuple[Step, ...]
    at_least: int

    @property
    def minimal(self) -> bool:
        """Whether it is proved that no derivation has fewer steps."""
        return len(self.steps) == self.at_least


class Hypergraph:
    """Recipes as arrays of ids.

    :ivar ingredients: (R, k) int64; rows with fewer than k different ingredients repeat the first.
    :ivar products: (R,) int64.
    """

    def __init__(self, ingredients: np.ndarray, products: np.ndarray) -> None:
        self.ingredients, self.products = ingredients, products

    @cached_property
    def _counted(self) -> np.ndarray:
        """(R, k) bool: False for ingredients that repeat the first to fill a row."""
        counted = self.ingredients != self.ingredients[:, :1]
        counted[:, 0] = True
        return counted

    def cost(self, values: np.ndarray, how: Callable[..., np.ndarray]) -> np.ndarray:
        """Return (R,) float64: 1 + the max or sum (`how`) of the values of a recipe's different ingredients."""
        return 1 + how(np.where(self._counted, values[self.ingredients], 0), axis=1)

    def relax(self, start: np.ndarray, how: Callable[..., np.ndarray]) -> np.ndarray:
        """Return (things,) float64: 0 for basic things, else the least cost of a recipe; inf for unreachable things."""
        values = np.where(start, 0.0, np.inf)
        while True:
            after = values.copy()
            np.minimum.at(after, self.products, self.cost(values, how))
            if np.array_equal(after, values):
                return values
            values = after

    def read_off(self, target: int, start: np.ndarray, values: np.ndarray, how: Callable[..., np.ndarray]) -> list[int]:
        """Return the rows that make the target if each thing is made by its first recipe of least cost."""
        order = np.lexsort((self.cost(values, how), self.products))
        made, first = np.unique(self.products[order], return_index=True)
        maker = dict(zip(made.tolist(), order[first].tolist(), strict=True))
        rows: dict[int, int] = {}
        wanted = [target]
        while wanted:
            thing = wanted.pop()
            if not start[thing] and thing not in rows:
                rows[thing] = maker[thing]
                wanted += self.ingredients[maker[thing]].tolist()
        return sorted(rows.values())


class Recipes(Hypergraph):
    """The recipes of a graph as arrays.

    :ivar things: a vocabulary whose entities are the sorted labels of all ingredients and products.
    :ivar ingredients: (R, k) int64 ids of things, ascending; rows with fewer than k different things repeat the first.
    :ivar products: (R,) int64. A recipe node with several products has several rows. Rows are distinct and sorted.
    :ivar incomplete: the number of recipe nodes without an ingredient or a product, which are left out.
    """

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, relation: NaryRelation) -> None:
        """Read the recipes among (n, 3) facts by the roles of `relation`; other facts are ignored.

        :raises InputError: no node has both an ingredient and a product.
        """
        names = {label: index for index, label in enumerate(vocabulary.relations)}
        needed, made = {relation.subject, relation.given}, {relation.object}
        inputs, outputs = (
            ids[np.isin(ids[:, 1], [names[label] for label in labels if label in names])][:, [0, 2]]
            for labels in (needed, made)
        )  # (m, 2) each: node, party
        complete = np.intersect1d(inputs[:, 0], outputs[:, 0])
        if not len(complete):
            raise InputError(
                f"the graph has no recipes: no node has both {' or '.join(sorted(needed))} and {relation.object}; "
                "`gumption kg build` writes recipe nodes to the graphs whose names end in /recipes"
            )
        self.incomplete = len(np.union1d(inputs[:, 0], outputs[:, 0])) - len(complete)
        inputs, outputs = (np.unique(rows[np.isin(rows[:, 0], complete)], axis=0) for rows in (inputs, outputs))
        used = np.unique(np.concatenate([inputs[:, 1], outputs[:, 1]]))
        self.things = Vocabulary([vocabulary.entities[e] for e in used.tolist()], ())
        node = np.searchsorted(complete, inputs[:, 0])
        counts = np.bincount(node)
        first = np.cumsum(counts) - counts
        taken = np.searchsorted(used, inputs[:, 1])
        table = np.repeat(taken[first][:, None], counts.max(), axis=1)
        table[node, np.arange(len(node)) - first[node]] = taken
        products = np.searchsorted(used, outputs[:, 1])
        rows = np.unique(np.column_stack([table[np.searchsorted(complete, outputs[:, 0])], products]), axis=0)
        super().__init__(rows[:, :-1], rows[:, -1])

    @classmethod
    def of(cls, graph: "KnowledgeGraph", relation: NaryRelation, name: str | None = None) -> Self:
        """Read the recipes of a graph, or of one of its named graphs."""
        return cls(*graph.arrays(name), relation)

    def __len__(self) -> int:
        return len(self.products)

    @cached_property
    def basic(self) -> tuple[str, ...]:
        """The things that no recipe makes, sorted."""
        left = np.setdiff1d(np.arange(len(self.things.entities)), self.products)
        return tuple(self.things.entities[e] for e in left.tolist())

    def depths(self, basic: Sequence[str] | None = None) -> np.ndarray:
        """Return (things,) float64, the least number of generations of combinations for each thing; inf if impossible.

        Basic entities (`basic`, by default the things that no recipe makes) have depth 0, and
        depth(c) = 1 + min over the recipes of c of the max over its ingredients of their depth.

        :raises InputError: a basic entity that is in no recipe.
        """
        return self.relax(self._start(basic), np.max)

    def derive(self, goal: str, basic: Sequence[str] | None = None, *, prove: bool = True) -> Derivation:
        """Derive the goal in few combinations, each thing made once.

        The exact minimum is NP-hard: it is a shortest path in a directed hypergraph with sharing, or an optimal plan
        without deletes (Bylander 1994). The first candidates are the derivations by recipes of least depth and of least
        work without sharing. The integer program below then proves the shorter candidate minimal, finds the minimum, or
        stops after a fixed amount of search; `at_least` is its bound.

        :param prove: False returns the shorter candidate at once, with the depth of the goal as `at_least`.
        :raises InputError: an unknown goal, or a goal that cannot be derived from the basic entities.
        """
        start = self._start(basic)
        target = self.things.entity_id(goal)
        depth = self.relax(start, np.max)
        if not np.isfinite(depth[target]):
            raise InputError(self._out_of_reach(target, depth, start))
        if start[target]:
            return Derivation(goal, (), 0)
        work = self.relax(start, np.sum)
        rows, at_least = self.read_off(target, start, depth, np.max), int(depth[target])
        if work[target] < 2**53:  # beyond it a float cannot count by 1
            rows = min(rows, self.read_off(target, start, work, np.sum), key=len)
        if prove:
            rows, at_least = Problem(self.ingredients, self.products, start, target, depth, work).minimum(rows)
        return Derivation(goal, self._steps(rows, start), at_least)

    def _start(self, basic: Sequence[str] | None) -> np.ndarray:
        """(things,) bool: the basic entities."""
        known = np.zeros(len(self.things.entities), dtype=bool)
        known[self.things.entity_ids(self.basic if basic is None else basic)] = True
        return known

    def _steps(self, rows: list[int], start: np.ndarray) -> tuple[Step, ...]:
        labels = self.things.entities
        generation = dict.fromkeys(np.flatnonzero(start).tolist(), 0)
        steps = []
        left = list(rows)
        number = 0
        while left:
            number += 1
            ready = [row for row in left if all(e in generation for e in self.ingredients[row].tolist())]
            for row in ready:
                inputs = self.ingredients[row]
                names = tuple(labels[e] for e in inputs[self._counted[row]].tolist())
                steps.append(Step(names * 2 if len(names) == 1 else names, labels[self.products[row]], number))
            generation |= {int(self.products[row]): number for row in ready}
            left = [row for row in left if row not in ready]
        return tuple(sorted(steps, key=lambda step: (step.generation, step.product)))

    def _out_of_reach(self, target: int, depth: np.ndarray, start: np.ndarray) -> str:
        labels = self.things.entities
        lacking = self.ingredients[self.products == target]
        missing = sorted({labels[e] for e in lacking[~np.isfinite(depth[lacking])].tolist()} - {labels[target]})
        given = _few([labels[e] for e in np.flatnonzero(start).tolist()])
        why = f"its recipes need {_few(missing)}, out of reach too" if missing else "no recipe makes it"
        return f"{labels[target]!r} cannot be made from the basic entities ({given}): {why}"


def _few(labels: Sequence[str], most: int = 6) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more


# ---- The fewest combinations that make a goal, by an integer program with constraints that are added as needed.
#
# It has a 0/1 variable y for each thing, 1 if it is made, and for each recipe a share x of making its product. The goal
# is made; each made thing has one maker; an ingredient of a used recipe is made or basic; no two things are made from
# each other. A solution may still contain longer cycles of things made from each other and not from basic things.
# Landmarks cut them off: a recipe must lead out of each set of things that holds the basic things and not the goal
# (implicit hitting sets: Bonet and Castillo 2011, "A complete algorithm for generating landmarks"; Haslum, Slaney and
# Thiebaux 2012, "Minimal landmarks for optimal delete-free planning").

ROUNDS = 30  # maximum number of integer programs for a goal
LARGEST = 20_000  # maximum number of recipes in an integer program
BRANCHES = 200  # maximum nodes of an integer program; with a time limit the answer would depend on the machine


class Problem:
    """A goal over recipes `ingredients` (R, k) -> `products` (R,) of ids of things; `start` (things,) bool is True for
    basic things. `depth` and `work` (things,) rank the recipes; they are inf for unreachable things."""

    def __init__(
        self, ingredients: np.ndarray, products: np.ndarray, start: np.ndarray, target: int,
        depth: np.ndarray, work: np.ndarray,
    ) -> None:  # fmt: skip
        self.ingredients, self.products, self.start, self.target = ingredients, products, start, target
        self.work = work
        self._depth = 1 + depth[ingredients].max(axis=1)
        self._away = self._distances(np.isfinite(self._depth))

    def minimum(self, found: list[int]) -> tuple[list[int], int]:
        """Return the rows of a derivation with at most as many rows as `found`, and a lower bound of their number."""
        at_least = int(self._depth[self.products == self.target].min())
        while len(found) > at_least:
            rows, bound = self._shorter(len(found) - 1)
            at_least = max(at_least, min(bound, len(found)))
            if rows is None:
                break
            found = rows
        return sorted(found), at_least

    def _shorter(self, most: int) -> tuple[list[int] | None, int]:
        """Return the shortest derivation with at most `most` rows, or None, and a lower bound."""
        rows = self._candidates(most)
        if not (self.products[rows] == self.target).any():
            return None, most + 1
        if len(rows) > LARGEST:
            return None, 0
        made, matrix, low, high = self._constraints(rows, most)
        counted = np.repeat([1.0, 0.0], [len(made), len(rows)])
        # Any, because scipy's type hints lack arrays here.
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
        """Return (things,) float64, the least number of recipes from a thing to the goal."""
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
        """Return the rows that a derivation with at most `most` rows can use, by depth and distance to the goal."""
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
        """Build the integer program low <= matrix @ (y, x) <= high. Return the things of y, matrix, low and high."""
        things = len(self.start)
        inputs, outputs = self.ingredients[rows], self.products[rows]
        made, maker = np.unique(outputs, return_inverse=True)
        columns = np.arange(len(rows))
        makers = _ones(maker, columns, (len(made), len(rows)))
        # A row for each (product, ingredient): at most one recipe of the product is used, so that together they need
        # the ingredient once. The same row covers the recipes that make the ingredient from the product.
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
        """Select one of these rows for each thing that they make, until the goal is made."""
        known = self.start.copy()
        maker: dict[int, int] = {}
        while not known[self.target]:
            for row in rows[known[self.ingredients[rows]].all(axis=1) & ~known[self.products[rows]]].tolist():
                maker.setdefault(int(self.products[row]), row)
            known[list(maker)] = True
        return sorted(maker.values())

    def _landmarks(self, rows: np.ndarray, chosen: np.ndarray) -> list[np.ndarray]:
        """Return sets of indices into `rows`, of which every derivation uses a row and `chosen` none; maybe empty.

        After each set its cheapest recipe is added to `chosen`, until the goal is made. Later sets are also valid, and
        strengthen the next program.
        """
        inputs, outputs = self.ingredients[rows], self.products[rows]
        # Try the things farthest from the goal first, so that the rest stays small and close to the goal.
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
    """Return the things and everything that these recipes make from them."""
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
    """Return a 0/1 matrix with ones at these places, which may repeat."""
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
