"""`gumption experiment probsol-discovery | probsol-laws`: how few probes tell which discs are alike, by which law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gumption.data.sealed import read_sealed, write_sealed
from gumption.scripts.experiments import Condition, Experiment, Job, Kind
from gumption.scripts.report import made_lines

from .families import estimate, rows_of_panels, short_name, summary

if TYPE_CHECKING:
    from rich.table import Table

#: Written last: what came of each task.
PLAYED = "played.json"
MONOPOLES, DIPOLES = "monopoles", "with dipoles"
ORACLE = "oracle: knows the law"
COLUMNS = ("strategy", "seeds", "solved", "probes, median", "probes, mean", "against the oracle", "meetings, mean",
           "quiz questions right", "rules", "s a run")  # fmt: skip
#: Rules about these relations are listed.
SIGNS = ("attracts", "repels")


class DiscoveryRuns(Kind):
    """Strategies on the same generated tasks; seed s has tasks of its own, to learn from and to be tested on."""

    title = "ProbSol's experiments on discovery"
    last = PLAYED

    def run(self, job: Job, progress: bool) -> None:
        """Learn from other tasks, then play the test tasks."""
        from gumption.agents.probsol.discovery import compare, find_tasks, learn_from

        started = perf_counter()
        told = dict(job.settings)
        learned = learn_from(told["discs"], told["rules"], told["learned"], job.seed)
        tasks = find_tasks(told["discs"], told["tasks"], job.seed * 1000)
        results = compare(told["strategy"], tasks, told["laws"], learned)
        found = {name: getattr(results, name).tolist() for name in ("solved", "probes", "meetings", "right")}
        found["rules"] = [str(rule) for rule in learned.rules]
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / PLAYED, {**found, "wall_s": round(perf_counter() - started, 1)})

    def told(self, job: Job) -> str:
        """What it solves, with how many probes."""
        found = read_sealed(job.directory / PLAYED)
        return f"{_mean(found['solved']):.0%} solved, {_mean(found['probes']):.1f} probes"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Shares with their intervals over seeds, and probes over all tasks."""
        import numpy as np

        found = [read_sealed(run / PLAYED) for run in runs.values()]
        row: dict[str, Any] = {"panels": list(condition.panels), "method": condition.method}
        right = [np.array(one["right"], dtype=float) for one in found]
        row["solved"] = summary([_mean(one["solved"]) for one in found])
        row["quiz"] = summary([float(each.mean()) if each.size else None for each in right])
        probes = [many for one in found for many in one["probes"]]
        row |= {"probes_median": float(np.median(probes)), "probes_mean": round(_mean(probes), 2), "tasks": len(probes)}
        row["meetings_mean"] = round(_mean([many for one in found for many in one["meetings"]]), 2)
        row["rules"] = round(_mean([len(one["rules"]) for one in found]), 1)
        row["signs"] = sorted(set.intersection(*({rule for rule in one["rules"] if _of_signs(rule)} for one in found)))
        row["wall_s"] = round(_mean([one["wall_s"] for one in found]), 1)
        return row

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """A table for each kind of tasks, and the rules about attracting and repelling that all seeds found."""
        lines = [f"# {results['experiment']}: {results['title']}", ""]
        for panel, rows in rows_of_panels(results).items():
            lines += [f"## {panel}", "", *_markdown(COLUMNS, [_cells(row, rows) for row in rows]), ""]
        for row in _with_rules_of_their_own(results):
            lines += [f"Rules under {_learned_under(row)} laws, {row['panels'][0]}:", ""]
            lines += [f"- `{rule}`" for rule in row["signs"]] or ["- none"]
            lines += [""]
        lines += [results["expected"], "", results["notes"], "", *made_lines(results)]
        return "\n".join(lines) + "\n"

    def headline(self, results: Mapping[str, Any]) -> str:
        """Solved, probes and quizzes of each strategy."""
        panels, kept = rows_of_panels(results), (0, 2, 3, 5, 7)
        lines = []
        for panel, rows in panels.items():
            cells = [_cells(row, rows) for row in rows]
            names = [panel, *(COLUMNS[k] for k in kept[1:])]
            lines += [*_markdown(names, [[each[k] for k in kept] for each in cells]), ""]
        return "\n".join(lines[:-1]) + "\n"

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> Table:
        """The same for a terminal."""
        from rich.table import Table

        table = Table(*COLUMNS, title=results["title"])
        for panel, rows in rows_of_panels(results).items():
            table.add_section()
            table.add_row(f"[bold]{panel}[/bold]")
            for row in rows:
                table.add_row(*_cells(row, rows))
        return table

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """The share of tasks that each strategy solves, with its interval."""
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        panels = [
            FinalPanel(panel, {short_name(row): estimate(row["solved"]) for row in rows})
            for panel, rows in rows_of_panels(results).items()
        ]
        return list(plot_final_success(panels, directory / "solved", results["title"], scale=Scale("tasks solved")))


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) - 1)]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]


