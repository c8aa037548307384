"""SEGAR's experiments as data, and their report; the runs of one condition are real ones, made small."""

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from gumption.agents.segar.config import SegarConfig
from gumption.scripts.experiment import find_experiment, make_jobs, run_experiment
from gumption.scripts.papers.segar.experiments import (
    EXPERIMENTS,
    LEVELS,
    PAPER,
    Options,
    correlations,
    gap_relations,
    information_relations,
)
from gumption.scripts.results import gather, slug, with_saved, write_report

TINY = {"num_envs": 4, "n_steps": 8, "minibatches": 2, "total_steps": 32, "eval_interval": 32, "test_levels": 4}
SMALL = {"device": "cpu", **TINY}
PIXELS = {**SMALL, "resolution": 16}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_are_well_formed(name, tmp_path):
    experiment = EXPERIMENTS[name]
    assert find_experiment(experiment.name) is experiment
    for paper in (False, True):
        jobs = make_jobs(experiment, experiment.kind.settings(Options(paper=paper), "cpu"), [0], tmp_path)
        configs = [SegarConfig(**job.settings) for job in jobs]
        assert len({slug(job.label) for job in jobs}) == len(jobs)
        if paper and name != "segar-gates":  # which is of no paper
            assert {config.total_steps for config in configs} == {1_000_000}
            assert {config.observation for config in configs} == {"rgb"}
            assert {config.parallel for config in configs if config.algorithm == "ppo"} == {64}


def test_the_papers_size_is_that_of_table_1():
    assert SegarConfig(**PAPER) == SegarConfig(num_levels=100)


def test_the_gap_has_all_cells_and_the_papers_numbers_of_levels():
    gap = EXPERIMENTS["segar-gap"]
    asked = [one for one in gap.conditions.values() if not one.on_demand]
    assert len(asked) == 21 * 3
    assert len(gap.conditions) == 21 * len(LEVELS) == 21 * 5
    assert gap.seeds == 3


def study(x, gap, **further):
    player = {"return": -1.0, "success": 0.5}
    distances = {"factors": x, "types": 100.0}
    return {"train": {"trained": player}, "test": {"trained": player, "gap": gap, "w2": distances, **further}}


def row(levels, points, panels=()):
    runs = {str(seed): study(*point) for seed, point in enumerate(points)}
    return {"condition": levels, "settings": {"levels": levels}, "panels": list(panels), "runs": runs}


def test_relations_are_over_all_cells_within_cells_and_by_kind_and_difficulty():
    rng = np.random.default_rng(0)
    x = rng.random((2, 6))
    lines = [row("empty-easy", np.stack([x[0], x[0]], 1)), row("tilesx1-hard", np.stack([x[1] + 5, x[1] - 5], 1))]
    found = {(one["part"], one["x"]): one for one in correlations(gap_relations(lines))}
    pooled = stats.pearsonr([*x[0], *(x[1] + 5)], [*x[0], *(x[1] - 5)]).statistic
    assert pooled < -0.9
    assert found["all cells", "W2, factors"]["pearson"][0] == pytest.approx(pooled, rel=1e-4)
    assert found["all cells, within cells", "W2, factors"]["pearson"][0] == pytest.approx(1)
    assert found["empty, easy", "W2, factors"]["points"] == 6
    assert found["tiles, hard", "W2, factors"]["pearson"][0] == pytest.approx(1)
    assert "points" not in found["all cells", "W2, types"], "a constant has no correlation"
    assert ("objects, hard", "W2, factors") not in found


def test_relations_to_information_are_by_panel():
    def told(accuracy, gap):
        made = study(0.0, gap, information={"accuracy": accuracy, "bound": 0.1, "pairs": 10})
        made["train"]["information"] = {"accuracy": 1 - accuracy, "bound": 0.1, "pairs": 10}
        return made

    runs = {str(i): told(0.5 + 0.1 * i, 0.2 * i) for i in range(5)}
    line = {"condition": "a", "settings": {"levels": "empty-hard"}, "panels": ["CURL"], "runs": runs}
    found = {one["x"]: one for one in correlations(information_relations([line]))}
    assert found["accuracy of the probe, test levels"]["pearson"][0] == pytest.approx(1)
    assert found["accuracy of the probe, train levels"]["pearson"][0] == pytest.approx(-1)
    assert {one["part"] for one in found.values()} == {"CURL"}


def made(name, labels, settings, folder, seeds=2):
    """Run conditions of an experiment for real, and write its report."""
    whole = EXPERIMENTS[name]
    run_experiment(Console(quiet=True), whole, settings, seeds, 1, folder, labels)
    results = gather(folder, whole)
    saved = folder / "saved"
    write_report(results, whole, saved)
    joined = with_saved(results, whole, {"settings": {}}, saved)
    assert joined["rows"] == results["rows"]
    assert whole.kind.overview(results, whole)
    return results, (saved / "table.md").read_text(), {path.name for path in saved.iterdir()}


@pytest.mark.slow
def test_the_gap_is_run_and_reported(tmp_path):
    labels = ["empty-easy, 1 level", "empty-easy, 10 levels"]
    results, table, files = made("segar-gap", labels, SMALL, tmp_path)
    assert [one["condition"] for one in results["rows"]] == labels
    first = results["rows"][0]["runs"]["0"]
    assert first["train"]["trained"]["return"] < 0
    assert first["harder"]["w2"]["factors"] > first["test"]["w2"]["factors"]
    assert "| test | all cells | W2, factors | 4 | 0 |" in table
    assert "| empty-easy, 10 levels | 2 |" in table
    assert {"all.png", "parts.svg", "harder.png", "results.json"} <= files


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "settings"),
    [
        ("segar-information", "empty-hard, 1 level, PPO", PIXELS),
        ("segar-auxiliary", "tilesx2-hard, 1 level, CURL", PIXELS),
        ("segar-auxiliary", "tilesx2-hard, 1 level, SPR", PIXELS),
        ("segar-hidden-mass", "objectsx2-hard, 1 level, mass hidden, 4 frames", SMALL),
    ],
)
def test_information_is_probed_and_reported(tmp_path, monkeypatch, name, label, settings):
    monkeypatch.setattr("gumption.scripts.papers.segar.experiments.PROBED", 200)
    results, table, files = made(name, [label], settings, tmp_path)
    told = results["rows"][0]["runs"]["0"]["test"]["information"]
    assert 0 <= told["accuracy"] <= 1
    assert "accuracy of the probe, test levels" in table
    assert "parts.png" in files


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["PPO", pytest.param("SAC", marks=pytest.mark.slow)])
def test_curves_are_run_and_reported(tmp_path, learner):
    common = {**SMALL, "eval_interval": 16, "learning_starts": 8, "batch_size": 4}
    if learner == "SAC":
        common |= {"num_envs": 1}
    results, table, files = made("segar-curves", [f"empty-easy, 1 level, {learner}"], common, tmp_path)
    assert len(results["rows"][0]["curve"]["train_success"][0]) == (1 if learner == "PPO" else 2)
    assert "curves.png" in files
    assert "scripted" in table
