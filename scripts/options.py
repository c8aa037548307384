"""Commands that serve several worlds: an option that belongs to another world is refused, not dropped."""

from collections.abc import Mapping

import typer

from gumption.data import InputError

_TYPED = "COMMANDLINE"  # the name, as typer brings a click of its own or not, by its version


def refuse_foreign(context: typer.Context, owners: Mapping[str, str], kind: str, what: str) -> None:
    """Refuse options that were given and are of no use.

    :param owners: parameters that belong to one kind of thing only, and to which.
    :param kind: the kind that is asked for; `what` it is.
    :raises InputError: one of them belongs to another kind.
    """
    for name, owner in owners.items():
        source = context.get_parameter_source(name)
        if owner != kind and source is not None and source.name == _TYPED:
            raise InputError(f"--{name.replace('_', '-')} is for {owner}; {what} has no use for it")
