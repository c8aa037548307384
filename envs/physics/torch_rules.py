"""Rules on torch tensors: the same functions as with NumPy, and what becomes of their outputs."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Any

from torch import Tensor

from gumption.data import InputError

from .compiled_rules import CompiledRule, listed
from .conditions import And, IsEqual, Or
from .factors import Factor
from .relations import Contains, IsOn, Overlaps, Relation
from .rules import Rule
from .state import State
from .torch_geometry import is_on, overlaps
from .torch_resolution import TensorResolution
from .torch_state import TensorState


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
