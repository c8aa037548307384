"""Rules on torch tensors: the same functions as with NumPy, and the combination of their outputs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

from gumption.data import InputError

from .compiled_rules import CompiledRule, conflict, listed, unfit
from .conditions import And, Contains, IsEqual, IsOn, Or, Overlaps, Relation
from .factors import Factor, Floor, Framerate, Order, Position, Size
from .geometry import EPS
from .rules import Aggregate, Differential, Output, Rule
from .state import CIRCLE, POLYGON, State

# ---- Torch tensors that support NumPy's functions and operators, so that rules written with NumPy run on a GPU.
#
# A rule calls `np.where(norm(v) < slowest, 0.0, v)`. NumPy dispatches to its arguments (`__array_ufunc__`,
# `__array_function__`), and a `TensorArray` calls the equivalent torch function. No operation waits for the GPU: an
# operation that needs a value (`if`, `float(x)`, `np.asarray(x)`) is an error.

_NUMPY_PATH = "a simulator without device= runs it"


@dataclass(frozen=True)
class Numbers:
    """The device of tensors, and the dtype of their real numbers."""

    device: torch.device
    real: torch.dtype

    def tensor(self, value: Any) -> Tensor:
        """Convert a number, a list or an array to a tensor. Constants are cached, since copies to a GPU block."""
        if isinstance(value, TensorArray):
            return value.tensor
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        if array.dtype.kind not in "bif":
            raise InputError(f"{type(value).__name__} is no number and no array of numbers; {_NUMPY_PATH}")
        return _constant(array.tobytes(), array.dtype.str, array.shape, self)


@lru_cache(maxsize=256)
def _constant(data: bytes, dtype: str, shape: tuple[int, ...], numbers: Numbers) -> Tensor:
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    wanted = {"b": torch.bool, "i": torch.int64, "f": numbers.real}[array.dtype.kind]
    return torch.tensor(array.tolist(), dtype=wanted, device=numbers.device)


def _method(function: Callable[..., Any]) -> Callable[..., "TensorArray"]:
    """Turn a NumPy reduction into a method of arrays."""

    def call(self: "TensorArray", axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return function(self, axis=axis, keepdims=keepdims)

    return call


class TensorArray(NDArrayOperatorsMixin):
    """A tensor that replaces a NumPy array in rules."""

    def __init__(self, tensor: Tensor, numbers: Numbers) -> None:
        self.tensor, self._numbers = tensor, numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def size(self) -> int:
        return self.tensor.numel()

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def T(self) -> "TensorArray":
        return self._made(self.tensor.permute(*range(self.ndim - 1, -1, -1)))

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, key: Any) -> "TensorArray":
        return self._made(self.tensor[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        wanted = self._numbers.tensor(value).to(self.tensor.dtype)
        if isinstance(key, TensorArray) and key.tensor.dtype == torch.bool:
            self.tensor.copy_(torch.where(key.tensor, wanted, self.tensor))
        else:
            self.tensor[self._key(key)] = wanted

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = UFUNCS.get(ufunc)
        out, where = kwargs.pop("out", (None,))[0], kwargs.pop("where", None)
        if function is None or method != "__call__" or kwargs:
            raise _missing(ufunc.__name__ + ("" if method == "__call__" else f".{method}"), kwargs)
        tensors = [self._numbers.tensor(each) for each in inputs]
        if ufunc in REAL:
            tensors = [each if each.is_floating_point() else each.to(self._numbers.real) for each in tensors]
        elif len(tensors) == 2 and tensors[0].dtype != tensors[1].dtype:
            common = torch.result_type(*tensors)
            tensors = [each.to(common) for each in tensors]
        found = function(*tensors)
        if out is None:
            return self._made(found)
        target = self._numbers.tensor(out)
        target.copy_(found if where is None else torch.where(self._numbers.tensor(where), found, target))
        return out

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        answer = FUNCTIONS.get(function)
        if answer is None:
            raise _missing(function.__name__, {})
        try:
            found = answer(*self._tensors(args), **{name: self._tensors(each) for name, each in kwargs.items()})
        except TypeError:
            raise _missing(function.__name__, kwargs) from None
        return self._made(found) if isinstance(found, Tensor) else found

    sum, mean, max, min, any, all = map(_method, (np.sum, np.mean, np.max, np.min, np.any, np.all))

    def clip(self, min: Any = None, max: Any = None) -> "TensorArray":
        return np.clip(self, min, max)  # pyright: ignore[reportCallIssue, reportArgumentType, reportReturnType]

    def reshape(self, *shape: Any) -> "TensorArray":
        return self._made(self.tensor.reshape(*shape))

    def transpose(self, *axes: int) -> "TensorArray":
        return self._made(self.tensor.permute(*axes)) if axes else self.T

    def copy(self) -> "TensorArray":
        return self._made(self.tensor.clone())

    def astype(self, dtype: Any) -> "TensorArray":
        kind = np.dtype(dtype).kind
        if kind not in "bif":
            raise InputError(f"astype({dtype}): a tensor of a rule has numbers or truth values; {_NUMPY_PATH}")
        return self._made(self.tensor.to({"b": torch.bool, "i": torch.int64, "f": self._numbers.real}[kind]))

    def __bool__(self) -> bool:
        raise InputError(f"it uses `if`, `and`, `or` or `not` on an array. Use np.where and & | ~, or {_NUMPY_PATH}")

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise InputError(f"it takes single values out of an array on the device. Use whole arrays, or {_NUMPY_PATH}")

    __array__ = __float__ = __int__ = __index__ = __iter__ = __contains__ = item = tolist = _refused

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"an array on the device has no {name!r}")

    def _made(self, tensor: Tensor) -> "TensorArray":
        return TensorArray(tensor, self._numbers)

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(each) for each in key)
        if isinstance(key, (TensorArray, np.ndarray, list)):
            found = self._numbers.tensor(key)
            if found.dtype == torch.bool:
                raise InputError(f"it picks the rows where a condition holds. Use np.where or where=, or {_NUMPY_PATH}")
            return found
        return key

    def _tensors(self, given: Any) -> Any:
        """Convert arguments of a NumPy function for its torch counterpart."""
        if isinstance(given, TensorArray):
            return given.tensor
        if isinstance(given, float | np.ndarray | np.generic):
            return self._numbers.tensor(given)
        if isinstance(given, Sequence) and not isinstance(given, str):
            if all(isinstance(each, int | float) for each in given):
                whole = all(isinstance(each, int) for each in given)  # axes or a shape
                return tuple(given) if whole else self._numbers.tensor(given)
            return tuple(self._tensors(each) for each in given)
        return given


def _missing(name: str, kwargs: dict[str, Any]) -> InputError:
    options = f" with {', '.join(kwargs)}=" if kwargs else ""
    return InputError(f"it calls np.{name}{options}, which does not run on arrays on the device; {_NUMPY_PATH}")


# ---- NumPy's functions and their torch counterparts.

Axis = int | tuple[int, ...] | None

_SAME_NAMES = """
    add subtract multiply divide negative positive absolute sign sqrt square exp expm1 log log1p log2 log10 sin cos
    tan arcsin arccos arctan arctan2 sinh cosh tanh hypot maximum minimum fmax fmin floor ceil trunc floor_divide
    remainder less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not logical_xor
    bitwise_and bitwise_or bitwise_xor isfinite isnan isinf reciprocal copysign deg2rad rad2deg
