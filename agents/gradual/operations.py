"""The operations that programs are made of. Nothing here knows a word of any task."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .texts import SILENCE

#: What a program computes: a text or several, or None where it has no value.
Value: TypeAlias = str | tuple[str, ...] | None

TEXT, PIECE, STRING, SIGN, LIST = "text", "piece", "string", "sign", "list"


@dataclass(frozen=True)
class Operation:
    """A function of texts.

    :ivar takes: the kinds of its arguments; a string may be a text (much of a question) or a piece of one.
    :ivar gives: the kind of its value.
    """

    apply: Callable[..., Value]
    takes: tuple[str, ...]
    gives: str


def _tail(text: str, sign: str) -> Value:
    return text.partition(sign)[2] if sign and sign in text else None


def _head(text: str, sign: str) -> Value:
    return text.rpartition(sign)[0] if sign and sign in text else None


def _without(text: str, sign: str) -> Value:
    return text.replace(sign, "") if sign and sign in text else None


def _replaced(text: str, old: str, new: str) -> Value:
    if not old or old == new:
        return None
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


def _chars(text: str) -> Value:
    return tuple(text)


def _merged(one: str, other: str) -> Value:
    return one + "".join(char for char in other if char not in one)


def _difference(one: str, other: str) -> Value:
    return "".join(char for char in one if char not in other)


def _intersection(one: str, other: str) -> Value:
    return "".join(char for char in one if char in other)


def _zipped(one: str, other: str) -> Value:
    return "".join(a + b for a, b in zip(one, other, strict=False)) if len(one) == len(other) else None


OPERATIONS: dict[str, Operation] = {
    "tail": Operation(_tail, (TEXT, SIGN), TEXT),
    "head": Operation(_head, (TEXT, SIGN), TEXT),
    "without": Operation(_without, (TEXT, SIGN), TEXT),
    "replaced": Operation(_replaced, (TEXT, PIECE, PIECE), TEXT),
    "collapsed": Operation(lambda text: re.sub(" +", " ", text), (TEXT,), TEXT),
    "stripped": Operation(lambda text: text.strip(SILENCE), (TEXT,), TEXT),
    "mirrored": Operation(lambda text: text[::-1], (STRING,), PIECE),
    "start": Operation(lambda text: text[0] if text else None, (STRING,), PIECE),
    "end": Operation(lambda text: text[-1] if text else None, (PIECE,), PIECE),
    "rest": Operation(lambda text: text[1:] if text else None, (PIECE,), PIECE),
    "joined": Operation(lambda one, other: one + other, (PIECE, PIECE), PIECE),
    "merged": Operation(_merged, (PIECE, PIECE), PIECE),
    "difference": Operation(_difference, (PIECE, PIECE), PIECE),
    "intersection": Operation(_intersection, (PIECE, PIECE), PIECE),
    "zipped": Operation(_zipped, (PIECE, PIECE), PIECE),
    "length": Operation(lambda text: str(len(text)), (PIECE,), PIECE),
    "chars": Operation(_chars, (STRING,), LIST),
    "backwards": Operation(lambda items: items[::-1], (LIST,), LIST),
    "ordered": Operation(lambda items: tuple(sorted(items)), (LIST,), LIST),
    "distinct": Operation(lambda items: tuple(dict.fromkeys(items)), (LIST,), LIST),
    "row": Operation(lambda items, sign: sign.join(items), (LIST, SIGN), PIECE),
    "row with": Operation(lambda items, piece: piece.join(items), (LIST, PIECE), PIECE),
}  # fmt: skip

#: A program: ("operation", argument, ...), or a leaf such as ("content", 0).
Program: TypeAlias = tuple[Any, ...]


def parts(program: Program) -> list[str]:
    """The names of all operations and leaves in a program."""
    names = [program[0]]
    for part in program[1:]:
        if isinstance(part, tuple):
            names += parts(part)
    return names
