"""Renderers: pictures of scenes in plain colours or textures, and text maps."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from math import sqrt
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from gumption.data import InputError, Note
from gumption.data.modules import of_module
from gumption.data.settings import Count, Seed, check, checked, settings
from gumption.data.settings import Size as PictureSize
from gumption.envs.physics import entities as kinds
from gumption.envs.physics.factors import (
    Consumes,
    Factor,
    Floor,
    Friction,
    Heat,
    Mobile,
    Position,
    Size,
    Velocity,
    Visible,
)
from gumption.envs.physics.noise import transport
from gumption.envs.physics.scene import Preset
from gumption.envs.physics.state import State

from .kinds import Dials
from .textures import (
    LENGTH,
    RANDOM,
    TextureModel,
    coded_entries,
    factor_codes,
    load_models,
    patterns,
    random_entries,
    read_tensors,
)


class Drawing:
    """Draw a batch of scenes into (B, R, R, 3) arrays of uint8, row 0 at the top; R is the resolution.

    A position maps to a boundary between pixels: column round((x - low) * R / side), row R - round((y - low) * R /
    side). The floor with its tiles (the first in the order of iteration on top) is cached until a tile changes. Objects
    are drawn onto it in the order of iteration.
    """

    def __init__(
        self, state: State, resolution: int, outlines: bool = True, centred: bool = False, only_tiles: bool = False
    ) -> None:
        """:param state: a state with the layout and batch size of all later states.
        :param outlines: draw a black line of one pixel around Mobile things.
        :param centred: place the centre of a polygon's bounding box at its position.
        :param only_tiles: omit objects.
        """
        self.resolution, self._outlines, self._centred = resolution, outlines, centred
        num_envs, slots, layout = state.num_envs, state.slots, state.layout
        self._layout = layout
        self._pictures = np.empty((num_envs, resolution, resolution, 3), dtype=np.uint8)
        self._stale = np.ones(num_envs, dtype=bool)
        self._seen = np.zeros((4, slots, num_envs))
        self._sequence = np.zeros((slots, num_envs), dtype=np.int64)
        self._is_tile = state.marks(Floor)
        self._always_shown = ~state.marks(Visible)[:, None]
        self._drawn = self._is_tile[:, None] if only_tiles else np.ones((slots, 1), dtype=bool)
        self._nothing = np.zeros((slots, num_envs), dtype=bool)
        self._no_place = np.zeros((2, slots, num_envs))

    def fits(self, state: State) -> bool:
        return state.layout == self._layout and state.num_envs == len(self._stale)

    def renew(self, changed: np.ndarray) -> None:
        """Repaint floors where the textures of tiles or background changed; `changed` is (B, N + 1) bool."""
        self._stale |= (changed[:, :-1] & self._is_tile).any(axis=1) | changed[:, -1]

    def draw(self, state: State, textures: np.ndarray) -> np.ndarray:
        """Return the pictures, a new array (B, R, R, 3) uint8.

        :param textures: (B, N + 1, P, P, 3) uint8, the pattern of each slot and, last, of the background, repeated from
            the top left corner of the thing.
        """
        from .drawing_kernels import Floors, Things, paint

        columns = state.columns
        visible, mobile = columns.get(Visible), columns.get(Mobile)
        shown = state.present & self._drawn
        if visible is not None:
            shown &= visible[0] | self._always_shown
        out = np.empty_like(self._pictures)
        things = Things(
            columns.get(Position, self._no_place),
            columns[Size][0] if Size in columns else self._no_place[0],
            state.kinds,
            state.corners,
            state.corner_counts,
            state.drawn_size,
            shown,
            mobile[0] if mobile is not None and self._outlines else self._nothing,
            state.sequence,
            self._is_tile,
            state.walls,
        )
        floors = Floors(self._pictures, self._stale, self._seen, self._sequence)
        paint(out, floors, textures, things, self._centred)
        return out


# ---- Renderers in plain colours: pictures for people, optical flow and affordance maps.

Colour = tuple[int, int, int]
Annotations = Literal["none", "ids", "labels"]

FLOOR: Colour = (236, 236, 230)
#: Colour of each entity type; other types inherit the colour of their parent. Add your own types here.
COLOURS: dict[type[kinds.Entity], Colour] = {
    kinds.Entity: (150, 150, 150),
    kinds.Object: (140, 140, 160),
    kinds.Ball: (110, 190, 230),
    kinds.Magnet: (150, 60, 190),
    kinds.Charger: (250, 205, 50),
    kinds.Bumper: (60, 90, 220),
    kinds.Damper: (40, 130, 130),
    kinds.GolfBall: (255, 255, 255),
    kinds.CueBall: (255, 255, 255),
    kinds.Tile: (205, 200, 190),
    kinds.SandTile: (222, 190, 120),
    kinds.MagmaTile: (215, 60, 30),
    kinds.FireTile: (250, 140, 40),
    kinds.Hole: (45, 40, 40),
    kinds.GoalTile: (80, 175, 90),
}

#: Effect of a place on the ball -> colour; if several effects hold for a tile, the first determines the colour.
AFFORDANCES: dict[str, Colour] = {
    "goal": (0, 160, 60),
    "consumes": (20, 20, 20),
    "burns": (220, 40, 20),
    "slows": (230, 190, 90),
    "nothing": (255, 255, 255),
}
#: Speed at which the colours of optical flow are fully saturated.
FULL_SPEED = 2.0
STILL: Colour = (255, 255, 255)


class Coloured:
    """Base of the renderers in plain colours, which compute the colour of each slot in each frame."""

    outlines = True
    only_tiles = False

    def __init__(self, resolution: int = 256, centred: bool = False) -> None:
        """:param centred: see `Drawing`."""
        self.resolution, self._centred = resolution, centred
        self._drawing: Drawing | None = None
        self._colours = np.zeros(0, dtype=np.uint8)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        if self._drawing is None or not self._drawing.fits(state):
            self._drawing = Drawing(state, self.resolution, self.outlines, self._centred, self.only_tiles)
            self._colours = np.zeros((state.num_envs, state.slots + 1, 3), dtype=np.uint8)

    def draw(self, state: State) -> np.ndarray:
        if self._drawing is None:
            raise InputError("no episode has begun: call begin first")
        colours = self.colours(state)
        self._drawing.renew((colours != self._colours).any(axis=2))
        self._colours = colours
        return self._drawing.draw(state, colours[:, :, None, None])

    def colours(self, state: State) -> np.ndarray:
        """Return (B, N + 1, 3) uint8, the colours of the slots and, last, of the background."""
        raise NotImplementedError


class SolidColours(Coloured):
    """Pictures for people: a colour per entity type, with optional annotations."""

    def __init__(
        self,
        resolution: int = 256,
        annotations: Annotations = "none",
        centred: bool = False,
        dials: Dials = Dials(),  # noqa: B008
    ) -> None:
        """:param annotations: write "ids" or "labels" (names of types) on visible things.
        :param dials: labels of types, which determine colours.
        """
        super().__init__(resolution, centred)
        self._annotations, self._dials = annotations, dials

    def colours(self, state: State) -> np.ndarray:
        looks = map(self._dials.look, state.type_list)
        kinds = [next(COLOURS[each] for each in kind.__mro__ if each in COLOURS) for kind in looks]
        return _with_background(np.array(kinds)[state.types.T], FLOOR)

    def draw(self, state: State) -> np.ndarray:
        pictures = super().draw(state)
        if self._annotations != "none":
            for i, picture in enumerate(pictures):
                self._annotate(picture, state, i)
        return pictures

    def _annotate(self, picture: np.ndarray, state: State, i: int) -> None:
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture)
        brush = ImageDraw.Draw(image)
        low, high = state.walls[:, i]
        for entity in state.scene(i).entities:
            if not entity.factors.get(Visible, True) or Position not in entity.factors:
                continue
            x, y = entity.factors[Position]
            place = (x - low) / (high - low) * self.resolution, (high - y) / (high - low) * self.resolution
            text = entity.id if self._annotations == "ids" else entity.type.__name__
            size = max(8, self.resolution // 24)
            brush.text(place, text, fill=(0, 0, 0), anchor="mm", font_size=size, stroke_width=1, stroke_fill=FLOOR)
        picture[:] = np.asarray(image)


class OpticalFlow(Coloured):
    """The motion of objects in HSV: hue is the direction, saturation the speed; resting things are white."""

    outlines = False

    def colours(self, state: State) -> np.ndarray:
        shape = 2, state.slots, state.num_envs
        across, up = state.columns.get(Velocity, np.zeros(shape)).transpose(0, 2, 1)
        hue = np.arctan2(up, across) / (2 * np.pi) % 1.0
        saturation = np.minimum(np.hypot(across, up) / FULL_SPEED, 1.0)
        k = (np.array([5.0, 3.0, 1.0]) + 6.0 * hue[..., None]) % 6.0  # from HSV of the full value to RGB
        rgb = np.rint(255.0 * (1.0 - saturation[..., None] * np.clip(np.minimum(k, 4.0 - k), 0.0, 1.0)))
        return _with_background(rgb, STILL)


class AffordanceMap(Coloured):
    """The effect of each place on a ball: goal, consumes, burns, slows or nothing; see `AFFORDANCES`."""

    only_tiles = True

    def colours(self, state: State) -> np.ndarray:
        found = np.empty((state.num_envs, state.slots, 3), dtype=np.uint8)
        found[:] = AFFORDANCES["nothing"]
        is_goal = np.array([issubclass(kind, kinds.GoalTile) for kind in state.type_list])
        effects = {
            "slows": _positive(state, Friction),
            "burns": _positive(state, Heat),
            "consumes": state.marks(Consumes)[:, None],
            "goal": is_goal[state.types],
        }
        for name, holds in effects.items():
            found[np.broadcast_to(holds, state.present.shape).T] = AFFORDANCES[name]
        return _with_background(found, AFFORDANCES["nothing"])


def _with_background(found: np.ndarray, background: Colour) -> np.ndarray:
    """Append the background to colours (B, N, 3) and return (B, N + 1, 3) uint8."""
    last = np.broadcast_to(np.array(background), (len(found), 1, 3))
    return np.concatenate([found, last], axis=1).astype(np.uint8)


def _positive(state: State, factor: type[Factor]) -> np.ndarray:
    """Return (N, B) bool, whether a factor is positive; False for a factor that no entity has."""
    column = state.columns.get(factor)
    return np.zeros(state.present.shape, dtype=bool) if column is None else column[0] > 0


PIXELS = 256


def draw_frame(state: State, i: int, mode: str, dials: Dials = Dials()) -> Any:  # noqa: B008  (frozen)
    """Return scene i as text ("ansi"), or as (256, 256, 3) uint8 ("rgb_array")."""
    if mode == "ansi":
        return ansi(state, i, dials)
    one = state.select(np.array([i]))
    colours = SolidColours(PIXELS, dials=dials)
    colours.begin(one, np.array([0]), [0])
    return colours.draw(one)[0]


ROWS = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def ansi(state: State, i: int = 0, dials: Dials = Dials()) -> str:  # noqa: B008
    """Return scene i as text: a map of 20 rows with capital letters for objects and small letters for tiles, and a line
    per visible thing."""
    one = state.select(np.array([i]))
    marks = np.arange(1, one.slots + 2, dtype=np.uint8)
    marks[-1] = 0  # the floor
    textures = np.repeat(marks[None, :, None], 3, axis=2)[:, :, None, None]
    slots = Drawing(one, ROWS, outlines=False).draw(one, textures)[0, :, :, 0]
    lines: list[str] = []
    signs = np.full(one.slots + 1, "  ", dtype=object)
    for entity in one.scene(0).entities:
        if not entity.factors.get(Visible, True):
            continue
        slot = one.slot_of[0][entity.id]
        letter = _LETTERS[len(lines) % len(_LETTERS)]
        letter = letter if Floor in entity.factors else letter.upper()
        signs[slot + 1] = letter * 2
        moves = entity.factors.get(Velocity, (0.0, 0.0))
        speed = f", velocity {moves[0]:.2f} {moves[1]:.2f}" if any(moves) else ""
        called = dials.called.get(entity.type.__name__, entity.type.__name__)
        lines.append(f"{letter} {dials.id(entity)} ({called}){speed}")
    wall = "+" + "-" * (2 * ROWS) + "+"
    rows = [f"|{''.join(signs[row])}|" for row in slots]
    return "\n".join([wall, *rows, wall, *lines]) + "\n"


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
    """Draw a batch of scenes."""

    resolution: int

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Start episodes in these columns. Equal seeds give equal looks.

        :param columns: (n,) int; at the first call all columns. :param seeds: (n,) seeds of the levels.
        """
        ...

    def draw(self, state: State) -> np.ndarray:
        """Return the pictures, (B, R, R, 3) uint8, row 0 at the top."""
        ...


