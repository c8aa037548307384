"""What a graph of any relations says of a set of entities: features of each, and links between two.

A graph from outside, such as one of isA, partOf and usedFor, does not state a relation that a predictor learns. But two
entities with like neighbours in it are alike, and two that it links have to do with each other.
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

COLUMNS = 60  # of the features; chosen on validation recipes of the shipped book, as are the weights of `_columns`
RELATIONS = 16  # relations whose links are told apart; those of the others count as one
OTHERS = "*"  # their name


@checked
def entity_features(
    graph: KnowledgeGraph | FactTable, entities: Sequence[str], *, name: str | None = None, columns: Size = COLUMNS
) -> np.ndarray:
    """(N, columns + 1) float32: the neighbours of each entity, by a truncated singular value decomposition; and 1 where
    it shares none with another, whose other features are 0.

    The matrix is entity x (relation, direction, neighbour). A column counts the log of how rare it is (inverse document
    frequency), and those of one entity alone are left out; rows have length 1.

    :param name: one of the graph's graphs; None for all.
    """
    rows, kinds, count = _columns(graph, entities, name)
    size = len(entities)
    matrix = sparse.csr_array((np.log(size / count[kinds]), (rows, kinds)), (size, len(count)))
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    matrix = sparse.csr_array(sparse.diags_array(1 / np.where(length > 0, length, 1.0)) @ matrix)
    found = np.zeros((size, columns + 1), dtype=np.float32)
    found[:, -1] = length == 0
    kept = min(columns, size)
    # The left singular vectors are the eigenvectors of the product with the transpose; found densely, they are the same
    # at each call, as those of an iterative method are not.
    squares, left = eigh((matrix @ matrix.T).toarray(), subset_by_index=(size - kept, size - 1))
    left = left[:, ::-1] * np.sqrt(np.maximum(squares[::-1], 0.0))
    # A singular vector's sign is not defined: here its largest entry is positive.
    found[:, :kept] = left * np.sign(left[np.abs(left).argmax(0), np.arange(kept)])
    return found


@checked
def entity_links(
    graph: KnowledgeGraph | FactTable, entities: Sequence[str], *, name: str | None = None, most: Count = RELATIONS
) -> dict[str, sparse.csr_array]:
    """(N, N) float32 sparse matrices, for each relation and direction: 1 where the graph has the fact between two
    different entities. "isA" has the subject in the row, "^isA" in the column.

    :param name: one of the graph's graphs; None for all.
    :param most: the relations with the most links are told apart; those of the others are together under `OTHERS`.
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
    """The facts of a graph with others beside them, for mining rules; the vocabulary's entities are the first.

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
    """(n,) entity and (n,) column of each neighbour, distinct, and (M,) how many entities have a column."""
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
