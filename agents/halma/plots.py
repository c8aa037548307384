"""Plots of HALMA's results: Table 1, learning curves (Figs S9 to S11), the ablations (Figs S14 to S16), and the
hitmaps of knowledge bases (Fig. S6)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.agents.halma.evaluation import ABSENT, DYNAMIC, MEASURES, ROWS, rows_of
from gumption.agents.plots import Line, Panel, Scale, plot_curves, save_figure
from gumption.data import InputError
from gumption.envs.halma.maze import DIRECTIONS
from gumption.kg.views.pictures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gumption.envs.halma import KnowledgeBases

# Columns of Table 1 by the agent's name, as `columns` of evaluation.py returns them.
Columns = Mapping[str, Mapping[str, Any]]
# One agent's (mean, standard deviation) in the paper, in percent, by test and measure.
Published = Mapping[str, Mapping[str, tuple[float, float] | None]]

NAMES = {
    "rho_a": r"$\rho_a$, valid moves",
    "rho_g": r"$\rho_g$, goals reached",
    "rho_p": r"$\rho_p$, as short as the oracle",
}
TEST_NAMES = {DYNAMIC: "all\ndiagnostic"}
MARKERS = "osD^vPX"
TRIALS = Scale("finished trials of an episode", 10.0, ".1f", "episodes")
VALID = Scale("valid moves of all moves", 1.0, ".0%", "episodes")


def plot_table(
    columns: Columns, stem: str | os.PathLike[str], title: str = "", published: Mapping[str, Published] | None = None
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: Table 1 as bars with their intervals, a row of axes for each measure.

    :param published: the paper's figures by the name of the agent, drawn as diamonds.
    :raises InputError: no columns.
    """
    if not columns:
        raise InputError("no evaluated run to plot")
    width, rows = 0.8 / len(columns), rows_of(columns.values())

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(MEASURES), 1, sharex=True)
        for axis, measure in zip(axes, MEASURES, strict=True):
            for i, (name, column) in enumerate(columns.items()):
                places = np.arange(len(rows)) + (i - (len(columns) - 1) / 2) * width
                theirs = published.get(name, {}) if published else {}
                _bars(axis, places, width, column, measure, COLOURS[i % len(COLOURS)], name, theirs)
            _percent(axis, NAMES[measure])
        axes[-1].set_xticks(range(len(rows)), [TEST_NAMES.get(test, test) for test in rows])
        axes[-1].set_xlim(-0.5, len(rows) - 0.5)
        for axis in axes:  # lines separate T and RT, the diagnostic tests, and all diagnostic tests together
            for between in (1.5, len(ROWS) - 1.5):
                axis.axvline(between, color="#bbbbbb", linewidth=0.8)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=min(len(labels), 6), frameon=False, title=title
        )

    return save_figure(draw, (max(8.0, 2.0 + 0.26 * len(rows) * len(columns)), 7.2), Path(stem))


def _bars(
    axis: Axes,
    places: np.ndarray,
    width: float,
    column: Mapping[str, Any],
    measure: str,
    colour: str,
    name: str,
    published: Published,
) -> None:
    rows = rows_of([column])
    tests = [column["tests"][test] for test in rows]
    have = np.array([test["mazes"] > 0 for test in tests])
    means = np.array([test[measure]["mean"] if test["mazes"] else 0.0 for test in tests])
    axis.bar(places[have], means[have], 0.92 * width, color=colour, alpha=0.75, label=name, zorder=2)
    for place, test, mean in zip(places, tests, means, strict=True):
        if not test["mazes"]:
            axis.annotate("–", (place, 0), ha="center", va="bottom", color=colour, fontsize=12, fontweight="bold")
        elif test[measure]["low"] is not None:
            ends = [test[measure]["low"], test[measure]["high"]]
            axis.plot([place] * 2, ends, color="#222222", linewidth=1.0, zorder=3)
        elif mean == 0:
            axis.plot(place, 0, "_", color=colour, markersize=4, zorder=3)
    theirs = [published.get(test, {}).get(measure) for test in rows]
    drawn = [(place, figures[0] / 100) for place, figures in zip(places, theirs, strict=True) if figures is not None]
    if drawn:
        label = "the paper's" if name == axis.get_legend_handles_labels()[1][0] else None
        x, y = zip(*drawn, strict=True)
        axis.plot(x, y, "D", color="white", markeredgecolor="#222222", markersize=3.5, zorder=4, label=label)


def _percent(axis: Axes, label: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_ylim(0, 1.02)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.set_ylabel(label)
    axis.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)


