"""Recipes as a directed hypergraph: how deep each thing lies, and the least work that makes it.

A recipe graph has a node for each recipe, such as `(recipe:fire+water, hasIngredient, fire)`, `(.., hasProduct,
steam)`; what the roles are called, an NaryRelation says: its subject and given are ingredients, its object is a
product. One combination takes all ingredients of a node and makes one of its products; what has been made once is there
for good. A node that names one ingredient takes it twice (fire + fire), because facts have no repeats.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from gumption.data import InputError
from gumption.kg.nary import NaryRelation
from gumption.kg.vocabulary import Vocabulary

from .minimum_derivation import Problem

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class Step:
    """One combination; `generation` is 1 for what the basic entities alone make."""

    ingredients: tuple[str, ...]
    product: str
    generation: int


@dataclass(frozen=True)
class Derivation:
    """How to make a goal from basic entities.

    :ivar steps: combinations in an order that works, by generation and then by label; empty for a basic goal.
    :ivar at_least: no derivation has fewer steps than this, so the steps are the minimum where it is their number.
    """

    goal: str
    steps: tuple[Step, ...]
    at_least: int

    @property
    def minimal(self) -> bool:
        """Whether it is proven that there is no derivation with fewer steps."""
        return len(self.steps) == self.at_least


class Recipes:
    """The recipes of a graph as arrays.

    :ivar things: a vocabulary whose entities are the sorted labels of all ingredients and products.
    :ivar ingredients: (R, k) int64 ids of things, ascending; rows with fewer than k different ones repeat their first.
    :ivar products: (R,) int64. A recipe node with several products is several rows. Rows are distinct and sorted.
    :ivar incomplete: recipe nodes left out because they have no ingredient or no product.
    """

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, relation: NaryRelation) -> None:
        """The recipes among the facts `ids` (n, 3), by the roles of `relation`; other facts are passed over.

        Raises InputError where no node has both an ingredient and a product.
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
        self.ingredients, self.products = rows[:, :-1], rows[:, -1]

    @classmethod
    def of(cls, graph: "KnowledgeGraph", relation: NaryRelation, name: str | None = None) -> Self:
        """The recipes of a KnowledgeGraph, or of one of its named graphs."""
        return cls(*graph.arrays(name), relation)

    def __len__(self) -> int:
        return len(self.products)

    @cached_property
    def basic(self) -> tuple[str, ...]:
        """The things that no recipe makes, sorted."""
        left = np.setdiff1d(np.arange(len(self.things.entities)), self.products)
        return tuple(self.things.entities[e] for e in left.tolist())

    def depths(self, basic: Sequence[str] | None = None) -> np.ndarray:
        """(things,) float64: the least number of generations of combining that make each thing, inf for never.

        Basic entities (the given ones, else those no recipe makes) have 0, and
        depth(c) = 1 + min over the recipes of c of the max over its ingredients of their depth.
        Raises InputError for a basic entity that no recipe knows.
        """
        return self._relax(self._start(basic), np.max)

    def derive(self, goal: str, basic: Sequence[str] | None = None, *, prove: bool = True) -> Derivation:
        """A derivation of the goal in as few combinations as could be found, each thing made once.

        The exact minimum is NP-hard: a shortest path in a directed hypergraph that shares what it makes, or in
        planning an optimal plan without deletes (Bylander 1994). Two derivations are read off first: along the
        recipes of least depth, and along those of least work where nothing is shared. The search of
        minimum_derivation.py then proves the shorter one minimal, or finds the minimum, or gives up after a fixed
        amount of search; `at_least` tells which. Without `prove` the shorter one is the answer at once, and
        `at_least` is the depth of the goal.

        Raises InputError for an unknown goal, and for one that the basic entities do not lead to.
        """
        start = self._start(basic)
        target = self.things.entity_id(goal)
        depth = self._relax(start, np.max)
        if not np.isfinite(depth[target]):
            raise InputError(self._out_of_reach(target, depth, start))
        if start[target]:
            return Derivation(goal, (), 0)
        work = self._relax(start, np.sum)
        rows, at_least = self._read_off(target, start, depth, np.max), int(depth[target])
        if work[target] < 2**53:  # beyond that, floats do not grow along every recipe any more
            rows = min(rows, self._read_off(target, start, work, np.sum), key=len)
        if prove:
            rows, at_least = Problem(self.ingredients, self.products, start, target, depth, work).minimum(rows)
        return Derivation(goal, self._steps(rows, start), at_least)

    def _start(self, basic: Sequence[str] | None) -> np.ndarray:
        """(things,) bool: the basic entities."""
        known = np.zeros(len(self.things.entities), dtype=bool)
        known[self.things.entity_ids(self.basic if basic is None else basic)] = True
        return known

    @cached_property
    def _counted(self) -> np.ndarray:
        """(R, k) bool: False where an ingredient repeats the first one to fill its row."""
        counted = self.ingredients != self.ingredients[:, :1]
        counted[:, 0] = True
        return counted

    def _cost(self, values: np.ndarray, how: Callable[..., np.ndarray]) -> np.ndarray:
        """(R,) float64: 1 + the max or the sum of the values of a recipe's different ingredients."""
        return 1 + how(np.where(self._counted, values[self.ingredients], 0), axis=1)

    def _relax(self, start: np.ndarray, how: Callable[..., np.ndarray]) -> np.ndarray:
        """(things,) float64: 0 for basic ones, else the least cost of a recipe, inf where there is none."""
        values = np.where(start, 0.0, np.inf)
        while True:
            after = values.copy()
            np.minimum.at(after, self.products, self._cost(values, how))
            if np.array_equal(after, values):
                return values
            values = after

    def _read_off(
        self, target: int, start: np.ndarray, values: np.ndarray, how: Callable[..., np.ndarray]
    ) -> list[int]:
        """The rows that make the target when each thing is made by its recipe of least cost; costs grow along them."""
        order = np.lexsort((self._cost(values, how), self.products))
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
