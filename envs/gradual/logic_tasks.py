"""Micro-tasks 13 to 20: logical words, sequences, and commands under other names (A.2.13 to A.2.20)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import add, floordiv, mul, sub
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from gumption.data import InputError
from gumption.data.settings import shown

from .mapping_tasks import (
    LETTERS,
    SYNONYMS,
    each_key_once,
    matched,
    pair_made,
    repeated,
    said_one_by_one,
    several,
    short,
    solving,
    spelled,
    spelling,
    stateless_task,
    two_pairs,
    word_and_letter,
    word_changed,
)
from .task import DIGITS, STOP, Hidden, Instances, Questions, Rules, Solution, Solve, Task, stateless, told

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
    letters_said = partial(_two_letters_said, rules)
    if rules.and_or_synonyms:
        renamed["micro13.1"] = (_two_letters, letters_said)
    before = ("micro9.2", "micro10", "micro11", "micro12")
    return [
        stateless_task("micro13.1", "and, or, not with letters", _two_letters, letters_said, "micro12"),
        stateless_task(
            "micro13.2", "and, or with several words", repeated(_several_parts), partial(_parts_said, rules),
            "micro13.1",
        ),
        stateless_task("micro14", "the order of letters", _letters_before, _next_letter, "micro7.1"),
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


# ---- 13: and, or, not


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


def _several_parts(draw: Random) -> str:
    operator = draw.choice((" or ", " and "))
    words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.randint(2, 4))]
    return f"say: {operator.join(words)}{STOP}"


def _parts_said(rules: Rules, question: str, hidden: Hidden) -> Solution:
    asked = matched(r"say: (\w+(?: and \w+)+|\w+(?: or \w+)+)\.", question)[1]
    if " and " in asked:
        return short(asked.replace(" and ", "") + STOP)
    words = asked.split(" or ")
    accepts = partial(joined_from, words) if rules.joined_or else lambda answer: any(map(answer.__contains__, words))
    return Solution(words[0] + STOP, ("good job! ;",), tuple(f"wrong! {word};" for word in words), accepts)


def joined_from(words: Sequence[str], answer: str) -> bool:
    """Whether an answer is some of the words, one behind the other. A regular expression could take for ever."""
    text = answer.removesuffix(STOP)
    reached = [True] + [False] * len(text)
    for place in range(len(text)):
        for word in words:
            if reached[place] and text.startswith(word, place):
                reached[place + len(word)] = True
    return text != "" and answer.endswith(STOP) and reached[-1]


# ---- 14 and 15: sequences


_letters_before = repeated(lambda draw: f"after {draw.choice(LETTERS[:-1])} comes what:{STOP}")
_next_letter = solving(r"after ([a-y]) comes what:\.", lambda letter: short(LETTERS[LETTERS.index(letter) + 1] + STOP))


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


# ---- 16, 19 and 20: several kinds of questions


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


# ---- A ladder to arithmetic with hexadecimal numbers and variables, the hardest task of the document's first
# alternative curriculum (A.1.6.1). All answers have a fixed length, and each command has one meaning:
#
#     Compute: 41+1=         42            decimal numbers
#     Convert: 4ce=          1230          hexadecimal numbers, a decimal result
#     Count: 1230=           4 1230        decimal numbers, the number of digits before the result
#     Evaluate: 4ce+1=       4 1231        hexadecimal numbers, the number of digits before the decimal result

#: Draws an expression.
Expression: TypeAlias = Callable[[Random], str]

HEXADECIMAL = DIGITS + "abcdef"
DIGIT_NAMES = {name: value for value, name in enumerate(SEQUENCES[0])}
COMMANDS = {"Compute": (10, False), "Convert": (16, False), "Count": (10, True), "Evaluate": (16, True)}

_VARIABLES = ("foo", "bar", "x", "y", "total")  # no hexadecimal numbers
_SUMS = [(first, second) for first in range(1, 10) for second in range(1, 10)]
_TRUE = tuple(f"good if {first + second:x}=={first}+{second};" for first, second in _SUMS)
_FALSE = tuple(f"good if {first + second + 1:x}=={first}+{second};" for first, second in _SUMS)


def hexadecimal_tasks() -> list[Task]:
    """hex1 to hex17, in the order of the ladder."""
    small, middle, large = (partial(_number, DIGITS, most) for most in (1, 2, 4))
    digit, byte, word = (partial(_number, HEXADECIMAL, most) for most in (1, 2, 5))
    ladder: list[tuple[str, str, Expression]] = [
        ("digits and their names", "Compute", lambda draw: draw.choice([*DIGITS, *DIGIT_NAMES])),
        ("copying a decimal number", "Compute", large),
        ("the next number", "Compute", lambda draw: f"{middle(draw)}+1"),
        ("addition", "Compute", _joined("+", middle, middle)),
        ("subtraction", "Compute", _joined("-", middle, middle)),
        ("multiplication", "Compute", _joined("*", middle, small)),
        ("integer division", "Compute", _joined("/", middle, small)),
        ("* and / come before + and -", "Compute", _mixed(middle, small)),
        ("parentheses come first", "Compute", _in_parentheses(middle, small)),
        ("hexadecimal digits", "Convert", digit),
        ("hexadecimal numbers", "Convert", word),
        ("arithmetic with hexadecimal numbers", "Convert", _in_parentheses(byte, digit)),
        ("the number of digits before a result", "Count", _joined("+*", middle, middle)),
        ("the number of digits before a result of hexadecimal numbers", "Evaluate", _mixed(word, digit)),
        ("feedback that has to be evaluated", "Evaluate", _joined("+-*/", byte, digit)),
        ("a variable", "Evaluate", _with_variables(1, byte, digit)),
        ("several variables in a longer expression", "Evaluate", _with_variables(2, word, digit)),
    ]
    evaluated = 15  # from this one on, feedback is a statement that is true or false
    return [
        Task(
            f"hex{number}", about, stateless, partial(_asked_expressions, command, expression),
            partial(_value_of, command, number >= evaluated), fixed_length=True,
            requires=(f"hex{number - 1}",) if number > 1 else (),
        )
        for number, (about, command, expression) in enumerate(ladder, 1)
    ]  # fmt: skip


def _number(digits: str, most: int, draw: Random) -> str:
    """A number of up to so many digits; only 0 begins with 0."""
    number = draw.choice(digits[1:]) + "".join(draw.choice(digits) for _ in range(draw.randrange(most)))
    return number if draw.random() < 0.95 else digits[0]


def _joined(operators: str, first: Expression, second: Expression) -> Expression:
    return lambda draw: first(draw) + draw.choice(operators) + second(draw)


def _mixed(large: Expression, small: Expression) -> Expression:
    """A sum and a product, in either order, without parentheses."""

    def expression(draw: Random) -> str:
        product = _joined("*/", large, small)(draw)
        operator, other = draw.choice("+-"), large(draw)
        return draw.choice((f"{product}{operator}{other}", f"{other}{operator}{product}"))

    return expression


def _in_parentheses(large: Expression, small: Expression) -> Expression:
    """A product with a sum in parentheses, in either order."""

    def expression(draw: Random) -> str:
        total, other = f"({_joined('+-', large, small)(draw)})", small(draw)
        return draw.choice((f"{total}{draw.choice('*/')}{other}", f"{other}*{total}"))

    return expression


def _with_variables(most: int, large: Expression, small: Expression) -> Expression:
    """Up to so many variables, and an expression with all of them."""

    def expression(draw: Random) -> str:
        first, *others = draw.sample(_VARIABLES, draw.randint(1, most))
        definitions = "".join(f"{name}={large(draw)}; " for name in (first, *others))
        last = others[0] if others else small(draw)
        if most == 1:
            return f"{definitions}{first}{draw.choice('+-*/')}{last}"
        total = f"({first}{draw.choice('+-')}{large(draw)})"
        return f"{definitions}{total}{draw.choice('*/')}{small(draw)}{draw.choice('+-')}{last}"

    return expression


def _asked_expressions(command: str, expression: Expression, hidden: Hidden, draw: Random) -> Iterator[str]:
    """Asks for values that are not negative."""
    base, _ = COMMANDS[command]
    while True:
        text = expression(draw)
        try:
            fits = evaluate(text, base, DIGIT_NAMES) >= 0
        except InputError:  # a division by 0
            fits = False
        if fits:
            yield f"{command}: {text}="


def _value_of(command: str, evaluated: bool, question: str, hidden: Hidden) -> Solution:
    base, counted = COMMANDS[command]
    value = evaluate(matched(f"{command}: (.+)=", question)[1], base, DIGIT_NAMES)
    answer = f"{len(str(abs(value)))} {value}" if counted else str(value)
    if evaluated:
        return Solution(answer, _TRUE, _FALSE)
    return Solution(answer, ("good job! ;",), (f"wrong! {answer};",))


# ---- The value of an arithmetic expression, such as "foo=4ce; (foo+1a5eb)*a+1" in hexadecimal digits.


_MOST_DIGITS = 1_000  # of a number; variables that are squared again and again would fill the memory
_LARGEST = 10**_MOST_DIGITS
_OPERATIONS: Mapping[str, tuple[int, Callable[[int, int], int]]] = {  # how close they bind, and what they do
    "+": (1, add),
    "-": (1, sub),
    "*": (2, mul),
    "/": (2, floordiv),
}
_DIGITS = {10: re.compile("[0-9]+"), 16: re.compile("[0-9a-f]+")}
_TOKEN = re.compile("[0-9a-z]+|[-+*/()]")


def evaluate(text: str, base: int = 10, names: Mapping[str, int] = MappingProxyType({})) -> int:
    """The value of an expression behind its variables, which "; " separates: "x=2; y=x+1; x*y".

    The operations are + - * and /, a division of which the floor is taken; * and / bind closer. There is no sign
    before a number. A name is a text of small letters that is no number of the base.

    :param base: of the numbers, 10 or 16.
    :param names: those that have a value beforehand.
    :raises InputError: no such text, a name without a value, a name that is a number, a division by 0, or a number of
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
    """By two stacks, one of values and one of operators that wait for their second value."""
    values: list[int] = []
    waiting: list[str] = []
    wrong = InputError(f"{shown(expression)} is no expression of numbers, names, + - * / and parentheses")

    def finish(closeness: int) -> None:
        """Do the waiting operations that bind at least so close."""
        while waiting and waiting[-1] != "(" and _OPERATIONS[waiting[-1]][0] >= closeness:
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
            values.append(_literal(token, base, variables))
            value_is_next = False
    if value_is_next:
        raise wrong
    finish(0)
    if waiting:
        raise wrong
    return values[0]


def _literal(token: str, base: int, variables: Mapping[str, int]) -> int:
    if token in variables:
        return variables[token]
    if _DIGITS[base].fullmatch(token) and len(token) <= _MOST_DIGITS:
        return int(token, base)
    raise InputError(
        f"{shown(token)} is no number of base {base} with at most {_MOST_DIGITS:,} digits, and no variable"
    )
