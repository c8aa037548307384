"""What commonsense from outside adds (`gumption experiment wordcraft-outside`): the WordCraft paper's Figure 3 with the
row that it lacked, a graph that is not made of recipes.

Seed s plays split s, with predictors and tables of seed s. First comes knowledge alone, where nothing is learned, then
trained agents. A test recipe is *entailed* where the outside graph has a fact between each ingredient and the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from gumption.data.recipe_files import family_of
from gumption.data.sealed import read_sealed, write_sealed
from gumption.scripts.results import (
    Condition,
    Experiment,
    Job,
    Kind,
    Row,
    by_panel,
    panels,
    short,
    spread,
    summary,
    with_interval,
)
from gumption.scripts.results import figure as figure_of
from gumption.scripts.results import seeds as seeds_of

from . import experiments as of_paper
from .alchemy import ALCHEMY
from .experiments import CONCEPTNET, WordCraftRuns, config_of, of_conceptnet

NAME, GRAPH, RULES = "wordcraft-outside", "commonsense-facts", "linked"
OUTSIDE, TRAIN, BOTH, ALL = "outside", "training facts", "training facts and outside", "all facts"
SOURCES: dict[str, dict[str, Any]] = {
    OUTSIDE: {"kg": GRAPH, "kg_rules": RULES},
    TRAIN: {"kg": "train"},
    BOTH: {"kg": "train", "kg_beside": GRAPH, "kg_rules": RULES},
    ALL: {"kg": "full"},
}
#: The same of a graph that strangers made; knowledge alone.
STRANGERS: dict[str, dict[str, Any]] = {
    "ConceptNet": {"kg": CONCEPTNET, "kg_rules": RULES},
    "training facts and ConceptNet": {"kg": "train", "kg_beside": CONCEPTNET, "kg_rules": RULES},
}
SPLITS = {"by_recipe": "recipe unseen", "by_goal": "goal unseen", "by_family": "family unseen"}
DISTRACTORS = (8, 1)
ALONE, RANDOM_NAMES = ", KG only", ", random names"
EXAMPLES, DRAWS = 10, 10
#: Where the examples are from: no training recipe makes the goal, so that the outside graph counts most.
MISLED_IN = "goal unseen, 8 distractors"


class OutsideRuns(WordCraftRuns):
    """Success on the test tasks, and on those of them whose recipe the outside graph entails."""

    title = "WordCraft's experiments"
    last = "outside.json"
    fixed = ("recipe_book_hash", "graph_hash")
    source = "What is known of it: "
    columns: ClassVar = {
        "splits": seeds_of,
        "success (95 % interval)": spread("success", ".3f"),
        "entailed recipes": spread("entailed", ".3f"),
        "the others": spread("others", ".3f"),
        "share entailed": figure_of("share_entailed", ".2f"),
        "test tasks": figure_of("tasks", ",.0f"),
        "same twice": figure_of("same_slot_twice", ".3f"),
        "wall s": figure_of("wall_s", ".0f"),
    }
    shown = ("splits", "success (95 % interval)", "entailed recipes", "the others")
    intervals: ClassVar[Sequence[str]] = ("success", "entailed", "others")
    means: ClassVar[Sequence[str]] = ("share_entailed", "tasks", "same_slot_twice", "wall_s")
    code = (*WordCraftRuns.code, "agents/knowledge.py", "kg/rules", "data/graphs/commonsense-facts.tsv")
    drawn = ("success", "final", "success on test tasks")
    misled_in = MISLED_IN
    plots = Kind.plots
    more_rows = Kind.more_rows

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """Which book and which graph."""
        from gumption.envs.wordcraft import RecipeBook
        from gumption.kg import KnowledgeGraph

        book = RecipeBook.load(common["recipe_book"])
        told = {"recipe_book": book.name, "recipe_book_hash": book.hash}
        told["graph_hash"] = KnowledgeGraph.load(GRAPH).content_hash()
        if CONCEPTNET in common:
            told["conceptnet_hash"] = KnowledgeGraph.load(common[CONCEPTNET]).content_hash()
        return told

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """Without those on unseen families, where the book has none, and of ConceptNet, where its graph is not given;
        those of one knowledge, which is dear to set up, one after the other."""
        from gumption.envs.wordcraft import RecipeBook

        book = RecipeBook.load(jobs[0].settings["recipe_book"]) if jobs else None
        families = book is not None and any(map(family_of, book.origins or ()))
        there = [job for job in jobs if families or job.settings["split"] != "by_family"]
        there = [job for job in there if CONCEPTNET in job.settings or not of_conceptnet(job.settings)]
        known = ("split", "kg", "kg_beside", "kg_shuffled")
        return sorted(there, key=lambda job: (job.seed, *(str(job.settings.get(name)) for name in known)))

    def run(self, job: Job, progress: bool) -> None:
        """Train the agent of a job, or take its knowledge alone, and play the test tasks."""
        from gumption.agents.learners.impala import train_impala
        from gumption.agents.wordcraft.evaluation import load_policy, player_of

        changes: dict[str, Any] = {"split_seed": job.seed, "kg_only": job.method == "kg_only"}
        if "kg_shuffled" in job.settings:
            changes["kg_shuffled"] = job.seed
        config, started, policy = config_of(job, **changes), perf_counter(), None
        if job.method == "train":
            train_impala(config, run_dir=job.directory, progress=progress, resume=True)
        if job.method in ("train", "without_kg"):
            places = {name: job.settings.get(name) for name in ("recipe_book", "device")}
            policy = load_policy(job.directory if job.method == "train" else job.source_run(), **places)[1]
        player = player_of(job.method, config, policy)  # pyright: ignore[reportArgumentType]
        found = self.played(player, config, job.seed)
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / self.last, {**found, "wall_s": perf_counter() - started})

    def played(self, player: Any, config: Any, seed: int) -> dict[str, Any]:
        """The figures of a player."""
        return played(player, config, seed)

    def told(self, job: Job) -> str:
        found = read_sealed(job.directory / self.last)
        entailed, others = ("-" if found[name] is None else f"{found[name]:.3f}" for name in ("entailed", "others"))
        return f"{found['success']:.3f} (entailed {entailed}, the others {others})"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """The figures with their intervals over the splits, None where a split lacks such tasks; and plain means."""
        finals = [read_sealed(run / self.last) for run in runs.values()]
        per_seed = {name: [final.get(name) for final in finals] for name in self.intervals}
        found: dict[str, Any] = {
            name: None if None in each else summary(each, "mean") for name, each in per_seed.items()
        }
        return found | {name: round(sum(one[name] for one in finals) / len(finals), 4) for name in self.means}

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The tasks of the first split in which the outside graph misleads; where their runs are not in the folder, the
        saved ones."""
        found = [] if directory is None else self.examples(directory)
        kept = found or saved.get("misled")
        return {"misled": kept} if kept else {}

    def examples(self, directory: Path) -> list[str]:
        """See `misled`. :param directory: of the runs."""
        return misled(*(directory_of(directory, label) for label in (TRAIN, BOTH)))

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """A table for each panel, and the examples."""
        lines = Kind.body(self, experiment, results)
        lines += [
            "Success is greedy, the mean over splits with its 95 % bootstrap interval. Entailed recipes: test tasks "
            "for which the outside graph has a fact between each ingredient and the product. KG only: the choice with "
            "the highest sum of the scores, nothing is learned. ConceptNet: a part of it, linked to the book's words "
            "by `gumption kg link`. Random names: the graph's words have each other's names, of two graphs those of "
            "the outside one.",
            "",
        ]
        return [*lines, *self.told_examples(results)]

    def told_examples(self, results: Mapping[str, Any]) -> list[str]:
        """Where the outside graph misleads, if there are examples, and which book."""
        lines: list[str] = []
        if results.get("misled"):
            lines += [f"## Where outside knowledge misleads ({self.misled_in}, first split)", ""]
            lines += [*(f"- {line}" for line in results["misled"]), ""]
        return [*lines, f"Recipe book {results['recipe_book']} (sha256 {results['recipe_book_hash'][:12]}).", ""]

    def headline(self, results: Mapping[str, Any]) -> str:
        """The success of each condition, a column for each panel; with the outside graph, and beside it without, the
        entailed recipes and the others in rows of their own."""
        cells: dict[str, dict[str, str]] = {}
        for panel, rows in panels(results).items():
            for row in rows:
                label = short(row, panel)
                cells.setdefault(label, {})[panel] = with_interval(row["success"])
                if label.removesuffix(ALONE) in (OUTSIDE, TRAIN, BOTH):
                    for part, words in (("entailed", "recipes that outside entails"), ("others", "the others")):
                        cells.setdefault(f"{label}: {words}", {})[panel] = with_interval(row[part])
        return by_panel("agent", cells, list(panels(results)))


