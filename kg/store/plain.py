"""N-Triples files as they are, for a store's own loader, which spares Python each of their quads."""

import re
import zlib
from typing import BinaryIO

_BLOCK = 1 << 20  # bytes
_NAME = re.compile(rb"<(urn:gumption:(?:entity|relation):[^>]*)>")
# What FactFile does not pass on as it is: blank nodes, triples about triples, statements about names and graphs, and
# numbers, which may be written in a way that a store would change.
_OTHER = re.compile(rb"_:|<<|rdf-schema#label>|<urn:gumption:graph:|XMLSchema#")


class PlainTriples:
    """A file to read from, with whole lines of another one, up to where that has anything but facts.

    :ivar names: the IRIs of gumption's entities and relations in what was read, some 100 bytes of memory each.
    :ivar stopped: whether there was something else.
    :ivar error: what went wrong when the file was read.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._block = memoryview(b"")
        self.names: set[bytes] = set()
        self.stopped = False
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        if not self._block:
            self._block = memoryview(self._next())
        size = len(self._block) if size < 0 else size
        piece, self._block = bytes(self._block[:size]), self._block[size:]
        return piece

    def _next(self) -> bytes:
        try:
            block = self._stream.read(_BLOCK)
            block += self._stream.readline()
        except (OSError, EOFError, zlib.error) as error:
            self.error = error
            raise
        if _OTHER.search(block):
            self.stopped = True
            raise ValueError("not only facts")
        self.names.update(_NAME.findall(block))
        return block
