"""Measure the part of success due to commonsense (`gumption experiment wordcraft-priors`): the same book under other
names and other laws (`gumption.envs.priors`).

Seed s plays split s, with predictors of its facts and tables of seed s. A book has the same split under all names, and
counterfactual laws set the same pairs aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gumption.scripts.results import (
    Condition,
    Experiment,
    Job,
    by_panel,
    estimate,
    panels,
    short,
    spread,
    summary,
    with_interval,
)
from gumption.scripts.results import figure as figure_of
from gumption.scripts.results import seeds as seeds_of

from .depth import AGENTS, DepthRuns
from .depth import EXPERIMENTS as BEFORE
from .experiments import BASE, CONCEPTNET, WordCraftRuns
from .outside import ALONE, GRAPH, RULES

NAME = "wordcraft-priors"
REAL, RANDOM = "real names, real laws", "random policy"
ONE_DIAL = ("anonymous names, real laws", "real names, counterfactual laws")
RUNGS: dict[str, dict[str, str]] = {
    f"{names} names, {laws} laws": {"names": names, "laws": laws}
    for laws in ("real", "counterfactual")
    for names in ("real", "anonymous", "shuffled")
}
#: Results of 103 people: "will this pair make anything" (AUC) and "what does it make" (of four), computed from the
#: validation data in Brändle et al. (2023), on the book of Little Alchemy 2 and with other questions than ours.
PEOPLE = {"makes_anything": 0.589, "which_of_four": 0.614}


class PriorsRuns(DepthRuns):
    """Success on the test tasks under all names and laws, and the answers of knowledge alone to two questions."""

    last = "priors.json"
    columns: ClassVar = {
        "splits": seeds_of,
        "success (95 % interval)": spread("success", ".3f"),
        "makes anything (AUC)": spread("makes_anything", ".3f"),
        "which of four": spread("which_of_four", ".3f"),
        "test tasks": figure_of("tasks", ",.0f"),
        "wall s": figure_of("wall_s", ".0f"),
    }
    shown = ("splits", "success (95 % interval)", "makes anything (AUC)", "which of four")
    code = (
        *WordCraftRuns.code,
        "agents/knowledge.py",
        "scripts/papers/wordcraft/measures.py",
        "envs/priors.py",
        "scripts/papers/wordcraft/pair_questions.py",
        "kg/rules",
        "data/graphs/commonsense-facts.tsv",
    )
    explained = (
        "Success is greedy, on test tasks, one table each; the mean over splits with its 95 % bootstrap interval. "
        "KG only: the choice with the highest score, nothing is learned beside the fit of the facts. Untrained: "
        "the network before training, with the graph. KG taken away: every score is 0. The two questions are "
        "about the recipes of the test: which pairs make anything, against as many that make nothing, of the same "
        "things (AUC); which of four products a pair makes. Chance is 0.5 and 0.25. 103 people came to "
        f"{PEOPLE['makes_anything']:.3f} and {PEOPLE['which_of_four']:.3f}: computed from the data of the "
        "validation in Brändle et al. (2023), of another book and with questions drawn in another way, so that "
        "they are no bar."
    )

    def run(self, job: Job, progress: bool) -> None:
        """Run a job as in `SplitRuns`. Outside graphs contain none of the codes, so choices by them are random."""
        blind = job.settings["names"] == "anonymous" and job.settings.get("kg") in (GRAPH, CONCEPTNET)
        super().run(replace(job, method="random") if blind else job, progress)

    def played(self, player: Any, config: Any, seed: int) -> dict[str, Any]:
        """Return the success on the test tasks, and for knowledge alone its answers to the two questions."""
        from gumption.envs.wordcraft import WordCraftVectorEnv
        from gumption.scripts.papers.wordcraft.measures import recipe_questions

        found = super().played(player, config, seed)
        if not config.kg_only:
            return found
        env = WordCraftVectorEnv(1, **config.env_settings("test"))
        return found | recipe_questions(player.policy.advice.scores, env.book, env.split, seed=seed)

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the figures with intervals over the splits."""
        answers = {name: summary([final.get(name) for final in found.values()], "mean") for name in PEOPLE}
        return {**super().figures(condition, found), **answers}

    def headline(self, results: Mapping[str, Any]) -> str:
        """Return the success of each agent on each rung, then the answers of knowledge alone."""
        rungs = list(panels(results))
        cells, answers = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        for rung, rows in panels(results).items():
            for row in rows:
                cells.setdefault(short(row, rung), {})[rung] = with_interval(row["success"])
                if row["makes_anything"].get("mean") is not None:
                    both = (f"{row[name]['mean']:.3f}" for name in PEOPLE)
                    answers.setdefault(short(row, rung), {})[rung] = " / ".join(both)
        told = by_panel("agent: success", cells, rungs)
        return f"{told}\n{by_panel('knowledge: makes anything / which of four', answers, rungs)}"

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Draw a figure: success on each rung, without ablations, and the loss if only names or only laws change."""
        from gumption.agents.plots import FinalPanel, Scale, plot_final_success

        by_agent: dict[str, dict[str, list[float]]] = {}
        for rung, rows in panels(results).items():
            for row in rows:
                if row["of"] is None:
                    by_agent.setdefault(short(row, rung), {})[rung] = row["success"]["per_seed"]
        by_chance = [one for each in by_agent.pop(RANDOM, {}).values() for one in each]
        across = {RANDOM: sum(by_chance) / len(by_chance)} if by_chance else {}
        by_agent.pop("oracle", None)
        drawn = [
            FinalPanel(agent, {rung: estimate(summary(each, "mean")) for rung, each in rungs.items()}, across)
            for agent, rungs in by_agent.items()
        ]
        for rung in ONE_DIAL:
            lost = {
                agent: estimate(summary(np.subtract(rungs[REAL], rungs[rung]).tolist(), "mean"))
                for agent, rungs in by_agent.items()
                if len(rungs.get(rung, ())) == len(rungs.get(REAL, ())) > 0
            }
            if lost:
                drawn.append(FinalPanel(f"what is lost with {rung}", lost))
        return list(plot_final_success(drawn, directory / "priors", results["title"], scale=Scale("success")))


def _conditions() -> dict[str, Condition]:
    found: dict[str, Condition] = {}
    for rung, dials in RUNGS.items():
        base = {"num_distractors": 8, "features": "glove", "look_ahead": "off", **dials}
        known = {**base, "kg": "train"}
        found[f"training facts{ALONE}, {rung}"] = Condition(known, "kg_only", (rung,))
        outside = {**base, "kg": GRAPH, "kg_rules": RULES}
        found[f"outside{ALONE}, {rung}"] = Condition(outside, "kg_only", (rung,))
        found[f"ConceptNet{ALONE}, {rung}"] = Condition({**outside, "kg": CONCEPTNET}, "kg_only", (rung,))
        found[f"no KG, trained, {rung}"] = Condition({**base, "kg": "none"}, panels=(rung,), on_demand=True)
        for agent, method in AGENTS.items():
            of = None if method == "train" else f"training facts, trained, {rung}"
            found[f"training facts, {agent}, {rung}"] = Condition(known, method, (rung,), of=of, on_demand=True)
        found[f"{RANDOM}, {rung}"] = Condition(base, "random", (rung,))
        found[f"oracle, {rung}"] = Condition(base, "oracle", (rung,))
    return found


EXPERIMENTS = {
    **BEFORE,
    NAME: Experiment(
        NAME,
        "-",
        "What part of success is commonsense",
        PriorsRuns(),
        _conditions(),
        "the same book under other names and laws was not measured before.",
        "Anonymous names: a code for each thing, and with it a random vector, so that word vectors tell nothing. "
        "Shuffled names: each thing has the name, and so the word vector, of another one. Counterfactual laws: recipes "
        "make each other's products, among things of one generation. The outside graph knows none of the codes: by it "
        "choices are random.",
        base=BASE,
    ),
}
