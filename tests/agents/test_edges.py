"""Edges of any graph as channels of a policy: from the file to the run, and what a policy starts from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from gumption.agents import Advice, KGPolicy, evaluate, train_impala
from gumption.agents.knowledge import UnknownEntities
from gumption.agents.policy import FlatActorCritic
from gumption.agents.wordcraft.evaluation import baseline
from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import RecipeBook, facts, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.weights import add_weighted

EDGES: dict[str, Any] = {"kg_scores": ("edges",), "total_steps": 512, "eval_interval": 256}


@pytest.fixture
def strangers(book: RecipeBook, tmp_path: Path) -> Path:
    """A graph of relations that the world does not have: what the recipes imply, each fact in one of two ways,
    backwards in one of them, some with weights; and things that the world does not know."""
    graph, rng = KnowledgeGraph(), np.random.default_rng(0)
    pairs = sorted({(s, o) for s, r, o in facts(book, partition="all") if r == "componentOf"})
    said = [(o, "madeFrom", s) if i % 2 else (s, "usedFor", o) for i, (s, o) in enumerate(pairs)]
    graph.add([*said, ("unicorn", "isA", "horse"), ("water", "isA", "liquid")], graph="said")
    add_weighted(graph, said[:10], [2.0] * 10, "said")
    graph.add([(str(s), "near", str(o)) for s, o in rng.choice(book.entities, (40, 2))], graph="noise")
    graph.save(tmp_path / "strangers.nq")
    return tmp_path / "strangers.nq"


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_run_learns_by_edges_keeps_them_and_evaluates_without_the_source(
    configure: Callable[..., Any], strangers: Path, tmp_path: Path
) -> None:
    given = {"kg": str(strangers), "kg_scores": ("edges", "words"), "supervised": True}
    config = configure(**{**EDGES, **given})
    result = train_impala(config, tmp_path / "run", progress=False)
    assert result.policy is not None
    channels = result.policy.advice.channels
    assert channels[:4] == ("goal.madeFrom", "goal.^madeFrom", "goal.near", "goal.^near")
    assert {"known", "again", "goal.words", "chosen.two-step"} < set(channels)
    assert {f"lambda/{name}" for name in channels} < set(result.curve[-1])
    about = json.loads((tmp_path / "run" / "manifest.json").read_text())["knowledge"]
    assert (about["by"], about["edges"]) == ("edges", ["madeFrom", "near", "usedFor"])
    told = evaluate(tmp_path / "run", draws=1)
    strangers.unlink()
    assert evaluate(tmp_path / "run", draws=1) == told
    assert abs(told["players"]["untrained"]["success"] - told["players"]["knowledge only"]["success"]) <= 0.1


def test_a_policy_starts_at_what_training_tasks_count(configure: Callable[..., Any], strangers: Path) -> None:
    """An edge of right choices outweighs one that says nothing, and decides before training."""
    config = configure(**EDGES, kg=str(strangers), kg_only=True)
    result = train_impala(config, progress=False)
    policy = result.policy
    assert policy is not None
    first = dict(zip(policy.advice.channels, policy.network.first[1:].tolist(), strict=True))
    assert min(first["goal.usedFor"], first["goal.^madeFrom"]) > 1 > abs(first["known"])
    assert first["goal.near"] < min(first["goal.usedFor"], first["goal.^madeFrom"])
    assert result.final["train_success"] > 0.6  # by relations that nobody named; at random it is a tenth of that
    untrained = baseline("untrained", configure(**EDGES, kg=str(strangers)))
    assert untrained["train_success"] > result.final["train_success"] - 0.05  # ties apart, the network changes nothing


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.LeakedFacts")
@pytest.mark.parametrize("scale", ["makes", "componentOf,combinesWith"])
def test_stated_facts_outvote_an_untrained_network(
    configure: Callable[..., Any], book: RecipeBook, tmp_path: Path, scale: str
) -> None:
    graph = KnowledgeGraph()
    graph.add(facts(book, partition="all"), graph="pairs")
    graph.add(recipe_facts(book, partition="all"), graph="recipes")
    graph.save(tmp_path / "mine.nq")
    config = configure(kg=str(tmp_path / "mine.nq"), kg_scores=tuple(scale.split(",")), total_steps=1024)
    alone = baseline("kg_only", config)
    assert baseline("untrained", config)["test_success"] >= alone["test_success"] - 0.02
    assert train_impala(config, progress=False).final["test_success"] >= alone["test_low"]


def test_the_first_lambda_of_the_network_never_outvotes_a_fact() -> None:
    """The scores are 0 or 1, or a thousand times as large, and the network's logits differ by up to 40."""
    torch.manual_seed(0)
    for size in (1.0, 1000.0):
        policy = KGPolicy(FlatActorCritic(3, 5, 8), ["stated"])
        scores = (torch.rand(64, 5, 1) < 0.3).float() * size
        attention = torch.randn(64, 5) * 10
        policy.begin(attention, scores, None)
        total = policy.first[0] * attention + (scores @ policy.first[1:])
        stated = scores[..., 0].amax(1) > 0
        assert (scores[..., 0].gather(1, total.argmax(1)[:, None])[:, 0] == scores[..., 0].amax(1))[stated].all()
        assert policy.first[1] * size >= 5


