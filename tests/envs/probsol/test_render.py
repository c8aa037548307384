"""What a picture shows: areas, discs, the hand, a held disc's boundary; and that it tells nothing hidden."""

import json

import numpy as np
import pytest
from PIL import ImageColor

from gumption.envs.probsol.render import picture_size, shapes
from tests.probsol_examples import disc, fishing, make, play, task
from tests.processor import cost

LEFT = 48  # px of the side bar


def colour_at(env, x, y) -> tuple[int, ...]:
    """Of the point (x, y) of the table."""
    return tuple(env.batch.draw_frame(0, "rgb_array")[round(y), round(x) + LEFT].tolist())


def test_a_picture_is_the_table_beside_its_bar() -> None:
    env = make(fishing(), render_mode="rgb_array")
    env.reset()
    frame = env.render()
    assert (frame.shape, frame.dtype) == ((480, 480 + LEFT, 3), np.uint8)
    light, dark, target = colour_at(env, 300, 400), colour_at(env, 300, 80), colour_at(env, 150, 200)
    assert min(light) > 200
    assert max(dark) < 130
    assert target[0] > target[2] + 20  # red
    assert colour_at(env, 119, 138)[:3] == ImageColor.getrgb("purple")
    many = make(fishing(max_grid_num=30)).batch.draw_frame(0, "rgb_array")
    assert picture_size(30) == many.shape[1::-1] == (480 + 3 * LEFT, 480)


def test_a_target_in_the_dark_is_dark_red() -> None:
    env, light = (
        make(task("Curling", disc("a", 0), inaccessible=[[0, 0, 480, 160]], targets=[[100, y, 60, 60]]))
        for y in (40, 240)
    )
    assert sum(colour_at(env, 130, 70)) < sum(colour_at(light, 130, 270)) - 60


def test_discs_lie_where_they_are() -> None:
    """In their cell, in the hand, and on the table, each with its id, a golden box round the goal."""
    env = make(fishing())

    def found(id: str):
        return next(shape for shape in shapes(env.batch.tables, env.batch.task()) if shape.get("text") == id)

    cell = found("b")
    assert cell["x"] < LEFT
    assert cell["y"] < 36
    play(env, ("grab", "b"))
    assert found("b")["y"] > 430
    play(env, ("place", 30, 30))
    assert (found("b")["x"], found("b")["y"]) == (LEFT + 366, 366)
    golden = [shape for shape in shapes(env.batch.tables, env.batch.task()) if shape["line"] == "#e0a100"]
    assert [(shape["x"] + shape["width"] / 2, shape["y"] + shape["height"] / 2) for shape in golden] == [
        (LEFT + 126, 138)
    ]


def test_shapes_are_data_for_a_canvas() -> None:
    env = make(fishing())
    drawn = shapes(env.batch.tables, env.batch.task())
    assert json.loads(json.dumps(drawn)) == drawn
    needs = {"rect": {"x", "y", "width", "height"}, "circle": {"x", "y", "radius"}, "path": {"points", "closed"},
             "text": {"x", "y", "text", "size"}}  # fmt: skip
    for shape in drawn:
        assert set(shape) == needs[shape["shape"]] | {"shape", "fill", "line", "thick"}


def test_blocks_buildings_walls_and_names_are_drawn() -> None:
    square = [[100, 100], [140, 100], [140, 140], [100, 140]]
    moved = [[x + 100, y] for x, y in square]
    shape = {"blocks": [square], "building": [moved], "walls": [[400, 0, 20, 100]]}
    env = make(task("Modifying", disc("a", (300, 300), name="dax"), disc("b", 0), **shape))
    red, grey, wall = colour_at(env, 100, 120), colour_at(env, 200, 120), colour_at(env, 410, 50)
    assert red[0] > red[1] + 60
    assert max(grey) - min(grey) < 20
    assert 90 < grey[0] < 220
    assert max(wall) < 80
    assert "dax" in [shape.get("text") for shape in shapes(env.batch.tables, env.batch.task())]


@pytest.mark.parametrize("turns", range(8))
def test_a_held_disc_shows_its_boundary_and_no_polarity(turns: int) -> None:
    """The very same picture, whether it is a dipole or a disc of one pole, and however heavy and strong."""
    frames = []
    for hidden in (
        {"polarity": "+"},
        {"polarity": "-", "mass": "large"},
        {"polarity": "dipole", "magnetism": "small"},
    ):
        env = make(task("Sandbox", disc("a", (200, 200), **hidden), disc("b", 0)))
        play(env, ("hold", "a"), *[("turn", 1)] * turns)
        frames.append(env.batch.draw_frame(0, "rgb_array"))
    assert (frames[0] == frames[1]).all()
    assert (frames[0] == frames[2]).all()


def test_each_way_to_turn_a_held_disc_looks_another() -> None:
    env = make(task("Sandbox", disc("a", (200, 200)), disc("b", 0)))
    seen = [env.batch.draw_frame(0, "rgb_array")]
    for name in (("hold", "a"), *[("turn", 1)] * 7):
        play(env, name)
        seen.append(env.batch.draw_frame(0, "rgb_array"))
    assert len({frame.tobytes() for frame in seen}) == 9
    play(env, ("turn", 1))
    assert (env.batch.draw_frame(0, "rgb_array") == seen[1]).all()


def test_nothing_hidden_is_drawn() -> None:
    """Two tasks that differ in what nobody tells, and in the answer, give the same picture and the same text."""
    one = task("FindTheDiff", *(disc(id, k) for k, id in enumerate("abc")), answer=["a"])
    hidden = {"mass": "small", "magnetism": "large", "polarity": "dipole", "boundary": 45}
    other = task("FindTheDiff", *(disc(id, k, **hidden) for k, id in enumerate("abc")), answer=["b"])
    for mode in ("rgb_array", "ansi"):
        first, second = (make(each).batch.draw_frame(0, mode) for each in (one, other))
        assert np.array_equal(first, second)


def test_a_frame_takes_little_time() -> None:
    env = make(fishing())
    env.batch.draw_frame(0, "rgb_array")
    assert cost(lambda: [env.batch.draw_frame(0, "rgb_array") for _ in range(20)]) / 20 < 0.6
