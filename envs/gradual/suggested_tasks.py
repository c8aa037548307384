"""Tasks that the document describes and the program of 2017 lacks (A.2.8, A.2.9.2, A.2.9.4, A.2.11, A.2.13.2)."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from gumption.data import InputError

from .logic_tasks import joined_from
from .mapping_tasks import LETTERS
from .task import SILENCE, STOP, Hidden, Questions, Solution, Solve, Task, stateless
from .text_tasks import collapsing, matched, pair_made, short, spelled, spelling, two_pairs

MARK = "!"  # said at the end of an occurrence

_SHORTEST_HOST = 3  # letters of a word in which another is looked for
_LONGEST_PART = 3


def suggested_tasks(words: Sequence[str]) -> list[Task]:
    """These tasks, in the order in which they can be learned."""

    def task(name: str, about: str, questions: Questions, solve: Solve, *requires: str) -> Task:
        return Task(name, about, stateless, questions, solve, requires=requires)

    hosts = [word for word in words if len(word) >= _SHORTEST_HOST]
    return [
        task("micro8.1", "one space too many means nothing", _spaced(1), collapsing, "micro7.1"),
        task("micro8.2", "two spaces too many mean nothing", _spaced(2), collapsing, "micro8.1"),
        task("micro8.3", "three spaces too many mean nothing", _spaced(3), collapsing, "micro8.2"),
        Task(
            "micro9.2v1", "spelling a word, and the first wrong letter is punished", stateless, spelling(words),
            spelled, letters="first wrong", requires=("micro9.1",),
        ),
        Task(
            "micro9.2v2", "spelling a word, and each letter is rewarded or punished", stateless, spelling(words),
            spelled, letters="each", requires=("micro9.1",),
        ),
        task("micro9.4.1", "the shorter or the longer of two words", _two(words), _of_two, "micro7.2"),
        task("micro9.4.2", "the shortest or the longest of several words", _several(words), _of_all, "micro9.4.1"),
        task("micro9.4.3", "words without a given one", _with_exception(words), _without, "micro7.3"),
        task(
            "micro9.4.4", "removing a part of a word", _asking_once("remove: {} from: {}.", hosts), _removed,
            "micro7.2",
        ),
        task("micro9.4.5", "whether a word has a part", _asking_whether("find: {} in: {}.", hosts), _found, "micro7.2"),
        task(
            "micro9.4.5s", "speaking while a part of a word is sent",
            _asking_whether("listen for: {} in: {}.", hosts), partial(_heard, "listen for", first=True), "micro9.4.5",
        ),
        task(
            "micro9.4.6", "removing all occurrences of a part", _asking_often("remove all: {} from: {}.", hosts),
            _removed_all, "micro9.4.4",
        ),
        task(
            "micro9.4.7", "the places of all occurrences of a part", _asking_often("find all: {} in: {}.", hosts),
            _all_found, "micro9.4.5",
        ),
        task(
            "micro9.4.7s", "speaking whenever a part of a word is sent",
            _asking_often("listen for all: {} in: {}.", hosts), partial(_heard, "listen for all", first=False),
            "micro9.4.5s", "micro9.4.7",
        ),
        task("micro11.2", "several operations on two words", _chained, _chain_made, "micro11"),
        task("micro13.3", "and with or", _mixed, _mixed_said, "micro13.2"),
    ]  # fmt: skip


# A.2.8: spaces


def _spaced(number: int) -> Questions:
    """Asks for two letters; there are so many spaces too many before, between or behind them."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        extra = " " * number
        while True:
            before, between, behind = draw.choice(((extra, " ", ""), ("", " " + extra, ""), ("", " ", " " + extra)))
            yield f"say: {before}{draw.choice(LETTERS)}{between}{draw.choice(LETTERS)}{behind}{STOP}"

    return questions


# A.2.9.4, 1 to 3: words and their lengths


def _two(words: Sequence[str]) -> Questions:
    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            first, second = draw.choice(words), draw.choice(words)
            if len(first) != len(second):
                yield f"{draw.choice(('shorter', 'longer'))}: {first} {second}{STOP}"

    return questions


def _of_two(question: str, hidden: Hidden) -> Solution:
    kind, *words = matched(r"(shorter|longer): ([^ .:]+) ([^ .:]+)\.", question).groups()
    return _outermost(question, words, longest=kind == "longer")


def _several(words: Sequence[str]) -> Questions:
    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            kind, asked = draw.choice(("shortest", "longest")), draw.sample(words, draw.randint(3, 5))
            lengths = sorted(map(len, asked), reverse=kind == "longest")
            if lengths[0] != lengths[1]:
                yield f"{kind}: {' '.join(asked)}{STOP}"

    return questions


def _of_all(question: str, hidden: Hidden) -> Solution:
    kind, words = matched(r"(shortest|longest): ([^.:]+)\.", question).groups()
    return _outermost(question, words.split(" "), longest=kind == "longest")


def _outermost(question: str, words: list[str], longest: bool) -> Solution:
    lengths = [len(word) for word in words]
    length = max(lengths) if longest else min(lengths)
    if lengths.count(length) > 1:
        raise InputError(f"the question {question!r} has no single answer: two words of {length} letters")
    return short(words[lengths.index(length)] + STOP)


