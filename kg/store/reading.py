"""Facts out of files of any length, a block at a time; JSON-LD is read whole."""

import hashlib
import itertools
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError, Note
from gumption.data.settings import Whole, check
from gumption.data.tables import Row, TableLayout, csv_rows
from gumption.data.writing import check_name
from gumption.kg.vocabulary import (
    BLANK,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    LABELS,
    RDFS_LABEL,
    RELATION,
    kept_literal,
    label_to_iri,
    term_to_label,
)

from .files import LINE_FORMATS, UNESCAPES, file_format, is_about, read_sidecar
from .quads import REMEMBERED, Quads, label_quad, namespace_of

BLOCK = 1 << 20  # bytes
DEPTH = 1_000  # elements of XML, brackets of JSON or triple terms within each other
_ESCAPED = re.compile("|".join(map(re.escape, UNESCAPES)))
_BEYOND_RDF = "a triple about a triple ({}) is not supported: name it with a node"


class SkippedLines(Note):
    """Bad lines of a file were left out because the caller allowed it."""


class FactFile:
    """The facts of a file as quads, each in its named graph, `default` for those in none.

    Of N-Triples, N-Quads, TSV and CSV, which have one fact a line, up to `skip_bad` bad lines are left out, and `warn`
    tells of them. `layout` is for TSV and CSV. Every method raises InputError, with file and line, for a file that is
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
        self.empty = False  # whether `check` found nothing in it
        self._skipped: list[str] = []

    def size(self) -> int:
        """How many bytes it has; 0 where it is missing."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def check(self) -> None:
        """Read the whole file, to find out what is wrong with it before anything of it is used."""
        with self._told(), self.format.open(self.path) as stream:
            found = self._rows(stream) if self.format.rdf is None else self._parsed(stream, self.format.rdf)
            self.empty = not sum(1 for _ in found)

    def load_plain(self, store: ox.Store, more: list[ox.Quad]) -> bool:
        """Have a store read the whole file by itself, with the labels of the names in it, and `more`.

        False, and nothing is added, where it is no N-Triples, lines may be bad, or there is more in it than facts.
        """
        if self.format.rdf != ox.RdfFormat.N_TRIPLES or self.skip_bad:
            return False
        with self._told():
            stream = self.format.open(self.path)
        with stream:
            plain = PlainTriples(stream, self.name, more)
            try:
                store.bulk_load(plain, ox.RdfFormat.N_QUADS)  # pyright: ignore[reportArgumentType]
            except Exception as error:
                if plain.stopped:
                    return False
                if isinstance(error, SyntaxError) or plain.error:
                    with self._told():
                        raise plain.error or error from None
                raise
        return True

    @property
    def name(self) -> ox.NamedNode:
        """Of the graph that has the facts which are in none."""
        return ox.NamedNode(label_to_iri(self.default, GRAPH))

    def batches(self, size: int) -> Iterator[list[ox.Quad]]:
        """The quads of the file in lists of `size`."""
        quads = self.quads()
        while batch := list(itertools.islice(quads, size)):
            yield batch

    def warn(self) -> None:
        """Tell how many lines the last reading left out, and the first few of them, in one SkippedLines."""
        if self._skipped:
            first = "; ".join(self._skipped[:3])
            number = "1 bad line was" if len(self._skipped) == 1 else f"{len(self._skipped)} bad lines were"
            more = ", ..." if len(self._skipped) > 3 else ""
            warnings.warn(f"{number} skipped: {first}{more}", SkippedLines, stacklevel=3)

    def quads(self) -> Iterator[ox.Quad]:
        """The quads one by one: facts, and statements about graphs in the graph ABOUT."""
        with self._told(), self.format.open(self.path) as stream:
            if self.format.rdf is None:
                yield from read_sidecar(self.path)
                make = Quads()
                for subject, relation, object_, *name in self._rows(stream):
                    yield make.one(subject, relation, object_, name[0] if name else self.default)
            else:
                yield from self._facts(self._parsed(stream, self.format.rdf))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong while the file is read, as an InputError."""
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
        for first, block in _blocks(stream):
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
                    fields = [_ESCAPED.sub(lambda match: UNESCAPES[match[0]], field) for field in fields]
                yield number, fields

    def _parsed(self, stream: BinaryIO, form: ox.RdfFormat) -> Iterator[ox.Quad]:
        if form not in LINE_FORMATS:
            check = {ox.RdfFormat.RDF_XML: CheckedXml, ox.RdfFormat.JSON_LD: CheckedJson}.get(form, CheckedTerms)
            source = check(stream)
            for quad in ox.parse(source, form):  # pyright: ignore[reportArgumentType,reportCallIssue]
                if isinstance(source, CheckedTerms):
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
        for first, block in _blocks(stream):
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
        """Without what other quads say anyway, and with an IRI wherever a store of facts has one."""
        blanks: dict[str, ox.NamedNode] = {}

        def blank(node: ox.BlankNode) -> ox.NamedNode:
            if node.value not in blanks:
                blanks[node.value] = ox.NamedNode(f"{BLANK}{self._digest}-{len(blanks)}")
            return blanks[node.value]

        kept = lru_cache(maxsize=REMEMBERED)(kept_literal)
        default = self.name
        for quad in parsed:
            subject, predicate, object_, name = quad
            if isinstance(name, ox.DefaultGraph):
                name = default
                if isinstance(object_, ox.Literal) and isinstance(subject, ox.NamedNode):
                    if predicate.value == RDFS_LABEL and _is_own_label(quad):
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
                object_ = kept(object_)
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


def _blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines of about BLOCK bytes, and the number of the first of them."""
    first = 1
    while block := stream.read(BLOCK):
        block += stream.readline()
        yield first, block
        first += block.count(b"\n")


