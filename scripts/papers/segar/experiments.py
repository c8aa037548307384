"""The experiments of the SEGAR paper (Hjelm et al., 2022) and ours on gates, as data: cells, learners, settings.

The default size fits two CPU cores: a run takes about 14 seconds of one core with observed factors, two minutes with
pixels or SAC. `--paper` selects the paper's size. Settings of the default size were chosen by the return on training
levels alone, on the cells empty-hard, objectsx3-hard, objectsx3-medium, tilesx3-hard, tilesx1-medium and tilesx2-easy.
The paper's parameters (one epoch, a rate of 1e-4, a discount of .999) learned nothing on empty-hard in 100,000 steps.
With pixels on ten levels of empty-hard, a rate of 1e-3 reached a training return of -2.4, a rate of 3e-3 only -3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

from gumption.data import InputError
from gumption.data.settings import settings
from gumption.data.tables import grouped
from gumption.scripts.measurement import six_digits
from gumption.scripts.results import (
    Cell,
    Condition,
    Experiment,
    Job,
    Kind,
    Row,
    by_panel,
    figure,
    of_panel,
    panels,
    seeds,
    short,
    spread,
    summary,
    table,
)

#: Fields of a config at the paper's size: pixels, and the parameters of its Table 1.
PAPER: dict[str, Any] = {
    "observation": "rgb", "resolution": 64, "total_steps": 1_000_000, "eval_interval": 100_000, "num_envs": None,
    "normalise_rewards": False, "learning_rate": 1e-4, "gamma": 0.999, "n_steps": 30, "minibatches": 4, "epochs": 1,
}  # fmt: skip
#: Number of observations that train and measure a probe.
PROBED = 5_000
ALL = "all cells"
WITHIN = "all cells, within cells"
_AXIS = "W2, factors"  # the distance in plots
_PARTS = ("empty", "objects", "tiles")
_TRANSFERS = {"easy": "easy to medium", "medium": "medium to hard"}


@settings
class Options:
    """Options of the command line for SEGAR's experiments."""

    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's size: 64 x 64 pixels, Table 1's parameters, 1,000,000 steps.")
    ] = False


# ---- The gap between training and test levels


