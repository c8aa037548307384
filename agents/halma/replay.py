"""The replay buffer: the latest moves of every environment, in the order in which they were made."""

from typing import NamedTuple

import numpy as np
import torch

from .encoders import Memo


class Moves(NamedTuple):
    """n sequences of K moves that were made one after another.

    :ivar features: (n, K + 1, ...), of the panels before each move and after the last.
    :ivar action: (n, K + 1, 1 + T) int64 and `reward` (n, K + 1) float32, of the move *before* each panel; `first`
        (n, K + 1) bool, panels that begin an episode.
    :ivar option: (n, K, 1 + T) int64, what was chosen; `gain` (n, K) float32, the reward it brought.
    :ivar ended: (n, K) bool: nothing that follows counts. `counts` (n, K) bool: learn from this move.
    :ivar memo: of the actor before the first panel.
    """

    features: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    first: torch.Tensor
    option: torch.Tensor
    gain: torch.Tensor
    ended: torch.Tensor
    counts: torch.Tensor
    memo: Memo


class Replay:
    """A ring of time steps of B environments, on one device.

    :ivar size: time steps that are kept; `added` those that were ever added.
    """

    def __init__(
        self,
        size: int,
        num_envs: int,
        features: tuple[int, ...],
        dtype: torch.dtype,
        tokens: int,
        memo: int,
        device: torch.device,
    ) -> None:
        """
        :param features: shape of one observation's features; `dtype` theirs.
        :param tokens: 1 + T.
        :param memo: numbers in each part of an actor's memo.
        """
        self.size, self.num_envs, self.added = size, num_envs, 0

        def room(*shape: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.zeros(size, num_envs, *shape, dtype=dtype, device=device)

        self.parts = {
            "features": room(*features, dtype=dtype),
            "action": room(tokens, dtype=torch.int8),
            "reward": room(dtype=torch.float32),
            "first": room(dtype=torch.bool),
            "option": room(tokens, dtype=torch.int8),
            "gain": room(dtype=torch.float32),
            "ended": room(dtype=torch.bool),
            "counts": room(dtype=torch.bool),
            "hidden": room(memo, dtype=torch.float32),
            "cell": room(memo, dtype=torch.float32),
        }

    def add(self, **parts: torch.Tensor) -> None:
        """Add a time step: (B, ...) of each part."""
        at = self.added % self.size
        for name, value in parts.items():
            self.parts[name][at] = value
        self.added += 1

    def ready(self, moves: int) -> bool:
        """Whether sequences of so many moves can be drawn."""
        return min(self.added, self.size) > moves + 1

    def sample(self, count: int, moves: int, rng: np.random.Generator) -> Moves:
        """Draw sequences uniformly from all that the ring holds; they may run over the end of an episode."""
        kept = min(self.added, self.size)
        begin = rng.integers(kept - moves, size=count) + self.added - kept
        column = torch.from_numpy(rng.integers(self.num_envs, size=count))
        where = self.parts["first"].device
        time = torch.from_numpy((begin[:, None] + np.arange(moves + 1)) % self.size).to(where)
        column = column.to(where)[:, None]

        def take(name: str, upto: int) -> torch.Tensor:
            return self.parts[name][time[:, :upto], column]

        whole = moves + 1
        return Moves(
            take("features", whole),
            take("action", whole).long(),
            take("reward", whole),
            take("first", whole),
            take("option", moves).long(),
            take("gain", moves),
            take("ended", moves),
            take("counts", moves),
            Memo(take("hidden", 1)[:, 0], take("cell", 1)[:, 0]),
        )

    def state_dict(self) -> dict[str, torch.Tensor]:
        """All that is kept, and how much was ever added."""
        return self.parts | {"added": torch.tensor(self.added)}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Put a saved state back in place."""
        for name, part in self.parts.items():
            part.copy_(state[name])
        self.added = int(state["added"])
