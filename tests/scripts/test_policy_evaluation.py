"""`gumption evaluate --policy MODULE:NAME`: any agent in the tests that fit what it lived through."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.envs.record_memory import RecordMemory
from gumption.scripts import cli

Call = Callable[..., tuple[int, str, str]]

AGENT = """
import numpy as np
import sys

def right(observation, info):
    actions = np.zeros((len(observation), 3), dtype=int)
    actions[:, :2] = 2, 1
    return actions

def alone(observation, info):
    return [2, 1, 0]

def in_turn(observation):
    return (observation["selection_index"][:, 0] > 0).astype(int)

def nothing(observation):
    return None

number = 7
"""


@pytest.fixture
def gumption(monkeypatch, capsys, tmp_path: Path) -> Iterator[Call]:
    """Call the command line in a folder with an agent's module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "policy_of_a_test.py").write_text(AGENT)
    (tmp_path / "broken_policy.py").write_text("1 / 0\n")
    (tmp_path / "needy_policy.py").write_text("import no_such_thing\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield call
    for name in ("policy_of_a_test", "broken_policy", "needy_policy"):
        sys.modules.pop(name, None)


def test_from_a_recorded_life_to_the_measures(gumption: Call, tmp_path: Path) -> None:
    env = RecordMemory(gym.make_vec("gumption/HALMA-v0", num_envs=8, num_mazes=5, max_opt_len=2), "memory")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        env.step(rng.integers(4, size=(8, 3)))
    env.close()
    assert gumption("splits", "halma", "--memory", "memory", "--out", "tests", "--mazes", "2")[0] == 0
    code, out, err = gumption("splits", "halma", "--memory", "memory", "--check", "tests")
    assert (code, err) == (0, "")
    assert "tests: every maze asks what it claims" in out
    asked = ("evaluate", "--policy", "policy_of_a_test:right", "--splits", "tests", "--seeds", "1")
    code, out, err = gumption(*asked)
    assert (code, err) == (0, "")
    assert "policy_of_a_test:right" in out
    for word in ("rho_a", "rho_g", "rho_p", "all diagnostic"):
        assert word in out
    found = json.loads(gumption(*asked, "--json")[1])
    assert found["agent"] == "policy_of_a_test:right"
    assert found["tests"]["T"]["mazes"] == 5
    alone = json.loads(gumption(*(part.replace("right", "alone") for part in asked), "--single", "--json")[1])
    assert alone["tests"] == found["tests"]
    code, _, err = gumption("evaluate", "--policy", "policy_of_a_test:alone", "--splits=tests", "--seeds", "1")
    assert code == 2
    assert "returned the shape (3,) at step 1 of T" in err
    assert "(--single)" in err


def test_wordcraft_on_a_split_file_or_a_partition(gumption: Call, small_book: Path) -> None:
    book = ("--recipe-book", str(small_book))
    gumption("splits", "wordcraft", *book, "--split", "by_goal", "--out", "goals.json")
    asked = ("evaluate", "--policy", "policy_of_a_test:in_turn", *book, "--draws", "2")
    code, out, err = gumption(*asked, "--split", "goals.json", "--distractors", "0")
    assert (code, err) == (0, "")
    assert "policy_of_a_test:in_turn" in out
    assert "test tasks (by_goal, 0 distractors, depth 1)" in out
    found = json.loads(gumption(*asked, "--world", "wordcraft", "--partition", "train", "--json")[1])
    assert (found["partition"], found["split"]["mode"]) == ("train", "by_recipe")
    assert found["low"] < found["success"] < found["high"]
    code, out, _ = gumption(*asked, "--world", "wordcraft", "--help")
    assert code == 0
    assert "--distractors" in out


@pytest.mark.parametrize(
    ("world", "option"),
    [("wordcraft", "--distractors"), ("halma", "--splits"), ("gradual", "--episodes"), ("probsol", "--num-tasks")],
)
def test_the_options_of_a_world_are_shown_without_a_run(gumption: Call, world: str, option: str) -> None:
    code, out, err = gumption("evaluate", world, "--help")
    assert (code, err) == (0, "")
    assert f"gumption evaluate {world}" in out
    assert option in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--policy", "policy_of_a_test:right"),
            "give --world, or tests that there are (worlds: wordcraft, halma, gradual, segar, probsol)",
        ),
        (
            ("--policy", "policy_of_a_test:right", "--help"),
            "are those of a world: --help with --world wordcraft or --world halma or --world gradual",
        ),
        (("halma",), "halma is a world: name the folder of a run, such as runs/halma"),
        (("--policy", "policy_of_a_test:right", "--splits", "none"), "tests that there are: none is not there"),
        (("--policy", "policy_of_a_test:right", "--splits", "."), "manifest.json: no tests of a world"),
        (("--policy", "policy_of_a_test:right", "--world", "word"), "unknown world 'word'"),
        (("--policy", "right", "--world", "wordcraft"), "--policy is 'right'; it is MODULE:NAME"),
        (("--policy", "policy_of_a_test.py:right", "--world", "wordcraft"), "name its module: policy_of_a_test:right"),
        (("--policy", "nowhere:right", "--world", "wordcraft"), "there is no module nowhere here"),
        (("--policy", "needy_policy:right", "--world", "wordcraft"), "needy_policy imports no_such_thing, which"),
        (("--policy", "broken_policy:right", "--world", "wordcraft"), "cannot be imported: ZeroDivisionError"),
        (("--policy", "policy_of_a_test:left", "--world", "wordcraft"), "policy_of_a_test has no function 'left'"),
        (("--policy", "policy_of_a_test:number", "--world", "wordcraft"), "policy_of_a_test has no function 'number'"),
        (("--policy", "policy_of_a_test:nothing", "--world", "wordcraft"), "returned no action at step 1 of an epi"),
    ],
)
def test_what_is_wrong_is_told(gumption: Call, arguments: tuple[str, ...], told: str) -> None:
    code, out, err = gumption("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert told in err
