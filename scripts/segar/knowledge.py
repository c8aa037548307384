"""SEGAR's experiment on knowledge, as data: agents that are told what a push leads to, and agents that are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.sealed import read_sealed, write_sealed
from gumption.scripts.experiments import FINAL, Condition, Experiment, Job, Kind
from gumption.scripts.report import made_lines

if TYPE_CHECKING:
    from rich.table import Table


# ---- How a condition of SEGAR's experiment on knowledge becomes a run, and how its figures are told.


#: Written last: what came of playing each level once.
PLAYED = "played.json"
#: Knowledge that states every fact that can be asked; its graph is written into the folder of the experiment.
EVERYTHING = "everything"
#: Name in the files -> heading of the column.
FIGURES = {
    "test_success": "success",
    "test_return": "return",
    "test_destroyed": "destroyed",
    "test_consumed": "in a hole",
    "train_success": "success, training levels",
    "train_return": "return, training levels",
}
_SHARES = ("success", "destroyed", "consumed")


class KnowledgeRuns(Kind):
    """Agents on the tiles levels, with knowledge and without."""

    title = "SEGAR's experiment on knowledge"
    last = PLAYED

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        """The device, which is the CPU."""
        if device not in ("auto", "cpu"):
            raise InputError(f"--device {device}: these agents are small and run on the CPU; leave it out")
        return {"device": "cpu"}

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs, with the graph of every fact where they need it."""
        from gumption.envs.segar.facts import askable
        from gumption.kg import KnowledgeGraph

        if all(job.settings.get("kg") != EVERYTHING for job in jobs):
            return list(jobs)
        path = out / f"{EVERYTHING}.nq"
        graph = KnowledgeGraph()
        graph.add(askable(), graph=f"segar/{EVERYTHING}")
        graph.save(path)
        told = {"kg": str(path)}
        return [
            replace(job, settings={**job.settings, **told}) if job.settings.get("kg") == EVERYTHING else job
            for job in jobs
        ]

    def run(self, job: Job, progress: bool) -> None:
        """Train, where the method says so, and play each test level and each training level once."""
        from gumption.agents.evaluation import means
        from gumption.agents.segar import guided
        from gumption.agents.segar.evaluation import play_levels

        started = perf_counter()
        settings = dict(job.settings)
        where = {name: settings.pop(name) for name in ("levels", "num_levels")} | {"level_seed": job.seed}
        player = _player(job, where, settings, progress)
        found: dict[str, float] = {}
        for part in ("test", "train"):
            rows = play_levels(player, guided.level_env(where, part), seed=job.seed)
            told = means(rows, "return", "success", "destroyed", "consumed")
            found |= {f"{part}_{name}": value for name, value in told.items()}
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / PLAYED, {**found, "wall_s": round(perf_counter() - started, 2)})

    def told(self, job: Job) -> str:
        """Its success and its return on test levels."""
        found = read_sealed(job.directory / PLAYED)
        return f"{found['test_success']:.0%} reach the goal, return {found['test_return']:.2f}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """Panel, method, and interquartile means with their intervals."""
        from gumption.agents.statistics import bootstrap_interval

        found = [read_sealed(run / PLAYED) for run in runs.values()]
        row: dict[str, Any] = {"panels": list(condition.panels), "method": condition.method, "of": condition.of}
        for name in FIGURES:
            scores = [one[name] for one in found]
            value, low, high = bootstrap_interval(scores, "iqm")
            one_run = len(scores) < 2
            row[name] = {
                "iqm": round(value, 5),
                "low": None if one_run else round(low, 5),
                "high": None if one_run else round(high, 5),
                "per_seed": [round(score, 5) for score in scores],
            }
        row["wall_s"] = round(sum(one["wall_s"] for one in found) / len(found), 1)
        return row

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """A table for each kind of level, with what the rows are below."""
        lines = [f"# {results['experiment']}: {results['title']}", ""]
        for panel, rows in _panels(results).items():
            lines += [f"## {panel}", "", *_table(rows, panel), ""]
        lines += [results["expected"], "", results["notes"], "", *made_lines(results)]
        return "\n".join(lines) + "\n"

    def headline(self, results: Mapping[str, Any]) -> str:
        """Success and return of each agent, two columns for each kind of level."""
        panels = _panels(results)
        columns = [f"{panel}: {name}" for panel in panels for name in ("success", "return")]
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels.items():
            for row in rows:
                mine = cells.setdefault(_short(row, panel), {})
                for name in ("success", "return"):
                    mine[f"{panel}: {name}"] = _told(row, f"test_{name}")
        lines = [f"| agent | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
        lines += [f"| {name} | {' | '.join(row.get(one, '-') for one in columns)} |" for name, row in cells.items()]
        return "\n".join(lines) + "\n"

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> Table:
        """Success, return and the shares destroyed and lost in holes, on test levels."""
        from rich.table import Table

        names = [name for name in FIGURES if name.startswith("test_")]
        table = Table("agent", *(FIGURES[name] for name in names), title=results["title"])
        for panel, rows in _panels(results).items():
            table.add_section()
            table.add_row(f"[bold]{panel}[/bold]")
            for row in rows:
                table.add_row(_short(row, panel), *(_told(row, name) for name in names))
        return table

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Success of each agent with its interval."""
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        panels = [
            FinalPanel(panel, {_short(row, panel): _estimate(row["test_success"]) for row in rows})
            for panel, rows in _panels(results).items()
        ]
        scale = Scale("share of test levels whose goal is reached")
        return list(plot_final_success(panels, directory / "success", results["title"], scale=scale))


