"""A ladder to a conversation about a small world, the hardest task of the document's second alternative curriculum
(A.1.6.2). Things have a kind, a size and a colour, and lie at places. The agent answers word by word; each right word
is followed by "yes", the first wrong one by "no" and the whole answer, and "!" closes an answer.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import contains
from random import Random
from typing import TypeAlias

from gumption.data import InputError

from .mapping_tasks import each_key_once
from .task import Hidden, OptionsLeft, Presumption, Solution, Task, stateless, told
from .text_tasks import matched

#: Per place the words of the thing that lies there.
Scene: TypeAlias = Mapping[str, Sequence[str]]

ATTRIBUTES = {"object": ("CUBE", "BALL", "CONE"), "size": ("LARGE", "SMALL"), "colour": ("RED", "GREEN", "BLUE")}
PLACES = ("table", "floor", "shelf", "chair")
NUMBERS = ("ZERO", "ONE", "TWO", "THREE")

_WORDS = [word for words in ATTRIBUTES.values() for word in words]


def small_world_tasks() -> list[Task]:
    """world1 to world8, in the order of the ladder: six about things in sight, two about remembered ones."""
    shown: list[tuple[str, Callable[[Random], str], Callable[[str, Hidden], Solution]]] = [
        ("a word at a time, then a sign", _a_kind, _described),
        ("one attribute of a thing", _an_attribute, _attribute),
        ("whether a thing has an attribute", _a_doubt, _confirmed),
        ("where things are", _a_search, _place),
        ("how many things have an attribute", _a_count, _number),
        ("things move", _a_move, _place_after_move),
    ]
    tasks = [
        Task(
            f"world{number}", about, stateless, _repeated(draw_question), solve, reply="yes",
            requires=(f"world{number - 1}",) if number > 1 else (),
        )
        for number, (about, draw_question, solve) in enumerate(shown, 1)
    ]  # fmt: skip
    return [
        *tasks,
        Task(
            "world7", "remembering an attribute of a thing", _scenes, _about_attributes, _remembered_attribute,
            _each_attribute_once, reply="yes", requires=("world2", "world4"),
        ),
        Task(
            "world8", "describing a thing from memory", _scenes, _about_things, _remembered_thing, each_key_once,
            reply="yes", requires=("world7",),
        ),
    ]  # fmt: skip


def _solution(*words: str, key: Hashable = None) -> Solution:
    answer = " ".join((*words, "!"))
    return Solution(answer, wrong=(f"no {answer};",), key=key)


def _repeated(draw_question: Callable[[Random], str]) -> Callable[[Hidden, Random], Iterator[str]]:
    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield draw_question(draw)

    return questions


# What is seen.


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
        scene[place] = _checked_words(words)
    return scene


def _checked_words(words: Sequence[str]) -> Sequence[str]:
    """:raises InputError: they are no kind, size and colour, in this order."""
    if len(words) != len(ATTRIBUTES) or not all(map(contains, ATTRIBUTES.values(), words)):
        raise InputError(f"{' '.join(words)!r} is no thing with a kind, a size and a colour, such as CUBE LARGE GREEN")
    return words


def _of_attribute(words: Sequence[str], attribute: str) -> str:
    return words[list(ATTRIBUTES).index(attribute)]


# world1 to world6: things in sight.


def _a_kind(draw: Random) -> str:
    return f"see: {draw.choice(ATTRIBUTES['object'])} describe: object?"


def _described(question: str, hidden: Hidden) -> Solution:
    return _solution(matched(rf"see: ({'|'.join(ATTRIBUTES['object'])}) describe: object\?", question)[1])


def _an_attribute(draw: Random) -> str:
    return f"see: {' '.join(_thing(draw))} ask: {draw.choice(list(ATTRIBUTES))}?"


def _attribute(question: str, hidden: Hidden) -> Solution:
    thing, attribute = matched(rf"see: (.+) ask: ({'|'.join(ATTRIBUTES)})\?", question).groups()
    return _solution(_of_attribute(_checked_words(thing.split(" ")), attribute))


def _a_doubt(draw: Random) -> str:
    thing = _thing(draw)
    place = draw.randrange(len(thing))
    others = [word for word in list(ATTRIBUTES.values())[place] if word != thing[place]]
    return f"see: {' '.join(thing)} confirm: {draw.choice((thing[place], draw.choice(others)))}?"


def _confirmed(question: str, hidden: Hidden) -> Solution:
    thing, word = matched(rf"see: (.+) confirm: ({'|'.join(_WORDS)})\?", question).groups()
    return _solution("YES" if word in _checked_words(thing.split(" ")) else "NO")


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
    return _solution(_only_place(question, _read_scene(seen), kind))


def _only_place(question: str, scene: Scene, kind: str) -> str:
    places = [place for place, words in scene.items() if words[0] == kind]
    if len(places) != 1:
        raise InputError(f"the question {question!r} has no single answer: {len(places)} things are a {kind}")
    return places[0]


def _a_count(draw: Random) -> str:
    return f"{_told_scene(_scene(draw, draw.choice((2, 3))))} count: {draw.choice(_WORDS)}?"


def _number(question: str, hidden: Hidden) -> Solution:
    seen, word = matched(rf"see: ([^:]+) count: ({'|'.join(_WORDS)})\?", question).groups()
    number = sum(word in words for words in _read_scene(seen).values())
    if number >= len(NUMBERS):
        raise InputError(f"the question {question!r} counts up to {number}; at most {len(NUMBERS) - 1} can be said")
    return _solution(NUMBERS[number])


def _a_move(draw: Random) -> str:
    scene = _kinds(draw, 2)
    moved, asked = (draw.choice(list(scene.values()))[0] for _ in range(2))
    goal = draw.choice([place for place in PLACES if place not in scene])
    return f"{_told_scene(scene)} move: {moved} {goal} where: {asked}?"


def _place_after_move(question: str, hidden: Hidden) -> Solution:
    seen, moved, goal, asked = matched(r"see: ([^:]+) move: (\w+) (\w+) where: (\w+)\?", question).groups()
    scene = _read_scene(seen)
    before = {kind: _only_place(question, scene, kind) for kind in (moved, asked)}
    return _solution(goal if moved == asked else before[asked])


# world7 and world8: things that the agent remembers from answers in the same instance.


def _scenes(draw: Random) -> Iterator[Hidden]:
    while True:
        yield {"mapping": {place: " ".join(_thing(draw)) for place in PLACES}}


def _remembered(question: str, hidden: Hidden, place: str) -> Sequence[str]:
    mapping = told(hidden, "mapping")
    if place not in mapping:
        raise InputError(f"the question {question!r} asks for {place!r}; the mapping has {', '.join(mapping)}")
    return _checked_words(mapping[place].split(" "))


def _about_attributes(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"see: {draw.choice(list(hidden['mapping']))} ask: {draw.choice(list(ATTRIBUTES))}?"


def _remembered_attribute(question: str, hidden: Hidden) -> Solution:
    place, attribute = matched(rf"see: (\w+) ask: ({'|'.join(ATTRIBUTES)})\?", question).groups()
    return _solution(_of_attribute(_remembered(question, hidden, place), attribute), key=(place, attribute))


def _each_attribute_once(hidden: Hidden) -> Presumption:
    return OptionsLeft({(place, attribute): 2 for place in hidden["mapping"] for attribute in ATTRIBUTES})


def _about_things(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"see: {draw.choice(list(hidden['mapping']))} describe: object?"


def _remembered_thing(question: str, hidden: Hidden) -> Solution:
    place = matched(r"see: (\w+) describe: object\?", question)[1]
    return _solution(*_remembered(question, hidden, place), key=place)
