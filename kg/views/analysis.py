"""Analyse the structure of a graph: statistics of relations, components, degrees, shortest paths, neighbourhoods.

Every function takes the result of `KnowledgeGraph.arrays`, a vocabulary and (n, 3) int64 ids of distinct facts. The
results are sorted and do not depend on the order of the rows.
"""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Ge
from scipy import sparse
from scipy.sparse import csgraph

from gumption.data import InputError
from gumption.data.settings import Count, Whole, checked
from gumption.kg.vocabulary import Triple, Vocabulary

MANY = 1.5  # Bordes et al. 2013, section 4.3: at this average or above, a side of a relation is "many"
INVERSE = 0.5  # least share of a relation's facts that its inverse states


@dataclass(frozen=True)
class RelationStatistics:
    """Statistics of a relation.

    :ivar facts: number of facts; `loops` of them have the same entity on both sides.
    :ivar subjects: number of different subjects; `objects`: number of different objects.
    :ivar objects_per_subject: facts / subjects; `subjects_per_object`: facts / objects.
    :ivar cardinality: "1-1", "1-N", "N-1" or "N-N" (Bordes et al. 2013, "Translating embeddings for modeling
        multi-relational data", section 4.3): the left side is N if an object has on average 1.5 subjects or more, the
        right side if a subject has on average 1.5 objects or more.
    :ivar symmetric: the share of its facts (s, r, o), without loops, for which (o, r, s) is also a fact.
    :ivar inverse: the other relation q that states most of its facts in reverse, (o, q, s); `inverse_share`: the share.
        None and 0.0 below a half.
    """

    relation: str
    facts: int
    loops: int
    subjects: int
    objects: int
    objects_per_subject: float
    subjects_per_object: float
    cardinality: str
    symmetric: float
    inverse: str | None
    inverse_share: float


@dataclass(frozen=True)
class GraphStatistics:
    """Statistics of a whole graph.

    :ivar relations: sorted by number of facts, descending, then by label.
    :ivar component_sizes: (c,) int64, number of entities of each weakly connected component, largest first.
    :ivar in_degree: (N,) int64, number of facts with the entity as object; `out_degree`: as subject.
    """

    facts: int
    entities: int
    relations: tuple[RelationStatistics, ...]
    component_sizes: np.ndarray
    in_degree: np.ndarray
    out_degree: np.ndarray


@dataclass(frozen=True)
class Neighbourhood:
    """The part of a graph around an entity.

    :ivar entities: labels, the centre first, then by distance; `hops` (n,) int64, their distances.
    :ivar facts: all facts of the graph between these entities, sorted.
    :ivar left_out: the number of entities within `hops` that are left out.
    :ivar nodes: the entities that are nodes of n-ary facts; they come last.
    """

    entities: tuple[str, ...]
    hops: np.ndarray
    facts: tuple[Triple, ...]
    left_out: int
    nodes: frozenset[str] = frozenset()

    @property
    def centre(self) -> str:
        return self.entities[0]


def graph_statistics(vocabulary: Vocabulary, ids: np.ndarray) -> GraphStatistics:
    """Compute the statistics of a graph; without facts they are zeros and empty."""
    relations, sizes = relation_statistics(vocabulary, ids), np.bincount(components(vocabulary, ids))
    return GraphStatistics(len(ids), len(vocabulary.entities), relations, sizes, *degrees(vocabulary, ids))


