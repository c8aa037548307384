"""Names: labels <-> IRIs (for stores and queries) and labels <-> integer ids (for arrays).

People read and write labels ("acid rain"). A store holds IRIs: `urn:gumption:entity:acid%20rain` for a subject or an
object, `urn:gumption:relation:...` for a relation, `urn:gumption:graph:...` for the name of a graph. In each position
labels and IRIs are one to one, for any text:

- an ordinary label is percent-encoded, so that the result is also legal after a prefix in SPARQL (`ent:acid%20rain`);
- a label that is itself an http, https or urn IRI stands for that IRI, so facts of other data sets keep their names;
  an IRI of another scheme is written in angle brackets (`<mailto:a@b.org>`);
- `_:b1` is a blank node as a subject, an object or the name of a graph;
- an object in the N-Triples form of a literal (`"5"^^<http://www.w3.org/2001/XMLSchema#integer>`) is a literal, and
  `<<( <urn:s> <urn:p> "o" )>>` is a triple term. All spellings of a literal are one label: Oxigraph keeps numbers and
  dates by value ("05" becomes "5"), and a language in lower case.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import numpy as np
import pyoxigraph as ox
from rapidfuzz import fuzz, process

from gumption.data import InputError
from gumption.data.settings import checked_methods, shown, whole_numbers

Triple = tuple[str, str, str]
Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple

ENTITY = "urn:gumption:entity:"
RELATION = "urn:gumption:relation:"
GRAPH = "urn:gumption:graph:"
ABOUT = "urn:gumption:about"  # the graph with statements about the named graphs
# Prefix of the Skolem IRI of a blank node at an endpoint (RDF 1.1 Concepts, section 3.5), by which requests name it.
BLANK = "urn:gumption:blank:"
WEIGHTS = "/weights"  # suffix of the name of a graph with the weights of another graph
PROVENANCE = "/provenance"  # suffix of the name of a graph with the derivations of entailed facts
DEFAULT_GRAPH = "default"  # the graph for facts without a named graph
SKOS = "http://www.w3.org/2004/02/skos/core#"
# How `kg link` matched an entity -> mapping relation of SKOS (W3C, 2009): the same concept; interchangeable in some
# uses; a broader target (a trainyard is a yard); related.
LINKS = {
    "exact": SKOS + "exactMatch",
    "lemma": SKOS + "closeMatch",
    "compound": SKOS + "broadMatch",
    "nearest": SKOS + "relatedMatch",
}
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREFIXES = {
    "gum": RELATION,
    "ent": ENTITY,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "prov": "http://www.w3.org/ns/prov#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": SKOS,
    "schema": "https://schema.org/",
}

_BY_VALUE = "http://www.w3.org/2001/XMLSchema#"
_STRING = _BY_VALUE + "string"
_DEEPEST = 100  # maximum number of nested triple terms in a label
# Most labels are plain words, of which only the space must be encoded.
_PLAIN = re.compile(r" *[A-Za-z0-9_][A-Za-z0-9_ -]*")
_PLAIN_LOCAL = re.compile(r"(?:%20)*[A-Za-z0-9_](?:[A-Za-z0-9_-]|%20)*")
_SURROGATES = re.compile("[\ud800-\udfff]")
_KNOWN_SCHEME = ("http://", "https://", "urn:")
_BRACKETED = re.compile(r"<(?!https?://|urn:)([A-Za-z][A-Za-z0-9+.-]*:.*)>")


def label_to_iri(label: str, namespace: str = ENTITY) -> str:
    """Return the IRI of a label in the position `namespace`: ENTITY, RELATION or GRAPH.

    :raises InputError: an empty label, text that is not Unicode (a lone surrogate).
    """
    if _PLAIN.fullmatch(label):
        return namespace + label.replace(" ", "%20")
    if not label:
        raise InputError("an empty label names nothing: give every subject, relation, object and graph a name")
    if (bracketed := _BRACKETED.fullmatch(label)) and is_iri(bracketed[1]):
        return bracketed[1]
    if label.startswith(_KNOWN_SCHEME) and is_iri(label) and not _is_canonical(label, namespace):
        return label
    return namespace + _encode(label)


def iri_to_label(iri: str, namespace: str = ENTITY) -> str:
    """Return the label of an IRI in a position, the inverse of `label_to_iri`; a foreign IRI is its own label."""
    if iri.startswith(namespace) and _PLAIN_LOCAL.fullmatch(iri, len(namespace)):
        return iri[len(namespace) :].replace("%20", " ")
    if _is_canonical(iri, namespace):
        return unquote(iri[len(namespace) :])
    if iri.startswith(BLANK):
        return f"_:{iri.removeprefix(BLANK)}"
    return iri if iri.startswith(_KNOWN_SCHEME) else f"<{iri}>"


def _is_canonical(iri: str, namespace: str) -> bool:
    """Return whether `label_to_iri` turns the decoded name into this IRI (true for `ent:fire`, not `ent:%66ire`)."""
    if not iri.startswith(namespace) or len(iri) == len(namespace):
        return False
    return label_to_iri(unquote(iri[len(namespace) :]), namespace) == iri


def is_iri(text: str) -> bool:
    """Return whether the text is an absolute IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def is_text(value: object) -> bool:
    """Return whether the value is text that UTF-8 can encode, without lone surrogates."""
    return isinstance(value, str) and not _SURROGATES.search(value)


