"""Numbers outside the bounds of their factor, or not finite, are told wherever a person gives them."""

import json
from collections.abc import Callable
from math import cos, inf, nan, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.entities import TYPES, Object
from gumption.envs.physics.factors import Factor, Mass, Parameter
from gumption.envs.physics.initialization import Initialization, Prior
from gumption.envs.physics.noise import GaussianNoise
from gumption.envs.physics.shapes import polygon
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import disc, scene, tile


class Humidity(Factor, base="float", default=0.5, least=0, most=1):
    """Of sponges."""


class Colour(Factor, base="vector", default=(0.5, 0.5), most=1):
    """Of sponges."""


class Rank(Factor, base="int", least=1, default=1):
    """Of sponges."""


class Wetness(Humidity, most=0.6):
    """Of towels."""


class Pressure(Parameter, default=1.0, least=0.5):
    """Of the air."""


class Sponge(Object):
    factors = {Humidity: None, Colour: None, Rank: None}  # noqa: RUF012


def sponge(**factors: Any) -> dict[str, Any]:
    return {"id": "s", "type": "Sponge", "factors": factors}


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (disc("a", Mass=-1.0), "Ball 'a': Mass is -1.0; it is a number, at least 0"),
        (disc("a", Mass=nan), "Ball 'a': Mass is nan; it is a finite number, at least 0"),
        (disc("a", Mass=1e300), r"Ball 'a': Mass is 1e\+300; it is not beyond 1e\+50"),
        (disc("a", Density=-0.1), "Ball 'a': Density is -0.1; it is a number, at least 0"),
        (disc("a", Charge=inf), "Ball 'a': Charge is inf; it is a finite number"),
        (disc("a", Charge=-1e60), r"Ball 'a': Charge is -1e\+60; it is not beyond 1e\+50"),
        (disc("a", Magnetism=-inf), "Ball 'a': Magnetism is -inf; it is a finite number"),
        (disc("a", StoredEnergy=nan), "Ball 'a': StoredEnergy is nan; it is a finite number"),
        (disc("a", InfiniteEnergy=1), "Ball 'a': InfiniteEnergy is 1; it is True or False"),
        (disc("a", Order=2**63), "Ball 'a': Order is 9223372036854775808; it is not beyond 2\\*\\*63"),
        (disc("a", Order=-(2**63)), "Ball 'a': Order is -9223372036854775808; it is not beyond 2\\*\\*63"),
        (disc("a", nan), r"Ball 'a': Position is \[nan, 0.0\]; each of the two is a finite number"),
        (disc("a", vx=1e200), r"Ball 'a': Velocity is \[1e\+200, 0.0\]; each of the two is not beyond 1e\+50"),
        (
            disc("a", Acceleration=[0, -inf]),
            r"Ball 'a': Acceleration is \[0, -inf\]; each of the two is a finite number",
        ),
        (disc("a", Acceleration=3), "Ball 'a': Acceleration is 3; it is a pair of numbers"),
        (disc("a", size=nan), "Ball 'a': the size of a circle is nan; it is a finite number, at least 1e-12"),
        (disc("a", size=1e300), r"Ball 'a': the size of a circle is 1e\+300; it is not beyond 1e\+50"),
        (disc("a", size=10**400), "Ball 'a': the size of a circle is a whole number of 1329 bits; it is a number"),
        (tile("t", "Tile", Size=nan), "Tile 't': Size is nan; it is a finite number, at least 1e-12"),
        (tile("t", "Tile", Friction=-1.0), "Tile 't': Friction is -1.0; it is a number, at least 0"),
        (tile("t", "Tile", Friction=nan), "Tile 't': Friction is nan; it is a finite number, at least 0"),
        (tile("t", "Tile", Heat=-1.0), "Tile 't': Heat is -1.0; it is a number, at least 0"),
        (
            {"id": "e", "type": "Entity", "factors": {"Mass": -1.0}},
            "Entity 'e': Mass is -1.0; it is a number, at least",
        ),
        ({"id": 3, "type": "Ball"}, "the id of entity 0 is 3; it is text"),
        (sponge(Humidity=1.5), "Sponge 's': Humidity is 1.5; it is a number from 0 to 1"),
        (sponge(Wetness=0.7), "Sponge 's': Wetness is 0.7; it is a number from 0 to 0.6"),
        (sponge(Colour=[0.2, 1.2]), r"Sponge 's': Colour is \[0.2, 1.2\]; each of the two is a number, at most 1"),
        (sponge(Rank=0), "Sponge 's': Rank is 0; it is a whole number, at least 1"),
    ],
)
def test_numbers_of_entities(entity: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^the scene: {message}"):
        Simulator(scene(entity))
    with pytest.raises(InputError, match=f"^scene 1: {message}"):
        Simulator([scene(), scene(entity)])


@pytest.mark.parametrize(
    ("sim", "message"),
    [
        ({"gravity": nan}, "gravity is nan; it is a finite number"),
        ({"gravity": 1e300}, r"gravity is 1e\+300; it is not beyond 1e\+50"),
        ({"boundaries": [nan, 1]}, r"boundaries is \[nan, 1\]; it is a tuple of a finite number, a finite number"),
        ({"boundaries": [-inf, inf]}, r"boundaries is \[-inf, inf\]; it is a tuple of a finite number"),
        (
            {"boundaries": [-1e300, 1]},
            r"boundaries are \(-1e\+300, 1.0\); they are 1e-12 apart at least, and not beyond",
        ),
        ({"boundaries": [0, 1e-300]}, r"boundaries are \(0.0, 1e-300\); they are 1e-12 apart at least"),
        ({"parameters": {"Restitution": nan}}, "parameters is {'Restitution': nan}; it is a dict of text to a finite"),
        ({"parameters": {"Restitution": -1}}, "parameters: Restitution is -1.*; it is a number, at least 0"),
        ({"parameters": {"Pressure": 0.2}}, "parameters: Pressure is 0.2; it is a number, at least 0.5"),
    ],
)
def test_settings_of_scenes(sim: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^scene 1: sim: {message}"):
        Simulator([scene(), scene(**sim)])


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ([[0, 0], [1, 1], [1, 0], [0, 1]], "the sides of the polygon cross or repeat; its convex hull is"),
        ([[cos(0.8 * pi * k), sin(0.8 * pi * k)] for k in range(5)], "the sides of the polygon cross or repeat"),
        ([[0, 0], [1, 0], [1, 1]] * 2, "the sides of the polygon cross or repeat"),
        ([[0, 0], [1, 0], [0, 0], [1, 1]], "the sides of the polygon cross or repeat"),
        ([[0, 0], [nan, 0], [1, 1]], "they are 3 to 1,000 pairs of finite numbers"),
        ([[0, 0], [1e300, 0], [0, 1e300]], r"they are 3 to 1,000 pairs of finite numbers, none beyond 1e\+50"),
        ([[0, 0], [10**400, 0], [0, 1]], "they are 3 to 1,000 pairs of finite numbers"),
        ([[0, 0], [1e-300, 0], [0, 1e-300]], "the polygon is 1e-300 wide; it is 1e-12 wide at least"),
        ([[0, 0], [1, 0], [1, 1e-300], [0, 1e-300]], "the vertices lie on one line"),
        ([[0, 0], [1, 0], [1, 1], [-1e-200, 1e-200]], "two corners of the polygon are 1e-200 apart; take one of them"),
    ],
)
def test_polygons_that_cannot_be(vertices: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^the polygon: .*{message}"):
        polygon(vertices)


def test_polygons_that_can_be() -> None:
    """In either order around, with a corner named twice."""
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert polygon(square)["vertices"] == square
    assert polygon(square[::-1])["vertices"] == square
    assert len(polygon([[0, 0], *square])["vertices"]) == 5


@pytest.mark.parametrize(
    ("target", "value", "message"),
    [
        ("Mass", -1.0, "the prior of Mass: Mass is -1.0; it is a number, at least 0"),
        ("Size", 0.0, "the prior of Size: Size is 0.0; it is a number, at least 1e-12"),
        ("Velocity", [nan, 0], r"the prior of Velocity: Velocity is \[nan, 0\]; each of the two is a finite number"),
        (
            "Mass",
            {"noise": "UniformNoise", "low": -1, "high": 1},
            r"the prior of Mass: UniformNoise\(low=-1, high=1\) draws what is no Mass with the probability 0.5; "
            r"a Mass is a number, at least 0, and not beyond 1e\+50: clip the noise, or take another",
        ),
        ("Mass", {"noise": "GaussianNoise", "mean": 1, "std": 1}, "draws what is no Mass with the probability 0.16"),
        ("Mass", {"noise": "Choice", "values": [-1, 1]}, "draws what is no Mass with the probability 0.5"),
        ("Mass", {"noise": "Choice", "values": [True, False]}, "draws something else than numbers"),
        ("Charge", {"noise": "UniformNoise", "low": -1.7e308, "high": 1.7e308}, "draws what is no Charge"),
        ("Velocity", {"noise": "UniformNoise2D", "low": [0, 0], "high": [1, 1e300]}, "draws what is no Velocity"),
        ("Humidity", {"noise": "UniformNoise", "low": 0, "high": 2}, "no Humidity with the probability 0.5"),
        ("Shape", {"noise": "RandomConvexHull", "size": nan}, "size is nan; it is a finite number above 0"),
    ],
)
def test_priors(target: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Initialization(numbers=[["Sponge", 1]], priors=[{"target": target, "value": value}])


def test_settings_that_are_drawn() -> None:
    noise = {"noise": "UniformNoise", "low": -1, "high": 1}
    with pytest.raises(
        InputError, match=r"sim: min_mass: UniformNoise.* draws what is no MinMass with the probability 0.5"
    ):
        Initialization(numbers=[["Ball", 1]], sim={"min_mass": noise})


def test_what_is_very_rarely_outside_can_be_drawn() -> None:
    assert Prior(Mass, GaussianNoise(1.0, 0.1)).value == GaussianNoise(1.0, 0.1)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("push", [[inf, 0], [0, nan], [1e308, 0], [10**400, 0], ["1", "2"], [True, False], [1j, 0]])
def test_pushes(push: list[Any], device: str | None) -> None:
    sim = Simulator(scene(disc("ball")), device=device)
    for change in (sim.add_force, sim.add_velocity):
        with pytest.raises(
            InputError, match=r"no pair of finite numbers, and no array of 1 pairs; no .* beyond 1e\+50"
        ):
            change("ball", push)
    assert sim.state()["ball"]["Velocity"] == (0, 0)


def test_a_force_on_next_to_no_mass() -> None:
    sim = Simulator(scene(disc("ball", Mass=1e-40)))
    with pytest.raises(InputError, match=r"the force \[1e\+20, 0\] is too large for 'ball', whose mass is 1e-40"):
        sim.add_force("ball", [1e20, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept["scenes"][0]["entities"][0]["factors"].update(Mass=nan), "the scene: Ball 'a': Mass is nan"),
        (lambda kept: kept["scenes"][0]["entities"][0]["factors"].update(Mass=-1), "the scene: Ball 'a': Mass is -1"),
        (lambda kept: kept["scenes"][0]["sim"].update(gravity=nan), "the scene: sim: gravity is nan"),
        (lambda kept: kept.update(time=[nan]), r"time is \[nan\]; it is a tuple, each a finite number, at least 0"),
        (lambda kept: kept.update(time=[-1.0]), r"time is \[-1.0\]; it is a tuple, each a number, at least 0"),
    ],
)
def test_saved_simulators(change: Callable[[Any], None], message: str, tmp_path: Path) -> None:
    Simulator(scene(disc("a"))).save(tmp_path / "kept.json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    change(kept)
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    with pytest.raises(InputError, match=f"kept.json: {message}"):
        Simulator.load(tmp_path / "kept.json")


def test_defaults_of_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, "Leaking", Object)  # afterwards the type is forgotten
    for value, told in ((nan, "a finite number, at least 0"), (-1.0, "a number, at least 0")):
        type("Leaking", (Object,), {"factors": {Mass: value}})
        with pytest.raises(InputError, match=f"the entity type Leaking: Mass is {value}; it is {told}"):
            Simulator(scene({"id": "a", "type": "Leaking"}))


@pytest.mark.parametrize(
    ("parents", "given", "message"),
    [
        ((Factor,), {"base": "float", "default": nan}, "default is nan; it is a finite number"),
        ((Factor,), {"base": "float", "default": "x"}, "default is 'x'; it is a number"),
        ((Factor,), {"base": "float", "least": 1}, "default is 0.0; it is a number, at least 1"),
        ((Factor,), {"base": "float", "least": 2, "most": 1}, "most is 1; it is a number, at least 2"),
        ((Factor,), {"base": "float", "least": nan}, "least is nan; it is a finite number"),
        ((Factor,), {"base": "vector", "default": (0, inf)}, "default is inf; it is a finite number"),
        ((Factor,), {"base": "int", "least": 0.5}, "least is 0.5; it is a whole number"),
        ((Factor,), {"base": "text", "least": 0}, "has bounds, and its base 'text' is no number"),
        ((Mass,), {"least": -1}, "least is -1; it is a number, at least 0"),
        ((Humidity,), {"most": 2}, "most is 2; it is a number from 0 to 1"),
        ((Parameter,), {"default": nan}, "default is nan; it is a finite number"),
        ((Parameter,), {"least": 1}, "default is 0.0; it is a number, at least 1"),
    ],
)
def test_bounds_that_cannot_be(parents: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"the factor Odd:? {message}"):
        type("Odd", parents, {}, **given)


def test_bounds_are_numbers_of_numpy_too() -> None:
    class Coarse(Factor, base="float", default=np.float32(0.5), least=np.float64(0.25)):
        pass

    assert (Coarse.default, Coarse.least) == (0.5, 0.25)
