"""Knowledge in a policy: relation scores mixed into the attention logits (Jiang et al., 2020, section 4.2)."""

from collections.abc import Sequence
from typing import Protocol, cast

import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError
from gumption.data.settings import Size, checked_methods

from .readout import MASKED, Readout
from .settings import MIXINGS, Mixing, of_module


class Reader(Protocol):
    """A network whose choices knowledge is mixed into.

    :ivar size: F, numbers in a summary.
    """

    size: int

    def read(self, *state: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """What a state is read as, without its scores: the readout, and a summary (B, F) that lambda is made of."""
        ...


@checked_methods
class KGPolicy(nn.Module):
    """beta_i = lambda_alpha alpha_i + sum_k lambda_k s_ki over K relation scores (equations 3 to 5).

    lambda = MLP(alpha^T W_lambda(x_table)). With the scores combinesWith and componentOf this is equation 3 (u and v);
    any subset is a special case, no score at all is the attention network itself, and `kg_only` is the sum of the
    scores with nothing learned. lambda starts at 1 for each score and at 1 for attention whose first logits are near 0,
    so that an agent begins by trusting the knowledge and learns how far.
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
        :param attention: the network that knowledge is mixed into; see `Reader`.
        :param channels: names of the scores, in the order of their last axis.
        :param mixing: "linear", lambda unconstrained as in equation 5, or "softmax", non-negative with sum 1.
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
        last = self.mlp[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.ones_(last.bias)

    def forward(self, *state: torch.Tensor) -> Readout:
        """:param state: what the network reads, and last the scores (B, A, K)."""
        *seen, scores = state
        readout, summary = cast(Reader, self.attention).read(*seen)
        if not self.channels:
            return readout
        mixture = self.coefficients(summary)
        parts = torch.cat([readout.attention[..., None], scores], dim=2)
        logits = (parts @ mixture[..., None])[..., 0].masked_fill(readout.attention == MASKED, MASKED)
        return Readout(logits, readout.value, readout.attention, mixture)

    def coefficients(self, summary: torch.Tensor) -> torch.Tensor:
        """(B, F) attention-weighted sum over the table -> (B, 1 + K): lambda of the attention and of each score."""
        if self.kg_only:
            fixed = torch.ones(len(summary), 1 + len(self.channels), device=summary.device)
            fixed[:, 0] = 0.0
            return fixed
        mixture = self.mlp(self.transform(summary))
        return functional.softmax(mixture, dim=1) if self.mixing == "softmax" else mixture


def guided_policy(network: nn.Module, channels: Sequence[str], *, kg_only: bool, mixing: str) -> KGPolicy:
    """Scores mixed into a network's logits by the formula that a config names.

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
