"""`gumption experiment wordcraft-depth`: its conditions, and a small one."""

import json
from pathlib import Path

import numpy as np
import pytest

from gumption.data.make_word_vectors import write_word2vec
from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.wordcraft.depth import AGENTS, EXPERIMENTS, NAME, PANELS
from gumption.scripts.results import slug


def test_the_rows_of_each_depth() -> None:
    experiment = find_experiment(NAME)
    for panel in PANELS:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        alone = {name.removesuffix(", KG only") for name, one in here.items() if one.method == "kg_only"}
        words = ("the last step", "looking ahead", "looking ahead, random names")
        assert alone == {f"{knowledge}, {word}" for knowledge in ("training facts", "all facts") for word in words}
        assert {"random policy", "oracle", "no KG, trained"} <= set(here)
        for name, one in here.items():
            assert one.settings.get("look_ahead") in ({"on"} if "ahead" in name else {"off", None})
        beside = {"untrained": "untrained", "trained, KG taken away": "without_kg"}
        for words in ("the last step", "looking ahead"):
            for agent, method in beside.items():
                one = here[f"training facts, {words}, {agent}"]
                assert (one.method, one.of) == (method, f"training facts, {words}, trained, {panel}")
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-edges" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_shows_what_looking_ahead_adds(experiment, book: Path, words_file: Path) -> None:
    panel = "depth 2"
    labels = ["random policy", "all facts, the last step, KG only", "all facts, looking ahead, KG only", "oracle"]
    given = [part for label in labels for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--seeds", "2"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row["success"]["mean"] for row in saved["rows"]}
    assert set(rows) == set(labels)
    assert rows["all facts, looking ahead, KG only"] == rows["oracle"] == 1.0
    assert rows["all facts, the last step, KG only"] < 1.0
    assert "the choice with the highest score, nothing is learned" in Path("saved/table.md").read_text()
    assert "| oracle | 1.000" in EXPERIMENTS[NAME].kind.headline(saved)
    assert "8 runs, 8 complete" in experiment(NAME, *given)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_trained_agent_stands_beside_its_ablations(experiment, tmp_path: Path) -> None:
    """In a book in which the vector of a product is the sum of those of its ingredients."""
    rng = np.random.default_rng(0)
    vectors = {f"{kind}{i}": rng.normal(size=100).astype(np.float32) for kind in "ab" for i in range(8)}
    recipes = {f"a{i}b{j}": (f"a{i}", f"b{j}") for i in range(8) for j in range(8)}
    vectors |= {made: vectors[one] + vectors[other] for made, (one, other) in recipes.items()}
    book, words = tmp_path / "sums.tsv", tmp_path / "sums.bin"
    rows = [("result", "ingredient", "ingredient"), *((made, *of) for made, of in recipes.items())]
    book.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    write_word2vec(words, tuple(vectors), vectors)
    labels = [f"training facts, looking ahead, {agent}, depth 1" for agent in AGENTS]
    given = [part for label in labels for part in ("--setting", label)]
    given += ["--recipe-book", str(book), "--word-vectors", str(words), "--seeds", "1", "--total-steps", "20000"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    assert [row["condition"] for row in saved["rows"]] == labels
    trained, untrained, without = (row["success"]["mean"] for row in saved["rows"])
    assert without < untrained <= trained
    assert "KG taken away: every score is 0" in Path("saved/table.md").read_text()
