"""Micro-tasks 1 to 12: hidden mappings from keys to answers, then commands that say what to do with words (A.2.1 to
A.2.12).
"""

import re
import string
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from random import Random

from gumption import data
from gumption.data import InputError

from .task import (
    DIGITS,
    STOP,
    Deal,
    Hidden,
    OptionsLeft,
    Presumption,
    Questions,
    Rules,
    Solution,
    Solve,
    Task,
    stateless,
    told,
)

# ---- The words that tasks ask about, in the order of their frequency, and the synonyms of the words that give orders.

# Tasks take words up to the 400th of the filtered list.
FEWEST = 400
SYNONYMS: dict[str, tuple[str, ...]] = {
    "say": ("say", "print", "write"),
    "and": ("and", "together with", "&", "also"),
    "or": ("or", "alternative", "/"),
    "after": ("after", "behind", "next"),
    "union": ("union", "consolidate", "joint"),
    "exclude": ("exclude", "prohibit", "ignore", "remove"),
}


def load_words(path: Path | None = None) -> tuple[str, ...]:
    """The words of a file with one word a line, the most frequent first.

    :param path: a UTF-8 text file; None for the list that ships with gumption.
    :raises InputError: a file that cannot be read; a line that is empty, that is there before or that holds a character
        which no word has, with its number; fewer than 400 words after `filtered`.
    """
    path = path or data.path("gradual-words")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    lines: dict[str, int] = {}
    for number, word in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if fault := _fault(word):
            raise InputError(f"{path}:{number}: {fault}")
        if word in lines:
            raise InputError(f"{path}:{number}: {word!r} stands in line {lines[word]} already; remove one of the two")
        lines[word] = number
    words = tuple(lines)
    if len(left := filtered(words)) < FEWEST:
        raise InputError(
            f"{path}: {len(left)} words remain without those that hold a synonym of an order, such as `or`; "
            f"add words until there are {FEWEST}"
        )
    return words


