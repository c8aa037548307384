"""`gumption train segar` and `gumption evaluate RUN` of such a run."""

import json
import sys

import pytest

from gumption.agents.segar.config import SegarConfig
from gumption.envs.segar.measures import READINGS, ks, w2
from gumption.scripts import cli

SMALL = [
    "--observation", "state", "--num-levels", "3", "--test-levels", "4", "--num-envs", "4", "--n-steps", "8",
    "--minibatches", "2", "--steps", "64", "--eval-interval", "64", "--device", "cpu",
]  # fmt: skip


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The command line in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["gumption", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return called


@pytest.mark.slow
def test_a_run_is_trained_and_evaluated_beside_players_that_learn_nothing(tmp_path, call):
    code, out, err = call("train", "segar", *SMALL, "--hidden", "Mass,Charge", "--run", "run")
    assert code == 0, err
    assert "on the training levels" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["world"], config["hidden"], config["num_levels"]) == ("segar", ["Mass", "Charge"], 3)
    code, out, err = call("evaluate", "run", "--levels", "empty-hard", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["levels"], told["partition"], told["num_levels"]) == ("empty-hard", "test", 4)
    assert list(told["players"]) == ["trained", "untrained", "random", "no action", "scripted"]
    assert told["players"]["scripted"]["success"] == 1
    assert isinstance(told["failures"], list)
    code, out, err = call("evaluate", "run", "--partition", "train")
    assert code == 0, err
    assert "scripted" in out
    assert "3 train levels of empty-easy" in out


def test_bad_options_are_told(tmp_path, call):
    code, out, err = call("train", "segar", "--levels", "empty-fierce", "--run", "run")
    assert (code, out) == (2, "")
    assert "empty-fierce" in err
    assert list(tmp_path.iterdir()) == []
    assert call("train", "segar", *SMALL, "--run", "made")[0] == 0
    code, out, err = call("evaluate", "made", "--partition", "valid")
    assert (code, out) == (2, "")
    assert "--partition" in err


@pytest.mark.slow
def test_an_agent_that_knowledge_guides_is_trained_and_evaluated(tmp_path, call):
    sizes = ("--num-levels", "3", "--test-levels", "3", "--num-envs", "4", "--n-steps", "8", "--minibatches", "2")
    small = (*sizes, "--steps", "64", "--eval-interval", "64", "--device", "cpu")
    for levels, options, task in (
        ("tilesx2-medium", (), "PuttPutt"),
        ("gates-3", ("--scores", "edges"), "Gates"),
        ("gates-2", ("--scores", "edges", "--agent", "graph", "--laws", "counterfactual"), "Gates"),
    ):
        code, out, err = call("train", "segar", "--levels", levels, "--kg", "full", *options, *small, "--run", levels)
        assert code == 0, err
        assert "on test levels" in out
        config = json.loads((tmp_path / levels / "config.json").read_text())
        assert (config["task"], config["kg"], config["levels"]) == (task, "full", levels)
        code, out, err = call("evaluate", levels)
        assert code == 0, err
        assert f"3 test levels of {levels}" in out
        assert "knowledge taken away" in out
    code, out, err = call("segar", "probe", "gates-3")
    assert (code, out) == (2, "")
    assert "a run with knowledge; the probe takes those without (--kg none)" in err


OWN = """
import numpy as np

def player(env, first):
    return np.ones((env.num_envs, 2))

def policy(observation, info):
    return np.ones((len(observation), 2))

def encode(observations):
    return observations.reshape(len(observations), -1)[:, :3]

encode.about = "three of the numbers"
"""


@pytest.fixture
def run(tmp_path, call):
    """A run beside a module of one's own."""
    (tmp_path / "mine_of_segar.py").write_text(OWN)
    assert call("train", "segar", *SMALL, "--levels", "empty-hard", "--run", "run")[0] == 0


@pytest.mark.slow
def test_evaluate_tells_the_gap_by_the_best_of_given_yardsticks(run, call):
    code, out, err = call("evaluate", "run", "--yardstick", "no action, mine_of_segar:player", "--json")
    assert code == 0, err
    told = json.loads(out)
    returns = {name: figures["return"] for name, figures in told["players"].items()}
    assert told["yardstick"] == max(("no action", "mine_of_segar:player"), key=returns.get)
    assert f"from random actions to {told['yardstick']} (the best of no action" in told["about"] or told["gap"] is None
    code, out, err = call("evaluate", "run", "--yardstick", "scripted")
    assert code == 0, err
    assert "4 test levels of empty-hard; gap to the training levels" in out
    for given, message in (("random", "the other end of the scale"), ("nobody", "list of players has no 'nobody'")):
        code, out, err = call("evaluate", "run", "--yardstick", given)
        assert (code, out) == (2, "")
        assert message in err


