"""Match rules against the slots of a state once, and evaluate them on the whole batch in each step. Combine the outputs
of all rules: sums, and settings, of which the most specific wins; a tie is an error.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from gumption.data import InputError

from .conditions import Relation
from .draws import Generator
from .entities import Object
from .factors import WIDTHS, Factor, FactorArray, Framerate, Order, Position, Velocity
from .rules import INCOMPARABLE, Aggregate, Differential, Normal, Output, Pattern, Rule, SetFactor, Wall
from .state import State

_ALL = np.ones((1, 1), dtype=bool)
#: Errors that NumPy raises if values do not fit a column.
UNFIT = (TypeError, ValueError, OverflowError)


class Entities:
    """A rule argument whose hint is an entity type: `one[Mass]` is the array of its entities' masses."""

    def __init__(self, arrays: dict[type[Factor], Any]) -> None:
        self._arrays = arrays

    def __getitem__(self, factor: type[Factor]) -> Any:
        """:raises KeyError: these entities have no such factor."""
        return self._arrays[factor.root]

    def __contains__(self, factor: type[Factor]) -> bool:
        return factor.root in self._arrays


@dataclass(frozen=True)
class Contact:
    """The current contacts, as rows of a rule.

    :ivar rows: (B, n1, ..., 1) bool.
    :ivar normals: (B, n1, ..., 2), unit vectors from the first entity to the second, or to the wall.
    :ivar walls: (B, 1, ..., 2), the lower and the upper boundary.
    """

    rows: np.ndarray
    normals: np.ndarray
    walls: np.ndarray


