"""The learner: it learns, V-trace is given what happened, every option has an effect, errors are told."""

import copy
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import Advice, KGPolicy, TrainConfig, evaluate, train_impala
from gumption.agents.learners import impala
from gumption.agents.learners.impala import vtrace
from gumption.agents.policy import MASKED, Readout
from gumption.agents.run import RunResult
from gumption.agents.run_folder import load_policy
from gumption.agents.wordcraft.config import PRESETS, Learner
from gumption.agents.wordcraft.evaluation import baseline
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, recipe_facts
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.words import GuessedVectors

METRICS = {
    "step", "wall_s", "steps_per_s", "train_success", "validation_success", "validation_low", "validation_high",
    "train_success_eval", "same_slot_twice", "loss", "value_loss", "entropy", "reward",
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


@pytest.mark.slow
def test_an_agent_without_knowledge_learns_its_training_tasks(configure) -> None:
    config = configure(total_steps=60_000, eval_interval=20_000, final_draws=10)
    chance = baseline("random", config)["train_success"]
    result = train(config)
    assert chance < 0.2
    assert result.final["train_success"] > chance + 0.3
    first, last = result.curve[0], result.curve[-1]
    assert last["train_success"] > first["train_success"] + 0.2
    assert last["entropy"] < first["entropy"]
    assert last["reward"] > first["reward"]


@pytest.mark.slow
def test_the_paper_preset_learns(configure) -> None:
    sizes = ("batch_size", "encoder_size", "key_size", "value_size")
    paper = {name: getattr(PRESETS["paper"], name) for name in sizes}
    config = configure(paper, preset="paper", num_distractors=1, total_steps=60_000, final_draws=10)
    assert config.learner == PRESETS["paper"]
    chance = baseline("random", config)["train_success"]
    assert train(config).final["train_success"] > chance + 0.25


def test_full_knowledge_helps_from_the_start(configure) -> None:
    scores = ("combinesWith", "componentOf", "makes")
    result = train(configure(kg="full", kg_scores=scores, total_steps=1024, eval_interval=256))
    assert result.curve[0]["step"] == 256
    assert result.curve[0]["validation_success"] > 0.9
    assert result.final["test_success"] > 0.9
    alone = train(configure(total_steps=1024, eval_interval=256))
    assert alone.final["test_success"] < 0.5


@pytest.mark.slow
def test_random_features_are_learned_from_too(configure) -> None:
    result = train(configure(features="random", total_steps=20_000, eval_interval=10_000))
    assert result.curve[-1]["train_success"] > 0.4


@pytest.mark.slow
def test_the_entropy_cost_opens_the_choice(configure) -> None:
    """Scores make for sure choices; each nat of entropy is worth 0.0 or 3.0 goals."""
    sure, open_ = (train(configure({"entropy_cost": cost}, kg="full", total_steps=8192)) for cost in (0.0, 3.0))
    assert open_.curve[-1]["entropy"] > sure.curve[-1]["entropy"] + 0.3


@pytest.mark.parametrize("depth", [1, 2])
def test_the_learner_gives_vtrace_what_happened(configure, monkeypatch: pytest.MonkeyPatch, depth: int) -> None:
    """Episodes of depth 1 take two steps, of depth 2 four; two make an update."""
    calls, rates = [], []

    def spy(rewards: torch.Tensor, discounts: torch.Tensor, *rest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        calls.append((rewards, discounts, *rest))
        return vtrace(rewards, discounts, *rest)

    class Adam(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(impala, "vtrace", spy)
    monkeypatch.setattr(torch.optim, "Adam", Adam)
    config = configure({"dropout": 0.0}, depth=depth, num_distractors=0, total_steps=1024)
    line = train(config).curve[-1]
    assert len(calls) == 8
    for number, (rewards, discounts, values, bootstrap, ratios) in enumerate(calls):
        assert rewards.shape == discounts.shape == values.shape == ratios.shape == (2, 64)
        assert bootstrap.shape == (64,)
        assert (discounts[0] == 0.99).all()
        assert (discounts[1] == (0.0 if depth == 1 or number % 2 else 0.99)).all()
        assert (rewards[0] == 0).all()  # the first thing that is selected makes nothing yet
        assert {round(reward, 6) for reward in rewards[1].tolist()} <= {1.0, -0.1, 0.0}
        torch.testing.assert_close(ratios, torch.ones_like(ratios), atol=1e-4, rtol=1e-4)  # it acts as it learns
        assert not values.requires_grad
    if depth == 1:
        won = torch.cat([rewards[1] for rewards, *_ in calls]) == 1.0
        assert line["train_success"] == pytest.approx(float(won.float().mean()))
    assert rates == pytest.approx([config.learner.learning_rate * (1 - update / 8) for update in range(8)])


# ---- what is written down


def test_metrics_are_those_of_the_glossary(configure) -> None:
    result = train(configure(total_steps=1000))
    assert [line["step"] for line in result.curve] == [1024]  # whole updates
    assert set(result.curve[0]) == METRICS
    assert all(np.isfinite(list(line.values())).all() for line in result.curve)
    assert set(result.final) == {
        "test_success", "test_low", "test_high", "test_tasks", "validation_success", "validation_low",
        "validation_high", "validation_tasks", "train_success", "test_success_alternatives", "same_slot_twice",
        "wall_s", "steps_per_s",
    }  # fmt: skip
    assert 0 < result.curve[0]["entropy"] < np.log(6)
    guided = train(configure(kg="full", kg_scores=("makes",), total_steps=1000)).curve[0]
    assert set(guided) == METRICS | {"lambda/attention", "lambda/makes"}
    assert guided["lambda/makes"] == pytest.approx(1, abs=0.2)  # a log-ratio counts as it is
    assert 0 < guided["lambda/attention"] < 0.5  # the knowledge comes first
    assert -0.1 <= result.curve[0]["reward"] <= 1


def test_nothing_of_the_test_is_shown_while_it_learns(configure, tmp_path: Path) -> None:
    config = configure(total_steps=768, eval_interval=256, test_curve=True)
    result = train_impala(config, run_dir=tmp_path / "run", progress=False)
    assert not [name for line in result.curve for name in line if "test" in name]
    assert "test" not in (tmp_path / "run" / "metrics.jsonl").read_text()
    curve = result.final["test_curve"]
    assert [step for step, _ in curve] == [line["step"] for line in result.curve] == [256, 512, 768]
    assert all(0 <= success <= 1 for _, success in curve)
    assert "test_curve" not in train(replace(config, test_curve=False)).final
    last = train(replace(config, fit_validation=True))
    assert not [name for line in last.curve for name in line if "test" in name or "validation" in name]
    assert last.final["test_tasks"] == result.final["test_tasks"]


def test_the_curve_of_a_resumed_run_is_whole(configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configure(total_steps=768, eval_interval=256, test_curve=True)
    whole = train(config)
    real = impala.ImpalaLearner.learn

    def dies(self: Any, bar: Any) -> None:
        if self.step >= 512:
            raise KeyboardInterrupt
        real(self, bar)

    monkeypatch.setattr(impala.ImpalaLearner, "learn", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, run_dir=tmp_path / "run")
    monkeypatch.undo()
    assert train(config, run_dir=tmp_path / "run", resume=True).final["test_curve"] == whole.final["test_curve"]


def test_the_callers_random_numbers_are_left_alone(configure) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train(configure(total_steps=256, eval_interval=256))
    assert torch.equal(torch.rand(3), expected)


def test_the_agent_graph_learns_nothing_and_is_its_baseline(configure) -> None:
    result = train(configure(kg="full", agent="graph", kg_scores=("makes",)))
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
    "value_layers": 1,
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "depth": 2, "num_distractors": 1, "split": "by_goal", "train_ratio": 0.5, "split_seed": 1, "features": "random",
    "agent": "mlp", "kg": "full", "weights": "logits", "total_steps": 1024, "eval_interval": 128, "final_draws": 5,
    "fit_validation": True, "test_curve": True,
    "seed": 1, "alternatives": True, "uniform_distractors": True, "max_mix_steps": 2, "reward": "sparse",
    "rules": "2020", "laws": "counterfactual", "supervised": True,
}  # fmt: skip
KG_CHANGES: dict[str, Any] = {
    "kg": "full", "kg_scores": ("combinesWith",), "kg_calibrated": False, "kg_fit": False, "agent": "graph",
    "kg_relations": (("combinesWith", "componentOf"),), "cross_fit": True, "mixing": "softmax", "weights": "logits",
    "kg_rank": 4, "kg_epochs": 3, "kg_n3": 0.5, "kg_reciprocal": False, "kg_members": 2, "kg_seed": 1,
    "look_ahead": "on", "repeat": "paper",
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(configure) -> dict[str, Any]:
    return figures(train(configure(**SMALL)))


@pytest.fixture(scope="module")
def guided(configure, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUMPTION_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return figures(train(configure(**SMALL, kg="train", kg_scores=("componentOf", "makes"))))


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
    base = {**SMALL, "kg": "train", "kg_scores": ("componentOf", "makes")}
    assert figures(train(configure(**{**base, name: KG_CHANGES[name]}))) != guided


def test_names_have_an_effect_by_what_words_mean_alone(configure, plain: dict[str, Any], words_file: Path) -> None:
    assert figures(train(configure(**SMALL, names="shuffled"))) == plain
    words = {**SMALL, "features": "glove", "word_vectors": str(words_file)}
    real, shuffled = (figures(train(configure(**words, names=names))) for names in ("real", "shuffled"))
    assert real != shuffled


def test_the_hidden_size_of_the_mlp_has_an_effect(configure) -> None:
    small, large = (train(configure({"hidden_size": size}, agent="mlp", **SMALL)) for size in (16, 32))
    assert small.final.keys() == large.final.keys()
    assert small.policy is not None
    assert small.policy.network.hidden.out_features == 16  # pyright: ignore
    assert figures(small)["curve"] != figures(large)["curve"]


def test_intermediates_are_rewarded_where_there_are_some(configure) -> None:
    with_rewards, without = (train(configure(**SMALL, depth=2, subgoal_rewards=on)) for on in (True, False))
    assert with_rewards.curve[-1]["reward"] > without.curve[-1]["reward"]
    assert figures(with_rewards)["weights"] != figures(without)["weights"]


def test_no_option_is_left_out_above() -> None:
    learner = {*LEARNER_CHANGES, "hidden_size"}
    assert learner == {field.name for field in fields(Learner)}
    elsewhere = {"recipe_book", "word_vectors", "preset", "overrides", "device", "world", "subgoal_rewards"}
    elsewhere |= {"kg_rules", "kg_beside", "kg_sources", "kg_shuffled", "kg_map", "names"}
    assert {*CHANGES, *KG_CHANGES} | elsewhere == {field.name for field in fields(TrainConfig)}


def test_word_vectors_are_read(configure, words_file: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "other.bin"
    header, content = words_file.read_bytes().split(b"\n", 1)
    shuffled.write_bytes(header + b"\n" + content.replace(b"mud ", b"mad ").replace(b"sky ", b"mud "))
    with pytest.warns(GuessedVectors, match=r"^1 of 33 words have no vector of their own: 1 .*\(sky"):
        train(configure(features="glove", word_vectors=str(shuffled), **SMALL))
    assert train(configure(features="glove", **SMALL)).policy is not None


# ---- a network and knowledge of one's own


class Blind(torch.nn.Module):
    """Prefers earlier slots, by one number that is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(1.0))

    def forward(
        self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor, scores: torch.Tensor
    ) -> Readout:
        place = torch.arange(table.shape[1])
        logits = (scores.sum(2) - self.slope * place).masked_fill(table == 0, MASKED)
        return Readout(logits, logits.mean(1) * 0, logits)


def test_a_network_of_ones_own_is_trained(configure, book_file: Path, tmp_path: Path) -> None:
    network = Blind()
    result = train(configure(**SMALL), network=network, run_dir=tmp_path / "run")
    with pytest.raises(InputError, match="run: trained with a network that its config does not name"):
        load_policy(tmp_path / "run", recipe_book=str(book_file))
    _, policy = load_policy(tmp_path / "run", recipe_book=str(book_file), network=Blind())
    assert policy.network.slope == network.slope
    assert result.policy.network is network
    assert network.slope != 1.0
    assert set(result.curve[0]) == METRICS


class Gated(KGPolicy):
    """A formula of one's own with the parameters of equation 5: the scores count half."""

    def coefficients(self, summary: torch.Tensor) -> torch.Tensor:
        whole = super().coefficients(summary)
        return torch.cat([whole[:, :1], whole[:, 1:] / 2], dim=1)


def test_a_formula_of_ones_own_is_not_taken_for_equation_5(configure, book_file: Path, tmp_path: Path) -> None:
    """Its parameters have the names of equation 5's: only the class tells them apart."""
    config = configure(**SMALL, kg="train", kg_scores=("componentOf",))
    plain = train(config).policy.network

    def gated() -> Gated:
        return Gated(copy.deepcopy(plain.attention), plain.channels)

    mine = train(config, network=gated(), run_dir=tmp_path / "run")
    book = {"recipe_book": str(book_file)}
    said = rf"trained with {Gated.__module__}:Gated as the network, and here that is gumption\.agents\.policy:KGPolicy"
    with pytest.raises(InputError, match=said):
        load_policy(tmp_path / "run", **book)
    with pytest.raises(InputError, match=said):
        evaluate(tmp_path / "run", **book)
    assert evaluate(tmp_path / "run", **book, network=gated()) == evaluate(mine)
    (tmp_path / "run" / "final.json").unlink()
    with pytest.raises(InputError, match=said):
        train(config, run_dir=tmp_path / "run", resume=True)
    again = train(config, network=gated(), run_dir=tmp_path / "run", resume=True)
    assert again.final["test_success"] == mine.final["test_success"]


def test_a_formula_of_ones_own_is_named_by_its_module(
    configure, book_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["from gumption.agents import KGPolicy", "class Halved(KGPolicy):", "    def coefficients(self, summary):",
             "        return super().coefficients(summary) / 2", "def other(): pass"]  # fmt: skip
    Path("my_formulas.py").write_text("\n".join(lines))
    config = configure(**SMALL, kg="train", kg_scores=("componentOf",), mixing="my_formulas:Halved")
    result = train(config, run_dir=tmp_path / "run")
    kind = type(result.policy.network)
    assert f"{kind.__module__}:{kind.__qualname__}" == "my_formulas:Halved"
    _, policy = load_policy(tmp_path / "run", recipe_book=str(book_file))
    assert type(policy.network) is kind
    assert evaluate(tmp_path / "run", recipe_book=str(book_file)) == evaluate(result)
    for mixing, said in {
        "halved": r"mixing is 'halved'; it is linear, softmax, product or MODULE:NAME of a subclass of KGPolicy",
        "my_formulas:other": r"mixing='my_formulas:other' is no subclass of gumption\.agents\.KGPolicy",
        "my_formulas:Halve": r"mixing my_formulas:Halve: my_formulas has no function 'Halve'",
        "no_formulas:Halve": r"mixing no_formulas:Halve: there is no module no_formulas here",
    }.items():
        with pytest.raises(InputError, match=said):
            train(replace(config, mixing=mixing))


def test_advice_of_ones_own_is_followed(configure, book: RecipeBook) -> None:
    env = WordCraftVectorEnv(1, recipe_book=book)
    graph = KnowledgeGraph()
    graph.add(recipe_facts(book, partition="all"))
    advice = Advice(graph, env.vocabulary, env.relations)
    assert advice.relations == ("makes",)
    alone, guided = (train(configure(**SMALL), advice=mine) for mine in (None, advice))
    assert guided.policy.advice is advice
    assert guided.final["test_success"] > alone.final["test_success"] + 0.1
    both = train(configure(**SMALL), advice=advice, network=Blind())
    assert both.final["test_success"] > train(configure(**SMALL), network=Blind()).final["test_success"]
    with pytest.raises(InputError, match="the simple MLP has no attention that advice is mixed into"):
        train(configure(**SMALL, agent="mlp"), advice=advice)


# ---- errors while it runs


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
