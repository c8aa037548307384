"""The error that a person causes and can mend, the near name that it suggests, and the warning for people to read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input: the message says what was wrong, where, and what to do. The command line exits with 2."""


class Changed(InputError):
    """A file has another content than its hash is of."""


class Note(UserWarning):
    """Something worth knowing that is no error. The command line prints it as a line `note: ...`."""


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names whose spelling is near. Among many labels of a graph `gumption.kg.vocabulary.nearest_labels` is
    faster."""
    from difflib import get_close_matches  # only an error needs it

    return get_close_matches(name, list(known), most)


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The hint of an error about an unknown name.

    :param otherwise: the hint where no known name is near.
    """
    near = nearest(str(name), known)
    return f"did you mean {near[0]!r}?" if near else otherwise


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


@contextmanager
def located(place: object) -> Iterator[None]:
    """Puts a place, such as a file, before the message of an InputError within."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
