"""The runs of WordCraft's experiments: training or a baseline, and what is read of them again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from gumption.data import InputError
from gumption.data.provenance import command_line, hardware, versions
from gumption.data.writing import write_json

from .jobs import FINAL, Job, read_json
from .wordcraft import EXPERIMENTS, Experiment

FIXED = ("recipe_book_hash", "split_hash")  # runs of another book or split do not stand beside each other


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; InputError with the known names otherwise."""
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; known are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


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
