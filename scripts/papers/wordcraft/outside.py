"""Measure the value of an outside commonsense graph (`gumption experiment wordcraft-edges`): the graph alone, with
learning, against agents without it, with false facts, and with the knowledge removed after training.

Seed s plays split s, with weights, predictors and tables of seed s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

from gumption.agents.settings import EDGES, WORDS
from gumption.data.recipe_files import family_of
from gumption.data.sealed import write_sealed
from gumption.data.writing import write_text
from gumption.scripts.results import Condition, Experiment, Job, Kind, of_panel, spread, summary
from gumption.scripts.results import figure as figure_of
from gumption.scripts.results import seeds as seeds_of

from . import experiments as of_paper
from .alchemy import ALCHEMY
from .experiments import CONCEPTNET, BookRuns, WordCraftRuns, config_of

NAME, GRAPH, RULES = "wordcraft-edges", "commonsense-facts", "linked"
ALONE, RANDOM_NAMES = ", KG only", ", random names"
SPLITS = {"by_recipe": "recipe unseen", "by_goal": "goal unseen", "by_family": "family unseen"}
ALL_TASKS = 1 << 30
#: Stands in settings of conditions for the graph of `_one_fact`.
ONE_FACT = "one fact"
LEARNED, ADVISED = "train", "advised"
KNOWN = ("kg", "kg_beside")  # settings that name a graph


class SplitRuns(WordCraftRuns):
    """Success on the test tasks, with a split for each seed.

    :cvar draws: tables per task; `most` is the maximum of test tasks, evenly spread.
    :cvar explained: explanation of the tables.
    """

    title = "WordCraft's experiments"
    last = "figures.json"
    fixed = BookRuns.fixed
    source = "What is known of it: "
    columns: ClassVar = {
        "splits": seeds_of,
        "success (95 % interval)": spread("success", ".3f"),
        "test tasks": figure_of("tasks", ",.0f"),
        "wall s": figure_of("wall_s", ".0f"),
    }
    shown = ("splits", "success (95 % interval)")
    intervals: ClassVar[Sequence[str]] = ("success",)
    means: ClassVar[Sequence[str]] = ("tasks", "wall_s")
    code = (*WordCraftRuns.code, "agents/knowledge.py", "kg/rules", "data/graphs/commonsense-facts.tsv")
    drawn = ("success", "final", "success on test tasks")
    draws, most = 1, ALL_TASKS
    explained = ""
    plots = Kind.plots
    row = Kind.row
    more_rows = Kind.more_rows

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """Return name and hash of the recipe book, and hashes of the graphs."""
        from gumption.envs.wordcraft import RecipeBook
        from gumption.kg import KnowledgeGraph

        book = RecipeBook.load(common["recipe_book"])
        graphs = {"graph_hash": GRAPH, "conceptnet_hash": common.get(CONCEPTNET)}
        hashes = {name: KnowledgeGraph.load(place).content_hash() for name, place in graphs.items() if place}
        return {"recipe_book": book.name, "recipe_book_hash": book.hash, **hashes}

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """Drop jobs on unseen families if the book has no families, and jobs with ConceptNet if its graph is missing.
        Sort jobs with the same knowledge, which is expensive to set up, one after another."""
        from gumption.envs.wordcraft import RecipeBook

        book = RecipeBook.load(jobs[0].settings["recipe_book"]) if jobs else None
        families = book is not None and any(map(family_of, book.origins or ()))
        there = [job for job in jobs if families or job.settings["split"] != "by_family"]
        there = [job for job in there if CONCEPTNET in job.settings or CONCEPTNET not in map(job.settings.get, KNOWN)]
        known = ("split", "kg", "kg_beside", "kg_shuffled")
        return sorted(there, key=lambda job: (job.seed, *(str(job.settings.get(name)) for name in known)))

    def run(self, job: Job, progress: bool) -> None:
        """Train the agent of a job, use its knowledge alone, or give a trained agent other knowledge; then play the
        test tasks."""
        from gumption.agents.learners.impala import train_impala
        from gumption.agents.run_folder import load_policy
        from gumption.agents.setup import setup_of
        from gumption.agents.wordcraft.evaluation import player_of

        changes: dict[str, Any] = {"split_seed": job.seed}
        if job.method == "kg_only":
            changes["agent"] = "graph"
        if "kg_shuffled" in job.settings:
            changes["kg_shuffled"] = job.seed
        if job.settings.get("kg") == ONE_FACT:
            changes["kg"] = str(_one_fact(job))
        config, started, policy, method = config_of(job, **changes), perf_counter(), None, job.method
        if method == LEARNED:
            train_impala(config, run_dir=job.directory, progress=progress, resume=True)
        if method in (LEARNED, "without_kg"):
            places = {name: job.settings.get(name) for name in ("recipe_book", "device")}
            policy = load_policy(job.directory if method == LEARNED else job.source_run(), **places)[1]
        if method == ADVISED:
            setup, method = setup_of(config), LEARNED
            other = setup(config, num_envs=1).advice
            policy = setup(config, trained=job.source_run(), advice=other, num_envs=1).policy().eval()
        player = player_of(method, config, policy)  # pyright: ignore[reportArgumentType]
        found = self.played(player, config, job.seed)
        job.directory.mkdir(parents=True, exist_ok=True)
        write_sealed(job.directory / self.last, {**found, "wall_s": perf_counter() - started})

    def played(self, player: Any, config: Any, seed: int) -> dict[str, Any]:
        """Return the success of a player on the test tasks."""
        from gumption.agents.wordcraft.evaluation import evaluation_env, play_tasks, some_tasks
        from gumption.envs.wordcraft import WordCraftVectorEnv

        settings = config.env_settings("test")
        tasks = some_tasks(WordCraftVectorEnv(1, **settings).split.tasks("test"), self.most)
        env = evaluation_env(settings, len(tasks) * self.draws, alternatives=config.alternatives)
        rows = play_tasks(player, env, tasks, self.draws, seed)
        return {"success": float(rows["success"].mean()), "tasks": len(tasks)}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['success']:.3f}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the figures with intervals over the splits, None if a split lacks such tasks; and plain means."""
        finals = list(found.values())
        per_seed = {name: [final.get(name) for final in finals] for name in self.intervals}
        summaries: dict[str, Any] = {
            name: None if None in values else summary(values, "mean") for name, values in per_seed.items()
        }
        return summaries | {name: round(sum(final[name] for final in finals) / len(finals), 4) for name in self.means}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """Return a table for each panel, its explanation, and a line on the recipe book."""
        book = f"Recipe book {results['recipe_book']} (sha256 {results['recipe_book_hash'][:12]})."
        return [*Kind.body(self, experiment, results), *([self.explained, ""] if self.explained else []), book, ""]


