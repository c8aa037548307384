"""A person's own factors, types, parameters and rules; how outputs combine; the paper's listings as they stand."""

# ruff: noqa: RUF012, UP006, UP035  (the paper's hints, and types that are declared by a dict)

import warnings
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.envs.physics.conditions import And, IsEqual, IsOn, Or, Overlaps
from gumption.envs.physics.entities import Entity, FireTile, MagmaTile, Object, Tile
from gumption.envs.physics.factors import (
    Acceleration,
    Charge,
    Factor,
    Friction,
    Gravity,
    Heat,
    Magnetism,
    Mass,
    Parameter,
    Position,
    Velocity,
)
from gumption.envs.physics.rules import Aggregate, Differential, SetFactor, read_rule, rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene, tile


class Sail(Factor, base="float", default=1.0):
    pass


class Temper(Factor, base="float"):
    pass


class HeavyMass(Mass):
    pass


class WindSpeed(Parameter, default=2.0):
    pass


class Boat(Object):
    factors = {Sail: 0.5}


def wind(one: Tuple[Velocity, Sail], speed: WindSpeed) -> Differential[Velocity]:
    v, sail = one
    return Differential(v, np.where([True, False], sail * speed, 0.0))


def spring(one: Tuple[Position], two: Tuple[Position, Acceleration, Mass]) -> Aggregate[Acceleration]:
    (x1,), (x2, a, m) = one, two
    return Aggregate(a, 3.0 * (x1 - x2) / m)


def test_wind_blows_boats() -> None:
    """dv = 0.5 * 4 * 0.01 on a boat of sail 0.5; balls have no sail."""
    data = scene(disc("a", type="Boat"), disc("b", 0.5, 0), **FREE | {"rules": [wind], "parameters": {"WindSpeed": 4}})
    sim = Simulator(data)
    sim.step()
    assert sim.state()["a"]["Velocity"] == pytest.approx((0.02, 0))
    assert sim.state()["b"]["Velocity"] == (0, 0)


def test_a_spring_swings() -> None:
    """Two masses 1 and 3, spring constant 3, at a distance of 0.6: a = 1.8 and -0.6; their middle stays."""
    data = scene(disc("a", -0.3, 0), disc("b", 0.3, 0, Mass=3.0), **FREE | {"rules": ["move", spring, "accelerate"]})
    sim = Simulator(data)
    sim.step()
    state = sim.state()
    assert state["a"]["Acceleration"] == pytest.approx((1.8, 0))
    assert state["b"]["Acceleration"] == pytest.approx((-0.6, 0))
    sim.step(9)
    state = sim.state()
    assert state["a"]["Position"][0] + 3 * state["b"]["Position"][0] == pytest.approx(0.6)


def grow(temper: Temper, mass: Mass) -> Differential[Temper]:
    return Differential(temper, mass)


def test_a_new_factor_changes_and_in_the_2022_code_it_does_not() -> None:
    """Fault 7."""

    class Angry(Object):
        factors = {Temper: 0.0}

    data = scene(disc("a", type="Angry", Mass=3.0), **FREE | {"rules": [grow]})
    values = []
    for preset in ("fixed", "compat"):
        sim = Simulator(data, preset=preset)  # pyright: ignore[reportArgumentType]
        sim.step(2)
        values.append(sim.state()["a"]["Temper"])
    assert values == [pytest.approx(0.06), 0.0]


def push_mass(one: Tuple[Mass, Velocity]) -> Tuple[Differential[Mass], Differential[Velocity]]:
    m, v = one
    return Differential(m, 1.0), Differential(v, [1.0, 0.0])


def test_two_outputs_count_once_and_in_the_2022_code_twice() -> None:
    """Fault 6: in a step of 0.01 both grow by 0.01; in compat by 0.02, once for each group."""
    data = scene(disc("a"), **FREE | {"rules": [push_mass]})
    for preset, change in (("fixed", 0.01), ("compat", 0.02)):
        sim = Simulator(data, preset=preset)  # pyright: ignore[reportArgumentType]
        sim.step()
        state = sim.state()["a"]
        assert (state["Mass"], state["Velocity"]) == (pytest.approx(1 + change), pytest.approx((change, 0)))