@dataclass(frozen=True)
class Relation:
    """Points of runs: the gap against another quantity.

    :ivar where: test levels of the gap. :ivar part: name of the set of runs. :ivar x: name of the other quantity.
    :ivar groups: label -> points (x, gap). :ivar drawn: whether to plot it.
    :ivar centred: subtract the mean of its group from each point.
    """

    where: str
    part: str
    x: str
    groups: Mapping[str, Sequence[tuple[float, float]]]
    drawn: bool = True
    centred: bool = False

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of all points."""
        from gumption.agents.statistics import centred

        labels = [label for label, points in self.groups.items() for _ in points]
        x, y = (np.array([point[i] for points in self.groups.values() for point in points]) for i in (0, 1))
        return (centred(x, labels), centred(y, labels)) if self.centred and labels else (x, y)


def gap_relations(rows: Sequence[Row]) -> list[Relation]:
    """Return the gap against each distance: over all cells, by kind and difficulty, and on harder levels."""
    found = []
    for distance in dict.fromkeys(d for row in rows for study in row["runs"].values() for d in study["test"]["w2"]):
        label = f"W2, {distance}"
        drawn = label == _AXIS

        def points(where: str, distance: str = distance) -> list[tuple[str, str, tuple[float, float]]]:
            return [
                (*_cell(row), (study[where]["w2"][distance], study[where]["gap"]))
                for row in rows
                for study in row["runs"].values()
                if where in study
            ]

        def of(part: str, difficulty: str, chosen: Sequence[tuple[str, str, Any]]) -> dict[str, list[Any]]:
            return grouped((k, point) for k, d, point in chosen if k.startswith(part) and d == difficulty)

        test, further = points("test"), points("harder")
        cells = grouped((f"{kind}-{difficulty}", point) for kind, difficulty, point in test)
        by_difficulty = grouped((difficulty, point) for _, difficulty, point in test)
        found += [
            Relation("test", ALL, label, by_difficulty, drawn),
            Relation("test", WITHIN, label, cells, False, centred=True),
        ]
        for part in _PARTS:
            for difficulty in ("easy", "medium", "hard"):
                found.append(Relation("test", f"{part}, {difficulty}", label, of(part, difficulty, test), drawn))
        for difficulty, words in _TRANSFERS.items():
            for part in _PARTS:
                found.append(Relation("harder", f"{part}, {words}", label, of(part, difficulty, further), drawn))
    return [one for one in found if any(one.groups.values())]


def information_relations(rows: Sequence[Row]) -> list[Relation]:
    """Return the gap against the accuracy of the probe, on training levels and on test levels, for each panel."""
    found = []
    for part in ("train", "test"):
        for panel, mine in panels({"rows": rows}).items():
            points = grouped(
                ("-".join(_cell(row)), (study[part]["information"]["accuracy"], study["test"]["gap"]))
                for row in mine
                for study in row["runs"].values()
            )
            found.append(Relation("test", panel, f"accuracy of the probe, {part} levels", points))
    return found


def correlations(relations: Sequence[Relation]) -> list[dict[str, Any]]:
    """Return the coefficients of each relation, for JSON; omitted if there are too few points."""
    from gumption.agents.statistics import correlation

    found = []
    for one in relations:
        told = correlation(*one.columns)
        figures = {} if told is None else six_digits(told.figures())
        found.append({"levels": one.where, "part": one.part, "x": one.x, **figures})
    return found


def _cell(row: Row) -> tuple[str, str]:
    """Return kind and difficulty of a row."""
    kind, _, difficulty = row["settings"]["levels"].rpartition("-")
    return kind, difficulty


def _mean(*path: str, form: str = ".2f") -> Cell:
    """Return a table cell with the mean of a figure over the runs of a row; `path` holds the keys to the figure."""

    def cell(row: Row, rows: Sequence[Row]) -> str:
        found = []
        for study in row["runs"].values():
            value: Any = study
            for name in path:
                value = value.get(name) if isinstance(value, Mapping) else None
            if value is not None:
                found.append(value)
        return format(float(np.mean(found)), form) if found else "-"

    return cell


#: Columns with means over the seeds of each condition.
_MEANS: dict[str, Cell] = {
    "seeds": lambda row, rows: str(len(row["runs"])),
    "W2": _mean("test", "w2", "factors"),
    "return, training": _mean("train", "trained", "return"),
    "return, test": _mean("test", "trained", "return"),
    **{name: _mean("test", name, "return") for name in ("random", "no action", "untrained", "scripted")},
    "success, training": _mean("train", "trained", "success", form=".0%"),
    "success, test": _mean("test", "trained", "success", form=".0%"),
    "gap": _mean("test", "gap", form=".3f"),
    "gap, harder levels": _mean("harder", "gap", form=".3f"),
}


def _conditions_table(results: Mapping[str, Any]) -> list[str]:
    cells = [[row["condition"], *(cell(row, ()) for cell in _MEANS.values())] for row in results["rows"]]
    return table(["condition", *_MEANS], cells)


def _correlation_table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    heads = ("test levels", "runs", "against", "points", "outliers", "Pearson", "p", "Spearman", "p")
    lines = []
    for one in found:
        cells = ["too few", *"-----"]
        if "points" in one:
            pearson, spearman = (
                f"{v:.2f} ({low:.2f} to {high:.2f})" for v, low, high in (one["pearson"], one["spearman"])
            )
            p = [f"{one[name]:.2g}" for name in ("pearson_p", "spearman_p")]
            cells = [str(one["points"]), str(one["outliers"]), pearson, p[0], spearman, p[1]]
        lines.append([one["levels"], one["part"], one["x"], *cells])
    return table(heads, lines, left=3)


class GapRuns(Kind):
    """The gap between training and test levels against the distance between them. Each job trains a learner, and
    evaluates it on training and test levels."""

    title = "SEGAR's experiments"
    options = Options
    last = "study.json"
    code = ("envs/segar", "envs/physics", "agents/segar", "agents/learners/sb3.py")

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """Return the device, and the fields of the paper's size with `--paper`."""
        return {"device": device, **(PAPER if options.paper else {})}

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        from gumption.agents.segar.config import SegarConfig
        from gumption.agents.segar.study import generalisation
        from gumption.agents.segar.training import train_segar

        run = train_segar(SegarConfig(**job.settings), job.directory, resume=True, progress=progress)
        return self.informed(run, job, generalisation(run))

    def informed(self, run: Any, job: Job, found: dict[str, Any]) -> dict[str, Any]:
        """Add further measurements; by default none."""
        return found

    def words(self, found: Mapping[str, Any]) -> str:
        train, test = found["train"]["trained"], found["test"]["trained"]
        return f"return {train['return']:.2f}, on test levels {test['return']:.2f}, gap {found['test']['gap']:.3f}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        return {"panels": list(condition.panels), "runs": six_digits(found)}

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {"correlations": correlations(self.relations(rows))}

    def relations(self, rows: Sequence[Row]) -> list[Relation]:
        return gap_relations(rows)

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        lines = ["## Conditions", "", *_conditions_table(results), ""]
        if found := results["correlations"]:
            lines = ["## Correlations", "", *_correlation_table(found), "", *lines]
        return lines

    def headline(self, results: Mapping[str, Any]) -> str:
        kept = [one for one in results["correlations"] if one["x"] == _AXIS or not one["x"].startswith("W2")]
        return "\n".join(_correlation_table(kept)) + "\n"

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Plot points and lines of best fit: over all cells, by kind and difficulty, and on harder levels."""
        from gumption.agents.plots import Scatter, plot_scatter

        drawn = [one for one in self.relations(results["rows"]) if one.drawn and any(one.groups.values())]
        pictures = {
            "all": [one for one in drawn if one.part == ALL],
            "parts": [one for one in drawn if one.where == "test" and one.part != ALL],
            "harder": [one for one in drawn if one.where == "harder"],
        }
        written: list[Path] = []
        for name, chosen in pictures.items():
            scatters = [
                Scatter(
                    one.part, {k: ([x for x, _ in p], [y for _, y in p]) for k, p in one.groups.items()}, one.x, "gap"
                )
                for one in chosen
            ]
            if scatters:
                written += plot_scatter(scatters, directory / name, results["title"])
        return written


class InformationRuns(GapRuns):
    """The gap against the mutual information of features and factors."""

    def informed(self, run: Any, job: Job, found: dict[str, Any]) -> dict[str, Any]:
        """Probe the encoder on training levels and on test levels."""
        from gumption.agents.segar.probe import ProbeSettings
        from gumption.agents.segar.study import informed

        for part in ("train", "test"):
            told = informed(run, run.config.draw(part), ProbeSettings(seed=job.seed), observations=PROBED)
            found[part]["information"] = told._asdict()
        return found

    def relations(self, rows: Sequence[Row]) -> list[Relation]:
        return information_relations(rows)


class CurveRuns(GapRuns):
    """Learning curves."""

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        from gumption.agents.run_folder import read_metrics

        lines = [read_metrics(run) for run in runs.values()]
        names = ("step", "train_return", "train_success", "test_return", "test_success")
        curve = {name: [[six_digits(line[name]) for line in run] for run in lines] for name in names}
        return {**super().row(condition, runs), "curve": curve}

    def relations(self, rows: Sequence[Row]) -> list[Relation]:
        return []

    def headline(self, results: Mapping[str, Any]) -> str:
        return "\n".join(_conditions_table(results)) + "\n"

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Plot success on training levels over steps, a panel per learner, for runs with the most training levels: on a
        single level success is 0 or 1."""
        from gumption.agents.plots import Line, Panel, Scale, plot_curves

        most = max(row["settings"]["num_levels"] for row in results["rows"])
        drawn = {"rows": [row for row in results["rows"] if row["settings"]["num_levels"] == most]}
        curves = [
            Panel(
                panel,
                [Line(short(row, panel), row["curve"]["step"][0], row["curve"]["train_success"]) for row in rows],
                scale=Scale("success on training levels"),
            )
            for panel, rows in panels(drawn).items()
        ]
        return list(plot_curves(curves, directory / "curves", results["title"]))


