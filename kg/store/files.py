"""Read and write files of facts: N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, TSV and CSV, also compressed.

N3 is only read. JSON-LD is read whole; the other formats are read block by block.

TSV has a fact per line, `subject relation object [graph]`, separated by tabs; a tab, line break or backslash within a
label is written \\t, \\n, \\r or \\\\. CSV has the same columns, separated by commas, with cells quoted if necessary
(RFC 4180). Both are written without a header; an empty first line marks this if the first fact looks like a header.
Turtle, N-Triples, RDF/XML and tables of three columns have no graph names: their facts go into the graph "default". RDF
files may also state the rdfs:label of gumption's names, for other programs: in .nq and .trig in a graph that is skipped
when read, in other formats among the facts. A blank node gets the same name whenever its file is read into a graph, and
a different name in another graph.
"""

import bz2
import codecs
import csv
import gzip
import hashlib
import io
import itertools
import json
import lzma
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, BinaryIO
from xml.parsers import expat

import pyoxigraph as ox

from gumption.data import InputError, Note
from gumption.data.packed import open_packed
from gumption.data.sealed import HASH_LINE, hashed_file
from gumption.data.settings import Whole, check
from gumption.data.tables import Row, TableLayout, csv_rows, grouped, needs_empty_line
from gumption.data.writing import check_name, whole_file
from gumption.kg.vocabulary import (
    ABOUT,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    PREFIXES,
    RDFS_LABEL,
    RELATION,
    Triple,
    blank_nodes_named,
    iri_to_label,
    is_iri,
    is_text,
    label_to_iri,
    label_to_term,
    term_to_label,
)

from .quads import Quads, cached

# ---- Statements about a named graph: source, licence, attribution.
#
# Each statement is a triple (graph, key, text) in the reserved graph ABOUT. Its keys are terms of Dublin Core
# (dcterms:source, dcterms:license, dcterms:title, ...) and of Creative Commons (cc:attributionName for "attribution");
# any other key is a name of gumption's own. RDF files hold the statements among their triples. A TSV or CSV file cannot
# hold them: they are written to `FILE.license`, a tab-separated line `graph key text` each (the name follows the REUSE
# specification 3.3).

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
    """Return the IRI of a key, which may itself be an IRI; InputError for any other key that is not a single word."""
    if key.startswith(("http://", "https://", "urn:")):
        return label_to_iri(key)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", key):
        raise InputError(f"{key!r} cannot be said about a graph: a key is one word, such as source, license or title")
    return _TERMS.get(key, _OWN + key)


