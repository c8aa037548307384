"""`gumption evaluate RUN...`: evaluate trained agents; `--policy MODULE:NAME`: evaluate your own agent.

The options of a world are the parameters of its Python function (`evaluate` and `evaluate_policy` of its entry). Their
help is its docstring.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.scripts.apps import App, pair

from .results import with_interval
from .worlds import command_of

HELP = """Play with trained agents, and print their success.

Options are those of the world of the run: `gumption evaluate RUN --help` lists them, or `gumption evaluate WORLD
--help`. An agent that is not ours, a function, plays with --policy MODULE:NAME in place of a run: `gumption evaluate
--policy MODULE:NAME --world WORLD --help`.
"""
MANIFEST = "manifest.json"  # of a folder of tests
#: Parameters whose option has another name, and parameters without an option.
FLAGS = {"num_distractors": "--distractors", "num_mazes": "--mazes"}
UNSEEN = {"network", "name", "keep", "progress", "tell"}
#: Formats of figures; all other figures are shares.
FORMS = {"return": ".2f", "steps": ".1f", "auccess": ".3f", "rate": ".3f", "actions": ".1f"}
HEADINGS = {"auccess": "AUCCESS", "same_slot_twice": "one slot twice"}


class RunCommand(typer.core.TyperGroup):
    """A command group that passes the whole command line to the world of the run in it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from gumption.agents.run_folder import world_of
        from gumption.agents.settings import CONFIG
        from gumption.envs import worlds

        if _value_of(args, "--policy") is not None:
            return "--policy", policy_command(args), args
        runs = [Path(word) for word in args if (Path(word) / CONFIG).is_file()]
        if not runs and args[0] in worlds.known() and not Path(args[0]).exists():
            world = worlds.find(args[0])
            if "--help" not in args:
                raise InputError(f"{world.name} is a world: name the folder of a run, such as runs/{world.name}")
            return world.name, run_command(world), ["--help"]
        if not runs:  # `world_of` raises the error for this folder
            runs = [Path(next((word for word in args if not word.startswith("-")), args[0]))]
        found = {world.name: world for world in map(world_of, runs)}
        if len(found) > 1:
            raise InputError("these are runs of different worlds; evaluate them apart")
        (world,) = found.values()
        return world.name, run_command(world), args

    def list_commands(self, ctx: Any) -> list[str]:
        from gumption.envs import worlds

        return list(worlds.known())

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


# ---- runs


def run_command(world: Any) -> Any:
    """Return `gumption evaluate RUN` for the runs of a world."""
    if world.get("evaluate_command") is not None:
        return command_of(world, "evaluate_command")
    from gumption.agents.run_folder import evaluation_of

    measure = evaluation_of(world)

    def show(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as `gumption train` leaves it.")],
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        **given: Any,
    ) -> None:
        found = measure(run, **given)
        if as_json:
            print(json.dumps(found))
        else:
            print_players(found)

    return _command(world.name, show, measure, f"Example: gumption evaluate runs/{world.name}")


def print_players(found: Mapping[str, Any]) -> None:
    """Print a table: a row for each player, or for each of its parts, and a column for each figure.

    :param found: "players", name -> figures, or name -> part -> figures if "parts" names the kind of part; "about",
        the tests; "failures", sentences on the first player. A figure is a number or a mean with its interval; "low"
        and "high" are the interval of the first figure.
    """
    from gumption.scripts.output import print_table

    rows = []
    for name, told in found["players"].items():
        parts = told.items() if "parts" in found else [(None, told)]
        rows += [([name, part or ""], figures) for part, figures in parts]
    names: list[str] = [name for name in rows[0][1] if name not in ("low", "high", "tasks")]
    width = 2 if "parts" in found else 1
    cells = [[*label[:width], *(_figure(name, figures, name == names[0]) for name in names)] for label, figures in rows]
    headings = ["player", str(found.get("parts"))][:width] + [HEADINGS.get(name, name) for name in names]
    print_table(headings, cells)
    print(found["about"])
    for failure in found.get("failures", ()):
        print(f"note: {failure}")


def _figure(name: str, figures: Mapping[str, Any], first: bool) -> str:
    told = figures[name]
    if not isinstance(told, Mapping):
        told = {**(figures if first else {}), "mean": told}
    return with_interval({"low": None, "high": None, **told}, FORMS.get(name, ".1%"))


# ---- a policy of the user


