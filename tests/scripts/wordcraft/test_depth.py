"""`gumption experiment wordcraft-depth`: its conditions, and a small one."""

import json
from pathlib import Path

import pytest

from gumption.scripts.experiment import find_experiment
from gumption.scripts.results import slug
from gumption.scripts.wordcraft.depth import EXPERIMENTS, NAME, PANELS


def test_the_rows_of_each_depth() -> None:
    experiment = find_experiment(NAME)
    for panel in PANELS:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        alone = {name.removesuffix(", KG only") for name, one in here.items() if one.method == "kg_only"}
        words = ("the last step", "looking ahead", "looking ahead, random names")
        assert alone == {f"{knowledge}, {word}" for knowledge in ("training facts", "all facts") for word in words}
        assert {"random policy", "oracle", "no KG, trained"} <= set(here)
        for name, one in here.items():
            assert one.settings.get("look_ahead") in ({"on"} if "ahead" in name else {"off", None})
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-outside" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_shows_what_looking_ahead_adds(experiment, book: Path, words_file: Path) -> None:
    panel = "depth 2"
    labels = ["random policy", "all facts, the last step, KG only", "all facts, looking ahead, KG only", "oracle"]
    given = [part for label in labels for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--seeds", "2"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row["success"]["mean"] for row in saved["rows"]}
    assert set(rows) == set(labels)
    assert rows["all facts, looking ahead, KG only"] == rows["oracle"] == 1.0
    assert rows["all facts, the last step, KG only"] < 1.0
    assert "the choice with the highest score, nothing is learned" in Path("saved/table.md").read_text()
    assert "| oracle | 1.000" in EXPERIMENTS[NAME].kind.headline(saved)
    assert "8 runs, 8 complete" in experiment(NAME, *given)
