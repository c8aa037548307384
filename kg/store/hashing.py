"""The hash of a set of facts, independent of the store and of the names of blank nodes."""

import hashlib

import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import BLANK, blank_nodes_named

from .answers import literal_labels
from .canonical import TooAlike, blank_nodes, canonical


class FactHash:
    """A writable file for the rows of an answer (TSV). It keeps the hash of their set, and facts with blank nodes."""

    def __init__(self) -> None:
        self._sum = 0
        self._number = -1  # the first line holds the column names
        self._rest = b""
        self._blank: list[bytes] = []

    def write(self, piece: bytes) -> int:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if self._number >= 0:
                if b"_:" in line or BLANK.encode() in line:
                    self._blank.append(line)
                elif line[-1:] != b">":  # a literal: numbers are abbreviated in TSV
                    start, _, literal = line.rpartition(b"\t")
                    self._add(start + b"\t" + literal_labels([literal])[0].encode())
                else:
                    self._add(line)
            self._number += 1
        return len(piece)

    def flush(self) -> None:
        """Do nothing: the writer calls it, but nothing is buffered."""

    @property
    def empty(self) -> bool:
        """Whether no row was written."""
        return self._number < 1

    def hexdigest(self) -> str:
        """Return the sha256 of the number of rows and the sum modulo 2**256 of their sha256. Facts that share blank
        nodes are hashed together, with canonical names.

        :raises InputError: blank nodes that cannot be distinguished in time.
        """
        rows = ox.parse_query_results(b"\n".join([b"?s\t?p\t?o", *self._blank, b""]), ox.QueryResultsFormat.TSV)
        self._blank, linked = [], []
        for row in rows:  # pyright: ignore[reportGeneralTypeIssues]
            triple = ox.Triple(*(blank_nodes_named(term) for term in row))
            if any(blank_nodes(triple)):
                linked.append(triple)
            else:  # a text that contains "_:"
                self._add(_line(triple))
        try:
            for group in canonical(linked):
                self._add(b"\n".join(map(_line, group)))
        except TooAlike as error:
            raise InputError(f"the graph has no hash: {error}; give them IRIs") from None
        return hashlib.sha256(f"{self._number} {self._sum % 2**256}".encode()).hexdigest()

    def _add(self, text: bytes) -> None:
        self._sum += int.from_bytes(hashlib.sha256(text).digest())


def _line(triple: ox.Triple) -> bytes:
    texts = (f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term) for term in triple)
    return "\t".join(texts).encode()
