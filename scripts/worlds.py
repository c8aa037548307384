"""Commands over the worlds: a sub-command for each world, from its entry if it offers one, else a general one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from gumption.data import InputError

from .apps import App, checked_options, from_config

Run = Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")]
General = Callable[[Any], typer.Typer]


def world_group(
    offer: str | None,
    title: str,
    general: General | None = None,
    *,
    alone: Callable[..., None] | None = None,
    epilog: str = "",
) -> typer.Typer:
    """Return `gumption COMMAND WORLD ...` for every world; a world's module is imported only when it is called.

    :param offer: key in the entry of a world for "module:app", an app of one command. With None the general app
        serves every world.
    :param epilog: an example.
    :param general: function from a World without such an offer to the app that serves it.
    :param alone: the command without a world; its parameters are options.
    """

    class WorldGroup(typer.core.TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [world.name for world in served(offer, general is not None)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            from gumption.envs import worlds

            if cmd_name not in worlds.known():
                return None
            # This entry is for the list of commands; resolving a command imports its module.
            return typer.core.TyperCommand(cmd_name, help=worlds.find(cmd_name).about)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            from gumption.envs import worlds

            world = worlds.find(args[0])
            return world.name, command_of(world, offer, general), args[1:]

    app = typer.Typer(cls=WorldGroup, no_args_is_help=alone is None, add_completion=False, help=title, epilog=epilog)

    def worlds_of() -> None:
        pass

    worlds_of.__doc__ = title
    app.callback(invoke_without_command=alone is not None)(worlds_of if alone is None else checked_options(alone))
    return app


def served(offer: str | None, everyone: bool = False) -> list[Any]:
    """Return the worlds that offer something, or all worlds."""
    from gumption.envs import worlds

    return [world for world in worlds.known().values() if everyone or offer in world.offers]


def command_of(world: Any, offer: str | None, general: General | None = None) -> Any:
    """Return the click command of a world.

    :raises InputError: the world offers none, and there is no general command.
    """
    found = None if offer is None else world.get(offer)
    if found is None and general is None:
        names = ", ".join(one.name for one in served(offer)) or "no world"
        raise InputError(f"the world {world.name!r} offers no such command; there is one of {names}")
    app = found if found is not None or general is None else general(world)
    if not isinstance(app, typer.Typer):
        function, app = app, App(add_completion=False)
        assert function is not None  # a world without an offer was refused above, or has the general app
        app.command()(function)
    command = typer.main.get_command(app)
    command.name = world.name
    return command


# ---- The general command for worlds that offer none: it needs only their environments and facts.


def general_train(world: Any) -> typer.Typer:
    """`gumption train WORLD`."""
    from gumption.agents.settings import WorldConfig

    app = App(add_completion=False)

    @app.command(help=f"Train an agent: {world.about}")
    @from_config(WorldConfig, skip=("world",), make=partial(WorldConfig, world.name))
    def train(config: Any, run: Run = Path("runs") / world.name, resume: Resume = False) -> None:
        from gumption.agents.learners.impala import train_impala

        final = train_impala(config, run_dir=run, resume=resume).final
        where = "on what was held out" if world.environments[0].held_out else "on other episodes like them"
        print(
            f"success {final['test_success']:.1%} {where}, {final['train_success']:.1%} in training, "
            f"{final['random_success']:.1%} at random; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
            f"the run is in {run}"
        )

    return app


train = world_group(
    "train_command",
    "Train an agent on a world.",
    general_train,
    epilog="Example: gumption train wordcraft --kg train --run runs/guided",
)
splits = world_group(
    "splits",
    "Make the tests that fit what an agent has seen, or split files, or check them.",
    epilog="Example: gumption splits halma --run runs/halma --out runs/halma/splits",
)
live = world_group(
    "live",
    "Let an agent live in a world: it remembers, and its graph grows by what it sees.",
    epilog="Example: gumption live wordcraft --mixes 300 --run runs/life",
)