class CompiledRule:
    """A rule with the slots that its patterns match. A row is a slot for each pattern.

    :ivar slots: for each pattern (n,) slots.
    :ivar reaches: whether there is any row.
    """

    def __init__(self, rule: Rule, state: State, exact: bool, laws: np.ndarray | None = None) -> None:
        """:param exact: whether to exclude subclasses of a pattern's factors.
        :param laws: (L,) bool, the rule sets of `Layout.laws` that contain the rule; None for all.
        """
        self.rule, self._exact = rule, exact
        self._laws = None if laws is None or laws.all() else laws
        self.slots = [_matching(pattern, state, exact) for pattern in rule.patterns]
        #: The slots as indices: slices if they are consecutive.
        self.places: list[Any] = [_range(slots) or slots for slots in self.slots]
        self.counts = tuple(len(slots) for slots in self.slots)
        self._state = state
        self._mask: np.ndarray | None = None
        self._version = -1
        self._distinct = _distinct(self.slots)
        self.reaches = all(len(each) for each in self.slots) and (self._distinct is None or bool(self._distinct.any()))
        #: For each pattern, the numeric root factors that all its slots have.
        self._roots = [
            [root for root in state.columns if np.isin(slots, state.layout.owners([root])).all()]
            for slots in self.slots
        ]
        self._scalar = False
        self._arguments, self._sources = self._gather() if self._is_static() else (None, None)
        self._declared = {factor.root: kind for kind, factor in rule.returns}
        self._only_sets = all(kind is SetFactor for kind, _ in rule.returns)
        self._speaks: dict[int, np.ndarray | None] = {}

    def applies(self, relations: dict[Relation, np.ndarray]) -> np.ndarray | None:
        """Return (B, n1, ..., 1) bool, the rows that satisfy the hints and conditions; None for all."""
        if self._state.version != self._version:
            self._match()
        relation = self.rule.relation
        if relation is None:
            return self._mask
        if relation not in relations:
            relations[relation] = relation.holds(self._state)
        first = relations[relation][self.places[0]]
        if relation.unary:
            return _and(self._mask, _spread(first[:, 0].T[:, :, None], 0, len(self.slots)))
        return _and(self._mask, first[:, self.places[1]].transpose(2, 0, 1)[..., None])

    def evaluate(
        self, relations: dict[Relation, np.ndarray], resolution: "Resolution", contact: Contact | None = None
    ) -> None:
        """Call the rule and add its outputs to the resolution; the caller must be inside `quiet()`.

        :param contact: the contacts, for a rule that handles contacts.
        """
        mask = self.applies(relations) if contact is None else contact.rows
        if self._only_sets and mask is not None and not np.count_nonzero(mask):  # faster than any()
            return
        if self._scalar:
            self._by_rows(mask, resolution, contact)
            return
        if self._arguments is not None and self._sources is not None:
            arguments, sources = self._arguments, self._sources
        else:
            arguments, sources = self._gather(contact)
        try:
            outputs = self.rule.function(*arguments)
        except (ValueError, AttributeError) as error:
            # The rule is written for a single entity: it uses `if` on an array, or a method of a single value.
            by_rows = ("truth value of an array", "'numpy.ndarray' object has no attribute")
            if not any(each in str(error) for each in by_rows):
                raise
            warnings.warn(
                f"the rule {self.rule.name} does not take arrays ({error}), so it is called once for each row, which "
                "is slower. Use masks: Aggregate[F](a, value, where=condition)",
                stacklevel=2,
            )
            self._scalar = True
            self._by_rows(mask, resolution, contact)
            return
        masks: dict[int, np.ndarray | None] = {id(None): mask}
        for output in listed(outputs, self.rule):
            place, factor = self._target(output, sources)
            if not resolution.wants(factor):
                continue
            where = output.where
            if id(where) not in masks:
                here = np.asarray(where, dtype=bool)
                if here.ndim <= 1:  # one value for all rows
                    here = here.reshape((1,) * (len(self.counts) + 2))
                masks[id(where)] = here if mask is None else mask & here
            try:
                resolution.add(type(output), factor, self, place, output.value, masks[id(where)])
            except UNFIT:
                raise unfit(factor, [self.rule.name]) from None

    def speaks(self, place: int) -> np.ndarray | None:
        """Return (n, B) bool, the entities of a pattern with a row, regardless of the relation; None for all."""
        if place not in self._speaks:
            rows = None if self._mask is None else self.anywhere(self._mask, place)
            self._speaks[place] = None if rows is None or rows.all() else rows
        return self._speaks[place]

    def anywhere(self, mask: np.ndarray, place: int) -> np.ndarray:
        """Return (n or 1, B or 1) bool, the entities of a pattern with a row in the mask."""
        if len(self.counts) == 1:
            return mask[..., 0].T
        others = tuple(axis + 1 for axis in range(len(self.counts)) if axis != place)
        return np.asarray(mask.any(axis=others))[..., 0].T

    def _target(self, output: Output[Any], sources: dict[int, tuple[int, type[Factor]]]) -> tuple[int, type[Factor]]:
        found = sources.get(id(output.target))
        if found is None:
            raise InputError(
                f"the rule {self.rule.name} returns a {type(output).__name__} whose first argument is none of the "
                "rule's arguments: pass the array of the factor that changes"
            )
        kind = self._declared.get(found[1])
        if kind is None or not isinstance(output, kind):
            declared = ", ".join(f"{each.__name__}[{factor.__name__}]" for each, factor in self.rule.returns)
            raise InputError(
                f"the rule {self.rule.name} returns {type(output).__name__}[{found[1].__name__}]; its hint says "
                f"{declared}"
            )
        return found

    def _is_static(self) -> bool:
        """Return whether the arguments can be gathered once, as views of the columns, since all slots are ranges."""
        return not (self.rule.at_contacts or self.rule.draws) and all(_range(slots) is not None for slots in self.slots)

    def _gather(self, contact: Contact | None = None) -> tuple[list[Any], dict[int, tuple[int, type[Factor]]]]:
        """Return the arguments, and id of each array -> its pattern and root factor."""
        sources: dict[int, tuple[int, type[Factor]]] = {}
        count = len(self.slots)

        def array(place: int, factor: type[Factor]) -> Any:
            if factor.root not in self._state.columns:
                return True  # a tag or a text has no column
            view = self._state.view(factor)[:, self.places[place]]
            made = _spread(view, place, count)
            sources[id(made)] = (place, factor.root)
            return made

        arguments: list[Any] = []
        bare = iter(self.rule.patterns[0].factors)
        for argument in self.rule.arguments:
            if argument is Normal or argument is Wall:
                assert contact is not None
                arguments.append(contact.normals if argument is Normal else contact.walls)
            elif argument is Generator:
                places = [self._state.insertion[slots].T for slots in self.slots]
                arguments.append(Generator(self.rule.name, self._state.seeds, self._state.moments, places))
            elif not isinstance(argument, int):
                values = self._state.parameters[argument]
                arguments.append(values.reshape(len(values), *[1] * (count + 1)))
            elif self.rule.bare:
                arguments.append(array(0, next(bare)))
            elif self.rule.patterns[argument].entity_type is not None:
                arguments.append(Entities({factor: array(argument, factor) for factor in self._roots[argument]}))
            else:
                arguments.append(tuple(array(argument, each) for each in self.rule.patterns[argument].factors))
        return arguments, sources

    def _match(self) -> None:
        """Recompute the mask of rows whose entities are present, distinct, and of the types; None for all rows."""
        self._version = self._state.version
        self._speaks.clear()
        count = len(self.slots)
        mask = self._distinct
        if self._laws is not None:
            mask = _and(mask, self._laws[self._state.laws].reshape(-1, *[1] * (count + 1)))
        typed = self.rule.entity_type
        any_typed: np.ndarray | None = None
        if self._exact and self.reaches and self.rule.relation is not None and self.rule.relation.spatial:
            bad = self._state.present[self.slots[0]] & ~self._state.is_a(Object)[self.slots[0]]
            if bad.any():
                k, i = (int(each[0]) for each in np.nonzero(bad))
                raise InputError(
                    f"scene {i}: the rule {self.rule.name} asks what {self._state.name(int(self.slots[0][k]), i)} lies "
                    "on, which is no Object: the code of 2022 raises here; the preset 'fixed' goes on"
                )
        for place, (pattern, slots) in enumerate(zip(self.rule.patterns, self.slots, strict=True)):
            here = self._state.present[slots]
            if pattern.entity_type is not None:
                here = here & self._state.is_a(pattern.entity_type)[slots]
            if not here.all():
                mask = _and(mask, _spread(here.T[:, :, None], place, count))
            if typed is not None:
                fits = _spread(self._state.is_a(typed)[slots].T[:, :, None], place, count)
                any_typed = fits if any_typed is None else any_typed | fits
            if self.rule.factor_type is not None:
                has = np.isin(slots, self._state.layout.owners([self.rule.factor_type]))
                fits = _spread(np.broadcast_to(has[None, :, None], (self._state.num_envs, len(slots), 1)), place, count)
                any_typed = fits if any_typed is None else any_typed | fits
        if any_typed is not None:
            mask = _and(mask, any_typed)
        self._mask = mask

    def _by_rows(self, mask: np.ndarray | None, resolution: "Resolution", contact: Contact | None) -> None:
        """Call the rule once per row, with the values of single entities."""
        arguments, sources = self._gather(contact)
        batch, counts = self._state.num_envs, [len(slots) for slots in self.slots]
        rows = (
            np.ones((batch, *counts), dtype=bool) if mask is None else np.broadcast_to(mask[..., 0], (batch, *counts))
        )
        found: dict[tuple[type[Output[Any]], int, type[Factor]], tuple[np.ndarray, np.ndarray]] = {}
        for row in np.argwhere(rows):
            names: dict[int, tuple[int, type[Factor]]] = {}
            outputs = self.rule.function(*[_row(each, row, sources, names) for each in arguments])
            for output in listed(outputs, self.rule):
                place, factor = self._target(output, names)
                key = (type(output), place, factor)
                if key not in found:
                    width = WIDTHS[factor.base]
                    found[key] = (
                        np.zeros((batch, *counts, width), dtype=self._state.columns[factor].dtype),
                        np.zeros((batch, *counts, 1), dtype=bool),
                    )
                values, there = found[key]
                values[tuple(row)] = output.value
                there[tuple(row)] = output.where is None or bool(output.where)
        for (kind, place, factor), (values, there) in found.items():
            resolution.add(kind, factor, self, place, values, _and(mask, there))


