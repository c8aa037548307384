"""Texts with names in braces, such as "twice: {a}.", and what is drawn for a name. Nothing in them is executed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from string import Formatter
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge, Le, Len

from gumption.data import InputError
from gumption.data.settings import check, unknown
from gumption.data.wording import shown

from .mapping_tasks import LETTERS
from .task import DIGITS

Length: TypeAlias = Annotated[int, Ge(1), Le(1_000)]

_NAME = re.compile("[a-z][a-z0-9_]*")
_ALPHABETS = {"letters": LETTERS, "digits": DIGITS}


@dataclass(frozen=True)
class Template:
    """A text in pieces: each has a literal text and the name behind it, None behind the last."""

    pieces: tuple[tuple[str, str | None], ...]

    @classmethod
    def read(cls, text: str) -> "Template":
        """A template from a text; "{{" and "}}" are braces.

        :raises InputError: something else than a name is in braces, or the text is not in Latin-1.
        """
        check_latin(text)
        try:
            pieces = list(Formatter().parse(text))
        except ValueError as error:
            raise InputError(f"{text!r} has braces that do not fit: {error}; write {{{{ for a brace") from None
        for _, name, form, conversion in pieces:
            if name is not None and (form or conversion or not _NAME.fullmatch(name)):
                raise InputError(f"{text!r} has more than a name in braces: a name is of small letters, digits and _")
        return cls(tuple((literal, name) for literal, name, _, _ in pieces))

    @property
    def names(self) -> list[str]:
        """The names, each once, in order."""
        return list(dict.fromkeys(name for _, name in self.pieces if name is not None))

    @property
    def literal(self) -> str:
        """All that stands outside of braces."""
        return "".join(literal for literal, _ in self.pieces)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with values for its names."""
        return "".join(literal + ("" if name is None else values[name]) for literal, name in self.pieces)

    def pattern(self, patterns: Mapping[str, str]) -> re.Pattern[str]:
        """Finds the values in a filled text, by a regular expression for each name."""
        parts: list[str] = []
        met: set[str] = set()
        for literal, name in self.pieces:
            parts.append(re.escape(literal))
            if name is not None:
                parts.append(f"(?P={name})" if name in met else f"(?P<{name}>{patterns[name]})")
                met.add(name)
        return re.compile("".join(parts), re.DOTALL)


@dataclass(frozen=True)
class Source:
    """What a value is drawn from.

    :ivar draw: one value. :ivar pattern: a regular expression for any value.
    :ivar texts: all that a value consists of: texts of a list, or the characters of an alphabet.
    :ivar number: how many values there are.
    """

    draw: Callable[[Random], str]
    pattern: str
    texts: Sequence[str]
    number: int

    def several(self, number: int, draw: Random) -> list[str]:
        """So many values that differ."""
        found: dict[str, None] = {}
        while len(found) < number:
            found[self.draw(draw)] = None
        return list(found)


def read_source(value: Any, words: Sequence[str]) -> Source:
    """A source as a file has it: a list of texts, "words", "letters", "digits", or a table with `from` one of these and
    `length` a number of characters, or the least and the most.

    :raises InputError: it is something else, or no word has the length.
    """
    table: Mapping[str, Any] = value if isinstance(value, Mapping) else {"from": value}
    for key in table:
        if key not in ("from", "length"):
            raise InputError(unknown("a source", key, ("from", "length")))
    kind: Any = table.get("from")
    if isinstance(kind, str) and kind in _ALPHABETS:
        return _of_alphabet(_ALPHABETS[kind], *_lengths(table.get("length", 1)))
    if isinstance(kind, str) and kind != "words":
        raise InputError(unknown("a source", kind, (*_ALPHABETS, "words")) + ", or a list of texts")
    options = words if kind == "words" else _options(kind)
    if "length" in table:
        least, most = _lengths(table["length"])
        options = [text for text in options if least <= len(text) <= most]
        if not options:
            raise InputError(f"nothing in the source has a length from {least} to {most}")
    pattern = "|".join(map(re.escape, sorted(options, key=len, reverse=True)))
    return Source(lambda draw: draw.choice(options), pattern, options, len(options))


def check_latin(text: str) -> None:
    """:raises InputError: a character is none of Latin-1, so that it is no byte."""
    if strange := [character for character in text if ord(character) > 255]:
        raise InputError(f"{shown(text)} has {strange[0]!r}, which is not in Latin-1: each character has to be a byte")


def _options(value: Any) -> Sequence[str]:
    options = check("a source", value, Annotated[list[str], Len(1)])
    for text in options:
        check_latin(text)
        if not text:
            raise InputError("a source has an empty text")
    if len(set(options)) < len(options):
        raise InputError(f"a source has {next(text for text in options if options.count(text) > 1)!r} twice")
    return options


def _lengths(value: Any) -> tuple[int, int]:
    least, most = check("length", value if isinstance(value, list) else (value, value), tuple[Length, Length])
    if least > most:
        raise InputError(f"length goes from {least} to {most}: the least comes first")
    return least, most


def _of_alphabet(alphabet: str, least: int, most: int) -> Source:
    return Source(
        lambda draw: "".join(draw.choice(alphabet) for _ in range(draw.randint(least, most))),
        f"[{alphabet}]{{{least},{most}}}",
        alphabet,
        sum(len(alphabet) ** length for length in range(least, most + 1)),
    )
