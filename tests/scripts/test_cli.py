"""The command line: quick help, lazy commands, one way to report bad input."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from gumption.scripts import cli

HEAVY = ("torch", "numpy", "gensim", "pykeen", "matplotlib", "gymnasium", "rdflib", "stable_baselines3", "networkx")
GUMPTION = [sys.executable, "-m", "gumption.scripts.cli"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run([*GUMPTION, *arguments], capture_output=True, text=True, env=environment, check=False)


def imported_by(*arguments: str) -> set[str]:
    """Top-level packages in sys.modules after a call in a fresh process."""
    code = (
        "import sys\nfrom gumption.scripts.cli import main\n"
        f"sys.argv = ['gumption', *{list(arguments)!r}]\n"
        "try:\n    main()\nfinally:\n    print('IMPORTED', *{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("IMPORTED")[1].split())


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(full name, command) of every command that does something, below and including this one."""
    children = getattr(command, "commands", {})
    for child, below in children.items():
        yield from leaves(below, f"{name} {child}")
    if not children:
        yield name, command


def test_help_takes_less_than_half_a_second() -> None:
    seconds = []
    for _ in range(3):  # the fastest, so that a busy machine does not fail it
        start = time.perf_counter()
        assert run("--help").returncode == 0
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


def test_help_lists_every_command_and_imports_none() -> None:
    out = run("--help").stdout
    assert all(f" {name} " in out and line in out for name, (_, line) in cli.COMMANDS.items())
    imported = imported_by("--help")
    assert not imported.intersection(HEAVY)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    assert not imported_by(name, "--help").intersection(HEAVY)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_has_an_example(name: str) -> None:
    module, _ = cli.COMMANDS[name]
    app = import_module(f"gumption.scripts.{module}").app
    for full_name, command in leaves(typer.main.get_command(app), f"gumption {name}"):
        path = full_name.split()[2:]
        out = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
        # The usage line starts with the sub-command here, so the full name can only come from an example.
        assert full_name in " ".join(out.split()), f"{full_name} --help has no example"
        assert command.help, full_name


def test_version() -> None:
    assert run("--version").stdout == f"gumption {version('gumption')}\n"


def test_bad_input_is_one_message_and_exit_code_2() -> None:
    done = run("data", "fetch", "alchemi2")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: no fetchable data is called 'alchemi2'; did you mean alchemy2?\n"


@pytest.mark.parametrize("arguments", [("dmo",), ("data", "fetch"), ("data", "list", "--no-such-option")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_mistyped_command_is_named() -> None:
    assert "Did you mean 'demo'?" in run("dmo").stderr


def test_an_interrupt_is_exit_code_130() -> None:
    code = (
        "import sys, gumption.data\nfrom gumption.scripts.cli import main\n"
        "def interrupted(*_, **__):\n    raise KeyboardInterrupt\n"
        "gumption.data.fetch = interrupted\nsys.argv = ['gumption', 'data', 'fetch', 'alchemy2']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