@settings
class RendererSettings:
    """How scenes look.

    :ivar kind: "linear": textures of autoencoders; "features": textures of a network's filters; "colours": plain
        colours for people; "flow": the motion; "affordances": the effect of each place on the ball; "module:name": a
        class of your own with the methods of `Renderer`, which is called with `resolution`.
    :ivar resolution: pixels of a side.
    :ivar models: of "linear": "baseline", "five", "twenty", one of these such as "twenty-07", or a file or folder; the
        seed of a level chooses among several.
    :ivar filters: of "features": a .npy or .safetensors file of (n, 3, k, k) filters; without one they are random.
    :ivar feature_seed, feature_models: of "features": the seed of random filters and of the first model, and the number
        of models.
    :ivar hidden: names of factors that textures do not show.
    :ivar annotations: of "colours": "none", "ids" or "labels".
    :ivar preset: "compat": textures do not change within an episode, and polygons are drawn with their bounding box
        at the position; "fixed": textures follow their factors, and polygons are drawn where they are.
    """

    kind: str = "linear"
    resolution: PictureSize = 64
    models: str = "baseline"
    filters: Path | None = None
    feature_seed: Seed = 0
    feature_models: Count = 1
    hidden: tuple[str, ...] = ()
    annotations: Annotations = "none"
    preset: Preset = "fixed"

    def __post_init__(self) -> None:
        if ":" not in self.kind:
            check("kind", self.kind, Kind)
        check_kind(self, _FIELDS, "renderers")


