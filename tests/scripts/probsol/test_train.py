"""`gumption train probsol` and `gumption evaluate RUN` of such runs, with knowledge and without."""

import json
import sys

import gymnasium as gym
import numpy as np
import pytest

from gumption.agents.probsol.config import ProbSolConfig
from gumption.agents.probsol.evaluation import play_tasks
from gumption.agents.probsol.training import load_run, train_probsol
from gumption.data.writing import write_json
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.kg import KnowledgeGraph
from gumption.scripts import cli

SMALL = ["--num-envs", "4", "--n-steps", "16", "--batch-size", "32", "--steps", "64", "--eval-interval", "64",
         "--device", "cpu"]  # fmt: skip
TASK = {
    "schema": 1, "name": "easy/0", "family": "Curling", "max_obj_num": 2, "max_grid_num": 2,
    "objects": [
        {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", "stored": cell}
        for cell, (one, color) in enumerate((("a", "red"), ("b", "blue")))
    ],
    "targets": [[20, 40, 200, 380]],
}  # fmt: skip


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The command line in a folder with a task file: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_json(tmp_path / "easy.json", TASK)

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["gumption", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return called


@pytest.mark.slow
def test_a_run_is_trained_and_evaluated_beside_players_that_learn_nothing(tmp_path, call):
    code, out, err = call("train", "probsol", "--task", "easy.json", *SMALL, "--run", "run")
    assert code == 0, err
    assert "of validation tasks" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["world"], config["task"], config["num_envs"]) == ("probsol", ["easy.json"], 4)
    code, out, err = call("evaluate", "run")
    assert code == 0, err
    for player in ("trained", "untrained", "random", "do nothing", "scripted (people wrote it)"):
        assert player in out
    assert "1 tasks, which the training had, too" in out
    code, out, err = call("evaluate", "run", "--json", "--seed", "3")
    found = json.loads(out)["players"]["do nothing"]["Curling"]
    assert (found["solved"], found["tasks"], found["actions"]) == (0.0, 1, None)
    code, _, err = call("train", "probsol", "--task", "easy.json", *SMALL, "--run", "run")
    assert code == 2
    assert "run holds a run already" in err


@pytest.mark.slow
def test_a_run_with_a_graph_is_trained_and_evaluated(tmp_path, call):
    code, _, err = call("kg", "build", "probsol", "--task", "easy.json", "--out", "kg.nq")
    assert code == 0, err
    code, _, err = call("train", "probsol", "--task", "easy.json", "--kg", "kg.nq", *SMALL, "--run", "guided")
    assert code == 0, err
    assert json.loads((tmp_path / "guided" / "config.json").read_text())["kg"] == "kg.nq"
    (tmp_path / "kg.nq").unlink()
    code, out, err = call("evaluate", "guided", "--json")
    assert code == 0, err
    assert list(json.loads(out)["players"])[:3] == ["trained", "untrained", "knowledge taken away"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "tries", "played", "shown"),
    [
        ("Curling", "256", "fishing/0", ("try?", "lowers distance of", "the end of the episode: success")),
        ("FindTheSame", "1024", "findthediff/0", ("probe?", "px in", "times", "the end of the episode: success")),
    ],
)
def test_the_agent_graph_lives_is_evaluated_and_watched(tmp_path, call, family, tries, played, shown):
    words = ("--task", f"{family.lower()}/generated", "--agent", "graph", "--tries", tries, "--eval-tasks", "1")
    code, out, err = call("train", "probsol", *words, "--run", "lived")
    assert code == 0, err
    assert "of validation tasks" in out
    code, out, err = call("evaluate", "lived", "--json", "--num-tasks", "2")
    assert code == 0, err
    players = json.loads(out)["players"]
    assert list(players)[:2] == ["graph", "knowledge taken away"]
    assert players["graph"][family]["auccess"] > players["random"][family]["auccess"]
    code, out, err = call("watch", "lived", "--delay", "0", "--task", played)
    assert code == 0, err
    for words in ("action?", *shown):
        assert words in " ".join(out.split())


@pytest.mark.slow
def test_a_run_lives_tool_use_and_discovery_and_keeps_the_facts_of_both(tmp_path):
    task = ("fishing/generated", "findthesame/generated")
    config = ProbSolConfig(agent="graph", task=task, tries=256, eval_tasks=1)
    run = train_probsol(config, tmp_path / "run", progress=False)
    again = load_run(tmp_path / "run")
    assert np.array_equal(again.curves.facts, run.curves.facts, equal_nan=True)
    for name, part in run.learned.met.items():
        assert np.array_equal(again.learned.met[name], part), name
    graph = KnowledgeGraph.load(tmp_path / "run" / "knowledge" / "effects.nq")
    counted = [int(count.split('"')[1]) for _, _, count in graph.triples(relation="hasVisits")]
    assert sum(counted) >= 2 * 256  # each meeting is counted for its outcome, and for being carried out
    tasks = [config.tasks("validation", (one,))[0] for one in task]
    assert play_tasks(again.player(), tasks, trials=1).actions.tolist() == (
        play_tasks(run.player(), tasks, trials=1).actions.tolist()
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--agent", "graph", "--kg", "full"], "agent='graph' plans by facts of its own tries: leave out kg"),
        (["--kg-only"], "kg_only: that is for knowledge; add kg='train', 'full' or a graph"),
        (["--kg", "nowhere.nq"], "nowhere.nq"),
        (["--task", "fishing/99"], "there is no task 'fishing/99'"),
        (["--batch-size", "100"], "batch_size is 100; it divides num_envs * n_steps = 4096"),
    ],
)
def test_bad_values_are_refused(call, words, told):
    code, _, err = call("train", "probsol", *words)
    assert code == 2
    assert told in " ".join(err.split())


def test_a_part_that_is_none_is_refused(call):
    call("train", "probsol", "--task", "easy.json", *SMALL, "--run", "run")
    code, _, err = call("evaluate", "run", "--partition", "tset")
    assert code == 2
    assert "--partition is 'tset'" in err


def test_maskable_ppo_of_the_page_learns_in_a_few_lines():
    contrib = pytest.importorskip("sb3_contrib")
    env = gym.make_vec(
        "gumption/ProbSol-v0", num_envs=4, autoreset_mode="SameStep", task="fishing/0", actions="objects",
        max_actions=20,
    )  # fmt: skip
    model = contrib.MaskablePPO("MultiInputPolicy", SB3VecEnv(env), n_steps=16, batch_size=32, n_epochs=1, seed=0)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(64)
    assert model.num_timesteps == 64
    assert any((value != before[name]).any() for name, value in model.policy.state_dict().items())
