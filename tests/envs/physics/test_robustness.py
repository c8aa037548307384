"""Random pushes in crowded scenes: no crash, no NaN, nothing outside the walls, no overlap that stays."""

from typing import Any

import numpy as np
import pytest

from gumption.envs.physics.factors import Alive, Done, Mobile, Position, Size, Velocity
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import crowd, tile


def push(seed: int, batch: int, steps: int, **parameters: float) -> float:
    """Push every object of a batch at random each fifth step; returns the share of scenes that overlap at the end."""
    rng = np.random.default_rng(seed)
    scenes: list[dict[str, Any]] = []
    for k in range(batch):
        data = crowd(rng, int(rng.integers(1, 9)), int(rng.integers(0, 5)), 3.0, parameters=parameters)
        if k % 3 == 0:
            data["entities"].append(tile("block", "Block", *rng.uniform(-0.5, 0.5, 2), side=0.2))
        if k % 4 == 0:
            data["entities"][0]["factors"]["Mass"] = 0.0
        if k % 5 == 0:
            data["entities"][0]["factors"]["InfiniteEnergy"] = True
        scenes.append(data)
    sim = Simulator(scenes)
    state = sim.arrays
    slots = state.layout.owners([Position, Velocity])
    for step in range(steps):
        if step % 5 == 0:
            there = state.present[slots]
            state.columns[Velocity][:, slots] += rng.normal(0, 3, (2, *there.shape)) * there
        sim.step()
    x, v, r = (state.columns[each][:, slots] for each in (Position, Velocity, Size))
    assert np.isfinite(x).all()
    assert np.isfinite(v).all()
    there = state.present[slots] & state.columns[Alive][0, slots] & ~state.columns[Done][0, slots]
    moves = there & state.columns[Mobile][0, slots]
    assert (np.abs(x) + r / 2 <= 1 + 1e-9)[:, moves].all()
    apart = np.hypot(*(x[:, :, None] - x[:, None]))
    reach = (r[0, :, None] + r[0]) / 2
    counts = (there[:, None] & there) & (moves[:, None] | moves) & ~np.eye(len(slots), dtype=bool)[:, :, None]
    return float(((reach - apart > 0.005 * reach) & counts).any(axis=(0, 1)).mean())


@pytest.mark.parametrize("parameters", [{}, {"Restitution": 0.0}, {"Restitution": 0.5}])
def test_random_pushes(parameters: dict[str, float]) -> None:
    """The few scenes that still overlap have things that cannot move in one another's way."""
    assert push(0, 32, 150, **parameters) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_random_pushes(seed: int) -> None:
    assert push(seed, 512, 2000) <= 0.1
    assert push(seed, 128, 1000, Restitution=0.0) <= 0.1
