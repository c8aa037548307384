"""`gumption experiment wordcraft-outside`: its conditions, and a small one, of knowledge alone and trained."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.evaluation import player_of
from gumption.data.sealed import write_sealed
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv
from gumption.scripts.experiment import find_experiment
from gumption.scripts.results import slug
from gumption.scripts.wordcraft.outside import EXPERIMENTS, NAME, STRANGERS, misled, played


def test_the_rows_of_each_setting() -> None:
    experiment = find_experiment(NAME)
    panels = {panel for condition in experiment.conditions.values() for panel in condition.panels}
    assert len(panels) == 6
    for panel in panels:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        sources = ("outside", "training facts", "training facts and outside", "all facts")
        named = [f"{source}{end}" for end in ("", ", random names") for source in sources]
        expected = {f"{name}, KG only" for name in (*named, *STRANGERS)} | set(named)
        assert set(here) == expected | {"none", "random policy", "oracle"}
        assert len({(c.settings["split"], c.settings["num_distractors"]) for c in here.values()}) == 1
        for name in named:  # alone and trained it is the same knowledge
            assert here[name].settings == here[f"{name}, KG only"].settings
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-fig3" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_is_run_saved_and_goes_on(experiment, book: Path, words_file: Path, tmp_path: Path) -> None:
    panel = "goal unseen, 8 distractors"
    labels = ["random policy", "outside, KG only", "training facts and outside, KG only", "outside"]
    without_its_graph = "ConceptNet, KG only"  # is left out
    given = [part for label in (*labels, without_its_graph) for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--total-steps", "2048", "--seeds", "2"]
    out = experiment(NAME, *given, "--save", "saved")
    assert "(entailed " in out
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row for row in saved["rows"]}
    assert set(rows) == set(labels)
    for row in rows.values():
        assert len(row["success"]["per_seed"]) == 2
        assert 0 <= row["share_entailed"] <= 1
    assert rows["outside, KG only"]["same_slot_twice"] < 0.2, "where nothing speaks for the rest, chance decides"
    table = Path("saved/table.md").read_text()
    assert "entailed recipes" in table
    assert "the highest sum of the scores" in table
    assert "outside, KG only: recipes that outside entails" in EXPERIMENTS[NAME].kind.headline(saved)
    assert list(Path("saved").glob("final.*"))
    again = experiment(NAME, *given)
    assert "10 runs, 8 complete" in again


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_families_are_left_out_where_a_book_has_none(experiment, book: Path, words_file: Path) -> None:
    label = "random policy, family unseen, 1 distractor"
    other = "random policy, goal unseen, 1 distractor"
    chosen = ("--setting", label, "--setting", other, "--recipe-book", str(book), "--seeds", "1")
    experiment(NAME, *chosen, "--out", "runs")
    assert not (Path("runs") / slug(label)).exists()
    assert (Path("runs") / slug(other) / "seed-0" / "outside.json").is_file()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_success_is_told_in_parts_and_the_paper_chooses_things_twice(book: Path, words_file: Path) -> None:
    config = TrainConfig(
        recipe_book=str(book), word_vectors=str(words_file), split="by_goal", num_distractors=3, features="glove",
        kg="commonsense-facts", kg_rules="linked", kg_only=True, device="cpu",
    )  # fmt: skip
    found, paper = (
        played(player_of("kg_only", each), each, seed=0) for each in (config, replace(config, repeat="paper"))
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


def test_where_the_outside_graph_misleads_is_told_with_its_facts(tmp_path: Path) -> None:
    lost = ["mud", "water", "earth", "water", "fire", False]
    rows = {
        "without": [["wall", "brick", "stone", "brick", "stone", True], lost],
        "beside": [["wall", "brick", "stone", "brick", "house", False], lost],
    }
    for name, first in rows.items():
        (tmp_path / name).mkdir()
        write_sealed(tmp_path / name / "outside.json", {"first": first})
    (line,) = misled(tmp_path / "without", tmp_path / "beside")
    assert line.startswith("wall: brick + stone makes it; chosen was brick + house, since ")
    assert "wall partOf house" in line
    assert misled(tmp_path / "without", tmp_path / "none") == []  # that condition was not run
