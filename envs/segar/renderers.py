"""Renderers: how a scene looks. Each has the same protocol, and settings make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Size, checked, settings
from gumption.envs.physics.scene import Preset
from gumption.envs.physics.state import State

from .codes import LENGTH, RANDOM, coded_entries, factor_codes, random_entries
from .colours import AffordanceMap, Annotations, OpticalFlow, SolidColours
from .drawing import Drawing
from .texture_models import TextureModel, patterns, read_tensors

Kind = Literal["linear", "features", "colours", "flow", "affordances"]
#: The fields that only some kinds read.
_FIELDS: dict[str, tuple[Kind, ...]] = {
    "models": ("linear",),
    "filters": ("features",),
    "feature_seed": ("features",),
    "feature_models": ("features",),
    "hidden": ("linear", "features"),
    "annotations": ("colours",),
}


class Renderer(Protocol):
    """Draws a batch of scenes."""

    resolution: int

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns. An equal seed gives an equal look.

        :param columns: (n,) int; at the first call all columns. :param seeds: (n,) those of the levels.
        """
        ...

    def draw(self, state: State) -> np.ndarray:
        """(B, R, R, 3) uint8, row 0 at the top."""
        ...


@settings
class RendererSettings:
    """How scenes look.

    :ivar kind: "linear": textures of autoencoders; "features": textures of a network's filters; "colours": plain
        colours for people; "flow": the motion; "affordances": what each place does to the ball.
    :ivar resolution: pixels of a side.
    :ivar models: of "linear": "baseline", "five", "twenty", one of these such as "twenty-07", or a file or folder; of
        several, the seed of a level chooses one.
    :ivar filters: of "features": a .npy or .safetensors file of (n, 3, k, k) filters; without one they are random.
    :ivar feature_seed, feature_models: of "features": the seed of random filters and of the first model, and how many
        models there are.
    :ivar hidden: of textures: names of factors that they do not tell.
    :ivar annotations: of "colours": "none", "ids" or "labels".
    :ivar preset: "compat": textures do not change within an episode, and polygons are drawn with their bounding box
        at the position; "fixed": textures follow their factors, and polygons are drawn where they are.
    """

    kind: Kind = "linear"
    resolution: Size = 64
    models: str = "baseline"
    filters: Path | None = None
    feature_seed: Seed = 0
    feature_models: Count = 1
    hidden: tuple[str, ...] = ()
    annotations: Annotations = "none"
    preset: Preset = "fixed"

    def __post_init__(self) -> None:
        check_kind(self, _FIELDS, "renderers")


def check_kind(given: Any, kinds: Mapping[str, tuple[str, ...]], what: str) -> None:
    """Refuse a value for a field that settings of this kind do not read.

    :param given: settings with a field `kind`. :param kinds: field to the kinds that read it.
    :raises InputError: there is one.
    """
    for field in fields(given):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        able = kinds.get(field.name, (given.kind,))
        if given.kind not in able and getattr(given, field.name) != default:
            raise InputError(f"{field.name} is of {what} of the kind {' or '.join(able)}; this one is {given.kind!r}")


def make_renderer(settings: RendererSettings) -> Renderer:
    """The renderer of these settings.

    :raises InputError: a file that cannot be read or is no model, a hidden factor that textures do not tell.
    """
    centred = settings.preset == "compat"
    match settings.kind:
        case "colours":
            return SolidColours(settings.resolution, settings.annotations, centred)
        case "flow":
            return OpticalFlow(settings.resolution, centred)
        case "affordances":
            return AffordanceMap(settings.resolution, centred)
        case "linear":
            from .texture_models import load_models

            models = load_models(settings.models)
        case "features":
            given = settings.filters
            filters = random_filters(settings.feature_seed) if given is None else read_filters(given)
            seeds = range(settings.feature_seed, settings.feature_seed + settings.feature_models)
            models = feature_models(filters, list(seeds), "random" if given is None else given.stem)
    return Textured(models, settings.resolution, settings.hidden, settings.preset == "fixed", centred)


