"""The `gumption` command: a table of sub-commands, each imported only when it is called.

gumption demo
gumption data list
"""

import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
import typer.core
import typer.main

from gumption.data import InputError
from gumption.data.modules import failure, line_of
from gumption.data.progress import print_notes

# Sub-command -> (module under gumption.scripts, or module:name if the name is not `app`; line in `gumption --help`).
COMMANDS = {
    "demo": ("papers.wordcraft.demo", "The main job in minutes: from recipes to agents that solve unseen ones."),
    "data": ("data", "List the data that ships and fetch the full sets by name."),
    "kg": ("kg.commands", "Build, query, link and draw graphs; fit link predictors and ask them."),
    "train": ("worlds:train", "Train an agent on a world."),
    "live": ("worlds:live", "Let an agent live in a world: it remembers, and its graph grows by what it sees."),
    "splits": ("worlds:splits", "Make the tests that fit what a trained agent has seen, or check them."),
    "evaluate": ("evaluate", "Evaluate a trained run on its world."),
    "watch": ("watch", "Watch a trained agent play, and what its knowledge said to each choice."),
    "play": ("play", "Play a world yourself in the terminal."),
    "serve": ("people.web.commands", "Serve the web home, where people play the worlds; or a world for programs."),
    "study": ("people.study.commands", "Run a study with people in browsers, from its file to the report."),
    "experiment": ("experiment", "Run one of the papers' experiments."),
    "verify": ("verify", "Check files against their hashes, and what a run depends on."),
    "bench": ("bench", "Measure the speeds and scores that gumption promises."),
}


class LazyGroup(typer.core.TyperGroup):
    """A command group whose help comes from the table; a module is imported when its command is resolved."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, line) in COMMANDS.items():
            self.add_command(typer.core.TyperCommand(name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            tools = _tools_of(args[0])
            if tools is not None:
                return args[0], typer.main.get_command(tools), args[1:]
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = typer.main.get_command(app_of(name))
        return name, command, rest


def app_of(name: str) -> typer.Typer:
    """Import and return the app of a sub-command."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    return getattr(importlib.import_module(f"gumption.scripts.{module}"), attribute or "app")


def _tools_of(world: str) -> Any:
    """Return a world's own commands, `gumption WORLD ...`, or a help text that refers to the general ones; None for an
    unknown world."""
    from gumption.envs import worlds

    entry = worlds.known().get(world)
    tools = None if entry is None else entry.get("tools")
    if entry is None or tools is not None:
        return tools
    text = f"{entry.about}\n\nIt has no commands of its own. General ones take its name: gumption train {world} --help."
    tools = typer.Typer(help=text, no_args_is_help=True, add_completion=False)
    tools.callback()(lambda: None)
    return tools


app = typer.Typer(
    cls=LazyGroup, no_args_is_help=True, epilog="A world's own commands: gumption WORLD --help, such as gumption halma."
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"gumption {version('gumption')}")
        raise typer.Exit


def _stop_verifying(wanted: bool) -> None:
    if wanted:
        from gumption.data.sealed import stop_verifying

        stop_verifying()


@app.callback()
def gumption(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    _no_verify: Annotated[
        bool,
        typer.Option(
            "--no-verify",
            callback=_stop_verifying,
            help="Read files as they are whose content does not match its sha256.",
        ),
    ] = False,
) -> None:
    """Commonsense agents built around a knowledge graph."""


def main() -> None:
    """Run the command line. Bad input prints `error: ...` to stderr and exits with 2, Ctrl-C exits with 130, SIGTERM
    with 143."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed: use the null device, or the next open file takes its number
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r"))
    with warnings.catch_warnings(), told_signals():
        tell_more_notes = print_notes()
        try:
            typer.main.get_command(app).main(prog_name="gumption")
        except (Exception, SystemExit) as error:
            if (message := _message(error)) is None:
                raise
            print(f"error: {message}", file=sys.stderr)
            sys.exit(2)
        finally:
            tell_more_notes()


def _message(error: BaseException) -> str | None:
    """Return the message about an error for the user; None for a bug of gumption, which keeps its traceback, and for an
    exit that the user's module did not cause."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return f"there is not enough memory for this; choose smaller sizes ({error})"
    if not isinstance(error, InputError) and line_of(error) is not None:
        return str(failure("code of your own failed", error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, InputError | OSError) else None


# ---- Signals: an exception ends the command, so that files, locks and workers are released, with one line on stderr.


class _Terminated(BaseException):
    """Raised on SIGTERM. No `except Exception` catches it."""


@contextmanager
def told_signals() -> Iterator[None]:
    """In this context Ctrl-C exits with code 130 and SIGTERM with 143, each with a line on stderr."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except _Terminated:
        _end(signal.SIGTERM, "SIGTERM")
    except KeyboardInterrupt:
        _end(signal.SIGINT, "Ctrl-C")
    except SystemExit as ended:
        if ended.code == 128 + signal.SIGINT:  # typer turns Ctrl-C into this exit
            _end(signal.SIGINT, "Ctrl-C")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second SIGTERM ends the process at once
    multiprocessing = sys.modules.get("multiprocessing")  # there are no workers if it was not imported
    if multiprocessing is not None:  # SIGTERM, unlike Ctrl-C, does not reach workers; closing their pool waits for them
        for worker in multiprocessing.active_children():
            worker.terminate()
    raise _Terminated


def _end(number: int, name: str) -> NoReturn:
    print(f"stopped by {name}: what was saved so far is whole", file=sys.stderr)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
