"""The one way to check what a person sets: the fields of a settings class, and the arguments of a function, by their
annotations. pydantic does it, and is imported when the first value is checked: help and completion go without it.

    @settings
    class Garden:
        beds: Count = 3
        soil: Literal["clay", "sand"] = "clay"

    Garden(beds=0)       # InputError: beds is 0; it is a whole number, at least 1
    Garden(soul="clay")  # InputError: Garden has no 'soul'; did you mean 'soil'?
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache, wraps
from itertools import chain, repeat
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le, Lt

from .errors import InputError
from .wording import LARGEST, describe, shown

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

Whole = Annotated[int, Ge(0), Le(LARGEST)]
Count = Annotated[int, Ge(1), Le(LARGEST)]
Size = Annotated[int, Ge(1), Le(1_000_000)]  # of an axis of an array: a layer, a batch
Seed = Whole
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
InnerShare = Annotated[float, Gt(0), Lt(1)]
Seconds = Annotated[float, Gt(0), Le(10_000_000)]  # no system waits longer at a time
Megabytes = Annotated[float, Gt(0), Le(10_000_000)]
SmallShare = Annotated[float, Ge(0), Lt(1)]  # of what is left out

_SCALARS = (int, float, str, bool, Path, PathLike)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def settings(cls: type[T]) -> type[T]:
    """A frozen dataclass whose fields are checked when an instance is made; `fields`, `replace` and `asdict` work.

    No text becomes a number and no number a switch, and numbers are finite; but NumPy's numbers become Python's, and
    lists tuples where the field is one.

    :raises InputError: (the class) a value that is not what its field says, or a name that is no field.
    """
    kind: Any = dataclass(frozen=True)(cls)
    fill = kind.__init__

    @wraps(fill)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        hints, known = _hints(kind), [each for each in fields(kind) if each.init]
        given = dict(zip((each.name for each in known), args, strict=False)) | kwargs
        if len(given) < len(args) + len(kwargs):
            raise InputError(f"{kind.__name__} takes each of its {len(known)} fields once")
        for name, value in given.items():
            if name not in hints:
                raise InputError(unknown(kind.__name__, name, hints))
            given[name] = check(name, value, hints[name])
        for each in known:
            if each.name not in given and each.default is MISSING and each.default_factory is MISSING:
                raise InputError(f"{kind.__name__} needs {each.name}: it {describe(hints[each.name])}")
        fill(self, **given)

    kind.__init__ = __init__
    kind.__settings__ = kind
    return kind


def checked(function: C) -> C:
    """The function, whose arguments are checked by their annotations before it begins: numbers, texts, choices, paths,
    switches, tuples of them, and what may stand in their place.

    :raises InputError: (the function) an argument that is not what its annotation says.
    """
    names = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        hints = _values(function)
        first = (
            check(name, one, hints[name]) if name in hints else one for name, one in zip(names, args, strict=False)
        )
        named = {name: check(name, one, hints[name]) if name in hints else one for name, one in kwargs.items()}
        return function(*first, *args[len(names) :], **named)

    return run  # pyright: ignore[reportReturnType]


def checked_methods(cls: type[T]) -> type[T]:
    """The class, all of whose public methods and `__init__` are `checked`."""
    for name, method in list(vars(cls).items()):
        if name == "__init__" or not name.startswith("_"):
            if isinstance(method, classmethod):
                setattr(cls, name, classmethod(checked(method.__func__)))
            elif inspect.isfunction(method):
                setattr(cls, name, checked(method))
    return cls


def check(name: str, value: Any, hint: Any) -> Any:
    """The value, if it is what the annotation says; `name` is what the message calls it.

    :raises InputError: it is something else.
    """
    from pydantic import ValidationError

    try:
        plain = _plain(value, hint)
        found = _validator(hint)(plain)
        return plain if type(plain) is int else found  # 5 stays 5 where a float is asked for, in files and hashes too
    except ValidationError:
        raise InputError(f"{name} is {shown(value)}; it {describe(hint, value)}") from None


def unknown(owner: str, name: Any, known: Iterable[str]) -> str:
    """What is wrong with a name that is none of the known ones: the one near it, or all."""
    names = sorted(known)
    near = get_close_matches(str(name), names, 1)
    return f"{owner} has no {shown(name)}; " + (f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}")


@cache
def _validator(hint: Any) -> Callable[[Any], Any]:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(_checkable(hint), config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python


def _checkable(hint: Any) -> Any:
    """The annotation as pydantic is to read it: of classes that are not values it asks for instances."""
    from pydantic import InstanceOf

    origin: Any
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_checkable(parts[0]), *parts[1:]]
    if origin in (Union, UnionType):
        return Union[tuple(map(_checkable, parts))]  # noqa: UP007  (of a tuple)
    if origin is tuple:
        return tuple[tuple(part if part is ... else _checkable(part) for part in parts)]
    if origin in (list, Sequence, Mapping):
        return origin[tuple(map(_checkable, parts))]  # pyright: ignore[reportInvalidTypeArguments]
    if hint in (Any, NoneType, *_SCALARS) or origin in (Literal, PathLike) or hasattr(hint, "_fields"):
        return hint
    return InstanceOf[origin or hint]


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _values(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations that `checked` reads; not those of names that are imported for types only."""
    hints: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = parameter.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, getattr(function, "__globals__", {}))
            except NameError:
                continue
        if checkable(hint):
            hints[name] = hint
    return hints


def checkable(hint: Any) -> bool:
    """Whether the annotation is one that `checked` reads."""
    return any(map(_is_value, _alternatives(hint)))


def _alternatives(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (Annotated, Union, UnionType):
        for part in get_args(hint):
            yield from _alternatives(part)
    else:
        yield hint


def _is_value(hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return all(part is ... or any(map(_is_value, _alternatives(part))) for part in get_args(hint))
    return get_origin(hint) in (Literal, PathLike) or hint in _SCALARS


def _plain(value: Any, hint: Any) -> Any:
    """The value with NumPy's numbers as Python's, and as a tuple where it is a list of what is to be a tuple."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if type(value) in (list, tuple):
        for part in _alternatives(hint):
            if get_origin(part) is tuple:
                parts = get_args(part)
                each = repeat(parts[0]) if parts[-1] is ... else chain(parts, repeat(Any))
                return tuple(_plain(one, inner) for one, inner in zip(value, each, strict=False))
    return value
