"""The mini-tasks: whether a string fits a description, and strings that fit.

After CommAI-mini (Baroni et al., 2017).
"""

import random
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from random import Random
from typing import Any, Literal, NamedTuple

from gumption.data import InputError
from gumption.data.settings import checked

from .mapping_tasks import matched
from .task import STOP, Hidden, Rules, Solution, Task, stateless

# ---- Descriptions of strings, such as `AB or CDE` or `anything and AB and not C`, and which strings fit them.
#
# A description is a list of terms that are joined by ` and ` or by ` or `. A term is an n-gram of capital letters,
# `not` and an n-gram, or the word `anything`. Of the two readings, the covering one asks that every letter of the
# string lies in some occurrence of an n-gram, and occurrences may overlap; the strict one asks for a concatenation of
# whole n-grams.

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


class AutomatonState(dict[str, "AutomatonState"]):
    """A state of a deterministic automaton: its successor for each letter, found when it is first asked for.

    `accepts` tells whether the letters so far fit, and `dead` that no letters after them will."""

    __slots__ = ("accepts", "automaton", "dead", "key")

    def __init__(self, key: Hashable | None, automaton: "_Automaton") -> None:
        self.key = key
        self.automaton = automaton
        self.accepts = key is not None and automaton.accepts(key)
        self.dead = key is None

    def __missing__(self, letter: str) -> "AutomatonState":
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
        self.states: dict[Hashable | None, AutomatonState] = {}

    def state(self, key: Hashable | None) -> AutomatonState:
        state = self.states.get(key)
        if state is None:
            state = self.states[key] = AutomatonState(key, self)
        return state


@lru_cache(_CACHED)
def automaton(description: str | Description, strict: bool = False) -> AutomatonState:
    """The first state of a description's automaton."""
    if isinstance(description, str):
        return automaton(Description.parse(description), strict)
    return _concatenation(description) if strict else _covering(description)


def _covering(description: Description) -> AutomatonState:
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


def _concatenation(description: Description) -> AutomatonState:
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


# ---- Strings that fit a description, and strings that just fail to, of a wanted length.
#
# True strings are concatenations of whole n-grams and, with `anything`, of other letters, so both readings of a
# description accept them. False strings are true ones of the same length with a fault. The automaton checks each.

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


# ---- The mini sets: descriptions with a string to judge, or to produce strings for.

MIXED = 5  # the set whose questions come from the sets 1 to 4


class MiniSet(NamedTuple):
    """How the questions of a set are drawn."""

    operator: Literal["and", "or"]
    most: int  # n-grams of a description
    lengths: tuple[int, int]  # least and most of the target length of a string
    anything: float = 0.0  # share of descriptions that allow other letters
    alone: float = 0.0  # share of descriptions that are just `anything`
    negated: float = 0.0  # share of n-grams after `not`


SETS = {
    0: MiniSet("and", 1, (1, 2)),
    1: MiniSet("and", 1, (1, 10)),
    2: MiniSet("or", 3, (1, 10), alone=0.05),
    3: MiniSet("and", 3, (1, 30), anything=0.5),
    4: MiniSet("and", 3, (1, 30), anything=0.5, negated=0.5),
}
_LONGER = (2, 5)  # target lengths in set 0 once its n-gram has two letters
_POOL = 13  # draws of the letters that plain, or negated, n-grams are made of


class Question(NamedTuple):
    """A description, a string, and whether the string fits."""

    description: Description
    string: str
    label: bool

    @property
    def text(self) -> str:
        """The question as it is sent."""
        return f"description: {self.description}; verify: {self.string}."


def sample(set_number: int, draw: random.Random, *, upstream_quirks: bool = False) -> Question:
    """A question of a mini set, with a description of its own.

    :param set_number: 0 to 5.
    :param upstream_quirks: draw strings as `gumption.envs.gradual.mini_tasks` does.
    :raises InputError: another number.
    """
    set_number = _set_number(set_number, draw)
    description = draw_description(set_number, draw)
    return Question(description, *draw_string(set_number, description, draw, upstream_quirks=upstream_quirks))


