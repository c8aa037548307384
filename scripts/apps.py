"""Commands as Python functions: parameters define the names, types, defaults and help of the options.

    @app.command()
    def plant(bed: Path, *, rows: Count = 2, fence: bool = False) -> None:
        \"""Plant a bed.

        :param bed: Where it is.
        :param rows: How many there are.
        :param fence: Keep the deer out.
        \"""

is `plant BED --rows 2 --fence`: parameters before the star are arguments. typer parses the text, and `App` checks each
value by its annotation: `Count` refuses 0 and 2**64 with the message of a setting of that type. A parameter that is
`Annotated` with a mark of typer takes names and metavar from the mark. A `NewFile` or `NewFolder` that cannot be
written is refused before the command begins. `from_config` makes options of the fields of a dataclass, `with_options`
of the fields of several dataclasses, each for one kind of thing.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from gumption.data import InputError, Note
from gumption.data.reading import parse_json
from gumption.data.settings import check, checkable
from gumption.data.writing import check_ending, check_writable

#: Field shared by several configs -> name of its option, where they differ; "!name" turns a switch off.
FLAGS = {
    "kg_calibrated": "!raw",
    "kg_fit": "kg-fit/--kg-lookup",
    "kg_reciprocal": "!no-kg-reciprocal",
    "kg_relations": "relation",
    "kg_scores": "scores",
    "overrides": "set",
    "total_steps": "steps",
}
# Matches the fields of a class, or the parameters of a function, in a docstring.
_TOLD = {
    name: re.compile(rf"^ *:{name} ([\w, ]+): (.*(?:\n(?! *:\w| *$).*)*)\n?", re.MULTILINE)
    for name in ("ivar", "param")
}
_TYPED = "COMMANDLINE"  # compared by name: some versions of typer bring a click of their own


@dataclass(frozen=True)
class Written:
    """Mark a path that a command writes, so that it is checked before the command begins.

    :ivar file: true for a file, false for a folder, which may exist.
    :ivar endings: allowed endings of the file's name; empty for any.
    """

    file: bool
    endings: tuple[str, ...] = ()

    def check(self, place: Path, others: Collection[Any]) -> None:
        """Raise InputError if `place` cannot be written or is among `others`, the values of the other options."""
        if self.endings:
            check_ending(place, self.endings)
        check_writable(place)
        if place.is_file() and os.path.realpath(place) in map(os.path.realpath, map(str, others)):
            raise InputError(f"cannot write {place}: the command reads it; name another file")
        if self.file and place.is_dir():
            raise InputError(f"cannot write {place}: it is a folder; name a file in it")
        if not self.file and place.is_file():
            raise InputError(f"cannot write {place}: it is a file; name a folder")


NewFile = Annotated[Path, Written(file=True)]
NewFolder = Annotated[Path, Written(file=False)]
NewJson = Annotated[Path, Written(file=True, endings=(".json",))]
NewLines = Annotated[Path, Written(file=True, endings=(".jsonl",))]
NewPacked = Annotated[Path, Written(file=True, endings=(".jsonl", ".gz"))]
NewPlot = Annotated[Path, Written(file=True, endings=(".png", ".svg"))]
NewPng = Annotated[Path, Written(file=True, endings=(".png",))]
NewGif = Annotated[Path, Written(file=True, endings=(".gif",))]


class App(typer.Typer):
    """A `typer.Typer` that makes options of the parameters of commands and refuses bad values at once."""

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a command, as typer does, with checked options."""
        register = super().command(*args, **kwargs)

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            register(checked_options(function))
            return function

        return add


def checked_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with options of its function's parameters, which are checked before it begins."""
    doc = inspect.getdoc(command) or ""
    told = _said(doc, "param")
    parameters = [_marked(one, told) for one in inspect.signature(command, eval_str=True).parameters.values()]
    named = {one.name: (_flag(one), one.annotation) for one in parameters if checkable(one.annotation)}
    written = {name: mark for name, (_, hint) in named.items() for mark in _marks(hint) if isinstance(mark, Written)}

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, (flag, hint) in named.items():
            given[name] = check_option(flag, given[name], hint)
        for name, mark in written.items():
            if (place := given[name]) is not None:
                mark.check(place, {**given, name: None}.values())
        return command(**given)

    paragraphs = _TOLD["param"].sub("", doc).strip().split("\n\n")  # typer keeps line breaks within paragraphs
    run.__doc__ = "\n\n".join(" ".join(each.split()) for each in paragraphs) or None
    _take(run, [one.replace(annotation=bare(one.annotation)) for one in parameters])
    return run