def check_kind(given: Any, kinds: Mapping[str, tuple[str, ...]], what: str) -> None:
    """Raise InputError if a field that this kind does not read has a value other than its default; `kinds` maps a field
    to the kinds that read it."""
    for field in fields(given):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        able = kinds.get(field.name, (given.kind,))
        if given.kind not in able and getattr(given, field.name) != default:
            raise InputError(f"{field.name} is of {what} of the kind {' or '.join(able)}; this one is {given.kind!r}")


def make_renderer(settings: RendererSettings) -> Renderer:
    """Return the renderer of these settings.

    :raises InputError: a file is unreadable or no model, or textures do not show a hidden factor anyway.
    """
    centred = settings.preset == "compat"
    if ":" in settings.kind:

        def fits(found: Any) -> bool:
            return isinstance(found, type) and all(hasattr(found, each) for each in ("begin", "draw"))

        return of_module(settings.kind, "renderer", fits, "class with begin and draw")(resolution=settings.resolution)
    match settings.kind:
        case "colours":
            return SolidColours(settings.resolution, settings.annotations, centred)
        case "flow":
            return OpticalFlow(settings.resolution, centred)
        case "affordances":
            return AffordanceMap(settings.resolution, centred)
        case "linear":
            models = load_models(settings.models)
        case "features":
            given = settings.filters
            if given is None:
                warnings.warn(RANDOM_TEXTURES, Note, stacklevel=3)
            filters = random_filters(settings.feature_seed) if given is None else read_filters(given)
            seeds = range(settings.feature_seed, settings.feature_seed + settings.feature_models)
            models = feature_models(filters, list(seeds), "random" if given is None else given.stem)
        case _:
            raise AssertionError(settings.kind)
    return Textured(models, settings.resolution, settings.hidden, settings.preset == "fixed", centred)


