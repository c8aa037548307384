"""SPACE: unsupervised object-oriented scene representation via spatial attention and decomposition.

Lin, Wu, Peri, Sun, Singh, Deng, Jiang, Ahn (ICLR 2020); the encoder of HALMA's SPACE agent (appendices E.2, F.3).
Equation numbers are those in Lin et al. A picture is a mixture, pixel by pixel, of a foreground, which has at most one
object in each cell of a grid, and of K background components.

    pictures (B, 3, S, S) -> ImageEncoder -> for each of N = grid * grid cells: z_pres, z_where, z_depth
    z_where -> glimpses -> z_what -> appearance and mask -> placed at z_where, mixed by z_depth -> mu_fg, alpha
    pictures -> masks z_m one after the other -> pi_1..K;  pictures, pi_k -> z_c -> mu_k
"""

import hashlib
import math
import os
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gumption.data import InputError
from gumption.kg.checkpoint import load_checkpoint, pick_device

from .config import SpaceConfig

KIND = "gumption/space/1"  # of checkpoints
FOLDER = "checkpoint"
MODEL = "model."  # prefix of the model's tensors in a checkpoint
AT_ONCE = 64  # pictures: the activations of more would exceed a cache, of thousands the memory
PRESENT = 0.5  # z_pres above which a cell is an object
LEAST_STD = 1e-4
DEPTH_CONTRAST = 100.0  # factor in the softmax by which objects compete for a pixel
LARGEST_LOGIT = 8.8  # bound of z_pres's logit: its probability stays within 0.00015 .. 0.99985
LEAST_SHARE = 1e-5  # minimum of foreground and of background in a pixel, so that logarithms stay finite

# ---- The convolution stacks (appendix D): with CELU and group norm in the foreground, ELU and batch norm in the
# background. Widths are multiples of a base width, so that a narrower model keeps the shape of the published model.


def celu_block(convolution: nn.Module, channels: int, groups: int) -> nn.Sequential:
    return nn.Sequential(convolution, nn.CELU(), nn.GroupNorm(groups, channels))


def elu_block(inputs: int, channels: int, stride: int = 1, padding: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, channels, 3, stride, padding), nn.BatchNorm2d(channels), nn.ELU())


def upsampling(inputs: int, channels: int, factor: int) -> nn.Sequential:
    """Return a sub-pixel convolution: (B, inputs, H, W) -> (B, channels, factor * H, factor * W)."""
    return nn.Sequential(nn.Conv2d(inputs, channels * factor**2, 1), nn.PixelShuffle(factor))


