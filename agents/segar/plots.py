"""Plots of how two quantities of runs go together: points, and a line of best fit with its band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gumption.agents.plots import save_figure
from gumption.data import InputError
from gumption.kg.views.scene import COLOURS

from .correlations import best_fit, correlation, inliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "os^Dv"
_FEWEST = 4  # points for a line


@dataclass(frozen=True)
class Scatter:
    """One set of axes.

    :ivar groups: label -> (x, y), a point for each run.
    :ivar apart: a line for each group; else one for all points.
    """

    title: str
    groups: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x: str
    y: str
    apart: bool = False


def plot_scatter(panels: Sequence[Scatter], stem: Path, title: str = "", columns: int = 3) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg. Outliers are drawn hollow, and lines do not count them.

    :raises InputError: nothing to draw.
    """
    if not any(len(x) for panel in panels for x, _ in panel.groups.values()):
        raise InputError("no points to plot: no run is complete")
    labels = list(dict.fromkeys(label for panel in panels for label in panel.groups))
    looks = {
        label: (COLOURS[i % len(COLOURS)], _MARKS[i // len(COLOURS) % len(_MARKS)]) for i, label in enumerate(labels)
    }
    across = min(columns, len(panels))
    down = -(-len(panels) // across)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _draw(axis, panel, looks)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        if title:
            figure.suptitle(title, fontsize=11, fontweight="bold")

    return save_figure(draw, (3.6 * across + 0.6, 3.0 * down + 0.5), stem)


def _draw(axis: Axes, panel: Scatter, looks: Mapping[str, tuple[str, str]]) -> None:
    together = [np.concatenate([np.asarray(group[i]) for group in panel.groups.values()]) for i in (0, 1)]
    kept = inliers(*together) if len(together[0]) else np.zeros(0, dtype=bool)
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
        _draw_line(axis, *together, "#444444")
    told = None if panel.apart else correlation(*together, resamples=1)
    words = "" if told is None else (
        f"\nr = {told.pearson.value:.2f} (p = {told.pearson_p:.2g}), "
        f"ρ = {told.spearman.value:.2f} (p = {told.spearman_p:.2g})"
    )  # fmt: skip
    axis.set_title(panel.title + words, fontsize=8)
    axis.set_xlabel(panel.x, fontsize=8)
    axis.set_ylabel(panel.y, fontsize=8)
    axis.grid(color="#ececec", linewidth=0.6)
    axis.legend(fontsize=6, frameon=False, loc="best")


def _draw_line(axis: Axes, x: Sequence[float], y: Sequence[float], colour: str) -> None:
    kept = inliers(x, y)
    a, b = np.asarray(x)[kept], np.asarray(y)[kept]
    if len(a) < _FEWEST or np.ptp(a) == 0:
        return
    fit = best_fit(a, b)
    axis.plot(fit.x, fit.mean, color=colour, linewidth=1.3, zorder=2)
    axis.fill_between(fit.x, fit.low, fit.high, color=colour, alpha=0.15, linewidth=0, zorder=1)
