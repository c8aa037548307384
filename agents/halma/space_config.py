"""The settings of a SPACE model (Lin et al., 2020; HALMA, appendices E.2 and F.3)."""

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le, MultipleOf

from gumption.data import InputError
from gumption.data.settings import InnerShare, NonNegative, Positive, Size, Whole, settings

PRESENT = 0.5  # z_pres above which a cell is an object


class Anneal(NamedTuple):
    """A value that goes linearly from `start` to `end` between two training steps, and stays where it is outside."""

    start: float
    end: float
    first_step: Whole
    last_step: Whole

    def at(self, step: int) -> float:
        done = (step - self.first_step) / max(self.last_step - self.first_step, 1)
        return self.start + (self.end - self.start) * min(max(done, 0.0), 1.0)


PRESENCE_PRIOR = Anneal(0.1, 0.01, 4_000, 10_000)
TEMPERATURE = Anneal(2.5, 2.5, 0, 10_000)
SCALE_MEAN = Anneal(-1.0, -2.0, 10_000, 20_000)


Eights = Annotated[int, Ge(8), Le(65_536), MultipleOf(8)]


@settings
class SpaceConfig:
    """What a SPACE model is; the defaults are the published ones for an 8x8 grid.

    :ivar image_size: side of the pictures the model sees; larger ones are averaged down to it.
    :ivar grid: cells along a side; `glimpse` pixels along the side of what an object is seen and drawn with.
    :ivar what: width of z_what; a slot is z_what and z_pres, 33 numbers (HALMA, Table S2).
    :ivar base, features: width of the foreground's first convolution, and of a cell's feature vector.
    :ivar components: K of the background; `mask`, `component`, `hidden` are the widths of z_m, z_c and their LSTMs.
    :ivar background_base: width of the background's narrowest convolutions.
    :ivar foreground_std, background_std: of the colours around mu_fg and mu_k (fixed).
    :ivar presence_prior: the prior probability of z_pres.
    :ivar temperature: of the relaxed Bernoulli distribution of z_pres.
    :ivar scale_mean, scale_std: of the prior of z_where's scale, before the sigmoid.
    :ivar fixed_alpha, fixed_alpha_steps: the foreground's share of every pixel in the first steps. Were it free at
        once, objects would paint what is plain too, and find nothing.
    :ivar boundary, boundary_weight: thickness in glimpse pixels and weight of the boundary loss; weight 0 is without.
    """

    image_size: Literal[64, 128] = 128
    grid: Size = 8
    glimpse: Literal[8, 16, 32] = 32
    what: Size = 32
    base: Eights = 16
    features: Annotated[int, Ge(16), Le(65_536), MultipleOf(16)] = 128
    components: Size = 5
    mask: Size = 32
    component: Size = 32
    hidden: Size = 64
    background_base: Eights = 32
    foreground_std: Positive = 0.15
    background_std: Positive = 0.15
    presence_prior: Anneal = PRESENCE_PRIOR
    temperature: Anneal = TEMPERATURE
    scale_mean: Anneal = SCALE_MEAN
    scale_std: Positive = 0.1
    fixed_alpha: InnerShare = 0.1
    fixed_alpha_steps: Whole = 4_000
    boundary: Whole = 6
    boundary_weight: NonNegative = 1000.0

    def __post_init__(self) -> None:
        """:raises InputError: sizes that do not fit each other, or a value out of range."""
        ratio = self.image_size // max(self.grid, 1)
        if self.image_size not in (64, 128) or ratio * self.grid != self.image_size or ratio not in (2, 4, 8, 16):
            raise InputError(
                f"image_size is {self.image_size} and grid {self.grid}; image_size is 64 or 128, and 2, 4, 8 or 16 "
                "times the grid"
            )
        prior, heat = self.presence_prior, self.temperature
        if min(*prior[:2], *heat[:2]) <= 0 or max(prior[:2]) >= 1:
            raise InputError("presence_prior lies between 0 and 1, and temperature above 0")
        if 2 * self.boundary >= self.glimpse:
            raise InputError(f"boundary is {self.boundary}; it is less than half a glimpse, {self.glimpse}")

    @property
    def cells(self) -> int:
        return self.grid**2

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> "SpaceConfig":
        """:raises InputError: a name that is missing or unknown, or a value out of range."""
        names = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != names:
            wrong = sorted(names ^ set(value)) if isinstance(value, dict) else "all"
            raise InputError(f"these are not the settings of a SPACE model: {wrong} missing or unknown")
        anneals = ("presence_prior", "temperature", "scale_mean")
        try:
            settings: dict[str, Any] = {
                name: Anneal(*value[name]) if name in anneals else value[name] for name in value
            }
            return cls(**settings)
        except TypeError as error:
            raise InputError(f"the settings of a SPACE model are of the wrong type ({error})") from None
