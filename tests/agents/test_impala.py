"""The learner: it learns, its presets are the paper's, every option does something or is refused, errors are told."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import TrainConfig, train_impala
from gumption.agents.baselines import random_success
from gumption.agents.config import PRESETS, Learner
from gumption.agents.knowledge import KnowledgeSettings
from gumption.agents.runs import RunResult
from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftVectorEnv

METRICS = {
    "step", "wall_s", "steps_per_s", "train_success", "test_success", "train_success_eval", "same_slot_twice", "loss",
    "value_loss", "entropy", "reward",
}  # fmt: skip


def train(config: TrainConfig, **arguments: Any) -> RunResult:
    return train_impala(config, progress=False, **arguments)


def figures(result: RunResult) -> dict[str, Any]:
    """What a run came to, without the clock."""
    timeless = [{k: v for k, v in line.items() if k not in ("wall_s", "steps_per_s")} for line in result.curve]
    final = {k: v for k, v in result.final.items() if k not in ("wall_s", "steps_per_s")}
    assert result.policy is not None
    weights = {name: tensor.tolist() for name, tensor in result.policy.network.state_dict().items()}
    return {"curve": timeless, "final": final, "weights": weights}


# ---- learning


def test_an_agent_without_knowledge_learns_its_training_tasks(configure) -> None:
    config = configure(total_steps=60_000, eval_interval=20_000, final_draws=10)
    chance = random_success(config)["train_success"]
    result = train(config)
    assert chance < 0.2
    assert result.final["train_success"] > chance + 0.3
    first, last = result.curve[0], result.curve[-1]
    assert last["train_success"] > first["train_success"] + 0.2
    assert last["entropy"] < first["entropy"]
    assert last["reward"] > first["reward"]


def test_the_paper_preset_learns(configure) -> None:
    sizes = ("batch_size", "encoder_size", "key_size", "value_size")
    paper = {name: getattr(PRESETS["paper"], name) for name in sizes}
    config = configure(paper, preset="paper", num_distractors=1, total_steps=60_000, final_draws=10)
    assert config.learner == PRESETS["paper"]
    chance = random_success(config)["train_success"]
    assert train(config).final["train_success"] > chance + 0.25


def test_full_knowledge_helps_from_the_start(configure) -> None:
    scores = ("combinesWith", "componentOf", "recipe")
    result = train(configure(kg="full", kg_scores=scores, total_steps=1024, eval_interval=256))
    assert result.curve[0]["step"] == 256
    assert result.curve[0]["test_success"] > 0.9
    assert result.final["test_success"] > 0.9
    alone = train(configure(total_steps=1024, eval_interval=256))
    assert alone.final["test_success"] < 0.5


def test_random_features_are_learned_from_too(configure) -> None:
    result = train(configure(features="random", total_steps=20_000, eval_interval=10_000))
    assert result.curve[-1]["train_success"] > 0.4


# ---- what is written down


def test_the_paper_preset_has_the_numbers_of_tables_1_and_2() -> None:
    assert PRESETS["paper"] == Learner(
        batch_size=128,
        unroll_length=2,
        optimiser="rmsprop",
        learning_rate=1e-3,
        epsilon=0.01,
        discount=0.99,
        entropy_cost=0.01,
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
    assert KnowledgeSettings().rank == 128


def test_metrics_are_those_of_the_glossary(configure) -> None:
    result = train(configure(total_steps=1000))
    assert [line["step"] for line in result.curve] == [1024]  # whole updates
    assert set(result.curve[0]) == METRICS
    assert all(np.isfinite(list(line.values())).all() for line in result.curve)
    assert set(result.final) == {
        "test_success", "train_success", "test_success_alternatives", "same_slot_twice", "wall_s", "steps_per_s",
    }  # fmt: skip
    assert 0 < result.curve[0]["entropy"] < np.log(6)
    assert -0.1 <= result.curve[0]["reward"] <= 1


def test_the_callers_random_numbers_are_left_alone(configure) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train(configure(total_steps=256, eval_interval=256))
    assert torch.equal(torch.rand(3), expected)


def test_kg_only_learns_nothing_and_is_its_baseline(configure) -> None:
    result = train(configure(kg="full", kg_only=True, kg_scores=("recipe",)))
    assert result.curve == []
    assert result.final["test_success"] > 0.9
    assert result.final["steps_per_s"] == 0.0


def test_a_book_without_a_test_part_is_judged_on_training_tasks(configure) -> None:
    result = train(configure(split="none", kg="full", total_steps=256, eval_interval=256))
    assert result.final["test_success"] == result.final["train_success"]


# ---- every option at another value than its default

SMALL: dict[str, Any] = {"total_steps": 512, "eval_interval": 256}
LEARNER_CHANGES: dict[str, Any] = {
    "batch_size": 32, "unroll_length": 4, "optimiser": "rmsprop", "learning_rate": 1e-4, "epsilon": 0.1,
    "discount": 0.5, "entropy_cost": 0.1, "baseline_cost": 2.0, "max_grad_norm": 1e-3, "reduction": "sum",
    "key_size": 12, "value_size": 12, "encoder_size": 0, "dropout": 0.6, "gated": False,
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "depth": 2, "num_distractors": 1, "split": "by_goal", "train_ratio": 0.5, "split_seed": 1, "features": "random",
    "agent": "mlp", "kg": "full", "weights": "logits", "total_steps": 1024, "eval_interval": 128, "final_draws": 5,
    "seed": 1,
}  # fmt: skip
KG_CHANGES: dict[str, Any] = {
    "kg": "full", "kg_scores": ("combinesWith",), "kg_calibrated": False, "kg_only": True, "cross_fit": True,
    "mixing": "softmax", "weights": "logits",
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(configure) -> dict[str, Any]:
    return figures(train(configure(**SMALL)))


@pytest.fixture(scope="module")
def guided(configure, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUMPTION_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return figures(train(configure(**SMALL, kg="train", kg_scores=("componentOf", "recipe"))))


@pytest.mark.parametrize("name", LEARNER_CHANGES)
def test_every_parameter_of_the_learner_has_an_effect(configure, plain: dict[str, Any], name: str) -> None:
    config = configure({name: LEARNER_CHANGES[name]}, **SMALL)
    assert getattr(config.learner, name) != getattr(configure().learner, name)
    assert figures(train(config))["weights"] != plain["weights"]


@pytest.mark.parametrize("name", CHANGES)
def test_every_setting_has_an_effect(configure, plain: dict[str, Any], name: str) -> None:
    config = configure(**{**SMALL, name: CHANGES[name]})
    assert getattr(config, name) != getattr(configure(**SMALL), name)
    assert figures(train(config)) != plain


@pytest.mark.parametrize("name", KG_CHANGES)
def test_every_setting_of_knowledge_has_an_effect(configure, guided: dict[str, Any], name: str) -> None:
    base = {**SMALL, "kg": "train", "kg_scores": ("componentOf", "recipe")}
    assert figures(train(configure(**{**base, name: KG_CHANGES[name]}))) != guided


def test_the_hidden_size_of_the_mlp_has_an_effect(configure) -> None:
    small, large = (train(configure({"hidden_size": size}, agent="mlp", **SMALL)) for size in (16, 32))
    assert small.final.keys() == large.final.keys()
    assert small.policy is not None
    assert small.policy.network.hidden.out_features == 16  # pyright: ignore
    assert figures(small)["curve"] != figures(large)["curve"]


def test_no_option_is_left_out_above() -> None:
    learner = {*LEARNER_CHANGES, "hidden_size"}
    assert learner == {field.name for field in fields(Learner)}
    told = {"recipe_book", "word_vectors", "preset", "overrides", "device"}  # by other tests
    assert {*CHANGES, *KG_CHANGES} | told == {field.name for field in fields(TrainConfig)}


def test_word_vectors_are_read(configure, words_file: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "other.bin"
    header, content = words_file.read_bytes().split(b"\n", 1)
    shuffled.write_bytes(header + b"\n" + content.replace(b"mud ", b"mad ").replace(b"sky ", b"mud "))
    with pytest.raises(InputError, match=r"other\.bin has no word vector for 1 of 33 labels: 'sky'"):
        train(configure(features="glove", word_vectors=str(shuffled)))
    assert train(configure(features="glove", **SMALL)).policy is not None


# ---- bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "lstm"}, "agent is 'lstm'; it can be attention, mlp"),
        ({"kg": "some"}, "kg is 'some'; it can be none, train, full"),
        ({"preset": "slow"}, "preset is 'slow'; it can be paper, fast"),
        ({"mixing": "max"}, "mixing is 'max'; it can be linear, softmax"),
        ({"weights": "mean"}, "weights is 'mean'; it can be softmax, logits"),
        ({"kg": "full", "kg_scores": ("likes",)}, "kg_scores names 'likes'"),
        ({"kg": "full", "kg_scores": ("recipe", "recipe")}, "kg_scores names 'recipe'; .* once at most"),
        ({"kg": "full", "kg_scores": ()}, "kg_scores is empty"),
        ({"kg_scores": ("componentOf",)}, "need knowledge"),
        ({"kg_only": True}, "need knowledge"),
        ({"mixing": "softmax"}, "need knowledge"),
        ({"kg_calibrated": False}, "need knowledge"),
        ({"kg": "full", "kg_calibrated": False}, "only the scores of ComplEx can be raw"),
        ({"kg": "full", "cross_fit": True}, "cross_fit is for an agent that learns with kg='train'"),
        ({"cross_fit": True}, "cross_fit is for an agent that learns with kg='train'"),
        ({"kg": "train", "kg_only": True, "cross_fit": True}, "cross_fit is for an agent that learns"),
        ({"kg": "train", "kg_only": True, "mixing": "softmax"}, "it has no mixing"),
        ({"agent": "mlp", "kg": "full"}, "the simple MLP has no attention"),
        ({"agent": "mlp", "weights": "logits"}, "the simple MLP has no attention"),
        ({"total_steps": 0}, "total_steps is 0; it is at least 1"),
        ({"eval_interval": -1}, "eval_interval is -1; it is at least 1"),
        ({"final_draws": 0}, "final_draws is 0; it is at least 1"),
        ({"seed": -1}, "seed is -1; it is at least 0"),
        ({"split_seed": -2}, "split_seed is -2; it is at least 0"),
    ],
)
def test_unknown_and_useless_settings_are_refused(configure, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure(**changes)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"momentum": 0.9}, "overrides names 'momentum'; the learner has baseline_cost, batch_size"),
        ({"hidden_size": 8}, "overrides names 'hidden_size', which this agent does not have"),
        ({"encoder_size": 0, "dropout": 0.1}, "overrides names 'dropout', which this agent does not have"),
        ({"optimiser": "sgd"}, "optimiser is 'sgd'; it can be rmsprop, adam"),
        ({"reduction": "max"}, "reduction is 'max'; it can be sum, mean"),
        ({"batch_size": 0}, "batch_size is 0; it is a whole number, at least 1"),
        ({"unroll_length": 1.5}, r"unroll_length is 1\.5; it is a whole number, at least 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; it is a number, at least 0"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'; it is a number"),
        ({"discount": 1.1}, r"discount is 1\.1"),
        ({"dropout": 1.0}, r"dropout 1\.0"),
    ],
)
def test_bad_parameters_of_the_learner_are_refused(configure, override: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure(override)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_an_error(configure, monkeypatch, tmp_path: Path, bad: float) -> None:
    real, calls = WordCraftVectorEnv.step_arrays, []

    def step_arrays(self: WordCraftVectorEnv, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        reward, done, success = real(self, actions)
        calls.append(self.num_envs)
        if calls.count(64) == 21:  # in the eleventh update
            reward[3] = bad
        return reward, done, success

    monkeypatch.setattr(WordCraftVectorEnv, "step_arrays", step_arrays)
    with pytest.raises(InputError, match="a reward that is NaN or infinite at step 1280"):
        train(configure(), run_dir=tmp_path / "run")
    # What was written before is whole, and the run can go on once the environment is mended.
    assert not (tmp_path / "run" / "final.json").exists()
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1024]
    monkeypatch.undo()
    resumed = train(configure(kg="none"), run_dir=tmp_path / "run", resume=True)
    assert figures(resumed) == figures(train(configure()))


def test_a_run_that_diverges_is_an_error(configure, tmp_path: Path) -> None:
    config = configure({"learning_rate": 1e30}, total_steps=10_000)
    with pytest.raises(InputError, match=r"the gradient is not a number at step .*; take a lower learning_rate"):
        train(config, run_dir=tmp_path / "run")
    assert not (tmp_path / "run" / "final.json").exists()
