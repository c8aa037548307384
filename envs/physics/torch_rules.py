"""Rules on torch tensors: the same functions as with NumPy, and what becomes of their outputs."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from gumption.data import InputError

from .compiled_rules import CompiledRule, listed
from .conditions import And, IsEqual, Or
from .factors import Factor, Floor, Framerate, Position, Size
from .geometry import EPS
from .relations import Contains, IsOn, Overlaps, Relation
from .resolution import unfit
from .rules import Aggregate, Differential, Output, Rule
from .state import CIRCLE, POLYGON, State
from .torch_state import TensorState

# ---- What becomes of the outputs of all rules on torch tensors; see resolution.py, whose preset "fixed" it follows.


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


# ---- Rules


class TensorRule(CompiledRule):
    """A `CompiledRule` that is called with tensors.

    :raises InputError: the relation or the function does something that there is not for tensors.
    """

    def __init__(self, rule: Rule, host: State, state: TensorState) -> None:
        super().__init__(replace(rule, relation=None), host, exact=False)
        mask = self.applies({})
        self._rows = None if mask is None else state.moved(mask)
        spoken = [self.speaks(place) for place in range(len(self.slots))]
        #: For each pattern (n, B), the entities that the rule concerns, whatever its relation; None for all.
        self.spoken = [None if rows is None else state.moved(rows) for rows in spoken]
        self.rule = rule
        self.tensor_state = state
        self._state = state  # pyright: ignore[reportAttributeAccessIssue]
        static = self._is_static()
        self._given = self._gather() if static else None
        #: Indices of each pattern's slots: a slice, or a tensor.
        self.at: list[Any] = [p if isinstance(p, slice) else state.numbers.tensor(p) for p in self.places]
        if rule.relation is not None:
            _check_relation(rule.relation, rule.name)

    def call(self, relations: dict[Relation, Tensor], resolution: TensorResolution) -> None:
        """Call the rule and hand its outputs on."""
        numbers = self.tensor_state.numbers
        mask = self._rows_now(relations)
        arguments, sources = self._gather() if self._given is None else self._given
        try:
            outputs = self.rule.function(*arguments)
        except InputError as error:
            raise InputError(f"the rule {self.rule.name} cannot run on tensors: {error}") from None
        except AttributeError as error:
            if "an array on the device" not in str(error):
                raise
            raise InputError(
                f"the rule {self.rule.name} cannot run on tensors: {error}. It is a rule of single values; a simulator "
                "without device= calls it for each row"
            ) from None
        for output in listed(outputs, self.rule):
            place, factor = self._target(output, sources)
            here = mask
            if output.where is not None:
                where = numbers.tensor(output.where)
                if where.ndim <= 1:  # one truth for all rows
                    where = where.reshape((1,) * (len(self.counts) + 2))
                here = where if mask is None else mask & where
            resolution.put(type(output), factor, self, place, numbers.tensor(output.value), here)

    def _rows_now(self, relations: dict[Relation, Tensor]) -> Tensor | None:
        relation = self.rule.relation
        if relation is None:
            return self._rows
        if relation not in relations:
            relations[relation] = _holds(relation, self.tensor_state)
        first = relations[relation][self.at[0]]
        if relation.unary:
            rows = first[:, 0].T.reshape(self.tensor_state.num_envs, -1, *[1] * len(self.slots))
        else:
            rows = first[:, self.at[1]].permute(2, 0, 1)[..., None]
        return rows if self._rows is None else self._rows & rows


def _check_relation(relation: Relation, name: str) -> None:
    if isinstance(relation, And | Or):
        for part in relation.parts:
            _check_relation(part, name)
    elif not isinstance(relation, IsOn | Contains | Overlaps | IsEqual):
        raise InputError(
            f"the rule {name} has the relation {type(relation).__name__}, which there is not for tensors; a simulator "
            "without device= runs it"
        )


def _holds(relation: Relation, state: TensorState) -> Tensor:
    """As `Relation.holds`."""
    match relation:
        case IsOn() | Contains():
            return is_on(state, whole=isinstance(relation, Contains))
        case Overlaps():
            return overlaps(state)
        case And() | Or():
            return reduce(and_ if isinstance(relation, And) else or_, (_holds(part, state) for part in relation.parts))
        case IsEqual() if relation.factor.root in state.tensors:
            found = relation.holds(state)  # pyright: ignore[reportArgumentType]  # it reads columns alone
            return state.numbers.tensor(found)
        case _:  # of texts, which never change
            if relation not in state.of_texts:
                state.of_texts[relation] = state.moved(relation.holds(state.host))
            return state.of_texts[relation]


def evaluated_on_device(
    state: TensorState, rules: Iterable[TensorRule], wanted: frozenset[type[Factor]] | None
) -> TensorResolution:
    """What the rules say of the state as it is; see `evaluated`."""
    resolution, relations = TensorResolution(state, wanted), dict[Relation, Tensor]()
    for each in rules:
        each.call(relations, resolution)
    return resolution


# ---- Who lies on whom, in torch tensors; the same formulas as in geometry.py.


def is_on(state: TensorState, whole: bool) -> Tensor:
    """(N, N, B) bool; see `geometry.is_on`."""
    n, batch = state.slots, state.num_envs
    floors, placed = state.host.marks(Floor), state.host.marks(Position)
    things, tiles, grounds = ((~floors & placed).nonzero()[0], floors.nonzero()[0], (~placed).nonzero()[0])
    found = torch.zeros((n, n, batch), dtype=torch.bool, device=state.numbers.device)
    i = state.numbers.tensor(things)
    if len(things) and len(tiles):
        j = state.numbers.tensor(tiles)
        over, inside = _lies_on(state, i, j)
        over = over & state.present[i][:, None] & state.present[j]
        rank = torch.where(over, state.rank[j], n)
        top = over & (rank == rank.amin(dim=1, keepdim=True))
        found[i[:, None], j] = top & inside if whole else top
    if len(things) and len(grounds) and not whole:
        j = state.numbers.tensor(grounds)
        found[i[:, None], j] = state.present[i][:, None] & state.present[j]
    return found


def overlaps(state: TensorState) -> Tensor:
    """(N, N, B) bool; see `geometry.overlaps`."""
    placed = state.numbers.tensor(state.host.marks(Position))[:, None]
    there = state.present & placed
    slots = torch.arange(state.slots, device=state.numbers.device)
    over, _ = _lies_on(state, slots, slots)
    round_one = (state.kinds == POLYGON)[:, None] & (state.kinds != POLYGON)
    over = torch.where(round_one, over.transpose(0, 1), over)
    return over & there[:, None] & there & (slots[:, None] != slots)[..., None]


def _lies_on(state: TensorState, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """(n, m, B) whether circles (or points) i and j overlap, or the centre of i is inside polygon j; and whether i lies
    inside j as a whole.
    """
    size, x = _size(state), state.tensors[Position]
    apart = x[:, i][:, :, None] - x[:, j][:, None]
    radius = torch.where(state.kinds[i] == CIRCLE, size[i] / 2, 0.0)[:, None]
    distance = (apart[0] * apart[0] + apart[1] * apart[1]).sqrt()
    circle, half = state.kinds[j] == CIRCLE, size[j] / 2
    over, inside = circle & (distance <= half + radius + EPS), circle & (distance <= half - radius)
    if not state.polygons:
        return over, inside
    polygon, depth = state.kinds[j] == POLYGON, _depth(state, apart, j, size)
    return over | polygon & (depth >= 0.0), inside | polygon & (depth >= radius)


def _size(state: TensorState) -> Tensor:
    return state.tensors[Size][0] if Size in state.tensors else torch.zeros_like(state.drawn_size)


def _depth(state: TensorState, point: Tensor, j: Tensor, size: Tensor) -> Tensor:
    """(n, m, B) how far points (2, n, m, B), relative to the positions of polygons j, lie inside; else negative."""
    scale = size[j] / state.drawn_size[j]
    corners = state.corners[:, :, j] * scale
    count, most = state.corner_counts[j], len(corners)
    numbers = torch.arange(most, device=count.device)[:, None, None]
    there = numbers < count
    last = (numbers - 1).expand(there.shape).clone()
    last[0] = (count - 1).clamp(min=0)
    before = corners.gather(0, last[:, None].expand(corners.shape))
    edge = corners - before
    ex, ey = edge[:, 0, None], edge[:, 1, None]
    left = ex * (point[1] - before[:, 1, None]) - ey * (point[0] - before[:, 0, None])
    length = (edge[:, 0] * edge[:, 0] + edge[:, 1] * edge[:, 1]).sqrt()[:, None]
    counts = there[:, None] & (length > 0.0)
    away = torch.where(counts, left / torch.where(counts, length, 1.0), torch.inf).amin(dim=0)
    outside = (there[:, None] & (left < 0.0)).any(dim=0)
    return torch.where(outside, -1.0, away)
