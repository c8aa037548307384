"""Packages that only some installations have."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Around the import of a package of the extra `name` in pyproject.toml, which `what` needs.

    :raises InputError: the package is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise InputError(f"{what} needs the package {package}: pip install 'gumption[{name}]'") from error