# ---- Textures of a network's first filters. k-means groups them into twelve clusters, one per entry of a code.
#
# A `FeatureModel` sums one filter of each cluster, weighted by the entry of the code. Hungarian matching aligns the
# clusters of models with different seeds, so that models can be compared cluster by cluster.

RANDOM_FILTERS, RANDOM_SIDE = 64, 3
RANDOM_TEXTURES = "the textures are those of a random network: no filters are given, so that they are random numbers"
#: Contrast before tanh of the pattern of an entry with value 1.
_CONTRAST = 0.6
_RESTARTS = 10  # of k-means


class FeatureModel(TextureModel):
    """A texture model of clustered filters.

    :ivar filters: (n, 3 * k * k), each with mean 0 and norm 1.
    :ivar labels: (n,) cluster of each filter, 0 to 11, the index of an entry of a code.
    """

    def __init__(self, name: str, filters: np.ndarray, side: int, labels: np.ndarray, rng: np.random.Generator) -> None:
        """:param rng: draws one filter from each cluster."""
        self.filters, self.labels = filters, labels
        chosen = filters[[rng.choice(np.flatnonzero(labels == entry)) for entry in range(LENGTH)]]
        scaled = chosen * (_CONTRAST * np.sqrt(chosen.shape[1]))
        super().__init__(name, scaled.reshape(LENGTH, 3, side, side).transpose(2, 3, 1, 0))


