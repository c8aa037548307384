"""Distributions of scenes: draws, placing, files, and their measures."""

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.entities import (
    Ball,
    Bumper,
    Charger,
    GoalTile,
    GolfBall,
    Hole,
    Magnet,
    Object,
    SandTile,
    Tile,
)
from gumption.envs.physics.factors import (
    PARAMETERS,
    Charge,
    Mass,
    Order,
    Parameter,
    Position,
    Shape,
    Size,
    Velocity,
)
from gumption.envs.physics.initialization import Initialization, Prior, ThingFactory
from gumption.envs.physics.initialization_measures import (
    Difference,
    differences,
    distributions,
    entropy,
    ks_of,
    representativeness,
    samples_to_noise,
    w2_of,
)
from gumption.envs.physics.locations import (
    Center,
    Point,
    RandomBottomLocation,
    RandomConvexHull,
    RandomEdgeLocation,
    RandomTopLocation,
    RandomUniformLocation,
)
from gumption.envs.physics.noise import Deterministic, DiscreteRangeNoise, GaussianNoise, UniformNoise
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.shapes import circle, width


def initialization(**changes: Any) -> Initialization:
    given = {
        "numbers": [
            (ThingFactory({Charger: 0.5, Ball: 0.3, Bumper: 0.2}), DiscreteRangeNoise(2, 4)),
            (SandTile, 2),
            (GoalTile, 1),
            (GolfBall, 1),
        ],
        "priors": [
            Prior(Position, RandomUniformLocation()),
            Prior(Shape, RandomConvexHull(0.3), entity_type=Tile),
            Prior(Shape, circle(0.4), entity_type=GoalTile),
            Prior(Mass, UniformNoise(1, 2), entity_type=Ball),
            Prior(Size, GaussianNoise(0.2, 0.01, clip=(0.1, 0.3)), entity_type=Object),
        ],
    }
    return Initialization(**{**given, **changes})


def draw(of: Initialization, seed: int = 0) -> Scene:
    return of.sample(np.random.default_rng(seed))


def at(entity: Any) -> np.ndarray:
    return np.array(entity.factors[Position])


def test_a_seed_gives_a_scene() -> None:
    assert draw(initialization(), 3).to_data() == draw(initialization(), 3).to_data()
    assert draw(initialization(), 3).to_data() != draw(initialization(), 4).to_data()


def test_numbers_and_types_are_drawn_as_they_say() -> None:
    scenes = [draw(initialization(), seed) for seed in range(300)]
    objects = [[each.type for each in scene.entities if each.type in (Charger, Ball, Bumper)] for scene in scenes]
    counts = np.bincount([len(each) for each in objects], minlength=5)
    assert counts[:2].sum() == 0
    assert np.abs(counts[2:] / 300 - 1 / 3).max() < 0.1
    kinds = [kind for each in objects for kind in each]
    assert kinds.count(Charger) / len(kinds) == pytest.approx(0.5, abs=0.06)
    assert kinds.count(Bumper) / len(kinds) == pytest.approx(0.2, abs=0.06)
    assert all(sum(each.type is SandTile for each in scene.entities) == 2 for scene in scenes)
    assert all({each.id for each in scene.entities} >= {"golfball", "goal", "sandtile_0"} for scene in scenes)


@pytest.mark.parametrize("seed", range(20))
def test_things_lie_inside_the_walls_and_apart(seed: int) -> None:
    scene = draw(initialization(), seed)
    for first, second in combinations(scene.entities, 2):
        distance = np.linalg.norm(at(first) - at(second))
        assert distance > 0.1
        if issubclass(first.type, Object) and issubclass(second.type, Object):
            assert distance > (first.factors[Size] + second.factors[Size]) / 2
    for entity in scene.entities:
        shape = entity.factors[Shape]
        corners = (
            [[-shape["size"] / 2] * 2, [shape["size"] / 2] * 2] if shape["kind"] == "circle" else shape["vertices"]
        )
        assert np.abs(at(entity) + corners).max() < 1


def test_each_tile_has_a_shape_of_its_own() -> None:
    first, second = (each for each in draw(initialization()).entities if each.type is SandTile)
    assert first.factors[Shape] != second.factors[Shape]


