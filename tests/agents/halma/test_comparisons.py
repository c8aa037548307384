"""The columns beside a guided agent and beside one by TD3, and the list of what a guided agent knows beforehand."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.agents.halma import scoring
from gumption.agents.halma.acting import first_percept
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import (
    COMPARISONS,
    KNOWLEDGE_ONLY,
    TAKEN_AWAY,
    UNTRAINED,
    columns,
    comparisons,
    evaluate_splits,
    play_test,
)
from gumption.agents.halma.experience import OptionBags, experience_facts
from gumption.agents.halma.knowledge import HALMAKnowledge
from gumption.agents.halma.prior import LEARNED, prior_knowledge, told
from gumption.agents.halma.runs import HALMARun, train_halma
from gumption.envs.halma import HALMAVectorEnv, Mazes, sample_mazes
from gumption.envs.halma.memory import Memory
from gumption.envs.halma.splits import make_splits, read_run

SMALL = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("policy_delay", 20), ("candidates", 2),
         ("random_candidates", 1))  # fmt: skip


@pytest.fixture(scope="module")
def run(experienced: Callable[[int], Memory]) -> HALMARun:
    """A guided run of a moment, with the knowledge of an experienced agent."""
    config = HALMAConfig(guided=True, guide_interval=100, episodes=1, log_interval=1, num_mazes=3, device="cpu",
                         overrides=SMALL)  # fmt: skip
    made = train_halma(config, progress=False)
    assert not comparisons(made), "one episode is fewer than the interval: it has no knowledge"
    made.player.consult(HALMAKnowledge.of_memory(experienced(5)), config.guide_weight)
    return made


@pytest.mark.slow
def test_who_plays_beside_a_guided_agent(run: HALMARun) -> None:
    mazes = Mazes(sample_mazes(4, 77))
    beside = comparisons(run)
    assert tuple(beside) == COMPARISONS
    goals = {name: play_test(run, mazes, "RT", [0], make)[1].mean() for name, make in beside.items()}
    assert goals["oracle"] == 1
    assert goals[KNOWLEDGE_ONLY] > 0.9, "nothing was learned but the facts"
    assert goals[UNTRAINED] > 0.9
    assert goals[TAKEN_AWAY] < 0.3 > goals["random"]
    again = play_test(run, mazes, "RT", [0], beside[KNOWLEDGE_ONLY])[1].mean()
    assert again == goals[KNOWLEDGE_ONLY]


def test_what_is_taken_away_and_what_stays(run: HALMARun) -> None:
    env = HALMAVectorEnv(2)
    env.reset(seed=0)
    percept = first_percept(env)
    state, untrained = torch.get_rng_state(), run.actor(trained=False)
    assert torch.equal(torch.get_rng_state(), state), "a run's draws do not depend on this"
    assert untrained.knowledge is run.actor().knowledge is not None
    assert run.actor(guided=False).knowledge is None
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


def test_the_list_names_every_rule_and_number() -> None:
    text = "\n".join(told())
    rules = json.loads(Path(scoring.__file__).with_name("rules.json").read_text())["rules"]
    names = [rule.get("name", f"transitive({rule.get('transitive')})") for rule in rules]
    assert len(names) > 10
    assert all(name in text for name in names)
    numbers = {
        name: value
        for name, value in vars(scoring).items()
        if name.isupper() and isinstance(value, float) and not name.startswith("_")
    }
    assert len(numbers) == 6
    assert all(f"{name} {value:g}" in text for name, value in numbers.items())
    here = Path(scoring.__file__).parent
    for known in prior_knowledge():
        for where in known.where.split(", "):
            assert (here / where).is_file() or (here.parents[1] / where).is_file(), where


def test_the_list_names_every_relation_that_is_counted(experienced: Callable[[int], Memory]) -> None:
    counted = {relation for _, relation, _ in experience_facts(experienced(5), OptionBags(5))}
    listed = {name for names in LEARNED for name in re.split(", ", names)}
    assert counted - {"hasDirection", "hasPrimitives"} == listed


def test_the_page_shows_the_list() -> None:
    page = (Path(__file__).resolve().parents[3] / "envs" / "halma" / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"<!-- prior knowledge -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert shown == "\n".join(told()) + "\n"
