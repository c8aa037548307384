"""CURL and SPR: their losses fall where there is something to learn, and crops are crops."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from gumption.agents.segar.networks import ImpalaEncoder
from gumption.agents.segar.training import AUXILIARY, crop, dim

SIDE = 16


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return ImpalaEncoder(spaces.Box(0, 255, (3, SIDE, SIDE), np.uint8))


def sequences(steps, count=32):
    """Pictures with a background of their own, and a bright spot that moves as the actions say."""
    generator = torch.Generator().manual_seed(1)
    at = torch.randint(4, SIDE - 4, (count, 2), generator=generator).float()
    colours = torch.rand((count, 3), generator=generator)
    background = torch.rand((count, 3, 4, 4), generator=generator).repeat_interleave(4, 2).repeat_interleave(4, 3)
    actions = torch.randint(-1, 2, (steps, count, 2), generator=generator).float()
    frames = []
    for t in range(steps + 1):
        picture = background.clone()
        x, y = at.long().clamp(0, SIDE - 1).T
        for moved in range(2):
            picture[torch.arange(count), :, (x + moved).clamp(max=SIDE - 1), y] = colours
        frames.append(picture)
        if t < steps:
            at = at + actions[t]
    return torch.stack(frames), actions, torch.ones(steps + 1, count, dtype=torch.bool)


@pytest.mark.slow
@pytest.mark.parametrize("name", AUXILIARY)
def test_the_loss_falls(encoder, name):
    auxiliary = AUXILIARY[name](encoder, 2)
    data = sequences(auxiliary.steps)
    own = [each for each in auxiliary.parameters() if each.requires_grad]
    optimiser = torch.optim.Adam([*encoder.parameters(), *own], 1e-3)
    losses = []
    for _ in range(40):
        loss = auxiliary.loss(encoder, *data)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        auxiliary.follow(encoder)
        losses.append(float(loss.detach()))
    first, last = np.mean(losses[:4]), np.mean(losses[-4:])
    assert last < first - 0.3, (first, last)


def test_spr_leaves_out_steps_after_the_end_of_an_episode(encoder):
    auxiliary = AUXILIARY["spr"](encoder, 2)
    pictures, actions, going = sequences(auxiliary.steps)
    going[3:] = False
    changed = pictures.clone()
    changed[3:] = 1.0
    losses = []
    for each in (pictures, changed):
        torch.manual_seed(3)
        losses.append(float(auxiliary.loss(encoder, each, actions, going).detach()))
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", AUXILIARY)
def test_the_momentum_encoder_follows_slowly(encoder, name):
    auxiliary = AUXILIARY[name](encoder, 2)
    before = [each.clone() for each in auxiliary.target.parameters()]
    with torch.no_grad():
        for each in encoder.parameters():
            each += 1.0
    auxiliary.follow(encoder)
    for mine, old in zip(auxiliary.target.parameters(), before, strict=True):
        assert torch.allclose(mine - old, torch.tensor(auxiliary.momentum), atol=1e-5)


def test_crops_move_pictures_and_dimming_scales_them():
    torch.manual_seed(0)
    pictures = torch.rand(64, 3, SIDE, SIDE)
    moved = crop(pictures, 1 / SIDE)
    inside = pictures[:, :, 1:-1, 1:-1]
    found = set()
    for i in range(64):
        ways = [
            (down, right)
            for down in range(3)
            for right in range(3)
            if torch.equal(moved[i, :, 2 - down : 16 - down, 2 - right : 16 - right], inside[i])
        ]
        assert len(ways) == 1
        found |= set(ways)
    assert len(found) == 9
    scales = (dim(pictures) / pictures).flatten(1)
    assert torch.allclose(scales.amin(1), scales.amax(1), atol=1e-5)
    assert 0.89 < scales.min() < 1 < scales.max() < 1.11
