"""`gumption train segar` and `gumption evaluate RUN` of such a run."""

import json
import sys

import pytest

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


def test_an_agent_that_knowledge_guides_is_trained_and_evaluated(tmp_path, call):
    small = ("--num-levels", "3", "--steps", "256", "--eval-interval", "256", "--test-levels", "3", "--device", "cpu")
    guided = ("train", "segar", "--levels", "tilesx2-medium", "--kg", "full", *small)
    for option, message in (
        (("--observation", "state"), "--observation is for training without --kg; an agent that a graph guides has no"),
        (("--kg", "none", "--set", "batch_size=2"), "--set is for training with --kg; PPO or SAC has no use"),
    ):
        code, out, err = call(*guided, *option, "--run", "run")
        assert code == 2
        assert message in err
    code, out, err = call(*guided, "--run", "run")
    assert code == 0, err
    assert "on what was held out" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["world"], config["kg"], dict(config["env"])["levels"]) == ("segar", "full", "tilesx2-medium")
    capture = call("evaluate", "run")
    assert capture[0] == 0, capture[2]
    assert "3 test levels of tilesx2-medium" in capture[1]
    assert "knowledge taken away" in capture[1]
