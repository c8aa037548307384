"""SEGAR's facts: what rules change, what things afford, and which facts speak for a direction."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs.segar
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.physics.conditions import IsOn
from gumption.envs.physics.entities import TYPES, Object, Tile
from gumption.envs.physics.factors import (
    FACTORS,
    Charge,
    Factor,
    Friction,
    Heat,
    Mass,
    Mobile,
    Position,
    Size,
    Velocity,
)
from gumption.envs.physics.rules import RULES, Differential, SetFactor, read_rule, rule
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.state import CIRCLE
from gumption.envs.segar import facts
from gumption.envs.segar.configurations import Levels, draw_levels
from gumption.envs.segar.facts import things_met
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import validate

SHAPES = Path(gumption.envs.segar.__file__).with_name("shapes.ttl")


def graph(split: str = "all") -> KnowledgeGraph:
    made = KnowledgeGraph()
    made.add(facts(partition=split), graph="segar")
    return made


def test_the_graph_says_what_can_change_the_mass() -> None:
    rows = graph().query("SELECT ?rule WHERE { ?rule gum:writes ?factor }", factor="Mass")
    assert sorted(row["rule"] for row in rows) == ["apply_burn", "kill_condition"]
    causes = graph().query("SELECT ?cause WHERE { ?cause gum:canChange ?factor }", factor="Mass")
    assert {"Heat", "Mobile", "Mass"} <= {row["cause"] for row in causes}


def test_a_rule_of_a_persons_own_shows_up() -> None:
    class Rust(Factor, base="float"):
        pass

    @rule
    def rusting(iron: Tuple[Mass, Rust]) -> Differential[Mass]:  # noqa: UP006
        m, rust = iron
        return Differential[Mass](m, -rust)

    try:
        causes = graph().query("SELECT ?cause WHERE { ?cause gum:canChange ?factor }", factor="Mass")
        assert "Rust" in {row["cause"] for row in causes}
        assert ("rusting", "writes", "Mass") in set(facts(partition="train"))
    finally:
        del RULES["rusting"]


def test_types_and_what_they_afford() -> None:
    stated = set(facts(partition="all"))
    assert ("FireTile", "subtypeOf", "MagmaTile") in stated
    assert ("Hole", "affordsFallingIn", "ball") in stated
    assert ("MagmaTile", "affordsBurning", "ball") in stated
    assert ("SandTile", "affordsSlowing", "ball") in stated
    assert ("GoalTile", "affordsReaching", "ball") in stated
    assert ("SandTile", "affordsBurning", "ball") not in stated
    assert ("Velocity", "dependsOn", "Gravity") not in stated
    assert ("apply_friction", "dependsOn", "Gravity") in stated


def test_the_facts_fit_the_shapes() -> None:
    report = validate(graph(), SHAPES)
    assert report.conforms, report
    assert report.checked > 20


# ---- What things afford follows from the rules and the factors of the levels


def burn(thing: Tuple[Mass, Mobile], tile: Tuple[Friction, Position]) -> SetFactor[Mass]:  # noqa: UP006
    m, mobile = thing
    rough, _ = tile
    return SetFactor(m, m * (1 - 0.1 * rough), where=mobile & (rough > 0))


def slow(thing: Tuple[Velocity, Mobile], tile: Tuple[Heat]) -> Differential[Velocity]:  # noqa: UP006
    v, mobile = thing
    (heat,) = tile
    return Differential(v, np.where(mobile, -heat * v, 0.0))


EXCHANGED = {"apply_burn": read_rule(burn, IsOn()), "apply_friction": read_rule(slow, IsOn())}
TILES = ("SandTile", "MagmaTile", "FireTile", "Hole")


def level(*things: Any, **sim: Any) -> Levels:
    """One level: the ball, the goal, and these things, each a type or data of an entity."""
    read = [one if isinstance(one, dict) else {"type": one} for one in ({"type": "GoalTile"}, *things)]
    scene = Scene.read({"sim": sim, "entities": [{"type": "GolfBall", "factors": {"Position": [0.5, 0]}}, *read]})
    return Levels(None, draw_levels("empty-easy").initialization, "train", 0, 0, (scene,))


def told(levels: Any, **more: Any) -> set[tuple[str, str]]:
    """What things afford in these levels, and by which rules they act."""
    stated = facts(partition="all", levels=levels, **more)
    return {(s, r if r != "actsBy" else o) for s, r, o in stated if r.startswith("affords") or r == "actsBy"}


BUILT_IN = {
    ("SandTile", "affordsSlowing"), ("SandTile", "apply_friction"),
    ("MagmaTile", "affordsBurning"), ("MagmaTile", "apply_burn"),
    ("MagmaTile", "affordsSlowing"), ("MagmaTile", "apply_friction"),
    ("FireTile", "affordsBurning"), ("FireTile", "apply_burn"),
    ("Hole", "affordsFallingIn"), ("Hole", "consume"), ("GoalTile", "affordsReaching"),
}  # fmt: skip


def test_what_tiles_afford_by_the_built_in_rules() -> None:
    assert told(level(*TILES)) == BUILT_IN


def test_a_level_with_burning_and_friction_exchanged_has_other_facts() -> None:
    names = level().scenes[0].sim.rules
    assert told(level(*TILES, rules=tuple(EXCHANGED.get(str(name), name) for name in names))) == {
        ("SandTile", "affordsBurning"), ("SandTile", "burn"),
        ("MagmaTile", "affordsBurning"), ("MagmaTile", "burn"), ("MagmaTile", "affordsSlowing"), ("MagmaTile", "slow"),
        ("FireTile", "affordsSlowing"), ("FireTile", "slow"),
        ("Hole", "affordsFallingIn"), ("Hole", "consume"), ("GoalTile", "affordsReaching"),
    }  # fmt: skip


def test_a_rule_or_a_parameter_that_is_missing_takes_what_it_did() -> None:
    names = level().scenes[0].sim.rules
    burns = {one for one in BUILT_IN if one[1] in ("affordsBurning", "apply_burn")}
    slows = {one for one in BUILT_IN if one[1] in ("affordsSlowing", "apply_friction")}
    assert told(level(*TILES, rules=tuple(name for name in names if name != "apply_burn"))) == BUILT_IN - burns
    assert told(level(*TILES, gravity=0.0)) == BUILT_IN - slows
    assert told(level("SandTile"), friction=1000.0) == {("GoalTile", "affordsReaching")}  # it stops on the bare floor


def test_facts_are_of_the_factors_of_the_levels() -> None:
    assert ("SandTile", "affordsBurning") not in told(None)
    drawn = told("tilesx3-hard", num_levels=20)  # the heat of all tiles but the goal is drawn there
    assert {(kind, "affordsBurning") for kind in TILES} <= drawn
    assert ("GoalTile", "affordsBurning") not in drawn
    cold = {"type": "MagmaTile", "factors": {"Heat": 0.0}}
    assert ("MagmaTile", "affordsBurning") not in told(level(cold))
    assert ("MagmaTile", "affordsBurning") in told(level(cold, "MagmaTile"))


def test_what_objects_afford_to_a_ball_that_meets_them_or_is_near() -> None:
    found = told(level("Charger", "Magnet", "Bumper", "Damper", "Block"))
    for kind in ("Charger", "Magnet", "Bumper", "Damper", "Block"):
        assert (kind, "affordsBouncing") in found, kind
    assert {kind for kind, effect in found if effect == "affordsPulling"} == {"Charger"}
    assert {kind for kind, effect in found if effect == "affordsTurning"} == {"Charger", "Magnet"}
    assert {("Bumper", "affordsSpeeding"), ("Damper", "affordsSlowing"), ("Magnet", "lorentz_law")} <= found
    assert ("Bumper", "affordsSlowing") not in found


@contextmanager
def puddles() -> Iterator[Any]:
    """A type, a factor and a rule of a person's own: puddles take the charge of what lies on them."""

    class Wet(Factor, base="float"):
        pass

    class Puddle(Tile):
        factors = {Wet: 1.0}  # noqa: RUF012

    @rule(relation=IsOn())
    def earthing(thing: Tuple[Charge], puddle: Tuple[Wet]) -> SetFactor[Charge]:  # noqa: UP006
        return SetFactor(thing[0], thing[0] * (1 - 0.5 * puddle[0]))

    try:
        yield earthing
    finally:
        del FACTORS["Wet"], TYPES["Puddle"], RULES["earthing"]


