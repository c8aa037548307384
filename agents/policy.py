"""Policies that mix relation scores into a network's logits over A candidates (Jiang et al., 2020, section 4.2)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError
from gumption.data.modules import name_of, of_module
from gumption.data.settings import Size, checked_methods

from .advice import Advice
from .settings import MIXINGS, Mixing

PRODUCT_ATTENTION = 0.25  # lambda_alpha of mixing="product"; chosen on validation tasks of WordCraft
CANDIDATE_SIZE, CANDIDATE_DROPOUT = 32, 0.3  # of the network that computes lambda from a candidate's channels
SURE = 5.0  # logit difference at which looked-up facts decide a choice, even of a policy that samples
NETWORK_COST = 0.1  # weight of `KGPolicy.prior`; 0.03 and 0.3 give similar results on validation tasks
DENSE = 0.8  # a channel is dense if it is not 0 for more than this share of candidates
MASKED = -1e9  # logit of a candidate that cannot be chosen; finite, so that 0 * logit is 0 in an entropy


class Readout(NamedTuple):
    """The output of a network for a batch of B states.

    :ivar logits: (B, A), MASKED where a candidate cannot be chosen.
    :ivar value: (B,).
    :ivar attention: (B, A) the network's own logits alpha, without scores; MASKED as in `logits`.
    :ivar mixture: (B, 1 + K) lambda, the weights of the attention and of each score in the logits (equation 5); None
        if no score is mixed in.
    """

    logits: torch.Tensor
    value: torch.Tensor
    attention: torch.Tensor
    mixture: torch.Tensor | None = None


class Reader(Protocol):
    """Interface of a network whose logits can be mixed with relation scores.

    :ivar size: F, the width of a summary.
    """

    size: int

    def read(self, *seen: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """Return the readout without scores, and the summary (B, F) from which lambda is computed."""
        ...


@checked_methods
class KGPolicy(nn.Module):
    """Mix K channels, scores of relations or edges of a graph, into the logits of a network (equations 3 to 5):
    beta_i = lambda_alpha alpha_i + sum_k lambda_k s_ki.

    lambda = MLP(alpha^T W_lambda(x_table)). With the scores combinesWith and componentOf this is equation 3 (u and v).
    Without scores it is the attention network itself. With `kg_only` it is the sum of the channels, weighted by their
    first lambdas. `begin` sets the first lambdas from training tasks, so that an agent follows its knowledge before it
    learns how far to trust it; without `begin` every lambda starts at 1.

    Equation 5 computes lambda from the state alone. The weight of an edge should also depend on the candidate's other
    edges: two relations with mostly the same links should count once. With `by_candidate`, a generalisation,
    lambda_ki = MLP(state)_k + MLP(channels of candidate i)_k. The second part starts at 0, and a channel that is 0
    still adds nothing.

    A network trained together with knowledge of its training tasks either leaves them to the knowledge, or memorises
    them and is too confident on others. With mixing="product" it is trained alone. In eval mode its logits are divided
    by 4 and added to the weighted scores: a product of experts (Hinton, 2002).

    :ivar first: (1 + K,) the first lambdas; `scale` (K,) the inverse of the mean of each channel where it is not 0.
    """

    first: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self,
        attention: nn.Module,
        channels: Sequence[str],
        *,
        kg_only: bool = False,
        mixing: Mixing = "linear",
        hidden_size: Size = 64,
        by_candidate: bool = False,
    ) -> None:
        """
        :param attention: the network whose logits the scores are mixed into; see `Reader`.
        :param channels: names of the scores, in the order of their last axis.
        :param mixing: "linear", lambda unconstrained as in equation 5; "softmax", lambda non-negative with sum 1;
            "product", the attention network alone in training mode, else lambda 1/4 for attention and the first lambda
            of each score.
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
        self.register_buffer("first", torch.ones(1 + len(channels)))
        self.register_buffer("scale", torch.ones(len(channels)))
        self.of_candidate: nn.Sequential | None = None
        if by_candidate and mixing == "linear" and not kg_only:
            size = len(channels)
            layers = nn.Linear(size, CANDIDATE_SIZE), nn.ReLU(), nn.Dropout(CANDIDATE_DROPOUT)
            self.of_candidate = nn.Sequential(*layers, nn.Linear(CANDIDATE_SIZE, size))
            for parameter in self.of_candidate[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, *state: torch.Tensor) -> Readout:
        """Return the readout with scores mixed in. :param state: inputs of the network, then the scores (B, A, K)."""
        *seen, scores = state
        readout, summary = cast(Reader, self.attention).read(*seen)
        if not self.channels or (self.training and self.mixing == "product"):
            return readout
        mixture = self.coefficients(summary)
        parts = torch.cat([readout.attention[..., None], scores], dim=2)
        logits = (parts @ mixture[..., None])[..., 0]
        if self.of_candidate is not None:
            scaled = scores * self.scale
            logits = logits + (self.of_candidate(scaled) * scaled).sum(2)
        return Readout(
            logits.masked_fill(readout.attention == MASKED, MASKED), readout.value, readout.attention, mixture
        )

    def coefficients(self, summary: torch.Tensor) -> torch.Tensor:
        """Return lambda (B, 1 + K), of the attention and of each score, for an attention-weighted summary (B, F)."""
        if self.kg_only or self.mixing == "product":
            fixed = self.first.repeat(len(summary), 1)
            fixed[:, 0] = 0.0 if self.kg_only else PRODUCT_ATTENTION
            return fixed
        mixture = self.mlp(self.transform(summary))
        return functional.softmax(mixture, dim=1) if self.mixing == "softmax" else mixture

    def prior(self, readout: Readout) -> torch.Tensor:
        """Return (B,) the cost of the network's own part of the logits if `by_candidate` holds, else 0.

        A network can memorise every training task. The weights of the channels, which alone help with unseen goals, are
        then not trained. A normal prior on lambda_alpha alpha_i leaves to the network only the part of the logits that
        the channels cannot explain.
        """
        if self.of_candidate is None or readout.mixture is None:
            return torch.zeros_like(readout.value)
        there = readout.attention > MASKED / 2
        alpha = readout.attention.masked_fill(~there, 0.0)
        mean = alpha.sum(1, keepdim=True) / there.sum(1, keepdim=True).clamp_min(1)
        return NETWORK_COST * ((readout.mixture[:, :1] * (alpha - mean)) ** 2 * there).sum(1)

    @torch.no_grad()
    def begin(
        self, attention: torch.Tensor, scores: torch.Tensor, choices: tuple[torch.Tensor, torch.Tensor] | None
    ) -> None:
        """Set the first lambdas from n states of training tasks.

        A channel of edges starts at log(P(not 0 | right choice) / P(not 0 | wrong choice)), divided by its mean
        strength (naive Bayes). A dense channel, such as a cosine, starts at the difference of its means over its
        variance. Both are the log-odds of a choice if channels are independent. Scores of other kinds are log-ratios
        already. They share one factor, which makes the largest difference between candidates at least `SURE`, so that
        looked-up facts decide. lambda_alpha starts so small that the untrained network decides only between candidates
        with equal scores, and in at most one of a hundred other states.

        :param attention: (n, A), MASKED where there is no candidate; `scores` (n, A, K).
        :param choices: (n, A) bool the right choices, and the wrong ones, for channels of edges; else None.
        """
        open_ = attention > MASKED / 2
        if choices is None:
            values = scores.sum(2)
            apart = (
                values.masked_fill(~open_, -torch.inf).amax(1) - values.masked_fill(~open_, torch.inf).amin(1)
            ).max()
            self.first[1:] = max(1.0, SURE / float(apart)) if apart > 0 else 1.0
        else:
            right, wrong = (scores[rows] for rows in choices)
            present, count = (scores[open_] != 0).sum(0), int(open_.sum())
            mean = scores[open_].sum(0) / present.clamp_min(1)
            self.scale = torch.where(mean > 0, 1 / mean.clamp_min(1e-6), 1.0)
            has, lacks = (((part != 0).sum(0) + 1) / (len(part) + 2) for part in (right, wrong))
            dense = present > DENSE * count
            spread = wrong.var(0).clamp_min(1e-6)
            self.first[1:] = torch.where(
                dense, (right.mean(0) - wrong.mean(0)) / spread, (has / lacks).log() * self.scale
            )
            self.first[1:][present == 0] = 0.0
        values = (scores @ self.first[1:]).masked_fill(~open_, -torch.inf)
        best = values.amax(1, keepdim=True)
        gap = (best - values.masked_fill(values == best, -torch.inf).amax(1, keepdim=True))[:, 0]
        spread = attention.masked_fill(~open_, -torch.inf).amax(1) - attention.masked_fill(~open_, torch.inf).amin(1)
        decided = gap.isfinite() & (spread > 0)
        ratio = (gap / spread)[decided]
        self.first[0] = min(1.0, float(ratio.quantile(0.01))) if len(ratio) else 1.0
        cast(nn.Linear, self.mlp[-1]).bias.copy_(self.first)


