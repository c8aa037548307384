"""What a run is made of: the paper's numbers, and settings that are unknown, out of range or without effect."""

from typing import Any

import pytest

from gumption.agents import TrainConfig
from gumption.agents.wordcraft.config import PRESETS, Learner
from gumption.data import InputError


def test_the_paper_preset_has_the_numbers_of_tables_1_and_2() -> None:
    assert PRESETS["paper"] == Learner(
        batch_size=128,
        unroll_length=2,
        optimiser="rmsprop",
        learning_rate=1e-3,
        epsilon=0.01,
        discount=0.99,
        entropy_cost=0.01,
        baseline_cost=0.5,
        max_grad_norm=40.0,
        key_size=300,
        value_size=300,
        hidden_size=300,
        encoder_size=0,
        dropout=0.0,
        gated=False,
        reduction="sum",
    )
    assert TrainConfig().train_ratio == 0.8
    assert TrainConfig().total_steps == 3_000_000
    assert TrainConfig().kg_rank == 128


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "lstm"}, "agent is 'lstm'; it can be attention, mlp"),
        ({"mixing": "max"}, "mixing is 'max'; it is linear, softmax, product or MODULE:NAME of a subclass"),
        ({"kg": "full", "kg_scores": ("likes",)}, "kg_scores names 'likes'"),
        ({"kg": "full", "kg_scores": ("makes", "makes")}, "kg_scores names 'makes' twice"),
        ({"kg": "full", "kg_fit": False, "kg_calibrated": False}, "facts that are looked up have none"),
        ({"kg_scores": ("componentOf",)}, "that is for knowledge"),
        ({"agent": "graph"}, "acts by a graph alone: add kg"),
        ({"mixing": "softmax"}, "that is for knowledge"),
        ({"kg_calibrated": False}, "that is for knowledge"),
        ({"kg": "full", "kg_calibrated": False}, "only the scores of ComplEx can be raw"),
        ({"kg": "mine.nq", "kg_calibrated": False, "kg_scores": ("makes",)}, "only the scores of ComplEx can be raw"),
        ({"kg": "full", "cross_fit": True}, "cross_fit is for an agent that learns with kg='train'"),
        ({"cross_fit": True}, "cross_fit is for an agent that learns with kg='train'"),
        ({"kg": "train", "agent": "graph", "cross_fit": True}, "cross_fit is for an agent that learns"),
        ({"kg": "train", "agent": "graph", "mixing": "softmax"}, "leave out mixing"),
        ({"agent": "mlp", "kg": "full"}, "the simple MLP has no attention"),
        ({"agent": "mlp", "weights": "logits"}, "the simple MLP has no attention"),
        ({"world": "halma"}, "a run of the world 'halma', not of wordcraft"),
    ],
)
def test_unknown_and_useless_settings_are_refused(configure, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure(**changes)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"momentum": 0.9}, "has no .momentum.; it has baseline_cost, batch_size"),
        ({"hidden_size": 8}, "overrides names 'hidden_size', which this agent does not have"),
        ({"encoder_size": 0, "dropout": 0.1}, "overrides names 'dropout', which this agent does not have"),
    ],
)
def test_bad_parameters_of_the_learner_are_refused(configure, override: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure(override)


def test_fields_that_came_after_a_run_have_their_defaults(configure) -> None:
    stored = configure(kg="train", kg_scores=("componentOf", "makes")).to_json()
    assert stored["kg_scores"] == ("componentOf", "makes")
    before = {name: value for name, value in stored.items() if name not in ("world", "reward", "kg_fit", "kg_rules")}
    assert TrainConfig.from_json(before) == TrainConfig.from_json(stored)


def test_a_graph_is_stored_by_its_name_alone(configure) -> None:
    for typed, kept in (("some/where/mine.nq", "mine.nq"), ("some/graph/", "graph"), ("train", "train")):
        assert configure(kg=typed).to_json()["kg"] == kept