def test_types_factors_and_rules_of_a_persons_own_have_facts_and_are_asked_about() -> None:
    with puddles():
        rules = (*level().scenes[0].sim.rules, "earthing")
        mine = level("Puddle", rules=rules)
        assert {("Puddle", "affordsLessCharge"), ("Puddle", "earthing")} <= told(mine)
        assert ("Puddle", "affordsLessCharge") not in told(level("Puddle"))
        env: Any = gym.make("gumption/PuttPutt-v0", levels=mine, directions=4, observation="state").unwrapped
        env.reset(seed=0)
        assert "affordsLessCharge@1" in env.relations
        known = KnowledgeGraph()
        known.add(facts(partition="all", levels=mine))
        advice = Advice(known, env.vocabulary, env.relations)
        west = dict(zip(advice.relations, advice(env)[0, 3].tolist(), strict=True))
        assert west["affordsLessCharge@1"] + west["affordsLessCharge@2"] == 1
    assert "affordsLessCharge@1" not in table().relations


def test_the_parts_of_the_facts_of_levels() -> None:
    parts = {part: set(facts(partition=part, levels="tilesx2-easy")) for part in ("train", "test", "all")}
    assert parts["test"]
    assert not parts["train"] & parts["test"]
    assert parts["train"] | parts["test"] == parts["all"]
    test = {fact for fact in parts["test"] if fact[1] != "actsBy"}
    assert len(test) == round(0.2 * len([fact for fact in parts["all"] if fact[1].startswith("affords")]))


