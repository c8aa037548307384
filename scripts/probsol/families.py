"""`gumption experiment probsol-families`: who solves what, within each family and in a family that was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gumption.data.sealed import read_sealed, write_sealed
from gumption.scripts.experiments import Condition, Experiment, Job, Kind
from gumption.scripts.report import made_lines

if TYPE_CHECKING:
    from rich.table import Table

#: Written last: what came of playing the test tasks.
PLAYED = "played.json"
FAMILIES = ("Fishing", "Curling", "FindTheDiff", "FindTheSame", "Building", "Modifying")
DISCOVERY = FAMILIES[2:4]
#: Name in the files -> heading of the column.
FIGURES = {"solved": "solved", "auccess": "AUCCESS", "rate": "solution rate", "actions": "actions"}
#: Methods that learn nothing -> the label of their row.
PLAYERS = {"random": "random", "do nothing": "do nothing", "scripted": "scripted (people wrote it)"}
#: Of the learner: three to four minutes of one core; where a family is left out, a third of the steps.
TRAINING = {"total_steps": 150_000, "eval_interval": 75_000}
LEFT_OUT = {"total_steps": 50_000, "eval_interval": 50_000}
#: Families in which agents are also trained with knowledge.
ADVISED = FAMILIES[0:3:2]
#: Knowledge that the experiment writes into its folder: every fact that can be asked, and facts about the wrong discs.
CONSTANT, FALSE = "constant", "false"
#: It probes discs, and plays the discovery families.
GRAPH_AGENT = "graph agent"
#: Test tasks that are played, at most; other tasks from which the graph agent learns its rules.
TASKS, TAUGHT = 100, 60


class FamilyRuns(Kind):
    """Players on the test tasks of a family, ten trials each; seed s has the split of fold s."""

    title = "ProbSol's experiment on families"
    last = PLAYED

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs, with the graphs that are no facts where they need them."""
        return [self._with_graph(job, out) for job in jobs]

    def _with_graph(self, job: Job, out: Path) -> Job:
        kind = job.settings.get("kg")
        if kind not in (CONSTANT, FALSE):
            return job
        from gumption.envs.probsol.affordances import askable
        from gumption.envs.probsol.facts import about_other_discs
        from gumption.envs.probsol.settings import ProbSolSettings
        from gumption.kg import KnowledgeGraph

        path = out / f"{kind}-{job.settings['test'].lower()}.nq"
        if not path.is_file():
            graph = KnowledgeGraph()
            for task in ProbSolSettings(task=job.settings["task"]).load_tasks():
                graph.add(askable(task) if kind == CONSTANT else about_other_discs(task), graph=f"probsol/{kind}")
            graph.save(path)
        return replace(job, settings={**job.settings, "kg": str(path)})

    def run(self, job: Job, progress: bool) -> None:
        """Train, where the method says so, and play the test tasks."""
        from gumption.agents.probsol.config import ProbSolConfig
        from gumption.agents.probsol.evaluation import baselines, play_tasks, spread

        settings = dict(job.settings)
        family = settings.pop("test")
        config = ProbSolConfig(**settings, fold=job.seed % 10)
        tasks = spread(config.tasks("test", (f"{family.lower()}/generated",)), TASKS)
        found: dict[str, Any] = {}
        if job.method in PLAYERS:
            player = baselines(job.seed)[PLAYERS[job.method]]
        elif job.method == GRAPH_AGENT:
            player = _graph_agent(job.seed)
        else:
            player, found = _learner(job, config, progress)
        started = perf_counter()
        found |= play_tasks(player, tasks, seed=job.seed, laws=config.laws).figures() | {"tasks": len(tasks)}
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / PLAYED, {**found, "played_s": round(perf_counter() - started, 1)})

    def told(self, job: Job) -> str:
        """What it solves of the test tasks."""
        found = read_sealed(job.directory / PLAYED)
        return f"{found['solved']:.0%} solved in one trial, AUCCESS {found['auccess']:.3f}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Interquartile means with their intervals, and what training cost."""
        found = [read_sealed(run / PLAYED) for run in runs.values()]
        row: dict[str, Any] = {"panels": list(condition.panels), "method": condition.method}
        row |= {name: summary([one[name] for one in found]) for name in FIGURES}
        row["tasks"] = found[0]["tasks"]
        if "steps" in found[0]:
            row["steps"] = found[0]["steps"]
            row["minutes"] = round(sum(one["wall_s"] for one in found) / len(found) / 60, 1)
        return row

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """A table for each family, within and left out."""
        lines = [f"# {results['experiment']}: {results['title']}", ""]
        for panel, rows in rows_of_panels(results).items():
            lines += [f"## {panel}", "", *_table(rows), ""]
        lines += [results["expected"], "", results["notes"], "", *made_lines(results)]
        return "\n".join(lines) + "\n"

    def headline(self, results: Mapping[str, Any]) -> str:
        """Solved in one trial and AUCCESS of each player, a column for each family."""
        panels = rows_of_panels(results)
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels.items():
            family, _, left_out = panel.partition(", ")
            for row in rows:
                name = short_name(row) + (", never trained on the family" if left_out else "")
                cells.setdefault(name, {})[family] = f"{row['solved']['iqm']:.0%}, {row['auccess']['iqm']:.2f}"
        families = [family for family in FAMILIES if any(family in row for row in cells.values())]
        lines = [f"| solved, AUCCESS | {' | '.join(families)} |", "| --- |" + " ---: |" * len(families)]
        lines += [f"| {name} | {' | '.join(row.get(one, '-') for one in families)} |" for name, row in cells.items()]
        return "\n".join(lines) + "\n"

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> Table:
        """The figures of all players, family by family."""
        from rich.table import Table

        table = Table("player", *FIGURES.values(), title=results["title"])
        for panel, rows in rows_of_panels(results).items():
            table.add_section()
            table.add_row(f"[bold]{panel}[/bold]")
            for row in rows:
                table.add_row(short_name(row), *(_told(row, name) for name in FIGURES))
        return table

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """AUCCESS of each player with its interval."""
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        panels = [
            FinalPanel(panel, {short_name(row): estimate(row["auccess"]) for row in rows})
            for panel, rows in rows_of_panels(results).items()
        ]
        return list(plot_final_success(panels, directory / "auccess", results["title"], scale=Scale("AUCCESS")))


