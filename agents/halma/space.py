"""SPACE: unsupervised object-oriented scene representation via spatial attention and decomposition.

Lin, Wu, Peri, Sun, Singh, Deng, Jiang, Ahn (ICLR 2020); HALMA (appendices E.2, F.3) takes it for what its SPACE agent
sees. Equation numbers are those of Lin et al. A picture is a mixture, pixel by pixel, of a foreground of at most one
object in each cell of a grid and of K background components. The settings are in space_config.py, the convolution
stacks in space_modules.py.

    pictures (B, 3, S, S) -> ImageEncoder -> for each of N = grid * grid cells: z_pres, z_where, z_depth
    z_where -> glimpses -> z_what -> appearance and mask -> placed at z_where, mixed by z_depth -> mu_fg, alpha
    pictures -> masks z_m one after the other -> pi_1..K;  pictures, pi_k -> z_c -> mu_k
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .space_config import SpaceConfig
from .space_modules import (
    CompDecoder,
    GlimpseDecoder,
    GlimpseEncoder,
    ImageEncoder,
    MaskDecoder,
    PictureVector,
    cut_glimpses,
    mean_and_std,
    place_glimpses,
)

DEPTH_CONTRAST = 100.0  # of the softmax by which objects compete for a pixel
LARGEST_LOGIT = 8.8  # of z_pres: its probability stays within 0.00015 .. 0.99985
LEAST_SHARE = 1e-5  # of foreground and of background in a pixel, so that logarithms stay finite


class Cells(NamedTuple):
    """What the foreground makes of B pictures with N cells each; cells run row by row from the top left.

    :ivar presence_logit: (B, N), and `presence` (B, N) in 0..1, its relaxed sample (or its probability).
    :ivar where: (B, N, 4): scale x, y in 0..1 and shift x, y; the picture spans -1..1, y downwards.
    :ivar depth: (B, N); `what` (B, N, what).
    :ivar kl: (B,) nats, the whole foreground's.
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
    """The model; `forward` gives the loss of equation 6 and everything that pictures of it need."""

    def __init__(self, config: SpaceConfig) -> None:
        super().__init__()
        self.config = config
        self.foreground = ForegroundModule(config)
        self.background = BackgroundModule(config)

    def forward(self, pictures: Tensor, step: int, generator: torch.Generator | None = None) -> SpaceOutput:
        """:param pictures: (B, 3, S, S) in 0..1; `step` places the annealed values; without a generator, latents are
        their means.
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
        """(B, H, H, 3) uint8 pictures as (B, 3, S, S) float32 in 0..1, averaged down where H is a multiple of S."""
        values = pictures.permute(0, 3, 1, 2).float() / 255
        factor = values.shape[-1] // self.config.image_size
        return F.avg_pool2d(values, factor) if factor > 1 else values


class ForegroundModule(nn.Module):
    """Objects by spatial attention, inferred for all cells in parallel (equations 3 and 7)."""

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
        """q(z_fg | x), equation 7, and its divergence from the prior, equation 3."""
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
        """z_where in picture coordinates: a box's middle lies at most half a cell outside of its cell.

        :param scale, shift: (B, N, 2) unbounded x and y.
        :returns: (B, N, 4) scale x, y and shift x, y.
        """
        middle = 2 / self.config.grid * (self.cell + 0.5 + torch.tanh(shift)) - 1
        return torch.cat([torch.sigmoid(scale), middle], dim=-1)

    def render(self, cells: Cells) -> Foreground:
        """mu_fg and alpha: the objects of all cells, placed and mixed (appendix D)."""
        batch = len(cells.where)
        appearance, mask = self.glimpse_decoder(cells.what.flatten(0, 1))
        mask = mask * cells.presence.reshape(-1, 1, 1, 1)
        glimpses = torch.cat([mask * appearance, mask], dim=1).unflatten(0, (batch, -1))
        # One picture at a time fits the cache of a CPU, which halves the time there; a GPU takes them all at once.
        at_once = 1 if glimpses.device.type == "cpu" else batch
        parts = zip(*(part.split(at_once) for part in (glimpses, cells.where, cells.depth)), strict=True)
        mixed = torch.cat([self._compose(*part) for part in parts])
        boundary = (mask * self.frame).view(batch, -1).sum(1)
        return Foreground(mixed[:, :3], mixed[:, 3:], boundary)

    def shares(self, cells: Cells) -> Tensor:
        """(B, N, S, S): how much of each pixel is each cell's object; their sum is alpha."""
        _, mask = self.glimpse_decoder(cells.what.flatten(0, 1))
        mask = (mask * cells.presence.reshape(-1, 1, 1, 1)).unflatten(0, cells.depth.shape)
        drawn, weight = self._place(mask, cells.where, cells.depth)
        return (weight * drawn)[:, :, 0]

    def _compose(self, glimpses: Tensor, where: Tensor, depth: Tensor) -> Tensor:
        """The objects (B, N, 4, g, g) of B pictures on their canvases: (B, 4, S, S)."""
        drawn, weight = self._place(glimpses, where, depth)
        return (weight * drawn).sum(1)

    def _place(self, glimpses: Tensor, where: Tensor, depth: Tensor) -> tuple[Tensor, Tensor]:
        """Glimpses (B, N, C, g, g), masks last, placed (B, N, C, S, S); and what their competition for each pixel by
        mask and nearness leaves them, (B, N, 1, S, S).
        """
        drawn = place_glimpses(glimpses.flatten(0, 1), where, self.config.image_size).unflatten(0, depth.shape)
        nearness = DEPTH_CONTRAST * torch.sigmoid(-depth)[:, :, None, None, None]
        return drawn, torch.softmax(nearness * drawn[:, :, -1:], dim=1)


