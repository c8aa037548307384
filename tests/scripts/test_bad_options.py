"""Every command, found by itself: a value that an option cannot have ends it at once, with one clear message."""

import inspect
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer.core
import typer.main

from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts import cli, play, watch
from gumption.scripts import worlds as commands_of_worlds
from gumption.scripts.evaluate import RunCommand

NO_NUMBERS = ("many", "", "1e", "0x10", "--", "nan", "inf", "-inf", "1e400", str(-(10**30)))


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command of an app that does something, with the words that call it."""
    if not isinstance(command, typer.core.TyperGroup):
        yield path, command
    elif not isinstance(command, RunCommand):  # which asks the run's world, whose commands are found below
        context = typer.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            _, inner, _ = command.resolve_command(context, [name])
            yield from commands(inner, (*path, name))


def types_of(path: tuple[str, ...], option: Any) -> set[Any]:
    """The types that an option's value may have."""
    found = [inspect.signature(COMMANDS[path].callback, eval_str=True).parameters[option.name].annotation]
    for hint in found:
        found += get_args(hint)
    return {hint for hint in found if inspect.isclass(hint)}


def everything() -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in cli.COMMANDS:
        yield from commands(typer.main.get_command(cli.app_of(name)), (name,))
    for world in worlds.WORLDS.values():
        for offer in world.offers:
            if isinstance(found := world.get(offer), typer.Typer):
                yield from commands(typer.main.get_command(found), (offer, world.name))
        for module in (commands_of_worlds, play, watch):
            for name, make in vars(module).items():
                if name.startswith("general_") and inspect.signature(make).return_annotation in (
                    typer.Typer,
                    "typer.Typer",
                ):
                    yield from commands(typer.main.get_command(make(world)), (name, world.name))


# Each once, though the list of worlds and the command line lead to some of them in two ways.
COMMANDS = dict({inspect.unwrap(command.callback): (path, command) for path, command in [*everything()][::-1]}.values())
OPTIONS = [(path, option) for path, command in COMMANDS.items() for option in command.params if option.opts]
NUMERIC = [(path, one) for path, one in OPTIONS if {int, float} & types_of(path, one)]
every_number = pytest.mark.parametrize(
    ("path", "option"), NUMERIC, ids=lambda one: " ".join(one) if isinstance(one, tuple) else one.name
)


def required(command: Any, but: Any) -> list[str]:
    """Something for each argument and option that a command needs; none of it is there."""
    given = []
    for one in command.params:
        if one.required and one is not but:
            place = "nowhere/x.png" if one.name == "plot" else "nowhere/x.nq"
            given += [place] if one.param_type_name == "argument" else [one.opts[0], place]
    return given


def run(path: tuple[str, ...], option: Any, value: str) -> tuple[Any, str]:
    """Exit code and what was told."""
    arguments = [*required(COMMANDS[path], option), max(option.opts, key=len), value]
    told = StringIO()
    with redirect_stdout(told), redirect_stderr(told), pytest.raises((SystemExit, InputError)) as ended:
        COMMANDS[path].main(arguments, prog_name="gumption")
    if isinstance(ended.value, SystemExit):
        return ended.value.code, told.getvalue()
    return 2, str(ended.value)


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) > 40
    assert {("kg", "fit"), ("train", "halma"), ("tools", "halma", "generate"), ("experiment",)} <= set(COMMANDS)
    assert len(NUMERIC) > 100


@every_number
def test_what_is_no_number_of_that_option_is_refused_before_anything_is_done(path: Any, option: Any) -> None:
    name = max(option.opts, key=len).strip("-")
    for value in (*NO_NUMBERS, *(["0.5", "-1", str(2**64)] if int in types_of(path, option) else [])):
        code, told = run(path, option, value)
        assert code == 2, (value, told)
        assert name in told or name.replace("-", "_") in told, (value, told)
        assert "Traceback" not in told
        assert "pydantic" not in told


def test_an_empty_path_is_not_the_working_folder() -> None:
    """Which a result would otherwise be written into."""
    found = [(path, one) for path, one in OPTIONS if Path in types_of(path, one) and one.opts[0].startswith("--")]
    assert len(found) > 50
    for path, option in found:
        code, told = run(path, option, "")
        assert (code, "it is empty; name a file or a folder" in " ".join(told.split())) == (2, True), (path, told)


@pytest.mark.parametrize(
    "world", [world for world in worlds.WORLDS.values() if world.get("config")], ids=lambda one: one.name
)
def test_a_choice_that_a_training_does_not_have_is_told_with_those_it_has(world: Any) -> None:
    """As of every option that is made from a field."""
    path = ("train", world.name)
    hints = get_type_hints(world.get("config"), include_extras=True)
    choices = [one for one in COMMANDS[path].params if "Literal" in str(hints.get(one.name))]
    assert choices
    for option in choices:
        code, told = run(path, option, "no such choice")
        assert code == 2
        assert told.startswith(f"{option.opts[0]} is 'no such choice'; it can be "), told