def evaluated(
    state: State, rules: Iterable[CompiledRule], wanted: frozenset[type[Factor]], fixed: bool = True
) -> "Resolution":
    """Return the outputs of the rules on the current state.

    :param wanted: the factors whose outputs are kept; the preset "compat" (`fixed` is false) keeps all.
    """
    resolution = Resolution(state, wanted if fixed else None, fixed)
    relations: dict[Relation, np.ndarray] = {}
    state.derived.clear()
    with quiet():
        for each in rules:
            each.evaluate(relations, resolution)
    return resolution


def quiet() -> np.errstate:
    """Suppress warnings about values that are not finite, which may occur in rows outside a mask."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


R = TypeVar("R", bound=CompiledRule)


class Schedule(NamedTuple, Generic[R]):
    """The rules of a step in the order of their application: rounds of rules, then motion (SEGAR, B.3).

    :ivar rounds: the rules of each round, and the factors that they may change in it; velocities come last.
    :ivar drifts: rules that change Position, except the built-in `move`.
    :ivar moves: whether `move` is among the rules. :ivar reorders: whether a rule changes Order.
    """

    rounds: tuple[tuple[list[R], frozenset[type[Factor]]], ...]
    drifts: list[R]
    moves: bool
    reorders: bool


def schedule(rules: Sequence[R], numeric: frozenset[type[Factor]], move: Rule) -> Schedule[R]:
    """:param rules: all rules that match an entity. :param numeric: the factors with numeric columns."""
    wanted = numeric - {Position, Velocity}, frozenset([Velocity])
    return Schedule(
        tuple(([each for each in rules if each.rule.changes & factors], factors) for factors in wanted),
        [each for each in rules if Position in each.rule.changes and each.rule is not move],
        any(each.rule is move for each in rules),
        any(Order in each.rule.changes for each in rules),
    )


def _matching(pattern: Pattern, state: State, exact: bool) -> np.ndarray:
    if pattern.entity_type is None:
        return state.layout.owners(pattern.factors, exact)
    wanted = pattern.entity_type
    return state.layout.owners(wanted.all_factors) if wanted.all_factors else np.arange(state.slots)


def _distinct(slots: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return (1, n1, n2, ..., 1) bool, the rows whose entities all differ; None for all rows."""
    mask: np.ndarray | None = None
    for place, mine in enumerate(slots):
        for other in range(place):
            if not np.intersect1d(mine, slots[other]).size:
                continue
            first = _spread(slots[other][None, :, None], other, len(slots))
            second = _spread(mine[None, :, None], place, len(slots))
            mask = _and(mask, first != second)
    return mask


