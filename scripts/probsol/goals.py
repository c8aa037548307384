"""`gumption experiment probsol-goals`: the study of goals and constraints, with agents as players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data.sealed import read_sealed, write_sealed
from gumption.scripts.experiments import Condition, Experiment, Job, Kind
from gumption.scripts.report import made_lines

from .families import FAMILIES, PLAYERS, TRAINING

if TYPE_CHECKING:
    from rich.table import Table

#: Written last: the episodes of one player.
EPISODES = "episodes.json"
_RATES = {"solved": "solved", "solution": "solution rate", "constraint": "constraint rate"}


class GoalRuns(Kind):
    """Players on goal x layout x constraint; seed s has the layouts of the test part of fold s."""

    title = "ProbSol's study of goals and constraints"
    last = EPISODES

    def run(self, job: Job, progress: bool) -> None:
        """Train, where the method says so, and play each task of the design once."""
        from gumption.agents.probsol.config import ProbSolConfig
        from gumption.agents.probsol.evaluation import baselines, spread
        from gumption.agents.probsol.goals import LAYOUTS, design, play_design
        from gumption.agents.probsol.players import Naive

        config = ProbSolConfig(**job.settings, fold=job.seed % 10)
        layouts = {
            family: spread(config.tasks("test", (f"{family.lower()}/generated",)), LAYOUTS) for family in FAMILIES
        }
        if job.method == "train":
            from gumption.agents.probsol.training import train_probsol

            player: Any = train_probsol(config, job.directory, resume=True, progress=progress).player(job.seed)
        else:
            player = Naive(job.seed) if job.method == "naive" else baselines(job.seed)[PLAYERS[job.method]]
        episodes = play_design(player, design(layouts), seed=job.seed)
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / EPISODES, {"episodes": [asdict(one) for one in episodes]})

    def told(self, job: Job) -> str:
        """How much it solves."""
        episodes = read_sealed(job.directory / EPISODES)["episodes"]
        return f"{_mean(episodes, 'solved'):.0%} of {len(episodes)} episodes solved"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """The episodes of each run, and what their strategies say."""
        from gumption.agents.probsol.goals import Episode, hypotheses

        found = [episode for run in runs.values() for episode in read_sealed(run / EPISODES)["episodes"]]
        return {"episodes": _rounded(found), "hypotheses": _rounded(hypotheses([Episode(**one) for one in found]))}

    def more(self, rows: Sequence[Mapping[str, Any]], directory: Path) -> dict[str, Any]:
        """The players side by side."""
        from gumption.agents.probsol.goals import Episode, comparison

        agents = {row["condition"]: [Episode(**one) for one in row["episodes"]] for row in rows}
        return {"comparison": _rounded(comparison(agents))}

    def joined(
        self, results: Mapping[str, Any], saved: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The same of all rows."""
        return self.more(rows, Path())

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """Rates by constraint, hypotheses, the comparison."""
        told = results["comparison"]
        lines = [f"# {results['experiment']}: {results['title']}", "", self.headline(results)]
        lines += ["## Strategies", "", *_strategies(results["rows"]), ""]
        lines += ["## Preferences and over-policies (eq. 4, 5)", "", *_preferences(told), ""]
        lines += ["## Equation 7", "", *_prior(told), ""]
        lines += ["## H3: what others did foretells an agent that is left out", "", *_foretold(told["foretold"]), ""]
        lines += [results["expected"], "", results["notes"], "", *made_lines(results)]
        return "\n".join(lines) + "\n"

    def headline(self, results: Mapping[str, Any]) -> str:
        """Solution and constraint rates of each player, by how tight the constraint is."""
        from gumption.agents.probsol.goals import TIGHTNESS

        names = [f"{tight}: {name}" for tight in TIGHTNESS for name in _RATES.values()]
        lines = [f"| player | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
        for row in results["rows"]:
            cells = [
                format(_mean([one for one in row["episodes"] if one["tightness"] == tight], name), ".2f")
                for tight in TIGHTNESS
                for name in _RATES
            ]
            lines.append(f"| {row['condition']} | {' | '.join(cells)} |")
        return "\n".join(lines) + "\n"

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> Table:
        """Rates, and what strategies say, of all constraints together."""
        from rich.table import Table

        table = Table("player", *_RATES.values(), "agreement (shuffled)", "consistency", title=results["title"])
        for row in results["rows"]:
            told = row["hypotheses"]
            agree = f"{told['agreement']['value']:.2f} ({told['agreement']['shuffled']:.2f})"
            rates = [f"{_mean(row['episodes'], name):.2f}" for name in _RATES]
            table.add_row(row["condition"], *rates, agree, f"{told['consistency']:.2f}")
        return table


def _mean(episodes: Sequence[Mapping[str, Any]], name: str) -> float:
    return sum(float(one[name]) for one in episodes) / len(episodes)


def _rounded(found: Any) -> Any:
    """Numbers with four decimals: more would tell nothing."""
    if isinstance(found, Mapping):
        return {name: _rounded(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(one) for one in found]
    return round(found, 4) if isinstance(found, float) else found


def _strategies(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    from gumption.agents.probsol.goals import TIGHTNESS

    names = ["player", "agreement of layouts", "shuffled", "p", *(f"entropy, {each}" for each in TIGHTNESS)]
    lines = [f"| {' | '.join([*names, 'consistency'])} |", "| --- |" + " ---: |" * len(names)]
    for row in rows:
        told = row["hypotheses"]
        agree = [f"{told['agreement'][each]:.3f}" for each in ("value", "shuffled", "p")]
        entropies = [f"{told['entropy'][each]:.2f}" for each in TIGHTNESS]
        lines.append(f"| {' | '.join([row['condition'], *agree, *entropies, format(told['consistency'], '.3f')])} |")
    return lines


def _preferences(told: Mapping[str, Any]) -> list[str]:
    over = list(dict.fromkeys(each for shares in told["over_policies"].values() for each in shares))
    lines = [f"| player | on the Pareto front | gives up least | {' | '.join(over)} |"]
    lines.append("| --- | --- | --- |" + " ---: |" * len(over))
    for name, order in told["preferences"].items():
        shares = [f"{told['over_policies'][name].get(each, 0.0):.0%}" for each in over]
        lines.append(f"| {name} | {'yes' if name in told['front'] else 'no'} | {order} | {' | '.join(shares)} |")
    return lines


def _prior(told: Mapping[str, Any]) -> list[str]:
    likelihoods = ", ".join(f"{name} {value:.3f}" for name, value in told["likelihoods"].items())
    lines = [
        f"Mean ln P(lambda, xi | g, c) of pairs left out, by factoring and for the frequencies: {likelihoods}.",
        "",
    ]
    if told["difficulty"]:
        goals = list(next(iter(told["difficulty"].values())))
        lines += [f"| P(g given c) | {' | '.join(goals)} |", "| --- |" + " ---: |" * len(goals)]
        for constraint, shares in told["difficulty"].items():
            lines.append(f"| {constraint} | {' | '.join(format(shares[each], '.2f') for each in goals)} |")
    return lines


def _foretold(told: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    names = [(known, what) for agent in list(told.values())[:1] for known, shares in agent.items() for what in shares]
    lines = [f"| player | {' | '.join(f'{what}, {known}' for known, what in names)} |"]
    lines.append("| --- |" + " ---: |" * len(names))
    for agent, shares in told.items():
        lines.append(f"| {agent} | {' | '.join(format(shares[known][what], '.2f') for known, what in names)} |")
    return lines


GOAL_EXPERIMENT = Experiment(
    "probsol-goals",
    "Problem Formulation",
    "Goals and constraints: what agents solve, keep, and how",
    GoalRuns(),
    {
        **{label: Condition(method=method) for method, label in PLAYERS.items()},
        "naive": Condition(method="naive"),
        "MaskablePPO": Condition(),
    },
    "H1: for one goal and constraint, players have one strategy whatever the layout. H2: the tighter the constraint, "
    "the fewer strategies. H3: who knows goal and constraint foretells more than who knows the reward alone.",
    "Goals are the six families, four layouts each; the constraint is none, 3 (relaxed) or 1.1 (critical) times the "
    "actions of the certified solution. One trial a task; a broken limit is measured and does not end it. MaskablePPO "
    "is trained on the training tasks of all families. Agents read no names, so that the factor name waits for people. "
    "They say no plans: in H3 the strategy of what they did stands for the plan.",
    base={"task": tuple(f"{family.lower()}/generated" for family in FAMILIES), **TRAINING},
)
