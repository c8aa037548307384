"""Tasks that the document describes and the program of 2017 lacks (A.2.8, A.2.9.2, A.2.9.4, A.2.11, A.2.13.2)."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from operator import contains
from random import Random
from typing import TypeAlias

from gumption.data import InputError

from .logic_tasks import joined_from
from .mapping_tasks import LETTERS, collapsing, each_key_once, pair_made, spelled, spelling, two_pairs
from .task import (
    GOOD,
    SILENCE,
    STOP,
    Hidden,
    OptionsLeft,
    Questions,
    Solution,
    Solve,
    Task,
    about_keys,
    drawn,
    looked_up,
    matched,
    repeated,
    short,
    solving,
    stateless,
    stateless_task,
)

MARK = "!"  # said at the end of an occurrence


def suggested_tasks(words: Sequence[str]) -> list[Task]:
    """These tasks, in the order in which they can be learned."""
    task = stateless_task
    chain_made = solving(r"say: (\w\w) say: (\w\w) ((?:reverse: )+)(reverse|concatenate|interleave):\.", _chain_made)
    hosts = [word for word in words if len(word) >= 3]
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
        task(
            "micro9.4.1", "the shorter or the longer of two words", repeated(partial(_two_words, words)),
            solving(r"(shorter|longer): ([^ .:]+ [^ .:]+)\.", _outermost), "micro7.2",
        ),
        task(
            "micro9.4.2", "the shortest or the longest of several words", repeated(partial(_several_words, words)),
            solving(r"(shortest|longest): ([^.:]+)\.", _outermost), "micro9.4.1",
        ),
        task(
            "micro9.4.3", "words without a given one", repeated(partial(_with_exception, words)), _without,
            "micro7.3",
        ),
        task(
            "micro9.4.4", "removing a part of a word", _asking_once("remove: {} from: {}.", hosts),
            _of_part("remove", lambda part, host: host.replace(part, "", 1)), "micro7.2",
        ),
        task(
            "micro9.4.5", "whether a word has a part", _asking_whether("find: {} in: {}.", hosts),
            _of_part("find", lambda part, host: f"{part in host}".lower()), "micro7.2",
        ),
        task(
            "micro9.4.5s", "speaking while a part of a word is sent",
            _asking_whether("listen for: {} in: {}.", hosts), partial(_heard, "listen for", first=True), "micro9.4.5",
        ),
        task(
            "micro9.4.6", "removing all occurrences of a part", _asking_often("remove all: {} from: {}.", hosts),
            _of_part("remove all", lambda part, host: host.replace(part, "")), "micro9.4.4",
        ),
        task(
            "micro9.4.7", "the places of all occurrences of a part", _asking_often("find all: {} in: {}.", hosts),
            _of_part("find all", lambda part, host: " ".join(str(at + 1) for at in occurrences(part, host)) or "none"),
            "micro9.4.5",
        ),
        task(
            "micro9.4.7s", "speaking whenever a part of a word is sent",
            _asking_often("listen for all: {} in: {}.", hosts), partial(_heard, "listen for all", first=False),
            "micro9.4.5s", "micro9.4.7",
        ),
        task("micro11.2", "several operations on two words", _chained, chain_made, "micro11"),
        task(
            "micro13.3", "and with or", repeated(_mixed),
            solving(r"say: (\w+(?: (?:and|or) \w+)+)\.", _mixed_said), "micro13.2",
        ),
    ]  # fmt: skip


# ---- A.2.8: spaces


def _spaced(number: int) -> Questions:
    """Asks for two letters; there are so many spaces too many before, between or behind them."""
    extra = " " * number

    def question(draw: Random) -> str:
        before, between, behind = draw.choice(((extra, " ", ""), ("", " " + extra, ""), ("", " ", " " + extra)))
        return f"say: {before}{draw.choice(LETTERS)}{between}{draw.choice(LETTERS)}{behind}{STOP}"

    return repeated(question)


# ---- A.2.9.4, 1 to 3: words and their lengths


def _two_words(words: Sequence[str], draw: Random) -> str | None:
    first, second = draw.choice(words), draw.choice(words)
    if len(first) == len(second):
        return None
    return f"{draw.choice(('shorter', 'longer'))}: {first} {second}{STOP}"


def _several_words(words: Sequence[str], draw: Random) -> str | None:
    kind, asked = draw.choice(("shortest", "longest")), draw.sample(words, draw.randint(3, 5))
    first, second, *_ = sorted(map(len, asked), reverse=kind == "longest")
    return None if first == second else f"{kind}: {' '.join(asked)}{STOP}"


def _outermost(kind: str, asked: str) -> Solution:
    words = asked.split(" ")
    lengths = [len(word) for word in words]
    length = max(lengths) if kind.startswith("long") else min(lengths)
    if lengths.count(length) > 1:
        raise InputError(f"the question '{kind}: {asked}.' has no single answer: two words of {length} letters")
    return short(words[lengths.index(length)] + STOP)


def _with_exception(words: Sequence[str], draw: Random) -> str:
    asked = draw.sample(words, draw.randint(2, 4))
    return f"say: {' '.join(asked)} except: {draw.choice(asked)}{STOP}"


_without = solving(
    r"say: ([^.:]+) except: ([^ .:]+)\.",
    lambda words, exception: short(" ".join(word for word in words.split(" ") if word != exception) + STOP),
)


# ---- A.2.9.4, 4 to 7: parts of words


def occurrences(part: str, word: str) -> list[int]:
    """Where a part begins in a word, overlapping occurrences too."""
    return [place for place in range(len(word)) if word.startswith(part, place)]


def _parts(word: str) -> list[str]:
    """All parts of a word of up to three letters, but for the word."""
    longest = min(3, len(word) - 1)
    return [word[i : i + n] for n in range(1, longest + 1) for i in range(len(word) - n + 1)]


def _asking_once(form: str, hosts: Sequence[str]) -> Questions:
    """Asks about a part that a word has once."""

    def question(draw: Random) -> str | None:
        host = draw.choice(hosts)
        part = draw.choice(_parts(host))
        return form.format(part, host) if len(occurrences(part, host)) == 1 else None

    return repeated(question)


def _asking_whether(form: str, hosts: Sequence[str]) -> Questions:
    """Asks about a part that a word has, or has not."""

    def question(draw: Random) -> str:
        host, has = draw.choice(hosts), draw.random() < 1 / 2
        part = draw.choice(_parts(host))
        while not has and part in host:
            part = draw.choice(_parts(draw.choice(hosts)))
        return form.format(part, host)

    return repeated(question)


def _asking_often(form: str, hosts: Sequence[str]) -> Questions:
    """Asks about a part that a word has several times."""

    def question(draw: Random) -> str | None:
        host = draw.choice(hosts)
        often = [part for part in dict.fromkeys(_parts(host)) if len(occurrences(part, host)) > 1]
        return form.format(draw.choice(often), host) if often else None

    return repeated(question)


def _of_part(command: str, answer: Callable[[str, str], str]) -> Solve:
    """Solves questions about a part of a word; `answer` takes both, and gives the answer without its full stop."""
    return solving(command + r": ([^ .:]+) (?:from|in): ([^ .:]+)\.", lambda *words: short(answer(*words) + STOP))


def _heard(command: str, question: str, hidden: Hidden, first: bool) -> Solution:
    """A mark in reply to the last letter of an occurrence, silence in reply to the others, then a full stop."""
    part, host = matched(command + r": ([^ .:]+) in: ([^ .:]+)\.", question).groups()
    places = occurrences(part, host)[: 1 if first else None]
    ends = {place + len(part) - 1 for place in places}
    answer = "".join(MARK if place in ends else SILENCE for place in range(len(host))) + STOP
    return short(answer, opens=len(question) - len(host))


# ---- A.2.11 and A.2.13.2: several operations


def _chained(hidden: Hidden, draw: Random) -> Iterator[str]:
    for question in two_pairs(hidden, draw):
        words = question.rsplit(" ", 1)[0]
        last = draw.choice(("reverse", "concatenate", "interleave"))
        yield f"{words} {'reverse: ' * draw.choice((1, 2))}{last}:{STOP}"


def _chain_made(first: str, second: str, turns: str, last: str) -> Solution:
    if turns.count("reverse") % 2:
        first, second = second, first
    return pair_made(f"say: {first} say: {second} {last}:{STOP}", {})


def _mixed(draw: Random) -> str | None:
    words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.choice((3, 4)))]
    operators = [draw.choice((" and ", " or ")) for _ in words[1:]]
    if len(set(operators)) < 2:
        return None
    return "say: " + words[0] + "".join(map("".join, zip(operators, words[1:], strict=True))) + STOP


def _mixed_said(asked: str) -> Solution:
    """ "and" binds closer than "or"; an answer is some of the alternatives, one behind the other."""
    alternatives = [each.replace(" and ", "") for each in asked.split(" or ")]
    wrong = tuple(f"wrong! {each}.;" for each in alternatives)
    return Solution(alternatives[0] + STOP, GOOD, wrong, partial(joined_from, alternatives))


# ---- A ladder to a conversation about a small world, the hardest task of the document's second alternative curriculum
# (A.1.6.2). Things have a kind, a size and a colour, and lie at places. The agent answers word by word; each right word
# is followed by "yes", the first wrong one by "no" and the whole answer, and "!" closes an answer.

#: Per place the words of the thing that lies there.
Scene: TypeAlias = Mapping[str, Sequence[str]]

ATTRIBUTES = {"object": ("CUBE", "BALL", "CONE"), "size": ("LARGE", "SMALL"), "colour": ("RED", "GREEN", "BLUE")}
PLACES = ("table", "floor", "shelf", "chair")
NUMBERS = ("ZERO", "ONE", "TWO", "THREE")

_WORDS = [word for words in ATTRIBUTES.values() for word in words]


def small_world_tasks() -> list[Task]:
    """world1 to world8, in the order of the ladder: six about things in sight, two about remembered ones."""
    shown: list[tuple[str, Callable[[Random], str], Callable[[str, Hidden], Solution]]] = [
        (
            "a word at a time, then a sign",
            lambda draw: f"see: {draw.choice(ATTRIBUTES['object'])} describe: object?",
            solving(rf"see: ({'|'.join(ATTRIBUTES['object'])}) describe: object\?", _words_said),
        ),
        (
            "one attribute of a thing",
            lambda draw: f"see: {' '.join(_thing(draw))} ask: {draw.choice(list(ATTRIBUTES))}?",
            solving(
                rf"see: (.+) ask: ({'|'.join(ATTRIBUTES)})\?",
                lambda thing, attribute: _words_said(_of_attribute(_read_thing(thing), attribute)),
            ),
        ),
        (
            "whether a thing has an attribute",
            _a_doubt,
            solving(
                rf"see: (.+) confirm: ({'|'.join(_WORDS)})\?",
                lambda thing, word: _words_said("YES" if word in _read_thing(thing) else "NO"),
            ),
        ),
        ("where things are", _a_search, _place),
        (
            "how many things have an attribute",
            lambda draw: f"{_told_scene(_scene(draw, draw.choice((2, 3))))} count: {draw.choice(_WORDS)}?",
            _number,
        ),
        ("things move", _a_move, _place_after_move),
    ]
    tasks = [
        Task(
            f"world{number}", about, stateless, repeated(draw_question), solve, reply="yes",
            requires=(f"world{number - 1}",) if number > 1 else (),
        )
        for number, (about, draw_question, solve) in enumerate(shown, 1)
    ]  # fmt: skip
    scenes = drawn(lambda draw: {"mapping": {place: " ".join(_thing(draw)) for place in PLACES}})
    return [
        *tasks,
        Task(
            "world7", "remembering an attribute of a thing", scenes,
            about_keys(lambda place, draw: f"see: {place} ask: {draw.choice(list(ATTRIBUTES))}?"),
            _remembered_attribute,
            lambda hidden: OptionsLeft(dict.fromkeys(product(hidden["mapping"], ATTRIBUTES), 2)),
            reply="yes", requires=("world2", "world4"),
        ),
        Task(
            "world8", "describing a thing from memory", scenes,
            about_keys(lambda place, draw: f"see: {place} describe: object?"), _remembered_thing, each_key_once,
            reply="yes", requires=("world7",),
        ),
    ]  # fmt: skip


def _words_said(*words: str, key: Hashable = None) -> Solution:
    answer = " ".join((*words, "!"))
    return Solution(answer, wrong=(f"no {answer};",), key=key)


# ---- What is seen.


def _thing(draw: Random) -> list[str]:
    return [draw.choice(words) for words in ATTRIBUTES.values()]


def _scene(draw: Random, number: int) -> Scene:
    return {place: _thing(draw) for place in draw.sample(PLACES, number)}


def _told_scene(scene: Scene) -> str:
    return "see: " + ", ".join(" ".join((place, *words)) for place, words in scene.items())


def _read_scene(text: str) -> Scene:
    scene: dict[str, Sequence[str]] = {}
    for part in text.split(", "):
        place, *words = part.split(" ")
        scene[place] = _read_thing(" ".join(words))
    return scene


def _read_thing(text: str) -> Sequence[str]:
    """:raises InputError: the words of the text are no kind, size and colour, in this order."""
    words = text.split(" ")
    if len(words) != len(ATTRIBUTES) or not all(map(contains, ATTRIBUTES.values(), words)):
        raise InputError(f"{text!r} is no thing with a kind, a size and a colour, such as CUBE LARGE GREEN")
    return words


def _of_attribute(words: Sequence[str], attribute: str) -> str:
    return words[list(ATTRIBUTES).index(attribute)]


# ---- world1 to world6: things in sight.


def _a_doubt(draw: Random) -> str:
    thing = _thing(draw)
    place = draw.randrange(len(thing))
    others = [word for word in list(ATTRIBUTES.values())[place] if word != thing[place]]
    return f"see: {' '.join(thing)} confirm: {draw.choice((thing[place], draw.choice(others)))}?"


def _kinds(draw: Random, number: int) -> Scene:
    """Things that differ in their kind."""
    scene = _scene(draw, number)
    kinds = draw.sample(ATTRIBUTES["object"], number)
    return {place: (kind, *words[1:]) for kind, (place, words) in zip(kinds, scene.items(), strict=True)}


def _a_search(draw: Random) -> str:
    scene = _kinds(draw, 2)
    return f"{_told_scene(scene)} where: {draw.choice(list(scene.values()))[0]}?"


def _place(question: str, hidden: Hidden) -> Solution:
    seen, kind = matched(r"see: ([^:]+) where: (\w+)\?", question).groups()
    return _words_said(_only_place(question, _read_scene(seen), kind))


def _only_place(question: str, scene: Scene, kind: str) -> str:
    places = [place for place, words in scene.items() if words[0] == kind]
    if len(places) != 1:
        raise InputError(f"the question {question!r} has no single answer: {len(places)} things are a {kind}")
    return places[0]


def _number(question: str, hidden: Hidden) -> Solution:
    seen, word = matched(rf"see: ([^:]+) count: ({'|'.join(_WORDS)})\?", question).groups()
    number = sum(word in words for words in _read_scene(seen).values())
    if number >= len(NUMBERS):
        raise InputError(f"the question {question!r} counts up to {number}; at most {len(NUMBERS) - 1} can be said")
    return _words_said(NUMBERS[number])


def _a_move(draw: Random) -> str:
    scene = _kinds(draw, 2)
    moved, asked = (draw.choice(list(scene.values()))[0] for _ in range(2))
    goal = draw.choice([place for place in PLACES if place not in scene])
    return f"{_told_scene(scene)} move: {moved} {goal} where: {asked}?"


def _place_after_move(question: str, hidden: Hidden) -> Solution:
    seen, moved, goal, asked = matched(r"see: ([^:]+) move: (\w+) (\w+) where: (\w+)\?", question).groups()
    scene = _read_scene(seen)
    before = {kind: _only_place(question, scene, kind) for kind in (moved, asked)}
    return _words_said(goal if moved == asked else before[asked])


# ---- world7 and world8: things that the agent remembers from answers in the same instance.


def _remembered_attribute(question: str, hidden: Hidden) -> Solution:
    place, attribute = matched(rf"see: (\w+) ask: ({'|'.join(ATTRIBUTES)})\?", question).groups()
    thing = _read_thing(looked_up(hidden, place, question))
    return _words_said(_of_attribute(thing, attribute), key=(place, attribute))


def _remembered_thing(question: str, hidden: Hidden) -> Solution:
    place = matched(r"see: (\w+) describe: object\?", question)[1]
    return _words_said(*_read_thing(looked_up(hidden, place, question)), key=place)
