"""The convolution stacks of SPACE (Lin et al., 2020, appendix D) and its spatial transformer.

Foreground stacks are convolutions with CELU and group norm, background stacks with ELU and batch norm, as published.
Widths are multiples of a base width, so that a narrower model keeps the shape of the published one.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST_STD = 1e-4


def celu_block(convolution: nn.Module, channels: int, groups: int) -> nn.Sequential:
    """A convolution, CELU, group norm."""
    return nn.Sequential(convolution, nn.CELU(), nn.GroupNorm(groups, channels))


def elu_block(inputs: int, channels: int, stride: int = 1, padding: int = 1) -> nn.Sequential:
    """A 3x3 convolution, batch norm, ELU."""
    convolution = nn.Conv2d(inputs, channels, 3, stride, padding)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ELU())


def upsampling(inputs: int, channels: int, factor: int) -> nn.Sequential:
    """A sub-pixel convolution: (B, inputs, H, W) -> (B, channels, factor * H, factor * W)."""
    return nn.Sequential(nn.Conv2d(inputs, channels * factor**2, 1), nn.PixelShuffle(factor))


def mean_and_std(numbers: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Halves of `numbers` along `dim` as the means and, through softplus, the standard deviations of a Gaussian."""
    mean, spread = numbers.chunk(2, dim=dim)
    return mean, F.softplus(spread) + LEAST_STD


# ---- the spatial transformer: z_where is (scale x, scale y, shift x, shift y); the picture spans -1..1, y downwards


def cut_glimpses(pictures: Tensor, where: Tensor, size: int) -> Tensor:
    """What lies inside each box, read bilinearly; outside the picture is black.

    :param pictures: (B, C, H, W); `where` (B, N, 4).
    :returns: (B * N, C, size, size).
    """
    boxes = where.shape[1]
    scale, shift = where.flatten(0, 1).chunk(2, dim=1)
    axis = _pixel_centres(size, where)
    x = scale[:, :1] * axis + shift[:, :1]  # (B * N, size)
    y = scale[:, 1:] * axis + shift[:, 1:]
    grid = torch.stack([x[:, None].expand(-1, size, -1), y[:, :, None].expand(-1, -1, size)], dim=-1)
    # One picture high as its boxes stacked: the pictures need not be repeated for each box.
    stacked = grid.view(len(pictures), boxes * size, size, 2)
    read = F.grid_sample(pictures, stacked, align_corners=False)
    return read.view(len(pictures), -1, boxes, size, size).transpose(1, 2).flatten(0, 1)


