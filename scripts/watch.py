"""`gumption watch RUN`: show a trained agent play, step by step, with the scores of its knowledge for each choice.

The options here hold for all worlds. Further options come from the run's world, whose entry offers "watch": a function
from the run to a `gumption.agents.watch.Player`.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count, Seed
from gumption.data.writing import check_writable

from .apps import App, pair
from .worlds import command_of

if TYPE_CHECKING:
    from gumption.agents.watch import Player

app = App(add_completion=False)

EPILOG = """Example: gumption watch runs/guided --out episode.html

`gumption watch RUN --help` also lists what the run's world lets you choose."""
ENDINGS = (".gif", ".html")


# The world's own options are unknown until RUN is read: unknown options and --help are passed on to the world.
@app.command(
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def watch(
    context: typer.Context,
    run: Annotated[Path | None, typer.Argument()] = None,
    *,
    seed: Seed = 0,
    episodes: Count = 1,
    out: Path | None = None,
    delay: Annotated[
        Annotated[float, Ge(0), Le(3_600)] | None,
        typer.Option(help="Seconds a step is shown.  [default: until Enter; 2 in a file]", show_default=False),
    ] = None,
) -> None:
    """Watch a trained agent play: each state, what it could choose, and what its knowledge said to each candidate.

    :param run: Folder of a run, as `gumption train` leaves it.
    :param seed: Decides what is left to chance; each further episode adds 1.
    :param episodes: How many are played.
    :param out: Write them to a file, .gif or .html, instead of the terminal.
    """
    words = [] if run is None else [str(run), *context.args]  # an unknown option may precede the run
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
    if out is not None:
        if out.suffix not in ENDINGS:
            raise InputError(f"{out}: an episode can be written to a file that ends in {' or '.join(ENDINGS)}")
        check_writable(out, new_folder=False)
    title, player = _player(Path(named), words)
    from rich.console import Console

    from gumption.agents.watch import play_steps, print_steps, write_gif, write_html

    steps = play_steps(player, seed=seed, episodes=episodes, pictures=out is not None)
    if out is None:
        print_steps(steps, Console(highlight=False), partial(_wait, delay))
        return
    milliseconds = round(1000 * (2 if delay is None else delay))
    if out.suffix == ".gif":
        write_gif(steps, out, milliseconds=milliseconds)
    else:
        write_html(steps, out, title=title, milliseconds=milliseconds)
    print(f"written: {out}")


def _named(words: list[str]) -> str | None:
    """Return the run among the typed words: the folder of a run, else the first word that is not an option."""
    from gumption.agents.settings import CONFIG

    runs = [word for word in words if (Path(word) / CONFIG).is_file()]
    named = [*runs, *(word for word in words if not word.startswith("-"))]
    return named[0] if named else None


def _player(run: Path, arguments: list[str]) -> tuple[str, Player]:
    """Return a title, and the player of a run with the options of its world.

    :raises InputError: not a run, or a run of an unknown world.
    """
    from gumption.agents.run_folder import world_of

    world = world_of(run)
    command = command_of(world, "watch", _general)
    made = command.main([str(run), *arguments], prog_name="gumption watch", standalone_mode=False)
    return f"{world.title}: {run}", made


def _general(world: Any) -> Any:
    from gumption.agents.setup import load_policy
    from gumption.agents.watch import SHOWN, PolicyPlayer

    def watch_first(run: Path, *, partition: Literal["train", "test"] = "test", reset: list[str] | None = None) -> Any:
        """The agent of a run in the first environment of its world.

        :param partition: train, or test, which training did not show.
        :param reset: NAME=VALUE, an option of the reset; may be repeated.
        """
        entry, options = world.environments[0], dict(map(pair, reset or ()))
        config, policy = load_policy(run, device="cpu")
        settings = {**dict(config.env), **(entry.held_out if partition == "test" else {})}
        return PolicyPlayer(policy, world.load(entry.vector, "environment")(1, **SHOWN, **settings), options=options)

    return watch_first


def _wait(delay: float | None) -> bool:
    """Wait so many seconds, or for Enter if None; return whether to continue. Continue if stdin is not a terminal."""
    if delay is not None:
        time.sleep(delay)
    if delay is not None or sys.stdin is None or not sys.stdin.isatty():
        return True
    try:
        return input("Enter goes on, q stops: ").strip().lower() not in ("q", "quit")
    except EOFError:
        return False