def _with_exception(words: Sequence[str]) -> Questions:
    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            asked = draw.sample(words, draw.randint(2, 4))
            yield f"say: {' '.join(asked)} except: {draw.choice(asked)}{STOP}"

    return questions


def _without(question: str, hidden: Hidden) -> Solution:
    words, exception = matched(r"say: ([^.:]+) except: ([^ .:]+)\.", question).groups()
    return short(" ".join(word for word in words.split(" ") if word != exception) + STOP)


# A.2.9.4, 4 to 7: parts of words


def occurrences(part: str, word: str) -> list[int]:
    """Where a part begins in a word, overlapping occurrences too."""
    return [place for place in range(len(word)) if word.startswith(part, place)]


def _parts(word: str) -> list[str]:
    """What occurs in a word and is shorter than it."""
    longest = min(_LONGEST_PART, len(word) - 1)
    return [word[i : i + n] for n in range(1, longest + 1) for i in range(len(word) - n + 1)]


def _asking_once(form: str, hosts: Sequence[str]) -> Questions:
    """Asks for a part that a word has once."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            host = draw.choice(hosts)
            part = draw.choice(_parts(host))
            if len(occurrences(part, host)) == 1:
                yield form.format(part, host)

    return questions


def _asking_whether(form: str, hosts: Sequence[str]) -> Questions:
    """Asks for a part that a word has, or has not."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            host, has = draw.choice(hosts), draw.random() < 1 / 2
            part = draw.choice(_parts(host))
            while not has and part in host:
                part = draw.choice(_parts(draw.choice(hosts)))
            yield form.format(part, host)

    return questions


def _asking_often(form: str, hosts: Sequence[str]) -> Questions:
    """Asks for a part that a word has several times."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            host = draw.choice(hosts)
            if often := [part for part in dict.fromkeys(_parts(host)) if len(occurrences(part, host)) > 1]:
                yield form.format(draw.choice(often), host)

    return questions


def _removed(question: str, hidden: Hidden) -> Solution:
    part, host = matched(r"remove: ([^ .:]+) from: ([^ .:]+)\.", question).groups()
    return short(host.replace(part, "", 1) + STOP)


def _removed_all(question: str, hidden: Hidden) -> Solution:
    part, host = matched(r"remove all: ([^ .:]+) from: ([^ .:]+)\.", question).groups()
    return short(host.replace(part, "") + STOP)


def _found(question: str, hidden: Hidden) -> Solution:
    part, host = matched(r"find: ([^ .:]+) in: ([^ .:]+)\.", question).groups()
    return short(f"{part in host}".lower() + STOP)


def _all_found(question: str, hidden: Hidden) -> Solution:
    part, host = matched(r"find all: ([^ .:]+) in: ([^ .:]+)\.", question).groups()
    places = occurrences(part, host)
    return short((" ".join(str(place + 1) for place in places) or "none") + STOP)


def _heard(command: str, question: str, hidden: Hidden, first: bool) -> Solution:
    """A mark in reply to the last letter of an occurrence, silence in reply to the others, then a full stop."""
    part, host = matched(command + r": ([^ .:]+) in: ([^ .:]+)\.", question).groups()
    places = occurrences(part, host)[: 1 if first else None]
    ends = {place + len(part) - 1 for place in places}
    answer = "".join(MARK if place in ends else SILENCE for place in range(len(host))) + STOP
    return Solution(answer, ("good job! ;",), (f"wrong! {answer};",), opens=len(question) - len(host))


# A.2.11 and A.2.13.2: several operations


def _chained(hidden: Hidden, draw: Random) -> Iterator[str]:
    for question in two_pairs(hidden, draw):
        words = question.rsplit(" ", 1)[0]
        last = draw.choice(("reverse", "concatenate", "interleave"))
        yield f"{words} {'reverse: ' * draw.choice((1, 2))}{last}:{STOP}"


def _chain_made(question: str, hidden: Hidden) -> Solution:
    first, second, turns, last = matched(
        r"say: (\w\w) say: (\w\w) ((?:reverse: )+)(reverse|concatenate|interleave):\.", question
    ).groups()
    if turns.count("reverse") % 2:
        first, second = second, first
    return pair_made(f"say: {first} say: {second} {last}:{STOP}", hidden)


def _mixed(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.choice((3, 4)))]
        operators = [draw.choice((" and ", " or ")) for _ in words[1:]]
        if len(set(operators)) == 2:
            yield "say: " + words[0] + "".join(map("".join, zip(operators, words[1:], strict=True))) + STOP


def _mixed_said(question: str, hidden: Hidden) -> Solution:
    """ "and" binds closer than "or"; right are some of the alternatives, one behind the other."""
    asked = matched(r"say: (\w+(?: (?:and|or) \w+)+)\.", question)[1]
    alternatives = [each.replace(" and ", "") for each in asked.split(" or ")]
    return Solution(
        alternatives[0] + STOP, ("good job! ;",), tuple(f"wrong! {each}.;" for each in alternatives),
        partial(joined_from, alternatives),
    )  # fmt: skip
