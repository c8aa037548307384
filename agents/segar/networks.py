"""Encoders of SEGAR's observations, as features extractors of Stable-Baselines3."""

import torch
from gymnasium import spaces
from torch import nn

from gumption.data.errors import extra
from gumption.envs.segar.observations import MISSING

with extra("sb3", "learning SEGAR"):
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

CHANNELS = (15, 32, 32)
PIXEL_FEATURES = 256
STATE_FEATURES = 128
#: The bound of a state's numbers, which are of the order of one: an outlier must not drown the others.
LARGEST = 10.0


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(self.first(x.relu()).relu())


class ImpalaEncoder(BaseFeaturesExtractor):
    """Pixels (B, C, R, R) from 0 to 1 -> (B, 256), by the residual network of IMPALA with the channels of SEGAR."""

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
    """Rows of factors (B, ..., n, d) -> (B, 128). A missing number is zero, and a second input marks it."""

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
