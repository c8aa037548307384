"""`gumption evaluate --policy MODULE:NAME`: any agent in the tests that fit what it lived through."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.envs import worlds
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

def closed(observation, info):
    return np.zeros((len(info["first"]), 2))

def open_choice(observation, info):
    return info["action_mask"].argmax(axis=1)

def open_alone(observation, info):
    return int(info["action_mask"].argmax())

played = 0

def stopped(observation, info):
    global played
    played += 1
    if played == 3:
        raise KeyboardInterrupt
    return open_choice(observation, info)

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


@pytest.mark.slow
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
    assert code == 0, err
    assert all(line.startswith("playing: ") for line in err.splitlines()), "nothing but how far it is"
    assert "policy_of_a_test:right" in out
    for word in ("rho_a", "rho_g", "rho_p", "all diagnostic"):
        assert word in out
    found = json.loads(gumption(*asked, "--json")[1])
    assert found["agent"] == "policy_of_a_test:right"
    assert found["tests"]["T"]["mazes"] == 5
    few = ("--tests", "RT,T", "--mazes", "1", "--observation", "visual", "--panels", "fixed", "--env", "max_steps=3")
    code, out, err = gumption(*asked, *few, "--out", "rows.jsonl", "--json")
    assert code == 0, err
    chosen = json.loads(out)
    assert {test: one["mazes"] for test, one in chosen["tests"].items() if one["mazes"]} == {"T": 1, "RT": 1}
    assert (chosen["config"]["panels"], chosen["config"]["max_steps"]) == ("fixed", 3)
    assert chosen["tests"]["ST-1"]["reason"] in ("not asked for", found["tests"]["ST-1"]["reason"])
    said, *rows = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert said["tests"] == ["RT", "T"]
    assert [row["test"] for row in rows] == ["T", "RT"]
    assert rows[0]["rho_a"] == chosen["tests"]["T"]["rho_a"]
    code, _, err = gumption(*asked, "--tests", "RX")
    assert (code, err.startswith("error: tests is 'RX'; it can be T, RT")) == (2, True), err
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


def test_help_without_a_world_shows_what_every_world_takes(gumption: Call) -> None:
    code, out, err = gumption("evaluate", "--policy", "policy_of_a_test:right", "--help")
    assert (code, err) == (0, "")
    for word in ("--episodes", "--env", "--out", "--world wordcraft | halma"):
        assert word in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--policy", "policy_of_a_test:right"),
            "give --world, or tests that there are (worlds: wordcraft, halma, gradual, segar, probsol)",
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


@pytest.mark.parametrize(
    ("world", "policy", "settings", "about"),
    [
        ("gradual", "open_choice", ("max_steps=20",), "gumption/Gradual-v0, max_steps=20"),
        ("segar", "closed", ("observation=state", "num_levels=2"), "gumption/PuttPutt-v0, partition=test"),
        ("probsol", "open_choice", ("task=fishing/0", "max_actions=10"), "task=fishing/0, max_actions=10"),
        ("shelf", "open_choice", (), "gumption/Shelf-v0, partition=test"),
    ],
)
def test_a_policy_plays_in_any_world(
    gumption: Call, monkeypatch, tmp_path: Path, world: str, policy: str, settings: tuple[str, ...], about: str
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    if world == "shelf":
        monkeypatch.setenv("GUMPTION_WORLDS", "sixth.shelf")
        monkeypatch.setattr(worlds, "WORLDS", dict(worlds.WORLDS))  # other tests have no sixth world
        monkeypatch.delitem(sys.modules, "sixth.shelf", raising=False)
    env = [part for setting in settings for part in ("--env", setting)]
    asked = ("evaluate", "--policy", f"policy_of_a_test:{policy}", "--world", world, *env, "--episodes", "3")
    code, out, err = gumption(*asked, "--out", "rows.jsonl")
    assert code == 0, err
    assert f"policy_of_a_test:{policy}" in out
    assert about in out
    said, *rows = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert said["policy"] == f"policy_of_a_test:{policy}"
    assert sorted(row["episode"] for row in rows) == [0, 1, 2]
    found = json.loads(gumption(*asked, "--json")[1])
    assert found["success"] == pytest.approx(np.mean([row["success"] for row in rows]))
    assert found["return"] == pytest.approx(np.mean([row["return"] for row in rows]))
    code, _, err = gumption(*asked, "--out", "rows.jsonl")
    assert (code, err) == (2, "error: rows.jsonl is there already: name a new file\n")
    if policy == "open_choice":
        alone = gumption(*(part.replace("open_choice", "open_alone") for part in asked), "--single", "--json")
        assert json.loads(alone[1])["episodes"] == 3


def test_any_environment_of_a_world_and_its_settings(gumption: Call, small_book: Path) -> None:
    asked = ("evaluate", "--policy", "policy_of_a_test:open_choice", "--world", "wordcraft")
    alchemy = (*asked, "--environment", "gumption/LittleAlchemy-v0", "--episodes", "2", "--env", "max_steps=5")
    found = json.loads(gumption(*alchemy, "--json")[1])
    assert (found["environment"], found["steps"], found["settings"]["max_steps"]) == ("gumption/LittleAlchemy-v0", 5, 5)
    book = ("--recipe-book", str(small_book), "--draws", "1", "--num-tasks", "2", "--json")
    found = json.loads(gumption(*asked, *book, "--env", "reward=sparse")[1])
    assert (found["tasks"], found["episodes"]) == (2, 2)
    for arguments, told in (
        ((*asked, "--environment", "LittleAlchemy"), "wordcraft has gumption/WordCraft-v0, gumption/LittleAlchemy-v0"),
        ((*asked, "--env", "rewards=sparse"), "has no 'rewards'; did you mean 'reward'?"),
        ((*asked, "--env", "draws=2"), "--env sets draws, which has an option of its own"),
        ((*asked, "--env", "draws"), "'draws' is not NAME=VALUE"),
        ((*asked, "--out", "nowhere/x/../../rows/"), "rows"),
    ):
        code, out, err = gumption(*arguments)
        assert (code, out) == (2, "")
        assert told in err


def test_what_was_played_before_a_stop_is_kept(gumption: Call, tmp_path: Path) -> None:
    asked = ("--world", "probsol", "--env", "task=fishing/0", "--env", "max_actions=1", "--episodes", "5", "--single")
    (tmp_path / "policy_of_a_test.py").write_text(AGENT.replace("argmax(axis=1)", "argmax()"))
    code, _, err = gumption("evaluate", "--policy", "policy_of_a_test:stopped", *asked, "--out", "rows.jsonl")
    assert code == 130
    assert "what was saved so far is whole" in err
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["episode"] for row in rows[1:]] == [0, 1]
    code, _, err = gumption("evaluate", "--policy", "policy_of_a_test:nothing", *asked, "--out", "none.jsonl")
    assert code == 2
    assert not (tmp_path / "none.jsonl").exists()


def test_what_is_not_held_out_is_not_called_so(gumption: Call) -> None:
    small = ("--steps", "256", "--eval-interval", "256", "--eval-episodes", "2", "--device", "cpu", "--run", "run")
    code, out, err = gumption("train", "gradual", "--env", "max_steps=5", *small)
    assert code == 0, err
    assert "on other episodes like them" in out
    code, out, err = gumption("evaluate", "run", "--episodes", "2")
    assert code == 0, err
    assert "2 episodes drawn as in training" in out
    assert "held out" not in out


def test_the_help_of_a_model_names_the_command_that_makes_it(gumption: Call) -> None:
    assert "gumption halma pretrain" in " ".join(gumption("halma", "probe", "--help")[1].replace("│", " ").split())
