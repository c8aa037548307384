"""What an actor-critic network gives for a batch of states."""

from typing import NamedTuple

import torch

MASKED = -1e9  # the logit of a choice that is not open; finite, so that 0 * logit is 0 in an entropy


class Readout(NamedTuple):
    """
    :ivar logits: (B, A), MASKED where a candidate cannot be chosen.
    :ivar value: (B,).
    :ivar attention: (B, A) the network's own logits alpha before anything was mixed in, MASKED likewise.
    :ivar mixture: (B, 1 + K) lambda, the weights of the attention and of each score in the logits (Jiang et al., 2020,
        equation 5); None where no score is mixed in.
    """

    logits: torch.Tensor
    value: torch.Tensor
    attention: torch.Tensor
    mixture: torch.Tensor | None = None
