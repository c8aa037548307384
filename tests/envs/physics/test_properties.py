"""What must hold of every scene under the preset "fixed": conservation, symmetry, convergence, rest, no overlap."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gumption.envs.physics.factors import Alive, Done, Factor, Mass, Mobile, Position, Size, Velocity
from gumption.envs.physics.simulator import Simulator
from tests.physics_hard_scenes import crowd
from tests.physics_scenes import FREE, disc, scene, tile

SEEDS = st.integers(0, 10_000)
FEW = settings(max_examples=20)


def column(sim: Simulator, factor: type[Factor]) -> np.ndarray:
    """(n, d) of the first scene's discs."""
    slots = sim.arrays.layout.owners([Position, Velocity])
    there = slots[sim.arrays.present[slots, 0]]
    return sim.arrays.columns[factor][:, there, 0].T


def separate(rng: np.random.Generator, count: int, **sim: Any) -> dict[str, Any]:
    """Discs of any masses in a grid, none in another."""
    cells = rng.permutation(16)[:count]
    return scene(
        *(
            disc(
                f"o{k}", -0.75 + 0.5 * (cell % 4), -0.75 + 0.5 * (cell // 4), *rng.normal(0, 2, 2),
                size=float(rng.uniform(0.05, 0.4)), Mass=float(rng.uniform(0.2, 5)),
            )
            for k, cell in enumerate(cells.tolist())
        ),
        **FREE | sim,
    )  # fmt: skip


def energy(sim: Simulator) -> float:
    return float((column(sim, Mass)[:, 0] * (column(sim, Velocity) ** 2).sum(axis=1)).sum() / 2)


def momentum(sim: Simulator) -> np.ndarray:
    return (column(sim, Mass) * column(sim, Velocity)).sum(axis=0)


def largest_overlap(sim: Simulator) -> float:
    """As a share of the smaller diameter, of discs that are there, alive and not done, and not both immobile."""
    x, size = column(sim, Position), column(sim, Size)[:, 0]
    collides = column(sim, Alive)[:, 0] & ~column(sim, Done)[:, 0]
    movable = column(sim, Mobile)[:, 0] & (column(sim, Mass)[:, 0] > 0)
    apart = np.hypot(*(x[:, None] - x[None]).transpose(2, 0, 1))
    depth = ((size[:, None] + size) / 2 - apart) / np.minimum(size[:, None], size)
    counts = collides[:, None] & collides & (movable[:, None] | movable) & ~np.eye(len(x), dtype=bool)
    return float(depth[counts].max(initial=0.0))


@FEW
@given(SEEDS, st.integers(2, 10))
def test_collisions_conserve_momentum_and_energy(seed: int, count: int) -> None:
    """Within wide walls that nothing reaches."""
    sim = Simulator(separate(np.random.default_rng(seed), count, boundaries=[-100, 100], max_velocity=1000.0))
    before = energy(sim), momentum(sim)
    sim.step(150)
    assert energy(sim) == pytest.approx(before[0], rel=1e-9)
    assert momentum(sim) == pytest.approx(before[1], rel=1e-9, abs=1e-9)


@FEW
@given(SEEDS, st.integers(1, 10))
def test_walls_conserve_energy_and_nothing_overlaps_or_leaves(seed: int, count: int) -> None:
    sim = Simulator(separate(np.random.default_rng(seed), count, max_velocity=1000.0))
    before = energy(sim)
    for _ in range(80):
        sim.step()
        assert largest_overlap(sim) <= 1e-9
        assert (np.abs(column(sim, Position)) + column(sim, Size) / 2 <= 1 + 1e-12).all()
    assert energy(sim) == pytest.approx(before, rel=1e-9)


@FEW
@given(SEEDS, st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.3))
def test_energy_never_grows(seed: int, restitution: float, damping: float, friction: float) -> None:
    rules = ["move", "apply_friction", "accelerate"]
    data = separate(
        np.random.default_rng(seed), 6, rules=rules, friction=friction, wall_damping=damping, max_velocity=1000.0,
        parameters={"Restitution": restitution},
    )  # fmt: skip
    sim, last = Simulator(data), np.inf
    for _ in range(60):
        sim.step()
        assert energy(sim) <= last * (1 + 1e-12)
        last = energy(sim)


