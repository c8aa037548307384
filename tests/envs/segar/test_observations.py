"""Observations: layouts by hand, fillers, spaces that agree with data, and frames."""

from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.factors import Order, Position
from gumption.envs.physics.state import State
from gumption.envs.segar.observations import ObservationSettings, make_observation, read_settings
from gumption.envs.segar.render import RendererSettings
from tests.segar_scenes import many, state_of, thing

BALL = thing("GolfBall", 0.1, 0.2, "golfball", Velocity=[1.0, -1.0], Mass=2.0)
GOAL = thing("GoalTile", 0.5, 0.75, "goal", Friction=0.25)
CHARGER = thing("Charger", -0.5, 0.25, "c", Order=3)


def seen(state: State, given: Any) -> np.ndarray:
    observation = make_observation(given)
    observation.begin(state, np.arange(state.num_envs), range(state.num_envs))
    found: Any = observation.observe(state)
    assert observation.space.contains(found[0])
    return found


def test_one_object_in_the_order_of_segar() -> None:
    found = seen(state_of([CHARGER, BALL]), "object")
    assert found[0].tolist() == pytest.approx([1, 2, 0, 0, 0.1, 0.2, 1, -1, 0, 0, 1, 0])


def test_one_tile_in_the_order_of_segar() -> None:
    assert seen(state_of([GOAL, BALL]), {"kind": "tile", "id": "goal"})[0].tolist() == [0, 0.25, 0.5, 0.75]


def test_what_is_missing_is_minus_1000() -> None:
    state = state_of([GOAL], [BALL, GOAL])
    factors = ["Charge", "Friction", "Position"]
    found = seen(state, {"kind": "entity", "id": "golfball", "factors": factors})
    assert found.tolist() == [[-1000] * 4, pytest.approx([1, -1000, 0.1, 0.2])]


def test_rows_of_ids_come_first_then_the_order_of_iteration_then_zeros() -> None:
    settings = {"kind": "state", "factors": ["Charge", "Position", "Friction"], "n_things": 5}
    state = state_of([CHARGER, GOAL, BALL], [GOAL])
    found = seen(state, {**settings, "unique_ids": ["golfball", "goal"]})
    charger, goal = [-1, -0.5, 0.25, -1000], [-1000, 0.5, 0.75, 0.25]
    ball = pytest.approx([1, 0.1, 0.2, -1000])
    assert found[0].tolist() == [ball, goal, charger, [0] * 4, [0] * 4]
    assert found[1].tolist() == [[-1000] * 4, goal, [0] * 4, [0] * 4, [0] * 4]
    # The goal has the order -2, the ball 0, the charger 3.
    assert seen(state, settings)[0].tolist() == [goal, ball, charger, [0] * 4, [0] * 4]
    state.columns[Order][0, state.slot_of[0]["c"], 0] = -5
    state.order()
    assert seen(state, settings)[0].tolist() == [charger, goal, ball, [0] * 4, [0] * 4]
    assert seen(state, {**settings, "n_things": 2})[0].tolist() == [charger, goal]


def test_objects_and_tiles_are_those_with_all_factors() -> None:
    state = state_of([CHARGER, GOAL, BALL])
    objects = seen(state, {"kind": "objects", "n_things": 4})
    assert objects.shape == (1, 4, 12)
    assert objects[0, :, 4].tolist() == pytest.approx([0.1, -0.5, 0, 0])
    tiles = seen(state, {"kind": "tiles", "factors": ["Friction"]})
    assert tiles[0].tolist() == [[0.25]] + [[0]] * 19


def test_factors_that_are_left_out_are_neither_in_the_data_nor_in_the_space() -> None:
    found = seen(state_of([BALL]), {"kind": "object", "hidden": ["Mass", "Velocity"]})
    assert found[0].tolist() == pytest.approx([1, 0, 0, 0.1, 0.2, 0, 0, 1, 0])


@pytest.mark.parametrize("kind", ["rgb", "object", "state", "objects", "tiles"])
def test_a_scene_is_seen_the_same_alone_and_in_a_batch(kind: str) -> None:
    rng = np.random.default_rng(0)
    scenes = [many(rng, int(rng.integers(0, 6))) for _ in range(5)]
    given = {"kind": kind, "id": "3"} if kind == "object" else kind
    together = seen(state_of(*scenes), given)
    for i, scene in enumerate(scenes):
        alone, observation = state_of(scene), make_observation(given)
        observation.begin(alone, np.array([0]), [i])
        np.testing.assert_array_equal(observation.observe(alone)[0], together[i])  # pyright: ignore[reportArgumentType]


