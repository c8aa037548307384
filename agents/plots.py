"""Plots of agents' results: curves over training steps, final values with their intervals, points of runs.

Each line is labelled at its end instead of in a legend, in colours that remain distinct in the common kinds of colour
blindness (Okabe and Ito). The same data gives the same bytes: no dates, no version strings, fixed SVG ids. matplotlib
is imported when a plot is drawn, and only its figure objects are used, never pyplot's global state.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gumption.data import InputError
from gumption.data.writing import whole_file, write_bytes
from gumption.kg.views.pictures import COLOURS, rendered

from .statistics import FEWEST, Estimate, best_fit, correlation, curve_band, inliers, pareto_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("solid", (0, (5, 2)), (0, (1.5, 1.2)))
_REFERENCE_COLOUR = "#777777"
_LABEL_WIDTH = 26
_MARKS = "os^Dv"


@dataclass(frozen=True)
class Line:
    """One condition over training: steps (points,), values (runs, points), a row for each seed.

    :ivar final: the figure of the finished runs, measured separately and more precisely than the curve. It is drawn as
        a dot with its interval at the last step, and written in the label.
    """

    label: str
    steps: ArrayLike
    values: ArrayLike
    final: Estimate | None = None


@dataclass(frozen=True)
class Scale:
    """The axes of a curve.

    :ivar label, top: label and maximum of the values; the minimum is 0.
    :ivar form: the format specification of a value.
    :ivar steps: label of the steps.
    """

    label: str = "success on unseen recipes"
    top: float = 1.0
    form: str = ".0%"
    steps: str = "environment steps"


@dataclass(frozen=True)
class Panel:
    """One set of axes: lines, and references, which are drawn across it at a fixed value, such as a random policy's."""

    title: str
    lines: Sequence[Line] = ()
    references: Mapping[str, float] = field(default_factory=dict)
    scale: Scale = field(default_factory=Scale)


@dataclass(frozen=True)
class FinalPanel:
    """One set of axes of final values: a row for each condition, and references, which cross all rows."""

    title: str
    rows: Mapping[str, Estimate]
    references: Mapping[str, float] = field(default_factory=dict)


def plot_curves(
    panels: Sequence[Panel],
    stem: str | os.PathLike[str],
    title: str = "",
    colours: Mapping[str, int] | None = None,
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: mean over runs at each step with its 95 % bootstrap band, panels side by side.

    :param colours: label -> number of its colour, so that a condition has the same colour in other plots; None numbers
        labels by first appearance. A condition has the same colour in all panels.
    :raises InputError: nothing to draw, or a line whose shapes do not fit.
    """
    if not any(panel.lines for panel in panels):
        raise InputError("no curve to plot: none of the runs has recorded an evaluation")
    for panel in panels:
        for line in panel.lines:
            shape = np.shape(line.values)
            if len(shape) != 2 or shape[1] != len(np.asarray(line.steps)):
                raise InputError(f"{line.label}: values {shape} are not (runs, {len(np.asarray(line.steps))} steps)")
    looks = _looks([line.label for panel in panels for line in panel.lines], colours)
    shared = len({panel.scale for panel in panels}) == 1

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(panels), sharey=shared, squeeze=False)[0]
        for i, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            _draw_curves(axis, panel, looks)
            if not (shared and i):
                axis.set_ylabel(panel.scale.label)

    return save_figure(draw, (4.9 * len(panels) + 0.6, 3.9), Path(stem), title)


def plot_final_success(
    panels: Sequence[FinalPanel],
    stem: str | os.PathLike[str],
    title: str = "",
    colours: Mapping[str, int] | None = None,
    scale: Scale | None = None,
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: the final success of each condition with its interval, panels in a column.

    :param colours: as in `plot_curves`.
    :raises InputError: nothing to draw.
    """
    scale = scale or Scale()
    counts = [len(panel.rows) for panel in panels]
    if not sum(counts):
        raise InputError("no final success to plot: no run is complete")
    looks = _looks([label for panel in panels for label in panel.rows], colours)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=[max(n, 1) for n in counts])
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            _draw_finals(axis, panel, looks, scale)
        axes[-1, 0].set_xlabel(scale.label)

    return save_figure(draw, (6.8, 1.0 + 0.75 * len(panels) + 0.3 * sum(counts)), Path(stem), title)


