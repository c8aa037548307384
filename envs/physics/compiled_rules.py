"""Rules matched against the slots of a state, once, and evaluated on the whole batch at each step."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError

from .conditions import Relation
from .entities import Object
from .factors import WIDTHS, Factor, FactorArray
from .resolution import UNFIT, Resolution, unfit
from .rules import Normal, Output, Pattern, Rule, SetFactor, Wall
from .state import State


class Entities:
    """The entities of one pattern, as a rule gets them whose hint is an entity type: `one[Mass]` is an array."""

    def __init__(self, arrays: dict[type[Factor], Any]) -> None:
        self._arrays = arrays

    def __getitem__(self, factor: type[Factor]) -> Any:
        """:raises KeyError: these entities have no such factor."""
        return self._arrays[factor.root]

    def __contains__(self, factor: type[Factor]) -> bool:
        return factor.root in self._arrays


@dataclass(frozen=True)
class Contact:
    """Contacts that happen now, for the rows of a rule.

    :ivar rows: (B, n1, ..., 1) bool.
    :ivar normals: (B, n1, ..., 2), unit vectors from the first entity to the second, or to the wall.
    :ivar walls: (B, 1, ..., 2), the lower and the upper boundary.
    """

    rows: np.ndarray
    normals: np.ndarray
    walls: np.ndarray


class CompiledRule:
    """A rule with the slots that each of its patterns matches, and the masks of the rows that are none.

    :ivar slots: for each pattern (n,) slots.
    :ivar reaches: whether there is any row.
    """

    def __init__(self, rule: Rule, state: State, exact: bool) -> None:
        """:param exact: a subclass of a factor does not match."""
        self.rule, self._exact = rule, exact
        self.slots = [_matching(pattern, state, exact) for pattern in rule.patterns]
        #: As indices: slices where they can be; and how many there are.
        self.places: list[Any] = [_range(slots) or slots for slots in self.slots]
        self.counts = tuple(len(slots) for slots in self.slots)
        self._state = state
        self._mask: np.ndarray | None = None
        self._version = -1
        self._distinct = _distinct(self.slots)
        self.reaches = all(len(each) for each in self.slots) and (self._distinct is None or bool(self._distinct.any()))
        #: For each pattern, the root factors of numbers that all its slots have.
        self._roots = [
            [root for root in state.columns if np.isin(slots, state.layout.owners([root])).all()]
            for slots in self.slots
        ]
        self._scalar = False
        self._arguments, self._sources = self._gather() if self._is_static() else (None, None)
        declared = {factor.root: kind for kind, factor in rule.returns}
        self._declared = declared
        self._only_sets = all(kind is SetFactor for kind, _ in rule.returns)
        self._speaks: dict[int, np.ndarray | None] = {}

    def applies(self, relations: dict[Relation, np.ndarray]) -> np.ndarray | None:
        """(B, n1, ..., 1) bool, the rows that fit the hints and conditions; None where all do."""
        if self._state.version != self._version:
            self._match()
        relation = self.rule.relation
        if relation is None:
            return self._mask
        if relation not in relations:
            relations[relation] = relation.holds(self._state)
        return _and(self._mask, self._sliced(relations[relation], relation.unary))

    def evaluate(
        self, relations: dict[Relation, np.ndarray], resolution: Resolution, contact: Contact | None = None
    ) -> None:
        """Call the rule and hand its outputs on; the caller holds `quiet()`.

        :param contact: for a rule that answers contacts.
        """
        mask = self.applies(relations) if contact is None else contact.rows
        if self._only_sets and mask is not None and not np.count_nonzero(mask):  # takes less time than any()
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
            # The rule was written for one entity: it asks `if` of an array, or calls a method of a single value.
            by_rows = ("truth value of an array", "'numpy.ndarray' object has no attribute")
            if not any(each in str(error) for each in by_rows):
                raise
            warnings.warn(
                f"the rule {self.rule.name} is no rule of arrays ({error}); it is called for each row, which is "
                "slower. Use masks: Aggregate[F](a, value, where=condition)",
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
                if here.ndim <= 1:  # one truth for all rows
                    here = here.reshape((1,) * (len(self.counts) + 2))
                masks[id(where)] = here if mask is None else mask & here
            try:
                resolution.add(type(output), factor, self, place, output.value, masks[id(where)])
            except UNFIT:
                raise unfit(factor, [self.rule.name]) from None

    def speaks(self, place: int) -> np.ndarray | None:
        """(n, B) bool, the entities of a pattern that the rule concerns, whatever its relation; None for all."""
        if place not in self._speaks:
            rows = None if self._mask is None else self.anywhere(self._mask, place)
            self._speaks[place] = None if rows is None or rows.all() else rows
        return self._speaks[place]

    def anywhere(self, mask: np.ndarray, place: int) -> np.ndarray:
        """(n or 1, B or 1) bool, the entities of a pattern for which there is a row of the mask."""
        if len(self.counts) == 1:
            return mask[..., 0].T
        others = tuple(axis + 1 for axis in range(len(self.counts)) if axis != place)
        return np.asarray(mask.any(axis=others))[..., 0].T

    def _target(self, output: Output[Any], sources: dict[int, tuple[int, type[Factor]]]) -> tuple[int, type[Factor]]:
        found = sources.get(id(output.target))
        if found is None:
            raise InputError(
                f"the rule {self.rule.name} returns a {type(output).__name__} whose first argument is none of the "
                "arrays that it was given: it says which factor changes"
            )
        kind = self._declared.get(found[1])
        if kind is None or not isinstance(output, kind):
            said = ", ".join(f"{each.__name__}[{factor.__name__}]" for each, factor in self.rule.returns)
            raise InputError(
                f"the rule {self.rule.name} returns {type(output).__name__}[{found[1].__name__}]; its hint says {said}"
            )
        return found

    def _is_static(self) -> bool:
        """All slots are ranges, so that arguments are views that stay."""
        return not self.rule.at_contacts and all(_range(slots) is not None for slots in self.slots)

    def _gather(self, contact: Contact | None = None) -> tuple[list[Any], dict[int, tuple[int, type[Factor]]]]:
        """The arguments, and for the id of each array its pattern and root factor."""
        sources: dict[int, tuple[int, type[Factor]]] = {}
        count = len(self.slots)

        def array(place: int, factor: type[Factor]) -> Any:
            if factor.root not in self._state.columns:
                return True  # a tag or a text: it is there
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
        """The static mask (B, n1, ..., 1) of rows that are entities, distinct, and fit the types; None where all do."""
        self._version = self._state.version
        self._speaks.clear()
        count = len(self.slots)
        mask: np.ndarray | None = None if self._distinct is None else self._distinct
        typed = self.rule.entity_type
        any_typed: np.ndarray | None = None
        if self._exact and self.reaches and self.rule.relation is not None and self.rule.relation.spatial:
            self._check_objects()
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

    def _check_objects(self) -> None:
        slots = self.slots[0]
        bad = self._state.present[slots] & ~self._state.is_a(Object)[slots]
        if bad.any():
            k, i = (int(each[0]) for each in np.nonzero(bad))
            raise InputError(
                f"scene {i}: the rule {self.rule.name} asks what {self._state.name(int(slots[k]), i)} lies on, which "
                "is no Object: the code of 2022 raises here; the preset 'fixed' goes on"
            )

    def _sliced(self, holds: np.ndarray, unary: bool) -> np.ndarray:
        """A relation's (N, N, B) as the rows of this rule."""
        first = holds[self.places[0]]
        if unary:
            return _spread(first[:, 0].T[:, :, None], 0, len(self.slots))
        return first[:, self.places[1]].transpose(2, 0, 1)[..., None]

    def _by_rows(self, mask: np.ndarray | None, resolution: Resolution, contact: Contact | None) -> None:
        """Call the rule for one row after the other, with the values of single entities."""
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
) -> Resolution:
    """What the rules say of the state as it is.

    :param wanted: outputs for other factors are dropped.
    :param fixed: whether the preset is that, and not "compat", which drops none.
    """
    resolution = Resolution(state, wanted if fixed else None, fixed)
    relations: dict[Relation, np.ndarray] = {}
    state.derived.clear()
    with quiet():
        for each in rules:
            each.evaluate(relations, resolution)
    return resolution