def test_knowledge_is_asked_by_edges_in_an_observation_and_says_why(strangers: Path) -> None:
    env: Any = gym.make("gumption/WordCraft-v0", num_distractors=2)
    made = KnowledgeGraph()
    made.add([("mud", "needs", "water"), ("mud", "needs", "earth"), ("fire", "isA", "element")], graph="mine")
    made.add([("water", "isA", "element")], graph="mine")
    advice = Advice(made, env.unwrapped.vocabulary, ("edges",))
    env.unwrapped.reset(options={"goal": "mud", "table": ["fire", "water", "earth"]})
    said = advice(env)
    assert said.shape == (1, env.action_space.n, len(advice.channels))
    column = advice.channels.index("goal.^needs")
    assert said[0, :3, column].tolist() == [0.0, 1.0, 1.0]
    assert advice.why(0, 1) == [(("mud", "needs", "water"), 1.0)]
    assert advice.why(0, 0) == []
    env.unwrapped.step(1)  # water is chosen: fire is an element, too
    assert float(advice(env)[0, 1, advice.channels.index("again")]) == 1.0
    assert advice.why(0, 1) == []
    assert {fact for fact, _ in advice.why(0, 0)} == {("fire", "isA", "element"), ("water", "isA", "element")}
    seen, _ = KGScores(env, advice).reset(options={"goal": "mud", "table": ["fire", "water", "earth"]})
    assert seen["kg_scores"].shape == said.shape[1:]
    assert seen["kg_scores"][:3, column].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kg_scores": ("edges", "makes")}, "kg_scores names edges and makes: take one or the other"),
        ({"kg_fit": True}, "kg_fit is for scores that are fitted"),
        ({"kg_sources": ("words",)}, "kg_sources is for scores that are fitted"),
        ({"kg_calibrated": False}, "kg_calibrated is for scores that are fitted"),
        ({"look_ahead": "on"}, "look_ahead needs the scores of a relation that produces"),
        ({"cross_fit": True}, "cross_fit is for scores that are fitted, and edges are looked up"),
    ],
)
def test_settings_that_edges_do_not_read_are_refused(
    configure: Callable[..., Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        configure(**{"kg": "train", "kg_scores": ("edges",), **given})


def test_what_has_no_edges_is_refused_before_training(configure: Callable[..., Any], tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add([("dragon", "guards", "treasure"), ("dragon", "isA", "monster")], graph="other")
    graph.save(tmp_path / "other.nq")
    expected = r"no fact of the graph links two of the world's entities.* it has 2 facts of guards, isA .*kg link"
    with pytest.raises(InputError, match=expected):
        train_impala(configure(**EDGES, kg=str(tmp_path / "other.nq")), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    graph.add([("water", "isA", "liquid"), ("lava", "isA", "liquid")], graph="other")
    advice = Advice(graph, ("", "water", "lava"), ("edges",))
    things = np.array([[1, 2]])
    with pytest.raises(InputError, match="give `things` and `about` in its action_facts"):
        advice.score(action_facts(("near",), (1, 2), [(things, 1, 0)]))
    graph.save(tmp_path / "liquids.nq")
    with pytest.warns(UnknownEntities, match=r"liquids\.nq: the graph knows 2 of the world's 33 entities"):
        train_impala(configure(**EDGES, kg=str(tmp_path / "liquids.nq"), kg_only=True), progress=False)


def test_a_world_without_a_goal_has_edges_to_what_is_chosen() -> None:
    alchemy = gym.make_vec("gumption/LittleAlchemy-v0", num_envs=2)
    alchemy.reset(seed=0)
    graph = KnowledgeGraph()
    graph.add([("fire", "heats", "water"), ("water", "isA", "liquid")], graph="mine")
    world: Any = alchemy.unwrapped
    advice = Advice(graph, world.vocabulary, ("edges",))
    fire, water = (world.vocabulary.index(name) - 1 for name in ("fire", "water"))
    assert not advice(alchemy)[:, :, advice.channels.index("chosen.heats")].any()
    alchemy.step(np.array([water, fire]))
    said = dict(zip(advice.channels, advice(alchemy).permute(2, 0, 1), strict=True))
    assert said["chosen.heats"].nonzero().tolist() == [[0, fire]]
    assert said["chosen.^heats"].nonzero().tolist() == [[1, water]]
    assert not any(channel.any() for name, channel in said.items() if name.startswith("goal."))


def test_a_world_that_does_not_know_right_choices_is_not_learned_by_supervision() -> None:
    env: Any = gym.make("gumption/LittleAlchemy-v0")
    with pytest.raises(InputError, match="does not state which choices are right: learn from its rewards"):
        env.unwrapped.batch.right_choices()