class BackgroundModule(nn.Module):
    """K components: masks z_m one after the other, then colours z_c given the masks (equation 4)."""

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
        if config.components > 1:  # the last component needs none: it takes what is left
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
        """z_m (B, K, mask) with q(z_m_k | x, z_m_<k), and the divergence from p(z_m_k | z_m_<k), (B,)."""
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
    """log p(x | z) of equation 1, (B,): each pixel is foreground with probability alpha, else component k with pi_k."""
    alpha = front.alpha[:, 0].clamp(LEAST_SHARE, 1 - LEAST_SHARE)
    of_front = alpha.log() + gaussian_log_density(pictures, front.mean, config.foreground_std).sum(1)
    colours = gaussian_log_density(pictures[:, None], behind.mean, config.background_std).sum(2)  # (B, K, S, S)
    of_back = torch.log1p(-alpha) + torch.logsumexp(behind.log_share[:, :, 0] + colours, dim=1)
    return torch.logaddexp(of_front, of_back).flatten(1).sum(1)


def stick_breaking(logits: Tensor) -> Tensor:
    """log pi_k (B, K, 1, S, S) from logits (B, K - 1, 1, S, S): each component takes sigmoid(logit) of what those
    before it have left, and the last one the rest.
    """
    nothing = logits.new_zeros(len(logits), 1, *logits.shape[2:])
    taken = torch.cat([F.logsigmoid(logits), nothing], dim=1)
    left = torch.cat([nothing, F.logsigmoid(-logits).cumsum(1)], dim=1)
    return taken + left


def sample(mean: Tensor, std: Tensor, generator: torch.Generator | None) -> Tensor:
    """A reparameterised sample of a Gaussian; its mean without a generator."""
    if generator is None:
        return mean
    return mean + std * torch.randn(mean.shape, generator=generator, device=mean.device)


def relaxed_bernoulli(logit: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """A sample in 0..1 of the binary concrete distribution (Maddison et al., 2017); its mode, sigmoid(logit), without a
    generator.
    """
    if generator is None:
        return torch.sigmoid(logit)
    tiny = torch.finfo(logit.dtype).tiny
    uniform = torch.rand(logit.shape, generator=generator, device=logit.device).clamp(min=tiny)
    return torch.sigmoid((logit + torch.log(uniform) - torch.log1p(-uniform)) / temperature)


def gaussian_kl(mean: Tensor, std: Tensor, prior_mean: Tensor | float = 0.0, prior_std: Tensor | float = 1.0) -> Tensor:
    """KL(N(mean, std) || N(prior_mean, prior_std)) in nats, number by number."""
    ratio = std / prior_std
    return 0.5 * (ratio**2 + ((mean - prior_mean) / prior_std) ** 2 - 1) - ratio.log()


def bernoulli_kl(logit: Tensor, prior: float) -> Tensor:
    """KL(Bernoulli(sigmoid(logit)) || Bernoulli(prior)) in nats; as published, of the unrelaxed distributions."""
    probability = torch.sigmoid(logit)
    present = probability * (F.logsigmoid(logit) - math.log(prior))
    return present + (1 - probability) * (F.logsigmoid(-logit) - math.log1p(-prior))


def gaussian_log_density(value: Tensor, mean: Tensor, std: float) -> Tensor:
    """log N(value; mean, std) in nats, number by number."""
    return -0.5 * ((value - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))
