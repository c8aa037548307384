"""HALMA in the browser, its Python half: what the page is shown, and what it may send."""

import json

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.halma import oracle_trials
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS
from gumption.scripts.people.halma import VIEW
from gumption.scripts.people.web.episodes import Episode


def move(env, face, direction, *primitives):
    """Reward, whether it is over, and what is told."""
    action = {"direction": direction, "primitives": list(primitives)}
    _, reward, terminated, truncated, info = env.step(VIEW.parse(action, env))
    return reward, terminated or truncated, face.told(info, terminated)


def as_primitives(length):
    return ["3"] * (length // 3) + [str(length % 3)] * bool(length % 3)


def test_the_panel_is_shown_and_the_maze_is_not():
    env, face = VIEW.begin(seed=43)
    drawing = VIEW.drawing(env)
    assert [(one["colour"], one["direction"], one["about"], one["values"]) for one in drawing["panel"]] == [
        ("red", "left", "wall", [1]),
        ("yellow", "right", "wall", [3]),
        ("green", "down", "wall", [1]),
        ("purple", "right", "goal", [4]),
        ("white", "down", "goal", [3]),
    ]
    assert drawing["hint"] == "square"
    told = json.dumps(drawing) + face.observe(env)
    assert not any(word in told for word in ("cell", "maze", "start", "o--"))


@pytest.mark.parametrize("laws", ["real", "counterfactual"])
@pytest.mark.parametrize("names", ["real", "shuffled", "anonymous"])
def test_signs_are_called_and_mean_what_the_dials_and_the_rules_say(names, laws):
    env, face = VIEW.begin(seed=43, names=names, laws=laws)
    rules, drawing = face.rules(env), VIEW.drawing(env)
    walls, goals = (line.partition(":")[0].lower().split(", ") for line in rules.splitlines()[1:3])
    for one in drawing["panel"]:
        called = walls if one["about"] == "wall" else goals
        assert one["direction"] == DIRECTIONS[called.index(one["colour"])]
        assert (one["colour"] in ALL_COLOURS) is (one["look"] is None) is (names != "anonymous")
    assert {one["direction"]: one["values"] for one in drawing["panel"] if one["about"] == "wall"} == {
        direction: [env.batch.signs.value(far)] if names == "anonymous" else [int(env.batch.signs.value(far))]
        for direction, far in (("left", 1), ("right", 3), ("down", 1))
    }
    assert drawing["hint"] in rules
    assert (drawing["hint"] == "square") is (names == laws == "real")
    told = face.observe(env)
    assert all(one["colour"] in told and str(one["values"][0]) in told for one in drawing["panel"])


def test_two_mazes_with_the_same_panel_are_shown_alike():
    views, seed = {}, 0
    while True:
        view = Episode("", "", "halma", VIEW, VIEW.begin, {}, seed).shown()
        panel = json.dumps([view["drawing"]["panel"], view["drawing"]["hint"]])
        if panel in views:
            break
        views[panel], seed = view, seed + 1
    assert views[panel] == view


def test_a_maze_is_won_by_the_oracle():
    env, face = VIEW.begin(seed=1, trials=2)
    batch = env.batch
    for moves, last in zip(
        oracle_trials(batch.mazes[0], batch.max_opt_len, batch.rules)[:2], (False, True), strict=True
    ):
        for number, one in enumerate(moves, start=1):
            reward, over, told = move(env, face, one.direction, *as_primitives(one.length))
            assert (number == len(moves)) == ("the goal is reached" in told)
        assert reward > 90
        assert over is last
    assert told == "the goal is reached"
    assert VIEW.drawing(env)["trial"] == 2


def test_a_new_trial_is_told():
    env, face = VIEW.begin(seed=1)
    for one in oracle_trials(env.batch.mazes[0], 5, env.batch.rules).exploring:
        told = move(env, face, one.direction, *as_primitives(one.length))[2]
    assert told == "the goal is reached; trial 2 of 10 begins"
    assert (VIEW.drawing(env)["trial"], VIEW.drawing(env)["moves"]) == (2, 0)


def test_a_move_into_a_wall_is_told():
    env, face = VIEW.begin(seed=1)
    """And counted, as the document has it: what is refused would not be."""
    told = move(env, face, "right", "3", "3", "3", "3", "3")[2]
    assert told == "not carried out, but counted: a wall is in the way, or the sum is zero"
    assert (VIEW.drawing(env)["stopped"], VIEW.drawing(env)["moves"]) == (True, 1)
    assert "it counts either way" in face.rules(env)
    assert "up to 5 of 0, 1, 2 and 3" in face.rules(env)


def test_a_move_may_be_typed():
    env, face = VIEW.begin(seed=1)
    clicked = VIEW.parse({"direction": "left", "primitives": ["1", "2"]}, env)
    assert np.array_equal(face.parse("left 1+2", env), clicked)
    assert VIEW.choices(env) == []


@pytest.mark.parametrize(
    "action",
    [
        {"direction": "left", "primitives": ["9"]},
        {"direction": "north", "primitives": ["1"]},
        {"direction": "left", "primitives": ["1"] * 6},
        {"direction": "left", "primitives": []},
    ],
)
def test_what_is_no_move_is_refused(action):
    env, _ = VIEW.begin(seed=1)
    with pytest.raises(InputError, match="is no move: left, up, right or down"):
        VIEW.parse(action, env)


@pytest.mark.parametrize(
    "action", [None, 3, ["left", "1"], {"direction": 1, "primitives": ["1"]}, {"direction": "left", "primitives": [1]}]
)
def test_what_has_another_form_is_refused(action):
    env, _ = VIEW.begin(seed=1)
    with pytest.raises(InputError, match=r'it is {"direction": "right", "primitives": '):
        VIEW.parse(action, env)