def _is_own_label(quad: ox.Quad) -> bool:
    subject = str(quad.subject)[1:-1]
    namespaces = [ns for ns in (ENTITY, RELATION, GRAPH) if subject.startswith(ns)]
    return any(quad.object == ox.Literal(term_to_label(quad.subject, ns)) for ns in namespaces)


# ---- Bounds on nesting for the parsers of RDF, which end the program when they run out of stack.


TERM_OPENS = b"<<"
TOO_MANY_TERMS = f"more than {DEPTH:,} times << in one fact: a triple about a triple is not supported"

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"|(".*)\Z', re.DOTALL)  # the group: one that does not end here
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1


class CheckedJson:
    """A stream of JSON to read from; raises SyntaxError, with the line, before it passes on too deep brackets."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._block = memoryview(b"")
        self._open = b""  # what the next block has to begin with to be in the same string
        self._depth, self._line = 0, 1

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        if not self._block:
            self._block = memoryview(self._checked(self._stream.read(BLOCK)))
        size = len(self._block) if size < 0 else size
        piece, self._block = bytes(self._block[:size]), self._block[size:]
        return piece

    def _checked(self, block: bytes) -> bytes:
        text, quote, rest = _STRING.sub(rb"\1", self._open + block).partition(b'"')
        self._open = quote + b"\\" * ((len(rest) - len(rest.rstrip(b"\\"))) % 2)
        depths = self._depth + np.cumsum(_STEPS[np.frombuffer(text, dtype=np.uint8)])
        if (deep := depths > DEPTH).any():
            line = self._line + text.count(b"\n", 0, int(deep.argmax()))
            raise SyntaxError(f"more than {DEPTH:,} brackets within each other", (None, line, None, None))
        self._depth = int(depths[-1]) if len(depths) else self._depth
        self._line += block.count(b"\n")
        return block


class CheckedTerms:
    """A stream of Turtle or the like to read from; raises SyntaxError for too many triple terms without a fact.

    :ivar opened: how often a triple term began; who reads the facts sets it to 0 at each.
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


# ---- N-Triples files as they are, for a store's own loader, which spares Python each of their quads.


_LABELS = 10_000  # of names in a block
_NAME = re.compile(rb"<(urn:gumption:(?:entity|relation):[^>]*)>")
# What FactFile does not pass on as it is: blank nodes, triples about triples, statements about names and graphs, and
# numbers, which may be written in a way that a store would change.
_OTHER = re.compile(rb"_:|<<|rdf-schema#label>|<urn:gumption:graph:|XMLSchema#")


class PlainTriples:
    """The N-Quads of one graph to read from: the lines of an N-Triples file, as far as they hold nothing but facts, and
    then the labels of gumption's names in them and of the graph.

    All in one stream, because a store keeps what it loads at once in half the space of what it has to merge.

    :ivar stopped: whether there was something else.
    :ivar error: what went wrong when the file was read.
    """

    def __init__(self, stream: BinaryIO, graph: ox.NamedNode, more: list[ox.Quad]) -> None:
        """:param more: quads that come at the end, too."""
        self._stream = stream
        self._graph = graph
        self._more = more
        self._names: set[bytes] = set()  # some 100 bytes each
        self._blocks = self._parts()
        self._block = memoryview(b"")
        self.stopped = False
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        if not self._block:
            self._block = memoryview(next(self._blocks, b""))
        size = len(self._block) if size < 0 else size
        piece, self._block = bytes(self._block[:size]), self._block[size:]
        return piece

    def _parts(self) -> Iterator[bytes]:
        end = f" {self._graph} .\n".encode()
        while block := self._next():
            # A line of another kind is left to the parser of single lines.
            if _OTHER.search(block) or block.count(b" .\n") != block.count(b"\n"):
                self.stopped = True
                raise ValueError("not only facts")
            self._names.update(_NAME.findall(block))
            yield block.replace(b" .\n", end)
        names = iter(self._names)
        while some := [ox.NamedNode(iri.decode()) for iri in islice(names, _LABELS)]:
            yield _lines([label_quad(name, namespace_of(name)) for name in some])
        yield _lines([label_quad(self._graph, GRAPH), *self._more])

    def _next(self) -> bytes:
        try:
            block = self._stream.read(BLOCK)
            block += self._stream.readline()
        except (OSError, EOFError, zlib.error) as error:
            self.error = error
            raise
        return block if block.endswith(b"\n") or not block else block + b"\n"


def _lines(quads: list[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""


# ---- RDF/XML on its way to the parser: cut-off files are refused, errors get a line, nesting and entities are bounded.
#
# The RDF parser itself takes a file that ends in the middle for a complete one, and its time grows with the square of
# the depth.


class CheckedXml:
    """A stream of XML to read from; raises SyntaxError, with the line, before it passes on what is not well-formed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        block = self._stream.read(size)
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise _problem(expat.ErrorString(error.code), error.lineno) from None
        return block

    def _start(self, _name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise _problem(f"more than {DEPTH:,} elements within each other", self._parser.CurrentLineNumber)

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(self, name: str, _parameter: bool, value: str | None, *_: object) -> None:
        # A few such lines expand to terabytes.
        if value is not None and "&" in value:
            problem = f"the entity {name!r} is made of other entities: write its value in full"
            raise _problem(problem, self._parser.CurrentLineNumber)


def _problem(text: str, line: int) -> SyntaxError:
    return SyntaxError(text, (None, line, None, None))
