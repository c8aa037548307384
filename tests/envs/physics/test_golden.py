"""Single rules and single collisions, calculated by hand from the formulas, for both presets."""

from math import sqrt
from typing import Any

import pytest

from gumption.envs.physics.simulator import Preset, Simulator
from tests.physics_scenes import FREE, disc, scene, tile

BOTH = pytest.mark.parametrize("preset", ["fixed", "compat"])


def after(data: dict[str, Any], preset: Preset, n: int = 1) -> dict[str, dict[str, Any]]:
    sim = Simulator(data, preset=preset)
    sim.step(n)
    return sim.state()


@BOTH
def test_move(preset: Preset) -> None:
    """x = 0.1 + 0.5 * 0.01, y = -0.2 * 0.01."""
    state = after(scene(disc("a", 0.1, 0, 0.5, -0.2), **FREE), preset)
    assert state["a"]["Position"] == pytest.approx((0.105, -0.002), abs=1e-15)


@BOTH
def test_slower_than_min_velocity_is_no_motion(preset: Preset) -> None:
    state = after(scene(disc("a", 0.1, 0, 0.9e-4, 0), disc("b", -0.5, 0, 1.1e-4, 0), **FREE), preset)
    assert state["a"]["Position"] == (0.1, 0)
    assert state["b"]["Position"][0] == pytest.approx(-0.5 + 1.1e-6, abs=1e-15)


@BOTH
def test_velocity_changes_before_the_place(preset: Preset) -> None:
    """v = 0 + 3 * 0.01 = 0.03; x = 0.03 * 0.01 (semi-implicit Euler). Nothing aggregates, so that a stays."""
    state = after(scene(disc("a", Acceleration=[3, 0]), **FREE), preset)
    assert state["a"]["Velocity"] == pytest.approx((0.03, 0), abs=1e-15)
    assert state["a"]["Position"] == pytest.approx((0.0003, 0), abs=1e-15)
    assert state["a"]["Acceleration"] == (3, 0)


@BOTH
def test_the_speed_is_limited_and_keeps_its_direction(preset: Preset) -> None:
    """|(12, 9)| = 15, the most is 10: (8, 6)."""
    state = after(scene(disc("a", 0, 0, 12, 9), **FREE), preset)
    assert state["a"]["Velocity"] == pytest.approx((8, 6))


@BOTH
def test_electric_force(preset: Preset) -> None:
    """Source at 0 with charge 2, target at 0.5 with charge 0.3 and mass 1.5: a = 2 * 0.3 / 0.25 / 1.5 = 1.6; the source
    gets -2 * 0.3 / 0.25 / 2 = -1.2.
    """
    one = disc("a", Charge=2.0, Mass=2.0)
    two = disc("b", 0.5, 0, Charge=0.3, Mass=1.5)
    state = after(scene(one, two, **FREE | {"rules": ["lorentz_law"]}), preset)
    assert state["b"]["Acceleration"] == pytest.approx((1.6, 0))
    assert state["a"]["Acceleration"] == pytest.approx((-1.2, 0))


def test_magnetic_force() -> None:
    """b1 = 0.5, q2 = 2, m2 = 4, w = (0, 0.3), t(w) = (-0.3, 0), d = 0.4.

    compat: q2 |w| b1 t(w / |w|) / |w|^2 / m2 = 2 * 0.3 * 0.5 * (-1) / 0.09 / 4 = -0.8333
    fixed: q2 b1 t(w) / d^2 / m2 = 2 * 0.5 * (-0.3) / 0.16 / 4 = -0.46875
    """
    one = disc("a", Magnetism=0.5)
    two = disc("b", 0.4, 0, 0, 0.3, Charge=2.0, Mass=4.0)
    data = scene(one, two, **FREE | {"rules": ["lorentz_law"]})
    assert after(data, "compat")["b"]["Acceleration"] == pytest.approx((-0.3 / 0.36, 0))
    assert after(data, "fixed")["b"]["Acceleration"] == pytest.approx((-0.46875, 0))


