"""SEGAR in the browser, its Python half: what the page is shown, and what it may send."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.physics.factors import Charge, Density, Friction, Heat, Magnetism, Mass, Position, Velocity
from gumption.scripts.people.segar import PIXELS, VIEW
from gumption.scripts.people.web.episodes import Episode

HIDDEN = (Charge, Density, Friction, Heat, Magnetism, Mass)


def test_the_table_is_drawn_and_told():
    env, face = VIEW.begin(seed=22)
    drawing = VIEW.drawing(env)
    picture = Image.open(io.BytesIO(base64.b64decode(drawing["png"])))
    assert picture.size == (drawing["width"], drawing["height"]) == (PIXELS, PIXELS)
    places = {one["name"]: one for one in drawing["things"]}
    assert {"golf ball", "goal tile"} <= set(places)
    assert drawing["start"] == places["golf ball"]["place"]
    x, y = places["goal tile"]["place"]
    pixel = picture.convert("RGB").getpixel((int(x * PIXELS), int((1 - y) * PIXELS)))
    assert "#{:02x}{:02x}{:02x}".format(*pixel) == places["goal tile"]["colour"]
    assert all(name in drawing["alt"] for name in places)
    assert "50 pushes or waits" in face.rules(env)


def test_things_look_as_they_are_called():
    real, shuffled, anonymous = (
        {(one["name"], one["colour"]) for one in VIEW.drawing(VIEW.begin(seed=22, names=names)[0])["things"]}
        for names in ("real", "shuffled", "anonymous")
    )
    called = {"golf ball": "ball", "goal tile": "fire tile"}
    assert called.keys() <= {name for name, _ in real}
    assert set(called.values()) <= {name for name, _ in shuffled}
    assert not {name for name, _ in real} & {name for name, _ in anonymous}
    assert {colour for _, colour in anonymous} == {"#969696"}


def test_a_push_moves_the_ball_that_way():
    env, face = VIEW.begin(seed=22)
    before = VIEW.drawing(env)
    for _ in range(3):
        _, _, _, _, info = env.step(VIEW.parse([0, 2], env))
    after = VIEW.drawing(env)
    assert after["start"][1] > before["start"][1]
    assert after["left"] == before["left"] - 3
    assert face.told(info, False).startswith("distance")


def test_a_ball_that_is_not_visible_is_in_no_part_of_the_drawing():
    env, face = VIEW.begin(env="gumption/Invisiball-v0", seed=1)
    assert VIEW.drawing(env)["start"] is not None
    env.step(VIEW.parse([0, 0], env))
    drawing = VIEW.drawing(env)
    assert drawing["start"] is None
    assert "golf ball" not in {one["name"] for one in drawing["things"]}
    assert "golf ball" not in drawing["alt"]
    assert "golfball" not in face.observe(env)
    assert "watch the others" in face.rules(env)


@pytest.mark.parametrize("env", ["gumption/PuttPutt-v0", "gumption/Billiards-v0"])
def test_masses_charges_and_materials_are_not_shown(env):
    one, other = (Episode("", "", "segar", VIEW, VIEW.begin, {"env": env}, 53) for _ in range(2))
    columns = other.env.batch.state.columns
    hidden = [factor for factor in HIDDEN if factor in columns]
    assert Mass in hidden
    for factor in hidden:
        columns[factor][:] += 0.3
    assert one.shown() == other.shown()


def test_where_an_invisible_ball_is_and_how_fast_is_not_shown():
    settings = {"env": "gumption/Invisiball-v0"}
    one, other = (Episode("", "", "segar", VIEW, VIEW.begin, settings, 1) for _ in range(2))
    for episode in (one, other):
        episode.act([0, 0])
        assert episode.told == ""
    slot = int(other.env.batch.state.first(other.env.batch.task.actor)[0])
    for factor in (Position, Velocity):
        other.env.batch.state.columns[factor][:, slot] -= 0.05
    assert one.shown() == other.shown()


@pytest.mark.parametrize("env", [each.id for each in worlds.find("segar").environments])
def test_each_task_is_played(env):
    made, face = VIEW.begin(env=env, seed=1, steps=2)
    assert face.rules(made)
    made.step(VIEW.parse([0.5, -1], made))
    assert made.step(VIEW.parse([0, 0], made))[3]
    assert VIEW.drawing(made)["left"] == 0
    assert VIEW.choices(made) == []


def test_a_named_level_is_played():
    env, _ = VIEW.begin(level="tilesx2-medium/test/0/3", seed=1)
    assert any("tile" in one["name"] and one["name"] != "goal tile" for one in VIEW.drawing(env)["things"])


@pytest.mark.parametrize("action", ["up", [1], [1, 2, 3], [1, "2"], [float("nan"), 0], {"x": 1}, [True, False]])
def test_what_is_no_push_is_refused(action):
    env, _ = VIEW.begin(seed=22)
    with pytest.raises(InputError, match=r"it is a push \[x, y\]"):
        VIEW.parse(action, env)


def test_too_strong_a_push_is_refused():
    env, _ = VIEW.begin(seed=22)
    with pytest.raises(InputError, match="is too strong: along x and y a push is from -2 to 2"):
        VIEW.parse([0, 2.5], env)
    assert np.array_equal(VIEW.parse([2, -2], env), [2.0, -2.0])
