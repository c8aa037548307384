"""NumPy's functions and their counterparts in torch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

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
