"""The value of an arithmetic expression, such as "foo=4ce; (foo+1a5eb)*a+1" in hexadecimal digits."""

import re
from collections.abc import Callable, Mapping
from operator import add, floordiv, mul, sub
from types import MappingProxyType

from gumption.data import InputError
from gumption.data.wording import shown

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
            values.append(_number(token, base, variables))
            value_is_next = False
    if value_is_next:
        raise wrong
    finish(0)
    if waiting:
        raise wrong
    return values[0]


def _number(token: str, base: int, variables: Mapping[str, int]) -> int:
    if token in variables:
        return variables[token]
    if _DIGITS[base].fullmatch(token) and len(token) <= _MOST_DIGITS:
        return int(token, base)
    raise InputError(
        f"{shown(token)} is no number of base {base} with at most {_MOST_DIGITS:,} digits, and no variable"
    )
