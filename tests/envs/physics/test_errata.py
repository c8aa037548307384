"""Each fault of the 2022 code: the preset "compat" has it, "fixed" has not."""

# ruff: noqa: UP006, UP035  (the paper's hints)

from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.entities import FireTile, MagmaTile
from gumption.envs.physics.factors import Heat, Size
from gumption.envs.physics.rules import SetFactor, read_rule
from gumption.envs.physics.simulator import Preset, Simulator
from tests.physics_scenes import FREE, disc, scene, tile


def ran(data: dict[str, Any], preset: Preset, n: int = 1) -> dict[str, dict[str, Any]]:
    sim = Simulator(data, preset=preset)
    sim.step(n)
    return sim.state()


def test_light_things_on_magma() -> None:
    """Fault 9: there, burn and kill cannot be compared. Here what has less than MinMass does not burn on."""
    data = scene(disc("a", Mass=0.05), tile("magma", "MagmaTile"))
    with pytest.raises(InputError, match="rules apply_burn and kill_condition set Mass of 'a' to different values"):
        ran(data, "compat")
    assert ran(data, "fixed")["a"]["Alive"] is False


def three(one: Tuple[Heat]) -> SetFactor[Heat]:
    return SetFactor(one[0], 3.0)


def four(one: Tuple[Heat]) -> SetFactor[Heat]:
    return SetFactor(one[0], 4.0)


def test_types_below_types() -> None:
    """Fault 10: there, FireTile is no more specific than its parent MagmaTile."""
    rules = [read_rule(three, entity_type=FireTile), read_rule(four, entity_type=MagmaTile)]
    data = scene(tile("f", "FireTile"), rules=rules)
    with pytest.raises(InputError, match="the rules three and four set Heat of 'f' to different values"):
        ran(data, "compat")
    assert ran(data, "fixed")["f"]["Heat"] == 3.0


def test_friction_on_what_is_no_object() -> None:
    """Fault 13: there, it raises."""
    ghost = {"id": "g", "type": "Entity", "factors": {"Mass": 1.0, "Velocity": [1, 0], "Acceleration": [0, 0]}}
    with pytest.raises(InputError, match="apply_friction asks what 'g' lies on, which is no Object"):
        ran(scene(ghost), "compat")
    assert ran(scene(ghost), "fixed")["g"]["Velocity"] == (1, 0)


@pytest.mark.slow
def test_polygon_holes() -> None:
    """Fault 22: there, nothing ever falls into one."""
    data = scene(disc("a"), tile("hole", "Hole", side=0.5))
    assert (ran(data, "compat", 5)["a"]["Done"], ran(data, "fixed")["a"]["Done"]) == (False, True)
    beside = scene(disc("a", 0.16, 0), tile("hole", "Hole", side=0.5))
    assert ran(beside, "fixed")["a"]["Done"] is False


def wide(one: Tuple[Size, Heat]) -> SetFactor[Size]:
    return SetFactor(one[0], 1.0)


@pytest.mark.slow
def test_the_size_of_polygons() -> None:
    """Fault 24: there, a larger Size leaves a polygon as it is."""
    data = scene(disc("a", 0.3, 0), tile("fire", "FireTile", side=0.4), rules=[wide, "apply_burn"])
    assert (ran(data, "compat", 2)["a"]["Mass"], ran(data, "fixed", 2)["a"]["Mass"]) == (1.0, pytest.approx(0.95))


def test_the_magnetic_force_falls_with_the_distance() -> None:
    """Fault 27: there, at a hundredth of the speed it is a hundred times as strong."""

    def force(speed: float, distance: float, preset: Preset) -> float:
        one, two = disc("a", Magnetism=1.0, size=0.1), disc("b", distance, 0, 0, speed, Charge=1.0, size=0.1)
        return float(np.hypot(*ran(scene(one, two, rules=["lorentz_law"]), preset)["b"]["Acceleration"]))

    assert force(0.01, 0.5, "compat") == pytest.approx(100 * force(1.0, 0.5, "compat"))
    assert force(0.01, 0.5, "fixed") == pytest.approx(0.01 * force(1.0, 0.5, "fixed"))
    assert force(1.0, 0.25, "fixed") == pytest.approx(4 * force(1.0, 0.5, "fixed"))


def test_friction_does_not_depend_on_the_mass() -> None:
    """Fault 28: there, 0.5 / m."""
    speeds = {
        preset: [1 - ran(scene(disc("a", 0, 0, 1, 0, Mass=m)), preset)["a"]["Velocity"][0] for m in (0.5, 2.0)]
        for preset in ("compat", "fixed")
    }
    assert speeds["compat"] == [pytest.approx(0.01), pytest.approx(0.0025)]
    assert speeds["fixed"] == [pytest.approx(0.005), pytest.approx(0.005)]


def test_friction_brings_to_rest() -> None:
    """Fault 29: there, the velocity 0.002 flips to -0.003 and back to 0.002, for ever."""
    data = scene(disc("a", 0, 0, 0.002, 0))
    assert [ran(data, "compat", n)["a"]["Velocity"][0] for n in (1, 2, 3)] == pytest.approx([-0.003, 0.002, -0.003])
    assert ran(data, "fixed", 1)["a"]["Velocity"] == (0.0, 0.0)