class EdgesRuns(SplitRuns):
    """Success on goals and families that are unseen in training."""

    fixed = ("recipe_book_hash", "graph_hash")
    code = (*SplitRuns.code, "kg/edges.py", "kg/sources/outside.py", "agents/fits.py", "agents/outside.py")
    draws = 10


def _one_fact(job: Job) -> Path:
    """Write a graph with the same fact for all things, so that each candidate has the same link to each goal."""
    from gumption.envs.wordcraft import RecipeBook

    path = job.directory.parent / f"{ONE_FACT.replace(' ', '-')}.tsv"
    things = RecipeBook.load(job.settings["recipe_book"]).entities
    write_text(path, "".join(f"{thing}\tisA\tany thing\n" for thing in things))
    return path


def _conditions() -> dict[str, Condition]:
    edges: dict[str, Any] = {"kg": GRAPH, "kg_scores": (EDGES,)}
    with_words: dict[str, Any] = {"kg_scores": (EDGES, WORDS), "features": "glove"}
    sources: dict[str, Any] = {"kg": "train", "kg_beside": GRAPH, "features": "glove"}
    alone, of = "kg_only", "graph and learning"
    rows = {
        "random": Condition(method="random"),
        "no graph, learned": Condition(),
        "no graph, learned, words": Condition({"features": "glove"}),
        "words alone, learned": Condition({"kg": GRAPH, "kg_scores": (WORDS,)}),
        "graph alone": Condition(edges, alone),
        of: Condition(edges),
        "graph, untrained": Condition(edges, "untrained"),
        "graph alone, words": Condition({**edges, **with_words}, alone),
        f"{of}, words": Condition({**edges, **with_words}),
        "ConceptNet alone, words": Condition({"kg": CONCEPTNET, **with_words}, alone),
        "ConceptNet and learning, words": Condition({"kg": CONCEPTNET, **with_words}),
        "one constant fact": Condition({**edges, "kg": ONE_FACT}),
        "false facts": Condition({**edges, "kg_shuffled": 0}, ADVISED, of=of),
        "knowledge taken away": Condition(edges, "without_kg", of=of),
        "all sources alone": Condition(sources, alone),
        "all sources and learning": Condition({**sources, "mixing": "product"}),
        "oracle": Condition(method="oracle"),
    }
    found: dict[str, Condition] = {}
    for split, panel in list(SPLITS.items())[1:]:
        base = {"split": split, "num_distractors": 8, "features": "onehot"}
        for label, one in rows.items():
            learned = {"supervised": True} if one.method in (LEARNED, ADVISED, "without_kg", "untrained") else {}
            source = None if one.of is None else f"{one.of}, {panel}"
            dear = bool({"kg_beside", CONCEPTNET} & {*one.settings, one.settings.get("kg")})
            settings = {**base, **learned, **one.settings}
            found[f"{label}, {panel}"] = Condition(settings, one.method, (panel,), source, on_demand=dear)
    return found


EXPERIMENTS = {
    **of_paper.EXPERIMENTS,
    ALCHEMY.name: ALCHEMY,
    NAME: Experiment(
        NAME,
        "-",
        "A graph from outside at work, on goals and families that training does not show",
        EdgesRuns(),
        _conditions(),
        notes="Success is greedy, 8 distractors, ten tables for each task, mean over splits with its 95 % bootstrap "
        "interval. Agents that learn see the right choices of the training tasks for 150,000 steps. Graph: "
        "commonsense-facts, each relation in each direction a channel; alone, its weights are counted on training "
        "tasks and nothing is learned. Words: word vectors, in the network and as two channels; rows without them have "
        "none anywhere. One constant fact: all things share one fact, so that each candidate is linked with each goal "
        "alike. False facts: the agent of graph and learning reads a graph whose things have each other's names. "
        "Knowledge taken away: it reads 0 for each channel. All sources: the product of experts of wordcraft-sources, "
        "alone and with a network that learned without it.",
        base={
            **{name: value for name, value in of_paper.BASE.items() if name != "split"},
            "total_steps": 150_000,
            "eval_interval": 150_000,
            "test_curve": False,
            "final_draws": 1,
        },
        at_work={f"WordCraft: {panel}, success": of_panel(panel, "success") for panel in list(SPLITS.values())[1:]},
    ),
}