def draw_description(set_number: int, draw: random.Random, *, letters: int = 1, longest: int = 3) -> Description:
    """A description of a mini set.

    :param set_number: 0 to 5.
    :param letters: of the n-gram of set 0.
    :param longest: most letters of an n-gram in the other sets.
    :raises InputError: another number of a set.
    """
    set_number = _set_number(set_number, draw)
    if set_number == 0:
        return Description(("".join(draw.choices(ALPHABET, k=letters)),))
    rule = SETS[set_number]
    if draw.random() < rule.alone:
        return Description((ANYTHING,))
    return _with_grams(rule, draw, longest)


def draw_string(
    set_number: int, description: Description, draw: random.Random, *, upstream_quirks: bool = False
) -> tuple[str, bool]:
    """A string for a description of a set, and whether it fits.

    The length does not depend on the answer. A description that every string fits gets true strings alone, as long as
    those of the other descriptions of its set; these get false strings a little more often, so that half of all
    answers in the set are true.

    :param set_number: 1 to 4, or 0, whose false strings are random letters. Set 5 has the numbers of those it mixes.
    :param upstream_quirks: as for `sample`.
    :raises InputError: another number of a set, or a description for which no such string was found.
    """
    if set_number not in SETS:
        raise InputError(f"set {set_number!r} draws no strings of its own; give a set from 0 to {MIXED - 1}")
    rule = SETS[set_number]
    target = draw.randint(*(_LONGER if set_number == 0 and len(str(description)) > 1 else rule.lengths))
    if upstream_quirks:
        label = draw.random() < 0.5
        return upstream_string(description, target, label, draw, near_miss=set_number != 0), label
    length = fitting_length(_with_grams(rule, draw) if description.always_true else description, target)
    if description.always_true or draw.random() < (0.5 - rule.alone) / (1 - rule.alone):
        return true_string(description, length, draw), True
    random_letters = random_false_string(description, length, draw) if set_number == 0 else None
    return random_letters or false_string(description, length, draw), False


def produce(description: Description, draw: random.Random) -> str:
    """A string that fits a description: a right answer to `description: ...; produce.`

    :raises InputError: no such string was found.
    """
    return true_string(description, fitting_length(description, draw.randint(1, 10)), draw)


def judge_production(description: str | Description, answers: Sequence[str], distinct: int = 1) -> bool:
    """Whether answers are as many different strings as were asked for, each of which fits the description.

    :param answers: what an agent said; anything but capital letters fits nothing.
    :raises InputError: a text that is no description.
    """
    if not len(answers) == len(set(answers)) == distinct:
        return False
    capitals = all(answer and set(answer) <= set(ALPHABET) for answer in answers)
    return capitals and all(member(description, answer) for answer in answers)


def _set_number(set_number: int, draw: random.Random) -> int:
    """The number of a set that is no mixture."""
    if set_number == MIXED:
        return draw.randint(1, MIXED - 1)
    if set_number not in SETS:
        raise InputError(f"there is no mini set {set_number!r}; give a number from 0 to {MIXED}")
    return set_number


def _with_grams(rule: MiniSet, draw: random.Random, longest: int = 3) -> Description:
    """A description of n-grams, with their letters from a pool where some are negated, in random order."""
    pool = draw.choices(ALPHABET, k=_POOL) if rule.negated else ALPHABET
    others = ""
    terms = []
    for _ in range(draw.randint(1, rule.most)):
        negated = draw.random() < rule.negated
        if negated and not others:
            others = draw.choices([letter for letter in ALPHABET if letter not in pool], k=_POOL)
        gram = "".join(draw.choices(others if negated else pool, k=draw.randint(1, longest)))
        terms.append(f"not {gram}" if negated else gram)
    if any(term.startswith("not ") for term in terms) or draw.random() < rule.anything:
        terms.append(ANYTHING)
        draw.shuffle(terms)
    return Description(tuple(terms), rule.operator)


