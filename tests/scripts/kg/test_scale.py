"""The calculation of what fits where rests on what was measured, and says so."""

from pathlib import Path

import pytest

from gumption.data.reading import read_json
from gumption.scripts.experiment import make_jobs, write_plan
from gumption.scripts.papers.kg import experiments as scale
from gumption.scripts.papers.kg.experiments import EXPERIMENTS, LARGE, RANKS, calculate
from gumption.scripts.results import gather, write_report

MACHINE = {"versions": {}, "hardware": {"cpu": "x", "cores": 2}}
MEASURED = {
    "training": {
        str(rank): {"bytes_per_entity": 30.0 * rank, "operations_per_cpu_s": 1e11, "sizes": [1, 2]} for rank in RANKS
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
    made = {"condition": "this machine", "measured": MEASURED, "large": rows}
    told = EXPERIMENTS["kg-scale"].kind.headline({"rows": [made], "command": "c", "workers": 1, **MACHINE})
    assert "| ConceptNet 5.7, all languages | 28,000,000 | 34,000,000 | 100 | 84.0 GB | 2 | 2.3e+18 |" in told
    assert "3,000 bytes an entity, 100 GFLOP/s on a core" in told


@pytest.mark.slow
def test_it_is_measured_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "RANKS", (100,))
    monkeypatch.setattr(scale, "STORED", 200_000)
    chosen = EXPERIMENTS["kg-scale"]
    (job,) = make_jobs(chosen, {"scale": 8}, [0], tmp_path)
    write_plan(tmp_path, chosen, {}, dict.fromkeys(("command", "workers"), 1) | MACHINE, [job])
    chosen.kind.run(job, False)
    assert "bytes a fact on disk" in chosen.kind.told(job)
    results = gather(tmp_path, chosen)
    assert [path.name for path in write_report(results, chosen, tmp_path)] == ["results.json", "table.md"]
    [row] = read_json(tmp_path / "results.json")["rows"]
    # Parameters, Adagrad's sums and gradients alone are three times 2 * rank float32.
    measured = row["measured"]["training"]["100"]
    assert 3 * 200 * 4 < measured["bytes_per_entity"] < 12 * 200 * 4
    assert measured["operations_per_cpu_s"] > 0
    assert row["measured"]["store"]["facts"] > 24_000
    assert 100 < row["measured"]["store"]["disk_bytes_per_fact"] < 2000
    assert row["large"] == calculate(row["measured"])
