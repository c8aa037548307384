"""Self-supervised losses beside PPO's: CURL (Laskin et al., 2020) and SPR (Schwarzer et al., 2021).

Both learn from the pictures of PPO's own roll-outs, in steps of an Adam of their own on the encoder and their heads,
before each update of PPO. Crops keep the size of a picture: its border is repeated outwards first, as SPR does.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, layer_norm, pad

#: By how much a crop may be moved, as a share of a side: CURL crops 84 of 100 pixels, SPR 84 of 92.
CURL_SHIFT, SPR_SHIFT = 8 / 84, 4 / 84
#: SPR: the deviation of the brightness of a picture.
INTENSITY = 0.05
#: The share of the encoder that enters the momentum encoder after a step.
CURL_MOMENTUM, SPR_MOMENTUM = 0.05, 0.01
#: SPR: how many steps ahead it predicts.
AHEAD = 5
#: SPR: units of its transition model.
TRANSITION = 256


def crop(pictures: torch.Tensor, shift: float) -> torch.Tensor:
    """(B, C, R, R) moved at random by up to `shift` sides in each direction, each picture its own way."""
    count, _, _, side = pictures.shape
    margin = max(1, round(shift * side))
    wide = pad(pictures, (margin,) * 4, mode="replicate")
    down, right = torch.randint(0, 2 * margin + 1, (2, count, 1), device=pictures.device)
    at = torch.arange(side, device=pictures.device)
    rows = torch.arange(count, device=pictures.device)[:, None, None]
    moved = wide.permute(0, 2, 3, 1)[rows, (down + at)[:, :, None], (right + at)[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def dim(pictures: torch.Tensor) -> torch.Tensor:
    """(B, C, R, R) brighter or darker at random, each picture by a factor of its own."""
    noise = torch.randn((len(pictures), 1, 1, 1), device=pictures.device).clamp(-2.0, 2.0)
    return pictures * (1.0 + INTENSITY * noise)


class Auxiliary(nn.Module):
    """A loss on sequences of pictures and actions, with a momentum copy of the encoder.

    :ivar steps: how many steps a sequence is longer than one picture.
    """

    steps = 0
    momentum = CURL_MOMENTUM

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.target = deepcopy(encoder).requires_grad_(False)

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """
        :param pictures: (T + 1, B, C, R, R) from 0 to 1. :param actions: (T, B, A).
        :param going: (T + 1, B) bool: still the episode of the first picture.
        """
        raise NotImplementedError

    @torch.no_grad()
    def follow(self, encoder: nn.Module) -> None:
        """Move the momentum encoder towards the encoder."""
        for mine, its in zip(self.target.parameters(), encoder.parameters(), strict=True):
            mine.lerp_(its, self.momentum)


class Curl(Auxiliary):
    """Two crops of one picture agree more than crops of two pictures."""

    def __init__(self, encoder: Any, actions: int) -> None:
        super().__init__(encoder)
        self.bilinear = nn.Parameter(torch.rand(encoder.features_dim, encoder.features_dim))

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """Cross-entropy of finding each picture's other crop in the batch."""
        query = encoder(crop(pictures[0], CURL_SHIFT))
        with torch.no_grad():
            key = self.target(crop(pictures[0], CURL_SHIFT))
        # CURL's encoder ends in a layer norm; features that are never negative all point the same way.
        size = query.shape[1:]
        logits = layer_norm(query, size) @ self.bilinear @ layer_norm(key, size).T
        return cross_entropy(logits, torch.arange(len(logits), device=logits.device))