def _encode(label: str) -> str:
    try:
        local = quote(label, safe="")
    except UnicodeEncodeError as error:
        raise InputError(f"the label {label!r} is not valid Unicode text: {error.reason}") from None
    # quote() keeps ".", "~" and a leading "-", which SPARQL does not allow everywhere in a prefixed name.
    local = local.replace(".", "%2E").replace("~", "%7E")
    return "%2D" + local[1:] if local.startswith("-") else local


def label_to_term(label: str, namespace: str = ENTITY) -> ox.NamedNode | ox.BlankNode:
    """Return the term of a label in a position: a blank node for `_:b1`, else an IRI.

    :raises InputError: as `label_to_iri`. A relation is never a blank node.
    """
    if label.startswith("_:") and namespace != RELATION:
        try:
            return ox.BlankNode(label[2:])
        except ValueError:  # "_:a b" is an ordinary label
            pass
    iri = label_to_iri(label, namespace)
    return ox.BlankNode(iri.removeprefix(BLANK)) if iri.startswith(BLANK) else ox.NamedNode(iri)


def object_to_term(label: str) -> Term:
    """Return the term of an object's label: a literal or triple term in N-Triples, else as `label_to_term`."""
    if label.startswith(('"', "<<(")) and label.count("<<(") <= _DEEPEST:
        try:
            parsed = [quad.object for quad in ox.parse(f"<urn:s> <urn:p> {label} .", ox.RdfFormat.N_TRIPLES)]
        except SyntaxError:
            parsed = []
        if len(parsed) == 1 and isinstance(parsed[0], ox.Literal | ox.Triple):
            return as_stored(parsed[0])
    return label_to_term(label)


def as_stored(term: Term) -> Term:
    """Return the term as a store returns it: Oxigraph keeps literals of the XML Schema data types by value."""
    if isinstance(term, ox.Triple):
        return ox.Triple(term.subject, term.predicate, as_stored(term.object))
    if not isinstance(term, ox.Literal) or term.datatype.value == _STRING:
        return term
    if not term.datatype.value.startswith(_BY_VALUE):
        return term
    subject = ox.NamedNode("urn:s")
    store = ox.Store()
    store.add(ox.Quad(subject, subject, term))
    [quad] = store
    return quad.object


def blank_nodes_named(term: Any) -> Any:
    """Replace the Skolem IRIs, which an endpoint uses, with blank nodes."""
    if isinstance(term, ox.NamedNode) and term.value.startswith(BLANK):
        return ox.BlankNode(term.value.removeprefix(BLANK))
    if isinstance(term, ox.Triple):
        return ox.Triple(blank_nodes_named(term.subject), term.predicate, blank_nodes_named(term.object))
    return term


def term_to_label(term: object, namespace: str = ENTITY) -> str:
    """Return the label of a pyoxigraph term: `iri_to_label` for an IRI, the N-Triples form for any other term."""
    if isinstance(term, ox.NamedNode):
        return iri_to_label(term.value, namespace)
    return f"<<( {blank_nodes_named(term)} )>>" if isinstance(term, ox.Triple) else str(term)


def checked_triples(triples: Iterable[Triple]) -> list[Triple]:
    """Return the triples as a list.

    :raises InputError: a value that is no iterable of rows; the first row that is not three labels.
    """
    single = isinstance(triples, str | bytes | Mapping) or getattr(triples, "ndim", 1) == 0  # a scalar array
    if single or not isinstance(triples, Iterable):
        raise InputError(f"expected triples of labels (subject, relation, object), got {shown(triples)}")
    rows = list(triples)
    for number, row in enumerate(rows):
        if type(row) is tuple and len(row) == 3:
            subject, relation, object_ = row
            if type(subject) is type(relation) is type(object_) is str and subject and relation and object_:
                continue  # the fast path for almost every row
        try:
            labels = () if isinstance(row, str | bytes | Mapping | Set) else tuple(row)
        except TypeError:
            labels = ()
        if len(labels) != 3 or not all(isinstance(label, str) and label for label in labels):
            raise InputError(f"triple {number}: expected three labels (subject, relation, object), got {shown(row)}")
    return rows


