"""What SEGAR's experiments come to: relations between figures of runs, their correlations, tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.scripts.report import made_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

ALL = "all cells"
WITHIN = "all cells, within cells"
_AXIS = "factors"  # the distance that is drawn
_PARTS = ("empty", "objects", "tiles")
_TRANSFERS = {"easy": "easy to medium", "medium": "medium to hard"}


@dataclass(frozen=True)
class Relation:
    """Points of runs, one quantity against another.

    :ivar where: the test levels of the gap; `part` the runs that it is of; `x` what the gap is set against.
    :ivar groups: label -> points (x, gap); `drawn` whether it is in the plot.
    :ivar centred: of each point the mean of its cell is taken off.
    """

    where: str
    part: str
    x: str
    groups: Mapping[str, Sequence[tuple[float, float]]]
    drawn: bool = True
    centred: bool = False

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y of all points, centred where this is asked for."""
        from gumption.agents.segar.correlations import centred

        labels = [label for label, points in self.groups.items() for _ in points]
        x, y = (np.array([point[i] for points in self.groups.values() for point in points]) for i in (0, 1))
        return (centred(x, labels), centred(y, labels)) if self.centred and labels else (x, y)


def rounded(found: Any) -> Any:
    """Numbers with six significant digits: more would tell nothing."""
    if isinstance(found, Mapping):
        return {name: rounded(value) for name, value in found.items()}
    return float(f"{found:.6g}") if isinstance(found, float) else found


def gap_relations(rows: Sequence[Mapping[str, Any]]) -> list[Relation]:
    """The gap against each distance, over all cells, by kind and difficulty, and on harder levels."""
    found = []
    for distance in _distances(rows):
        drawn = distance == _AXIS
        label = f"W2, {distance}"

        def points(where: str, distance: str = distance) -> list[tuple[str, str, tuple[float, float]]]:
            return [
                (*_cell(row), (study[where]["w2"][distance], study[where]["gap"]))
                for row in rows
                for study in row["runs"].values()
                if where in study
            ]

        test = points("test")
        cells = _grouped((f"{kind}-{difficulty}", point) for kind, difficulty, point in test)
        by_difficulty = _grouped((difficulty, point) for _, difficulty, point in test)
        found += [
            Relation("test", ALL, label, by_difficulty, drawn),
            Relation("test", WITHIN, label, cells, False, centred=True),
        ]
        for part in _PARTS:
            for difficulty in ("easy", "medium", "hard"):
                chosen = _grouped((k, p) for k, d, p in test if k.startswith(part) and d == difficulty)
                found.append(Relation("test", f"{part}, {difficulty}", label, chosen, drawn))
        further = points("harder")
        for difficulty, words in _TRANSFERS.items():
            for part in _PARTS:
                chosen = _grouped((k, p) for k, d, p in further if k.startswith(part) and d == difficulty)
                found.append(Relation("harder", f"{part}, {words}", label, chosen, drawn))
    return [one for one in found if any(one.groups.values())]


def information_relations(rows: Sequence[Mapping[str, Any]]) -> list[Relation]:
    """The gap against the accuracy of the probe, on training levels and on test levels, for each panel."""
    found = []
    for part in ("train", "test"):
        for panel in dict.fromkeys(panel for row in rows for panel in row["panels"]):
            points = _grouped(
                ("-".join(_cell(row)), (study[part]["information"]["accuracy"], study["test"]["gap"]))
                for row in rows
                if panel in row["panels"]
                for study in row["runs"].values()
            )
            found.append(Relation("test", panel, f"accuracy of the probe, {part} levels", points))
    return found


def correlations(relations: Sequence[Relation]) -> list[dict[str, Any]]:
    """The coefficients of each relation, as JSON; without any where there are too few points."""
    from gumption.agents.segar.correlations import correlation

    found = []
    for one in relations:
        told = correlation(*one.columns)
        figures = {} if told is None else rounded_list(told.figures())
        found.append({"levels": one.where, "part": one.part, "x": one.x, **figures})
    return found


def rounded_list(figures: Mapping[str, Any]) -> dict[str, Any]:
    """`rounded`, in lists too."""
    return {k: [rounded(one) for one in v] if isinstance(v, list) else rounded(v) for k, v in figures.items()}


def headline(results: Mapping[str, Any]) -> str:
    """The coefficients of the relations that are drawn."""
    drawn = {f"W2, {_AXIS}"}
    kept = [one for one in results["correlations"] if one["x"] in drawn or not one["x"].startswith("W2")]
    return _correlation_table(kept)