class _Noted:
    """A player whose choices are kept: (B,) env ids of what each call chose."""

    def __init__(self, player: Any) -> None:
        self.player = player
        self.chosen: list[np.ndarray] = []

    def __call__(self, env: Any, first: np.ndarray) -> np.ndarray:
        slots = self.player(env, first)
        self.chosen.append(env.table[np.arange(len(slots)), slots].copy())
        return slots


def played(player: Any, config: Any, seed: int) -> dict[str, Any]:
    """The success of a player on the test tasks, on those whose recipes the outside graph entails, and on the others;
    on those whose goal another recipe makes in training, a sibling, and on those without one (None where there are no
    such tasks); and of the first table of each task the goal, its ingredients, what was chosen, and whether the goal
    was made."""
    from gumption.agents.wordcraft.evaluation import evaluation_env, play_tasks
    from gumption.envs.wordcraft import WordCraftVectorEnv
    from gumption.envs.wordcraft.facts import both_linked, linked
    from gumption.kg import KnowledgeGraph

    settings = config.env_settings("test")
    tasks = WordCraftVectorEnv(1, **settings).split.tasks("test")
    env, noted = evaluation_env(settings, len(tasks) * DRAWS), _Noted(player)
    rows = play_tasks(noted, env, tasks, DRAWS, seed)
    recipes = env.tasks.recipes[tasks][:, 0]
    entails = both_linked(env.book, linked(KnowledgeGraph.load(GRAPH), env.book.entities))[recipes]
    siblings = np.isin(env.book.recipes[recipes, 2], env.split.of("recipes", "train")[:, 2])
    success = rows["success"].reshape(len(tasks), DRAWS)
    sizes = [min(env.num_envs, len(tasks) * DRAWS - start) for start in range(0, len(tasks) * DRAWS, env.num_envs)]
    picks = [
        np.concatenate([noted.chosen[2 * k + pick][:size] for k, size in enumerate(sizes)])[::DRAWS] for pick in (0, 1)
    ]
    told = [[env.book.entities[i] for i in env.book.recipes[recipe][[2, 0, 1]]] for recipe in recipes]
    chosen = zip(told, *picks, success[:, 0], strict=True)
    first = [[*words, *env.book.labels([one, other]), bool(won)] for words, one, other, won in chosen]
    parts = {"entailed": entails, "others": ~entails, "sibling": siblings, "no_sibling": ~siblings}
    return {
        "success": float(success.mean()),
        **{name: float(success[part].mean()) if part.any() else None for name, part in parts.items()},
        "share_entailed": float(entails.mean()),
        "share_sibling": float(siblings.mean()),
        "tasks": len(tasks),
        "same_slot_twice": float(rows["same_slot_twice"].mean()),
        "first": first,
    }


