"""SEGAR's facts: what rules change, what things afford, and which facts speak for a direction."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs.segar
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.physics.factors import Factor, Mass
from gumption.envs.physics.rules import RULES, Differential, rule
from gumption.envs.segar import facts
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


REACHED, MAGMA, SAND = ("GoalTile", "affordsReaching"), ("MagmaTile", "affordsBurning"), ("SandTile", "affordsSlowing")


def table(*things: dict[str, Any], **ball: Any) -> Any:
    """An environment with a ball in the middle, and these things; 1 to 4 push it right, up, left and down by 2.

    :param ball: its factors.
    """
    env: Any = gym.make("gumption/PuttPutt-v0", observation="state", num_levels=2, directions=4).unwrapped
    env.reset(options={"scene": {"entities": [thing("golfball", "GolfBall", [0, 0], **ball), *things]}})
    return env


def thing(id: str, kind: str, place: list[float], **factors: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "factors": {"Position": place, **factors}}


def said(env: Any) -> list[set[tuple[str, str]]]:
    """For each push, the subjects and relations that are asked about."""
    return [{fact[:2] for fact in facts} for facts in env.action_facts().labels(env.vocabulary)]


def test_the_graph_speaks_for_the_way_to_the_goal_and_names_the_tile_in_between() -> None:
    magma, far = thing("m", "MagmaTile", [0, 0.6], Size=0.4), thing("far", "SandTile", [0, 0.9], Size=0.1)
    env = table(thing("goal", "GoalTile", [0.6, 0]), magma, far)
    asked = said(env)
    assert asked[0] == asked[3] == asked[4] == set()
    assert REACHED in asked[1]
    assert MAGMA in asked[2]
    assert not asked[2] & {REACHED, SAND}
    scores = Advice(graph(), env.vocabulary, env.relations)(env)
    assert scores[0, 1].tolist() == [float(name == "affordsReaching") for name in env.relations]
    assert scores[0, 2].tolist() == [float(name in ("affordsBurning", "affordsSlowing")) for name in env.relations]
    assert np.all(scores[0, [0, 3, 4]].numpy() == 0)


def test_the_goal_behind_a_tile_is_told_beside_the_tile() -> None:
    asked = said(table(thing("goal", "GoalTile", [0.8, 0]), thing("m", "MagmaTile", [0.4, 0], Size=0.4)))[1]
    assert asked >= {REACHED, MAGMA}


def test_a_way_over_the_edge_of_the_goal_does_not_reach_it() -> None:
    asked = said(table(thing("goal", "GoalTile", [0.8, 0.1])))[1]
    assert ("GoalTile", "affordsBurning") in asked  # it is what is met
    assert REACHED not in asked


def test_facts_are_about_the_way_of_a_moving_ball_after_the_push() -> None:
    ahead, aside = thing("goal", "GoalTile", [0, 0.6]), thing("goal", "GoalTile", [0.6, 0.6])
    still, moving = {}, {"Velocity": [0.0, 2.0]}
    assert [REACHED in pushed for pushed in said(table(aside, **still))] == [False] * 5
    assert [REACHED in pushed for pushed in said(table(aside, **moving))] == [False, True, False, False, False]
    # Without a push it rolls on, and a push down stops it.
    assert [REACHED in pushed for pushed in said(table(ahead, **moving))] == [True, False, True, False, False]


def test_a_push_moves_a_lighter_ball_further_off_its_way() -> None:
    goal, moving = thing("goal", "GoalTile", [0.4, 0.2]), {"Velocity": [0.0, 2.0]}
    assert REACHED not in said(table(goal, **moving, Mass=1.0))[1]
    assert REACHED in said(table(goal, **moving, Mass=0.5))[1]


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
