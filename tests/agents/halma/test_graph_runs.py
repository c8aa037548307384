"""A graph that is given to a HALMA agent: it speaks for the agent's choices, and the run keeps it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents.advice import Advice
from gumption.agents.halma.acting import GraphGuide, first_percept, panel_rows, play
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import (
    KNOWLEDGE_ONLY,
    TAKEN_AWAY,
    UNTRAINED,
    comparisons,
    label,
    play_test,
)
from gumption.agents.halma.runs import HALMARun, load_run, train_halma
from gumption.agents.halma.training import advice_of_memory
from gumption.agents.halma.watch import HALMAPlayer
from gumption.agents.knowledge import UnknownEntities
from gumption.agents.watch import play_steps
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, Mazes, Memory, facts, one_hot, sample_mazes
from gumption.envs.halma.facts import RELATIONS
from gumption.envs.halma.memory import TRIAL_OVER, VALID
from gumption.envs.halma.rules import Rules
from gumption.envs.halma.signs import signs
from gumption.envs.priors import Names
from gumption.kg import ComplEx, KnowledgeGraph

SMALL = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("policy_delay", 20), ("candidates", 2),
         ("random_candidates", 1))  # fmt: skip


def small(**settings) -> HALMAConfig:
    given = {"episodes": 1, "log_interval": 1, "num_mazes": 3, "device": "cpu", "overrides": SMALL}
    return HALMAConfig(**{**given, **settings})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a moment that was given a graph, which then went away."""
    folder = tmp_path_factory.mktemp("told")
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"), graph="mine")
    graph.save(folder / "mine.nq")
    train_halma(small(kg=f"{folder / 'mine.nq'}#mine"), folder / "run", progress=False)
    (folder / "mine.nq").unlink()
    return folder / "run"


@pytest.mark.slow
def test_a_run_keeps_its_graph_and_is_led_by_it(told: Path) -> None:
    run = load_run(told)
    mazes = Mazes(sample_mazes(4, 77))
    goals = {name: play_test(run, mazes, "RT", [0], make)[1].mean() for name, make in comparisons(run).items()}
    assert goals["oracle"] == 1
    assert goals[KNOWLEDGE_ONLY] > 0.5 < goals[UNTRAINED]
    assert goals[TAKEN_AWAY] < 0.3 > goals["random"]
    assert label(run.config) == "MLP + given graph"