def test_the_probe_of_a_run_tells_which_encoder_is_a_random_network(run, call):
    chosen = ("--encoder", "trained,untrained,mine_of_segar:encode", "--observations", "60", "--epochs", "1")
    code, out, err = call("segar", "probe", "run", *chosen)
    assert code == 0, err
    for words in (
        "the run's, trained for 64 steps",
        "a random network: the run's encoder with the weights that its training began with",
        "mine_of_segar:encode: three of the numbers",
        "60 observations of 4 test levels of empty-hard",
    ):
        assert words in out
    code, out, err = call("segar", "probe", "run", *chosen, "--partition", "train", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["untrained"]["encoder"].startswith("a random network")
    assert all(0 <= one["accuracy"] <= 1 and one["pairs"] == 12 for one in told.values())
    code, out, err = call("segar", "probe", "run", "--encoder", "random")
    assert (code, out) == (2, "")
    assert "the list of encoders has no 'random'" in err


def test_the_distance_of_two_distributions_in_every_reading(tmp_path, call):
    anywhere = {"target": "Position", "value": {"noise": "RandomUniformLocation"}}
    own = {"numbers": [["GolfBall", 1], ["GoalTile", 1], ["Charger", 1]], "priors": [anywhere]}
    (tmp_path / "own.json").write_text(json.dumps(own))
    code, out, err = call("segar", "distance", "empty-easy", "own.json", "--levels", "4", "--json")
    assert code == 0, err
    told = json.loads(out)
    config = SegarConfig(levels="empty-easy", test="own.json", num_levels=4, test_levels=4)
    train, test = config.draw("train").scenes, config.draw("test").scenes
    assert told["w2"] == pytest.approx({name: w2(train, test, **reading) for name, reading in READINGS.items()})
    assert told["ks"]["KS"] == ks(train, test)
    assert told["w2"]["as printed"] < 15 < told["w2"]["types"], "a Charger is missing on one side"
    code, out, err = call("segar", "distance", "empty-easy", "own.json", "--levels", "4")
    assert code == 0, err
    assert "4 training levels of empty-easy, 4 test levels of own.json" in out
    assert all(f"W2, {name}" in out for name in READINGS)
    code, out, err = call("segar", "distance", "empty-easy", "empty-fierce")
    assert (code, out) == (2, "")
    assert "empty-fierce" in err


def test_a_level_is_played_by_ones_own_player_and_only_by_one_that_there_is(run, call):
    for player in ("mine_of_segar:player", "mine_of_segar:policy"):
        code, out, err = call("segar", "level", "--player", player, "--steps", "3")
        assert code == 0, err
        assert out.splitlines()[-1].startswith(f"{player}: 3 steps, without success; return -")
    code, out, err = call("segar", "level", "billiards/train/0/0", "--task", "Billiards", "--steps", "2")
    assert code == 0, err
    assert "random: 2 steps" in out
    for options, message in (
        (("--task", "Bowling"), "the list of tasks has no 'Bowling'"),
        (("--task", "Billiards", "--player", "scripted"), "the list of players of Billiards has no 'scripted'"),
    ):
        code, out, err = call("segar", "level", *options)
        assert (code, out) == (2, "")
        assert message in err


@pytest.mark.slow
def test_facts_of_gates_are_lived_by_commands_and_given_to_a_trained_agent(call):
    learner = ["--n-steps", "4", "--num-envs", "8", "--minibatches", "2", "--num-levels", "8", "--test-levels", "20"]
    sizes = [*learner, "--steps", "32", "--eval-interval", "32", "--device", "cpu"]
    code, out, err = call(
        "train", "segar", "--task", "Gates", "--observation", "names", "--kg", "train", *sizes, "--run", "run"
    )
    assert code == 0, err
    assert "on test levels" in out
    code, out, err = call("live", "segar", "--steps", "1600", "--run", "life")
    assert code == 0, err
    assert "facts: life/graph.nq" in out
    code, out, err = call("live", "segar", "--steps", "1600", "--run", "life")
    assert (code, out) == (2, "")
    assert "holds a memory already" in err
    assert (
        call("kg", "build", "segar", "--partition", "train", "--setting", "levels=gates-2", "--out", "both.nq")[0] == 0
    )
    assert call("kg", "build", "segar", "--memory", "life/memory", "--out", "both.nq")[0] == 0
    for given in ("both.nq", "full", "none"):
        code, out, err = call("evaluate", "run", "--kg", given, "--json")
        assert code == 0, err
        assert set(json.loads(out)["players"]) >= {"trained", "oracle", "scripted", "random"}
