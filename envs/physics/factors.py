"""Factors: the kinds of values of entities (SEGAR, appendix B.1), and parameters, which belong to a whole scene.

A factor is a class, and scenes use its name. Define your own in two lines:

    class Wind(Factor, base="vector"):
        pass

It may declare bounds for values in scenes, priors and rules: `Factor, base="float", least=0, most=1`. Rules for a
factor also match its subclasses. Values are not wrapped: rules receive arrays.
"""

from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import LARGEST, check, describe, shown

from .shapes import HIGHEST, NARROWEST, read_shape

# ---- Functions for rules, on arrays whose last axis holds a vector's two numbers, or a single number.


def dot(a: Any, b: Any) -> np.ndarray:
    """Return the scalar product (..., 1) of vectors (..., 2)."""
    return a[..., :1] * b[..., :1] + a[..., 1:] * b[..., 1:]


def norm(vector: Any) -> np.ndarray:
    """Return the length (..., 1) of vectors (..., 2)."""
    return np.sqrt(dot(vector, vector))


def unit(vector: Any) -> np.ndarray:
    """Return vectors (..., 2) of the same direction and length 1; a zero vector stays zero."""
    length = norm(vector)
    return vector / np.where(length > 0, length, 1.0)


def tangent(vector: Any) -> np.ndarray:
    """Return vectors (..., 2) rotated by 90 degrees: (-y, x)."""
    return np.concatenate([-vector[..., 1:], vector[..., :1]], axis=-1)


class FactorArray(np.ndarray):
    """A value of one entity with the methods that the paper's rules call: a vector (2,), or a number without axes."""

    def norm(self) -> Any:
        return np.sqrt((np.asarray(self) ** 2).sum())

    def unit_vector(self) -> "FactorArray":
        return self / self.norm()

    def tangent_vector(self) -> "FactorArray":
        """Return the vector rotated by 90 degrees: (-y, x)."""
        return np.array([-self[1], self[0]]).view(FactorArray)

    def abs(self) -> Any:
        return np.abs(self)

    def sign(self) -> Any:
        return np.sign(self)


Base = Literal["float", "int", "bool", "vector", "shape", "tag", "text"]

#: Base -> length of its values in arrays; other bases have no arrays.
WIDTHS: dict[Base, int] = {"float": 1, "int": 1, "bool": 1, "vector": 2}
_DEFAULTS: dict[Base, Any] = {
    "float": 0.0, "int": 0, "bool": False, "vector": (0.0, 0.0), "shape": None, "tag": True, "text": "",
}  # fmt: skip
#: Bases whose values are numbers with bounds.
BOUNDED: tuple[Base, ...] = ("float", "int", "vector")

#: Factors and parameters by name; a later definition of the same name replaces an earlier definition.
FACTORS: dict[str, "type[Factor]"] = {}
PARAMETERS: dict[str, "type[Parameter]"] = {}


