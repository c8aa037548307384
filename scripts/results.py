"""Experiments as data, and the way from their runs to results.json, table.md and the plots.

An experiment is data: its conditions, and its kind, which says how a condition becomes a run, which figures a run has
and which columns a table shows. A world offers its experiments as "experiments" in its entry of envs/worlds.py:
name -> Experiment. `experiment.py` runs them. A folder of an experiment holds plan.json (what is run, with what, on
what) and CONDITION/seed-N/, each a run directory that is complete once the last file of its kind is in it.
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

FINAL = "final.json"  # the last file of a run, unless its kind names another one
PLAN, RESULTS, TABLE = "plan.json", "results.json", "table.md"
HEADER = ("command", "versions", "hardware", "workers", "formats")  # of a plan, at least: what runs were made with

#: Of rows with knowledge that were saved before there was the rule (see `gumption.kg.scores.RelationScores`).
BEFORE_RULE = "scores before the rule, which spoke again for what was chosen already"

#: Of rows that were made with code whose behaviour has changed since.
OLDER_CODE = "older code"

#: Of rows that were saved before commits were.
NOT_KEPT = "code whose commit was not kept, so that changes since then are not known"

Row = Mapping[str, Any]
#: From a row and the rows of its panel to the text of a cell.
Cell = Callable[[Row, Sequence[Row]], str]


@dataclass(frozen=True)
class Condition:
    """One row of an experiment.

    :ivar settings: fields of a run's config in which it differs from the defaults.
    :ivar method: how its figures come about: by training, or in another way that the kind knows.
    :ivar panels: the parts of the table and of the plots that it is in.
    :ivar of: the condition that this one looks into. It runs after that one, is given the run with the same seed, and
        is drawn in the same colour.
    :ivar known: a figure of the paper or of another code; `target` what this project holds itself to.
    :ivar on_demand: run only where --setting names it.
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
    """One condition with one seed: the fields of the config to run it with, and where its run directory is.

    :ivar source: the run directory, with the same seed, of the condition that this one looks into.
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
        """Whether the last thing that a run does is done."""
        return (self.directory / self.last).is_file()

    def source_run(self) -> Path:
        """The run that this one looks into; InputError where it is not complete."""
        assert self.source is not None
        if not (self.source / FINAL).is_file():
            raise InputError(f"{self.label} looks into {self.source}, which is not complete: run that condition first")
        return self.source


@settings
class NoOptions:
    """A kind without options of its own."""


class Kind:
    """The experiments of one world, or another kind of experiment: settings, figures and columns of the table.

    :cvar title: whose they are, in messages: "WordCraft's experiments".
    :cvar options: a dataclass of the command line's options that these experiments alone read.
    :cvar last: the file that a run writes last.
    :cvar fixed: what `header` tells that must be the same for all runs of a folder.
    :cvar places: settings of the command line that say where something is, for the conditions alone that name it.
    :cvar named: what a condition is, as the heading of the first column.
    :cvar source: what stands before `expected` where no paper has the table.
    :cvar columns: heading -> cell, of the other columns of the table; `shown` those that a terminal shows, all where
        none is named.
    :cvar rests_on: what the figures rest on, and may change its meaning -> MODULE:NAME of its version: "scores" of
        knowledge, "splits".
    :cvar code: folders and files of code and data whose behaviour the figures depend on, from the package's folder:
        "envs/halma".
    :cvar drawn: of the plot of final figures: the figure of a row, the stem of the files, the label of the axis.
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
        """The fields of the config that the command line sets for every condition.

        :raises InputError: an option that is missing.
        """
        return {"device": device}

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """What plan.json tells beside `HEADER`: names and hashes of the data."""
        return {}

    def formats(self) -> dict[str, Any]:
        """The present versions of what `rests_on` names, and the commit of `code`."""
        found = {name: resolve_name(where) for name, where in self.rests_on.items()}
        return found | made_with(self.code)

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs, once what several of them need is made in the folder `out`."""
        return list(jobs)

    def run(self, job: Job, progress: bool) -> None:
        """Do the work of one job; `last` is written when it is complete: here with what `measure` gives."""
        found = self.measure(job, progress)
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / self.last, found)

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Do the work of one job, and give what it came to."""
        raise NotImplementedError

    def told(self, job: Job) -> str:
        """What a complete run came to, in a few words."""
        return self.words(read_sealed(job.directory / self.last))

    def words(self, found: Mapping[str, Any]) -> str:
        """The same, of what a run wrote last."""
        raise NotImplementedError

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """The figures of a condition. :param runs: its complete run directories by seed."""
        return self.figures(condition, {str(seed): read_sealed(run / self.last) for seed, run in runs.items()})

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """The figures of a condition, from what each run wrote last, by seed: here just these."""
        return {"runs": dict(found)}

    def more_rows(self, options: Any, plan: Mapping[str, Any], rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Rows that are not of runs."""
        return []

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Entries of results.json beside its rows.

        :param directory: of the runs; None where rows of these and of `saved` results stand together.
        """
        return {}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """What table.md has between its heading and where the figures are from: here a table for each panel."""
        lines = []
        for panel, rows in panels(results).items():
            cells = [self.cells(row, rows, panel, self.columns) for row in rows]
            lines += [f"## {panel}", "", *table([self.named, *self.columns], cells), ""]
        return lines

    def headline(self, results: Mapping[str, Any]) -> str:
        """The short table that a page shows."""
        raise NotImplementedError

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """The table for a terminal: here a section for each panel, or the headline where there is none."""
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
        """Draw the results into the folder, and give the pictures that were written: here `drawn`, with intervals."""
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
        """The whole table, with what it comes from: table.md."""
        of_paper = results["figure"] != "-"
        heading = f"# {results['experiment']}: {results['title']}" + (f" ({results['figure']})" if of_paper else "")
        lines = [heading, "", *self.body(experiment, results)]
        if results["expected"]:
            lines += [f"{'The paper: ' if of_paper else self.source}{results['expected']}", ""]
        if results["notes"]:
            lines += [results["notes"].strip(), ""]
        return "\n".join([*lines, *self.age_lines(results), *made_lines(results)]) + "\n"

    def age_lines(self, results: Mapping[str, Any]) -> list[str]:
        """Which rows are older than what they rest on, and how they are made again."""
        again = f"`gumption experiment {results['experiment']} --setting ROW --save FOLDER`"
        lines = []
        for told, rows in self.older(results).items():
            lines += [f"Made with {told}, made again by {again}: {'; '.join(row['condition'] for row in rows)}.", ""]
        return lines + [part for line in rows_of_commits(results) for part in (line, "")]

    def page(self, results: Mapping[str, Any], folder: str) -> str:
        """The headline as pages show it, and below it its `age`."""
        return "".join([self.headline(results), *(f"\n{line}\n" for line in self.age(results, folder))])

    def age(self, results: Mapping[str, Any], folder: str) -> list[str]:
        """How many rows are older than what they rest on, in sentences.

        :param folder: the name of the folder that they are saved in.
        """
        where, many = f"; `scripts/results/{folder}/table.md` names them", len(results["rows"])
        lines = [
            f"{'All rows' if len(rows) == many else f'{len(rows)} of {many} rows'} were made with {told}"
            f"{where if len(rows) < many else ''}."
            for told, rows in self.older(results).items()
        ]
        if lines:
            lines[-1] += f" `gumption experiment {results['experiment']} --setting ROW` makes one again."
        return lines + rows_of_commits(results)

    def older(self, results: Mapping[str, Any]) -> dict[str, list[Row]]:
        """What rows were made with that means something else today, in words -> these rows; none of those that name a
        "commit", whose code plays them."""
        return grouped(
            (" and ".join(told), row)
            for row in results["rows"]
            if "commit" not in row and (told := self.aged(row, row.get("made", results).get("formats") or {}))
        )

    def aged(self, row: Row, made: Mapping[str, Any]) -> list[str]:
        """What a row was made with that means something else today, or may, in words.

        :param made: its `formats`; "older" where the code was found changed.
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
        """The CPU time of making a row, in seconds, or the wall time where it was saved before the CPU time was; None
        where neither was kept."""
        if "took_s" in row:
            return row["took_s"]
        runs = list(row["runs"].values()) if isinstance(row.get("runs"), dict) else []
        each = [run.get("wall_s", run.get("cpu_s", 0.0)) for run in runs if isinstance(run, dict)]
        if each and all(each):
            return sum(each)
        mean = row.get("wall_s") or 60 * row.get("minutes", 0)
        return mean * len(row["seeds"]) if mean else None

    def cells(self, row: Row, rows: Sequence[Row], panel: str, names: Iterable[str]) -> list[str]:
        """The line of a row in the table of a panel: its name, and the columns of these names."""
        return [short(row, panel), *(self.columns[name](row, rows) for name in names)]


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    :ivar figure: what it is called in its paper; "-" where no paper has it.
    :ivar conditions: by label, in the order of the table.
    :ivar expected: what the paper says comes out.
    :ivar notes: what to know when reading the result.
    :ivar seeds: runs of each condition, with the seeds 0, 1, ...
    :ivar base: settings of all conditions.
    :ivar varied: the setting over which agents are drawn, and what it is called on the axis.
    :ivar finish: called with the runs of the first seed by condition, and the folder, when all is complete; the lines
        that it gives are printed.
    :ivar at_work: its columns in `graph-at-work`: heading -> function of a row that gives the row's label there and a
        `summary`, or None where it is of another column.
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
    """The files that have changed since a result was made, in words.

    :param made: its `formats`; `code` the places of today, without which it names them.
    """
    if made.get("older"):
        return OLDER_CODE
    files = changed_since(made["commit"], tuple(code or made["places"])) if made.get("commit") else None
    if files is None:
        return NOT_KEPT
    return f"since {made['commit']}: {', '.join(files)}" if files else "nothing"


def slug(label: str) -> str:
    """A label as the name of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def read_plan(out: Path) -> dict[str, Any]:
    """The plan.json of an experiment's folder; InputError where there is none."""
    if not (out / PLAN).is_file():
        raise InputError(f"{out}: no {PLAN}, so no experiment was run there")
    return read_json(out / PLAN)


def gather(directory: Path, experiment: Experiment, options: Any = None) -> dict[str, Any]:
    """The results of all complete runs under `directory`, as the content of results.json.

    :param experiment: the one that was run there.
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
        "figure": experiment.figure,
        "title": experiment.title,
        "expected": experiment.expected,
        "notes": experiment.notes,
        **{key: value for key, value in plan.items() if key not in ("experiment", "settings", "made", "took_s")},
        "rows": rows,
        **kind.more(rows, directory, {}),
    }


def with_saved(
    results: Mapping[str, Any], experiment: Experiment, plan: Mapping[str, Any], directory: Path
) -> dict[str, Any]:
    """`results` together with what `directory` has of conditions without a run in them, so that a long experiment may
    be run in parts, each where there is time for it. What rows were made with, if not as `results` say, is their
    "made". Rows that name a "commit" stay, too: its code plays them, and today's has no such condition.

    :param plan: of the runs of `results`.
    :raises InputError: results of another experiment there, of other data, or of other settings.
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
        # Where a run was made is told by its hardware; runs from before there was looking ahead do not look ahead.
        both = row["settings"], plan["settings"].get(label, row["settings"])
        one, other = ({"look_ahead": "off", **each, "device": ""} for each in both)
        if one != other:
            raise InputError(f"{path}: {label} was run with other settings; save into another folder")
        rows[label] = {"made": {key: saved.get(key) for key in HEADER}, **row}
    ordered = [rows[label] for label in dict.fromkeys([*experiment.conditions, *rows]) if label in rows]
    return {**results, "rows": ordered, **kind.more(ordered, None, {**saved, **results})}


def _saved(path: Path, name: str) -> dict[str, Any]:
    """The content of an experiment's results.json."""
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("experiment") != name:
        raise InputError(f"{path}: no results of {name}; save into another folder")
    if not all("condition" in row for row in saved["rows"]):
        raise InputError(f"{path}: written by an older version; save into another folder")
    return saved


def write_report(results: Mapping[str, Any], experiment: Experiment, directory: Path) -> list[Path]:
    """Write results.json, table.md and the plots of `results` into `directory`; returns their paths."""
    write_json(directory / RESULTS, results)
    write_text(directory / TABLE, experiment.kind.markdown(experiment, results))
    return [directory / RESULTS, directory / TABLE, *experiment.kind.plots(experiment, results, directory)]


def rows_of_commits(results: Mapping[str, Any]) -> list[str]:
    """Sentences on the rows that name a "commit": today's code does not play them any more."""
    commits = grouped((row["commit"], row["condition"]) for row in results["rows"] if "commit" in row)
    return [
        f"Kept rows, which commit {commit} plays and later versions cannot: {'; '.join(rows)}."
        for commit, rows in commits.items()
    ]


def made_lines(results: Mapping[str, Any]) -> list[str]:
    """Where the rows are from, part by part: each command is told once, the newest first."""
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
    """Rows by panel, panels and rows in the order of the experiment."""
    return grouped((panel, row) for row in results["rows"] for panel in row["panels"])


def short(row: Row, panel: str) -> str:
    """A condition's label without what the heading of its panel says already."""
    return row["condition"].removesuffix(f", {panel}").removeprefix(f"{panel}, ").removeprefix(f"{panel}: ")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table in Markdown. :param left: columns whose cells are words."""
    sides = ["---"] * left + ["---:"] * (len(heads) - left)
    return [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]


def by_panel(first: str, cells: Mapping[str, Mapping[str, str]], columns: Sequence[str]) -> str:
    """A table in Markdown. :param cells: by the name of the line, by column; "-" where one is missing."""
    lines = [[name, *(row.get(column, "-") for column in columns)] for name, row in cells.items()]
    return "\n".join(table([first, *columns], lines)) + "\n"


def on_terminal(title: str, heads: Sequence[str], sections: Mapping[str, Sequence[Sequence[str]]]) -> Table:
    """A table for a terminal, in sections by their heading; "" has none."""
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
    """A statistic of the seeds that have a figure, and the ends of its 95 % bootstrap interval, which a single one
    does not have; None where there is no figure.

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
    """The value of a `summary` with its interval, where it has them."""
    value = None if summary is None else summary.get("mean", summary.get("iqm"))
    if summary is None or value is None:
        return "-"
    low, high = summary["low"], summary["high"]
    return format(value, form) if low is None else f"{value:{form}} ({low:{form}} to {high:{form}})"


def estimate(summary: Mapping[str, Any]) -> Estimate:
    """A `summary` for a plot."""
    from gumption.agents.statistics import Estimate

    ends = (float("nan") if summary[end] is None else summary[end] for end in ("low", "high"))
    return Estimate(summary.get("mean", summary.get("iqm")), *ends)


def number(value: float | None, form: str) -> str:
    """A figure that may be missing."""
    return "-" if value is None else format(value, form)


def figure(name: str, form: str) -> Cell:
    """The cell of a figure of a row that may be missing."""
    return lambda row, rows: number(row.get(name), form)


def of_panel(
    panel: str, name: str, labels: Mapping[str, str] = MappingProxyType({}), whole: float = 1.0
) -> Callable[[Row], tuple[str, Mapping[str, Any]] | None]:
    """Label and `summary` of the rows of a panel, for `Experiment.at_work`.

    :param labels: condition -> label, where it is another one. :param whole: the figure that is a share of 1.
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
    """The cell of a `summary` of a row."""
    return lambda row, rows: with_interval(row[name], form)


def seeds(row: Row, rows: Sequence[Row]) -> str:
    """The cell that says how many runs a row has."""
    return str(len(row["seeds"]))
