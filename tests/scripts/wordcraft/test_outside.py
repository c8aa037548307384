"""`gumption experiment wordcraft-edges`: its conditions, and a small one, with other graphs for a trained agent."""

import json
from pathlib import Path

import pytest

from gumption.agents.run_folder import load_policy
from gumption.agents.setup import setup_of
from gumption.agents.wordcraft.config import TrainConfig
from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.wordcraft.outside import EXPERIMENTS, NAME
from gumption.scripts.results import slug


def test_the_rows_of_each_split() -> None:
    experiment = find_experiment(NAME)
    panels = {panel for condition in experiment.conditions.values() for panel in condition.panels}
    assert panels == {"goal unseen", "family unseen"}
    for panel in panels:
        here = {label.removesuffix(f", {panel}"): c for label, c in experiment.conditions.items() if panel in c.panels}
        for label, one in here.items():  # each is a config that a run may have, and does what its label says
            agent = "graph" if one.method == "kg_only" else "attention"
            config = TrainConfig(**{**experiment.base, **one.settings, "agent": agent})
            assert (config.split, config.num_distractors) == (f"by_{panel.split()[0]}", 8)
            assert config.supervised == (one.method in ("train", "untrained", "without_kg", "advised"))
            assert (config.features == "onehot") == ("words" not in label.split(", ")[1:] and "sources" not in label)
            assert (config.kg == "none") == (label in ("random", "oracle") or label.startswith("no graph"))
        graph = here["graph and learning"].settings
        assert here["graph alone"].settings == {name: value for name, value in graph.items() if name != "supervised"}
        for label in ("graph, untrained", "false facts", "knowledge taken away"):
            assert here[label].of == (None if label == "graph, untrained" else f"graph and learning, {panel}")
            assert here[label].settings == graph | ({"kg_shuffled": 0} if label == "false facts" else {})
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert "wordcraft-fig3" in EXPERIMENTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_one_is_run_saved_and_goes_on(experiment, book: Path, words_file: Path) -> None:
    panel = "goal unseen"
    labels = ["random", "graph alone", "graph and learning", "graph, untrained", "one constant fact", "false facts"]
    labels += ["knowledge taken away"]
    without_its_graph = "ConceptNet alone, words"  # is left out
    given = [part for label in (*labels, without_its_graph) for part in ("--setting", f"{label}, {panel}")]
    given += ["--recipe-book", str(book), "--word-vectors", str(words_file), "--total-steps", "2048", "--seeds", "2"]
    experiment(NAME, *given, "--save", "saved")
    saved = json.loads(Path("saved/results.json").read_text())
    rows = {row["condition"].removesuffix(f", {panel}"): row["success"]["per_seed"] for row in saved["rows"]}
    assert set(rows) == set(labels)
    assert all(len(per_seed) == 2 for per_seed in rows.values())
    assert sum(rows["false facts"]) < sum(rows["graph and learning"])
    assert sum(rows["knowledge taken away"]) < sum(rows["graph and learning"])
    assert f"| {labels[1]} |" in EXPERIMENTS[NAME].kind.headline(saved)
    assert list(Path("saved").glob("final.*"))
    assert "16 runs, 14 complete" in experiment(NAME, *given)
    run = Path("runs") / NAME / slug(f"one constant fact, {panel}") / "seed-0"
    config, policy = load_policy(run, recipe_book=str(book), word_vectors=str(words_file))
    env = setup_of(config)(config, trained=run, num_envs=8).env
    env.reset(seed=0)
    scores, there = policy.read(env).scores, env.table > 0
    assert (scores.amax(dim=(0, 1)) > 0).sum() == 2, "a link in two steps, and that the graph knows the thing"
    assert (scores.std(dim=0) == 0).all() or (scores[there].std(dim=0) < 1e-6).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_families_are_left_out_where_a_book_has_none(experiment, book: Path, words_file: Path) -> None:
    label = "random, family unseen"
    other = "random, goal unseen"
    chosen = ("--setting", label, "--setting", other, "--recipe-book", str(book), "--seeds", "1")
    experiment(NAME, *chosen, "--out", "runs")
    assert not (Path("runs") / slug(label)).exists()
    assert (Path("runs") / slug(other) / "seed-0" / "figures.json").is_file()
