"""Rules that answer contacts in place of the built-in bounce."""

# ruff: noqa: UP006, UP035  (the paper's hints, and types that are declared by a dict)

from math import sqrt
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.conditions import IsEqual
from gumption.envs.physics.entities import Block, Bumper, Object
from gumption.envs.physics.factors import Alive, Charge, Mass, Velocity
from gumption.envs.physics.rules import Aggregate, Differential, Normal, SetFactor, Wall, read_rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene, tile


def stick(
    one: Tuple[Mass, Velocity], two: Tuple[Mass, Velocity], n: Normal
) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    (m1, v1), (m2, v2) = one, two
    v = (m1 * v1 + m2 * v2) / (m1 + m2)
    return SetFactor(v1, v), SetFactor(v2, v)


def stop_at(one: Tuple[Velocity], two: Bumper, n: Normal) -> SetFactor[Velocity]:
    return SetFactor(one[0], -n)


def slide(one: Tuple[Velocity], wall: Wall, n: Normal) -> SetFactor[Velocity]:
    v = one[0]
    into = v[..., :1] * n[..., :1] + v[..., 1:] * n[..., 1:]
    return SetFactor(v, v - into * n)


def free(*rules: Any) -> dict[str, Any]:
    return FREE | {"rules": ["move", "accelerate", *rules]}


def test_discs_that_stick() -> None:
    """m = 1 and 3, v = 2 and 0: both go on with 0.5. Contact after 0.005 s at x = 0.01."""
    sim = Simulator(scene(disc("a", 0, 0, 2, 0), disc("b", 0.21, 0, Mass=3.0), **free(stick)))
    sim.step()
    state = sim.state()
    assert state["a"]["Velocity"] == state["b"]["Velocity"] == pytest.approx((0.5, 0))
    assert state["a"]["Position"] == pytest.approx((0.0125, 0))
    sim.step(20)
    state = sim.state()
    assert state["b"]["Position"][0] - state["a"]["Position"][0] == pytest.approx(0.2)


def test_the_walls_stay_built_in_and_a_wall_rule_takes_their_place() -> None:
    bounced = Simulator(scene(disc("a", 0.89, 0, 2, 1), **free(stick)))
    slid = Simulator(scene(disc("a", 0.89, 0, 2, 1), **free(stick, slide)))
    bounced.step(2)
    slid.step(2)
    assert bounced.state()["a"]["Velocity"] == pytest.approx((-2, 1))
    assert slid.state()["a"]["Velocity"] == pytest.approx((0, 1))
    assert slid.state()["a"]["Position"] == pytest.approx((0.9, 0.02))


def test_the_normal_points_from_the_first_to_the_second() -> None:
    """A rule of one order alone: whichever comes first in the scene, the disc leaves the bumper at unit speed."""
    ball, bumper = disc("a", 0, 0, 2, 2, size=0.1), disc("b", 0.3, 0.3, type="Bumper")
    for entities in ((ball, bumper), (bumper, ball)):
        sim = Simulator(scene(*entities, **free(stop_at)))
        sim.step(20)
        assert sim.state()["a"]["Velocity"] == pytest.approx((-1 / sqrt(2), -1 / sqrt(2)))


def test_other_pairs_bounce_as_ever() -> None:
    entities = disc("a", 0, 0, 2, 0), disc("b", 0.21, 0), disc("c", 0, 0.5, 2, 0), disc("d", 0.21, 0.5, type="Bumper")
    sim = Simulator(scene(*entities, **free(stop_at)))
    sim.step()
    assert sim.state()["b"]["Velocity"] == pytest.approx((2, 0))
    assert sim.state()["c"]["Velocity"] == pytest.approx((-1, 0))


