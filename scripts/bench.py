"""`gumption bench`: measure the speeds that gumption promises, each relative to a yardstick of the same run.

The ratios of two machines can be compared. `python -m tests.bench` measures peers in the same way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from time import perf_counter
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Count
from gumption.envs.worlds import ACROSS, World, known
from gumption.scripts.apps import App

from .apps import own_options, with_options
from .measurement import POLE, BenchSettings, Case, Measurement, cart_pole, compared, in_turn, rate

BATCH = 256  # environments in the general case, for worlds without own cases
SECONDS = 0.5  # length of each timing in the general case
MEASURED_WITH = "scripts/measurement.py"  # affects the figures of all cases


def help_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Measure the time of `gumption --help` against starting Python without work."""

    def seconds(*command: str) -> float:
        started = perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - started

    asks = "-c", "from gumption.scripts.cli import main; main()", "--help"
    seconds(*asks)  # untimed: compiles to byte code
    ours, theirs = in_turn(settings.repeats, lambda: seconds(*asks), lambda: seconds("-c", "pass"))
    yield compared("gumption --help", "s", ours, "starting Python", theirs, 26)


def world_case(world: World, settings: BenchSettings) -> Iterator[Measurement]:
    """Measure random actions in each environment of a world, single and in a batch, against CartPole-v1."""
    pole = cart_pole()
    for environment in world.environments:
        settings.tell(environment.id)
        one, batch = random_steps(environment.id), random_batch(environment.id)
        one(0.1)
        batch(0.1)  # warm-up: the first calls include imports, caches and memory
        timings = (partial(play, SECONDS) for play in (one, batch, pole))
        single, many, yardstick = in_turn(settings.repeats, *timings)
        for what, ours in (("one environment by gym.make", single), (f"batch of {BATCH}", many)):
            yield compared(f"{environment.id} random steps, {what}", "steps/s", ours, POLE, yardstick)


def random_steps(name: str) -> Callable[[float], float]:
    """Return the `rate` of random valid actions in one environment, including resets and sampling of actions."""
    import gymnasium

    env = gymnasium.make(name)
    env.action_space.seed(0)
    told = [env.reset(seed=0)[1]]

    def step() -> int:
        mask = told[0].get("action_mask")
        action = env.action_space.sample() if mask is None else env.action_space.sample(mask)
        _, _, terminated, truncated, told[0] = env.step(action)
        if terminated or truncated:
            told[0] = env.reset()[1]
        return 1

    return rate(step)


def random_batch(name: str) -> Callable[[float], float]:
    """Return the `rate` of random valid actions in a batch of environments, including sampling of actions."""
    import gymnasium
    import numpy as np

    env = gymnasium.make_vec(name, num_envs=BATCH)
    env.action_space.seed(0)
    told, rng = [env.reset(seed=0)[1]], np.random.default_rng(0)

    def step() -> int:
        mask = told[0].get("action_mask")  # (B, A)
        chosen = env.action_space.sample() if mask is None else (rng.random(mask.shape) * mask).argmax(1)
        told[0] = env.step(chosen)[-1]
        return BATCH

    return rate(step)


def cases_of(world: World) -> dict[str, Case]:
    """Return the cases that a world offers, by name; otherwise a general case with the name of the world."""
    return world.get("bench") or {world.name: Case(partial(world_case, world), title=world.title)}


def all_cases() -> dict[str, Case]:
    """Return all cases by name.

    :raises InputError: two cases of the same name.
    """
    found: dict[str, Case] = {}
    for cases in (
        *map(cases_of, known().values()),
        *map(resolve_name, ACROSS["bench"]),
        {"help": Case(help_case, code=("scripts/cli.py",))},
    ):
        for name, case in cases.items():
            if name in found:
                raise InputError(f"two bench cases are called {name!r}: give yours another name")
            found[name] = case
    return found


def find_cases(*names: str) -> dict[str, Case]:
    """Return the cases with these names and all cases of worlds with these names; all cases if there is no name.

    :raises InputError: unknown name.
    """
    cases, worlds = all_cases(), {name: cases_of(world) for name, world in known().items()}
    named = {**worlds, **{name: {name: case} for name, case in cases.items()}}
    for name in names:
        if name not in named:
            raise InputError(
                f"no bench case is called {name!r}; known are: {', '.join(dict.fromkeys([*cases, *worlds]))}"
            )
    return {case: found for name in names or cases for case, found in named[name].items()}


