"""Random mazes: an optimal path drawn uniformly, then deceptive branches (paper, A.2); statistics of their panels."""

from bisect import bisect_right
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise, product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.data.writing import whole_file

from .maze import ALL_COLOURS, STEPS, Cell, Edge, Maze, Mazes, MeanBranches, MeanDepth, NumMazes, goal_distances
from .rules import RULES, Rules, Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_REDRAWS = 200  # of a branch, before it is left out


@cache
def _offsets(side: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return every offset of the goal, and the cumulative number of paths."""
    along = range(1 - side, side)
    offsets = [(dx, dy) for dx in along for dy in along if dx or dy]
    return offsets, list(accumulate(comb(abs(dx) + abs(dy), abs(dx)) for dx, dy in offsets))


@checked
def count_optimal_paths(side: Side = RULES.side) -> int:
    """Count the optimal paths in a box: the sum of C(|dx| + |dy|, |dx|) over the offsets of the goal (paper, A.2).

    >>> count_optimal_paths()
    738980
    """
    return _offsets(side)[1][-1]


@checked
def path_of_rank(rank: int, side: Side = RULES.side) -> list[Cell]:
    """Return the optimal path with a rank from 0 to `count_optimal_paths(side)` - 1, as cells from (0, 0) to the goal.

    Paths are ordered by their offsets (dx, dy), then by their moves, along x before along y.

    :raises InputError: a rank out of range.
    """
    offsets, upto = _offsets(side)
    if not 0 <= rank < upto[-1]:
        raise InputError(f"rank is {rank}; optimal paths have ranks from 0 to {upto[-1] - 1}")
    which = bisect_right(upto, rank)
    dx, dy = offsets[which]
    left = rank - (upto[which - 1] if which else 0)
    x_moves, y_moves = abs(dx), abs(dy)
    x_step, y_step = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    path = [(0, 0)]
    while x_moves or y_moves:
        x, y = path[-1]
        along_x = comb(x_moves + y_moves - 1, y_moves) if x_moves else 0  # paths that begin along x
        if left < along_x:
            path.append((x + x_step, y))
            x_moves -= 1
        else:
            left -= along_x
            path.append((x, y + y_step))
            y_moves -= 1
    return path


@checked
def rank_of_path(path: list[Cell], side: Side = RULES.side) -> int:
    """Return the rank of an optimal path, the inverse of `path_of_rank`, for any start; InputError for other paths."""
    offsets, upto = _offsets(side)
    goal = (path[-1][0] - path[0][0], path[-1][1] - path[0][1]) if path else (0, 0)
    if goal not in offsets or len(path) - 1 != abs(goal[0]) + abs(goal[1]):
        raise InputError(
            f"no optimal path: each move lowers the distance to the goal by 1, at most {side - 1} along either axis"
        )
    which = offsets.index(goal)
    rank = upto[which - 1] if which else 0
    x_moves, y_moves = abs(goal[0]), abs(goal[1])
    for (x, y), (x2, y2) in pairwise(path):
        if abs(x2 - x) + abs(y2 - y) != 1:
            raise InputError(f"no path: {(x, y)} and {(x2, y2)} are no neighbours")
        if x2 != x:
            x_moves -= 1
        else:
            rank += comb(x_moves + y_moves - 1, y_moves) if x_moves else 0
            y_moves -= 1
    return rank


@checked
def ranks_of_length(length: Count, side: Side = RULES.side) -> np.ndarray:
    """Return (n,) int64: the sorted ranks of all optimal paths of this length; empty beyond the longest."""
    offsets, upto = _offsets(side)
    begin = [0, *upto[:-1]]
    own = [np.arange(a, b) for (dx, dy), a, b in zip(offsets, begin, upto, strict=True) if abs(dx) + abs(dy) == length]
    return np.concatenate(own) if own else np.zeros(0, dtype=np.int64)


@checked
def sample_path(rng: np.random.Generator, side: Side = RULES.side) -> list[Cell]:
    """Draw a path from (0, 0), uniformly from all optimal paths."""
    return path_of_rank(int(rng.integers(count_optimal_paths(side))), side)


def grow_branches(
    rng: np.random.Generator,
    edges: Iterable[Edge],
    mean_depth: float,
    mean_branches: float,
    closed: Set[Cell] = frozenset(),
    side: int = RULES.side,
) -> list[Edge]:
    """Add deceptive branches to a tree and return its edges.

    A branch is a self-avoiding walk over free cells from a cell of the tree. Decision: there are Poisson(mean_branches)
    branches, each 1 + Poisson(mean_depth - 1) cells deep. A branch is redrawn if it does not fit into the maze's box,
    which is placed at random around the tree.

    :param edges: edges of the tree; at least one.
    :param closed: cells that no branch starts from or enters.
    :param side: side of the box.
    """
    edges = list(edges)
    taken = {cell for edge in edges for cell in edge}
    reach = side - 1
    low = [int(rng.integers(max(c[axis] for c in taken) - reach, min(c[axis] for c in taken) + 1)) for axis in (0, 1)]
    roots = sorted(taken - closed)
    if not roots:
        return edges

    def walk() -> list[Cell] | None:
        depth = 1 + int(rng.poisson(mean_depth - 1))
        cells = [roots[int(rng.integers(len(roots)))]]
        for _ in range(depth):
            x, y = cells[-1]
            ahead = [(x + dx, y + dy) for dx, dy in STEPS]
            inside = [(x, y) for x, y in ahead if 0 <= x - low[0] < side and 0 <= y - low[1] < side]
            free = [cell for cell in inside if cell not in taken and cell not in closed and cell not in cells]
            if not free:
                return None
            cells.append(free[int(rng.integers(len(free)))])
        return cells

    for _ in range(int(rng.poisson(mean_branches))):
        for _ in range(MAX_REDRAWS):
            if (cells := walk()) is not None:
                edges += [(min(a, b), max(a, b)) for a, b in pairwise(cells)]
                taken.update(cells)
                roots += cells[1:]
                break
    return edges


@checked
def sample_maze(
    rng: np.random.Generator, mean_depth: MeanDepth = 2, mean_branches: MeanBranches = 5, side: Side = RULES.side
) -> Maze:
    """Draw a maze, its optimal path uniformly. Branches have mean depth 2 in training mazes, 5 in test mazes."""
    path = sample_path(rng, side)
    edges = [(min(a, b), max(a, b)) for a, b in pairwise(path)]
    return Maze(path[0], path[-1], grow_branches(rng, edges, mean_depth, mean_branches, side=side), side)


@checked
def sample_mazes(
    count: NumMazes,
    seed: Seed,
    mean_depth: MeanDepth = 2,
    mean_branches: MeanBranches = 5,
    *,
    side: Side = RULES.side,
    adjusted: bool = False,
) -> list[Maze]:
    """Draw different mazes. A longer list with the same seed begins with the same mazes.

    :param side: side of the box.
    :param adjusted: turn and mirror each maze so that the colours of the panels become uniform, and leave out mazes
        with a panel of more than 8 digits (Appendix C).
    :raises InputError: a number out of range, or more mazes than there are optimal paths.
    """
    if count > count_optimal_paths(side):
        raise InputError(f"count is {count}; in a box of {side} x {side} there are {count_optimal_paths(side)} paths")
    rng = np.random.default_rng(seed)
    found: dict[Maze, None] = {}
    colours = np.zeros(8, dtype=np.int64)
    while len(found) < count:
        drawn = [sample_maze(rng, mean_depth, mean_branches, side) for _ in range(count - len(found))]
        if adjusted:
            _add_adjusted(drawn, found, colours)
        else:
            found.update(dict.fromkeys(drawn))
    return list(found)


# Decision: the paper adjusts "generated mazes to form a uniform distribution of digit type" without stating a method.
# Turning or mirroring a maze changes only the colours of its panels, and keeps its path optimal.
MOST_DIGITS = 8  # of a panel in an adjusted set
_TURNS = [
    (a, b, c, d)
    for a, b, c, d in product((1, 0, -1), repeat=4)
    if abs(a) + abs(b) == 1 and (abs(c), abs(d)) == (abs(b), abs(a))
]
# (8, 8): for each turn, the colour of the drawn maze that becomes each colour of the turned maze.
_COLOURS_OF = np.array(
    [[part + STEPS.index((a * x + c * y, b * x + d * y)) for part in (0, 4) for x, y in STEPS] for a, b, c, d in _TURNS]
)


def _add_adjusted(drawn: list[Maze], found: dict[Maze, None], colours: np.ndarray) -> None:
    """Add each maze to `found` in a new orientation, the one that makes the colours of all panels most even.

    :param colours: (8,) int64 digits of each of ALL_COLOURS in the panels of `found`; updated in place.
    """
    mazes = Mazes(drawn)
    shown = mazes.rows[..., :10] != 0
    fits = shown.sum(2).max(1) <= MOST_DIGITS
    counts = np.concatenate(
        [shown[..., :4].sum(1) + shown[..., 4:8].sum(1), (goal_distances(mazes.rows) > 0).sum(1)], 1
    )
    for i in np.flatnonzero(fits):
        turned = counts[i][_COLOURS_OF]
        for which in np.argsort(((colours + turned) ** 2).sum(1), kind="stable"):
            maze = _turned(drawn[i], _TURNS[which])
            if maze not in found:
                found[maze] = None
                colours += turned[which]
                break


def _turned(maze: Maze, turn: tuple[int, int, int, int]) -> Maze:
    a, b, c, d = turn

    def place(cell: Cell) -> Cell:
        return a * cell[0] + b * cell[1], c * cell[0] + d * cell[1]

    return Maze(place(maze.start), place(maze.goal), [(place(u), place(v)) for u, v in maze.edges], maze.side)


# ---- Statistics of panels over all cells of sets of training mazes, as in Appendix C (Fig. S5) of the paper.

MOST = 10  # the maximum of digits on a panel
_INKS = ("#d62728", "#ff7f0e", "#d4b400", "#2ca02c", "#17becf", "#1f5fd0", "#9467bd", "#b0b0b0")  # white shows as grey


class LogFit(NamedTuple):
    """A straight line through (digit, log10 of its count): its slope per digit, its value at digit 0, and R^2."""

    slope: float
    intercept: float
    r_squared: float


class Claim(NamedTuple):
    """A claim of the paper about each set of training mazes (Appendix C).

    :ivar values: (S,) float64, the measured value of each set; `met` (S,) bool, whether the claim holds there.
    """

    text: str
    values: np.ndarray
    met: np.ndarray


@dataclass(frozen=True)
class PanelStatistics:
    """Counts over S sets of mazes.

    :ivar colours: (S, 8) digits of each of ALL_COLOURS.
    :ivar panels: (S, 11) panels with 0 to 10 digits.
    :ivar digits: (S, side - 1) occurrences of the digits from 1 up.
    :ivar mazes: (S,) the number of mazes of each set.
    """

    colours: np.ndarray
    panels: np.ndarray
    digits: np.ndarray
    mazes: np.ndarray

    @classmethod
    def of(cls, sets: Iterable[Mazes]) -> "PanelStatistics":
        """Count the panels of sets of mazes. Every cell of every maze counts once."""
        counts = [(*_count(mazes.rows[mazes.inside], mazes.rules.side), len(mazes)) for mazes in sets]
        if not counts:
            raise InputError("no set of mazes to measure; give at least one")
        return cls(*(np.array(of_sets) for of_sets in zip(*counts, strict=True)))

    def share(self, fewest: int, most: int) -> np.ndarray:
        """Return (S,) the share of panels with `fewest` to `most` digits, both included."""
        return self.panels[:, fewest : most + 1].sum(1) / self.panels.sum(1)

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims, each checked for every set. Decision: colours are uniform if the commonest occurs less
        than 10 % more often than the rarest. Counts of digits are scaled to 100 mazes, whatever the size of the set."""
        groups = [self.colours[:, :4], self.colours[:, 4:]]
        walls, goal = (group.max(1) / np.maximum(group.min(1), 1) - 1 for group in groups)
        usual = self.share(3, 6)
        most = (self.panels > 0).cumsum(1).argmax(1)
        ones, nines = (100 * self.digits[:, digit - 1] / self.mazes for digit in (1, min(9, self.digits.shape[1])))
        return [
            Claim("uniform colours of walls and crossings: commonest above rarest", walls, walls < 0.1),
            Claim("uniform colours of the goal's digits: commonest above rarest", goal, goal < 0.1),
            Claim("more than 90 % of panels with 3 to 6 digits", usual, usual > 0.9),
            Claim("no panel of more than 8 digits: the most", most.astype(np.float64), most <= MOST_DIGITS),
            Claim("more than 4,000 digits 1 in 100 mazes", ones, ones > 4_000),
            Claim("fewer than 100 digits 9 in 100 mazes", nines, nines < 100),
        ]

    @cached_property
    def unevenness(self) -> tuple[float, float]:
        """(Count of the commonest colour - of the rarest) / mean, over all sets together: of walls and crossings, and
        of the goal."""
        total = self.colours.sum(0)
        walls, goal = (float(np.ptp(group) / group.mean()) for group in (total[:4], total[4:]))
        return walls, goal

    @cached_property
    def log_fit(self) -> LogFit:
        """Fit a line through the mean counts of the digits that occur.

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


def _count(rows: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return colours (8,), panels (11,) and digits (side - 1,) of panel rows (n, 11)."""
    distances = rows[:, :10]
    shown = distances != 0
    colours = np.concatenate([shown[:, :4].sum(0) + shown[:, 4:8].sum(0), (goal_distances(rows) > 0).sum(0)])
    panels = np.bincount(shown.sum(1), minlength=MOST + 1)
    return colours, panels, np.bincount(np.abs(distances[shown]), minlength=side)[1:]


@checked
def sample_statistics(
    sets: Count = 10,
    mazes: NumMazes = 100,
    seed: Seed = 0,
    mean_depth: MeanDepth = 2,
    mean_branches: MeanBranches = 5,
    *,
    rules: Rules = RULES,
    adjusted: bool = False,
) -> PanelStatistics:
    """Compute statistics of sets with the seeds `seed`, `seed` + 1 and so on; the defaults are the paper's."""
    drawn = (
        sample_mazes(mazes, seed + which, mean_depth, mean_branches, side=rules.side, adjusted=adjusted)
        for which in range(sets)
    )
    return PanelStatistics.of(Mazes(one, rules) for one in drawn)


def save_plot(statistics: PanelStatistics, path: str | Path) -> None:
    """Write the four plots of Fig. S5 to a PNG file: means over the sets, standard deviations as bars.

    :raises InputError: the file cannot be written; see `log_fit` too.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    colours, panels, digits, logs = figure.subplots(2, 2).ravel()
    _bars(colours, ALL_COLOURS, statistics.colours, _INKS, "colours")
    _bars(panels, [str(count) for count in range(MOST + 1)], statistics.panels, "#4a7cc4", "digits in a panel")
    values = 1 + np.arange(statistics.digits.shape[1])
    names = [str(digit) for digit in values]
    _bars(digits, names, statistics.digits, "#4a7cc4", "digits")
    _bars(logs, names, statistics.digits, "#4a7cc4", "digits, in log scale")
    fit = statistics.log_fit
    line = 10 ** (fit.intercept + fit.slope * values)
    logs.plot(values - 1, line, color="#b0423a", label=f"log-linear, R² {fit.r_squared:.3f}")
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
