"""Apps whose commands check their options before they begin: typer reads the text, the annotation says what it can be.

An option `Annotated[Count, typer.Option(...)]` refuses 0 and 2**64 with the words of a setting of that type.
"""

import inspect
from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.models import OptionInfo, ParameterInfo

from gumption.data.settings import check, checkable


class App(typer.Typer):
    """A `typer.Typer` whose commands refuse bad options at once."""

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """As typer's."""
        register = super().command(*args, **kwargs)

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_checked_options(function))
            return function

        return add


def bare(hint: Any) -> Any:
    """The annotation as typer is to read it: without choices and ranges, which are checked afterwards."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marks = [mark for mark in parts[1:] if isinstance(mark, ParameterInfo)]
        if _is_path(parts[0]):
            marks = [_reading_paths(mark) for mark in marks]
        return Annotated[bare(parts[0]), *marks] if marks else bare(parts[0])
    if origin is Literal:
        return type(parts[0])
    if origin in (Union, UnionType):
        return Union[tuple(map(bare, parts))]  # noqa: UP007  (of a tuple)
    return list[bare(parts[0])] if origin is list else hint


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, get_args(hint)))


def _reading_paths(mark: ParameterInfo) -> ParameterInfo:
    reads = copy(mark)
    reads.parser = path
    return reads


def path(text: str | Path) -> Path:
    """The path that an option names. Python takes an empty text for the working folder, which nobody means.

    :raises BadParameter: an empty text.
    """
    if text == "":
        raise typer.BadParameter("it is empty; name a file or a folder")
    return Path(text)


def check_option(flag: str, value: Any, hint: Any) -> Any:
    """The value of an option; None where it was not given.

    :raises InputError: it is not what the annotation says.
    """
    return None if value is None else check(flag, value, _given(hint))


def _given(hint: Any) -> Any:
    """The annotation without the None that stands for an option that was left out."""
    if get_origin(hint) is Annotated:
        kind, *marks = get_args(hint)
        return Annotated[_given(kind), *marks]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007  (of a tuple)
    return hint


def _checked_options(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command, eval_str=True)
    hints = {name: one.annotation for name, one in signature.parameters.items() if checkable(one.annotation)}
    named = {name: _flag(name, hint) for name, hint in hints.items()}

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, hint in hints.items():
            given[name] = check_option(named[name], given[name], hint)
        return command(**given)

    parameters = [one.replace(annotation=bare(one.annotation)) for one in signature.parameters.values()]
    run.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _flag(name: str, hint: Any) -> str:
    """What the command line calls a parameter."""
    marks = get_args(hint) if get_origin(hint) is Annotated else ()
    for mark in marks:
        if isinstance(mark, OptionInfo) and mark.param_decls:
            return mark.param_decls[0]
        if isinstance(mark, ParameterInfo) and not isinstance(mark, OptionInfo):
            return (mark.metavar or name).upper()
    return f"--{name.replace('_', '-')}"
