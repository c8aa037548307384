"""`gumption bench`: measure the speeds that gumption promises, beside a yardstick in the same run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Count
from gumption.envs.worlds import Environment, World, known
from gumption.scripts.apps import App

from .apps import own_options, with_options
from .measurement import BenchSettings, CartPoleRandom, Case, Measurement

# ---- The cases of `gumption bench`: of worlds, with a general one for those that offer none, of graphs, of the
# command.
#
# Each times something of ours beside a yardstick in the same run, so that figures of two machines can be compared by
# their ratios.


BATCH = 256  # environments of a world that offers no cases of its own
SECONDS = 0.5  # of each timing of it


def help_case(settings: BenchSettings) -> Iterator[Measurement]:
    """How long `gumption --help` takes, against starting Python for nothing."""
    ours = [sys.executable, "-c", "from gumption.scripts.cli import main; main()", "--help"]
    nothing = [sys.executable, "-c", "pass"]
    _seconds(ours)  # writes the byte code once
    pairs = [(_seconds(ours), _seconds(nothing)) for _ in range(settings.repeats)]
    seconds, yardstick = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    yield Measurement(
        "gumption --help",
        "s",
        seconds,
        min(pair[0] for pair in pairs),
        "starting Python",
        yardstick,
        seconds / yardstick,
        "0.5 s",
        seconds < 0.5,
        {"seconds_beyond_python": seconds - yardstick},
    )


def cases_of(world: World) -> dict[str, Case]:
    """The cases that a world offers, by name; otherwise a general one with the name of the world."""
    return world.get("bench") or {world.name: Case(partial(world_case, world), title=world.title)}


def all_cases() -> dict[str, Case]:
    """Every case by its name.

    :raises InputError: one name twice.
    """
    from .kg import bench as of_graphs

    found: dict[str, Case] = {}
    for cases in (*map(cases_of, known().values()), of_graphs.CASES, {"help": Case(help_case)}):
        for name, case in cases.items():
            if name in found:
                raise InputError(f"two bench cases are called {name!r}: give yours another name")
            found[name] = case
    return found


def find_cases(name: str | None) -> dict[str, Case]:
    """The case of that name with those beside it, or those of the world of that name, or all of them.

    :raises InputError: another name.
    """
    cases = all_cases()
    if name is None:
        return cases
    if name in cases:
        return {each: case for each, case in cases.items() if name in (each, case.beside)}
    if name in known():
        return cases_of(known()[name])
    raise InputError(f"no bench case is called {name!r}; known are: {', '.join(dict.fromkeys([*cases, *known()]))}")


def world_case(world: World, settings: BenchSettings) -> Iterator[Measurement]:
    """Random actions in one environment and in a batch of each of a world's environments, against CartPole-v1."""
    pole = CartPoleRandom()
    pole(0.2)
    for environment in world.environments:
        settings.tell(environment.id)
        players = _RandomSteps(environment), _RandomBatch(environment), pole
        for play in players:
            play(0.1)  # first calls pay for imports, caches and memory
        taken = [[play(SECONDS) for play in players] for _ in range(settings.repeats)]  # in turn, as others do
        *ours, yardsticks = (list(each) for each in zip(*taken, strict=True))
        for what, rates in zip(("one environment by gym.make", f"batch of {BATCH}"), ours, strict=True):
            rate, yardstick = median(rates), median(yardsticks)
            yield Measurement(
                f"{environment.id} random steps, {what}",
                "steps/s",
                rate,
                max(rates),
                "one CartPole-v1, random actions",
                yardstick,
                rate / yardstick,
            )