# ---- Agents on walls of gates, with and without knowledge

MEASURED = ("success", "return", "destroyed", "consumed")
#: Name in files -> heading and format of the column.
FIGURES = {
    "test_success": ("success", ".0%"),
    "test_return": ("return", ".2f"),
    "test_destroyed": ("destroyed", ".0%"),
    "test_consumed": ("in a hole", ".0%"),
    "train_success": ("success, training levels", ".0%"),
    "train_return": ("return, training levels", ".2f"),
}


class GateRuns(Kind):
    """Agents on walls of gates whose types do not occur in training, with and without knowledge."""

    title = "SEGAR's experiment on gates"
    last = "played.json"
    named = "agent"
    columns: ClassVar = {
        "seeds": seeds,
        **{heading: spread(name, form) for name, (heading, form) in FIGURES.items()},
        "s a run": figure("wall_s", ".0f"),
    }
    rests_on: ClassVar = {"scores": "gumption.kg.scores:VERSION"}
    code = (
        "envs/segar", "envs/physics", "agents/segar", "agents/advice.py", "agents/learners/sb3.py", "agents/policy.py",
        "kg/edges.py", "kg/scores.py",
    )  # fmt: skip
    shown = ("success", "return", "destroyed", "in a hole")
    drawn = ("test_success", "success", "share of test levels whose goal is reached")

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        if device not in ("auto", "cpu"):
            raise InputError(f"--device {device}: these agents are small and run on the CPU; leave it out")
        return {"device": "cpu"}

    def formats(self) -> dict[str, Any]:
        """Return the versions of the formats, including the scores and the queried relations."""
        from gumption.envs.segar.facts import VERSION as ASKED
        from gumption.kg.scores import VERSION

        return {**super().formats(), "scores": f"{VERSION}.{ASKED}"}

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """Write the graphs of `lives.GRAPHS` that jobs name into files, and return the jobs with these files."""
        from gumption.agents.segar.lives import GRAPHS
        from gumption.kg import KnowledgeGraph

        made: list[Job] = []
        for job in jobs:
            name, levels = job.settings.get("kg"), job.settings["levels"]
            if name in GRAPHS:
                path = out / f"{name}-{levels}-{job.seed}.nq"
                if not path.exists():
                    graph = KnowledgeGraph()
                    graph.add(GRAPHS[name](levels, job.settings["num_levels"], job.seed), graph=f"segar/{name}")
                    graph.save(path)
                job = replace(job, settings={**job.settings, "kg": str(path)})
            made.append(job)
        return made

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        from gumption.agents.evaluation import means
        from gumption.agents.segar import config, evaluation, training

        started, chosen = perf_counter(), config.SegarConfig(**job.settings)
        if job.method == "train":
            player = training.train_segar(chosen, job.directory, resume=True, progress=progress).player
        elif (player := evaluation.baselines(chosen.task).get(job.method)) is None:
            run = training.load_run(job.source_run())
            player = run.setup.untrained().player if job.method == "untrained" else run.advised(chosen.kg).player
        found: dict[str, Any] = {}
        for part in ("test", "train"):
            env = evaluation.env_of(chosen, chosen.draw(part))
            figures = means(evaluation.play_levels(player, env, seed=job.seed), *MEASURED)
            found |= {f"{part}_{name}": value for name, value in figures.items()}
        return {**found, "wall_s": round(perf_counter() - started, 2)}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['test_success']:.0%} reach the goal, return {found['test_return']:.2f}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {name: summary([one[name] for one in found.values()]) for name in FIGURES}
        return {**row, "wall_s": round(sum(one["wall_s"] for one in found.values()) / len(found), 1)}

    def headline(self, results: Mapping[str, Any]) -> str:
        names = ("success", "return")
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels(results).items():
            for row in rows:
                mine = {f"{panel}: {name}": self.columns[name](row, rows) for name in names}
                cells.setdefault(short(row, panel), {}).update(mine)
        return by_panel("agent", cells, [f"{panel}: {name}" for panel in panels(results) for name in names])


