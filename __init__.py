"""Commonsense agents built around a knowledge graph.

The public names of `gumption.kg` and `gumption.agents`, and `InputError`, can be imported from here:

    from gumption import KnowledgeGraph, ComplEx, train_impala, evaluate

They are imported when they are first asked for, so that `import gumption` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gumption.agents import *  # noqa: F403
    from gumption.data import InputError as InputError
    from gumption.kg import *  # noqa: F403

    __version__: str

_ROOMS = ("data", "kg", "envs", "agents", "scripts")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gumption")
    if name in _ROOMS:
        return import_module(f"gumption.{name}")
    if name == "InputError":
        return import_module("gumption.data").InputError
    if not name.startswith("_"):
        for room in ("kg", "agents"):
            module = import_module(f"gumption.{room}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'gumption' has no attribute {name!r}")


def __dir__() -> list[str]:
    names = {name for room in ("kg", "agents") for name in import_module(f"gumption.{room}").__all__}
    return sorted({*globals(), "__version__", "InputError", *_ROOMS, *names})
