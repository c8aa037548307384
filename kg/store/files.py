"""Files of facts, as they are named and written: N-Triples, N-Quads, Turtle, TriG, TSV and CSV, also compressed.

N3, RDF/XML and JSON-LD are only read.

TSV has one fact a line, `subject relation object [graph]`, separated by tabs; a tab, line break or backslash within a
label is written \\t, \\n, \\r or \\\\. CSV has the same columns, separated by commas, cells quoted where they need it
(RFC 4180). Both are written without a header; an empty first line says so where the first fact looks like one. Turtle,
N-Triples and tables of three columns have no graph names: what they hold is in the graph "default". RDF files also
carry each name's rdfs:label, for other programs; reading leaves those out again, because they are in the names. A blank
node of a file becomes an IRI, `urn:gumption:blank:...`, the same one each time the file is read; isBlank in queries,
and SHACL, take it for a blank node.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.packed import open_packed
from gumption.data.settings import check
from gumption.data.tables import FACT
from gumption.data.writing import whole_file
from gumption.kg.vocabulary import ABOUT, DEFAULT_GRAPH, GRAPH, PREFIXES, Triple, is_text, label_to_iri

from .quads import Completion, Quads

# ---- What is said about a named graph: where it is from, its licence, whom to name.
#
# Each statement is a triple (graph, key, text) in the reserved graph ABOUT. Its keys are terms of Dublin Core
# (dcterms:source, dcterms:license, dcterms:title, ...) and of Creative Commons (cc:attributionName for "attribution");
# a key that neither has is a name of gumption's own. RDF files carry the statements among their triples. A TSV or CSV
# file has no place for them: they stand beside it, in `FILE.license`, a line `graph key text` each with tabs between
# (the name is that of the REUSE specification 3.3).

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


def joined(statements: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What is said under each key, sorted, of statements (IRI of the key, text)."""
    said: dict[str, list[str]] = {}
    for key, text in sorted((_KEYS.get(iri) or iri.removeprefix(_OWN), text) for iri, text in statements):
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


# ---- The files themselves

_RDF = {
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".trig": ox.RdfFormat.TRIG,
    ".ttl": ox.RdfFormat.TURTLE,
}
_READ_ONLY = {
    ".n3": ox.RdfFormat.N3,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
LINE_FORMATS = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
_TSV = (".tsv", ".txt")
_CSV = ".csv"
_PACKED = (".gz", ".bz2", ".xz")
_EACH = f"each also with {_PACKED[0]}, {_PACKED[1]} or {_PACKED[2]}"
WRITTEN = f"{', '.join((*_RDF, *_TSV))} or {_CSV}, {_EACH}"
READ = f"{', '.join((*_RDF, *_READ_ONLY, *_TSV))} or {_CSV}, {_EACH}"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\uFEFF"}
_TABLE = str.maketrans(_ESCAPES)
UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}


@dataclass(frozen=True)
class FileFormat:
    """What a file's ending stands for: an RDF format, None for a table; a table as CSV or TSV; how it is compressed."""

    rdf: ox.RdfFormat | None
    csv: bool
    packed: str  # .gz, .bz2, .xz or nothing

    @property
    def names_graphs(self) -> bool:
        """Whether such a file says in which graph a fact is."""
        return self.rdf is None or self.rdf.supports_datasets

    def open(self, path: Path) -> BinaryIO:
        """The file for reading."""
        return open_packed(path, lines=self.rdf is None or self.rdf in LINE_FORMATS, by_name=True)


def file_format(path: Path, *, write: bool = False) -> FileFormat:
    """What a file's ending stands for; InputError for an unknown one, to `write` also for one that is only read."""
    packed, ending = _endings(path)
    if ending in _TSV or ending == _CSV:
        return FileFormat(None, ending == _CSV, packed)
    if write and ending in _READ_ONLY:
        raise InputError(f"{path}: {ending} files are only read; a graph is written to {WRITTEN}")
    form = {**_RDF, **_READ_ONLY}.get(ending)
    if form is None:
        raise InputError(
            f"{path}: a graph's file ends in {WRITTEN if write else READ}; this one ends in {path.suffix!r}"
        )
    return FileFormat(form, False, packed)