def _and(mask: np.ndarray | None, other: np.ndarray) -> np.ndarray:
    return other if mask is None else mask & other


def _spread(array: np.ndarray, place: int, count: int) -> np.ndarray:
    """Reshape (B, n, d) to (B, 1, ..., n, ..., 1, d), with n at the axis of the pattern."""
    before, after = [None] * place, [None] * (count - place - 1)
    return array[(slice(None), *before, slice(None), *after, slice(None))]


def _range(slots: np.ndarray) -> slice | None:
    """Return the slots as a slice if they are consecutive, else None."""
    if len(slots) and (np.diff(slots) == 1).all():
        return slice(int(slots[0]), int(slots[-1]) + 1)
    return None


def listed(outputs: Any, rule: Rule) -> list[Output[Any]]:
    """Return the outputs of a rule as a list; raise InputError if it returned something else."""
    if outputs is None:
        return []
    listed = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    listed = [each for each in listed if each is not None]
    for each in listed:
        if not isinstance(each, Output):
            raise InputError(
                f"the rule {rule.name} returns {type(each).__name__}; it returns Aggregate, Differential or SetFactor"
            )
    return listed


def _row(argument: Any, row: np.ndarray, sources: dict[int, Any], names: dict[int, Any]) -> Any:
    if isinstance(argument, tuple):
        return tuple(_row(each, row, sources, names) for each in argument)
    if isinstance(argument, Entities):
        return Entities({factor: _row(each, row, sources, names) for factor, each in argument._arrays.items()})
    if isinstance(argument, Generator):
        return argument.row(tuple(row.tolist()))
    if not isinstance(argument, np.ndarray):
        return argument
    at = tuple(0 if size == 1 else int(k) for k, size in zip(row, argument.shape[:-1], strict=True))
    value = argument[at]
    single = (value if len(value) == 2 else value.reshape(())).view(FactorArray)
    if id(argument) in sources:
        names[id(single)] = sources[id(argument)]
    return single