def place_glimpses(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Each glimpse on a black canvas at its box: what `grid_sample` gives for the inverse transform.

    A box is not turned, so bilinear reading is a matrix product for the rows and one for the columns. That is faster
    than reading pixel by pixel, and its gradient adds up in a fixed order on a GPU too.

    :param glimpses: (B * N, C, g, g); `where` (B, N, 4).
    :returns: (B * N, C, size, size).
    """
    scale, shift = where.flatten(0, 1).chunk(2, dim=1)
    count, colours, side, _ = glimpses.shape
    columns = _placing_matrix(scale[:, 0], shift[:, 0], side, size)
    rows = _placing_matrix(scale[:, 1], shift[:, 1], side, size)
    wide = glimpses.transpose(1, 2).reshape(count, side * colours, side) @ columns.transpose(1, 2)
    placed = rows @ wide.view(count, side, colours * size)
    return placed.view(count, size, colours, size).transpose(1, 2)


def _placing_matrix(scale: Tensor, shift: Tensor, glimpse: int, size: int) -> Tensor:
    """(M, size, glimpse): how much of each glimpse pixel each canvas pixel along one axis takes."""
    seen_at = (_pixel_centres(size, scale) - shift[:, None]) / scale[:, None]
    index = ((seen_at + 1) * glimpse - 1) / 2
    return F.relu(1 - (index[..., None] - torch.arange(glimpse, device=scale.device)).abs())


def _pixel_centres(size: int, like: Tensor) -> Tensor:
    """(size,) where the middles of pixels lie in -1..1."""
    return (torch.arange(size, device=like.device, dtype=like.dtype) * 2 + 1) / size - 1


# ---- foreground


class ImageEncoder(nn.Module):
    """(B, 3, S, S) -> (B, features, grid, grid): one feature vector for each cell, which has seen its surroundings.

    A convolution stack, then a lateral stack whose output is concatenated with its input: the cells' messages.
    """

    def __init__(self, image_size: int, grid: int, base: int, features: int) -> None:
        super().__init__()
        halvings = (image_size // grid).bit_length() - 1
        widths = (3, base, 2 * base, 4 * base, 8 * base)
        groups = (4, 8, 8, 16)
        layers: list[nn.Module] = []
        for level, (inputs, channels) in enumerate(pairwise(widths)):
            strided = nn.Conv2d(inputs, channels, 4, 2, 1) if level < halvings else nn.Conv2d(inputs, channels, 3, 1, 1)
            layers.append(celu_block(strided, channels, groups[level]))
        layers.append(celu_block(nn.Conv2d(8 * base, 16 * base, 3, 1, 1), 16 * base, 32))
        layers.append(celu_block(nn.Conv2d(16 * base, features, 1), features, 16))
        self.stack = nn.Sequential(*layers)
        self.lateral = nn.Sequential(
            *(celu_block(nn.Conv2d(features, features, 3, 1, 1), features, 16) for _ in range(2))
        )
        self.join = celu_block(nn.Conv2d(2 * features, features, 1), features, 16)

    def forward(self, pictures: Tensor) -> Tensor:
        seen = self.stack(pictures)
        return self.join(torch.cat([seen, self.lateral(seen)], dim=1))


class GlimpseEncoder(nn.Module):
    """(M, 3, g, g) -> the mean and the standard deviation of z_what, (M, what) each."""

    def __init__(self, glimpse: int, base: int, what: int) -> None:
        super().__init__()
        self.stack = nn.Sequential(
            celu_block(nn.Conv2d(3, base, 3, 1, 1), base, 4),
            celu_block(nn.Conv2d(base, 2 * base, 4, 2, 1), 2 * base, 8),
            celu_block(nn.Conv2d(2 * base, 2 * base, 3, 1, 1), 2 * base, 4),
            celu_block(nn.Conv2d(2 * base, 4 * base, 4, 2, 1), 4 * base, 8),
            celu_block(nn.Conv2d(4 * base, 8 * base, 4, 2, 1), 8 * base, 8),
            celu_block(nn.Conv2d(8 * base, 16 * base, glimpse // 8), 16 * base, 16),
            nn.Flatten(),
            nn.Linear(16 * base, 2 * what),
        )

    def forward(self, glimpses: Tensor) -> tuple[Tensor, Tensor]:
        return mean_and_std(self.stack(glimpses))


class GlimpseDecoder(nn.Module):
    """(M, what) -> appearance (M, 3, g, g) and mask (M, 1, g, g), both in 0..1."""

    def __init__(self, glimpse: int, base: int, what: int) -> None:
        super().__init__()
        doublings = glimpse.bit_length() - 1
        widths = [8 * base, 8 * base, 4 * base, 2 * base, base][-doublings:]
        groups = [16, 16, 8, 8, 4][-doublings:]
        layers: list[nn.Module] = [celu_block(nn.Conv2d(what, 16 * base, 1), 16 * base, 16)]
        before = 16 * base
        for channels, count in zip(widths, groups, strict=True):
            layers.append(celu_block(upsampling(before, channels, 2), channels, count))
            layers.append(celu_block(nn.Conv2d(channels, channels, 3, 1, 1), channels, count))
            before = channels
        self.stack = nn.Sequential(*layers)
        self.appearance_and_mask = nn.Conv2d(base, 4, 3, 1, 1)

    def forward(self, what: Tensor) -> tuple[Tensor, Tensor]:
        decoded = torch.sigmoid(self.appearance_and_mask(self.stack(what[:, :, None, None])))
        return decoded[:, :3], decoded[:, 3:]


# ---- background


class PictureVector(nn.Module):
    """(B, inputs, S, S) -> (B, outputs): four strided convolutions and a linear layer."""

    def __init__(self, image_size: int, inputs: int, widths: tuple[int, int, int, int], outputs: int) -> None:
        super().__init__()
        blocks = [elu_block(a, b, stride=2) for a, b in pairwise((inputs, *widths))]
        self.stack = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(widths[-1] * (image_size // 16) ** 2, outputs))

    def forward(self, pictures: Tensor) -> Tensor:
        return self.stack(pictures)


class MaskDecoder(nn.Module):
    """(M, mask) -> logits (M, 1, S, S) of a background component's share of each pixel."""

    def __init__(self, image_size: int, base: int, mask: int) -> None:
        super().__init__()
        first, second, third, fourth = 8 * base, 4 * base, 2 * base, base
        self.stack = nn.Sequential(
            celu_block(nn.Conv2d(mask, first, 1), first, 16),
            celu_block(upsampling(first, first, 4), first, 16),
            celu_block(nn.Conv2d(first, first, 3, 1, 1), first, 16),
            celu_block(upsampling(first, second, 4), second, 16),
            celu_block(nn.Conv2d(second, second, 3, 1, 1), second, 16),
            celu_block(upsampling(second, third, 2), third, 8),
            celu_block(nn.Conv2d(third, third, 3, 1, 1), third, 8),
            celu_block(upsampling(third, fourth, image_size // 32), fourth, 4),
            celu_block(nn.Conv2d(fourth, fourth, 3, 1, 1), fourth, 4),
            nn.Conv2d(fourth, 1, 3, 1, 1),
        )

    def forward(self, mask: Tensor) -> Tensor:
        return self.stack(mask[:, :, None, None])


class CompDecoder(nn.Module):
    """(M, component) -> a component's mean colours (M, 3, S, S) in 0..1: a spatial-broadcast decoder.

    HALMA (appendix F.3) takes this one instead of SPACE's StrongCompDecoder. Each pixel sees z_c and where it is,
    through four 3x3 convolutions without padding: it can paint regions, but no digits.
    """

    margin = 4  # four convolutions without padding take so many pixels off each side

    def __init__(self, image_size: int, base: int, component: int) -> None:
        super().__init__()
        self.side = image_size + 2 * self.margin
        self.broadcast = nn.Conv2d(component + 2, base, 3)
        self.stack = nn.Sequential(
            nn.BatchNorm2d(base),
            nn.ELU(),
            *(elu_block(base, base, padding=0) for _ in range(3)),
            nn.Conv2d(base, 3, 1),
        )

    def forward(self, component: Tensor) -> Tensor:
        axis = torch.linspace(-1, 1, self.side, device=component.device, dtype=component.dtype)
        rows, columns = torch.meshgrid(axis, axis, indexing="ij")
        # The first convolution reads z_c, which is the same everywhere, and the places, which are the same for all:
        # it is a linear map of the one and a convolution of the other.
        width = component.shape[1]
        weight = self.broadcast.weight
        of_places = F.conv2d(torch.stack([columns, rows])[None], weight[:, width:], self.broadcast.bias)
        of_component = component @ weight[:, :width].sum((2, 3)).T
        return torch.sigmoid(self.stack(of_places + of_component[:, :, None, None]))
