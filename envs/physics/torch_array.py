"""Torch tensors that NumPy's functions and operators work on, so that rules written with NumPy run on a GPU.

A rule calls `np.where(norm(v) < slowest, 0.0, v)`. NumPy asks its arguments first (`__array_ufunc__`,
`__array_function__`), and a `TensorArray` answers with the torch function of the same meaning. No operation waits for
the GPU: what would have to know a value (`if`, `float(x)`, `np.asarray(x)`) is an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

from gumption.data import InputError

_NUMPY_PATH = "a simulator without device= runs it"


@dataclass(frozen=True)
class Numbers:
    """Where tensors lie, and the dtype of their real numbers."""

    device: torch.device
    real: torch.dtype

    def tensor(self, value: Any) -> Tensor:
        """A number, a list or an array as a tensor; of a `TensorArray` its own.

        A copy to a GPU makes the program wait for it, so that the tensors of the last 256 constants are kept.
        """
        if isinstance(value, TensorArray):
            return value.tensor
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        if array.dtype.kind not in "bif":
            raise InputError(f"{type(value).__name__} is no number and no array of numbers; {_NUMPY_PATH}")
        return _constant(array.tobytes(), array.dtype.str, array.shape, self)

    def array(self, value: Any) -> "TensorArray":
        """See `tensor`."""
        return TensorArray(self.tensor(value), self)


@lru_cache(maxsize=256)
def _constant(data: bytes, dtype: str, shape: tuple[int, ...], numbers: Numbers) -> Tensor:
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    wanted = {"b": torch.bool, "i": torch.int64, "f": numbers.real}[array.dtype.kind]
    return torch.tensor(array.tolist(), dtype=wanted, device=numbers.device)


class TensorArray(NDArrayOperatorsMixin):
    """A tensor in the place of a NumPy array, for rules.

    :ivar tensor: the tensor.
    """

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

    def sum(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.sum(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def mean(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.mean(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def max(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.max(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def min(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.min(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def any(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.any(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def all(self, axis: Any = None, keepdims: bool = False) -> "TensorArray":
        return np.all(self, axis=axis, keepdims=keepdims)  # pyright: ignore[reportCallIssue, reportArgumentType]

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
        raise InputError(f"it asks `if`, `and`, `or` or `not` of an array. Use np.where and & | ~, or {_NUMPY_PATH}")

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
        """Arguments of a NumPy function for its torch counterpart."""
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
    said = f" with {', '.join(kwargs)}=" if kwargs else ""
    return InputError(f"it calls np.{name}{said}, which there is not for arrays on the device; {_NUMPY_PATH}")


# ---- NumPy's functions and their counterparts in torch.


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
#: By NumPy's ufunc: functions of tensors.
UFUNCS: dict[Any, Callable[..., Tensor]] = {
    **{getattr(np, name): getattr(torch, name) for name in _SAME_NAMES.split()},
    np.power: torch.pow,
    np.float_power: torch.pow,
    np.rint: torch.round,
    np.invert: torch.bitwise_not,
}
#: Those that give real numbers of whole ones too.
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


#: By NumPy's function: functions of tensors with its arguments.
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
