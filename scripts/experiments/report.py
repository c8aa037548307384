"""From the runs of an experiment to results.json, and from that to the table and the plots: nothing typed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.writing import write_json, write_text

from .jobs import FINAL, read_json, read_plan, results_of, slug
from .wordcraft import Condition, Experiment
from .wordcraft_runs import find_experiment, read_curve, read_final

RESULTS = "results.json"
TABLE = "table.md"
_SCORES = {
    "test_success": "success",
    "test_success_alternatives": "success_alternatives",
    "train_success": "train_success",
    "same_slot_twice": "same_slot_twice",
}


def gather(directory: Path, experiment: Experiment | None = None, people: Sequence[Path] = ()) -> dict[str, Any]:
    """The results of all complete runs under `directory`, as the content of results.json.

    The experiment is the one that plan.json names, unless given; `people` are results of `gumption play`. Raises
    InputError where there is no plan.json or no complete run, or a person played on another split or setting.
    """
    plan = read_plan(directory)
    experiment = experiment or find_experiment(plan["experiment"])
    rows = []
    for label, condition in experiment.conditions.items():
        folder = directory / slug(label)
        runs = {int(run.parent.name.removeprefix("seed-")): run.parent for run in folder.glob(f"seed-*/{FINAL}")}
        if runs:
            rows.append(_row(label, condition, plan["settings"][label], dict(sorted(runs.items()))))
    if not rows:
        raise InputError(f"{directory}: no run is complete yet")
    rows += [_person(path, plan, rows) for path in people]
    return results_of(experiment, plan, rows)


def write_report(results: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write results.json, table.md and the plots of `results` into `directory`; returns their paths."""
    from gumption.agents.plots import FinalPanel, Line, Panel, plot_curves, plot_final_success

    write_json(directory / RESULTS, results)
    write_text(directory / TABLE, markdown(results))
    written = [directory / RESULTS, directory / TABLE]
    curves, finals = [], []
    for panel, rows in panels(results).items():
        named = {_short(row["condition"], panel): row for row in rows}
        estimates = {label: _estimate(row["success"]) for label, row in named.items()}
        references = {label: estimates[label].value for label, row in named.items() if row["method"] != "train"}
        lines = [
            Line(label, row["curve"]["steps"], row["curve"]["success"]) for label, row in named.items() if row["curve"]
        ]
        curves.append(Panel(panel, lines, references))
        ends = {label: value for label, value in references.items() if named[label]["method"] != "kg_only"}
        finals.append(FinalPanel(panel, {label: estimates[label] for label in estimates if label not in ends}, ends))
    drawn = [panel for panel in curves if panel.lines]
    heading = f"{results['figure']}: {results['title']}"
    if drawn:
        written += plot_curves(drawn, directory / "curves", heading)
    if any(panel.rows for panel in finals):
        written += plot_final_success([panel for panel in finals if panel.rows], directory / "final", heading)
    return written


def markdown(results: Mapping[str, Any]) -> str:
    """The table of `results` in Markdown, a part for each panel, with what the figures come from below it."""
    lines = [f"# {results['experiment']}: {results['title']} ({results['figure']})", ""]
    for panel, rows in panels(results).items():
        lines += [f"## {panel}", "", *_table(rows), ""]
    lines += [
        "Success is on recipes that no training task used, greedy, with the mean over seeds and its 95 % bootstrap "
        "interval; IQM is the interquartile mean. P(better) is the probability that a run beats a run of the panel's "
        "first trained condition. With alternatives: distractors may open another way to the goal. Same twice: share "
        "of episodes that choose one table slot twice.",
        "",
        f"The paper: {results['expected']}",
        "",
    ]
    if results["notes"]:
        lines += [results["notes"].strip(), ""]
    lines += [
        *machine(results),
        "",
        f"Recipe book {results['recipe_book']} (sha256 {results['recipe_book_hash'][:12]}), split sha256 "
        f"{results['split_hash'][:12]}.",
    ]
    return "\n".join(lines) + "\n"


