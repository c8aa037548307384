"""From the runs of a HALMA experiment to results.json, and from that to the table and the plots: nothing typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.writing import write_json, write_text

from .halma import EXPERIMENTS, TABLE_S4
from .halma_runs import PROBE, SPACE, training_seconds
from .halma_table import Overview, markdown, published_of, short
from .jobs import HEADER, read_json, read_plan, results_of, slug
from .report import RESULTS, TABLE, machine

POINTS = 100  # of a saved learning curve, at most


def gather(directory: Path) -> dict[str, Any]:
    """The results of all complete runs under `directory`, as the content of results.json.

    :raises InputError: no experiment of HALMA there, or no complete run.
    """
    from gumption.agents.halma.evaluation import EVALUATION, columns, load_evaluation
    from gumption.agents.halma.plots import read_learning

    plan = read_plan(directory)
    experiment, made = EXPERIMENTS[plan["experiment"]], plan.pop("made", {})
    newest = {key: plan[key] for key in HEADER}
    rows = []
    for label, settings in plan["settings"].items():
        found = (directory / slug(label)).glob(f"seed-*/{EVALUATION}")
        runs = dict(sorted((int(one.parent.name.removeprefix("seed-")), one.parent) for one in found))
        if not runs:
            continue
        evaluations = [load_evaluation(run / EVALUATION) for run in runs.values()]
        grouped = columns(evaluations)
        if len(grouped) > 1:
            raise InputError(f"{directory / slug(label)}: its runs have different settings; remove those of another")
        [column] = grouped.values()
        rows.append(
            {
                "condition": label,
                "settings": settings,
                "seeds": list(runs),
                "column": column,
                "best": _best(dict(zip(runs, evaluations, strict=True))),
                "wall_s": _mean([training_seconds(run) for run in runs.values()]),
                "curve": _curve([read_learning(run) for run in runs.values()]),
                **({} if made.get(label, newest) == newest else {"made": made[label]}),
            }
        )
    if not rows:
        raise InputError(f"{directory}: no run is complete yet")
    probe = directory / SPACE / PROBE
    return results_of(
        experiment,
        plan,
        rows,
        paper=published_of(_columns(rows)),
        probe=read_json(probe) if probe.is_file() else None,
    )


def with_saved(results: Mapping[str, Any], plan: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """`results` together with what `directory` has of agents without a run in them, so that a long experiment may be
    run in parts, each where there is time for it. What rows were made with, if not as `results` say, is their "made".

    :param plan: of the runs of `results`.
    :raises InputError: results of another experiment there, or of other settings.
    """
    path = directory / RESULTS
    if not path.is_file():
        return dict(results)
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("experiment") != results["experiment"]:
        raise InputError(f"{path}: no results of {results['experiment']}; save into another folder")
    rows = {row["condition"]: row for row in results["rows"]}
    for row in saved["rows"]:
        label = row["condition"]
        if label in rows or label not in plan["settings"]:
            continue
        if row["settings"] != plan["settings"][label]:
            raise InputError(f"{path}: {label} was run with other settings; save into another folder")
        rows[label] = {"made": {key: saved[key] for key in HEADER}, **row}
    ordered = [rows[label] for label in plan["settings"] if label in rows]
    probe = results["probe"] or saved["probe"]
    return {**results, "rows": ordered, "paper": published_of(_columns(ordered)), "probe": probe}


def write_report(results: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write results.json, table.md and the plots of `results` into `directory`; returns their paths."""
    from gumption.agents.halma.plots import plot_ablation, plot_learning, plot_table
    from gumption.agents.halma.probe import plot_probe

    write_json(directory / RESULTS, results)
    write_text(directory / TABLE, "\n".join(table(results)) + "\n")
    written = [directory / RESULTS, directory / TABLE]
    heading = f"{results['figure']}: {results['title']}"
    curves = {row["condition"]: row["curve"] for row in results["rows"] if row["curve"]}
    experiment = EXPERIMENTS[results["experiment"]]
    if experiment.varied:
        written += plot_ablation(
            varied(results, experiment.varied), directory / "ablation", experiment.varied_label, heading
        )
    else:
        written += plot_table(_columns(results["rows"]), directory / "table", heading, results["paper"])
        if curves:
            written += plot_learning(curves, directory / "curves", heading)
    if results["probe"]:
        plot_probe(results["probe"], directory / "probe.png")
        written.append(directory / "probe.png")
    return written


