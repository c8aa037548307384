"""What tests of HALMA's experiments share: runs that are stood in for."""

import json
from pathlib import Path

import pytest

from gumption.agents import plots
from gumption.agents.halma import plots as halma_plots
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import DRAWN, EVALUATION, MEASURES, ROWS, label, save_evaluation
from gumption.data.sealed import write_sealed
from gumption.scripts.papers.halma.experiments import HALMARuns
from gumption.scripts.results import Job

LEVELS = {"mlp": 0.4, "lstm": 0.5, "tran": 0.6, "tran+lstm": 0.7, "cnn+mlp": 0.2, "cnn+tran": 0.1, "space": 0.05}


def stand_in(job: Job, progress: bool) -> None:
    """A run that does as well in everything as its agent and seed say, and has no AnT."""
    config = HALMAConfig(**job.settings)
    value = 0.95 if config.agent == "graph" else LEVELS[config.agent] + 0.01 * job.seed
    job.directory.mkdir(parents=True)
    lines = [
        {"episode": episode + job.seed, "finished_trials": value * episode / 20, "valid_moves": value * episode / 200}
        for episode in range(20, 201, 20)
    ]
    (job.directory / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_sealed(job.directory / "final.json", {"wall_s": 10.0 + job.seed})
    told = {"mean": value, "std": 0.0, "low": value, "high": value, "per_seed": [value], "per_maze": [value] * 4}
    tests = {test: {"mazes": 4, "reason": None, **dict.fromkeys(MEASURES, told)} for test in ROWS}
    tests["AnT"] = {"mazes": 0, "reason": "nothing follows"}
    kept = {"schema": "gumption/halma-evaluation/1", "agent": label(config), "config": config.to_json()}
    beside = {"random": tests, "oracle": tests} if config.agent == "graph" else {}
    if config.learner == "td3":
        beside[label(config) + DRAWN] = tests
    evaluation = {**kept, "seeds": [0], "knowledge": "k", "tests": tests, "beside": beside}
    save_evaluation(job.directory / EVALUATION, evaluation)


@pytest.fixture
def run(monkeypatch, experiment):
    """Call the command with the stand-in for runs; returns what it printed."""
    monkeypatch.setattr(HALMARuns, "run", lambda kind, job, progress: stand_in(job, progress))
    monkeypatch.setenv("COLUMNS", "220")
    return experiment


@pytest.fixture
def no_pictures(monkeypatch):
    """Plots are drawn into empty files: drawing them is most of the work here."""

    def empty(draw, size, stem: Path, title: str = "") -> tuple[Path, Path]:
        paths = stem.with_suffix(".png"), stem.with_suffix(".svg")
        for path in paths:
            path.write_bytes(b"")
        return paths

    for module in (plots, halma_plots):
        monkeypatch.setattr(module, "save_figure", empty)
