"""What is said about a named graph: where it is from, its licence, whom to name.

Each statement is a triple (graph, key, text) in the reserved graph ABOUT. Its keys are terms of Dublin Core
(dcterms:source, dcterms:license, dcterms:title, ...) and of Creative Commons (cc:attributionName for "attribution");
a key that neither has is a name of gumption's own.
"""

import re
from collections.abc import Mapping

import pyoxigraph as ox

from gumption.data import InputError

from .vocabulary import ABOUT, GRAPH, label_to_iri

_OWN = ABOUT + ":"
_DCTERMS = "http://purl.org/dc/terms/"
_TERMS = {
    "attribution": "http://creativecommons.org/ns#attributionName",
    **{
        key: _DCTERMS + key
        for key in (
            "abstract", "contributor", "created", "creator", "description", "identifier", "issued", "language",
            "license", "modified", "provenance", "publisher", "rights", "rightsHolder", "source", "subject", "title",
        )
    },
}  # fmt: skip
_KEYS = {iri: key for key, iri in _TERMS.items()}


def key_to_iri(key: str) -> str:
    """The IRI of a key; InputError for a key that is not one word."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", key):
        raise InputError(f"{key!r} cannot be said about a graph: a key is one word, such as source, license or title")
    return _TERMS.get(key, _OWN + key)


def iri_to_key(iri: str) -> str:
    """The key of such an IRI; a foreign IRI is its own key."""
    return _KEYS.get(iri) or iri.removeprefix(_OWN)


def annotation_update(name: str, about: Mapping[str, str]) -> str:
    """The SPARQL update that replaces what is said about a graph under these keys."""
    graph = f"<{label_to_iri(name, GRAPH)}>"
    parts = []
    for key, text in about.items():
        if not isinstance(text, str) or not text:
            raise InputError(f"{key} of the graph {name!r} is {text!r}: it has to be text")
        iri = f"<{key_to_iri(key)}>"
        parts.append(f"DELETE WHERE {{ GRAPH <{ABOUT}> {{ {graph} {iri} ?text }} }}")
        parts.append(f"INSERT DATA {{ GRAPH <{ABOUT}> {{ {graph} {iri} {ox.Literal(text)} }} }}")
    return " ;\n".join(parts)