def test_levels_come_in_every_form_that_environments_take(tmp_path: Path) -> None:
    drawn = draw_levels("tilesx2-easy", n=5, seed=3)
    drawn.save(tmp_path / "levels.json")
    wanted = told("tilesx2-easy", num_levels=5, level_seed=3)
    assert told(drawn) == told(tmp_path / "levels.json") == told(str(tmp_path / "levels.json")) == wanted
    assert told(drawn.initialization.to_data(), num_levels=40) >= {("GoalTile", "affordsReaching")}
    assert ("Hole", "affordsFallingIn") in told("billiards", num_levels=1)
    with pytest.raises(InputError, match="there is no configuration 'tilesx3-harder'"):
        facts(partition="all", levels="tilesx3-harder")


# ---- What a push meets


GOAL, MAGMA, SAND = "GoalTile", "MagmaTile", "SandTile"


def table(*things: dict[str, Any], **ball: Any) -> Any:
    """An environment with a ball in the middle, and these things; 1 to 4 push it right, up, left and down by 2.

    :param ball: its factors.
    """
    env: Any = gym.make("gumption/PuttPutt-v0", observation="state", num_levels=2, directions=4).unwrapped
    far = thing("goal", "GoalTile", [0.9, 0.9], Size=0.1)
    goal = [] if any(one["type"] == "GoalTile" for one in things) else [far]
    env.reset(options={"scene": {"entities": [thing("golfball", "GolfBall", [0, 0], **ball), *things, *goal]}})
    return env


def thing(id: str, kind: str, place: list[float], **factors: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "factors": {"Position": place, **factors}}


def met(env: Any) -> list[list[str]]:
    """For each push, the types of the things that it meets, in order, as its facts name them."""
    found = []
    for stated in env.action_facts().labels(env.vocabulary):
        by_place = {relation.partition("@")[2]: subject for subject, relation, _ in stated}
        assert {fact[2] for fact in stated} <= {"ball"}
        found.append([by_place[place] for place in sorted(by_place)])
    return found


