"""Facts with more than two parties: what an n-ary relation is made of in the graph, and its facts as rows of ids."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from gumption.data import InputError

from .links.fact_ids import distinct
from .vocabulary import Vocabulary


class NaryRelation(NamedTuple):
    """A relation of three parties, each fact of which is a node of the graph with these roles.

    "water, given fire, makes steam" is a node n with (n, hasIngredient, water), (n, hasIngredient, fire) and
    (n, hasProduct, steam). Where subject and given have the same role, either party may be the subject.

    :ivar name: what the relation is called where choices are scored.
    :ivar subject, given, object: the relations that lead from a node to its parties.
    :ivar entails: the facts of two parties that follow from a node, as ("subject", "componentOf", "object").
    """

    name: str
    subject: str
    given: str
    object: str
    entails: tuple[tuple[str, str, str], ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """The distinct roles."""
        return tuple(dict.fromkeys((self.subject, self.given, self.object)))


def relation_name(relation: "str | NaryRelation") -> str:
    """The name of a relation of two or three parties."""
    return relation if isinstance(relation, str) else relation.name


def relation_labels(relations: "Iterable[str | NaryRelation]") -> list[str]:
    """The labels in a graph of relations: names of those of two parties, roles of those of three, each once."""
    return list(dict.fromkeys(label for r in relations for label in ((r,) if isinstance(r, str) else r.roles)))


def nary_rows(vocabulary: Vocabulary, ids: np.ndarray, relation: NaryRelation) -> np.ndarray:
    """(n, 3) int64 rows (subject, given, object) of entity ids, one for each object of a node that has all roles,
    distinct and sorted. Where subject and given have one role, the lesser id comes first.

    :param ids: (m, 3) int64 facts of any relations; those of the roles are read.
    :raises InputError: a node with more parties in a role than the relation has places for.
    """
    if not set(relation.roles) <= set(vocabulary.relations):
        return np.zeros((0, 3), dtype=np.int64)
    facts = distinct(vocabulary, ids)  # sorted by node
    parts = {role: facts[facts[:, 1] == vocabulary.relations.index(role)][:, [0, 2]] for role in relation.roles}
    nodes = reduce(np.intersect1d, (part[:, 0] for part in parts.values()))
    same = relation.subject == relation.given
    pair = []
    for role in dict.fromkeys((relation.subject, relation.given)):
        node, party = parts[role].T
        begin, end = node.searchsorted(nodes), node.searchsorted(nodes, side="right")
        if (crowded := np.flatnonzero(end - begin > 1 + same)).size:
            at = crowded[0]
            raise InputError(
                f"the node {vocabulary.entities[nodes[at]]!r} has {(end - begin)[at]} {role}; a fact of "
                f"{relation.name!r} has {'two at most' if same else 'one'}"
            )
        pair += [party[begin], party[end - 1]] if same else [party[begin]]
    made = parts[relation.object][np.isin(parts[relation.object][:, 0], nodes)]
    of = nodes.searchsorted(made[:, 0])
    return np.unique(np.stack([pair[0][of], pair[1][of], made[:, 1]], axis=1), axis=0)
