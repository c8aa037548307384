"""Micro-tasks 13 to 20: logical words, sequences, and commands under other names (A.2.13 to A.2.20)."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from gumption.data import InputError

from .mapping_tasks import LETTERS, each_key_once
from .rules import Rules
from .task import STOP, Hidden, Instances, Questions, Solution, Solve, Task, stateless, told
from .text_tasks import (
    matched,
    pair_made,
    said_one_by_one,
    several,
    short,
    spelled,
    spelling,
    two_pairs,
    word_and_letter,
    word_changed,
)
from .words import SYNONYMS

FEW = "abcde"
SEQUENCES = (
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"],
    ["ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
)
NAMES = slice(200, 400)  # of the filtered word list: new names of commands


def logic_tasks(words: Sequence[str], filtered: Sequence[str], rules: Rules) -> list[Task]:
    """Micro-tasks 13.1 to 20, in the order of the curriculum.

    :param filtered: the words that have none of SYNONYMS in them.
    """
    kinds: dict[str, tuple[Questions, Solve]] = {
        "micro9.2": (spelling(words), spelled),
        "micro10": (several(words), said_one_by_one),
        "micro11": (two_pairs, pair_made),
        "micro12": (word_and_letter, word_changed),
        "micro14": (_letters_before, _next_letter),
    }
    contexts = {name: kinds[name] for name in ("micro9.2", "micro10", "micro11", "micro12")}
    renamed = {name: kinds[name] for name in ("micro10", "micro11", "micro12", "micro14")}
    renamed["micro10"] = (several(filtered), said_one_by_one)
    if rules.and_or_synonyms:
        renamed["micro13.1"] = (_two_letters, partial(_two_letters_said, rules))
    before = ("micro9.2", "micro10", "micro11", "micro12")
    return [
        Task(
            "micro13.1", "and, or, not with letters", stateless, _two_letters, partial(_two_letters_said, rules),
            requires=("micro12",),
        ),
        Task(
            "micro13.2", "and, or with several words", stateless, _several_parts, partial(_parts_said, rules),
            requires=("micro13.1",),
        ),
        Task("micro14", "the order of letters", stateless, _letters_before, _next_letter, requires=("micro7.1",)),
        Task(
            "micro15", "the order of words", _sequences, _words_before, _next_word, each_key_once, tolerance=2,
            requires=("micro6", "micro14"),
        ),
        Task(
            "micro16", "questions tell what is to be done", _dealt(contexts) if rules.upstream_quirks else stateless,
            partial(_asking, contexts), partial(_solving, contexts), requires=before,
        ),
        Task(
            "micro19", "commands have synonyms", _dealt(renamed), partial(_asking_by_synonym, renamed),
            partial(_solving_synonyms, renamed), tolerance=2, requires=(*before[1:], "micro14", "micro16"),
        ),
        Task(
            "micro20", "commands get new names", _named(renamed, filtered[NAMES]),
            partial(_asking_by_name, renamed, filtered), partial(_solving_names, renamed), tolerance=2,
            requires=("micro19",),
        ),
    ]  # fmt: skip


# 13: and, or, not


def _two_letters(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        kind = draw.randrange(4)
        first = draw.choice(FEW)
        if kind == 0:
            yield f" say: {first} and {draw.choice(FEW)}{STOP}"
        elif kind == 1:
            yield f" say: {first} or {draw.choice(FEW)}{STOP}"
        elif kind == 2:
            yield f" say: anything and not {first}{STOP}"
        else:
            second = draw.choice([letter for letter in FEW if letter != first])
            others = [letter for letter in FEW if letter not in (first, second)]
            not_this = draw.choice((first, second, draw.choice(others)))
            yield f" say: {first} or {second} but not {not_this}{STOP}"


def _two_letters_said(rules: Rules, question: str, hidden: Hidden) -> Solution:
    asked = matched(r" ?say: ([^.]+)\.", question)[1]
    if found := re.fullmatch(r"(\w) and (\w)", asked):
        answer = found[1] + found[2] + STOP
        return Solution(
            answer, ("good job! ;",), (f"wrong! {answer};",), answer.endswith if rules.upstream_quirks else None
        )
    if found := re.fullmatch(r"anything and not (\w)", asked):
        [unwanted] = found.groups()
        others = [letter for letter in FEW if letter != unwanted]
        wrong = tuple(f"wrong! {letter};" for letter in others)
        return Solution(
            others[0] + STOP, ("good job! ;",), wrong,
            lambda answer: len(answer) > 1 and unwanted not in answer,
        )  # fmt: skip
    found = matched(r"(\w) or (\w)(?: but not (\w))?", asked)
    first, second, unwanted = found.groups()
    wanted = [letter for letter in dict.fromkeys((first, second)) if letter != unwanted]
    said = {letter + STOP for letter in wanted}
    said |= {one + other + STOP for one, other in ((first, second), (second, first)) if unwanted not in (one, other)}
    shown = tuple(letter if unwanted else letter + STOP for letter in wanted)
    return Solution(
        wanted[0] + STOP, ("good job! ;",), tuple(f"wrong! {letter};" for letter in shown), said.__contains__
    )


def _several_parts(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        operator = draw.choice((" or ", " and "))
        words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.randint(2, 4))]
        yield f"say: {operator.join(words)}{STOP}"


def _parts_said(rules: Rules, question: str, hidden: Hidden) -> Solution:
    asked = matched(r"say: (\w+(?: and \w+)+|\w+(?: or \w+)+)\.", question)[1]
    if " and " in asked:
        return short(asked.replace(" and ", "") + STOP)
    words = asked.split(" or ")
    if rules.joined_or:
        some = re.compile(f"(?:{'|'.join(words)})+\\.")
        accepts = lambda answer: some.fullmatch(answer) is not None  # noqa: E731
    else:
        accepts = lambda answer: any(word in answer for word in words)  # noqa: E731
    return Solution(words[0] + STOP, ("good job! ;",), tuple(f"wrong! {word};" for word in words), accepts)


# 14 and 15: sequences


def _letters_before(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"after {draw.choice(LETTERS[:-1])} comes what:{STOP}"


def _next_letter(question: str, hidden: Hidden) -> Solution:
    letter = matched(r"after ([a-y]) comes what:\.", question)[1]
    return short(LETTERS[LETTERS.index(letter) + 1] + STOP)


def _sequences(draw: Random) -> Iterator[Hidden]:
    while True:
        sequence = list(draw.choice(SEQUENCES))
        if draw.random() < 2 / 3:
            sequence.reverse()
        yield {"mapping": dict(zip(sequence, (word + STOP for word in sequence[1:]), strict=False))}


def _words_before(hidden: Hidden, draw: Random) -> Iterator[str]:
    keys = list(hidden["mapping"])
    while True:
        yield f"say next after: {draw.choice(keys)}{STOP}"


def _next_word(question: str, hidden: Hidden) -> Solution:
    word, mapping = matched(r"say next after: ([^.:]+)\.", question)[1], told(hidden, "mapping")
    if word not in mapping:
        raise InputError(f"the question {question!r} asks for {word!r}; the mapping has {', '.join(mapping)}")
    answer = mapping[word].removesuffix(STOP) + STOP
    return Solution(answer, ("good job! ;",), (f"wrong! {answer};",), key=word)


# 16, 19 and 20: several kinds of questions


Kinds = dict[str, tuple[Questions, Solve]]


def _dealt(kinds: Kinds) -> Instances:
    """Instances with one kind of questions each; the kinds are dealt out one by one, then again."""

    def instances(draw: Random) -> Iterator[Hidden]:
        while True:
            for name in draw.sample(list(kinds), len(kinds)):
                yield {"task": name}

    return instances


def _asking(kinds: Kinds, hidden: Hidden, draw: Random) -> Iterator[str]:
    running = {name: ask(hidden, draw) for name, (ask, _) in kinds.items()}
    while True:
        yield next(running[hidden.get("task") or draw.choice(list(kinds))])


def _solving(kinds: Kinds, question: str, hidden: Hidden) -> Solution:
    for _, solve in kinds.values():
        try:
            return solve(question, hidden)
        except InputError:
            continue
    raise InputError(f"{question!r} is none of the questions of {', '.join(kinds)}")


def _free(words: Sequence[str]) -> re.Pattern[str]:
    """Finds words that stand free."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(?=\W)")


