"""Files of facts, written and read: N-Triples, N-Quads, Turtle, TriG, TSV and CSV, also compressed.

N3, RDF/XML and JSON-LD are only read. All are read a block at a time, but for JSON-LD, which is read whole.

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
import hashlib
import io
import itertools
import lzma
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, BinaryIO
from xml.parsers import expat

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError, Note
from gumption.data.packed import open_packed
from gumption.data.settings import Whole, check
from gumption.data.tables import FACT, Row, TableLayout, csv_rows
from gumption.data.writing import check_name, whole_file
from gumption.kg.vocabulary import (
    ABOUT,
    BLANK,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    LABELS,
    PREFIXES,
    RDFS_LABEL,
    RELATION,
    Triple,
    is_text,
    kept_literal,
    label_to_iri,
    term_to_label,
)

from .quads import Completion, Quads, Remembered, label_quad

# ---- Statements about a named graph: source, licence, attribution.
#
# Each statement is a triple (graph, key, text) in the reserved graph ABOUT. Its keys are terms of Dublin Core
# (dcterms:source, dcterms:license, dcterms:title, ...) and of Creative Commons (cc:attributionName for "attribution");
# a key that neither has is a name of gumption's own. RDF files carry the statements among their triples. A TSV or CSV
# file has no place for them: they stand beside it in `FILE.license`, each on a line `graph key text` with tabs between
# (the REUSE specification 3.3 has that name).

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
    """Key -> texts, sorted and joined, of statements (IRI of the key, text)."""
    said: dict[str, list[str]] = {}
    for key, text in sorted((_KEYS.get(iri) or iri.removeprefix(_OWN), text) for iri, text in statements):
        said.setdefault(key, []).append(text)
    return {key: "; ".join(texts) for key, texts in said.items()}


def about_quads(name: str, about: Mapping[str, str]) -> list[ox.Quad]:
    """Statements about a graph as quads of ABOUT; InputError for a value that is no text."""
    graph = ox.NamedNode(label_to_iri(name, GRAPH))
    quads = []
    for key, text in about.items():
        if not text or not is_text(text):
            raise InputError(f"{key} of the graph {name!r} is {text!r}: it has to be text")
        quads.append(ox.Quad(graph, ox.NamedNode(key_to_iri(key)), ox.Literal(text), _ABOUT))
    return quads


def annotation_update(name: str, about: Mapping[str, str]) -> str:
    """The SPARQL update that replaces the statements about a graph under these keys."""
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
    """The file beside a TSV or CSV file that has the statements about its graphs."""
    return path.with_name(f"{path.name}.license")


def read_sidecar(path: Path) -> Iterator[ox.Quad]:
    """The statements beside a TSV or CSV file, if any. Other lines, such as other programs write, are passed over."""
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
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}


@dataclass(frozen=True)
class FileFormat:
    """
    :ivar rdf: None for a table.
    :ivar csv: whether a table is CSV, else TSV.
    :ivar packed: .gz, .bz2, .xz or "".
    """

    rdf: ox.RdfFormat | None
    csv: bool
    packed: str

    @property
    def names_graphs(self) -> bool:
        """Whether such a file names the graphs of its facts."""
        return self.rdf is None or self.rdf.supports_datasets

    def open(self, path: Path) -> BinaryIO:
        """The file for reading."""
        return open_packed(path, lines=self.rdf is None or self.rdf in LINE_FORMATS, by_name=True)


def file_format(path: Path, *, write: bool = False) -> FileFormat:
    """The format of a file's ending; InputError for an unknown one, to `write` also for one that is only read."""
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
    """The ending of its compression, if any, and the one before."""
    return (path.suffix, path.with_suffix("").suffix) if path.suffix in _PACKED else ("", path.suffix)


def write_facts(path: Path, graphs: Mapping[str, Iterable[Triple]], about: About) -> None:
    """Write label triples, graph by graph, and the statements about the graphs.

    The file is written beside `path` and renamed once it is complete. A table's statements are written first, so that
    the facts never lie there without their licence.
    """
    form = file_format(path, write=True)
    if form.rdf is None:
        beside = sidecar(path)
        rows = [(name, key, text) for name, said in about.items() for key, text in said.items()]
        if rows:
            lines = ("\t".join(" ".join(field.split()) for field in row) + "\n" for row in rows)
            with whole_file(beside) as part:
                part.write_bytes("".join(lines).encode())
        elif beside.exists():
            raise InputError(f"{beside} is there and says what holds for an older {path.name}: move it away first")
    with whole_file(path) as part, part.open("wb") as file, _compressed(file, form.packed) as out:
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
        # Also before a label that begins with a byte order mark, which reading removes at the start of a file.
        if number == 0 and (FACT.looks_like_header(row) or row[0].startswith("\ufeff")):
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
    # Neither name nor time in the header: the same facts give the same bytes.
    return gzip.GzipFile("", "wb", 6, out, mtime=0) if packed else nullcontext(out)  # pyright: ignore


