"""Define the mini-tasks: judge if a string fits a description, or produce one (CommAI-mini, Baroni et al. 2017)."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from random import Random
from typing import Any, Literal, NamedTuple

from gumption.data import InputError
from gumption.data.settings import checked

from .task import STOP, Hidden, Rules, Solution, Task, drawn, repeated, solving, stateless_task

# ---- Descriptions of strings, such as `AB or CDE` or `anything and AB and not C`, and the strings that fit them.
#
# ` and ` or ` or ` joins the terms of a description. A term is an n-gram of capital letters, `not` and an n-gram, or
# the word `anything`. In the covering reading every letter of the string lies in some occurrence of an n-gram, and
# occurrences may overlap; in the strict reading the string is a concatenation of whole n-grams.

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ANYTHING = "anything"
_NOT = "not "
_CAPITALS = re.compile("[A-Z]+")
_OPERATORS = re.compile(" (and|or) ")


@dataclass(frozen=True)
class Description:
    """Describe strings.

    :param terms: in the order of the text; repeated terms are dropped.
    :param operator: joins the terms; always `and` for a single term.
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
        """Parse a text; InputError with the place of a fault and its cure."""
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
        """Return the n-grams without `not`."""
        return tuple(term for term in self.terms if term != ANYTHING and not term.startswith(_NOT))

    @cached_property
    def forbidden(self) -> tuple[str, ...]:
        """Return the n-grams after `not`, which no fitting string contains."""
        return tuple(term.removeprefix(_NOT) for term in self.terms if term.startswith(_NOT))

    @cached_property
    def anything(self) -> bool:
        """Return whether other letters may surround the n-grams."""
        return ANYTHING in self.terms

    @cached_property
    def foreign(self) -> str:
        """Return the letters that occur in no n-gram."""
        used = {*"".join(self.plain), *"".join(self.forbidden)}
        return "".join(letter for letter in ALPHABET if letter not in used)

    @cached_property
    def always_true(self) -> bool:
        """Return whether every string fits."""
        return self.anything and (self.operator == "or" or self.terms == (ANYTHING,))


@checked
def member(description: str | Description, string: str, strict: bool = False) -> bool:
    """Return whether a string fits a description.

    No n-gram after `not` occurs in it. With `and`, every other n-gram does. Unless `anything` is a term, every letter
    lies in an occurrence of an n-gram; occurrences may overlap, so `AB or BC` accepts ABC.

    :param string: capital letters. The empty string fits `or`, and `anything` without required n-grams.
    :param strict: the string must be a concatenation of whole n-grams and, with `anything`, of other letters; with
        `and`, every n-gram is a part of it. `or` without `anything` refuses the empty string.
    :raises InputError: the text is not a description, or the string has another character.
    """
    state = automaton(description, strict)
    for letter in string:
        state = state[letter]
    return state.accepts


class AutomatonState(dict[str, "AutomatonState"]):
    """Map letters to the next states of a deterministic automaton; a state is made at its first lookup.

    :ivar accepts: whether the letters so far fit. :ivar dead: whether no continuation can fit.
    """

    __slots__ = ("accepts", "automaton", "dead", "key")

    def __init__(self, key: Hashable | None, automaton: "_Automaton") -> None:
        self.key, self.automaton = key, automaton
        self.dead = key is None
        self.accepts = key is not None and automaton.accepts(key)

    def __missing__(self, letter: str) -> "AutomatonState":
        if letter not in ALPHABET:
            raise InputError(f"{letter!r} is no capital letter from A to Z; strings have no others")
        state = self[letter] = self.automaton[None if self.key is None else self.automaton.step(self.key, letter)]
        return state


class _Automaton(dict[Hashable | None, AutomatonState]):
    """Map the key of a state, a summary of the letters so far, to the state; None is the key of the dead state."""

    def __init__(self, step: Callable[[Any, str], Hashable | None], accepts: Callable[[Any], bool]) -> None:
        super().__init__()
        self.step, self.accepts = step, accepts

    def __missing__(self, key: Hashable | None) -> AutomatonState:
        state = self[key] = AutomatonState(key, self)
        return state