def _learner(job: Job, config: Any, progress: bool) -> tuple[Any, dict[str, Any]]:
    """The trained or the untrained player, or one whose knowledge is taken away, and the cost of the training."""
    from gumption.agents.probsol.training import load_run, train_probsol, untrained_run

    if job.method == "untrained":
        return untrained_run(config).player(job.seed), {}
    if job.method == "without_kg":
        assert job.source is not None
        return load_run(job.source).player(job.seed, without_knowledge=True), {}
    run = train_probsol(config, job.directory, resume=True, progress=progress)
    return run.player(job.seed), {"steps": int(run.final["step"]), "wall_s": run.final["wall_s"]}


def _graph_agent(seed: int) -> Any:
    """The probing agent, with rules mined from what a curious agent lived through on tasks that are not certified."""
    from gumption.agents.probsol.discovery import learn_from
    from gumption.agents.probsol.prober import Prober, Probing

    learned = learn_from("with dipoles", "real", TAUGHT, seed)
    return Probing(lambda labels, family: Prober(labels, family, *learned.taught))


def summary(per_seed: Sequence[float | None]) -> dict[str, Any]:
    """The interquartile mean of the seeds that have a figure, and the ends of its 95 % interval;
    None where there is none."""
    from gumption.agents.statistics import bootstrap_interval

    scores = [one for one in per_seed if one is not None]
    value, low, high = bootstrap_interval(scores, "iqm") if scores else (None, None, None)
    if len(scores) < 2:  # one run has no interval
        low = high = None
    return {
        "iqm": _rounded(value),
        "low": _rounded(low),
        "high": _rounded(high),
        "per_seed": [*map(_rounded, per_seed)],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 5)


