"""What becomes of the outputs of all rules: sums, and settings of which the most specific wins, or an error."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gumption.data import InputError

from .factors import Factor, Framerate
from .rules import INCOMPARABLE, Aggregate, Differential, Output, Rule
from .state import State

_ALL = np.ones((1, 1), dtype=bool)
#: What NumPy raises where values do not fit a column.
UNFIT = (TypeError, ValueError, OverflowError)


class SlottedRule(Protocol):
    """What the resolution asks of a `CompiledRule`; see there."""

    rule: Rule
    slots: list[np.ndarray]
    places: list[Any]
    counts: tuple[int, ...]

    def speaks(self, place: int) -> np.ndarray | None:
        """(n, B) bool, the entities of a pattern that the rule concerns; None for all."""
        ...

    def anywhere(self, mask: np.ndarray, place: int) -> np.ndarray:
        """(n or 1, B or 1) bool, the entities of a pattern for which there is a row of the mask."""
        ...


class Resolution:
    """The outputs of one round of rules, which all read the same state, combined factor by factor.

    An aggregate takes the place of the old value; a differential, times dt, is added to it; an aggregate wins over
    differentials, and a setting over both. Of two settings the one of the more specific rule wins.

    :param factors: outputs for others are dropped; None for none.
    :param fixed: a factor that a rule aggregates forgets its old value where the rule applies, whatever it says, and
        every level of entity types counts for priorities; else as in the code of 2022.
    """

    def __init__(self, state: State, factors: frozenset[type[Factor]] | None, fixed: bool) -> None:
        self._state, self._factors, self._fixed = state, factors, fixed
        self._sums: dict[tuple[type[Factor], bool], tuple[np.ndarray, np.ndarray | None]] = {}
        self._settings: dict[type[Factor], list[tuple[SlottedRule, Any, Any, np.ndarray]]] = {}

    def wants(self, factor: type[Factor]) -> bool:
        """Whether outputs for the factor are kept."""
        return self._factors is None or factor in self._factors

    def add(
        self,
        kind: type[Output[Any]],
        factor: type[Factor],
        rule: SlottedRule,
        place: int,
        value: Any,
        mask: np.ndarray | None,
    ) -> None:
        """An output of a rule.

        :param place: number of the pattern whose factor it is.
        :param mask: (B, n1, ..., 1) bool, the rows that it holds for; None for all.
        """
        if not self.wants(factor):
            return
        if kind is Aggregate or kind is Differential:
            self._sum(kind is Aggregate, factor, rule, place, value, mask)
        elif mask is None or np.count_nonzero(mask):  # takes less time than any()
            self._settle(factor, rule, place, value, mask)

    def apply(self) -> None:
        """Write the new values.

        :raises InputError: rules that conflict, or that set a factor to what it cannot hold.
        """
        for (factor, aggregate), (total, said) in self._sums.items():
            column = self._state.columns[factor]
            if aggregate:
                np.copyto(column, total, where=True if said is None else said)
                continue
            change = total / self._state.parameters[Framerate]
            both = self._sums.get((factor, True))
            if both is not None:
                change = np.where(True if both[1] is None else both[1], 0.0, change)
            column += change
        for factor, settings in self._settings.items():
            try:
                self._set(factor, settings)
            except InputError:
                raise
            except UNFIT:
                raise unfit(factor, [each[0].rule.name for each in settings]) from None

    def _sum(
        self,
        aggregate: bool,
        factor: type[Factor],
        rule: SlottedRule,
        place: int,
        value: Any,
        mask: np.ndarray | None,
    ) -> None:
        counts, column = rule.counts, self._state.columns[factor]
        shape = (self._state.num_envs, *counts, len(column))
        if mask is not None:
            whole = np.zeros(shape[::-1]).T  # the batch is the last axis in memory, as in columns
            np.copyto(whole, value, where=mask)
        else:
            whole = value if np.shape(value) == shape else np.broadcast_to(value, shape)
        for axis in range(len(counts) - 1, -1, -1):
            if axis != place:
                whole = _added(whole, axis + 1)
        slots = rule.places[place]
        known = self._sums.get((factor, aggregate))
        if known is None:
            total = np.zeros(column.shape)
            said = np.zeros(column.shape[1:], dtype=bool) if aggregate else None
            self._sums[factor, aggregate] = total, said
        else:
            total, said = known
        total[:, slots] += whole.transpose(2, 1, 0)
        if said is not None:
            spoke = rule.speaks(place) if self._fixed else None if mask is None else rule.anywhere(mask, place)
            if spoke is None:
                said[slots] = True
            else:
                said[slots] |= spoke

    def _settle(self, factor: type[Factor], rule: SlottedRule, place: int, value: Any, mask: np.ndarray | None) -> None:
        counts, batch = rule.counts, self._state.num_envs
        settings = self._settings.setdefault(factor, [])
        if len(counts) == 1 or np.ndim(value) == 0:  # the same for all rows of an entity
            here = _ALL if mask is None else rule.anywhere(mask, place)
            if np.ndim(value):
                if not (isinstance(value, np.ndarray) and value.flags.owndata):
                    value = np.array(value)  # of a column that may change before this is written
                value = value.reshape((1,) * (3 - value.ndim) + value.shape).transpose(2, 1, 0)
            settings.append((rule, place, value, here))
            return
        rows = np.broadcast_to(True if mask is None else mask[..., 0], (batch, *counts))
        value = np.broadcast_to(value, (batch, *counts, len(self._state.columns[factor])))
        at = np.nonzero(rows)
        mine = at[place + 1], at[0]
        once = np.zeros((counts[place], batch), dtype=bool)
        once[mine] = True
        if np.count_nonzero(once) == len(at[0]):  # no entity has two rows
            wanted = np.zeros((value.shape[-1], *once.shape), dtype=value.dtype)
            wanted[:, *mine] = value[at].T
            settings.append((rule, place, wanted, once))
            return
        for other in np.ndindex(*(n for axis, n in enumerate(counts) if axis != place)):
            at = (slice(None), *other[:place], slice(None), *other[place:])
            here = rows[at]
            if here.any():
                settings.append((rule, place, np.array(value[at]).transpose(2, 1, 0), here.T))

    def _set(self, factor: type[Factor], settings: list[tuple[SlottedRule, Any, Any, np.ndarray]]) -> None:
        column = self._state.columns[factor]
        claimed = np.zeros(column.shape[1:], dtype=bool) if len(settings) > 1 else None
        for rule, place, values, here in settings:
            slots = rule.places[place]
            if claimed is not None:
                if (claimed[slots] & here).any():
                    self._settle_conflicts(factor, settings)
                    return
                claimed[slots] |= here
            part = column[:, slots]
            np.copyto(part, values, where=here)
            if not isinstance(slots, slice):
                column[:, slots] = part

    def _settle_conflicts(self, factor: type[Factor], settings: list[tuple[SlottedRule, Any, Any, np.ndarray]]) -> None:
        """Several rules set a factor of one entity: the most specific wins, or there is an error."""
        column = self._state.columns[factor]
        taken = np.full(column.shape[1:], -1)
        by = np.zeros(column.shape[1:], dtype=np.int64)
        new = column.copy()
        for number, (rule, place, values, here) in enumerate(settings):
            priority = rule.rule.priority(self._fixed)
            slots = rule.places[place]
            claimed = taken[slots]
            tied = (claimed == priority) | (claimed == INCOMPARABLE)
            if priority == INCOMPARABLE:
                tied |= claimed >= 0
            differs = here & tied & (new[:, slots] != values).any(axis=0)
            if differs.any():
                slot, i = (int(each[0]) for each in np.nonzero(differs))
                first = settings[int(by[slots][slot, i])][0].rule.name
                raise conflict(self._state, factor, first, rule.rule.name, int(rule.slots[place][slot]), i)
            wins = here & (priority >= claimed)
            part, who = new[:, slots], by[slots]
            np.copyto(part, values, where=wins)
            np.copyto(claimed, priority, where=wins)
            np.copyto(who, number, where=wins)
            new[:, slots], taken[slots], by[slots] = part, claimed, who
        column[:] = new


def conflict(state: State, factor: type[Factor], first: str, second: str, slot: int, i: int) -> InputError:
    """The error of two rules that set a factor of the entity in a slot of scene i to different values."""
    return InputError(
        f"the rules {first} and {second} set {factor.__name__} of {state.name(slot, i)} to different values, and "
        "neither is more specific: give one of them a condition, such as entity_type="
    )


def unfit(factor: type[Factor], rules: Sequence[str]) -> InputError:
    """The error of rules that give a factor values of another kind, such as fractions where it is a whole number, or
    arrays of another shape.
    """
    wanted = {"int": "whole number", "bool": "True or False", "vector": "pair of numbers"}.get(factor.base, "number")
    names = " or ".join(rules)
    return InputError(f"the rule {names} gives {factor.__name__} something else than a {wanted} for each row")


def _added(values: np.ndarray, axis: int) -> np.ndarray:
    """The sum over an axis, one after the other: its rounding must not depend on the size of the batch."""
    before = (slice(None),) * axis
    total = values[(*before, 0)]
    for k in range(1, values.shape[axis]):
        total = total + values[(*before, k)]
    return total