def test_a_size_scales_polygons_and_given_shapes() -> None:
    priors = [
        Prior(Shape, RandomConvexHull(0.3), entity_type=SandTile),
        Prior(Size, UniformNoise(0.4, 0.5), entity_type=SandTile),
        Prior(Position, RandomUniformLocation()),
    ]
    scene = draw(Initialization([(SandTile, 2)], priors))
    for tile in scene.entities:
        assert 0.4 <= tile.factors[Size] <= 0.5
        assert width(tile.factors[Shape]) == pytest.approx(tile.factors[Size])
    compat = draw(Initialization([(SandTile, 2)], priors, preset="compat"))
    assert all(width(each.factors[Shape]) > 0.5 for each in compat.entities)


def test_orders_are_a_permutation_but_for_those_that_are_set() -> None:
    priors = [Prior(Position, RandomUniformLocation()), Prior(Order, 7, entity_type=Charger)]
    seen = set()
    for seed in range(30):
        scene = draw(Initialization([(Ball, 2), (Charger, 1), (GoalTile, 1)], priors), seed)
        orders = [each.factors[Order] for each in scene.entities]
        assert orders[2:] == [7, -2]
        assert orders[0] != orders[1]
        seen.add(tuple(orders[:2]))
    assert len(seen) > 6


def test_fixed_positions_add_entities() -> None:
    of = Initialization(
        [(GolfBall, 1)],
        [Prior(Position, RandomUniformLocation())],
        [(Ball, [(0, 0), (0.3, 0)]), (Hole, [(0.99, 0.99)])],
    )
    scene = draw(of)
    places = {each.id: each.factors[Position] for each in scene.entities}
    assert places["ball_0"] == (0.0, 0.0)
    assert places["ball_1"] == (0.3, 0.0)
    assert places["hole_0"] == pytest.approx((0.5, 0.5), abs=1e-4)  # inside the walls


def test_compat_only_looks_at_centres() -> None:
    of = initialization(preset="compat")
    scenes = [draw(of, seed) for seed in range(40)]
    pairs = [pair for scene in scenes for pair in combinations(scene.entities, 2)]
    assert min(np.linalg.norm(at(a) - at(b)) for a, b in pairs) > 0.1
    objects = [(a, b) for a, b in pairs if issubclass(a.type, Object) and issubclass(b.type, Object)]
    assert min(np.linalg.norm(at(a) - at(b)) for a, b in objects) < 0.19


def test_settings_are_drawn_for_each_scene() -> None:
    of = initialization(sim={"friction": UniformNoise(0.1, 0.2), "gravity": 3.0})
    scenes = [draw(of, seed) for seed in range(5)]
    assert len({scene.sim.friction for scene in scenes}) == 5
    assert all(0.1 <= scene.sim.friction <= 0.2 and scene.sim.gravity == 3.0 for scene in scenes)