def _marked(one: Parameter, told: Mapping[str, str]) -> Parameter:
    """Return the parameter with a mark of typer: its own, else an argument or an option by its place in the signature.
    If the mark has no help, the docstring provides it."""
    kind, *marks = get_args(one.annotation) if get_origin(one.annotation) is Annotated else (one.annotation,)
    if kind is typer.Context:
        return one
    mark = next((copy(mark) for mark in marks if isinstance(mark, ParameterInfo)), None)
    if mark is None:
        if one.default is Parameter.empty and one.kind != Parameter.KEYWORD_ONLY:
            mark = typer.Argument()
        else:  # a switch that is off by default has no --no-NAME
            mark = typer.Option(*[_dashed(one.name)] if one.default is False or one.name[-1] == "_" else [])
    if mark.help is None:
        mark.help = told.get(one.name)
    rest = [each for each in marks if not isinstance(each, ParameterInfo)]
    return one.replace(annotation=Annotated[(kind, *rest, mark)])


def _dashed(name: str) -> str:
    return "--" + name.strip("_").replace("_", "-")


def _flag(one: Parameter) -> str:
    """Return the name of a parameter on the command line."""
    mark = get_args(one.annotation)[-1]
    if isinstance(mark, ArgumentInfo):
        return (mark.metavar or one.name).upper()
    return mark.param_decls[0] if mark.param_decls else _dashed(one.name)


def _said(doc: str, what: str) -> dict[str, str]:
    """Return the described names in a docstring: name -> description on one line."""
    told = {}
    for match in _TOLD[what].finditer(doc):
        text = " ".join(match[2].split())
        for name in match[1].split(","):
            told[name.strip()] = text[:1].upper() + text[1:]
    return told


def _take(run: Any, parameters: Sequence[Parameter]) -> None:
    """Set the signature and annotations of a function, which typer reads."""
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}


def bare(hint: Any) -> Any:
    """Return the annotation for typer: without choices and ranges, which `check_option` checks."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marks = [mark for mark in parts[1:] if isinstance(mark, ParameterInfo)]
        if _is_path(parts[0]):
            marks = list(map(copy, marks))
            for mark in marks:
                mark.parser = path
        return Annotated[bare(parts[0]), *marks] if marks else bare(parts[0])
    if origin is Literal:
        return type(parts[0])
    if origin in (Union, UnionType):
        return Union[tuple(map(bare, parts))]  # noqa: UP007  (of a tuple)
    return list[bare(parts[0])] if origin is list else hint


def _marks(hint: Any) -> list[Any]:
    """Return the marks of an annotation, at any depth."""
    return [mark for part in get_args(hint) for mark in (part, *_marks(part))]


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, get_args(hint)))


def path(text: str | Path) -> Path:
    """Return the path that an option names.

    :raises BadParameter: an empty text, since `Path("")` is the working folder.
    """
    if text == "":
        raise typer.BadParameter("it is empty; name a file or a folder")
    return Path(text)


def check_option(flag: str, value: Any, hint: Any) -> Any:
    """Return the checked value of an option; None if the option is absent.

    :raises InputError: a value that the annotation does not allow.
    """
    return None if value is None else check(flag, value, _given(hint))


def _given(hint: Any) -> Any:
    """Return the annotation without None, which stands for an absent option."""
    if get_origin(hint) is Annotated:
        kind, *marks = get_args(hint)
        return Annotated[_given(kind), *marks]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007  (of a tuple)
    return hint


# ---- The fields of a config.


def field_help(kind: type[Any]) -> dict[str, str]:
    """Return field -> description from the docstrings of a config and its base classes, each on one line."""
    return _said("\n\n".join(each.__doc__ or "" for each in reversed(kind.__mro__)), "ivar")


def from_config(
    kind: type[Any],
    *,
    flags: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    make: Any = None,
    into: str = "config",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of commands that take a config: add an option for each field, before the command's own.

    :param kind: a dataclass whose docstring describes its fields.
    :param flags: field -> name of its option if it differs, in addition to `FLAGS`.
    :param skip: fields without an option.
    :param make: function from the options' values to the config; `kind` by default.
    :param into: the command's parameter that takes the config.

    A tuple of names is one option, separated by commas. A tuple of (name, value) is a repeatable option NAME=VALUE that
    replaces the field's default. If the command has the parameters `run` and `resume`, a resumed run keeps the config
    that it began with, except for options that are typed.
    """
    flags = {**FLAGS, **(flags or {})}
    hints, said = get_type_hints(kind, include_extras=True), field_help(kind)
    read: dict[str, Callable[[Any], Any]] = {}
    checked: dict[str, tuple[str, Any]] = {}
    parameters: list[Parameter] = []
    for field in fields(kind):
        if field.name in skip:
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        flag = flags.get(field.name, field.name.replace("_", "-"))
        type_, given, read[field.name] = _option(bare(hints[field.name]), default, flag)
        if checkable(hints[field.name]):
            checked[field.name] = f"--{flag.lstrip('!')}", hints[field.name]
        option = typer.Option(f"--{flag.lstrip('!')}", help=said.get(field.name, ""))
        annotation = Annotated[type_, option]
        parameters.append(Parameter(field.name, Parameter.KEYWORD_ONLY, default=given, annotation=annotation))

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True).parameters
        rest = [one.replace(kind=Parameter.KEYWORD_ONLY) for name, one in own.items() if name != into]
        resumes = {"run", "resume"} <= own.keys()
        if resumes and "context" not in own:
            rest.append(Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context))

        @wraps(command)
        def run(**given: Any) -> Any:
            settings = {name: back(given.pop(name)) for name, back in read.items() if name in given}
            for name, (flag, hint) in checked.items():  # messages name the option, not the field
                if name in settings:
                    settings[name] = check_option(flag, settings[name], hint)
            config = None
            if resumes and given["resume"]:
                from gumption.agents.run_folder import resumed_config

                _check_begun(given["context"], given["run"])
                typed = {name: value for name, value in settings.items() if was_typed(given["context"], name)}
                config = resumed_config(given["run"], kind, typed)
            if "context" not in own:
                given.pop("context", None)
            return command(**{into: config or (make or kind)(**settings)}, **given)

        _take(run, [*rest[:1], *parameters, *rest[1:]])
        return run

    return decorate


