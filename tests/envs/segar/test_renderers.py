"""Renderers: textures of levels and factors, plain colours, and settings."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError, Note
from gumption.envs.physics.entities import TYPES, Ball, SandTile
from gumption.envs.physics.factors import Heat, Mass, Velocity, Visible
from gumption.envs.physics.state import State
from gumption.envs.segar.render import (
    AFFORDANCES,
    CHANGE,
    COLOURS,
    FLOOR,
    AffordanceMap,
    OpticalFlow,
    RendererSettings,
    SolidColours,
    Textured,
    ansi,
    feature_models,
    make_renderer,
    random_filters,
)
from tests.segar_scenes import many, state_of, thing


def picture(state: State, seeds: Any = None, **settings: Any) -> np.ndarray:
    renderer = make_renderer(RendererSettings(**settings))
    count = state.num_envs
    renderer.begin(state, np.arange(count), range(count) if seeds is None else seeds)
    return renderer.draw(state)


def pixel(pictures: np.ndarray, x: float, y: float, i: int = 0) -> tuple[int, ...]:
    side = pictures.shape[1]
    return tuple(pictures[i, int((1 - y) / 2 * side), int((x + 1) / 2 * side)].tolist())


TEXTURED = ({}, {"models": "twenty"}, {"kind": "features", "feature_models": 3})


@pytest.mark.parametrize("settings", TEXTURED)
def test_a_level_looks_the_same_at_each_time_and_in_each_batch(settings: Any) -> None:
    rng = np.random.default_rng(0)
    scenes = [many(rng, int(rng.integers(0, 7))) for _ in range(6)]
    seeds = [7, 2**62, 0, 7, 12345, 3]
    together = picture(state_of(*scenes), seeds, **settings)
    for i, scene in enumerate(scenes):
        np.testing.assert_array_equal(picture(state_of(scene), [seeds[i]], **settings)[0], together[i])
    assert (picture(state_of(scenes[0]), [8], **settings)[0] != together[0]).any()


@pytest.mark.parametrize("settings", TEXTURED)
def test_a_level_looks_the_same_in_every_column_and_episode(settings: Any) -> None:
    rng = np.random.default_rng(1)
    scenes = [many(rng, 3) for _ in range(4)]
    renderer, state = make_renderer(RendererSettings(**settings)), state_of(*scenes)
    renderer.begin(state, np.arange(4), [1, 2, 3, 4])
    first = renderer.draw(state)
    other = state_of(*scenes, layout=state.layout)
    columns, rows = np.array([3, 1]), np.array([0, 2])
    state.take(columns, other, rows)
    renderer.begin(state, columns, [1, 3])
    np.testing.assert_array_equal(renderer.draw(state), first[[0, 2, 2, 0]])


def test_the_seed_chooses_one_of_several_models() -> None:
    state = state_of(many(np.random.default_rng(2), 2))
    alone = {picture(state, [5], models=f"five-0{i}").tobytes() for i in range(1, 6)}
    assert len(alone) == 5
    chosen = {picture(state, [seed], models="five").tobytes() for seed in range(20)}
    assert len(chosen) == 20
    assert picture(state, [5], models="five").tobytes() in alone


def test_things_differ_by_their_factors_and_not_by_where_they_are() -> None:
    scenes = [[thing("Charger", x, 0, "a", Charge=charge)] for x, charge in ((0, 1.0), (0, -1.0), (0.375, 1.0))]
    positive, negative, moved = picture(state_of(*scenes), [0, 0, 0])
    assert (positive != negative).any(axis=2).sum() > 10
    # The same pattern, 12 pixels to the right.
    np.testing.assert_array_equal(positive[29:35, 29:35], moved[29:35, 41:47])


def test_what_is_hidden_is_not_in_the_textures() -> None:
    scenes = [[thing("Charger", 0, 0, "a", Charge=charge)] for charge in (1.0, -1.0)]
    same = picture(state_of(*scenes), [0, 0], hidden=("Charge", "Mass"))
    np.testing.assert_array_equal(same[0], same[1])
    assert (picture(state_of(*scenes), [0, 0], hidden=("Mass",))[0] != same[0]).any()
    nowhere = picture(state_of([]), [0], hidden=("Charge", "Mass"))
    assert (same[0] != nowhere[0]).any(axis=2)[28:36, 28:36].sum() > 10


def test_a_texture_follows_its_factors_in_fixed_and_not_in_compat() -> None:
    for preset, follows in (("fixed", True), ("compat", False)):
        state = state_of([thing("Ball", 0, 0, "a"), thing("MagmaTile", 0.5, 0.5, "b", Size=0.5)], [])
        renderer = make_renderer(RendererSettings(preset=preset))
        renderer.begin(state, np.arange(2), [0, 1])
        before = renderer.draw(state)
        state.columns[Mass][0, state.slot_of[0]["a"], 0] -= CHANGE / 2
        np.testing.assert_array_equal(renderer.draw(state), before)
        state.columns[Mass][0, state.slot_of[0]["a"], 0] -= CHANGE
        changed = (renderer.draw(state) != before).any(axis=3)
        assert changed[0].any() == follows
        assert not changed[1].any()


def test_textures_follow_those_of_tiles_too() -> None:
    state = state_of([thing("MagmaTile", 0, 0, "a", Size=0.5)])
    renderer = make_renderer(RendererSettings())
    renderer.begin(state, np.array([0]), [0])
    before = renderer.draw(state)
    state.columns[Heat][:] = 0.0
    assert (renderer.draw(state) != before).any()


def test_shipped_textures_tell_things_apart() -> None:
    """By a mean difference of more than a twentieth of the range."""
    kinds = ["GolfBall", "Charger", "Magnet", "Bumper", "Damper", "SandTile", "MagmaTile"]
    state = state_of(*([thing(kind, 0, 0, "a", Shape={"kind": "circle", "size": 0.5})] for kind in kinds), [])
    pictures = picture(state, [0] * (len(kinds) + 1)).astype(float)[:, 28:36, 28:36] / 255
    for i in range(len(pictures)):
        for j in range(i):
            assert np.abs(pictures[i] - pictures[j]).mean() > 0.05, (i, j)


def test_episodes_begin_before_pictures_and_all_at_once() -> None:
    state = state_of([], [])
    for renderer in (make_renderer(RendererSettings()), SolidColours(16)):
        with pytest.raises(InputError, match="no episode has begun: call begin first"):
            renderer.draw(state)
    with pytest.raises(InputError, match="begin together: give all its columns"):
        make_renderer(RendererSettings()).begin(state, np.array([1]), [0])


# ---- plain colours


def test_people_see_a_colour_for_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, "Quicksand", SandTile)  # forgotten afterwards

    class Quicksand(SandTile):
        pass

    state = state_of([thing("Ball", -0.5, 0), thing("Quicksand", 0.5, 0, Size=0.5)])
    pictures = picture(state, kind="colours", resolution=128)
    assert pixel(pictures, -0.5, 0) == COLOURS[Ball]
    assert pixel(pictures, 0.5, 0.1) == COLOURS[SandTile]
    assert pixel(pictures, 0.9, 0.9) == FLOOR
    assert pixel(pictures, -0.5, 0.092) == (0, 0, 0)


def test_annotations_are_written_on_what_is_visible() -> None:
    state = state_of([thing("Ball", 0, 0, "a"), thing("GoalTile", 0.5, 0.5, "b")])
    plain, ids, labels = (picture(state, kind="colours", annotations=name) for name in ("none", "ids", "labels"))
    assert (plain != ids).any()
    assert (labels != ids).any()
    state.columns[Visible][:] = False
    np.testing.assert_array_equal(picture(state, kind="colours", annotations="ids"), np.full_like(plain, FLOOR))


def test_optical_flow_has_the_direction_as_hue_and_the_speed_as_saturation() -> None:
    state = state_of([thing("Ball", 0, 0, "a"), thing("SandTile", 0.5, 0.5, "b")])
    flow = OpticalFlow(32)
    flow.begin(state, np.array([0]), [0])
    expected = {
        (2.0, 0.0): (255, 0, 0),
        (-9.0, 0.0): (0, 255, 255),
        (1.0, 0.0): (255, 128, 128),
        (-1.0, 3**0.5): (0, 255, 0),
        (-1.0, -(3**0.5)): (0, 0, 255),
        (0.0, 0.0): (255, 255, 255),
    }
    for velocity, colour in expected.items():
        state.columns[Velocity][:, state.slot_of[0]["a"], 0] = velocity
        pictures = flow.draw(state)
        assert pixel(pictures, 0, 0) == pytest.approx(colour, abs=1)
        assert {tuple(each) for each in pictures.reshape(-1, 3).tolist()} <= {pixel(pictures, 0, 0), (255, 255, 255)}


def test_affordance_maps_show_what_the_tile_on_top_does() -> None:
    places = {"GoalTile": 0.8, "Hole": 0.4, "MagmaTile": 0.0, "SandTile": -0.4, "Tile": -0.8}
    scene = [thing(kind, x, 0, Size=0.3) for kind, x in places.items()]
    state = state_of([*scene, thing("Charger", 0.0, 0.0), thing("SandTile", 0.0, 0.05, Size=0.2, Order=-1)])
    pictures = picture(state, kind="affordances", resolution=128)
    shown = [pixel(pictures, x, -0.1) for x in places.values()]
    assert shown == [AFFORDANCES[name] for name in ("goal", "consumes", "burns", "slows", "nothing")]
    assert pixel(pictures, 0, 0.05) == AFFORDANCES["slows"]
    assert pixel(pictures, 0, 0.9) == AFFORDANCES["nothing"]


def test_colours_that_change_reach_the_floor() -> None:
    state = state_of([thing("MagmaTile", 0, 0)])
    shown = AffordanceMap(16)
    shown.begin(state, np.array([0]), [0])
    assert pixel(shown.draw(state), 0, 0) == AFFORDANCES["burns"]
    state.columns[Heat][:] = 0.0
    assert pixel(shown.draw(state), 0, 0) == AFFORDANCES["slows"]


def test_a_map_of_letters() -> None:
    state = state_of(
        [], [thing("GoalTile", 0.5, 0.5, "goal", Size=0.4), thing("Ball", -0.5, 0.0, "it", Velocity=[0.5, 0])]
    )
    lines = ansi(state, 1).splitlines()
    assert lines[0] == lines[21] == "+" + "-" * 40 + "+"
    assert lines[5] == "|" + " " * 26 + "a" * 8 + " " * 6 + "|"
    assert lines[11] == "|" + " " * 8 + "BBBB" + " " * 28 + "|"
    assert lines[22:] == ["a goal (GoalTile)", "B it (Ball), velocity 0.50 0.00"]
    assert ansi(state, 0).count(" ") == 400 * 2


def test_a_map_of_letters_tells_nothing_of_what_is_invisible() -> None:
    goal, ball = thing("GoalTile", 0.5, 0.5, "goal", Size=0.4), thing("Ball", -0.5, 0.0, "it", Velocity=[0.5, 0])
    hidden = thing("Ball", -0.5, 0.0, "it", Velocity=[0.5, 0], Visible=False)
    told = ansi(state_of([goal, hidden], [goal, ball]), 0).splitlines()
    assert told[22:] == ["a goal (GoalTile)"]
    assert "B" not in "".join(told[:22])


# ---- settings


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kind": "cubist"}, "kind is 'cubist'; it can be linear, features, colours, flow, affordances"),
        ({"kind": "flow", "hidden": ("Mass",)}, "hidden is of renderers of the kind linear or features; this one is"),
        ({"annotations": "ids"}, "annotations is of renderers of the kind colours; this one is 'linear'"),
        ({"kind": "features", "models": "five"}, "models is of renderers of the kind linear"),
        ({"filters": Path("x.npy")}, "filters is of renderers of the kind features"),
        ({"models": "six"}, "has no 'six'"),
        ({"hidden": ("Weight",)}, "hidden: the code of a texture has no 'Weight'; it has Alive, Charge"),
        ({"hidden": ("Size",)}, "hidden: the code of a texture has no 'Size'"),
        ({"kind": "features", "filters": Path("x.npy")}, "x.npy: cannot be read as .npy"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        make_renderer(RendererSettings(**settings))
    assert told in str(error.value)


def test_models_of_different_sizes_are_refused() -> None:
    filters = np.random.default_rng(0).standard_normal((20, 3, 4, 4))
    mixed = [*feature_models(filters, [0]), *feature_models(random_filters(0), [0])]
    for models in ([], mixed):
        with pytest.raises(InputError, match="models: give at least one, and all of one size of pattern"):
            Textured(models)


def test_textures_of_random_filters_are_told_as_those_of_a_random_network(tmp_path: Path) -> None:
    with pytest.warns(Note, match="the textures are those of a random network: no filters are given"):
        drawn: Any = make_renderer(RendererSettings(kind="features", feature_models=2))
    assert [model.name for model in drawn.models] == ["random-0", "random-1"]
    np.save(tmp_path / "first_layer.npy", random_filters(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = make_renderer(RendererSettings(kind="features", filters=tmp_path / "first_layer.npy"))
    assert [model.name for model in drawn.models] == ["first_layer-0"]