def guided_policy(
    network: nn.Module, channels: Sequence[str], *, kg_only: bool, mixing: str, by_candidate: bool = False
) -> KGPolicy:
    """Return a policy that mixes scores into the logits of a network.

    :param mixing: one of `MIXINGS`, or MODULE:NAME of a subclass of `KGPolicy`, called as NAME(network, channels,
        kg_only=...).
    :raises InputError: no such class.
    """
    if mixing in MIXINGS:
        how = cast(Mixing, mixing)
        return KGPolicy(network, channels, kg_only=kg_only, mixing=how, by_candidate=by_candidate)
    made = of_module(mixing, "mixing")
    if not isinstance(made, type) or not issubclass(made, KGPolicy):
        raise InputError(f"mixing={mixing!r} is no subclass of gumption.agents.KGPolicy")
    return made(network, channels, kg_only=kg_only)


class PolicyInput(NamedTuple):
    """The input of a policy: the state of B environments, on the policy's device.

    :ivar seen: inputs of the network, each with a leading batch axis.
    :ivar scores: (B, A, K) relation scores, or (B, A, 0) without knowledge.
    """

    seen: tuple[torch.Tensor, ...]
    scores: torch.Tensor


class Policy(nn.Module):
    """A network and the advice that it mixes in, if any. train() and eval() also switch the scores of the advice.

    :ivar network: the trained module; (*seen, scores) -> Readout.
    """

    def __init__(
        self, network: nn.Module, look: Callable[[Any], tuple[np.ndarray, ...]], advice: Advice | None, device: str
    ) -> None:
        """:param look: computes the network's inputs from a native batch; the second input is (B, A)."""
        super().__init__()
        self.network, self.look, self.advice, self.device = network.to(device), look, advice, device
        self.scores = None if advice is None else advice.scores

    def forward(self, state: PolicyInput) -> Readout:
        """:raises InputError: the network does not return a `Readout`."""
        readout = self.network(*state.seen, state.scores)
        if not isinstance(readout, Readout):
            name = name_of(type(self.network))
            raise InputError(f"{name} returns {type(readout).__name__}; return a gumption.agents.policy.Readout")
        return readout

    def prior(self, readout: Readout) -> torch.Tensor:
        """Return (B,) `KGPolicy.prior`, or 0 for another network."""
        return self.network.prior(readout) if isinstance(self.network, KGPolicy) else torch.zeros_like(readout.value)

    def read(self, env: Any, known: bool = True) -> PolicyInput:
        """Read the present state of a native batch and its scores, which serve both acting and learning.

        :param known: False sets every score to 0, as if there were no knowledge.
        """
        seen = tuple(torch.from_numpy(part).to(self.device) for part in self.look(env))
        if self.advice is None or (self.training and getattr(self.network, "mixing", None) == "product"):
            return PolicyInput(seen, torch.empty(*seen[1].shape, 0, device=self.device))
        if not known:
            return PolicyInput(seen, torch.zeros(*seen[1].shape, len(self.advice.relations), device=self.device))
        return PolicyInput(seen, self.advice(env))


class FlatActorCritic(nn.Module):
    """A network with one hidden layer over the flat observation and a logit for each action; see `Reader`."""

    def __init__(self, features: int, actions: int, hidden_size: int) -> None:
        super().__init__()
        self.size = hidden_size
        self.hidden = nn.Linear(features, hidden_size)
        self.policy = nn.Linear(hidden_size, actions)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor, scores: torch.Tensor) -> Readout:
        """Return the readout. `scores` are not read: this agent has no knowledge."""
        return self.read(observation, mask)[0]

    def read(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        hidden = self.hidden(observation).relu()
        logits = self.policy(hidden).masked_fill(~mask, MASKED)
        return Readout(logits, self.value(hidden)[:, 0], logits), hidden
