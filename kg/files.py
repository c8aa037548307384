"""Files of facts, as they are named and written: N-Triples, N-Quads, Turtle, TriG and TSV, also gzipped.

TSV has one fact a line, `subject relation object [graph]`, separated by tabs; a tab, line break or backslash within a
label is written \\t, \\n, \\r or \\\\. Turtle, N-Triples and three-column TSV have no graph names: what they hold is in
the graph "default". RDF files also carry each name's rdfs:label, for other programs; reading leaves those out again,
because they are in the names. A blank node of a file becomes an IRI, the same one each time the file is read.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.writing import whole_file

from .about import About, about_quads, sidecar, sidecar_text
from .quads import Completion, Quads
from .vocabulary import PREFIXES, Triple

DEFAULT_GRAPH = "default"

_RDF = {
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".trig": ox.RdfFormat.TRIG,
    ".ttl": ox.RdfFormat.TURTLE,
}
_TSV = (".tsv", ".txt")
ENDINGS = f"{', '.join(_RDF)}, {' or '.join(_TSV)}, each also with .gz"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\uFEFF"}
_TABLE = str.maketrans(_ESCAPES)
UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}


@dataclass(frozen=True)
class FileFormat:
    """What a file's ending stands for: an RDF format (None for TSV), and whether it is gzipped."""

    rdf: ox.RdfFormat | None
    gzipped: bool

    @property
    def names_graphs(self) -> bool:
        """Whether such a file says in which graph a fact is."""
        return self.rdf is None or self.rdf.supports_datasets

    def open(self, path: Path) -> BinaryIO:
        """The file for reading."""
        return gzip.open(path) if self.gzipped else path.open("rb")  # pyright: ignore[reportReturnType]


def file_format(path: Path) -> FileFormat:
    """What a file's ending stands for; InputError for an unknown one."""
    gzipped = path.suffix == ".gz"
    ending = path.with_suffix("").suffix if gzipped else path.suffix
    if ending in _TSV:
        return FileFormat(None, gzipped)
    if ending not in _RDF:
        raise InputError(f"{path}: a graph's file ends in {ENDINGS}; this one ends in {path.suffix!r}")
    return FileFormat(_RDF[ending], gzipped)


def write_facts(path: Path, graphs: Mapping[str, Iterable[Triple]], about: About) -> None:
    """Write label triples, graph by graph, and what is said about the graphs.

    The file is written beside `path` and renamed once it is complete. A TSV's statements about its graphs are written
    first, so that the facts never lie there without their licence.
    """
    form = file_format(path)
    if form.rdf is None:
        beside = sidecar(path)
        if text := sidecar_text(about):
            with _whole(beside, gzipped=False) as out:
                out.write(text.encode())
        elif beside.exists():
            raise InputError(f"{beside} is there and says what holds for an older {path.name}: move it away first")
    with _whole(path, form.gzipped) as out:
        if form.rdf is None:
            out.writelines(_tsv_lines(graphs))
        else:
            make = Quads()
            quads = [quad for name, triples in graphs.items() for quad in make(triples, name)]
            quads += Completion().labels(quads)
            quads += [quad for name, said in about.items() for quad in about_quads(name, said)]
            rows = quads if form.names_graphs else (quad.triple for quad in quads)
            ox.serialize(rows, out, form.rdf, prefixes=PREFIXES)


def _tsv_lines(graphs: Mapping[str, Iterable[Triple]]) -> Iterator[bytes]:
    for name, triples in graphs.items():
        tail = "\n" if name == DEFAULT_GRAPH else f"\t{_escape(name)}\n"
        for triple in triples:
            yield ("\t".join(map(_escape, triple)) + tail).encode()


def _escape(label: str) -> str:
    return label.translate(_TABLE)


@contextmanager
def _whole(path: Path, gzipped: bool) -> Iterator[IO[bytes]]:
    """A file to write that appears at `path` when it is complete, or not at all."""
    with whole_file(path) as beside, beside.open("wb") as out:
        if gzipped:
            # Neither name nor time in the header: the same facts give the same bytes.
            with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
                yield packed  # pyright: ignore[reportReturnType]
        else:
            yield out
