"""Entity types and their factors (SEGAR, appendix B.2).

A type is a class whose `factors` lists the factors that it adds to its parent, with defaults. Define your own:

    class Sail(Object):
        factors = {Wind: (0.0, 1.0)}
"""

# ruff: noqa: RUF012  (a dict as class attribute is how a type is declared; nothing changes it)

from collections.abc import Mapping
from typing import Any, ClassVar

from gumption.data import InputError

from .factors import (
    ID,
    Acceleration,
    Alive,
    Charge,
    Collides,
    Consumes,
    Density,
    Done,
    Factor,
    Floor,
    Friction,
    Heat,
    InfiniteEnergy,
    Label,
    Magnetism,
    Mass,
    Mobile,
    Order,
    Position,
    Shape,
    Size,
    StoredEnergy,
    Text,
    Velocity,
    Visible,
)
from .shapes import circle, square

#: Entity types by name; a later definition of the same name replaces an earlier definition.
TYPES: dict[str, "type[Entity]"] = {}
_TEXTS = (ID, Label, Text)


class Entity:
    """An entity with the factors of its type, and any other factors that a scene assigns.

    :cvar factors: factor -> default, for the factors that the type adds; None for the default of the factor.
    :cvar all_factors: these factors and the parents' factors, with every default filled in.
    """

    factors: ClassVar[Mapping[type[Factor], Any]] = {}
    all_factors: ClassVar[Mapping[type[Factor], Any]] = {}

    def __init_subclass__(cls) -> None:
        """Register the type. :raises InputError: a key of `factors` is no factor."""
        own: dict[type[Factor], Any] = {}
        for factor, default in cls.__dict__.get("factors", {}).items():
            if not (isinstance(factor, type) and issubclass(factor, Factor)):
                raise InputError(f"the entity type {cls.__name__} names {factor!r}, which is no factor")
            own[factor] = factor.default if default is None else default
        replaced = {factor.root for factor in own}  # a subclass of a parent's factor takes its place
        inherited = {factor: value for factor, value in cls.all_factors.items() if factor.root not in replaced}
        cls.all_factors = {**inherited, **own}
        TYPES[cls.__name__] = cls


TYPES["Entity"] = Entity


class Thing(Entity):
    """An entity with a position. It has the factors of its type, and no others."""

    factors = dict.fromkeys((Position, Visible, Order, Shape, Size, *_TEXTS))


class Object(Thing):
    """A thing that moves and collides."""

    factors = dict.fromkeys((Velocity, Acceleration, Mass, Charge, Density, Magnetism, StoredEnergy)) | {
        InfiniteEnergy: None,
        Collides: None,
        Mobile: None,
        Alive: None,
        Done: None,
        Shape: circle(0.2),
    }


class Tile(Thing):
    """A thing that objects lie on."""

    factors = dict.fromkeys((Floor, Friction, Heat)) | {Shape: square(1.0)}


class Block(Thing):
    """An inner wall: an immobile convex polygon or circle, off which objects bounce as off the outer walls."""

    factors = {Collides: None, Shape: square(0.2)}


class Ball(Object):
    """An object that moves."""

    factors = {Mobile: True}


class Magnet(Object):
    """An object that deflects moving charges."""

    factors = {Magnetism: -1.0, Mobile: False}


class Charger(Object):
    """An object that attracts and repels charges."""

    factors = {Charge: -1.0, Mobile: False}


class Bumper(Object):
    """An object that speeds up objects that hit it."""

    factors = {StoredEnergy: 1.0, Mobile: False}


class Damper(Object):
    """An object that slows down objects that hit it."""

    factors = {StoredEnergy: -0.5, Mobile: False}


class GolfBall(Object):
    """The object that the agent moves in PuttPutt."""

    factors = {Mass: 1.0, Charge: 1.0, Shape: circle(0.2)}


class CueBall(Object):
    """The object that the agent moves in Billiards."""

    factors = {Mass: 1.0, Charge: 1.0, Shape: circle(0.2)}


class SandTile(Tile):
    """A tile that slows objects down."""

    factors = {Friction: 0.4}


class MagmaTile(Tile):
    """A tile that burns objects."""

    factors = {Heat: 1.0, Friction: 0.1}


class FireTile(MagmaTile):
    """A tile that burns objects less."""

    factors = {Heat: 0.5, Friction: 0.0}


class Hole(Tile):
    """A tile into which an object falls when it lies entirely on it."""

    factors = {Consumes: True, Shape: circle(1.0), Order: -1}


class GoalTile(Tile):
    """The tile that the golf ball must reach."""

    factors = {Shape: circle(0.3), Order: -2}


def type_priority(kind: type[Entity] | None, deep: bool) -> int:
    """Return the specificity of an entity type as a condition; unless `deep`, all types below Object and Tile are
    equal, as in SEGAR's code of 2022."""
    if kind is None or not issubclass(kind, Thing):
        return 0
    if deep:
        return 4 + len(kind.__mro__) - len(Thing.__mro__)
    return 4 if kind is Thing else 5 if kind in (Object, Tile) else 6