def test_conditions() -> None:
    """Only charged discs stick to others."""
    sticky = read_rule(stick, relation=IsEqual(Charge, 1.0))
    pairs = [disc("a", 0, 0, 2, 0, Charge=1.0), disc("b", 0.21, 0), disc("c", 0, 0.5, 2, 0), disc("d", 0.21, 0.5)]
    sim = Simulator(scene(*pairs, **free(sticky)))
    sim.step()
    speeds = [sim.state()[name]["Velocity"][0] for name in "abcd"]
    assert speeds == pytest.approx([1, 1, 0, 2])
    by_type = read_rule(stick, entity_type=Bumper)
    pairs[3]["type"] = "Bumper"
    pairs[3]["factors"]["Mobile"] = True
    pairs[3]["factors"]["StoredEnergy"] = 0.0
    sim = Simulator(scene(*pairs, **free(by_type)))
    sim.step()
    speeds = [sim.state()[name]["Velocity"][0] for name in "abcd"]
    assert speeds == pytest.approx([0, 2, 1, 1])


def vanish(one: Tuple[Alive], block: Block, n: Normal) -> SetFactor[Alive]:
    return SetFactor(one[0], False)


def test_inner_walls_and_other_factors() -> None:
    """What hits the block dies, and is no longer in anybody's way."""
    entities = disc("a", 0, 0, 2, 0), tile("w", "Block", 0.4, 0, side=0.2), disc("b", -0.3, 0, 2, 0)
    sim = Simulator(scene(*entities, **free(vanish)))
    sim.step(30)
    assert [sim.state()[name]["Alive"] for name in "ab"] == [False, False]
    assert sim.state()["b"]["Position"][0] == pytest.approx(sim.state()["a"]["Position"][0])


def eat(one: Tuple[Charge], two: Tuple[Alive, Mass], n: Normal) -> SetFactor[Alive]:
    return SetFactor(two[0], False)


def test_what_touches_something_that_dies_goes_on() -> None:
    eater = read_rule(eat, relation=IsEqual(Charge, 1.0))
    for first in (0, 1):
        pair = disc("a", 0, 0, 2, 0.1, Charge=1.0, Order=first), disc("b", 0.21, 0, Order=1 - first)
        sim = Simulator(scene(*pair, **free(eater)))
        sim.step(10)
        assert [sim.state()[name]["Alive"] for name in "ab"] == [True, False]
        assert sim.state()["a"]["Position"] == pytest.approx((0.2, 0.01))


def test_where_discs_do_not_bounce_rules_answer_contacts_too() -> None:
    """With Restitution 0, when they hit and when they rest on one another."""
    sim = FREE | {"rules": ["move", "accelerate", turn_apart], "parameters": {"Restitution": 0.0}}
    apart = Simulator(scene(disc("a", 0, 0, 2, 0), disc("b", 0.201, 0), **sim))
    touching = Simulator(scene(disc("a", 0, 0, 2, 0), disc("b", 0.2, 0), **sim))
    for each in (apart, touching):
        each.step()
        assert [each.state()[name]["Velocity"][0] for name in "ab"] == pytest.approx([-1, 1])


def turn_apart(
    one: Tuple[Velocity], two: Tuple[Velocity], n: Normal
) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    return SetFactor(one[0], -n), SetFactor(two[0], n)


def nothing(one: Tuple[Mass], two: Tuple[Mass], n: Normal) -> Tuple[SetFactor[Mass], SetFactor[Mass]]:
    return SetFactor(one[0], one[0]), SetFactor(two[0], two[0])


def test_what_still_approaches_stops() -> None:
    sim = Simulator(scene(disc("a", 0, 0, 2, 0.5), disc("b", 0.21, 0), **free(nothing)))
    sim.step(5)
    state = sim.state()
    assert state["a"]["Velocity"] == pytest.approx((1, 0.5), abs=0.1)
    assert np.hypot(*np.subtract(state["a"]["Position"], state["b"]["Position"])) > 0.2 * (1 - 1e-8)


def shock(one: Tuple[Velocity], two: Tuple[Velocity], n: Normal) -> Tuple[Aggregate[Velocity], Aggregate[Velocity]]:
    return Aggregate(one[0], -2 * n), Aggregate(two[0], 3 * n)