def _check_begun(context: typer.Context, run: Path) -> None:
    """Check --resume for a run that does not exist. It starts a new run, so that a killed command can be repeated.

    :raises InputError: only the name was typed: it is probably mistyped, and a run of all defaults is not wanted.
    """
    if (run / "config.json").is_file():
        return
    others = [str(one.name) for one in context.command.params if one.name not in ("run", "resume")]
    if not any(was_typed(context, name) for name in others):
        raise InputError(f"{run} holds no run to go on with; leave out --resume to begin one")
    warnings.warn(f"{run} holds no run to go on with: it begins now", Note, stacklevel=2)


def _option(hint: Any, default: Any, flag: str) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return type and default of the option of a field, and a function from the option's value to the field's."""
    if flag.startswith("!"):
        return bool, not default, lambda value: not value
    if get_origin(hint) is tuple:
        if get_origin(get_args(hint)[0]) is tuple:
            given = [f"{name}={json.dumps(value)}" for name, value in default]
            return list[str], given, lambda pairs: tuple(map(pair, pairs))
        return str, ",".join(default), lambda text: tuple(part.strip() for part in text.split(",") if part.strip())
    return hint, default, lambda value: value


def pair(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE into name and value; a value that is not JSON is a text.

    :raises InputError: another form.
    """
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise InputError(f"{text!r} is not NAME=VALUE")
    try:
        return name.strip(), parse_json(value)
    except ValueError:
        return name.strip(), value


# ---- Commands for several kinds of things: each kind has options, and options of other kinds are refused.


def refuse_foreign(context: typer.Context, owners: Mapping[str, str], kind: str, what: str) -> None:
    """Refuse options that belong to another kind of thing.

    :param owners: parameter -> the kind that it belongs to.
    :param kind: the kind in use; `what` names it in the message.
    :raises InputError: a typed option belongs to another kind.
    """
    for name, owner in owners.items():
        if owner != kind and was_typed(context, name):
            flag = next(one.opts[0] for one in context.command.params if one.name == name)
            raise InputError(f"{flag} is for {owner}; {what} has no use for it")


def was_typed(context: typer.Context, name: str) -> bool:
    """Return whether a parameter was typed on the command line, even with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == _TYPED


def with_options(command: Callable[..., None], owners: Mapping[str, type[Any]]) -> Callable[..., None]:
    """Return the command, which takes **given last, with the options of all owners as its parameters.

    :param owners: heading in the help -> dataclass of options, annotated like parameters of typer.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind != Parameter.VAR_KEYWORD]
    added: dict[str, Parameter] = {}
    for title, options in owners.items():
        for name, (hint, default) in _fields(options).items():
            kind, *marks = get_args(hint)
            told = copy(marks.pop())
            told.rich_help_panel = title
            kept = Annotated[kind, *marks, told]
            added.setdefault(name, Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kept))

    @wraps(command)
    def whole(**given: Any) -> None:
        command(**given)

    _take(whole, [*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *added.values()])
    return whole


def own_options(
    context: typer.Context,
    given: Mapping[str, Any],
    owners: Mapping[str, type[Any]],
    wanted: Collection[str],
    what: str,
) -> dict[str, dict[str, Any]]:
    """Return the options of the wanted owners, by heading, from all that `with_options` added.

    :param what: name of the request, for messages.
    :raises InputError: an option was typed that none of these owners has.
    """
    mine = {title: {name: given[name] for name in _fields(owners[title])} for title in wanted}
    used = {name for options in mine.values() for name in options}
    others = {name: title for title, options in owners.items() for name in _fields(options) if name not in used}
    refuse_foreign(context, others, "", what)
    return mine


def _fields(options: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Return (annotation, default) of each field that is an option: its last mark is typer's."""
    hints = get_type_hints(options, include_extras=True)
    return {
        field.name: (hints[field.name], field.default)
        for field in fields(options)
        if isinstance((None, *get_args(hints[field.name]))[-1], OptionInfo)
    }
