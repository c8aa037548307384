"""Strings as the challenge's own program of 2017 draws them, faults included, for comparisons with its records.

A true string is grown letter by letter beyond its target length until its last n-gram is complete. A false one is a
true string with one edit, which can change its length: so lengths tell something about the answer.
"""

import random

from .described_strings import TRIES, not_found, random_false_string
from .descriptions import ALPHABET, Description, automaton, member

_OWN = 0.46  # share of edits that try a letter of the n-grams: with it the mix of edits is the recorded one


def upstream_string(description: Description, target: int, label: bool, draw: random.Random, near_miss: bool) -> str:
    """A string with a label.

    For a description that every string fits the false string is empty, and its label is wrong.

    :param near_miss: whether false strings are spoiled true ones, and not random letters.
    :raises InputError: no such string was found.
    """
    if label:
        return _grown(description, target, draw)
    if description.always_true:
        return ""
    string = None if near_miss else random_false_string(description, target, draw)
    for _ in range(TRIES):
        if string is not None and len(string) >= 1 + near_miss and not member(description, string):
            return string
        string = _edited(description, _grown(description, target, draw), draw)
    raise not_found(description, target, False)


def _grown(description: Description, target: int, draw: random.Random) -> str:
    """A true string."""
    for _ in range(TRIES):
        string = _grow(description, target, draw)
        if member(description, string):
            return string
    raise not_found(description, target, True)


def _grow(description: Description, target: int, draw: random.Random) -> str:
    """Letters that keep the cover possible, until the string is longer than the target, ends on a complete n-gram and,
    with `and`, holds all of them."""
    grams = description.plain
    if not grams:
        return _filler(description, draw.randint(target + 1, target + 3), draw)
    letters = sorted(set("".join(grams)))
    start = state = automaton(Description(grams, "or"))
    string = ""
    while not (state.accepts and len(string) > target):
        if description.anything and (state is start or state.accepts) and draw.random() < 0.5:
            string += _filler(description, draw.randint(1, 5), draw)
            state = start
        letter = draw.choice([letter for letter in letters if not state[letter].dead])
        string += letter
        state = state[letter]
    if description.operator == "and":
        for gram in draw.sample(grams, len(grams)):
            string += gram * (gram not in string)
    return string


def _filler(description: Description, length: int, draw: random.Random) -> str:
    """Letters of no n-gram or, half of the time, letters of forbidden n-grams that complete none."""
    own = sorted(set("".join(description.forbidden)))
    if not own or draw.random() < 0.5:
        return "".join(draw.choices(description.foreign or ALPHABET, k=length))
    string = ""
    for _ in range(length):
        letters = [letter for letter in own if not (string + letter).endswith(description.forbidden)]
        string += draw.choice(letters or description.foreign or ALPHABET)
    return string


def _edited(description: Description, string: str, draw: random.Random) -> str:
    """The string with one edit, most often no longer true."""
    grams, coin = description.plain, draw.random() < 0.5
    foreign = description.foreign or ALPHABET
    if description.anything:
        if description.forbidden and (coin or not grams):
            return _inserted(string, draw.choice(description.forbidden), draw)
        gram = draw.choice(grams)
        return string.replace(gram, "".join(draw.choices(foreign, k=len(gram))))
    if description.operator == "and" and len(grams) > 1 and coin:
        gram = draw.choice(grams)
        while gram in string:
            string = string.replace(gram, "")
        return string
    if draw.random() < _OWN:
        for _ in range(10):
            edited = _inserted(string, draw.choice("".join(grams)), draw)
            if not member(description, edited):
                return edited
    return _inserted(string, draw.choice(foreign), draw)


def _inserted(string: str, part: str, draw: random.Random) -> str:
    """The string with more letters before one of its letters, never after the last."""
    place = draw.randrange(len(string))
    return string[:place] + part + string[place:]