def _gate_rows(levels: str) -> dict[str, Condition]:
    def row(method: str = "train", kg: str = "none", **more: Any) -> Condition:
        of = f"graph and learning, {levels}" if method in ("untrained", "advised") else None
        return Condition({"levels": levels, "kg": kg, **more}, method, (levels,), of=of)

    rows = {
        "random": row("random"),
        "scripted: straight on": row("scripted"),
        "no graph, learned": row(),
        "graph and learning": row(kg="full"),
        "one constant fact": row(kg="one-fact"),
        "graph alone": row(kg="full", agent="graph"),
        "graph, untrained": row("untrained", "full"),
        "edges, graph and learning": row(kg="full", kg_scores=("edges",)),
        "edges, graph alone": row(kg="full", kg_scores=("edges",), agent="graph"),
        "false facts: names exchanged": row("advised", "exchanged"),
        "false facts: other laws": row("advised", "other-laws"),
        "knowledge taken away": row("advised", "none"),
        **{f"lived facts: {steps:,} steps": row("advised", f"lived-{steps}") for steps in (400, 1_600, 6_400)},
        "oracle": row("oracle"),
    }
    return {f"{name}, {levels}": one for name, one in rows.items()}


# ---- The experiments

KINDS = ("empty", "objectsx1", "objectsx2", "objectsx3", "tilesx1", "tilesx2", "tilesx3")
DIFFICULTIES = ("easy", "medium", "hard")
CELLS = tuple(f"{kind}-{difficulty}" for kind in KINDS for difficulty in DIFFICULTIES)
#: Number of training levels -> on demand: whether the default size leaves out this number of the paper.
LEVELS = {1: False, 10: False, 50: True, 100: False, 200: True}