# ---- Reading

BLOCK = 1 << 20  # bytes
DEPTH = 1_000  # elements of XML, brackets of JSON or triple terms within each other
_ESCAPED = re.compile("|".join(map(re.escape, _UNESCAPES)))
_BEYOND_RDF = "a triple about a triple ({}) is not supported: name it with a node"


class SkippedLines(Note):
    """Bad lines of a file were left out because the caller allowed it."""


class FactFile:
    """The facts of a file as quads, each in its named graph, or in `default`.

    Of N-Triples, N-Quads, TSV and CSV, which have one fact a line, up to `skip_bad` bad lines are left out, of which
    `warn` warns. `layout` is for TSV and CSV. Every method raises InputError, with file and line, for a file that is
    missing, of an unknown kind, or broken beyond that.
    """

    def __init__(
        self, path: Path, default: str = DEFAULT_GRAPH, skip_bad: int = 0, layout: TableLayout | None = None
    ) -> None:
        check_name(path)
        self.path = path
        self.default = default
        self.layout = layout or TableLayout()
        self.skip_bad = check("skip_bad", skip_bad, Whole)
        self.format = file_format(path)
        if skip_bad and self.format.rdf is not None and self.format.rdf not in LINE_FORMATS:
            raise InputError(
                f"{path}: only N-Triples, N-Quads, TSV and CSV have one fact a line, so only there can bad lines be "
                "skipped"
            )
        if self.format.rdf is not None and self.layout != TableLayout():
            raise InputError(f"{path}: columns and a header are for .tsv and .csv files")
        self.empty = False  # `check` says so
        self._skipped: list[str] = []

    def check(self) -> None:
        """Read the whole file, so that errors are found before any fact is used."""
        with self._errors_named(), self.format.open(self.path) as stream:
            found = self._rows(stream) if self.format.rdf is None else self._parsed(stream, self.format.rdf)
            self.empty = not sum(1 for _ in found)

    def load_plain(self, store: ox.Store, more: list[ox.Quad]) -> bool:
        """Load the whole file by the store's own loader, with the labels of its names, and `more`.

        False, and nothing is added, for other files than N-Triples, where lines may be bad, and for a file with more in
        it than facts.
        """
        if self.format.rdf != ox.RdfFormat.N_TRIPLES or self.skip_bad:
            return False
        with self._errors_named():
            stream = self.format.open(self.path)
        with stream:
            plain = _PlainTriples(stream, self.name, more)
            try:
                store.bulk_load(plain, ox.RdfFormat.N_QUADS)  # pyright: ignore[reportArgumentType]
            except Exception as error:
                if plain.stopped:
                    return False
                if isinstance(error, SyntaxError) or plain.error:
                    with self._errors_named():
                        raise plain.error or error from None
                raise
        return True

    @property
    def name(self) -> ox.NamedNode:
        """Of the graph `default`."""
        return ox.NamedNode(label_to_iri(self.default, GRAPH))

    def batches(self, size: int) -> Iterator[list[ox.Quad]]:
        """The quads of the file in lists of `size`."""
        quads = self.quads()
        while batch := list(itertools.islice(quads, size)):
            yield batch

    def warn(self) -> None:
        """Warn of the lines that the last reading left out: their number and the first of them."""
        if self._skipped:
            first = "; ".join(self._skipped[:3])
            number = "1 bad line was" if len(self._skipped) == 1 else f"{len(self._skipped)} bad lines were"
            more = ", ..." if len(self._skipped) > 3 else ""
            warnings.warn(f"{number} skipped: {first}{more}", SkippedLines, stacklevel=3)

    def quads(self) -> Iterator[ox.Quad]:
        """The quads one by one: facts, and statements about graphs in the graph ABOUT."""
        with self._errors_named(), self.format.open(self.path) as stream:
            if self.format.rdf is None:
                yield from read_sidecar(self.path)
                make = Quads()
                for subject, relation, object_, *name in self._rows(stream):
                    yield make.one(subject, relation, object_, name[0] if name else self.default)
            else:
                yield from self._facts(self._parsed(stream, self.format.rdf))

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Errors of reading become an InputError with the file and, where it is known, the line."""
        self._skipped = []
        try:
            yield
        except SyntaxError as error:
            place = f"{self.path}:{error.lineno}" if error.lineno else self.path
            raise InputError(f"{place}: {error.msg}") from None
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}") from None

    def _rows(self, stream: BinaryIO) -> Iterator[list[str]]:
        """The three or four labels of the facts of a TSV or CSV file."""
        rows = csv_rows(stream, self._bad) if self.format.csv else self._tsv_rows(stream)
        return (cells for _, cells in self.layout.cells(self.path, rows, self._bad))

    def _tsv_rows(self, stream: BinaryIO) -> Iterator[Row]:
        for first, block in _whole_lines(stream):
            # Not splitlines(): a label may hold the other characters that it takes for line ends.
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
            else:
                source = _Pieces(_checked_json(stream)) if form == ox.RdfFormat.JSON_LD else _CheckedTerms(stream)
            for quad in ox.parse(source, form):  # pyright: ignore[reportArgumentType,reportCallIssue]
                if isinstance(source, _CheckedTerms):
                    source.opened = 0
                if form == ox.RdfFormat.N3 and not isinstance(quad.graph_name, ox.DefaultGraph):
                    raise InputError(
                        f"{self.path}: it has a formula, {{ ... }}: what is in braces is no fact; remove it"
                    )
                if isinstance(quad.object, ox.Triple):
                    problem = _BEYOND_RDF.format(quad.object)
                    raise InputError(f"{self.path}: {problem}")
                yield quad
            return
        for first, block in _whole_lines(stream):
            try:
                # A list, so that an error is found before any quad of the block has been passed on.
                quads = list(ox.parse(block, form)) if block.count(TERM_OPENS) <= DEPTH else None
            except SyntaxError:
                quads = None
            if quads is None or (TERM_OPENS in block and any(isinstance(quad.object, ox.Triple) for quad in quads)):
                quads = self._good_lines(block, first, form)
            yield from quads

    def _good_lines(self, block: bytes, first: int, form: ox.RdfFormat) -> Iterator[ox.Quad]:
        for number, line in enumerate(block.split(b"\n"), start=first):
            try:
                if line.count(TERM_OPENS) > DEPTH:
                    raise SyntaxError(TOO_MANY_TERMS)
                quads = list(ox.parse(line, form))
            except SyntaxError as error:
                self._bad(number, error.msg)
                continue
            for quad in quads:
                if isinstance(quad.object, ox.Triple):
                    self._bad(number, _BEYOND_RDF.format(quad.object))
                else:
                    yield quad

    def _facts(self, parsed: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """Without labels that follow from IRIs, and with an IRI in place of a blank node and of the default graph."""
        blanks: dict[str, ox.NamedNode] = {}

        def blank(node: ox.BlankNode) -> ox.NamedNode:
            if node.value not in blanks:
                blanks[node.value] = ox.NamedNode(f"{BLANK}{self._digest}-{len(blanks)}")
            return blanks[node.value]

        kept = Remembered(kept_literal)
        default = self.name
        for quad in parsed:
            subject, predicate, object_, name = quad
            if isinstance(name, ox.DefaultGraph):
                name = default
                if isinstance(object_, ox.Literal) and isinstance(subject, ox.NamedNode):
                    if predicate.value == RDFS_LABEL:
                        spaces = [space for space in (ENTITY, RELATION, GRAPH) if subject.value.startswith(space)]
                        if object_ in [ox.Literal(term_to_label(subject, space)) for space in spaces]:
                            continue
                    name = is_about(quad) or default
            elif isinstance(name, ox.BlankNode):
                name = blank(name)
            elif name.value == LABELS:
                continue
            if isinstance(subject, ox.BlankNode):
                subject = blank(subject)
            if isinstance(object_, ox.BlankNode):
                object_ = blank(object_)
            elif isinstance(object_, ox.Literal):
                object_ = kept[object_]
            yield ox.Quad(subject, predicate, object_, name)

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
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


def _whole_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Blocks of lines, about BLOCK bytes long, each with the number of its first line."""
    first = 1
    while block := stream.read(BLOCK):
        block += stream.readline()
        yield first, block
        first += block.count(b"\n")