def plot_learning(
    curves: Mapping[str, Mapping[str, Any] | None], stem: str | os.PathLike[str], title: str = ""
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: finished trials and valid moves over the episodes, mean and interval over the seeds.

    :param curves: by the name of the agent: {"episodes": (points,), "finished_trials", "valid_moves": (runs, points)},
        moving averages over as many episodes as there are training mazes (paper, F.2). Colours follow the position, as
        in `plot_table`, also if an agent without a curve is left out.
    :raises InputError: nothing to draw.
    """
    drawn = {name: curve for name, curve in curves.items() if curve}
    panels = [
        Panel(heading, [Line(name, curve["episodes"], curve[key]) for name, curve in drawn.items()], scale=scale)
        for heading, key, scale in (
            ("Finished trials", "finished_trials", TRIALS),
            ("Valid moves", "valid_moves", VALID),
        )
    ]
    return plot_curves(panels, stem, title, {name: number for number, name in enumerate(curves)})


def read_learning(run_dir: Path) -> dict[str, Any] | None:
    """Read the learning curve of a run for `plot_learning`; None for a run without metrics."""
    from gumption.agents.run_folder import read_metrics

    lines = read_metrics(run_dir)
    if not lines:
        return None
    return {"episodes": [line["episode"] for line in lines]} | {
        key: [[line[key] for line in lines]] for key in ("finished_trials", "valid_moves")
    }


def plot_ablation(
    agents: Mapping[str, Mapping[Any, Mapping[str, Any]]],
    stem: str | os.PathLike[str],
    axis_label: str,
    title: str = "",
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: each measure on T, RT, all diagnostic tests together and each user-defined test,
    over a varied setting.

    :param agents: by the name of the agent, by the value of the setting, a column of Table 1.
    :raises InputError: nothing to draw.
    """
    values = list(dict.fromkeys(value for points in agents.values() for value in points))
    if not values:
        raise InputError("no evaluated run to plot")
    own = rows_of(column for points in agents.values() for column in points.values())[len(ROWS) :]
    tests = {"T": "training mazes", "RT": "random mazes", DYNAMIC: "diagnostic tests"} | {test: test for test in own}

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(MEASURES), len(tests), sharex=True, sharey=True)
        for row, measure in zip(axes, MEASURES, strict=True):
            for axis, test in zip(row, tests, strict=True):
                for i, (name, points) in enumerate(agents.items()):
                    found = {values.index(v): column["tests"].get(test, ABSENT) for v, column in points.items()}
                    _points(axis, i, name, {at: one[measure] for at, one in found.items() if one["mazes"]})
                _percent(axis, NAMES[measure] if axis is row[0] else "")
        for axis, heading in zip(axes[0], tests.values(), strict=True):
            axis.set_title(heading, fontsize=10)
        for axis in axes[-1]:
            axis.set_xticks(range(len(values)), [f"{value:,}" for value in values])
            axis.set_xlim(-0.3, len(values) - 0.7)
            axis.set_xlabel(axis_label)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, title=title)

    return save_figure(draw, (3.0 * len(tests), 7.4), Path(stem))


def _points(axis: Axes, i: int, name: str, found: Mapping[int, Mapping[str, Any]]) -> None:
    colour, shift = COLOURS[i % len(COLOURS)], 0.04 * (i - 2)  # shift the series, so that intervals do not overlap
    places, means = [at + shift for at in found], [one["mean"] for one in found.values()]
    marker = MARKERS[i % len(MARKERS)]
    axis.plot(places, means, color=colour, marker=marker, markersize=4.5, linewidth=1.3, label=name)
    for place, one in zip(places, found.values(), strict=True):
        if one["low"] is not None:
            axis.plot([place] * 2, [one["low"], one["high"]], color=colour, linewidth=1.0)


def hitmaps(knowledge: KnowledgeBases) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by knowledge base: visits (10, 10, 5) int64 [greater, lesser, direction or any], and membership
    (10, 10, 5) bool; 10 is the side of the world.

    A pair of KB_A has the visits of its less used digit; for "any" types, of the types that were used most.
    """
    used, greater = knowledge.affordance, np.tri(knowledge.rules.side, k=-1, dtype=bool)[:, :, None]
    least = np.minimum(used[:, None], used[None]) * greater
    most = used.max(1)
    any_a = np.minimum(most[:, None], most[None]) * greater[:, :, 0]
    tables = {
        "KB_S": (knowledge.semantics, knowledge.semantics.sum(2), knowledge.s, knowledge.s.any(2)),
        "KB_C": (knowledge.causality, knowledge.causality.sum(2), knowledge.c, knowledge.c.any(2)),
        "KB_A": (least, any_a, np.einsum("itjt->ijt", knowledge.a), knowledge.a.any((1, 3))),
    }
    return {
        name: (np.concatenate([of, any_of[:, :, None]], 2), np.concatenate([inside, any_inside[:, :, None]], 2))
        for name, (of, any_of, inside, any_inside) in tables.items()
    }


def plot_hitmaps(knowledge: KnowledgeBases, stem: str | os.PathLike[str], title: str = "") -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: the visits of each pair of digits by knowledge base and direction (Fig. S6).

    Framed pairs are in the knowledge base: their visits reach its threshold.
    """
    from matplotlib.colors import LogNorm

    tables = hitmaps(knowledge)
    norm = LogNorm(1, max(2, *(int(visits.max()) for visits, _ in tables.values())))
    side = knowledge.rules.side
    digits, ends = range(1, side), (0.5, side - 0.5)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(tables), 5, sharex=True, sharey=True)
        for row, (name, (visits, inside)) in zip(axes, tables.items(), strict=True):
            for axis, of, framed, heading in zip(
                row, np.moveaxis(visits, 2, 0), np.moveaxis(inside, 2, 0), (*DIRECTIONS, "any"), strict=True
            ):
                shown = np.ma.masked_equal(of[1:, 1:], 0)
                axis.imshow(shown, cmap="YlGnBu", norm=norm, origin="lower", extent=(*ends, *ends))
                y, x = np.nonzero(framed)
                axis.scatter(x, y, s=90, marker="s", facecolors="none", edgecolors="#D55E00", linewidths=0.9)
                axis.set_title(f"{name}, {heading}: {len(x)} pairs", fontsize=9)
                axis.set_xticks(digits)
                axis.set_yticks(digits)
            row[0].set_ylabel("greater digit")
        for axis in axes[-1]:
            axis.set_xlabel("lesser digit")
        figure.colorbar(axes[0, 0].images[0], ax=axes, label="visits", shrink=0.5)

    return save_figure(draw, (15.0, 9.0), Path(stem), title)
