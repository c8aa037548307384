"""Every settings class of the package, found by itself: whatever is set, it is what the field says or an InputError."""

import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from math import inf, isfinite, nan
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt, MultipleOf

from gumption.data import InputError
from tests.wrong_values import WRONG

NAMES = r"(Config|Settings|Options|Limits|Parameters|Learner|Learning)$"
VALUES: list[Any] = [
    *WRONG.values(), False, 0, 1, 2**31, 2**63, 2**64, 10**9, 1.0, -0.5, 1e-300, 1e300, -inf, "x", "3", "nan", "a\nb",
    "\udc80", "x" * 10_000, ["x"], [["x", 1]], (), ("x", "x"), (("x", nan),), (("x",),), {}, {"x": 1}, print,
    Path("nowhere"), 1j, np.int64(3), np.int64(-3), np.float32(0.5), np.float64(nan), np.bool_(True), np.array([1]),
    np.array("x"), range(3), (0.25, 0.75), 7,
]  # fmt: skip


def modules() -> Iterator[str]:
    for room in ("data", "kg", "envs", "agents", "scripts"):
        package = import_module(f"gumption.{room}")
        names = (found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
        yield from (name for name in names if ".tutorial." not in name)  # files to copy, not modules


@cache
def dataclasses_of_the_package() -> list[type[Any]]:
    found: dict[type[Any], None] = {}
    for name in modules():
        for each in vars(import_module(name)).values():
            if inspect.isclass(each) and is_dataclass(each) and each.__module__ == name:
                found[each] = None
    return list(found)


SETTINGS = [
    kind
    for kind in dataclasses_of_the_package()
    if vars(kind).get("__settings__") is kind and not inspect.isabstract(kind)
]
#: Fields whose values have to fit each other.
FITTING: dict[str, dict[str, Any]] = {
    "RuleSets": {"sets": (("move",),)},
    "UniformNoise": {"low": 0.5, "high": 3},
    "UniformNoise2D": {"low": (0.0, 0.0), "high": (0.5, 3)},
    "GaussianMixtureNoise": {"means": (0.5, 3), "stds": (0.5, 3)},
}
every_class = pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: f"{kind.__module__[9:]}.{kind.__name__}")


def satisfies(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says, by the annotation alone."""
    if isinstance(value, np.generic | np.ndarray) and not value.ndim:
        value = value.item()
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return satisfies(value, parts[0]) and (value is None or all(within(value, mark) for mark in parts[1:]))
    if origin in (Union, UnionType):
        return any(satisfies(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is tuple:
        if type(value) not in (list, tuple):
            return False
        if parts[-1] is ...:
            return all(satisfies(each, parts[0]) for each in value)
        return len(value) == len(parts) and all(map(satisfies, value, parts))
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(satisfies(each, parts[0]) for each in value)
    if hint is Any:
        return True
    if hint is float:
        number = isinstance(value, float) or (type(value) is int and abs(value) < 10**300)
        return number and isfinite(value)
    if hint in (int, bool, str, NoneType):
        return type(value) is hint
    if origin is PathLike:
        return isinstance(value, PathLike)
    if hint is Callable or origin is Callable or "Callable" in str(hint):
        return callable(value)
    return isinstance(value, origin or hint)


def within(value: Any, mark: Any) -> bool:
    match mark:
        case Ge(low):
            return value >= low
        case Gt(low):
            return value > low
        case Le(high):
            return value <= high
        case Lt(high):
            return value < high
        case MultipleOf(step):
            return value % step == 0
        case _:
            return True  # of another library


def least(kind: type[Any]) -> dict[str, Any]:
    """Values for the fields without a default."""
    if kind.__name__ in FITTING:
        return FITTING[kind.__name__]
    hints = get_type_hints(kind, include_extras=True)
    pool = ["x", 3, 0.5, (0.5, 3), print, *(choice for hint in hints.values() for choice in get_args(hint))]
    return {
        each.name: next(value for value in pool if satisfies(value, hints[each.name]))
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    }


def test_all_of_them_are_found() -> None:
    assert len(SETTINGS) > 15
    named = [kind for kind in dataclasses_of_the_package() if re.search(NAMES, kind.__name__)]
    assert [kind.__qualname__ for kind in named if kind not in SETTINGS] == []


@every_class
def test_a_field_takes_what_it_says_and_nothing_else(kind: type[Any]) -> None:
    hints, given = get_type_hints(kind, include_extras=True), least(kind)
    accepted = []
    for each in fields(kind):
        for value in VALUES:
            told = ""
            try:
                made = kind(**{**given, each.name: value})
            except InputError as error:
                told = str(error)
            assert "\n" not in told
            assert len(told) < 600
            assert "pydantic" not in told
            if not told:
                accepted.append((each.name, value))
                assert satisfies(value, hints[each.name]), f"{each.name} took {value!r}"
                assert not isinstance(getattr(made, each.name), np.generic)
    assert accepted or not fields(kind), "some value is right for some field"


@every_class
def test_a_wrong_value_is_told_with_its_field(kind: type[Any]) -> None:
    hints, given = get_type_hints(kind, include_extras=True), least(kind)
    for each in fields(kind):
        for value in VALUES:
            if not satisfies(value, hints[each.name]):
                with pytest.raises(InputError, match=rf"^{each.name} is .*; it (is|can be) "):
                    kind(**{**given, each.name: value})


@every_class
def test_an_unknown_name_is_told_with_the_one_near_it(kind: type[Any]) -> None:
    given = least(kind)
    with pytest.raises(InputError, match=f"^{kind.__name__} has no 'zzzzzz'; it has"):
        kind(**given, zzzzzz=1)
    for each in fields(kind):
        if len(each.name) > 4:
            with pytest.raises(InputError, match=f"^{kind.__name__} has no '{each.name}x'; did you mean"):
                kind(**given, **{f"{each.name}x": 1})


@every_class
def test_the_defaults_are_what_the_fields_say(kind: type[Any]) -> None:
    hints = get_type_hints(kind, include_extras=True)
    made = kind(**least(kind))
    for each in fields(kind):
        assert satisfies(default(each, made), hints[each.name]), each.name
    assert replace(made) == made
    if hasattr(kind, "to_json") and hasattr(kind, "from_json"):
        assert kind.from_json(json.loads(json.dumps(made.to_json()))) == made


def default(each: Field[Any], made: Any) -> Any:
    return getattr(made, each.name) if each.default is MISSING else each.default