def test_several_parts_have_names() -> None:
    parts = {"pixels": {"kind": "rgb", "renderer": {"resolution": 16}}, "numbers": "state"}
    state, observation = state_of([BALL], [GOAL]), make_observation({"kind": "multimodal", "parts": parts})
    observation.begin(state, np.arange(2), [0, 1])
    found: Any = observation.observe(state)
    assert {name: part.shape for name, part in found.items()} == {"pixels": (2, 16, 16, 3), "numbers": (2, 20, 14)}
    assert observation.space.contains({name: part[0] for name, part in found.items()})


def test_frames_move_on_with_steps_and_begin_anew_with_episodes() -> None:
    state = state_of([BALL], [BALL])
    observation = make_observation({"kind": "entity", "id": "golfball", "factors": ["Position"], "stack": 3})
    slot = state.slot_of[0]["golfball"]

    def frames(x: float, fresh: bool = True) -> list[list[float]]:
        state.columns[Position][0, slot] = x
        found: Any = observation.observe(state, fresh)
        assert observation.space.contains(found[0])
        return found[:, :, 0].tolist()

    observation.begin(state, np.arange(2), [0, 1])
    assert frames(0) == [[0, 0, 0]] * 2
    assert frames(1) == [[0, 0, 1]] * 2
    assert frames(1, fresh=False) == [[0, 0, 1]] * 2
    observation.begin(state, np.array([1]), [2])
    assert frames(2) == [[0, 1, 2], [2, 2, 2]]
    assert frames(3) == [[1, 2, 3], [2, 2, 3]]


def test_frames_of_pixels_are_channels() -> None:
    state = state_of([thing("Ball", 0, 0, "a")])
    settings = {"kind": "rgb", "renderer": RendererSettings(resolution=32), "stack": 2}
    observation, single = make_observation(settings), make_observation({**settings, "stack": 1})
    for one in (observation, single):
        one.begin(state, np.array([0]), [0])
    first: Any = single.observe(state)
    observation.observe(state)
    state.columns[Position][0] = 0.5
    found: Any = observation.observe(state)
    assert observation.space.contains(found[0])
    np.testing.assert_array_equal(found, np.concatenate([first, single.observe(state)], axis=3))  # pyright: ignore[reportArgumentType]
    assert (found[..., :3] != found[..., 3:]).any()


def test_settings_pass_through() -> None:
    settings = ObservationSettings(kind="state", n_things=3)
    assert read_settings(settings) is settings
    assert read_settings("rgb") == ObservationSettings()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("smell", "kind is 'smell'; it can be rgb, entity, object"),
        (5, "observation is 5; it is a kind such as 'rgb', or a dict of settings"),
        ({"kind": "rgb", "n_things": 3}, "n_things is of observations of the kind state or objects or tiles; this one"),
        ({"kind": "rgb", "hidden": ["Mass"]}, "hidden is of observations of the kind entity or object"),
        ({"kind": "state", "renderer": {"resolution": 3}}, "renderer is of observations of the kind rgb"),
        ({"kind": "rgb", "renderer": {"colour": 3}}, "RendererSettings has no 'colour'"),
        ({"kind": "state", "factors": ["Nonsense"]}, "there is no factor 'Nonsense'"),
        ({"kind": "state", "factors": ["Shape"]}, "factors: Shape is no number; a state tells Acceleration, Alive"),
        ({"kind": "state", "hidden": ["Heart"]}, "hidden: there is no factor 'Heart'; did you mean 'Heat'?"),
        ({"kind": "tiles", "hidden": ["Mass"]}, "hidden: Mass is not observed anyway; observed are Heat, Friction"),
        ({"kind": "tiles", "hidden": ["Heat", "Friction", "Position"]}, "no factor is left to be observed"),
        ({"kind": "entity"}, "no factor is left to be observed: give factors"),
        (
            {"kind": "state", "n_things": 1, "unique_ids": ["a", "b"]},
            "unique_ids are a, b: give each once, and at most",
        ),
        ({"kind": "state", "unique_ids": ["a", "a"]}, "unique_ids are a, a: give each once"),
        ({"kind": "multimodal"}, "a multimodal observation needs parts"),
        ({"kind": "multimodal", "parts": {"a": 3}}, "parts: a is 3; it is a kind"),
        ({"kind": "multimodal", "parts": {"a": "rgb"}, "stack": 2}, "stack is for arrays: set it in each of the parts"),
    ],
)
def test_bad_settings_are_refused(given: Any, told: str) -> None:
    with pytest.raises(InputError) as error:
        make_observation(given)
    assert told in str(error.value)
