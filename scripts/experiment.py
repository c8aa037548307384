"""`gumption experiment`: run an experiment of a paper, resume it, or report it again.

There is a job for each condition and seed. A job is skipped if its run is complete, and resumes after a kill.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.progress import Bar, print_notes
from gumption.data.provenance import usable_cores
from gumption.data.reading import read_json
from gumption.data.settings import Count
from gumption.data.tables import grouped
from gumption.data.writing import check_writable, is_part, write_json
from gumption.envs.worlds import ACROSS, known

from .apps import App, own_options, with_options
from .freshness import RESULTS, commit, cpu_seconds, duration, end_with_parent, saved_files
from .output import print_table
from .results import HEADER, PLAN, Experiment, Job, Kind, changes, gather, read_plan, slug, with_saved, write_report

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from rich.console import Console

app = App(add_completion=False)


def known_experiments() -> dict[str, Experiment]:
    """Return all experiments by name: first the worlds' experiments, then those on graphs.

    :raises InputError: two experiments of the same name.
    """
    found: dict[str, Experiment] = {}
    others = map(resolve_name, ACROSS["experiments"])
    for offered in (*(world.get("experiments") for world in known().values()), *others):
        for name, experiment in (offered or {}).items():
            if name in found:
                raise InputError(f"two experiments are called {name!r}: give yours another name")
            found[name] = experiment
    return found


def find_experiment(name: str) -> Experiment:
    """Return the experiment of that name; raise InputError with the known names if there is none."""
    experiments = known_experiments()
    if name not in experiments:
        raise InputError(f"no experiment is called {name!r}; known are: {', '.join(experiments)}")
    return experiments[name]


def _options() -> dict[str, type[Any]]:
    """Return the options of every kind of experiment, by its title."""
    return {one.kind.title: one.kind.options for one in known_experiments().values()}


def experiment(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument()] = None,
    *,
    seeds: Count | None = None,
    setting: list[str] | None = None,
    device: str = "cpu",
    workers: Annotated[int, Ge(1), Le(1000)] = 1,
    out: Path | None = None,
    save: Path | None = None,
    report: Path | None = None,
    list_: bool = False,
    stale: bool = False,
    **given: Any,
) -> None:
    """Run one of the papers' experiments: every condition with several seeds, then a table and plots.

    Runs that are complete are kept: after a stop, the same command goes on where it was.

    :param name: Which experiment; --list names them.
    :param seeds: Runs per condition, seeds 0, 1, ...  (default: the experiment's own)
    :param setting: Only this condition (an agent, a setting); may be given again.
    :param device: Where training runs: cpu or cuda.
    :param workers: Runs at a time, each in a process with its share of cores.
    :param out: Folder of the runs.  (default: runs/NAME)
    :param save: Also write results, table and plots into this folder. What it has of conditions that were not run here
        stays, so that an experiment may be run in parts.
    :param report: Run nothing: write results, table and plots of this folder's runs anew.
    :param list_: List the experiments and stop.
    :param stale: List the saved results (those of the package, or of the folder --save) with the files that they rest
        on and that have changed since by the history of git, and what making them again takes; and stop.
    """
    from rich.console import Console

    console = Console()
    if list_:
        known = known_experiments().values()
        print_table(
            ["name", "figure", "what", "conditions"],
            [(one.name, one.figure, one.title, len(one.conditions)) for one in known],
        )
        return
    if stale:
        list_stale(save or RESULTS)
        return
    if name is None and report is None:
        raise InputError("name an experiment; `gumption experiment --list` names them all")
    chosen = find_experiment(read_plan(report)["experiment"] if report is not None else str(name))
    what = str(report) if report is not None else chosen.name
    kind = chosen.kind
    options = kind.options(**own_options(context, given, _options(), [kind.title], what)[kind.title])
    folder = report or out or Path("runs") / chosen.name
    if save is not None:
        check_writable(save / "results.json")
    if report is None:
        common = kind.settings(options, device)
        run_experiment(console, chosen, common, seeds or chosen.seeds, workers, folder, setting or (), options)
    _report(console, chosen, options, folder, save)


app.command(epilog="Example: gumption experiment halma-quick --workers 2")(with_options(experiment, _options()))


def run_experiment(console: Console, *arguments: Any) -> None:
    """Run the jobs of an experiment that are not complete, and print the figures of each; see `lines_of_runs`."""
    for line in lines_of_runs(*arguments):
        console.print(line, soft_wrap=True)


def lines_of_runs(
    chosen: Experiment,
    common: dict[str, Any],
    seeds: int,
    workers: int,
    folder: Path,
    labels: Any = (),
    options: Any = None,
) -> Iterator[str]:
    """Run the incomplete jobs of an experiment; yield a line on all jobs, then a line on each job as it ends.

    :param common: settings of all conditions, in addition to the experiment's own.
    :param labels: the wanted conditions; if empty, all that are not on demand.
    :param options: of the experiment's kind.
    :raises InputError: a folder with other runs, an unknown condition, options that do not fit these runs.
    """
    import sys

    from gumption.data.provenance import command_line, hardware, versions

    kind, asked = chosen.kind, chosen_conditions(chosen, labels)
    header = {
        "command": command_line(sys.argv[1:]),
        "versions": versions(),
        "hardware": hardware(common["device"]),
        "workers": workers,
        "formats": kind.formats(),
        **kind.header(chosen, common),
    }
    planned = [
        {
            "condition": label,
            "method": one.method,
            "panels": list(one.panels),
            "settings": _settings(chosen, label, common),
        }
        for label, one in chosen.conditions.items()
    ]
    kind.more_rows(options or kind.options(), header, planned)  # raises errors now, not after hours of runs
    jobs = make_jobs(asked, common, range(seeds), folder)
    write_plan(folder, chosen, common, header, jobs)
    done = sum(job.complete for job in jobs)
    figure = "" if chosen.figure == "-" else f" ({chosen.figure})"
    yield f"[bold]{chosen.name}[/bold]: {chosen.title}{figure}; {len(jobs)} runs, {done} complete"
    for job, seconds in run_jobs(kind.prepare(jobs, folder), workers, kind.run):
        done += 1
        _note_time(folder, job, seconds)
        yield f"{done:>4}/{len(jobs)}  {job.label}, seed {job.seed}: {kind.told(job)}; {seconds:.0f} s of CPU time"
    if chosen.finish is not None:
        yield from chosen.finish({job.label: job.directory for job in jobs if job.seed == 0}, folder)


def _report(console: Console, chosen: Experiment, options: Any, folder: Path, save: Path | None) -> None:
    results = gather(folder, chosen, options)
    written = write_report(results, chosen, folder)
    if save is not None:
        results = with_saved(results, chosen, read_plan(folder), save)
        written += write_report(results, chosen, save)
    console.print(chosen.kind.overview(results, chosen))
    for path in written:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


def list_stale(folder: Path) -> None:
    """Print each saved result with the files that have changed since it was made, and the cost of making it again.

    :raises InputError: no history of git, no saved result.
    """
    if commit() is None:
        raise InputError("--stale compares saved results with the history of git: run it in a checkout of gumption")
    known, lines = known_experiments(), []
    for path in saved_files(folder):
        saved, name = read_json(path), path.parent.name
        if saved.get("experiment") in known:
            lines += _ages(known[saved["experiment"]].kind, name, saved)
        else:
            costs = [saved["took_s"]] if "took_s" in saved else [row.get("took_s") for row in saved.get("rows", ())]
            lines.append([name, "all", changes(saved.get("formats") or {}), _takes(costs)])
    if not lines:
        raise InputError(f"{folder}: no saved result there")
    print_table(
        ["saved result", "rows", "what has changed", "making them again takes"],
        lines,
        "Files are those that the rows rest on; not every change of one changes a figure.\n"
        "The time is that of one core, as they took it; of results that were saved before CPU time was kept, that of "
        "the clock. To make rows again: "
        "gumption experiment RESULT --setting ROW --save FOLDER; a bench: python -m tests.bench.tables RESULT",
    )


def _ages(kind: Kind, name: str, saved: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the lines of a saved result, grouping rows of the same age."""
    made = [(row.get("made", saved).get("formats") or {}, row) for row in saved["rows"]]
    ages = grouped((" and ".join(kind.aged(row, formats)) or changes(formats, kind.code), row) for formats, row in made)
    for why, rows in ages.items():
        yield [name, f"{len(rows)} of {len(saved['rows'])}", why, _takes([kind.cost(row) for row in rows])]


def _takes(costs: Sequence[float | None]) -> str:
    known = [cost for cost in costs if cost]
    return duration(sum(known)) if known else "not kept"


# ---- Jobs


def make_jobs(experiment: Experiment, common: Mapping[str, Any], seeds: Sequence[int], out: Path) -> list[Job]:
    """Return all jobs, the seeds of a condition in sequence: they share its knowledge, which is expensive to set up.

    :param common: fields of the config from the command line, for every condition.
    """
    return [
        Job(
            label,
            seed,
            condition.method,
            _settings(experiment, label, common) | {"seed": seed},
            _place(out, label, seed),
            None if condition.of is None else _place(out, condition.of, seed),
            experiment.kind.last,
        )
        for label, condition in experiment.conditions.items()
        for seed in seeds
    ]


def _place(out: Path, label: str, seed: int) -> Path:
    return out / slug(label) / f"seed-{seed}"


def chosen_conditions(experiment: Experiment, labels: Sequence[str]) -> Experiment:
    """Return the experiment with these conditions; without labels, with all that are not on demand.

    :raises InputError: unknown label.
    """
    for label in labels:
        if label not in experiment.conditions:
            raise InputError(f"{experiment.name} has no {label!r}; it has {', '.join(experiment.conditions)}")
    kept = labels or [label for label, one in experiment.conditions.items() if not one.on_demand]
    return replace(experiment, conditions={label: experiment.conditions[label] for label in kept})


def write_plan(
    out: Path, experiment: Experiment, common: Mapping[str, Any], header: Mapping[str, Any], jobs: Sequence[Job]
) -> None:
    """Write plan.json; raise InputError if it exists and its runs have other settings.

    Conditions that are new since the folder was created are added.

    :param header: command, versions, hardware and hashes of these runs. It replaces the stored header and is stored as
        "made" of the conditions that run now.
    :param jobs: jobs of the conditions that run now. If some runs of a condition are complete, the condition keeps the
        versions ("formats") of its first runs.
    """
    settings = {label: _portable(_settings(experiment, label, common)) for label in experiment.conditions}
    plan = json.loads(json.dumps({"experiment": experiment.name, "settings": settings, **header}))
    made: dict[str, Any] = {}
    if (out / PLAN).is_file():
        before = read_json(out / PLAN)
        made = before.get("made", {})
        plan["took_s"] = before.get("took_s", {})
        if differs := _difference(before, plan, experiment.kind.fixed):
            raise InputError(
                f"{out} holds runs that differ in {differs}: "
                "give another folder with --out, or the same settings to go on there"
            )
    elif out.is_dir() and not all(map(is_part, out.iterdir())):
        raise InputError(f"{out} is not empty and holds no experiment: give another folder with --out")
    now = {key: plan.get(key) for key in HEADER}
    first = {job.label: made[job.label].get("formats") for job in jobs if job.complete and job.label in made}
    for label in dict.fromkeys(job.label for job in jobs):
        made[label] = {**now, "formats": first.get(label, now["formats"])}
    write_json(out / PLAN, {**plan, "made": made})


def _note_time(out: Path, job: Job, seconds: float) -> None:
    """Add the CPU time of a run, or of its resumed part, to the time of its condition."""
    plan = read_plan(out)
    took = plan.setdefault("took_s", {})
    took[job.label] = round(took.get(job.label, 0) + seconds, 1)
    write_json(out / PLAN, plan)


def run_jobs(jobs: Sequence[Job], workers: int, run: Callable[[Job, bool], None]) -> Iterator[tuple[Job, float]]:
    """Run the incomplete jobs and yield each with its CPU time in seconds as it ends.

    Jobs that read runs of other jobs come last. A single worker runs in this process; several workers run in processes,
    each with its share of the cores, since torch with more threads than cores is slower by an order of magnitude. The
    first error cancels jobs that have not started; complete runs stay and are skipped the next time.
    Raises InputError if a process was killed.
    """
    waiting = [job for job in jobs if not job.complete]
    stages = [job for job in waiting if job.source is None], [job for job in waiting if job.source is not None]
    if workers == 1:
        for job in (job for stage in stages for job in stage):
            yield job, _timed(run, job, progress=True)
        return
    from concurrent.futures import as_completed

    with worker_pool(workers) as pool:
        for stage in stages:
            futures = {pool.submit(_timed, run, job): job for job in stage}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, each with its share of the cores; raise InputError if a process was killed."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    threads = max(1, usable_cores() // workers)
    try:
        # Spawned, not forked: a forked child would inherit torch's thread pools in mid-work.
        with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, (threads,)) as pool:
            yield pool
    except BrokenProcessPool:
        raise InputError(
            "a process was killed, as happens for want of memory: use fewer --workers. Complete runs are kept, the "
            "same command goes on"
        ) from None


