"""Table 1 as text: tests down, agents across, for the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gumption.agents.halma.evaluation import DYNAMIC, MEASURES, agents_of, rows_of
from gumption.agents.halma.plots import Columns, Published

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

# ---- What the paper (Xie et al., 2021) states in figures: Table 1 and Table S4
#
# Table 1 is transcribed whole, in percent: mean and standard deviation over three seeds of testing the best of five
# trainings (F.1). Our tables show the mean over all trainings, whose seeds are 0, 1, ...

_TESTS = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")
_Cell = tuple[float, float] | None


def _column(
    training: Sequence[_Cell], random: Sequence[_Cell], goals: Sequence[_Cell], efficiency: Sequence[_Cell]
) -> Published:
    """A column of Table 1: the three measures of T and of RT, then rho_g and rho_p of the diagnostic tests; None is
    the paper's "-"."""
    measures = ("rho_a", "rho_g", "rho_p")
    column: dict[str, dict[str, _Cell]] = {
        "T": dict(zip(measures, training, strict=True)),
        "RT": dict(zip(measures, random, strict=True)),
    }
    for test, goal, short in zip(_TESTS, goals, efficiency, strict=True):
        column[test] = {"rho_g": goal, "rho_p": short}
    return column


_NOTHING: list[_Cell] = [(0.0, 0.0)] * len(_TESTS)

TABLE_1: dict[str, Published] = {
    "MLP": _column(
        [(94.78, 4.11), (99.23, 0.63), (71.67, 1.73)],
        [(62.98, 1.52), (51.00, 2.21), (54.91, 2.85)],
        [(55.00, 7.07), (25.00, 8.16), (41.67, 2.36), (31.67, 8.50), (6.67, 2.36), (0.0, 0.0), (35.00, 7.07)],
        [(19.90, 2.18), (7.37, 2.33), (15.10, 0.35), (11.68, 3.34), (1.48, 0.52), (0.0, 0.0), (12.19, 1.84)],
    ),
    "LSTM": _column(
        [(87.88, 2.14), (57.22, 3.07), (50.91, 3.54)],
        [(76.09, 2.10), (57.78, 3.49), (45.15, 1.46)],
        [(50.00, 8.16), (63.33, 6.24), (60.00, 10.80), (45.00, 10.80), (100.0, 0.0), (86.67, 9.43), (48.33, 4.71)],
        [(24.02, 7.20), (26.31, 2.34), (28.91, 7.62), (17.15, 5.82), (51.86, 0.18), (29.89, 2.18), (21.84, 0.53)],
    ),
    "TRAN": _column(
        [(85.43, 6.77), (93.85, 1.26), (67.89, 0.63)],
        [(65.15, 4.45), (82.82, 0.96), (58.07, 1.01)],
        [(41.67, 8.50), (43.33, 6.23), (36.67, 8.50), (43.33, 6.24), (25.00, 0.0), (50.00, 0.0), (41.67, 2.36)],
        [(16.34, 3.90), (12.22, 1.83), (14.01, 3.75), (17.86, 3.02), (5.83, 0.24), (10.00, 0.0), (14.45, 1.66)],
    ),
    "TRAN+LSTM": _column(
        [(86.95, 3.09), (72.33, 5.79), (63.97, 5.84)],
        [(62.31, 2.90), (54.00, 2.94), (40.13, 2.52)],
        [(66.67, 13.12), (78.33, 2.36), (58.33, 10.27), (71.67, 6.24), None, None, (41.67, 13.12)],
        [(35.74, 5.85), (34.79, 4.25), (27.11, 2.12), (35.40, 3.71), None, None, (22.03, 6.64)],
    ),
    "CNN+MLP": _column(
        [(85.61, 7.22), (75.76, 4.77), (63.77, 2.68)],
        [(13.30, 2.30), (7.58, 0.43), (5.09, 1.17)],
        _NOTHING,
        _NOTHING,
    ),
    "CNN+TRAN": _column(
        [(89.71, 2.61), (58.33, 4.19), (35.31, 3.00)],
        [(43.09, 7.92), (14.00, 4.24), (8.33, 1.96)],
        [*_NOTHING[:-1], None],
        [*_NOTHING[:-1], None],
    ),
    "SPACE": _column(
        [(83.55, 2.65), (16.33, 0.94), (12.02, 1.17)],
        [(41.62, 1.20), (3.67, 0.47), (2.66, 0.19)],
        _NOTHING,
        _NOTHING,
    ),
}