# ---- Combination of the outputs of all rules: sums, and settings, of which the most specific wins, or an error.


#: A rule, the index of the pattern whose factor it sets, the values (d, n or 1, B or 1), and where (n or 1, B or 1).
Setting = tuple[CompiledRule, int, Any, np.ndarray]


class Resolution:
    """Combine the outputs of a round of rules, which all read the same state, factor by factor.

    An aggregate replaces the old value; a differential, times dt, is added to it. An aggregate overrides differentials,
    and a setting overrides both. Of two settings the more specific rule's wins.

    :param factors: the factors whose outputs are kept; None for all.
    :param fixed: reset an aggregated factor wherever the rule applies, regardless of its `where=`, and count every
        level of entity types for priorities; else as in the code of 2022.
    """

    def __init__(self, state: State, factors: frozenset[type[Factor]] | None, fixed: bool) -> None:
        self._state, self._factors, self._fixed = state, factors, fixed
        self._sums: dict[tuple[type[Factor], bool], tuple[np.ndarray, np.ndarray | None]] = {}
        self._settings: dict[type[Factor], list[Setting]] = {}

    def wants(self, factor: type[Factor]) -> bool:
        return self._factors is None or factor in self._factors

    def add(
        self,
        kind: type[Output[Any]],
        factor: type[Factor],
        rule: CompiledRule,
        place: int,
        value: Any,
        mask: np.ndarray | None,
    ) -> None:
        """Add an output of a rule.

        :param place: the index of the pattern whose factor changes.
        :param mask: (B, n1, ..., 1) bool, the rows of the output; None for all.
        """
        if not self.wants(factor):
            return
        if kind is Aggregate or kind is Differential:
            self._sum(kind is Aggregate, factor, rule, place, value, mask)
        elif mask is None or np.count_nonzero(mask):  # faster than any()
            self._settle(factor, rule, place, value, mask)

    def apply(self) -> None:
        """Write the new values.

        :raises InputError: rules conflict, or set a factor to a value that its column cannot hold.
        """
        for (factor, aggregate), (total, aggregated) in self._sums.items():
            column = self._state.columns[factor]
            if aggregate:
                np.copyto(column, total, where=True if aggregated is None else aggregated)
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
        rule: CompiledRule,
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
            aggregated = np.zeros(column.shape[1:], dtype=bool) if aggregate else None
            self._sums[factor, aggregate] = total, aggregated
        else:
            total, aggregated = known
        total[:, slots] += whole.transpose(2, 1, 0)
        if aggregated is not None:
            spoke = rule.speaks(place) if self._fixed else None if mask is None else rule.anywhere(mask, place)
            if spoke is None:
                aggregated[slots] = True
            else:
                aggregated[slots] |= spoke

    def _settle(
        self, factor: type[Factor], rule: CompiledRule, place: int, value: Any, mask: np.ndarray | None
    ) -> None:
        counts, batch = rule.counts, self._state.num_envs
        settings = self._settings.setdefault(factor, [])
        if len(counts) == 1 or np.ndim(value) == 0:  # equal for all rows of an entity
            here = _ALL if mask is None else rule.anywhere(mask, place)
            if np.ndim(value):
                if not (isinstance(value, np.ndarray) and value.flags.owndata):
                    value = np.array(value)  # a copy, since its column may change before this is written
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

    def _set(self, factor: type[Factor], settings: list[Setting]) -> None:
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

    def _settle_conflicts(self, factor: type[Factor], settings: list[Setting]) -> None:
        """If several rules set a factor of an entity, apply the most specific; raise InputError if there is none."""
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
    """Return the error for two rules that set a factor of the entity in a slot of scene i to different values."""
    return InputError(
        f"the rules {first} and {second} set {factor.__name__} of {state.name(slot, i)} to different values, and "
        "neither is more specific: give one of them a condition, such as entity_type="
    )