def markdown(results: Mapping[str, Any]) -> str:
    """The whole table.md."""
    figure = "" if results["figure"] == "-" else f" ({results['figure']})"
    lines = [f"# {results['experiment']}: {results['title']}{figure}", ""]
    if results["correlations"]:
        lines += ["## Correlations", "", *_correlation_table(results["correlations"]).splitlines(), ""]
    lines += ["## Conditions", "", *conditions_table(results).splitlines(), ""]
    lines += [f"The paper: {results['expected']}", "", results["notes"], "", *made_lines(results)]
    return "\n".join(lines) + "\n"


def overview(results: Mapping[str, Any], table: str | None = None) -> RenderableType:
    """A table for a terminal."""
    from rich.table import Table

    text = headline(results) if table is None else table
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    shown = Table(*head, title=results["title"])
    for row in rows:
        shown.add_row(*row)
    return shown


def conditions_table(results: Mapping[str, Any]) -> str:
    """Means over the seeds of each condition."""
    head = (
        "condition", "seeds", "W2", "return, training", "return, test", "random", "no action", "untrained", "scripted",
        "success, training", "success, test", "gap", "gap, harder levels",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"| --- | {' | '.join(['---:'] * (len(head) - 1))} |"]
    for row in results["rows"]:
        studies = list(row["runs"].values())

        def mean(*path: str, form: str = ".2f", studies: Sequence[Any] = studies) -> str:
            found = [value for study in studies if (value := _at(study, path)) is not None]
            return format(float(np.mean(found)), form) if found else "-"

        others = [mean("test", name, "return") for name in ("random", "no action", "untrained", "scripted")]
        cells = [
            row["condition"], str(len(studies)), mean("test", "w2", _AXIS), mean("train", "trained", "return"),
            mean("test", "trained", "return"), *others, mean("train", "trained", "success", form=".0%"),
            mean("test", "trained", "success", form=".0%"), mean("test", "gap", form=".3f"),
            mean("harder", "gap", form=".3f"),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def plots(relations: Sequence[Relation], title: str, directory: Path) -> list[Path]:
    """Points and lines: all cells, the cells apart, and harder levels."""
    from gumption.agents.segar.plots import Scatter, plot_scatter

    drawn = [one for one in relations if one.drawn and any(one.groups.values())]
    pictures = {
        "all": [one for one in drawn if one.part == ALL],
        "parts": [one for one in drawn if one.where == "test" and one.part != ALL],
        "harder": [one for one in drawn if one.where == "harder"],
    }
    written: list[Path] = []
    for name, chosen in pictures.items():
        panels = [
            Scatter(one.part, {k: ([x for x, _ in p], [y for _, y in p]) for k, p in one.groups.items()}, one.x, "gap")
            for one in chosen
        ]
        if panels:
            written += plot_scatter(panels, directory / name, title)
    return written


def plot_learning(results: Mapping[str, Any], directory: Path) -> list[Path]:
    """Success on the training levels over steps, a panel for each learner, with the most training levels that were run:
    on a single level success is 0 or 1.
    """
    from gumption.agents.plots import Line, Panel, Scale, plot_curves

    panels: dict[str, list[Line]] = {}
    most = max(row["settings"]["num_levels"] for row in results["rows"])
    for row in results["rows"]:
        for panel in row["panels"] if row["settings"]["num_levels"] == most else ():
            curve = row["curve"]
            label = row["condition"].removesuffix(f", {panel}")
            panels.setdefault(panel, []).append(Line(label, curve["step"][0], curve["train_success"]))
    scale = Scale("success on training levels")
    return list(
        plot_curves([Panel(*one, scale=scale) for one in panels.items()], directory / "curves", results["title"])
    )


def _correlation_table(found: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| test levels | runs | against | points | outliers | Pearson | p | Spearman | p |"]
    lines.append("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for one in found:
        start = f"| {one['levels']} | {one['part']} | {one['x']} |"
        if "points" not in one:
            lines.append(f"{start} too few | - | - | - | - | - |")
            continue
        coefficients = [f"{v:.2f} ({low:.2f} to {high:.2f})" for v, low, high in (one["pearson"], one["spearman"])]
        lines.append(
            f"{start} {one['points']} | {one['outliers']} | {coefficients[0]} | {one['pearson_p']:.2g} | "
            f"{coefficients[1]} | {one['spearman_p']:.2g} |"
        )
    return "\n".join(lines) + "\n"


def _cell(row: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and difficulty of a row."""
    kind, _, difficulty = row["settings"]["levels"].rpartition("-")
    return kind, difficulty


def _grouped(points: Iterable[tuple[str, tuple[float, float]]]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for label, point in points:
        found.setdefault(label, []).append(point)
    return found


def _distances(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(d for row in rows for study in row["runs"].values() for d in study["test"]["w2"]))


def _at(found: Any, path: Sequence[str]) -> Any:
    for name in path:
        if name not in found:
            return None
        found = found[name]
    return found
