"""From a config to its policy: features, network, knowledge."""

from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from gumption.agents.advice import Advice
from gumption.agents.kg_policy import guided_policy
from gumption.agents.readout import Readout
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.kg.checkpoint import pick_device

from .config import TrainConfig
from .networks import EntityEncoder, MLPActorCritic, SelfAttentionActorCritic


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
    """A network, and the advice that it mixes in, if any. Its scores follow train() and eval() of the policy."""

    def __init__(self, network: nn.Module, advice: Advice | None = None) -> None:
        super().__init__()
        self.network = network
        self.advice = advice
        self.scores = None if advice is None else advice.scores

    def forward(self, state: State) -> Readout:
        """Logits, value and attention of B states."""
        return self.network(*state)

    def read(self, env: WordCraftVectorEnv) -> State:
        """The state of an environment as it is now, with its scores: looked up once, for acting and for learning."""
        where = next(chain(self.network.buffers(), self.network.parameters())).device
        goal, table, selection = (
            torch.from_numpy(part.astype(np.int64)).to(where) for part in (env.goal, env.table, env.selection)
        )
        if self.advice is None:
            return State(goal, table, selection, torch.empty(*table.shape, 0, device=where))
        return State(goal, table, selection, self.advice(env))


def build_policy(
    config: TrainConfig,
    env: WordCraftVectorEnv,
    features: np.ndarray,
    advice: Advice | None = None,
    network: nn.Module | None = None,
) -> Policy:
    """A fresh policy, its weights drawn from torch's generator as it stands.

    :param features: (N + 1, F) rows of the entities, what the network knows them by.
    :param advice: what guides it; None for no knowledge.
    :param network: a network of your own in place of the config's: (goal, table, selection, scores) -> Readout.
    """
    learner, where = config.learner, pick_device(config.device)
    if network is not None:
        return Policy(network.to(where), advice)
    encoder = EntityEncoder(torch.from_numpy(features), learner.encoder_size, learner.dropout)
    if config.agent == "mlp":
        return Policy(MLPActorCritic(encoder, env.table.shape[1], learner.hidden_size).to(where))
    attention = SelfAttentionActorCritic(encoder, learner.key_size, learner.value_size, config.weights, learner.gated)
    if advice is None:
        return Policy(attention.to(where))
    mixed = guided_policy(attention, advice.relations, kg_only=config.kg_only, mixing=config.mixing)
    return Policy(mixed.to(where), advice)
