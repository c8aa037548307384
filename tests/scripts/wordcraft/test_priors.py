"""Other names and laws on the command line, and `gumption experiment wordcraft-priors`."""

import json
import sys
from pathlib import Path

import pytest

from gumption.agents.run_folder import load_policy
from gumption.agents.wordcraft.evaluation import evaluate
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, Split, WordCraftVectorEnv, facts
from gumption.kg import KnowledgeGraph
from gumption.scripts import cli
from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.wordcraft.priors import NAME, RUNGS
from gumption.scripts.people.wordcraft import begin as begin_on_the_web
from gumption.scripts.people.wordcraft.game import begin
from gumption.scripts.results import slug

LEARNED = ("training facts, trained", "training facts, untrained", "training facts, trained, KG taken away")
OTHER = ("--names", "shuffled", "--laws", "counterfactual")


@pytest.fixture
def gumption(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


def test_the_facts_of_a_renamed_book(gumption, small_book) -> None:
    given = ("--recipe-book", str(small_book), "--partition", "train", *OTHER)
    assert gumption("kg", "build", "wordcraft", "--out", "kg.nq", *given)[0] == 0
    built = set(KnowledgeGraph.load("kg.nq").triples(graph="wordcraft/train"))
    assert built == set(facts(small_book, partition="train", names="shuffled", laws="counterfactual"))
    assert built != set(facts(small_book, partition="train"))
    code, _, err = gumption("kg", "build", "wordcraft", "--out", "other.nq", "--names", "codes")
    assert (code, "--names" in err, "real, anonymous, shuffled" in err) == (2, True, True)


def test_the_split_of_a_renamed_book(gumption, small_book) -> None:
    given = ("--recipe-book", str(small_book))
    assert gumption("splits", "wordcraft", *given, "--names", "anonymous", "--out", "split.json")[0] == 0
    assert gumption("splits", "wordcraft", *given, "--names", "anonymous", "--check", "split.json")[0] == 0
    code, _, err = gumption("splits", "wordcraft", *given, "--check", "split.json")
    assert code == 2
    assert "made for the recipe book book, names anonymous" in err
    env = WordCraftVectorEnv(1, recipe_book=small_book, names="anonymous", split="split.json")
    assert env.split.hash == Split.load("split.json").hash


@pytest.mark.filterwarnings("ignore")
def test_a_run_knows_under_which_names_it_learned(gumption, small_book, tmp_path) -> None:
    small = ("--steps", "256", "--eval-interval", "256", "--final-draws", "1", "--distractors", "2", "--depth", "1")
    book = ("--recipe-book", str(small_book))
    code, _, err = gumption("train", "wordcraft", *book, *small, "--device", "cpu", "--run", "run", *OTHER)
    assert (code, err.count("error")) == (0, 0)
    config, _ = load_policy(tmp_path / "run", recipe_book=str(small_book))
    assert (config.names, config.laws) == ("shuffled", "counterfactual")
    told = json.loads((tmp_path / "run/manifest.json").read_text())["recipe_book"]
    other = RecipeBook.load(small_book).under("shuffled", "counterfactual")
    assert told == {"name": other.name, "sha256": other.hash}
    found = evaluate(tmp_path / "run", draws=1, recipe_book=str(small_book))
    assert (found["names"], found["laws"]) == ("shuffled", "counterfactual")
    assert found["players"]["oracle"]["success"] == 1.0


def test_people_play_it_too(small_book) -> None:
    """By `gumption play`, in a study and in the web home."""
    real = RecipeBook.load(small_book)
    for laws in ("real", "counterfactual"):
        book = real.under("anonymous", laws)
        env, _ = begin(recipe_book=str(small_book), distractors=2, tasks=3, names="anonymous", laws=laws)
        assert env.book == book
        assert set(env.batch.describe(0)["table"]) <= set(book.entities)
        for place in ("gumption/WordCraft-v0", "gumption/LittleAlchemy-v0"):
            env, face = begin_on_the_web(env=place, recipe_book=str(small_book), names="anonymous", laws=laws)
            assert env.book == book
            assert any(code in face.observe(env) for code in book.entities)
    with pytest.raises(InputError, match="names is 'codes'"):
        begin(names="codes")  # pyright: ignore[reportArgumentType]


def test_the_rows_of_each_rung() -> None:
    experiment = find_experiment(NAME)
    assert len(RUNGS) == 6
    for rung, dials in RUNGS.items():
        here = {label.removesuffix(f", {rung}"): c for label, c in experiment.conditions.items() if rung in c.panels}
        unasked = {name for name, one in here.items() if not one.on_demand}
        alone = {f"{source}, KG only" for source in ("training facts", "outside", "ConceptNet")}
        assert unasked == {*alone, "random policy", "oracle"}
        assert set(here) - unasked == {"no KG, trained", *LEARNED}
        assert all(one.settings[dial] == value for one in here.values() for dial, value in dials.items())
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_has_a_row_for_each_rung(experiment, small_book: Path) -> None:
    fitted = [f"training facts, KG only, {rung}" for rung in (*RUNGS,)[::5]]
    labels = [f"{name}, {rung}" for name in ("outside, KG only", "random policy", "oracle") for rung in RUNGS] + fitted
    learned = [f"{name}, real names, real laws" for name in ("no KG, trained", *LEARNED)]
    labels += learned
    given = [part for label in labels for part in ("--setting", label)]
    given += ["--recipe-book", str(small_book), "--seeds", "1", "--total-steps", "256"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"]: row for row in saved["rows"]}
    assert set(rows) == set(labels)
    for rung in RUNGS:
        assert rows[f"oracle, {rung}"]["success"]["mean"] == 1.0
    for label in fitted:
        assert 0 <= rows[label]["makes_anything"]["mean"] <= 1
        assert 0 <= rows[label]["which_of_four"]["mean"] <= 1
    assert all(rows[label]["makes_anything"]["mean"] is None for label in learned)  # asked of knowledge alone
    # What is drawn does not depend on names.
    success = [rows[f"random policy, {names} names, real laws"]["success"] for names in ("real", "anonymous")]
    assert success[0] == success[1]
    text = Path("saved/table.md").read_text()
    assert "103 people came to 0.589 and 0.614" in text
    headline = find_experiment(NAME).kind.headline(saved)
    assert headline.count("| oracle |") == 1
    assert headline.count("| training facts, KG only |") == 2
    assert all(headline.count(f"| {name} |") == 1 for name in LEARNED)
    assert Path("saved/priors.png").is_file()
