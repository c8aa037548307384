"""The statistics of panels that the paper shows in Appendix C (Fig. S5), over all cells of sets of training mazes."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.data.writing import whole_file

from .choices import MeanBranches, MeanDepth, NumMazes
from .generator import sample_mazes
from .maze import COLOURS, GOAL_COLOURS
from .mazes import Mazes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_COLOURS = (*COLOURS, *GOAL_COLOURS)
MOST = 10  # digits that a panel may hold
_INKS = ("#d62728", "#ff7f0e", "#d4b400", "#2ca02c", "#17becf", "#1f5fd0", "#9467bd", "#b0b0b0")  # white shows as grey


class LogFit(NamedTuple):
    """A straight line through (digit, log10 of its count): its slope for each digit, its value at digit 0, and R^2."""

    slope: float
    intercept: float
    r_squared: float


@dataclass(frozen=True)
class PanelStatistics:
    """Counts over S sets of mazes.

    :ivar colours: (S, 8) digits of each of PANEL_COLOURS.
    :ivar panels: (S, 11) panels that hold 0 to 10 digits.
    :ivar digits: (S, 9) occurrences of the digits 1 to 9.
    """

    colours: np.ndarray
    panels: np.ndarray
    digits: np.ndarray

    @classmethod
    def of(cls, sets: Iterable[Mazes]) -> "PanelStatistics":
        """Every cell of every maze counts once."""
        counts = [_count(mazes.rows[mazes.inside][:, :10]) for mazes in sets]
        if not counts:
            raise InputError("no set of mazes to measure; give at least one")
        return cls(*(np.array(of_sets) for of_sets in zip(*counts, strict=True)))

    def share(self, fewest: int, most: int) -> np.ndarray:
        """(S,) the share of panels that hold so many digits, both ends included."""
        return self.panels[:, fewest : most + 1].sum(1) / self.panels.sum(1)

    @cached_property
    def unevenness(self) -> tuple[float, float]:
        """How far the commonest colour is above the rarest, as a share of their mean: of walls and crossings, and of
        the goal. Of the counts of all sets together.
        """
        total = self.colours.sum(0)
        walls, goal = (float(np.ptp(group) / group.mean()) for group in (total[:4], total[4:]))
        return walls, goal

    @cached_property
    def log_fit(self) -> LogFit:
        """Through the mean counts of the digits that occur.

        :raises InputError: fewer than three digits occur.
        """
        mean = self.digits.mean(0)
        digit = 1 + np.flatnonzero(mean)
        if len(digit) < 3:
            raise InputError(f"{len(digit)} different digits occur, too few for a line; take more mazes")
        logs = np.log10(mean[mean > 0])
        slope, intercept = np.polyfit(digit, logs, 1)
        residual = logs - (slope * digit + intercept)
        return LogFit(float(slope), float(intercept), float(1 - residual.var() / logs.var()))


def _count(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Colours (8,), panels (11,) and digits (9,) of the distances (n, 10) of panel rows."""
    shown = rows != 0
    goal = np.stack([rows[:, 8] < 0, rows[:, 9] > 0, rows[:, 8] > 0, rows[:, 9] < 0])  # left, up, right, down
    colours = np.concatenate([shown[:, :4].sum(0) + shown[:, 4:8].sum(0), goal.sum(1)])
    panels = np.bincount(shown.sum(1), minlength=MOST + 1)
    return colours, panels, np.bincount(np.abs(rows[shown]), minlength=10)[1:]


@checked
def sample_statistics(
    sets: Count = 10, mazes: NumMazes = 100, seed: Seed = 0, mean_depth: MeanDepth = 2, mean_branches: MeanBranches = 5
) -> PanelStatistics:
    """Statistics of sets that are sampled with the seeds `seed`, `seed` + 1 and so on; defaults as in the paper."""
    return PanelStatistics.of(
        Mazes(sample_mazes(mazes, seed + which, mean_depth, mean_branches)) for which in range(sets)
    )


def save_plot(statistics: PanelStatistics, path: str | Path) -> None:
    """Draw the four plots of Fig. S5 into a PNG file: means over the sets, with standard deviations as bars.

    :raises InputError: the file cannot be written; see `log_fit` too.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    colours, panels, digits, logs = figure.subplots(2, 2).ravel()
    _bars(colours, PANEL_COLOURS, statistics.colours, _INKS, "colours")
    _bars(panels, [str(count) for count in range(MOST + 1)], statistics.panels, "#4a7cc4", "digits in a panel")
    names = [str(digit) for digit in range(1, 10)]
    _bars(digits, names, statistics.digits, "#4a7cc4", "digits")
    _bars(logs, names, statistics.digits, "#4a7cc4", "digits, in log scale")
    fit = statistics.log_fit
    x = np.arange(1, 10)
    line = 10 ** (fit.intercept + fit.slope * x)
    logs.plot(x - 1, line, color="#b0423a", label=f"log-linear, R² {fit.r_squared:.3f}")
    logs.set_yscale("log", subs=(2, 3, 5))
    logs.yaxis.set_major_formatter("{x:g}")
    logs.yaxis.set_minor_formatter("{x:g}")
    logs.legend(frameon=False)
    count = len(statistics.digits)
    figure.suptitle(f"Panels of {count} set{'' if count == 1 else 's'} of mazes: mean and standard deviation of counts")
    with whole_file(Path(path)) as beside:
        figure.savefig(beside, format="png", dpi=130, metadata={"Software": None})


def _bars(axes: "Axes", names: Iterable[str], counts: np.ndarray, colour: str | tuple[str, ...], title: str) -> None:
    axes.bar(list(names), counts.mean(0), yerr=counts.std(0), color=colour, error_kw={"elinewidth": 1, "capsize": 2})
    axes.set_title(title, fontsize=10)
    axes.set_ylabel("occurrences")
    axes.spines[["top", "right"]].set_visible(False)