def _cells(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    oracle = next((each["probes_mean"] for each in rows if short_name(each) == ORACLE), None)
    ratio = "-" if oracle is None else f"{row['probes_mean'] / oracle:.2f}"
    return [
        short_name(row), str(len(row["seeds"])), _share(row["solved"]), f"{row['probes_median']:g}",
        f"{row['probes_mean']:.1f}", ratio, f"{row['meetings_mean']:.1f}", _share(row["quiz"]), f"{row['rules']:g}",
        f"{row['wall_s']:.0f}",
    ]  # fmt: skip


def _share(told: Mapping[str, Any]) -> str:
    if told["iqm"] is None:
        return "-"
    ends = "" if told["low"] is None else f" ({told['low']:.0%} to {told['high']:.0%})"
    return f"{told['iqm']:.0%}{ends}"


def _with_rules_of_their_own(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The first row of each law that rules were learned under, for each kind of tasks."""
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in results["rows"]:
        first.setdefault((row["panels"][0], _learned_under(row)), row)
    return list(first.values())


def _learned_under(row: Mapping[str, Any]) -> str:
    return row["settings"]["rules"]


def _of_signs(rule: str) -> bool:
    return all(part.partition("(")[0] in SIGNS for part in rule.replace(" & ", " <= ").split(" <= ") if "(" in part)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _strategies(discs: str) -> dict[str, Condition]:
    def one(strategy: str, rules: str = "real") -> Condition:
        return Condition({"discs": discs, "strategy": strategy, "rules": rules}, panels=(discs,))

    rows = {
        "every pair": one("every pair"),
        "star: the first disc meets each other": one("star"),
        "all at once": one("all at once"),
        "random pairs, as many as a star": one("random"),
        "graph agent": one("graph"),
        "graph agent, rules of the wrong laws": one("graph", "counterfactual"),
        ORACLE: one("oracle"),
    }
    return {f"{discs}: {name}": condition for name, condition in rows.items()}


def _laws() -> dict[str, Condition]:
    found = {}
    for laws in ("real", "counterfactual", "inert"):
        for rules in ("real", "counterfactual", "inert"):
            settings = {"discs": MONOPOLES, "strategy": "graph", "laws": laws, "rules": rules}
            found[f"laws {laws}: rules learned under {rules}"] = Condition(settings, panels=(f"laws {laws}",))
    return found


_BASE = {"laws": "real", "tasks": 20, "learned": 60}
_NOTES = (
    "Tasks are generated ones of FindTheDiff and FindTheSame in turn, with an empty table and one trial; 20 a seed, "
    "other ones than those that were learned from. A probe is a place, a hold or a turn made to learn; a meeting is a "
    "pair put side by side alone on the table. The 60 tasks to learn from were lived through by a curious agent, 24 "
    "meetings each and two more of each disc, and how their discs compare was told; rules were mined from both. "
    "Solved is the share of tasks whose first CHECK finds the goal reached, quiz questions right that of questions "
    "about the largest and smallest mass and magnetism and of pairs; for these the graph agent makes meetings after "
    "it has the answer, which are not counted as probes. The oracle compares any discs that meetings connect, and no "
    "meeting of its fails. People wrote all strategies; what is learned is what the facts mean and at which distances "
    "discs move."
)
DISCOVERY_EXPERIMENT = Experiment(
    "probsol-discovery",
    "-",
    "Which discs are alike: strategies of probing",
    DiscoveryRuns(),
    _strategies(MONOPOLES) | _strategies(DIPOLES),
    "Nobody has published such figures. Goal: every pair solves at least 95 %, the graph agent as many with at most "
    "1.2 times the oracle's probes, and 90 % of the questions are answered right.",
    _NOTES,
    base=_BASE,
)
LAWS_EXPERIMENT = Experiment(
    "probsol-laws",
    "-",
    "What is expected and what is found out: rules learned under one law, used under another",
    DiscoveryRuns(),
    _laws(),
    "Under the counterfactual law the same code finds the other algebra, and rules of the wrong law mislead. Under the "
    "inert law nothing moves: there is nothing to find out, and answers are guesses.",
    _NOTES,
    base=_BASE,
)