app = App(add_completion=False)


def _options() -> dict[str, type[Any]]:
    """Return the options of the cases, by their heading in the help."""
    return {case.title: case.settings for case in all_cases().values()}


def bench(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Cases ({', '.join(all_cases())}) or worlds; without them, everything.", metavar="[NAME]..."
        ),
    ] = None,
    *,
    device: str = "cpu",
    repeats: Count = 5,
    out: Path | None = None,
    markdown: Path | None = None,
    **given: Any,
) -> None:
    """Measure speeds of the worlds, of training, of rule mining and of the command line.

    Every figure stands beside a yardstick of the same run. A target is a bound of their ratio: slow and fast machines
    are judged alike.

    :param device: Where training runs: cpu or cuda.
    :param repeats: How often each short timing is taken.
    :param out: Write the figures as JSON.
    :param markdown: Write the table as Markdown.
    """
    from gumption.data.provenance import command_line

    cases = find_cases(*(names or ()))
    titles = {case.title for case in cases.values()}
    options = own_options(context, given, _options(), titles, " ".join(names or ["the whole bench"]))
    measure_cases(cases, options, device, repeats, out, markdown, command_line(sys.argv[1:]))


app.command(epilog="Example: gumption bench env --recipe-book alchemy2.json --markdown bench.md")(
    with_options(bench, _options())
)


def measure_cases(
    cases: Mapping[str, Case],
    options: Mapping[str, Mapping[str, Any]],
    device: str,
    repeats: int,
    out: Path | None,
    markdown: Path | None,
    command: str,
) -> None:
    """Measure, print the tables, and write them with the command and the machine.

    :param options: title of a case -> options of its settings.
    :raises InputError: a file that cannot be written; raised before any measurement.
    """
    from importlib.metadata import version

    from rich.console import Console
    from rich.table import Table

    from gumption.data.provenance import hardware, versions
    from gumption.data.writing import check_writable, write_json, write_text

    from .freshness import cpu_seconds, made_with
    from .measurement import markdown_tables, sections

    for written in (out, markdown):
        if written is not None:
            check_writable(written)
    begun = cpu_seconds()
    with Console(stderr=True).status("measuring") as status:
        settings: dict[str, BenchSettings] = {}
        for name, case in cases.items():  # checks all options before the first measurement
            tell = lambda text, name=name: status.update(f"measuring {name}: {text}")  # noqa: E731
            settings[name] = case.settings(device=device, repeats=repeats, tell=tell, **options[case.title])
        measured = {}
        for name, case in cases.items():
            status.update(f"measuring {name}")
            measured[name] = list(case.measure(settings[name]))
    everything = [one for case in measured.values() for one in case]
    console = Console()
    for heading, group in sections(everything):
        table = Table("what", "median", "yardstick", "ratio", "target", "met", title=heading or None)
        for what, middle, _, *rest in (one.cells() for one in group):
            table.add_row(what, middle, *rest)
        console.print(table)

    peers = {package: version(package) for package in ("pykeen", "rdflib", "pyoxigraph")}
    header = {"command": command, "versions": {**versions(), **peers}, "hardware": hardware(device)}
    if out is not None:
        figures = {case: [one.as_json() for one in ones] for case, ones in measured.items()}
        used = {  # without the folders of this machine
            key: Path(value).name if isinstance(value, (str, Path)) else value
            for each in options.values()
            for key, value in each.items()
        }
        known = all(case.code for case in cases.values())
        code = sorted({MEASURED_WITH, *(place for case in cases.values() for place in case.code)} if known else ())
        rests = {"formats": made_with(code), "took_s": round(cpu_seconds() - begun, 1)}
        write_json(out, {**header, **rests, **used, "repeats": repeats, "cases": figures})
    if markdown is not None:
        machine = ", ".join(
            f"{key} {value}" for part in (header["hardware"], header["versions"]) for key, value in part.items()
        )
        lines = [*markdown_tables(everything), "", f"Command: `{header['command']}`", "", f"Measured on: {machine}"]
        write_text(markdown, "\n".join(lines) + "\n")
