"""TD3 (Fujimoto et al., 2018) for options, as HALMA's paper trains its agents (Xie et al., 2021, E.1 and Table S1).

The actor increases the critic's value of its own options:

    L(actor) = - mean Q1(s, o),   o = one-hot options of straight-through Gumbel-softmax (Jang et al., 2017)

Options are discrete, so the gradient dQ/do of a deterministic policy passes through the softmax behind each one-hot
choice (our decision: the paper does not specify it). The target actor's options have Gumbel noise, which is TD3's
smoothing of the target policy. Actor and targets are updated every `policy_delay` updates, as in TD3.
"""

from typing import Any

import numpy as np
import torch

from .parameters import TD3Parameters
from .replay import Album, Moves, ReplayLearner


class TD3(ReplayLearner):
    """The learner described above; the actor has `decode` and `relaxed`."""

    targets_wait = True

    def __init__(
        self, actor: Any, critic: Any, parameters: TD3Parameters, *, recurrent: bool = False, album: Album | None = None
    ) -> None:
        super().__init__(actor, critic, parameters, recurrent=recurrent, album=album)
        self.softness = parameters.gumbel_temperature

    def update_actor(self, moves: Moves, rng: np.random.Generator) -> None:
        options = self.actor.relaxed(self.made(self.actor, moves, later=False, memo=True), self.softness)
        with torch.no_grad():
            seen = self.made(self.critic, moves, later=False)
        first, _ = self.critic(seen, options)
        self.descend(0, -first.mean(), self.actor)