TABLE_S4 = {"colour": (59.67, 0.58), "digit": (50.56, 0.92)}  # accuracy of the probe of SPACE, in percent


# ---- Our table

_WORDS = {DYNAMIC: "all diagnostic"}
HOW_TO_READ = (
    "rho_a: valid moves of all moves; rho_g: trials that reached the goal; rho_p: length of the oracle's trial by that "
    "of the agent's, 0 where it failed; all in percent, mean ± standard deviation (95 % bootstrap interval)."
)

_MLP = {measure: given or (0.0,) for measure, given in TABLE_1["MLP"]["RT"].items()}  # RT has all measures
OTHER_MEASURE = (
    f"The paper's rho_p is another measure than ours, which is rho_g at most: its MLP has {_MLP['rho_p'][0]:.1f} of it "
    f"on RT, where rho_g is {_MLP['rho_g'][0]:.1f}. So the two stand side by side, and neither is subtracted from the "
    "other."
)


def how_to_read(columns: Columns, paper: bool) -> str:
    """What the figures are, what they are spread over, and which of the paper's are of another measure.

    :param paper: whether the paper's figures are shown.
    """
    several = [column["runs"] > 1 for column in columns.values()]
    one = "Of one run: the deviation is over the seeds of the test, the interval over its mazes."
    many = "Of several runs: both are over the runs."
    told = [text for text, wanted in ((one, not all(several)), (many, any(several))) if wanted]
    return " ".join([HOW_TO_READ, *told, *([OTHER_MEASURE] if paper and published_of(columns) else [])])


def falls_short(columns: Columns) -> list[str]:
    """Where fewer goals are reached than the paper tells of."""
    found = []
    for name, published in published_of(columns).items():
        for test, theirs in published.items():
            ours = columns[name]["tests"][test]
            if ours["mazes"] and theirs["rho_g"] and 100 * ours["rho_g"]["mean"] < theirs["rho_g"][0]:
                pairs = [
                    f"{100 * ours[measure]['mean']:.1f} against {theirs[measure][0]:.1f}"  # pyright: ignore[reportOptionalSubscript]
                    for measure in ("rho_g", "rho_p")
                    if theirs[measure]
                ]
                found.append(f"{name}, {test}: rho_g {pairs[0]}" + "".join(f" (rho_p {pair})" for pair in pairs[1:]))
    return found


def rows(columns: Columns, paper: str | None) -> list[tuple[str, ...]]:
    """(test, measure, mazes, a cell for each agent) of each row.

    :param paper: what stands between our figure and the paper's; None for ours alone.
    """
    found = []
    for test in rows_of(columns.values()):
        tests = [column["tests"][test] for column in columns.values()]
        mazes = sorted({one["mazes"] for one in tests})
        counts = f"{mazes[0]}" if len(mazes) == 1 else f"{mazes[0]} to {mazes[-1]}"
        for i, measure in enumerate(MEASURES):
            cells = (cell(column, test, measure, paper) for column in columns.values())
            found.append(("" if i else _WORDS.get(test, test), measure, "" if i else counts, *cells))
    return found


def cell(column: Mapping[str, Any], test: str, measure: str, paper: str | None = None) -> str:
    """A figure of a column of Table 1 in percent, with what it is spread over; "-" where the test has no mazes."""
    told = column["tests"][test]
    text = "-"
    if told["mazes"]:
        value = told[measure]
        text = f"{100 * value['mean']:.1f}"
        if value["std"] is not None:
            text += f" ± {100 * value['std']:.1f}"
        if value["low"] is not None:
            text += f" ({100 * value['low']:.1f} to {100 * value['high']:.1f})"
        if told.get("runs", column["runs"]) < column["runs"]:
            text += f", {told['runs']} of {column['runs']} runs"
    published = TABLE_1.get(column["agent"], {}).get(test, {})
    if paper is not None and measure in published:
        text += f"{paper}paper {published_text(published, measure)}"
    return text