# ---- Textures of a network's first filters: k-means makes twelve clusters of them, and each stands for an entry of a
# code.
#
# Of twelve clusters a `FeatureModel` shows one filter each, which are added up with the entries of a code. Models of
# different seeds have clusters in the same order (Hungarian matching), so that they can be compared cluster by cluster.


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


# ---- The renderer for agents: textures made of factors.


#: A texture is made anew when an entry of its code has changed by more: 5 % of the range from -1 to 1.
CHANGE = 0.1


class Textured:
    """Draws things in textures that tell their factors.

    :ivar resolution: pixels of a side.
    :ivar models: of the textures; a level's seed chooses one of them.
    """

    def __init__(
        self,
        models: Sequence[TextureModel],
        resolution: int = 64,
        hidden: Sequence[str] = (),
        follow: bool = True,
        centred: bool = False,
    ) -> None:
        """
        :param hidden: names of factors that textures do not tell; position and size are seen all the same.
        :param follow: the texture of a thing changes with its factors, and not only at the beginning of an episode.
        :param centred: see `Drawing`.
        :raises InputError: no model, models of different periods, or a hidden factor that no texture tells.
        """
        if len({model.period for model in models}) != 1:
            raise InputError(f"{len(models)} models: give at least one, and all of one size of pattern")
        self.resolution, self.models = resolution, tuple(models)
        self._entries, self._follow, self._centred = coded_entries(hidden), follow, centred
        self._weights = np.stack([model.weights for model in models])
        self._bias = np.stack([model.bias for model in models])
        self._drawing: Drawing | None = None
        self._codes = self._random = np.zeros(0)
        self._textures = np.zeros(0, dtype=np.uint8)
        self._chosen = np.zeros(0, dtype=np.int64)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns: make their textures.

        :param columns: (n,) int. :param seeds: those of the levels: an equal seed gives equal textures.
        :raises InputError: another batch or layout than before, and not all columns.
        """
        if self._drawing is None or not self._drawing.fits(state):
            if len(columns) != state.num_envs:
                raise InputError("the first episodes of a batch begin together: give all its columns")
            self._drawing = Drawing(state, self.resolution, centred=self._centred)
            shape, period = (state.num_envs, state.slots + 1), self.models[0].period
            self._codes = np.zeros((LENGTH - RANDOM, *shape[::-1]))
            self._random = np.zeros((*shape, RANDOM))
            self._textures = np.zeros((*shape, period, period, 3), dtype=np.uint8)
            self._chosen = np.zeros(state.num_envs, dtype=np.int64)
        codes = factor_codes(state, self._entries)
        for column, seed in zip(np.asarray(columns).tolist(), seeds, strict=True):
            self._random[column], self._chosen[column] = random_entries(state, column, int(seed), len(self.models))
        changed = np.zeros(self._codes.shape[1:], dtype=bool)
        changed[:, columns] = True
        self._make(changed, codes)

    def draw(self, state: State) -> np.ndarray:
        """(B, R, R, 3) uint8.

        :raises InputError: no episode has begun.
        """
        if self._drawing is None:
            raise InputError("no episode has begun: call begin first")
        if self._follow:
            codes = factor_codes(state, self._entries)
            changed = np.any(np.abs(codes - self._codes) > CHANGE, axis=0)
            if changed.any():
                self._make(changed, codes)
        return self._drawing.draw(state, self._textures)

    def _make(self, changed: np.ndarray, codes: np.ndarray) -> None:
        """Make the textures of the (N + 1, B) mask of these codes."""
        assert self._drawing is not None
        self._codes[:, changed] = codes[:, changed]
        n, b = np.nonzero(changed)
        complete = np.concatenate([codes[:, n, b].T, self._random[b, n]], axis=1)
        chosen = self._chosen[b]
        self._textures[b, n] = patterns(self._weights[chosen], self._bias[chosen], complete)
        self._drawing.renew(changed.T)
