"""What HALMA's experiments come to: the figures of an agent, the tables, the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gumption.agents.halma.evaluation import GUIDED
from gumption.data import InputError
from gumption.scripts.experiments import Experiment
from gumption.scripts.report import made_lines

from .published import TABLE_S4
from .table import Overview, markdown, published_of, short

POINTS = 100  # of a saved learning curve, at most
_BEFORE_EXCLUSION = (
    "Made before AfT and AnT left out pairs that panels had shown at invalid moves, so that some of their questions "
    "had been seen"
)
_BEFORE_HONESTY = (
    "Made before a guided agent's evidence was limited to what it observed, and without those that play beside it"
)


def row(runs: Mapping[int, Path]) -> dict[str, Any]:
    """The figures of an agent, from its complete runs by seed; InputError where these have different settings."""
    from gumption.agents.halma.evaluation import EVALUATION, agents_of, columns, load_evaluation
    from gumption.agents.halma.plots import read_learning

    evaluations = [load_evaluation(run / EVALUATION) for run in runs.values()]
    grouped = columns(evaluations)
    if len(agents_of(grouped)) > 1:
        folder = next(iter(runs.values())).parent
        raise InputError(f"{folder}: its runs have different settings; remove those of another")
    column, *beside = grouped.values()
    from gumption.agents.run_folder import read_final  # imports torch

    return {
        "column": column,
        "beside": beside,
        "best": _best(dict(zip(runs, evaluations, strict=True))),
        "wall_s": _mean([read_final(run).get("wall_s") for run in runs.values()]),
        "curve": _curve([read_learning(run) for run in runs.values()]),
    }


def published(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The paper's columns for the agents of the rows that it has."""
    return published_of(_columns(rows))


def plots(experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
    """Draw Table 1 and the learning curves, or the agents over what the experiment varies; and the probe of SPACE."""
    from gumption.agents.halma.evaluation import agents_of
    from gumption.agents.halma.plots import plot_ablation, plot_learning, plot_table
    from gumption.agents.halma.probe import plot_probe

    written: list[Path] = []
    heading = f"{results['figure']}: {results['title']}"
    curves = {row["condition"]: row["curve"] for row in results["rows"]}
    if experiment.varied:
        setting, label = experiment.varied
        written += plot_ablation(varied(results, setting), directory / "ablation", label, heading)
    else:
        written += plot_table(agents_of(_columns(results["rows"])), directory / "table", heading, results["paper"])
        if any(curves.values()):
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


def table(experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
    """The whole table in Markdown, with what it comes from."""
    from gumption.agents.halma import prior

    paper = experiment.varied is None
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
    for told, labels in _notes(results["rows"]).items():
        lines += [f"{told}: {', '.join(labels)}.", ""]
    if any(row["column"]["agent"] == GUIDED for row in results["rows"]):
        lines += [*prior.told(), ""]
    return lines + made_lines(results)


def _notes(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What is to be known of rows that were saved before they had "beside", and their conditions."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if "beside" not in row:
            guided = row["column"]["agent"] == GUIDED
            for note in (_BEFORE_EXCLUSION, *([_BEFORE_HONESTY] if guided else [])):
                notes.setdefault(note, []).append(row["condition"])
    return notes


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


def overview(experiment: Experiment, results: Mapping[str, Any]) -> Overview:
    """The table for a terminal, with what to read it by."""
    return Overview(_columns(results["rows"]), experiment.varied is None, results["title"])


def headline(results: Mapping[str, Any]) -> str:
    """The short table that the README shows."""
    return "\n".join(short(_columns(results["rows"]))) + "\n"


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """By name; those that played beside an agent come after it, and are told apart as it is."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        found[row["condition"]] = row["column"]
        told = row["condition"].removeprefix(row["column"]["agent"])
        found |= {column["agent"] + told: column for column in row.get("beside", ())}
    return found


def _best(evaluations: Mapping[int, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The run that reaches most goals in random mazes, alone in its column; None where there is but one.

    :param evaluations: by the seed of the run.
    """
    from gumption.agents.halma.evaluation import agents_of, columns

    if len(evaluations) == 1:
        return None
    seed = max(evaluations, key=lambda one: evaluations[one]["tests"]["RT"]["rho_g"]["mean"])
    [column] = agents_of(columns([evaluations[seed]])).values()
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
