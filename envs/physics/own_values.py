"""What a person's rules give: numbers within the bounds of their factors; the step that gives others is an error."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gumption.data import InputError

from .builtin_rules import FIXED_RULES
from .compat_rules import COMPAT_RULES
from .factors import BOUNDED, Factor, Velocity
from .rules import Rule
from .state import State


class OwnValues:
    """The factors of a state that rules of a person's own change; those of the built-in rules need no look."""

    def __init__(self, state: State, rules: Iterable[Rule]) -> None:
        self._state = state
        built_in = [*FIXED_RULES.values(), *COMPAT_RULES.values()]
        self._changed: dict[type[Factor], list[str]] = {}
        for rule in rules:
            for root in rule.changes if rule not in built_in else ():
                self._changed.setdefault(root, []).append(rule.name)
        parts = [
            (factor, slice(group.start, group.stop))
            for group in state.layout.groups
            for factor in group.factors
            if factor.root in self._changed and factor.base in BOUNDED
        ]
        # A velocity can be wrong because another factor is, which is told then.
        self._parts = sorted(parts, key=lambda each: (each[0].root is Velocity, each[0].__name__))

    def check(self) -> None:
        """:raises InputError: a number outside the bounds of its factor; the message names scene, entity and factor."""
        if not self._parts:
            return
        from .discs import first_outside

        state = self._state
        for factor, slots in self._parts:
            values = state.columns[factor.root][:, slots]
            d, k, i = first_outside(values, state.present[slots], factor.least, factor.most)
            if d < 0:
                continue
            value: Any = values[d, k, i].item()
            told = f" of {value}; it {factor.told(value)}" if np.isfinite(value) else " that is not finite"
            raise InputError(
                f"scene {i}: a rule gives {state.name(slots.start + k, i)} a {factor.__name__}{told}; "
                f"{factor.__name__} is changed by {', '.join(self._changed[factor.root])}"
            )
