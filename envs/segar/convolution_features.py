"""Textures of a network's first filters: k-means makes twelve clusters of them, and each stands for an entry of a code.

Of twelve clusters a `FeatureModel` shows one filter each, which are added up with the entries of a code. Models of
different seeds have clusters in the same order (Hungarian matching), so that they can be compared cluster by cluster.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import checked

from .codes import LENGTH
from .texture_models import TextureModel, read_tensors

RANDOM_FILTERS, RANDOM_SIDE = 64, 3
#: Of the pattern of an entry that is 1, before tanh.
_CONTRAST = 0.6
_RESTARTS = 10  # of k-means


class FeatureModel(TextureModel):
    """A texture model of clustered filters.

    :ivar filters: (n, 3 * k * k), each with the mean 0 and the norm 1.
    :ivar labels: (n,) the cluster of each, 0 to 11: that of the entry of a code.
    """

    def __init__(self, name: str, filters: np.ndarray, side: int, labels: np.ndarray, rng: np.random.Generator) -> None:
        """:param rng: draws the filter that each cluster shows."""
        self.filters, self.labels = filters, labels
        chosen = filters[[rng.choice(np.flatnonzero(labels == entry)) for entry in range(LENGTH)]]
        scaled = chosen * (_CONTRAST * np.sqrt(chosen.shape[1]))
        super().__init__(name, scaled.reshape(LENGTH, 3, side, side).transpose(2, 3, 1, 0))


def read_filters(path: Path) -> np.ndarray:
    """(n, 3, k, k) filters of a .npy file, or of a .safetensors file with one such array.

    :raises InputError: the file cannot be read, or has none.
    """
    if path.suffix == ".npy":
        try:
            found = [np.load(path, allow_pickle=False)]
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path}: cannot be read as .npy ({error})") from None
    elif path.suffix == ".safetensors":
        found = list(read_tensors(path).values())
    else:
        raise InputError(f"{path}: filters are read from .npy and .safetensors files")
    shapes = [each.shape for each in found]
    fitting = [each for each in found if _are_filters(each)]
    if len(fitting) != 1:
        raise InputError(
            f"{path} has {len(fitting)} arrays of filters, and needs one: at least {LENGTH} different ones of finite "
            f"numbers, of the shape (n, 3, k, k); there are the shapes {shapes}"
        )
    return fitting[0].astype(np.float64)


def random_filters(seed: int) -> np.ndarray:
    """(64, 3, 3, 3) filters of a normal distribution."""
    return np.random.default_rng(seed).standard_normal((RANDOM_FILTERS, 3, RANDOM_SIDE, RANDOM_SIDE))


@checked
def feature_models(filters: np.ndarray, seeds: Sequence[int], name: str = "features") -> tuple[FeatureModel, ...]:
    """A model for each seed, with the clusters in the order of the first one's.

    The first seed decides which cluster stands for which entry of the code.

    :param filters: (n, 3, k, k).
    :raises InputError: fewer than twelve different filters, or another shape.
    """
    from sklearn.cluster import KMeans

    if not _are_filters(filters) or not seeds:
        raise InputError(
            f"filters of the shape {np.shape(filters)}, and {len(seeds)} seeds: give at least {LENGTH} different "
            "filters of the shape (n, 3, k, k), and a seed"
        )
    flat = _normalized(filters)
    models: list[FeatureModel] = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        clusters: Any = KMeans(LENGTH, n_init=_RESTARTS, random_state=seed)  # pyright: ignore[reportArgumentType]
        labels = clusters.fit_predict(flat)
        labels = align(labels, models[0].labels) if models else rng.permutation(LENGTH)[labels]
        models.append(FeatureModel(f"{name}-{seed}", flat, filters.shape[2], labels, rng))
    return tuple(models)


def align(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(n,) the labels with other numbers, so that as many as possible are those of the reference.

    :param labels: (n,) and `reference` are clusters of the same things, 0 to 11.
    """
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((LENGTH, LENGTH))
    np.add.at(shared, (labels, reference), 1)
    _, numbers = linear_sum_assignment(-shared)
    return numbers[labels]


def cluster_distance(one: FeatureModel, other: FeatureModel) -> float:
    """The sum, over the clusters, of the 2-Wasserstein distance between the filters of the two models' clusters."""
    return sum(
        _wasserstein(one.filters[one.labels == entry], other.filters[other.labels == entry]) for entry in range(LENGTH)
    )


def close_and_far(models: Sequence[FeatureModel], count: int) -> tuple[list[FeatureModel], list[FeatureModel]]:
    """The models that are nearest to the first one, and those farthest from it, by `cluster_distance`.

    :param count: how many of each.
    :raises InputError: too few models.
    """
    if not count >= 1 or 2 * count > len(models) - 1:
        raise InputError(f"{count} close and {count} far models of {len(models) - 1} others; give more models")
    others = sorted(models[1:], key=lambda model: (cluster_distance(models[0], model), model.name))
    return others[:count], others[-count:]


def _are_filters(array: np.ndarray) -> bool:
    right = array.ndim == 4 and array.shape[1] == 3 and array.shape[2] == array.shape[3] and array.dtype.kind in "fiu"
    if not right or len(array) < LENGTH or not 2 <= array.shape[2] <= 32 or not np.isfinite(array).all():
        return False
    return len(np.unique(_normalized(array).round(6), axis=0)) >= LENGTH


def _normalized(filters: np.ndarray) -> np.ndarray:
    """(n, 3 * k * k) with the mean 0 and the norm 1; filters that are constant stay 0."""
    flat = filters.reshape(len(filters), -1).astype(np.float64)
    flat = flat - flat.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    return flat / np.where(norms > 0, norms, 1.0)


def _wasserstein(one: np.ndarray, other: np.ndarray) -> float:
    """The 2-Wasserstein distance between points (n, d) and (m, d), all of the same weight in their set."""
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, hstack, identity, vstack

    n, m = len(one), len(other)
    costs = np.square(one[:, None] - other[None]).sum(-1)
    leaving = block_diag([np.ones((1, m))] * n)
    arriving = hstack([identity(m)] * n)
    masses = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    found = linprog(costs.reshape(-1), A_eq=vstack([leaving, arriving]), b_eq=masses, method="highs")
    return float(np.sqrt(max(found.fun, 0.0)))
