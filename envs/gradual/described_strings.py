"""Strings that fit a description, and strings that just fail to, of a wanted length.

True strings are concatenations of whole n-grams and, with `anything`, of other letters, so both readings of a
description accept them. False strings are true ones of the same length with a fault. The automaton checks each.
"""

import random
from collections.abc import Sequence
from functools import lru_cache

from gumption.data import InputError

from .descriptions import ALPHABET, Description, member

TRIES = 100  # before a string is given up; most descriptions need one or two, hand-written ones can have none


def fitting_length(description: Description, length: int) -> int:
    """The least length, from the given one on, of both true strings and false ones.

    Rules that come from several n-grams together, such as `A and not AA and anything`, are left to the strings.
    """
    lengths = _lengths(description.plain)
    required = sum(map(len, description.plain)) if description.operator == "and" else 0
    if description.anything:
        return max(length, 1, required or min(map(len, description.forbidden), default=0))
    length = max(length, required, 1)
    while not _adds_up(lengths, length - required):
        length += 1
    return length


def true_string(description: Description, length: int, draw: random.Random) -> str:
    """A string of that many letters that fits a description in both readings.

    :param length: at least 1; `fitting_length` gives one that serves.
    :raises InputError: no such string was found; a description can be one that no string fits.
    """
    allowed = "".join(letter for letter in ALPHABET if letter not in description.forbidden)
    for _ in range(TRIES):
        filler = (draw.random() < 0.5 and description.foreign) or allowed
        string = _assembled(description.plain, description, length, filler, draw)
        if string is not None and member(description, string):
            return string
    raise not_found(description, length, True)


def false_string(description: Description, length: int, draw: random.Random) -> str:
    """A true string of that many letters with one fault, which makes it false in both readings.

    The fault is a letter that breaks the cover, an n-gram that is missing, or one that is forbidden.

    :param length: as for `true_string`.
    :raises InputError: no such string was found; `anything` alone has none.
    """
    if not description.always_true:
        for _ in range(TRIES):
            string = _spoiled(description, true_string(description, length, draw), draw)
            if not member(description, string):
                return string
    raise not_found(description, length, False)


def random_false_string(description: Description, length: int, draw: random.Random) -> str | None:
    """A false string of random letters; None where three of them were true by chance."""
    for _ in range(3):
        string = "".join(draw.choices(ALPHABET, k=length))
        if not member(description, string):
            return string
    return None


def not_found(description: Description, length: int, label: bool) -> InputError:
    """The error for a string that was not found."""
    kind = "true" if label else "false"
    return InputError(
        f"description {str(description)!r}: no {kind} string of {length} letters was found; "
        "try another length, or a description that some strings fit and others do not"
    )


def _lengths(grams: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(set(map(len, grams))))


@lru_cache(10_000)
def _adds_up(lengths: tuple[int, ...], total: int) -> bool:
    """Whether a total is a sum of these lengths, each of them taken any number of times."""
    reached = [True] + [False] * max(total, 0)
    for part in range(1, total + 1):
        reached[part] = any(length <= part and reached[part - length] for length in lengths)
    return total >= 0 and reached[total]


def _assembled(
    grams: Sequence[str], description: Description, length: int, filler: str, draw: random.Random
) -> str | None:
    """Some of the n-grams, all of them with `and`, and with `anything` stretches of filler letters, in random order;
    None where they cannot add up to the length."""
    pieces = list(grams) if description.operator == "and" else []
    left = length - sum(map(len, pieces))
    lengths = _lengths(grams)
    while left > 0:
        if description.anything:
            fitting = [gram for gram in grams if len(gram) <= left] if draw.random() < 0.5 else []
        else:
            fitting = [gram for gram in grams if _adds_up(lengths, left - len(gram))]
        if fitting:
            piece = draw.choice(fitting)
        elif description.anything and filler:
            piece = "".join(draw.choices(filler, k=min(left, draw.randint(1, 5))))
        else:
            return None
        pieces.append(piece)
        left -= len(piece)
    draw.shuffle(pieces)
    return "".join(pieces) if left == 0 and pieces else None


def _spoiled(description: Description, string: str, draw: random.Random) -> str:
    """The string, most often no longer true, at the same length."""
    grams, coin = description.plain, draw.random() < 0.5
    if description.anything:
        if description.forbidden and (coin or not grams):
            return _overwritten(string, draw.choice(description.forbidden), draw)
        return _without(string, draw.choice(grams), description, draw)
    if description.operator == "and" and len(grams) > 1 and coin:
        missing = draw.choice(grams)
        others = [gram for gram in grams if gram != missing]
        # The other n-grams may not add up to the length.
        if lacking := _assembled(others, description, len(string), "", draw):
            return lacking
    return _changed(string, draw.randrange(len(string)), description, draw)


def _overwritten(string: str, gram: str, draw: random.Random) -> str:
    """The string with an n-gram over some of its letters, if it is long enough."""
    start = draw.randint(0, max(len(string) - len(gram), 0))
    return (string[:start] + gram + string[start + len(gram) :])[: len(string)]


def _without(string: str, gram: str, description: Description, draw: random.Random) -> str:
    """The string with a letter changed in each occurrence of an n-gram."""
    for _ in range(2 * len(string)):  # a changed letter can complete another occurrence
        start = string.find(gram)
        if start < 0:
            break
        string = _changed(string, start + draw.randrange(len(gram)), description, draw)
    return string


def _changed(string: str, place: int, description: Description, draw: random.Random) -> str:
    """The string with another letter at a place: as likely one of the n-grams' letters as one of none."""
    own = "".join(description.plain).replace(string[place], "")
    letters = own if own and (draw.random() < 0.5 or not description.foreign) else description.foreign
    return string[:place] + draw.choice(letters or ALPHABET) + string[place + 1 :]
