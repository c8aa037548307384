"""The graph at work: the same rows for all worlds, from the saved rows of each world's own experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data.reading import read_json
from gumption.scripts.freshness import RESULTS as SAVED
from gumption.scripts.results import Condition, Experiment, Job, Kind, by_panel, estimate, with_interval

if TYPE_CHECKING:
    from gumption.agents.statistics import Estimate

LIVED = "lived"
ROWS = (
    "random", "no graph", "words alone", "graph alone", "graph and learning", "one constant fact", "false facts",
    "knowledge taken away", LIVED, "oracle",
)  # fmt: skip
BRIEF = ("no graph", "graph alone", "graph and learning", "false facts", "oracle")


class WorkRuns(Kind):
    """A row over all worlds, read from saved results when the table is made. A cell is the first saved row of its
    column whose label begins with the row's label; for "lived", all such rows in the order of the experiment."""

    title = "the experiment on all worlds"
    code = ("scripts/papers/across/graph_at_work.py",)
    named = "row"

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return {}

    def words(self, found: Mapping[str, Any]) -> str:
        return "saved rows are read"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Return the saved figures of each column, and the experiment that makes them."""
        from gumption.envs.worlds import known

        label, cells = condition.settings["row"], dict[str, Any]()
        offered = (world.get("experiments") or {} for world in known().values())
        for name, experiment in (pair for experiments in offered for pair in experiments.items()):
            path = SAVED / name / "results.json"
            rows = read_json(path)["rows"] if experiment.at_work and path.is_file() else []
            for heading, figure in experiment.at_work.items():
                figures = [cell for row in rows if (cell := figure(row)) is not None]
                there = [one for name_of_row, one in figures if name_of_row.startswith(label)]
                cells[heading] = {"made_by": name, "figures": there if label == LIVED else there[:1]}
        return {"cells": cells}

    def headline(self, results: Mapping[str, Any]) -> str:
        """Return a table with a column for each measure of a world, and the commands that fill empty columns."""
        rows = _texts(results)
        makers = {heading: cell["made_by"] for heading, cell in results["rows"][0]["cells"].items()}
        empty = dict.fromkeys(name for head, name in makers.items() if all(row[head] == "-" for row in rows.values()))
        lines = [
            f"`gumption experiment {name} --save scripts/papers/results/{name}` makes missing rows.\n" for name in empty
        ]
        return "\n".join([by_panel(self.named, rows, list(makers)), *lines])

    def brief(self, results: Mapping[str, Any]) -> str:
        """Return a table with a line for each measure of a world, and a column for each row of `BRIEF`."""
        rows = _texts(results)
        cells = {heading: {label: row[heading] for label, row in rows.items()} for heading in rows[BRIEF[0]]}
        return by_panel("world: measure", cells, BRIEF)

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        return [self.headline(results)]

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Draw a figure: the rows of `BRIEF` for each measure of a world, with intervals over seeds."""
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        drawn: dict[str, dict[str, Estimate]] = {}
        for row in (row for row in results["rows"] if row["condition"] in BRIEF):
            for heading, cell in row["cells"].items():
                if cell["figures"]:
                    drawn.setdefault(heading, {})[row["condition"]] = estimate(cell["figures"][0])
        finals = [FinalPanel(heading, rows) for heading, rows in drawn.items()]
        return list(plot_final_success(finals, directory / "at-work", results["title"], scale=Scale("share")))


def _texts(results: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the text of each cell, by row and column."""
    return {
        row["condition"]: {
            heading: " / ".join(with_interval(one) for one in cell["figures"]) or "-"
            for heading, cell in row["cells"].items()
        }
        for row in results["rows"]
    }


WORK = Experiment(
    "graph-at-work",
    "-",
    "What the graph adds in each world",
    WorkRuns(),
    {label: Condition({"row": label}) for label in ROWS},
    notes="Each figure is that of the world's own experiment, with its 95 % interval over seeds or splits; the world's "
    "page states what a row is. Lived: facts from n, 4n and 16n of its own steps. A world without such a row shows -.",
    seeds=1,
)
EXPERIMENTS = {WORK.name: WORK}