def relation_statistics(vocabulary: Vocabulary, ids: np.ndarray) -> tuple[RelationStatistics, ...]:
    """Compute the statistics of each relation, sorted by number of facts, descending, then by label."""
    size = len(vocabulary.relations)
    subjects, relations, objects = ids.T
    facts = np.bincount(relations, minlength=size)
    num_subjects = _distinct(relations, subjects, size)
    num_objects = _distinct(relations, objects, size)
    backwards = _backwards(ids, len(vocabulary.entities), size)
    loops = np.bincount(relations[subjects == objects], minlength=size)
    rows = []
    for r in np.lexsort((np.arange(size), -facts)).tolist():
        if not facts[r]:
            continue
        proper = max(int(facts[r] - loops[r]), 1)
        row = slice(backwards.indptr[r], backwards.indptr[r + 1])
        counts = dict(zip(backwards.indices[row].tolist(), backwards.data[row].tolist(), strict=True))
        symmetric = counts.pop(r, 0) / proper
        best = max(counts, key=lambda other: (counts[other], -other), default=r)
        share = counts.get(best, 0) / proper
        per_subject, per_object = float(facts[r] / num_subjects[r]), float(facts[r] / num_objects[r])
        rows.append(
            RelationStatistics(
                relation=vocabulary.relations[r],
                facts=int(facts[r]),
                loops=int(loops[r]),
                subjects=int(num_subjects[r]),
                objects=int(num_objects[r]),
                objects_per_subject=per_subject,
                subjects_per_object=per_object,
                cardinality=f"{'N' if per_object >= MANY else '1'}-{'N' if per_subject >= MANY else '1'}",
                symmetric=symmetric,
                inverse=vocabulary.relations[best] if share >= INVERSE else None,
                inverse_share=share if share >= INVERSE else 0.0,
            )
        )
    return tuple(rows)


def components(vocabulary: Vocabulary, ids: np.ndarray) -> np.ndarray:
    """Return (N,) int64, each entity's weakly connected component, 0 the largest; ties are in the order of labels."""
    if not len(vocabulary.entities):
        return np.zeros(0, dtype=np.int64)
    _, found = csgraph.connected_components(_adjacency(vocabulary, ids), directed=True, connection="weak")
    sizes = np.bincount(found)
    _, first = np.unique(found, return_index=True)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return rank[found]