# ---- Streams for the parsers of RDF, which end the program when they run out of stack: nesting is bounded.


TERM_OPENS = b"<<"
TOO_MANY_TERMS = f"more than {DEPTH:,} times << in one fact: a triple about a triple is not supported"

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"|(".*)\Z', re.DOTALL)  # the group: one that does not end here
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1


class _Pieces:
    """Blocks as a stream to read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._block = blocks, memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        if not self._block:
            self._block = memoryview(next(self._blocks, b""))
        size = len(self._block) if size < 0 else size
        piece, self._block = bytes(self._block[:size]), self._block[size:]
        return piece


def _checked_json(stream: BinaryIO) -> Iterator[bytes]:
    """The blocks of JSON; SyntaxError, with the line, before one with brackets too deep within each other."""
    begun = b""  # a string that the next block continues
    depth, line = 0, 1
    while block := stream.read(BLOCK):
        text, quote, rest = _STRING.sub(rb"\1", begun + block).partition(b'"')
        begun = quote + b"\\" * ((len(rest) - len(rest.rstrip(b"\\"))) % 2)
        depths = depth + np.cumsum(_STEPS[np.frombuffer(text, dtype=np.uint8)])
        if (deep := depths > DEPTH).any():
            line += text.count(b"\n", 0, int(deep.argmax()))
            raise _syntax_error(f"more than {DEPTH:,} brackets within each other", line)
        depth = int(depths[-1]) if len(depths) else depth
        line += block.count(b"\n")
        yield block


def _checked_xml(stream: BinaryIO) -> Iterator[bytes]:
    """The blocks of RDF/XML; SyntaxError, with the line, before one that is not well-formed, or too deep.

    The RDF parser itself takes a file that ends in the middle for a complete one, and its time grows with the square of
    the depth. Entities may not expand to others: a few such lines make terabytes.
    """
    parser = expat.ParserCreate()
    depth = 0

    def start(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
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
    """A stream of Turtle or the like to read from; raises SyntaxError for too many triple terms without a fact.

    :ivar opened: how often a triple term began; the reader of the facts sets it to 0 at each.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.opened = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        block = self._stream.read(size)
        self.opened += block.count(TERM_OPENS)
        if self.opened > DEPTH:
            raise SyntaxError(TOO_MANY_TERMS)
        return block