def published_text(published: Mapping[str, tuple[float, float] | None], measure: str) -> str:
    """A figure of the paper."""
    figures = published.get(measure)
    return "-" if figures is None else f"{figures[0]:.1f} ± {figures[1]:.1f}"


def why_none(columns: Columns) -> list[str]:
    """Lines that say why a test has no mazes, or some of the runs have none; a reason is told once.

    Those that play beside an agent play its tests.
    """
    agents: dict[str, list[str]] = {}
    for test in rows_of(columns.values()):
        for name, column in agents_of(columns).items():
            if reason := column["tests"][test]["reason"]:
                agents.setdefault(f"{_WORDS.get(test, test)}: {reason}", []).append(name)
    return [f"{told} ({'; '.join(names)})" for told, names in agents.items()]


@dataclass(frozen=True)
class Overview:
    """The table for a terminal, as many agents side by side as it has room for, and what to read it by.

    :ivar paper: whether to tell the paper's figures, too.
    """

    columns: Columns
    paper: bool
    title: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        names, title = list(self.columns), self.title
        while names:
            count = 1
            while count < len(names) and self._width(names[: count + 1], console, options) <= options.max_width:
                count += 1
            yield self._table(names[:count], title)
            yield ""
            names, title = names[count:], None
        yield how_to_read(self.columns, self.paper)
        if reasons := why_none(self.columns):
            yield "\n".join(['Why there is "-":', *reasons])

    def _width(self, names: Sequence[str], console: Console, options: ConsoleOptions) -> int:
        return self._table(names).__rich_measure__(console, options).maximum

    def _table(self, names: Sequence[str], title: str | None = None) -> Table:
        """Of some of the agents, in cells of several short lines."""
        from rich.table import Table

        columns = {name: self.columns[name] for name in names}
        heads = (name.replace(", ", ",\n") for name in names)
        table = Table("test\n(mazes)", "", *heads, title=title, show_edge=False, pad_edge=False)
        for test, measure, mazes, *cells in rows(columns, "\n" if self.paper else None):
            if test:
                table.add_section()
            of = f"{test}\n({mazes})" if test else ""
            table.add_row(of, measure, *(text.replace(" (", "\n(").replace(", ", ",\n") for text in cells))
        return table


def markdown(columns: Columns, paper: bool) -> list[str]:
    """The table in Markdown, what to read it by, and why tests are missing."""
    lines = [f"| test | | mazes | {' | '.join(columns)} |", "| --- | --- | ---: |" + " ---: |" * len(columns)]
    lines += [f"| {' | '.join(row)} |" for row in rows(columns, "; " if paper else None)]
    lines += ["", how_to_read(columns, paper)]
    if paper and (shorter := falls_short(columns)):
        lines += ["", "What falls short of the paper's rho_g:", "", *(f"- {one}" for one in shorter)]
    if reasons := why_none(columns):
        lines += ["", 'Why there is "-":', "", *(f"- {reason}" for reason in reasons)]
    return lines


def short(columns: Columns) -> list[str]:
    """The table in Markdown as the README has it: rho_g / rho_p of each test, the paper's figures below ours."""
    lines = [f"| rho_g / rho_p, % | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    for test in rows_of(columns.values()):
        cells = []
        for column in columns.values():
            told, published = column["tests"][test], TABLE_1.get(column["agent"], {}).get(test)
            ours = "-"
            if told["mazes"]:
                ours = " / ".join(f"{100 * told[measure]['mean']:.1f}" for measure in ("rho_g", "rho_p"))
            if published is not None:
                ours += f"<br>paper {_pair(published)}"
            cells.append(ours)
        lines.append(f"| {_WORDS.get(test, test)} | {' | '.join(cells)} |")
    return lines


def _pair(published: Mapping[str, tuple[float, float] | None]) -> str:
    figures = [published.get(measure) for measure in ("rho_g", "rho_p")]
    return " / ".join("-" if one is None else f"{one[0]:.1f}" for one in figures) if any(figures) else "-"


def published_of(columns: Columns) -> dict[str, Published]:
    """The paper's columns for those of ours that it has, by our names."""
    return {name: TABLE_1[column["agent"]] for name, column in columns.items() if column["agent"] in TABLE_1}