@pytest.mark.slow
@FEW
@given(SEEDS, st.floats(0.02, 1))
@example(653, 1.0)  # an impact makes a light disc faster than any was at the beginning
def test_friction_brings_everything_to_rest(seed: int, friction: float) -> None:
    """Friction takes mu g sum(m v) >= mu g sqrt(2 m E) of the energy E a second, m being the smallest mass. So all rest
    after sqrt(2 E / m) / (mu g), whatever impacts do, and a disc alone after v / (mu g): within two steps, exactly."""
    rules = ["move", "apply_friction", "accelerate"]
    for count in (1, 5):
        sim = Simulator(separate(np.random.default_rng(seed), count, rules=rules, friction=friction))
        longest = float(np.sqrt(2 * energy(sim) / column(sim, Mass).min())) / (friction * 10)
        steps = int(np.ceil(100 * longest)) + 2
        assert sim.run_until_rest((steps + 0.5) / 100).all()  # which takes whole steps
        sim.step(1)
        assert (column(sim, Velocity) == 0).all()


def turned(data: dict[str, Any], turn: np.ndarray) -> dict[str, Any]:
    """The scene under a rotation or mirror of the plane."""
    entities = []
    for each in data["entities"]:
        factors = dict(each["factors"])
        for name in ("Position", "Velocity"):
            if name in factors:
                factors[name] = (turn @ np.asarray(factors[name])).tolist()
        if factors.get("Shape", {}).get("kind") == "polygon":
            vertices = (np.asarray(factors["Shape"]["vertices"]) @ turn.T).tolist()
            factors["Shape"] = {"kind": "polygon", "vertices": vertices}
        if np.linalg.det(turn) < 0 and "Magnetism" in factors:
            factors["Magnetism"] = -factors["Magnetism"]
        entities.append(each | {"factors": factors})
    return data | {"entities": entities}


TURNS = [
    np.array(rows, dtype=float) for rows in ([[-1, 0], [0, 1]], [[0, -1], [1, 0]], [[0, 1], [1, 0]], [[-1, 0], [0, -1]])
]


@FEW
@given(SEEDS, st.sampled_from(range(4)), st.floats(0, 1))
def test_mirrors_and_rotations(seed: int, which: int, restitution: float) -> None:
    """Until differences of rounding have grown, a turned scene is the turned result."""
    rng = np.random.default_rng(seed)
    data = separate(
        rng, 5, rules=["move", "lorentz_law", "apply_friction", "apply_burn", "kill_condition", "accelerate"]
    )
    data["sim"] = data["sim"] | {"parameters": {"Restitution": restitution}, "friction": 0.05}
    for each in data["entities"]:
        each["factors"] |= {"Charge": float(rng.normal(0, 0.3)), "Magnetism": float(rng.normal(0, 0.3))}
    data["entities"] += [tile("t", "FireTile", 0.2, 0.3, side=0.5), tile("w", "Block", -0.25, 0.0, side=0.1)]
    turn = TURNS[which]
    one, two = Simulator(data), Simulator(turned(data, turn))
    one.step(15)
    two.step(15)
    for factor in (Position, Velocity):
        assert np.allclose(column(one, factor) @ turn.T, column(two, factor), atol=1e-6)
    assert np.allclose(column(one, Mass), column(two, Mass))


def test_results_converge_as_the_step_shrinks() -> None:
    """A charge flies past another, over sand and off a wall: the error falls with dt."""
    places = {}
    for rate in (100, 200, 400, 3200):
        charges = disc("a", -0.6, 0.2, 1.5, 0, Charge=0.4), disc("b", 0, 0, Charge=0.5, Magnetism=0.3, Mobile=False)
        sim = Simulator(scene(*charges, tile("sand", "SandTile", 0.4, 0.4, side=0.4), framerate=rate))
        sim.step(rate)
        places[rate] = np.array(sim.state()["a"]["Position"])
    errors = [np.hypot(*(places[rate] - places[3200])) for rate in (100, 200, 400)]
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < 0.7 * errors[1]
    assert errors[0] < 0.05


def test_bounces_do_not_depend_on_the_step() -> None:
    """Without forces, positions after a second are the same for any dt: impacts are exact."""
    found = []
    for rate in (10, 100, 1000):
        data = separate(np.random.default_rng(4), 3, framerate=rate)
        sim = Simulator(data)
        sim.step(rate)
        found.append(column(sim, Position))
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)


def values(sim: Simulator, i: int) -> list[Any]:
    return [each.factors for each in sim.scenes()[i].entities]


