"""Errors that a user can correct, suggestions for misspelt names, and notes that are no errors."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input. The message states the fault, its place and the cure. The command line exits with code 2."""


class Changed(InputError):
    """A file whose content does not match its hash."""


class Note(UserWarning):
    """A remark that is no error. The command line prints it as a line `note: ...`."""


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return up to `most` known names with a similar spelling. For the many labels of a graph,
    `gumption.kg.vocabulary.nearest_labels` is faster."""
    from difflib import get_close_matches  # only an error needs it

    return get_close_matches(name, list(known), most)


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint for the error about an unknown name.

    :param otherwise: the hint if no known name is similar.
    """
    near = nearest(str(name), known)
    return f"did you mean {near[0]!r}?" if near else otherwise


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Wrap the import of a package that `what` needs and that the extra `name` in pyproject.toml installs.

    :raises InputError: the package is not installed; the message names the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise InputError(f"{what} needs the package {package}: pip install 'gumption[{name}]'") from error


@contextmanager
def located(place: object) -> Iterator[None]:
    """Prefix the message of an InputError that the block raises with a place, such as a file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
