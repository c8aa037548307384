"""Maximum a posteriori policy optimisation (Abdolmaleki et al., 2018) for options.

Options are discrete, so dQ/do, the direction in which TD3 moves its actor, does not exist. Relaxed one-hot options
would follow the critic's gradient between options that cannot be chosen. Instead, the actor is fitted to candidates
that the critic weights:

    L(actor) = - sum_k w_k log pi(o_k | s),   w = softmax(min(Q1, Q2)(s, o_k) / temperature)

Some candidates are drawn as in exploration, the others from the actor itself. The critic and the delay of the actor are
as in TD3. The targets follow after each update.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .parameters import MPOParameters
from .replay import Album, Moves, ReplayLearner


class MPO(ReplayLearner):
    """The learner described above; the actor has `decode` and `log_likelihood`."""

    def __init__(
        self,
        actor: Any,
        critic: Any,
        parameters: MPOParameters,
        *,
        explore: Callable[[np.random.Generator, np.ndarray], np.ndarray],
        recurrent: bool = False,
        album: Album | None = None,
    ) -> None:
        """:param explore: replaces options (n, 1 + T) int64 by options to explore."""
        super().__init__(actor, critic, parameters, recurrent=recurrent, album=album)
        self.fitting, self.explore = parameters, explore

    def update_actor(self, moves: Moves, rng: np.random.Generator) -> None:
        fitting = self.fitting
        made = self.made(self.actor, moves, later=False, memo=True)
        with torch.no_grad():
            drawn, size = fitting.candidates - fitting.random_candidates, len(made)
            own = self.actor.decode(made.repeat_interleave(drawn, 0)).view(size, drawn, -1)
            other = self.explore(rng, own[:, : fitting.random_candidates].flatten(0, 1).cpu().numpy())
            options = torch.cat([own, torch.from_numpy(other).to(made.device).view(size, -1, own.shape[2])], 1)
            values = self.critic(self.made(self.critic, moves, later=False)[:, None], options)
            weight = (torch.minimum(*values) / fitting.temperature).softmax(1)
        loss = -(weight * self.actor.log_likelihood(made, options)).sum(1).mean()
        self.descend(0, loss, self.actor)