@pytest.mark.parametrize("preset", ["fixed", "compat"])
@settings(max_examples=6)
@given(seed=SEEDS)
def test_a_scene_is_the_same_alone_and_in_a_batch(preset: Any, seed: int) -> None:
    """Scenes of different entities, bit for bit; in compat with discs that do not start in one another."""
    rng = np.random.default_rng(seed)
    if preset == "fixed":
        scenes = [crowd(rng, int(rng.integers(0, 6)), int(rng.integers(0, 4))) for _ in range(5)]
        scenes.append(scene(disc("a"), tile("w", "Block", 0.5, 0, side=0.3)))
    else:
        scenes = [
            separate(rng, int(rng.integers(1, 4)), rules=["move", "apply_friction", "accelerate"]) for _ in range(5)
        ]
        for data in scenes[::2]:
            data["entities"].append(tile("t", "SandTile", side=0.7))
    batch = Simulator(scenes, preset=preset)
    batch.step(30)
    for i, data in enumerate(scenes):
        alone = Simulator(data, preset=preset)
        alone.step(30)
        assert values(alone, 0) == values(batch, i)


@pytest.mark.parametrize("preset", ["fixed", "compat"])
def test_saved_and_loaded_bit_for_bit(preset: Any, tmp_path: Path) -> None:
    for batch in (False, True):
        one = separate(np.random.default_rng(1), 4, rules=["move", "lorentz_law", "apply_friction", "accelerate"])
        two = scene(disc("x", 0.1, 0.2, 1, 1), tile("t", "FireTile", 0.3, 0.3, size=0.5), framerate=50)
        two["sim"]["rules"] = one["sim"]["rules"]
        sim = Simulator([one, two] if batch else one, preset=preset)
        sim.step(17)
        sim.save(tmp_path / "sim.json")
        again = Simulator.load(tmp_path / "sim.json")
        assert (again.preset, again.batched, again.time.tolist()) == (preset, batch, sim.time.tolist())
        for each in (sim, again):
            each.step(23)
        for i in range(sim.arrays.num_envs):
            assert values(sim, i) == values(again, i)
        assert again.time.tolist() == sim.time.tolist()


def test_three_bodies_jammed_between_walls() -> None:
    """Two bumpers that give energy for ever, with a ball between them and the walls close by."""
    bumpers = [disc(f"b{k}", x, 0, type="Bumper", InfiniteEnergy=True) for k, x in enumerate((-0.155, 0.155))]
    sim = Simulator(scene(*bumpers, disc("a", 0, 0.001, 3, 0.1), **FREE))
    for _ in range(300):
        sim.step()
        assert largest_overlap(sim) <= 0.005
        assert np.isfinite(column(sim, Velocity)).all()
        assert (np.abs(column(sim, Position)) <= 0.9 + 1e-12).all()


def test_a_disc_without_room_does_not_stop_the_others() -> None:
    """Between a wall and a bumper there is less room than `a` needs; `c` goes its way."""
    bumper = disc("b", 0.75, 0, type="Bumper", InfiniteEnergy=True, StoredEnergy=0.0)
    sim = Simulator(scene(disc("a", 0.9, 0, 3, 0), bumper, disc("c", -0.5, 0.5, 1, 0), **FREE))
    sim.step(100)
    assert sim.state()["c"]["Position"] == pytest.approx((0.5, 0.5))
    assert np.isfinite(column(sim, Velocity)).all()


def test_a_row_of_touching_discs_passes_the_impulse_on() -> None:
    row = [disc(f"o{k}", 0.2 * k - 0.4, 0) for k in range(4)]
    sim = Simulator(scene(disc("a", -0.7, 0, 2, 0), *row, **FREE))
    sim.step(10)
    assert [sim.state()[name]["Velocity"][0] for name in ("a", "o0", "o1", "o2")] == pytest.approx(
        [0, 0, 0, 0], abs=1e-9
    )
    assert sim.state()["o3"]["Velocity"][0] == pytest.approx(2)


def test_overlaps_at_the_start_are_gone_after_a_step() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        discs = [disc(f"o{k}", *rng.uniform(-0.3, 0.3, 2)) for k in range(8)]
        sim = Simulator(scene(*discs, disc("same", 0.1, 0.1), disc("place", 0.1, 0.1), **FREE))
        sim.step(3)
        assert largest_overlap(sim) <= 0.005


def test_no_mass_and_no_room() -> None:
    """Discs without mass stand; a disc larger than the arena stays in its middle."""
    data = scene(disc("a", 0, 0, 1, 0), disc("m", 0.3, 0, Mass=0.0), disc("n", 0.3, 0, Mass=0.0), **FREE)
    sim = Simulator(data)
    sim.step(30)
    assert sim.state()["a"]["Velocity"] == pytest.approx((-1, 0))
    sim = Simulator(scene(disc("a", 0.2, 0, 1, 0.5, size=3.0), **FREE))
    sim.step(5)
    assert sim.state()["a"]["Position"] == pytest.approx((0, 0))


def test_a_scene_may_be_empty() -> None:
    sim = Simulator(scene())
    sim.step(3)
    assert sim.state() == {}
    assert sim.run_until_rest(1).all()
