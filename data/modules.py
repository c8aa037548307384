"""What a person names by its module, "module:name": an agent, a primitive, a painter."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .errors import InputError


def of_module(place: str, option: str = "--policy", kind: Any = Callable, what: str = "function") -> Any:
    """The function, or the instance of `kind`, at "module:name"; modules are looked for where one works, too.

    :param option: what names it, for messages; `what` is the word for the kind.
    :raises InputError: no such module or name, or a module that cannot be imported.
    """
    module, _, name = place.partition(":")
    if not name or not module:
        raise InputError(f"{option} is {place!r}; it is MODULE:NAME, such as my_agent:act")
    if module.endswith(".py"):
        raise InputError(f"{option} names the file {module}; name its module: {module[:-3].replace('/', '.')}:{name}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise InputError(f"{option} {place}: {module} imports {error.name}, which is not there") from None
        raise InputError(f"{option} {place}: there is no module {module} here") from None
    except Exception as error:
        raise InputError(f"{option} {place}: {module} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(getattr(found, name, None), kind):
        raise InputError(f"{option} {place}: {module} has no {what} {name!r}")
    return getattr(found, name)
