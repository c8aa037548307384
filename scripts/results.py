"""Define experiments as data, and turn their runs into results.json, table.md and plots.

An experiment has conditions and a kind. The kind turns a condition into a run, and defines the figures of a run and the
columns of a table. A world offers its experiments as "experiments" in its entry of envs/worlds.py: name -> Experiment.
`experiment.py` runs them. The folder of an experiment holds plan.json (conditions, settings, versions, machine) and run
directories CONDITION/seed-N/. A run is complete once it contains the last file of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import settings
from gumption.data.tables import grouped
from gumption.data.writing import write_json, write_text

from .freshness import changed_since, made_with

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from gumption.agents.statistics import Estimate

FINAL = "final.json"  # the last file of a run, unless its kind names another
PLAN, RESULTS, TABLE = "plan.json", "results.json", "table.md"
HEADER = ("command", "versions", "hardware", "workers", "formats")  # in every plan: the provenance of the runs

#: For rows with knowledge that were saved before the rule existed (see `gumption.kg.scores.RelationScores`).
BEFORE_RULE = "scores before the rule, which spoke again for what was chosen already"

#: For rows that were made with code whose behaviour has changed since.
OLDER_CODE = "older code"

#: For rows that were saved before commits were stored.
NOT_KEPT = "code whose commit was not kept, so that changes since then are not known"

Row = Mapping[str, Any]
#: From a row and the rows of its panel to the text of a cell.
Cell = Callable[[Row, Sequence[Row]], str]


@dataclass(frozen=True)
class Condition:
    """A row of an experiment.

    :ivar settings: fields of a run's config that differ from the defaults.
    :ivar method: how its figures are made: by training, or by another method of the kind.
    :ivar panels: the parts of the table and of the plots that contain it.
    :ivar of: the condition that this condition analyses. It runs after that condition, reads its run with the same
        seed, and has the same colour in plots.
    :ivar known: a figure of the paper or of other code; `target` is the figure that this project aims at.
    :ivar on_demand: run only if --setting names it.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    method: str = "train"
    panels: tuple[str, ...] = ()
    of: str | None = None
    known: float | None = None
    target: float | None = None
    on_demand: bool = False


@dataclass(frozen=True)
class Job:
    """A condition with a seed: the fields of its config, and its run directory.

    :ivar source: the run directory, with the same seed, of the condition that this condition analyses.
    :ivar last: the file that a run writes last.
    """

    label: str
    seed: int
    method: str
    settings: Mapping[str, Any]
    directory: Path
    source: Path | None = None
    last: str = FINAL

    @property
    def complete(self) -> bool:
        """Whether the run has written its last file."""
        return (self.directory / self.last).is_file()

    def source_run(self) -> Path:
        """Return the run that this job analyses; raise InputError if it is not complete."""
        assert self.source is not None
        if not (self.source / FINAL).is_file():
            raise InputError(f"{self.label} looks into {self.source}, which is not complete: run that condition first")
        return self.source


@settings
class NoOptions:
    """A kind without options of its own."""