def mean_and_std(numbers: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Split `numbers` along `dim` into means and, through softplus, standard deviations of a Gaussian."""
    mean, spread = numbers.chunk(2, dim=dim)
    return mean, F.softplus(spread) + LEAST_STD


# ---- the spatial transformer: z_where is (scale x, scale y, shift x, shift y); the picture spans -1..1, y downwards


def cut_glimpses(pictures: Tensor, where: Tensor, size: int) -> Tensor:
    """Read the content of each box bilinearly; outside the picture it is black.

    :param pictures: (B, C, H, W); `where` (B, N, 4).
    :returns: (B * N, C, size, size).
    """
    boxes = where.shape[1]
    scale, shift = where.flatten(0, 1).chunk(2, dim=1)
    axis = _pixel_centres(size, where)
    x = scale[:, :1] * axis + shift[:, :1]  # (B * N, size)
    y = scale[:, 1:] * axis + shift[:, 1:]
    grid = torch.stack([x[:, None].expand(-1, size, -1), y[:, :, None].expand(-1, -1, size)], dim=-1)
    # Stack the boxes of a picture in one grid, so that the picture need not be repeated for each box.
    stacked = grid.view(len(pictures), boxes * size, size, 2)
    read = F.grid_sample(pictures, stacked, align_corners=False)
    return read.view(len(pictures), -1, boxes, size, size).transpose(1, 2).flatten(0, 1)


def place_glimpses(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Place each glimpse on a black canvas at its box, as `grid_sample` does for the inverse transform.

    Boxes are not rotated, so bilinear reading is one matrix product for the rows and one for the columns. That is
    faster than reading pixel by pixel, and its gradient is summed in a fixed order on a GPU too.

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
    """Return (M, size, glimpse): weights of the glimpse's pixels in each canvas pixel along one axis."""
    seen_at = (_pixel_centres(size, scale) - shift[:, None]) / scale[:, None]
    index = ((seen_at + 1) * glimpse - 1) / 2
    return F.relu(1 - (index[..., None] - torch.arange(glimpse, device=scale.device)).abs())


def _pixel_centres(size: int, like: Tensor) -> Tensor:
    """Return (size,): the coordinates in -1..1 of pixel centres."""
    return (torch.arange(size, device=like.device, dtype=like.dtype) * 2 + 1) / size - 1


# ---- foreground


class ImageEncoder(nn.Module):
    """(B, 3, S, S) -> (B, features, grid, grid): a feature vector for each cell.

    A convolution stack, then a lateral stack, the cells' messages, whose output is concatenated with its input.
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

    HALMA (appendix F.3) uses it instead of SPACE's StrongCompDecoder. Each pixel receives z_c and its position, through
    four 3x3 convolutions without padding: it can paint regions, but no digits.
    """

    margin = 4  # pixels that four convolutions without padding remove on each side

    def __init__(self, image_size: int, base: int, component: int) -> None:
        super().__init__()
        self.side = image_size + 2 * self.margin
        self.broadcast = nn.Conv2d(component + 2, base, 3)
        self.stack = nn.Sequential(
            nn.BatchNorm2d(base), nn.ELU(), *(elu_block(base, base, padding=0) for _ in range(3)), nn.Conv2d(base, 3, 1)
        )

    def forward(self, component: Tensor) -> Tensor:
        axis = torch.linspace(-1, 1, self.side, device=component.device, dtype=component.dtype)
        rows, columns = torch.meshgrid(axis, axis, indexing="ij")
        # z_c is the same at all pixels, and the positions are the same for all z_c, so the first convolution is a
        # linear map of z_c plus a convolution of the positions.
        width = component.shape[1]
        weight = self.broadcast.weight
        of_places = F.conv2d(torch.stack([columns, rows])[None], weight[:, width:], self.broadcast.bias)
        of_component = component @ weight[:, :width].sum((2, 3)).T
        return torch.sigmoid(self.stack(of_places + of_component[:, :, None, None]))


# ---- The model


class Cells(NamedTuple):
    """The foreground's latents of B pictures with N cells each, row by row from the top left.

    :ivar presence_logit: (B, N), and `presence` (B, N) in 0..1, its relaxed sample (or its probability).
    :ivar where: (B, N, 4): scale x, y in 0..1 and shift x, y; the picture spans -1..1, y downwards.
    :ivar depth: (B, N); `what` (B, N, what).
    :ivar kl: (B,) nats, of the whole foreground.
    """

    presence_logit: Tensor
    presence: Tensor
    where: Tensor
    depth: Tensor
    what: Tensor
    kl: Tensor


class Foreground(NamedTuple):
    """mean (B, 3, S, S), the foreground's colours times its share; alpha (B, 1, S, S), that share; boundary (B,)."""

    mean: Tensor
    alpha: Tensor
    boundary: Tensor


class Background(NamedTuple):
    """mean (B, K, 3, S, S) of each component; log_share (B, K, 1, S, S), log pi_k; kl (B,) nats."""

    mean: Tensor
    log_share: Tensor
    kl: Tensor


class SpaceOutput(NamedTuple):
    """loss: scalar, the mean over pictures of -log-likelihood + KL + boundary; the terms are (B,)."""

    loss: Tensor
    log_likelihood: Tensor
    boundary: Tensor
    cells: Cells
    foreground: Foreground
    background: Background

    @property
    def reconstruction(self) -> Tensor:
        """(B, 3, S, S): the mean of the mixture."""
        shares = self.background.log_share.exp()
        behind = (shares * self.background.mean).sum(1)
        return self.foreground.mean + (1 - self.foreground.alpha) * behind


class Space(nn.Module):
    def __init__(self, config: SpaceConfig) -> None:
        super().__init__()
        self.config = config
        self.foreground = ForegroundModule(config)
        self.background = BackgroundModule(config)

    def forward(self, pictures: Tensor, step: int, generator: torch.Generator | None = None) -> SpaceOutput:
        """Return the loss of equation 6, and its parts.

        :param pictures: (B, 3, S, S) in 0..1; `step` sets the annealed values; without a generator latents are means.
        """
        cells = self.foreground.infer(pictures, step, generator)
        front = self.foreground.render(cells)
        if step < self.config.fixed_alpha_steps:
            front = front._replace(alpha=torch.full_like(front.alpha, self.config.fixed_alpha))
        behind = self.background(pictures, generator)
        likelihood = mixture_log_likelihood(pictures, front, behind, self.config)
        loss = -likelihood + cells.kl + behind.kl + self.config.boundary_weight * front.boundary
        return SpaceOutput(loss.mean(), likelihood, front.boundary, cells, front, behind)

    def shrink(self, pictures: Tensor) -> Tensor:
        """Convert (B, H, H, 3) uint8 to (B, 3, S, S) float32 in 0..1, averaged down if H is a multiple of S."""
        values = pictures.permute(0, 3, 1, 2).float() / 255
        factor = values.shape[-1] // self.config.image_size
        return F.avg_pool2d(values, factor) if factor > 1 else values


class ForegroundModule(nn.Module):
    """Infer objects by spatial attention, for all cells in parallel (equations 3 and 7)."""

    cell: Tensor
    frame: Tensor

    def __init__(self, config: SpaceConfig) -> None:
        super().__init__()
        self.config = config
        self.image_encoder = ImageEncoder(config.image_size, config.grid, config.base, config.features)
        # presence 1; mean and standard deviation of scale 2 + 2, shift 2 + 2, depth 1 + 1
        self.cell_heads = nn.Conv2d(config.features, 11, 1)
        self.what_encoder = GlimpseEncoder(config.glimpse, config.base, config.what)
        self.glimpse_decoder = GlimpseDecoder(config.glimpse, config.base, config.what)
        axis = torch.arange(config.grid, dtype=torch.float32)
        rows, columns = torch.meshgrid(axis, axis, indexing="ij")
        self.register_buffer("cell", torch.stack([columns, rows], -1).reshape(-1, 2), persistent=False)
        inner = config.glimpse - 2 * config.boundary
        frame = 1 - F.pad(torch.ones(inner, inner), (config.boundary,) * 4)
        self.register_buffer("frame", frame / frame.numel(), persistent=False)

    def infer(self, pictures: Tensor, step: int, generator: torch.Generator | None) -> Cells:
        """Infer q(z_fg | x), equation 7, and its divergence from the prior, equation 3."""
        config = self.config
        heads = self.cell_heads(self.image_encoder(pictures)).flatten(2).transpose(1, 2)  # (B, N, 11)
        presence_logit = LARGEST_LOGIT * torch.tanh(heads[..., 0])
        scale_mean, scale_std = mean_and_std(heads[..., 1:5])
        shift_mean, shift_std = mean_and_std(heads[..., 5:9])
        depth_mean, depth_std = mean_and_std(heads[..., 9:11])

        presence = relaxed_bernoulli(presence_logit, config.temperature.at(step), generator)
        where = self.place(sample(scale_mean, scale_std, generator), sample(shift_mean, shift_std, generator))
        depth = sample(depth_mean, depth_std, generator)[..., 0]
        glimpses = cut_glimpses(pictures, where, config.glimpse)
        what_mean, what_std = (part.view(*where.shape[:2], -1) for part in self.what_encoder(glimpses))
        what = sample(what_mean, what_std, generator)

        of_present = (
            gaussian_kl(scale_mean, scale_std, config.scale_mean.at(step), config.scale_std).sum(-1)
            + gaussian_kl(shift_mean, shift_std).sum(-1)
            + gaussian_kl(depth_mean, depth_std).sum(-1)
            + gaussian_kl(what_mean, what_std).sum(-1)
        )
        kl = bernoulli_kl(presence_logit, config.presence_prior.at(step)) + presence * of_present
        return Cells(presence_logit, presence, where, depth, what, kl.sum(1))

    def place(self, scale: Tensor, shift: Tensor) -> Tensor:
        """Return z_where (B, N, 4) of unbounded x, y (B, N, 2). A box's centre is at most half a cell off its cell."""
        middle = 2 / self.config.grid * (self.cell + 0.5 + torch.tanh(shift)) - 1
        return torch.cat([torch.sigmoid(scale), middle], dim=-1)

    def render(self, cells: Cells) -> Foreground:
        """Compute mu_fg and alpha: the objects of all cells, placed and mixed (appendix D)."""
        batch = len(cells.where)
        appearance, mask = self.glimpse_decoder(cells.what.flatten(0, 1))
        mask = mask * cells.presence.reshape(-1, 1, 1, 1)
        glimpses = torch.cat([mask * appearance, mask], dim=1).unflatten(0, (batch, -1))
        # One picture at a time fits the cache of a CPU, which halves the time there; a GPU processes them all at once.
        at_once = 1 if glimpses.device.type == "cpu" else batch
        parts = zip(*(part.split(at_once) for part in (glimpses, cells.where, cells.depth)), strict=True)
        placed = (self._place(*part) for part in parts)
        mixed = torch.cat([(weight * drawn).sum(1) for drawn, weight in placed])
        boundary = (mask * self.frame).view(batch, -1).sum(1)
        return Foreground(mixed[:, :3], mixed[:, 3:], boundary)

    def shares(self, cells: Cells) -> Tensor:
        """Return (B, N, S, S): the share of each cell's object in each pixel; their sum is alpha."""
        _, mask = self.glimpse_decoder(cells.what.flatten(0, 1))
        mask = (mask * cells.presence.reshape(-1, 1, 1, 1)).unflatten(0, cells.depth.shape)
        drawn, weight = self._place(mask, cells.where, cells.depth)
        return (weight * drawn)[:, :, 0]

    def _place(self, glimpses: Tensor, where: Tensor, depth: Tensor) -> tuple[Tensor, Tensor]:
        """Place glimpses (B, N, C, g, g), masks last: (B, N, C, S, S). Also return the share of each object in each
        pixel by mask and nearness, (B, N, 1, S, S).
        """
        drawn = place_glimpses(glimpses.flatten(0, 1), where, self.config.image_size).unflatten(0, depth.shape)
        nearness = DEPTH_CONTRAST * torch.sigmoid(-depth)[:, :, None, None, None]
        return drawn, torch.softmax(nearness * drawn[:, :, -1:], dim=1)


class BackgroundModule(nn.Module):
    """Infer K components: masks z_m one after the other, then colours z_c given the masks (equation 4)."""

    def __init__(self, config: SpaceConfig) -> None:
        super().__init__()
        self.config = config
        base, size = config.background_base, config.image_size
        self.picture = PictureVector(size, 3, (2 * base, 2 * base, 2 * base, 2 * base), config.hidden)
        self.mask_rnn = nn.LSTMCell(config.mask + config.hidden, config.hidden)
        self.mask_head = nn.Linear(config.hidden, 2 * config.mask)
        self.prior_rnn = nn.LSTMCell(config.mask, config.hidden)
        self.prior_head = nn.Linear(config.hidden, 2 * config.mask)
        self.mask_decoder = MaskDecoder(size, base, config.mask)
        self.component_encoder = PictureVector(size, 4, (base, base, 2 * base, 2 * base), 2 * config.component)
        self.component_prior = nn.Sequential(
            nn.Linear(config.mask, config.hidden), nn.ELU(), nn.Linear(config.hidden, 2 * config.component)
        )
        self.component_decoder = CompDecoder(size, base, config.component)

    def forward(self, pictures: Tensor, generator: torch.Generator | None = None) -> Background:
        config, batch = self.config, len(pictures)
        masks, kl = self._masks(self.picture(pictures), generator)
        flat = masks.flatten(0, 1)
        logits = pictures.new_zeros(batch, 0, 1, *pictures.shape[-2:])
        if config.components > 1:  # the last component takes the remainder
            logits = self.mask_decoder(masks[:, :-1].flatten(0, 1)).unflatten(0, (batch, -1))
        log_share = stick_breaking(logits)
        repeated = pictures[:, None].expand(-1, config.components, -1, -1, -1)
        seen = torch.cat([repeated, log_share.exp()], dim=2).flatten(0, 1)
        mean, std = mean_and_std(self.component_encoder(seen))
        prior_mean, prior_std = mean_and_std(self.component_prior(flat))
        colours = self.component_decoder(sample(mean, std, generator))
        kl = kl + gaussian_kl(mean, std, prior_mean, prior_std).view(batch, -1).sum(1)
        return Background(colours.view(batch, config.components, *colours.shape[1:]), log_share, kl)

    def _masks(self, seen: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Return z_m (B, K, mask) from q(z_m_k | x, z_m_<k), and the divergence from p(z_m_k | z_m_<k), (B,)."""
        config, batch = self.config, len(seen)
        mask = seen.new_zeros(batch, config.mask)
        state = prior_state = (seen.new_zeros(batch, config.hidden), seen.new_zeros(batch, config.hidden))
        masks, kl = [], seen.new_zeros(batch)
        for _ in range(config.components):
            state = self.mask_rnn(torch.cat([mask, seen], dim=1), state)
            prior_state = self.prior_rnn(mask, prior_state)
            mean, std = mean_and_std(self.mask_head(state[0]))
            prior_mean, prior_std = mean_and_std(self.prior_head(prior_state[0]))
            mask = sample(mean, std, generator)
            masks.append(mask)
            kl = kl + gaussian_kl(mean, std, prior_mean, prior_std).sum(1)
        return torch.stack(masks, dim=1), kl


def mixture_log_likelihood(pictures: Tensor, front: Foreground, behind: Background, config: SpaceConfig) -> Tensor:
    """Return log p(x | z), equation 1, (B,): a pixel is foreground with probability alpha, else component k by pi_k."""
    alpha = front.alpha[:, 0].clamp(LEAST_SHARE, 1 - LEAST_SHARE)
    of_front = alpha.log() + gaussian_log_density(pictures, front.mean, config.foreground_std).sum(1)
    colours = gaussian_log_density(pictures[:, None], behind.mean, config.background_std).sum(2)  # (B, K, S, S)
    of_back = torch.log1p(-alpha) + torch.logsumexp(behind.log_share[:, :, 0] + colours, dim=1)
    return torch.logaddexp(of_front, of_back).flatten(1).sum(1)


def stick_breaking(logits: Tensor) -> Tensor:
    """Return log pi_k (B, K, 1, S, S) from logits (B, K - 1, 1, S, S): each component takes sigmoid(logit) of the
    remainder that earlier components leave, and the last component takes all of it.
    """
    nothing = logits.new_zeros(len(logits), 1, *logits.shape[2:])
    taken = torch.cat([F.logsigmoid(logits), nothing], dim=1)
    left = torch.cat([nothing, F.logsigmoid(-logits).cumsum(1)], dim=1)
    return taken + left


def sample(mean: Tensor, std: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw a reparameterised sample of a Gaussian; return its mean without a generator."""
    if generator is None:
        return mean
    return mean + std * torch.randn(mean.shape, generator=generator, device=mean.device)


def relaxed_bernoulli(logit: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Sample in 0..1 from the binary concrete distribution (Maddison et al., 2017); without a generator its mode."""
    if generator is None:
        return torch.sigmoid(logit)
    tiny = torch.finfo(logit.dtype).tiny
    uniform = torch.rand(logit.shape, generator=generator, device=logit.device).clamp(min=tiny)
    return torch.sigmoid((logit + torch.log(uniform) - torch.log1p(-uniform)) / temperature)


def gaussian_kl(mean: Tensor, std: Tensor, prior_mean: Tensor | float = 0.0, prior_std: Tensor | float = 1.0) -> Tensor:
    """Return KL(N(mean, std) || N(prior_mean, prior_std)) in nats, elementwise."""
    ratio = std / prior_std
    return 0.5 * (ratio**2 + ((mean - prior_mean) / prior_std) ** 2 - 1) - ratio.log()


def bernoulli_kl(logit: Tensor, prior: float) -> Tensor:
    """Return KL(Bernoulli(sigmoid(logit)) || Bernoulli(prior)) in nats, of the unrelaxed distributions as published."""
    probability = torch.sigmoid(logit)
    present = probability * (F.logsigmoid(logit) - math.log(prior))
    return present + (1 - probability) * (F.logsigmoid(-logit) - math.log1p(-prior))


def gaussian_log_density(value: Tensor, mean: Tensor, std: float) -> Tensor:
    """Return log N(value; mean, std) in nats, elementwise."""
    return -0.5 * ((value - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))


# ---- A pretrained model as the perception of an agent


class Detection(NamedTuple):
    """:ivar slots: (B, N, what + 1) float32, z_what and, last, z_pres.
    :ivar boxes: (B, N, 4) float32, x0, y0, x1, y1 in pixels of the picture, y from the top; may exceed the picture.
    :ivar present: (B, N) bool: the slot is an object, with z_pres above one half.
    """

    slots: Tensor
    boxes: Tensor
    present: Tensor


class SpaceEncoder:
    """A frozen pretrained model. Latents are their means, z_pres its probability, so that there is no noise.

    :ivar slots: (N, what + 1), the shape of a picture's slots: (64, 33) as published.
    """

    def __init__(self, model: Space) -> None:
        self.model = model.eval().requires_grad_(False)
        self.slots = (model.config.cells, model.config.what + 1)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], device: str = "auto") -> "SpaceEncoder":
        """Load the model from a run directory of `pretrain_space`.

        :raises InputError: no model there, a damaged model, or a model of another kind.
        """
        place = Path(folder) / FOLDER
        tensors, meta = load_checkpoint(place, KIND)
        return cls(model_of(tensors, meta.get("model"), place).to(pick_device(device)))

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the parameters."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def encode(self, pictures: np.ndarray | Tensor) -> Tensor:
        """(B, H, H, 3) uint8 -> slots (B, 64, 33) float32 on the model's device; InputError as in `detect`."""
        return self.detect(pictures).slots

    @torch.no_grad()
    def detect(self, pictures: np.ndarray | Tensor) -> Detection:
        """Return slots and boxes of (B, H, H, 3) uint8 pictures.

        :raises InputError: pictures of another shape or type.
        """
        found: list[Detection] = []
        for part in self._checked(pictures).split(AT_ONCE):
            cells = self.model.foreground.infer(self._prepared(part), 0, None)
            slots = torch.cat([cells.what, cells.presence[..., None]], dim=-1)
            found.append(Detection(slots, pixel_boxes(cells, pictures.shape[1]), cells.presence > PRESENT))
        return Detection(*(torch.cat(parts) for parts in zip(*found, strict=True)))

    @torch.no_grad()
    def explain(self, pictures: np.ndarray | Tensor) -> SpaceOutput:
        """Return the model's whole output for (B, H, H, 3) uint8 pictures."""
        free = self.model.config.fixed_alpha_steps
        return self.model(self._prepared(self._checked(pictures)), free)

    def _prepared(self, pictures: Tensor) -> Tensor:
        return self.model.shrink(pictures.to(self.model.foreground.cell.device))

    def _checked(self, pictures: np.ndarray | Tensor) -> Tensor:
        size = self.model.config.image_size
        shape = tuple(pictures.shape)
        whole = len(shape) == 4 and shape[1] == shape[2] and shape[3] == 3 and shape[0] and not shape[1] % size
        if not whole or str(pictures.dtype).removeprefix("torch.") != "uint8":
            raise InputError(
                f"pictures are {pictures.dtype} {shape}; this SPACE model sees uint8 (B, {size}, {size}, 3), or a "
                f"multiple of {size} along the sides"
            )
        return torch.as_tensor(pictures)


def pixel_boxes(cells: Cells, side: int) -> Tensor:
    """Return (B, N, 4) x0, y0, x1, y1 of the cells' boxes in a picture of `side` pixels."""
    scale, shift = cells.where.chunk(2, dim=-1)
    return (torch.cat([shift - scale, shift + scale], dim=-1) + 1) / 2 * side


def model_of(tensors: dict[str, Tensor], config: object, where: Path) -> Space:
    """Build the model from a checkpoint's tensors, on the CPU; InputError if they do not fit its settings."""
    try:
        model = Space(SpaceConfig.from_json(config))
        model.load_state_dict({n.removeprefix(MODEL): t for n, t in tensors.items() if n.startswith(MODEL)})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise InputError(f"{where}: the tensors do not fit the model's settings ({reason})") from None
    return model
