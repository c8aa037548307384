"""Rules that are certain to conflict are told when a scene is compiled; others where they do."""

# ruff: noqa: UP006, UP035  (the paper's hints)

from collections.abc import Callable
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.conditions import IsEqual
from gumption.envs.physics.entities import Ball, Charger, Object
from gumption.envs.physics.factors import Charge, Heat, Label, Mass, Velocity
from gumption.envs.physics.rules import Rule, SetFactor, read_rule
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import disc, scene, tile

MESSAGE = "the rules {} and {} set {} of {!r} to different values, and neither is more specific"


def setting(value: Any, name: str, where: Any = None, **conditions: Any) -> Rule:
    """A rule that sets Mass; `value` and `where` may be functions of Mass and Velocity."""

    def made(m: Mass, v: Velocity) -> SetFactor[Mass]:
        wanted, here = (each(m, v) if isinstance(each, Callable) else each for each in (value, where))
        return SetFactor(m, wanted, here)

    made.__name__ = name
    return read_rule(made, **conditions)


def hot(one: Tuple[Heat]) -> SetFactor[Heat]:
    return SetFactor(one[0], 1.0)


def cold(one: Tuple[Heat]) -> SetFactor[Heat]:
    return SetFactor(one[0], 0)


def of_pairs(one: Tuple[Mass, Velocity], other: Tuple[Charge]) -> SetFactor[Mass]:
    return SetFactor(one[0], 3.0)


def compiled(*rules: Any, **factors: Any) -> Simulator:
    entities = disc("a", 0.5, 0, 1, 0, **factors), disc("c", type="Charger"), tile("t", "SandTile")
    return Simulator(scene(*entities, rules=list(rules)))


def test_constants_that_differ() -> None:
    with pytest.raises(InputError, match=MESSAGE.format("one", "two", "Mass", "a")):
        compiled(setting(1.0, "one"), setting(2, "two"))
    with pytest.raises(InputError, match=MESSAGE.format("hot", "cold", "Heat", "t")):
        compiled(hot, cold)
    with pytest.raises(InputError, match=MESSAGE.format("one", "of_pairs", "Mass", "a")):
        compiled(setting(1.0, "one"), of_pairs)


def test_types_and_the_preset_say_what_is_more_specific() -> None:
    of_balls, of_objects = setting(1.0, "one", entity_type=Ball), setting(2.0, "two", entity_type=Object)
    with pytest.raises(InputError, match=MESSAGE.format("one", "two", "Mass", "a")):
        compiled(of_balls, setting(2.0, "two", entity_type=Ball))
    compiled(of_balls, of_objects).step()
    compiled(of_balls, setting(2.0, "two", entity_type=Charger)).step()


def test_a_batch_is_searched() -> None:
    rules = [setting(1.0, "one", entity_type=Ball), setting(2.0, "two", entity_type=Ball)]
    chargers, ball = scene(disc("c", type="Charger"), rules=rules), scene(disc("a"), rules=rules)
    Simulator([chargers]).step()
    with pytest.raises(InputError, match=MESSAGE.format("one", "two", "Mass", "a")):
        Simulator([chargers, ball])


@pytest.mark.parametrize(
    "other",
    [
        setting(1, "two"),
        setting(lambda m, v: m + 1, "two", where=lambda m, v: m > 5),
        setting(2.0, "two", where=lambda m, v: m > 5),
        setting(2.0, "two", relation=IsEqual(Label, "Bumper")),
        setting(2.0, "two", factor_type=Heat),
    ],
    ids=["equal", "calculated", "where", "relation", "no such entity"],
)
def test_what_need_not_conflict_is_compiled_and_applied(other: Rule) -> None:
    sim = compiled(setting(1.0, "one"), other)
    sim.step()
    assert sim.state()["a"]["Mass"] == 1.0


def test_what_is_calculated_conflicts_when_it_is_applied() -> None:
    sim = compiled(setting(1.0, "one"), setting(lambda m, v: np.abs(v[..., :1]), "two"))
    sim.arrays.columns[Velocity][:] = 1.0
    sim.step()
    sim.arrays.columns[Velocity][:] = 2.0
    with pytest.raises(InputError, match=MESSAGE.format("one", "two", "Mass", "a")):
        sim.step()