"""
_REAL_NAMES = """
    divide sqrt exp expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh hypot
    reciprocal copysign deg2rad rad2deg float_power
"""
#: NumPy ufunc -> function of tensors.
UFUNCS: dict[Any, Callable[..., Tensor]] = {
    **{getattr(np, name): getattr(torch, name) for name in _SAME_NAMES.split()},
    np.power: torch.pow,
    np.float_power: torch.pow,
    np.rint: torch.round,
    np.invert: torch.bitwise_not,
}
#: Ufuncs that return real numbers even for integers.
REAL = {getattr(np, name) for name in _REAL_NAMES.split()}


def _where(condition: Any, x: Any = None, y: Any = None) -> Tensor:
    if x is None or y is None:
        raise TypeError("np.where needs both values: what it finds otherwise has no fixed shape")
    if not isinstance(condition, Tensor):
        raise TypeError("np.where has an array as its condition")
    x, y = (each if isinstance(each, Tensor) else torch.full((), each, device=condition.device) for each in (x, y))
    return torch.where(condition.bool(), x, y)


def _clip(a: Tensor, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    low, high = (
        torch.full((), each, dtype=a.dtype, device=a.device) if isinstance(each, int) else each for each in (low, high)
    )
    return a.clone() if low is None and high is None else torch.clamp(a, low, high)


def _reduced(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        dims = tuple(range(a.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        return function(a, dims, keepdim=keepdims)

    return call


def _mean(a: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return (a if a.is_floating_point() else a.double()).mean(dims, keepdim=keepdim)


def _norm(x: Tensor, ord: None = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    if ord is not None:
        raise TypeError("only the Euclidean norm")
    dims = tuple(range(x.ndim)) if axis is None else axis
    return (x * x).sum(dims, keepdim=keepdims).sqrt()


def _full_like(a: Tensor, fill_value: Any) -> Tensor:
    return torch.zeros_like(a) + fill_value if isinstance(fill_value, Tensor) else torch.full_like(a, fill_value)


def _joined(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(arrays: Sequence[Any], axis: int = 0) -> Tensor:
        like = next(each for each in arrays if isinstance(each, Tensor))
        return function([each if isinstance(each, Tensor) else like.new_full((), each) for each in arrays], axis)

    return call


#: NumPy function -> function of tensors with the same arguments.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.concatenate: _joined(torch.cat),
    np.stack: _joined(torch.stack),
    np.sum: _reduced(torch.sum),
    np.mean: _reduced(_mean),
    np.max: _reduced(torch.amax),
    np.min: _reduced(torch.amin),
    np.any: _reduced(torch.any),
    np.all: _reduced(torch.all),
    np.linalg.norm: _norm,
    np.zeros_like: torch.zeros_like,
    np.ones_like: torch.ones_like,
    np.full_like: _full_like,
    np.broadcast_to: lambda array, shape: array.expand(shape),
    np.expand_dims: lambda a, axis: a.unsqueeze(axis),
    np.squeeze: lambda a, axis: a.squeeze(axis),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.swapaxes: lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    np.moveaxis: lambda a, source, destination: a.movedim(source, destination),
    np.copy: lambda a: a.clone(),
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.numel(),
}


# ---- The state of a batch of scenes in torch tensors; constant parts stay in NumPy arrays.

_NEVER = torch.iinfo(torch.int64).max


class TensorState:
    """The columns of a `State` on a device, with the same names and shapes, so that rules and conditions read both.

    :ivar host: the initial state; only its constant parts are read.
    :ivar tensors: root factor -> (d, N, B); `columns` holds the same as arrays for rules.
    :ivar of_texts: relations that concern texts, (N, 1, B).
    """

    def __init__(self, host: State, numbers: Numbers) -> None:
        self.host, self.numbers = host, numbers
        self.layout, self.slots, self.num_envs = host.layout, host.slots, host.num_envs
        self.scenes, self.slot_of = host.scenes, host.slot_of
        self.tensors: dict[type[Factor], Tensor] = {root: self.moved(column) for root, column in host.columns.items()}
        self.columns = {root: TensorArray(tensor, numbers) for root, tensor in self.tensors.items()}
        self.parameters = {each: TensorArray(self.moved(values), numbers) for each, values in host.parameters.items()}
        self.present, self.walls = self.moved(host.present), self.moved(host.walls)
        self.kinds, self.drawn_size = self.moved(host.kinds), self.moved(host.drawn_size)
        self.corners, self.corner_counts = self.moved(host.corners), self.moved(host.corner_counts)
        self.rank, self._insertion = self.moved(host.rank), self.moved(host.insertion)
        self.polygons = bool((host.kinds == POLYGON).any())
        self.of_texts: dict[Relation, Tensor] = {}
        self.faults = Faults(numbers.device)

    def moved(self, array: np.ndarray) -> Tensor:
        """Return a copy on the device; real numbers get the dtype of `numbers`."""
        kind = {"b": torch.bool, "i": torch.int64, "f": self.numbers.real}[array.dtype.kind]
        return torch.tensor(np.ascontiguousarray(array), dtype=kind, device=self.numbers.device)

    def view(self, factor: type[Factor]) -> TensorArray:
        """Return a view (B, N, d) of the factor's column."""
        return self.columns[factor.root].transpose(2, 1, 0)

    def order(self) -> None:
        """Recompute `rank` after a change of Order."""
        key = torch.full_like(self.rank, _NEVER)
        if Order in self.tensors:
            has = self.numbers.tensor(self.host.marks(Order))
            key = torch.where(self.present & has[:, None], self.tensors[Order][0], key)
        sequence = self._insertion.argsort(dim=0)
        for by in (key, (~self.present).long()):
            sequence = sequence.gather(0, by.gather(0, sequence).argsort(dim=0, stable=True))
        self.rank.copy_(sequence.argsort(dim=0))

    def read_into(self, state: State) -> None:
        """Copy the columns into a NumPy state, as read-only arrays; raise InputError if the device has a fault."""
        self.faults.check()
        for root, tensor in self.tensors.items():
            column = state.columns[root]
            column.flags.writeable = True
            column[:] = tensor.cpu().numpy()
            column.flags.writeable = False


