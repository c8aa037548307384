"""From the runs of an experiment to results.json, and from that to the table and the plots: nothing typed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.writing import write_json, write_text

from .experiments import Experiment
from .jobs import HEADER, read_plan, slug

RESULTS = "results.json"
TABLE = "table.md"


def gather(directory: Path, experiment: Experiment, options: Any = None) -> dict[str, Any]:
    """The results of all complete runs under `directory`, as the content of results.json.

    :param experiment: the one that was run there.
    :param options: of its kind.
    :raises InputError: no plan.json, or no complete run.
    """
    plan, kind = read_plan(directory), experiment.kind
    made, newest = plan.get("made", {}), {key: plan[key] for key in HEADER}
    rows = []
    for label, condition in experiment.conditions.items():
        found = (directory / slug(label)).glob(f"seed-*/{kind.last}")
        runs = dict(sorted((int(one.parent.name.removeprefix("seed-")), one.parent) for one in found))
        if not runs or label not in plan["settings"]:
            continue
        settings = plan["settings"][label]
        row = {"condition": label, "settings": settings, "seeds": list(runs), **kind.row(condition, runs)}
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
        **{key: value for key, value in plan.items() if key not in ("experiment", "settings", "made")},
        "rows": rows,
        **kind.more(rows, directory),
    }


def with_saved(
    results: Mapping[str, Any], experiment: Experiment, plan: Mapping[str, Any], directory: Path
) -> dict[str, Any]:
    """`results` together with what `directory` has of conditions without a run in them, so that a long experiment may
    be run in parts, each where there is time for it. What rows were made with, if not as `results` say, is their
    "made".

    :param plan: of the runs of `results`.
    :raises InputError: results of another experiment there, of other data, or of other settings.
    """
    path = directory / RESULTS
    if not path.is_file():
        return dict(results)
    saved, kind = read_json(path), experiment.kind
    if not isinstance(saved, dict) or saved.get("experiment") != results["experiment"]:
        raise InputError(f"{path}: no results of {results['experiment']}; save into another folder")
    if not all("condition" in row for row in saved["rows"]):
        raise InputError(f"{path}: written by an older version; save into another folder")
    for key in kind.fixed:
        if saved[key] != results[key]:
            raise InputError(f"{path}: its {key} is another one; save into another folder")
    rows = {row["condition"]: row for row in results["rows"]}
    for row in saved["rows"]:
        label = row["condition"]
        if label in rows or label not in experiment.conditions:
            continue
        if row["settings"] != plan["settings"].get(label, row["settings"]):
            raise InputError(f"{path}: {label} was run with other settings; save into another folder")
        rows[label] = {"made": {key: saved[key] for key in HEADER}, **row}
    ordered = [rows[label] for label in dict.fromkeys([*experiment.conditions, *rows]) if label in rows]
    return {**results, "rows": ordered, **kind.joined(results, saved, ordered)}


def write_report(results: Mapping[str, Any], experiment: Experiment, directory: Path) -> list[Path]:
    """Write results.json, table.md and the plots of `results` into `directory`; returns their paths."""
    write_json(directory / RESULTS, results)
    write_text(directory / TABLE, experiment.kind.markdown(experiment, results))
    return [directory / RESULTS, directory / TABLE, *experiment.kind.plots(experiment, results, directory)]


def made_lines(results: Mapping[str, Any]) -> list[str]:
    """Where the rows are from, part by part: each command is told once, the newest first."""
    parts: dict[str, list[str]] = {}
    for row in sorted(results["rows"], key=lambda row: "made" in row):
        parts.setdefault("\n".join(machine(row.get("made", results))), []).append(row["condition"])
    if len(parts) == 1:
        return list(parts)
    return [line for told, labels in parts.items() for line in (f"{'; '.join(labels)}:", "", told, "")][:-1]


def machine(made: Mapping[str, Any]) -> list[str]:
    """Lines that tell where results are from: command, hardware, versions."""
    hardware, versions = made["hardware"], made["versions"]
    told = f"{hardware['cpu']}, {hardware['cores']} cores" + (f", {hardware['gpu']}" if "gpu" in hardware else "")
    return [
        f"Command: `{made['command']}`",
        "",
        f"Machine: {told}; {made['workers']} run(s) at a time. Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
    ]