def test_a_push_names_what_it_meets_in_order() -> None:
    things = [
        thing("far", "SandTile", [0.8, 0], Size=0.2),
        thing("near", "MagmaTile", [0.3, 0], Size=0.2),
        thing("goal", "GoalTile", [0.55, 0.05]),
        thing("up", "Hole", [0, 0.6], Size=0.4),
        thing("aside", "FireTile", [0.2, 0.9], Size=0.1),
    ]
    assert met(table(*things)) == [[], [MAGMA, GOAL, SAND], ["Hole"], [], []]


def test_no_more_than_three_things_are_named() -> None:
    row = [thing(f"s{k}", "SandTile", [0.25 * k + 0.15, 0], Size=0.1) for k in range(4)]
    assert met(table(*row))[1] == [SAND] * 3


def test_each_effect_is_asked_of_each_place_and_looked_up_under_its_name() -> None:
    env = table(thing("goal", "GoalTile", [0.8, 0]), thing("m", "MagmaTile", [0.4, 0], Size=0.4))
    assert len(env.relations) == len(set(env.relations))
    scores = Advice(graph(), env.vocabulary, env.relations)
    said = {name for name, score in zip(scores.relations, scores(env)[0, 1].tolist(), strict=True) if score}
    assert said == {"affordsBurning@1", "affordsSlowing@1", "affordsReaching@2"}
    why = dict(scores.why(0, 1))
    assert why["MagmaTile", "affordsBurning@1", "ball"] == why["GoalTile", "affordsReaching@2", "ball"] == 1
    assert why["GoalTile", "affordsBurning@2", "ball"] == 0
    assert np.all(scores(env)[0, [0, 2, 3, 4]].numpy() == 0)


def test_a_way_over_the_edge_of_the_goal_meets_it_like_one_over_its_middle() -> None:
    """The facts do not say whether a push achieves the task: both are asked the same."""
    edge, middle = (table(thing("goal", "GoalTile", [0.8, y], Size=0.3)).action_facts() for y in (0.14, 0.0))
    assert np.array_equal(edge.subject, middle.subject)
    assert met(table(thing("goal", "GoalTile", [0.8, 0.16], Size=0.3)))[1] == []


def test_what_a_ball_touches_is_met_and_a_tile_is_met_by_its_middle() -> None:
    assert met(table(thing("b", "Bumper", [0.5, 0.19], Size=0.2)))[1] == ["Bumper"]
    assert met(table(thing("b", "Bumper", [0.5, 0.21], Size=0.2)))[1] == []
    assert met(table(thing("s", "SandTile", [0.5, 0.11], Size=0.2)))[1] == []
    assert met(table(thing("w", "Block", [0.5, 0.19], Size=0.2)))[1] == ["Block"]
    assert met(table(thing("w", "Block", [0.5, 0.21], Size=0.2)))[1] == []


def test_a_polygon_is_met_where_it_is_and_not_where_a_disc_of_its_width_would_be() -> None:
    wedge = {"kind": "polygon", "vertices": [[-0.3, -0.3], [0.3, -0.3], [-0.3, 0.3]]}
    assert met(table(thing("s", "SandTile", [0.5, -0.1], Shape=wedge)))[1] == [SAND]
    assert met(table(thing("s", "SandTile", [0.5, 0.2], Shape=wedge), thing("m", "MagmaTile", [0.3, 0], Size=0.1)))[
        1
    ] == [SAND, MAGMA]
    assert met(table(thing("s", "SandTile", [0.5, -0.31], Shape=wedge)))[1] == []


def test_what_cannot_be_seen_is_not_named() -> None:
    assert met(table(thing("c", "Charger", [0.5, 0])))[1] == ["Charger"]
    for gone in ({"Visible": False}, {"Alive": False}, {"Done": True}):
        assert met(table(thing("c", "Charger", [0.5, 0], **gone)))[1] == [], gone


