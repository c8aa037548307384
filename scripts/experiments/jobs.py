"""The runs of an experiment: one job for each condition and seed, skipped where it is complete, resumable after a kill.

A folder of an experiment holds plan.json (what is run, with what, on what) and CONDITION/seed-N/, each a run directory
that is complete once final.json is in it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from gumption.data import InputError
from gumption.data.provenance import command_line, hardware, usable_cores, versions
from gumption.data.writing import write_json

from .wordcraft import EXPERIMENTS, Experiment, Method

PLAN = "plan.json"
FINAL = "final.json"
# What must stay the same for new runs to stand beside the ones that a folder has already.
_FIXED = ("experiment", "settings", "recipe_book_hash", "split_hash", "word_vectors")


@dataclass(frozen=True)
class Job:
    """One condition with one seed: the TrainConfig fields to run it with, and where its run directory is."""

    label: str
    seed: int
    method: Method
    settings: Mapping[str, Any]
    directory: Path

    @property
    def complete(self) -> bool:
        """Whether its final figures are written, which is the last thing a run does."""
        return (self.directory / FINAL).is_file()


RunJob = Callable[[Job, bool], None]


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; InputError with the known names otherwise."""
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; known are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def make_jobs(experiment: Experiment, common: Mapping[str, Any], seeds: Sequence[int], out: Path) -> list[Job]:
    """All jobs, the seeds of a condition one after another: they share its knowledge, which is dear to set up.

    `common` are TrainConfig fields from the command line; they hold for every condition.
    """
    return [
        Job(
            label,
            seed,
            condition.method,
            _settings(experiment, label, common) | {"seed": seed},
            out / slug(label) / f"seed-{seed}",
        )
        for label, condition in experiment.conditions.items()
        for seed in seeds
    ]


def slug(label: str) -> str:
    """A label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def write_plan(out: Path, experiment: Experiment, common: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    """Write plan.json, or check the one that is there: InputError where its runs have other settings or another book.

    `header` holds what is told about the runs (command, versions, hardware, hashes); it is replaced by the newest.
    """
    settings = {label: _portable(_settings(experiment, label, common)) for label in experiment.conditions}
    plan = json.loads(json.dumps({"experiment": experiment.name, "settings": settings, **header}))
    if (out / PLAN).is_file():
        before = read_json(out / PLAN)
        changed = [key for key in _FIXED if before.get(key) != plan.get(key)]
        if changed:
            raise InputError(
                f"{out} holds runs that differ in {_difference(before, plan, changed[0])}: "
                "give another folder with --out, or the same settings to go on there"
            )
    elif out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} is not empty and holds no experiment: give another folder with --out")
    write_json(out / PLAN, plan)


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


def run_job(job: Job, progress: bool) -> None:
    """Train the agent of a job, or measure its baseline; either leaves final.json in the job's directory."""
    from gumption.agents import baselines
    from gumption.agents.impala import TrainConfig, train_impala

    config = TrainConfig(**job.settings)
    if job.method == "train":
        train_impala(config, run_dir=job.directory, progress=progress, resume=True)
        return
    measure = {
        "random": baselines.random_success,
        "kg_only": baselines.kg_only_success,
        "oracle": baselines.oracle_success,
    }[job.method]
    started = perf_counter()
    final = measure(config, seed=job.seed)
    write_json(job.directory / FINAL, {**final, "wall_s": perf_counter() - started})


def plan_header(book: Any, split: Any, device: str, workers: int) -> dict[str, Any]:
    """What plan.json tells about the runs beside their settings; `book` is a RecipeBook, `split` its Split."""
    return {
        "command": command_line(sys.argv[1:]),
        "versions": versions(),
        "hardware": hardware(device),
        "workers": workers,
        "recipe_book": book.name,
        "recipe_book_hash": book.hash,
        "split_hash": split.hash,
    }


def read_final(directory: Path) -> dict[str, Any]:
    """The final figures of a complete run; InputError where they are missing or without a success."""
    final = read_json(directory / FINAL)
    if not isinstance(final, dict) or final.get("test_success") is None:
        raise InputError(f"{directory / FINAL}: no test_success; remove that folder and run again")
    return final


def read_json(path: Path) -> Any:
    """A JSON file of ours; InputError where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); remove the folder it is in and run again") from error


def read_curve(directory: Path) -> list[dict[str, float]]:
    """The evaluations of a run in order: {"step", "test_success"} of each line of metrics.jsonl that has one.

    A run that was resumed may tell a step twice; the last word counts.
    """
    path = directory / "metrics.jsonl"
    if not path.is_file():
        return []
    points: dict[int, float] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: not valid JSON ({error})") from error
        if record.get("test_success") is not None:
            points[int(record["step"])] = float(record["test_success"])
    return [{"step": step, "test_success": points[step]} for step in sorted(points)]


def _settings(experiment: Experiment, label: str, common: Mapping[str, Any]) -> dict[str, Any]:
    return {**experiment.base, **experiment.conditions[label].settings, **common}


def _portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the folders of this machine."""
    return {
        key: Path(value).name if key in ("recipe_book", "word_vectors") and value else value
        for key, value in settings.items()
    }


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
