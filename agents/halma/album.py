"""What lets an agent learn from fixed panels in less time and memory: the replay buffer keeps places, not pictures.

A place is the number of a cell of a maze, 8 bytes in place of a picture's 49 KB. Replayed moves show many a picture
several times; here each is drawn once for an update, and goes through each network once.
"""

import torch
from torch import nn

from gumption.envs.halma import HALMAVectorEnv

from .encoders import scale_pictures


class Album:
    """The pictures that an update of the networks looks at."""

    def __init__(self, env: HALMAVectorEnv, device: torch.device) -> None:
        """:param env: shows fixed panels."""
        self._env, self._device = env, device
        self._pictures = torch.empty(0)

    def places(self) -> torch.Tensor:
        """(B,) int64: where the environments are."""
        return torch.from_numpy(self._env.places()).to(self._device)

    def open(self, places: torch.Tensor) -> torch.Tensor:
        """Draw the pictures of places (...) int64; returns (...) int64, which of these pictures each place has."""
        shown, which = places.unique(return_inverse=True)
        pictures = torch.from_numpy(self._env.pictures(shown.cpu().numpy())).to(self._device)
        self._pictures = scale_pictures(pictures)
        return which

    def encode(self, encoder: nn.Module, which: torch.Tensor) -> torch.Tensor:
        """The encoder's vectors (..., size) of the pictures (...) that `open` gave."""
        looked_at, which = which.unique(return_inverse=True)
        return encoder(self._pictures[looked_at])[which]
