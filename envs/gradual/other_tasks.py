"""Define tasks in the document that the program of 2017 lacks (A.2.8, A.2.9.2, A.2.9.4, A.2.11, A.2.13.2), and the
ladders to the hardest tasks of the document's alternative curricula (A.1.6.1, A.1.6.2).
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from operator import add, contains, floordiv, mul, sub
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from gumption.data import InputError
from gumption.data.settings import shown

from .micro_tasks import (
    LETTERS,
    SEQUENCES,
    collapsing,
    each_key_once,
    joined_from,
    pair_made,
    spelled,
    spelling,
    two_pairs,
)
from .task import (
    DIGITS,
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

MARK = "!"  # the reply at the end of an occurrence


def suggested_tasks(words: Sequence[str]) -> list[Task]:
    """Return the tasks of A.2, in an order in which they can be learned."""
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
            "micro13.3", "and with or", repeated(_and_or),
            solving(r"say: (\w+(?: (?:and|or) \w+)+)\.", _and_or_said), "micro13.2",
        ),
    ]  # fmt: skip


# ---- A.2.8: spaces


def _spaced(number: int) -> Questions:
    """Return questions for two letters, with `number` extra spaces before, between or after them."""
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
    """Return the places where a part begins in a word, including overlapping occurrences."""
    return [place for place in range(len(word)) if word.startswith(part, place)]


def _parts(word: str) -> list[str]:
    """Return all proper parts of a word of up to three letters."""
    longest = min(3, len(word) - 1)
    return [word[i : i + n] for n in range(1, longest + 1) for i in range(len(word) - n + 1)]


def _asking_once(form: str, hosts: Sequence[str]) -> Questions:
    """Return questions about a part that occurs once in a word."""

    def question(draw: Random) -> str | None:
        host = draw.choice(hosts)
        part = draw.choice(_parts(host))
        return form.format(part, host) if len(occurrences(part, host)) == 1 else None

    return repeated(question)


def _asking_whether(form: str, hosts: Sequence[str]) -> Questions:
    """Return questions about a part that occurs in a word or does not."""

    def question(draw: Random) -> str:
        host, has = draw.choice(hosts), draw.random() < 1 / 2
        part = draw.choice(_parts(host))
        while not has and part in host:
            part = draw.choice(_parts(draw.choice(hosts)))
        return form.format(part, host)

    return repeated(question)


def _asking_often(form: str, hosts: Sequence[str]) -> Questions:
    """Return questions about a part that occurs several times in a word."""

    def question(draw: Random) -> str | None:
        host = draw.choice(hosts)
        often = [part for part in dict.fromkeys(_parts(host)) if len(occurrences(part, host)) > 1]
        return form.format(draw.choice(often), host) if often else None

    return repeated(question)


def _of_part(command: str, answer: Callable[[str, str], str]) -> Solve:
    """Return a solver of questions about a part of a word; `answer` maps both to the answer without full stop."""
    return solving(command + r": ([^ .:]+) (?:from|in): ([^ .:]+)\.", lambda *words: short(answer(*words) + STOP))


def _heard(command: str, question: str, hidden: Hidden, first: bool) -> Solution:
    """Solve with a mark for the last letter of an occurrence, silence for other letters, then a full stop."""
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


def _and_or(draw: Random) -> str | None:
    words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.choice((3, 4)))]
    operators = [draw.choice((" and ", " or ")) for _ in words[1:]]
    if len(set(operators)) < 2:
        return None
    return "say: " + words[0] + "".join(map("".join, zip(operators, words[1:], strict=True))) + STOP


def _and_or_said(asked: str) -> Solution:
    """Solve "and" before "or"; an answer is a concatenation of some of the alternatives."""
    alternatives = [each.replace(" and ", "") for each in asked.split(" or ")]
    wrong = tuple(f"wrong! {each}.;" for each in alternatives)
    return Solution(alternatives[0] + STOP, GOOD, wrong, partial(joined_from, alternatives))


# ---- A ladder to a conversation about a small world, the hardest task of the document's second alternative curriculum
# (A.1.6.2). Things have a kind, a size and a colour, and lie at places. The agent answers word by word; "yes" follows
# each right word, "no" and the whole answer follow the first wrong word, and "!" closes an answer.

#: Place -> the words of the thing at this place.
Scene: TypeAlias = Mapping[str, Sequence[str]]

ATTRIBUTES = {"object": ("CUBE", "BALL", "CONE"), "size": ("LARGE", "SMALL"), "colour": ("RED", "GREEN", "BLUE")}
PLACES = ("table", "floor", "shelf", "chair")
NUMBERS = ("ZERO", "ONE", "TWO", "THREE")

_ATTRIBUTE = "|".join(ATTRIBUTES)
_WORDS = [word for words in ATTRIBUTES.values() for word in words]


def small_world_tasks() -> list[Task]:
    """Return world1 to world8, in the order of the ladder: six about things in sight, two about remembered things."""
    word = "|".join(_WORDS)
    shown: list[tuple[str, Callable[[Random], str], Solve]] = [
        (
            "a word at a time, then a sign",
            lambda draw: f"see: {draw.choice(ATTRIBUTES['object'])} describe: object?",
            solving(rf"see: ({'|'.join(ATTRIBUTES['object'])}) describe: object\?", _words_said),
        ),
        (
            "one attribute of a thing",
            lambda draw: f"see: {' '.join(_thing(draw))} ask: {draw.choice(list(ATTRIBUTES))}?",
            solving(
                rf"see: (.+) ask: ({_ATTRIBUTE})\?",
                lambda thing, attribute: _words_said(_of_attribute(_read_thing(thing), attribute)),
            ),
        ),
        (
            "whether a thing has an attribute",
            _doubt,
            solving(
                rf"see: (.+) confirm: ({word})\?",
                lambda thing, word: _words_said("YES" if word in _read_thing(thing) else "NO"),
            ),
        ),
        (
            "where things are",
            _search,
            solving(
                r"see: ([^:]+) where: (\w+)\?",
                lambda seen, kind: _words_said(_only_place(_read_scene(seen), kind)),
            ),
        ),
        (
            "how many things have an attribute",
            lambda draw: f"{_scene_text(_scene(draw, draw.choice((2, 3))))} count: {draw.choice(_WORDS)}?",
            solving(rf"see: ([^:]+) count: ({word})\?", _how_many),
        ),
        ("things move", _move, solving(r"see: ([^:]+) move: (\w+) (\w+) where: (\w+)\?", _place_after_move)),
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


def _thing(draw: Random) -> list[str]:
    return [draw.choice(words) for words in ATTRIBUTES.values()]


def _scene(draw: Random, number: int) -> Scene:
    return {place: _thing(draw) for place in draw.sample(PLACES, number)}


def _two_kinds(draw: Random) -> Scene:
    scene = _scene(draw, 2)
    kinds = draw.sample(ATTRIBUTES["object"], 2)
    return {place: (kind, *words[1:]) for kind, (place, words) in zip(kinds, scene.items(), strict=True)}


def _scene_text(scene: Scene) -> str:
    return "see: " + ", ".join(" ".join((place, *words)) for place, words in scene.items())


def _read_scene(text: str) -> Scene:
    parts = (part.partition(" ") for part in text.split(", "))
    return {place: _read_thing(thing) for place, _, thing in parts}


def _read_thing(text: str) -> Sequence[str]:
    """:raises InputError: the words are not a kind, a size and a colour, in this order."""
    words = text.split(" ")
    if len(words) != len(ATTRIBUTES) or not all(map(contains, ATTRIBUTES.values(), words)):
        raise InputError(f"{text!r} is no thing with a kind, a size and a colour, such as CUBE LARGE GREEN")
    return words


def _of_attribute(thing: Sequence[str], attribute: str) -> str:
    return thing[list(ATTRIBUTES).index(attribute)]


def _only_place(scene: Scene, kind: str) -> str:
    places = [place for place, words in scene.items() if words[0] == kind]
    if len(places) != 1:
        raise InputError(f"{_scene_text(scene)!r} gives no single answer: {len(places)} things are a {kind}")
    return places[0]


# The questions about things in sight, and their answers.


def _doubt(draw: Random) -> str:
    thing = _thing(draw)
    place = draw.randrange(len(thing))
    others = [word for word in list(ATTRIBUTES.values())[place] if word != thing[place]]
    return f"see: {' '.join(thing)} confirm: {draw.choice((thing[place], draw.choice(others)))}?"


def _search(draw: Random) -> str:
    scene = _two_kinds(draw)
    return f"{_scene_text(scene)} where: {draw.choice(list(scene.values()))[0]}?"


def _how_many(seen: str, word: str) -> Solution:
    number = sum(word in words for words in _read_scene(seen).values())
    if number >= len(NUMBERS):
        raise InputError(f"the question counts up to {number}; at most {len(NUMBERS) - 1} can be said")
    return _words_said(NUMBERS[number])


def _move(draw: Random) -> str:
    scene = _two_kinds(draw)
    moved, asked = (draw.choice(list(scene.values()))[0] for _ in range(2))
    goal = draw.choice([place for place in PLACES if place not in scene])
    return f"{_scene_text(scene)} move: {moved} {goal} where: {asked}?"


def _place_after_move(seen: str, moved: str, goal: str, asked: str) -> Solution:
    scene = _read_scene(seen)
    before = {kind: _only_place(scene, kind) for kind in (moved, asked)}
    return _words_said(goal if moved == asked else before[asked])


# Things that the agent remembers from answers in the same instance.


def _remembered_attribute(question: str, hidden: Hidden) -> Solution:
    place, attribute = matched(rf"see: (\w+) ask: ({_ATTRIBUTE})\?", question).groups()
    thing = _read_thing(looked_up(hidden, place, question))
    return _words_said(_of_attribute(thing, attribute), key=(place, attribute))


def _remembered_thing(question: str, hidden: Hidden) -> Solution:
    place = matched(r"see: (\w+) describe: object\?", question)[1]
    return _words_said(*_read_thing(looked_up(hidden, place, question)), key=place)


# ---- A ladder to arithmetic with hexadecimal numbers and variables, the hardest task of the document's first
# alternative curriculum (A.1.6.1). All answers have a fixed length, and each command has one meaning:
#
#     Compute: 41+1=         42            decimal numbers
#     Convert: 4ce=          1230          hexadecimal numbers, a decimal result
#     Count: 1230=           4 1230        decimal numbers, the number of digits before the result
#     Evaluate: 4ce+1=       4 1231        hexadecimal numbers, the number of digits before the decimal result

Expression: TypeAlias = Callable[[Random], str]  # draws an expression

HEXADECIMAL = DIGITS + "abcdef"
DIGIT_NAMES = {name: value for value, name in enumerate(SEQUENCES[0])}
COMMANDS = {"Compute": (10, False), "Convert": (16, False), "Count": (10, True), "Evaluate": (16, True)}

_VARIABLES = ("foo", "bar", "x", "y", "total")  # no hexadecimal numbers
_SUMS = [(first, second) for first in range(1, 10) for second in range(1, 10)]
_TRUE = tuple(f"good if {first + second:x}=={first}+{second};" for first, second in _SUMS)
_FALSE = tuple(f"good if {first + second + 1:x}=={first}+{second};" for first, second in _SUMS)


def hexadecimal_tasks() -> list[Task]:
    """Return hex1 to hex17, in the order of the ladder."""
    small, middle, large = (partial(_random_number, DIGITS, most) for most in (1, 2, 4))
    digit, byte, word = (partial(_random_number, HEXADECIMAL, most) for most in (1, 2, 5))
    ladder: list[tuple[str, str, Expression]] = [
        ("digits and their names", "Compute", lambda draw: draw.choice([*DIGITS, *DIGIT_NAMES])),
        ("copying a decimal number", "Compute", large),
        ("the next number", "Compute", lambda draw: f"{middle(draw)}+1"),
        ("addition", "Compute", _joined("+", middle, middle)),
        ("subtraction", "Compute", _joined("-", middle, middle)),
        ("multiplication", "Compute", _joined("*", middle, small)),
        ("integer division", "Compute", _joined("/", middle, small)),
        ("* and / come before + and -", "Compute", _sum_and_product(middle, small)),
        ("parentheses come first", "Compute", _in_parentheses(middle, small)),
        ("hexadecimal digits", "Convert", digit),
        ("hexadecimal numbers", "Convert", word),
        ("arithmetic with hexadecimal numbers", "Convert", _in_parentheses(byte, digit)),
        ("the number of digits before a result", "Count", _joined("+*", middle, middle)),
        ("the number of digits before a result of hexadecimal numbers", "Evaluate", _sum_and_product(word, digit)),
        ("feedback that has to be evaluated", "Evaluate", _joined("+-*/", byte, digit)),
        ("a variable", "Evaluate", _with_variables(1, byte, digit)),
        ("several variables in a longer expression", "Evaluate", _with_variables(2, word, digit)),
    ]
    evaluated = 15  # from this task on, feedback is a statement that is true or false
    return [
        Task(
            f"hex{number}", about, stateless, repeated(partial(_expression_asked, command, expression)),
            solving(f"{command}: (.+)=", partial(_value_of, command, number >= evaluated)), fixed_length=True,
            requires=(f"hex{number - 1}",) if number > 1 else (),
        )
        for number, (about, command, expression) in enumerate(ladder, 1)
    ]  # fmt: skip


def _random_number(digits: str, most: int, draw: Random) -> str:
    """Draw a number of at most `most` digits; only 0 begins with 0."""
    number = draw.choice(digits[1:]) + "".join(draw.choice(digits) for _ in range(draw.randrange(most)))
    return number if draw.random() < 0.95 else digits[0]


def _joined(operators: str, first: Expression, second: Expression) -> Expression:
    return lambda draw: first(draw) + draw.choice(operators) + second(draw)


def _sum_and_product(large: Expression, small: Expression) -> Expression:
    """Draw a sum with a product, in either order, without parentheses."""

    def expression(draw: Random) -> str:
        product = _joined("*/", large, small)(draw)
        operator, other = draw.choice("+-"), large(draw)
        return draw.choice((f"{product}{operator}{other}", f"{other}{operator}{product}"))

    return expression


def _in_parentheses(large: Expression, small: Expression) -> Expression:
    """Draw a product with a sum in parentheses, in either order."""

    def expression(draw: Random) -> str:
        total, other = f"({_joined('+-', large, small)(draw)})", small(draw)
        return draw.choice((f"{total}{draw.choice('*/')}{other}", f"{other}*{total}"))

    return expression


def _with_variables(most: int, large: Expression, small: Expression) -> Expression:
    """Draw 1 to `most` variables, and an expression that uses all of them."""

    def expression(draw: Random) -> str:
        first, *others = draw.sample(_VARIABLES, draw.randint(1, most))
        definitions = "".join(f"{name}={large(draw)}; " for name in (first, *others))
        last = others[0] if others else small(draw)
        if most == 1:
            return f"{definitions}{first}{draw.choice('+-*/')}{last}"
        total = f"({first}{draw.choice('+-')}{large(draw)})"
        return f"{definitions}{total}{draw.choice('*/')}{small(draw)}{draw.choice('+-')}{last}"

    return expression


def _expression_asked(command: str, expression: Expression, draw: Random) -> str | None:
    """Draw a question; None if the value of its expression is negative or undefined."""
    text = expression(draw)
    try:
        negative = evaluate(text, COMMANDS[command][0], DIGIT_NAMES) < 0
    except InputError:  # a division by 0
        return None
    return None if negative else f"{command}: {text}="


def _value_of(command: str, evaluated: bool, text: str) -> Solution:
    base, counted = COMMANDS[command]
    value = evaluate(text, base, DIGIT_NAMES)
    answer = f"{len(str(abs(value)))} {value}" if counted else str(value)
    return Solution(answer, _TRUE, _FALSE) if evaluated else short(answer)


# ---- The value of an arithmetic expression, such as "foo=4ce; (foo+1a5eb)*a+1" in hexadecimal digits.

_MOST_DIGITS = 1_000  # of a number; repeated squaring of variables would fill the memory
_LARGEST = 10**_MOST_DIGITS
#: Sign -> precedence and function.
_OPERATIONS: Mapping[str, tuple[int, Callable[[int, int], int]]]
_OPERATIONS = {"+": (1, add), "-": (1, sub), "*": (2, mul), "/": (2, floordiv)}
_DIGITS = {10: re.compile("[0-9]+"), 16: re.compile("[0-9a-f]+")}
_TOKEN = re.compile("[0-9a-z]+|[-+*/()]")


def evaluate(text: str, base: int = 10, names: Mapping[str, int] = MappingProxyType({})) -> int:
    """Evaluate an expression after definitions, all separated by "; ": "x=2; y=x+1; x*y".

    The operators are + - * and the floor division /; numbers have no sign. A name consists of small letters and is not
    a number of the base.

    :param base: of the numbers, 10 or 16.
    :param names: name -> value, in addition to the definitions in the text.
    :raises InputError: another text, a name without a value, a name that is a number, a division by 0, or a number of
        more than 1,000 digits.
    """
    *definitions, expression = text.split("; ")
    variables = dict(names)
    for definition in definitions:
        name, sign, value = definition.partition("=")
        if not sign or not re.fullmatch("[a-z]+", name) or _DIGITS[base].fullmatch(name):
            raise InputError(f"{shown(definition)} gives no value to a name of small letters that is no number itself")
        variables[name] = _value(value, base, variables)
    return _value(expression, base, variables)


def _value(expression: str, base: int, variables: Mapping[str, int]) -> int:
    """Evaluate an expression with two stacks: values, and operators that wait for their second value."""
    values: list[int] = []
    waiting: list[str] = []
    wrong = InputError(f"{shown(expression)} is no expression of numbers, names, + - * / and parentheses")

    def finish(precedence: int) -> None:
        """Apply the waiting operators of at least this precedence."""
        while waiting and waiting[-1] != "(" and _OPERATIONS[waiting[-1]][0] >= precedence:
            second, first = values.pop(), values.pop()
            operation = _OPERATIONS[waiting.pop()][1]
            if operation is floordiv and second == 0:
                raise InputError(f"{shown(expression)} divides by 0")
            value = operation(first, second)
            if abs(value) >= _LARGEST:
                raise InputError(f"{shown(expression)} has a number of more than {_MOST_DIGITS:,} digits")
            values.append(value)

    place, value_is_next = 0, True
    while place < len(expression):
        found = _TOKEN.match(expression, place)
        if found is None:
            raise wrong
        token, place = found[0], found.end()
        if value_is_next != (token == "(" or token[0].isalnum()):
            raise wrong
        if token == "(":
            waiting.append(token)
        elif token == ")":
            finish(0)
            if not waiting:
                raise wrong
            waiting.pop()
        elif token in _OPERATIONS:
            finish(_OPERATIONS[token][0])
            waiting.append(token)
            value_is_next = True
        else:
            if token not in variables and (not _DIGITS[base].fullmatch(token) or len(token) > _MOST_DIGITS):
                raise InputError(
                    f"{shown(token)} is no number of base {base} with at most {_MOST_DIGITS:,} digits, and no variable"
                )
            values.append(variables[token] if token in variables else int(token, base))
            value_is_next = False
    if value_is_next:
        raise wrong
    finish(0)
    if waiting:
        raise wrong
    return values[0]
