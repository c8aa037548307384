"""A ladder to arithmetic with hexadecimal numbers and variables, the hardest task of the document's first alternative
curriculum (A.1.6.1). All answers have a fixed length, and each command has one meaning:

    Compute: 41+1=         42            decimal numbers
    Convert: 4ce=          1230          hexadecimal numbers, a decimal result
    Count: 1230=           4 1230        decimal numbers, the number of digits before the result
    Evaluate: 4ce+1=       4 1231        hexadecimal numbers, the number of digits before the decimal result
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import add, floordiv, mul, sub
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from gumption.data import InputError
from gumption.data.wording import shown

from .logic_tasks import SEQUENCES
from .task import DIGITS, Hidden, Solution, Task, stateless
from .text_tasks import matched

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
            f"hex{number}", about, stateless, partial(_asking, command, expression),
            partial(_solving, command, number >= evaluated), fixed_length=True,
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


def _asking(command: str, expression: Expression, hidden: Hidden, draw: Random) -> Iterator[str]:
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


def _solving(command: str, evaluated: bool, question: str, hidden: Hidden) -> Solution:
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
