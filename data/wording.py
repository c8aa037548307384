"""What a setting can be, in words, from its annotation, and a wrong value in a few words."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from math import isfinite
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MultipleOf

LARGEST = 2**63 - 1  # of whole numbers, which end up in arrays of int64
MANY = (Iterable, Iterator, Collection, Sequence, Set)  # of which a list is one

_PLAIN = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "True or False",
    NoneType: "None",
    Path: "a path",
    Mapping: "a dict",
    Any: "anything",
}


def describe(hint: Any, value: Any = None) -> str:
    """ "is a whole number, at least 1" or "can be linear, softmax": what is said of a field after "it".

    :param value: what was given in its place, which decides what is worth saying.
    """
    parts = _alternatives(hint)
    choices = [part for part in parts if get_origin(part) is Literal]
    if choices:
        named = [str(choice) for part in choices for choice in get_args(part)]
        return "can be " + ", ".join([*named, *(_kind(part, value) for part in parts if part not in choices)])
    return "is " + " or ".join(dict.fromkeys(_kind(part, value) for part in parts))


def shown(value: Any) -> str:
    """The value in a line of at most some sixty characters."""
    if isinstance(value, int) and abs(value) > 10**40:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = " ".join((repr(value[:60]) if isinstance(value, str | bytes) else repr(value)).split())
    except Exception:  # a stranger's __repr__ may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) is Annotated and get_origin(get_args(hint)[0]) in (Union, UnionType, Literal):
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [each for part in get_args(hint) for each in _alternatives(part)]
    return [hint]


def _kind(hint: Any, value: Any) -> str:
    if get_origin(hint) is Annotated:
        kind, *marks = get_args(hint)
        return _kind(kind, value) + _bounds(marks, value)
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        return "a tuple" + (_each(first, value) if rest == [...] else f" of {', '.join(_kinds((first, *rest), value))}")
    if get_origin(hint) in (list, *MANY):
        return "a list" + _each(get_args(hint)[0], value)
    if get_origin(hint) is Mapping:
        return f"a dict of {' to '.join(_kinds(get_args(hint), value))}"
    if get_origin(hint) is PathLike:
        return "a path"
    if get_origin(hint) is Callable:
        return "a function"
    if hint is float and _is_endless(value):
        return "a finite number"
    kind = get_origin(hint) or hint
    name = getattr(kind, "__name__", str(kind))
    if name == "ndarray":  # of NumPy, which is not imported for a message
        return "an array"
    return _PLAIN.get(kind) or f"a{'n' * (name[0] in 'AEIO')} {name}"


def _is_endless(value: Any) -> bool:
    """Whether it is, or has within it, a number that is not finite."""
    if isinstance(value, list | tuple | dict):
        return any(map(_is_endless, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and not isfinite(value)


def _each(hint: Any, value: Any) -> str:
    """What is said of the members of a tuple or list."""
    if get_origin(hint) is tuple and get_args(hint)[-1] is not ...:
        return {2: " of pairs", 3: " of triples"}.get(len(get_args(hint)), " of tuples")
    return " of text" if hint is str else f", each {' or '.join(_kinds(_alternatives(hint), value))}"


def _kinds(hints: Iterable[Any], value: Any) -> list[str]:
    return [_kind(hint, value) for hint in hints]


def _bounds(marks: list[Any], value: Any) -> str:
    """ ", at least 0", " from 0 to 1": what the marks of annotated_types say."""
    least, above, most, below, step = (
        next((getattr(mark, name) for mark in marks if isinstance(mark, kind)), None)
        for kind, name in ((Ge, "ge"), (Gt, "gt"), (Le, "le"), (Lt, "lt"), (MultipleOf, "multiple_of"))
    )
    if most == LARGEST:
        if isinstance(value, int) and value > LARGEST:
            return " below 2**63"
        most = None
    if least is not None and most is not None:
        said = f" from {least:,} to {most:,}"
    elif above is not None and below is not None:
        said = f" between {above} and {below}"
    else:
        low = f"at least {least:,}" if least is not None else f"above {above:,}" if above is not None else ""
        high = f"at most {most:,}" if most is not None else f"below {below:,}" if below is not None else ""
        words = " and ".join(filter(None, (low, high)))
        said = f" {words}" if words.startswith("above") else f", {words}" if words else ""
    return said if step is None else f"{said}, a multiple of {step}"
