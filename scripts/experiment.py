"""`gumption experiment`: run one of the papers' experiments, go on with one that was stopped, or report one again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count
from gumption.envs.worlds import known
from gumption.scripts.apps import App

from .apps import own_options, with_options
from .experiments import Experiment
from .kg import experiments as of_graphs

if TYPE_CHECKING:
    from rich.console import Console

app = App(add_completion=False)


def known_experiments() -> dict[str, Experiment]:
    """Every experiment by its name: those that worlds offer, then those on graphs.

    :raises InputError: one name twice.
    """
    found: dict[str, Experiment] = {}
    for offered in (*(world.get("experiments") for world in known().values()), of_graphs.EXPERIMENTS):
        for name, experiment in (offered or {}).items():
            if name in found:
                raise InputError(f"two experiments are called {name!r}: give yours another name")
            found[name] = experiment
    return found


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; InputError with the known names otherwise."""
    experiments = known_experiments()
    if name not in experiments:
        raise InputError(f"no experiment is called {name!r}; known are: {', '.join(experiments)}")
    return experiments[name]


def headline(results: dict[str, Any]) -> str:
    """The short table of a results.json, as pages show it."""
    return find_experiment(results["experiment"]).kind.headline(results)


def _options() -> dict[str, type[Any]]:
    """The options of every kind of experiment, by its title."""
    return {one.kind.title: one.kind.options for one in known_experiments().values()}


def experiment(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which experiment; --list names them.")] = None,
    seeds: Annotated[
        Count | None, typer.Option(help="Runs per condition, seeds 0, 1, ...  (default: the experiment's own)")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="Only this condition (an agent, a setting); may be given again.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[
        int, Ge(1), Le(1000), typer.Option(help="Runs at a time, each in a process with its share of cores.")
    ] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs.  (default: runs/NAME)")] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Also write results, table and plots into this folder. What it has of conditions that were not run "
            "here stays, so that an experiment may be run in parts."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Run nothing: write results, table and plots of this folder's runs anew.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    **given: Any,
) -> None:
    """Run one of the papers' experiments: every condition with several seeds, then a table and plots.

    Runs that are complete are kept: after a stop, the same command goes on where it was.
    """
    from rich.console import Console

    from .jobs import read_plan

    console = Console()
    if list_all:
        _list_experiments(console)
        return
    if name is None and report is None:
        raise InputError("name an experiment; `gumption experiment --list` names them all")
    chosen = find_experiment(read_plan(report)["experiment"] if report is not None else str(name))
    what = str(report) if report is not None else chosen.name
    kind = chosen.kind
    options = kind.options(**own_options(context, given, _options(), [kind.title], what)[kind.title])
    folder = report or out or Path("runs") / chosen.name
    if report is None:
        run_experiment(
            console,
            chosen,
            kind.settings(options, device),
            seeds or chosen.seeds,
            workers,
            folder,
            setting or (),
        )
    _report(console, chosen, options, folder, save)


app.command(epilog="Example: gumption experiment halma-quick --workers 2")(with_options(experiment, _options()))


def run_experiment(
    console: Console,
    chosen: Experiment,
    common: dict[str, Any],
    seeds: int,
    workers: int,
    folder: Path,
    labels: Any = (),
) -> None:
    """Run what is not complete of an experiment, and tell how each run ended.

    :param common: settings of all conditions, beside the experiment's own.
    :param labels: the conditions that are wanted; without any, all.
    :raises InputError: a folder with other runs, a condition that is not there.
    """
    import sys

    from gumption.data.provenance import command_line, hardware, versions

    from .jobs import chosen_conditions, make_jobs, run_jobs, write_plan

    kind, asked = chosen.kind, chosen_conditions(chosen, labels)
    header = {
        "command": command_line(sys.argv[1:]),
        "versions": versions(),
        "hardware": hardware(common["device"]),
        "workers": workers,
        **kind.header(chosen, common),
    }
    write_plan(folder, chosen, common, header, list(asked.conditions))
    jobs = make_jobs(asked, common, range(seeds), folder)
    done = sum(job.complete for job in jobs)
    figure = "" if chosen.figure == "-" else f" ({chosen.figure})"
    told = f"[bold]{chosen.name}[/bold]: {chosen.title}{figure}; {len(jobs)} runs, {done} complete"
    console.print(told, soft_wrap=True)
    for job, seconds in run_jobs(kind.prepare(jobs, folder), workers, kind.run):
        done += 1
        line = f"{done:>4}/{len(jobs)}  {job.label}, seed {job.seed}: {kind.told(job)}; {seconds:.0f} s"
        console.print(line, soft_wrap=True)
    if chosen.finish is not None:
        first = {job.label: job.directory for job in jobs if job.seed == 0}
        for line in chosen.finish(first, folder):
            console.print(line, soft_wrap=True)


def _report(console: Console, chosen: Experiment, options: Any, folder: Path, save: Path | None) -> None:
    from .jobs import read_plan
    from .report import gather, with_saved, write_report

    results = gather(folder, chosen, options)
    written = write_report(results, chosen, folder)
    if save is not None:
        results = with_saved(results, chosen, read_plan(folder), save)
        written += write_report(results, chosen, save)
    console.print(chosen.kind.overview(results, chosen))
    for path in written:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


def _list_experiments(console: Console) -> None:
    from rich.table import Table

    table = Table("name", "figure", "what", "conditions")
    for one in known_experiments().values():
        table.add_row(one.name, one.figure, one.title, str(len(one.conditions)))
    console.print(table)
