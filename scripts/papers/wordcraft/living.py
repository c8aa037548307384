"""Measure what memory, words and commonsense add in the open-ended game (`gumption experiment wordcraft-living`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from gumption.data.settings import settings
from gumption.scripts.results import Condition, Experiment, Job, Row, estimate, panels, seeds, spread, summary

from .experiments import BookOptions, BookRuns
from .sources import EXPERIMENTS as BEFORE

NAME, PANEL = "wordcraft-living", "things made"
AT = (100, 500, 2_000)  # mixes
EVERY = 20  # mixes between two points of a curve


@settings
class Options(BookOptions):
    """Options of the command line for this experiment."""

    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for a book of other words.")] = None


class LivingRuns(BookRuns):
    """Numbers of things made in lives of 2,000 mixes."""

    title = "WordCraft's experiment on lives"
    options = Options
    named = "agent"
    rests_on: ClassVar = {}
    made: ClassVar = {f"{at:,} mixes": spread(f"after_{at}", ".0f") for at in AT}
    columns: ClassVar = {
        "seeds": seeds,
        **{f"things after {heading}": cell for heading, cell in made.items()},
        "recipes seen": spread("recipes", ".0f"),
    }
    code = (
        "agents/wordcraft/living.py",
        "envs/wordcraft/little_alchemy.py",
        "envs/wordcraft/memory.py",
        "kg/links/pair_regression.py",
        "data/graphs/commonsense-facts.tsv",
    )

    def run(self, job: Job, progress: bool) -> None:
        """Run a life, or resume it."""
        from gumption.agents.settings import CONFIG
        from gumption.agents.wordcraft.living import BLIND, LifeConfig, live

        given = {one.name: job.settings[one.name] for one in fields(LifeConfig) if one.name in job.settings}
        if given["agent"] in BLIND:
            given.pop("word_vectors")
        live(LifeConfig(**given), job.directory, resume=(job.directory / CONFIG).is_file(), progress=progress)

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['made']} things made in {found['mixes']:,} mixes"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of things made after so many mixes, with intervals over the seeds, and the curve."""
        lives = list(found.values())
        made = [life["made_by_mix"] + [life["made"]] * (AT[-1] - life["mixes"]) for life in lives]  # ends with all made
        points = list(range(EVERY, AT[-1] + 1, EVERY))
        return {
            **{f"after_{at}": summary([each[at - 1] for each in made], "mean") for at in AT},
            "recipes": summary([life["recipes"] for life in lives], "mean"),
            "curve": {"mixes": points, "made": [[each[at - 1] for at in points] for each in made]},
        }

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """Return the table, and a line on the recipe book."""
        book, hash_ = results["recipe_book"], results["recipe_book_hash"][:12]
        told = f"Recipe book {book} (sha256 {hash_}), {results['things']} things."
        return [*super().body(experiment, results), told, ""]

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Draw the number of things made over mixes, without the oracle, which makes many times as many."""
        from gumption.agents.plots import Line, Panel, Scale, plot_curves

        drawn: dict[str, Row] = {
            row["condition"]: row for row in panels(results)[PANEL] if row["settings"]["agent"] != "oracle"
        }
        lines = [
            Line(label, row["curve"]["mixes"], row["curve"]["made"], estimate(row[f"after_{AT[-1]}"]))
            for label, row in drawn.items()
        ]
        if not lines:
            return []
        top = 1.05 * max(max(each) for row in drawn.values() for each in row["curve"]["made"])
        scale = Scale("things made", top, ".0f", "mixes")
        return list(plot_curves([Panel(results["title"], lines, scale=scale)], directory / "curves"))


BESIDE = {"beside": "commonsense-facts"}
EXPERIMENTS = {
    **BEFORE,
    NAME: Experiment(
        NAME,
        "-",
        "Things made in a life of 2,000 mixes",
        LivingRuns(),
        {
            label: Condition(chosen, "live", (PANEL,))
            for label, chosen in {
                "random": {"agent": "random"},
                "without repeats": {"agent": "without-repeats"},
                "memory alone, no names": {"agent": "graph", "names": "anonymous"},
                "memory and words": {"agent": "graph"},
                "memory and words, names shuffled": {"agent": "graph", "names": "shuffled"},
                "memory, words and facts": {"agent": "graph", **BESIDE},
                "memory, words and facts, names shuffled": {"agent": "graph", **BESIDE, "names": "shuffled"},
                "empowerment, words": {"agent": "empowerment"},
                "empowerment, words and facts": {"agent": "empowerment", **BESIDE},
                "oracle": {"agent": "oracle"},
            }.items()
        },
        notes="A life begins with the basic things of the book and no recipe; the basic things are not counted, and "
        "nothing in the world is random. Facts: those of commonsense-facts about the things, which hold no recipe. "
        "Empowerment: a new thing counts as much as it has made since, after Brändle et al. (2023), who predict this "
        "from the true recipes of other players; here it is learned from the agent's own memory. The oracle is told "
        "the recipes and takes the pair that makes most new things. Settings of the expectation were chosen on the "
        "first edition of the shipped book. The agent knows the names of all things of the book from the first mix, "
        "which people do not; their figures, and those of language models, are of Little Alchemy 2 itself, another "
        "book, and are left out.",
        base={"mixes": AT[-1]},
    ),
}
