"""Agents that choose among pushes: how levels end, which scores they get, and that they follow their graph at first."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gumption.agents import Advice
from gumption.agents.evaluation import means
from gumption.agents.segar.config import SegarConfig
from gumption.agents.segar.evaluation import play_levels, scripted
from gumption.agents.segar.training import SegarSetup, train_segar
from gumption.data import InputError
from gumption.envs.physics.scene import Scene
from gumption.envs.segar.configurations import Levels, draw_levels
from gumption.kg import KnowledgeGraph
from tests.segar_scenes import thing

EAST = 1
SIZES: dict[str, Any] = {"num_levels": 20, "test_levels": 200, "device": "cpu"}


def table(*scenes: list[dict[str, Any]]) -> Any:
    """An environment whose levels are these scenes: things beside a ball in the middle."""
    drawn = draw_levels("empty-easy")
    read = [Scene.read({"entities": [thing("GolfBall", 0, 0, "golfball"), *scene]}) for scene in scenes]
    levels = Levels(None, drawn.initialization, "train", 0, 0, tuple(read))
    settings = {"levels": levels, "directions": 16, "observation": "state", "friction": 0.0}
    return gym.make_vec("gumption/PuttPutt-v0", num_envs=len(scenes), **settings)


def goal(x: float, y: float) -> dict[str, Any]:
    return thing("GoalTile", x, y, "goal")


def test_each_level_is_played_once_and_how_it_ends_is_told() -> None:
    magma = thing("MagmaTile", 0.3, 0, Size=1.0, Heat=9.0)
    hole = thing("Hole", 0.5, 0, Size=0.5, Shape={"kind": "circle", "size": 0.5})
    env = table([goal(0.5, 0)], [goal(-0.9, 0.9), magma], [goal(-0.9, 0.9), hole], [goal(-0.9, 0.9)])
    outcome = play_levels(lambda batch, _: np.full(batch.num_envs, EAST), env)
    assert outcome["success"].tolist() == [True, False, False, False]
    assert outcome["destroyed"].tolist() == [False, True, False, False]
    assert outcome["consumed"].tolist() == [False, False, True, False]
    assert outcome["return"][1] < -100 < outcome["return"][3] < outcome["return"][0] < 0
    assert means(outcome, "success") == {"success": 0.25}


def test_the_scripted_player_reaches_goals_in_any_direction() -> None:
    env = table([goal(0.6, 0)], [goal(-0.5, 0.5)], [goal(0.1, -0.8)])
    assert play_levels(scripted, env)["success"].all()


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.LeakedFacts")
@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_name_without_a_place_takes_the_scores_of_each_place(tmp_path: Path) -> None:
    config = SegarConfig(levels="tilesx2-medium", kg="full", kg_scores=("affordsReaching",), **SIZES)
    assert (config.task, config.observation) == ("PuttPutt", "tiles")
    assert SegarSetup(config).advice.relations == ("affordsReaching@1", "affordsReaching@2", "affordsReaching@3")
    graph = KnowledgeGraph()
    graph.add([("Hole", "swallows", "ball"), ("GoalTile", "isWon", "ball")])
    graph.save(tmp_path / "mine.nq")
    names = (("affordsFallingIn", "swallows"),)
    mine = SegarConfig(levels="tilesx2-medium", kg=str(tmp_path / "mine.nq"), kg_relations=names, **SIZES)
    assert SegarSetup(mine).advice.relations == tuple(f"affordsFallingIn@{place}" for place in (1, 2, 3))


def test_edges_speak_for_the_pushes_that_meet_a_thing() -> None:
    made = {"task": "Gates", "levels": "gates-2", "partition": "test", "num_levels": 8}
    env = gym.make_vec("gumption/SEGAR-v0", num_envs=8, **made).unwrapped
    env.reset(seed=0)
    things = env.action_facts().things
    number = next(i for i in np.unique(things).tolist() if env.vocabulary[i].startswith("GateB"))
    fact = (env.vocabulary[number], "affordsFallingIn", "ball")
    met = (things == number).any(axis=2)
    assert 0 < met.sum() < met.size
    graph = KnowledgeGraph()
    graph.add([fact])
    advice = Advice(graph, env.vocabulary, ("edges",))
    scores = advice(env).numpy()
    assert np.array_equal(scores[:, :, advice.channels.index("goal.affordsFallingIn")], met)
    b, a = np.argwhere(met)[0].tolist()
    assert advice.why(b, a) == [(fact, 1.0)]


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
@pytest.mark.parametrize("levels", ["gates-2", "gates-3"])
def test_an_untrained_agent_does_what_its_graph_alone_does_and_has_learned_nothing(levels: str) -> None:
    shares, first = [], []
    for agent in ("network", "graph"):
        config = SegarConfig(levels=levels, kg="full", kg_scores=("edges",), agent=agent, **SIZES)
        run = SegarSetup(config).untrained()
        shares.append(run.play(config.draw("test"))["success"].mean())
        network = run.policy.policy.features_extractor.network
        first.append(dict(zip(("network", *network.channels), network.first.tolist(), strict=True)))
    assert abs(shares[0] - shares[1]) <= 0.02
    assert first[0]["goal.affordsReaching"] == first[1]["goal.affordsReaching"] > 0 > first[0]["goal.affordsFallingIn"]
    assert first[1]["network"] < first[0]["network"] / 100
    final = train_segar(config, progress=False).final
    assert final["test_success"] == pytest.approx(shares[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agent": "graph"}, "acts by a graph alone: add kg"),
        ({"kg": "full", "observation": "rgb"}, "kg is 'full': that is for ppo, a task of forces and an observation of"),
        ({"kg": "full", "task": "Gates", "algorithm": "sac"}, "kg is 'full': that is for ppo"),
    ],
)
def test_knowledge_that_no_agent_could_use_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SegarConfig(**given)
