"""A graph's facts as the objects of other libraries."""

from typing import TYPE_CHECKING

import numpy as np

from gumption.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx
    from pykeen.triples import TriplesFactory


def to_networkx(vocabulary: Vocabulary, ids: np.ndarray) -> "networkx.MultiDiGraph":
    """(n, 3) ids of facts as a directed multigraph of labels; an edge's key and `relation` are the relation."""
    import networkx

    result = networkx.MultiDiGraph()
    result.add_nodes_from(vocabulary.entities)
    for subject, relation, object_ in vocabulary.ids_to_triples(ids):
        result.add_edge(subject, object_, key=relation, relation=relation)
    return result


def to_triples_factory(vocabulary: Vocabulary, ids: np.ndarray) -> "TriplesFactory":
    """(n, 3) ids of facts as a PyKEEN TriplesFactory with the same ids."""
    import torch
    from pykeen.triples import TriplesFactory

    return TriplesFactory(
        mapped_triples=torch.from_numpy(ids),
        entity_to_id={label: index for index, label in enumerate(vocabulary.entities)},
        relation_to_id={label: index for index, label in enumerate(vocabulary.relations)},
    )
