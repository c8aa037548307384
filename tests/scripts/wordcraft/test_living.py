"""`gumption experiment wordcraft-living`: its conditions, and a small one."""

import json
from pathlib import Path

import pytest

from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.wordcraft.living import NAME
from gumption.scripts.results import slug


def test_each_kind_of_knowledge_has_its_control() -> None:
    conditions = find_experiment(NAME).conditions
    assert len({slug(label) for label in conditions}) == len(conditions)
    by_settings = {json.dumps(one.settings, sort_keys=True): label for label, one in conditions.items()}
    assert len(by_settings) == len(conditions)
    for label, one in conditions.items():
        if label.endswith("names shuffled"):
            real = {name: value for name, value in one.settings.items() if name != "names"}
            assert by_settings[json.dumps(real, sort_keys=True)] == label.removesuffix(", names shuffled")
    assert {"random", "without repeats", "memory alone, no names", "oracle"} <= set(conditions)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_counts_the_things_made(experiment, book: Path, words_file: Path) -> None:
    labels = ["random", "memory and words", "oracle"]
    given = [part for label in labels for part in ("--setting", label)]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--seeds", "2"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"]: row for row in saved["rows"]}
    assert list(rows) == labels
    for row in rows.values():
        assert row["curve"]["mixes"][:2] == [20, 40]
        for made, last in zip(row["curve"]["made"], row["after_2000"]["per_seed"], strict=True):
            assert made == sorted(made)
            assert made[-1] == last
    everything = rows["oracle"]["after_2000"]["mean"]
    assert rows["oracle"]["after_100"]["mean"] == rows["memory and words"]["after_2000"]["mean"] == everything > 10
    assert rows["random"]["after_100"]["mean"] < everything
    assert "6 runs, 6 complete" in experiment(NAME, *given)
    drawn = Path("saved/curves.svg").read_text()
    assert "memory and words" in drawn
    assert "oracle" not in drawn
