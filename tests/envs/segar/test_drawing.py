"""Drawing: small pictures by hand, symmetry, and floors that follow their tiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gumption.envs.physics.factors import Order, Position, Size, Visible
from gumption.envs.physics.shapes import square
from gumption.envs.physics.state import State
from gumption.envs.segar.render import Drawing
from tests.segar_scenes import many, polygons, state_of, thing

BACKGROUND = 9
TRIANGLE = {"kind": "polygon", "vertices": [[0.0, 0.0], [0.6, 0.0], [0.0, 0.6]]}


def plain(state: State) -> np.ndarray:
    """Textures whose pixels are the places of the things in their scene, from 1, and 9 for the background."""
    marks = np.concatenate([state.insertion.T + 1, np.full((state.num_envs, 1), BACKGROUND)], axis=1)
    return np.repeat(marks.astype(np.uint8)[:, :, None], 3, axis=2)[:, :, None, None]


def drawn(state: State, resolution: int = 8, **options: Any) -> list[str]:
    """The first picture as rows of digits; all channels are alike."""
    picture = Drawing(state, resolution, **options).draw(state, plain(state))[0]
    assert (picture == picture[:, :, :1]).all()
    return ["".join(str(pixel) for pixel in row) for row in picture[:, :, 0]]


def test_a_circle_is_the_pixels_whose_centres_are_in_it_and_row_0_is_at_the_top() -> None:
    assert drawn(state_of([thing("Charger", -0.5, 0.25, Size=1.0)])) == [
        "99999999",
        "91199999",
        "11119999",
        "11119999",
        "91199999",
        "99999999",
        "99999999",
        "99999999",
    ]


def test_what_is_mobile_has_a_black_line_of_a_pixel() -> None:
    assert drawn(state_of([thing("Ball", 0.0, 0.0, Size=1.5)])) == [
        "99999999",
        "99000099",
        "90111109",
        "90111109",
        "90111109",
        "90111109",
        "99000099",
        "99999999",
    ]
    assert "0" not in "".join(drawn(state_of([thing("Ball", 0.0, 0.0, Size=1.5)]), outlines=False))


def test_a_polygon_that_is_mobile_has_one_too() -> None:
    assert drawn(state_of([thing("Ball", 0.0, 0.0, Shape=square(1.0))])) == [
        "99999999",
        "99999999",
        "99000099",
        "99011099",
        "99011099",
        "99000099",
        "99999999",
        "99999999",
    ]


def test_polygons_are_drawn_where_they_are_or_around_their_position() -> None:
    state = state_of([thing("SandTile", -1.0, -1.0, Shape={"kind": "polygon", "vertices": [[0, 0], [1, 0], [0, 1]]})])
    assert drawn(state)[4:] == ["19999999", "11999999", "11199999", "11119999"]
    middle = state_of([thing("SandTile", 0.0, 0.0, Shape=TRIANGLE)])
    columns = np.flatnonzero((Drawing(middle, 200).draw(middle, plain(middle))[0, :, :, 0] == 1).any(axis=0))
    assert (columns.min(), columns.max()) == (100, 159)
    centred = Drawing(middle, 200, centred=True).draw(middle, plain(middle))[0, :, :, 0] == 1
    assert (np.flatnonzero(centred.any(axis=0))[[0, -1]] == [70, 129]).all()


def test_of_tiles_the_first_in_order_is_on_top_and_of_objects_the_last() -> None:
    tiles = [thing("SandTile", 0, 0, "a", Order=2), thing("FireTile", 0, 0, "b", Order=1)]
    assert drawn(state_of(tiles))[4] == "99222299"
    objects = [thing("Charger", 0, 0, "c", Order=1, Size=1.0), thing("Magnet", 0, 0, "d", Size=1.0)]
    state = state_of([*objects, *tiles])
    assert drawn(state)[4] == "99111199"
    state.columns[Order][0, state.slot_of[0]["c"]] = -1
    state.order()
    assert drawn(state)[4] == "99222299"


def test_patterns_begin_at_the_top_left_corner_of_a_thing() -> None:
    state = state_of([thing("Charger", 0.25, -0.25, Size=1.0)])
    textures = np.zeros((1, state.slots + 1, 2, 2, 3), dtype=np.uint8)
    textures[0, state.slot_of[0]["Charger0.25-0.25"], :, :, 0] = [[1, 2], [3, 4]]
    picture = Drawing(state, 8).draw(state, textures)[0, :, :, 0]
    assert picture[3:7, 3:7].tolist() == [[0, 2, 1, 0], [3, 4, 3, 4], [1, 2, 1, 2], [0, 4, 3, 0]]
    picture[3:7, 3:7] = 0
    assert not picture.any()


def test_what_is_invisible_or_outside_is_not_drawn() -> None:
    state = state_of([thing("Charger", 0, 0, "a"), thing("Hole", 0.5, 0.5, "b")])
    drawing = Drawing(state, 32)
    assert {1, 2} <= set(drawing.draw(state, plain(state)).reshape(-1).tolist())
    state.columns[Visible][:] = False
    assert set(drawing.draw(state, plain(state)).reshape(-1).tolist()) == {BACKGROUND}
    state.columns[Visible][:] = True
    state.columns[Position][:] = 5.0
    assert set(drawing.draw(state, plain(state)).reshape(-1).tolist()) == {BACKGROUND}
    state.columns[Position][0], state.columns[Position][1] = 1.0, -1.0
    assert drawing.draw(state, plain(state))[0, -1, -1, 0] == 1
    assert set(Drawing(state, 32, only_tiles=True).draw(state, plain(state)).reshape(-1).tolist()) == {BACKGROUND, 2}


def test_the_floor_follows_its_tiles() -> None:
    scene = [thing("SandTile", 0, 0, "a"), thing("Hole", 0.3, 0.1, "b", Size=0.8), thing("Ball", 0, 0, "c")]
    state = state_of(scene[:2], scene)
    drawing, sand = Drawing(state, 24), state.slot_of[0]["a"]
    hole = state.slot_of[0]["b"]
    drawing.draw(state, plain(state))
    changes: list[Any] = [
        lambda: state.columns[Position].__setitem__((0, sand, 1), -0.3),
        lambda: state.columns[Size].__setitem__((0, hole, 0), 1.2),
        lambda: (state.columns[Order].__setitem__((0, hole, 1), 5), state.order()),
        lambda: state.columns[Visible].__setitem__((0, sand, 0), False),
    ]
    for change in changes:
        before = drawing.draw(state, plain(state))
        change()
        after = drawing.draw(state, plain(state))
        assert (after != before).any()
        np.testing.assert_array_equal(after, Drawing(state, 24).draw(state, plain(state)))


def test_new_textures_of_tiles_are_told() -> None:
    state = state_of([thing("SandTile", 0, 0, "a"), thing("Charger", 0.5, 0.5, "b")])
    drawing, textures = Drawing(state, 16), plain(state)
    drawing.draw(state, textures)
    changed = np.zeros((1, state.slots + 1), dtype=bool)
    for place in (state.slot_of[0]["a"], -1):
        textures[0, place], changed[0, place] = 77 + place, True
        drawing.renew(changed)
        np.testing.assert_array_equal(drawing.draw(state, textures), Drawing(state, 16).draw(state, textures))


@hypothesis_settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), resolution=st.sampled_from([16, 31, 64]))
@pytest.mark.parametrize("make", [many, polygons])
def test_pictures_of_mirrored_and_turned_scenes_are_mirrored_and_turned(make: Any, seed: int, resolution: int) -> None:
    scene = make(np.random.default_rng(seed), 4)
    ways: list[tuple[Any, Any]] = [
        (lambda x, y: [-x, y], lambda picture: picture[:, ::-1]),
        (lambda x, y: [x, -y], lambda picture: picture[::-1]),
        (lambda x, y: [-y, x], np.rot90),
    ]
    original = state_of(scene)
    picture = Drawing(original, resolution).draw(original, plain(original))[0]
    for move, turn in ways:
        other = []
        for entity in scene:
            factors = {**entity["factors"], "Position": move(*entity["factors"]["Position"])}
            if "Shape" in factors:
                corners = [move(*corner) for corner in factors["Shape"]["vertices"]]
                factors["Shape"] = {"kind": "polygon", "vertices": corners}
            other.append({**entity, "factors": factors})
        moved = state_of(other)
        np.testing.assert_array_equal(Drawing(moved, resolution).draw(moved, plain(moved))[0], turn(picture))


def test_a_scene_looks_the_same_alone_and_in_a_batch() -> None:
    rng = np.random.default_rng(1)
    scenes = [many(rng, int(rng.integers(0, 8))) for _ in range(9)]
    batch = state_of(*scenes)
    together = Drawing(batch, 48).draw(batch, plain(batch))
    for i, scene in enumerate(scenes):
        alone = state_of(scene)
        np.testing.assert_array_equal(Drawing(alone, 48).draw(alone, plain(alone))[0], together[i])
