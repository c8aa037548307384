"""N-Triples files as they are, for a store's own loader, which spares Python each of their quads."""

import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import pyoxigraph as ox

from gumption.kg.vocabulary import GRAPH

from .quads import label_quad, namespace_of

_BLOCK = 1 << 20  # bytes
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
            block = self._stream.read(_BLOCK)
            block += self._stream.readline()
        except (OSError, EOFError, zlib.error) as error:
            self.error = error
            raise
        return block if block.endswith(b"\n") or not block else block + b"\n"


def _lines(quads: list[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
