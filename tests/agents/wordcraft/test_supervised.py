"""Supervision: the network of an agent is told the right choices of its training tasks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import train_impala
from gumption.agents.learners.impala import SupervisedLearner
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.evaluation import evaluation_env, oracle
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook

SMALL: dict[str, Any] = {"features": "random", "num_distractors": 2, "eval_interval": 4096, "device": "cpu"}


@pytest.mark.parametrize("depth", [1, 2])
def test_right_slots_are_those_of_the_ingredients(book: RecipeBook, depth: int) -> None:
    env = evaluation_env({"recipe_book": book, "depth": depth, "num_distractors": 3, "split": "none"}, 64)
    env.reset(seed=3)
    won = np.zeros(64, dtype=bool)
    for _ in range(2 * depth):
        right, best = env.right_choices(), oracle(env, np.zeros(64, dtype=bool))
        assert right[np.arange(64), best].all()
        recipes = env.book.recipes[env.tasks.recipes[env.task_index]] + 1  # (B, depth, 3)
        for row in range(64):
            things = set(env.table[row][right[row]].tolist())
            pairs = [set(recipe[:2]) for recipe in recipes[row].tolist()]
            selected = int(env.selection[row])
            assert any(things == (pair if not selected else pair - {selected} or pair) for pair in pairs)
        env.make_step(best)
        won |= env.success
    assert won.all()


def test_the_network_learns_its_training_tasks(book_file: Path) -> None:
    config = TrainConfig(recipe_book=str(book_file), total_steps=60_000, supervised=True, split="none", **SMALL)
    assert train_impala(config, progress=False).final["train_success"] > 0.9


def test_a_stopped_run_goes_on_to_the_bits_of_an_uninterrupted_one(book_file: Path, tmp_path: Path) -> None:
    whole = TrainConfig(recipe_book=str(book_file), total_steps=8192, supervised=True, **SMALL)
    first = train_impala(whole, tmp_path / "whole", progress=False)
    part = tmp_path / "part"

    def dies(self: Any, bar: Any) -> None:
        if self.step >= 4096:
            raise KeyboardInterrupt
        learn(self, bar)

    learn = SupervisedLearner.learn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SupervisedLearner, "learn", dies)
        with pytest.raises(KeyboardInterrupt):
            train_impala(whole, part, progress=False)
    again = train_impala(whole, part, progress=False, resume=True)
    assert first.policy is not None
    assert again.policy is not None
    for name, tensor in first.policy.network.state_dict().items():
        assert torch.equal(tensor, again.policy.network.state_dict()[name]), name


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"kg": "train"},
            "own facts state every right choice of a training task.*add cross_fit, or use mixing='product'",
        ),
        ({"reward": "sparse"}, "supervised learning sees no rewards: leave out reward and subgoal_rewards"),
        ({"overrides": (("entropy_cost", 0.1),)}, "overrides names 'entropy_cost', which this agent does not have"),
    ],
)
def test_what_supervision_does_not_read_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        TrainConfig(supervised=True, **given)


def test_a_product_reads_no_scores_that_could_be_held_out() -> None:
    with pytest.raises(InputError, match="cross_fit is for a policy that reads scores while it learns"):
        TrainConfig(kg="train", mixing="product", cross_fit=True)
