"""The modules of the tutorial do what its page says; the page shows the world. tests/test_readme.py runs its blocks."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gumption.agents import Advice
from gumption.envs.kg_wrapper import KGScores

pytest.importorskip("stable_baselines3")

REPOSITORY = Path(__file__).resolve().parents[2]
PAPERS = REPOSITORY / "scripts" / "papers"
FOLDER, SAVED = PAPERS / "tutorial", PAPERS / "results" / "kitchen"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def modules():
    """kitchen.py and learn.py, imported from their folder."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("kitchen"), importlib.import_module("learn")
    finally:
        sys.path.remove(str(FOLDER))
        del sys.modules["kitchen"], sys.modules["learn"], sys.modules["dish"]


def test_the_rows_of_the_table_that_nothing_is_learned_for(modules):
    kitchen, learn = modules
    world, rng = kitchen.Kitchen(), np.random.default_rng(0)
    advice = Advice(learn.household(), world.vocabulary, world.relations)
    _, test = learn.split()
    assert learn.success(lambda seen, env: env.right[env.object, env.clean], test, advice) == 1.0
    assert learn.success(lambda seen, env: int(rng.integers(env.action_space.n)), test, advice) < 0.3
    known = learn.success(lambda seen, env: int(seen["kg_scores"][:, env.clean].argmax()), test, advice)
    saved = json.loads((SAVED / "results.json").read_text(encoding="utf-8"))["success"]
    assert known == saved["knowledge, and a person's rule which fact counts"][0]


def test_results_table_and_plot_are_written(modules, tmp_path):
    _, learn = modules
    learn.report([{"random": 0.25, "oracle": 1.0}, {"random": 0.75, "oracle": 1.0}], tmp_path, {"command": "test"})
    saved = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert saved == {"command": "test", "success": {"random": [0.25, 0.75], "oracle": [1.0, 1.0]}}
    *_, random, oracle = (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()
    assert random.startswith("| random | 0.50 (0.25 to 0.75)")
    assert oracle.startswith("| oracle | 1.00 (1.00 to 1.00)")
    assert (tmp_path / "final.png").is_file()


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


def test_a_dish_of_two_steps_is_planned(modules):
    _, learn = modules
    dish, rng = sys.modules["dish"], np.random.default_rng(0)

    def first_of_the_best(seen):
        return int(np.where(seen["counter"], seen["kg_scores"][:, 0], -1.0).argmax())

    assert learn.dishes(first_of_the_best, True, 4) == 1.0
    assert learn.dishes(first_of_the_best, False, 4) == 0.0  # the last step alone
    assert learn.dishes(lambda seen: int(rng.integers(len(dish.Dish().things))), False) < 0.2
    saved = json.loads((SAVED / "results.json").read_text(encoding="utf-8"))["success"]
    assert saved["dish of two steps: looking ahead"] == [1.0] * 5
    world = dish.Dish()
    for first, second, made in (("water", "kettle", "boiling water"), ("boiling water", "tea leaves", "tea")):
        if made == "boiling water":
            world.reset(options={"dish": "tea"})
        for thing in (first, second):
            _, reward, over, _, info = world.step(world.things.index(thing))
        assert (reward, over, info["success"]) == ((1.0, True, True) if made == "tea" else (0.0, False, False))
    world.reset(options={"dish": "tea"})
    for _ in range(4):
        _, reward, over, _, info = world.step(world.things.index("tea"))  # not there
    assert (reward, over, info["success"]) == (0.0, False, False)
