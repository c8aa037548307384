"""Conflicts of rules that are certain before the first step.

Two rules conflict in every step where each sets a factor of the same entity without any condition that can be false (no
relation, no `where=`), to constants that differ, and neither is more specific. Values that are calculated from factors
may be equal, so that such rules are only compared when they are applied.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .compiled_rules import CompiledRule
from .factors import Factor
from .resolution import Resolution, conflict
from .rules import INCOMPARABLE, Output, SetFactor
from .state import State


def check_conflicts(state: State, rules: Sequence[CompiledRule], fixed: bool) -> None:
    """:param fixed: see `Resolution`.
    :raises InputError: two rules that are certain to conflict; the message names both, the factor and the entity.
    """
    counts: dict[type[Factor], int] = {}
    unrelated = [each for each in rules if each.rule.relation is None]
    for factor in (factor for each in unrelated for factor in each.rule.sets):
        counts[factor] = counts.get(factor, 0) + 1
    shared = frozenset(factor for factor, count in counts.items() if count > 1)
    constants = _Constants(state, shared, fixed)
    for each in unrelated:
        if each.rule.sets & shared:
            each.evaluate({}, constants)
    for factor, settings in constants.found.items():
        for (one, mine, value), (other, its, another) in combinations(settings, 2):
            both = mine & its
            if both.any() and _tied(one, other, fixed) and np.any(np.asarray(value) != np.asarray(another)):
                slot, i = (int(each[0]) for each in np.nonzero(both))
                raise conflict(state, factor, one.rule.name, other.rule.name, slot, i)


class _Constants(Resolution):
    """Keeps the constants that rules set, and for which entities they do without conditions.

    :ivar found: factor -> (rule, (N, B) bool, constant).
    """

    def __init__(self, state: State, factors: frozenset[type[Factor]], fixed: bool) -> None:
        super().__init__(state, factors, fixed)
        self._present, self._wanted = state.present, factors
        self.found: dict[type[Factor], list[tuple[CompiledRule, np.ndarray, Any]]] = {}

    def add(
        self, kind: type[Output[Any]], factor: type[Factor], rule: Any, place: int, value: Any, mask: np.ndarray | None
    ) -> None:
        """See `Resolution.add`; only what is constant and has no condition is kept."""
        if kind is not SetFactor or factor not in self._wanted or isinstance(value, np.ndarray | np.generic):
            return
        if mask is not rule.applies({}):
            return
        said, spoke = np.zeros(self._present.shape, dtype=bool), rule.speaks(place)
        said[rule.slots[place]] = True if spoke is None else spoke
        self.found.setdefault(factor, []).append((rule, said & self._present, value))


def _tied(one: CompiledRule, other: CompiledRule, fixed: bool) -> bool:
    priorities = {each.rule.priority(fixed) for each in (one, other)}
    return len(priorities) == 1 or INCOMPARABLE in priorities
