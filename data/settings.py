"""The one way to check what a person gives: the fields of a settings class, and the arguments of a function, by their
annotations. pydantic does it, and is imported when the first value is checked: help and completion go without it.

    @settings
    class Garden:
        beds: Count = 3
        soil: Literal["clay", "sand"] = "clay"

    Garden(beds=0)       # InputError: beds is 0; it is a whole number, at least 1
    Garden(soul="clay")  # InputError: Garden has no 'soul'; did you mean 'soil'?
"""

import builtins
import inspect
import sys
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache, partial, wraps
from itertools import chain, repeat
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
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
from .wording import LARGEST, MANY, describe, shown
from .writing import can_be_named

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

Whole = Annotated[int, Ge(0), Le(LARGEST)]
Count = Annotated[int, Ge(1), Le(LARGEST)]
Size = Annotated[int, Ge(1), Le(1_000_000)]  # of an axis of an array: a layer, a batch
Frames = Annotated[int, Ge(1), Le(1000)]  # that a learner sees at once
Seed = Whole
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
InnerShare = Annotated[float, Gt(0), Lt(1)]
Seconds = Annotated[float, Gt(0), Le(10_000_000)]  # no system waits longer at a time
Megabytes = Annotated[float, Gt(0), Le(10_000_000)]
SmallShare = Annotated[float, Ge(0), Lt(1)]  # of what is left out

_SCALARS = (int, float, str, bool, Path, PathLike)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
        known.sort(key=lambda each: bool(each.kw_only))  # those come last, whatever class they are of
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
    """The function, whose arguments are checked by their annotations before it begins.

    Numbers, texts, choices, paths, switches and tuples are what `check` says; of a class there has to be an instance.
    The members of lists are checked too, but rows of labels or numbers: who reads them says which row is wrong.
    An iterator of anything else becomes a list.

    :raises InputError: (the function) an argument that is not what its annotation says.
    """
    parameters = [
        one for one in inspect.signature(function).parameters.values() if one.kind in (*_BY_PLACE, one.KEYWORD_ONLY)
    ]
    if all(one.annotation in (one.empty, Any, "Any") for one in parameters):
        return function
    checks: dict[str, _Argument] = {}
    by_place: list[_Argument | None] = []

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not checks:
            checks.update(_arguments(function, parameters))
            by_place[:] = [checks.get(one.name) for one in parameters if one.kind in _BY_PLACE]
        for place, (argument, one) in enumerate(zip(by_place, args)):  # noqa: B905  (it is called at each step)
            if argument is not None and type(one) not in argument.plain:
                args = (*args[:place], argument.check(one), *args[place + 1 :])
        for name, one in kwargs.items():
            argument = checks.get(name)
            if argument is not None and type(one) not in argument.plain:
                kwargs[name] = argument.check(one)
        return function(*args, **kwargs)

    return run  # pyright: ignore[reportReturnType]


def checked_methods(cls: type[T], but: Collection[str] = ()) -> type[T]:
    """The class, all of whose own public methods, `__init__` and `__call__` are `checked`.

    :param but: methods that stay as they are.
    """
    for name, method in list(vars(cls).items()):
        if name not in but and (name in ("__init__", "__call__") or not name.startswith("_")):
            if isinstance(method, classmethod | staticmethod):
                setattr(cls, name, type(method)(checked(method.__func__)))
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
    except ValidationError:
        raise InputError(f"{name} is {shown(value)}; it {describe(hint, value)}") from None
    is_path = isinstance(found, str | PathLike) and _is_path(hint) and "://" not in str(found)  # as in an address
    if is_path and not can_be_named(found):
        raise InputError(f"{name} is {shown(value)}; no file can have that name")
    # 5 stays 5 where a float is asked for, in files and hashes too, unless no array can hold it.
    return plain if type(plain) is int and abs(plain) <= LARGEST else found


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
    from pydantic import PlainValidator

    origin: Any
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_checkable(parts[0]), *parts[1:]]
    if origin in (Union, UnionType):
        return Union[tuple(map(_checkable, parts))]  # noqa: UP007  (of a tuple)
    if origin is tuple:
        return tuple[tuple(part if part is ... else _checkable(part) for part in parts)]
    if origin in (list, Mapping):
        return origin[tuple(map(_checkable, parts))]  # pyright: ignore[reportInvalidTypeArguments]
    if origin in MANY:
        return Annotated[Any, PlainValidator(partial(_many, origin, parts[0]))]
    if hint in (Any, NoneType, *_SCALARS) or origin in (Literal, PathLike):
        return hint
    if isinstance(hint, TypeVar | ForwardRef):
        return Any
    if getattr(hint, "_is_protocol", False):
        return Annotated[Any, PlainValidator(partial(_with_members, hint))]
    return Annotated[Any, PlainValidator(partial(_instance, origin or hint))]


