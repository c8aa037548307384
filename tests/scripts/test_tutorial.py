"""The tutorial runs as a person runs it, from a copy of its folder; its page shows the world and the saved table."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.agents import Advice
from gumption.envs.kg_wrapper import KGScores

pytest.importorskip("stable_baselines3")

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER, SAVED = REPOSITORY / "scripts" / "tutorial", REPOSITORY / "scripts" / "results" / "kitchen"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|bash)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def modules():
    """kitchen.py and learn.py, imported from their folder."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("kitchen"), importlib.import_module("learn")
    finally:
        sys.path.remove(str(FOLDER))
        del sys.modules["kitchen"], sys.modules["learn"]


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    namespace = {"__name__": "__main__"}
    for language, text in BLOCKS:
        if text.startswith("# long"):
            continue
        if language == "python":
            exec(compile(text, "README.md", "exec"), namespace)
            sys.modules.pop("kitchen")
        else:
            subprocess.run(["bash", "-euc", text], check=True, capture_output=True, timeout=300)
    printed = capsys.readouterr().out
    assert printed.startswith("dishwasher\n")
    assert "('wine glass', 'cleanedWith', 'dishwasher'), 1.0" in printed
    saved = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert saved["success"]["oracle"] == [1.0]
    assert saved["success"]["random"][0] < 0.3
    assert (tmp_path / "results" / "final.png").is_file()
    assert (tmp_path / "results" / "table.md").read_text(encoding="utf-8").count("\n") == 2 + len(saved["success"])


def test_the_page_shows_the_world_and_the_table_is_that_of_the_results(modules):
    _, learn = modules
    assert f"```py\n{(FOLDER / 'kitchen.py').read_text(encoding='utf-8')}```\n" in PAGE
    saved = json.loads((SAVED / "results.json").read_text(encoding="utf-8"))
    assert learn.table(saved["success"]) == (SAVED / "table.md").read_text(encoding="utf-8")
    assert all(len(each) == 5 for each in saved["success"].values())


def test_the_graph_says_what_the_kind_of_a_thing_says(modules):
    kitchen, learn = modules
    world = kitchen.Kitchen()
    advice = Advice(learn.household(), world.vocabulary, world.relations)
    env = KGScores(world, advice)
    known = 0
    for thing in range(len(world.names)):
        observation, _ = env.reset(options={"object": thing, "clean": 0})
        assert observation["kg_scores"].sum(axis=0).tolist() == [1.0, 1.0]
        known += observation["kg_scores"].argmax(axis=0).tolist() == world.right[thing].tolist()
    assert known == len(world.names) - 10 == 53


def test_objects_of_the_test_are_not_those_of_the_training(modules):
    kitchen, learn = modules
    train, test = learn.split()
    assert sorted([*train, *test]) == list(range(len(kitchen.Kitchen().names)))
    world = kitchen.Kitchen(train)
    world.reset(seed=0)
    assert {int(world.reset()[0]["object"]) for _ in range(500)} == set(train.tolist())


def test_success_is_cleaned_and_put_away(modules):
    kitchen, _ = modules
    world = kitchen.Kitchen()
    world.reset(options={"object": 0, "clean": 0})
    tool, place = world.right[0]
    observation, reward, over, _, info = world.step(tool)
    assert (observation["clean"], reward, over, info["success"]) == (1, 1.0, False, False)
    _, reward, over, _, info = world.step(place)
    assert (reward, over, info["success"]) == (1.0, True, True)
    world.reset(options={"object": 0, "clean": 0})
    _, reward, over, _, info = world.step(place)
    assert (reward, over, info["success"]) == (0.0, True, False)