def test_friction() -> None:
    """v = (0.6, -0.8), g = 10, mu = 0.05 + 0.4 on sand, m = 2.

    compat: a = -v / |v| * 4.5 / 2 = (-1.35, 1.8), v = (0.5865, -0.782)
    fixed: the speed falls by 4.5 * 0.01 = 0.045: v = 0.955 * (0.6, -0.8)
    """
    data = scene(disc("a", 0, 0, 0.6, -0.8, Mass=2.0), tile("sand", "SandTile"))
    compat, fixed = after(data, "compat"), after(data, "fixed")
    assert compat["a"]["Acceleration"] == pytest.approx((-1.35, 1.8))
    assert compat["a"]["Velocity"] == pytest.approx((0.5865, -0.782))
    assert fixed["a"]["Velocity"] == pytest.approx((0.573, -0.764))


@BOTH
def test_only_the_top_tile_counts(preset: Preset) -> None:
    """Magma on top of sand burns, mass 1 -> 0.9; its friction 0.1 counts, that of the sand (0.4) does not."""
    sand, magma = tile("sand", "SandTile", Order=1), tile("magma", "MagmaTile", Order=0)
    state = after(scene(disc("a", 0, 0, 1, 0), sand, magma), preset)
    assert state["a"]["Mass"] == pytest.approx(0.9)
    # compat: a = -(0.05 + 0.1) * 10 / 1; fixed: the speed falls by the same 1.5 * 0.01
    assert state["a"]["Velocity"] == pytest.approx((0.985, 0))


@BOTH
def test_heat_burns_down_to_death(preset: Preset) -> None:
    """On fire (heat 0.5) the mass falls by 5 % a step: 0.11 -> 0.1045 -> 0.099275 < 0.1, dead."""
    data = scene(disc("a", 0.1, 0, Mass=0.11), tile("fire", "FireTile"))
    assert after(data, preset)["a"]["Mass"] == pytest.approx(0.1045)
    state = after(data, preset, 3)["a"]
    assert (state["Mass"], state["Alive"], state["Visible"]) == (0.0, False, False)


@BOTH
def test_what_dies_stops_whatever_the_other_rules(preset: Preset) -> None:
    state = after(scene(disc("a", 0, 0, 1, 0, Mass=0.05), **FREE | {"rules": ["move", "kill_condition"]}), preset)["a"]
    assert (state["Alive"], state["Velocity"], state["Position"]) == (False, (0, 0), (0, 0))


@BOTH
def test_what_cannot_move_does_not_burn_nor_fall(preset: Preset) -> None:
    fixed_in_place = disc("a", Mobile=False), disc("b", 0.5, 0.5, Mobile=False)
    state = after(scene(*fixed_in_place, tile("fire", "FireTile"), tile("hole", "Hole", 0.5, 0.5, size=0.6)), preset)
    assert (state["a"]["Mass"], state["b"]["Done"]) == (1.0, False)


@BOTH
def test_a_round_hole_takes_what_lies_in_it_as_a_whole(preset: Preset) -> None:
    """Hole radius 0.25, disc radius 0.1: it falls at distances up to 0.15."""
    hole = tile("hole", "Hole", size=0.5)
    rules = {"rules": ["consume"]}
    inside = after(scene(disc("a", 0.1499, 0), hole, **rules), preset)["a"]
    outside = after(scene(disc("a", 0.1501, 0), hole, **rules), preset)["a"]
    assert [inside[name] for name in ("Done", "Visible", "Mobile", "Alive")] == [True, False, False, True]
    assert [outside[name] for name in ("Done", "Visible", "Mobile", "Alive")] == [False, True, True, True]


@BOTH
def test_a_central_collision(preset: Preset) -> None:
    """m1 = 1 with v = 2 meets m2 = 3 at rest: v1' = 2 (1 - 3) / 4 = -1, v2' = 2 * 2 * 1 / 4 = 1. Gap 0.01, contact
    after 0.005 s; then 0.005 s more: x1 = 0.01 - 0.005, x2 = 0.21 + 0.005.
    """
    state = after(scene(disc("a", 0, 0, 2, 0), disc("b", 0.21, 0, Mass=3.0), **FREE), preset)
    assert state["a"]["Velocity"] == pytest.approx((-1, 0), abs=1e-6)
    assert state["b"]["Velocity"] == pytest.approx((1, 0), abs=1e-6)
    assert state["a"]["Position"] == pytest.approx((0.005, 0), abs=1e-6)
    assert state["b"]["Position"] == pytest.approx((0.215, 0), abs=1e-6)


