"""WordCraft's environments, network, knowledge and figures for the learner."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gumption.agents.evaluation import Greedy
from gumption.agents.knowledge import Knowledge
from gumption.agents.policy import Policy
from gumption.agents.settings import OWN, KnowledgeConfig
from gumption.agents.setup import Setup
from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.env import entity_features
from gumption.envs.wordcraft.splits import FEW, set_aside_together

from .cross_fit import cross_fitted
from .evaluation import MOST, evaluation_env, play_tasks, shares, some_tasks, success_rate, task_figures, with_few
from .networks import EntityEncoder, MLPActorCritic, SelfAttentionActorCritic

_latest: dict[tuple[Any, ...], Knowledge] = {}


class WordCraftSetup(Setup):
    """WordCraft's `Setup`. During training an agent is measured on validation and training tasks; at the end also on
    test tasks, or on training tasks if the split has no test tasks.
    """

    # Training tasks, since a fall on validation tasks alone is not a collapse of the training.
    measured = property(lambda self: ("train_success_eval", len(self.train_tasks)))

    def words(self, line: Mapping[str, float]) -> str:
        if "validation_success" not in line:
            return f"training tasks {line['train_success_eval']:.1%}"
        return f"validation {with_few(line, 'validation', len(self.validation_tasks))}"

    def unseen(self, policy: Policy) -> float | None:
        if not self.config.test_curve:
            return None
        return success_rate(policy, self.test_env, self.test_tasks, seed=self.config.seed)["success"]

    def env_settings(self, partition: str) -> dict[str, Any]:
        """Return the settings of the environment of a partition, with the book and split that `env` has read."""
        env = getattr(self, "env", None)
        opened = {} if env is None else {"recipe_book": env.book, "split": env.split}
        return {**self.config.env_settings(partition), **opened}

    def make_env(self, num_envs: int, **changes: Any) -> WordCraftVectorEnv:
        return WordCraftVectorEnv(num_envs, **{**self.env_settings("train"), **changes})

    def make_knowledge(self, kept: Path | None) -> Knowledge:
        """Build the knowledge; the latest is cached, since the seeds of an experiment run in turn and share it."""
        config, env = self.config, self.env
        said = tuple(getattr(config, field.name) for field in fields(KnowledgeConfig))
        key = (*said, config.cross_fit, config.word_vectors, self.device, env.book.hash, env.split.hash)
        own = config.kg in OWN and not config.kg_rules and not config.kg_beside
        if key not in _latest or not own:  # a user's file may have changed meanwhile
            _latest.clear()
            made = Knowledge.of(
                config,
                self.world,
                env.vocabulary,
                env.relations,
                {"recipe_book": env.book, "split": env.split},
                word_vectors=config.word_vectors,
                device=self.device,
                kept=None if config.cross_fit else kept,  # held-out scores are not saved
            )
            if config.cross_fit:
                made = cross_fitted(made, set_aside_together(env.book, env.split.parameters["mode"]))
            _latest[key] = made
        return _latest[key]

    def make_network(self) -> nn.Module:
        config, learner = self.config, self.config.learner
        if self.known is None:
            rows = entity_features(self.env.book, config.features, seed=config.seed, word_vectors=config.word_vectors)
            features = torch.from_numpy(rows)
        else:  # use the word vectors of the trained network
            named = (tensor for name, tensor in self.known.items() if name.endswith("encoder.features"))
            features = next(named, None)
            if features is None:
                raise InputError(
                    f"{self.trained}: trained with a network that its config does not name; give that one: network="
                )
        encoder = EntityEncoder(features, learner.encoder_size, learner.dropout)
        if config.agent == "mlp":
            if self.advice is not None:
                raise InputError("the simple MLP has no attention that advice is mixed into: use agent='attention'")
            return MLPActorCritic(encoder, self.env.table.shape[1], learner.hidden_size)
        return SelfAttentionActorCritic(
            encoder, learner.key_size, learner.value_size, config.weights, learner.gated, learner.value_layers
        )

    def look(self, env: WordCraftVectorEnv) -> tuple[np.ndarray, ...]:
        """Return env ids: goal (B,), table (B, S), selection (B,), 0 for none."""
        return tuple(part.astype(np.int64) for part in (env.goal, env.table, env.selection))

    @cached_property
    def test_tasks(self) -> np.ndarray:
        """(n,) test tasks, at most `MOST`; training tasks if the split has no test part."""
        return some_tasks(self.env.split.tasks(self.partition), MOST)

    @cached_property
    def validation_tasks(self) -> np.ndarray:
        """(n,) validation tasks, at most `MOST`; empty if the split has no validation part."""
        return some_tasks(self.env.split.of("tasks", "validation"), MOST)

    @cached_property
    def train_tasks(self) -> np.ndarray:
        """(n,) training tasks, at most as many as test tasks, evenly spread."""
        return some_tasks(self.env.split.train_tasks, len(self.test_tasks))

    @property
    def partition(self) -> str:
        return "test" if len(self.env.split.test_tasks) else "train"

    @cached_property
    def test_env(self) -> WordCraftVectorEnv:
        return evaluation_env(self.env_settings(self.partition), len(self.test_tasks))

    @cached_property
    def train_env(self) -> WordCraftVectorEnv:
        return evaluation_env(self.env_settings("train"), len(self.train_tasks))

    @cached_property
    def validation_env(self) -> WordCraftVectorEnv:
        return evaluation_env(self.env_settings("validation"), len(self.validation_tasks))

    def measure(self, policy: Policy) -> dict[str, float]:
        seed = self.config.seed
        train = success_rate(policy, self.train_env, self.train_tasks, seed=seed)
        found, twice = {}, train["same_slot_twice"]
        if len(self.validation_tasks):
            found, twice = self._of_validation(policy, 1, seed)
        return {**found, "train_success_eval": train["success"], "same_slot_twice": twice}

    def _of_validation(self, policy: Policy, draws: int, seed: int) -> tuple[dict[str, float], float]:
        """Return the validation success, with its interval if the tasks are few, and the share "same_slot_twice"."""
        rows = play_tasks(Greedy(policy), self.validation_env, self.validation_tasks, draws, seed)
        figures: dict[str, Any] = shares(rows)
        if len(self.validation_tasks) < FEW:
            figures |= task_figures(rows, draws)
        found = {name: figures[name] for name in ("success", "low", "high") if figures.get(name) is not None}
        return {f"validation_{name}": value for name, value in found.items()}, figures["same_slot_twice"]

    def final(self, policy: Policy) -> dict[str, Any]:
        config, draws = self.config, self.config.final_draws
        seed = config.seed + 1  # tables that no earlier evaluation played
        test = task_figures(play_tasks(Greedy(policy), self.test_env, self.test_tasks, draws, seed), draws)
        train = success_rate(policy, self.train_env, self.train_tasks, draws, seed)
        validation = {}
        if len(self.validation_tasks):
            validation = self._of_validation(policy, draws, seed)[0]
            validation["validation_tasks"] = len(self.validation_tasks)
        open_env = evaluation_env(self.env_settings(self.partition), len(self.test_tasks), alternatives=True)
        return {
            "test_success": test["success"],
            "test_low": test["low"],
            "test_high": test["high"],
            "test_tasks": len(self.test_tasks),
            **validation,
            "train_success": train["success"],
            "test_success_alternatives": success_rate(policy, open_env, self.test_tasks, draws, seed)["success"],
            "same_slot_twice": test["same_slot_twice"],
        }

    def manifest(self) -> dict[str, Any]:
        book, split = self.env.book, self.env.split
        return {
            "recipe_book": {"name": book.name, "sha256": book.hash},
            "split": {"schema": split.format.schema, "parameters": split.parameters, "sha256": split.hash},
            **super().manifest(),
        }

    def trained_on(self) -> dict[str, str]:
        return {"book": self.env.book.hash, "split": self.env.split.hash}