def policy_command(args: Sequence[str]) -> Any:
    """Return `gumption evaluate --policy` for the world in its arguments. With --environment the policy plays in any
    environment of the world, without the world's tests.

    :raises InputError: no world is named.
    """
    from gumption.agents.evaluation import evaluate_policy
    from gumption.envs import worlds

    name, tests = _value_of(args, "--world"), _value_of(args, "--splits") or _value_of(args, "--split")
    if "--help" in args and name is tests is None:
        named = " | ".join(worlds.known())
        example = f"What a world takes besides: gumption evaluate --policy MODULE:NAME --world {named} --help"
        measure = evaluate_policy
    else:
        world = worlds.find(name) if name is not None else _world_of(tests)
        example = f"Example: gumption evaluate --policy my_agent:act --world {world.name}"
        own = None if _value_of(args, "--environment") is not None else world.get("evaluate_policy")
        measure = own or _in_world(evaluate_policy, world.name)

    def play(
        *,
        policy: Annotated[str, typer.Option(help="MODULE:NAME of a function (observation, info) -> action.")],
        world: Annotated[
            str | None, typer.Option(help="Which world; not needed where the tests are of one.", show_default=False)
        ] = None,
        env: Annotated[
            list[str] | None,
            typer.Option(metavar="NAME=VALUE", help="A setting of the environment; may be given again."),
        ] = None,
        single: Annotated[bool, typer.Option("--single", help="It acts in one environment at a time.")] = False,
        out: Annotated[
            Path | None, typer.Option(help="Keep each episode or test here as it ends, a line of JSON each.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        **given: Any,
    ) -> None:
        from gumption.data.modules import of_module

        function, more = of_module(policy, "--policy"), dict(map(pair, env or ()))
        if twice := sorted(set(given) & set(more)):
            raise InputError(f"--env sets {twice[0]}, which has an option of its own")
        keep = None if out is None else rows_file(out, {"policy": policy, **given, **more})
        found = measure(function, name=policy, single=single, keep=keep, progress=True, **given, **more)
        if as_json:
            print(json.dumps(found, default=str))
        else:
            print_players(found)

    return _command("--policy", play, measure, example)


def _in_world(measure: Callable[..., Any], world: str) -> Callable[..., Any]:
    """Return the general function for one world; its other parameters become options."""
    made = partial(measure, world=world)
    parameters = [one for one in inspect.signature(measure).parameters.values() if one.name != "world"]
    made.__doc__ = measure.__doc__
    made.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    return made


def rows_file(out: Path, about: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that appends rows to a new file as lines of JSON, after a first line with the settings.

    The file is made with the first row, so that an earlier failure leaves no file.

    :raises InputError: a file that exists or cannot be written.
    """
    from gumption.data.writing import check_writable, write_errors

    check_writable(out)
    if out.exists():
        raise InputError(f"{out} is there already: name a new file")

    def keep(row: Mapping[str, Any]) -> None:
        with write_errors(out), out.open("a", encoding="utf-8") as file:
            lines = [row] if file.tell() else [about, row]
            file.writelines(json.dumps(line, default=str) + "\n" for line in lines)

    return keep


def _value_of(args: Sequence[str], option: str) -> str | None:
    """Return the value of an option in the arguments, or None."""
    for here, following in zip(args, [*args[1:], ""], strict=True):
        if here == option:
            return following
        if here.startswith(option + "="):
            return here.removeprefix(option + "=")
    return None


def _world_of(tests: str | None) -> Any:
    """Return the world whose tests are in a file or folder, read from their schema "gumption/WORLD-..."."""
    from gumption.envs import worlds

    path = None if tests is None else Path(tests)
    if path is None or not path.exists():
        raise InputError(
            "give --world, or tests that there are"
            + ("" if path is None else f": {path} is not there")
            + f" (worlds: {', '.join(worlds.known())})"
        )
    path = path / MANIFEST if path.is_dir() else path
    try:
        schema = parse_json(path.read_text(encoding="utf-8"))["schema"]
        return worlds.find(schema.removeprefix("gumption/").rpartition("-")[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: no tests of a world that `gumption splits` made") from None


# ---- options from a function


def _command(name: str, command: Callable[..., None], measure: Callable[..., Any], epilog: str) -> Any:
    """Return a command with the keyword-only parameters of a function as options, in addition to its own.

    :param measure: the function; its docstring describes the options.
    """
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "given"]
    unseen = {one.name for one in own} | UNSEEN
    added = [
        one
        for one in inspect.signature(measure, eval_str=True).parameters.values()
        if one.kind == one.KEYWORD_ONLY and one.name not in unseen
    ]
    listed = {one.name for one in added if "tuple" in str(one.annotation)}  # separated by commas
    options = [one.replace(annotation=_option(one, one.name in listed)) for one in added]

    def run(**given: Any) -> None:
        for name in listed:
            if given[name] is not None:
                given[name] = tuple(part.strip() for part in given[name].split(","))
        command(**given)

    run.__doc__ = (inspect.getdoc(measure) or "").partition(":returns:")[0]
    run.__signature__ = inspect.Signature(sorted([*own, *options], key=lambda one: one.kind))  # pyright: ignore[reportAttributeAccessIssue]
    made = App(add_completion=False)
    made.command(epilog=epilog)(run)
    found = typer.main.get_command(made)
    found.name = name
    return found


def _option(one: inspect.Parameter, listed: bool) -> Any:
    """Return a parameter's annotation as an option: a tuple is a text with commas, and Any is a text."""
    hint = str | None if listed else str if one.annotation is Any else one.annotation
    return Annotated[hint, typer.Option(FLAGS.get(one.name, "--" + one.name.replace("_", "-")))]