@lru_cache(512)  # a typical automaton takes about 20 kilobytes
def automaton(description: str | Description, strict: bool = False) -> AutomatonState:
    """Return the first state of a description's automaton."""
    if isinstance(description, str):
        return automaton(Description.parse(description), strict)
    return _concatenation(description) if strict else _covering(description)


def _covering(description: Description) -> AutomatonState:
    """Build the automaton of the covering reading. The key of a state holds the suffix that begins an n-gram, the
    number of letters from the first uncovered letter on, and a bit for each n-gram so far."""
    plain, forbidden, anything = description.plain, description.forbidden, description.anything
    needed = 2 ** len(plain) - 1 if description.operator == "and" else 0
    longer = _suffixes((*plain, *forbidden))

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

    return _Automaton(step, lambda key: key[1] == 0 and key[2] == needed)["", 0, 0]


def _concatenation(description: Description) -> AutomatonState:
    """Build the automaton of the strict reading. The key of a state holds the suffix that begins a forbidden n-gram,
    and for each split of the string into n-grams the rest of the last n-gram and the bits of the used n-grams."""
    anything, forbidden = description.anything, description.forbidden
    # With `or` all n-grams set the same bit.
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

    return _Automaton(step, lambda key: ("", needed) in key[1])["", frozenset([("", 0)])]


def _suffixes(grams: tuple[str, ...]) -> Callable[[str, str], str]:
    """Return a function that appends a letter to a suffix and keeps the longest end that begins an n-gram."""
    beginnings = {gram[:length] for gram in grams for length in range(len(gram) + 1)} | {""}

    def longer(suffix: str, letter: str) -> str:
        suffix += letter
        while suffix not in beginnings:
            suffix = suffix[1:]
        return suffix

    return longer


def _fault(term: str, operator: str, anything: bool) -> str | None:
    """Return the fault of a term and its cure; None if the term is right."""
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


# ---- Strings of a target length that fit a description, and strings that fail by a single fault.
#
# True strings are concatenations of whole n-grams and, with `anything`, of other letters, so both readings of a
# description accept them. False strings are true strings of the same length with a fault. The automaton checks each.

TRIES = 100  # most descriptions need 1 or 2 tries; for some no string exists


def fitting_length(description: Description, length: int) -> int:
    """Return the least feasible length of true and false strings, at least `length`, estimated from single n-grams."""
    required = sum(map(len, description.plain)) if description.operator == "and" else 0
    if description.anything:
        return max(length, 1, required or min(map(len, description.forbidden), default=0))
    length = max(length, required, 1)
    while not _adds_up(_lengths(description.plain), length - required):
        length += 1
    return length


def true_string(description: Description, length: int, draw: Random) -> str:
    """Draw a string of at least 1 letter that fits a description in both readings; InputError if all tries fail."""
    allowed = "".join(letter for letter in ALPHABET if letter not in description.forbidden)

    def made() -> str | None:
        filler = (draw.random() < 0.5 and description.foreign) or allowed
        return _assembled(description.plain, description, length, filler, draw)

    return _first(made, description, length, True)


def false_string(description: Description, length: int, draw: Random) -> str:
    """Draw a true string with a fault that makes it false in both readings: a letter that breaks the cover, a missing
    n-gram, or a forbidden n-gram; InputError if all tries fail, as for `anything` alone.
    """

    def made() -> str | None:
        return None if description.always_true else _spoiled(description, true_string(description, length, draw), draw)

    return _first(made, description, length, False)


def random_false_string(description: Description, length: int, draw: Random) -> str | None:
    """Draw a false string of random letters; None if three draws were true by chance."""
    for _ in range(3):
        string = "".join(draw.choices(ALPHABET, k=length))
        if not member(description, string):
            return string
    return None


def _first(made: Callable[[], str | None], description: Description, length: int, label: bool) -> str:
    """Return the first string whose membership equals the label; InputError if all tries fail."""
    for _ in range(TRIES):
        string = made()
        if string is not None and member(description, string) == label:
            return string
    raise InputError(
        f"description {str(description)!r}: no {'true' if label else 'false'} string of {length} letters was found; "
        "try another length, or a description that some strings fit and others do not"
    )