def test_a_subclass_of_a_factor_matches_and_in_the_2022_code_it_does_not() -> None:
    """Fault 8: magma burns a HeavyMass of 2 to 1.8."""
    ball = disc("a", HeavyMass=2.0)
    data = scene(ball, tile("magma", "MagmaTile"), rules=["apply_burn"])
    values = []
    for preset in ("fixed", "compat"):
        sim = Simulator(data, preset=preset)  # pyright: ignore[reportArgumentType]
        sim.step()
        values.append(sim.state()["a"]["HeavyMass"])
    assert values == [pytest.approx(1.8), 2.0]


def a_rule_for_the_subclass_leaves_others(mass: HeavyMass) -> SetFactor[HeavyMass]:
    return SetFactor(mass, 7.0)


def test_a_rule_for_a_subclass_leaves_the_parent() -> None:
    data = scene(disc("a", HeavyMass=2.0), disc("b", 0.5, 0), rules=[a_rule_for_the_subclass_leaves_others])
    sim = Simulator(data)
    sim.step()
    assert (sim.state()["a"]["HeavyMass"], sim.state()["b"]["Mass"]) == (7.0, 1.0)


def to_two(mass: Mass) -> SetFactor[Mass]:
    return SetFactor(mass, 2.0)


def add_five(mass: Mass) -> Aggregate[Mass]:
    return Aggregate(mass, 5.0)


def add_one(mass: Mass) -> Aggregate[Mass]:
    return Aggregate(mass, 1.0)


def grow_by_ten(mass: Mass) -> Differential[Mass]:
    return Differential(mass, 10.0)


def grow_by_one(mass: Mass) -> Differential[Mass]:
    return Differential(mass, 1.0)


@pytest.mark.parametrize("preset", ["fixed", "compat"])
@pytest.mark.parametrize(
    ("rules", "mass"),
    [
        ([add_five], 5.0),
        ([add_five, add_one], 6.0),
        ([grow_by_ten, grow_by_one], 1.11),
        ([grow_by_ten, add_five], 5.0),
        ([to_two, add_five], 2.0),
        ([add_five, grow_by_one, to_two], 2.0),
    ],
)
def test_how_outputs_combine(rules: list[Any], mass: float, preset: Any) -> None:
    sim = Simulator(scene(disc("a"), rules=rules), preset=preset)
    sim.step()
    assert sim.state()["a"]["Mass"] == pytest.approx(mass)


def heavy_ball(one: Tuple[Mass]) -> SetFactor[Mass]:
    (mass,) = one
    return SetFactor(mass, 9.0)


@pytest.mark.parametrize("preset", ["fixed", "compat"])
def test_the_more_specific_setting_wins(preset: Any) -> None:
    for_golf = read_rule(heavy_ball, relation=IsEqual(Charge, 1.0))
    for order in ([for_golf, to_two], [to_two, for_golf]):
        sim = Simulator(scene(disc("a", type="GolfBall"), disc("b", 0.5, 0), rules=order), preset=preset)
        sim.step()
        assert (sim.state()["a"]["Mass"], sim.state()["b"]["Mass"]) == (9.0, 2.0)


def label(one: Tuple[Heat]) -> SetFactor[Heat]:
    (heat,) = one
    return SetFactor(heat, 3.0)


def label_four(one: Tuple[Heat]) -> SetFactor[Heat]:
    (heat,) = one
    return SetFactor(heat, 4.0)


def test_the_deeper_type_wins() -> None:
    """Fault 10 is the tie of the 2022 code; see the errors."""
    rules = [read_rule(label, entity_type=FireTile), read_rule(label_four, entity_type=MagmaTile)]
    sim = Simulator(scene(tile("f", "FireTile"), tile("m", "MagmaTile", 0.5, 0.5), rules=rules))
    sim.step()
    assert (sim.state()["f"]["Heat"], sim.state()["m"]["Heat"]) == (3.0, 4.0)


