"""The order in which a step applies rules: those of other factors, those of velocities, then motion (SEGAR, B.3)."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from .factors import Factor, Order, Position, Velocity
from .rules import Rule


class Compiled(Protocol):
    """A rule that is compiled for a scene."""

    @property
    def rule(self) -> Rule:
        """What was compiled."""
        ...


R = TypeVar("R", bound=Compiled)


class Schedule(NamedTuple, Generic[R]):
    """The compiled rules of a simulator by when they are applied.

    :ivar rounds: the rules of each round, and the factors that they may change in it.
    :ivar drifts: what changes positions beside the built-in rule `move`.
    :ivar moves: whether `move` is among the rules. :ivar reorders: whether one changes Order.
    """

    rounds: tuple[tuple[list[R], frozenset[type[Factor]]], ...]
    drifts: list[R]
    moves: bool
    reorders: bool


def schedule(rules: Sequence[R], numeric: frozenset[type[Factor]], move: Rule) -> Schedule[R]:
    """:param rules: those that reach an entity. :param numeric: the factors that are columns of numbers."""
    wanted = numeric - {Position, Velocity}, frozenset([Velocity])
    return Schedule(
        tuple(([each for each in rules if each.rule.changes & factors], factors) for factors in wanted),
        [each for each in rules if Position in each.rule.changes and each.rule is not move],
        any(each.rule is move for each in rules),
        any(Order in each.rule.changes for each in rules),
    )