def test_acceleration_does_not_outlive_its_cause() -> None:
    """Fault 29: there, with no velocity friction says nothing, and the old acceleration stays."""
    data = scene(disc("a", Acceleration=[-1.0, 0]))
    assert ran(data, "compat")["a"]["Velocity"][0] == pytest.approx(-0.01)
    one, two = disc("a", Charge=0.0, Acceleration=[-1.0, 0]), disc("b", 0.5, 0)
    assert ran(scene(one, two), "fixed")["a"]["Velocity"] == (0, 0)


def test_the_dead_have_no_field() -> None:
    """Fault 31: there, they have."""
    data = scene(disc("a", Charge=1.0, Alive=False), disc("b", 0.5, 0, Charge=1.0))
    assert ran(data, "compat")["b"]["Acceleration"][0] == pytest.approx(4.0)
    assert ran(data, "fixed")["b"]["Acceleration"] == (0, 0)


@pytest.mark.parametrize(("order", "left"), [((0, 1), 0.0), ((1, 0), 0.5)])
def test_infinite_energy_depends_on_the_order(order: tuple[int, int], left: float) -> None:
    """Fault 32: there, energy is lost where the first of the two has the flag."""
    ball = disc("a", 0, 0, 2, 0, InfiniteEnergy=True, Order=order[0])
    data = scene(ball, disc("b", 0.21, 0, StoredEnergy=0.5, Order=order[1]), **FREE)
    assert ran(data, "compat")["b"]["StoredEnergy"] == left
    assert ran(data, "fixed")["b"]["StoredEnergy"] == 0.0


def test_bumpers_keep_to_the_highest_speed() -> None:
    """Fault 34: there, 10 becomes 20 within a step."""
    bumper = disc("b", 0.25, 0, type="Bumper", InfiniteEnergy=True)
    data = scene(disc("a", 0, 0, 10, 0), bumper, **FREE)
    assert np.hypot(*ran(data, "compat")["a"]["Velocity"]) == pytest.approx(20, rel=1e-6)
    assert np.hypot(*ran(data, "fixed")["a"]["Velocity"]) == pytest.approx(10)


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ([disc("a", 0, 0, 0.1, 0), disc("b", 0.1, 0)], "rollback out of bounds"),
        ([disc("a", 0.95, 0)], "divides by zero"),
        ([disc("a", 0, 0, 1, 0), disc("b", 0.01, 0)], "divides by zero"),
        ([disc("a", 0, 0, 0.5e-4, 0), disc("b", 0.2, 0, -0.5e-4, 0)], "never ends"),
        ([disc("a", 0, 0, 1, 0, Mass=0.0), disc("b", 0.205, 0, Mass=0.0)], "momentum and energy are not conserved"),
    ],
)
def test_overlaps(entities: list[Any], message: str) -> None:
    """Fault 35: there, they raise or never end; here discs are pushed apart."""
    with pytest.raises(InputError, match=message):
        ran(scene(*entities, **FREE), "compat", 2)
    state = ran(scene(*entities, **FREE), "fixed", 5)
    assert all(max(map(abs, one["Position"])) <= 0.9 for one in state.values())
    if len(entities) == 2 and entities[0]["factors"].get("Mass") != 0.0:
        apart = np.subtract(state["a"]["Position"], state["b"]["Position"])
        assert np.hypot(*apart) >= 0.2 * (1 - 1e-8)


def test_charges_in_one_place() -> None:
    """There, a unit vector of length zero raises; here they have no force on one another."""
    data = scene(disc("a", Charge=1.0), disc("b", Charge=1.0))
    with pytest.raises(InputError, match="scene 0: a rule gives 'a' a Acceleration that is not finite"):
        ran(data, "compat")
    state = ran(data, "fixed")
    assert state["a"]["Position"][0] == pytest.approx(-0.1)


def test_fast_small_discs_do_not_tunnel() -> None:
    """Fault 36: there, collisions are seen at the ends of steps alone."""
    data = scene(disc("a", 0, 0, 9, 0, size=0.02), disc("b", 0.05, 0, size=0.02), **FREE)
    assert ran(data, "compat")["b"]["Velocity"] == (0, 0)
    assert ran(data, "fixed")["b"]["Velocity"] == pytest.approx((9, 0))


@pytest.mark.parametrize("preset", ["compat", "fixed"])
@pytest.mark.parametrize(("orders", "mass"), [((0, 0), 0.95), ((1, 0), 0.9), ((0, 1), 0.95)])
def test_the_topmost_tile_is_the_first_by_order_then_insertion(
    preset: Preset, orders: tuple[int, int], mass: float
) -> None:
    """Fire burns 5 %, magma 10 %."""
    tiles = tile("fire", "FireTile", Order=orders[0]), tile("magma", "MagmaTile", Order=orders[1])
    assert ran(scene(disc("a"), *tiles), preset)["a"]["Mass"] == pytest.approx(mass)