def _settings(experiment: Experiment, label: str, common: Mapping[str, Any]) -> dict[str, Any]:
    own = {**experiment.base, **experiment.conditions[label].settings}
    unused = set(experiment.kind.places).difference(value for value in own.values() if isinstance(value, str))
    return {**own, **{name: value for name, value in common.items() if name not in unused}}


def _portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the folders of this machine."""
    return {
        key: Path(value).name if isinstance(value, (str, Path)) and os.sep in str(value) else value
        for key, value in settings.items()
    }


def _timed(run: Callable[[Job, bool], None], job: Job, progress: bool = False) -> float:
    started = cpu_seconds()
    run(job, progress)
    return cpu_seconds() - started


def _begin_worker(threads: int) -> None:
    from multiprocessing.util import Finalize

    import torch

    Bar.open += 1  # hides bars in workers: the parent shows the progress
    torch.set_num_threads(threads)
    Finalize(None, print_notes(), exitpriority=0)
    end_with_parent()


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], fixed: Sequence[str]) -> str | None:
    """Return the first difference in words, or None."""
    for key in ("experiment", *fixed):
        if before.get(key) != now.get(key):
            return f"{key} ({before.get(key)} there, {now.get(key)} asked for)"
    for label, there in before["settings"].items():
        settings = now["settings"].get(label)
        if settings is None:
            return f"the conditions ({label!r} there is no longer part of the experiment)"
        for name in sorted({*settings, *there}):
            if settings.get(name) != there.get(name):
                return f"{name} ({there.get(name)} there, {settings.get(name)} asked for)"
    return None
