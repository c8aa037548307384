"""The experiment on Little Alchemy, the open-ended game: the number of things made after so many steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gumption.scripts.results import Condition, Experiment, Job, figure, seeds, summary, with_interval

from .experiments import BookRuns

AT = (100, 500, 1_000, 2_000)  # steps, two per mix
GAMES = 10
LEARNING_STEPS = 200_000


def _made(steps: int) -> Any:
    return lambda row, rows: with_interval(row["things"][str(steps)], ".0f")


class AlchemyRuns(BookRuns):
    """Games of fixed players, and of a learner after its training."""

    title = "WordCraft's experiment on the open-ended game"
    last = "played.json"
    named = "player"
    made: ClassVar = {f"{steps:,} steps": _made(steps) for steps in AT}
    columns: ClassVar = {
        "seeds": seeds,
        **{f"things after {heading}": cell for heading, cell in made.items()},
        "wall s": figure("wall_s", ".0f"),
    }
    code = (
        "envs/wordcraft/little_alchemy.py",
        "scripts/papers/wordcraft/alchemy_players.py",
        "agents/knowledge.py",
        "agents/learners/impala.py",
        "agents/policy.py",
        "kg/scores.py",
        "kg/links",
    )

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Train if the method is "train", then play games."""
        from time import perf_counter

        from gumption.agents.evaluation import random_player
        from gumption.agents.learners.impala import ImpalaLearner
        from gumption.agents.run import opened, run_learner
        from gumption.agents.settings import WorldConfig
        from gumption.envs.wordcraft import LittleAlchemyVectorEnv
        from gumption.scripts.papers.wordcraft.alchemy_players import (
            WORLD,
            AlchemySetup,
            Sampling,
            Untried,
            combining_scores,
            things_made,
        )

        started, book = perf_counter(), job.settings["recipe_book"]
        env = LittleAlchemyVectorEnv(GAMES, recipe_book=book, max_steps=AT[-1], autoreset_mode="Disabled")
        player: Any = random_player
        if job.method == "untried":
            kg = job.settings.get("kg")
            player = Untried(None if kg is None else combining_scores(kg, env, job.seed), job.seed)
        elif job.method == "train":
            config = WorldConfig(
                WORLD,
                env=(("recipe_book", book),),
                kg=job.settings.get("kg", "none"),
                total_steps=LEARNING_STEPS,
                eval_interval=LEARNING_STEPS // 4,
                seed=job.seed,
                device=job.settings["device"],
            )
            folder = opened(job.directory, config, resume=True)
            learner, *_ = run_learner(folder, lambda: ImpalaLearner(config, AlchemySetup(config)), progress=progress)
            player = Sampling(learner.policy.eval(), job.seed)
        made = things_made(player, env, list(AT), job.seed).mean(axis=0)
        found = {str(steps): float(count) for steps, count in zip(AT, made, strict=True)}
        return {"made": found, "wall_s": round(perf_counter() - started, 1)}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['made'][str(AT[-1])]:.0f} things made in {AT[-1]:,} steps"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return means over the seeds of the numbers of things made, with intervals."""
        runs = list(found.values())
        made = {str(steps): summary([run["made"][str(steps)] for run in runs], "mean") for steps in AT}
        return {"things": made, "wall_s": sum(run["wall_s"] for run in runs) / len(runs)}


ALCHEMY = Experiment(
    "little-alchemy",
    "-",
    "Things made in the open-ended game",
    AlchemyRuns(),
    {
        "random": Condition(method="random", panels=("things made",)),
        "random, no pair twice": Condition(method="untried", panels=("things made",)),
        "by knowledge of the training facts, no pair twice": Condition(
            {"kg": "train"}, "untried", panels=("things made",)
        ),
        "by knowledge of all facts, no pair twice": Condition({"kg": "full"}, "untried", panels=("things made",)),
        "learner": Condition(panels=("things made",)),
        "learner with knowledge of the training facts": Condition({"kg": "train"}, panels=("things made",)),
    },
    notes="A game begins with the basic things of the book; two steps are a mix, and nothing is random. Means of "
    f"{GAMES} games a seed, the basic things not counted. Knowledge is the score combinesWith of ComplEx, fitted to "
    "the facts of the training recipes, 64 % of all, or to all; the untried pair of known things with the highest "
    f"score is next. The learner is V-trace with one hidden layer over all that is known, {LEARNING_STEPS:,} steps, "
    "and plays as it samples.",
)