def filtered(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that hold no synonym of an order, not even inside, as `word` holds `or`; their order is kept."""
    synonyms = [synonym for names in SYNONYMS.values() for synonym in names]
    return tuple(word for word in words if not any(synonym in word for synonym in synonyms))


def _fault(word: str) -> str | None:
    """What keeps a line from being a word, and what to do."""
    if not word:
        return "the line is empty; remove it"
    if any(character.isspace() for character in word):
        return f"{word!r} holds a space; write one word a line"
    for character in word:
        if character == "." or not character.isprintable():
            return f"{word!r} holds {character!r}, which ends an answer or cannot be seen; remove it"
        if ord(character) > 255:
            return f"{word!r} holds {character!r}, which is no character of latin-1 and so no single byte; remove it"
    return None


ALLOWED = string.ascii_letters + DIGITS + " ,.!?;-"
LETTERS = string.ascii_lowercase
SIGNS = ' !":?.,;'
_LETTER, _SIGN = "letter", "sign"  # keys of micro2

_MAPPING_WORDS = 200  # of the word list, from its beginning
_MAPPED = 8  # keys of micro6


_solution = lru_cache(maxsize=1 << 12)(Solution)  # instances have many in common


def mapping_tasks(words: Sequence[str], rules: Rules) -> list[Task]:
    """Micro-tasks 1 to 6, in the order of the curriculum."""
    return [*_silent_tasks(), *_digit_tasks(rules), _word_task(words)]


def deal(keys: Sequence[str], draw: Random) -> Iterator[str]:
    """Keys from a shuffled deck that holds each of k keys k times, and from a new one when it is empty."""
    return Deal(keys, draw, len(keys))


# ---- Micro-tasks 1 to 4: one byte, one byte, no feedback.


def _silent_tasks() -> list[Task]:
    return [
        Task(
            "micro1", "one of the allowed characters is always right", _alphabets, _of_alphabet,
            lambda question, hidden: _solution(told(hidden, "answer")),
            lambda hidden: OptionsLeft({None: len(ALLOWED) + 2}), fixed_length=True,
        ),
        Task(
            "micro2", "four letters mean one of them, signs mean themselves", _common_letters, _letters_and_signs,
            # The letter should be known once it was right for a letter, or after 26 wrong answers of any kind.
            _of_common_letter, lambda hidden: OptionsLeft({_LETTER: len(LETTERS) + 2}, {_SIGN: _LETTER}),
            fixed_length=True, requires=("micro1",),
        ),
        Task(
            "micro3", "letters mean each other, signs mean themselves", _permuted_letters, _letters_and_signs,
            _of_letters, _each_letter, fixed_length=True, requires=("micro2",),
        ),
        Task(
            "micro4", "copying a character", _characters, lambda hidden, draw: deal(list(hidden["mapping"]), draw),
            _of_letters, fixed_length=True, requires=("micro3",),
        ),
    ]  # fmt: skip


def _alphabets(draw: Random) -> Iterator[Hidden]:
    while True:
        alphabet = "".join(draw.sample(ALLOWED, 10))
        yield {"alphabet": alphabet, "answer": draw.choice(alphabet)}


def _of_alphabet(hidden: Hidden, draw: Random) -> Iterator[str]:
    if not 0 < len(hidden["alphabet"]) < 256:
        raise InputError(f"the alphabet has {len(hidden['alphabet'])} characters; it has to be 1 to 255")
    return Deal(hidden["alphabet"], draw, times=1, dealt=1)


def _common_letters(draw: Random) -> Iterator[Hidden]:
    while True:
        letters = draw.sample(LETTERS, 4)
        yield {"mapping": dict.fromkeys(letters, draw.choice(letters))}


def _permuted_letters(draw: Random) -> Iterator[Hidden]:
    while True:
        letters = draw.sample(LETTERS, 4)
        yield {"mapping": dict(zip(letters, draw.sample(letters, 4), strict=True))}


def _characters(draw: Random) -> Iterator[Hidden]:
    while True:
        yield {"mapping": {character: character for character in draw.sample(LETTERS + SIGNS, 4)}}


def _letters_and_signs(hidden: Hidden, draw: Random) -> Iterator[str]:
    return deal([*hidden["mapping"], *(sign for sign in SIGNS if sign not in hidden["mapping"])], draw)


def _of_letters(question: str, hidden: Hidden) -> Solution:
    """A sign without an entry means itself."""
    mapping = told(hidden, "mapping")
    if question not in mapping and question not in SIGNS:
        raise InputError(f"the question {question!r} is no key of the mapping: it has {', '.join(map(repr, mapping))}")
    return _solution(mapping.get(question, question), key=question if question in LETTERS else None)


def _of_common_letter(question: str, hidden: Hidden) -> Solution:
    solution = _of_letters(question, hidden)
    return _solution(solution.answer, key=_SIGN if solution.key is None else _LETTER)


def _each_letter(hidden: Hidden) -> Presumption:
    return OptionsLeft(dict.fromkeys((key for key in hidden["mapping"] if key in LETTERS), len(LETTERS)))


# ---- Micro-tasks 5.1 to 5.18: strings of digits, with feedback.


def _digit_tasks(rules: Rules) -> list[Task]:
    one, ten = (1,), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    two, short, five, long = (2,), (1, 2), (1, 2, 3, 4, 5), (3, 4, 5)
    known, stop = None, STOP  # None: the keys are the ten digits
    make = partial(_digit_task, rules)
    return [
        make("1", "a digit for a digit", known, "permutation", "", separator="", input_end=""),
        make("2", "feedback ends with a sign", known, "permutation", "", input_end=""),
        make("3", "questions end with a sign", known, "permutation", ""),
        make("4", "answers of two digits", known, two, ""),
        make("5", "answers end with a full stop", known, one, stop),
        make("6", "feedback on a right answer has no full stop", known, one, stop, drops_stop=True),
        make("7", "answers of one or two digits", known, short, stop),
        make("8", "questions of two digits", two, one, stop),
        make("9", "questions of one or two digits", short, one, stop),
        make("10", "feedback begins with a digit without meaning", known, one, stop, noise=(1,)),
        make("11", "feedback may begin with a digit without meaning", known, one, stop, noise=(0, 1)),
        make("12", "answers of three to five digits", known, long, stop),
        make("13", "questions of three to five digits", long, one, stop),
        make("14", "feedback begins with digits without meaning", known, one, stop, noise=(2, 3, 4)),
        make("15", "answers of one to five digits", known, five, stop),
        make("16", "questions of one to five digits", five, one, stop),
        make("17", "questions and answers of one to five digits", five, five, stop),
        make("18", "questions and answers of one to ten digits", ten, ten, stop),
    ]


def _digit_task(
    rules: Rules,
    number: str,
    about: str,
    keys: Sequence[int] | None,
    answers: Sequence[int] | str,
    stop: str,
    separator: str = ";",
    input_end: str = STOP,
    noise: tuple[int, ...] = (0,),
    drops_stop: bool = False,
) -> Task:
    def instances(draw: Random) -> Iterator[Hidden]:
        while True:
            names = list(DIGITS) if keys is None else [_digits(keys, draw) for _ in DIGITS]
            if answers == "permutation":
                values = draw.sample(DIGITS, 10)
            else:
                values = [_digits(answers, draw) + stop for _ in names]  # pyright: ignore[reportArgumentType]
            yield {"mapping": dict(zip(names, values, strict=True))}

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        return deal([key + input_end for key in hidden["mapping"]], draw)

    def solve(question: str, hidden: Hidden) -> Solution:
        key = question.removesuffix(input_end) if input_end else question
        return solution(key, _value(hidden, key, question, stop))

    @lru_cache(maxsize=1 << 10)  # instances have many in common
    def solution(key: str, answer: str) -> Solution:
        right = answer.removesuffix(stop) if drops_stop else answer
        return Solution(answer, (right + separator,), (answer + separator,), noise=noise, key=key)

    last = int(number)
    return Task(
        f"micro5.{number}", about, instances, questions, solve, each_key_once, fixed_length=True,
        early_stop=rules.early_stop and bool(stop), adaptive=rules.adaptive_stop and drops_stop,
        requires=("micro4",) if last == 1 else (f"micro5.{last - 1}",),
    )  # fmt: skip


def each_key_once(hidden: Hidden) -> Presumption:
    """The answers should be known once each key of the mapping has been asked for."""
    return OptionsLeft(dict.fromkeys(hidden["mapping"], 2))


def _digits(lengths: Sequence[int], draw: Random) -> str:
    number, bits, found = draw.choice(lengths), draw.getrandbits, ""
    while len(found) < number:  # draw.choice(DIGITS) so many times, without its calls
        digit = bits(4)
        if digit < len(DIGITS):
            found += DIGITS[digit]
    return found


def _value(hidden: Hidden, key: str, question: str, stop: str) -> str:
    """The answer for a key; a full stop that a person's mapping leaves out is added."""
    mapping = told(hidden, "mapping")
    if key not in mapping:
        raise InputError(f"the question {question!r} asks for {key!r}; the mapping has {', '.join(map(repr, mapping))}")
    value = mapping[key]
    return value if value.endswith(stop) else value + stop


# ---- Micro-task 6: words.


def _word_task(words: Sequence[str]) -> Task:
    asked = "random_map: "

    def instances(draw: Random) -> Iterator[Hidden]:
        while True:
            keys, values = (draw.sample(words[:_MAPPING_WORDS], _MAPPED) for _ in range(2))
            yield {"mapping": dict(zip(keys, (value + STOP for value in values), strict=True))}

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        keys = list(hidden["mapping"])
        while True:
            yield f"{asked}{draw.choice(keys)}{STOP}"

    def solve(question: str, hidden: Hidden) -> Solution:
        key = question.removeprefix(asked).removesuffix(STOP)
        answer = _value(hidden, key, question, STOP)
        return Solution(answer, ("good job! ;",), (f"wrong! {answer};",), key=key)

    return Task(
        "micro6", "answers to words are words", instances, questions, solve, each_key_once, tolerance=2,
        requires=("micro5.18",),
    )  # fmt: skip


# ---- Micro-tasks 7 to 12: what to do with words is said by commands (A.2.7 to A.2.12).

_PAIRS = ("ab", "ac", "ad", "bc", "bd", "cd")
_TRIPLES = ("abc", "acd", "adc", "bcd", "bda", "cdb")
_MOST_SPACES = 6


def text_tasks(words: Sequence[str]) -> list[Task]:
    """Micro-tasks 7.1 to 12, in the order of the curriculum."""
    said = ("correct!", "false!")
    signed = repeated(lambda draw: f"interleave: {draw.choice(words)} by {draw.choice('-#,')}{STOP}")
    with_sign = solving(
        r"interleave: ([^ .:]+) by ([^ ])\.", lambda word, sign: long(sign.join(word) + STOP, ("good job!", "wrong!"))
    )
    task = stateless_task
    return [
        task("micro7.1", "saying a letter", saying(1, LETTERS), copying(said), "micro6"),
        task("micro7.2", "saying a word", saying(1, words), copying(said), "micro7.1"),
        task("micro7.3", "saying two words", saying(2, words), copying(said), "micro7.2"),
        task("micro8", "runs of spaces mean one", repeated(_spaced_letters), collapsing, "micro7.1"),
        task("micro9.1", "spelling a letter", spelling(LETTERS), spelled, "micro7.1"),
        task("micro9.2", "spelling a word", spelling(words), spelled, "micro9.1", "micro7.2"),
        task("micro9.3", "a sign between letters", signed, with_sign, "micro9.2"),
        task("micro10", "several commands at once", several(words), said_one_by_one, "micro7.3"),
        task("micro11", "doing something with two words", two_pairs, pair_made, "micro10"),
        task("micro12", "one word changes another", word_and_letter, word_changed, "micro11"),
    ]


def stateless_task(name: str, about: str, questions: Questions, solve: Solve, *requires: str) -> Task:
    """A task whose instances hide nothing."""
    return Task(name, about, stateless, questions, solve, requires=requires)


def matched(pattern: str, question: str) -> re.Match[str]:
    """The match of a whole question; InputError where it is no such question."""
    found = re.fullmatch(pattern, question)
    if found is None:
        raise InputError(f"{question!r} is no question of this task: it has the form {pattern}")
    return found


def repeated(question: Callable[[Random], str]) -> Questions:
    """Asks one drawn question after the other."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield question(draw)

    return questions


def solving(pattern: str, solution: Callable[..., Solution]) -> Solve:
    """Solves the questions of one form.

    :param solution: of the groups of the pattern.
    """
    return lambda question, hidden: solution(*matched(pattern, question).groups())


def short(answer: str) -> Solution:
    """Feedback that says what was expected after a wrong answer only."""
    return Solution(answer, ("good job! ;",), (f"wrong! {answer};",))


def long(answer: str, said: tuple[str, str]) -> Solution:
    """Feedback that says it always."""
    return Solution(answer, (f"{said[0]} {answer};",), (f"{said[1]} {answer};",))


def saying(number: int, words: Sequence[str]) -> Questions:
    """Asks for words."""
    return repeated(lambda draw: f"say: {' '.join(draw.choice(words) for _ in range(number))}{STOP}")


def copying(said: tuple[str, str]) -> Solve:
    """What is to be said is the answer."""
    return solving(r"say: ([^.:]+)\.", lambda asked: long(asked + STOP, said))


def _spaced_letters(draw: Random) -> str:
    before, between, after = (" " * draw.randint(0, _MOST_SPACES) for _ in range(3))
    return f"say: {before}{draw.choice(LETTERS)}{between}{draw.choice(LETTERS)}{after}{STOP}"


#: Runs of spaces become one.
collapsing = solving(
    r"say: ([^.:]+)\.", lambda asked: long(re.sub(" +", " ", asked).lstrip(" ") + STOP, ("correct!", "false!"))
)


def spelling(words: Sequence[str]) -> Questions:
    """Asks for the letters of a word."""
    return repeated(lambda draw: f"spell: {draw.choice(words)}{STOP}")


#: A space behind each letter.
spelled = solving(r"spell: ([^ .:]+)\.", lambda word: long(" ".join(word + STOP), ("good job!", "wrong!")))


def several(words: Sequence[str]) -> Questions:
    """Asks for two or three words, each by a command."""
    return repeated(lambda draw: " ".join(f"say: {draw.choice(words)}" for _ in range(draw.choice((2, 3)))) + STOP)


#: All of the words.
said_one_by_one = solving(r"((?:say: [^ .:]+ )+say: [^ .:]+)\.", lambda asked: short(asked.replace("say: ", "") + STOP))


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
