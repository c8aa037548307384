"""The runs of an experiment: one job for each condition and seed, skipped where it is complete, resumable after a kill.

A folder of an experiment holds plan.json (what is run, with what, on what) and CONDITION/seed-N/, each a run directory
that is complete once final.json is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from gumption.data import InputError
from gumption.data.provenance import usable_cores
from gumption.data.writing import write_json

PLAN = "plan.json"
HEADER = ("command", "versions", "hardware", "workers")  # of a plan, at least: what runs were made with
FINAL = "final.json"
_FILES = ("recipe_book", "word_vectors", "space_model")  # settings that may be files of this machine


class Varied(Protocol):
    """A condition of an experiment: in which settings it differs, and what is done with them."""

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def method(self) -> str: ...


class Planned(Protocol):
    """An experiment of any world: what jobs and reports are made from."""

    @property
    def name(self) -> str: ...

    @property
    def figure(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def expected(self) -> str: ...

    @property
    def notes(self) -> str: ...

    @property
    def base(self) -> Mapping[str, Any]: ...

    @property
    def conditions(self) -> Mapping[str, Varied]: ...


@dataclass(frozen=True)
class Job:
    """One condition with one seed: the fields of the config to run it with, and where its run directory is.

    :ivar last: the file that a run writes last.
    """

    label: str
    seed: int
    method: str
    settings: Mapping[str, Any]
    directory: Path
    last: str = FINAL

    @property
    def complete(self) -> bool:
        """Whether the last thing that a run does is done."""
        return (self.directory / self.last).is_file()


RunJob = Callable[[Job, bool], None]


def make_jobs(
    experiment: Planned, common: Mapping[str, Any], seeds: Sequence[int], out: Path, last: str = FINAL
) -> list[Job]:
    """All jobs, the seeds of a condition one after another: they share its knowledge, which is dear to set up.

    `common` are fields of the config from the command line; they hold for every condition.
    """
    return [
        Job(
            label,
            seed,
            condition.method,
            _settings(experiment, label, common) | {"seed": seed},
            out / slug(label) / f"seed-{seed}",
            last,
        )
        for label, condition in experiment.conditions.items()
        for seed in seeds
    ]


def slug(label: str) -> str:
    """A label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def write_plan(
    out: Path,
    experiment: Planned,
    common: Mapping[str, Any],
    header: Mapping[str, Any],
    fixed: Sequence[str] = (),
) -> None:
    """Write plan.json, or check the one that is there: InputError where its runs have other settings.

    :param header: what is told about the runs (command, versions, hardware, hashes); it is replaced by the newest.
    :param fixed: parts of the header that must stay the same for new runs to stand beside those of the folder.
    """
    settings = {label: _portable(_settings(experiment, label, common)) for label in experiment.conditions}
    plan = json.loads(json.dumps({"experiment": experiment.name, "settings": settings, **header}))
    if (out / PLAN).is_file():
        before = read_json(out / PLAN)
        changed = [key for key in ("experiment", "settings", *fixed) if before.get(key) != plan.get(key)]
        if changed:
            raise InputError(
                f"{out} holds runs that differ in {_difference(before, plan, changed[0])}: "
                "give another folder with --out, or the same settings to go on there"
            )
    elif out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} is not empty and holds no experiment: give another folder with --out")
    write_json(out / PLAN, plan)


def read_plan(out: Path) -> dict[str, Any]:
    """What `write_plan` wrote; InputError where it wrote nothing there."""
    if not (out / PLAN).is_file():
        raise InputError(f"{out}: no {PLAN}, so no experiment was run there")
    return read_json(out / PLAN)


def results_of(
    experiment: Planned, plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    """The content of results.json: what was run and why, the header of the plan, a row for each condition."""
    header = {key: value for key, value in plan.items() if key not in ("experiment", "settings")}
    return {
        "experiment": experiment.name,
        "figure": experiment.figure,
        "title": experiment.title,
        "expected": experiment.expected,
        "notes": experiment.notes,
        **header,
        "rows": rows,
        **more,
    }


def run_jobs(jobs: Sequence[Job], workers: int, run: RunJob) -> Iterator[tuple[Job, float]]:
    """Run the jobs that are not complete and yield each with its wall time in seconds as it ends.

    One worker runs them in this process; more run in processes of their own, each with its share of the cores: torch
    with more threads than cores is slower by an order of magnitude. The first error stops what has not started yet;
    complete runs stay and are skipped the next time. Raises InputError where a process was killed.
    """
    waiting = [job for job in jobs if not job.complete]
    if workers == 1:
        for job in waiting:
            started = perf_counter()
            run(job, True)
            yield job, perf_counter() - started
        return
    with worker_pool(workers) as pool:
        futures = {pool.submit(_timed, run, job): job for job in waiting}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes, each with its share of the cores; InputError where one of them was killed."""
    threads = max(1, usable_cores() // workers)
    try:
        # Spawned, not forked: a forked child inherits torch's thread pools in whatever state they are.
        with ProcessPoolExecutor(workers, get_context("spawn"), _use_threads, (threads,)) as pool:
            yield pool
    except BrokenProcessPool:
        raise InputError(
            "a process was killed, as happens for want of memory: use fewer --workers. Complete runs are kept, the "
            "same command goes on"
        ) from None


def read_json(path: Path) -> Any:
    """A JSON file of ours; InputError where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); remove the folder it is in and run again") from error


def _settings(experiment: Planned, label: str, common: Mapping[str, Any]) -> dict[str, Any]:
    return {**experiment.base, **experiment.conditions[label].settings, **common}


def _portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the folders of this machine."""
    return {key: Path(value).name if key in _FILES and value else value for key, value in settings.items()}


def _timed(run: RunJob, job: Job) -> float:
    started = perf_counter()
    run(job, False)
    return perf_counter() - started


def _use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], key: str) -> str:
    """The first thing under `key` that differs, in words."""
    if key != "settings":
        return f"{key} ({before.get(key)} there, {now.get(key)} asked for)"
    for label, settings in now["settings"].items():
        there = before["settings"].get(label)
        if there is None:
            return f"the conditions (no {label!r} there)"
        for name in sorted({*settings, *there}):
            if settings.get(name) != there.get(name):
                return f"{name} ({there.get(name)} there, {settings.get(name)} asked for)"
    return "the conditions (some there are no longer part of the experiment)"
