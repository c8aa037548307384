"""Agents that choose among pushes: how levels end, which scores they get, and what is taken away."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from gumption.agents import Advice
from gumption.agents.evaluation import Greedy, means
from gumption.agents.learners.impala import train_impala
from gumption.agents.segar import guided
from gumption.agents.segar.evaluation import play_levels, scripted
from gumption.agents.settings import WorldConfig
from gumption.agents.setup import load_policy, setup_of, untrained
from gumption.envs.physics.scene import Scene
from gumption.envs.segar.configurations import Levels, draw_levels
from gumption.kg import KnowledgeGraph
from tests.segar_scenes import thing

EAST = 1


def table(*scenes: list[dict[str, Any]]) -> Any:
    """An environment whose levels are these scenes: things beside a ball in the middle."""
    drawn = draw_levels("empty-easy")
    read = [Scene.read({"entities": [thing("GolfBall", 0, 0, "golfball"), *scene]}) for scene in scenes]
    levels = Levels(None, drawn.initialization, "train", 0, 0, tuple(read))
    settings = {**guided.env_settings("empty-easy", 0), "levels": levels, "friction": 0.0}
    return gym.make_vec(guided.ID, num_envs=len(scenes), **settings)


def goal(x: float, y: float) -> dict[str, Any]:
    return thing("GoalTile", x, y, "goal")


def advice_of(chosen: WorldConfig) -> Advice:
    told = setup_of(chosen)(chosen, num_envs=1).advice
    assert told is not None
    return told


def config(**changes: Any) -> WorldConfig:
    env = guided.env_settings("tilesx2-medium", 0, 5)
    given = {"total_steps": 64, "eval_interval": 64, "eval_episodes": 5, "device": "cpu", **changes}
    given["overrides"] = (("batch_size", 8), ("hidden_size", 16), *given.get("overrides", ()))
    return WorldConfig("segar", env=tuple(env.items()), **given)


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
    told = advice_of(config(kg="full", kg_scores=("affordsReaching",)))
    assert told.relations == ("affordsReaching@1", "affordsReaching@2", "affordsReaching@3")
    graph = KnowledgeGraph()
    graph.add([("Hole", "swallows", "ball"), ("GoalTile", "isWon", "ball")])
    graph.save(tmp_path / "mine.nq")
    mine = config(kg=str(tmp_path / "mine.nq"), kg_relations=(("affordsFallingIn", "swallows"),))
    assert advice_of(mine).relations == tuple(f"affordsFallingIn@{place}" for place in (1, 2, 3))


def test_knowledge_that_is_taken_away_says_nothing() -> None:
    env = table([goal(0.8, 0)])
    env.reset(options={"level": 0})
    settings = config(kg="full")
    player = untrained(settings, advice_of(settings))
    policy = player.policy
    with torch.no_grad():
        policy.network.mlp[-1].bias[:] = 50.0  # the scores decide
    begins = np.ones(1, dtype=bool)
    assert player(env.unwrapped, begins)[0] in (EAST, EAST + 1, EAST + 15)
    blind = Greedy(policy, without_knowledge=True)
    with torch.no_grad():
        attention = policy(policy.read(env.unwrapped)).attention
    assert blind(env.unwrapped, begins)[0] == int(attention.argmax())


def test_the_untrained_policy_is_the_one_with_which_training_begins() -> None:
    settings = config(kg="full", seed=3, overrides=(("learning_rate", 0.0),))
    begun = train_impala(settings, progress=False).policy.network.state_dict()
    fresh = untrained(settings, advice_of(settings)).policy.network.state_dict()
    assert all(torch.equal(fresh[name], value) for name, value in begun.items())


def test_a_run_that_was_kept_plays_on_as_it_was_trained(tmp_path: Path) -> None:
    settings = config(kg="full")
    policy = train_impala(settings, tmp_path / "run", progress=False).policy
    env = gym.make_vec(guided.ID, num_envs=5, **guided.env_settings("tilesx2-medium", 0, 5, "test"))
    mine, kept = (play_levels(Greedy(one), env) for one in (policy, load_policy(tmp_path / "run")[1]))
    assert mine["return"].tolist() == kept["return"].tolist()
