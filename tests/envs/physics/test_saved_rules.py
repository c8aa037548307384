"""A saved simulator names its rules, also those that it was given as objects."""

from pathlib import Path
from typing import Tuple  # noqa: UP035  (as the paper's hints)

import pytest

from gumption.envs.physics.factors import Mass, Velocity
from gumption.envs.physics.rules import Differential, rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene


def test_a_simulator_with_rules_given_as_objects_is_saved_by_their_names(tmp_path: Path) -> None:
    @rule
    def slowing(one: Tuple[Velocity, Mass]) -> Differential[Velocity]:  # noqa: UP006
        v, _ = one
        return Differential(v, -v)

    sim = Simulator(scene(disc("a", Velocity=[1.0, 0.0]), **FREE | {"rules": [slowing, "move"]}))
    sim.step()
    sim.save(tmp_path / "saved.json")
    loaded = Simulator.load(tmp_path / "saved.json")
    sim.step(5)
    loaded.step(5)
    assert loaded.state() == sim.state()
    assert sim.state()["a"]["Velocity"][0] == pytest.approx(0.99**6)