def unfit(factor: type[Factor], rules: Sequence[str]) -> InputError:
    """Return the error for rules that set a factor to values of another kind or shape, such as fractions for ints."""
    wanted = {"int": "whole number", "bool": "True or False", "vector": "pair of numbers"}.get(factor.base, "number")
    names = " or ".join(rules)
    return InputError(f"the rule {names} gives {factor.__name__} something else than a {wanted} for each row")


def _added(values: np.ndarray, axis: int) -> np.ndarray:
    """Sum over an axis, element by element, so that rounding does not depend on the batch size."""
    before = (slice(None),) * axis
    total = values[(*before, 0)]
    for k in range(1, values.shape[axis]):
        total = total + values[(*before, k)]
    return total


# ---- Conflicts that are certain before the first step.
#
# Two rules conflict in every step if both set a factor of the same entity, without a relation and without `where=`, to
# different constants, and neither is more specific. Values computed from factors may be equal, so that such rules are
# compared only when they are applied.


def check_conflicts(state: State, rules: Sequence[CompiledRule], fixed: bool) -> None:
    """Check rules before the first step. :raises InputError: two rules always conflict; the message names both."""
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
            priorities = {each.rule.priority(fixed) for each in (one, other)}
            tied = len(priorities) == 1 or INCOMPARABLE in priorities
            if both.any() and tied and np.any(np.asarray(value) != np.asarray(another)):
                slot, i = (int(each[0]) for each in np.nonzero(both))
                raise conflict(state, factor, one.rule.name, other.rule.name, slot, i)


class _Constants(Resolution):
    """Collect the constants that rules set without conditions.

    :ivar found: factor -> (rule, (N, B) bool: the entities, constant).
    """

    def __init__(self, state: State, factors: frozenset[type[Factor]], fixed: bool) -> None:
        super().__init__(state, factors, fixed)
        self._present, self._wanted = state.present, factors
        self.found: dict[type[Factor], list[tuple[CompiledRule, np.ndarray, Any]]] = {}

    def add(
        self, kind: type[Output[Any]], factor: type[Factor], rule: Any, place: int, value: Any, mask: np.ndarray | None
    ) -> None:
        if kind is not SetFactor or factor not in self._wanted or isinstance(value, np.ndarray | np.generic):
            return
        if mask is not rule.applies({}):
            return
        said, spoke = np.zeros(self._present.shape, dtype=bool), rule.speaks(place)
        said[rule.slots[place]] = True if spoke is None else spoke
        self.found.setdefault(factor, []).append((rule, said & self._present, value))
