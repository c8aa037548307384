"""Check a user's input by annotations: the fields of a settings class, and the arguments of a function. pydantic does
the work; it is imported when the first value is checked, since help and completion do not need it.

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
from functools import cache, partial, wraps
from itertools import chain, repeat
from math import isfinite
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
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

from annotated_types import Ge, Gt, Le, Lt, MultipleOf

from .errors import InputError, did_you_mean
from .writing import can_be_named

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**63 - 1  # whole numbers are stored in arrays of int64
MANY = (Iterable, Iterator, Collection, Sequence, Set)  # annotations that a list satisfies
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

Whole = Annotated[int, Ge(0), Le(LARGEST)]
Count = Annotated[int, Ge(1), Le(LARGEST)]
Size = Annotated[int, Ge(1), Le(1_000_000)]  # of one axis of an array: a layer, a batch
Frames = Annotated[int, Ge(1), Le(1000)]  # observations stacked for a learner
Seed = Whole
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Weight = Annotated[float, Ge(0), Le(1_000_000)]  # of a term of a loss, which is a float32
Share = Annotated[float, Ge(0), Le(1)]
InnerShare = Annotated[float, Gt(0), Lt(1)]
Seconds = Annotated[float, Gt(0), Le(10_000_000)]  # no system waits longer at a time
Megabytes = Annotated[float, Gt(0), Le(10_000_000)]
SmallShare = Annotated[float, Ge(0), Lt(1)]  # such as dropout

_SCALARS = (int, float, str, bool, Path, PathLike)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def settings(cls: type[T]) -> type[T]:
    """Make a frozen dataclass that checks its fields when an instance is made; `fields`, `replace` and `asdict` work.

    Numbers must be finite; text is not converted to a number, nor a number to a bool. NumPy's numbers become Python's,
    and a list becomes a tuple if the field is a tuple.

    :raises InputError: (the class) a value that does not fit its field's annotation, or an unknown field.
    """
    kind: Any = dataclass(frozen=True)(cls)
    fill = kind.__init__
    hints: dict[str, Any] = {}

    @wraps(fill)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not hints:
            hints.update(get_type_hints(kind, include_extras=True))
        known = [each for each in fields(kind) if each.init]
        known.sort(key=lambda each: bool(each.kw_only))  # keyword-only fields come last, also inherited ones
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
    """Wrap a function so that each call checks its arguments against their annotations.

    `check` covers numbers, texts, choices, paths, bools and tuples; for a class it requires an instance. Members of
    lists are checked too, except rows of labels or numbers: their reader can report the faulty row. An iterator of
    anything else becomes a list.

    :raises InputError: (the function) an argument that does not fit its annotation.
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
        for place, (argument, one) in enumerate(zip(by_place, args)):  # noqa: B905  (called at each step)
            if argument is not None and type(one) not in argument.plain:
                args = (*args[:place], argument.check(one), *args[place + 1 :])
        for name, one in kwargs.items():
            argument = checks.get(name)
            if argument is not None and type(one) not in argument.plain:
                kwargs[name] = argument.check(one)
        return function(*args, **kwargs)

    return run  # pyright: ignore[reportReturnType]


def checked_methods(cls: type[T], but: Collection[str] = ()) -> type[T]:
    """Apply `checked` to a class's own public methods, `__init__` and `__call__`, except the methods in `but`."""
    for name, method in list(vars(cls).items()):
        if name not in but and (name in ("__init__", "__call__") or not name.startswith("_")):
            if isinstance(method, classmethod | staticmethod):
                setattr(cls, name, type(method)(checked(method.__func__)))
            elif inspect.isfunction(method):
                setattr(cls, name, checked(method))
    return cls


