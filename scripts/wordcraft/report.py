"""What WordCraft's experiments come to: the figures of a condition, the tables, the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.scripts.experiments import FINAL, Condition
from gumption.scripts.report import made_lines

if TYPE_CHECKING:
    from rich.table import Table

_ACROSS = ("random", "oracle", "kg_only", "person")  # methods whose success is drawn across the curves
_METHODS = {
    "kg_only": "KG only: the choice with the highest sum of the KG's scores, nothing is learned.",
    "untrained": "Untrained: the network as it is before training, with the KG.",
    "without_kg": "KG taken away: the trained network with every score set to 0.",
}
_SCORES = {
    "test_success": "success",
    "test_success_alternatives": "success_alternatives",
    "train_success": "train_success",
    "same_slot_twice": "same_slot_twice",
}


def row(condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
    """The figures of a condition, from its complete runs by seed."""
    finals = [read_final(run) for run in runs.values()]
    found: dict[str, Any] = {"panels": list(condition.panels), "method": condition.method, "of": condition.of}
    for key, name in _SCORES.items():
        scores = [final[key] for final in finals if final.get(key) is not None]
        found[name] = _summary(scores) if len(scores) == len(finals) else None
    for key in ("wall_s", "steps_per_s"):
        values = [final[key] for final in finals if final.get(key) is not None]
        found[key] = round(sum(values) / len(values), 1) if values else None
    found["measured_2020"], found["target"] = condition.known, condition.target
    found["curve"] = _curve([read_curve(run) for run in runs.values()])
    return found


def read_final(directory: Path) -> dict[str, Any]:
    """The final figures of a complete run; InputError where they are missing or without a success."""
    from gumption.agents import run_folder

    final = run_folder.read_final(directory)
    if final.get("test_success") is None:
        raise InputError(f"{directory / FINAL}: no test_success; remove that folder and run again")
    return final


def read_curve(directory: Path) -> list[dict[str, float]]:
    """The evaluations of a run in order: {"step", "test_success"} of each line of metrics.jsonl that has one.

    A run that was resumed may tell a step twice; the last word counts.
    """
    from gumption.agents.run_folder import read_metrics

    points: dict[int, float] = {}
    for record in read_metrics(directory):
        if record.get("test_success") is not None:
            points[int(record["step"])] = float(record["test_success"])
    return [{"step": step, "test_success": points[step]} for step in sorted(points)]


def plots(results: Mapping[str, Any], directory: Path) -> list[Path]:
    """Draw curves over training, and the final success of each condition; a condition has one colour in both."""
    from gumption.agents.plots import FinalPanel, Line, Panel, Scale, plot_curves, plot_final_success
    from gumption.agents.wordcraft.wording import what_is_tested

    scale = Scale(
        f"success on {what_is_tested(results['rows'][0]['settings']['split'])}",
        steps="environment steps; dots: finished runs, as in the table",
    )
    curves, finals, order = [], [], {}
    for panel, rows in panels(results).items():
        named = {_short(row["condition"], panel): row for row in rows}
        estimates = {label: _estimate(row["success"]) for label, row in named.items()}
        lines = [
            Line(label, row["curve"]["steps"], row["curve"]["success"], estimates[label])
            for label, row in named.items()
            if row["curve"]
        ]
        drawn_across = {label: estimates[label].value for label, row in named.items() if row["method"] in _ACROSS}
        curves.append(Panel(panel, lines, drawn_across, scale))
        ends = {label: value for label, value in drawn_across.items() if named[label]["method"] != "kg_only"}
        finals.append(FinalPanel(panel, {label: estimates[label] for label in estimates if label not in ends}, ends))
        order |= {label: _short(row.get("of") or row["condition"], panel) for label, row in named.items()}
    colours = _colours(order)
    drawn = [panel for panel in curves if panel.lines]
    heading = f"{results['figure']}: {results['title']}"
    written: list[Path] = []
    if drawn:
        written += plot_curves(drawn, directory / "curves", heading, colours)
    if any(panel.rows for panel in finals):
        shown = [panel for panel in finals if panel.rows]
        written += plot_final_success(shown, directory / "final", heading, colours, scale)
    return written


def _colours(of: Mapping[str, str]) -> dict[str, int]:
    """The number of the colour of each label: that of the label which it is `of`, numbered as they come."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(of.values()))}
    return {label: numbers[whose] for label, whose in of.items()}


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
        *_told_methods(results["rows"]),
        "",
        f"The paper: {results['expected']}",
        "",
    ]
    if results["notes"]:
        lines += [results["notes"].strip(), ""]
    lines += [
        *made_lines(results),
        "",
        f"Recipe book {results['recipe_book']} (sha256 {results['recipe_book_hash'][:12]}), split sha256 "
        f"{results['split_hash'][:12]}.",
    ]
    return "\n".join(lines) + "\n"


def _told_methods(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the rows beside guided agents are, and what they show, where there are any."""
    there = {row["method"] for row in rows if row.get("of")}
    told = [text for method, text in _METHODS.items() if method in there]
    shown = [f"- {row['condition']}: {sentence}" for row in rows if (sentence := what_learning_adds(row, rows))]
    return ["", " ".join(told), "", *shown] if told else []


def what_learning_adds(guided: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """What a guided agent owes to its knowledge and what to learning, from the rows beside it; "" without any."""
    beside = {row["method"]: row["success"]["mean"] for row in rows if row.get("of") == guided["condition"]}
    success, told = guided["success"]["mean"], []
    if "kg_only" in beside:
        points = (round(1000 * success) - round(1000 * beside["kg_only"])) / 10
        learned = (
            f"{abs(points):.1f} points {'more' if points > 0 else 'fewer'} than that" if points else "just as many"
        )
        told.append(
            f"its knowledge alone, with nothing learned, solves {beside['kg_only']:.1%}, the trained agent solves "
            f"{success:.1%}, {learned}"
        )
    if "untrained" in beside:
        told.append(f"before training it solves {beside['untrained']:.1%}")
    if "without_kg" in beside:
        told.append(f"trained and with its knowledge taken away {beside['without_kg']:.1%}")
    return "; ".join(told) + "." if told else ""


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


def person(path: Path, plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row for one person's game, on the panels with as many distractors; the interval is over the tasks played.

    :param path: the result of `gumption play wordcraft`.
    :raises InputError: an unfinished game, or one on another split or setting.
    """
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


def overview(results: Mapping[str, Any]) -> Table:
    """The main columns of the table, narrow enough for a terminal."""
    from rich.table import Table

    table = Table("condition", "seeds", "success (95 %)", "2020 code", "target", title=results["title"])
    for panel, rows in panels(results).items():
        table.add_section()
        table.add_row(f"[bold]{panel}[/bold]")
        for row in rows:
            success, before = with_interval(row["success"]), number(row["measured_2020"], ".3f")
            table.add_row(row["condition"], str(len(row["seeds"])), success, before, target(row))
    return table