def quiet() -> np.errstate:
    """No warnings of values that are not finite: rows that a mask leaves out may have such."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


def _matching(pattern: Pattern, state: State, exact: bool) -> np.ndarray:
    if pattern.entity_type is None:
        return state.layout.owners(pattern.factors, exact)
    wanted = pattern.entity_type
    return state.layout.owners(wanted.all_factors) if wanted.all_factors else np.arange(state.slots)


def _distinct(slots: Sequence[np.ndarray]) -> np.ndarray | None:
    """(1, n1, n2, ..., 1) bool, the rows whose entities differ; None where all do."""
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
    """(B, n, d) as (B, 1, ..., n, ..., 1, d): n is the axis of the pattern."""
    before, after = [None] * place, [None] * (count - place - 1)
    return array[(slice(None), *before, slice(None), *after, slice(None))]


def _range(slots: np.ndarray) -> slice | None:
    """The slots as a slice, if they follow on one another."""
    if len(slots) and (np.diff(slots) == 1).all():
        return slice(int(slots[0]), int(slots[-1]) + 1)
    return None


def listed(outputs: Any, rule: Rule) -> list[Output[Any]]:
    """What a rule returned, as a list.

    :raises InputError: it returned something else.
    """
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
    if not isinstance(argument, np.ndarray):
        return argument
    at = tuple(0 if size == 1 else int(k) for k, size in zip(row, argument.shape[:-1], strict=True))
    value = argument[at]
    single = (value if len(value) == 2 else value.reshape(())).view(FactorArray)
    if id(argument) in sources:
        names[id(single)] = sources[id(argument)]
    return single
