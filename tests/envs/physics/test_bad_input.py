"""Each error names the rule, or the entity and its field, and says what to do."""

# ruff: noqa: UP006, UP035  (the paper's hints, and types that are declared by a dict)

from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.conditions import IsOn
from gumption.envs.physics.entities import Entity, Object
from gumption.envs.physics.factors import Factor, Gravity, Mass, Position, Velocity
from gumption.envs.physics.rules import Aggregate, Differential, SetFactor, read_rule
from gumption.envs.physics.shapes import polygon, regular_polygon
from gumption.envs.physics.simulator import Simulator
from tests.physics_scenes import FREE, disc, scene, tile

BALL = {"id": "a", "type": "Ball"}


def no_hint(v) -> Differential[Velocity]:
    return Differential(v, 0.0)


def no_return(v: Velocity):
    return Differential(v, 0.0)


def returns_nothing(v: Velocity) -> None:
    return None


def strange_hint(v: int) -> Differential[Velocity]:
    return Differential(v, 0.0)


def strange_tuple(v: Tuple[Velocity, int]) -> Differential[Velocity]:
    return Differential(v, 0.0)


def parameter_in_tuple(v: Tuple[Velocity, Gravity]) -> Differential[Velocity]:
    return Differential(v, 0.0)


def unknown_name(v: "Speed") -> Differential[Velocity]:  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    return Differential(v, 0.0)


def mixed(v: Velocity, one: Tuple[Mass]) -> Differential[Velocity]:
    return Differential(v, 0.0)


def nobody(g: Gravity) -> Differential[Velocity]:
    return Differential(g, 0.0)


def foreign(v: Velocity) -> SetFactor[Mass]:
    return SetFactor(v, 0.0)


def two_ways(v: Velocity) -> Tuple[SetFactor[Velocity], Differential[Velocity]]:
    return SetFactor(v, 0.0), Differential(v, 0.0)


