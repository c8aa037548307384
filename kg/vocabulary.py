"""Names: labels <-> IRIs (for stores and queries) and labels <-> integer ids (for arrays).

A label is what people read and write ("acid rain"). In a store it is an IRI: `urn:gumption:entity:acid%20rain` as a
subject or an object, `urn:gumption:relation:...` as a relation, `urn:gumption:graph:...` as the name of a graph. The
two are one to one in each position, for any text:

- an ordinary label is percent-encoded, so that the result is also legal after a prefix in SPARQL (`ent:acid%20rain`);
- a label that is itself an http, https or urn IRI stands for that IRI, so facts of other data sets keep their names;
  an IRI of another scheme is written in angle brackets (`<mailto:a@b.org>`);
- a subject, an object or the name of a graph that is written as a blank node (`_:b1`) is one;
- an object that is written as a literal in N-Triples (`"5"^^<http://www.w3.org/2001/XMLSchema#integer>`) is one, and so
  is a triple term (`<<( <urn:s> <urn:p> "o" )>>`). Spellings of one literal are one label: Oxigraph keeps numbers and
  dates by value ("05" becomes "5"), and a language in small letters.
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
# A blank node has such an IRI at an endpoint (a Skolem IRI, RDF 1.1 Concepts, section 3.5): its requests can name it.
BLANK = "urn:gumption:blank:"
WEIGHTS = "/weights"  # ends the name of a graph that holds the weights of another
PROVENANCE = "/provenance"  # ends the name of the graph with the derivations of entailed facts
DEFAULT_GRAPH = "default"  # the name of the graph of facts that are put in none
SKOS = "http://www.w3.org/2004/02/skos/core#"
# How `kg link` found an entity -> the mapping relation of SKOS (W3C, 2009): the same concept; interchangeable in some
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
_DEEPEST = 100  # triple terms within each other, in a label
# Most labels are plain words: they encode as themselves, but for the space.
_PLAIN = re.compile(r" *[A-Za-z0-9_][A-Za-z0-9_ -]*")
_PLAIN_LOCAL = re.compile(r"(?:%20)*[A-Za-z0-9_](?:[A-Za-z0-9_-]|%20)*")
_SURROGATES = re.compile("[\ud800-\udfff]")
_KNOWN_SCHEME = ("http://", "https://", "urn:")
_BRACKETED = re.compile(r"<(?!https?://|urn:)([A-Za-z][A-Za-z0-9+.-]*:.*)>")


def label_to_iri(label: str, namespace: str = ENTITY) -> str:
    """The IRI that stands for a label in one position: `namespace` is ENTITY, RELATION or GRAPH.

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
    """The label of an IRI in one position, the inverse of `label_to_iri`; a foreign IRI is its own label."""
    if iri.startswith(namespace) and _PLAIN_LOCAL.fullmatch(iri, len(namespace)):
        return iri[len(namespace) :].replace("%20", " ")
    if _is_canonical(iri, namespace):
        return unquote(iri[len(namespace) :])
    if iri.startswith(BLANK):
        return f"_:{iri.removeprefix(BLANK)}"
    return iri if iri.startswith(_KNOWN_SCHEME) else f"<{iri}>"


def _is_canonical(iri: str, namespace: str) -> bool:
    """Whether `label_to_iri` makes this IRI of its decoded name (of `ent:fire`, not of `ent:%66ire`)."""
    if not iri.startswith(namespace) or len(iri) == len(namespace):
        return False
    return label_to_iri(unquote(iri[len(namespace) :]), namespace) == iri


def is_iri(text: str) -> bool:
    """Whether this is an absolute IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def is_text(value: object) -> bool:
    """Whether this is text that UTF-8 can express: without lone surrogates."""
    return isinstance(value, str) and not _SURROGATES.search(value)


def _encode(label: str) -> str:
    try:
        local = quote(label, safe="")
    except UnicodeEncodeError as error:
        raise InputError(f"the label {label!r} is not valid Unicode text: {error.reason}") from None
    # quote() leaves "." "~" and a leading "-" alone, which SPARQL does not allow everywhere in a prefixed name.
    local = local.replace(".", "%2E").replace("~", "%7E")
    return "%2D" + local[1:] if local.startswith("-") else local


def label_to_term(label: str, namespace: str = ENTITY) -> ox.NamedNode | ox.BlankNode:
    """The term of a label in one position: a blank node where the label is one (`_:b1`), else an IRI.

    :raises InputError: as `label_to_iri`; blank nodes are no relations.
    """
    if label.startswith("_:") and namespace != RELATION:
        try:
            return ox.BlankNode(label[2:])
        except ValueError:  # "_:a b" is a name like any other
            pass
    iri = label_to_iri(label, namespace)
    return ox.BlankNode(iri.removeprefix(BLANK)) if iri.startswith(BLANK) else ox.NamedNode(iri)


def object_to_term(label: str) -> Term:
    """The term of an object's label: a literal or triple term where it is one in N-Triples, else as `label_to_term`."""
    if label.startswith(('"', "<<(")) and label.count("<<(") <= _DEEPEST:
        try:
            parsed = [quad.object for quad in ox.parse(f"<urn:s> <urn:p> {label} .", ox.RdfFormat.N_TRIPLES)]
        except SyntaxError:
            parsed = []
        if len(parsed) == 1 and isinstance(parsed[0], ox.Literal | ox.Triple):
            return as_stored(parsed[0])
    return label_to_term(label)