def turn_away(one: Tuple[Velocity], two: Tuple[Velocity], n: Normal) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    if n[0] > 0:
        return SetFactor(one[0], -n), SetFactor(two[0], n)
    return SetFactor(one[0], -2 * n), SetFactor(two[0], 2 * n)


def test_sums_and_rules_of_single_values() -> None:
    data = scene(disc("a", 0, 0, 2, 0), disc("b", 0.21, 0), **free(shock))
    sim = Simulator(data)
    sim.step()
    assert [sim.state()[name]["Velocity"][0] for name in "ab"] == pytest.approx([-2, 3])
    data["sim"]["rules"] = ["move", turn_away]
    sim = Simulator(data)
    with pytest.warns(UserWarning, match="turn_away does not take arrays"):
        sim.step()
    assert [sim.state()[name]["Velocity"][0] for name in "ab"] == pytest.approx([-1, 1])


def test_many_scenes_stop_at_their_own_times() -> None:
    """Each scene of a batch, of different numbers of discs, goes as it goes alone, bit for bit."""
    rng = np.random.default_rng(1)
    scenes = []
    for k in range(12):
        discs = [disc(f"o{i}", *rng.uniform(-0.8, 0.8, 2), *rng.normal(0, 3, 2), size=0.1) for i in range(2 + k % 4)]
        blocks = [tile("w", "Block", 0.1, 0.2, side=0.3)] if k % 2 else []
        scenes.append(scene(*discs, *blocks, wall_damping=0.0, rules=["move", "accelerate", stick, slide]))
    batch = Simulator(scenes)
    batch.step(50)
    for mine, data in zip(batch.scenes(), scenes, strict=True):
        alone = Simulator(data)
        alone.step(50)
        assert [each.factors for each in alone.scenes()[0].entities] == [each.factors for each in mine.entities]


def fly(one: Tuple[Velocity], two: Tuple[Velocity], n: Normal) -> Differential[Velocity]:
    return Differential(one[0], n)


def lonely(one: Tuple[Velocity], n: Normal) -> SetFactor[Velocity]:
    return SetFactor(one[0], n)


def crowd_at_wall(one: Tuple[Velocity], two: Tuple[Velocity], wall: Wall) -> SetFactor[Velocity]:
    return SetFactor(one[0], 0.0)


def not_a_number(
    one: Tuple[Velocity], two: Tuple[Velocity], n: Normal
) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    return SetFactor(one[0], np.nan), SetFactor(two[0], np.nan)


def stick_in_place(
    one: Tuple[Mass, Velocity], two: Tuple[Mass, Velocity], n: Normal
) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    return SetFactor(one[1], 0.0), SetFactor(two[1], 0.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fly, "the rule fly returns a Differential, and a contact takes no time: return SetFactor or Aggregate"),
        (lonely, "the rule lonely concerns 1 entities; a rule with a Normal among its hints answers contacts of two"),
        (
            crowd_at_wall,
            "crowd_at_wall concerns 2 entities; a rule with a Wall among its hints answers contacts of one",
        ),
    ],
)
def test_rules_that_cannot_answer_contacts(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_rule(function)


def test_errors_at_contacts() -> None:
    entities = disc("a", 0, 0, 2, 0), disc("b", 0.21, 0)
    with pytest.raises(InputError, match="the rules stick and stick_in_place set Velocity of 'a' to different values"):
        Simulator(scene(*entities, **free(stick, stick_in_place))).step()
    with pytest.raises(InputError, match="a rule gives 'a' a Velocity that is not finite"):
        Simulator(scene(*entities, **free(not_a_number))).step()
    with pytest.raises(InputError, match="stick answers contacts, which the code of 2022 cannot"):
        Simulator(scene(*entities, **free(stick)), preset="compat")
    assert issubclass(Bumper, Object)
