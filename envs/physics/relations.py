"""Relations between entities, as conditions of rules: boolean arrays, calculated once and shared by the rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from .state import State


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
