"""RDF/XML on its way to the parser: cut-off files are refused, errors get a line, nesting and entities are bounded.

The RDF parser itself takes a file that ends in the middle for a complete one, and its time grows with the square of
the depth.
"""

from typing import BinaryIO
from xml.parsers import expat

DEPTH = 1_000  # elements within each other


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
