"""The runs of HALMA's experiments: train an agent, make the tests that fit what it has seen, and play them.

Each run directory has what training leaves, splits/ and, last, evaluation.json. What is there is kept: a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.provenance import command_line, hardware, versions
from gumption.data.writing import write_json

from .halma import EXPERIMENTS, HALMAExperiment
from .jobs import FINAL, PLAN, Job, make_jobs, read_json, read_plan, slug

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

SPLITS = "splits"  # of a run
SPACE = "space"  # of an experiment: the pretrained model
PROBE = "probe.json"  # of the model: what a linear classifier reads off its slots
SPACE_STEPS = 3_000
MAZES = 50  # of RT and of each diagnostic test (F.1)
SEEDS = (0, 1, 2)  # with which each test is played (F.1)


def find_experiment(name: str, only: Sequence[str] = ()) -> HALMAExperiment:
    """The experiment of that name.

    :param only: the agents that are wanted, by name; all where it is empty.
    :raises InputError: an agent that it does not have.
    """
    experiment = EXPERIMENTS[name]
    for label in only:
        if label not in experiment.conditions:
            raise InputError(f"{name} has no {label!r}; it has {', '.join(experiment.conditions)}")
    if not only:
        return experiment
    return replace(experiment, conditions={label: experiment.conditions[label] for label in only})


def plan_header(device: str, workers: int, agents: Iterable[str], out: Path) -> dict[str, Any]:
    """What plan.json tells about the runs beside their settings: the newest command, and by agent, as "made", the
    newest that runs it.

    :param agents: those that are run now; what the plan in `out` says of others stays.
    """
    header = {
        "command": command_line(sys.argv[1:]),
        "versions": versions(),
        "hardware": hardware(device),
        "workers": workers,
    }
    before = read_plan(out).get("made", {}) if (out / PLAN).is_file() else {}
    return {**header, "made": {**before, **dict.fromkeys(agents, header)}}


def halma_jobs(experiment: HALMAExperiment, common: Mapping[str, Any], seeds: Sequence[int], out: Path) -> list[Job]:
    """All jobs; agents on SPACE are given the experiment's pretrained model."""
    from gumption.agents.halma.evaluation import EVALUATION

    jobs = make_jobs(experiment, common, seeds, out, EVALUATION)
    return [
        replace(job, settings={**job.settings, "space_model": str(out / SPACE)})
        if job.settings["agent"] == "space"
        else job
        for job in jobs
    ]


def pretrain(jobs: Sequence[Job]) -> None:
    """Train and probe the SPACE model that the jobs want, if they want one and are not complete yet."""
    wanted = next((job for job in jobs if job.settings["agent"] == "space" and not job.complete), None)
    if wanted is None:
        return
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.probe import probe_model
    from gumption.agents.halma.space_training import PRESETS, pretrain_space
    from gumption.envs.halma import Mazes, sample_mazes
    from gumption.envs.halma.visual import PanelPainter

    config = HALMAConfig(**wanted.settings)
    mazes = Mazes(sample_mazes(config.num_mazes, config.maze_seed, config.mean_depth, config.mean_branches))
    model, learning = PRESETS["fast"]
    folder = Path(wanted.settings["space_model"])
    painter = PanelPainter(config.images)
    pretrain_space(
        mazes, painter, run_dir=folder, steps=SPACE_STEPS, device=config.device, config=model, learning=learning,
        resume=folder.is_dir(),
    )  # fmt: skip
    if not (folder / PROBE).is_file():
        write_json(folder / PROBE, probe_model(folder))


def run_job(job: Job, progress: bool) -> None:
    """Train, make the tests, play them. A training goes on where it was stopped; one that is complete is kept."""
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.evaluation import EVALUATION, evaluate_splits, save_evaluation
    from gumption.agents.halma.runs import load_run
    from gumption.agents.td3 import train_td3
    from gumption.envs.halma.split_files import make_splits, read_run

    if (job.directory / FINAL).is_file():
        run = load_run(job.directory)
    else:
        run = train_td3(HALMAConfig(**job.settings), job.directory, resume=True, progress=progress)
    splits = make_splits(read_run(job.directory), job.directory / SPLITS, seed=job.seed, mazes=MAZES)
    save_evaluation(job.directory / EVALUATION, evaluate_splits(run, splits, seeds=SEEDS))


def training_seconds(directory: Path) -> float | None:
    """Wall time of a run's training."""
    return read_json(directory / FINAL).get("wall_s")


def build_graph(runs: Mapping[str, Path]) -> KnowledgeGraph:
    """A graph of the knowledge bases of runs, each in the named graph halma/NAME."""
    from gumption.envs.halma import KnowledgeBases, Memory
    from gumption.envs.halma.memory import FOLDER
    from gumption.kg import KnowledgeGraph

    graph = KnowledgeGraph()
    for name, run in runs.items():
        KnowledgeBases.of(Memory.load(run / FOLDER)).add_to(graph, slug(name))
    return graph


def inferred_pairs(graph: KnowledgeGraph, name: str) -> list[tuple[int, int]]:
    """The pairs that a run of `build_graph` knows through affordance only: with no types in KB_S or KB_C."""
    from gumption.envs.halma.facts import THROUGH_AFFORDANCE_ONLY

    answers = graph.query(THROUGH_AFFORDANCE_ONLY, run=slug(name))
    return sorted((int(answer["greater"]), int(answer["lesser"])) for answer in answers)