class _RandomSteps:
    """Plays one environment with random valid actions."""

    def __init__(self, environment: Environment) -> None:
        import gymnasium

        self.env = gymnasium.make(environment.id)
        self.env.action_space.seed(0)
        self.env.reset(seed=0)

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds, resets and drawing the actions included."""
        env, steps = self.env, 0
        started = perf_counter()
        _, info = env.reset()
        while (passed := perf_counter() - started) < seconds:
            mask = info.get("action_mask")
            action = env.action_space.sample() if mask is None else env.action_space.sample(mask)
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
            steps += 1
        return steps / passed


class _RandomBatch:
    """Plays a batch of environments with random valid actions."""

    def __init__(self, environment: Environment) -> None:
        import gymnasium
        import numpy as np

        self.env = gymnasium.make_vec(environment.id, num_envs=BATCH)
        self.env.action_space.seed(0)
        _, self.info = self.env.reset(seed=0)
        self.rng = np.random.default_rng(0)

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds, drawing the actions included."""
        steps = 0
        started = perf_counter()
        while (passed := perf_counter() - started) < seconds:
            *_, self.info = self.env.step(self._actions())
            steps += BATCH
        return steps / passed

    def _actions(self) -> Any:
        mask = self.info.get("action_mask")  # (B, A)
        return self.env.action_space.sample() if mask is None else (self.rng.random(mask.shape) * mask).argmax(1)


def _seconds(command: Sequence[str]) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - started


# ---- The command


app = App(add_completion=False)


def _options() -> dict[str, type[Any]]:
    """The options of the cases, by the heading that the help shows above them."""
    return {case.title: case.settings for case in all_cases().values()}


def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help=f"A case ({', '.join(all_cases())}) or a world; without it, all of them."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where training and ComplEx run: cpu or cuda.")] = "cpu",
    repeats: Annotated[Count, typer.Option(help="How often each short timing is taken.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.")] = None,
    **given: Any,
) -> None:
    """Measure speeds of the worlds, of training, link prediction, stores and the command line.

    Every figure stands beside a yardstick taken in the same run; compare machines by the ratio.
    """
    from importlib.metadata import version

    from rich.console import Console
    from rich.table import Table

    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import check_writable, write_json, write_text

    from .measurement import amount, markdown_tables, ratio, sections, verdict

    for written in (out, markdown):
        if written is not None:
            check_writable(written)
    cases = find_cases(name)
    titles = {case.title for case in cases.values()}
    options = own_options(context, given, _options(), titles, name or "the whole bench")
    measured = {}
    with Console(stderr=True).status("measuring") as status:

        def settings_of(name: str, case: Case) -> BenchSettings:
            def tell(text: str) -> None:
                status.update(f"measuring {name}: {text}")

            return case.settings(device=device, repeats=repeats, tell=tell, **options[case.title])

        settings = {each: settings_of(each, case) for each, case in cases.items()}
        alone = [each for each in settings if settings[each].alone]
        for each in alone or cases:
            status.update(f"measuring {each}")
            measured[each] = list(cases[each].measure(settings[each]))
    everything = [one for case in measured.values() for one in case]
    console = Console()
    for heading, group in sections(everything):
        table = Table("what", "median", "yardstick", "ratio", "target", "met", title=heading or None)
        for one in group:
            yardstick = f"{one.yardstick}: {amount(one.yardstick_median, one.unit)}"
            table.add_row(one.what, amount(one.median, one.unit), yardstick, ratio(one), one.target, verdict(one))
        console.print(table)

    peers = {package: version(package) for package in ("pykeen", "rdflib", "pyoxigraph")}
    header = {
        "command": command_line(sys.argv[1:]),
        "versions": {**versions(), **peers},
        "hardware": hardware(device),
    }
    if out is not None:
        figures = {case: [one.as_json() for one in ones] for case, ones in measured.items()}
        used = {key: _portable(value) for each in options.values() for key, value in each.items()}
        write_json(out, {**header, **used, "repeats": repeats, "cases": figures})
    if markdown is not None:
        machine = ", ".join(
            f"{key} {value}" for part in (header["hardware"], header["versions"]) for key, value in part.items()
        )
        lines = [*markdown_tables(everything), "", f"Command: `{header['command']}`", "", f"Measured on: {machine}"]
        write_text(markdown, "\n".join(lines) + "\n")


def _portable(value: Any) -> Any:
    """An option without the folders of this machine."""
    return Path(value).name if isinstance(value, str) else value


app.command(epilog="Example: gumption bench env --recipe-book alchemy2.json --markdown bench.md")(
    with_options(bench, _options())
)
