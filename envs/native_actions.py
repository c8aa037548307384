"""Actions of a batch and of a single environment, checked: integers, or real numbers of a box."""

from typing import Any

import numpy as np
from gymnasium import spaces

from gumption.data import InputError
from gumption.data.wording import shown


def as_actions(actions: Any, space: spaces.Space[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Actions (B, ...), int64 or, where the space of one environment is a `Box`, float64 within its bounds.

    :raises InputError: not one action per environment, or something else than such numbers.
    """
    if not isinstance(space, spaces.Box):
        return as_integers(actions, shape)
    return _in_box(actions, space, shape, "actions")


def as_action(action: Any, space: spaces.Space[Any]) -> Any:
    """The action of a single environment, in the same way; an integer too large for an array becomes -1.

    :raises InputError: something else than an action of the space.
    """
    if isinstance(space, spaces.Box):
        return _in_box(action, space, space.shape, "the action")
    return as_vector(action, space.shape) if space.shape else as_slot(action)


def as_integers(actions: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Actions (B, ...) int64.

    :raises InputError: not one action per environment, or something else than integers.
    """
    chosen = as_array("actions", actions)
    if chosen.shape != shape:
        raise InputError(f"actions have shape {chosen.shape}, expected {shape}: one action per environment")
    if chosen.dtype.kind not in "iu":
        raise InputError(f"actions are {chosen.dtype}; they are integers")
    return np.ascontiguousarray(chosen, dtype=np.int64)


def as_vector(action: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The action of a single environment whose actions are vectors.

    :raises InputError: a vector of another length, or of something else than integers.
    """
    chosen = as_array("the action", action)
    if chosen.shape != shape:
        raise InputError(f"the action has shape {chosen.shape}, expected {shape}")
    if chosen.dtype.kind not in "iu":
        raise InputError(f"the action is {chosen.dtype}; it is of integers")
    return chosen.astype(np.int64)


def as_slot(action: Any) -> int:
    """The action of a single environment; an integer too large for an array becomes -1, which worlds refuse.

    :raises InputError: something else than an integer.
    """
    if type(action) is not int:
        array = as_array("the action", action)
        if array.size != 1 or array.dtype.kind not in "iu":
            raise InputError(f"the action is {shown(action)}; it is one integer")
        action = array.item()
    return action if -1 <= action < 2**63 else -1


def as_array(what: str, given: Any) -> np.ndarray:
    """:raises InputError: rows of different lengths, or an object that refuses."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError):
        raise InputError(f"{what}: {shown(given)} is no array") from None


def _in_box(given: Any, space: spaces.Box, shape: tuple[int, ...], what: str) -> np.ndarray:
    chosen = as_array(what, given)
    if chosen.shape != shape or chosen.dtype.kind not in "iuf":
        raise InputError(f"{what}: shape {chosen.shape} of {chosen.dtype}; expected are numbers of shape {shape}")
    if not np.isfinite(chosen).all():
        raise InputError(f"{what}: {shown(given)} has numbers that are not finite")
    return np.clip(chosen.astype(np.float64), space.low, space.high)