class Factor(Any):
    """A kind of value. For type checkers an instance is `Any`, since rules receive arrays.

    :cvar base: "float", "int", "bool", "vector" (two floats), "shape", "tag" (present or not) or "text".
    :cvar default: the value if a scene defines none.
    :cvar least, most: bounds of a number, or of both numbers of a vector; a subclass's bounds lie within its parent's.
    :cvar number: annotation of such a number, with the declared bounds.
    :cvar root: the class directly below `Factor`, whose column its subclasses share.
    :cvar belongs_to: rules recompute this factor in each step for all entities that have the factor named here; None
        for factors defined by scenes.
    """

    base: ClassVar[Base]
    default: ClassVar[Any]
    least: ClassVar[float] = -HIGHEST
    most: ClassVar[float] = HIGHEST
    number: ClassVar[Any] = float
    root: ClassVar[type["Factor"]]
    belongs_to: ClassVar[type["Factor"] | None] = None

    def __new__(cls, value: Any) -> Any:
        """Return a value with the methods that the paper's rules call, such as `Velocity(v2 - v1).norm()`."""
        return np.asarray(value).view(FactorArray)

    def __init_subclass__(
        cls,
        base: Base | None = None,
        default: Any = None,
        belongs_to: type["Factor"] | None = None,
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        """:raises InputError: an unknown base, or another than the parent's; bounds that are wider than the parent's,
        or that exclude the default.
        """
        inherited = getattr(cls, "base", None)
        if base is not None and base not in get_args(Base):
            raise InputError(f"the factor {cls.__name__} has the base {shown(base)}; it is one of {get_args(Base)}")
        if inherited is None and base is None:
            raise InputError(f"the factor {cls.__name__} needs a base: class {cls.__name__}(Factor, base='float')")
        if inherited is not None and base not in (None, inherited):
            raise InputError(f"the factor {cls.__name__} has the base {base!r}, and its parent {inherited!r}")
        if inherited is None:
            cls.base, cls.root = base, cls  # pyright: ignore[reportAttributeAccessIssue]
            if base == "int":
                cls.least, cls.most, cls.number = -LARGEST, LARGEST, int
        given = _DEFAULTS[cls.base] if inherited is None else cls.default
        cls._bound(given if default is None else default, least, most)
        if belongs_to is not None:
            cls.belongs_to = belongs_to
        if cls.__name__ != "Parameter":
            FACTORS[cls.__name__] = cls

    @classmethod
    def _bound(cls, default: Any, least: float | None, most: float | None) -> None:
        """Set bounds and default, without `check`, which would import pydantic and so slow down help and completion."""

        def fitting(name: str, value: Any) -> Any:
            value = value.item() if isinstance(value, np.number) else value
            kinds = int if cls.base == "int" else int | float
            if isinstance(value, bool) or not isinstance(value, kinds) or not cls.least <= value <= cls.most:
                raise InputError(f"the factor {cls.__name__}: {name} is {shown(value)}; it {cls.requirement(value)}")
            return value

        if cls.base in BOUNDED:
            kind, widest = (int, LARGEST) if cls.base == "int" else (float, HIGHEST)
            for name, bound in (("least", least), ("most", most)):
                if bound is not None:
                    setattr(cls, name, fitting(name, bound))
                    marks = ([Ge(cls.least)] if cls.least > -widest else []) + (
                        [Le(cls.most)] if cls.most < widest else []
                    )
                    cls.number = Annotated[kind, *marks] if marks else kind
            for each in default if isinstance(default, tuple | list) and cls.base == "vector" else (default,):
                fitting("default", each)
        elif least is not None or most is not None:
            raise InputError(f"the factor {cls.__name__} has bounds, and its base {cls.base!r} is no number")
        cls.default = default

    @classmethod
    def requirement(cls, value: Any) -> str:
        """ "is a number, at least 0": how a message describes the factor's numbers after a value that does not fit."""
        limit = LARGEST if cls.base == "int" else HIGHEST
        if isinstance(value, int | float) and limit < abs(value) < np.inf:
            return f"is not beyond {'2**63' if cls.base == 'int' else f'{limit:g}'}"
        return describe(cls.number, value)


class Parameter(Factor, base="float"):
    """A value of a whole scene, such as gravity."""

    def __init_subclass__(cls, default: float = 0.0, least: float | None = None, most: float | None = None) -> None:
        cls.base, cls.root = "float", cls
        cls._bound(default, least, most)
        PARAMETERS[cls.__name__] = cls


def read_value(factor: type[Factor], value: Any, where: str) -> Any:
    """Convert a value of the factor to plain Python: a float, an int, a bool, a pair of floats, a shape or a text.

    :raises InputError: it does not fit the factor, is not finite, or is outside the factor's bounds.
    """
    name = f"{where}: {factor.__name__}"
    match factor.base:
        case "shape":
            return read_shape(value, where)
        case "text":
            return check(name, value, str)
        case "tag":
            if value is not True and value is not None:
                raise InputError(f"{name} is {shown(value)}; it is a tag: true, or not there")
            return True
        case "bool":
            return check(name, value, bool)
        case "vector":
            pair = value.tolist() if isinstance(value, np.ndarray) else value
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise InputError(f"{name} is {shown(value)}; it is a pair of numbers")
            numbers = []
            for each in pair:
                try:
                    numbers.append(float(read_number(factor, each, name)))
                except InputError:
                    raise InputError(f"{name} is {shown(value)}; each of the two {factor.requirement(each)}") from None
            return tuple(numbers)
        case _:
            return read_number(factor, value, name)


def read_number(factor: type[Factor], value: Any, name: str) -> Any:
    """Return a number of the factor; raise InputError, which begins with `name`, if it is invalid or out of bounds."""
    if type(value) is (int if factor.base == "int" else float) and factor.least <= value <= factor.most:
        return value  # fast path
    found = check(name, value, factor.number)
    if not factor.least <= found <= factor.most:
        raise InputError(f"{name} is {shown(value)}; it {factor.requirement(found)}")
    return found


class Position(Factor, base="vector"):
    """The position of the centre."""


class Velocity(Factor, base="vector"):
    """Distance per second."""


class Acceleration(Factor, base="vector"):
    """Change of velocity per second."""


class Size(Factor, base="float", default=1.0, least=NARROWEST):
    """The diameter of a circle, the width of a polygon."""


class Shape(Factor, base="shape"):
    """A circle or a convex polygon; see `gumption.envs.physics.shapes`."""


class Mass(Factor, base="float", default=1.0, least=0):
    """Resistance to forces; no force moves an entity of mass 0."""


class Density(Factor, base="float", default=1.0, least=0):
    """A visible feature that no rule reads."""


class Charge(Factor, base="float"):
    """Equal signs repel each other."""


class Magnetism(Factor, base="float"):
    """Deflects moving charges."""


class StoredEnergy(Factor, base="float"):
    """Speeds up (positive) or slows down (negative) objects in collisions."""


class InfiniteEnergy(Factor, base="bool"):
    """Whether collisions do not use up the stored energy."""


class Heat(Factor, base="float", least=0):
    """Burns things that lie on it."""


class Friction(Factor, base="float", least=0):
    """The coefficient of kinetic friction of a surface."""


class Drag(Factor, base="float", belongs_to=Velocity):
    """The deceleration by all surfaces below the entity."""


class Order(Factor, base="int"):
    """The layer: a lower number is on top, and first in the order of iteration."""


class Visible(Factor, base="bool", default=True):
    """Whether it is drawn."""


class Alive(Factor, base="bool", default=True):
    """Whether it is not destroyed; a dead entity rests and collides with nothing."""


class Mobile(Factor, base="bool", default=True):
    """Whether it can be moved."""


class Done(Factor, base="bool"):
    """Whether it fell into a hole; it then rests and collides with nothing."""


class Floor(Factor, base="tag"):
    """Marks entities on which others lie."""


class Collides(Factor, base="tag"):
    """Marks entities off which others bounce."""


class Consumes(Factor, base="tag"):
    """Marks tiles into which an object falls when it lies entirely on them."""


class ID(Factor, base="text"):
    """The name in its scene."""


class Label(Factor, base="text"):
    """The name of its entity type."""


class Text(Factor, base="text"):
    """The text on it."""


class MinMass(Parameter, default=0.1, least=0):
    """The mass below which an entity is destroyed."""


class MaxVelocity(Parameter, default=10.0, least=1e-12):
    """The maximal speed."""


class MinVelocity(Parameter, default=1e-4, least=0):
    """The speed below which an entity does not move."""


class Gravity(Parameter, default=10.0, least=0):
    """The acceleration that presses things onto the floor."""


class FloorFriction(Parameter, default=0.05, least=0):
    """The coefficient of friction of the floor without tiles."""


class WallDamping(Parameter, default=0.025, most=1):
    """The share of the velocity that a wall removes."""


class Framerate(Parameter, default=100.0, least=1e-6, most=10**9):
    """Steps per second."""


class Restitution(Parameter, default=1.0, least=0):
    """The ratio of the relative speed of discs after a collision to that before it: 1 is elastic, 0 does not bounce."""


#: Factors of discs, in the order of arguments of the loops over contacts -> value for a disc without the factor.
DISCS: dict[type[Factor], Any] = {
    Alive: True, Done: False, Mobile: True, Mass: 1.0, Size: 0.0, StoredEnergy: 0.0, InfiniteEnergy: False,
}  # fmt: skip
