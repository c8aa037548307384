"""Sets of facts as ids: of labels, or of arrays that carry their vocabulary and are checked by its hash."""

from collections.abc import Iterable
from typing import TypeAlias, TypeGuard, cast

import numpy as np

from gumption.data import InputError
from gumption.data.arrays import whole_numbers
from gumption.kg.vocabulary import Triple, Vocabulary, checked_triples

#: Triples of labels, or what `KnowledgeGraph.arrays` gives: a vocabulary and (n, 3) ids in it.
Facts: TypeAlias = Iterable[Triple] | tuple[Vocabulary, np.ndarray]


def to_ids(vocabulary: Vocabulary, facts: Facts, skip: bool = False) -> np.ndarray:
    """(n, 3) int64 ids of facts in this vocabulary.

    :param skip: leave out label triples that it does not know.
    :raises InputError: a label that it does not know, ids of another vocabulary.
    """
    if is_pair(facts):
        theirs = facts[0]
        if theirs is not vocabulary and theirs.hash != vocabulary.hash:
            raise InputError(
                f"the facts are ids of {theirs!r}, the predictor has {vocabulary!r}: give the facts as label "
                "triples, or fit the predictor on this graph"
            )
        ids = whole_numbers("ids of facts", facts[1], None, 3)
        sizes = [len(vocabulary.entities), len(vocabulary.relations), len(vocabulary.entities)]
        if ((ids < 0) | (ids >= sizes)).any():
            raise InputError(f"the facts hold ids outside their vocabulary, {vocabulary!r}")
        return ids
    triples = checked_triples(cast("Iterable[Triple]", facts))
    if skip:
        entities, relations = set(vocabulary.entities), set(vocabulary.relations)
        triples = [fact for fact in triples if fact[0] in entities and fact[1] in relations and fact[2] in entities]
    return vocabulary.triples_to_ids(triples)


def distinct(vocabulary: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """The distinct rows, sorted. One number a row is sorted much faster than three; 63 bits hold a billion entities."""
    size, relations = max(len(vocabulary.entities), 1), max(len(vocabulary.relations), 1)
    keys = np.unique((ids[:, 0] * relations + ids[:, 1]) * size + ids[:, 2])
    return np.stack([keys // (relations * size), keys // size % relations, keys % size], axis=1)


def is_pair(facts: object) -> TypeGuard[tuple[Vocabulary, np.ndarray]]:
    """Whether these are ids with their vocabulary."""
    return isinstance(facts, tuple) and len(facts) == 2 and isinstance(facts[0], Vocabulary)