def degrees(vocabulary: Vocabulary, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two (N,) int64, the number of facts with each entity as object (in) and as subject (out)."""
    size = len(vocabulary.entities)
    return np.bincount(ids[:, 2], minlength=size), np.bincount(ids[:, 0], minlength=size)


@checked
def top_entities(vocabulary: Vocabulary, ids: np.ndarray, k: Whole = 10) -> list[tuple[str, int, int]]:
    """Return (label, in, out) of the k entities with most facts, by in + out and then by label."""
    into, out = degrees(vocabulary, ids)
    order = np.lexsort((np.arange(len(into)), -(into + out)))[:k]
    return [(vocabulary.entities[e], int(into[e]), int(out[e])) for e in order.tolist()]


def shortest_path(vocabulary: Vocabulary, ids: np.ndarray, start: str, end: str) -> tuple[tuple[Triple, ...], ...]:
    """Return a shortest path between two entities, along facts in either direction; empty if equal.

    Each step consists of the sorted facts that join its two entities. Of equally short paths, breadth-first search in
    the order of labels selects the first.

    :raises InputError: an unknown entity, no path.
    """
    first, last = vocabulary.entity_ids([start, end]).tolist()
    if first == last:
        return ()
    _, before = csgraph.breadth_first_order(_both_ways(vocabulary, ids), first, directed=True)
    if before[last] < 0:
        raise InputError(f"no facts lead from {start!r} to {end!r}: they are in different components of the graph")
    walked = [last]
    while walked[-1] != first:
        walked.append(int(before[walked[-1]]))
    walked.reverse()
    steps = []
    for one, other in pairwise(walked):
        joins = (ids[:, 0] == one) & (ids[:, 2] == other) | (ids[:, 0] == other) & (ids[:, 2] == one)
        steps.append(tuple(sorted(vocabulary.ids_to_triples(ids[joins]))))
    return tuple(steps)


@checked
def neighbourhood(
    vocabulary: Vocabulary, ids: np.ndarray, centre: str, hops: Count = 1, max_entities: Annotated[int, Ge(2)] = 60,
    nodes: Collection[str] = (),
) -> Neighbourhood:  # fmt: skip
    """Return the entities at most `hops` facts away from the centre, in either direction, and the facts between them.

    If there are more than `max_entities`, the nearest are kept; ties go to entities with most facts in the whole graph,
    then by label. Without nodes, every kept entity is connected to the centre through kept entities.

    :param nodes: labels of nodes of n-ary facts, whose parties are one hop apart. A node does not count as an entity;
        it is kept if all its parties are kept and one of them is near enough.
    :raises InputError: an unknown centre.
    """
    start = vocabulary.entity_id(centre)
    is_node = np.isin(np.array(vocabulary.entities), list(nodes))
    is_node[start] = False
    # Distances in half hops, the length of a role of an n-ary fact; infinite beyond `hops`.
    joined = _both_ways(vocabulary, ids).tocoo()
    joined.data = np.where(is_node[joined.row] | is_node[joined.col], 1.0, 2.0)
    away = csgraph.dijkstra(joined.tocsr(), directed=True, indices=start, limit=2.0 * hops)
    near = np.flatnonzero(np.isfinite(away) & ~is_node)
    into, out = degrees(vocabulary, ids)
    weight = into + out
    chosen = near[np.lexsort((near, -weight[near], away[near]))][:max_entities]
    kept = np.zeros(len(vocabulary.entities), dtype=bool)
    kept[chosen] = True
    # An n-ary fact is kept with all its parties or not at all.
    whole = is_node & (away < 2 * hops)
    for one, other in ((0, 2), (2, 0)):
        whole[ids[~kept[ids[:, other]] & ~is_node[ids[:, other]], one]] = False
    members = np.concatenate([chosen, np.flatnonzero(whole)])
    kept[members] = True
    facts = ids[kept[ids[:, 0]] & kept[ids[:, 2]]]
    return Neighbourhood(
        entities=tuple(vocabulary.entities[e] for e in members.tolist()),
        hops=np.ceil(away[members] / 2).astype(np.int64),
        facts=tuple(sorted(vocabulary.ids_to_triples(facts))),
        left_out=len(near) - len(chosen),
        nodes=frozenset(vocabulary.entities[e] for e in np.flatnonzero(whole).tolist()),
    )


def _adjacency(vocabulary: Vocabulary, ids: np.ndarray) -> sparse.csr_array:
    """Return (N, N), the number of facts from s to o at (s, o)."""
    size = len(vocabulary.entities)
    matrix = sparse.coo_array((np.ones(len(ids)), (ids[:, 0], ids[:, 2])), shape=(size, size)).tocsr()
    matrix.sort_indices()
    return matrix


def _both_ways(vocabulary: Vocabulary, ids: np.ndarray) -> sparse.csr_array:
    """Return (N, N), the number of facts between a and b, in either direction, at (a, b)."""
    matrix = _adjacency(vocabulary, ids)
    matrix = sparse.csr_array(matrix + matrix.T)
    matrix.sort_indices()
    return matrix


def _distinct(groups: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Return (size,) int64, the number of different values in each group."""
    if not len(groups):
        return np.zeros(size, dtype=np.int64)
    codes = np.unique(groups * (values.max() + 1) + values)
    return np.bincount(codes // (values.max() + 1), minlength=size)


def _backwards(ids: np.ndarray, entities: int, relations: int) -> sparse.csr_array:
    """Return (R, R) int64, at (r, q) the number of facts (s, r, o), s != o, for which (o, q, s) is also a fact."""
    subjects, labels, objects = ids[ids[:, 0] != ids[:, 2]].T
    forward, reverse = subjects * entities + objects, objects * entities + subjects
    pairs = np.unique(forward)
    place = np.searchsorted(pairs, reverse)
    known = place < len(pairs)
    known[known] = pairs[place[known]] == reverse[known]
    ones = np.ones(len(labels), dtype=np.int64)
    shape = (len(pairs), relations)
    states = sparse.csr_array((ones, (np.searchsorted(pairs, forward), labels)), shape=shape)
    mirrors = sparse.csr_array((ones[known], (place[known], labels[known])), shape=shape)
    return sparse.csr_array(mirrors.T @ states)