def read_filters(path: Path) -> np.ndarray:
    """Read filters (n, 3, k, k) from a .npy file, or a .safetensors file with one such array; else raise InputError."""
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
    """Draw filters (64, 3, 3, 3) from a standard normal distribution."""
    return np.random.default_rng(seed).standard_normal((RANDOM_FILTERS, 3, RANDOM_SIDE, RANDOM_SIDE))


@checked
def feature_models(filters: np.ndarray, seeds: Sequence[int], name: str = "features") -> tuple[FeatureModel, ...]:
    """Return a model per seed; all have the cluster order drawn by the first seed.

    :param filters: (n, 3, k, k).
    :raises InputError: fewer than twelve different filters, another shape, or no seed.
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
    """Renumber labels (n,), 0 to 11, so that as many as possible agree with the reference."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((LENGTH, LENGTH))
    np.add.at(shared, (labels, reference), 1)
    _, numbers = linear_sum_assignment(-shared)
    return numbers[labels]


def cluster_distance(one: FeatureModel, other: FeatureModel) -> float:
    """Return the sum over clusters of the Wasserstein-2 distance between the filters of two models."""
    total = 0.0
    for entry in range(LENGTH):
        mine, its = one.filters[one.labels == entry], other.filters[other.labels == entry]
        total += sqrt(max(transport(np.square(mine[:, None] - its[None]).sum(-1)), 0.0))
    return total


def close_and_far(models: Sequence[FeatureModel], count: int) -> tuple[list[FeatureModel], list[FeatureModel]]:
    """Return the `count` models nearest to the first model by `cluster_distance`, and the `count` farthest models;
    raise InputError if there are too few models."""
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
    """Return filters (n, 3 * k * k) with mean 0 and norm 1; constant filters become 0."""
    flat = filters.reshape(len(filters), -1).astype(np.float64)
    flat = flat - flat.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    return flat / np.where(norms > 0, norms, 1.0)


# ---- Renderer for agents: textures that encode factors.

#: Recompute a texture when an entry of its code changed by more than this, 5 % of the range from -1 to 1.
CHANGE = 0.1


class Textured:
    """Draw things in textures that show their factors; the seed of a level selects a model."""

    def __init__(
        self,
        models: Sequence[TextureModel],
        resolution: int = 64,
        hidden: Sequence[str] = (),
        follow: bool = True,
        centred: bool = False,
    ) -> None:
        """:param hidden: names of factors that textures do not show; position and size remain visible.
        :param follow: update the texture of a thing when its factors change, not only at the start of an episode.
        :raises InputError: no model, models of different periods, or a hidden factor that no texture shows.
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
        """Compute the textures of these columns; raise InputError if a new batch or layout lacks a column."""
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
        if self._drawing is None:
            raise InputError("no episode has begun: call begin first")
        if self._follow:
            codes = factor_codes(state, self._entries)
            changed = np.any(np.abs(codes - self._codes) > CHANGE, axis=0)
            if changed.any():
                self._make(changed, codes)
        return self._drawing.draw(state, self._textures)

    def _make(self, changed: np.ndarray, codes: np.ndarray) -> None:
        """Compute the textures of these codes where the mask `changed` (N + 1, B) is true."""
        assert self._drawing is not None
        self._codes[:, changed] = codes[:, changed]
        n, b = np.nonzero(changed)
        complete = np.concatenate([codes[:, n, b].T, self._random[b, n]], axis=1)
        chosen = self._chosen[b]
        self._textures[b, n] = patterns(self._weights[chosen], self._bias[chosen], complete)
        self._drawing.renew(changed.T)
