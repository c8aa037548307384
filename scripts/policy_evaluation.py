"""`gumption evaluate --policy MODULE:NAME`: an agent that is not ours, a function, in the tests of a world.

The world is the one that --world names, or the one whose tests --splits or --split names: their schema says it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.envs.worlds import World, find

from .worlds import command_of, served

OFFER = "evaluate_policy"
MANIFEST = "manifest.json"  # of a folder of tests

# What every world's command takes.
PolicyName = Annotated[str, typer.Option("--policy", help="MODULE:NAME of a function (observation, info) -> action.")]
WorldName = Annotated[
    str | None, typer.Option("--world", help="Which world; not needed where the tests are of one.", show_default=False)
]
Single = Annotated[
    bool, typer.Option("--single", help="It acts in one environment at a time, without a leading batch axis.")
]


def policy_command(args: Sequence[str]) -> Any:
    """The command of the world that the arguments of `gumption evaluate --policy` are about.

    :raises InputError: no world is named, or one that offers no such command.
    """
    name, tests = value_of(args, "--world"), value_of(args, "--splits") or value_of(args, "--split")
    if "--help" in args and name is tests is None:
        offered = " or ".join(f"--world {world.name}" for world in served(OFFER))
        raise InputError(f"the options beside --policy are those of a world: --help with {offered}")
    world = find(name) if name is not None else _world_of(tests)
    return command_of(world, OFFER)


def value_of(args: Sequence[str], option: str) -> str | None:
    """What an option is given in arguments, None where it is not."""
    for here, following in zip(args, [*args[1:], ""], strict=True):
        if here == option:
            return following
        if here.startswith(option + "="):
            return here.removeprefix(option + "=")
    return None


def _world_of(tests: str | None) -> World:
    """The world whose tests are in a file or folder, by their schema "gumption/WORLD-...": it is the writer's."""
    path = None if tests is None else Path(tests)
    if path is None or not path.exists():
        raise InputError(
            "give --world, or tests that there are"
            + ("" if path is None else f": {path} is not there")
            + f" (worlds: {', '.join(world.name for world in served(OFFER))})"
        )
    path = path / MANIFEST if path.is_dir() else path
    try:
        schema = parse_json(path.read_text(encoding="utf-8"))["schema"]
        return find(schema.removeprefix("gumption/").rpartition("-")[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: no tests of a world that `gumption splits` made") from None