def test_an_initialisation_is_written_and_read() -> None:
    of = initialization(
        sim={"friction": UniformNoise(0.1, 0.2), "boundaries": (-2.0, 2.0)}, positions=[(Hole, [(0, 0)])]
    )
    again = Initialization.read(json.loads(json.dumps(of.to_data())))
    assert again.to_data() == of.to_data()
    assert draw(again, 5).to_data() == draw(of, 5).to_data()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"number": []}, "the initialisation has no 'number'; did you mean 'numbers'"),
        ([], r"the initialisation is \[\]; it is a dict"),
        ({"numbers": {"Ball": 1}}, "numbers is .*; it is a list of"),
        ({"numbers": [["Ball"]]}, "numbers has .*each is"),
        ({"numbers": [["Bal", 1]]}, "no entity type 'Bal'"),
        ({"numbers": [["Ball", -1]]}, "how many is -1; it is a whole number from 0 to 1,000"),
        ({"numbers": [["Ball", 1.5]]}, "how many is 1.5; it is a whole number"),
        ({"numbers": [["Ball", 10**9]]}, "from 0 to 1,000"),
        ({"priors": 3}, "priors is 3; it is a list"),
        ({"positions": [["Ball", [[3, 0]]]]}, r"the position \(3.0, 0.0\) is outside the walls at -1.0 and 1.0"),
        ({"numbers": [["Ball", UniformNoise(0, 2)]]}, "something else than whole numbers"),
        ({"numbers": [["Ball", DiscreteRangeNoise(-1, 2)]]}, "whole numbers from 0 to 1,000"),
        ({"numbers": [[{"Ball": 0.4, "Hole": 0.4}, 1]]}, "the shares is .*whose sum is 1"),
        ({"numbers": [[["Ball", "Ball"], 1]]}, "a type is named twice"),
        ({"numbers": [[[], 1]]}, "one type or more"),
        ({"positions": [["Ball", [[0, "x"]]]]}, "positions: Position is"),
        ({"positions": [["Ball", 3]]}, "positions has .*each is"),
        ({"sim": {"fricton": 1}}, "SimSettings has no 'fricton'"),
        ({"sim": {"fricton": UniformNoise(0, 1)}}, "SimSettings has no 'fricton'"),
        ({"sim": {"rules": UniformNoise(0, 1)}}, "rules cannot be drawn from"),
        ({"sim": {"friction": RandomTopLocation()}}, "friction cannot be drawn from"),
        ({"sim": 3}, "sim is 3"),
        ({"preset": "2022"}, "preset is '2022'; it can be fixed, compat"),
        ({"numbers": [["Ball", 1]], "priors": [{"target": "Heat", "value": 1}]}, r"Prior\(Heat, 1\) matches nothing"),
        (
            {"numbers": [["Ball", 1]], "priors": [{"target": "Mass", "value": 1}, {"target": "Mass", "value": 2}]},
            r"equally specific for Mass of a Ball: Prior\(Mass, 1\) and Prior\(Mass, 2\)",
        ),
        (
            {"numbers": [["Ball", 1]], "priors": [{"target": "Mass", "value": 1, "entity_type": "Charger"}]},
            "entity_type='Charger'.* matches nothing: the initialisation has Ball",
        ),
    ],
)
def test_bad_input_is_told(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Initialization.read(given)


def test_what_cannot_be_placed_is_named() -> None:
    of = Initialization([(Ball, 1), (Charger, 1)], [Prior(Position, Center())])
    for preset in ("fixed", "compat"):
        again = Initialization(of.numbers, of.priors, preset=preset)
        with pytest.raises(InputError, match="ball_0 and charger_0 could not be placed apart in 100 tries"):
            draw(again)


def test_distributions_are_those_of_priors_and_defaults() -> None:
    found = distributions(initialization(positions=[(Hole, [(0, 0)])]))
    assert found[Ball][Mass] == UniformNoise(1, 2)
    assert found[Charger][Mass] == Deterministic(1.0)
    assert found[Charger][Charge] == Deterministic(-1.0)
    assert found[Charger][Velocity] == Point((0.0, 0.0))
    assert found[GoalTile][Size] == Deterministic(0.4)
    assert Order not in found[Ball]
    assert found[GoalTile][Order] == Deterministic(-2)
    assert found[SandTile][Shape] == RandomConvexHull(0.3)
    assert Size not in found[SandTile]
    assert Shape not in found[Ball]
    assert Position not in found[Hole]


def test_entropy_is_the_sum_of_all_that_is_drawn() -> None:
    box = np.log(1.9**2)
    of = Initialization(
        [(ThingFactory([Ball, Charger]), DiscreteRangeNoise(1, 3)), (GolfBall, 1)],
        [
            Prior(Position, RandomUniformLocation(), entity_type=Object),
            Prior(Position, Center(), entity_type=GolfBall),
            Prior(Mass, UniformNoise(0, 3), entity_type=Ball),
        ],
        sim={"friction": UniformNoise(0.0, 0.5)},
    )
    expected = np.log(3) + 2 * (np.log(2) + box + 0.5 * np.log(3)) + np.log(0.5)
    assert entropy(of) == pytest.approx(expected)


def test_differences_are_exact_distances_of_what_differs() -> None:
    first = Initialization(
        [(GolfBall, 1), (Ball, 1)],
        [Prior(Position, RandomBottomLocation()), Prior(Mass, UniformNoise(1, 2), entity_type=Ball)],
        sim={"friction": UniformNoise(0.1, 0.2)},
    )
    second = Initialization(
        [(GolfBall, 1), (Ball, DiscreteRangeNoise(1, 2))],
        [Prior(Position, RandomTopLocation()), Prior(Mass, UniformNoise(2, 3), entity_type=Ball)],
    )
    found = {each.of: each for each in differences(first, second)}
    assert found.keys() == {
        ("GolfBall", "Position"),
        ("Ball", "Position"),
        ("Ball", "Mass"),
        ("sim", "friction"),
        ("numbers", "how many Ball"),
    }
    assert found["Ball", "Mass"].w2 == pytest.approx(1.0)
    assert found["GolfBall", "Position"].w2 == pytest.approx(1.425)
    assert found["sim", "friction"].w2 == pytest.approx(np.sqrt(0.1**2 + 0.1**2 / 12))
    assert found["numbers", "how many Ball"].w2 == pytest.approx(np.sqrt(0.5))
    assert w2_of(list(found.values())) == pytest.approx(np.sqrt(sum((each.w2 or 0) ** 2 for each in found.values())))
    assert differences(first, first) == []


def test_own_parameters_are_settings_that_differ() -> None:
    class Updraft(Parameter, default=2.0):
        pass

    try:
        calm, strong = (Initialization(sim={"parameters": {"Updraft": value}}) for value in (2.0, 5.0))
        assert differences(Initialization(), calm) == []
        (found,) = differences(Initialization(), strong)
        assert (found.of, found.w2, found.ks) == (("sim", "Updraft"), pytest.approx(3), 1)
        assert ks_of(calm, strong) == 1.0
    finally:
        del PARAMETERS[Updraft.__name__]


def test_other_types_and_shares_of_types_are_differences() -> None:
    balls, magnets = Initialization([(Ball, 1)]), Initialization([(Magnet, 1)])
    assert differences(balls, magnets) == [
        Difference(("numbers", "Ball"), 100.0, 1.0),
        Difference(("numbers", "Magnet"), 100.0, 1.0),
    ]
    often = Initialization([(ThingFactory({Ball: 0.9, Magnet: 0.1}), 1)])
    (apart,) = differences(often, Initialization([(ThingFactory({Ball: 0.4, Magnet: 0.6}), 1)]))
    assert apart.w2 == pytest.approx(100 * np.sqrt(2 * 0.5))


def test_what_has_no_formula_has_no_distance() -> None:
    edge = Initialization([(Ball, 1)], [Prior(Position, RandomEdgeLocation())])
    found = differences(edge, Initialization([(Ball, 1)], [Prior(Position, RandomTopLocation())]))
    assert [each.w2 for each in found] == [None]
    assert found[0].ks > 0.3
    assert w2_of(found) is None


def test_ks_is_that_of_the_product_of_all_cdfs() -> None:
    def of(number: Any, **priors: Any) -> Initialization:
        return Initialization([(Ball, number)], [{"target": name, "value": each} for name, each in priors.items()])

    low, high = UniformNoise(0, 1), UniformNoise(0.25, 1.25)
    assert ks_of(of(1, Charge=low), of(1, Charge=high)) == pytest.approx(0.25)
    # At 1 the first is certain in both factors, the second 3/4 in each.
    assert ks_of(of(1, Charge=low, Density=low), of(1, Charge=high, Density=high)) == pytest.approx(7 / 16)
    assert ks_of(of(1, Position=RandomBottomLocation()), of(1, Position=RandomTopLocation())) == pytest.approx(1)
    assert ks_of(of(1, Charge=low), of(1, Charge=low)) == 0
    # Below all values are the scenes without a ball.
    assert ks_of(of(1), of(DiscreteRangeNoise(0, 3))) == pytest.approx(0.25)
    assert ks_of(of(1), Initialization([(Magnet, 1)])) == 1


def test_representative_samples_are_near_their_distribution() -> None:
    of = Initialization(
        [(Ball, 1), (GolfBall, 1)],
        [Prior(Position, RandomUniformLocation()), Prior(Mass, UniformNoise(1, 2), entity_type=Ball)],
    )
    scenes = [draw(of, seed) for seed in range(400)]
    found = representativeness(scenes, of)
    assert found.keys() == {"Ball", "GolfBall"}
    assert found["Ball"].keys() == {"Position", "Mass"}
    assert found["Ball"]["Mass"] < 0.08
    few = representativeness(scenes[:5], of)
    assert few["Ball"]["Mass"] > found["Ball"]["Mass"]
    other = Initialization(of.numbers, [Prior(Position, RandomTopLocation()), Prior(Mass, UniformNoise(1.5, 2))])
    assert representativeness(scenes, other)["Ball"]["Mass"] == pytest.approx(0.5, abs=0.08)


def test_the_ks_statistic_of_samples_is_scipys() -> None:
    from scipy import stats

    samples = np.random.default_rng(0).normal(size=50)
    assert samples_to_noise(samples, GaussianNoise(0.2, 1)) == pytest.approx(
        stats.kstest(samples, stats.norm(0.2, 1).cdf).statistic
    )
    assert samples_to_noise([1, 1, 2], DiscreteRangeNoise(1, 2)) == pytest.approx(2 / 3 - 1 / 2)
    corner = samples_to_noise([(0.0, 0.0)], RandomUniformLocation())
    assert corner == pytest.approx(0.75)
