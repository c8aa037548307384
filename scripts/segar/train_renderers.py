"""Trains the texture models: a decoder makes textures of codes, and a reader tells the codes from the textures."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from gumption.data.settings import Count, NonNegative, Positive, settings
from gumption.envs.segar.textures import KERNEL, LENGTH, PADDING, STRIDE

EPOCH = 2**LENGTH  # codes: as many as there are masks
SIDES = range(6, 21, 2)  # of code maps


@settings
class TrainingSettings:
    """How a model is trained.

    SEGAR trains for 500 epochs at a learning rate of 1e-5; a higher rate needs fewer.

    :ivar epochs: each of 4,096 codes.
    :ivar penalty: of the sum of the norms of the parameters.
    """

    epochs: Count = 10
    batch_size: Count = 64
    learning_rate: Positive = 1e-3
    penalty: NonNegative = 0.01


class Trained(NamedTuple):
    """Arrays for a file, and the mean squared error of the codes that the reader told in the last epoch."""

    tensors: dict[str, np.ndarray]
    error: float


def train(seed: int, settings: TrainingSettings, tell: Callable[[int, float], None]) -> Trained:
    """Train a model.

    :param tell: gets the number of the epoch and its mean error.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        decoder = nn.ConvTranspose2d(LENGTH, 3, KERNEL, stride=STRIDE, padding=PADDING)
        reader = nn.Conv2d(3, LENGTH, KERNEL, stride=STRIDE, padding=PADDING)
    parameters = [*decoder.parameters(), *reader.parameters()]
    optimizer = torch.optim.Adam(parameters, settings.learning_rate, betas=(0.8, 0.999))
    steps = max(1, EPOCH // settings.batch_size)
    error = 0.0
    for epoch in range(settings.epochs):
        total = 0.0
        for _ in range(steps):
            codes, side = _draw(settings.batch_size, generator)
            found = reader(torch.tanh(decoder(codes[:, :, None, None].expand(-1, -1, side, side))))
            loss = (found - codes[:, :, None, None]).square().mean()
            penalty = torch.stack([each.norm() for each in parameters]).sum()
            optimizer.zero_grad()
            (loss + settings.penalty * penalty).backward()
            optimizer.step()
            total += float(loss.detach())
        error = total / steps
        tell(epoch + 1, error)
    tensors = {
        f"{name}.{part}": tensor.detach().numpy()
        for name, module in (("decoder", decoder), ("reader", reader))
        for part, tensor in module.named_parameters()
    }
    return Trained(tensors, error)


def _draw(count: int, generator: torch.Generator) -> tuple[torch.Tensor, int]:
    """(n, 12) codes, uniform from -1 to 1 where a random mask lets them be, and the side of the map."""
    values = torch.rand((count, LENGTH), generator=generator) * 2 - 1
    mask = torch.randint(0, 2, (count, LENGTH), generator=generator)
    return values * mask, SIDES[int(torch.randint(0, len(SIDES), (1,), generator=generator))]