def directory_of(out: Path, source: str) -> Path:
    """The run of the first split with knowledge alone, from which the examples are."""
    from gumption.scripts.results import slug

    return out / slug(f"{source}{ALONE}, {MISLED_IN}") / "seed-0"


def misled(without: Path, beside: Path, *, last: str = OutsideRuns.last) -> list[str]:
    """At most ten tasks that are solved without the outside graph and not with it, evenly spread over the goals, with
    the facts that misled; none where a run is missing.

    :param last: the file of a run that has its figures.
    """
    from gumption.kg import KnowledgeGraph

    files = [run / last for run in (without, beside)]
    if not all(file.is_file() for file in files):
        return []
    graph, found = KnowledgeGraph.load(GRAPH), dict[str, str]()
    for right, wrong in zip(*(read_sealed(file)["first"] for file in files), strict=True):
        goal, *needed = right[:3]
        led = [thing for thing in dict.fromkeys(wrong[3:5]) if thing not in needed]
        facts = [
            " ".join(fact)
            for thing in led
            for fact in (*graph.triples(subject=thing, object=goal), *graph.triples(subject=goal, object=thing))
        ]
        if right[5] and not wrong[5] and facts:
            pair, other = " + ".join(needed), " + ".join(wrong[3:5])
            found.setdefault(goal, f"{goal}: {pair} makes it; chosen was {other}, since {'; '.join(facts)}")
    goals = sorted(found)
    if len(goals) > EXAMPLES:
        goals = [goals[place] for place in np.linspace(0, len(goals) - 1, EXAMPLES).astype(int)]
    return [found[goal] for goal in goals]


