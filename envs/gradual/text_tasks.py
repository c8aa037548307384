"""Micro-tasks 7 to 12: what to do with words is said by commands (A.2.7 to A.2.12)."""

import re
from collections.abc import Iterator, Sequence
from random import Random

from gumption.data import InputError

from .mapping_tasks import LETTERS
from .task import STOP, Hidden, Questions, Solution, Solve, Task, stateless

_PAIRS = ("ab", "ac", "ad", "bc", "bd", "cd")
_TRIPLES = ("abc", "acd", "adc", "bcd", "bda", "cdb")
_MOST_SPACES = 6


def text_tasks(words: Sequence[str]) -> list[Task]:
    """Micro-tasks 7.1 to 12, in the order of the curriculum."""

    def task(name: str, about: str, questions: Questions, solve: Solve, *requires: str) -> Task:
        return Task(name, about, stateless, questions, solve, requires=requires)

    said = ("correct!", "false!")
    return [
        task("micro7.1", "saying a letter", saying(1, LETTERS), copying(said), "micro6"),
        task("micro7.2", "saying a word", saying(1, words), copying(said), "micro7.1"),
        task("micro7.3", "saying two words", saying(2, words), copying(said), "micro7.2"),
        task("micro8", "runs of spaces mean one", _spaced_letters, collapsing, "micro7.1"),
        task("micro9.1", "spelling a letter", spelling(LETTERS), spelled, "micro7.1"),
        task("micro9.2", "spelling a word", spelling(words), spelled, "micro9.1", "micro7.2"),
        task("micro9.3", "a sign between letters", _signed(words), _with_sign, "micro9.2"),
        task("micro10", "several commands at once", several(words), said_one_by_one, "micro7.3"),
        task("micro11", "doing something with two words", two_pairs, pair_made, "micro10"),
        task("micro12", "one word changes another", word_and_letter, word_changed, "micro11"),
    ]


def matched(pattern: str, question: str) -> re.Match[str]:
    """The match of a whole question; InputError where it is no such question."""
    found = re.fullmatch(pattern, question)
    if found is None:
        raise InputError(f"{question!r} is no question of this task: it has the form {pattern}")
    return found


def short(answer: str) -> Solution:
    """Feedback that says what was expected after a wrong answer only."""
    return Solution(answer, ("good job! ;",), (f"wrong! {answer};",))


def long(answer: str, said: tuple[str, str]) -> Solution:
    """Feedback that says it always."""
    return Solution(answer, (f"{said[0]} {answer};",), (f"{said[1]} {answer};",))


def saying(number: int, words: Sequence[str]) -> Questions:
    """Asks for words."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield f"say: {' '.join(draw.choice(words) for _ in range(number))}{STOP}"

    return questions


def copying(said: tuple[str, str]) -> Solve:
    """What is to be said is the answer."""

    def solve(question: str, hidden: Hidden) -> Solution:
        return long(matched(r"say: ([^.:]+)\.", question)[1] + STOP, said)

    return solve


def _spaced_letters(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        before, between, after = (" " * draw.randint(0, _MOST_SPACES) for _ in range(3))
        yield f"say: {before}{draw.choice(LETTERS)}{between}{draw.choice(LETTERS)}{after}{STOP}"


def collapsing(question: str, hidden: Hidden) -> Solution:
    """Runs of spaces become one."""
    asked = matched(r"say: ([^.:]+)\.", question)[1]
    return long(re.sub(" +", " ", asked).lstrip(" ") + STOP, ("correct!", "false!"))


def spelling(words: Sequence[str]) -> Questions:
    """Asks for the letters of a word."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield f"spell: {draw.choice(words)}{STOP}"

    return questions


def spelled(question: str, hidden: Hidden) -> Solution:
    """A space behind each letter."""
    word = matched(r"spell: ([^ .:]+)\.", question)[1]
    return long(" ".join(word + STOP), ("good job!", "wrong!"))


def _signed(words: Sequence[str]) -> Questions:
    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield f"interleave: {draw.choice(words)} by {draw.choice('-#,')}{STOP}"

    return questions


def _with_sign(question: str, hidden: Hidden) -> Solution:
    found = matched(r"interleave: ([^ .:]+) by ([^ ])\.", question)
    return long(found[2].join(found[1]) + STOP, ("good job!", "wrong!"))


def several(words: Sequence[str]) -> Questions:
    """Asks for two or three words, each by a command."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield " ".join(f"say: {draw.choice(words)}" for _ in range(draw.choice((2, 3)))) + STOP

    return questions


def said_one_by_one(question: str, hidden: Hidden) -> Solution:
    """All of the words."""
    asked = matched(r"((?:say: [^ .:]+ )+say: [^ .:]+)\.", question)[1]
    return short(asked.replace("say: ", "") + STOP)


def two_pairs(hidden: Hidden, draw: Random) -> Iterator[str]:
    """Asks for an operation on two words of two letters."""
    while True:
        first, second = draw.choice(_PAIRS), draw.choice(_PAIRS)
        yield f"say: {first} say: {second} {draw.choice(('reverse', 'concatenate', 'interleave'))}:{STOP}"


def pair_made(question: str, hidden: Hidden) -> Solution:
    """Reverse, concatenate and interleave."""
    first, second, operation = matched(
        r"say: (\w\w) say: (\w\w) (reverse|concatenate|interleave):\.", question
    ).groups()
    if operation == "reverse":
        return short(f"{second} {first}{STOP}")
    if operation == "concatenate":
        return short(first + second + STOP)
    return short("".join(a + b for a, b in zip(first, second, strict=False)) + STOP)


def word_and_letter(hidden: Hidden, draw: Random) -> Iterator[str]:
    """Asks for an operation on a word and a letter."""
    while True:
        yield f"say: {draw.choice(_TRIPLES)} say: {draw.choice('abcd')} {draw.choice(('union', 'exclude'))}:{STOP}"


def word_changed(question: str, hidden: Hidden) -> Solution:
    """Union and exclude."""
    word, letter, operation = matched(r"say: ([^ .:]+) say: ([^ .:]+) (union|exclude):\.", question).groups()
    if operation == "union":
        return short((word if letter in word else word + letter) + STOP)
    return short(word.replace(letter, "") + STOP)