def _instance(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError
    return value


def _many(kind: Any, hint: Any, value: Any) -> Any:
    """The value, if it has members that are what the annotation says; as a list where it is less than the annotation
    asks for, such as an iterator."""
    is_array = hasattr(value, "tolist")
    unordered = isinstance(value, set | frozenset) if kind is Sequence else kind is Set and not isinstance(value, Set)
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if unordered or single or not isinstance(value, Iterable):
        raise ValueError
    enough = isinstance(value, kind) or is_array
    if _are_rows(hint):
        return value if enough else list(value)
    if is_array and hint not in _SCALARS:
        raise ValueError
    members = value.tolist() if is_array else list(value)  # pyright: ignore[reportAttributeAccessIssue]
    found = _validator(list[hint])([_plain(one, hint) for one in members] if hint is not str else members)
    again = enough and not is_array and isinstance(value, Collection)
    return value if again and not any(get_origin(part) in MANY for part in _alternatives(hint)) else found


def _are_rows(hint: Any) -> bool:
    """Whether members with this annotation are looked at by who reads them, and not before."""
    return any(get_origin(part) is tuple or isinstance(part, TypeVar) or part is Any for part in _alternatives(hint))


def _with_members(protocol: Any, value: Any) -> Any:
    names = {name for base in protocol.__mro__ for name in vars(base) if getattr(base, "_is_protocol", False)}
    if not all(hasattr(value, name) for name in names if not name.startswith("_")):
        raise ValueError
    return value


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


class _Argument:
    """A parameter and what its annotation asks for. Functions are called often, most of them with what is right.

    :ivar plain: types whose values need no further look; those of instances that were right are added.
    """

    def __init__(self, name: str, hint: Any) -> None:
        self.name, self.hint = name, hint
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        members = [get_args(part)[0] for part in parts if get_origin(part) in MANY]
        self.plain = {part for part in parts if inspect.isclass(part)} - {float, Path}
        if _is_path(hint):
            self.plain -= {str}
        if any(map(_are_rows, members)):
            self.plain |= {list, tuple}
        self._of_text = str in members
        tuples = [get_args(part) for part in parts if get_origin(part) is tuple]
        self._in_tuple = {str, int}.intersection(*tuples) if len(tuples) == 1 and tuples[0][1:] == (...,) else set()
        self._classes = all((inspect.isclass(part) and part not in _SCALARS) or part is NoneType for part in parts)

    def check(self, value: Any) -> Any:
        """:raises InputError: it is something else."""
        kind = type(value)
        if self._of_text and kind in (list, tuple) and {str}.issuperset(map(type, value)):
            return value
        if kind is tuple and self._in_tuple and self._in_tuple.issuperset(map(type, value)):
            return value
        found = check(self.name, value, self.hint)
        if self._classes:
            self.plain.add(kind)
        return found


def _arguments(function: Callable[..., Any], parameters: Iterable[inspect.Parameter]) -> dict[str, _Argument]:
    """What is checked of each parameter with an annotation. A name that is imported for types only stands for a class
    of that name."""
    names = _Names(getattr(inspect.unwrap(function), "__globals__", {}), dict(vars(builtins)))
    found = {}
    for one in parameters:
        if (hint := one.annotation) is not one.empty:
            found[one.name] = _Argument(one.name, eval(hint, {}, names) if isinstance(hint, str) else hint)
    return found


class _Names(ChainMap[str, Any]):
    def __missing__(self, name: str) -> Any:
        return _Named(name, (), {})


class _Named(type):
    """A class that is not imported here: its instances are known by the name of their class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__name__ in (base.__name__ for base in type(instance).__mro__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Named(name, (), {})  # of a module


def checkable(hint: Any) -> bool:
    """Whether the annotation is one of values that a command line can give."""
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


def _is_path(hint: Any) -> bool:
    return any(part is Path or get_origin(part) is PathLike for part in _alternatives(hint))


def _plain(value: Any, hint: Any) -> Any:
    """The value with NumPy's numbers as Python's, and as a tuple where it is a list of what is to be a tuple."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if type(value) in (list, tuple) and not any(get_origin(part) in MANY for part in _alternatives(hint)):
        for part in _alternatives(hint):
            if get_origin(part) is tuple:
                parts = get_args(part)
                each = repeat(parts[0]) if parts[-1] is ... else chain(parts, repeat(Any))
                return tuple(_plain(one, inner) for one, inner in zip(value, each, strict=False))
    return value