_COMMANDS = _free(list(SYNONYMS))
_KNOWN = _free([synonym for words in SYNONYMS.values() for synonym in words])
_MEANING = {synonym: word for word, words in SYNONYMS.items() for synonym in words}


def _asking_by_synonym(kinds: Kinds, hidden: Hidden, draw: Random) -> Iterator[str]:
    for question in _asking(kinds, hidden, draw):
        chosen = {word: draw.choice(synonyms) for word, synonyms in SYNONYMS.items()}
        yield _COMMANDS.sub(lambda found, chosen=chosen: chosen[found[0]], question)


def _solving_synonyms(kinds: Kinds, question: str, hidden: Hidden) -> Solution:
    return _solving(kinds, _KNOWN.sub(lambda found: _MEANING[found[0]], question), hidden)


def _named(kinds: Kinds, names: Sequence[str]) -> Instances:
    def instances(draw: Random) -> Iterator[Hidden]:
        for hidden in _dealt(kinds)(draw):
            yield {**hidden, "names": dict(zip(SYNONYMS, draw.sample(names, len(SYNONYMS)), strict=True))}

    return instances


def _asking_by_name(kinds: Kinds, filtered: Sequence[str], hidden: Hidden, draw: Random) -> Iterator[str]:
    names = hidden["names"]
    taken = set(names.values())
    kinds = {**kinds, "micro10": (several([word for word in filtered if word not in taken]), said_one_by_one)}
    for question in _asking(kinds, hidden, draw):
        old = draw.choice(list(dict.fromkeys(_COMMANDS.findall(question))))
        new = names[old]
        yield f"{new} is as {old} - " + _free([old]).sub(new, question)


def _solving_names(kinds: Kinds, question: str, hidden: Hidden) -> Solution:
    new, old, asked = matched(r"([^ ]+) is as ([^ ]+) - (.*)", question).groups()
    return _solving(kinds, _free([new]).sub(old, asked), hidden)
