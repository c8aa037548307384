"""The error that a person causes and can mend, and the warning for people to read."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input: the message says what was wrong, where, and what to do. The command line exits with 2."""


class Note(UserWarning):
    """Something worth knowing that is no error. The command line prints it as a line `note: ...`."""


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
