"""`gumption experiment probsol-families` and probsol-goals: small runs for real, from training to the tables."""

import json

import pytest
from rich.console import Console

from gumption.kg import KnowledgeGraph
from gumption.scripts.experiment import known_experiments, run_experiment
from gumption.scripts.papers.probsol.experiments import EXPERIMENTS, FAMILIES
from gumption.scripts.results import gather, slug, with_saved, write_report

SMALL = {
    "num_envs": 4, "n_steps": 16, "batch_size": 32, "total_steps": 64, "eval_interval": 64, "eval_tasks": 2,
    "device": "cpu",
}  # fmt: skip


def made(name, labels, folder, seeds=2):
    """Run conditions of an experiment, and write its report."""
    whole = EXPERIMENTS[name]
    run_experiment(Console(quiet=True), whole, SMALL, seeds, 1, folder, labels)
    results, saved = gather(folder, whole), folder / "saved"
    write_report(results, whole, saved)
    told = json.loads((saved / "results.json").read_text())
    assert with_saved(told, whole, {"settings": {}}, saved)["rows"] == told["rows"]
    assert whole.kind.overview(told, whole)
    return told, (saved / "table.md").read_text(), {path.name for path in saved.iterdir()}


def test_the_experiments_are_offered_with_five_seeds():
    assert EXPERIMENTS.items() <= known_experiments().items()
    assert {one.seeds for one in EXPERIMENTS.values()} == {5}
    conditions = EXPERIMENTS["probsol-families"].conditions
    for family in FAMILIES:
        left_out = conditions[f"{family}, left out: MaskablePPO"].settings
        assert left_out["test"] == family
        assert len(left_out["task"]) == 5
        assert f"{family.lower()}/generated" not in left_out["task"]


@pytest.mark.slow
def test_players_on_test_tasks_are_run_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("gumption.scripts.papers.probsol.experiments.TASKS", 3)
    labels = [f"Curling: {name}" for name in ("MaskablePPO", "untrained", "random", "do nothing")]
    results, table, files = made("probsol-families", labels, tmp_path)
    assert [row["condition"] for row in results["rows"]] == labels
    trained, _, _, nothing = results["rows"]
    assert (trained["steps"], trained["tasks"], len(trained["seeds"])) == (64, 3, 2)
    assert (nothing["solved"]["iqm"], nothing["rate"]["iqm"], nothing["actions"]["iqm"]) == (0.0, 0.0, None)
    assert "## Curling" in table
    assert "| do nothing | 2 | 3 | 0% (0% to 0%) | 0.000" in table
    assert "auccess.png" in files


@pytest.mark.slow
def test_rows_with_knowledge_true_constant_false_and_taken_away(tmp_path, monkeypatch):
    monkeypatch.setattr("gumption.scripts.papers.probsol.experiments.TASKS", 3)
    whole = EXPERIMENTS["probsol-families"].conditions
    labels = [label for label in whole if label.startswith("Fishing: ") and "kg" in whole[label].settings]
    assert len(labels) == 6
    results, table, _ = made("probsol-families", labels, tmp_path, seeds=1)
    assert [row["condition"] for row in results["rows"]] == labels
    assert {path.name for path in tmp_path.glob("*.nq")} == {"constant-fishing.nq", "false-fishing.nq"}
    true, constant, false = (
        KnowledgeGraph.load(tmp_path / folder / "seed-0" / "knowledge" / "graph.nq")
        for folder in (slug(labels[0]), slug(labels[4]), slug(labels[5]))
    )
    asked = "fishing/seed-0:a", "attracts"
    assert len(list(constant.triples(*asked))) > len(list(true.triples(*asked)))
    assert {t for t in true.triples() if t[1] == "attracts"} != {t for t in false.triples() if t[1] == "attracts"}
    assert "knowledge taken away" in table


@pytest.mark.slow
def test_the_study_of_goals_is_run_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("gumption.scripts.papers.probsol.goals.LAYOUTS", 2)
    results, table, _ = made("probsol-goals", ["do nothing", "naive"], tmp_path, seeds=1)
    nothing, naive = results["rows"]
    assert len(nothing["episodes"]) == len(naive["episodes"]) == 6 * 2 * 3
    assert {one["strategy"] for one in nothing["episodes"]} == {"check only"}
    assert {one["constraint"] for one in nothing["episodes"]} == {1.0}
    assert nothing["hypotheses"]["agreement"]["value"] == 1.0
    assert set(nothing["hypotheses"]["entropy"].values()) == {0.0}
    assert results["comparison"]["preferences"]["do nothing"] == "constraint > solution"
    assert "## Equation 7" in table
    assert "| do nothing | 0.00 | 0.00 | 1.00 |" in table
