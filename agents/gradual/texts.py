"""Split texts into tokens, and compute the shape of a text."""

import re
from functools import lru_cache
from typing import TypeAlias

Tokens: TypeAlias = tuple[str, ...]

SILENCE = " "
_TOKEN = re.compile(r"[A-Za-z_]+|[0-9]+|.", re.DOTALL)


@lru_cache(maxsize=1 << 14)
def tokens(text: str) -> Tokens:
    """Split a text into runs of letters or underscores, runs of digits, and single other characters."""
    return tuple(_TOKEN.findall(text))


def is_word(token: str) -> bool:
    """Return whether a token is a run of letters."""
    return token[0].isalpha() or token[0] == "_"


def kind(token: str) -> str:
    """Return the class of a token: letters, digits, silence or a sign."""
    return "w" if is_word(token) else "d" if token[0].isdigit() else SILENCE if token == SILENCE else "s"


@lru_cache(maxsize=1 << 14)
def words(text: str) -> Tokens:
    """Return the runs of letters."""
    return tuple(filter(is_word, tokens(text)))


@lru_cache(maxsize=1 << 14)
def shape(text: str) -> str:
    """Return the sequence of the tokens' classes; runs of spaces count as a single space."""
    return re.sub(" +", " ", "".join(map(kind, tokens(text)))).strip()


@lru_cache(maxsize=1 << 14)
def context(text: str) -> str:
    """Return the first word of two or more letters and the shape of a question; alike questions share both."""
    return next((token for token in tokens(text) if is_word(token) and len(token) > 1), "") + "|" + shape(text)


def is_sign(char: str) -> bool:
    """Return whether a character can delimit texts: neither letter, digit nor silence."""
    return not char.isalnum() and char != SILENCE


def last_sign(text: str) -> str:
    """Return a separate sign at the end of a text, with the silence before it, else ""."""
    return text[-2:] if len(text) > 2 and text[-2] == SILENCE and is_sign(text[-1]) else ""
