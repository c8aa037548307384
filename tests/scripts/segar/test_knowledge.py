"""SEGAR's experiment on knowledge: its rows, a run of each method, and what is told of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.scripts.experiment import find_experiment, make_jobs, write_plan
from gumption.scripts.results import Job, gather, write_report

EXPERIMENT = find_experiment("segar-knowledge")
PANEL = "tilesx3, medium"
SMALL = {"device": "cpu", "num_levels": 4, "total_steps": 256, "eval_interval": 256, "eval_episodes": 4}
HEADER: Mapping[str, Any] = {
    "command": "gumption experiment segar-knowledge",
    "versions": {"python": "3"},
    "hardware": {"cpu": "a", "cores": 1},
    "workers": 1,
}


def jobs(out: Path, *names: str) -> list[Job]:
    """One job for each of these rows of the first panel, those that others look into first."""
    kept = {f"{name}, {PANEL}": EXPERIMENT.conditions[f"{name}, {PANEL}"] for name in names}
    made = make_jobs(replace(EXPERIMENT, conditions=kept), SMALL, [0], out)
    return sorted(made, key=lambda job: job.source is not None)


def test_both_kinds_of_levels_have_all_rows_that_tell_knowledge_from_learning() -> None:
    rows = {panel: {one.method for one in EXPERIMENT.conditions.values() if one.panels == (panel,)} for panel in
            (PANEL, "tilesx3, hard")}  # fmt: skip
    wanted = {"train", "kg_only", "by_hand", "untrained", "without_kg", "ppo", "random", "scripted"}
    wanted |= {"oracle", "oracle_train", "oracle_ppo"}
    assert rows == dict.fromkeys(rows, wanted)
    assert EXPERIMENT.seeds == 5
    for label, condition in EXPERIMENT.conditions.items():
        assert condition.of is None or EXPERIMENT.conditions[condition.of].settings == condition.settings, label


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.LeakedFacts")
@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_each_row_is_run_and_told(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    names = [label.removesuffix(f", {PANEL}") for label, one in EXPERIMENT.conditions.items() if PANEL in one.panels]
    kept = replace(
        EXPERIMENT, conditions={f"{name}, {PANEL}": EXPERIMENT.conditions[f"{name}, {PANEL}"] for name in names}
    )
    made = jobs(tmp_path, *names)
    write_plan(tmp_path, kept, SMALL, HEADER, made)
    for job in EXPERIMENT.kind.prepare(made, tmp_path):
        EXPERIMENT.kind.run(job, False)
        assert job.complete
        assert "reach the goal" in EXPERIMENT.kind.told(job)
    results = gather(tmp_path, kept)
    assert [row["condition"] for row in results["rows"]] == list(kept.conditions)
    for row in results["rows"]:
        shares = [row[f"test_{name}"]["iqm"] for name in ("success", "destroyed", "consumed")]
        assert min(shares) >= 0
        assert sum(shares) <= 1
        assert row["test_return"]["iqm"] < 0
    written = write_report(results, kept, tmp_path)
    assert {path.name for path in written} == {"results.json", "table.md", "success.png", "success.svg"}
    assert f"## {PANEL}" in (tmp_path / "table.md").read_text()
    assert EXPERIMENT.kind.headline(results).count("\n") == 2 + len(names)


def test_what_looks_into_a_run_needs_it(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "trained, knowledge taken away")
    with pytest.raises(InputError, match="is not complete: run that condition first"):
        EXPERIMENT.kind.run(job, False)


def test_a_device_that_is_not_used_is_refused() -> None:
    with pytest.raises(InputError, match="--device cuda: these agents are small"):
        EXPERIMENT.kind.settings(None, "cuda")
    assert EXPERIMENT.kind.settings(None, "auto") == {"device": "cpu"}


def test_graphs_that_the_world_does_not_state_are_written_for_the_runs_that_ask_them(tmp_path: Path) -> None:
    names = ("trained with knowledge", "trained, every fact is said to hold", "trained, facts of other rules")
    plain, told, other = EXPERIMENT.kind.prepare(jobs(tmp_path, *names), tmp_path)
    assert plain.settings["kg"] == "full"
    assert ("SandTile", "affordsReaching", "ball") in set(KnowledgeGraph.load(told.settings["kg"]).triples())
    assert ("SandTile", "actsBy", "swallow") in set(KnowledgeGraph.load(other.settings["kg"]).triples())
    assert set(EXPERIMENT.kind.prepare([plain], tmp_path / "none")[0].settings.items()) == set(plain.settings.items())
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_rows_of_older_scores_or_older_questions_are_marked() -> None:
    now = EXPERIMENT.kind.formats()
    rows = [
        {"condition": name, "settings": {"kg": kg}, "made": {"formats": made}}
        for name, kg, made in (
            ("a", "full", {"scores": 2}),
            ("b", "full", now),
            ("c", "none", {name: value for name, value in now.items() if name != "scores"}),
            ("d", "full", {"scores": now["scores"].partition(".")[0] + ".1"}),
        )
    ]
    marked = [row["condition"] for older in EXPERIMENT.kind.older({"rows": rows}).values() for row in older]
    assert marked == ["a", "d"]
