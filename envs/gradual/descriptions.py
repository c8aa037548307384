"""Descriptions of strings, such as `AB or CDE` or `anything and AB and not C`, and which strings fit them.

A description is a list of terms that are joined by ` and ` or by ` or `. A term is an n-gram of capital letters, `not`
and an n-gram, or the word `anything`. Of the two readings, the covering one asks that every letter of the string lies
in some occurrence of an n-gram, and occurrences may overlap; the strict one asks for a concatenation of whole n-grams.
"""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from gumption.data import InputError
from gumption.data.settings import checked

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ANYTHING = "anything"
_NOT = "not "
_CAPITALS = re.compile("[A-Z]+")
_OPERATORS = re.compile(" (and|or) ")
_CACHED = 512  # automata that are kept; one of a usual description takes some 20 kilobytes


@dataclass(frozen=True)
class Description:
    """A description, with its terms in the order of its text.

    :param terms: n-grams, `not` and an n-gram, or `anything`; a term that is there before is left out.
    :param operator: what joins them. A single term counts as `and`, whatever is given.
    :raises InputError: no term, a term of another form, `not` with `or`, or `not` without `anything`; with the place.
    """

    terms: tuple[str, ...]
    operator: Literal["and", "or"] = "and"

    def __post_init__(self) -> None:
        text, column = str(self), 1
        for term in self.terms or ("",):
            if fault := _fault(term, self.operator, ANYTHING in self.terms):
                raise InputError(f"description {text!r}, column {column}: {fault}")
            column += len(f"{term} {self.operator} ")
        object.__setattr__(self, "terms", tuple(dict.fromkeys(self.terms)))
        if len(self.terms) == 1:
            object.__setattr__(self, "operator", "and")

    @classmethod
    def parse(cls, text: str) -> "Description":
        """The description that a text states.

        :raises InputError: a text that states none, with the place of the first fault and what to do.
        """
        operator = "and"
        for number, found in enumerate(_OPERATORS.finditer(text)):
            if not number:
                operator = found[1]
            elif operator != found[1]:
                fault = f"`{found[1]}` follows `{operator}`; join all terms by the same of the two"
                raise InputError(f"description {text!r}, column {found.start(1) + 1}: {fault}")
        return cls(tuple(text.split(f" {operator} ")), "or" if operator == "or" else "and")

    def __str__(self) -> str:
        return f" {self.operator} ".join(self.terms)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The n-grams that a string is made of, or holds."""
        return tuple(term for term in self.terms if term != ANYTHING and not term.startswith(_NOT))

    @cached_property
    def forbidden(self) -> tuple[str, ...]:
        """The n-grams after `not`, which no string holds."""
        return tuple(term.removeprefix(_NOT) for term in self.terms if term.startswith(_NOT))

    @cached_property
    def anything(self) -> bool:
        """Whether other letters may stand around the n-grams."""
        return ANYTHING in self.terms

    @cached_property
    def foreign(self) -> str:
        """The letters that stand in no n-gram."""
        used = {*"".join(self.plain), *"".join(self.forbidden)}
        return "".join(letter for letter in ALPHABET if letter not in used)

    @cached_property
    def always_true(self) -> bool:
        """Whether the terms refuse no string, as `anything` does."""
        return self.anything and (self.operator == "or" or self.terms == (ANYTHING,))


@checked
def member(description: str | Description, string: str, strict: bool = False) -> bool:
    """Whether a string fits a description.

    No n-gram after `not` occurs in it. With `and`, every other n-gram does. Unless `anything` is a term, every letter
    lies in an occurrence of an n-gram; occurrences may overlap, so `AB or BC` accepts ABC.

    :param description: its text, or its value.
    :param string: capital letters, or nothing: only `or` and `anything` without other n-grams accept the empty string.
    :param strict: the string must be a concatenation of whole n-grams and, with `anything`, of other letters; with
        `and`, it uses every n-gram as a part of its own. `or` without `anything` refuses the empty string.
    :raises InputError: a text that is no description, or another character in the string.
    """
    state = automaton(description, strict)
    for letter in string:
        state = state[letter]
    return state.accepts


Step = Callable[[Any, str], Hashable | None]
Accepts = Callable[[Any], bool]


class State(dict[str, "State"]):
    """A state of a deterministic automaton: its successor for each letter, found when it is first asked for.

    `accepts` tells whether the letters so far fit, and `dead` that no letters after them will."""

    __slots__ = ("accepts", "automaton", "dead", "key")

    def __init__(self, key: Hashable | None, automaton: "_Automaton") -> None:
        self.key = key
        self.automaton = automaton
        self.accepts = key is not None and automaton.accepts(key)
        self.dead = key is None

    def __missing__(self, letter: str) -> "State":
        if letter not in ALPHABET:
            raise InputError(f"{letter!r} is no capital letter from A to Z; strings have no others")
        following = None if self.key is None else self.automaton.step(self.key, letter)
        state = self[letter] = self.automaton.state(following)
        return state


class _Automaton:
    """States by what they remember of the letters so far: a key, or None where no further letter helps."""

    def __init__(self, step: Step, accepts: Accepts) -> None:
        self.step = step
        self.accepts = accepts
        self.states: dict[Hashable | None, State] = {}

    def state(self, key: Hashable | None) -> State:
        state = self.states.get(key)
        if state is None:
            state = self.states[key] = State(key, self)
        return state


@lru_cache(_CACHED)
def automaton(description: str | Description, strict: bool = False) -> State:
    """The first state of a description's automaton."""
    if isinstance(description, str):
        return automaton(Description.parse(description), strict)
    return _concatenation(description) if strict else _covering(description)


