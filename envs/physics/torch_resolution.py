"""What becomes of the outputs of all rules on torch tensors; see resolution.py, whose preset "fixed" it follows."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from .factors import Factor, Framerate
from .resolution import unfit
from .rules import Aggregate, Differential, Output, Rule
from .torch_state import TensorState


class PlacedRule(Protocol):
    """What the resolution asks of a `TensorRule`; see there."""

    rule: Rule
    slots: list[np.ndarray]
    counts: tuple[int, ...]
    at: list[Any]
    spoken: list[Tensor | None]


class Setting(NamedTuple):
    """A rule sets slots to values (d, n or 1, B or 1) where `here` (n or 1, B or 1) says so."""

    rule: PlacedRule
    place: int
    values: Tensor
    here: Tensor


class TensorResolution:
    """The outputs of one round of rules, combined factor by factor; see `Resolution`.

    :param factors: outputs for others are dropped.
    """

    def __init__(self, state: TensorState, factors: frozenset[type[Factor]] | None) -> None:
        self._state, self._factors = state, factors
        self._sums: dict[tuple[type[Factor], bool], tuple[Tensor, Tensor]] = {}
        self._settings: dict[type[Factor], list[Setting]] = {}

    def put(
        self, kind: type[Output[Any]], factor: type[Factor], rule: PlacedRule, place: int, value: Tensor,
        mask: Tensor | None,
    ) -> None:  # fmt: skip
        """An output of a rule; arguments as of `Resolution.add`."""
        if self._factors is not None and factor not in self._factors:
            return
        if kind is Aggregate or kind is Differential:
            self._sum(kind is Aggregate, factor, rule, place, value, mask)
        else:
            self._settings.setdefault(factor, []).append(self._setting(factor, rule, place, value, mask))

    def apply(self) -> None:
        """Write the new values. Two settings that conflict are kept as a fault."""
        new = dict[type[Factor], Tensor]()
        for (factor, aggregate), (total, said) in self._sums.items():
            column = new.get(factor, self._state.tensors[factor])
            if aggregate:
                new[factor] = torch.where(said, total, column)
                continue
            change = total / self._state.parameters[Framerate].tensor
            both = self._sums.get((factor, True))
            new[factor] = column + (change if both is None else torch.where(both[1], 0.0, change))
        for factor, settings in self._settings.items():
            new[factor] = self._set(factor, settings, new.get(factor, self._state.tensors[factor]))
        for factor, column in new.items():
            self._state.tensors[factor].copy_(column)

    def _sum(
        self, aggregate: bool, factor: type[Factor], rule: PlacedRule, place: int, value: Tensor, mask: Tensor | None
    ) -> None:
        column = self._state.tensors[factor]
        if mask is not None:
            value = torch.where(mask, value, 0.0)
        value = value.expand(self._state.num_envs, *rule.counts, len(column))
        others = tuple(axis + 1 for axis in range(len(rule.counts)) if axis != place)
        summed = (value.sum(dim=others) if others else value).permute(2, 1, 0)
        if (factor, aggregate) not in self._sums:
            real = self._state.numbers.real
            total = torch.zeros(column.shape, dtype=real, device=column.device)
            self._sums[factor, aggregate] = total, torch.zeros(column.shape[1:], dtype=torch.bool, device=column.device)
        total, said = self._sums[factor, aggregate]
        at, spoke = rule.at[place], rule.spoken[place]
        total[:, at] += summed
        if aggregate:
            said[at] = torch.ones_like(said[at]) if spoke is None else said[at] | spoke

    def _setting(
        self, factor: type[Factor], rule: PlacedRule, place: int, value: Tensor, mask: Tensor | None
    ) -> Setting:
        """Of a rule of several entities: what it says of each, which must be the same in all rows."""
        width, column = len(self._state.tensors[factor]), self._state.tensors[factor]
        if value.is_floating_point() and not column.is_floating_point():
            raise unfit(factor, [rule.rule.name])
        value = value.to(column.dtype)
        if mask is None:
            mask = torch.ones((1,) * (len(rule.counts) + 2), dtype=torch.bool, device=column.device)
        if len(rule.counts) == 1:
            value = value.reshape((1,) * (3 - value.ndim) + tuple(value.shape))
            return Setting(rule, place, value.permute(2, 1, 0), mask[..., 0].T)
        batch, n = self._state.num_envs, rule.counts[place]
        rows = mask[..., 0].expand(batch, *rule.counts).movedim(place + 1, -1).reshape(batch, -1, n)
        if value.ndim == 0:
            return Setting(rule, place, value.reshape(1, 1, 1), rows.any(dim=1).T)
        values = value.expand(batch, *rule.counts, width).movedim(place + 1, -2).reshape(batch, -1, n, width)
        first = rows.int().argmax(dim=1, keepdim=True)
        chosen = values.gather(1, first[..., None].expand(batch, 1, n, width))
        differs = (rows & (values != chosen).any(dim=-1)).any(dim=1)  # (B, n)
        here = rows.any(dim=1)
        self._state.faults.add(f"{factor.__name__} {rule.rule.name}", differs, self._told(factor, rule, rule, place))
        return Setting(rule, place, chosen[:, 0].permute(2, 1, 0), here.T)

    def _set(self, factor: type[Factor], settings: list[Setting], column: Tensor) -> Tensor:
        """The column with the most specific settings written."""
        if len(settings) > 1:
            self._find_conflicts(factor, settings, column)
        ranked = sorted(settings, key=lambda each: each.rule.rule.priority(True))  # of equals the later is written last
        for rule, place, values, here in ranked:
            at = rule.at[place]
            part = torch.where(here, values, column[:, at])
            column = column.clone()
            column[:, at] = part
        return column

    def _find_conflicts(self, factor: type[Factor], settings: list[Setting], column: Tensor) -> None:
        """Two rules, neither more specific, that set a factor of one entity to different values."""
        full = {}
        priorities = [each.rule.rule.priority(True) for each in settings]
        for second, later in enumerate(settings):
            for first, earlier in enumerate(settings[:second]):
                shared = np.intersect1d(earlier.rule.slots[earlier.place], later.rule.slots[later.place])
                if priorities[first] != priorities[second] or not len(shared) or earlier.values is later.values:
                    continue
                for number in (*range(second), second):
                    if number not in full:
                        full[number] = self._spread(settings[number], column)
                (one, here), (two, there) = full[first], full[second]
                differs = here & there & (one != two).any(dim=0)
                for number in range(second):
                    if priorities[number] > priorities[second]:
                        differs = differs & ~full[number][1]
                name = f"{factor.__name__} {earlier.rule.rule.name} {later.rule.rule.name}"
                self._state.faults.add(name, differs.T, self._told(factor, earlier.rule, later.rule, None))

    def _spread(self, setting: Setting, column: Tensor) -> tuple[Tensor, Tensor]:
        """The values and rows of a setting for all slots."""
        rule, place, values, here = setting
        all_values, rows = torch.zeros_like(column), torch.zeros_like(column[0], dtype=torch.bool)
        all_values[:, rule.at[place]] = values
        rows[rule.at[place]] = here
        return all_values, rows

    def _told(
        self, factor: type[Factor], first: PlacedRule, second: PlacedRule, place: int | None
    ) -> Callable[[int], str]:
        """The message for a place in (B, n): slots of the pattern, or all."""

        def told(index: int) -> str:
            i, k = divmod(index, self._state.slots if place is None else second.counts[place])
            name = self._state.host.name(k if place is None else int(second.slots[place][k]), i)
            return (
                f"the rules {first.rule.name} and {second.rule.name} set {factor.__name__} of {name} to different "
                "values, and neither is more specific: give one of them a condition, such as entity_type="
            )

        return told