def _lengths(grams: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(set(map(len, grams))))


@lru_cache(10_000)
def _adds_up(lengths: tuple[int, ...], total: int) -> bool:
    """Return whether a total is a sum of these lengths, each used any number of times."""
    reached = [True] + [False] * max(total, 0)
    for part in range(1, total + 1):
        reached[part] = any(length <= part and reached[part - length] for length in lengths)
    return total >= 0 and reached[total]


def _assembled(grams: Sequence[str], description: Description, length: int, filler: str, draw: Random) -> str | None:
    """Join n-grams, with `and` all of them, and with `anything` runs of filler letters, in random order; None if they
    cannot add up to the length."""
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


def _spoiled(description: Description, string: str, draw: Random) -> str:
    """Edit a string at the same length, so that it is usually no longer true."""
    grams, coin = description.plain, draw.random() < 0.5
    if description.anything:
        if description.forbidden and (coin or not grams):
            gram = draw.choice(description.forbidden)
            start = draw.randint(0, max(len(string) - len(gram), 0))
            return (string[:start] + gram + string[start + len(gram) :])[: len(string)]
        return _without(string, draw.choice(grams), description, draw)
    if description.operator == "and" and len(grams) > 1 and coin:
        missing = draw.choice(grams)
        others = [gram for gram in grams if gram != missing]
        # The other n-grams may not add up to the length.
        if lacking := _assembled(others, description, len(string), "", draw):
            return lacking
    return _changed(string, draw.randrange(len(string)), description, draw)


def _without(string: str, gram: str, description: Description, draw: Random) -> str:
    """Change a letter in each occurrence of an n-gram."""
    for _ in range(2 * len(string)):  # a changed letter can complete another occurrence
        start = string.find(gram)
        if start < 0:
            break
        string = _changed(string, start + draw.randrange(len(gram)), description, draw)
    return string


def _changed(string: str, place: int, description: Description, draw: Random) -> str:
    """Replace the letter at a place, with equal chance by a letter of the n-grams or by a foreign letter."""
    own = "".join(description.plain).replace(string[place], "")
    letters = own if own and (draw.random() < 0.5 or not description.foreign) else description.foreign
    return string[:place] + draw.choice(letters or ALPHABET) + string[place + 1 :]


# ---- The mini sets: descriptions, with a string to judge or without.

MIXED = 5  # the set that mixes the questions of sets 1 to 4


class MiniSet(NamedTuple):
    """Parametrize how a set draws its questions."""

    operator: Literal["and", "or"]
    most: int  # most n-grams of a description
    lengths: tuple[int, int]  # the least and the greatest target length of a string
    anything: float = 0.0  # share of descriptions that allow other letters
    alone: float = 0.0  # share of descriptions that consist of `anything`
    negated: float = 0.0  # share of n-grams after `not`


SETS = {
    0: MiniSet("and", 1, (1, 2)),
    1: MiniSet("and", 1, (1, 10)),
    2: MiniSet("or", 3, (1, 10), alone=0.05),
    3: MiniSet("and", 3, (1, 30), anything=0.5),
    4: MiniSet("and", 3, (1, 30), anything=0.5, negated=0.5),
}
_LONGER = (2, 5)  # target lengths in set 0 once its n-gram has two letters
_POOL = 13  # letters drawn for plain n-grams, and as many for negated n-grams


class Question(NamedTuple):
    """Hold a description, a string, and whether the string fits."""

    description: Description
    string: str
    label: bool


def sample(set_number: int, draw: Random, *, upstream_quirks: bool = False) -> Question:
    """Draw a question of a mini set, 0 to 5, with a new description."""
    set_number = _unmixed(set_number, draw)
    description = draw_description(set_number, draw)
    return Question(description, *draw_string(set_number, description, draw, upstream_quirks=upstream_quirks))