def check(name: str, value: Any, hint: Any) -> Any:
    """Return the value if it fits the annotation; `name` is for the message.

    :raises InputError: it does not fit.
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
    # An int for a float stays an int, because files and hashes hold it so, unless no int64 can hold it.
    return plain if type(plain) is int and abs(plain) <= LARGEST else found


def unknown(owner: str, name: Any, known: Iterable[str]) -> str:
    """Return the message for an unknown name: it suggests the known name nearest to it, or lists all."""
    names = sorted(known)
    hint = did_you_mean(name, names, "it has " + ", ".join(names))
    return f"{owner} has no {shown(name)}; {hint}"


def refuse_unknown(owner: str, given: Iterable[Any], known: Iterable[str]) -> None:
    """:raises InputError: a name that is not among the known names; see `unknown`."""
    for name in given:
        if name not in known:
            raise InputError(unknown(owner, name, known))


def whole_numbers(name: str, value: Any, *shape: int | None) -> "np.ndarray":
    """Return the value as an int64 array.

    :param name: its name in the message.
    :param shape: the expected lengths; None stands for any.
    :raises InputError: another shape, other numbers, or no array.
    """
    import numpy as np

    try:
        found = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths, or an object without conversion
        found = np.array(None)
    fits = len(found.shape) == len(shape) and all(
        there == asked or asked is None for there, asked in zip(found.shape, shape, strict=True)
    )
    if not fits or (found.dtype.kind not in "iu" and found.size):
        lengths = ", ".join("n" if length is None else str(length) for length in shape)
        raise InputError(f"{name} is {shown(value)}; it is an array ({lengths}) of whole numbers")
    return found.astype(np.int64, copy=False)


def real_numbers(name: str, value: Any) -> "np.ndarray":
    """Return the value as a float64 array; raise InputError as `whole_numbers`."""
    import numpy as np

    try:
        found = np.asarray(value)
        if found.dtype.kind in "iufb" or not found.size or all(isinstance(one, int | float) for one in found.flat):
            return found.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    raise InputError(f"{name} is {shown(value)}; it is an array of numbers")


@cache
def _validator(hint: Any) -> Callable[[Any], Any]:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(_checkable(hint), config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python


def _checkable(hint: Any) -> Any:
    """Return the annotation for pydantic: a class that is no plain value requires an instance."""
    from pydantic import PlainValidator

    origin: Any
    # NumPy's ArrayLike and NDArray are aliases by a `type` statement from NumPy 2.5 on.
    hint = getattr(get_origin(hint) or hint, "__value__", hint)
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
        return Annotated[Any, PlainValidator(partial(_with_members, origin or hint))]
    return Annotated[Any, PlainValidator(partial(_instance, origin or hint))]


def _instance(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError
    return value


def _many(kind: Any, hint: Any, value: Any) -> Any:
    """Return the value if its members fit the annotation, or a list of the members if the value itself does not fit,
    such as an iterator in place of a sequence."""
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
    """Return whether members with this annotation are checked by their reader, not here."""
    return any(get_origin(part) is tuple or isinstance(part, TypeVar) or part is Any for part in _alternatives(hint))


def _with_members(protocol: Any, value: Any) -> Any:
    names = {name for base in protocol.__mro__ for name in vars(base) if getattr(base, "_is_protocol", False)}
    if not all(hasattr(value, name) for name in names if not name.startswith("_")):
        raise ValueError
    return value


class _Argument:
    """A parameter with its annotation. Functions are called often, mostly with valid arguments, so these pass quickly.

    :ivar plain: types whose values need no check; classes of instances that passed are added.
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
        self._tuple = list(tuples[0]) if len(tuples) == 1 and {str, int}.issuperset(tuples[0]) else None
        self._classes = all((inspect.isclass(part) and part not in _SCALARS) or part is NoneType for part in parts)

    def check(self, value: Any) -> Any:
        """Return the value if it fits; else raise InputError."""
        kind = type(value)
        if self._of_text and kind in (list, tuple) and {str}.issuperset(map(type, value)):
            return value
        if kind is tuple and self._in_tuple and self._in_tuple.issuperset(map(type, value)):
            return value
        if kind is tuple and self._tuple and [*map(type, value)] == self._tuple:
            return value
        found = check(self.name, value, self.hint)
        if self._classes:
            self.plain.add(kind)
        return found


def _arguments(function: Callable[..., Any], parameters: Iterable[inspect.Parameter]) -> dict[str, _Argument]:
    """Return the annotated parameters. A name imported only for type checking stands for a class of that name."""
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
    """A stand-in for a class that is not imported: `isinstance` compares names of classes."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__name__ in (base.__name__ for base in type(instance).__mro__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Named(name, (), {})  # of a module


def checkable(hint: Any) -> bool:
    """Return whether a command line can express values of this annotation."""
    return any(map(_is_value, _alternatives(hint)))


def _alternatives(hint: Any, marked: bool = False) -> Iterator[Any]:
    """Yield the members of a union, without their marks (Annotated); with `marked`, single types keep theirs."""
    parts = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        for part in parts:
            yield from _alternatives(part, marked)
    elif get_origin(hint) is Annotated and not (marked and get_origin(parts[0]) not in (Union, UnionType, Literal)):
        yield from _alternatives(parts[0], marked)
    else:
        yield hint


def _is_value(hint: Any) -> bool:
    if get_origin(hint) is tuple:
        return all(part is ... or any(map(_is_value, _alternatives(part))) for part in get_args(hint))
    return get_origin(hint) in (Literal, PathLike) or hint in _SCALARS


def _is_path(hint: Any) -> bool:
    return any(part is Path or get_origin(part) is PathLike for part in _alternatives(hint))


def _plain(value: Any, hint: Any) -> Any:
    """Convert NumPy's numbers to Python's, and lists to tuples if the annotation is a tuple."""
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


# ---- Annotations and values in words, for messages.

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
    """Return the annotation in words that follow "it": "is a whole number, at least 1", "can be linear, softmax".

    :param value: the invalid value, which decides how much detail is needed.
    """
    parts = list(_alternatives(hint, marked=True))
    choices = [part for part in parts if get_origin(part) is Literal]
    if choices:
        named = [str(choice) for part in choices for choice in get_args(part)]
        return "can be " + ", ".join([*named, *(_kind(part, value) for part in parts if part not in choices)])
    return "is " + " or ".join(dict.fromkeys(_kind(part, value) for part in parts))


def shown(value: Any) -> str:
    """Return the value as one line of about sixty characters at most."""
    if isinstance(value, int) and abs(value) > 10**40:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = " ".join((repr(value[:60]) if isinstance(value, str | bytes) else repr(value)).split())
    except Exception:  # a user's __repr__ may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


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
    if isinstance(value, list | tuple | dict):
        return any(map(_is_endless, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and not isfinite(value)


def _each(hint: Any, value: Any) -> str:
    if get_origin(hint) is tuple and get_args(hint)[-1] is not ...:
        return {2: " of pairs", 3: " of triples"}.get(len(get_args(hint)), " of tuples")
    return " of text" if hint is str else f", each {' or '.join(_kinds(_alternatives(hint, marked=True), value))}"


def _kinds(hints: Iterable[Any], value: Any) -> list[str]:
    return [_kind(hint, value) for hint in hints]


def _bounds(marks: list[Any], value: Any) -> str:
    """Return the marks of annotated_types in words: ", at least 0", " from 0 to 1"."""
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
