"""Actor-critic networks over tables of entities: self-attention (Jiang et al., 2020, 4.1) and a simple MLP (C.4).

A network takes env ids (0 for nothing): goal (B,), table (B, S), selection (B,), all int64 on one device. It contains
the feature vectors of all entities, so only ids are transferred.
"""

import torch
from torch import nn
from torch.nn import functional

from gumption.agents.policy import MASKED, Readout
from gumption.data.settings import Size, checked_methods

from .config import Weights


class EntityEncoder(nn.Module):
    """Representations of all entities, computed once per update and then indexed.

    With width 0 they are the frozen features, as in the paper; else they are learned: P x + MLP(x) + a free embedding.

    :ivar size: size of a representation.
    """

    features: torch.Tensor

    def __init__(self, features: torch.Tensor, width: int = 0, dropout: float = 0.0) -> None:
        """
        :param features: (N + 1, F) float32, row 0 zero.
        :param dropout: of features, and of whole free embeddings, so that features carry as much as possible.
        """
        super().__init__()
        self.register_buffer("features", features)
        self.size = width or features.shape[1]
        self.dropout = dropout
        self.learned = width > 0
        if self.learned:
            self.project = nn.Linear(features.shape[1], width, bias=False)
            # Outputs as large as the features: torch's default starts several times smaller, and learns later.
            nn.init.orthogonal_(self.project.weight, gain=1.5)
            self.mlp = nn.Sequential(nn.Linear(features.shape[1], width), nn.ReLU(), nn.Linear(width, width))
            self.free = nn.Embedding(len(features), width)
            nn.init.normal_(self.free.weight, std=0.1)

    def forward(self) -> torch.Tensor:
        """Return the representations (N + 1, size), row 0 zero."""
        if not self.learned:
            return self.features
        rows = functional.dropout(self.features, self.dropout, self.training)
        keep = functional.dropout(torch.ones_like(rows[:, :1]), self.dropout, self.training)
        encoded = self.project(rows) + self.mlp(rows) + self.free.weight * keep
        return torch.cat([torch.zeros_like(encoded[:1]), encoded[1:]])


@checked_methods
class SelfAttentionActorCritic(nn.Module):
    """Logits alpha_i = Q([x_g; x_s1; x_s2]) . K(x_i) / sqrt(d_k), and the value V = MLP(alpha^T W(x_table)).

    The second selection is always empty when an action is chosen, so its part of Q is the bias.

    :ivar size: size of the summary, the second output of `read`.
    """

    def __init__(
        self,
        encoder: EntityEncoder,
        key_size: Size = 300,
        value_size: Size = 300,
        weights: Weights = "softmax",
        gated: bool = False,
        value_layers: int = 2,
    ) -> None:
        """
        :param weights: alpha in alpha^T W(x): "softmax", an attention-weighted mean over the table, or "logits".
        :param gated: add G(x_g) * H(x_s1) to the query, so that it can depend on the interaction of goal and selection,
            not only on their sum.
        :param value_layers: fully connected layers of the value's MLP: one, as in section 4.1, or two with a ReLU.
        """
        super().__init__()
        self.encoder = encoder
        self.size = encoder.size
        self.weights = weights
        self.gated = gated
        self.key_size, self.value_size = key_size, value_size
        self.query_goal = nn.Linear(encoder.size, key_size)
        self.query_selection = nn.Linear(encoder.size, key_size, bias=False)
        if gated:
            self.gate_goal = nn.Linear(encoder.size, key_size, bias=False)
            self.gate_selection = nn.Linear(encoder.size, key_size, bias=False)
        self.key = nn.Linear(encoder.size, key_size)
        self.transform = nn.Linear(encoder.size, value_size)
        hidden = [nn.Linear(value_size, value_size), nn.ReLU()] if value_layers == 2 else []
        self.value = nn.Sequential(*hidden, nn.Linear(value_size, 1))

    def forward(
        self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor, scores: torch.Tensor
    ) -> Readout:
        """Return the readout. `scores` are not read: this agent has no knowledge."""
        return self.read(goal, table, selection)[0]

    def read(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """Return the readout, and the (B, F) attention-weighted sum over the table. W is applied to the sum, since W is
        linear."""
        entities = self.encoder()
        query = functional.embedding(goal, self.query_goal(entities))
        query = query + functional.embedding(selection, self.query_selection(entities))
        if self.gated:
            gate = functional.embedding(goal, self.gate_goal(entities))
            query = query + gate * functional.embedding(selection, self.gate_selection(entities))
        # q . (K x + b) = (q K) . x + q . b: transform the query instead of the entities, which keep their own width.
        on_table = functional.embedding(table, entities)
        there = (query @ self.key.weight)[:, None]
        # A product and a sum, since the gradient of batched matrix-vector products is several times slower on the CPU.
        attention = (on_table * there).sum(2) + query @ self.key.bias[:, None]
        attention = (attention / self.key_size**0.5).masked_fill(table == 0, MASKED)
        softmax = self.weights == "softmax"
        weights = attention.softmax(1) if softmax else attention.masked_fill(attention == MASKED, 0.0)
        summary = (weights[..., None] * on_table).sum(1)
        value = self.value(self.transform(summary))[:, 0]
        return Readout(attention, value, attention), summary


class MLPActorCritic(nn.Module):
    """The baseline of C.4: one hidden layer over the concatenated features of goal, selection and table.

    Its input depends on positions, so it must learn each slot separately.
    """

    def __init__(self, encoder: EntityEncoder, slots: int, hidden_size: int = 300) -> None:
        super().__init__()
        self.encoder = encoder
        self.hidden = nn.Linear(encoder.size * (2 + slots), hidden_size)
        self.policy = nn.Linear(hidden_size, slots)
        self.value = nn.Linear(hidden_size, 1)

    def forward(
        self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor, scores: torch.Tensor
    ) -> Readout:
        """Return the readout. `scores` are not read: this baseline has no knowledge."""
        ids = torch.cat([goal[:, None], selection[:, None], table], dim=1)
        hidden = self.hidden(functional.embedding(ids, self.encoder()).flatten(1)).relu()
        logits = self.policy(hidden).masked_fill(table == 0, MASKED)
        return Readout(logits, self.value(hidden)[:, 0], logits)
