"""The link-prediction experiments: run for real on a few facts, reported, gone on with, refused."""

import json
import shutil
from pathlib import Path

import pytest

from gumption.kg import ComplEx, evaluate_ranking
from gumption.scripts import cli
from gumption.scripts.papers.kg.experiments import EXPERIMENTS, KIND
from gumption.scripts.results import Condition, Experiment

TINY = Experiment(
    "tiny",
    "-",
    "A cycle and its inverse",
    KIND,
    {
        "small": Condition({"rank": 4, "epochs": 6, "valid_every": 2}, known=0.9, target=0.5),
        "large": Condition({"rank": 8}, on_demand=True),
    },
    "nobody",
    seeds=2,
)


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Eight things in a cycle: train.txt, valid.txt and test.txt as WN18RR has them."""
    folder = tmp_path / "facts"
    folder.mkdir()
    rows = [f"e{i}\tnext\te{(i + 1) % 8}\n" for i in range(8)] + [f"e{(i + 1) % 8}\tlast\te{i}\n" for i in range(8)]
    for part, chosen in (("train", rows[:12]), ("valid", rows[12:14]), ("test", rows[14:])):
        (folder / f"{part}.txt").write_text("".join(chosen), encoding="utf-8")
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setitem(EXPERIMENTS, "tiny", TINY)
    monkeypatch.setattr("sys.argv", ["gumption", "experiment", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code if isinstance(ended.value.code, int) else 0


def test_runs_are_made_ranked_and_told(facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, saved = tmp_path / "runs", tmp_path / "saved"
    assert run(monkeypatch, "tiny", "--facts", facts, "--out", out, "--save", saved) == 0
    results = json.loads((saved / "results.json").read_text(encoding="utf-8"))
    [row] = results["rows"]
    assert (row["condition"], row["published"], row["target"]) == ("small", 0.9, 0.5)
    assert list(row["runs"]) == ["0", "1"]
    model = ComplEx.load(out / "small" / "seed-1" / "model", device="cpu")
    parts = [
        [tuple(line.split("\t")) for line in (facts / f"{part}.txt").read_text(encoding="utf-8").splitlines()]
        for part in ("train", "valid", "test")
    ]
    assert row["runs"]["1"]["test"] == evaluate_ranking(model, parts[2], known=parts)
    assert row["runs"]["1"]["by_relation"]["last"]["facts"] == 2
    assert [epoch["epoch"] for epoch in row["runs"]["0"]["history"]] == [1, 2, 3, 4, 5, 6]
    assert row["runs"]["0"]["wall_s"] >= 0
    assert results["versions"]["torch"]
    assert str(tmp_path) not in json.dumps(results)
    table = (saved / "table.md").read_text(encoding="utf-8")
    assert KIND.headline(results) in table
    assert f"{sum(one['test']['mrr'] for one in row['runs'].values()) / 2:.4f}" in table

    # Complete runs are kept; another setting joins them.
    before = (out / "small" / "seed-0" / "final.json").stat().st_mtime_ns
    assert run(monkeypatch, "tiny", "--facts", facts, "--out", out, "--setting", "large", "--seeds", "1") == 0
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [row["condition"] for row in results["rows"]] == ["small", "large"]
    assert (out / "small" / "seed-0" / "final.json").stat().st_mtime_ns == before


def test_a_resumed_run_does_not_tell_a_time(facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "tiny", "--facts", facts, "--out", tmp_path / "runs", "--seeds", "1") == 0
    shutil.rmtree(tmp_path / "runs" / "small" / "seed-0")
    (tmp_path / "runs" / "small" / "seed-0" / "training").mkdir(parents=True)
    assert run(monkeypatch, "tiny", "--facts", facts, "--out", tmp_path / "runs", "--seeds", "1") == 0
    final = json.loads((tmp_path / "runs" / "small" / "seed-0" / "final.json").read_text(encoding="utf-8"))
    assert final["wall_s"] is None
    assert "| - | - |" in (tmp_path / "runs" / "table.md").read_text(encoding="utf-8")


def test_what_is_missing_is_told(
    facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tiny") == 2
    assert "give the folder of train.txt, valid.txt and test.txt with --facts" in capsys.readouterr().err
    assert run(monkeypatch, "tiny", "--facts", facts, "--setting", "huge") == 2
    assert "tiny has no 'huge'; it has small, large" in capsys.readouterr().err
    (facts / "valid.txt").unlink()
    assert run(monkeypatch, "tiny", "--facts", facts) == 2
    assert "has no valid.txt or valid.tsv: give the folder of the data set with --facts" in capsys.readouterr().err


def test_every_setting_is_one_that_fit_takes() -> None:
    from gumption.kg.links.training_settings import TrainingSettings

    mine = [one for one in EXPERIMENTS.values() if one.kind is KIND]
    for condition in (condition for one in mine for condition in one.conditions.values()):
        TrainingSettings(**condition.settings)
    assert [one.name for one in mine] == ["wn18rr"]