KIND = KnowledgeRuns()


def _player(job: Job, where: Mapping[str, Any], settings: dict[str, Any], progress: bool) -> Any:
    """Who plays.

    :param settings: fields of `WorldConfig`, and "ppo", parameters of PPO.
    """
    from gumption.agents.evaluation import Greedy
    from gumption.agents.impala import train_impala
    from gumption.agents.segar import guided
    from gumption.agents.segar.evaluation import BASELINES
    from gumption.agents.world_config import WorldConfig
    from gumption.agents.world_setup import load_policy, untrained

    method, parameters = job.method, settings.pop("ppo", {})
    if method in BASELINES:
        return BASELINES[method]
    config = WorldConfig("segar", env=tuple(guided.env_settings(**where).items()), **settings)
    if method == "train":
        train_impala(config, run_dir=job.directory, progress=progress, resume=True)
        return Greedy(load_policy(job.directory)[1])
    if method == "without_kg":
        return Greedy(_trained(job), without_knowledge=True)
    advice = None if config.kg == "none" else guided.advice_of(config)
    if method == "untrained":
        return untrained(config, advice)
    if method == "ppo":
        model = guided.train_ppo(dict(config.env), advice, config.total_steps, config.seed, **parameters)
        return guided.PPOPlayer(model, advice)
    assert advice is not None
    return guided.FollowsScores(advice, guided.BY_HAND if method == "by_hand" else None)


def _trained(job: Job) -> Any:
    """The policy of the run that a job looks into."""
    from gumption.agents.world_setup import load_policy

    assert job.source is not None
    if not (job.source / FINAL).is_file():
        raise InputError(f"{job.label} looks into {job.source}, which is not complete: run that condition first")
    return load_policy(job.source)[1]