class Kind:
    """A kind of experiment, such as the experiments of one world: settings, figures and columns of the table.

    :cvar title: name of the kind in messages: "WordCraft's experiments".
    :cvar options: dataclass of the command-line options of these experiments only.
    :cvar last: the file that a run writes last.
    :cvar fixed: entries of `header` that must be the same for all runs of a folder.
    :cvar places: command-line settings that are paths, passed only to conditions that name them.
    :cvar named: heading of the first column, the kind of thing that a condition is.
    :cvar source: text before `expected` if the table is in no paper.
    :cvar columns: heading -> cell, of the other columns of the table; `shown` are the columns for a terminal, all if
        empty.
    :cvar rests_on: versioned inputs of the figures ("scores" of knowledge, "splits") -> MODULE:NAME of the version.
    :cvar code: folders and files of code and data that the figures depend on, relative to the package's folder:
        "envs/halma".
    :cvar drawn: for the plot of final figures: the figure of a row, the stem of the files, the label of the axis.
    """

    title: str = ""
    options: type[Any] = NoOptions
    last: str = FINAL
    fixed: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    named: str = "condition"
    source: str = ""
    columns: ClassVar[Mapping[str, Cell]] = {}
    shown: tuple[str, ...] = ()
    rests_on: ClassVar[Mapping[str, str]] = {}
    code: tuple[str, ...] = ()
    drawn: tuple[str, str, str] | None = None

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        """Return the fields of the config that the command line sets for every condition.

        :raises InputError: an option that is missing.
        """
        return {"device": device}

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entries of plan.json in addition to `HEADER`: names and hashes of the data."""
        return {}

    def formats(self) -> dict[str, Any]:
        """Return the current versions of the inputs in `rests_on`, and the commit of `code`."""
        found = {name: resolve_name(where) for name, where in self.rests_on.items()}
        return found | made_with(self.code)

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """Make shared inputs of the jobs in the folder `out`, and return the jobs to run, in order."""
        return list(jobs)

    def run(self, job: Job, progress: bool) -> None:
        """Run a job and write `last` when it is complete: here with the result of `measure`."""
        found = self.measure(job, progress)
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / self.last, found)

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Run a job and return its result."""
        raise NotImplementedError

    def told(self, job: Job) -> str:
        """Return the result of a complete run in a few words."""
        return self.words(read_sealed(job.directory / self.last))

    def words(self, found: Mapping[str, Any]) -> str:
        """Return the content of a run's last file in a few words."""
        raise NotImplementedError

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Return the figures of a condition. :param runs: its complete run directories by seed."""
        return self.figures(condition, {str(seed): read_sealed(run / self.last) for seed, run in runs.items()})

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the figures of a condition from the last files of its runs, by seed: here these files."""
        return {"runs": dict(found)}

    def more_rows(self, options: Any, plan: Mapping[str, Any], rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return rows that do not come from runs."""
        return []

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return further entries of results.json.

        :param directory: of the runs; None if the rows combine runs and `saved` results.
        """
        return {}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """Return the lines of table.md between heading and provenance: here a table for each panel."""
        lines = []
        for panel, rows in panels(results).items():
            cells = [self.cells(row, rows, panel, self.columns) for row in rows]
            lines += [f"## {panel}", "", *table([self.named, *self.columns], cells), ""]
        return lines

    def headline(self, results: Mapping[str, Any]) -> str:
        """Return the short table for a page."""
        raise NotImplementedError

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """Return the table for a terminal: here a section for each panel, or the headline if there are no columns."""
        if not self.columns:
            rows = (line.strip("|").split("|") for line in self.headline(results).splitlines() if line.startswith("|"))
            head, _, *lines = ([cell.strip() for cell in row] for row in rows)
            return on_terminal(results["title"], head, {"": lines})
        shown = self.shown or tuple(self.columns)
        sections = {
            panel: [self.cells(row, rows, panel, shown) for row in rows] for panel, rows in panels(results).items()
        }
        return on_terminal(results["title"], [self.named, *shown], sections)

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Draw the results into the folder and return the written pictures: here `drawn`, with intervals."""
        if self.drawn is None:
            return []
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        figure, stem, label = self.drawn
        drawn = [
            FinalPanel(panel, {short(row, panel): estimate(row[figure]) for row in rows})
            for panel, rows in panels(results).items()
        ]
        return list(plot_final_success(drawn, directory / stem, results["title"], scale=Scale(label)))

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """Return the content of table.md: the whole table and its provenance."""
        of_paper = results["figure"] != "-"
        heading = f"# {results['experiment']}: {results['title']}" + (f" ({results['figure']})" if of_paper else "")
        lines = [heading, "", *self.body(experiment, results)]
        if results["expected"]:
            lines += [f"{'The paper: ' if of_paper else self.source}{results['expected']}", ""]
        if results["notes"]:
            lines += [results["notes"].strip(), ""]
        return "\n".join([*lines, *self.age_lines(results), *made_lines(results)]) + "\n"

    def age_lines(self, results: Mapping[str, Any]) -> list[str]:
        """Return lines that list outdated rows and the command to make them again."""
        again = f"`gumption experiment {results['experiment']} --setting ROW --save FOLDER`"
        lines = []
        for told, rows in self.older(results).items():
            lines += [f"Made with {told}, made again by {again}: {'; '.join(row['condition'] for row in rows)}.", ""]
        return lines + [part for line in rows_of_commits(results) for part in (line, "")]

    def page(self, results: Mapping[str, Any], folder: str) -> str:
        """Return the headline for a page, followed by its `age`."""
        return "".join([self.headline(results), *(f"\n{line}\n" for line in self.age(results, folder))])

    def age(self, results: Mapping[str, Any], folder: str) -> list[str]:
        """Return sentences with the number of outdated rows.

        :param folder: name of the folder of the saved results.
        """
        where, many = f"; `scripts/papers/results/{folder}/table.md` names them", len(results["rows"])
        lines = [
            f"{'All rows' if len(rows) == many else f'{len(rows)} of {many} rows'} were made with {told}"
            f"{where if len(rows) < many else ''}."
            for told, rows in self.older(results).items()
        ]
        if lines:
            lines[-1] += f" `gumption experiment {results['experiment']} --setting ROW` makes one again."
        return lines + rows_of_commits(results)

    def older(self, results: Mapping[str, Any]) -> dict[str, list[Row]]:
        """Group the outdated rows by their outdated inputs, in words. Rows with a "commit" are left out, since the code
        of that commit plays them."""
        return grouped(
            (" and ".join(told), row)
            for row in results["rows"]
            if "commit" not in row and (told := self.aged(row, row.get("made", results).get("formats") or {}))
        )

    def aged(self, row: Row, made: Mapping[str, Any]) -> list[str]:
        """Return the inputs of a row whose meaning has changed or may have changed since, in words.

        :param made: its `formats`; has "older" if its code is known to have changed.
        """
        told = [
            BEFORE_RULE if name == "rule" else f"an older version of {name} ({made.get(name) or 'unknown'}, now {now})"
            for name, now in self.formats().items()
            if name in self.rests_on
            and made.get(name) != now
            and (name not in ("scores", "rule") or row["settings"].get("kg", "none") != "none")
        ]
        if made.get("older"):
            told.append(OLDER_CODE)
        return told or ([NOT_KEPT] if self.code and "commit" not in made else [])

    def cost(self, row: Row) -> float | None:
        """Return the CPU time of making a row in seconds; the wall time if no CPU time was stored; None if neither
        was."""
        if "took_s" in row:
            return row["took_s"]
        runs = list(row["runs"].values()) if isinstance(row.get("runs"), dict) else []
        each = [run.get("wall_s", run.get("cpu_s", 0.0)) for run in runs if isinstance(run, dict)]
        if each and all(each):
            return sum(each)
        mean = row.get("wall_s") or 60 * row.get("minutes", 0)
        return mean * len(row["seeds"]) if mean else None

    def cells(self, row: Row, rows: Sequence[Row], panel: str, names: Iterable[str]) -> list[str]:
        """Return the line of a row in the table of a panel: its name, and the cells of the named columns."""
        return [short(row, panel), *(self.columns[name](row, rows) for name in names)]


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    :ivar figure: its name in the paper; "-" if it is in no paper.
    :ivar conditions: by label, in the order of the table.
    :ivar expected: the result in the paper.
    :ivar notes: notes for readers of the result.
    :ivar seeds: runs of each condition, with the seeds 0, 1, ...
    :ivar base: settings of all conditions.
    :ivar varied: the setting on the x-axis of the plot, and the label of that axis.
    :ivar finish: called with the runs of the first seed by condition, and the folder, when all is complete; returns
        lines to print.
    :ivar at_work: its columns in `graph-at-work`: heading -> function from a row to the row's label there and a
        `summary`, or to None if the row is not in the column.
    """

    name: str
    figure: str
    title: str
    kind: Kind
    conditions: Mapping[str, Condition]
    expected: str = ""
    notes: str = ""
    seeds: int = 5
    base: Mapping[str, Any] = field(default_factory=dict)
    varied: tuple[str, str] | None = None
    finish: Callable[[Mapping[str, Path], Path], Sequence[str]] | None = None
    at_work: Mapping[str, Callable[[Row], tuple[str, Mapping[str, Any]] | None]] = field(default_factory=dict)


# ---- From runs to results


def changes(made: Mapping[str, Any], code: Sequence[str] = ()) -> str:
    """Return the files that have changed since a result was made, in words.

    :param made: its `formats`; `code` are the current places, by default the places in `made`.
    """
    if made.get("older"):
        return OLDER_CODE
    files = changed_since(made["commit"], tuple(code or made["places"])) if made.get("commit") else None
    if files is None:
        return NOT_KEPT
    return f"since {made['commit']}: {', '.join(files)}" if files else "nothing"


def slug(label: str) -> str:
    """Return a label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def read_plan(out: Path) -> dict[str, Any]:
    """Read the plan.json of an experiment's folder; raise InputError if there is none."""
    if not (out / PLAN).is_file():
        raise InputError(f"{out}: no {PLAN}, so no experiment was run there")
    return read_json(out / PLAN)


def gather(directory: Path, experiment: Experiment, options: Any = None) -> dict[str, Any]:
    """Return the results of all complete runs under `directory`, as the content of results.json.

    :param experiment: the experiment that was run there.
    :param options: of its kind.
    :raises InputError: no plan.json, or no complete run.
    """
    plan, kind = read_plan(directory), experiment.kind
    made, newest = plan.get("made", {}), {key: plan.get(key) for key in HEADER}
    rows = []
    for label, condition in experiment.conditions.items():
        found = (directory / slug(label)).glob(f"seed-*/{kind.last}")
        runs = dict(sorted((int(one.parent.name.removeprefix("seed-")), one.parent) for one in found))
        if not runs or label not in plan["settings"]:
            continue
        row = {"condition": label, "settings": plan["settings"][label], "seeds": list(runs)}
        if condition.panels:
            row |= {"panels": list(condition.panels), "method": condition.method, "of": condition.of}
        if label in plan.get("took_s", {}):
            row["took_s"] = plan["took_s"][label]
        row |= kind.row(condition, runs)
        rows.append(row if made.get(label, newest) == newest else {**row, "made": made[label]})
    if not rows:
        raise InputError(f"{directory}: no run is complete yet")
    rows += kind.more_rows(options or kind.options(), plan, rows)
    return {
        "experiment": experiment.name,
        **{name: getattr(experiment, name) for name in ("figure", "title", "expected", "notes")},
        **{key: value for key, value in plan.items() if key not in ("experiment", "settings", "made", "took_s")},
        "rows": rows,
        **kind.more(rows, directory, {}),
    }


def with_saved(
    results: Mapping[str, Any], experiment: Experiment, plan: Mapping[str, Any], directory: Path
) -> dict[str, Any]:
    """Merge `results` with the saved rows in `directory` of other conditions, so that a long experiment can run in
    parts. A saved row stores its provenance as "made". Saved rows with a "commit" are kept even if their condition no
    longer exists, since the code of that commit plays them.

    :param plan: of the runs of `results`.
    :raises InputError: saved results of another experiment, other data, or other settings.
    """
    path = directory / RESULTS
    if not path.is_file():
        return dict(results)
    saved, kind = _saved(path, results["experiment"]), experiment.kind
    for key in kind.fixed:
        if saved[key] != results[key]:
            raise InputError(f"{path}: its {key} is another one; save into another folder")
    rows = {row["condition"]: row for row in results["rows"]}
    for row in saved["rows"]:
        label = row["condition"]
        if label in rows or (label not in experiment.conditions and "commit" not in row):
            continue
        # The device does not count as a setting; the hardware is stored. Runs without `look_ahead` did not look ahead.
        both = row["settings"], plan["settings"].get(label, row["settings"])
        one, other = ({"look_ahead": "off", **each, "device": ""} for each in both)
        if one != other:
            raise InputError(f"{path}: {label} was run with other settings; save into another folder")
        rows[label] = {"made": {key: saved.get(key) for key in HEADER}, **row}
    ordered = [rows[label] for label in dict.fromkeys([*experiment.conditions, *rows]) if label in rows]
    return {**results, "rows": ordered, **kind.more(ordered, None, {**saved, **results})}


def _saved(path: Path, name: str) -> dict[str, Any]:
    """Read the content of an experiment's results.json."""
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("experiment") != name:
        raise InputError(f"{path}: no results of {name}; save into another folder")
    if not all("condition" in row for row in saved["rows"]):
        raise InputError(f"{path}: written by an older version; save into another folder")
    return saved


def write_report(results: Mapping[str, Any], experiment: Experiment, directory: Path) -> list[Path]:
    """Write results.json, table.md and the plots of `results` into `directory`; return their paths."""
    write_json(directory / RESULTS, results)
    write_text(directory / TABLE, experiment.kind.markdown(experiment, results))
    return [directory / RESULTS, directory / TABLE, *experiment.kind.plots(experiment, results, directory)]


def rows_of_commits(results: Mapping[str, Any]) -> list[str]:
    """Return sentences on the rows with a "commit", which the current code cannot play."""
    commits = grouped((row["commit"], row["condition"]) for row in results["rows"] if "commit" in row)
    return [
        f"Kept rows, which commit {commit} plays and later versions cannot: {'; '.join(rows)}."
        for commit, rows in commits.items()
    ]


def made_lines(results: Mapping[str, Any]) -> list[str]:
    """Return lines on the provenance of the rows, grouped by command, the newest first."""
    parts: dict[str, list[str]] = {}
    for row in sorted(results["rows"], key=lambda row: "made" in row):
        made = row.get("made", results)
        hardware = made["hardware"]
        machine = f"{hardware['cpu']}, {hardware['cores']} cores" + (
            f", {hardware['gpu']}" if "gpu" in hardware else ""
        )
        versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
        told = f"Machine: {machine}; {made['workers']} run(s) at a time. Versions: {versions}."
        parts.setdefault(f"Command: `{made['command']}`\n\n{told}", []).append(row["condition"])
    if len(parts) == 1:
        return list(parts)
    return [line for told, labels in parts.items() for line in (f"{'; '.join(labels)}:", "", told, "")][:-1]


# ---- Tables


def panels(results: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Group the rows by panel, panels and rows in the order of the experiment."""
    return grouped((panel, row) for row in results["rows"] for panel in row["panels"])


def short(row: Row, panel: str) -> str:
    """Return a condition's label without the name of its panel."""
    return row["condition"].removesuffix(f", {panel}").removeprefix(f"{panel}, ").removeprefix(f"{panel}: ")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Return lines of a table in Markdown. :param left: number of left-aligned columns."""
    sides = ["---"] * left + ["---:"] * (len(heads) - left)
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def by_panel(first: str, cells: Mapping[str, Mapping[str, str]], columns: Sequence[str]) -> str:
    """Return a table in Markdown. :param cells: line -> column -> cell; missing cells become "-"."""
    lines = [[name, *(row.get(column, "-") for column in columns)] for name, row in cells.items()]
    return "\n".join(table([first, *columns], lines)) + "\n"


def on_terminal(title: str, heads: Sequence[str], sections: Mapping[str, Sequence[Sequence[str]]]) -> Table:
    """Return a table for a terminal, in sections by heading; "" has no heading."""
    from rich.table import Table

    shown = Table(*heads, title=title)
    for section, rows in sections.items():
        if section:
            shown.add_section()
            shown.add_row(f"[bold]{section}[/bold]")
        for row in rows:
            shown.add_row(*row)
    return shown


def summary(per_seed: Sequence[float | None], statistic: str = "iqm") -> dict[str, Any]:
    """Return a statistic over the seeds that have a figure, and the ends of its 95 % bootstrap interval. The ends are
    None for a single figure, and all three are None without a figure.

    :param statistic: mean or iqm, the interquartile mean.
    """
    from gumption.agents.statistics import bootstrap_interval

    scores = [one for one in per_seed if one is not None]
    value, low, high = bootstrap_interval(scores, statistic) if scores else (None, None, None)  # pyright: ignore[reportArgumentType]
    if len(scores) < 2:
        low = high = None
    found = {statistic: value, "low": low, "high": high}
    rounded = {name: None if one is None else round(float(one), 5) for name, one in found.items()}
    return {**rounded, "per_seed": [None if one is None else round(float(one), 5) for one in per_seed]}


def with_interval(summary: Mapping[str, Any] | None, form: str = ".3f") -> str:
    """Return the value of a `summary` with its interval, if it has one; "-" without a value."""
    value = None if summary is None else summary.get("mean", summary.get("iqm"))
    if summary is None or value is None:
        return "-"
    low, high = summary["low"], summary["high"]
    return format(value, form) if low is None else f"{value:{form}} ({low:{form}} to {high:{form}})"


def estimate(summary: Mapping[str, Any]) -> Estimate:
    """Return a `summary` as an Estimate for plots."""
    from gumption.agents.statistics import Estimate

    ends = (float("nan") if summary[end] is None else summary[end] for end in ("low", "high"))
    return Estimate(summary.get("mean", summary.get("iqm")), *ends)


def number(value: float | None, form: str) -> str:
    """Format a figure; "-" if it is missing."""
    return "-" if value is None else format(value, form)


def figure(name: str, form: str) -> Cell:
    """Return the cell of a figure of a row; "-" if it is missing."""
    return lambda row, rows: number(row.get(name), form)


def of_panel(
    panel: str, name: str, labels: Mapping[str, str] = MappingProxyType({}), whole: float = 1.0
) -> Callable[[Row], tuple[str, Mapping[str, Any]] | None]:
    """Return a function from a row of a panel to its label and `summary`, for `Experiment.at_work`.

    :param labels: condition -> label, if it differs. :param whole: divisor of the figures, the value that counts as 1.
    """

    def cell(row: Row) -> tuple[str, Mapping[str, Any]] | None:
        if panel not in row["panels"]:
            return None
        figure = {
            key: [each / whole for each in value] if isinstance(value, list) else value / whole
            for key, value in row[name].items()
        }
        label: str = row["condition"]
        return labels.get(label, label.removeprefix(f"{panel}: ")), figure

    return cell


def spread(name: str, form: str) -> Cell:
    """Return the cell of a `summary` of a row."""
    return lambda row, rows: with_interval(row[name], form)


def seeds(row: Row, rows: Sequence[Row]) -> str:
    """Return the cell with the number of runs of a row."""
    return str(len(row["seeds"]))
