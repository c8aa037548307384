"""`gumption COMMAND WORLD`: which worlds a command lists, whose app it runs, and what it refuses."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.envs.worlds import WORLDS, Environment, World
from gumption.scripts import cli
from gumption.scripts.worlds import command_of, served, world_group


def world(name: str, **offers: str) -> World:
    return World(name, name, f"What one does in {name}.", "here", (Environment(f"x/{name}", "a:b", "a:c"),), offers)


def garden(beds: int = 3) -> None:
    """Dig."""
    print(f"{beds} beds")


def general(of: World) -> typer.Typer:
    app = typer.Typer(add_completion=False)

    @app.command()
    def anything(times: int = 1) -> None:
        print(f"{of.name} {times} times")

    return app


@pytest.fixture(autouse=True)
def three_worlds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One with a command of its own, one without, and one whose command is in a module that is not there."""
    monkeypatch.setattr(sys.modules["gumption.scripts.worlds"], "garden", garden, raising=False)
    listed = dict(WORLDS)  # put back as a whole: the list has an order, which monkeypatch.delitem would lose
    WORLDS.clear()
    for one in (
        world("garden", play="gumption.scripts.worlds:garden"),
        world("bare"),
        world("broken", play="no_such_module_of_ours:app"),
    ):
        WORLDS[one.name] = one
    yield
    WORLDS.clear()
    WORLDS.update(listed)


def run(*arguments: str, serve: Any = None) -> str:
    result = CliRunner().invoke(world_group("play", "Play.", serve), list(arguments))
    if result.exception is not None:
        raise result.exception
    return result.output


def test_a_world_runs_its_own_command_with_its_options() -> None:
    assert run("garden") == "3 beds\n"
    assert run("garden", "--beds", "5", serve=general) == "5 beds\n"


def test_a_world_without_one_is_served_by_the_general_command() -> None:
    assert run("bare", "--times", "2", serve=general) == "bare 2 times\n"


def test_a_world_without_one_is_refused_where_there_is_no_general_command() -> None:
    message = "the world 'bare' offers no such command; there is one of garden, broken"
    with pytest.raises(InputError, match=message):
        run("bare")
    with pytest.raises(InputError, match="'bare' offers no such command; there is one of no world"):
        command_of(WORLDS["bare"], "splits")


def test_help_lists_the_worlds_that_are_served_and_imports_none() -> None:
    own = run("--help")
    assert "What one does in garden." in own
    assert "What one does in broken." in own
    assert "What one does in bare." not in own
    assert "What one does in bare." in run("--help", serve=general)
    assert [one.name for one in served("play")] == ["garden", "broken"]
    assert [one.name for one in served("play", everyone=True)] == ["garden", "bare", "broken"]


def test_an_entry_that_names_a_module_that_is_not_there_is_told_when_called() -> None:
    with pytest.raises(InputError, match="'no_such_module_of_ours:app' as its play: no module no_such_module_of_ours"):
        run("broken")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "gardn"), "unknown world 'gardn': did you mean 'garden'?"),
        (("play", "broke"), "unknown world 'broke': did you mean 'broken'?"),
        (("splits", "moon"), "unknown world 'moon': there are garden, bare, broken"),
        (("splits", "bare"), "the world 'bare' offers no such command; there is one of no world"),
    ],
)
def test_what_is_refused_ends_with_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr("sys.argv", ["gumption", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
