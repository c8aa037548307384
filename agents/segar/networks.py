"""Encoders of SEGAR's observations as features extractors for Stable-Baselines3."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from gymnasium import spaces
from torch import nn

from gumption.agents.policy import KGPolicy, Readout
from gumption.data.errors import extra
from gumption.envs.kg_wrapper import KG_SCORES
from gumption.envs.segar.observations import MISSING

with extra("sb3", "learning SEGAR"):
    from stable_baselines3.common.policies import MultiInputActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

CHANNELS = (15, 32, 32)
PIXEL_FEATURES = 256
STATE_FEATURES = 128
PUSH_FEATURES = 64
#: Bound of a state's numbers, which are of the order of 1, so that outliers do not dominate.
LARGEST = 10.0


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(self.first(x.relu()).relu())


class ImpalaEncoder(BaseFeaturesExtractor):
    """Encode pixels (B, C, R, R) in [0, 1] as (B, 256): the residual network of IMPALA with SEGAR's channels."""

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space, PIXEL_FEATURES)
        layers: list[nn.Module] = []
        before = observation_space.shape[0]
        for channels in CHANNELS:
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.MaxPool2d(3, stride=2, padding=1)]
            layers += [_Residual(channels), _Residual(channels)]
            before = channels
        self.layers = nn.Sequential(*layers, nn.ReLU(), nn.Flatten())
        with torch.no_grad():
            size = self.layers(torch.zeros(1, *observation_space.shape)).shape[1]
        self.summary = nn.Linear(size, PIXEL_FEATURES)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.summary(self.layers(observations)).relu()


class StateEncoder(BaseFeaturesExtractor):
    """Encode rows of factors (B, ..., n, d) as (B, 128). A missing number becomes zero, marked by a second input."""

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space, STATE_FEATURES)
        size = 2 * int(torch.tensor(observation_space.shape).prod())
        self.layers = nn.Sequential(
            nn.Linear(size, STATE_FEATURES), nn.Tanh(), nn.Linear(STATE_FEATURES, STATE_FEATURES), nn.Tanh()
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        numbers = observations.flatten(1)
        missing = numbers == MISSING
        known = numbers.masked_fill(missing, 0.0).clamp(-LARGEST, LARGEST)
        return self.layers(torch.cat([known, missing.float()], dim=1))


class PushNetwork(nn.Module):
    """Map numbers (B, F) and the K scores of each of A pushes to logits and a value, by two layers each. See `Reader`.

    The network also reads all scores, since the value of a push without facts depends on the facts about the others.
    """

    def __init__(self, numbers: int, pushes: int, channels: int) -> None:
        super().__init__()
        self.size, self.scores = PUSH_FEATURES, pushes * channels
        self.policy, self.value = (self._layers(numbers + self.scores, last) for last in (pushes, 1))

    @staticmethod
    def _layers(inputs: int, outputs: int) -> nn.Sequential:
        widths = (inputs, PUSH_FEATURES, PUSH_FEATURES)
        hidden = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.Tanh())]
        return nn.Sequential(*hidden, nn.Linear(PUSH_FEATURES, outputs))

    def read(self, numbers: torch.Tensor, *more: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """:param more: the mask of the pushes, which is all ones, and the scores, which default to 0."""
        scores = more[1].flatten(1) if len(more) > 1 else numbers.new_zeros(len(numbers), self.scores)
        seen = torch.cat([numbers, scores], dim=1)
        summary = self.policy[:-1](seen)
        logits = self.policy[-1](summary)
        return Readout(logits, self.value(seen)[:, 0], logits), summary


class PushPolicy(KGPolicy):
    """A `KGPolicy` whose network also reads the scores."""

    def forward(self, *state: torch.Tensor) -> Readout:
        return super().forward(*state, state[-1])


class GuidedEncoder(BaseFeaturesExtractor):
    """Map an observation with scores to (B, A + 1): the logits of `PushPolicy` and the value."""

    def __init__(self, observation_space: spaces.Dict, channels: Sequence[str] = ()) -> None:
        self.parts = [name for name in observation_space.spaces if name != KG_SCORES]
        pushes, count = observation_space[KG_SCORES].shape or (0, 0)
        super().__init__(observation_space, pushes + 1)
        numbers = sum(spaces.flatdim(observation_space[name]) for name in self.parts)
        self.network = PushPolicy(PushNetwork(numbers, pushes, count), channels)

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        numbers = torch.cat([observations[name].flatten(1) for name in self.parts], dim=1)
        scores = observations[KG_SCORES]
        readout = self.network(numbers, torch.ones_like(scores[..., 0]), scores)
        return torch.cat([readout.logits, readout.value[:, None]], dim=1)


class Columns(nn.Module):
    """Select columns of the features."""

    def __init__(self, which: slice) -> None:
        super().__init__()
        self.which = which

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, self.which]


class GuidedPolicy(MultiInputActorCriticPolicy):
    """PPO's policy over `GuidedEncoder`, whose output already contains logits and value."""

    def __init__(self, *arguments: Any, channels: Sequence[str] = (), **settings: Any) -> None:
        how: dict[str, Any] = {"features_extractor_kwargs": {"channels": channels}, "net_arch": []}
        super().__init__(*arguments, **settings, features_extractor_class=GuidedEncoder, ortho_init=False, **how)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net, self.value_net = Columns(slice(0, -1)), Columns(slice(-1, None))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # pyright: ignore[reportCallIssue]