def _panels(results: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for row in results["rows"]:
        for panel in row["panels"]:
            panels.setdefault(panel, []).append(row)
    return panels


def _short(row: Mapping[str, Any], panel: str) -> str:
    return row["condition"].removesuffix(f", {panel}")


def _table(rows: Sequence[Mapping[str, Any]], panel: str) -> list[str]:
    names = ["agent", "seeds", *FIGURES.values(), "s a run"]
    lines = [f"| {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) - 1)]
    for row in rows:
        cells = [_short(row, panel), str(len(row["seeds"])), *(_told(row, name) for name in FIGURES)]
        lines.append(f"| {' | '.join([*cells, format(row['wall_s'], '.0f')])} |")
    return lines


def _told(row: Mapping[str, Any], name: str) -> str:
    """A figure with its interval."""
    form = ".0%" if name.partition("_")[2] in _SHARES else ".2f"
    value, low, high = (row[name][part] for part in ("iqm", "low", "high"))
    return format(value, form) if low is None else f"{value:{form}} ({low:{form}} to {high:{form}})"


def _estimate(summary: Mapping[str, Any]) -> Any:
    from gumption.agents.statistics import Estimate

    nan = float("nan")
    return Estimate(summary["iqm"], *(nan if summary[end] is None else summary[end] for end in ("low", "high")))


# ---- The experiment


LEVELS = {"tilesx3-medium": "tilesx3, medium", "tilesx3-hard": "tilesx3, hard"}
BASE: dict[str, Any] = {
    "num_levels": 100,
    "total_steps": 150_000,
    "eval_interval": 50_000,
    "eval_episodes": 100,
    "overrides": (("entropy_cost", 0.1),),
}
PPO: dict[str, Any] = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}


def _conditions(levels: str, panel: str) -> dict[str, Condition]:
    told: dict[str, Any] = {"levels": levels, "kg": "full"}
    guided = f"trained with knowledge, {panel}"
    rows = {
        "no knowledge": Condition({"levels": levels}),
        "trained with knowledge": Condition(told),
        "trained with the training facts": Condition({**told, "kg": "train"}, on_demand=True),
        "trained, every fact is said to hold": Condition({**told, "kg": EVERYTHING}, on_demand=True),
        "knowledge only: scores added up": Condition(told, "kg_only"),
        "knowledge only: weights that people wrote": Condition(told, "by_hand"),
        "untrained network with knowledge": Condition(told, "untrained"),
        "trained, knowledge taken away": Condition(told, "without_kg", of=guided),
        "PPO": Condition({"levels": levels, "ppo": PPO}, "ppo"),
        "PPO, scores in its observation": Condition({**told, "ppo": PPO}, "ppo"),
        "random": Condition({"levels": levels}, "random"),
        "scripted": Condition({"levels": levels}, "scripted"),
    }
    return {f"{name}, {panel}": replace(one, panels=(panel,)) for name, one in rows.items()}


_EXPECTED = (
    "Nobody has published such figures. What is compared: the same learner with and without knowledge, and PPO of "
    "Stable-Baselines3 with the same 17 pushes, observations and number of steps."
)
_NOTES = """\
Figures are interquartile means over seeds with 95 % bootstrap intervals. Each seed has 100 training levels and 100 test
levels of its own; each level is played once, and a trained agent takes its most probable push. Falling into a hole ends
an episode without a penalty, so a return says little about success.

What an agent is told. The observation: place, velocity and mass of the ball, the place of the goal, and place, heat and
friction of the tiles; it does not say which tile is a hole. Knowledge: for each push, the facts about what the ball
meets then, and about the goal where the way leads over its middle. Prior knowledge in these questions: the type of each
thing, what a push does to the velocity, and that a ball rolls straight on. The graph knows what types afford: on these
levels every tile burns and slows, which it says of magma alone (fire: burns, sand: slows).

The rows:

- Knowledge only, scores added up: the push with the most facts, one of the best at random. Nothing is learned, and to
  burn counts as much as to reach the goal.
- Knowledge only, weights that people wrote: reaching 2, burning -1, falling in -3, others 0. This strategy is people's.
- Untrained network with knowledge: the network with which training begins; every score weighs 1.
- Trained, knowledge taken away: the trained network reads 0 for every score.
- PPO: that of Stable-Baselines3; rewards are scaled by their running deviation.
- Scripted: people wrote it. It takes the push after which the velocity is nearest to 15/s times the way to the goal,
  whatever lies there.

Only run where --setting names them:

- Trained with the training facts: the graph lacks one affordance in five, among them that magma and fire burn.
- Every fact is said to hold: the answer is always yes. What helps this agent is what is asked about (where the goal is,
  that something lies ahead), not what is known.

Nothing was chosen on test levels, but on training levels: what facts are about, among six ways to ask (along the
direction or along the way after the push; the goal only if it is met first, or on the whole way; as wide as its tile,
or its middle), on those of the seeds 0, 1 and 100; and on those of seed 200, hard ones, after 100,000 steps, one seed:
entropy cost 0.1 of 0.01, 0.1 and 0.5 and learning rate 0.003 of 0.001, 0.003 and 0.01 of our learner; the parameters of
PPO, its scaled rewards and the bound of its scores among eight settings. The constant 15 of the scripted agent is the
best of eight on those of seed 100.
"""

KNOWLEDGE = {
    "segar-knowledge": Experiment(
        "segar-knowledge",
        "-",
        "Pushes that knowledge speaks for, on levels with tiles",
        KIND,
        {label: one for levels, panel in LEVELS.items() for label, one in _conditions(levels, panel).items()},
        _EXPECTED,
        _NOTES.strip(),
        base=BASE,
    )
}
