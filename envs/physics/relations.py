"""Relations between entities, as conditions of rules: boolean arrays, calculated once and shared by the rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .factors import ID, Factor, Label

if TYPE_CHECKING:
    from .state import State


class Relation:
    """What must hold between the first entity of a rule and the second, or of one entity.

    :cvar priority: how specific it is; see `Rule.priority`.
    :cvar unary: it concerns one entity.
    :cvar spatial: it says what lies on what.
    """

    priority: ClassVar[int] = 1
    spatial: ClassVar[bool] = False
    unary: ClassVar[bool] = False

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
class IsEqual(Relation):
    """A factor of the entity has this value."""

    factor: type[Factor]
    value: Any
    unary: ClassVar[bool] = True

    @property
    def priority(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
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
                found[slots[entity.id], 0, i] = entity.factors.get(self.factor) == self.value
        return found


@dataclass(frozen=True)
class And(Relation):
    """Both hold."""

    one: Relation
    other: Relation

    @property
    def priority(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The sum."""
        return self.one.priority + self.other.priority

    @property
    def unary(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Both are."""
        return self.one.unary and self.other.unary

    @property
    def spatial(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One of them is."""
        return self.one.spatial or self.other.spatial

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        return self.one.holds(state) & self.other.holds(state)


@dataclass(frozen=True)
class Or(Relation):
    """One of them holds at least."""

    one: Relation
    other: Relation

    @property
    def priority(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The larger one."""
        return max(self.one.priority, self.other.priority)

    @property
    def unary(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Both are."""
        return self.one.unary and self.other.unary

    @property
    def spatial(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One of them is."""
        return self.one.spatial or self.other.spatial

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        return self.one.holds(state) | self.other.holds(state)


@dataclass(frozen=True)
class Overlaps(Relation):
    """They lie on one another."""

    def holds(self, state: "State") -> np.ndarray:
        """See `Relation.holds`."""
        from .geometry import overlaps

        return overlaps(state)
