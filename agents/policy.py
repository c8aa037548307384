"""Policies: a network that chooses among A candidates, and relation scores mixed into its logits (Jiang et al., 2020,
section 4.2).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError
from gumption.data.modules import of_module
from gumption.data.settings import Size, checked_methods

from .advice import Advice
from .settings import MIXINGS, Mixing

PRODUCT_ATTENTION = 0.25  # lambda_alpha of a product; chosen on validation tasks of WordCraft
MASKED = -1e9  # the logit of a choice that is not open; finite, so that 0 * logit is 0 in an entropy


class Readout(NamedTuple):
    """The output of a network for a batch of states.

    :ivar logits: (B, A), MASKED where a candidate cannot be chosen.
    :ivar value: (B,).
    :ivar attention: (B, A) the network's own logits alpha, without scores, MASKED likewise.
    :ivar mixture: (B, 1 + K) lambda, the weights of the attention and of each score in the logits (equation 5); None
        where no score is mixed in.
    """

    logits: torch.Tensor
    value: torch.Tensor
    attention: torch.Tensor
    mixture: torch.Tensor | None = None


class Reader(Protocol):
    """A network whose logits knowledge is mixed into.

    :ivar size: F, the width of a summary.
    """

    size: int

    def read(self, *seen: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """The readout of a state without its scores, and a summary (B, F) from which lambda is computed."""
        ...


@checked_methods
class KGPolicy(nn.Module):
    """beta_i = lambda_alpha alpha_i + sum_k lambda_k s_ki over K relation scores (equations 3 to 5).

    lambda = MLP(alpha^T W_lambda(x_table)). With the scores combinesWith and componentOf this is equation 3 (u and v);
    any subset is a special case, no score at all is the attention network itself, and `kg_only` is the sum of the
    scores with nothing learned. lambda starts at 1 for each score and at 1 for attention whose first logits are near 0,
    so that an agent begins by trusting the knowledge and learns how far.

    A network that learns beside knowledge of its training tasks leaves them to the knowledge, or remembers them and
    trusts itself too far on others. As a "product" it learns alone, and what it learned counts a quarter beside the
    scores: a product of experts (Hinton, 2002).
    """

    def __init__(
        self,
        attention: nn.Module,
        channels: Sequence[str],
        *,
        kg_only: bool = False,
        mixing: Mixing = "linear",
        hidden_size: Size = 64,
    ) -> None:
        """
        :param attention: the network whose logits the scores are mixed into; see `Reader`.
        :param channels: names of the scores, in the order of their last axis.
        :param mixing: "linear", lambda unconstrained as in equation 5; "softmax", non-negative with sum 1; "product",
            in training mode the attention network alone, else lambda is 1/4 for attention and 1 for each score.
        """
        super().__init__()
        if kg_only and not channels:
            raise InputError("an agent that follows knowledge only needs at least one score")
        self.attention = attention
        self.channels = tuple(channels)
        self.kg_only = kg_only
        self.mixing = mixing
        self.transform = nn.Linear(cast(Reader, attention).size, hidden_size)
        self.mlp = nn.Sequential(
            nn.Linear(hidden_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1 + len(channels))
        )
        last = cast(nn.Linear, self.mlp[-1])
        nn.init.zeros_(last.weight)
        nn.init.ones_(last.bias)

    def forward(self, *state: torch.Tensor) -> Readout:
        """:param state: what the network reads, then the scores (B, A, K)."""
        *seen, scores = state
        readout, summary = cast(Reader, self.attention).read(*seen)
        if not self.channels or (self.training and self.mixing == "product"):
            return readout
        mixture = self.coefficients(summary)
        parts = torch.cat([readout.attention[..., None], scores], dim=2)
        logits = (parts @ mixture[..., None])[..., 0].masked_fill(readout.attention == MASKED, MASKED)
        return Readout(logits, readout.value, readout.attention, mixture)

    def coefficients(self, summary: torch.Tensor) -> torch.Tensor:
        """(B, F) attention-weighted sum over the table -> (B, 1 + K): lambda of the attention and of each score."""
        if self.kg_only or self.mixing == "product":
            fixed = torch.ones(len(summary), 1 + len(self.channels), device=summary.device)
            fixed[:, 0] = 0.0 if self.kg_only else PRODUCT_ATTENTION
            return fixed
        mixture = self.mlp(self.transform(summary))
        return functional.softmax(mixture, dim=1) if self.mixing == "softmax" else mixture


def guided_policy(network: nn.Module, channels: Sequence[str], *, kg_only: bool, mixing: str) -> KGPolicy:
    """A network and the scores mixed into its logits.

    :param mixing: one of `MIXINGS`, or MODULE:NAME of a subclass of `KGPolicy`, called as mine(network, channels,
        kg_only=...).
    :raises InputError: no such class.
    """
    if mixing in MIXINGS:
        return KGPolicy(network, channels, kg_only=kg_only, mixing=cast(Mixing, mixing))
    made = of_module(mixing, "mixing")
    if not isinstance(made, type) or not issubclass(made, KGPolicy):
        raise InputError(f"mixing={mixing!r} is no subclass of gumption.agents.KGPolicy")
    return made(network, channels, kg_only=kg_only)


class PolicyInput(NamedTuple):
    """The input of a policy: the state of B environments, on its device.

    :ivar seen: inputs of its network, each with a leading batch axis.
    :ivar scores: (B, A, K) relation scores, or (B, A, 0) without knowledge.
    """

    seen: tuple[torch.Tensor, ...]
    scores: torch.Tensor


class Policy(nn.Module):
    """A network, and the advice that it mixes in, if any. The advice's scores follow train() and eval() of the policy.

    :ivar network: what is trained; (*seen, scores) -> Readout.
    """

    def __init__(
        self, network: nn.Module, look: Callable[[Any], tuple[np.ndarray, ...]], advice: Advice | None, device: str
    ) -> None:
        """:param look: native batch of environments -> inputs of the network; the second one is (B, A)."""
        super().__init__()
        self.network, self.look, self.advice, self.device = network.to(device), look, advice, device
        self.scores = None if advice is None else advice.scores

    def forward(self, state: PolicyInput) -> Readout:
        return self.network(*state.seen, state.scores)

    def read(self, env: Any, known: bool = True) -> PolicyInput:
        """The state of a native batch as it is now, with its scores: looked up once, for acting and for learning.

        :param known: False to take the knowledge away: every score is 0.
        """
        seen = tuple(torch.from_numpy(part).to(self.device) for part in self.look(env))
        if self.advice is None or (self.training and getattr(self.network, "mixing", None) == "product"):
            return PolicyInput(seen, torch.empty(*seen[1].shape, 0, device=self.device))
        if not known:
            return PolicyInput(seen, torch.zeros(*seen[1].shape, len(self.advice.relations), device=self.device))
        return PolicyInput(seen, self.advice(env))


class FlatActorCritic(nn.Module):
    """One hidden layer over the flat observation; a logit for each action. See `Reader`."""

    def __init__(self, features: int, actions: int, hidden_size: int) -> None:
        super().__init__()
        self.size = hidden_size
        self.hidden = nn.Linear(features, hidden_size)
        self.policy = nn.Linear(hidden_size, actions)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor, scores: torch.Tensor) -> Readout:
        """`scores` are not read: this is an agent without knowledge."""
        return self.read(observation, mask)[0]

    def read(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        hidden = self.hidden(observation).relu()
        logits = self.policy(hidden).masked_fill(~mask, MASKED)
        return Readout(logits, self.value(hidden)[:, 0], logits), hidden
