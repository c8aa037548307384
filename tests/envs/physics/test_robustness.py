"""Random pushes where it is hard: no crash, and nothing not finite, outside the walls, too fast or in one another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gumption.envs.physics.factors import Position, Velocity
from gumption.envs.physics.simulator import Simulator
from gumption.envs.physics.state import State
from tests.physics_hard_scenes import SCENES, SUB_STEPS, Cell, Found, cells, check, play
from tests.physics_scenes import FREE, disc, scene, tile


@pytest.mark.parametrize("name", SCENES)
def test_random_pushes_in_hard_scenes(name: str) -> None:
    found = play(Cell(name, "", name), 500, seed=1, batch=10)
    assert found.failures == []
    assert found.steps == 500
    assert found.checks == 100
    assert found.overlapping == 0


@pytest.mark.slow
def test_millions_of_random_pushes() -> None:
    """5,000 steps of five simulation steps in each of 142 cells."""
    found = {cell.name: play(cell, 5_000, seed=1) for cell in cells()}
    assert {name: each.failures for name, each in found.items() if each.failures} == {}
    assert sum(each.steps for each in found.values()) * SUB_STEPS > 3_500_000


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len({cell.name for cell in cells()}) == len(cells()) == 142


def checked(*entities: Any, change: Callable[[State], None] = lambda state: None) -> Found:
    sim, found = Simulator([scene(*entities)]), Found()
    change(sim.arrays)
    check(sim.arrays, found, "now")
    return found


@pytest.mark.parametrize(
    ("factor", "value", "message"),
    [
        (Velocity, np.nan, "a Velocity is not finite"),
        (Velocity, 10.1, "speed 1.01 is above 1"),
        (Position, 0.95, "outside 0.05 is above 1e-09"),
    ],
)
def test_a_fault_is_seen(factor: Any, value: float, message: str) -> None:
    def change(state: State) -> None:
        state.columns[factor][0, 0] = value

    assert checked(disc("a"), change=change).failures == [f"now: {message}"]


def test_overlaps_are_seen() -> None:
    """Of 0.2 wide discs, 0.18 apart; of one in a wall that is 0.2 wide; none of what cannot move."""
    one, two = disc("a"), disc("b", 0.18, 0)
    assert checked(one, two).overlap == pytest.approx(0.1)
    assert checked(one, two).overlapping == 1
    assert checked(one, two).failures == ["now: overlap 0.1 is above 0.05"]
    assert checked(disc("a", Mobile=False), disc("b", 0.18, 0, Mobile=False)) == Found(checks=1)
    assert checked(disc("a", Alive=False), two) == Found(checks=1)
    assert checked(one, disc("b", 0.199, 0)).failures == []
    assert checked(disc("a", 0.18, 0), tile("w", "Block", 0, 0, side=0.2)).overlap == pytest.approx(0.1)
    assert checked(disc("a", 0.17, 0.17), tile("w", "Block", 0, 0, side=0.2)).overlap == pytest.approx(
        0.5 - np.sqrt(2) * 0.35
    )


def test_what_is_raised_is_a_failure() -> None:
    found = play(Cell("x", "PuttPutt", "no such levels", 1.0), 10, seed=0)
    assert found.steps == 0
    assert found.failures[0].startswith("InputError: there is no configuration 'no such levels'")


def test_impacts_that_take_speed_keep_to_the_highest_speed() -> None:
    """A row of light balls that touch is hit by a heavy one: each of them would leave faster than it came."""
    row = [disc(f"o{k}", 0.2 * k, 0, Mass=1.0 / 10**k) for k in range(3)]
    hammer = [disc("h0", -0.21, 0.05, 10, 0, Mass=1e3), disc("h1", -0.21, -0.16, 10, 3, Mass=1e3)]
    for restitution in (0.0, 0.5, 1.0):
        sim = Simulator(scene(*row, *hammer, parameters={"Restitution": restitution}, **FREE))
        fastest = 0.0
        for _ in range(20):
            sim.step()
            fastest = max(fastest, float(np.hypot(*sim.arrays.columns[Velocity]).max()))
        assert fastest <= 10 * (1 + 1e-12)