def test_facts_are_about_the_way_of_a_moving_ball_after_the_push() -> None:
    ahead, aside = thing("s", "SandTile", [0, 0.6], Size=0.1), thing("s", "SandTile", [0.6, 0.6], Size=0.1)
    still, moving = {}, {"Velocity": [0.0, 2.0]}
    assert [SAND in pushed for pushed in met(table(aside, **still))] == [False] * 5
    assert [SAND in pushed for pushed in met(table(aside, **moving))] == [False, True, False, False, False]
    # Without a push it rolls on, and a push down stops it.
    assert [SAND in pushed for pushed in met(table(ahead, **moving))] == [True, False, True, False, False]


def test_a_push_moves_a_lighter_ball_further_off_its_way() -> None:
    sand, moving = thing("s", "SandTile", [0.4, 0.2], Size=0.1), {"Velocity": [0.0, 2.0]}
    assert SAND not in met(table(sand, **moving, Mass=1.0))[1]
    assert SAND in met(table(sand, **moving, Mass=0.5))[1]


@pytest.mark.parametrize("levels", ["tilesx3-medium", "objectsx3-hard", "puttputt_default"])
def test_things_are_met_as_points_along_each_way_show(levels: str) -> None:
    env: Any = gym.make_vec(
        "gumption/PuttPutt-v0", num_envs=6, levels=levels, directions=8, observation="state", num_levels=6
    ).unwrapped
    env.reset(seed=1)
    state, velocities, actors = env.state, env.pushed(), env.state.first(TYPES["GolfBall"])
    x, size, steps = state.columns[Position], state.columns[Size][0], np.linspace(-1.0, 3.0, 8001)
    found = things_met(state, actors, velocities)
    for b, a in np.ndindex(*velocities.shape[:2]):
        wanted, speed = [], np.linalg.norm(velocities[b, a])
        way = velocities[b, a] / (speed or 1.0)
        points = x[:, actors[b], b] + steps[:, None] * way
        for n in np.flatnonzero(state.present[:, b] & (state.kinds[:, b] > 0)).tolist():
            middle = x[:, n, b]
            if n == actors[b] or (middle - x[:, actors[b], b]) @ way <= 0:
                continue
            grown = size[actors[b], b] / 2 if state.is_a(Object)[n, b] else 0.0
            inside = np.linalg.norm(points - middle, axis=1) <= size[n, b] / 2 + grown
            if state.kinds[n, b] != CIRCLE:
                corners = state.corners[: state.corner_counts[n, b], :, n, b] + middle
                sides = zip(corners, np.roll(corners, -1, axis=0), strict=True)
                cross = [(w - v)[0] * (points - v)[:, 1] - (w - v)[1] * (points - v)[:, 0] for v, w in sides]
                inside = (np.array(cross) >= 0).all(axis=0)
            if inside.any():
                wanted.append((inside.argmax(), n))
        named = [n for _, n in sorted(wanted)][:3]
        assert found[b, a].tolist() == named + [state.slots] * (3 - len(named))


@pytest.mark.slow
def test_other_worlds_on_the_same_physics_do_not_change_what_is_known() -> None:
    """Facts, kinds of things, and a scene that an environment gets, are the same after every world was imported."""
    program = """
import importlib, pkgutil
import gymnasium as gym
import gumption.envs
from gumption.envs.physics.factors import FACTORS, PARAMETERS
from gumption.envs.segar import facts
from gumption.envs.segar.facts import kinds

env = gym.make("gumption/PuttPutt-v0", observation="state", num_levels=2)
before, known = (list(facts(partition="all")), kinds()), len(FACTORS) + len(PARAMETERS)
for module in pkgutil.walk_packages(gumption.envs.__path__, "gumption.envs."):
    if "torch" not in module.name and module.name.count(".") > 2:
        importlib.import_module(module.name)
assert len(FACTORS) + len(PARAMETERS) > known
assert (list(facts(partition="all")), kinds()) == before
env.reset(options={"scene": {"entities": [{"id": "golfball", "type": "GolfBall"}, {"id": "goal", "type": "GoalTile"}]}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_part() -> None:
    with pytest.raises(InputError, match="partition"):
        list(facts(partition="nowhere"))  # pyright: ignore[reportArgumentType]
