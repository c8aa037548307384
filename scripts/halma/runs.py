"""The runs of HALMA's experiments: train an agent, make the tests that fit what it has seen, and play them.

Each run directory has what training leaves, splits/ and, last, evaluation.json. What is there is kept: a run that was
stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.reading import read_json
from gumption.data.settings import Count, settings
from gumption.data.writing import write_json
from gumption.scripts.experiments import FINAL, Condition, Experiment, Job, Kind
from gumption.scripts.jobs import slug

from . import report

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gumption.kg import KnowledgeGraph

SPLITS = "splits"  # of a run
SPACE = "space"  # of an experiment: the pretrained model
PROBE = "probe.json"  # of the model: what a linear classifier reads off its slots
SPACE_STEPS = 3_000
MAZES = 50  # of RT and of each diagnostic test (F.1)
SEEDS = (0, 1, 2)  # with which each test is played (F.1)


@settings
class Options:
    """Of the command line, for HALMA's experiments alone."""

    episodes: Annotated[
        Count | None,
        typer.Option(help="Episodes of each training.  (default: the paper's 2,000; halma-quick: 1,000)"),
    ] = None


class HALMARuns(Kind):
    """HALMA's experiments."""

    title = "HALMA's experiments"
    options = Options
    last = "evaluation.json"

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """The device, and the episodes where they were given."""
        return {"device": device} | ({} if options.episodes is None else {"episodes": options.episodes})

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs; those of agents on SPACE with the experiment's model, which is pretrained."""
        jobs = with_space(jobs, out)
        pretrain(jobs)
        return jobs

    def run(self, job: Job, progress: bool) -> None:
        """Train, make the tests, play them."""
        run_job(job, progress)

    def told(self, job: Job) -> str:
        """The goals reached in each test."""
        from gumption.agents.halma.evaluation import load_evaluation

        tests = load_evaluation(job.directory / self.last)["tests"]
        shown = (f"{test} {tests[test]['rho_g']['mean']:.0%}" for test in tests if tests[test]["mazes"])
        return f"goals reached in {', '.join(shown)}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """A column of Table 1, that of the best run, and the curves."""
        return report.row(runs)

    def more(self, rows: Sequence[Mapping[str, Any]], directory: Path) -> dict[str, Any]:
        """The paper's columns, and what the probe of SPACE's model found."""
        probe = directory / SPACE / PROBE
        return {"paper": report.published(rows), "probe": read_json(probe) if probe.is_file() else None}

    def joined(
        self, results: Mapping[str, Any], saved: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The same of both together."""
        return {"paper": report.published(rows), "probe": results["probe"] or saved["probe"]}

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """Table 1 with the paper's figures, and where it is from."""
        return "\n".join(report.table(experiment, results)) + "\n"

    def headline(self, results: Mapping[str, Any]) -> str:
        """rho_g and rho_p of each test."""
        return report.headline(results)

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """Table 1."""
        return report.overview(experiment, results)

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Table 1 and learning curves, or what the experiment varies."""
        return report.plots(experiment, results, directory)


KIND = HALMARuns()


def with_space(jobs: Sequence[Job], out: Path) -> list[Job]:
    """The jobs, where agents on SPACE are given the experiment's pretrained model."""
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
    from gumption.agents.halma.evaluation import EVALUATION, comparisons, evaluate_splits, save_evaluation
    from gumption.agents.halma.runs import load_run, train_td3
    from gumption.envs.halma.splits import make_splits, read_run

    if (job.directory / FINAL).is_file():
        run = load_run(job.directory)
    else:
        run = train_td3(HALMAConfig(**job.settings), job.directory, resume=True, progress=progress)
    splits = make_splits(read_run(job.directory), job.directory / SPLITS, seed=job.seed, mazes=MAZES)
    evaluation = evaluate_splits(run, splits, seeds=SEEDS, beside=comparisons(run))
    save_evaluation(job.directory / EVALUATION, evaluation)


def ask_graph(runs: Mapping[str, Path], folder: Path) -> list[str]:
    """Put the knowledge bases of runs into one graph, save it as kg.nq, and tell what was inferred."""
    graph = build_graph(runs)
    graph.save(folder / "kg.nq")
    lines = ["", f"What the agents have understood is in {folder / 'kg.nq'}, {len(graph):,} facts."]
    for label in runs:
        pairs = inferred_pairs(graph, label)
        shown = ", ".join(f"{d1} > {d2}" for d1, d2 in pairs[:12]) + (" ..." if len(pairs) > 12 else "")
        lines.append(f"Pairs that {label} knows through affordance only: {len(pairs)}  {shown}")
    return lines


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
    from gumption.envs.halma.knowledge_base import THROUGH_AFFORDANCE_ONLY

    answers = graph.query(THROUGH_AFFORDANCE_ONLY, run=slug(name))
    return sorted((int(answer["greater"]), int(answer["lesser"])) for answer in answers)