def _conditions() -> dict[str, Condition]:
    alone: dict[str, Condition] = {}
    trained: dict[str, Condition] = {}
    for split, words in SPLITS.items():
        for count in DISTRACTORS:
            panel = f"{words}, {count} distractor{'s' if count > 1 else ''}"
            base = {"split": split, "num_distractors": count, "features": "glove"}
            ends = {"": {}, RANDOM_NAMES: {"kg_shuffled": 0}}
            for end, control in ends.items():
                for source, chosen in SOURCES.items():
                    guided = Condition({**base, **chosen, **control}, panels=(panel,))
                    alone |= {
                        f"{source}{end}{ALONE}, {panel}": Condition(guided.settings, "kg_only", guided.panels),
                    }
                    trained[f"{source}{end}, {panel}"] = guided
            for source, chosen in STRANGERS.items():
                alone[f"{source}{ALONE}, {panel}"] = Condition({**base, **chosen}, "kg_only", (panel,))
            trained[f"none, {panel}"] = Condition({**base, "kg": "none"}, panels=(panel,))
            alone[f"random policy, {panel}"] = Condition(base, "random", (panel,))
            alone[f"oracle, {panel}"] = Condition(base, "oracle", (panel,))
    return {**alone, **trained}


def _finish(first: Mapping[str, Path], folder: Path) -> list[str]:
    """The examples, for the terminal."""
    lines = misled(*(directory_of(folder, source) for source in (TRAIN, BOTH)))
    return [f"where outside knowledge misleads ({MISLED_IN}):", *lines] if lines else []


EXPERIMENTS = {
    **of_paper.EXPERIMENTS,
    ALCHEMY.name: ALCHEMY,
    NAME: Experiment(
        NAME,
        "-",
        "Commonsense from outside",
        OutsideRuns(),
        _conditions(),
        "knowledge alone on the first edition of the shipped book, 8 distractors: recipe unseen 0.616 and 0.627 on two "
        "splits; goal unseen 0.247 and 0.239, and with the direct edges of ConceptNet between ingredient and goal "
        "added by one weight 0.321 and 0.333.",
        "A fact of the outside graph beside the training facts counts the log of how much likelier a pair is that of "
        "an ingredient and its product in training where the graph links it: nothing was chosen by hand or by tests.",
        base={name: value for name, value in of_paper.BASE.items() if name != "split"},
        finish=_finish,
    ),
}