@BOTH
def test_an_oblique_collision(preset: Preset) -> None:
    """The centres stand at 45 degrees at the contact, masses are equal: the first gives its normal part (1, 1) / 2 * v
    away, v1 = (1, 0) -> (0.5, -0.5), v2 = (0.5, 0.5).
    """
    h = 0.2 / sqrt(2)
    state = after(scene(disc("a", -0.001, 0, 1, 0), disc("b", h, h), **FREE), preset)
    assert state["a"]["Velocity"] == pytest.approx((0.5, -0.5), abs=1e-5)
    assert state["b"]["Velocity"] == pytest.approx((0.5, 0.5), abs=1e-5)


@BOTH
def test_what_cannot_move_reflects(preset: Preset) -> None:
    """The mass of the immobile one counts as infinite (compat: 1e8)."""
    rules = ["move", "stop_condition", "accelerate"]
    state = after(scene(disc("a", 0, 0, 2, 0), disc("b", 0.21, 0, Mobile=False), **FREE | {"rules": rules}), preset)
    assert state["a"]["Velocity"] == pytest.approx((-2, 0), abs=1e-6)
    assert state["b"]["Velocity"] == pytest.approx((0, 0), abs=1e-7)


def test_stored_energy() -> None:
    """A bumper of 0.5 makes 1 + 0.5 times the speed: 2 -> 3, reflected; the energy is used up.

    compat forgets the energy of both where the FIRST of the two has InfiniteEnergy (fault 32), and of none else.
    """
    ball, bumper = disc("a", 0, 0, 2, 0), disc("b", 0.21, 0, type="Bumper", StoredEnergy=0.5)
    data = scene(ball, bumper, **FREE)
    fixed, compat = after(data, "fixed"), after(data, "compat")
    assert (fixed["a"]["Velocity"], fixed["b"]["StoredEnergy"]) == (pytest.approx((-3, 0)), 0.0)
    assert (compat["a"]["Velocity"], compat["b"]["StoredEnergy"]) == (pytest.approx((-3, 0), abs=1e-6), 0.5)
    bumper["factors"]["InfiniteEnergy"] = True
    assert after(data, "fixed")["b"]["StoredEnergy"] == 0.5
    ball["factors"]["InfiniteEnergy"] = True
    assert after(data, "compat")["b"]["StoredEnergy"] == 0.0


@BOTH
def test_a_wall_damps_both_components_and_turns_one(preset: Preset) -> None:
    """(2, 1) -> 0.975 * (-2, 1). Contact after 0.0025 s; the rest, 0.0075 s, goes back: x = 0.9 - 0.0075 * 1.95."""
    state = after(scene(disc("a", 0.895, 0, 2, 1), **FREE | {"wall_damping": 0.025}), preset)
    assert state["a"]["Velocity"] == pytest.approx((-1.95, 0.975), abs=1e-6)
    assert state["a"]["Position"] == pytest.approx((0.9 - 0.0075 * 1.95, 0.0025 + 0.0075 * 0.975), abs=1e-5)


@BOTH
def test_a_corner_turns_both(preset: Preset) -> None:
    """compat damps once and turns both; fixed meets two walls: damped twice."""
    state = after(scene(disc("a", 0.895, 0.895, 2, 2), **FREE | {"wall_damping": 0.025}), preset)
    kept = 0.975 if preset == "compat" else 0.975**2
    assert state["a"]["Velocity"] == pytest.approx((-2 * kept, -2 * kept), abs=1e-5)


def test_restitution_takes_from_the_normal_part() -> None:
    """Equal masses, restitution 0.5: v1' = (1 - 0.5) / 2 * 2 = 0.5, v2' = 1.5."""
    sim = FREE | {"parameters": {"Restitution": 0.5}}
    state = after(scene(disc("a", 0, 0, 2, 0.3), disc("b", 0.2, 0), **sim), "fixed")
    assert state["a"]["Velocity"] == pytest.approx((0.5, 0.3))
    assert state["b"]["Velocity"] == pytest.approx((1.5, 0))


def test_framerate_does_not_change_what_is_burned_in_a_second() -> None:
    """fixed: 0.9 in each hundredth of a second; compat: in each step (fault 30)."""
    entities = disc("a", Mass=2.0), tile("magma", "MagmaTile")
    for rate in (50, 200):
        compat = after(scene(*entities, framerate=rate), "compat", 2 if rate == 200 else 1)["a"]["Mass"]
        assert compat == pytest.approx(2 * (0.81 if rate == 200 else 0.9))
        steps = rate // 50
        assert after(scene(*entities, framerate=rate), "fixed", steps)["a"]["Mass"] == pytest.approx(2 * 0.81)