def test_conditions_on_types_and_factors() -> None:
    sim = Simulator(scene(disc("a", type="CueBall"), disc("b", 0.5, 0), rules=[read_rule(to_two, entity_type=Tile)]))
    sim.step()
    assert sim.state()["a"]["Mass"] == 1.0
    data = scene(disc("a", type="Boat"), disc("b", 0.5, 0), rules=[read_rule(to_two, factor_type=Sail)])
    sim = Simulator(data)
    sim.step()
    assert (sim.state()["a"]["Mass"], sim.state()["b"]["Mass"]) == (2.0, 1.0)


def feel(one: Tuple[Mass], two: Tuple[Heat]) -> SetFactor[Mass]:
    (mass,), _ = one, two
    return SetFactor(mass, 8.0)


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (IsOn(), [8.0, 1.0]),
        (Overlaps(), [8.0, 1.0]),
        (And(IsOn(), Overlaps()), [8.0, 1.0]),
        (Or(IsOn(), IsEqual(Charge, 0.5)), [8.0, 8.0]),
        (And(IsOn(), IsEqual(Charge, 0.5)), [1.0, 1.0]),
    ],
)
def test_relations(relation: Any, expected: list[float]) -> None:
    data = scene(disc("a"), disc("b", 0.8, 0.8, Charge=0.5), tile("t", "FireTile", side=0.4), rules=[])
    data["sim"]["rules"] = [read_rule(feel, relation=relation)]
    sim = Simulator(data)
    sim.step()
    assert [sim.state()[name]["Mass"] for name in "ab"] == expected


def always(one: Tuple[Mass, Charge]) -> Tuple[SetFactor[Mass], Aggregate[Charge]]:
    return SetFactor(one[0], 3.0, where=True), Aggregate(one[1], 2.0, where=False)


def test_one_truth_for_all_rows() -> None:
    sim = Simulator([scene(disc("a", Charge=1.0), rules=[always])] * 2)
    sim.step()
    assert (sim.state()["a"]["Mass"].tolist(), sim.state()["a"]["Charge"].tolist()) == ([3.0, 3.0], [0.0, 0.0])


def by_type(one: Boat) -> SetFactor[Sail]:
    return SetFactor(one[Sail], one[Mass] * 2 if Mass in one else 0.0)


def test_a_hint_that_is_an_entity_type() -> None:
    sim = Simulator(scene(disc("a", type="Boat", Mass=4.0), disc("b", 0.5, 0), rules=[by_type]))
    sim.step()
    assert sim.state()["a"]["Sail"] == 8.0


def apply_friction(
    o1: Tuple[Mass, Velocity, Acceleration], o2: Tuple[Friction], g: Gravity
) -> Aggregate[Acceleration] | None:
    m, v, a = o1
    (mu,) = o2
    if v.norm() >= 1e-6:
        v_sign = v.sign()
        v_norm = v.norm()
        f_mag = mu * g
        norm_v = v.abs() / v_norm
        da = -v_sign * f_mag * norm_v / m
        return Aggregate[Acceleration](a, da)
    return None


def lorentz_law(
    o1_factors: Tuple[Position, Velocity, Charge, Magnetism],
    o2_factors: Tuple[Position, Velocity, Charge, Mass, Acceleration],
) -> Aggregate[Acceleration]:
    x1, v1, q1, b1 = o1_factors
    x2, v2, q2, m2, a = o2_factors
    normal_vec = x2 - x1
    unit_norm = normal_vec.unit_vector()
    if m2 == 0:
        return Aggregate[Acceleration](a, 0.0 * a)
    f_q = q1 * q2 * unit_norm / normal_vec.norm() ** 2 if q1 else 0.0
    rel_vel = Velocity(v2 - v1)
    if b1 and rel_vel.norm() != 0.0:
        unit_vel = Velocity(rel_vel.unit_vector())
        tang_vel = unit_vel.tangent_vector()
        f_b = q2 * rel_vel.norm() * b1 * tang_vel / rel_vel.norm() ** 2
    else:
        f_b = 0.0
    da = (f_b + f_q) / m2
    return Aggregate[Acceleration](a, da)


