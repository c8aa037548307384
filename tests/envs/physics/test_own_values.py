"""What a person's rules give is within the bounds of its factor, or an error names scene, entity, factor and rule."""

# ruff: noqa: UP006  (the paper's hints)

from math import inf, nan
from typing import Any, Tuple  # noqa: UP035

import pytest

from gumption.data import InputError
from gumption.envs.physics.entities import Object
from gumption.envs.physics.factors import (
    Acceleration,
    Alive,
    Charge,
    Factor,
    Friction,
    Heat,
    Mass,
    Order,
    Position,
    Size,
    StoredEnergy,
    Velocity,
)
from gumption.envs.physics.rules import Aggregate, Differential, Normal, SetFactor
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene, tile


class Dampness(Factor, base="float", default=0.5, least=0, most=1):
    """Of cloths."""


class Cloth(Object):
    factors = {Dampness: None}  # noqa: RUF012


def cloth(**factors: Any) -> dict[str, Any]:
    return {"id": "s", "type": "Cloth", "factors": factors}


def negative(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, -1.0)


def no_number(m: Mass) -> Aggregate[Mass]:
    return Aggregate(m, nan)


def endless(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, inf)


def wasting(m: Mass) -> Differential[Mass]:
    return Differential(m, -1000.0)


def shrinking(s: Size) -> SetFactor[Size]:
    return SetFactor(s, 0.0)


def charging(q: Charge) -> SetFactor[Charge]:
    return SetFactor(q, nan)


def fuelling(e: StoredEnergy) -> SetFactor[StoredEnergy]:
    return SetFactor(e, 1e200)


def smoothing(mu: Friction) -> SetFactor[Friction]:
    return SetFactor(mu, -1.0)


def cooling(h: Heat) -> SetFactor[Heat]:
    return SetFactor(h, nan)


def pushing(a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, nan)


def soaking(h: Dampness) -> SetFactor[Dampness]:
    return SetFactor(h, 1.5)


def halving(o: Order) -> SetFactor[Order]:
    return SetFactor(o, 1.5)


def dying(alive: Alive) -> SetFactor[Alive]:
    return SetFactor(alive, nan)


LEAST = "it is a number, at least 0; Mass is changed by"


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (negative, f"scene 1: a rule gives '[as]' a Mass of -1.0; {LEAST} negative"),
        (no_number, "scene 1: a rule gives '[as]' a Mass that is not finite; Mass is changed by no_number"),
        (endless, "scene 1: a rule gives '[as]' a Mass that is not finite; Mass is changed by endless"),
        (wasting, f"scene 1: a rule gives '[as]' a Mass of -9.0; {LEAST} wasting"),
        (shrinking, "a rule gives '[as]' a Size of 0.0; it is a number, at least 1e-12; Size is changed by shrinking"),
        (charging, "a rule gives '[as]' a Charge that is not finite; Charge is changed by charging"),
        (fuelling, r"a rule gives '[as]' a StoredEnergy of 1e\+200; it is not beyond 1e\+50"),
        (smoothing, "a rule gives 't' a Friction of -1.0; it is a number, at least 0"),
        (cooling, "a rule gives 't' a Heat that is not finite"),
        (pushing, "a rule gives '[as]' a Acceleration that is not finite"),
        (soaking, "a rule gives 's' a Dampness of 1.5; it is a number from 0 to 1"),
        (halving, "the rule halving gives Order something else than a whole number for each row"),
        (dying, "the rule dying gives Alive something else than a True or False for each row"),
    ],
)
def test_own_rules(rule: Any, message: str, device: str | None) -> None:
    """The first scene has no such entities: what is absent is not looked at."""
    rules = ["move", rule, "accelerate"]
    full = scene(disc("a", 0, 0, 1, 0), tile("t", "Tile", 0.5, 0.5), cloth(Position=[-0.5, 0]), rules=rules)

    def run() -> None:
        sim = Simulator([scene(rules=rules), full], device=device)
        sim.step()
        sim.state()

    with pytest.raises(InputError, match=message):
        run()


@pytest.mark.parametrize("preset", ["fixed", "compat"])
def test_own_rules_in_both_presets(preset: Any) -> None:
    with pytest.raises(InputError, match=f"scene 0: a rule gives 'a' a Mass of -1.0; {LEAST} negative"):
        Simulator(scene(disc("a"), rules=["move", negative]), preset=preset).step()


def test_built_in_rules_and_rules_within_bounds_go_on() -> None:
    def halve(m: Mass) -> SetFactor[Mass]:
        return SetFactor(m, m / 2)

    sim = Simulator([scene(rules=["move", halve]), scene(disc("a"), rules=["move", halve])])
    sim.step(3)
    assert sim.state()["a"]["Mass"][1] == 0.125


def test_rules_that_answer_contacts() -> None:
    def explode(one: Tuple[Mass, Velocity], two: Tuple[Mass, Velocity], n: Normal) -> SetFactor[Mass]:
        return SetFactor(one[0], -one[0])

    data = scene(disc("a", 0, 0, 2, 0), disc("b", 0.21, 0), **FREE | {"rules": ["move", "accelerate", explode]})
    with pytest.raises(InputError, match=r"scene 0: a rule gives 'a' a Mass of -1.0; .* changed by explode"):
        Simulator(data).step()


def three_numbers(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, [1.0, 2.0, 3.0])


def a_text(m: Mass) -> Aggregate[Mass]:
    return Aggregate(m, "x")


def too_large(o: Order) -> SetFactor[Order]:
    return SetFactor(o, 2**63)


def teleport(x: Position) -> SetFactor[Position]:
    return SetFactor(x, 1e60)


def summed(o: Order) -> Aggregate[Order]:
    return Aggregate(o, 1)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (three_numbers, "the rule three_numbers gives Mass something else than a number for each row"),
        (a_text, "the rule a_text gives Mass something else than a number for each row"),
        (too_large, "the rule too_large gives Order something else than a whole number for each row"),
        (teleport, r"a rule gives 'a' a Position of 1e\+60; it is not beyond 1e\+50"),
        (summed, r"the rule summed returns Aggregate\[Order\], a sum of numbers.*: return SetFactor\[Order\]"),
    ],
)
def test_values_that_do_not_fit(rule: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simulator(scene(disc("a"), rules=["move", rule])).step()
