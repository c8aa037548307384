"""What the learner works with in WordCraft: environments, policy, knowledge, and what is measured."""

from pathlib import Path
from typing import Any

from torch import nn

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.run_folder import KNOWLEDGE
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.features import entity_features

from .config import TrainConfig
from .evaluation import evaluation_env, some_tasks, success_rate
from .knowledge import make_knowledge
from .policy import Policy, build_policy
from .wording import what_is_tested


class WordCraftSetup:
    """See `gumption.agents.impala.Setup`.

    :ivar env: plays the training tasks; the test tasks, or, where the split has none, the training tasks are measured.
    :ivar knowledge: what the config's advice was made from; None without knowledge, or with advice of one's own.
    """

    def __init__(
        self,
        config: TrainConfig,
        *,
        network: nn.Module | None = None,
        advice: Advice | None = None,
        kept: Path | None = None,
    ) -> None:
        self.config, self.network = config, network
        self.env = WordCraftVectorEnv(config.learner.batch_size, **config.env_settings("train"))
        self.knowledge: Knowledge | None = None
        self.advice = advice
        if advice is None and config.kg != "none":
            self.knowledge = make_knowledge(config, self.env, kept)
            self.advice = self.knowledge.advice(self.env.vocabulary, self.env.relations)
        split = self.env.split
        self.test_tasks = split.test_tasks if len(split.test_tasks) else split.train_tasks
        self.headline = "test_success", what_is_tested(split)
        self.partition = "test" if len(split.test_tasks) else "train"
        self.train_tasks = some_tasks(split.train_tasks, len(self.test_tasks))
        self.test_env = evaluation_env(config.env_settings(self.partition), len(self.test_tasks))
        self.train_env = evaluation_env(config.env_settings("train"), len(self.train_tasks))

    def policy(self) -> Policy:
        config = self.config
        rows = entity_features(self.env.book, config.features, seed=config.seed, word_vectors=config.word_vectors)
        return build_policy(config, self.env, rows, self.advice, self.network)

    def measure(self, policy: Policy) -> dict[str, float]:
        test = success_rate(policy, self.test_env, self.test_tasks, seed=self.config.seed)
        train = success_rate(policy, self.train_env, self.train_tasks, seed=self.config.seed)
        return {
            "test_success": test["success"],
            "train_success_eval": train["success"],
            "same_slot_twice": test["same_slot_twice"],
        }

    def final(self, policy: Policy) -> dict[str, float]:
        config, draws = self.config, self.config.final_draws
        seed = config.seed + 1  # tables that no evaluation on the way has shown
        test = success_rate(policy, self.test_env, self.test_tasks, draws, seed)
        train = success_rate(policy, self.train_env, self.train_tasks, draws, seed)
        open_env = evaluation_env(config.env_settings(self.partition), len(self.test_tasks), alternatives=True)
        return {
            "test_success": test["success"],
            "test_tasks": len(self.test_tasks),
            "train_success": train["success"],
            "test_success_alternatives": success_rate(policy, open_env, self.test_tasks, draws, seed)["success"],
            "same_slot_twice": test["same_slot_twice"],
        }

    def manifest(self) -> dict[str, Any]:
        book, split = self.env.book, self.env.split
        return {
            "recipe_book": {"name": book.name, "sha256": book.hash},
            "split": {"schema": split.format.schema, "parameters": split.parameters, "sha256": split.hash},
            **({} if self.knowledge is None else {"knowledge": self.knowledge.about}),
        }

    def keep(self, path: Path) -> None:
        if self.knowledge is not None:
            self.knowledge.save(path / KNOWLEDGE)