STATE: dict[str, Any] = {
    "observation": "state", "total_steps": 100_000, "eval_interval": 100_000, "num_envs": 256, "n_steps": 10,
    "epochs": 4, "learning_rate": 3e-3, "gamma": 0.95, "normalise_rewards": True,
}  # fmt: skip
PIXELS: dict[str, Any] = {
    **STATE, "observation": "rgb", "resolution": 32, "total_steps": 50_000, "eval_interval": 50_000, "epochs": 2,
    "learning_rate": 1e-3,
}  # fmt: skip
#: SAC learns from each step with one environment, ten times slower than PPO.
SAC: dict[str, Any] = {
    "algorithm": "sac", "num_envs": None, "normalise_rewards": False, "total_steps": 10_000, "eval_interval": 1_000,
}  # fmt: skip


def _cells(
    cells: Iterable[str], levels: Mapping[int, bool], chosen: Mapping[str, Any] | None = None, name: str = ""
) -> dict[str, Condition]:
    """Return a condition for each cell and number of levels; `name` is their panel and the end of their labels."""
    return {
        ", ".join(filter(None, (cell, f"{n} level{'s' * (n > 1)}", name))): Condition(
            {"levels": cell, "num_levels": n, **(chosen or {})}, panels=(name,) if name else (), on_demand=on_demand
        )
        for cell in cells
        for n, on_demand in levels.items()
    }


def _variants(
    cells: Sequence[str], variants: Mapping[str, Mapping[str, Any]], levels: Mapping[int, bool] = LEVELS
) -> dict[str, Condition]:
    """Return the conditions of all cells for each variant; the variant is their panel."""
    return {k: v for name, chosen in variants.items() for k, v in _cells(cells, levels, chosen, name).items()}


_GAP_NOTE = (
    "The gap is the mean return on the training levels less that on the test levels, as a share of what lies between "
    "the random and the scripted player on those test levels; 0 is no gap. Points are runs. Three standard deviations "
    "from the mean or more in either coordinate is an outlier, and left out (as in section 5)."
)
_CURVES = tuple(f"{kind}-{difficulty}" for kind in ("empty", "objectsx2", "tilesx2") for difficulty in DIFFICULTIES)
_PROBED = ("empty-hard", "objectsx2-hard", "tilesx2-hard")

