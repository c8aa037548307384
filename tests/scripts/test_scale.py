"""The calculation of what fits where rests on what was measured, and says so."""

import json
from pathlib import Path

import pytest

from gumption.scripts.experiments import scale
from gumption.scripts.experiments.scale import LARGE, RANKS, calculate, markdown, run

MEASURED = {
    "training": {
        rank: {"bytes_per_entity": 30.0 * rank, "operations_per_cpu_s": 1e11, "sizes": [1, 2]} for rank in RANKS
    },
    "store": {"facts": 10, "disk_bytes_per_fact": 300.0, "facts_per_s": 20_000.0},
}


def test_the_calculation() -> None:
    rows = calculate(MEASURED)
    assert len(rows) == len(LARGE) * len(RANKS)
    row = next(row for row in rows if row["graph"].startswith("ConceptNet") and row["rank"] == 100)
    assert row["training_bytes"] == 28_000_000 * 3000
    assert row["operations_per_epoch"] == 6 * 200 * 28_000_000 * 68_000_000
    assert row["core_days_per_epoch"] == pytest.approx(row["operations_per_epoch"] / 1e11 / 86_400)
    assert row["load_hours"] == pytest.approx(34_000_000 / 20_000 / 3600)
    told = markdown(
        {"measured": MEASURED, "rows": rows, "command": "c", "versions": {}, "hardware": {"cpu": "x", "cores": 2}}
    )
    assert "| ConceptNet 5.7, all languages | 28,000,000 | 34,000,000 | 100 | 84.0 GB | 2 | 2.3e+18 |" in told
    assert "3,000 bytes an entity, 100 GFLOP/s on a core" in told


def test_it_is_measured_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "RANKS", (100,))
    written = run([tmp_path / "one", tmp_path / "two"], scale=8)
    assert [path.name for path in written] == ["results.json", "table.md"] * 2
    results = json.loads(written[0].read_text(encoding="utf-8"))
    # Parameters, Adagrad's sums and gradients alone are three times 2 * rank float32.
    measured = results["measured"]["training"]["100"]
    assert 3 * 200 * 4 < measured["bytes_per_entity"] < 12 * 200 * 4
    assert measured["operations_per_cpu_s"] > 0
    assert results["measured"]["store"]["facts"] > 24_000
    assert 100 < results["measured"]["store"]["disk_bytes_per_fact"] < 2000
    assert written[1].read_bytes() == written[3].read_bytes()
