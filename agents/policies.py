"""From a config to its policy: features, network, knowledge."""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.features import entity_features
from gumption.kg import RelationScores
from gumption.kg.checkpoint import pick_device

from .config import TrainConfig
from .kg_policy import KGPolicy
from .knowledge import KnowledgeSettings, relation_scores
from .networks import EntityEncoder, MLPActorCritic, Readout, SelfAttentionActorCritic


class State(NamedTuple):
    """What a policy sees of B environments, on its device.

    :ivar goal: (B,) int64 env ids; `table` (B, S); `selection` (B,), 0 for none.
    :ivar scores: (B, S, K) relation scores, or (B, S, 0) without knowledge.
    """

    goal: torch.Tensor
    table: torch.Tensor
    selection: torch.Tensor
    scores: torch.Tensor


class Policy(nn.Module):
    """A network, and the relation scores that it reads, if any. The scores follow train() and eval() of the policy."""

    def __init__(self, network: nn.Module, scores: RelationScores | None = None) -> None:
        super().__init__()
        self.network = network
        self.scores = scores

    def forward(self, state: State) -> Readout:
        """Logits, value and attention of B states."""
        return self.network(*state)

    def read(self, env: WordCraftVectorEnv) -> State:
        """The state of an environment as it is now, with its scores: looked up once, for acting and for learning."""
        where = next(self.network.buffers()).device
        goal, table, selection = (
            torch.from_numpy(part.astype(np.int64)).to(where) for part in (env.goal, env.table, env.selection)
        )
        if self.scores is None:
            return State(goal, table, selection, torch.empty(*table.shape, 0, device=where))
        return State(goal, table, selection, self.scores.action_scores(goal, table, selection))


def build_policy(config: TrainConfig, env: WordCraftVectorEnv) -> Policy:
    """A fresh policy, its weights drawn from torch's generator as it stands; fits the knowledge where there is any."""
    learner, where = config.learner, pick_device(config.device)
    rows = entity_features(env.book, config.features, seed=config.seed, word_vectors=config.word_vectors)
    encoder = EntityEncoder(torch.from_numpy(rows), learner.encoder_size, learner.dropout)
    if config.agent == "mlp":
        return Policy(MLPActorCritic(encoder, env.table.shape[1], learner.hidden_size).to(where))
    attention = SelfAttentionActorCritic(encoder, learner.key_size, learner.value_size, config.weights, learner.gated)
    if config.kg == "none":
        return Policy(attention.to(where))
    network = KGPolicy(attention, config.kg_scores, kg_only=config.kg_only, mixing=config.mixing)
    return Policy(network.to(where), build_scores(config, env))


def build_scores(config: TrainConfig, env: WordCraftVectorEnv) -> RelationScores:
    """The relation scores of a config with knowledge, on its device."""
    settings = KnowledgeSettings(
        facts=config.kg,
        channels=config.kg_scores,
        calibrated=config.kg_calibrated,
        cross_fit=config.cross_fit,
    )
    where = pick_device(config.device)
    return relation_scores(env.book, env.split, settings, word_vectors=config.word_vectors, device=str(where))
