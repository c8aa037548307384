"""What is said about a named graph: where it is from, its licence, whom to name.

Each statement is a triple (graph, key, text) in the reserved graph ABOUT. Its keys are terms of Dublin Core
(dcterms:source, dcterms:license, dcterms:title, ...) and of Creative Commons (cc:attributionName for "attribution");
a key that neither has is a name of gumption's own.

RDF files carry the statements among their triples. A TSV or CSV file has no place for them: they stand beside it, in
`FILE.license`, a line `graph key text` each with tabs between (the name is that of the REUSE specification 3.3).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.settings import check
from gumption.kg.vocabulary import ABOUT, GRAPH, is_text, label_to_iri

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
_ABOUT = ox.NamedNode(ABOUT)

About = Mapping[str, Mapping[str, str]]  # graph -> key -> text


def key_to_iri(key: str) -> str:
    """The IRI of a key, which may be an IRI itself; InputError for any other key that is not one word."""
    if key.startswith(("http://", "https://", "urn:")):
        return label_to_iri(key)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", key):
        raise InputError(f"{key!r} cannot be said about a graph: a key is one word, such as source, license or title")
    return _TERMS.get(key, _OWN + key)


def iri_to_key(iri: str) -> str:
    """The key of such an IRI; a foreign IRI is its own key."""
    return _KEYS.get(iri) or iri.removeprefix(_OWN)


def joined(statements: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What is said under each key, sorted, of statements (IRI of the key, text)."""
    said: dict[str, list[str]] = {}
    for key, text in sorted((iri_to_key(iri), text) for iri, text in statements):
        said.setdefault(key, []).append(text)
    return {key: "; ".join(texts) for key, texts in said.items()}


def about_quads(name: str, about: Mapping[str, str]) -> list[ox.Quad]:
    """What is said about a graph as quads of ABOUT; InputError for what is no text."""
    graph = ox.NamedNode(label_to_iri(name, GRAPH))
    quads = []
    for key, text in about.items():
        if not text or not is_text(text):
            raise InputError(f"{key} of the graph {name!r} is {text!r}: it has to be text")
        quads.append(ox.Quad(graph, ox.NamedNode(key_to_iri(key)), ox.Literal(text), _ABOUT))
    return quads


def annotation_update(name: str, about: Mapping[str, str]) -> str:
    """The SPARQL update that replaces what is said about a graph under these keys."""
    parts = []
    for graph, key, text, _ in about_quads(name, check("about", about, Mapping[str, Any])):
        parts.append(f"DELETE WHERE {{ GRAPH {_ABOUT} {{ {graph} {key} ?text }} }}")
        parts.append(f"INSERT DATA {{ GRAPH {_ABOUT} {{ {graph} {key} {text} }} }}")
    return " ;\n".join(parts)


def is_about(quad: ox.Quad) -> ox.NamedNode | None:
    """The graph ABOUT where a triple of a file without graph names is a statement about one of gumption's graphs."""
    subject, predicate, text, _ = quad
    known = predicate.value in _KEYS or predicate.value.startswith(_OWN)
    return _ABOUT if known and isinstance(text, ox.Literal) and subject.value.startswith(GRAPH) else None


def sidecar(path: Path) -> Path:
    """Where that stands which a TSV or CSV file has no place for."""
    return path.with_name(f"{path.name}.license")


def sidecar_text(about: About) -> str:
    """The content of such a file."""
    rows = [(name, key, text) for name, said in about.items() for key, text in said.items()]
    return "".join("\t".join(" ".join(field.split()) for field in row) + "\n" for row in rows)


def read_sidecar(path: Path) -> Iterator[ox.Quad]:
    """The statements beside a TSV or CSV file, if any; lines that are none (other programs write such) are left out."""
    beside = sidecar(path)
    if beside.is_file():
        for line in beside.read_text(encoding="utf-8", errors="replace").split("\n"):
            fields = line.split("\t")
            if len(fields) == 3 and all(fields):
                yield from about_quads(fields[0], {fields[1]: fields[2]})