_GATES: dict[str, Any] = {
    "task": "Gates", "observation": "names", "num_levels": 1_000, "test_levels": 200, "total_steps": 122_880,
    "eval_interval": 122_880, "n_steps": 32, "epochs": 5, "learning_rate": 1e-3, "gamma": 0.97,
    "entropy_coefficient": 0.01, "value_coefficient": 0.5, "max_grad_norm": 0.5,
}  # fmt: skip
_GATES_NOTES = """\
Types of gates of the test are met in no training level. PPO sees ball, goal and the names of the gates; with a graph,
each effect that it states of the thing at one of the first three places on the way of a push is a channel, which is
mixed into the logits; with edges, each of its relations, whatever the place. The graph alone acts by the first weights,
counted on training levels; an untrained network decides where it says the same. Rows of false and lived facts are the
same agent with another graph: names exchanged within a part; what lets the ball through is said to swallow it; what
pushes in other levels show of types of the test, beside the facts of training. People wrote scripted and oracle.
"""

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "segar-gates",
            "-",
            "Walls of gates, of types never met in training",
            GateRuns(),
            {label: one for levels in ("gates-2", "gates-3") for label, one in _gate_rows(levels).items()},
            notes=_GATES_NOTES.strip(),
            seeds=2,
            base=_GATES,
            at_work={
                f"SEGAR: {levels}, success": of_panel(levels, "test_success") for levels in ("gates-2", "gates-3")
            },
        ),
        Experiment(
            "segar-gap",
            "Figures 3 and 4a",
            "Generalisation gap of PPO against the distance between training and test levels",
            GapRuns(),
            _cells(CELLS, LEVELS),
            "Section 5: a significant correlation (p = 1.47e-5) between a larger W2 distance and a larger gap over all "
            "cells; no clear trend for the easiest tasks; objects and tiles weakly significant at best; from easy to "
            "medium and from medium to hard the gap is considerably larger, with a trend for medium to hard.",
            _GAP_NOTE + " W2 is exact. 'factors' compares entities that have the same factors, 'types' those of one "
            "type, and then a type that one side lacks counts 100; Order is a random number and is counted where the "
            "name says so. 'within cells' is the correlation of differences from the mean of a cell.",
            seeds=3,
            base=STATE,
        ),
        Experiment(
            "segar-information",
            "Figure 4b",
            "Generalisation gap of PPO against what its features tell of the factors",
            InformationRuns(),
            _variants(_PROBED, {"PPO": {}}),
            "Section 5: no relationship between performance and the estimates of mutual information, with PPO.",
            _GAP_NOTE,
            seeds=3,
            base=PIXELS,
        ),
        Experiment(
            "segar-auxiliary",
            "Figure 5a",
            "The same with CURL and SPR as auxiliary losses",
            InformationRuns(),
            _variants(_PROBED, {"PPO": {}, "CURL": {"auxiliary": "curl"}, "SPR": {"auxiliary": "spr"}}),
            "Section 5: SPR has a better gap with higher information, but only at training; none of the trends is "
            "significant.",
            _GAP_NOTE,
            seeds=3,
            base=PIXELS,
        ),
        Experiment(
            "segar-hidden-mass",
            "Figure 9",
            "The same with mass seen or hidden, and one frame or four",
            InformationRuns(),
            _variants(
                _PROBED,
                {
                    f"mass {word}, {frames} frame{'s' if frames > 1 else ''}": {**hidden, "frame_stack": frames}
                    for word, hidden in (("seen", {}), ("hidden", {"hidden": ("Mass",)}))
                    for frames in (1, 4)
                },
            ),
            "Appendix C: knowing the mass flips the trends of the gap, and helps to have a lower gap with more "
            "information.",
            _GAP_NOTE,
            seeds=3,
            base=STATE,
        ),
        Experiment(
            "segar-curves",
            "Figures 5b and 10",
            "Learning curves of PPO and SAC",
            CurveRuns(),
            _variants(_CURVES, {"PPO": {}, "SAC": SAC}, {1: False, 10: True, 50: True, 100: False, 200: True}),
            "Section 5 and appendix C: easier cells are learned fairly fast, harder ones need many more samples; SAC "
            "solves the easy tasks quickly, and struggles with harder ones.",
            "SAC has one environment, as in the paper.",
            seeds=3,
            base={**STATE, "eval_interval": 10_000},
        ),
    )
}
