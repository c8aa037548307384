"""`gumption experiment graph-at-work`: the table of all worlds, from saved rows."""

import json
from pathlib import Path

import pytest

from gumption.scripts import freshness
from gumption.scripts.experiment import find_experiment, known_experiments
from gumption.scripts.papers.across import graph_at_work

NAME = "graph-at-work"


def test_the_saved_table_is_of_the_rows_that_are_saved_now() -> None:
    """`gumption experiment graph-at-work --save scripts/papers/results/graph-at-work` makes it anew."""
    experiment = find_experiment(NAME)
    saved = json.loads((freshness.RESULTS / NAME / "results.json").read_text())
    rows = {row["condition"]: row["cells"] for row in saved["rows"]}
    assert rows == {label: experiment.kind.row(one, {})["cells"] for label, one in experiment.conditions.items()}
    assert set(graph_at_work.BRIEF) <= set(rows)
    worlds = {name: one for name, one in known_experiments().items() if one.at_work}
    headings = [heading for one in worlds.values() for heading in one.at_work]
    assert len(set(headings)) == len(headings), "one column for each measure"


def test_a_world_without_saved_rows_states_how_they_are_made(
    experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, other = "segar-gates", "wordcraft-edges"
    monkeypatch.setattr(graph_at_work, "SAVED", tmp_path / "saved")
    figure = {"mean": 0.5, "low": 0.25, "high": 0.75, "per_seed": [0.25, 0.75]}
    labels = ["no graph, learned", "graph and learning", "lived facts: 400 steps", "lived facts: 1,600 steps"]
    rows = [{"condition": f"{label}, gates-2", "panels": ["gates-2"], "test_success": figure} for label in labels]
    rows += [{"condition": "no graph, gates-3", "panels": ["gates-3"], "test_success": {**figure, "mean": 0.6}}]
    (tmp_path / "saved" / name).mkdir(parents=True)
    (tmp_path / "saved" / name / "results.json").write_text(json.dumps({"rows": rows}))
    experiment(NAME, "--save", "at-work")
    (tmp_path / "saved" / name / "results.json").write_text(json.dumps({"rows": rows[1:]}))
    results = json.loads(Path("at-work/results.json").read_text())
    kind = find_experiment(NAME).kind
    lines = {line.split(" | ")[0].strip("| "): line for line in kind.headline(results).splitlines()}
    assert "| 0.500 (0.250 to 0.750) | 0.600 (0.250 to 0.750) |" in lines["no graph"]
    assert "| 0.500 (0.250 to 0.750) / 0.500 (0.250 to 0.750) | - |" in lines["lived"]
    assert f"`gumption experiment {other} --save scripts/papers/results/{other}` makes missing rows." in lines
    assert not any(name in line for line in lines)
    brief = kind.brief(results)
    assert len(brief.splitlines()) <= 10
    assert "| world: measure | no graph | graph alone | graph and learning | false facts | oracle |" in brief
    assert Path("at-work/at-work.png").is_file()
    experiment(NAME)  # what is saved has changed meanwhile
    again = json.loads((Path("runs") / NAME / "results.json").read_text())
    assert " - | 0.600 (0.250 to 0.750) |" in kind.headline(again)
