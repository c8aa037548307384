"""`gumption experiment wordcraft-learning`: its conditions, and a small one."""

import json
from pathlib import Path

import pytest

from gumption.agents.wordcraft.config import TrainConfig
from gumption.scripts.experiment import find_experiment
from gumption.scripts.results import slug
from gumption.scripts.wordcraft.experiments import of_conceptnet
from gumption.scripts.wordcraft.learning import EXPERIMENTS, KNOWLEDGE, NAME


def test_the_rows_of_each_split() -> None:
    experiment = find_experiment(NAME)
    panels = {panel for condition in experiment.conditions.values() for panel in condition.panels}
    assert panels == {"recipe unseen", "goal unseen", "family unseen", "recipe unseen, depth 2"}
    for panel in panels:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        assert {"no KG", "no KG, supervised", "random policy", "oracle"} <= set(here)
        for known, given in KNOWLEDGE.items():
            longer = tuple(other for other in KNOWLEDGE if other.startswith(known) and other != known)
            labels = [label for label in here if label.startswith(known) and not (longer and label.startswith(longer))]
            ends = {label.removeprefix(known): here[label] for label in labels}
            learned = {", cross-fitted", ", product", ", product, supervised"}
            assert set(ends) == {", KG only", *(() if of_conceptnet(given) else learned)}
            assert ends[", KG only"].method == "kg_only"
        for label, one in here.items():  # each is a config that a run may have, and does what its label says
            config = TrainConfig(**{**experiment.base, **one.settings, "kg_only": one.method == "kg_only"})
            assert config.supervised == ("supervised" in label)
            assert (config.mixing == "product") == ("product" in label)
            assert config.cross_fit == ("cross-fitted" in label)
            assert config.looks_ahead == (config.kg != "none" and config.depth == 2)
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-sources" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_bounds_what_a_product_could_reach(experiment, book: Path, words_file: Path) -> None:
    panel = "goal unseen"
    labels = ["no KG", "no KG, supervised", "training facts, KG only", "training facts, product, supervised", "oracle"]
    given = [part for label in labels for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--seeds", "2", "--total-steps", "4096"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row for row in saved["rows"]}
    assert set(rows) == set(labels)
    product = rows["training facts, product, supervised"]
    assert product["success"]["mean"] <= product["best"]["mean"], "its own weight is among them"
    for found in ("best", "either"):  # a weight of 0 is the knowledge alone
        assert rows["training facts, KG only"]["success"]["mean"] <= product[found]["mean"] <= 1
    assert rows["no KG"]["best"] is None
    table = Path("saved/table.md").read_text()
    [line] = [line for line in table.splitlines() if line.startswith("| training facts, product, supervised |")]
    better = line.split("|")[4:7]
    assert all(0 <= float(cell) <= 1 for cell in better), "than KG only, than no KG and than supervision"
    assert "| training facts, product, supervised: either is right |" in EXPERIMENTS[NAME].kind.headline(saved)
    assert "10 runs, 10 complete" in experiment(NAME, *given)