def is_rdf(path: Path) -> bool:
    """Whether a file's ending is that of an RDF format."""
    return _endings(path)[1] in {**_RDF, **_READ_ONLY}


def _endings(path: Path) -> tuple[str, str]:
    """How it is compressed, and the ending before that."""
    return (path.suffix, path.with_suffix("").suffix) if path.suffix in _PACKED else ("", path.suffix)


def write_facts(path: Path, graphs: Mapping[str, Iterable[Triple]], about: About) -> None:
    """Write label triples, graph by graph, and what is said about the graphs.

    The file is written beside `path` and renamed once it is complete. A table's statements about its graphs are written
    first, so that the facts never lie there without their licence.
    """
    form = file_format(path, write=True)
    if form.rdf is None:
        beside = sidecar(path)
        if text := sidecar_text(about):
            with _whole(beside, packed="") as out:
                out.write(text.encode())
        elif beside.exists():
            raise InputError(f"{beside} is there and says what holds for an older {path.name}: move it away first")
    with _whole(path, form.packed) as out:
        if form.rdf is None:
            rows = _rows(graphs)
            out.writelines(_csv_lines(rows) if form.csv else _tsv_lines(rows))
        else:
            make = Quads(stored=False)
            quads = [quad for name, triples in graphs.items() for quad in make(triples, name)]
            quads += Completion().labels(quads)
            quads += [quad for name, said in about.items() for quad in about_quads(name, said)]
            rows = quads if form.names_graphs else (quad.triple for quad in quads)
            ox.serialize(rows, out, form.rdf, prefixes=PREFIXES)


def _rows(graphs: Mapping[str, Iterable[Triple]]) -> Iterator[Sequence[str]]:
    for name, triples in graphs.items():
        yield from triples if name == DEFAULT_GRAPH else ((*triple, name) for triple in triples)


def _tsv_lines(rows: Iterator[Sequence[str]]) -> Iterator[bytes]:
    for number, row in enumerate(rows):
        if number == 0 and FACT.looks_like_header(row):
            yield b"\n"
        yield ("\t".join(label.translate(_TABLE) for label in row) + "\n").encode()


def _csv_lines(rows: Iterator[Sequence[str]]) -> Iterator[bytes]:
    line = io.StringIO(newline="")
    # "\\r\\n", as RFC 4180 has it, also makes the writer quote labels with either of the two.
    writer = csv.writer(line, lineterminator="\r\n")
    for number, row in enumerate(rows):
        # Before a label that begins with a byte order mark, too: at the start of a file, reading takes that away.
        if number == 0 and (FACT.looks_like_header(row) or row[0].startswith("\ufeff")):
            yield b"\r\n"
        writer.writerow(row)
        yield line.getvalue().encode()
        line.seek(0)
        line.truncate()


@contextmanager
def _whole(path: Path, packed: str) -> Iterator[IO[bytes]]:
    """A file to write that appears at `path` when it is complete, or not at all; `packed` is how it is compressed."""
    with whole_file(path) as beside, beside.open("wb") as out:
        if not packed:
            yield out
            return
        with _compressed(out, packed) as inner:
            yield inner


def _compressed(out: IO[bytes], packed: str) -> IO[bytes]:
    if packed == ".bz2":
        return bz2.BZ2File(out, "wb")  # pyright: ignore[reportReturnType]
    if packed == ".xz":
        return lzma.LZMAFile(out, "wb")  # pyright: ignore[reportReturnType]
    # Neither name nor time in the header: the same facts give the same bytes.
    return gzip.GzipFile("", "wb", 6, out, mtime=0)  # pyright: ignore[reportReturnType]