def _covering(description: Description) -> State:
    """States hold the suffix that begins an n-gram, how many letters stand from the first uncovered one on, and a bit
    for each n-gram seen."""
    plain, anything = description.plain, description.anything
    needed = 2 ** len(plain) - 1 if description.operator == "and" else 0
    longer = _suffixes((*plain, *description.forbidden))
    forbidden = description.forbidden

    def step(key: tuple[str, int, int], letter: str) -> Hashable | None:
        suffix, uncovered, seen = key
        suffix = longer(suffix, letter)
        if forbidden and suffix.endswith(forbidden):
            return None
        uncovered += not anything
        if suffix.endswith(plain):
            for number, gram in enumerate(plain):
                if suffix.endswith(gram):
                    seen |= needed & 1 << number
                    if len(gram) >= uncovered:
                        uncovered = 0
        return None if uncovered > len(suffix) else (suffix, uncovered, seen)

    return _Automaton(step, lambda key: key[1] == 0 and key[2] == needed).state(("", 0, 0))


def _concatenation(description: Description) -> State:
    """States hold the suffix that begins a forbidden n-gram, and for each way to cut the string into n-grams the rest
    of the last one and the bits of those used."""
    anything, forbidden = description.anything, description.forbidden
    # With `or` any n-gram sets the one bit.
    bits = {gram: 1 << number * (description.operator == "and") for number, gram in enumerate(description.plain)}
    needed = 0 if description.always_true else sum(set(bits.values()))
    longer = _suffixes(forbidden)

    def step(key: tuple[str, frozenset[tuple[str, int]]], letter: str) -> Hashable | None:
        suffix = longer(key[0], letter)
        if suffix.endswith(forbidden):
            return None
        ways: set[tuple[str, int]] = set()
        for rest, used in key[1]:
            if rest:
                if rest[0] == letter:
                    ways.add((rest[1:], used))
                continue
            ways.update((gram[1:], used | needed & bit) for gram, bit in bits.items() if gram[0] == letter)
            if anything:
                ways.add(("", used))
        return (suffix, frozenset(ways)) if ways else None

    return _Automaton(step, lambda key: ("", needed) in key[1]).state(("", frozenset([("", 0)])))


def _suffixes(grams: tuple[str, ...]) -> Callable[[str, str], str]:
    """The function that adds a letter to a suffix and gives the longest end of it that begins one of the n-grams."""
    beginnings = {gram[:length] for gram in grams for length in range(len(gram) + 1)} | {""}

    def longer(suffix: str, letter: str) -> str:
        suffix += letter
        while suffix not in beginnings:
            suffix = suffix[1:]
        return suffix

    return longer


def _fault(term: str, operator: str, anything: bool) -> str | None:
    """What is wrong with a term of a description, if anything is, and what to do."""
    words = term.split(" ")
    if term == ANYTHING or _CAPITALS.fullmatch(term):
        return None
    if not term:
        return "a term is missing; give an n-gram such as AB, or `anything`"
    if "" in words:
        return "a space too many; put one space between words"
    if {words[0], words[-1]} & {"and", "or"}:
        return f"{term!r} lacks a term before or after its operator; put a term on either side"
    if term == "not":
        return "`not` stands alone; name an n-gram after it"
    if len(words) == 2 and words[0] == "not" and _CAPITALS.fullmatch(words[1]):
        if operator == "or":
            return f"`{term}` stands beside `or`; join the terms by `and`"
        return None if anything else f"`{term}` needs the term `anything`; add ` and anything`"
    return f"{term!r} is no term; write an n-gram in capital letters, `not` and an n-gram, or `anything`"
