"""Encoders of SEGAR's observations, as features extractors of Stable-Baselines3."""

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


class PushNetwork(nn.Module):
    """Numbers (B, F) and the K scores of each of A pushes -> logits and a value, by two layers each. See `Reader`.

    The worth of a push of which the graph says nothing depends on what it says of the others, so that this network
    reads all scores, too.
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
        """:param more: the mask of the pushes, all of which are open, and the scores, which are 0 where not given."""
        scores = more[1].flatten(1) if len(more) > 1 else numbers.new_zeros(len(numbers), self.scores)
        seen = torch.cat([numbers, scores], dim=1)
        summary = self.policy[:-1](seen)
        logits = self.policy[-1](summary)
        return Readout(logits, self.value(seen)[:, 0], logits), summary


class PushPolicy(KGPolicy):
    """`KGPolicy` whose network reads the scores, too."""

    def forward(self, *state: torch.Tensor) -> Readout:
        return super().forward(*state, state[-1])


class GuidedEncoder(BaseFeaturesExtractor):
    """An observation with scores -> (B, A + 1), the logits of `PushPolicy` and the value."""

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
    """Some columns of the features."""

    def __init__(self, which: slice) -> None:
        super().__init__()
        self.which = which

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, self.which]


class GuidedPolicy(MultiInputActorCriticPolicy):
    """The policy of PPO over `GuidedEncoder`, which gives logits and value itself."""

    def __init__(self, *arguments: Any, channels: Sequence[str] = (), **settings: Any) -> None:
        how: dict[str, Any] = {"features_extractor_kwargs": {"channels": channels}, "net_arch": []}
        super().__init__(*arguments, **settings, features_extractor_class=GuidedEncoder, ortho_init=False, **how)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net, self.value_net = Columns(slice(0, -1)), Columns(slice(-1, None))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # pyright: ignore[reportCallIssue]