class Faults:
    """Faults of steps, kept on the device until the state is read, since an immediate report would block."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._found: dict[str, tuple[Tensor, Callable[[int], str]]] = {}

    def add(self, name: str, where: Tensor, told: Callable[[int], str]) -> None:
        """Keep the index of the first fault of a kind, where `where` (bool) is true; `told` makes its message."""
        if name not in self._found:
            self._found[name] = torch.full((), _NEVER, device=self._device), told
        flat = where.reshape(-1)
        places = torch.arange(len(flat), device=self._device)
        first = torch.where(flat, places, _NEVER).amin()
        self._found[name][0].copy_(torch.minimum(self._found[name][0], first))

    def clear(self) -> None:
        self._found.clear()

    def check(self) -> None:
        """:raises InputError: a fault was recorded."""
        for first, message in self._found.values():
            place = int(first)
            if place != _NEVER:
                raise InputError(message(place))


# ---- The outputs of all rules on torch tensors, combined like `Resolution` with the preset "fixed".


class Setting(NamedTuple):
    """A rule sets slots to values (d, n or 1, B or 1) where `here` (n or 1, B or 1) is true."""

    rule: "TensorRule"
    place: int
    values: Tensor
    here: Tensor


class TensorResolution:
    """The outputs of one round of rules, combined factor by factor; see `Resolution`."""

    def __init__(self, state: TensorState, factors: frozenset[type[Factor]] | None) -> None:
        self._state, self._factors = state, factors
        self._sums: dict[tuple[type[Factor], bool], tuple[Tensor, Tensor]] = {}
        self._settings: dict[type[Factor], list[Setting]] = {}

    def put(
        self, kind: type[Output[Any]], factor: type[Factor], rule: "TensorRule", place: int, value: Tensor,
        mask: Tensor | None,
    ) -> None:  # fmt: skip
        """Add an output of a rule; arguments as in `Resolution.add`."""
        if self._factors is not None and factor not in self._factors:
            return
        if kind is Aggregate or kind is Differential:
            self._sum(kind is Aggregate, factor, rule, place, value, mask)
        else:
            self._settings.setdefault(factor, []).append(self._setting(factor, rule, place, value, mask))

    def apply(self) -> None:
        """Write the new values. A conflict of two settings becomes a fault."""
        new = dict[type[Factor], Tensor]()
        for (factor, aggregate), (total, aggregated) in self._sums.items():
            column = new.get(factor, self._state.tensors[factor])
            if aggregate:
                new[factor] = torch.where(aggregated, total, column)
                continue
            change = total / self._state.parameters[Framerate].tensor
            both = self._sums.get((factor, True))
            new[factor] = column + (change if both is None else torch.where(both[1], 0.0, change))
        for factor, settings in self._settings.items():
            new[factor] = self._set(factor, settings, new.get(factor, self._state.tensors[factor]))
        for factor, column in new.items():
            self._state.tensors[factor].copy_(column)

    def _sum(
        self, aggregate: bool, factor: type[Factor], rule: "TensorRule", place: int, value: Tensor, mask: Tensor | None
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
        total, aggregated = self._sums[factor, aggregate]
        at, spoke = rule.at[place], rule.spoken[place]
        total[:, at] += summed
        if aggregate:
            aggregated[at] = torch.ones_like(aggregated[at]) if spoke is None else aggregated[at] | spoke

    def _setting(
        self, factor: type[Factor], rule: "TensorRule", place: int, value: Tensor, mask: Tensor | None
    ) -> Setting:
        """Return a setting with a value per entity; a rule of several entities must return equal values in all rows."""
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
        """Return the column with the most specific settings applied."""
        if len(settings) > 1:
            self._find_conflicts(factor, settings, column)
        ranked = sorted(settings, key=lambda each: each.rule.rule.priority(True))  # of equals the later rule wins
        for rule, place, values, here in ranked:
            at = rule.at[place]
            part = torch.where(here, values, column[:, at])
            column = column.clone()
            column[:, at] = part
        return column

    def _find_conflicts(self, factor: type[Factor], settings: list[Setting], column: Tensor) -> None:
        """Record faults: two rules, neither more specific, that set a factor of an entity to different values."""
        full = {}
        priorities = [each.rule.rule.priority(True) for each in settings]
        for second, later in enumerate(settings):
            for first, earlier in enumerate(settings[:second]):
                shared = np.intersect1d(earlier.rule.slots[earlier.place], later.rule.slots[later.place])
                if priorities[first] != priorities[second] or not len(shared) or earlier.values is later.values:
                    continue
                for number in range(second + 1):
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
        """Return the values and rows of a setting for all slots."""
        rule, place, values, here = setting
        all_values, rows = torch.zeros_like(column), torch.zeros_like(column[0], dtype=torch.bool)
        all_values[:, rule.at[place]] = values
        rows[rule.at[place]] = here
        return all_values, rows

    def _told(
        self, factor: type[Factor], first: "TensorRule", second: "TensorRule", place: int | None
    ) -> Callable[[int], str]:
        """Return a function from an index in (B, n) to a message; n are the slots of the pattern, or all slots."""

        def told(index: int) -> str:
            i, k = divmod(index, self._state.slots if place is None else second.counts[place])
            slot = k if place is None else int(second.slots[place][k])
            return str(conflict(self._state.host, factor, first.rule.name, second.rule.name, slot, i))

        return told


class TensorRule(CompiledRule):
    """A `CompiledRule` on tensors; raises InputError if its relation or a function has no torch counterpart."""

    def __init__(self, rule: Rule, host: State, state: TensorState) -> None:
        super().__init__(replace(rule, relation=None), host, exact=False)
        mask = self.applies({})
        self._rows = None if mask is None else state.moved(mask)
        spoken = [self.speaks(place) for place in range(len(self.slots))]
        #: For each pattern the result of `speaks`.
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
        """Call the rule and add its outputs to the resolution."""
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
                if where.ndim <= 1:  # one value for all rows
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
            f"the rule {name} has the relation {type(relation).__name__}, which does not run on tensors; {_NUMPY_PATH}"
        )


def _holds(relation: Relation, state: TensorState) -> Tensor:
    """Return the same as `Relation.holds`, as a tensor."""
    match relation:
        case IsOn() | Contains():
            return is_on(state, whole=isinstance(relation, Contains))
        case Overlaps():
            return overlaps(state)
        case And() | Or():
            return reduce(and_ if isinstance(relation, And) else or_, (_holds(part, state) for part in relation.parts))
        case IsEqual() if relation.factor.root in state.tensors:
            found = relation.holds(state)  # pyright: ignore[reportArgumentType]  # it reads only columns
            return state.numbers.tensor(found)
        case _:  # relations of texts, which never change
            if relation not in state.of_texts:
                state.of_texts[relation] = state.moved(relation.holds(state.host))
            return state.of_texts[relation]


def evaluated_on_device(
    state: TensorState, rules: Iterable[TensorRule], wanted: frozenset[type[Factor]] | None
) -> TensorResolution:
    """Return the outputs of the rules on the current state; see `evaluated`."""
    resolution, relations = TensorResolution(state, wanted), dict[Relation, Tensor]()
    for each in rules:
        each.call(relations, resolution)
    return resolution


# ---- The relations is_on and overlaps in torch tensors; the same formulas as in geometry.py.


def is_on(state: TensorState, whole: bool) -> Tensor:
    """Return (N, N, B) bool; see `geometry.is_on`."""
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
    """Return (N, N, B) bool; see `geometry.overlaps`."""
    placed = state.numbers.tensor(state.host.marks(Position))[:, None]
    there = state.present & placed
    slots = torch.arange(state.slots, device=state.numbers.device)
    over, _ = _lies_on(state, slots, slots)
    round_one = (state.kinds == POLYGON)[:, None] & (state.kinds != POLYGON)
    over = torch.where(round_one, over.transpose(0, 1), over)
    return over & there[:, None] & there & (slots[:, None] != slots)[..., None]


def _lies_on(state: TensorState, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """Return (n, m, B), whether circles (or points) i and j overlap, or the centre of i is inside polygon j; and
    whether i lies entirely inside j.
    """
    x = state.tensors[Position]
    size = state.tensors[Size][0] if Size in state.tensors else torch.zeros_like(state.drawn_size)
    apart = x[:, i][:, :, None] - x[:, j][:, None]
    radius = torch.where(state.kinds[i] == CIRCLE, size[i] / 2, 0.0)[:, None]
    distance = (apart[0] * apart[0] + apart[1] * apart[1]).sqrt()
    circle, half = state.kinds[j] == CIRCLE, size[j] / 2
    over, inside = circle & (distance <= half + radius + EPS), circle & (distance <= half - radius)
    if not state.polygons:
        return over, inside
    polygon, depth = state.kinds[j] == POLYGON, _depth(state, apart, j, size)
    return over | polygon & (depth >= 0.0), inside | polygon & (depth >= radius)


def _depth(state: TensorState, point: Tensor, j: Tensor, size: Tensor) -> Tensor:
    """Return (n, m, B), the depth of points (2, n, m, B), relative to the positions of polygons j; negative outside."""
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