def draw_description(set_number: int, draw: Random, *, letters: int = 1) -> Description:
    """Draw a description of a mini set, 0 to 5; the n-gram of set 0 has `letters` letters."""
    set_number = _unmixed(set_number, draw)
    if set_number == 0:
        return Description(("".join(draw.choices(ALPHABET, k=letters)),))
    rule = SETS[set_number]
    return Description((ANYTHING,)) if draw.random() < rule.alone else _with_grams(rule, draw)


def draw_string(
    set_number: int, description: Description, draw: Random, *, upstream_quirks: bool = False
) -> tuple[str, bool]:
    """Draw a string for a description of a set from 0 to 4; return it and whether it fits.

    The length does not depend on the answer. A description that every string fits has only true strings, with the
    lengths of other descriptions of its set; the others have false strings slightly more often, so that half of all
    answers in the set are true. False strings of set 0 are random letters.

    :raises InputError: all tries failed.
    """
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


def produce(description: Description, draw: Random) -> str:
    """Draw a string that fits a description; InputError if all tries fail."""
    return true_string(description, fitting_length(description, draw.randint(1, 10)), draw)


def judge_production(description: str | Description, answers: Sequence[str], distinct: int = 1) -> bool:
    """Return whether the answers are `distinct` different strings of capital letters that fit the description."""
    if not len(answers) == len(set(answers)) == distinct:
        return False
    capitals = all(answer and set(answer) <= set(ALPHABET) for answer in answers)
    return capitals and all(member(description, answer) for answer in answers)


def _unmixed(set_number: int, draw: Random) -> int:
    return draw.randint(1, MIXED - 1) if set_number == MIXED else set_number


def _with_grams(rule: MiniSet, draw: Random) -> Description:
    """Draw a description of n-grams; its terms are shuffled if they include `anything`."""
    pool = draw.choices(ALPHABET, k=_POOL) if rule.negated else ALPHABET
    others = ""
    terms = []
    for _ in range(draw.randint(1, rule.most)):
        negated = draw.random() < rule.negated
        if negated and not others:
            others = draw.choices([letter for letter in ALPHABET if letter not in pool], k=_POOL)
        gram = "".join(draw.choices(others if negated else pool, k=draw.randint(1, 3)))
        terms.append(_NOT + gram if negated else gram)
    if any(term.startswith(_NOT) for term in terms) or draw.random() < rule.anything:
        terms.append(ANYTHING)
        draw.shuffle(terms)
    return Description(tuple(terms), rule.operator)


# ---- Strings drawn as in the program of 2017, with its faults, for comparisons with its records.
#
# A true string grows letter by letter beyond its target length until its last n-gram is complete. A false string is a
# true string with a single edit, which can change its length: so the length correlates with the answer.

_OWN = 0.46  # share of edits that try a letter of the n-grams; reproduces the recorded mix of edits


def upstream_string(description: Description, target: int, label: bool, draw: Random, near_miss: bool) -> str:
    """Draw a true or a false string; if every string fits, the false string is empty, and its label wrong.

    :param near_miss: false strings are edited true strings; else random letters.
    :raises InputError: all tries failed.
    """

    def grown() -> str:
        return _first(lambda: _grow(description, target, draw), description, target, True)

    if label:
        return grown()
    if description.always_true:
        return ""
    string = None if near_miss else random_false_string(description, target, draw)
    if string is not None:
        return string

    def edited() -> str | None:
        string = _edited(description, grown(), draw)
        return string if len(string) >= 1 + near_miss else None

    return _first(edited, description, target, False)


def _grow(description: Description, target: int, draw: Random) -> str:
    """Append letters that keep a cover possible, until the string is longer than the target and ends on a complete
    n-gram; with `and`, then append the missing n-grams."""
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


def _filler(description: Description, length: int, draw: Random) -> str:
    """Draw letters of no n-gram or, half of the time, letters of forbidden n-grams that complete no such n-gram."""
    own = sorted(set("".join(description.forbidden)))
    if not own or draw.random() < 0.5:
        return "".join(draw.choices(description.foreign or ALPHABET, k=length))
    string = ""
    for _ in range(length):
        letters = [letter for letter in own if not (string + letter).endswith(description.forbidden)]
        string += draw.choice(letters or description.foreign or ALPHABET)
    return string


