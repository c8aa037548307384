"""The steps that agents need for each task, beside those of a perfect knower."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.agents.plots import save_figure
from gumption.kg.views.scene import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_steps(agents: Mapping[str, Mapping[str, float]], knower: Mapping[str, int], stem: Path) -> tuple[Path, Path]:
    """Draw the steps of each task, logarithmic, and write them as `stem`.png and `stem`.svg.

    :param agents: name -> task -> steps; a task that was not passed has none and no mark.
    :param knower: task -> steps of a perfect knower, in the order of the curriculum.
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