def spread_labels(positions: ArrayLike, sizes: ArrayLike, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Return centres (n,) of disjoint labels of heights `sizes` within low..high, as near as possible to `positions`.

    Labels that cannot all fit overlap evenly. Least-squares placement by pooling adjacent violators.
    """
    wanted = np.asarray(positions, dtype=np.float64)
    if not len(wanted):
        return wanted
    order = np.argsort(wanted, kind="stable")
    heights = np.asarray(sizes, dtype=np.float64)[order]
    offsets = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    if offsets[-1] > high - low:
        offsets *= (high - low) / offsets[-1]
    blocks: list[list[float]] = []  # [sum, size] of neighbours that share one shift
    for value in wanted[order] - offsets:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, size = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += size
    shifts = np.concatenate([np.full(int(size), total / size) for total, size in blocks])
    centres = np.empty(len(wanted))
    centres[order] = np.clip(shifts, low, high - offsets[-1]) + offsets
    return centres


def _looks(labels: Sequence[str], colours: Mapping[str, int] | None = None) -> dict[str, tuple[str, Any]]:
    """Return the colour and dash pattern of each distinct label, by its number or else by first appearance."""
    numbers = colours or {label: index for index, label in enumerate(dict.fromkeys(labels))}
    return {
        label: (COLOURS[index % len(COLOURS)], _DASHES[index // len(COLOURS) % len(_DASHES)])
        for label, index in numbers.items()
    }


def _draw_curves(axis: Axes, panel: Panel, looks: Mapping[str, tuple[str, Any]]) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

    scale = panel.scale
    ends: list[tuple[float, str, str]] = []
    for line in panel.lines:
        colour, dash = looks[line.label]
        steps = np.asarray(line.steps, dtype=np.float64)
        band = curve_band(line.values)
        dot = "o" if len(steps) == 1 else None  # a line of one point is invisible
        axis.plot(steps, band.mean, color=colour, linestyle=dash, linewidth=1.8, marker=dot, zorder=3)
        axis.fill_between(steps, band.low, band.high, color=colour, alpha=0.18, linewidth=0, zorder=2)
        if (final := line.final) is not None:  # drawn over the edge of the axes
            if np.isfinite([final.low, final.high]).all():
                ends_at = steps[[-1, -1]]
                axis.plot(ends_at, [final.low, final.high], color=colour, linewidth=1.4, clip_on=False, zorder=4)
            axis.plot(steps[-1], final.value, "o", color=colour, markersize=4.5, clip_on=False, zorder=5)
        ends.append((float(band.mean[-1]) if final is None else final.value, line.label, colour))
    for label, value in panel.references.items():
        axis.axhline(value, color=_REFERENCE_COLOUR, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        ends.append((value, label, _REFERENCE_COLOUR))
    axis.set_ylim(0, 1.015 * scale.top)
    axis.set_xlim(0, max((float(np.max(line.steps)) for line in panel.lines), default=1.0))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format(value, scale.form)))
    axis.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axis.xaxis.set_major_formatter(EngFormatter())
    axis.set_xlabel(scale.steps)
    axis.set_title(panel.title, fontsize=10)
    axis.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    _label_ends(axis, ends, scale)


def _label_ends(axis: Axes, ends: Sequence[tuple[float, str, str]], scale: Scale) -> None:
    """Draw labels right of the axes, level with their lines; a thin leader joins a moved label to its line."""
    wrapped = [textwrap.fill(f"{label} {value:{scale.form}}", _LABEL_WIDTH) for value, label, _ in ends]
    sizes = [0.055 * scale.top * (text.count("\n") + 1) for text in wrapped]
    heights = spread_labels([value for value, _, _ in ends], sizes, high=scale.top)
    for (value, _, colour), height, text in zip(ends, heights, wrapped, strict=True):
        axis.annotate(
            text,
            xy=(1.0, value),
            xytext=(1.05, height),
            xycoords=axis.get_yaxis_transform(),
            textcoords=axis.get_yaxis_transform(),
            color=colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def _draw_finals(axis: Axes, panel: FinalPanel, looks: Mapping[str, tuple[str, Any]], scale: Scale) -> None:
    from matplotlib.ticker import PercentFormatter

    is_share = scale.form.endswith("%")
    form = ".1%" if is_share else scale.form
    for row, (label, estimate) in enumerate(panel.rows.items()):
        colour = looks[label][0]
        if np.isfinite([estimate.low, estimate.high]).all():
            axis.plot([estimate.low, estimate.high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
        axis.plot(estimate.value, row, "o", color=colour, markersize=5)
        axis.annotate(
            f"{estimate.value:{form}}",
            xy=(1.02, row),
            xycoords=axis.get_yaxis_transform(),
            fontsize=8,
            va="center",
            color=colour,
            annotation_clip=False,
        )
    for label, value in panel.references.items():
        axis.axvline(value, color=_REFERENCE_COLOUR, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0)
        axis.annotate(
            f"{label} {value:{scale.form}}",
            xy=(value, 1.0),
            xycoords=axis.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7,
            color=_REFERENCE_COLOUR,
            ha="left" if value < scale.top / 2 else "right",
        )
    axis.set_yticks(range(len(panel.rows)), list(panel.rows), fontsize=8)
    axis.set_ylim(len(panel.rows) - 0.4, -0.6)
    axis.set_xlim(0, scale.top)
    if is_share:
        axis.xaxis.set_major_formatter(PercentFormatter(1.0))
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_title(panel.title, fontsize=10, loc="left", pad=14 if panel.references else 6)


# ---- Two quantities of runs, and steps of tasks


@dataclass(frozen=True)
class Scatter:
    """One set of axes with points.

    :ivar groups: label -> (x, y), a point for each run.
    :ivar apart: fit a line to each group; else one line to all points.
    """

    title: str
    groups: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x: str
    y: str
    apart: bool = False


def plot_scatter(panels: Sequence[Scatter], stem: Path, title: str = "", columns: int = 3) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg. Outliers are drawn hollow, and lines are fitted without them.

    :raises InputError: nothing to draw.
    """
    if not any(len(x) for panel in panels for x, _ in panel.groups.values()):
        raise InputError("no points to plot: no run is complete")
    labels = list(dict.fromkeys(label for panel in panels for label in panel.groups))
    looks = {
        label: (COLOURS[i % len(COLOURS)], _MARKS[i // len(COLOURS) % len(_MARKS)]) for i, label in enumerate(labels)
    }
    return _in_a_grid(lambda axis, panel: _draw_scatter(axis, panel, looks), panels, columns, (3.6, 3.0), stem, title)


def _in_a_grid(
    draw_one: Callable[[Axes, Any], None], panels: Sequence[Any], columns: int, inches: tuple[float, float], stem: Path,
    title: str,
) -> tuple[Path, Path]:  # fmt: skip
    """:param inches: width and height of each panel."""
    across = min(columns, len(panels))
    down = -(-len(panels) // across)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            draw_one(axis, panel)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)

    return save_figure(draw, (inches[0] * across + 0.6, inches[1] * down + 0.5), stem, title)


def _draw_scatter(axis: Axes, panel: Scatter, looks: Mapping[str, tuple[str, str]]) -> None:
    all_x, all_y = (np.concatenate([np.asarray(group[i]) for group in panel.groups.values()]) for i in (0, 1))
    kept = inliers(all_x, all_y) if len(all_x) else np.zeros(0, dtype=bool)
    start = 0
    for label, (x, y) in panel.groups.items():
        colour, mark = looks[label]
        mine = kept[start : start + len(x)]
        start += len(x)
        faces = [colour if one else "none" for one in mine]
        axis.scatter(
            x, y, s=16, marker=mark, edgecolors=colour, facecolors=faces, linewidths=0.8, label=label, zorder=3
        )
        if panel.apart:
            _draw_line(axis, x, y, colour)
    if not panel.apart:
        _draw_line(axis, all_x, all_y, "#444444")
    told = None if panel.apart else correlation(all_x, all_y, resamples=1)
    words = "" if told is None else (
        f"\nr = {told.pearson.value:.2f} (p = {told.pearson_p:.2g}), "
        f"ρ = {told.spearman.value:.2f} (p = {told.spearman_p:.2g})"
    )  # fmt: skip
    axis.set_title(panel.title + words, fontsize=8)
    axis.set_xlabel(panel.x, fontsize=8)
    axis.set_ylabel(panel.y, fontsize=8)
    axis.grid(color="#ececec", linewidth=0.6)
    axis.legend(fontsize=6, frameon=False, loc="best")


def _draw_line(axis: Axes, x: ArrayLike, y: ArrayLike, colour: str) -> None:
    kept = inliers(x, y)
    a, b = np.asarray(x)[kept], np.asarray(y)[kept]
    if len(a) < FEWEST or np.ptp(a) == 0:
        return
    fit = best_fit(a, b)
    axis.plot(fit.x, fit.mean, color=colour, linewidth=1.3, zorder=2)
    axis.fill_between(fit.x, fit.low, fit.high, color=colour, alpha=0.15, linewidth=0, zorder=1)


@dataclass(frozen=True)
class Front:
    """One set of axes: success shares against cost, and the Pareto front of the means.

    :ivar means: label -> (cost, share); `each` the points behind some of the means, drawn small.
    :ivar references: shares drawn across the axes; `x`, `y` labels of the axes.
    """

    title: str
    means: Mapping[str, tuple[float, float]]
    each: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    references: Mapping[str, float] = field(default_factory=dict)
    x: str = "cost"
    y: str = "share"


def plot_fronts(panels: Sequence[Front], stem: Path, title: str = "", columns: int = 3) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: a mark for each mean, and the front as steps; points below it are dominated.

    :raises InputError: nothing to draw.
    """
    if not any(panel.means for panel in panels):
        raise InputError("no points to plot: nobody has ended a task")
    labels = dict.fromkeys(label for panel in panels for label in panel.means)
    looks = {label: (COLOURS[i % len(COLOURS)], _MARKS[i % len(_MARKS)]) for i, label in enumerate(labels)}
    return _in_a_grid(lambda axis, panel: _draw_front(axis, panel, looks), panels, columns, (3.9, 3.3), stem, title)


def _draw_front(axis: Axes, panel: Front, looks: Mapping[str, tuple[str, str]]) -> None:
    from matplotlib.ticker import PercentFormatter

    means = np.array([*panel.means.values()], dtype=np.float64)
    front = means[pareto_front(means * (-1.0, 1.0))]
    front = front[np.argsort(front[:, 0])]
    every = [*panel.means.values(), *(point for points in panel.each.values() for point in points)]
    right = 1.08 * max(cost for cost, _ in every) or 1.0
    beyond = [[right, front[-1, 1]]]  # a higher cost allows the same share
    edge = {"color": _REFERENCE_COLOUR, "linewidth": 1.2, "zorder": 2, "label": "Pareto front"}
    axis.step(*np.concatenate([front, beyond]).T, where="post", **edge)
    for label, points in panel.each.items():
        axis.scatter(*np.array(points).T, s=9, color=looks[label][0], alpha=0.45, linewidths=0, zorder=3)
    for label, point in panel.means.items():
        colour, mark = looks[label]
        axis.scatter(*point, s=44, marker=mark, color=colour, label=label, zorder=4)
    for label, value in panel.references.items():
        axis.axhline(value, color=_REFERENCE_COLOUR, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, label=label)
    axis.set_xlim(0, right)
    axis.set_ylim(-0.04, 1.04)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x, fontsize=8)
    axis.set_ylabel(panel.y, fontsize=8)
    axis.grid(color="#ececec", linewidth=0.6)
    axis.legend(fontsize=7, frameon=False, loc="best")


def plot_steps(agents: Mapping[str, Mapping[str, float]], knower: Mapping[str, int], stem: Path) -> tuple[Path, Path]:
    """Draw the steps of each task, logarithmic, and write them as `stem`.png and `stem`.svg.

    :param agents: name -> task -> steps; a task that was not passed is missing and has no mark.
    :param knower: task -> steps of an agent with perfect knowledge, in the order of the curriculum.
    """
    names = list(knower)
    places = range(len(names))

    def draw(figure: Figure) -> None:
        axis = figure.add_subplot()
        axis.plot(places, list(knower.values()), color="#777777", label="perfect knower")
        for (agent, steps), colour in zip(agents.items(), COLOURS, strict=False):
            reached = [place for place, name in zip(places, names, strict=True) if name in steps]
            axis.plot(reached, [steps[names[place]] for place in reached], "o-", ms=3, lw=1, color=colour, label=agent)
        axis.set_yscale("log")
        axis.set_ylabel("steps")
        axis.set_xticks(list(places), names, rotation=90)
        axis.set_xlim(-0.5, len(names) - 0.5)
        axis.legend(frameon=False)

    return save_figure(draw, (max(4.0, 1.5 + 0.2 * len(names)), 4.0), stem)


def save_figure(
    draw: Callable[[Figure], None], size: tuple[float, float], stem: Path, title: str = ""
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg of a figure.

    :param draw: draws into the figure.
    :param size: in inches.
    """
    from PIL import Image

    def titled(figure: Figure) -> None:
        draw(figure)
        if title:
            figure.suptitle(title, fontsize=11, fontweight="bold")

    png, svg = (stem.with_name(stem.name + suffix) for suffix in (".png", ".svg"))
    pixels, text = rendered(titled, size, ".png", ".svg", layout="constrained", dpi=130)
    with whole_file(png) as beside, Image.open(BytesIO(pixels)) as image:
        # 256 colours are plenty here and make the file a third of its size
        image.convert("RGB").quantize(256).save(beside, format="PNG", optimize=True)
    write_bytes(svg, text)
    return png, svg
