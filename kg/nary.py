"""Facts with more than two parties: what an n-ary relation is made of in the graph, and its facts as rows of ids."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gumption.data import InputError

from .vocabulary import Triple


class NaryRelation(NamedTuple):
    """A relation of three parties, each fact of which is a node of the graph with these roles.

    "water, given fire, makes steam" is a node n with (n, hasIngredient, water), (n, hasIngredient, fire) and
    (n, hasProduct, steam). Where subject and given have the same role, either party may be the subject.

    :ivar name: what the relation is called where choices are scored.
    :ivar subject, given, object: the relations that lead from a node to its parties.
    """

    name: str
    subject: str
    given: str
    object: str

    @property
    def roles(self) -> tuple[str, ...]:
        """The distinct roles."""
        return tuple(dict.fromkeys((self.subject, self.given, self.object)))


def relation_name(relation: "str | NaryRelation") -> str:
    """The name of a relation of two or three parties."""
    return relation if isinstance(relation, str) else relation.name


def nary_rows(triples: Iterable[Triple], relation: NaryRelation, entities: Sequence[str]) -> np.ndarray:
    """(n, 3) int64 rows (subject, given, object) of the nodes that have all roles, as places in `entities`, distinct
    and sorted; where subject and given have one role, the lesser id comes first. Nodes about others are left out.

    :param triples: facts of any relations; those of the roles are read.
    :raises InputError: a node with more parties in a role than the relation has places for.
    """
    ids = {label: i for i, label in enumerate(entities)}
    nodes: dict[str, dict[str, list[str]]] = {}
    roles = set(relation.roles)
    for node, role, party in triples:
        if role in roles:
            nodes.setdefault(node, {}).setdefault(role, []).append(party)
    rows = []
    for node, parties in nodes.items():
        if len(parties) < len(roles):
            continue
        subjects, givens = parties[relation.subject], parties[relation.given]
        same = relation.subject == relation.given
        if len(subjects) > (2 if same else 1) or len(givens) > (2 if same else 1):
            raise InputError(
                f"the node {node!r} has {len(subjects)} {relation.subject}; a fact of {relation.name!r} has "
                f"{'two at most' if same else 'one'}"
            )
        first, second = (subjects[0], subjects[-1]) if same else (subjects[0], givens[0])
        if first in ids and second in ids:
            a, b = ids[first], ids[second]
            pair = sorted((a, b)) if same else (a, b)
            rows += [(*pair, ids[made]) for made in parties[relation.object] if made in ids]
    return np.unique(np.array(rows, dtype=np.int64).reshape(-1, 3), axis=0)
