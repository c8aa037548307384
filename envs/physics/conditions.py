"""Conditions on one entity, which priors can have: a factor has a value, and conditions combined."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gumption.data import InputError
from gumption.data.wording import shown

from .factors import ID, Factor, Label
from .scene import factor_type, read_value

#: How specific a condition is: its parts, the strongest first; see `gumption.envs.physics.priors`.
Specificity = tuple[tuple[int, int], ...]

#: Kinds of parts, from the weakest on: a value of a factor, that there is a factor, a type, a label, one entity.
VALUE, FACTOR, TYPE, LABEL, ONE = range(1, 6)


class Condition(ABC):
    """Something that holds for an entity or not."""

    @abstractmethod
    def holds(self, values: Mapping[type[Factor], Any]) -> bool:
        """Whether it holds for an entity with these values."""

    @abstractmethod
    def specificity(self) -> Specificity:
        """Its parts, the strongest first."""

    @abstractmethod
    def rank_2022(self) -> int:
        """How specific the first release of SEGAR took it to be."""

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

    def holds(self, values: Mapping[type[Factor], Any]) -> bool:
        return any(issubclass(factor, self.factor) and value == self.value for factor, value in values.items())

    def specificity(self) -> Specificity:
        return (({ID: ONE, Label: LABEL}.get(self.factor, VALUE), 0),)

    def rank_2022(self) -> int:
        return {ID: 8, Label: 7}.get(self.factor, 2)

    def to_data(self) -> dict[str, Any]:
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"equal": [self.factor.__name__, value]}


class And(Condition):
    """All of some conditions hold."""

    def __init__(self, *parts: Condition) -> None:
        self.parts = _read_parts(parts, "And")

    def holds(self, values: Mapping[type[Factor], Any]) -> bool:
        return all(part.holds(values) for part in self.parts)

    def specificity(self) -> Specificity:
        return tuple(sorted((each for part in self.parts for each in part.specificity()), reverse=True))

    def rank_2022(self) -> int:
        return sum(part.rank_2022() for part in self.parts)

    def to_data(self) -> dict[str, Any]:
        return {"and": [part.to_data() for part in self.parts]}


class Or(Condition):
    """At least one of some conditions holds. It is as specific as the least specific of them."""

    def __init__(self, *parts: Condition) -> None:
        self.parts = _read_parts(parts, "Or")

    def holds(self, values: Mapping[type[Factor], Any]) -> bool:
        return any(part.holds(values) for part in self.parts)

    def specificity(self) -> Specificity:
        return min(part.specificity() for part in self.parts)

    def rank_2022(self) -> int:
        return max(part.rank_2022() for part in self.parts)

    def to_data(self) -> dict[str, Any]:
        return {"or": [part.to_data() for part in self.parts]}


def read_condition(given: Any, where: str) -> Condition:
    """A condition, or one of data: {"equal": [factor, value]}, {"and": [...]} or {"or": [...]}.

    :raises InputError: anything else.
    """
    if isinstance(given, Condition):
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


def _read_parts(parts: Sequence[Any], name: str) -> tuple[Condition, ...]:
    if not parts or not all(isinstance(part, Condition) for part in parts):
        raise InputError(f"{name} is of {shown(parts)}; it is of one condition or more, such as IsEqual(Label, 'Ball')")
    return tuple(parts)
