"""Micro-tasks 13 to 20: logical words, sequences, and commands under other names (A.2.13 to A.2.20)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import add, floordiv, mul, sub
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from gumption.data import InputError
from gumption.data.wording import shown

from .mapping_tasks import (
    LETTERS,
    SYNONYMS,
    each_key_once,
    pair_made,
    said_one_by_one,
    several,
    spelled,
    spelling,
    two_pairs,
    word_and_letter,
    word_changed,
)
from .task import (
    DIGITS,
    GOOD,
    STOP,
    Hidden,
    Instances,
    Questions,
    Rules,
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
    stopped,
)

FEW = "abcde"
SEQUENCES = (
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"],
    ["ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
)


def logic_tasks(words: Sequence[str], filtered: Sequence[str], rules: Rules) -> list[Task]:
    """Micro-tasks 13.1 to 20, in the order of the curriculum.

    :param filtered: the words that hold none of SYNONYMS.
    """
    asked, solve = repeated(_two_letters), partial(_two_letters_said, rules)
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
        renamed["micro13.1"] = (asked, solve)
    before = ("micro9.2", "micro10", "micro11", "micro12")
    return [
        stateless_task("micro13.1", "and, or, not with letters", asked, solve, "micro12"),
        stateless_task(
            "micro13.2", "and, or with several words", repeated(_several_parts), partial(_parts_said, rules),
            "micro13.1",
        ),
        stateless_task("micro14", "the order of letters", _letters_before, _next_letter, "micro7.1"),
        Task(
            "micro15", "the order of words", drawn(_sequence),
            about_keys(lambda key, draw: f"say next after: {key}{STOP}"), _next_word, each_key_once, tolerance=2,
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
            "micro20", "commands get new names", _named(renamed, filtered[200:400]),
            partial(_asking_by_name, renamed, filtered), partial(_solving_names, renamed), tolerance=2,
            requires=("micro19",),
        ),
    ]  # fmt: skip


# ---- 13: and, or, not


def _two_letters(draw: Random) -> str:
    kind, first = draw.randrange(4), draw.choice(FEW)
    if kind == 0:
        return f" say: {first} and {draw.choice(FEW)}{STOP}"
    if kind == 1:
        return f" say: {first} or {draw.choice(FEW)}{STOP}"
    if kind == 2:
        return f" say: anything and not {first}{STOP}"
    second = draw.choice([letter for letter in FEW if letter != first])
    others = [letter for letter in FEW if letter not in (first, second)]
    not_this = draw.choice((first, second, draw.choice(others)))
    return f" say: {first} or {second} but not {not_this}{STOP}"


def _two_letters_said(rules: Rules, question: str, hidden: Hidden) -> Solution:
    asked = matched(r" ?say: ([^.]+)\.", question)[1]
    if found := re.fullmatch(r"(\w) and (\w)", asked):
        answer = found[1] + found[2] + STOP
        return short(answer, accepts=answer.endswith if rules.upstream_quirks else None)
    if found := re.fullmatch(r"anything and not (\w)", asked):
        [unwanted] = found.groups()
        others = [letter for letter in FEW if letter != unwanted]
        return _one_of(others, others[0], lambda answer: len(answer) > 1 and unwanted not in answer)
    found = matched(r"(\w) or (\w)(?: but not (\w))?", asked)
    first, second, unwanted = found.groups()
    wanted = [letter for letter in dict.fromkeys((first, second)) if letter != unwanted]
    said = {letter + STOP for letter in wanted}
    said |= {one + other + STOP for one, other in ((first, second), (second, first)) if unwanted not in (one, other)}
    shown = [letter if unwanted else letter + STOP for letter in wanted]
    return _one_of(shown, wanted[0], said.__contains__)


def _one_of(shown: Sequence[str], answer: str, accepts: Callable[[str], bool]) -> Solution:
    """A solution of which several answers are right; the feedback on a wrong one shows one of them."""
    return Solution(answer + STOP, GOOD, tuple(f"wrong! {one};" for one in shown), accepts)


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
    return _one_of(words, words[0], accepts)


def joined_from(words: Sequence[str], answer: str) -> bool:
    """Whether an answer consists of some of the words, one behind the other; in time that is linear in the answer."""
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


def _sequence(draw: Random) -> Hidden:
    sequence = list(draw.choice(SEQUENCES))
    if draw.random() < 2 / 3:
        sequence.reverse()
    return {"mapping": dict(zip(sequence, (word + STOP for word in sequence[1:]), strict=False))}


def _next_word(question: str, hidden: Hidden) -> Solution:
    word = matched(r"say next after: ([^.:]+)\.", question)[1]
    return short(stopped(looked_up(hidden, word, question)), key=word)


# ---- 16, 19 and 20: several kinds of questions


Kinds = dict[str, tuple[Questions, Solve]]


def _dealt(kinds: Kinds) -> Instances:
    """Each instance has one kind of questions; the kinds are dealt without repetition, then dealt again."""

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
    """A pattern of these words where no letter or digit touches them."""
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

Expression: TypeAlias = Callable[[Random], str]  # draws one

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
            f"hex{number}", about, stateless, repeated(partial(_expression_asked, command, expression)),
            solving(f"{command}: (.+)=", partial(_value_of, command, number >= evaluated)), fixed_length=True,
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


def _expression_asked(command: str, expression: Expression, draw: Random) -> str | None:
    """A question for a value, which is not negative; None where another expression has to be drawn."""
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

_MOST_DIGITS = 1_000  # of a number; variables that are squared again and again would fill the memory
_LARGEST = 10**_MOST_DIGITS
#: Sign -> precedence and function.
_OPERATIONS: Mapping[str, tuple[int, Callable[[int, int], int]]]
_OPERATIONS = {"+": (1, add), "-": (1, sub), "*": (2, mul), "/": (2, floordiv)}
_DIGITS = {10: re.compile("[0-9]+"), 16: re.compile("[0-9a-f]+")}
_TOKEN = re.compile("[0-9a-z]+|[-+*/()]")


def evaluate(text: str, base: int = 10, names: Mapping[str, int] = MappingProxyType({})) -> int:
    """The value of an expression after definitions, all separated by "; ": "x=2; y=x+1; x*y".

    The operators are + - * and the floor division /; numbers have no sign. A name consists of small letters and is no
    number of the base.

    :param base: of the numbers, 10 or 16.
    :param names: name -> value, beside those that the text defines.
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
    """By two stacks: of values, and of operators that wait for their second value."""
    values: list[int] = []
    waiting: list[str] = []
    wrong = InputError(f"{shown(expression)} is no expression of numbers, names, + - * / and parentheses")

    def finish(precedence: int) -> None:
        """Apply the waiting operators of this precedence or a higher one."""
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
