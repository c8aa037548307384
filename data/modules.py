"""Import a user's functions and classes by "module:name", on the command line, in config files and in data."""

import sys
from collections.abc import Callable
from importlib import import_module
from traceback import extract_tb
from typing import Any

from .errors import InputError

#: Files of the modules that `of_module` imported.
_FILES: set[str] = set()


def of_module(place: str, option: str, fits: Callable[[Any], bool] = callable, what: str = "function") -> Any:
    """Import "module:name" and return the object. The current directory is searched too. Importing runs the module's
    code.

    :param option: the option that names the object, for messages.
    :param fits: tests the object; `what` is the noun of the message for an object that fails.
    :raises InputError: no such name, a module that cannot be imported, or an object that does not fit.
    """
    module, _, name = place.partition(":")
    if module.endswith(".py"):
        raise InputError(f"{option} names the file {module}; name its module: {module[:-3].replace('/', '.')}:{name}")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise InputError(f"{option} is {place!r}; it is MODULE:NAME, such as my_agent:act")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise InputError(f"{option} {place}: {module} imports {error.name}, which is not there") from None
        raise InputError(f"{option} {place}: there is no module {module} here") from None
    except (Exception, SystemExit) as error:
        _FILES.update(frame.filename for frame in extract_tb(error.__traceback__) if frame.name == "<module>")
        raise failure(f"{option} {place}: {module} cannot be imported", error) from error
    _FILES.add(getattr(found, "__file__", None) or "")
    if not fits(getattr(found, name, None)):
        raise InputError(f"{option} {place}: {module} has no {what} {name!r}")
    return getattr(found, name)


def class_of_module(place: str, option: str, kind: type) -> Any:
    """Import the class at "module:name", `kind` or a subclass; raise InputError as `of_module`."""

    def fits(found: Any) -> bool:
        return isinstance(found, type) and issubclass(found, kind)

    return of_module(place, option, fits, f"subclass of {kind.__name__}")


def line_of(error: BaseException) -> str | None:
    """Return the innermost line of a traceback that is in a module imported by `of_module`; None if there is none."""
    frames = (frame for frame in reversed(extract_tb(error.__traceback__)) if frame.filename in _FILES)
    return next((f"{frame.filename}, line {frame.lineno}" for frame in frames), None)


def failure(what: str, error: BaseException) -> InputError:
    """Return an error about a user's code: `what` ("the policy my:act failed at step 3"), the reason, the place."""
    kind, line = "" if isinstance(error, InputError) else f"{type(error).__name__}: ", line_of(error)
    return InputError(f"{what}: {kind}{error}".rstrip(": ") + (f" ({line})" if line else ""))


def name_of(thing: Any) -> str:
    """Return the name of a class or function in data: "module:name" if a user's module holds it under that name, else
    the plain name, as for classes and functions of gumption."""
    module, name = thing.__module__, thing.__qualname__
    own = module != "__main__" and module.split(".")[0] != __name__.split(".")[0]
    there: Any = getattr(sys.modules.get(module), name, None)
    found = own and any(thing is one for one in (there, getattr(there, "function", None)))
    return f"{module}:{name}" if found else thing.__name__