class Spr(Auxiliary):
    """Features several steps ahead are predicted from features now and the actions between."""

    steps = AHEAD
    momentum = SPR_MOMENTUM

    def __init__(self, encoder: Any, actions: int) -> None:
        super().__init__(encoder)
        size = encoder.features_dim
        self.transition = nn.Sequential(nn.Linear(size + actions, TRANSITION), nn.ReLU(), nn.Linear(TRANSITION, size))
        self.projection, self.prediction = nn.Linear(size, size), nn.Linear(size, size)
        self.target_projection = deepcopy(self.projection).requires_grad_(False)

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """Minus the cosine similarity of predictions and features, mean over the steps within an episode."""
        latent = encoder(dim(crop(pictures[0], SPR_SHIFT)))
        with torch.no_grad():
            later = dim(crop(pictures[1:].flatten(0, 1), SPR_SHIFT))
            wanted = self.target_projection(self.target(later)).unflatten(0, (len(pictures) - 1, -1))
        found = []
        for action in actions:
            latent = (latent + self.transition(torch.cat([latent, action], dim=1))).relu()
            found.append(self.prediction(self.projection(latent)))
        alike = cosine_similarity(torch.stack(found), wanted, dim=-1)
        return -(alike * going[1:]).sum() / going[1:].sum().clamp(min=1)

    @torch.no_grad()
    def follow(self, encoder: nn.Module) -> None:
        """Move the momentum encoder and its projection."""
        super().follow(encoder)
        for mine, its in zip(self.target_projection.parameters(), self.projection.parameters(), strict=True):
            mine.lerp_(its, self.momentum)


AUXILIARY: dict[str, type[Curl] | type[Spr]] = {"curl": Curl, "spr": Spr}


class AuxiliaryPPO(PPO):
    """PPO whose encoder of pictures learns from a self-supervised loss, too.

    :ivar auxiliary: the loss. :ivar auxiliary_optimiser: of its heads and the encoder.
    :ivar more_modules, more_optimisers: these two by their names in checkpoints.
    """

    def __init__(self, *arguments: Any, auxiliary: str, auxiliary_weight: float = 1.0, **settings: Any) -> None:
        """
        :param auxiliary: "curl" or "spr". :param auxiliary_weight: of its loss.
        """
        super().__init__(*arguments, **settings)
        encoder: Any = self.policy.features_extractor
        self.auxiliary = AUXILIARY[auxiliary](encoder, int(np.prod(self.action_space.shape or (1,)))).to(self.device)
        self.auxiliary_weight = auxiliary_weight
        own = [each for each in self.auxiliary.parameters() if each.requires_grad]
        self.auxiliary_optimiser = torch.optim.Adam([*encoder.parameters(), *own], lr=float(self.learning_rate))  # pyright: ignore[reportArgumentType]
        self.more_modules = {"auxiliary": self.auxiliary}
        self.more_optimisers = {"auxiliary": self.auxiliary_optimiser}

    def train(self) -> None:
        """A pass of the auxiliary loss over the roll-outs, then PPO's update."""
        self.policy.set_training_mode(True)
        encoder: Any = self.policy.features_extractor
        losses = []
        for pictures, actions, going in self._sequences():
            loss = self.auxiliary.loss(encoder, pictures, actions, going)
            self.auxiliary_optimiser.zero_grad()
            (self.auxiliary_weight * loss).backward()
            nn.utils.clip_grad_norm_(encoder.parameters(), self.max_grad_norm)
            self.auxiliary_optimiser.step()
            self.auxiliary.follow(encoder)
            losses.append(float(loss.detach()))
        super().train()
        self.logger.record("train/auxiliary_loss", float(np.mean(losses)))

    def _sequences(self) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """As many pictures as an epoch of PPO has, in as many batches, as sequences that begin at random places."""
        buffer = self.rollout_buffer
        steps = min(self.auxiliary.steps, buffer.buffer_size - 1)
        starts, envs = np.divmod(np.random.permutation((buffer.buffer_size - steps) * self.n_envs), self.n_envs)  # noqa: NPY002
        size = max(2, self.batch_size // (steps + 1))
        ahead = np.arange(steps + 1)[:, None]
        for first in range(0, len(starts) - size + 1, size):
            at, env = starts[first : first + size] + ahead, envs[first : first + size]
            pictures = self._tensor(buffer.observations[at, env]) / 255.0
            actions = self._tensor(buffer.actions[at[:-1], env])
            begun = np.logical_or.accumulate(buffer.episode_starts[at[1:], env] > 0, axis=0)
            going = np.concatenate([np.ones((1, size), dtype=bool), ~begun])
            yield pictures, actions, torch.from_numpy(going).to(self.device)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device, torch.float32)
