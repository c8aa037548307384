"""What becomes of the outputs of all rules: sums, and settings of which the most specific wins, or an error."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError

from .factors import Factor, Framerate
from .rules import Aggregate, Differential, Output
from .state import State

if TYPE_CHECKING:
    from .compiled_rules import CompiledRule


class Resolution:
    """The outputs of one round of rules, which all read the same state, combined factor by factor.

    An aggregate takes the place of the old value; a differential, times dt, is added to it; an aggregate wins over
    differentials, and a setting over both. Of two settings the one of the more specific rule wins.

    :param factors: outputs for others are dropped; None for none.
    :param forgets: a factor that a rule aggregates forgets its old value where the rule applies, whatever it says.
    :param deep: see `Rule.priority`.
    """

    def __init__(self, state: State, factors: frozenset[type[Factor]] | None, forgets: bool, deep: bool) -> None:
        self._state, self._factors, self._forgets, self._deep = state, factors, forgets, deep
        self._sums: dict[tuple[type[Factor], bool], tuple[np.ndarray, np.ndarray | None]] = {}
        self._settings: dict[type[Factor], list[tuple[CompiledRule, Any, Any, np.ndarray]]] = {}

    def add(
        self,
        kind: type[Output[Any]],
        factor: type[Factor],
        rule: "CompiledRule",
        place: int,
        value: Any,
        where: Any,
        mask: np.ndarray | None,
        static: np.ndarray | None,
    ) -> None:
        """An output of a rule.

        :param place: number of the pattern whose factor it is.
        :param where: of the output; `mask` of the rows that the rule applies to, `static` without its relation.
        """
        if self._factors is not None and factor not in self._factors:
            return
        if where is not None:
            mask = where if mask is None else mask & where
        if kind is Aggregate or kind is Differential:
            self._sum(kind is Aggregate, factor, rule, place, value, mask, static)
        elif mask is None or mask.any():
            self._settle(factor, rule, place, value, mask)

    def apply(self) -> None:
        """Write the new values."""
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
            self._set(factor, settings)

    def _sum(
        self,
        aggregate: bool,
        factor: type[Factor],
        rule: "CompiledRule",
        place: int,
        value: Any,
        mask: np.ndarray | None,
        static: np.ndarray | None,
    ) -> None:
        counts = rule.counts
        shape = (self._state.num_envs, *counts)
        if mask is not None:
            value = np.where(mask, value, 0.0)
        whole = np.broadcast_to(value, (*shape, self._state.columns[factor].shape[0]))
        others = [axis + 1 for axis in range(len(counts)) if axis != place]
        for axis in reversed(others):
            whole = _added(whole, axis)
        slots = rule.places[place]
        known = self._sums.get((factor, aggregate))
        if known is None:
            total = np.zeros(self._state.columns[factor].shape)
            said = np.zeros(total.shape[1:], dtype=bool) if aggregate else None
        else:
            total, said = known
        total[:, slots] += whole.transpose(2, 1, 0)
        if said is not None:
            spoke = static if self._forgets else mask
            if spoke is None:
                said[slots] = True
            else:
                rows = np.broadcast_to(spoke[..., 0], shape)
                said[slots] |= rows.any(axis=tuple(others)).T if others else rows.T
        self._sums[factor, aggregate] = total, said

    def _settle(
        self, factor: type[Factor], rule: "CompiledRule", place: int, value: Any, mask: np.ndarray | None
    ) -> None:
        counts = rule.counts
        width, batch = self._state.columns[factor].shape[0], self._state.num_envs
        rows = np.broadcast_to(True if mask is None else mask[..., 0], (batch, *counts))
        settings = self._settings.setdefault(factor, [])
        others = tuple(axis + 1 for axis in range(len(counts)) if axis != place)
        if not others or np.ndim(value) == 0:  # the same for all rows of an entity
            here = rows.any(axis=others) if others else rows
            wanted = np.broadcast_to(value, (batch, counts[place], width))
            settings.append((rule, place, wanted if np.ndim(value) == 0 else wanted.copy(), here))
            return
        for other in np.ndindex(*(n for axis, n in enumerate(counts) if axis != place)):
            at = (slice(None), *other[:place], slice(None), *other[place:])
            here = rows[at]
            if here.any():
                wanted = np.array(np.broadcast_to(value, (batch, *counts, width))[at])
                settings.append((rule, place, wanted, here))

    def _set(self, factor: type[Factor], settings: list[tuple["CompiledRule", Any, Any, np.ndarray]]) -> None:
        column = self._state.columns[factor]
        if len(settings) == 1:
            rule, place, wanted, here = settings[0]
            slots = rule.places[place]
            part = column[:, slots]
            np.copyto(part, wanted.transpose(2, 1, 0), where=here.T)
            column[:, slots] = part
            return
        taken = np.full(column.shape[1:], -1)
        by = np.zeros(column.shape[1:], dtype=np.int64)
        new = column.copy()
        for number, (rule, place, wanted, here) in enumerate(settings):
            priority = rule.rule.priority(self._deep)
            slots = rule.places[place]
            claimed, values = taken[slots], wanted.transpose(2, 1, 0)
            differs = here.T & (claimed == priority) & (new[:, slots] != values).any(axis=0)
            if differs.any():
                slot, i = (int(each[0]) for each in np.nonzero(differs))
                first = settings[int(by[slots][slot, i])][0].rule.name
                name = self._name(rule.slots[place][slot], i)
                raise InputError(
                    f"the rules {first} and {rule.rule.name} set {factor.__name__} of {name} to different values, and "
                    "neither is more specific: give one of them a condition, such as entity_type="
                )
            wins = here.T & (priority >= claimed)
            part, who = new[:, slots], by[slots]
            np.copyto(part, values, where=wins)
            np.copyto(claimed, priority, where=wins)
            np.copyto(who, number, where=wins)
            new[:, slots], taken[slots], by[slots] = part, claimed, who
        column[:] = new

    def _name(self, slot: int, i: int) -> str:
        return next((repr(name) for name, mine in self._state.slot_of[i].items() if mine == slot), f"slot {slot}")


def _added(values: np.ndarray, axis: int) -> np.ndarray:
    """The sum over an axis, one after the other: its rounding must not depend on the size of the batch."""
    parts = np.moveaxis(values, axis, 0)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
