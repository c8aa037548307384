"""Commands that serve several worlds: each brings options of its own, and one that is of no use is refused.

The options of an owner are the fields of a dataclass, annotated as typer's parameters are.
"""

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from gumption.data import InputError

_TYPED = "COMMANDLINE"  # the name, as typer brings a click of its own or not, by its version


def refuse_foreign(context: typer.Context, owners: Mapping[str, str], kind: str, what: str) -> None:
    """Refuse options that were given and are of no use.

    :param owners: parameters that belong to one kind of thing only, and to which.
    :param kind: the kind that is asked for; `what` it is.
    :raises InputError: one of them belongs to another kind.
    """
    for name, owner in owners.items():
        if owner != kind and was_typed(context, name):
            flag = next(one.opts[0] for one in context.command.params if one.name == name)
            raise InputError(f"{flag} is for {owner}; {what} has no use for it")


def was_typed(context: typer.Context, name: str) -> bool:
    """Whether a parameter was given on the command line, its default or not."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == _TYPED


def with_options(command: Callable[..., None], owners: Mapping[str, type[Any]]) -> Callable[..., None]:
    """The command, which takes **given last, with the options of every owner as parameters of its own.

    :param owners: the dataclass of the options of each owner, by the heading that the help shows above them.
    """
    own = [one for one in signature(command, eval_str=True).parameters.values() if one.kind != Parameter.VAR_KEYWORD]
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

    whole.__signature__ = Signature([*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *added.values()])  # pyright: ignore[reportAttributeAccessIssue]
    whole.__annotations__ = {name: one.annotation for name, one in whole.__signature__.parameters.items()}  # pyright: ignore[reportAttributeAccessIssue]
    return whole


def own_options(
    context: typer.Context,
    given: Mapping[str, Any],
    owners: Mapping[str, type[Any]],
    wanted: Collection[str],
    what: str,
) -> dict[str, dict[str, Any]]:
    """The options of the owners that are wanted, by their headings, from all that `with_options` added.

    :param what: what was asked for, in messages.
    :raises InputError: an option was given that none of them has.
    """
    mine = {title: {name: given[name] for name in _fields(owners[title])} for title in wanted}
    used = {name for options in mine.values() for name in options}
    others = {name: title for title, options in owners.items() for name in _fields(options) if name not in used}
    refuse_foreign(context, others, "", what)
    return mine


def _fields(options: type[Any]) -> dict[str, tuple[Any, Any]]:
    """(annotation, default) of each field that is an option: typer's information is its last mark."""
    hints = get_type_hints(options, include_extras=True)
    return {
        field.name: (hints[field.name], field.default)
        for field in fields(options)
        if isinstance((None, *get_args(hints[field.name]))[-1], OptionInfo)
    }
