"""Commands over the worlds: a sub-command for each world, its own where its entry offers one, else a general one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
import typer.core
import typer.main

from gumption.data import InputError

from .apps import App

General = Callable[[Any], typer.Typer]


def world_group(offer: str, title: str, general: General | None = None, *, epilog: str = "") -> typer.Typer:
    """`gumption COMMAND WORLD ...` for every world; a world's module is imported only when it is the one called.

    :param offer: what the entry of a world offers for it: "module:app", an app of one command.
    :param epilog: an example.
    :param general: from a World that offers none to the app that serves it.
    """

    class WorldGroup(typer.core.TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [world.name for world in served(offer, general is not None)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            from gumption.envs import worlds

            if cmd_name not in worlds.known():
                return None
            # This is for the list of commands; resolving one is what imports its module.
            return typer.core.TyperCommand(cmd_name, help=worlds.find(cmd_name).about)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            from gumption.envs import worlds

            world = worlds.find(args[0])
            return world.name, command_of(world, offer, general), args[1:]

    app = typer.Typer(cls=WorldGroup, no_args_is_help=True, add_completion=False, help=title, epilog=epilog)

    @app.callback()
    def worlds_of() -> None:
        pass

    worlds_of.__doc__ = title
    return app


def served(offer: str, everyone: bool = False) -> list[Any]:
    """The worlds that offer something, or all of them."""
    from gumption.envs import worlds

    return [world for world in worlds.known().values() if everyone or offer in world.offers]


def command_of(world: Any, offer: str, general: General | None = None) -> Any:
    """The click command of a world.

    :raises InputError: it offers none, and no general one serves.
    """
    found = world.get(offer)
    if found is None and general is None:
        names = ", ".join(one.name for one in served(offer)) or "no world"
        raise InputError(f"the world {world.name!r} offers no such command; there is one of {names}")
    app = found if found is not None or general is None else general(world)
    if not isinstance(app, typer.Typer):
        function, app = app, App(add_completion=False)
        assert function is not None  # a world that offers none was refused above, or is served by the general one
        app.command()(function)
    command = typer.main.get_command(app)
    command.name = world.name
    return command