def joined(statements: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map keys to their sorted and joined texts, from statements (IRI of the key, text)."""
    said = grouped(sorted((_KEYS.get(iri) or iri.removeprefix(_OWN), text) for iri, text in statements))
    return {key: "; ".join(texts) for key, texts in said.items()}


def about_quads(name: str, about: Mapping[str, str]) -> list[ox.Quad]:
    """Return statements about a graph as quads of ABOUT; InputError for a value that is no text."""
    graph = ox.NamedNode(label_to_iri(name, GRAPH))
    quads = []
    for key, text in about.items():
        if not text or not is_text(text):
            raise InputError(f"{key} of the graph {name!r} is {text!r}: it has to be text")
        quads.append(ox.Quad(graph, ox.NamedNode(key_to_iri(key)), ox.Literal(text), _ABOUT))
    return quads


def annotation_update(name: str, about: Mapping[str, str]) -> str:
    """Return the SPARQL update that replaces the statements about a graph under these keys."""
    parts = []
    for graph, key, text, _ in about_quads(name, check("about", about, Mapping[str, Any])):
        parts.append(f"DELETE WHERE {{ GRAPH {_ABOUT} {{ {graph} {key} ?text }} }}")
        parts.append(f"INSERT DATA {{ GRAPH {_ABOUT} {{ {graph} {key} {text} }} }}")
    return " ;\n".join(parts)


def is_about(quad: ox.Quad) -> ox.NamedNode | None:
    """Return the graph ABOUT if a triple (of a file without graph names) is a statement about a graph, else None."""
    subject, predicate, text, _ = quad
    known = predicate.value in _KEYS or predicate.value.startswith(_OWN)
    return _ABOUT if known and isinstance(text, ox.Literal) and subject.value.startswith(GRAPH) else None


def sidecar(path: Path) -> Path:
    """Return the path of the file with the statements about the graphs of a TSV or CSV file."""
    return path.with_name(f"{path.name}.license")


def read_sidecar(path: Path) -> Iterator[ox.Quad]:
    """Yield the statements in the sidecar of a TSV or CSV file, if any. Lines of another form are skipped."""
    beside = sidecar(path)
    if beside.is_file():
        for line in beside.read_text(encoding="utf-8", errors="replace").split("\n"):
            fields = line.split("\t")
            if len(fields) == 3 and all(fields):
                yield from about_quads(fields[0], {fields[1]: fields[2]})


# ---- The files themselves

FORMATS = {
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".trig": ox.RdfFormat.TRIG,
    ".ttl": ox.RdfFormat.TURTLE,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".n3": ox.RdfFormat.N3,
}
LINE_FORMATS = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
COMMENTED = (*LINE_FORMATS, ox.RdfFormat.TRIG, ox.RdfFormat.TURTLE)  # these files hold their hash in a comment
NETWORKS = (".graphml", ".gexf")
_READ_ONLY = (".n3", *NETWORKS)
_TSV = (".tsv", ".txt")
_CSV = ".csv"
_PACKED = (".gz", ".bz2", ".xz")
_KNOWN = (*FORMATS, *NETWORKS, *_TSV, _CSV)
_EACH = f"each also with {_PACKED[0]}, {_PACKED[1]} or {_PACKED[2]}"
WRITTEN = f"{', '.join(ending for ending in _KNOWN[:-1] if ending not in _READ_ONLY)} or {_CSV}, {_EACH}"
READ = f"{', '.join(_KNOWN[:-1])} or {_CSV}, {_EACH}"
#: The graph of labels in files written with `labels`.
LABELS = "urn:gumption:labels"
_CONTEXT = re.compile(rb'"@context"\s*:\s*\[?\s*"([^"]*)"')
NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_NAME = re.compile(r"[A-Za-z_\u00c0-\uffff][\w.\u00b7-]*$")
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\uFEFF"}
_TABLE = str.maketrans(_ESCAPES)
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}


@dataclass(frozen=True)
class FileFormat:
    """
    :ivar ending: the ending without that of the compression. :ivar packed: the latter, "" for no compression.
    """

    ending: str
    packed: str

    @property
    def rdf(self) -> ox.RdfFormat | None:
        """The RDF format; None for a table or a network."""
        return FORMATS.get(self.ending)

    @property
    def names_graphs(self) -> bool:
        """Whether files of this format name the graphs of their facts."""
        return self.rdf is None or self.rdf.supports_datasets

    def open(self, path: Path) -> BinaryIO:
        """Open the file for reading; for RDF, skip a byte order mark."""
        stream = open_packed(path, lines=self.rdf is None or self.rdf in LINE_FORMATS, by_name=True)
        if self.rdf is not None and stream.peek(3).startswith(codecs.BOM_UTF8):
            stream.read(3)
        return stream


def file_format(path: Path, *, write: bool = False) -> FileFormat:
    """Return the format of a file's ending; InputError for an unknown ending or, with `write`, a read-only format."""
    packed, ending = _endings(path)
    if write and ending in _READ_ONLY:
        raise InputError(f"{path}: {ending} files are only read; a graph is written to {WRITTEN}")
    if ending not in _KNOWN:
        raise InputError(
            f"{path}: a graph's file ends in {WRITTEN if write else READ}; this one ends in {path.suffix!r}"
        )
    return FileFormat(ending, packed)


def is_rdf(path: Path) -> bool:
    """Return whether a file's ending is that of an RDF format."""
    return _endings(path)[1] in FORMATS


def _endings(path: Path) -> tuple[str, str]:
    """Return the ending of the compression, if any, and the ending before it."""
    return (path.suffix, path.with_suffix("").suffix) if path.suffix in _PACKED else ("", path.suffix)


def write_facts(path: Path, graphs: Mapping[str, Iterable[Triple]], about: About, labels: bool = False) -> None:
    """Write label triples, graph by graph, and the statements about the graphs.

    The file is written under another name and renamed to `path` once it is complete. A table's statements are written
    first, so that the facts never exist without their licence. The file contains its hash, see data/sealed.py.

    :param labels: also write the label of each of gumption's IRIs, in RDF files.
    :raises InputError: a fact that the format cannot hold.
    """
    form = file_format(path, write=True)
    if form.rdf is None:
        if beyond := next((fact for facts in graphs.values() for fact in facts if fact[2].startswith("<<(")), None):
            raise InputError(_beyond(path, beyond[2]))
        beside = sidecar(path)
        rows = [(name, key, text) for name, said in about.items() for key, text in said.items()]
        if rows:
            lines = ("\t".join(" ".join(field.split()) for field in row) + "\n" for row in rows)
            with whole_file(beside) as part:
                part.write_bytes("".join(lines).encode())
        elif beside.exists():
            raise InputError(f"{beside} is there and says what holds for an older {path.name}: move it away first")
    written = whole_file if form.rdf in COMMENTED else hashed_file
    with written(path) as part, part.open("wb") as file, _compressed(file, form.packed) as out:
        if form.rdf is None:
            rows = _rows(graphs)
            out.writelines(_csv_lines(rows) if form.ending == _CSV else _tsv_lines(rows))
        else:
            make = Quads()
            quads = [quad for name, triples in graphs.items() for quad in make(triples, name)]
            refuse_unwritable(path, form.rdf, quads)
            quads += _label_quads(quads) if labels else []
            quads += [quad for name, said in about.items() for quad in about_quads(name, said)]
            rows = quads if form.names_graphs else (quad.triple for quad in quads)
            text = ox.serialize(rows, format=form.rdf, prefixes=PREFIXES) or b""
            if form.rdf in COMMENTED:
                out.write(b"# sha256 %s\n" % hashlib.sha256(text).hexdigest().encode())  # a HASH_LINE
            out.write(text)


def refuse_unwritable(path: object, form: ox.RdfFormat, quads: Sequence[ox.Quad] | Sequence[ox.Triple]) -> None:
    """Raise InputError for facts that RDF/XML or JSON-LD cannot hold."""
    if form == ox.RdfFormat.RDF_XML:
        for iri in {quad.predicate.value for quad in quads}:
            if not _XML_NAME.search(iri):
                raise InputError(f"{path}: RDF/XML has no place for the relation {iri}, which ends in no name of XML")
        if bad := next((q for q in quads if isinstance(q.object, ox.Literal) and NO_XML.search(q.object.value)), None):
            raise InputError(f"{path}: XML has no place for a sign in an object of {bad.predicate.value}: {bad.object}")
    elif form == ox.RdfFormat.JSON_LD and (about := next((q for q in quads if isinstance(q.object, ox.Triple)), None)):
        raise InputError(_beyond(path, term_to_label(about.object)))


def _beyond(path: object, label: str) -> str:
    return f"{path}: this format has no place for the triple term {label}: Turtle, TriG, .nt, .nq and .rdf have"


def _label_quads(quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """Yield the rdfs:label of each of gumption's names."""
    names: dict[tuple[object, str], None] = {}
    for subject, predicate, object_, _ in quads:
        names |= {(subject, ENTITY): None, (predicate, RELATION): None, (object_, ENTITY): None}
    for name, namespace in names:
        if isinstance(name, ox.NamedNode) and name.value.startswith(namespace):
            label = iri_to_label(name.value, namespace)
            yield ox.Quad(name, ox.NamedNode(RDFS_LABEL), ox.Literal(label), ox.NamedNode(LABELS))


def _rows(graphs: Mapping[str, Iterable[Triple]]) -> Iterator[Sequence[str]]:
    for name, triples in graphs.items():
        yield from triples if name == DEFAULT_GRAPH else ((*triple, name) for triple in triples)


def _tsv_lines(rows: Iterator[Sequence[str]]) -> Iterator[bytes]:
    empty, rows = needs_empty_line(rows)
    if empty:
        yield b"\n"
    for row in rows:
        yield ("\t".join(label.translate(_TABLE) for label in row) + "\n").encode()


def _csv_lines(rows: Iterator[Sequence[str]]) -> Iterator[bytes]:
    line = io.StringIO(newline="")
    # "\\r\\n", from RFC 4180, also makes the writer quote labels with either of the two characters.
    writer = csv.writer(line, lineterminator="\r\n")
    empty, rows = needs_empty_line(rows)
    for number, row in enumerate(rows):
        # Also before a label that begins with a byte order mark: the reader removes it at the start of a file.
        if number == 0 and (empty or row[0].startswith("\ufeff")):
            yield b"\r\n"
        writer.writerow(row)
        yield line.getvalue().encode()
        line.seek(0)
        line.truncate()


def _compressed(out: IO[bytes], packed: str) -> AbstractContextManager[IO[bytes]]:
    if packed == ".bz2":
        return bz2.BZ2File(out, "wb")  # pyright: ignore[reportReturnType]
    if packed == ".xz":
        return lzma.LZMAFile(out, "wb")  # pyright: ignore[reportReturnType]
    # No name or time in the header, so that the same facts give the same bytes.
    return gzip.GzipFile("", "wb", 6, out, mtime=0) if packed else nullcontext(out)  # pyright: ignore


# ---- Reading

BLOCK = 1 << 20  # bytes
DEPTH = 1_000  # maximum nesting of XML elements, JSON brackets or triple terms
_ESCAPED = re.compile("|".join(map(re.escape, _UNESCAPES)))
_NAMED_HERE = re.compile(r"b([0-9a-f]{6})[0-9a-f]{12}-\d+$")
_QUOTED = re.compile(rb"<<(?!\()")
_RDF_STAR = "<< ... >> is RDF-star: RDF 1.2 has triple terms, <<( subject predicate object )>>, as objects"
_OWL = "http://www.w3.org/2002/07/owl#"


class SkippedLines(Note):
    """Bad lines of a file were left out because the caller allowed it."""


class FactFile:
    """Read the facts of a file as quads, each in its named graph or in `default`.

    N-Triples, N-Quads, TSV and CSV have a fact per line; up to `skip_bad` bad lines are left out, which `warn` reports.
    `layout` is for TSV and CSV. Every method raises InputError, with file and line, for a file that is missing, of an
    unknown format, or has more errors.
    """

    def __init__(
        self, path: Path, default: str = DEFAULT_GRAPH, skip_bad: int = 0, layout: TableLayout | None = None,
        base: str | None = None, context: Path | None = None,
    ) -> None:  # fmt: skip
        check_name(path, "read")
        self.path = path
        self.default = default
        self.layout = layout or TableLayout()
        self.base, self.context = base, context
        self.skip_bad = check("skip_bad", skip_bad, Whole)
        self.format = file_format(path)
        if skip_bad and self.format.rdf is not None and self.format.rdf not in LINE_FORMATS:
            raise InputError(
                f"{path}: only N-Triples, N-Quads, TSV and CSV have one fact a line, so only there can bad lines be "
                "skipped"
            )
        if (self.format.rdf is not None or self.format.ending in NETWORKS) and self.layout != TableLayout():
            raise InputError(f"{path}: columns, a header and a delimiter are for .tsv and .csv files")
        if base is not None and (self.format.rdf is None or self.format.rdf in LINE_FORMATS):
            raise InputError(f"{path}: a base is for files with relative IRIs: .ttl, .trig, .rdf, .jsonld or .n3")
        if base is not None and not is_iri(base):
            raise InputError(f"the base {base!r} is no absolute IRI, such as http://example.org/")
        if context is not None and self.format.rdf != ox.RdfFormat.JSON_LD:
            raise InputError(f"{path}: a context is for .jsonld files")
        self.empty = False  # set by `check`
        self._skipped: list[str] = []
        self._left_out = ""

    def check(self) -> None:
        """Read the whole file, to raise errors before any fact is used."""
        with self._errors_named(), self.format.open(self.path) as stream:
            found = self._rows(stream) if self.format.rdf is None else self._parsed(stream, self.format.rdf)
            self.empty = not sum(1 for _ in found)

    def load_plain(self, store: ox.Store) -> bool:
        """Load the whole file with the store's own loader, each fact into its graph and into the default graph.

        Return False, and add nothing, unless the file is N-Triples with `skip_bad` 0 and holds only facts.
        """
        if self.format.rdf != ox.RdfFormat.N_TRIPLES or self.skip_bad or isinstance(self.name, ox.BlankNode):
            return False
        with self._errors_named():
            stream = self.format.open(self.path)
        with stream:
            plain = _PlainTriples(stream, self.name)
            try:
                store.bulk_load(plain, ox.RdfFormat.N_QUADS)  # pyright: ignore[reportArgumentType]
            except Exception as error:
                if plain.stopped:
                    return False
                if plain.error:
                    with self._errors_named():
                        raise plain.error from None
                if isinstance(error, SyntaxError):
                    self.check()  # raises the error with the right line: the loader reads each block twice
                raise
        return True

    @property
    def name(self) -> ox.NamedNode | ox.BlankNode:
        """The term of the graph `default`."""
        return label_to_term(self.default, GRAPH)

    def batches(self, size: int) -> Iterator[list[ox.Quad]]:
        """Yield the quads of the file in lists of `size`."""
        quads = self.quads()
        while batch := list(itertools.islice(quads, size)):
            yield batch

    def warn(self) -> None:
        """Warn of omissions of the last read: the number of lines and the first three, or parts of a network."""
        if self._left_out:
            warnings.warn(f"left out: {self._left_out}", Note, stacklevel=3)
        if self._skipped:
            first = "; ".join(self._skipped[:3])
            number = "1 bad line was" if len(self._skipped) == 1 else f"{len(self._skipped)} bad lines were"
            more = ", ..." if len(self._skipped) > 3 else ""
            warnings.warn(f"{number} skipped: {first}{more}", SkippedLines, stacklevel=3)

    def quads(self) -> Iterator[ox.Quad]:
        """Yield the quads: facts, and statements about graphs in the graph ABOUT."""
        with self._errors_named(), self.format.open(self.path) as stream:
            if self.format.rdf is None:
                yield from read_sidecar(self.path)
                make = Quads()
                rows = self._rows(stream)
                yield from self._facts(make.one(s, p, o, name[0] if name else self.default) for s, p, o, *name in rows)
            else:
                yield from self._facts(self._parsed(stream, self.format.rdf))

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Turn read errors into an InputError with the file and, if known, the line."""
        self._skipped = []
        try:
            yield
        except SyntaxError as error:
            if "LoadDocumentCallback" in error.msg:  # the parser's error for a remote context
                raise InputError(self._remote_context()) from None
            place = f"{self.path}:{error.lineno}" if error.lineno else self.path
            raise InputError(f"{place}: {error.msg}") from None
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}") from None

    def _remote_context(self) -> str:
        with self.format.open(self.path) as stream:
            named = _CONTEXT.search(stream.read())
        address = "an address" if named is None else named[1].decode(errors="replace")
        return (
            f"{self.path}: its context is at {address}, and nothing is loaded from there: save it as a file, and give "
            "that with context=FILE, on the command line with --context FILE"
        )

    def _rows(self, stream: BinaryIO) -> Iterator[list[str]]:
        """Yield the labels of facts, three or four from a table, three from a network."""
        if self.format.ending in NETWORKS:
            from gumption.kg.networks import read_network

            whole = io.BytesIO(b"".join(_checked_xml(stream)))
            facts, self._left_out = read_network(whole, self.format.ending)
            return map(list, facts)
        delimiter = self.layout.delimiter
        as_csv = self.format.ending == _CSV or delimiter is not None
        rows = csv_rows(stream, self._bad, delimiter) if as_csv else self._tsv_rows(stream)
        return (cells for _, cells in self.layout.cells(self.path, rows, self._bad))

    def _tsv_rows(self, stream: BinaryIO) -> Iterator[Row]:
        for first, block in _whole_lines(stream):
            # Not splitlines(), which also splits at other characters that a label may contain.
            for number, line in enumerate(block.split(b"\n"), start=first):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r")
                except UnicodeDecodeError as error:
                    self._bad(number, f"the text is not UTF-8: {error.reason}")
                    continue
                if not text:
                    continue
                fields = text.split("\t")
                if "\\" in text:
                    fields = [_ESCAPED.sub(lambda match: _UNESCAPES[match[0]], field) for field in fields]
                yield number, fields

    def _parsed(self, stream: BinaryIO, form: ox.RdfFormat) -> Iterator[ox.Quad]:
        if form not in LINE_FORMATS:
            if form == ox.RdfFormat.RDF_XML:
                source = _Pieces(_checked_xml(stream))
            elif form == ox.RdfFormat.JSON_LD:
                source = _Pieces(_checked_json(stream, self.context))
            else:
                source = _CheckedTerms(stream)
            base = self.base or self.path.resolve().as_uri()
            for quad in ox.parse(source, form, base_iri=base):  # pyright: ignore[reportArgumentType,reportCallIssue]
                if isinstance(source, _CheckedTerms):
                    source.opened = 0
                if form == ox.RdfFormat.N3 and not isinstance(quad.graph_name, ox.DefaultGraph):
                    raise InputError(
                        f"{self.path}: it has a formula, {{ ... }}: what is in braces is no fact; remove it"
                    )
                yield quad
            return
        for first, block in _whole_lines(stream):
            try:
                # A list, so that an error is raised before any quad of the block is yielded.
                quads = list(ox.parse(block, form)) if block.count(TERM_OPENS) <= DEPTH else None
            except SyntaxError:
                quads = None
            yield from self._good_lines(block, first, form) if quads is None else quads

    def _good_lines(self, block: bytes, first: int, form: ox.RdfFormat) -> Iterator[ox.Quad]:
        for number, line in enumerate(block.split(b"\n"), start=first):
            try:
                if line.count(TERM_OPENS) > DEPTH:
                    raise SyntaxError(TOO_MANY_TERMS)
                quads = list(ox.parse(line, form))
            except SyntaxError as error:
                self._bad(number, _RDF_STAR if _QUOTED.search(_IN_QUOTES.sub(b"", line)) else error.msg)
                continue
            yield from quads

    def _facts(self, parsed: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """Put each quad into a named graph, and give blank nodes names that depend on file and graph."""
        default = self.name
        blanks: dict[object, ox.BlankNode] = {}
        other = cached(blank_nodes_named)

        def known(term: Any, graph: Any) -> Any:
            """Return the term that the store uses."""
            if isinstance(term, ox.BlankNode):
                if term not in blanks:
                    # Keep a name that this class made, so that a graph saved and loaded again gets no second node.
                    ours = _NAMED_HERE.match(term.value)
                    kept = ours is not None and ours[1] in (_mark(default), _mark(graph))
                    name = f"b{_mark(default)}{self._digest}-{len(blanks)}"
                    blanks[term] = term if kept else ox.BlankNode(name)
                return blanks[term]
            if isinstance(term, ox.Triple):
                return ox.Triple(known(term.subject, graph), term.predicate, known(term.object, graph))
            return other(term)

        for quad in parsed:
            subject, predicate, object_, name = quad
            if isinstance(name, ox.DefaultGraph):
                name = is_about(quad) or default
            elif isinstance(name, ox.NamedNode) and name.value == LABELS:
                continue
            name = name if name == default else known(name, name)
            yield ox.Quad(known(subject, name), predicate, known(object_, name), name)

    @cached_property
    def _digest(self) -> str:
        context = self.context.read_bytes() if self.context is not None else b""
        digest = hashlib.sha256(repr((self.base, context, self.layout)).encode())  # these determine the nodes
        with self.format.open(self.path) as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
        return digest.hexdigest()[:12]

    def _bad(self, number: int, reason: str) -> None:
        if len(self._skipped) >= self.skip_bad:
            over = (
                f" (this is bad line {self.skip_bad + 1}, and {self.skip_bad} may be skipped)" if self.skip_bad else ""
            )
            raise InputError(f"{self.path}:{number}: {reason}{over}")
        self._skipped.append(f"{self.path}:{number}: {reason}")


def _mark(graph: object) -> str:
    """Return the part of a blank node's name that identifies the graph its file was loaded into."""
    return hashlib.sha256(str(graph).encode()).hexdigest()[:6]


def _checked_json(stream: BinaryIO, context: Path | None) -> Iterator[bytes]:
    """Yield the JSON-LD, with the contexts of a file in place of contexts that it names by address.

    :raises SyntaxError: invalid JSON; brackets nested too deep for the RDF parser.
    """
    text = stream.read()
    hook = None if context is None else partial(_object, _context(context))
    signs = _BRACKETS.findall(_IN_QUOTES.sub(b"", text))
    try:
        if max(itertools.accumulate(1 if sign in b"[{" else -1 for sign in signs), default=0) > DEPTH:
            raise RecursionError
        document = json.loads(text, object_pairs_hook=hook)
    except RecursionError:
        raise SyntaxError("too many brackets within each other") from None
    except ValueError as error:  # not JSON, or not UTF-8
        raise _syntax_error(str(error), getattr(error, "lineno", 1)) from None
    yield text if context is None else json.dumps(document).encode()


def _context(path: Path) -> list[Any]:
    try:
        ours = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the context {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the context {path} is not JSON: {error}") from None
    if not isinstance(ours, dict) or "@context" not in ours:
        raise InputError(f"{path} is no context: it has to be a JSON object with the key @context")
    return ours["@context"] if isinstance(ours["@context"], list) else [ours["@context"]]


def _object(ours: list[Any], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object, with our contexts in place of contexts that it names by address.

    :raises ValueError: a repeated key.
    """
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("an object has a key twice")
    if "@context" in found:
        contexts = found["@context"] if isinstance(found["@context"], list) else [found["@context"]]
        found["@context"] = [part for one in contexts for part in (ours if isinstance(one, str) else [one])]
    return found


def _whole_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of lines, about BLOCK bytes long, each with the number of its first line."""
    first = 1
    while block := stream.read(BLOCK):
        block += stream.readline()
        yield first, block
        first += block.count(b"\n")


# ---- Streams for the RDF parsers, with bounded nesting: a parser that runs out of stack ends the program.


TERM_OPENS = b"<<"
TOO_MANY_TERMS = f"more than {DEPTH:,} times << in one fact"

_IN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_BRACKETS = re.compile(rb"[][{}]")


class _Pieces:
    """A readable stream of blocks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._block = blocks, memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size` unless it is negative."""
        if not self._block:
            self._block = memoryview(next(self._blocks, b""))
        size = len(self._block) if size < 0 else size
        piece, self._block = bytes(self._block[:size]), self._block[size:]
        return piece


def _checked_xml(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of RDF/XML; SyntaxError, with the line, before a block that is not well-formed or too deep.

    The RDF parser itself accepts a truncated file, and its time grows with the square of the depth. Entities that
    expand to other entities are refused: a few such lines make terabytes.
    """
    parser = expat.ParserCreate()
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        if not depth and name == "Ontology" and attributes.get("xmlns") == _OWL:
            problem = "this is OWL/XML, not RDF/XML: save the ontology as RDF/XML or Turtle"
            raise _syntax_error(problem, parser.CurrentLineNumber)
        depth += 1
        if depth > DEPTH:
            raise _syntax_error(f"more than {DEPTH:,} elements within each other", parser.CurrentLineNumber)

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(name: str, _parameter: bool, value: str | None, *_: object) -> None:
        if value is not None and "&" in value:
            problem = f"the entity {name!r} is made of other entities: write its value in full"
            raise _syntax_error(problem, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = start, end, entity
    block = b" "
    while block:
        block = stream.read(BLOCK)
        try:
            parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise _syntax_error(expat.ErrorString(error.code), error.lineno) from None
        yield block


def _syntax_error(text: str, line: int) -> SyntaxError:
    return SyntaxError(text, (None, line, None, None))


class _CheckedTerms:
    """A readable stream of Turtle or a similar format; SyntaxError for too many triple terms within a fact.

    :ivar opened: the number of triple terms begun; the reader resets it to 0 at each fact.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.opened = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size` unless it is negative."""
        block = self._stream.read(size)
        self.opened += block.count(TERM_OPENS)
        if self.opened > DEPTH:
            raise SyntaxError(TOO_MANY_TERMS)
        return block


# ---- Raw N-Triples files, for a store's own loader, which makes no Python object of a quad.


# Content that FactFile changes, refuses or moves: blank nodes, triple terms, statements about graphs, comments
_OTHER = re.compile(rb"_:|<<|<urn:gumption:(?:graph|blank):|(?:^|\.)[ \t]*#", re.MULTILINE)


class _PlainTriples(_Pieces):
    """A stream of the N-Quads of a graph: the lines of an N-Triples file up to the first that is no plain fact, each
    fact also in the default graph.

    All are in a single stream, because data loaded at once take half the space of data that a store has to merge.

    :ivar stopped: whether the file has content other than facts.
    :ivar error: the error that ended the read.
    """

    def __init__(self, stream: BinaryIO, graph: ox.NamedNode | ox.BlankNode) -> None:
        super().__init__(self._parts(stream, graph))
        self.stopped = False
        self.error: Exception | None = None

    def _parts(self, stream: BinaryIO, graph: ox.NamedNode | ox.BlankNode) -> Iterator[bytes]:
        end = f" {graph} .\n".encode()
        while block := self._lines(stream):
            # `FactFile` parses files with other lines.
            if _OTHER.search(block) or block.count(b" .\n") != block.count(b"\n"):
                self.stopped = True
                raise ValueError("not only facts")
            yield block.replace(b" .\n", end)
            yield block

    def _lines(self, stream: BinaryIO) -> bytes:
        try:
            block = stream.read(BLOCK)
            block += stream.readline()
        except (OSError, EOFError, zlib.error) as error:
            self.error = error
            raise
        if mark := HASH_LINE.match(block):  # of the whole file
            block = block[mark.end() :]
        return block if block.endswith(b"\n") or not block else block + b"\n"
