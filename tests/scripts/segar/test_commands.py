"""`gumption train segar` and `gumption evaluate RUN` of such a run."""

import json

import pytest
from typer.testing import CliRunner

from gumption.scripts import cli

SMALL = [
    "--observation", "state", "--num-levels", "3", "--test-levels", "4", "--num-envs", "4", "--n-steps", "8",
    "--minibatches", "2", "--steps", "64", "--eval-interval", "64", "--device", "cpu",
]  # fmt: skip


@pytest.fixture
def call():
    import typer.main

    command = typer.main.get_command(cli.app)
    return lambda *words: CliRunner().invoke(command, [str(word) for word in words])


def test_a_run_is_trained_and_evaluated_beside_players_that_learn_nothing(tmp_path, call):
    run = tmp_path / "run"
    trained = call("train", "segar", *SMALL, "--hidden", "Mass,Charge", "--run", run)
    assert trained.exit_code == 0, trained.output
    assert "on the training levels" in trained.output
    config = json.loads((run / "config.json").read_text())
    assert (config["world"], config["hidden"], config["num_levels"]) == ("segar", ["Mass", "Charge"], 3)
    found = call("evaluate", run, "--levels", "empty-hard", "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert (told["levels"], told["partition"], told["num_levels"]) == ("empty-hard", "test", 4)
    assert list(told["players"]) == ["trained", "untrained", "random", "no action", "scripted"]
    assert told["players"]["scripted"]["success"] == 1
    shown = call("evaluate", run, "--partition", "train")
    assert shown.exit_code == 0, shown.output
    assert "scripted" in shown.stdout
    assert "3 train levels of empty-easy" in " ".join(shown.stdout.split())


def test_bad_options_are_told(tmp_path, call):
    bad = call("train", "segar", "--levels", "empty-fierce", "--run", tmp_path / "run")
    assert bad.exit_code != 0
    assert "empty-fierce" in str(bad.exception or bad.output)
    assert not (tmp_path / "run").exists()
    run = tmp_path / "made"
    assert call("train", "segar", *SMALL, "--run", run).exit_code == 0
    part = call("evaluate", run, "--partition", "valid")
    assert part.exit_code != 0
    assert "--partition" in str(part.exception or part.output)
