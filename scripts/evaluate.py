"""`gumption evaluate RUN...`: play with trained agents, by the command of their world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
import typer.core

from gumption.data import InputError

from .worlds import command_of, general_evaluate, served

HELP = """Play with trained agents, and tell how well they did.

Options are those of the world of the run: `gumption evaluate RUN --help` lists them, or `gumption evaluate WORLD
--help`. An agent that is not ours, a function, plays with --policy MODULE:NAME in place of a run: `gumption evaluate
--policy MODULE:NAME --world WORLD --help`.
"""


class RunCommand(typer.core.TyperGroup):
    """Hands the whole command line to the world of the run that it names."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from gumption.agents.run_folder import world_of
        from gumption.agents.settings import CONFIG
        from gumption.envs import worlds

        from .policy_evaluation import policy_command, value_of

        if value_of(args, "--policy") is not None:
            return "--policy", policy_command(args), args
        runs = [Path(word) for word in args if (Path(word) / CONFIG).is_file()]
        if not runs and args[0] in worlds.known() and not Path(args[0]).exists():
            world = worlds.find(args[0])
            if "--help" not in args:
                raise InputError(f"{world.name} is a world: name the folder of a run, such as runs/{world.name}")
            return world.name, command_of(world, "evaluate_command", general_evaluate), ["--help"]
        if not runs:  # which says what is wrong with it
            runs = [Path(next((word for word in args if not word.startswith("-")), args[0]))]
        found = {world.name: world for world in map(world_of, runs)}
        if len(found) > 1:
            raise InputError("these are runs of different worlds; evaluate them apart")
        (world,) = found.values()
        return world.name, command_of(world, "evaluate_command", general_evaluate), args

    def list_commands(self, ctx: Any) -> list[str]:
        return [world.name for world in served("evaluate_command", everyone=True)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from gumption.envs import worlds

        about = worlds.find(cmd_name).about if cmd_name in worlds.known() else None
        return about and typer.core.TyperCommand(cmd_name, help=about)


app = typer.Typer(
    cls=RunCommand,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    subcommand_metavar="RUN... [OPTIONS]",
    epilog="Example: gumption evaluate runs/guided --distractors 4",
)


@app.callback(help=HELP)
def evaluate() -> None:
    pass
