"""Edges of any graph as channels of a policy: from the file to the run, and what a policy starts from."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from rich.console import Console

from gumption.agents import Advice, KGPolicy, evaluate, train_impala
from gumption.agents.knowledge import UnknownEntities
from gumption.agents.policy import FlatActorCritic
from gumption.agents.watch import Candidate, Choice, Score, choice_table, scores_of
from gumption.agents.wordcraft.evaluation import baseline
from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import RecipeBook, facts, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.weights import add_weighted
from gumption.kg.vocabulary import LINKS

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
    config = configure(**EDGES, kg=str(strangers), agent="graph")
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


def renamed(source: Path, out: Path, relation_names: list[str]) -> Path:
    """The facts of a graph under other names for all things and relations, linked to the words of the world."""
    given, graph = KnowledgeGraph.load(source), KnowledgeGraph()
    triples = {name: list(given.triples(graph=name)) for name in ("said", "noise")}
    things = sorted({thing for rows in triples.values() for s, _, o in rows for thing in (s, o)})
    codes = {thing: f"Q{i:03}" for i, thing in enumerate(things)}
    relations = dict(zip(sorted({r for rows in triples.values() for _, r, _ in rows}), relation_names, strict=True))
    for name, rows in triples.items():
        graph.add([(codes[s], relations[r], codes[o]) for s, r, o in rows], graph=name)
    graph.add([(thing, LINKS["exact"], code) for thing, code in codes.items()], graph="links")
    graph.save(out)
    return out


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_other_names_for_all_things_and_relations_of_the_graph_change_nothing(
    configure: Callable[..., Any], strangers: Path, tmp_path: Path
) -> None:
    """To the bit where the order of the relations stays. In another order the channels are other weights of the network
    and other sums of floats: the first lambdas are the same to six digits, and so is what is played by them."""
    relations = ["isA", "madeFrom", "near", "usedFor"]
    codes = ["P1", "P2", "P3", "P4"]
    how = {**EDGES, "supervised": True}
    graphs = [
        renamed(strangers, tmp_path / f"{i}.nq", names) for i, names in enumerate([relations, codes, codes[::-1]])
    ]
    results = [train_impala(configure(**how, kg=str(graph)), progress=False) for graph in graphs]
    one, other, turned = (result.policy for result in results)
    assert one is not None
    assert other is not None
    assert turned is not None
    assert one.advice.channels != other.advice.channels
    weights = (policy.network.state_dict() for policy in (one, other))
    for mine, theirs in zip(*(states.values() for states in weights), strict=True):
        assert torch.equal(mine, theirs)
    ignored = {"wall_s", "steps_per_s"}
    figures = [{name: value for name, value in result.final.items() if name not in ignored} for result in results]
    assert figures[0] == figures[1]
    back = dict(zip(codes[::-1], codes, strict=True))
    first = dict(zip(turned.advice.channels, turned.network.first[1:].tolist(), strict=True))
    for channel, worth in zip(other.advice.channels, other.network.first[1:].tolist(), strict=True):
        name = re.sub(r"P\d", lambda code: back[code[0]], channel)
        assert first[name] == pytest.approx(worth, rel=1e-6), channel
    played = [baseline("kg_only", configure(**EDGES, kg=str(graph)))["test_success"] for graph in graphs[1:]]
    assert played[0] == pytest.approx(played[1], abs=0.02)  # ties of sums may fall otherwise


def test_a_watched_choice_shows_each_channel_with_its_facts() -> None:
    env: Any = gym.make("gumption/WordCraft-v0", num_distractors=2, render_mode="ansi").unwrapped
    graph = KnowledgeGraph()
    graph.add([("mud", "needs", "water"), ("mud", "isA", "wet thing"), ("water", "isA", "wet thing")], graph="mine")
    advice = Advice(graph, env.vocabulary, ("edges",))
    env.reset(options={"goal": "mud", "table": ["fire", "water", "earth"]})
    advice(env)
    shared = "water is a wet thing", "mud is a wet thing"
    scores = {score.relation: score for score in scores_of(advice, 1)}
    assert set(scores) == {"goal.^needs", "goal.two-step", "known"}
    assert (scores["goal.^needs"].value, len(scores["goal.^needs"].facts)) == (1.0, 1)
    assert set(scores["goal.two-step"].facts) == set(shared)
    assert scores_of(advice, 0) == ()  # the graph states nothing of fire
    candidates = tuple(Candidate(env.vocabulary[a], 0.5, 0.0, scores_of(advice, a), 0.0) for a in (0, 1))
    many = [Score(f"goal.r{i}", 1.0, (f"fact {i}",)) for i in range(7)]
    for extra in ((), many):  # more than six scores stand before their facts, not in columns
        choice = Choice("what", (candidates[0], replace(candidates[1], scores=(*candidates[1].scores, *extra))), 1)
        console = Console(width=300, record=True, file=StringIO())
        console.print(choice_table(choice))
        shown = console.export_text()
        assert all(fact in shown for fact in shared)
        assert ("KG: goal.^needs" in shown) != bool(extra)
        assert ("goal.^needs 1.00: " in shown) == bool(extra)


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
        train_impala(configure(**EDGES, kg=str(tmp_path / "liquids.nq"), agent="graph"), progress=False)


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
