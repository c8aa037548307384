"""The runs of an experiment: one job for each condition and seed, skipped where it is complete, resumable after a kill.

A folder of an experiment holds plan.json (what is run, with what, on what) and CONDITION/seed-N/, each a run directory
that is complete once the last file of its kind, such as final.json, is in it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from time import perf_counter
from typing import Any

from gumption.data import InputError
from gumption.data.progress import print_notes
from gumption.data.provenance import usable_cores
from gumption.data.reading import read_json
from gumption.data.writing import is_part, write_json

from .experiments import FINAL, Experiment, Job

__all__ = ["FINAL", "HEADER", "PLAN", "Job", "make_jobs", "read_plan", "run_jobs", "slug", "write_plan"]

PLAN = "plan.json"
HEADER = ("command", "versions", "hardware", "workers")  # of a plan, at least: what runs were made with

RunJob = Callable[[Job, bool], None]


def make_jobs(experiment: Experiment, common: Mapping[str, Any], seeds: Sequence[int], out: Path) -> list[Job]:
    """All jobs, the seeds of a condition one after another: they share its knowledge, which is dear to set up.

    :param common: fields of the config from the command line; they hold for every condition.
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
    """The experiment with some of its conditions; without labels, with all that run unasked.

    :raises InputError: a label that it does not have.
    """
    for label in labels:
        if label not in experiment.conditions:
            raise InputError(f"{experiment.name} has no {label!r}; it has {', '.join(experiment.conditions)}")
    kept = labels or [label for label, one in experiment.conditions.items() if not one.on_demand]
    return replace(experiment, conditions={label: experiment.conditions[label] for label in kept})


def slug(label: str) -> str:
    """A label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def write_plan(
    out: Path, experiment: Experiment, common: Mapping[str, Any], header: Mapping[str, Any], asked: Sequence[str]
) -> None:
    """Write plan.json, or check the one that is there: InputError where its runs have other settings.

    Conditions that the experiment did not have when the folder was begun are added.

    :param header: what is told about the runs (command, versions, hardware, hashes); it is replaced by the newest, and
        kept as "made" for the conditions that are run now.
    :param asked: the conditions that are run now.
    """
    settings = {label: _portable(_settings(experiment, label, common)) for label in experiment.conditions}
    plan = json.loads(json.dumps({"experiment": experiment.name, "settings": settings, **header}))
    made: dict[str, Any] = {}
    if (out / PLAN).is_file():
        before = read_json(out / PLAN)
        made = before.get("made", {})
        if differs := _difference(before, plan, experiment.kind.fixed):
            raise InputError(
                f"{out} holds runs that differ in {differs}: "
                "give another folder with --out, or the same settings to go on there"
            )
    elif out.is_dir() and not all(map(is_part, out.iterdir())):
        raise InputError(f"{out} is not empty and holds no experiment: give another folder with --out")
    now = {key: plan[key] for key in HEADER}
    write_json(out / PLAN, {**plan, "made": {**made, **dict.fromkeys(asked, now)}})


def read_plan(out: Path) -> dict[str, Any]:
    """What `write_plan` wrote; InputError where it wrote nothing there."""
    if not (out / PLAN).is_file():
        raise InputError(f"{out}: no {PLAN}, so no experiment was run there")
    return read_json(out / PLAN)


def run_jobs(jobs: Sequence[Job], workers: int, run: RunJob) -> Iterator[tuple[Job, float]]:
    """Run the jobs that are not complete and yield each with its wall time in seconds as it ends.

    Those that look into runs of others come after all others. One worker runs them in this process; more run in
    processes of their own, each with its share of the cores: torch with more threads than cores is slower by an order
    of magnitude. The first error stops what has not started yet; complete runs stay and are skipped the next time.
    Raises InputError where a process was killed.
    """
    waiting = [job for job in jobs if not job.complete]
    stages = [job for job in waiting if job.source is None], [job for job in waiting if job.source is not None]
    if workers == 1:
        for job in (job for stage in stages for job in stage):
            yield job, _timed(run, job, progress=True)
        return
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
    """Processes, each with its share of the cores; InputError where one of them was killed."""
    threads = max(1, usable_cores() // workers)
    try:
        # Spawned, not forked: a forked child inherits torch's thread pools in whatever state they are.
        with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, (threads,)) as pool:
            yield pool
    except BrokenProcessPool:
        raise InputError(
            "a process was killed, as happens for want of memory: use fewer --workers. Complete runs are kept, the "
            "same command goes on"
        ) from None


def _settings(experiment: Experiment, label: str, common: Mapping[str, Any]) -> dict[str, Any]:
    return {**experiment.base, **experiment.conditions[label].settings, **common}


def _portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the folders of this machine."""
    return {
        key: Path(value).name if isinstance(value, (str, Path)) and os.sep in str(value) else value
        for key, value in settings.items()
    }


def _timed(run: RunJob, job: Job, progress: bool = False) -> float:
    started = perf_counter()
    run(job, progress)
    return perf_counter() - started


def _begin_worker(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    Finalize(None, print_notes(), exitpriority=0)


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], fixed: Sequence[str]) -> str | None:
    """The first thing that differs, in words."""
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
