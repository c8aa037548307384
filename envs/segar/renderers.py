"""Renderers: how a scene looks. Each has the same protocol, and settings make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Size, settings
from gumption.envs.physics.scene import Preset

from .colours import AffordanceMap, Annotations, OpticalFlow, SolidColours
from .textured import Textured

if TYPE_CHECKING:
    import numpy as np

    from gumption.envs.physics.state import State

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
            from .convolution_features import feature_models, random_filters, read_filters

            given = settings.filters
            filters = random_filters(settings.feature_seed) if given is None else read_filters(given)
            seeds = range(settings.feature_seed, settings.feature_seed + settings.feature_models)
            models = feature_models(filters, list(seeds), "random" if given is None else given.stem)
    return Textured(models, settings.resolution, settings.hidden, settings.preset == "fixed", centred)
