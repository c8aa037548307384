"""The columns beside a guided agent and beside one by TD3."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents.advice import Advice
from gumption.agents.halma.acting import first_percept
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import COMPARISONS, columns, comparisons, evaluate_splits
from gumption.agents.halma.runs import HALMARun, train_halma
from gumption.envs.halma import HALMAVectorEnv, facts
from gumption.envs.halma.facts import RELATIONS, HALMAFacts
from gumption.envs.halma.splits import make_splits, read_run
from gumption.kg import KnowledgeGraph

SMALL = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("policy_delay", 20), ("candidates", 2),
         ("random_candidates", 1))  # fmt: skip
MOMENT: Any = {"episodes": 1, "log_interval": 1, "num_mazes": 3, "device": "cpu", "overrides": SMALL}


@pytest.fixture(scope="module")
def run() -> HALMARun:
    """A guided run of a moment, with all facts of the world."""
    made = train_halma(HALMAConfig(guided=True, **MOMENT), progress=False)
    assert isinstance(made, HALMARun)
    assert not comparisons(made), "one episode is fewer than the interval: it has no knowledge"
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"))
    made.policy.consult(Advice(graph, HALMAFacts(5).vocabulary, RELATIONS), made.config.guide_weight)
    return made


def test_what_is_taken_away_and_what_stays(run: HALMARun) -> None:
    env = HALMAVectorEnv(2)
    env.reset(seed=0)
    percept = first_percept(env)
    state, untrained = torch.get_rng_state(), run.actor(trained=False)
    assert torch.equal(torch.get_rng_state(), state), "a run's draws do not depend on this"
    guides = [actor.guide for actor in (untrained, run.actor(), run.policy)]
    assert len({id(guide.knowledge) for guide in guides if guide is not None}) == 1 < len(guides) - guides.count(None)
    assert run.actor(guided=False).guide is None
    assert tuple(comparisons(run)) == COMPARISONS
    weights = [dict(actor.network.named_parameters()) for actor in (untrained, run.actor(trained=False), run.actor())]
    same, other = (
        [torch.equal(part, others[name]) for name, part in weights[0].items()] for others in (weights[1], weights[2])
    )
    assert all(same)
    assert not all(other)
    assert run.actor(guided=False).act(percept, np.random.default_rng(0)).shape == (2, 6)


def test_an_agent_by_td3_plays_by_the_largest_logit_and_by_drawing(tmp_path: Path) -> None:
    """An evaluation has both ways of acting; the agent's own column is the largest logit."""
    overrides = tuple((name, value) for name, value in SMALL if name in ("num_envs", "batch_size", "hidden_size"))
    config = HALMAConfig(learner="td3", episodes=1, steps=2000, log_interval=1, num_mazes=3, device="cpu",
                         overrides=overrides)  # fmt: skip
    run = train_halma(config, tmp_path / "run", progress=False)
    assert list(comparisons(run)) == ["MLP, options drawn"]
    splits = make_splits(read_run(tmp_path / "run"), tmp_path / "splits", mazes=2)
    found = evaluate_splits(run, splits, seeds=[0], tests=["T", "RT"], beside=comparisons(run))
    own, drawn = found["tests"], found["beside"]["MLP, options drawn"]
    assert own["T"] != drawn["T"]
    assert own["T"] == evaluate_splits(run, splits, seeds=[0], tests=["T"])["tests"]["T"]
    assert {name: column.get("beside") for name, column in columns([found]).items()} == {
        "MLP": None, "MLP, options drawn": "MLP",
    }  # fmt: skip
