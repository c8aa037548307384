"""What learning and knowledge add to each other (`gumption experiment wordcraft-learning`).

Seed s plays split s, with predictors, weights and tables of seed s. A product learns without the knowledge, and acts by
both: a quarter of what it learned beside the scores, a weight that was chosen on validation tasks. No single weight is
better than the best of `WEIGHTS` that is chosen on the very test tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gumption.scripts.results import (
    Condition,
    Experiment,
    Kind,
    Row,
    by_panel,
    panels,
    short,
    spread,
    with_interval,
)
from gumption.scripts.results import figure as figure_of
from gumption.scripts.results import seeds as seeds_of

from .depth import TASKS
from .experiments import BASE, CONCEPTNET, CROSS_FITTED, of_conceptnet
from .outside import ALONE, DRAWS, GRAPH, SPLITS, TRAIN
from .sources import BEST, SourcesRuns
from .sources import EXPERIMENTS as BEFORE

NAME = "wordcraft-learning"
NONE, SUPERVISED, PRODUCT = "no KG", "supervised", "product"
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # of what was learned, beside the scores
PANELS: dict[str, dict[str, Any]] = {
    **{panel: {"split": split} for split, panel in SPLITS.items()},
    "recipe unseen, depth 2": {"split": "by_recipe", "depth": 2},
}
KNOWLEDGE: dict[str, dict[str, Any]] = {
    TRAIN: {"kg": "train"},
    BEST: {"kg": "train", "kg_beside": GRAPH},
    f"{BEST}, ConceptNet": {"kg": "train", "kg_beside": CONCEPTNET},
}


def _than_knowledge(row: Row, rows: Sequence[Row]) -> str:
    known = [label for label in KNOWLEDGE if row["condition"].startswith(label)]
    return _better(row, rows, f"{known[0]}{ALONE}") if known else "-"


def _better(row: Row, rows: Sequence[Row], than: str) -> str:
    """How likely a run of a trained row is better than one of another row of its panel."""
    from gumption.agents.statistics import probability_of_improvement

    other = next((one for one in rows if one["condition"] == f"{than}, {row['panels'][0]}"), row)
    if other is row or row["method"] != "train":
        return "-"
    pair = (one["success"]["per_seed"] for one in (row, other))
    return f"{probability_of_improvement(*pair).value:.2f}"


class LearningRuns(SourcesRuns):
    """Success on the test tasks of trained agents, of their knowledge alone, and of what learns without knowledge."""

    last = "learning.json"
    columns: ClassVar = {
        "splits": seeds_of,
        "success (95 % interval)": spread("success", ".3f"),
        "P(better than KG only)": _than_knowledge,
        "P(better than no KG)": lambda row, rows: _better(row, rows, NONE),
        "P(better than supervised)": lambda row, rows: _better(row, rows, f"{NONE}, {SUPERVISED}"),
        "best weight": spread("best", ".3f"),
        "either right": spread("either", ".3f"),
        "test tasks": figure_of("tasks", ",.0f"),
        "wall s": figure_of("wall_s", ".0f"),
    }
    shown = ("splits", "success (95 % interval)", "P(better than KG only)", "best weight", "either right")
    intervals = ("success", "best", "either")
    means = ("tasks", "wall_s")

    def played(self, player: Any, config: Any, seed: int) -> dict[str, Any]:
        """The success on the test tasks; of a product also with the best weight, and where either part is right."""
        from gumption.agents.wordcraft.evaluation import evaluation_env, play_tasks, some_tasks
        from gumption.envs.wordcraft import WordCraftVectorEnv

        settings = config.env_settings("test")
        tasks = some_tasks(WordCraftVectorEnv(1, **settings).split.tasks("test"), TASKS)
        env = evaluation_env(settings, len(tasks) * DRAWS)

        def success(one: Any) -> np.ndarray:
            return play_tasks(one, env, tasks, DRAWS, seed)["success"]

        found: dict[str, Any] = {"success": float(success(player).mean()), "tasks": len(tasks)}
        if config.mixing == PRODUCT:
            mixed = [success(weighted(player.policy, weight)) for weight in WEIGHTS]
            either = mixed[0] | success(weighted(player.policy, None))
            found |= {"best": max(float(each.mean()) for each in mixed), "either": float(either.mean())}
        return found

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """A table for each panel."""
        return [
            *Kind.body(self, experiment, results),
            f"Success is greedy, 8 distractors, at most {TASKS:,} test tasks, ten tables each; mean over splits with "
            "its 95 % bootstrap interval. KG only: the highest score is taken, nothing is learned; at depth 2 it looks "
            "ahead. Supervised: the same network is told the right choices of the training tasks, with no graph and no "
            "reward. Cross-fitted: the agent learns beside scores of predictors that have not seen the recipe, or, "
            "where goals or families are unseen, any of the goal or the family. Product: it learns without knowledge, "
            f"and acts by both. Best weight: of what was learned, the best of {', '.join(f'{w:g}' for w in WEIGHTS)}, "
            "chosen on the test tasks. Either right: the knowledge or the network solves the task.",
            "",
            *self.told_examples(results),
        ]

    def headline(self, results: Mapping[str, Any]) -> str:
        """The success of each condition, a column for each panel; below a product what other weights could reach."""
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels(results).items():
            for row in rows:
                label = short(row, panel)
                cells.setdefault(label, {})[panel] = with_interval(row["success"])
                for name, words in (("best", "best weight on the test tasks"), ("either", "either is right")):
                    if row[name] is not None:
                        cells.setdefault(f"{label}: {words}", {})[panel] = with_interval(row[name])
        return by_panel("agent", cells, list(panels(results)))


def weighted(policy: Any, weight: float | None) -> Any:
    """A player by w times what a product has learned plus its scores; by None what it has learned alone."""
    from gumption.agents.evaluation import Greedy
    from gumption.agents.policy import PRODUCT_ATTENTION

    class Weighted(Greedy):
        def logits(self, state: Any) -> Any:
            readout = self.policy(state)
            if weight is None:
                return readout.attention
            return readout.logits + (weight - PRODUCT_ATTENTION) * readout.attention

    return Weighted(policy)


def _conditions() -> dict[str, Condition]:
    found: dict[str, Condition] = {}
    for panel, chosen in PANELS.items():
        base = {"num_distractors": 8, "features": "glove", **chosen}
        rows = {
            NONE: Condition({**base, "kg": "none"}),
            f"{NONE}, {SUPERVISED}": Condition({**base, "kg": "none", "supervised": True}),
        }
        for label, known in KNOWLEDGE.items():
            guided = {**base, **known, **({"look_ahead": "on"} if "depth" in chosen else {})}
            rows[f"{label}{ALONE}"] = Condition(guided, "kg_only")
            if of_conceptnet(known):
                continue
            product, asked = {**guided, "mixing": PRODUCT}, label == BEST
            rows |= {
                f"{label}, {CROSS_FITTED}": Condition({**guided, "cross_fit": True}, on_demand=asked),
                f"{label}, {PRODUCT}": Condition(product, on_demand=asked),
                f"{label}, {PRODUCT}, {SUPERVISED}": Condition({**product, "supervised": True}),
            }
        rows |= {"random policy": Condition(base, "random"), "oracle": Condition(base, "oracle")}
        found |= {
            f"{label}, {panel}": Condition(one.settings, one.method, (panel,), on_demand=one.on_demand)
            for label, one in rows.items()
        }
    return found


EXPERIMENTS = {
    **BEFORE,
    NAME: Experiment(
        NAME,
        "-",
        "What learning and knowledge add to each other",
        LearningRuns(),
        _conditions(),
        notes="The weight of a product, 1/4, was chosen on the validation tasks of the first split, for unseen recipes "
        "and unseen goals at once. These are no test tasks of that split, but 12 to 16 % of the test recipes of each "
        "other split are among them.",
        base={name: value for name, value in BASE.items() if name != "split"},
    ),
}
