"""Compute features of entities, and links between entities, from a graph with any relations.

An external graph, for example of isA, partOf and usedFor, does not contain the relation that a predictor learns. But
entities with similar neighbours are similar, and linked entities are related.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from gumption.data import InputError
from gumption.data.settings import Count, Size, checked
from gumption.kg.facts import FactTable
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Vocabulary

COLUMNS = 60  # number of features; chosen on validation recipes of the shipped book, as are the weights of `_columns`
RELATIONS = 16  # number of relations with separate links; all other relations are merged
OTHERS = "*"  # name of the merged relations


@checked
def entity_features(
    graph: KnowledgeGraph | FactTable, entities: Sequence[str], *, name: str | None = None, columns: Size = COLUMNS
) -> np.ndarray:
    """Compute features from the neighbours of each entity by a truncated singular value decomposition, (N, columns + 1)
    float32. The last feature is 1, and the others 0, for entities that share no neighbour with another entity.

    The matrix is entity x (relation, direction, neighbour), weighted by inverse document frequency (the log of how rare
    a column is), without columns of a single entity; rows are scaled to length 1.

    :param name: a named graph of `graph`; None for all.
    """
    rows, kinds, count = _columns(graph, entities, name)
    size = len(entities)
    matrix = sparse.csr_array((np.log(size / count[kinds]), (rows, kinds)), (size, len(count)))
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    matrix = sparse.csr_array(sparse.diags_array(1 / np.where(length > 0, length, 1.0)) @ matrix)
    found = np.zeros((size, columns + 1), dtype=np.float32)
    found[:, -1] = length == 0
    kept = min(columns, size)
    # The left singular vectors are the eigenvectors of the product with the transpose. A dense solver returns the same
    # vectors at each call; an iterative solver does not.
    squares, left = eigh((matrix @ matrix.T).toarray(), subset_by_index=(size - kept, size - 1))
    left = left[:, ::-1] * np.sqrt(np.maximum(squares[::-1], 0.0))
    # The sign of a singular vector is arbitrary: make its largest entry positive.
    found[:, :kept] = left * np.sign(left[np.abs(left).argmax(0), np.arange(kept)])
    return found


@checked
def entity_links(
    graph: KnowledgeGraph | FactTable, entities: Sequence[str], *, name: str | None = None, most: Count = RELATIONS
) -> dict[str, sparse.csr_array]:
    """Return (N, N) float32 sparse matrices for each relation and direction: 1 if the graph has the fact between two
    different entities. "isA" has the subject in the row, "^isA" in the column.

    :param name: a named graph of `graph`; None for all.
    :param most: number of relations with their own matrices, by most links; all others are merged as `OTHERS`.
    """
    ids = {label: place for place, label in enumerate(entities)}
    found: dict[str, set[tuple[int, int]]] = {}
    for subject, relation, object_ in FactTable.of(graph, name).triples():
        if subject in ids and object_ in ids and subject != object_:
            found.setdefault(relation, set()).add((ids[subject], ids[object_]))
    order = sorted(found, key=lambda relation: (-len(found[relation]), relation))
    parts = {relation: found[relation] for relation in sorted(order[:most])}
    if order[most:]:
        parts[OTHERS] = set().union(*(found[relation] for relation in order[most:]))
    links: dict[str, sparse.csr_array] = {}
    for relation, pairs in parts.items():
        one, other = np.array(sorted(pairs), dtype=np.int64).T
        matrix = sparse.csr_array((np.ones(len(one), dtype=np.float32), (one, other)), (len(ids), len(ids)))
        links |= {relation: matrix, f"^{relation}": sparse.csr_array(matrix.T)}
    return links


def beside_rows(
    graph: KnowledgeGraph | FactTable, name: str | None, vocabulary: Vocabulary, facts: np.ndarray
) -> tuple[Vocabulary, np.ndarray]:
    """Join the facts of a graph with other facts, for mining rules. The vocabulary's entities keep their ids.

    :param facts: (n, 3) int64 ids of the vocabulary.
    """
    stated = sorted(FactTable.of(graph, name).triples())
    mine = dict.fromkeys(vocabulary.entities)
    others = sorted({label for fact in stated for label in fact[::2] if label not in mine})
    relations = sorted({relation for _, relation, _ in stated}.difference(vocabulary.relations))
    both = Vocabulary((*vocabulary.entities, *others), (*vocabulary.relations, *relations))
    ids = both.triples_to_ids(stated) if stated else np.zeros((0, 3), dtype=np.int64)
    return both, np.unique(np.concatenate([facts, ids]), axis=0)


def _columns(
    graph: KnowledgeGraph | FactTable, entities: Sequence[str], name: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return entity (n,) and column (n,) of each distinct neighbour, and the number of entities by column (M,)."""
    ids = {label: place for place, label in enumerate(entities)}
    if len(ids) < len(entities):
        raise InputError("the entities have a label twice: features are one row for each")
    neighbours: set[tuple[int, str, bool, str]] = set()
    for subject, relation, object_ in FactTable.of(graph, name).triples():
        if subject in ids:
            neighbours.add((ids[subject], relation, False, object_))
        if object_ in ids:
            neighbours.add((ids[object_], relation, True, subject))
    place: Mapping[tuple[str, bool, str], int] = {
        kind: number for number, kind in enumerate(sorted({each[1:] for each in neighbours}))
    }
    pairs = np.array(sorted((each[0], place[each[1:]]) for each in neighbours), dtype=np.int64).reshape(-1, 2)
    count = np.bincount(pairs[:, 1], minlength=len(place))
    kept = count[pairs[:, 1]] > 1
    return pairs[kept, 0], pairs[kept, 1], np.maximum(count, 1)