def varied(results: Mapping[str, Any], setting: str) -> dict[str, dict[Any, Mapping[str, Any]]]:
    """By the name of the agent, by the value of the varied setting: columns of Table 1."""
    agents: dict[str, dict[Any, Mapping[str, Any]]] = {}
    for row in results["rows"]:
        agents.setdefault(row["column"]["agent"], {})[row["settings"][setting]] = row["column"]
    return agents


def table(results: Mapping[str, Any]) -> list[str]:
    """The whole table in Markdown, with what it comes from."""
    paper = EXPERIMENTS[results["experiment"]].varied is None
    lines = [f"# {results['experiment']}: {results['title']} ({results['figure']})", ""]
    lines += [*markdown(_columns(results["rows"]), paper), ""]
    if best := {row["condition"]: row["best"] for row in results["rows"] if paper and row["best"]}:
        seeds = ", ".join(f"{name} {one['seed']}" for name, one in best.items())
        told = f"The best run of each agent, as the paper reports it; best in rho_g of RT (seeds: {seeds}):"
        lines += [told, "", *short({name: one["column"] for name, one in best.items()}), ""]
    lines += ["| agent | seeds | training, mean wall time |", "| --- | --- | ---: |"]
    for row in results["rows"]:
        seconds = "-" if row["wall_s"] is None else f"{row['wall_s']:,.0f} s"
        lines.append(f"| {row['condition']} | {', '.join(map(str, row['seeds']))} | {seconds} |")
    if results["probe"]:
        lines += ["", *_probe_table(results["probe"])]
    lines += ["", f"The paper: {results['expected']}", ""]
    if results["notes"]:
        lines += [results["notes"], ""]
    return lines + _made(results)


def _made(results: Mapping[str, Any]) -> list[str]:
    """Where the rows are from, part by part: each command is told once, the newest first."""
    parts: dict[str, list[str]] = {}
    for row in sorted(results["rows"], key=lambda row: "made" in row):
        parts.setdefault("\n".join(machine(row.get("made", results))), []).append(row["condition"])
    if len(parts) == 1:
        return list(parts)
    return [line for told, labels in parts.items() for line in (f"{'; '.join(labels)}:", "", told, "")][:-1]


def _probe_table(probe: Mapping[str, Any]) -> list[str]:
    """Table S4 in Markdown."""
    slots = f"{probe['digits_with_slot']:,} of {probe['digits']:,} digits have one"
    lines = [f"| linear probe | SPACE's slots ({slots}) | pixels | the paper's slots |", "| --- | ---: | ---: | ---: |"]
    for name, (paper, spread) in TABLE_S4.items():
        ours = (
            f"{100 * probe[key]['accuracy']:.1f} ± {100 * probe[key]['accuracy_std']:.1f}"
            for key in (name, f"{name}_pixels")
        )
        lines.append(f"| {name}, % | {' | '.join(ours)} | {paper} ± {spread} |")
    return lines


def overview(results: Mapping[str, Any]) -> Overview:
    """The table for a terminal, with what to read it by."""
    return Overview(_columns(results["rows"]), EXPERIMENTS[results["experiment"]].varied is None, results["title"])


def headline(results: Mapping[str, Any]) -> str:
    """The short table that the README shows."""
    return "\n".join(short(_columns(results["rows"]))) + "\n"


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["condition"]: row["column"] for row in rows}


def _best(evaluations: Mapping[int, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The run that reaches most goals in random mazes, alone in its column; None where there is but one.

    :param evaluations: by the seed of the run.
    """
    from gumption.agents.halma.evaluation import columns

    if len(evaluations) == 1:
        return None
    seed = max(evaluations, key=lambda one: evaluations[one]["tests"]["RT"]["rho_g"]["mean"])
    [column] = columns([evaluations[seed]]).values()
    return {"seed": seed, "column": column}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 1) if known else None


def _curve(runs: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Finished trials and valid moves of every run over the episodes that all runs tell of; None where there are none.

    Several episodes may end in one step, so each run tells of other episodes: between them it is taken as straight.
    """
    import numpy as np

    told = [run for run in runs if run is not None]
    if len(told) < len(runs):
        return None
    low, high = max(run["episodes"][0] for run in told), min(run["episodes"][-1] for run in told)
    at = [episode for episode in told[0]["episodes"] if low <= episode <= high]
    kept = at[:: -(-len(at) // POINTS)]
    kept += [at[-1]] * (kept[-1] != at[-1])
    return {"episodes": kept} | {
        key: [np.interp(kept, run["episodes"], run[key][0]).round(4).tolist() for run in told]
        for key in ("finished_trials", "valid_moves")
    }