# ---- N-Triples files as they are, for a store's own loader, which makes no Python object of a quad.


_LABELS = 10_000  # of names in a block
_NAME = re.compile(rb"<(urn:gumption:(?:entity|relation):[^>]*)>")
# What FactFile changes or refuses: blank nodes, triples about triples, statements about names and graphs, and numbers,
# which may be written in a way that a store would change.
_OTHER = re.compile(rb"_:|<<|rdf-schema#label>|<urn:gumption:graph:|XMLSchema#")


class _PlainTriples(_Pieces):
    """The N-Quads of one graph: the lines of an N-Triples file, as far as they hold nothing but facts, and then the
    labels of gumption's names in them and of the graph.

    All are one stream, because a store keeps what it loads at once in half the space of what it has to merge.

    :ivar stopped: whether there was something else than facts.
    :ivar error: why the file could not be read.
    """

    def __init__(self, stream: BinaryIO, graph: ox.NamedNode, more: list[ox.Quad]) -> None:
        """:param more: quads that come at the end, too."""
        super().__init__(self._parts(stream, graph, more))
        self.stopped = False
        self.error: Exception | None = None

    def _parts(self, stream: BinaryIO, graph: ox.NamedNode, more: list[ox.Quad]) -> Iterator[bytes]:
        end = f" {graph} .\n".encode()
        names: set[bytes] = set()  # some 100 bytes each
        while block := self._lines(stream):
            # A line of another kind is left to the parser of single lines.
            if _OTHER.search(block) or block.count(b" .\n") != block.count(b"\n"):
                self.stopped = True
                raise ValueError("not only facts")
            names.update(_NAME.findall(block))
            yield block.replace(b" .\n", end)
        left = iter(names)
        while some := [ox.NamedNode(iri.decode()) for iri in itertools.islice(left, _LABELS)]:
            namespaces = (RELATION if name.value.startswith(RELATION) else ENTITY for name in some)
            yield _n_quads(list(map(label_quad, some, namespaces)))
        yield _n_quads([label_quad(graph, GRAPH), *more])

    def _lines(self, stream: BinaryIO) -> bytes:
        try:
            block = stream.read(BLOCK)
            block += stream.readline()
        except (OSError, EOFError, zlib.error) as error:
            self.error = error
            raise
        return block if block.endswith(b"\n") or not block else block + b"\n"


def _n_quads(quads: list[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
