"""Conditions on one entity, of priors and of rules: a factor has a value, and conditions combined."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown

from .factors import ID, Factor, Label, read_value
from .scene import factor_type

if TYPE_CHECKING:
    from .state import State


# ---- Relations between entities, as conditions of rules: boolean arrays, calculated once and shared by the rules.


class Relation:
    """What must hold between the first entity of a rule and the second, or of one entity; see conditions.py for these.

    :cvar spatial: it says what lies on what.
    """

    spatial: ClassVar[bool] = False

    @property
    def priority(self) -> int:
        """How specific it is; see `Rule.priority`."""
        return 1

    @property
    def unary(self) -> bool:
        """It concerns one entity."""
        return False

    def holds(self, state: "State") -> np.ndarray:
        """(N, N, B) bool: [i, j] of the first entity in slot i and the second in j; of one entity (N, 1, B)."""
        raise NotImplementedError


@dataclass(frozen=True)
class IsOn(Relation):
    """The second is the topmost floor below the first, or has no position, as the floor of the whole arena."""

    spatial: ClassVar[bool] = True

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        from .geometry import is_on

        return is_on(state, whole=False)


@dataclass(frozen=True)
class Contains(Relation):
    """The second is the topmost floor below the first, and the first lies on it as a whole."""

    spatial: ClassVar[bool] = True

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        from .geometry import is_on

        return is_on(state, whole=True)


@dataclass(frozen=True)
class Overlaps(Relation):
    """They lie on one another."""

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        from .geometry import overlaps

        return overlaps(state)


#: How specific a condition is: its parts, the strongest first; see `gumption.envs.physics.initialization`.
Specificity = tuple[tuple[int, int], ...]

#: Kinds of parts, from the weakest on: a value of a factor, that there is a factor, a type, a label, one entity.
VALUE, FACTOR, TYPE, LABEL, ONE = range(1, 6)


class Condition(Relation, ABC):
    """Something that holds for an entity or not: of priors, and of rules as a relation of one entity."""

    @property
    def unary(self) -> bool:
        return True

    @abstractmethod
    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        """Whether it holds for an entity with these values."""

    @abstractmethod
    def specificity(self) -> Specificity:
        """Its parts, the strongest first."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """As it stands in a file."""


@dataclass(frozen=True)
class IsEqual(Condition):
    """A factor has a value.

    :raises InputError: a factor that there is not, or a value that does not fit it.
    """

    factor: type[Factor]
    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", factor_type(self.factor, "IsEqual"))
        object.__setattr__(self, "value", read_value(self.factor, self.value, "IsEqual"))

    @property
    def priority(self) -> int:
        """A name is more specific than a value."""
        return {ID: 8, Label: 7}.get(self.factor, 2)

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
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
        return {"equal": [self.factor.__name__, value]}


class _Combined(Condition):
    """Relations combined; a condition of one entity where all of them are."""

    name = ""

    def __init__(self, *parts: Relation) -> None:
        if not parts or not all(isinstance(part, Relation) for part in parts):
            name = type(self).__name__
            raise InputError(f"{name} is of {shown(parts)}; it is of one relation or more, as IsEqual(Label, 'Ball')")
        self.parts = parts

    @property
    def unary(self) -> bool:
        """All parts are."""
        return all(part.unary for part in self.parts)

    @property
    def spatial(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A part is."""
        return any(part.spatial for part in self.parts)

    @property
    def conditions(self) -> list[Condition]:
        """The parts, where all concern one entity.

        :raises InputError: one does not.
        """
        found = [part for part in self.parts if isinstance(part, Condition) and part.unary]
        if len(found) < len(self.parts):
            raise InputError(
                f"{type(self).__name__}: a prior concerns one entity, so that nothing lies on another there"
            )
        return found

    def to_data(self) -> dict[str, Any]:
        return {self.name: [part.to_data() for part in self.conditions]}


class And(_Combined):
    """All of some relations hold."""

    name = "and"

    @property
    def priority(self) -> int:
        """The sum."""
        return sum(part.priority for part in self.parts)

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        return reduce(and_, (part.holds(state) for part in self.parts))

    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        return all(part.fits(values) for part in self.conditions)

    def specificity(self) -> Specificity:
        return tuple(sorted((each for part in self.conditions for each in part.specificity()), reverse=True))


class Or(_Combined):
    """At least one of some relations holds. It is as specific as the least specific of them."""

    name = "or"

    @property
    def priority(self) -> int:
        """The largest one."""
        return max(part.priority for part in self.parts)

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        return reduce(or_, (part.holds(state) for part in self.parts))

    def fits(self, values: Mapping[type[Factor], Any]) -> bool:
        return any(part.fits(values) for part in self.conditions)

    def specificity(self) -> Specificity:
        return min(part.specificity() for part in self.conditions)


def read_condition(given: Any, where: str) -> Condition:
    """A condition, or one of data: {"equal": [factor, value]}, {"and": [...]} or {"or": [...]}.

    :raises InputError: anything else.
    """
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
