"""`python -m tests.bench link-prediction`: ours beside PyKEEN's ComplEx, on a small data set for a few epochs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import ComplEx, evaluate_ranking
from gumption.scripts.kg.parts import read_dataset
from tests.bench.comparison import EXPERIMENTS, Options

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = {"rank": 4, "epochs": 5, "valid_every": 2, "batch_size": 64, "n3": 0.02, "relation_weight": 0.25, "seed": 3}
KIND = EXPERIMENTS["link-prediction"].kind


@pytest.mark.slow
def test_both_curves_are_measured_drawn_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tuned = tmp_path / "best.json"
    tuned.write_text(json.dumps({**SETTINGS, "patience": 1}), encoding="utf-8")
    command = [sys.executable, "-m", "tests.bench", "link-prediction", "--dataset", "nations", "--seeds", "1"]
    command += ["--tuned", str(tuned), "--out", "runs", "--save", "saved"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(Path("saved/results.json").read_text(encoding="utf-8"))
    assert results["command"].startswith("python -m tests.bench link-prediction --dataset nations")
    assert results["pykeen"]
    assert [row["condition"] for row in results["rows"]] == ["gumption", "PyKEEN"]
    vocabulary, ids = read_dataset("nations")
    parts = {part: vocabulary.ids_to_triples(rows) for part, rows in ids.items()}
    for row in results["rows"]:
        run = row["runs"]["0"]
        assert [look["epoch"] for look in run["curve"]] == [2, 4, 5]
        seconds = [look["cpu_s"] for look in run["curve"]]
        assert sorted(seconds) == seconds
        assert seconds[0] > 0
        assert run["cpu_s"] == seconds[-1]
        best = max(run["curve"], key=lambda look: look["valid_mrr"])
        assert run["test"]["mrr"] == best["test_mrr"]
    fitted = {name: value for name, value in SETTINGS.items() if name not in ("seed", "valid_every")}
    model = ComplEx.fit(parts["train"], vocabulary=vocabulary, device="cpu", **fitted)
    last = results["rows"][0]["runs"]["0"]["curve"][-1]
    known = list(parts.values())
    assert last["valid_mrr"] == evaluate_ranking(model, parts["valid"], known)["mrr"]
    assert last["test_mrr"] == evaluate_ranking(model, parts["test"], known)["mrr"]
    assert Path("saved/curves.svg").read_text(encoding="utf-8").count("CPU seconds of training") == 2
    table = Path("saved/table.md").read_text(encoding="utf-8")
    assert f"| PyKEEN | 1 | {results['rows'][1]['runs']['0']['test']['mrr']:.4f} |" in table


@pytest.mark.parametrize(
    ("options", "device", "message"),
    [
        (Options(), "cpu", "give a data set with --dataset"),
        (Options("nowhere/at/all"), "cpu", "has no train.txt or train.tsv"),
        (Options("nations"), "cuda", "--device cuda: CPU time is compared"),
        (Options("nations", Path("none.json")), "cpu", "none.json: cannot be read"),
    ],
)
def test_what_cannot_be_compared(options: Options, device: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        KIND.settings(options, device)
