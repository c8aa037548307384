"""The page's list of the paper's figures says at which setting each was repeated: that of the saved results."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gumption.agents.segar.config import SegarConfig
from gumption.envs.segar.textures import SETS
from gumption.scripts.experiment import known_experiments
from gumption.scripts.papers.segar.experiments import EXPERIMENTS, PAPER

REPOSITORY = Path(__file__).resolve().parents[3]
RESULTS = REPOSITORY / "scripts" / "papers" / "results"
PAGE = (REPOSITORY / "envs" / "segar" / "README.md").read_text(encoding="utf-8")
#: Figure -> the saved results, and the learners of theirs that it shows.
REPEATED = {
    "Figure 3a, b": ("segar-gap", ("ppo",)),
    "Figure 4b": ("segar-information", ("ppo",)),
    "Figure 5a": ("segar-auxiliary", ("ppo",)),
    "Figure 5b, 10a": ("segar-curves", ("ppo",)),
    "Figure 9": ("segar-hidden-mass", ("ppo",)),
    "Figure 10b": ("segar-curves", ("sac",)),
}
OTHERS = ("Figure 4a", "Figure 6", "Figure 7a, b", "Figure 8", "Table 1", "Algorithm 1", "Algorithm 2")


def table() -> dict[str, list[str]]:
    """Figure -> the other cells of its row."""
    _, _, after = PAGE.partition("### The paper's figures and tables\n")
    rows = [line.strip("| ").split(" | ") for line in after.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows[2:]}


def rows_of(name: str, algorithms: Iterable[str]) -> list[dict[str, Any]]:
    saved = json.loads((RESULTS / name / "results.json").read_text(encoding="utf-8"))
    return [row for row in saved["rows"] if row["settings"].get("algorithm", "ppo") in algorithms]


def joined(values: Iterable[Any], end: str = "") -> str:
    *first, last = list(dict.fromkeys(values))
    return (f"{', '.join(map(str, first))} and {last}" if first else str(last)) + end


def one(values: Iterable[Any]) -> Any:
    (value,) = set(values)
    return value


def setting(rows: list[dict[str, Any]]) -> str:
    """The setting of saved rows in words."""
    configs = [SegarConfig(**row["settings"]) for row in rows]
    first = one(each.algorithm for each in configs).upper()
    losses = dict.fromkeys(each.auxiliary for each in configs)
    learners = joined(first if each == "none" else f"{first} with {each.upper()}" for each in losses)
    side = one(each.resolution for each in configs)
    seen = {"state": "factors", "rgb": f"{side} x {side} pixels"}[one(each.observation for each in configs)]
    frames = list(dict.fromkeys(each.frame_stack for each in configs))
    stacked = f", {joined(frames)} frames" if len(frames) > 1 else ""
    count, steps = one(each.parallel for each in configs), one(each.total_steps for each in configs)
    cells, seeds = len({each.levels for each in configs}), one(len(row["runs"]) for row in rows)
    return (
        f"{learners} on {seen}{stacked}, {count} environment{'s' * (count > 1)}, {steps:,} steps; "
        f"{joined(each.num_levels for each in configs)} levels; {cells} cells; {seeds} seed{'s' * (seeds > 1)}"
    )


def test_the_list_has_every_figure_from_3_on() -> None:
    assert set(table()) == {*REPEATED, *OTHERS}


@pytest.mark.parametrize("figure", REPEATED)
def test_a_repeated_figure_has_the_setting_of_its_saved_results(figure: str) -> None:
    name, algorithms = REPEATED[figure]
    _, where, told, _ = table()[figure]
    assert where == f"`{name}`"
    assert told == setting(rows_of(name, algorithms))
    assert name in known_experiments()


def test_the_other_rows_are_of_saved_results_too() -> None:
    rows = table()
    assert rows["Figure 4a"][1] == rows["Figure 3a, b"][1]
    assert any("harder" in study for row in rows_of("segar-gap", ("ppo",)) for study in row["runs"].values())
    axes = json.loads((RESULTS / "segar-axes" / "axes.json").read_text(encoding="utf-8"))
    assert rows["Figure 8"][2] == f"{len(axes['pairs'])} pairs of distributions, {axes['levels']} levels each"
    assert rows["Figure 7a, b"][1].startswith(f"{sum(map(len, SETS.values()))} autoencoders")


def test_hard_cells_and_two_things_are_what_the_list_says() -> None:
    for figure, (name, algorithms) in REPEATED.items():
        cells = {row["settings"]["levels"] for row in rows_of(name, algorithms)}
        differs = table()[figure][3]
        assert ("hard cells alone" in differs) == all(cell.endswith("-hard") for cell in cells), figure
        assert ("two objects or tiles alone" in differs) == (len(cells) == 9), figure


def test_nothing_was_measured_at_the_size_of_the_paper() -> None:
    for name in EXPERIMENTS:
        if (RESULTS / name / "results.json").exists():
            for row in rows_of(name, ("ppo", "sac")):
                assert row["settings"].get("total_steps", 0) < PAPER["total_steps"], name
                assert row["settings"].get("test_levels", 100) <= 200, name