# ---- Strings as the challenge's own program of 2017 draws them, faults included, for comparisons with its records.
#
# A true string is grown letter by letter beyond its target length until its last n-gram is complete. A false one is a
# true string with one edit, which can change its length: so lengths tell something about the answer.


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


_NUMBERS = range(6)
_SAME = 10  # instances of mini0 in a row with one description
_LETTERS_DOUBLE = 1_000  # instances of mini0 after which descriptions have two letters
_PRAISE = ("good job.", "bravo.", "congratulations.", "nice work.", "correct.")
_ABOUT = (
    "a letter or two, repeated", "one n-gram, repeated", "any of some n-grams", "all of some n-grams",
    "n-grams that may not be there", "descriptions of all kinds",
)  # fmt: skip


def mini_tasks(rules: Rules) -> list[Task]:
    """mini0 to mini5, in the order of the curriculum."""
    return [
        Task(
            f"mini{number}", about, partial(_same_for_long if number == 0 else _drawn, rules, number), _asked,
            partial(_fits, rules), cycle="mini", requires=("micro13.2", "micro20") if number == 0 else
            (f"mini{number - 1}",),
        )
        for number, about in zip(_NUMBERS, _ABOUT, strict=True)
    ]  # fmt: skip


def production_tasks() -> list[Task]:
    """produce1 to produce5, a string for a description of each mini set, and produce-two, two different ones."""
    tasks = [
        Task(
            f"produce{number}", f"saying what is {_ABOUT[number]}", stateless, partial(_to_produce, number, 1),
            partial(_produced, 1), requires=(f"mini{number}",),
        )
        for number in _NUMBERS[1:]
    ]  # fmt: skip
    two = Task(
        "produce-two", "saying two strings that fit", stateless, partial(_to_produce, 5, 2), partial(_produced, 2),
        requires=("produce5",),
    )  # fmt: skip
    return [*tasks, two]


def _drawn(rules: Rules, number: int, draw: Random) -> Iterator[Hidden]:
    while True:
        question = sample(number, draw, upstream_quirks=rules.upstream_quirks)
        yield {"description": str(question.description), "string": question.string}


def _same_for_long(rules: Rules, number: int, draw: Random) -> Iterator[Hidden]:
    place = 0
    while True:
        description = draw_description(number, draw, letters=1 if place < _LETTERS_DOUBLE else 2)
        for _ in range(_SAME):
            string, _ = draw_string(number, description, draw, upstream_quirks=rules.upstream_quirks)
            yield {"description": str(description), "string": string}
        place += _SAME


def _asked(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"description: {hidden['description']}; verify: {hidden['string']}{STOP}"


def _fits(rules: Rules, question: str, hidden: Hidden) -> Solution:
    described, string = matched(r"description: ([^;.]+); verify: ([A-Z]*)\.", question).groups()
    description = Description.parse(described)
    fits = member(description, string, rules.strict_descriptions)
    if rules.upstream_quirks and not string and description.always_true:
        fits = False  # the program of 2017 had no other way to ask something false about `anything`
    answer = f"{fits}{STOP}".lower()
    return Solution(answer, _PRAISE, (f"Wrong. The right answer is: {answer}",))


def _to_produce(number: int, strings: int, hidden: Hidden, draw: Random) -> Iterator[str]:
    wanted = "produce" if strings == 1 else f"produce {strings} distinct strings"
    while True:
        yield f"description: {draw_description(number, draw)}; {wanted}{STOP}"


def _produced(strings: int, question: str, hidden: Hidden) -> Solution:
    """Any that fit are right; those in the solution are drawn by the description."""
    described = matched(r"description: ([^;.]+); produce(?: \d+ distinct strings)?\.", question)[1]
    description, draw = Description.parse(described), Random(described)
    found: dict[str, None] = {}
    while len(found) < strings:
        found[produce(description, draw)] = None
    answer = " ".join(found) + STOP
    return Solution(
        answer, ("right.;",), (f"wrong; correct: {answer};",),
        lambda said: judge_production(description, said.removesuffix(STOP).split(" "), strings),
    )  # fmt: skip
