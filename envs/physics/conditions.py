"""Conditions of rules and priors: relations between two entities, values of one entity, and combinations of these."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.modules import name_of
from gumption.data.settings import shown

from .factors import ID, Factor, Label, read_value
from .scene import factor_type

if TYPE_CHECKING:
    from .state import State


class Relation:
    """A relation between the first and the second entity of a rule: a boolean array, shared by rules.

    :ivar spatial: whether it depends on which entity lies on which.
    :ivar unary: whether it concerns a single entity.
    """

    spatial = False
    unary = False

    @property
    def priority(self) -> int:
        """Return its specificity; see `Rule.priority`."""
        return 1

    def holds(self, state: "State") -> np.ndarray:
        """Return (N, N, B) bool: [i, j] for the first entity in slot i and the second in j; (N, 1, B) if unary."""
        raise NotImplementedError


@dataclass(frozen=True)
class IsOn(Relation):
    """The second entity is the topmost floor below the first, or the floor of the arena, which has no position."""

    spatial = True

    def holds(self, state: "State") -> np.ndarray:
        from .geometry import is_on

        return is_on(state, whole=False)


@dataclass(frozen=True)
class Contains(Relation):
    """The second entity is the topmost floor below the first, and the first lies entirely on it."""

    spatial = True

    def holds(self, state: "State") -> np.ndarray:
        from .geometry import is_on

        return is_on(state, whole=True)


@dataclass(frozen=True)
class Overlaps(Relation):
    """The two entities overlap."""

    def holds(self, state: "State") -> np.ndarray:
        from .geometry import overlaps

        return overlaps(state)


#: Specificity of a condition: its parts, the strongest first, as pairs of a kind and the depth of a class.
Specificity = tuple[tuple[int, int], ...]

#: Kinds of parts, the weakest first: a value of a factor, having a factor, an entity type, a label, one entity.
VALUE, FACTOR, TYPE, LABEL, ONE = range(1, 6)


class Condition(Relation, ABC):
    """A relation of a single entity, the condition of priors."""

    unary = True

    @abstractmethod
    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        """Return whether it holds for an entity with these values."""

    @abstractmethod
    def specificity(self) -> Specificity:
        """Return its parts, the strongest first."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Return the representation in files."""


@dataclass(frozen=True)
class IsEqual(Condition):
    """A factor has this value. :raises InputError: no such factor, or a value that does not fit it."""

    factor: type[Factor]
    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", factor_type(self.factor, "IsEqual"))
        object.__setattr__(self, "value", read_value(self.factor, self.value, "IsEqual"))

    @property
    def priority(self) -> int:
        return {ID: 8, Label: 7}.get(self.factor, 2)

    def holds(self, state: "State") -> np.ndarray:
        if self.factor.root in state.columns:
            found = (state.columns[self.factor.root] == np.reshape(self.value, (-1, 1, 1))).all(axis=0)
            return found[:, None] & np.isin(np.arange(state.slots), state.layout.owners([self.factor]))[:, None, None]
        found = np.zeros((state.slots, 1, state.num_envs), dtype=bool)
        for i, slots in enumerate(state.slot_of):
            for entity in state.scenes[i].entities:
                found[slots[entity.id], 0, i] = self.fits(entity.factors)
        return found

    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        return any(issubclass(factor, self.factor) and value == self.value for factor, value in values.items())

    def specificity(self) -> Specificity:
        return (({ID: ONE, Label: LABEL}.get(self.factor, VALUE), 0),)

    def to_data(self) -> dict[str, Any]:
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"equal": [name_of(self.factor), value]}


class _Combined(Condition):
    """A combination of relations; a condition of a single entity if all parts are."""

    name = ""
    _joined: Callable[..., Any]  # of two arrays of booleans
    _hold: Callable[..., bool]
    _most: Callable[..., int]  # of priorities

    def __init__(self, *parts: Relation) -> None:
        if not parts or not all(isinstance(part, Relation) for part in parts):
            name = type(self).__name__
            raise InputError(f"{name} is of {shown(parts)}; it is of one relation or more, as IsEqual(Label, 'Ball')")
        self.parts = parts
        self.unary = all(part.unary for part in parts)
        self.spatial = any(part.spatial for part in parts)

    @property
    def conditions(self) -> list[Condition]:
        """Return the parts; raise InputError if a part concerns two entities."""
        found = [part for part in self.parts if isinstance(part, Condition) and part.unary]
        if len(found) < len(self.parts):
            raise InputError(
                f"{type(self).__name__}: a prior concerns one entity; its relation cannot be one between two"
            )
        return found

    @property
    def priority(self) -> int:
        return type(self)._most(part.priority for part in self.parts)

    def holds(self, state: "State") -> np.ndarray:
        return reduce(type(self)._joined, (part.holds(state) for part in self.parts))

    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        return type(self)._hold(part.fits(values) for part in self.conditions)

    def to_data(self) -> dict[str, Any]:
        return {self.name: [part.to_data() for part in self.conditions]}


class And(_Combined):
    """All relations hold."""

    name, _joined, _hold, _most = "and", and_, all, sum

    def specificity(self) -> Specificity:
        return tuple(sorted((each for part in self.conditions for each in part.specificity()), reverse=True))


class Or(_Combined):
    """At least one relation holds. The least specific part determines the specificity."""

    name, _joined, _hold, _most = "or", or_, any, max

    def specificity(self) -> Specificity:
        return min(part.specificity() for part in self.conditions)


def read_condition(given: Any, where: str) -> Condition:
    """Read a condition or its data {"equal": [factor, value]}, {"and": [...]}, {"or": [...]}; else raise InputError."""
    if isinstance(given, Condition):
        if not given.unary:
            raise InputError(f"{where}: the relation is of two entities; a prior has conditions on one")
        return given
    match given:
        case {"equal": [factor, value], **others} if not others:
            return IsEqual(factor_type(factor, where), value)
        case {"and": [*parts], **others} if not others:
            return And(*(read_condition(part, where) for part in parts))
        case {"or": [*parts], **others} if not others:
            return Or(*(read_condition(part, where) for part in parts))
        case _:
            raise InputError(
                f"{where}: the relation is {shown(given)}; it is {{'equal': [factor, value]}}, {{'and': [...]}} "
                "or {'or': [...]}"
            )