def headline(results: Mapping[str, Any]) -> str:
    """The success of each condition as one Markdown table with a column for each panel: what the README shows."""
    cells: dict[str, dict[str, str]] = {}
    for panel, rows in panels(results).items():
        for row in rows:
            cells.setdefault(_short(row["condition"], panel), {})[panel] = with_interval(row["success"])
    columns = sorted(panels(results))
    lines = [f"| agent | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    lines += [f"| {name} | {' | '.join(row.get(panel, '-') for panel in columns)} |" for name, row in cells.items()]
    return "\n".join(lines) + "\n"


def _row(label: str, condition: Condition, settings: Mapping[str, Any], runs: Mapping[int, Path]) -> dict[str, Any]:
    finals = [read_final(run) for run in runs.values()]
    row: dict[str, Any] = {
        "condition": label,
        "panels": list(condition.panels),
        "method": condition.method,
        "settings": settings,
        "seeds": list(runs),
    }
    for key, name in _SCORES.items():
        scores = [final[key] for final in finals if final.get(key) is not None]
        row[name] = _summary(scores) if len(scores) == len(finals) else None
    for key in ("wall_s", "steps_per_s"):
        values = [final[key] for final in finals if final.get(key) is not None]
        row[key] = round(sum(values) / len(values), 1) if values else None
    row["measured_2020"], row["target"] = condition.measured_2020, condition.target
    row["curve"] = _curve([read_curve(run) for run in runs.values()])
    return row


def _person(path: Path, plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row for one person's game, on the panels with as many distractors; the interval is over the tasks played."""

    played = read_json(path)
    if not isinstance(played, dict) or played.get("schema") != "gumption/play/1" or not played.get("complete"):
        raise InputError(f"{path}: no finished game of `gumption play`")
    if played["split_hash"] != plan["split_hash"]:
        raise InputError(f"{path}: played on another split or recipe book than these runs")
    count = played["settings"]["num_distractors"]
    like = [row for row in rows if row["method"] == "random" and row["settings"]["num_distractors"] == count]
    if not like:
        raise InputError(f"{path}: played with {count} distractors, which none of these runs has")
    test = [record for record in played["records"] if record["part"] == "test"]
    success = _summary([float(record["success"]) for record in test])
    same = [float(record["chosen"][0] == record["chosen"][1]) for record in test]
    return {
        "condition": like[0]["condition"].replace("random policy", "person"),
        "panels": like[0]["panels"],
        "method": "person",
        "settings": played["settings"],
        "seeds": [played["seed"]],
        "success": {**success, "iqm": success["mean"], "per_seed": [success["mean"]]},
        "success_alternatives": None,
        "train_success": None if played["train_success"] is None else _summary([played["train_success"]]),
        "same_slot_twice": _summary(same),
        "wall_s": sum(record["seconds"] for record in played["records"]),
        "steps_per_s": None,
        "measured_2020": None,
        "target": None,
        "curve": None,
    }


def _summary(scores: Sequence[float]) -> dict[str, Any]:
    from gumption.agents.statistics import bootstrap_interval, interquartile_mean

    estimate = bootstrap_interval(scores)
    single = len(scores) < 2
    return {
        "mean": round(estimate.value, 5),
        "low": None if single else round(estimate.low, 5),
        "high": None if single else round(estimate.high, 5),
        "iqm": round(interquartile_mean(scores), 5),
        "per_seed": [round(score, 5) for score in scores],
    }


def _curve(curves: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, Any] | None:
    """Success of every run at the steps that all runs were evaluated at; None where there are none."""
    by_step = [{int(point["step"]): point["test_success"] for point in curve} for curve in curves]
    steps = sorted(set.intersection(*map(set, by_step)))
    if not steps:
        return None
    return {"steps": steps, "success": [[round(points[step], 4) for step in steps] for points in by_step]}


def panels(results: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows by panel, panels and rows in the order of the experiment."""
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in results["rows"]:
        for panel in row["panels"]:
            panels.setdefault(panel, []).append(row)
    return panels


def _estimate(summary: Mapping[str, Any]) -> Any:
    from gumption.agents.statistics import Estimate

    nan = float("nan")
    low, high = summary["low"], summary["high"]
    return Estimate(summary["mean"], nan if low is None else low, nan if high is None else high)


def _short(label: str, panel: str) -> str:
    """A condition's label without what the heading of its panel tells already."""
    return label.removesuffix(f", {panel}").removeprefix(f"{panel}, ")


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    from gumption.agents.statistics import probability_of_improvement

    first = next((row for row in rows if row["method"] == "train"), None)
    names = ["condition", "seeds", "success (95 % interval)", "IQM", "P(better)", "with alternatives"]
    names += ["training tasks", "same twice", "wall s", "steps/s", "2020 code", "target"]
    lines = ["| " + " | ".join(names) + " |", "| --- |" + " ---: |" * (len(names) - 1)]
    for row in rows:
        better = "-"
        if first is not None and row is not first and row["method"] == "train":
            scores, against = row["success"]["per_seed"], first["success"]["per_seed"]
            better = f"{probability_of_improvement(scores, against).value:.2f}"
        cells = [
            row["condition"],
            str(len(row["seeds"])),
            with_interval(row["success"]),
            f"{row['success']['iqm']:.3f}",
        ]
        cells += [better, with_interval(row["success_alternatives"])]
        cells += [number(row[name] and row[name]["mean"], ".3f") for name in ("train_success", "same_slot_twice")]
        cells += [number(row["wall_s"], ".0f"), number(row["steps_per_s"], ",.0f")]
        cells += [number(row["measured_2020"], ".3f"), target(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def with_interval(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return "-"
    if summary["low"] is None:
        return f"{summary['mean']:.3f}"
    return f"{summary['mean']:.3f} ({summary['low']:.3f} to {summary['high']:.3f})"


def number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def target(row: Mapping[str, Any]) -> str:
    if row["target"] is None:
        return "-"
    return f"{row['target']:.2f} {'met' if row['success']['mean'] >= row['target'] else 'missed'}"


def machine(results: Mapping[str, Any]) -> list[str]:
    """Lines that tell where results are from: command, hardware, versions."""
    hardware, versions = results["hardware"], results["versions"]
    told = f"{hardware['cpu']}, {hardware['cores']} cores" + (f", {hardware['gpu']}" if "gpu" in hardware else "")
    return [
        f"Command: `{results['command']}`",
        "",
        f"Machine: {told}; {results['workers']} run(s) at a time. Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
    ]
