"""Floor and ceiling: the oracle always wins, random choices as often as counting says, scores by what they know."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import TrainConfig, train_impala
from gumption.agents.wordcraft.evaluation import baseline, evaluation_env, success_rate
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv
from gumption.kg.links.nary_predictor import NaryPredictor

FIGURES = {
    "test_success", "test_low", "test_high", "test_tasks", "train_success", "test_success_alternatives",
    "same_slot_twice",
}  # fmt: skip


@pytest.mark.parametrize("changes", [{}, {"num_distractors": 8}, {"depth": 2}, {"depth": 3, "split": "by_task"}])
def test_the_oracle_always_wins(configure, changes: dict[str, Any]) -> None:
    found = baseline("oracle", configure(**changes, final_draws=3))
    assert set(found) == FIGURES
    assert found["test_success"] == found["train_success"] == found["test_success_alternatives"] == 1.0
    assert found["same_slot_twice"] == 0.0  # even where a recipe takes a thing twice: it wins then


def expected_of_random(config: TrainConfig, partition: str) -> float:
    """Chance that two uniform choices make the goal: the share of a table's ordered pairs that do, counted over tables
    that the environment deals."""
    env = WordCraftVectorEnv(15 * 33, **config.env_settings(partition))
    tasks = env.split.tasks(partition)
    env.reset(seed=5)
    env.set_tasks(np.resize(tasks, len(tasks) * 15))
    shares = []
    for goal, table in zip(env.goal.tolist(), env.table.tolist(), strict=True):
        there = [entity - 1 for entity in table if entity]
        wins = sum(goal - 1 in env.book.products(x, y) for x in there for y in there)
        shares.append(wins / len(there) ** 2)
    return float(np.mean(shares[: len(tasks) * 15]))


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 5])
def test_random_choices_win_as_often_as_counting_says(configure, count: int) -> None:
    config = configure(num_distractors=count)
    found = baseline("random", replace(config, final_draws=1000))
    for partition, tasks in (("test", 7), ("train", 33)):
        expected = expected_of_random(config, partition)
        error = (expected * (1 - expected) / (1000 * tasks)) ** 0.5
        assert found[f"{partition}_success"] == pytest.approx(expected, abs=5 * error), partition
    assert found["same_slot_twice"] == pytest.approx(1 / (2 + count), abs=0.1)


def test_random_choices_depend_on_their_seed_alone(configure) -> None:
    config = configure()
    assert baseline("random", config, seed=1) == baseline("random", config, seed=1)
    assert baseline("random", config, seed=1) != baseline("random", config, seed=2)


@pytest.mark.parametrize("scores", [("makes",), ("combinesWith", "componentOf"), ("combinesWith", "makes")])
def test_full_knowledge_alone_is_nearly_all_there_is(configure, scores: tuple[str, ...]) -> None:
    found = baseline("kg_only", configure(kg="full", kg_scores=scores))
    assert set(found) == FIGURES
    assert found["test_success"] > 0.85
    assert found["train_success"] > 0.85
    assert found["same_slot_twice"] < 0.15


def test_one_binary_score_alone_is_far_less_where_it_speaks_twice(configure) -> None:
    """C.4 of the paper: the component that fits best is chosen twice."""
    found = baseline("kg_only", configure(kg="full", kg_scores=("componentOf",), repeat="paper"))
    assert found["test_success"] < 0.5
    assert found["same_slot_twice"] > 0.5


def test_training_facts_alone_know_the_training_recipes(configure) -> None:
    found = baseline("kg_only", configure(kg="train"))
    assert found["train_success"] > 0.9
    assert found["test_success"] < found["train_success"] - 0.3  # these word vectors say nothing


def test_kg_only_is_the_run_of_the_agent_graph(configure) -> None:
    config = configure(kg="train", kg_scores=("componentOf", "makes"), agent="graph", final_draws=4)
    final = train_impala(config, progress=False).final
    found = baseline("kg_only", config, seed=1)
    assert {name: final[name] for name in FIGURES - {"train_success"}} == {
        name: value for name, value in found.items() if name != "train_success"
    }


def test_kg_only_reads_nothing_but_knowledge(configure, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """No held-out predictors are fitted for it, and the mixing of the config is not its own."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(NaryPredictor, "fit_folds", None)
    learner = configure(kg="train", cross_fit=True, mixing="softmax")
    assert baseline("kg_only", learner) == baseline("kg_only", configure(kg="train"))


def test_an_untrained_network_without_knowledge_guesses_and_with_it_follows_it(configure) -> None:
    """Before training the weight of the knowledge is 1 and attention says next to nothing."""
    assert baseline("untrained", configure())["test_success"] < 0.4
    guided = baseline("untrained", configure(kg="full"))
    assert set(guided) == FIGURES
    assert guided["test_success"] > 0.8
    assert guided == baseline("untrained", configure(kg="full")), "its network is that of the seed"
    assert baseline("untrained", configure(seed=1)) != baseline("untrained", configure())


def test_the_untrained_network_is_the_one_with_which_training_begins(configure, monkeypatch) -> None:
    begun = []

    def stop(self, bar):
        begun.append(self.policy)
        raise KeyboardInterrupt

    config = configure(kg="train", seed=3)
    monkeypatch.setattr("gumption.agents.learners.impala.ImpalaLearner.learn", stop)
    with pytest.raises(KeyboardInterrupt):
        train_impala(config, progress=False)
    asked = []

    def note(player, *_):
        asked.append(player.policy)
        raise KeyboardInterrupt

    monkeypatch.setattr("gumption.agents.wordcraft.evaluation.play_tasks", note)
    with pytest.raises(KeyboardInterrupt):
        baseline("untrained", config)
    ours, theirs = asked[0].network.state_dict(), begun[0].network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_taking_the_knowledge_away_leaves_what_was_learned(configure) -> None:
    """A network that never learned is left with nothing; one trained without scores to look at would lose nothing."""
    config = configure(kg="full", total_steps=128)
    policy = train_impala(config, progress=False).policy
    assert policy is not None
    with_it = baseline("untrained", config)["test_success"]
    found = baseline("without_kg", config, policy)
    assert set(found) == FIGURES
    assert found["test_success"] < 0.5 < with_it
    with torch.no_grad():  # a policy that weighs its scores with 0 does the same without them
        last = policy.network.mlp[-1]
        last.weight.zero_()
        last.bias.copy_(torch.tensor([1.0, 0.0]))
    settings = config.env_settings("test")
    tasks = WordCraftVectorEnv(1, **settings).split.test_tasks
    kept = success_rate(policy, evaluation_env(settings, len(tasks)), tasks, draws=config.final_draws)
    assert baseline("without_kg", config, policy)["test_success"] == kept["success"]


def test_only_knowledge_that_is_there_is_taken_away(configure) -> None:
    config = configure(total_steps=128)
    policy = train_impala(config, progress=False).policy
    with pytest.raises(InputError, match="no knowledge to play alone, or to be taken away"):
        baseline("without_kg", config, policy)


def test_without_knowledge_there_is_no_kg_only(configure) -> None:
    with pytest.raises(InputError, match="no knowledge to play alone, or to be taken away"):
        baseline("kg_only", configure())


def test_baselines_are_told_that_there_is_no_test_part(configure, book: RecipeBook) -> None:
    with pytest.raises(InputError, match="the split 'none' has no test part"):
        baseline("random", configure(split="none"))
