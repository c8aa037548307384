"""Bounds on nesting for the parsers of RDF, which end the program when they run out of stack."""

import re
from typing import BinaryIO

import numpy as np

from .xml_check import DEPTH

TERM_OPENS = b"<<"
TOO_MANY_TERMS = f"more than {DEPTH:,} times << in one fact: a triple about a triple is not supported"

_BLOCK = 1 << 20  # bytes
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
            self._block = memoryview(self._checked(self._stream.read(_BLOCK)))
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