def plain(v: Velocity) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_hint, "the rule no_hint has no hint for 'v'"),
        (no_return, "the rule no_return returns nothing; its hint is Aggregate"),
        (returns_nothing, "the rule returns_nothing returns .*None.*; its hint is Aggregate"),
        (plain, "the rule plain returns .*float.*; its hint is Aggregate"),
        (strange_hint, "the rule strange_hint: the hint of 'v' is .*int.*, which is no factor and no entity type"),
        (strange_tuple, "the rule strange_tuple: the hint of 'v' is a tuple of factors, not"),
        (parameter_in_tuple, "the rule parameter_in_tuple: the hint of 'v' is a tuple of factors, not"),
        (unknown_name, "the rule unknown_name has a hint that cannot be read: name 'Speed' is not defined"),
        (mixed, "the rule mixed mixes factors alone with Tuple"),
        (nobody, "the rule nobody concerns no entity"),
        (foreign, "the rule foreign returns Mass, which none of its arguments has"),
        (two_ways, "the rule two_ways returns Velocity in two ways that conflict: choose one"),
        (7, "the rule 7 is no function"),
    ],
)
def test_rules_that_cannot_be(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_rule(function)


def test_a_relation_needs_two_entities() -> None:
    def one_alone(one: Tuple[Mass]) -> SetFactor[Mass]:
        return SetFactor(one[0], 1.0)

    with pytest.raises(InputError, match=r"one_alone has the relation IsOn.*, and concerns 1 entities instead of 2"):
        read_rule(one_alone, relation=IsOn())


def another_target(m: Mass, v: Velocity) -> SetFactor[Mass]:
    return SetFactor(v, 0.0)


def no_target(m: Mass) -> SetFactor[Mass]:
    return SetFactor(1.0 * m, 0.0)


def another_kind(m: Mass) -> SetFactor[Mass]:
    return Aggregate(m, 0.0)  # pyright: ignore[reportReturnType]


def a_number(m: Mass) -> SetFactor[Mass]:
    return 3.0  # pyright: ignore[reportReturnType]


def to_one(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, 1.5)


def to_two(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, 2.0)


def to_speed(m: Mass, v: Velocity) -> SetFactor[Mass]:
    return SetFactor(m, 2.0 * v[..., :1])


def endless(v: Velocity) -> SetFactor[Velocity]:
    return SetFactor(v, np.nan)


def nowhere(x: Position) -> Differential[Position]:
    return Differential(x, np.inf)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([another_target], r"another_target returns SetFactor\[Velocity\]; its hint says SetFactor\[Mass\]"),
        ([no_target], "no_target returns a SetFactor whose first argument is none of the rule's arguments"),
        ([another_kind], r"another_kind returns Aggregate\[Mass\]; its hint says SetFactor\[Mass\]"),
        ([a_number], "the rule a_number returns float; it returns Aggregate, Differential or SetFactor"),
        ([to_one, to_speed], "the rules to_one and to_speed set Mass of 'a' to different values, and neither is more"),
        ([endless], "scene 0: a rule gives 'a' a Velocity that is not finite"),
        ([nowhere], "scene 0: a rule gives 'a' a Position that is not finite"),
    ],
)
def test_rules_that_fail_at_a_step(rules: list[Any], message: str) -> None:
    sim = Simulator(scene(disc("a", 0, 0, 1, 0), rules=rules))
    with pytest.raises(InputError, match=message):
        sim.step()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "the scene is 3; it is"),
        ({"entity": []}, "the scene is .*; it is"),
        ({"sim": 4}, "the scene: sim is 4; it is a dict of settings"),
        ({"sim": {"gravitation": 3}}, "gravitation"),
        ({"sim": {"framerate": 0}}, "framerate"),
        ({"sim": {"boundaries": [1, -1]}}, r"boundaries are \(1.0, -1.0\); the first is less than the second"),
        ({"sim": {"parameters": {"Wnd": 1}}}, "parameters: there is no parameter 'Wnd'"),
        ({"sim": {"rules": ["moev"]}}, "there is no rule 'moev'; did you mean 'move'?"),
        ({"sim": {"rules": ["move", "move"]}}, "the rule 'move' is named twice"),
        ({"entities": 3}, "the scene: entities is 3; it is a list"),
        ({"entities": [3]}, "the scene: entity 0 is 3; it is"),
        ({"entities": [{"type": "Bal"}]}, "the scene: entity 0: there is no entity type 'Bal'; did you mean 'Ball'?"),
        ({"entities": [BALL, BALL]}, "the scene: two entities have the id 'a'"),
        ({"entities": [BALL | {"factors": 3}]}, "Ball 'a': factors is 3; it is a dict"),
        ({"entities": [BALL | {"factors": {"Mas": 3}}]}, "Ball 'a': there is no factor 'Mas'; did you mean 'Mass'?"),
        ({"entities": [BALL | {"factors": {"Heat": 3}}]}, "Ball 'a' has no Heat: a Ball has Acceleration"),
        ({"entities": [BALL | {"factors": {"Drag": 3.0}}]}, "Ball 'a'.* Drag"),
        ({"entities": [BALL | {"factors": {"Mass": "x"}}]}, "Ball 'a': Mass"),
        ({"entities": [BALL | {"factors": {"Mass": float("nan")}}]}, "Ball 'a': Mass"),
        ({"entities": [BALL | {"factors": {"Velocity": [1, 2, 3]}}]}, "Ball 'a': Velocity"),
        ({"entities": [BALL | {"factors": {"Collides": False}}]}, "Ball 'a': Collides is False; it is a tag"),
        (
            {"entities": [BALL | {"factors": {"Position": [0, 2]}}]},
            r"Ball 'a': Position \(0.0, 2.0\) is outside the walls",
        ),
        ({"entities": [BALL | {"factors": {"Size": -1.0}}]}, "Ball 'a': Size is -1.0; it is a number, at least 1e-12"),
        ({"entities": [disc("a", Size=0.3)]}, "Ball 'a': Size is 0.3, and its Shape is 0.2 wide: give one of them"),
        ({"entities": [disc("a", size=0.0)]}, "Ball 'a': the size of a circle is 0.0; it is a number, at least 1e-12"),
        ({"entities": [BALL | {"factors": {"Shape": 3}}]}, "Ball 'a': the shape is 3; it is"),
        ({"entities": [tile("a", "Tile", Shape={"kind": "polygon", "vertices": 3})]}, "Tile 'a': the vertices are 3"),
    ],
)
def test_scenes_that_cannot_be(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simulator(data)


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ([[0, 0], [1, 1]], "they are 3 to 1,000 pairs of finite numbers"),
        ([[0, 0], [1, 1], [2, 2]], "lie on one line"),
        ([[0, 0], [1, 0], [0.2, 0.2], [0, 1]], "the polygon is not convex; its convex hull is"),
        ([[0, 0], [1, 0], [0, float("inf")]], "they are 3 to 1,000 pairs of finite numbers"),
    ],
)
def test_polygons_that_cannot_be(vertices: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        polygon(vertices)


def test_a_polygon_of_two_corners() -> None:
    with pytest.raises(InputError, match="a polygon of 2 corners; it has 3 at least"):
        regular_polygon(2, 1.0)


def test_polygons_cannot_move() -> None:
    data = scene(tile("a", "Ball", side=0.3))
    with pytest.raises(InputError, match="scene 0: 'a' moves and is a polygon; only circles can move and collide"):
        Simulator(data)


def test_batches() -> None:
    with pytest.raises(InputError, match="a state needs a scene"):
        Simulator([])
    with pytest.raises(InputError, match="scenes with different rules are in one batch, which 'compat' does not play"):
        Simulator([scene(), scene(rules=["move"])], preset="compat")
    with pytest.raises(InputError, match="scene 1: Ball 'a': Mass"):
        Simulator([scene(), scene(disc("a", Mass=None))])
    with pytest.raises(InputError, match="preset"):
        Simulator(scene(), preset="other")  # pyright: ignore[reportArgumentType]


def test_factors_and_types_that_cannot_be() -> None:
    with pytest.raises(InputError, match="the factor Strange has the base 'complex'; it is one of"):
        type("Strange", (Factor,), {}, base="complex")
    with pytest.raises(InputError, match="the factor Bare needs a base"):
        type("Bare", (Factor,), {})
    with pytest.raises(InputError, match="the factor Odd has the base 'int', and its parent 'float'"):
        type("Odd", (Mass,), {}, base="int")
    with pytest.raises(InputError, match="the entity type Wrong names 3, which is no factor"):
        type("Wrong", (Object,), {"factors": {3: 1.0}})
    assert issubclass(Object, Entity)


def test_two_factors_of_one_kind() -> None:
    class Weight(Mass):
        pass

    data = scene(disc("a", Mass=1.0, Weight=2.0))
    with pytest.raises(InputError, match="Ball 'a' has two factors of one kind"):
        Simulator(data)
    assert Weight.root is Mass


def test_pushes() -> None:
    sim = Simulator([scene(disc("ball", Mass=2.0)), scene(disc("ball", Mass=4.0), tile("t", "FireTile"))])
    sim.add_force("ball", [[2, 0], [0, 2]])
    sim.add_velocity("ball", [0, 1], i=1)
    assert sim.state()["ball"]["Velocity"].tolist() == [[1, 0], [0, 1.5]]
    with pytest.raises(InputError, match=r"scene 0 has no entity 'bal'; did you mean 'ball'?"):
        sim.add_force("bal", [1, 0])
    with pytest.raises(InputError, match="'t' has no Mass and Velocity: it cannot be pushed"):
        sim.add_force("t", [1, 0], i=1)
    for wrong in ([1, 2, 3], "x", [np.nan, 0]):
        with pytest.raises(InputError, match="is no pair of finite numbers"):
            sim.add_force("ball", wrong)
    massless = Simulator(scene(disc("ball", Mass=0.0), **FREE))
    with pytest.raises(InputError, match="'ball' has no mass"):
        massless.add_force("ball", [1, 0])


def test_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.json cannot be read as a saved simulator"):
        Simulator.load(tmp_path / "none.json")
    for text, message in (("{", "cannot be read as a saved simulator"), ("[]", "is no saved simulator")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=message):
            Simulator.load(tmp_path / "bad.json")
    kept = '{"preset": "fixed", "batched": false, "time": [0.0], "scenes": %s}'
    for scenes in ("3", "[]", "[3]"):
        (tmp_path / "bad.json").write_text(kept % scenes)
        with pytest.raises(InputError):
            Simulator.load(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text((kept % "[{}]").replace("[0.0]", '"x"'))
    with pytest.raises(InputError):
        Simulator.load(tmp_path / "bad.json")


def test_steps() -> None:
    sim = Simulator(scene(disc("a")))
    for wrong in (0, -1, 1.5, "x"):
        with pytest.raises(InputError):
            sim.step(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError):
        sim.run_until_rest(-1)
