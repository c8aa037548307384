"""The named distributions: what they say of the places and factors of things, in both presets."""

import json
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.entities import Bumper, Charger, Damper, GoalTile, GolfBall, Hole, Object, SandTile, Tile
from gumption.envs.physics.factors import Charge, Friction, Heat, Magnetism, Mobile, Position, Shape, Size, StoredEnergy
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.initialization_measures import differences, distributions
from gumption.envs.physics.locations import Center, RandomConvexHull, RandomTopLocation, RandomTopRightLocation
from gumption.envs.physics.noise import Deterministic, GaussianMixtureNoise, GaussianNoise, UniformNoise
from gumption.envs.segar.configurations import WALLS, configuration, configuration_names

NAMES = [*configuration_names(), "objectsx10-hard", "tilesx7-medium"]


def scenes(name: str, n: int = 20, preset: Any = "fixed") -> list[Any]:
    return [configuration(name, preset).sample(np.random.default_rng(seed)) for seed in range(n)]


def test_there_are_the_21_of_the_benchmark_four_demonstrations_and_two_walls_of_gates() -> None:
    assert len(configuration_names()) == 27
    assert {"empty-easy", "objectsx3-hard", "tilesx1-medium", "billiards", "invisiball"} <= set(configuration_names())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("preset", ["fixed", "compat"])
def test_each_draws_scenes_and_is_a_file(name: str, preset: Any) -> None:
    of = configuration(name, preset)
    assert Initialization.read(json.loads(json.dumps(of.to_data()))).to_data() == of.to_data()
    for scene in scenes(name, 5, preset):
        kinds = [each.type for each in scene.entities]
        if name not in WALLS and "-" in name:
            n = int(name.split("-")[0].partition("x")[2] or 0)
            assert len(kinds) == n + 2
            assert {GolfBall, GoalTile} <= set(kinds)


def test_places_of_the_difficulties() -> None:
    assert distributions(configuration("empty-easy"))[GolfBall][Position] == Center()
    assert distributions(configuration("empty-easy"))[GoalTile][Position] == RandomTopRightLocation()
    assert distributions(configuration("tilesx1-easy"))[SandTile][Position] == RandomTopLocation()
    (ball, goal) = (distributions(configuration("empty-medium"))[kind][Position] for kind in (GolfBall, GoalTile))
    assert ball.to_data()["noise"] == "RandomBottomLocation"
    assert goal == RandomTopLocation()
    hard = distributions(configuration("objectsx2-hard"))
    assert {each[Position].to_data()["noise"] for each in hard.values()} == {"RandomUniformLocation"}


def test_factors_of_objects() -> None:
    easy, medium, hard = (distributions(configuration(f"objectsx1-{each}")) for each in ("easy", "medium", "hard"))
    assert easy[Charger][Charge] == Deterministic(-1.0)
    assert medium[Charger][Charge] == GaussianMixtureNoise((-1.0, 1.0), (0.1, 0.1))
    assert hard[Charger][Charge] == GaussianMixtureNoise((-1.0, 1.0), (0.4, 0.4))
    assert medium[Bumper][StoredEnergy] == GaussianNoise(1.0, 0.1, clip=(0.5, 1.0))
    assert hard[Bumper][StoredEnergy] == GaussianNoise(1.0, 0.4, clip=(0.0, 1.0))
    assert hard[Charger][Mobile] == Deterministic(True)
    assert easy[Charger][Mobile] == Deterministic(False)
    assert hard[Charger][Size] == GaussianNoise(0.2, 0.01, clip=(0.1, 0.3))
    assert not any(Magnetism in factors for kind, factors in hard.items() if not issubclass(kind, Object))


def test_dampers_vary_unless_as_in_the_first_release() -> None:
    fixed, compat = (distributions(configuration("objectsx1-medium", each)) for each in ("fixed", "compat"))
    assert fixed[Damper][StoredEnergy] == GaussianNoise(-1.0, 0.1, clip=(-1.0, -0.5))
    assert compat[Damper][StoredEnergy] == Deterministic(-1.0)


def test_the_goal_does_not_burn_unless_as_in_the_first_release() -> None:
    fixed, compat = (distributions(configuration("tilesx1-hard", each)) for each in ("fixed", "compat"))
    assert fixed[GoalTile][Heat] == fixed[GoalTile][Friction] == Deterministic(0.0)
    assert compat[GoalTile][Heat] == compat[GoalTile][Friction] == UniformNoise(0.4, 1.0)
    assert fixed[SandTile][Heat] == compat[SandTile][Heat] == UniformNoise(0.4, 1.0)


def test_each_tile_has_its_own_shape_unless_as_in_the_first_release() -> None:
    assert distributions(configuration("tilesx2-easy"))[SandTile][Shape] == RandomConvexHull(0.3)
    tiles = {
        preset: [
            json.dumps(each.factors[Shape])
            for scene in scenes("tilesx2-easy", preset=preset)
            for each in scene.entities
            if issubclass(each.type, Tile) and each.type is not GoalTile
        ]
        for preset in ("fixed", "compat")
    }
    assert len(set(tiles["compat"])) == 1
    assert len(set(tiles["fixed"])) == len(tiles["fixed"]) == 40


def test_goals_keep_their_size() -> None:
    for preset in ("fixed", "compat"):
        goals = [each for scene in scenes("tilesx1-hard", 5, preset) for each in scene.entities if each.id == "goal"]
        assert [each.factors[Size] for each in goals] == [0.4] * 5


def test_billiards_has_a_rack_and_four_holes() -> None:
    (scene,) = scenes("billiards", 1)
    balls = [np.array(each.factors[Position]) for each in scene.entities if each.type.__name__ == "Ball"]
    holes = [np.array(each.factors[Position]) for each in scene.entities if each.type is Hole]
    assert len(balls) == 10
    apart = sorted(np.linalg.norm(a - b) for place, a in enumerate(balls) for b in balls[:place])
    assert apart[:18] == pytest.approx([0.202] * 18)  # the 18 pairs that touch in a triangle of ten
    assert apart[18] > 0.3
    assert tuple(balls[0]) == (0.0, 0.0)
    np.testing.assert_allclose(np.abs(holes), 0.85, atol=1e-4)
    assert scene.entities[0].id == "cueball"


def test_presets_differ_only_where_the_first_release_was_wrong() -> None:
    assert differences(configuration("objectsx2-easy"), configuration("objectsx2-easy", "compat")) == []
    found = differences(configuration("objectsx2-hard"), configuration("objectsx2-hard", "compat"))
    assert [each.of for each in found] == [("Damper", "StoredEnergy")]


@pytest.mark.parametrize("name", ["objects-hard", "empty", "objectsx0-easy", "tilesx21-easy", "emptyx1-easy", "pool"])
def test_a_name_that_there_is_not_is_told(name: str) -> None:
    with pytest.raises(InputError, match=f"there is no configuration '{name}'; there are empty-, objectsxN-"):
        configuration(name)


def test_a_preset_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match="preset is 'old'; it can be fixed, compat"):
        configuration("empty-easy", "old")  # pyright: ignore[reportArgumentType]
