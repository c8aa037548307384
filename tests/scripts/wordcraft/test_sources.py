"""`gumption experiment wordcraft-sources`: its conditions, and a small one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gumption.agents.settings import FED, SOURCES
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.evaluation import player_of
from gumption.data.sealed import write_sealed
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv
from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.wordcraft.sources import BEST, EXPERIMENTS, NAME, TODAY, TOGETHER, WITHIN, played
from gumption.scripts.results import slug

ALONE = ", KG only"
LOST = ["mud", "water", "earth", "water", "fire", False]


def test_the_rows_of_each_split() -> None:
    experiment = find_experiment(NAME)
    panels = {panel for condition in experiment.conditions.values() for panel in condition.panels}
    assert panels == {"recipe unseen", "goal unseen", "family unseen"}
    for panel in panels:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        assert {"random policy", "oracle"} <= set(here)
        for source in SOURCES:
            but = here[f"{TOGETHER} but {WITHIN[source]}{ALONE}"].settings["kg_sources"]
            assert set(but) == set(SOURCES) - {source}
            alone = here[f"{WITHIN[source]} alone{ALONE}" if source != "words" else f"{TODAY}{ALONE}"].settings
            assert tuple(alone.get("kg_sources", ("words",))) == (source,)
        assert here[f"{BEST}{ALONE}"].settings["kg_sources"] == FED
        assert here[f"{BEST}, random names{ALONE}"].settings["kg_shuffled"] == 0
        for one in here.values():  # each is a config that a run may have
            agent = "graph" if one.method == "kg_only" else "attention"
            assert TrainConfig(**{**one.settings, "agent": agent}).num_distractors == 8
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-depth" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_tells_of_goals_with_and_without_a_sibling(experiment, book: Path, words_file: Path) -> None:
    panel = "recipe unseen"
    labels = ["random policy", f"{TODAY}{ALONE}", f"{BEST}{ALONE}", "oracle"]
    given = [part for label in labels for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--seeds", "2"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row for row in saved["rows"]}
    assert set(rows) == set(labels)
    assert rows["oracle"]["success"]["mean"] == 1.0
    for row in rows.values():
        assert 0 <= row["share_sibling"] <= 1
    assert "another recipe of training makes the goal" in Path("saved/table.md").read_text()
    headline = EXPERIMENTS[NAME].kind.headline(saved)
    assert f"| {BEST} |" in headline
    assert "8 runs, 8 complete" in experiment(NAME, *given)


def test_examples_are_of_tasks_that_words_alone_solve(tmp_path: Path) -> None:
    first = {
        TODAY: [["wall", "brick", "stone", "brick", "stone", True], LOST],
        BEST: [["wall", "brick", "stone", "brick", "house", False], LOST],
    }
    for label, rows in first.items():
        folder = tmp_path / slug(f"{label}{ALONE}, recipe unseen") / "seed-0"
        folder.mkdir(parents=True)
        write_sealed(folder / "sources.json", {"first": rows})
    told = EXPERIMENTS[NAME].kind.more([], tmp_path, {})
    (line,) = told["misled"]
    assert line.startswith("wall: brick + stone makes it; chosen was brick + house, since ")
    assert "wall partOf house" in line
    assert EXPERIMENTS[NAME].kind.more([], None, {"misled": ["kept"]}) == {"misled": ["kept"]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_success_is_told_in_parts_and_the_paper_chooses_things_twice(book: Path, words_file: Path) -> None:
    config = TrainConfig(
        recipe_book=str(book), word_vectors=str(words_file), split="by_goal", num_distractors=3, features="glove",
        kg="commonsense-facts", kg_rules="linked", agent="graph", device="cpu",
    )  # fmt: skip
    found, paper = (
        played(player_of("kg_only", each), each, 0, draws=10) for each in (config, replace(config, repeat="paper"))
    )
    parts = [(found["share_entailed"], found["entailed"]), (1 - found["share_entailed"], found["others"])]
    assert found["success"] == pytest.approx(sum(share * (success or 0) for share, success in parts))
    split = WordCraftVectorEnv(1, **config.env_settings("test")).split
    assert len(found["first"]) == found["tasks"] == len(split.test_tasks)
    made = {(row[0], frozenset(row[1:3])) for row in found["first"]}
    recipes = RecipeBook.load(book)
    for goal, pair in made:
        a, b = (recipes.entity_id(word) for word in (*pair, *pair)[:2])
        assert recipes.entity_id(goal) in recipes.products(a, b)
    twice, by_paper = (sum(row[3] == row[4] for row in each["first"]) for each in (found, paper))
    assert twice < by_paper
    assert all(row[5] == ({row[3], row[4]} == {row[1], row[2]}) for row in found["first"] if row[5])
