"""The physics on torch tensors against the physics on NumPy arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.envs.physics.conditions import Overlaps, Relation
from gumption.envs.physics.factors import Acceleration, Mass, Parameter, Position, StoredEnergy, Velocity, norm, unit
from gumption.envs.physics.rules import Aggregate, Differential, Normal, SetFactor, read_rule
from gumption.envs.physics.scene import ALL_RULES
from gumption.envs.physics.simulator import Simulator
from gumption.envs.physics.state import State
from gumption.envs.segar.configurations import WALLS, configuration_names, draw_levels
from tests.physics_hard_scenes import crowd
from tests.physics_scenes import FREE, disc, scene, tile


def difference(one: Simulator, two: Simulator) -> float:
    pairs = zip(one.arrays.columns.values(), two.arrays.columns.values(), strict=True)
    return max(float(np.abs(a.astype(float) - b.astype(float)).max(initial=0.0)) for a, b in pairs)


def both(scenes: Any) -> tuple[Simulator, Simulator]:
    return Simulator(scenes), Simulator(scenes, device="cpu")


def apart(rng: np.random.Generator, count: int, **sim: Any) -> dict[str, Any]:
    """Discs in a grid, none in another."""
    discs = [
        disc(f"o{k}", -0.75 + 0.5 * (k % 4), -0.75 + 0.5 * (k // 4), *rng.normal(0, 3, 2), Mass=rng.uniform(0.2, 5))
        for k in range(count)
    ]
    return scene(*discs, **FREE | sim)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in configuration_names() if name not in WALLS])  # of inner walls
def test_levels_go_as_with_numpy(name: str) -> None:
    levels = draw_levels(name, n=4).scenes
    one, two = Simulator(State(levels)), Simulator(State(levels), device="cpu")
    actor = next(each for each in ("golfball", "cueball") if each in one.arrays.slot_of[0])
    push = np.random.default_rng(0).uniform(-4, 4, (4, 2))
    start = one.arrays.columns[Position].copy()
    for steps in (1, 49):
        for sim in (one, two):
            sim.add_velocity(actor, push)
            sim.step(steps)
        assert difference(one, two) < 1e-9
    assert np.abs(one.arrays.columns[Position] - start).max() > 0.1
    assert (one.time == two.time).all()


@pytest.mark.parametrize("name", ALL_RULES)
def test_each_rule(name: str) -> None:
    rng = np.random.default_rng(3)
    one, two = both([crowd(rng, 1 if name == "move" else 5, 4, rules=[name]) for _ in range(8)])
    if name == "move":
        for sim in (one, two):
            sim.step(5)
    # Discs that start in one another are pushed apart in another order: positions are compared for `move` alone.
    for sim in (one, two):
        sim.step()
    for factor, column in one.arrays.columns.items():
        if factor is not Position or name == "move":
            assert np.abs(column.astype(float) - two.arrays.columns[factor].astype(float)).max() < 1e-12


def test_collisions_conserve_momentum_and_energy_and_go_as_with_numpy() -> None:
    rng = np.random.default_rng(0)
    one, two = both([apart(rng, 8, boundaries=[-50, 50], max_velocity=1000.0) for _ in range(6)])
    mass, v = one.arrays.columns[Mass], one.arrays.columns[Velocity].copy()
    for sim in (one, two):
        sim.step(50)
    now = two.arrays.columns[Velocity]
    assert np.abs(now - v).max() > 1  # there were collisions
    assert np.allclose((mass * now).sum(axis=1), (mass * v).sum(axis=1), atol=1e-9)
    assert np.allclose((mass * now**2).sum(axis=(0, 1)), (mass * v**2).sum(axis=(0, 1)))
    assert difference(one, two) < 1e-6


def test_bumpers_dampers_partial_bounces_and_walls() -> None:
    def data(restitution: float) -> dict[str, Any]:
        others = [
            disc("b", 0.5, 0, type="Bumper"),
            disc("d", -0.5, 0.02, type="Damper", InfiniteEnergy=True),
            disc("free", 0, 0.5, 1, 1, type="Bumper", Mobile=True),
        ]
        sim = {**FREE, "wall_damping": 0.1, "parameters": {"Restitution": restitution}}
        return scene(disc("a", 0, 0, 3, 0.1), *others, **sim)

    one, two = both([data(1.0), data(0.5)])
    for sim in (one, two):
        sim.step(50)
    assert difference(one, two) < 1e-9
    assert one.arrays.columns[StoredEnergy][0, one.arrays.slot_of[0]["b"], 0] == 0.0


def test_a_disc_without_room_does_not_stop_the_others() -> None:
    bumper = disc("b", 0.75, 0, type="Bumper", InfiniteEnergy=True, StoredEnergy=0.0)
    data = scene(disc("a", 0.9, 0, 3, 0), bumper, disc("c", -0.5, 0.5, 1, 0), **FREE)
    sim = Simulator(data, device="cpu")
    sim.step(100)
    assert sim.state()["c"]["Position"] == pytest.approx((0.5, 0.5))
    assert np.isfinite(sim.arrays.columns[Velocity]).all()
    assert (np.abs(sim.arrays.columns[Position]) <= 0.9 + 1e-12).all()


def test_overlaps_at_the_start_go_away() -> None:
    rng = np.random.default_rng(1)
    discs = [disc(f"o{k}", *rng.uniform(-0.3, 0.3, 2)) for k in range(8)]
    sim = Simulator(scene(*discs, disc("same", 0.1, 0.1), disc("place", 0.1, 0.1), **FREE), device="cpu")
    sim.step(30)
    x = sim.arrays.columns[Position][:, :10, 0]
    away = np.hypot(*(x[:, :, None] - x[:, None])) + np.eye(10)
    assert away.min() > 0.195


@pytest.mark.slow
def test_a_scene_alone_is_as_in_a_batch() -> None:
    rng = np.random.default_rng(5)
    scenes = [apart(rng, count, rules=ALL_RULES) for count in (1, 3, 6)]
    scenes[1]["entities"].append(tile("t", "SandTile", side=0.7))
    batch = Simulator(scenes, device="cpu")
    batch.step(30)
    for i, data in enumerate(scenes):
        alone = Simulator(data, device="cpu")
        alone.step(30)
        for one, other in zip(alone.scenes()[0].entities, batch.scenes()[i].entities, strict=True):
            assert one.factors[Position] == pytest.approx(other.factors[Position], abs=1e-9)


class Blow(Parameter, default=2.0):
    """For tests."""


def blow_right(
    one: Tuple[Velocity, Mass, Acceleration],  # noqa: UP006
    wind: Blow,
) -> Aggregate[Acceleration]:
    v, mass, a = one
    calm = np.where(norm(v) > 1, 0, np.clip(mass, 0.5, 1.0)) * [1.0, 0.0]
    return Aggregate(a, wind * calm / np.maximum(mass, 0.1), where=v[..., :1] < 3)


def pull_together(
    one: Tuple[Position],  # noqa: UP006
    two: Tuple[Position, Acceleration],  # noqa: UP006
) -> Aggregate[Acceleration]:
    x2, a = two
    return Aggregate(a, unit(one[0] - x2) * np.exp(-np.sum((one[0] - x2) ** 2, axis=-1, keepdims=True)))


def glide(x: Position, v: Velocity) -> Differential[Position]:
    return Differential(x, 0.1 * v[..., ::1])


def test_rules_of_a_person() -> None:
    rng = np.random.default_rng(2)
    rules = [blow_right, pull_together, glide, "accelerate", "move"]
    one, two = both([apart(rng, count, rules=rules) for count in (2, 5)])
    for sim in (one, two):
        sim.step(20)
    assert difference(one, two) < 1e-9


def test_a_step_does_not_wait_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    names = [each for each in ALL_RULES if each != "move"]
    sim = Simulator([crowd(rng, 4, 3, rules=[*names, blow_right, "move"]) for _ in range(4)], device="cpu")
    sim.step()
    push = torch.ones((4, 2), dtype=torch.float64)

    def waits(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("it waits for the device")

    for name in ("item", "tolist", "nonzero", "cpu", "numpy", "__bool__", "__float__", "__int__", "__index__"):
        monkeypatch.setattr(torch.Tensor, name, waits)
    for name in ("tensor", "as_tensor", "from_numpy", "nonzero", "masked_select"):  # copies to a GPU wait too
        monkeypatch.setattr(torch, name, waits)
    with pytest.raises(AssertionError):
        sim.state()
    sim.step(3)
    first = sim._arrays.slot_of  # pyright: ignore[reportPrivateUsage]
    assert first
    sim.tensors[Velocity][:, 0] += push.T
    sim.step()


@pytest.mark.slow
def test_pushes_reading_saving_and_rest(tmp_path: Path) -> None:
    data = [scene(disc("b", 0.5, 0), disc("a", -0.5, 0, Mass=2.0)), scene(disc("a", -0.5, 0, Mass=4.0))]
    one, two = both(data)
    force = np.array([[1.0, 0.5], [2.0, 0.0]])
    one.add_force("a", force)
    two.add_force("a", torch.from_numpy(force))
    for sim in (one, two):
        sim.add_velocity("a", [0.1, 0.2], i=1)
        sim.step(10)
    two.add_velocity("a", torch.zeros(2), i=1)
    assert difference(one, two) < 1e-12
    assert two.state()["a"]["Velocity"] == pytest.approx(one.state()["a"]["Velocity"])
    two.save(tmp_path / "sim.json")
    assert Simulator.load(tmp_path / "sim.json").state()["a"]["Position"].tolist() == (
        two.state()["a"]["Position"].tolist()
    )
    assert not two.at_rest().all()
    assert (one.run_until_rest(5.0) == two.run_until_rest(5.0)).all()
    assert two.at_rest().all()
    assert difference(one, two) < 1e-9
    with pytest.raises(ValueError, match="read-only"):
        two.arrays.columns[Velocity][:] = 0.0


def stick(
    one: Tuple[Velocity],  # noqa: UP006
    two: Tuple[Velocity],  # noqa: UP006
    n: Normal,
) -> SetFactor[Velocity]:
    return SetFactor(one[0], 0.0)


def scalar(v: Velocity) -> SetFactor[Velocity]:
    return SetFactor(v, 0.0 if v[0] > 0 else v)


def old_style(v: Velocity) -> Differential[Velocity]:
    return Differential(v, -v / v.norm())


def rare(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, np.sort(m, axis=1))


def reads(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, np.asarray(m))


class Near(Relation):
    def holds(self, state: Any) -> np.ndarray:
        return Overlaps().holds(state)


def freeze(one: Tuple[Velocity], two: Tuple[Mass]) -> SetFactor[Velocity]:  # noqa: UP006
    return SetFactor(one[0], 0.0)


def with_rule(rule: Callable[..., Any]) -> dict[str, Any]:
    return scene(disc("a"), disc("b", 0.5), rules=[rule])


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        (scene(disc("a")), {"preset": "compat"}, "preset 'compat' does not run on a device"),
        (scene(disc("a"), tile("w", "Block", side=0.2)), {}, "'w' is an inner wall"),
        (scene(disc("a"), parameters={"Restitution": 0.0}), {}, "Restitution is 0"),
        (with_rule(stick), {}, "stick answers contacts"),
        (with_rule(scalar), {}, "scalar cannot run on tensors: it uses `if`"),
        (with_rule(old_style), {}, "old_style cannot run on tensors: .*'norm'"),
        (with_rule(rare), {}, "rare cannot run on tensors: it calls np.sort"),
        (with_rule(reads), {}, "reads cannot run on tensors: it takes single values"),
        (with_rule(read_rule(freeze, relation=Near())), {}, "relation Near, which does not run on tensors"),
        (scene(disc("a")), {"device": "abacus"}, "device 'abacus' cannot be used"),
        (scene(disc("a")), {"device": 3}, "device is 3"),
    ],
)
def test_what_does_not_run_on_a_device_is_told(data: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Simulator(data, **{"device": "cpu", **more})


def test_wrong_pushes_are_told() -> None:
    sim = Simulator(scene(disc("a")), device="cpu")
    with pytest.raises(InputError, match=r"a tensor \(3,\) is no pair of numbers"):
        sim.add_force("a", torch.zeros(3))
    with pytest.raises(InputError, match="no entity 'c'"):
        sim.add_force("c", torch.zeros(2))
    with pytest.raises(InputError, match="has no device"):
        _ = Simulator(scene(disc("a"))).tensors


def one_way(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, 1.0)


def other_way(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, m + 1.0)


def explode(v: Velocity) -> Differential[Velocity]:
    return Differential(v, v / 0.0)


def copy_mass(one: Tuple[Mass], two: Tuple[Mass]) -> SetFactor[Mass]:  # noqa: UP006
    return SetFactor(two[0], one[0] + 0 * two[0])


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([one_way, other_way], "one_way and other_way set Mass of 'a' to different values"),
        ([copy_mass], "copy_mass and copy_mass set Mass of '[ac]' to different values"),
        ([explode, "move"], "scene 0: a rule gives 'a' a Velocity that is not finite"),
    ],
)
def test_what_goes_wrong_is_told_when_the_state_is_read(rules: list[Any], said: str) -> None:
    discs = [disc("a", -0.5, 0, 1, 0), disc("b", 0.5, 0, Mass=2.0), disc("c", 0, 0.5, Mass=3.0)]
    sim = Simulator(scene(*discs, rules=rules), device="cpu")
    sim.step()
    with pytest.raises(InputError, match=said):
        sim.state()
    with pytest.raises(InputError, match=said):
        Simulator(scene(*discs, rules=rules)).step()
