"""Options of a command from the fields of the config that they set: name, type, default and help cannot drift apart."""

from __future__ import annotations

import functools
import inspect
import json
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import checkable

from .apps import bare, check_option

_IVAR = re.compile(r"^ *:ivar ([\w, ]+): (.*(?:\n(?! *:ivar| *$).*)*)", re.MULTILINE)


#: Options that have other names than the fields which several configs share; "!name" turns a switch off.
FLAGS = {
    "kg_calibrated": "!raw",
    "kg_fit": "kg-fit/--kg-lookup",
    "kg_relations": "relation",
    "kg_scores": "scores",
    "overrides": "set",
    "total_steps": "steps",
}


def field_help(kind: type[Any]) -> dict[str, str]:
    """What the docstrings of a config, and of the classes that it extends, say of each field, as one sentence."""
    told = {}
    for match in _IVAR.finditer("\n\n".join(each.__doc__ or "" for each in reversed(kind.__mro__))):
        text = " ".join(match[2].split())
        for name in match[1].split(","):
            told[name.strip()] = text[:1].upper() + text[1:]
    return told


def from_config(
    kind: type[Any],
    *,
    flags: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    make: Any = None,
    into: str = "config",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command that takes a config -> one with an option for each of the config's fields, before its own options.

    :param kind: a dataclass whose docstring tells of its fields.
    :param flags: field -> the name of its option where that is another, beside `FLAGS`.
    :param skip: fields without an option.
    :param make: makes the config of the options' values; `kind` where it is not given.
    :param into: the command's parameter that takes the config.

    Tuples of names are one option with commas between them; tuples of (name, value) are an option NAME=VALUE that may
    be given again, and replaces the field's default.
    """
    flags = {**FLAGS, **(flags or {})}
    hints, said = get_type_hints(kind, include_extras=True), field_help(kind)
    read: dict[str, Callable[[Any], Any]] = {}
    checked: dict[str, tuple[str, Any]] = {}
    parameters: list[inspect.Parameter] = []
    for field in fields(kind):
        if field.name in skip:
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        flag = flags.get(field.name, field.name.replace("_", "-"))
        type_, given, back = _option(bare(hints[field.name]), default, flag)
        read[field.name] = back
        if checkable(hints[field.name]):
            checked[field.name] = f"--{flag.lstrip('!')}", hints[field.name]
        option = typer.Option(f"--{flag.lstrip('!')}", help=said.get(field.name, ""))
        parameters.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=Annotated[type_, option]
            )
        )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True).parameters
        rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, p in own.items() if name != into]

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            settings = {name: back(given.pop(name)) for name, back in read.items()}
            for name, (flag, hint) in checked.items():  # as the command line calls them
                settings[name] = check_option(flag, settings[name], hint)
            return command(**{into: (make or kind)(**settings)}, **given)

        run.__signature__ = inspect.Signature([*rest[:1], *parameters, *rest[1:]])  # pyright: ignore
        run.__annotations__ = {p.name: p.annotation for p in (*rest, *parameters)}
        return run

    return decorate


def _option(hint: Any, default: Any, flag: str) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Type and default of the option of a field, and how its value becomes the field's."""
    if flag.startswith("!"):
        return bool, not default, lambda value: not value
    if get_origin(hint) is tuple:
        if get_origin(get_args(hint)[0]) is tuple:
            given = [f"{name}={json.dumps(value)}" for name, value in default]
            return list[str], given, lambda pairs: tuple(map(_pair, pairs))
        return str, ",".join(default), lambda text: tuple(part.strip() for part in text.split(",") if part.strip())
    if get_origin(hint) in (Union, types.UnionType):
        return hint, default, lambda value: value
    return hint, default, lambda value: value


def _pair(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise InputError(f"{text!r} is not NAME=VALUE")
    try:
        return name.strip(), parse_json(value)
    except ValueError:
        return name.strip(), value
