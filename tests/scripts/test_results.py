"""scripts/results.py: what a world with hardly more than columns gets, and the marks on rows of an older version."""

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

from gumption.data import InputError
from gumption.scripts.experiment import make_jobs, run_experiment
from gumption.scripts.results import (
    Condition,
    Experiment,
    Job,
    Kind,
    by_panel,
    gather,
    panels,
    seeds,
    short,
    spread,
    summary,
    with_interval,
    with_saved,
    write_report,
)

VERSION = 1


class Dice(Kind):
    """Throws dice: a condition is a kind of dice."""

    title = "dice"
    named = "die"
    columns: ClassVar = {"seeds": seeds, "mean": spread("mean", ".2f")}
    drawn = ("mean", "means", "mean throw")
    rests_on: ClassVar = {"scores": f"{__name__}:VERSION", "splits": "gumption.envs.halma.splits:SCHEMA"}

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return {"mean": job.settings["value"] + job.seed / 10}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"mean {found['mean']}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        return {"mean": summary([one["mean"] for one in found.values()])}

    def headline(self, results: Mapping[str, Any]) -> str:
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels(results).items():
            for row in rows:
                cells.setdefault(short(row, panel), {})[panel] = with_interval(row["mean"], ".1f")
        return by_panel("die", cells, list(panels(results)))


EXPERIMENT = Experiment(
    "dice",
    "-",
    "Dice",
    Dice(),
    {
        "small: fair": Condition({"value": 0.2, "kg": "none"}, panels=("small",)),
        "small: guided": Condition({"value": 0.4, "kg": "full"}, panels=("small",)),
        "large: guided": Condition({"value": 0.6, "kg": "full"}, panels=("large",)),
    },
    "Nobody expects anything.",
    "Dice have no memory.",
    seeds=3,
)


def run(folder: Path, *labels: str) -> dict[str, Any]:
    run_experiment(Console(quiet=True), EXPERIMENT, {"device": "cpu"}, 3, 1, folder, labels)
    return gather(folder, EXPERIMENT)


def test_columns_make_all_tables_and_the_plot(tmp_path: Path) -> None:
    results = run(tmp_path)
    written = write_report(results, EXPERIMENT, tmp_path)
    assert {path.name for path in written} == {"results.json", "table.md", "means.png", "means.svg"}
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert table.startswith(
        "# dice: Dice\n\n## small\n\n| die | seeds | mean |\n| --- | ---: | ---: |\n| fair | 3 | 0.30"
    )
    assert "## large\n\n| die | seeds | mean |\n| --- | ---: | ---: |\n| guided | 3 | 0.70 (0.60 to 0.80) |" in table
    assert "\n\nNobody expects anything.\n\nDice have no memory.\n\nCommand: `" in table
    assert "| guided | 0.5 (0.4 to 0.6) | 0.7 (0.6 to 0.8) |" in EXPERIMENT.kind.page(results, "dice-again")
    shown = Console(file=StringIO(), width=80)
    shown.print(EXPERIMENT.kind.overview(results, EXPERIMENT))
    assert "0.70 (0.60 to 0.80)" in shown.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    first, *_ = make_jobs(EXPERIMENT, {}, [0], tmp_path)
    assert EXPERIMENT.kind.told(first) == "mean 0.2"


def test_rows_of_older_scores_and_splits_are_marked_and_named(tmp_path: Path, monkeypatch: Any) -> None:
    """The versions are kept with the results; a row without knowledge does not rest on its scores."""
    write_report(run(tmp_path / "runs"), EXPERIMENT, tmp_path / "kept")
    saved = json.loads((tmp_path / "kept" / "results.json").read_text(encoding="utf-8"))
    assert saved["formats"] == {"scores": 1, "splits": "gumption/halma-splits/1"}
    assert "older version" not in (tmp_path / "kept" / "table.md").read_text(encoding="utf-8")

    monkeypatch.setattr(f"{__name__}.VERSION", 2)
    told = EXPERIMENT.kind.markdown(EXPERIMENT, saved)
    again = "made again by `gumption experiment dice --setting ROW --save FOLDER`"
    assert f"an older version of scores (1, now 2), {again}: small: guided; large: guided.\n" in told
    told = EXPERIMENT.kind.page(saved, "dice-again")
    assert "2 of 3 rows were made with an older version of scores (1, now 2)" in told
    assert "`scripts/papers/results/dice-again/table.md` names them" in told

    # One row is made again: only the other one stays marked.
    results = with_saved(run(tmp_path / "new", "small: guided"), EXPERIMENT, {"settings": {}}, tmp_path / "kept")
    assert f"{again}: large: guided.\n" in EXPERIMENT.kind.markdown(EXPERIMENT, results)

    # Results from before versions were kept rest on unknown ones.
    del saved["formats"]
    for_all, for_guided = EXPERIMENT.kind.older(saved)
    assert for_all == "an older version of splits (unknown, now gumption/halma-splits/1)"
    assert for_guided.startswith("an older version of scores (unknown, now 2) and an older version of splits")


def test_rows_from_before_there_was_looking_ahead_did_not_look_ahead(tmp_path: Path) -> None:
    write_report(run(tmp_path / "runs"), EXPERIMENT, tmp_path / "kept")
    new, kept = run(tmp_path / "new", "small: fair"), tmp_path / "kept"
    saved = {row["condition"]: row["settings"] for row in json.loads((kept / "results.json").read_text())["rows"]}

    def today(look_ahead: str) -> dict[str, Any]:
        return {"settings": {label: {**settings, "look_ahead": look_ahead} for label, settings in saved.items()}}

    assert len(with_saved(new, EXPERIMENT, today("off"), kept)["rows"]) == 3
    with pytest.raises(InputError, match="small: guided was run with other settings; save into another folder"):
        with_saved(new, EXPERIMENT, today("on"), kept)