@checked_methods
@dataclass(frozen=True, init=False)
class Vocabulary:
    """Map labels to integer ids: a label's id is its index in `entities` or `relations`.

    `from_triples` sorts the labels; `extended` appends new labels, so that an id never changes. Saved arrays of ids
    carry `hash`, which identifies the vocabulary. Immutable; two vocabularies are equal if their labels are.

    :raises InputError: a label that occurs twice.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]

    def __init__(self, entities: Sequence[str], relations: Sequence[str]) -> None:
        for kind, labels in (("entity", entities), ("relation", relations)):
            if len(set(labels)) != len(labels):
                twice = Counter(labels).most_common(1)[0][0]
                raise InputError(f"the {kind} {twice!r} occurs twice in the vocabulary: a label has one id")
        object.__setattr__(self, "entities", tuple(entities))
        object.__setattr__(self, "relations", tuple(relations))

    @classmethod
    def from_triples(cls, triples: Iterable[Triple]) -> "Vocabulary":
        """Make a vocabulary of the sorted labels of some triples."""
        return cls((), ()).extended(triples)

    def extended(self, triples: Iterable[Triple]) -> "Vocabulary":
        """Return this vocabulary with the missing labels of `triples` appended in sorted order."""
        entities: set[str] = set()
        relations: set[str] = set()
        for subject, relation, object_ in checked_triples(triples):
            entities.update((subject, object_))
            relations.add(relation)
        return Vocabulary(
            self.entities + tuple(sorted(entities.difference(self.entities))),
            self.relations + tuple(sorted(relations.difference(self.relations))),
        )

    @cached_property
    def _entity_ids(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.entities)}

    @cached_property
    def _relation_ids(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.relations)}

    def entity_id(self, label: str) -> int:
        """Return the id of an entity; an InputError for an unknown label lists the nearest known labels."""
        return int(self.entity_ids([label])[0])

    def relation_id(self, label: str) -> int:
        """Return the id of a relation; an InputError for an unknown label lists the nearest known labels."""
        return int(self.relation_ids([label])[0])

    def entity_ids(self, labels: Iterable[str]) -> np.ndarray:
        """Return the (n,) int64 ids of entity labels; InputError as `entity_id`."""
        return _look_up("entity", self._entity_ids, labels)

    def relation_ids(self, labels: Iterable[str]) -> np.ndarray:
        """Return the (n,) int64 ids of relation labels; InputError as `relation_id`."""
        return _look_up("relation", self._relation_ids, labels)

    def triples_to_ids(self, triples: Iterable[Triple]) -> np.ndarray:
        """Return the (n, 3) int64 ids of label triples, in their order; InputError for an unknown label."""
        rows = checked_triples(triples)
        ids = np.empty((len(rows), 3), dtype=np.int64)
        ids[:, 0] = _look_up("entity", self._entity_ids, (row[0] for row in rows))
        ids[:, 1] = _look_up("relation", self._relation_ids, (row[1] for row in rows))
        ids[:, 2] = _look_up("entity", self._entity_ids, (row[2] for row in rows))
        return ids

    def ids_to_triples(self, ids: np.ndarray) -> list[Triple]:
        """Return the label triples of (n, 3) ids; InputError for an id outside this vocabulary."""
        rows = whole_numbers("ids", ids, None, 3)
        sizes = np.array([len(self.entities), len(self.relations), len(self.entities)])
        if ((rows < 0) | (rows >= sizes)).any():
            bad = rows[((rows < 0) | (rows >= sizes)).any(axis=1)][0].tolist()
            raise InputError(f"the triple of ids {bad} is outside this vocabulary, which has {self._size()}")
        entities, relations = self.entities, self.relations
        return [(entities[s], relations[r], entities[o]) for s, r, o in rows.tolist()]

    @cached_property
    def hash(self) -> str:
        """The sha256 (hex) of the labels in order."""
        return hashlib.sha256(json.dumps([self.entities, self.relations]).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return a dict for json.dump: entities, relations and their hash."""
        return {"entities": list(self.entities), "relations": list(self.relations), "hash": self.hash}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Vocabulary":
        """Make the vocabulary of a dict from `to_json`; InputError if a part is missing or the hash does not match."""
        missing = [key for key in ("entities", "relations", "hash") if key not in value]
        if missing:
            raise InputError(f"not a vocabulary: {', '.join(missing)} missing")
        vocabulary = cls(value["entities"], value["relations"])
        if vocabulary.hash != value["hash"]:
            raise InputError("the vocabulary does not fit its hash: the file was changed after it was written")
        return vocabulary

    def __repr__(self) -> str:
        return f"Vocabulary({self._size()}, hash {self.hash[:8]})"

    def _size(self) -> str:
        return f"{len(self.entities)} entities and {len(self.relations)} relations"


def _look_up(kind: str, ids: Mapping[str, int], labels: Iterable[str]) -> np.ndarray:
    try:
        return np.fromiter((ids[label] for label in labels), dtype=np.int64)
    except KeyError as error:
        raise InputError(unknown_label(kind, error.args[0], ids)) from None


def unknown_label(kind: str, label: str, known: Iterable[str]) -> str:
    """Return the error message for an unknown label, with the three nearest known labels."""
    near = nearest_labels(label, known) if isinstance(label, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "no known label is near it"
    return f"unknown {kind} {label!r}: {hint}"


def unknown_graph(name: str, known: Iterable[str]) -> str:
    """Return the error message for an unknown name of a graph."""
    return f"{unknown_label('graph', name, known)} (there are: {', '.join(known) or 'none'})"


def nearest_labels(label: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Return at most n known labels of the nearest spelling; among a million this takes 0.1 to 0.2 s."""
    found = process.extract(label, list(known), scorer=fuzz.ratio, limit=n, score_cutoff=60)
    return [other for other, _, _ in found]
