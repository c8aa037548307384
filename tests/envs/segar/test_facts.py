"""SEGAR's facts: what rules change, what things afford, and which facts speak for a direction."""

from pathlib import Path
from typing import Tuple  # noqa: UP035  (as the paper's hints)

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs.segar
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.physics.factors import Factor, Mass, Velocity
from gumption.envs.physics.rules import RULES, Differential, rule
from gumption.envs.segar import facts
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import validate

SHAPES = Path(gumption.envs.segar.__file__).with_name("shapes.ttl")


def graph(split: str = "all") -> KnowledgeGraph:
    made = KnowledgeGraph()
    made.add(facts(split=split), graph="segar")
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
        assert ("rusting", "writes", "Mass") in set(facts(split="train"))
    finally:
        del RULES["rusting"]


def test_types_and_what_they_afford() -> None:
    stated = set(facts(split="all"))
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


def test_the_graph_speaks_for_the_way_to_the_goal_and_names_the_tile_in_between() -> None:
    env = gym.make("gumption/PuttPutt-v0", observation="state", num_levels=2, directions=4).unwrapped
    things = [
        {"id": "golfball", "type": "GolfBall", "factors": {"Position": [0, 0]}},
        {"id": "goal", "type": "GoalTile", "factors": {"Position": [0.6, 0]}},
        {"id": "m", "type": "MagmaTile", "factors": {"Position": [0, 0.6], "Size": 0.4}},
        {"id": "far", "type": "SandTile", "factors": {"Position": [0, 0.9], "Size": 0.1}},
    ]
    env.reset(options={"scene": {"entities": things}})
    said = env.action_facts().labels(env.vocabulary)
    assert said[0] == []
    assert ("GoalTile", "affordsReaching", "ball") in said[1]
    assert ("MagmaTile", "affordsBurning", "ball") in said[2]
    assert said[3] == said[4] == []
    scores = Advice(graph(), env.vocabulary, env.relations)(env)
    assert scores[0, 1].tolist() == [float(name == "affordsReaching") for name in env.relations]
    assert scores[0, 2].tolist() == [float(name in ("affordsBurning", "affordsSlowing")) for name in env.relations]
    assert np.all(scores[0, [0, 3, 4]].numpy() == 0)


def test_an_unknown_split() -> None:
    with pytest.raises(InputError, match="split"):
        list(facts(split="nowhere"))  # pyright: ignore[reportArgumentType]
