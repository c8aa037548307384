"""`gumption watch RUN`: a trained agent plays, step by step, with what its knowledge said to each choice.

The options here are those of all worlds; others are of the run's world, whose entry offers "watch": a typer app of one
command that takes the run and returns a `gumption.agents.watching.Player`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Count, Seed
from gumption.data.writing import check_writable
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from gumption.agents.watching import Player

app = App(add_completion=False)

EPILOG = """Example: gumption watch runs/guided --out episode.html

`gumption watch RUN --help` also lists what the run's world lets you choose."""
ENDINGS = (".gif", ".html")


# The world's own options are not known before RUN is read: all that is unknown here, and --help, is kept for it.
@app.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def watch(
    context: typer.Context,
    run: Annotated[Path | None, typer.Argument(help="Folder of a run, as `gumption train` leaves it.")] = None,
    seed: Annotated[Seed, typer.Option(help="Decides what is left to chance; each further episode adds 1.")] = 0,
    episodes: Annotated[Count, typer.Option(help="How many are played.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write them to a file, .gif or .html, instead of the terminal.")
    ] = None,
    delay: Annotated[
        Annotated[float, Ge(0), Le(3_600)] | None,
        typer.Option(help="Seconds a step is shown.  [default: until Enter; 2 in a file]", show_default=False),
    ] = None,
) -> None:
    """Watch a trained agent play: each state, what it could choose, and what its knowledge said to each candidate."""
    words = [] if run is None else [str(run), *context.args]  # an unknown option may stand before the run
    asked = "--help" in words
    words = [word for word in words if word != "--help"]
    named = _named(words)
    if named is None or asked:
        typer.echo(context.get_help())
        if named is not None:
            typer.echo(f"Options for {named}:")
            _player(Path(named), ["--help"])
        return
    words.remove(named)
    if out is not None and out.suffix not in ENDINGS:
        raise InputError(f"{out}: an episode can be written to a file that ends in {' or '.join(ENDINGS)}")
    if out is not None:
        check_writable(out)
    title, player = _player(Path(named), words)
    from gumption.agents.watching import play_steps, print_steps, write_gif, write_html

    steps = play_steps(player, seed=seed, episodes=episodes, pictures=out is not None)
    milliseconds = round(1000 * (2 if delay is None else delay))
    if out is None:
        from rich.console import Console

        wait = _wait if delay is None else None
        print_steps(steps, Console(highlight=False), delay=delay or 0, wait=wait)
        return
    if out.suffix == ".gif":
        write_gif(steps, out, milliseconds=milliseconds)
    else:
        write_html(steps, out, title=title, milliseconds=milliseconds)
    print(f"written: {out}")


def _named(words: list[str]) -> str | None:
    """The run among what was typed: a folder of a run, else the first word that is no option."""
    from gumption.agents.settings import CONFIG

    runs = [word for word in words if (Path(word) / CONFIG).is_file()]
    named = [*runs, *(word for word in words if not word.startswith("-"))]
    return named[0] if named else None


def _player(run: Path, arguments: list[str]) -> tuple[str, Player]:
    """A title, and the player of a run by the options of its world.

    :raises InputError: not a run, or one of an unknown world.
    """
    import typer.main

    from gumption.agents.run_folder import world_of

    world = world_of(run)
    made: Any = typer.main.get_command(world.get("watch") or general).main(
        [str(run), *arguments], prog_name="gumption watch", standalone_mode=False
    )
    return f"{world.title}: {run}", made


general = App(add_completion=False)


@general.command()
def general_player(
    run: Annotated[Path, typer.Argument()],
    partition: Annotated[str, typer.Option(help="train, or test: what training did not show.")] = "test",
    reset: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the reset; may be repeated.")
    ] = None,
) -> Any:
    """The agent of a run in the first environment of its world."""
    from gumption.agents.run_folder import world_of
    from gumption.agents.watching import PolicyPlayer
    from gumption.agents.world_setup import load_policy

    if partition not in ("train", "test"):
        raise InputError(f"--partition is {partition!r}; it can be train or test")
    world = world_of(run)
    entry = world.environments[0]
    options = dict(map(_named_value, reset or ()))
    config, policy = load_policy(run, device="cpu")
    settings = {**dict(config.env), **(entry.held_out if partition == "test" else {})}
    make = world.load(entry.vector, "environment")
    return PolicyPlayer(policy, make(1, render_mode="ansi", autoreset_mode="Disabled", **settings), options=options)


def _named_value(typed: str) -> tuple[str, Any]:
    """ "goal=mud" -> ("goal", "mud"); a value that is JSON is read as such."""

    name, sign, value = typed.partition("=")
    if not sign or not name:
        raise InputError(f"--reset {typed}: give NAME=VALUE")
    try:
        return name, parse_json(value)
    except ValueError:
        return name, value


def _wait() -> bool:
    """Whether to go on; where nobody can answer, it goes on."""
    import sys

    if not sys.stdin.isatty():
        return True
    try:
        return input("Enter goes on, q stops: ").strip().lower() not in ("q", "quit")
    except EOFError:
        return False
