"""Factors: the kinds of values that entities have (SEGAR, appendix B.1), and parameters, which belong to a whole scene.

A factor is a class, and its name stands for it in scenes. A person's own is a class of two lines:

    class Wind(Factor, base="vector"):
        pass

A subclass of a factor is matched by the rules of its parent. Values are not wrapped: rules get arrays.
"""

from typing import Any, ClassVar, Literal, get_args

import numpy as np

from gumption.data import InputError
from gumption.data.wording import shown

from .values import FactorArray

Base = Literal["float", "int", "bool", "vector", "shape", "tag", "text"]

#: Numbers of a value of each base; the others are no arrays.
WIDTHS: dict[Base, int] = {"float": 1, "int": 1, "bool": 1, "vector": 2}
_DEFAULTS: dict[Base, Any] = {
    "float": 0.0,
    "int": 0,
    "bool": False,
    "vector": (0.0, 0.0),
    "shape": None,
    "tag": True,
    "text": "",
}


#: Factors and parameters by name; a later definition of the same name replaces an earlier one.
FACTORS: dict[str, "type[Factor]"] = {}
PARAMETERS: dict[str, "type[Parameter]"] = {}


class Factor(Any):
    """A kind of value. To a type checker an instance is anything: what rules get of it are arrays.

    :cvar base: "float", "int", "bool", "vector" (two floats), "shape", "tag" (there or not) or "text".
    :cvar default: the value of an entity that is given none.
    :cvar root: the class right below `Factor`: subclasses share its column.
    :cvar belongs_to: a factor whose owners all have this one too: rules compute it anew at each step, and scenes do not
        give it; None for the others.
    """

    base: ClassVar[Base]
    default: ClassVar[Any]
    root: ClassVar[type["Factor"]]
    belongs_to: ClassVar[type["Factor"] | None] = None

    def __new__(cls, value: Any) -> Any:
        """A value with the methods that the paper's rules call, such as `Velocity(v2 - v1).norm()`."""
        return np.asarray(value).view(FactorArray)

    def __init_subclass__(
        cls, base: Base | None = None, default: Any = None, belongs_to: type["Factor"] | None = None
    ) -> None:
        """:raises InputError: a base that there is not, or that differs from that of the parent."""
        inherited = getattr(cls, "base", None)
        if base is not None and base not in get_args(Base):
            raise InputError(f"the factor {cls.__name__} has the base {shown(base)}; it is one of {get_args(Base)}")
        if inherited is None and base is None:
            raise InputError(f"the factor {cls.__name__} needs a base: class {cls.__name__}(Factor, base='float')")
        if inherited is not None and base not in (None, inherited):
            raise InputError(f"the factor {cls.__name__} has the base {base!r}, and its parent {inherited!r}")
        if inherited is None:
            cls.base, cls.root = base, cls  # pyright: ignore[reportAttributeAccessIssue]
            cls.default = _DEFAULTS[cls.base]
        if default is not None:
            cls.default = default
        if belongs_to is not None:
            cls.belongs_to = belongs_to
        if cls.__name__ != "Parameter":
            FACTORS[cls.__name__] = cls


class Parameter(Factor, base="float"):
    """A value of the whole scene, such as gravity."""

    def __init_subclass__(cls, default: float = 0.0) -> None:
        cls.base, cls.root, cls.default = "float", cls, default
        PARAMETERS[cls.__name__] = cls


class Position(Factor, base="vector"):
    """Where the centre is."""


class Velocity(Factor, base="vector"):
    """Distance a second."""


class Acceleration(Factor, base="vector"):
    """Change of the velocity a second."""


class Size(Factor, base="float", default=1.0):
    """The diameter of a circle, the width of a polygon."""


class Shape(Factor, base="shape"):
    """A circle or a convex polygon; see `gumption.envs.physics.shapes`."""


class Mass(Factor, base="float", default=1.0):
    """What resists a force."""


class Density(Factor, base="float", default=1.0):
    """A feature to be seen; no rule reads it."""


class Charge(Factor, base="float"):
    """Equal signs repel each other."""


class Magnetism(Factor, base="float"):
    """Turns charges that move past."""


class StoredEnergy(Factor, base="float"):
    """Speeds up (positive) or slows down (negative) what it collides with."""


class InfiniteEnergy(Factor, base="bool"):
    """The stored energy is not used up by a collision."""


class Heat(Factor, base="float"):
    """Burns what lies on it."""


class Friction(Factor, base="float"):
    """The coefficient of kinetic friction of a surface."""


class Drag(Factor, base="float", belongs_to=Velocity):
    """The deceleration by all surfaces below."""


class Order(Factor, base="int"):
    """The layer: lower is on top, and comes first."""


class Visible(Factor, base="bool", default=True):
    """It is drawn."""


class Alive(Factor, base="bool", default=True):
    """It is not destroyed; what is dead rests and collides with nothing."""


class Mobile(Factor, base="bool", default=True):
    """It can be moved."""


class Done(Factor, base="bool"):
    """It fell into a hole: it rests and collides with nothing."""


class Floor(Factor, base="tag"):
    """Others lie on it."""


class Collides(Factor, base="tag"):
    """Others bounce off it."""


class Consumes(Factor, base="tag"):
    """What lies on it as a whole falls in."""


class ID(Factor, base="text"):
    """The name in its scene."""


class Label(Factor, base="text"):
    """The name of its entity type."""


class Text(Factor, base="text"):
    """What is written on it."""


class MinMass(Parameter, default=0.1):
    """Less is destroyed."""


class MaxVelocity(Parameter, default=10.0):
    """The highest speed."""


class MinVelocity(Parameter, default=1e-4):
    """A lower speed is no motion."""


class Gravity(Parameter, default=10.0):
    """The acceleration that presses things on the floor."""


class FloorFriction(Parameter, default=0.05):
    """The coefficient of friction of the floor where no tile lies."""


class WallDamping(Parameter, default=0.025):
    """The share of the velocity that a wall takes."""


class Framerate(Parameter, default=100.0):
    """Steps a second."""


class Restitution(Parameter, default=1.0):
    """The share of the speed at which discs approach that they have after a collision: 1 elastic, 0 none."""
