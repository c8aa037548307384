"""What an actor-critic network gives for a batch of states."""

from typing import NamedTuple

import torch

MASKED = -1e9  # the logit of a choice that is not open; finite, so that 0 * logit is 0 in an entropy


class Readout(NamedTuple):
    """
    :ivar logits: (B, A), MASKED where a candidate cannot be chosen.
    :ivar value: (B,).
    :ivar attention: (B, A) the network's own logits alpha before anything was mixed in, MASKED likewise.
    """

    logits: torch.Tensor
    value: torch.Tensor
    attention: torch.Tensor