def as_stored(term: Term) -> Term:
    """The term as a store gives it back: Oxigraph keeps literals of the data types of XML Schema by their values."""
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
    """The term with blank nodes in place of their Skolem IRIs, which it has at an endpoint."""
    if isinstance(term, ox.NamedNode) and term.value.startswith(BLANK):
        return ox.BlankNode(term.value.removeprefix(BLANK))
    if isinstance(term, ox.Triple):
        return ox.Triple(blank_nodes_named(term.subject), term.predicate, blank_nodes_named(term.object))
    return term


def term_to_label(term: object, namespace: str = ENTITY) -> str:
    """The label of a term of a store (pyoxigraph): of an IRI as `iri_to_label`, of any other its N-Triples form."""
    if isinstance(term, ox.NamedNode):
        return iri_to_label(term.value, namespace)
    return f"<<( {blank_nodes_named(term)} )>>" if isinstance(term, ox.Triple) else str(term)


def checked_triples(triples: Iterable[Triple]) -> list[Triple]:
    """The rows of some triples.

    :raises InputError: something else than rows, or the first of them that is not three labels.
    """
    single = isinstance(triples, str | bytes | Mapping) or getattr(triples, "ndim", 1) == 0  # of an array
    if single or not isinstance(triples, Iterable):
        raise InputError(f"expected triples of labels (subject, relation, object), got {shown(triples)}")
    rows = list(triples)
    for number, row in enumerate(rows):
        if type(row) is tuple and len(row) == 3:
            subject, relation, object_ = row
            if type(subject) is type(relation) is type(object_) is str and subject and relation and object_:
                continue  # what almost every row is
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
    """Labels and their integer ids: a label's id is its place in `entities` or `relations`.

    `from_triples` sorts the labels; `extended` appends new ones, so that an id never changes. Arrays of ids travel with
    `hash`, by which two vocabularies are compared. Immutable; equal when the labels are.

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
        """The sorted labels of some triples."""
        return cls((), ()).extended(triples)

    def extended(self, triples: Iterable[Triple]) -> "Vocabulary":
        """This vocabulary followed by the labels of `triples` that it lacks, those in sorted order."""
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
        """The id of an entity; InputError with the nearest known labels where there is none."""
        return int(self.entity_ids([label])[0])

    def relation_id(self, label: str) -> int:
        """The id of a relation; InputError with the nearest known labels where there is none."""
        return int(self.relation_ids([label])[0])

    def entity_ids(self, labels: Iterable[str]) -> np.ndarray:
        """(n,) int64 ids of entity labels; InputError as `entity_id`."""
        return _look_up("entity", self._entity_ids, labels)

    def relation_ids(self, labels: Iterable[str]) -> np.ndarray:
        """(n,) int64 ids of relation labels; InputError as `relation_id`."""
        return _look_up("relation", self._relation_ids, labels)

    def triples_to_ids(self, triples: Iterable[Triple]) -> np.ndarray:
        """(n, 3) int64 ids of label triples, in their order; InputError for an unknown label."""
        rows = checked_triples(triples)
        ids = np.empty((len(rows), 3), dtype=np.int64)
        ids[:, 0] = _look_up("entity", self._entity_ids, (row[0] for row in rows))
        ids[:, 1] = _look_up("relation", self._relation_ids, (row[1] for row in rows))
        ids[:, 2] = _look_up("entity", self._entity_ids, (row[2] for row in rows))
        return ids

    def ids_to_triples(self, ids: np.ndarray) -> list[Triple]:
        """The label triples of (n, 3) ids; InputError for an id that this vocabulary does not have."""
        rows = whole_numbers("ids", ids, None, 3)
        sizes = np.array([len(self.entities), len(self.relations), len(self.entities)])
        if ((rows < 0) | (rows >= sizes)).any():
            bad = rows[((rows < 0) | (rows >= sizes)).any(axis=1)][0].tolist()
            raise InputError(f"the triple of ids {bad} is outside this vocabulary, which has {self._size()}")
        entities, relations = self.entities, self.relations
        return [(entities[s], relations[r], entities[o]) for s, r, o in rows.tolist()]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) over the labels in order."""
        return hashlib.sha256(json.dumps([self.entities, self.relations]).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """A dict for json.dump: entities, relations and their hash."""
        return {"entities": list(self.entities), "relations": list(self.relations), "hash": self.hash}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Vocabulary":
        """The vocabulary of such a dict; InputError where a part is missing or the hash does not fit."""
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
    """The message for a label that is not among the known ones, with the three nearest."""
    near = nearest_labels(label, known) if isinstance(label, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "no known label is near it"
    return f"unknown {kind} {label!r}: {hint}"


def unknown_graph(name: str, known: Iterable[str]) -> str:
    """The message for the name of a graph that is not among the known ones."""
    return f"{unknown_label('graph', name, known)} (there are: {', '.join(known) or 'none'})"


def nearest_labels(label: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known labels whose spelling is nearest, at most n; a million take a tenth of a second or two."""
    found = process.extract(label, list(known), scorer=fuzz.ratio, limit=n, score_cutoff=60)
    return [other for other, _, _ in found]