def test_the_manifest_tells_which_graph_and_what_it_knows_of_the_test(told: Path) -> None:
    about = json.loads((told / "manifest.json").read_text())["knowledge"]
    kept = KnowledgeGraph.load(told / "knowledge" / "graph.nq")
    assert {relation for _, relation, _ in kept.triples()} == set(RELATIONS)  # what is asked of it, and nothing else
    given = KnowledgeGraph()
    given.add(facts(partition="all"), graph="mine")
    asked = len(set(facts(partition="test")))
    assert about == {
        "source": "mine.nq#mine",
        "graph": given.content_hash("mine"),
        "test_facts": {"stated": asked, "of": asked},
        "facts": len(given),
        "by": "look-up",
    }


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_graph_that_it_kept(tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"), graph="mine")
    graph.save(tmp_path / "mine.nq")
    config = small(kg=str(tmp_path / "mine.nq"), episodes=4, log_interval=4, checkpoint_interval=2)
    whole = train_halma(config, tmp_path / "whole", progress=False)
    train_halma(config, tmp_path / "cut", progress=False)
    (tmp_path / "cut" / "final.json").unlink()
    (tmp_path / "mine.nq").unlink()
    again = train_halma(config, tmp_path / "cut", resume=True, progress=False)
    assert [line["return"] for line in again.curve] == [line["return"] for line in whole.curve]
    weights = zip(again.policy.network.parameters(), whole.policy.network.parameters(), strict=True)
    assert all(torch.equal(mine, other) for mine, other in weights)


def test_the_guide_says_what_the_advice_of_the_world_says() -> None:
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"))
    env = HALMAVectorEnv(6, max_opt_len=3)
    env.reset(seed=2)
    advice = Advice(graph, env.vocabulary, env.relations)
    guide = GraphGuide(advice, 3)
    guide.observe(first_percept(env))
    chosen = np.array([[d % 4] for d in range(6)])
    for upto in (chosen[:, :0], chosen, np.concatenate([chosen, chosen], 1)):
        said = advice(env, upto if upto.shape[1] else None).sum(2).numpy()
        assert np.array_equal(guide.bias(upto), said)
        assert said.any()
    visual = HALMAVectorEnv(1, observation="visual")
    visual.reset(seed=0)
    with pytest.raises(InputError, match='play with observation="symbolic"'):
        guide.observe(first_percept(visual))
    rows = Mazes(sample_mazes(5, 0)).rows.reshape(-1, 11)
    assert np.array_equal(panel_rows(one_hot(rows)), rows)


@pytest.mark.parametrize("names", ["real", "shuffled"])
def test_a_guided_agent_looks_up_the_facts_of_its_own_memory(names: Names, tmp_path: Path) -> None:
    """What it lived speaks for a choice, under whatever names; what no agent sees does not."""
    rules = Rules(names=names)
    here, there = np.zeros((2, 11), dtype=np.int8)
    here[5], there[7] = 2, 2  # a wall 2 above; then one below
    moves = {"before": [here] * 3, "option": [[1, 2, 0]] * 3, "after": [there] * 3, "rules": rules}
    advice = advice_of_memory(Memory.of(2, **moves))
    assert advice is not None
    guide = GraphGuide(advice, 2, rules)
    env = HALMAVectorEnv(1, mazes=Mazes(sample_mazes(1, 0), rules), max_opt_len=2)
    env.reset(seed=0)
    shown = one_hot(signs(rules).panels(here[None]))
    guide.observe(first_percept(env)._replace(observation=shown))
    assert guide.bias(np.zeros((1, 0), dtype=np.int64)).tolist() == [[0, 1, 0, 0]]
    assert guide.bias(np.array([[1]])).tolist() == [[1, 0, 1, 0]]  # 0+2 is 2
    assert advice_of_memory(Memory.of(2, flags=VALID + TRIAL_OVER, **moves)) is None, (
        "it does not see where a trial ends"
    )


@pytest.mark.slow
def test_a_guided_run_is_led_by_what_it_lived_and_loads_as_it_was(tmp_path: Path) -> None:
    run = train_halma(
        small(guided=True, guide_interval=2, episodes=6, names="shuffled"), tmp_path / "run", progress=False
    )
    loaded = load_run(tmp_path / "run")
    for one in (run, loaded):
        assert isinstance(one, HALMARun)
        assert label(one.config) == "MLP + own graph"
        assert KNOWLEDGE_ONLY in comparisons(one)
    env = HALMAVectorEnv(2, mazes=run.mazes)
    played = [play(one.actor(), env, np.arange(2)) for one in (run, loaded)]
    assert all(np.array_equal(mine, other) for mine, other in zip(*played, strict=True))


def test_what_the_graph_says_is_shown(told: Path) -> None:
    env = HALMAVectorEnv(1, mazes=load_run(told).mazes, max_opt_len=5, trials=1, render_mode="ansi")
    step = next(iter(play_steps(HALMAPlayer(load_run(told).actor(), env, 0))))
    direction, _ = step.choices
    said = {score.relation: fact for one in direction.candidates for score in one.scores for fact in score.facts}
    assert "indicates" in said
    assert said["indicates"].endswith(tuple(candidate.label for candidate in direction.candidates))


@pytest.mark.parametrize("knowledge", [{"guided": True}, {"kg": "full"}])
def test_options_too_many_to_have_facts_are_refused_before_training(knowledge: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="options of 20 out of 4 primitives, up to 15 cells long, are too many"):
        train_halma(small(side=16, max_opt_len=20, **knowledge), tmp_path / "run", progress=False)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("train", "the graph has none of the relations that the world asks for: leadsTo"),
        ("nowhere.nq", "there is no graph at nowhere.nq"),
    ],
)
def test_a_graph_that_says_nothing_is_refused(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_halma(small(kg=source), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_predictor_guides_too(tmp_path: Path) -> None:
    known = list(facts(partition="all"))
    ComplEx.fit(known, rank=32, epochs=60).save(tmp_path / "model")
    train_halma(small(kg=str(tmp_path / "model")), tmp_path / "run", progress=False)
    about = json.loads((tmp_path / "run" / "manifest.json").read_text())["knowledge"]
    assert about["test_facts"]["stated"] == about["test_facts"]["of"] > 0  # it was trained on them
    run = load_run(tmp_path / "run")
    goals = {
        name: play_test(run, Mazes(sample_mazes(4, 77)), "RT", [0], make)[1].mean()
        for name, make in comparisons(run).items()
    }
    assert goals[KNOWLEDGE_ONLY] > goals["random"]


@pytest.mark.slow
def test_labels_that_the_world_does_not_have_are_told(tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add([("triangle", "leadsTo", "up"), ("trangle", "leadsTo", "down")], graph="mine")
    graph.save(tmp_path / "mine.nq")
    with pytest.warns(UnknownEntities, match="'trangle': did you mean 'triangle'"):
        train_halma(small(kg=str(tmp_path / "mine.nq")), progress=False)
