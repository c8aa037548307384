"""Arrays that a person gives: of whole numbers and of the right shape, or an InputError."""

from typing import Any

import numpy as np

from .errors import InputError
from .wording import shown


def whole_numbers(name: str, value: Any, *shape: int | None) -> np.ndarray:
    """The value as int64.

    :param name: what the message calls it.
    :param shape: its lengths; None stands for any.
    :raises InputError: an array of another shape or of something else than whole numbers, or no array.
    """
    try:
        found = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths, or an object that refuses
        found = np.array(None)
    right = len(found.shape) == len(shape) and all(
        there == asked or asked is None for there, asked in zip(found.shape, shape, strict=True)
    )
    if not right or (found.dtype.kind not in "iu" and found.size):
        lengths = ", ".join("n" if length is None else str(length) for length in shape)
        raise InputError(f"{name} is {shown(value)}; it is an array ({lengths}) of whole numbers")
    return found.astype(np.int64, copy=False)
