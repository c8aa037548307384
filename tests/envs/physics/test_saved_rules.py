"""A saved simulator names its rules, also those that it was given as objects."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Tuple  # noqa: UP035  (as the paper's hints)

import pytest

from gumption.envs.physics.factors import Mass, Velocity
from gumption.envs.physics.rules import Differential, rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene


@rule
def fading(one: Tuple[Velocity, Mass]) -> Differential[Velocity]:  # noqa: UP006
    v, _ = one
    return Differential(v, -v)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sim: pickle.loads(pickle.dumps(sim))], ids=["copy", "pickle"])
def test_a_copied_simulator_goes_on_alone(copied: Callable[[Simulator], Simulator]) -> None:
    sim = Simulator(scene(disc("a", Velocity=[1.0, 0.0]), **FREE | {"rules": [fading, "move"]}))
    sim.step(2)
    again = copied(sim)
    assert again.rules == sim.rules
    before = sim.state()
    again.step(5)
    assert sim.state() == before
    sim.step(5)
    assert again.state() == sim.state()
    assert again.time == sim.time


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
