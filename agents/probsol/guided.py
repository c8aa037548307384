"""The general learner in ProbSol: it chooses among the paper's actions, and a graph advises it."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.agents.run_folder import KNOWLEDGE
from gumption.agents.world_config import WorldConfig
from gumption.agents.world_knowledge import kept_advice
from gumption.agents.world_setup import WorldPolicy, load_policy, make_policy
from gumption.envs.probsol.vector_env import ProbSolVectorEnv


class Advised:
    """The player of a policy: its actions are drawn with the probabilities that the policy gives them."""

    def __init__(
        self, policy: WorldPolicy, knowledge: Path | None, seed: int = 0, *, without_knowledge: bool = False
    ) -> None:
        """
        :param knowledge: the folder where the run keeps what it knows, which is read for the tasks that are played.
        :param without_knowledge: every score that the policy reads is 0.
        """
        self.policy, self.knowledge, self.seed, self.without = policy.eval(), knowledge, seed, without_knowledge

    def begin(self, batch: ProbSolVectorEnv) -> None:
        if self.knowledge is not None:
            self.policy.advice = kept_advice(self.knowledge, batch.vocabulary, batch.relations, self.policy.device)
        self.random = torch.Generator().manual_seed(self.seed)

    @torch.no_grad()
    def act(self, batch: ProbSolVectorEnv) -> np.ndarray:
        state = self.policy.read(batch)
        if self.without:
            state = state._replace(scores=torch.zeros_like(state.scores))
        chances = self.policy(state).logits.softmax(dim=1).cpu()
        return torch.multinomial(chances, 1, generator=self.random)[:, 0].numpy()


def players(run_dir: Path, device: str | None, seed: int) -> tuple[WorldConfig, dict[str, Any]]:
    """The config of a run, and its players by name: trained, untrained and, of a guided run, trained with its knowledge
    taken away.

    :raises InputError: no run there, or a damaged one.
    """
    config, policy = load_policy(run_dir, device=device)
    knowledge = None if config.kg == "none" else run_dir / KNOWLEDGE
    found: dict[str, Any] = {"trained": Advised(policy, knowledge, seed)}
    env = ProbSolVectorEnv(1, **dict(config.env))
    env.reset(seed=config.seed)
    with torch.random.fork_rng(devices=[] if not torch.cuda.is_available() else None):
        torch.manual_seed(config.seed)
        found["untrained"] = Advised(make_policy(config, env, policy.advice), knowledge, seed)
    if knowledge is not None:
        found["knowledge taken away"] = Advised(policy, knowledge, seed, without_knowledge=True)
    return config, found
