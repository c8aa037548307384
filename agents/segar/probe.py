"""A probe of the mutual information between an encoder's features and the factors behind an observation.

A critic learns to distinguish pairs (features, factors) of the same observation (joint) from pairs of two observations
(marginal). Its objective is the Jensen-Shannon lower bound on mutual information (Hjelm et al., 2019; Poole et al.,
2019), in nats, at most 2 log 2:

    E_joint[log 2 - softplus(-T)] - E_marginal[softplus(T) - log 2]

SEGAR reports the accuracy of the critic as a classifier: .5 if features are independent of factors. A marginal pair
joins whole rows of features and factors. Bound and accuracy are measured on held-out pairs.
"""

from math import log
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import softplus

from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, Positive, Seed, Size, real_numbers, settings
from gumption.kg.checkpoint import pick_device


@settings
class ProbeSettings:
    """The training of the critic.

    :ivar hidden: units of its hidden layer.
    :ivar learning_rate: of Adam.
    :ivar held_out: the share of observations that measure the critic and do not train it.
    :ivar seed: of its weights and of all shuffles.
    """

    hidden: Size = 512
    learning_rate: Positive = 3e-4
    batch_size: Size = 64
    epochs: Count = 10
    held_out: InnerShare = 0.2
    seed: Seed = 0
    device: str = "cpu"


class Information(NamedTuple):
    """The figures of a critic on held-out pairs.

    :ivar accuracy: share of correctly classified pairs; half of the pairs are joint, half marginal.
    :ivar bound: lower bound on mutual information, in nats. :ivar pairs: number of pairs of either kind.
    :ivar encoder: description of the encoder, above all whether its weights are trained or random.
    """

    accuracy: float
    bound: float
    pairs: int
    encoder: str = "not told"


def information(
    features: np.ndarray, factors: np.ndarray, *, settings: ProbeSettings | None = None, encoder: str = "not told"
) -> Information:
    """Train a critic and measure it.

    :param features: (n, d), a row of the encoder per observation. :param factors: (n, k).
    :param encoder: description of the encoder, for the result.
    :raises InputError: other shapes, numbers that are not finite, or too few rows.
    """
    chosen = settings or ProbeSettings()
    x, z = _rows("features", features), _rows("factors", factors)
    if len(x) != len(z):
        raise InputError(f"{len(x)} rows of features and {len(z)} of factors; each observation has one of either")
    rng = np.random.default_rng(chosen.seed)
    order = rng.permutation(len(x))
    held_out = round(chosen.held_out * len(x))
    test, train = order[:held_out], order[held_out:]
    if len(test) < 2 or len(train) < 2:
        raise InputError(f"{len(x)} rows are too few: at least 2 are held out, and at least 2 trained on")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(chosen.seed)
        first = nn.Linear(x.shape[1] + z.shape[1], chosen.hidden)
        critic = nn.Sequential(first, nn.BatchNorm1d(chosen.hidden), nn.ReLU(), nn.Linear(chosen.hidden, 1))
    device = pick_device(chosen.device)
    critic.to(device)
    x, z = (_standard(each, train).to(device) for each in (x, z))
    optimiser = torch.optim.Adam(critic.parameters(), chosen.learning_rate)
    for _ in range(chosen.epochs):
        rows = rng.permutation(train)
        batches = max(1, len(rows) // chosen.batch_size)
        for batch in np.array_split(rows, batches):
            loss = -_bound(*_scores(critic, x, z, batch, rng))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    critic.eval()
    with torch.no_grad():
        joint, marginal = _scores(critic, x, z, test, rng)
        bound = _bound(joint, marginal)
        right = torch.cat([joint > 0, marginal <= 0]).float().mean()
    return Information(float(right), float(bound), len(test), encoder)


def _scores(
    critic: nn.Module, x: torch.Tensor, z: torch.Tensor, rows: np.ndarray, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scores of joint and of marginal pairs, each (b,), computed in one batch for the batch norm."""
    order = rng.permutation(len(rows))
    others = np.empty(len(rows), dtype=np.int64)
    others[order] = np.roll(order, 1)  # a permutation without a fixed point
    features, factors = torch.cat([x[rows], x[rows]]), torch.cat([z[rows], z[rows[others]]])
    scores = critic(torch.cat([features, factors], dim=1))[:, 0]
    return scores[: len(rows)], scores[len(rows) :]


def _bound(joint: torch.Tensor, marginal: torch.Tensor) -> torch.Tensor:
    return (log(2.0) - softplus(-joint)).mean() - (softplus(marginal) - log(2.0)).mean()


def _rows(name: str, given: Any) -> np.ndarray:
    found = real_numbers(name, given).astype(np.float32)
    if found.ndim != 2 or not found.size:
        raise InputError(f"{name} have the shape {found.shape}; they are (n, d), a row for each observation")
    if not np.isfinite(found).all():
        raise InputError(
            f"{name} have a number that is not finite in row {int(np.argwhere(~np.isfinite(found))[0, 0])}"
        )
    return found


def _standard(rows: np.ndarray, train: np.ndarray) -> torch.Tensor:
    """Standardise each column to mean 0 and deviation 1 over the training rows; a constant column becomes 0."""
    mean, deviation = rows[train].mean(0), rows[train].std(0)
    return torch.from_numpy((rows - mean) / np.where(deviation > 1e-6, deviation, 1.0).astype(np.float32))
