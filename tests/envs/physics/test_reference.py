"""The preset "compat" gives the numbers of the code of 2022, as a second reading of it does."""

from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.simulator import Simulator
from tests.physics_reference import TILES, Fails, World
from tests.physics_scenes import disc, scene, tile


def drawn(rng: np.random.Generator) -> tuple[dict[str, Any], World]:
    """The same scene for both."""
    entities, objects, tiles = [], [], []
    places = rng.permutation([(x, y) for x in (-0.65, -0.2, 0.25, 0.7) for y in (-0.7, -0.25, 0.2, 0.65)]).tolist()
    for k in range(int(rng.integers(1, 6))):
        x, v = (rng.uniform(-0.05, 0.05, 2) + places.pop()).tolist(), rng.normal(0, 1.5, 2).tolist()
        q, b, e = rng.normal(0, 0.3, 3).tolist()
        m, size = rng.uniform(0.1, 2), rng.uniform(0.1, 0.3)
        mobile, infinite, order = bool(rng.random() < 0.8), bool(rng.random() < 0.3), int(rng.integers(0, 3))
        if k % 2:
            q = b = e = 0.0
        factors = {"Charge": q, "Magnetism": b, "StoredEnergy": e, "Mass": m, "Mobile": mobile, "Order": order}
        entities.append(disc(f"o{k}", *x, *v, size=size, InfiniteEnergy=infinite, **factors))
        objects.append(
            {
                "x": x, "v": v, "a": [0.0, 0.0], "q": q, "b": b, "e": e, "m": m, "r": size / 2, "mobile": mobile,
                "infinite": infinite, "order": order, "alive": True, "done": False, "visible": True,
            }
        )  # fmt: skip
    for k in range(int(rng.integers(0, 4))):
        kind = [*TILES, "Hole", "Hole"][int(rng.integers(6))]
        x, size, order = rng.uniform(-0.7, 0.7, 2).tolist(), rng.uniform(0.4, 1.2), int(rng.integers(-1, 3))
        half, is_square = size / 2, rng.random() < 0.3
        shape = {"side": size} if is_square else {"size": size}
        entities.append(tile(f"t{k}", kind, *x, Order=order, **shape))
        corners = [[-half, -half], [half, -half], [half, half], [-half, half]] if is_square else []
        mu, heat = TILES[kind]
        hole = kind == "Hole"
        tiles.append({"x": x, "r": half, "corners": corners, "mu": mu, "heat": heat, "hole": hole, "order": order})
    return scene(*entities), World(objects, tiles)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_compat_is_the_code_of_2022(seed: int) -> None:
    data, world = drawn(np.random.default_rng(seed))
    sim = Simulator(data, preset="compat")
    for _ in range(100):
        try:
            world.step()
        except Fails:
            with pytest.raises(InputError):
                sim.step()
            return
        sim.step()
        state = sim.state()
        for k, one in enumerate(world.objects):
            mine = state[f"o{k}"]
            numbers = [*mine["Position"], *mine["Velocity"], *mine["Acceleration"], mine["Mass"], mine["StoredEnergy"]]
            expected = [*one["x"], *one["v"], *one["a"], one["m"], one["e"]]
            assert np.allclose(numbers, expected, rtol=1e-11, atol=1e-11)
            flags = [mine[name] for name in ("Alive", "Done", "Visible", "Mobile")]
            assert flags == [one["alive"], one["done"], one["visible"], one["mobile"]]
            # Impacts multiply differences of rounding; each step starts from the same numbers.
            one["x"], one["v"], one["a"] = (list(mine[each]) for each in ("Position", "Velocity", "Acceleration"))
            one["m"] = mine["Mass"]


def test_the_scenes_collide_burn_and_fall_into_holes() -> None:
    dead = done = fails = 0
    for seed in range(60):
        _, world = drawn(np.random.default_rng(seed))
        try:
            for _ in range(60):
                world.step()
        except Fails:
            fails += 1
        dead += sum(not one["alive"] for one in world.objects)
        done += sum(one["done"] for one in world.objects)
    assert (dead > 3, done > 3, fails < 30) == (True, True, True)
