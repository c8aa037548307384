"""Inner walls, and clusters of discs that pull one another and come to rest."""

# ruff: noqa: UP006, UP035  (the paper's hints)

from math import sqrt
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.factors import Acceleration, Mass, Position, norm
from gumption.envs.physics.rules import Aggregate, rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene, tile


@rule
def pull(one: Tuple[Position], two: Tuple[Position, Acceleration, Mass]) -> Aggregate[Acceleration]:
    """A force between pairs that falls with the distance."""
    (x1,), (x2, a, m2) = one, two
    apart = x1 - x2
    away = norm(apart)
    return Aggregate(a, 0.3 * apart / (away + (away == 0)) ** 3 / m2)


def cluster(seed: int, count: int = 12, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    discs = []
    for k in range(count):
        x, y = 0.6 * (k % 4 - 1.5) + rng.uniform(-0.1, 0.1), 0.6 * (k // 4 - 1) + rng.uniform(-0.1, 0.1)
        discs.append(disc(f"o{k}", x, y, *rng.normal(0, 0.5, 2), size=float(rng.uniform(0.12, 0.2))))
    rules = ["move", "pull", "apply_friction", "accelerate"]
    return scene(
        *discs, *more.pop("others", []), rules=rules, friction=0.3, boundaries=[-1.2, 1.2],
        parameters={"Restitution": 0.0}, **more,
    )  # fmt: skip


def overlap(sim: Simulator, i: int = 0) -> float:
    """The largest overlap of two discs, as a share of the smaller diameter."""
    discs = [each.factors for each in sim.scenes()[i].entities if each.type.__name__ != "Block"]
    named = [{factor.__name__: value for factor, value in each.items()} for each in discs]
    worst = 0.0
    for k, one in enumerate(named):
        for two in named[:k]:
            apart = np.hypot(*np.subtract(one["Position"], two["Position"]))
            worst = max(worst, ((one["Size"] + two["Size"]) / 2 - apart) / min(one["Size"], two["Size"]))
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_of_twelve_comes_to_rest(seed: int) -> None:
    sim = Simulator(cluster(seed))
    for _ in range(40):
        sim.step(5)
        assert overlap(sim) <= 0.005
    assert sim.run_until_rest(60).all()
    places = sim.arrays.columns[Position].copy()
    sim.step(200)
    assert np.array_equal(sim.arrays.columns[Position], places)
    assert sim.at_rest().all()
    assert overlap(sim) <= 0.005


def test_a_cluster_is_the_same_alone_in_a_batch_and_after_loading(tmp_path: Path) -> None:
    scenes = [cluster(5), cluster(6, 7, others=[tile("w", "Block", 0.3, 0.1, side=0.3)]), cluster(7, 3)]
    batch = Simulator(scenes)
    alone = [Simulator(each) for each in scenes]
    batch.step(70)
    for each in alone:
        each.step(70)
    batch.save(tmp_path / "batch.json")
    batch = Simulator.load(tmp_path / "batch.json")
    batch.step(70)
    for i, each in enumerate(alone):
        each.step(70)
        assert [one.factors for one in each.scenes()[0].entities] == [one.factors for one in batch.scenes()[i].entities]
        assert each.time[0] == batch.time[i]


def test_static_friction_holds_a_disc_at_a_wall() -> None:
    """Pressed against a wall by 10 and along it by 1, with friction for 2: it stays. With friction for 0.5 it slides
    with 1 - 0.5.
    """
    for friction, speed in ((0.2, 0.0), (0.05, 0.05)):
        blow = Aggregate[Acceleration]

        def press(a: Acceleration, m: Mass) -> Aggregate[Acceleration]:
            return blow(a, [10.0, 1.0])  # noqa: B023

        data = scene(disc("a", 0.9, 0), friction=friction, parameters={"Restitution": 0.0})
        data["sim"]["rules"] = ["move", press, "apply_friction", "accelerate"]
        sim = Simulator(data)
        sim.step(10)
        assert sim.state()["a"]["Velocity"] == pytest.approx((0, speed), abs=1e-12)


def test_any_time_may_be_waited_for_rest() -> None:
    sim = Simulator(scene(disc("a", vx=0.1)))
    assert sim.run_until_rest(1e300).all()
    assert sim.time[0] < 10


def test_run_until_rest_ends() -> None:
    sim = Simulator([scene(disc("a", 0, 0, 1, 0), **FREE), scene(disc("a"), **FREE)])
    assert sim.run_until_rest(0.5).tolist() == [False, True]
    assert sim.time == pytest.approx([0.5, 0.01])  # the one at rest stops at once


def test_a_disc_bounces_off_the_edge_of_an_inner_wall() -> None:
    """The square's edge is at x = 0.3, the contact at 0.2, after 0.1 s; 0.05 s later it is at 0.1 again."""
    sim = Simulator(scene(disc("a", 0, 0, 2, 0.5), tile("w", "Block", 0.4, 0, side=0.2), **FREE))
    sim.step(15)
    assert sim.state()["a"]["Velocity"] == pytest.approx((-2, 0.5))
    assert sim.state()["a"]["Position"] == pytest.approx((0.1, 0.075))
    damped = Simulator(
        scene(disc("a", 0, 0, 2, 0.5), tile("w", "Block", 0.4, 0, side=0.2), **FREE | {"wall_damping": 0.1})
    )
    damped.step(15)
    assert damped.state()["a"]["Velocity"] == pytest.approx((-1.8, 0.45))


def test_a_disc_bounces_off_a_corner() -> None:
    """It meets the corner (0.3, 0.1) of the square from a height of 0.1 + 0.1 / sqrt(2): at 45 degrees, straight up."""
    high = 0.1 + 0.1 / sqrt(2)
    sim = Simulator(scene(disc("a", 0, high, 2, 0), tile("w", "Block", 0.4, 0, side=0.2), **FREE))
    sim.step(20)
    assert sim.state()["a"]["Velocity"] == pytest.approx((0, 2), abs=1e-9)


def test_a_disc_passes_beside_an_inner_wall_and_bounces_off_a_round_one() -> None:
    beside = Simulator(scene(disc("a", 0, 0.201, 2, 0), tile("w", "Block", 0.4, 0, side=0.2), **FREE))
    beside.step(40)
    assert beside.state()["a"]["Position"] == pytest.approx((0.8, 0.201))
    into = Simulator(scene(disc("a", 0, 0, 2, 0), tile("w", "Block", 0.4, 0, size=0.2), **FREE))
    into.step(20)
    assert into.state()["a"]["Position"] == pytest.approx((0, 0), abs=1e-12)


def test_fast_small_discs_stay_out_of_thin_inner_walls() -> None:
    thin = {"kind": "polygon", "vertices": [[-0.005, -0.6], [0.005, -0.6], [0.005, 0.6], [-0.005, 0.6]]}
    walls = [tile(f"w{k}", "Block", x, y, Shape=thin) for k, (x, y) in enumerate(((-0.5, -0.3), (0.5, 0.3)))]
    sim = Simulator(scene(disc("a", 0, 0, 9, 3.3, size=0.004), *walls, **FREE))
    for _ in range(300):
        sim.step()
        x, y = sim.state()["a"]["Position"]
        for wx, wy in ((-0.5, -0.3), (0.5, 0.3)):
            assert abs(x - wx) >= 0.007 * (1 - 1e-6) or abs(y - wy) > 0.6
    assert np.hypot(*sim.state()["a"]["Velocity"]) == pytest.approx(sqrt(81 + 3.3**2))


def test_discs_are_pushed_out_of_inner_walls() -> None:
    sim = Simulator(scene(disc("a", 0.01, 0), disc("b", 0, -0.12), tile("w", "Block", 0, 0, side=0.3), **FREE))
    sim.step(3)
    assert sim.state()["a"]["Position"] == pytest.approx((0.25, 0), abs=1e-8)
    assert sim.state()["b"]["Position"] == pytest.approx((0, -0.25), abs=1e-8)
    assert overlap(sim) <= 0.005


def test_tiles_without_effect_do_not_disturb() -> None:
    """A forbidden area is a tile without friction and heat: motion is the same bit for bit."""
    states = []
    for areas in ([], [tile("area", "Tile", 0.1, 0.1, side=0.7)]):
        sim = Simulator(scene(disc("a", -0.3, 0, 1, 0.3), disc("b", 0.3, 0.1), *areas))
        sim.step(100)
        states.append([sim.state()[name][factor] for name in "ab" for factor in ("Position", "Velocity")])
    assert states[0] == states[1]


def test_compat_has_no_inner_walls() -> None:
    with pytest.raises(InputError, match="'w' is an inner wall, which the code of 2022 has not"):
        Simulator(scene(disc("a"), tile("w", "Block", 0.5, 0.5)), preset="compat")