def test_the_papers_listings_run_as_they_stand() -> None:
    """Rules of single values are called for each row, with one warning each; the numbers are those of compat."""
    rng = np.random.default_rng(3)
    scenes = []
    for _ in range(3):
        discs = [
            disc(f"o{k}", x, 0.1 * k, *rng.normal(0, 1, 2), Charge=float(rng.normal()), Magnetism=float(k % 2))
            for k, x in enumerate((-0.6, 0.0, 0.6))
        ]
        scenes.append(scene(*discs, tile("sand", "SandTile", size=0.8)))
    names = ["move", "stop_condition", "kill_condition", "accelerate"]
    own = [lorentz_law, read_rule(apply_friction, relation=IsOn())]
    builtin = ["lorentz_law", "apply_friction"]
    sims = []
    for laws in (own, builtin):
        for each in scenes:
            each["sim"]["rules"] = [*laws, *names]
        sims.append(Simulator(scenes, preset="compat"))
    with pytest.warns(UserWarning, match="is called once for each row") as told:
        sims[0].step(5)
    sims[1].step(5)
    assert sorted(str(each.message).split()[2] for each in told) == ["apply_friction", "lorentz_law"]
    for factor in (Position, Velocity, Acceleration):
        mine, theirs = (sim.arrays.columns[factor] for sim in sims)
        assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-13)


def test_array_rules_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(scene(disc("a"), tile("t", "FireTile"))).step()


def test_rules_by_name() -> None:
    @rule
    def lift(v: Velocity) -> Differential[Velocity]:
        return Differential(v, [0.0, 1.0])

    sim = Simulator(scene(disc("a"), **FREE | {"rules": ["lift"]}))
    sim.step()
    assert sim.state()["a"]["Velocity"] == pytest.approx((0, 0.01))


def drift(x: Position) -> Differential[Position]:
    return Differential(x, [0.5, 0.0])


def test_a_rule_of_places_joins_the_motion() -> None:
    """With `move` the changes add up: 1 + 0.5 a second; the wall stops both."""
    sim = Simulator(scene(disc("a", 0, 0, 1, 0), **FREE | {"rules": ["move", drift]}))
    sim.step(10)
    assert sim.state()["a"]["Position"] == pytest.approx((0.15, 0))
    sim.step(300)
    assert sim.state()["a"]["Position"][0] <= 0.9


def test_what_rules_press_together_does_not_stop_the_others() -> None:
    """A rule moves `a` into `b`, which cannot move; `c` goes its way."""
    data = scene(
        disc("a", -0.25, 0, type="Boat"), disc("b", Mobile=False), disc("c", -0.5, 0.5, 1, 0), **FREE | {"rules": []}
    )
    data["sim"]["rules"] = ["move", read_rule(drift, factor_type=Sail)]
    sim = Simulator(data)
    sim.step(100)
    assert sim.state()["a"]["Position"] == pytest.approx((-0.2, 0))
    assert sim.state()["c"]["Position"] == pytest.approx((0.5, 0.5))


def test_slow_discs_do_not_stop_the_others() -> None:
    """`a` is slower than MinVelocity and does not move; `b` does, towards it, though by its velocity it would fall
    behind `a`; `c` goes its way.
    """
    pair = disc("a", 0, 0, 0.9e-4, 0), disc("b", -0.2, 0.0, 0.8e-4, 0.8e-4)
    sim = Simulator(scene(*pair, disc("c", -0.5, 0.5, 1, 0), **FREE))
    sim.step(100)
    assert sim.state()["c"]["Position"] == pytest.approx((0.5, 0.5))


def test_an_entity_may_have_any_factors() -> None:
    """Fault 13: in the 2022 code friction on what is no Object raises; see the errors."""
    ghost = {"id": "g", "type": "Entity", "factors": {"Mass": 1.0, "Velocity": [1, 0], "Acceleration": [0, 0]}}
    sim = Simulator(scene(ghost))
    sim.step()
    assert sim.state()["g"]["Velocity"] == (1, 0)  # nothing without a place lies on the floor
    assert issubclass(Boat, Entity)
