"""What a world asks of knowledge: the facts that would support each candidate action, and the input of planning."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Fact = tuple[str, ...]


class ActionFacts(NamedTuple):
    """K facts for each of A candidates in B environments, as ids of the world's vocabulary (0 is no entity).

    The world only names the facts; knowledge scores whether they hold. A relation has two parties, subject and object,
    or also a third, `given`: in the recipe "water and fire make steam" the subject is water, the object steam, and
    `given` fire. If the third party is not chosen yet, `given` is 0 and `partners` lists the possible third parties:
    the best score counts.

    A choice may have several parts, each of which fills a role of the same fact: in the recipe above, water and then
    fire. `chosen` lists the entities that fill a role already. A score that supported one of them does not support
    choosing it again (see `gumption.kg.scores.RelationScores`).

    :ivar relations: K names.
    :ivar subject, object, given: (B, A, K) int64.
    :ivar partners: (B, P) int64, or None if no relation has three parties.
    :ivar chosen: (B, C) int64, 0 for none; None if each choice is a whole action.
    :ivar things: (B, A, T) int64, the entities of each choice; `about` (B, G) int64, the entities of the goal. The
        edges of any graph between these and `chosen` are read (see `gumption.kg.edges`). None if omitted.
    """

    relations: tuple[str, ...]
    subject: np.ndarray
    object: np.ndarray
    given: np.ndarray
    partners: np.ndarray | None = None
    chosen: np.ndarray | None = None
    things: np.ndarray | None = None
    about: np.ndarray | None = None

    @property
    def named(self) -> np.ndarray:
        """(B, A) int64: the entity that each choice names, the first subject of its facts; 0 if it has none."""
        if not self.subject.shape[2]:
            return np.zeros(self.subject.shape[:2], dtype=np.int64)
        first = (self.subject > 0).argmax(2)
        return np.take_along_axis(self.subject, first[:, :, None], 2)[:, :, 0]

    @property
    def again(self) -> np.ndarray:
        """(B, A) bool: the choices that name an entity which is chosen already."""
        if self.chosen is None or not self.chosen.any():
            return np.zeros(self.subject.shape[:2], dtype=bool)
        named = self.named
        return (named[:, :, None] == self.chosen[:, None, :]).any(2) & (named > 0)

    def of(self, columns: np.ndarray) -> "ActionFacts":
        """Return the facts of some of the environments."""
        parts: list[Any] = [None if part is None else part[columns] for part in self[1:]]
        return ActionFacts(self.relations, *parts)

    def labels(self, vocabulary: Sequence[str], b: int = 0) -> list[list[Fact]]:
        """Return the facts of each candidate of environment b as labels, without facts that lack a subject or object.

        A fact is (subject, relation, object), or (subject, relation, object, given) if it has a third party.
        """
        named: list[list[Fact]] = []
        rows = zip(self.subject[b].tolist(), self.object[b].tolist(), self.given[b].tolist(), strict=True)
        for subjects, objects, givens in rows:
            facts = []
            for relation, s, o, g in zip(self.relations, subjects, objects, givens, strict=True):
                if s and o:
                    third = (vocabulary[g],) if g else ()
                    facts.append((vocabulary[s], relation, vocabulary[o], *third))
            named.append(facts)
        return named

    def candidates(self, vocabulary: Sequence[str], b: int = 0) -> list[str]:
        """Return the names of the A candidates of environment b, see `named`; "" for a candidate without a name."""
        return [str(vocabulary[thing]) for thing in self.named[b].tolist()]


class PlanningProblem(NamedTuple):
    """The input of planning in B environments, as ids of the world's vocabulary (0 is no entity).

    The world has a relation of three parties that *produces*: it makes its object from its subject and `given`. A
    choice names one party after the other. If the product replaces its subject, the subject is at hand, and a choice
    names `given` alone.

    :ivar relation: name of the relation.
    :ivar at_hand: (B, N) int64, the entities that can be a party; N is 1 if the product replaces its subject.
    :ivar goal: (B,) int64, the entity to make.
    :ivar candidates: (B, A) int64, the party that each choice names.
    :ivar chosen: (B, C) int64, the parties that are named already.
    :ivar tried: (B, T, 3) int64 rows (party, party, product or 0) of this episode.
    :ivar horizon: (B,) int64, remaining uses of the relation, with the use that is begun.
    :ivar keeps: whether a product is added to the entities at hand, as in a recipe, or replaces its subject, as a place
        and an exit yield the next place.
    """

    relation: str
    at_hand: np.ndarray
    goal: np.ndarray
    candidates: np.ndarray
    chosen: np.ndarray
    tried: np.ndarray
    horizon: np.ndarray
    keeps: bool = True

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All fields except `relation` and `keeps`."""
        return self.at_hand, self.goal, self.candidates, self.chosen, self.tried, self.horizon

    def with_arrays(self, arrays: Iterable[np.ndarray]) -> "PlanningProblem":
        """Return the problem of other environments, with these arrays."""
        return PlanningProblem(self.relation, *arrays, keeps=self.keeps)
