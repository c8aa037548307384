"""Gradual's experiments: runs, rows and tables of both kinds, with agents that need moments."""

from pathlib import Path
from typing import Any

import pytest

from gumption.agents.run_folder import read_final
from gumption.data import InputError
from gumption.envs.gradual import load_variations
from gumption.scripts.papers.gradual.experiments import (
    AGAIN,
    EXPERIMENTS,
    RECURRENT,
    CurriculumRuns,
    ValidationRuns,
    VariationRuns,
)
from gumption.scripts.results import Condition, Job

MACHINE = {"hardware": {"cpu": "a CPU", "cores": 2}, "versions": {"python": "3"}, "workers": 1, "command": "gumption",
           "expected": "nothing", "experiment": "mine", "title": "Mine", "figure": "-", "notes": ""}  # fmt: skip


def row(kind: Any, label: str, condition: Condition, folder: Path, seeds: int = 2) -> dict[str, Any]:
    """Run a condition and read its row, as `gumption experiment` does."""
    runs = {}
    for seed in range(seeds):
        job = Job(label, seed, condition.method, condition.settings, folder / f"{label}-{seed}")
        kind.run(job, progress=False)
        assert job.complete
        assert kind.told(job) is not None
        runs[seed] = job.directory
    return {"condition": label, **kind.row(condition, runs)}


@pytest.mark.slow
def test_the_curriculum_is_told_by_agent_and_task(tmp_path: Path) -> None:
    kind = CurriculumRuns()
    conditions = {
        "perfect knower": Condition(method="knower"),
        "echo": Condition({"agent": "echo", "max_steps": 300}),
        "recurrent": Condition({"training_steps": 4_096, "max_steps": 300}, RECURRENT),
    }
    rows = [row(kind, label, condition, tmp_path) for label, condition in conditions.items()]
    results = {**MACHINE, "rows": rows}
    told = kind.markdown(EXPERIMENTS["gradual-curriculum"], results)
    assert "| perfect knower | 2 | 46 | 45," in told
    assert "| echo | 2 | 0 | not solved |" in told
    assert "| recurrent | 2 | 0 | not solved |" in told
    assert read_final(tmp_path / "recurrent-1" / "training")["step"] == 4_096
    assert "| micro4 | 50 |" in told
    assert "| mini5 |" in told
    pictures = kind.plots(EXPERIMENTS["gradual-curriculum"], results, tmp_path)
    assert [path.name for path in pictures] == ["steps.png", "steps.svg"]


def test_chains_are_told_with_both_arms(tmp_path: Path) -> None:
    kind = ValidationRuns()
    limit = {"max_steps": 400, "agent": "echo", "orders": 2}
    conditions = {
        "4 -> 2": Condition({**limit, "prerequisites": ["micro4"], "target": "micro2"}, target=1.5),
        "4, 2 -> 4": Condition({**limit, "prerequisites": ["micro2", "micro1"], "target": "micro4"}),
        "played again": Condition({**limit, "tasks": ["micro4", "micro2"]}, AGAIN),
    }
    rows = [row(kind, label, condition, tmp_path) for label, condition in conditions.items()]
    told = kind.markdown(EXPERIMENTS["gradual-validation"], {**MACHINE, "rows": rows})
    assert "| 4 -> 2 | 2 | 1 | none passed | none passed | 1.00 (1.00 to 1.00) | 8.00 | 1 | no |" in told
    assert "| 4, 2 -> 4 | 2 | 2 | 50 | 50 | 1.00 (1.00 to 1.00) | 1.00 | 1 | no |" in told
    assert "| 4, 2 -> 4 | 2 | micro1, micro2 | 50 | 1.00 (1.00 to 1.00) | no |" in told
    assert "| played again | 2 | 2 | - | - | - | - | - | 0 of 0 kept, 2 not told |" in told
    assert "| micro4 | 50 | 50 | 1.00 (1.00 to 1.00) | 50 | not told | not told |" in told
    assert "| micro2 | none passed | none passed | 1.00 (1.00 to 1.00) | none passed | not told | not told |" in told
    assert "Orders: micro2, micro4; micro4, micro2." in told


def test_variations_are_told_with_the_tasks_that_are_passed(tmp_path: Path) -> None:
    kind = VariationRuns()
    each = {"max_steps": 400, "agent": "echo", "tasks": ["micro4", "micro7.1"]}
    conditions = {name: Condition({**each, "variation": name}) for name in ("as it is", "other letters")}
    rows = [row(kind, label, condition, tmp_path) for label, condition in conditions.items()]
    told = kind.markdown(EXPERIMENTS["gradual-variations"], {**MACHINE, "rows": rows})
    assert "| as it is | 2 | 1 of 2 | 1 |" in told
    assert "| other letters | 2 | 1 of 2 | 1 |" in told
    assert "| micro7.1 | - | - |" in told
    assert "| micro4 | 50 | 50 |" in told


def test_the_variations_of_the_experiment_are_those_that_ship() -> None:
    assert list(EXPERIMENTS["gradual-variations"].conditions) == ["as it is", *(one.name for one in load_variations())]


def test_agents_run_on_the_cpu() -> None:
    for experiment in EXPERIMENTS.values():
        assert experiment.kind.settings(None, "auto") == {"device": "cpu"}
        with pytest.raises(InputError, match="agents of Gradual run on the CPU"):
            experiment.kind.settings(None, "cuda")