def rows_of_panels(results: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for row in results["rows"]:
        for panel in row["panels"]:
            panels.setdefault(panel, []).append(row)
    return panels


def short_name(row: Mapping[str, Any]) -> str:
    """The player of a row, without its family."""
    return row["condition"].removeprefix(f"{row['panels'][0]}: ")


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names = ["player", "seeds", "tasks", *FIGURES.values(), "steps", "minutes a run"]
    lines = [f"| {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) - 1)]
    for row in rows:
        cells = [short_name(row), str(len(row["seeds"])), str(row["tasks"]), *(_told(row, name) for name in FIGURES)]
        cost = [format(row["steps"], ","), format(row["minutes"], ".1f")] if "steps" in row else ["-", "-"]
        lines.append(f"| {' | '.join([*cells, *cost])} |")
    return lines


def _told(row: Mapping[str, Any], name: str) -> str:
    """A figure with its interval."""
    form = {"solved": ".0%", "actions": ".1f"}.get(name, ".3f")
    value, low, high = (row[name][part] for part in ("iqm", "low", "high"))
    if value is None:
        return "-"
    return format(value, form) if low is None else f"{value:{form}} ({low:{form}} to {high:{form}})"


def estimate(summary: Mapping[str, Any]) -> Any:
    from gumption.agents.statistics import Estimate

    nan = float("nan")
    return Estimate(summary["iqm"], *(nan if summary[end] is None else summary[end] for end in ("low", "high")))


def _conditions() -> dict[str, Condition]:
    found = {}
    for family in FAMILIES:
        own = {"task": (f"{family.lower()}/generated",), "test": family}
        found[f"{family}: MaskablePPO"] = Condition({**own, **TRAINING}, panels=(family,))
        found[f"{family}: untrained"] = Condition(own, method="untrained", panels=(family,))
        if family in DISCOVERY:
            found[f"{family}: {GRAPH_AGENT}"] = Condition(own, method=GRAPH_AGENT, panels=(family,))
        for method, label in PLAYERS.items():
            found[f"{family}: {label}"] = Condition(own, method=method, panels=(family,))
        if family in ADVISED:
            found |= _with_knowledge(family, own)
    for family in FAMILIES:
        panel = f"{family}, left out"
        others = {"task": tuple(f"{one.lower()}/generated" for one in FAMILIES if one != family), "test": family}
        found[f"{panel}: MaskablePPO"] = Condition({**others, **LEFT_OUT}, panels=(panel,))
    return found


def _with_knowledge(family: str, own: Mapping[str, Any]) -> dict[str, Condition]:
    true = {**own, **TRAINING, "kg": "full"}
    rows = {
        "trained with true facts": Condition(true),
        "the same, knowledge taken away": Condition(true, method="without_kg", of=f"{family}: trained with true facts"),
        "untrained, with true facts": Condition(true, method="untrained"),
        "knowledge only: discs by true facts, the rest at random": Condition(
            {**true, "kg_only": True}, method="untrained"
        ),
        "trained, every fact is said to hold": Condition({**true, "kg": CONSTANT}),
        "trained with facts about the wrong discs": Condition({**true, "kg": FALSE}),
    }
    return {f"{family}: {name}": replace(one, panels=(family,)) for name, one in rows.items()}


FAMILY_EXPERIMENT = Experiment(
    "probsol-families",
    "-",
    "Players of ProbSol on certified tasks that they have not seen",
    FamilyRuns(),
    _conditions(),
    "The paper reports no learner. Random solves at most 5 % of each task's trials, by construction of the tasks.",
    "solved is the share of test tasks solved in the first trial; AUCCESS weighs the shares solved within 1 to 10 "
    "trials, early ones more; the solution rate is that of the first trial; actions are those of trials that solve. "
    "MaskablePPO sees the 8 latest observations of the trial, draws its actions with the probabilities that it has "
    "learned, and ends a trial with CHECK after 40 actions, as in training. 'left out' trains on the other five "
    "families, with a third of the steps. The graph agent probes discs, and has learned rules of meetings from 60 "
    "other tasks. The scripted player looks hidden properties up in tool use and crafting. Knowledge advises which "
    "disc is taken; the facts are those of all tasks, the tested ones too, as an oracle would tell them. MaskablePPO "
    "without knowledge sees all places and areas: it is the row of the world's geometry. Settings were tried on "
    "validation tasks of fold 0, but for one; see `ProbSolConfig`.",
)
