"""The mini sets: descriptions with a string to judge, or to produce strings for."""

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from gumption.data import InputError

from .described_strings import TRIES, false_string, fitting_length, not_found, random_false_string, true_string
from .descriptions import ALPHABET, ANYTHING, Description, automaton, member

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
    :param upstream_quirks: draw strings as `gumption.envs.gradual.mini_sets` does.
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
