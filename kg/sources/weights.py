"""Store weights of facts, for example the strength of an assertion in ConceptNet.

A fact of the graph NAME with a weight other than 1 is repeated in the graph NAME/weights, with a relation that means
"this relation with this weight" and is described there:

    dog  <urn:gumption:weighted:2.0:IsA>  animal
    <urn:gumption:weighted:2.0:IsA>  rdfs:subPropertyOf gum:IsA ;  gum:weight 2.0

so that a query reads `GRAPH ?w { ent:dog ?r ?o . ?r rdfs:subPropertyOf gum:IsA ; gum:weight ?weight }`. It is a
singleton property (Nguyen, Bodenreider and Sheth, "Don't like RDF reification?", WWW 2014) shared by all facts with the
same relation and weight. A weighted fact costs one more quad and no new name; rdf:Statement would cost four quads and a
node. ConceptNet needs some thousands of such relations.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np

from gumption.data import InputError
from gumption.data.settings import checked
from gumption.kg.vocabulary import PREFIXES, RELATION, WEIGHTS, Triple, label_to_iri

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

LARGEST = float(np.finfo(np.float32).max)
_WEIGHTED = "urn:gumption:weighted:"
_SUB_PROPERTY = PREFIXES["rdfs"] + "subPropertyOf"
_FLOAT = "http://www.w3.org/2001/XMLSchema#float"


def weighted_relation(relation: str, weight: float) -> str:
    """Return the IRI for `relation` with this weight as a float32; InputError for a weight that is not finite."""
    if not abs(weight) <= LARGEST:  # also true for NaN
        raise InputError(f"the weight of a fact is {weight!r}: it has to be a finite number")
    return f"{_WEIGHTED}{np.float32(weight)}:{quote(relation, safe='')}"


def describe_relation(weighted: str) -> list[Triple]:
    """Return the two facts that describe a `weighted_relation`."""
    relation, weight = _parse(weighted)
    number = np.format_float_positional(np.float32(weight), trim="-")  # as Oxigraph writes numbers
    return [
        (weighted, _SUB_PROPERTY, label_to_iri(relation, RELATION)),
        (weighted, "weight", f'"{number}"^^<{_FLOAT}>'),
    ]


@checked
def add_weighted(graph: "KnowledgeGraph", triples: Iterable[Triple], weights: Sequence[float], name: str) -> int:
    """Add weighted facts to a named graph; returns the number of new facts.

    :param weights: a weight for each fact. Earlier weights of a fact stay, and `fact_weights` returns the largest.
    :raises InputError: numbers of facts and weights that differ, a weight that is not finite.
    """
    rows = list(triples)
    if len(rows) != len(weights):
        raise InputError(f"there are {len(rows)} facts and {len(weights)} weights: give each fact one")
    name_of = cache(weighted_relation)
    stated = [
        (subject, name_of(relation, weight), object_)
        for (subject, relation, object_), weight in zip(rows, weights, strict=True)
        if weight != 1
    ]
    described = [fact for weighted in sorted({one[1] for one in stated}) for fact in describe_relation(weighted)]
    new = graph.add(rows, graph=name)
    if stated:
        graph.add(stated + described, graph=name + WEIGHTS)
    return new


@checked
def fact_weights(graph: "KnowledgeGraph", name: str) -> np.ndarray:
    """Return the largest stated weight of each row of `graph.arrays(name)`, (n,) float32; 1 by default.

    :raises InputError: a graph without facts.
    """
    vocabulary, ids = graph.arrays(name)
    weights = np.ones(len(ids), dtype=np.float32)
    if not graph.query("ASK { GRAPH ?g { ?s ?p ?o } }", g=name + WEIGHTS):
        return weights
    stated_vocabulary, stated = graph.arrays(name + WEIGHTS)

    # Ids of the graph of weights -> ids of the graph of facts. `missing` stands for labels that only the former has,
    # from removed facts and from the descriptions.
    entities = {label: index for index, label in enumerate(vocabulary.entities)}
    relations = {label: index for index, label in enumerate(vocabulary.relations)}
    missing = len(entities)
    entity_of = np.fromiter((entities.get(label, missing) for label in stated_vocabulary.entities), np.int64)
    parsed = [_parse(label) if label.startswith(_WEIGHTED) else ("", 1.0) for label in stated_vocabulary.relations]
    relation_of = np.fromiter((relations.get(relation, len(relations)) for relation, _ in parsed), np.int64)
    weight_of = np.array([weight for _, weight in parsed], dtype=np.float32)

    subjects, kinds, objects = entity_of[stated[:, 0]], relation_of[stated[:, 1]], entity_of[stated[:, 2]]
    known = (subjects < missing) & (objects < missing) & (kinds < len(relations))
    wanted = (subjects[known] * len(relations) + kinds[known]) * missing + objects[known]
    keys = (ids[:, 0] * len(relations) + ids[:, 1]) * missing + ids[:, 2]  # sorted, as the rows are
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[places] == wanted
    largest = np.full(len(ids), -np.inf, dtype=np.float32)
    np.maximum.at(largest, places[found], weight_of[stated[:, 1]][known][found])
    return np.where(np.isneginf(largest), weights, largest)


def _parse(weighted: str) -> tuple[str, np.float32]:
    weight, _, relation = weighted.removeprefix(_WEIGHTED).partition(":")
    return unquote(relation), np.float32(weight)
