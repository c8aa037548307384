"""How knowledge reaches a choice: for each candidate of each environment, the facts that would speak for it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gumption.data import InputError

Fact = tuple[str, ...]


class ActionFacts(NamedTuple):
    """K facts for each of A candidate choices in B environments, as ids of the world's vocabulary (0 is nothing).

    The world only names the facts; whether they hold, knowledge says. A relation has two parties, subject and object,
    or a third one, `given`: of the recipe "water and fire make steam" water is the subject, steam the object, and fire
    is given. Where the third party is not chosen yet, `given` is 0 and `partners` says who it can be: the best counts.

    A choice may have several parts, each of which fills a role of the same fact: of the recipe above, water and then
    fire. `chosen` names the things that fill a role already. A score that spoke for one of them does not speak for
    choosing it again (see `gumption.kg.scores.RelationScores`).

    :ivar relations: K names.
    :ivar subject, object, given: (B, A, K) int64.
    :ivar partners: (B, P) int64, or None where no relation has three parties.
    :ivar chosen: (B, C) int64, 0 for none; None where each choice is a whole action.
    :ivar things: (B, A, T) int64, the entities that each choice is about, and `about` (B, G) int64, those of the goal:
        between them and `chosen` the edges of any graph are read (see `gumption.kg.edges`). None in a world that does
        not state them.
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
        """(B, A) int64: the thing that each choice names, the first subject of its facts; 0 where it has none."""
        if not self.subject.shape[2]:
            return np.zeros(self.subject.shape[:2], dtype=np.int64)
        first = (self.subject > 0).argmax(2)
        return np.take_along_axis(self.subject, first[:, :, None], 2)[:, :, 0]

    @property
    def again(self) -> np.ndarray:
        """(B, A) bool: the choices that name a thing which is chosen already."""
        if self.chosen is None or not self.chosen.any():
            return np.zeros(self.subject.shape[:2], dtype=bool)
        named = self.named
        return (named[:, :, None] == self.chosen[:, None, :]).any(2) & (named > 0)

    def of(self, columns: np.ndarray) -> "ActionFacts":
        """The facts of some of the environments."""
        parts: list[Any] = [None if part is None else part[columns] for part in self[1:]]
        return ActionFacts(self.relations, *parts)

    def labels(self, vocabulary: Sequence[str], b: int = 0) -> list[list[Fact]]:
        """For each candidate of environment b its facts in words, those without subject or object left out.

        A fact is (subject, relation, object), or (subject, relation, object, given) where something is given.
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
        """Names of the A candidates of environment b, see `named`; "" where one names nothing."""
        return [str(vocabulary[thing]) for thing in self.named[b].tolist()]


class PlanningProblem(NamedTuple):
    """What looking ahead needs to know of B environments, as ids of the world's vocabulary (0 is nothing).

    The world has a relation of three parties that *produces*: of subject and given it makes its object. A choice names
    the parties, one after the other; where the product replaces its subject, that is at hand, and a choice names what
    is given.

    :ivar relation: its name.
    :ivar at_hand: (B, N) int64, what can be a party; N is 1 where the product replaces it.
    :ivar goal: (B,) int64, what is to be made.
    :ivar candidates: (B, A) int64, the party that each choice names.
    :ivar chosen: (B, C) int64, the parties that are named already.
    :ivar tried: (B, T, 3) int64 rows (party, party, product or nothing) of this episode.
    :ivar horizon: (B,) int64, uses of the relation that are left, with the one that is begun.
    :ivar keeps: whether a product joins what is at hand, as what is made of ingredients does, or replaces its subject:
        of a place and a way out of it comes the next place.
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
        """All but the relation and `keeps`."""
        return self.at_hand, self.goal, self.candidates, self.chosen, self.tried, self.horizon

    def with_arrays(self, arrays: Iterable[np.ndarray]) -> "PlanningProblem":
        """The problem of other environments."""
        return PlanningProblem(self.relation, *arrays, keeps=self.keeps)


def action_facts(
    relations: Sequence[str],
    shape: tuple[int, int],
    parties: Sequence[tuple[np.ndarray | int, np.ndarray | int, np.ndarray | int]],
    partners: np.ndarray | None = None,
    chosen: np.ndarray | None = None,
    things: np.ndarray | None = None,
    about: np.ndarray | None = None,
) -> ActionFacts:
    """`ActionFacts` from K triples (subject, object, given), each broadcast to `shape`, which is (B, A).

    :param chosen: without it nothing fills a role yet; `things` and `about` as of `ActionFacts`.
    """
    arrays = np.zeros((3, *shape, len(relations)), dtype=np.int64)
    subject, object_, given = arrays
    for k, (s, o, g) in enumerate(parties):
        subject[:, :, k] = s
        object_[:, :, k] = o
        if not isinstance(g, int) or g:
            given[:, :, k] = g
    if chosen is None:
        chosen = np.zeros((shape[0], 0), dtype=np.int64)
    return ActionFacts(tuple(relations), subject, object_, given, partners, chosen, things, about)


def check_size(advice: Any, world: Any) -> None:
    """:raises InputError: the world has got more labels since the advice was made."""
    known, vocabulary = (getattr(each, "vocabulary", ()) for each in (advice, world))
    if known and vocabulary and len(known) != len(vocabulary):
        raise InputError(
            f"the advice is for a vocabulary of {len(known)} labels, and the env's has {len(vocabulary)}: make the "
            "advice anew with env.vocabulary"
        )