def _edited(description: Description, string: str, draw: Random) -> str:
    """Edit a string once, so that it is usually no longer true."""
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


def _inserted(string: str, part: str, draw: Random) -> str:
    """Insert letters before a random letter of the string, never at its end."""
    place = draw.randrange(len(string))
    return string[:place] + part + string[place:]


# ---- The tasks

_SAME = 10  # instances of mini0 in a row with the same description
_LETTERS_DOUBLE = 1_000  # instances of mini0 after which descriptions have two letters
_PRAISE = ("good job.", "bravo.", "congratulations.", "nice work.", "correct.")
_ABOUT = (
    "a letter or two, repeated", "one n-gram, repeated", "any of some n-grams", "all of some n-grams",
    "n-grams that may not be there", "descriptions of all kinds",
)  # fmt: skip


def mini_tasks(rules: Rules) -> list[Task]:
    """Return mini0 to mini5, in curriculum order."""

    def instance(number: int, draw: Random) -> Hidden:
        return _hidden(*sample(number, draw, upstream_quirks=rules.upstream_quirks))

    return [
        Task(
            f"mini{number}", about, partial(_same_for_long, rules) if number == 0 else drawn(partial(instance, number)),
            _asked, solving(r"description: ([^;.]+); verify: ([A-Z]*)\.", partial(_fits, rules)), cycle="mini",
            requires=("micro13.2", "micro20") if number == 0 else (f"mini{number - 1}",),
        )
        for number, about in enumerate(_ABOUT)
    ]  # fmt: skip


def production_tasks() -> list[Task]:
    """Return produce1 to produce5, a string for a description of a mini set, and produce-two, two different strings."""
    pattern = r"description: ([^;.]+); produce(?: \d+ distinct strings)?\."

    def questions(number: int, what: str, draw: Random) -> str:
        return f"description: {draw_description(number, draw)}; {what}{STOP}"

    tasks = [
        stateless_task(
            f"produce{number}", f"saying what is {about}", repeated(partial(questions, number, "produce")),
            solving(pattern, partial(_produced, 1)), f"mini{number}",
        )
        for number, about in enumerate(_ABOUT) if number
    ]  # fmt: skip
    two = repeated(partial(questions, MIXED, "produce 2 distinct strings"))
    solve = solving(pattern, partial(_produced, 2))
    return [*tasks, stateless_task("produce-two", "saying two strings that fit", two, solve, "produce5")]


def _hidden(description: Description, string: str, label: bool) -> Hidden:
    return {"description": str(description), "string": string}


def _same_for_long(rules: Rules, draw: Random) -> Iterator[Hidden]:
    place = 0
    while True:
        description = draw_description(0, draw, letters=1 if place < _LETTERS_DOUBLE else 2)
        for _ in range(_SAME):
            yield _hidden(description, *draw_string(0, description, draw, upstream_quirks=rules.upstream_quirks))
        place += _SAME


def _asked(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"description: {hidden['description']}; verify: {hidden['string']}{STOP}"


def _fits(rules: Rules, described: str, string: str) -> Solution:
    description = Description.parse(described)
    fits = member(description, string, rules.strict_descriptions)
    if rules.upstream_quirks and not string and description.always_true:
        fits = False  # the program of 2017 marked the empty string false for `anything`
    answer = f"{fits}{STOP}".lower()
    return Solution(answer, _PRAISE, (f"Wrong. The right answer is: {answer}",))


def _produced(number: int, described: str) -> Solution:
    """Accept any strings that fit; the description seeds the strings drawn for the solution."""
    description, draw = Description.parse(described), Random(described)
    found: dict[str, None] = {}
    while len(found) < number:
        found[produce(description, draw)] = None
    answer = " ".join(found) + STOP
    return Solution(
        answer, ("right.;",), (f"wrong; correct: {answer};",),
        lambda said: judge_production(description, said.removesuffix(STOP).split(" "), number),
    )  # fmt: skip
