"""What rules calculate with: functions on arrays whose last axis holds a vector's two numbers, or one number."""

from typing import Any

import numpy as np

#: No number of a scene is beyond it, so that products of six of them are finite.
HIGHEST = 1e50


def dot(a: Any, b: Any) -> np.ndarray:
    """(..., 1), the scalar product of vectors (..., 2)."""
    return a[..., :1] * b[..., :1] + a[..., 1:] * b[..., 1:]


def norm(vector: Any) -> np.ndarray:
    """(..., 1), the length of vectors (..., 2)."""
    return np.sqrt(dot(vector, vector))


def unit(vector: Any) -> np.ndarray:
    """(..., 2), vectors of length 1 of the same direction; of a zero vector zero."""
    length = norm(vector)
    return vector / np.where(length > 0, length, 1.0)


def tangent(vector: Any) -> np.ndarray:
    """(..., 2), vectors turned by 90 degrees: (-y, x)."""
    return np.concatenate([-vector[..., 1:], vector[..., :1]], axis=-1)


class FactorArray(np.ndarray):
    """A value of one entity with the methods that the paper's rules call: a vector (2,), or a number without axes."""

    def norm(self) -> Any:
        """The length."""
        return np.sqrt((np.asarray(self) ** 2).sum())

    def unit_vector(self) -> "FactorArray":
        """The vector of length 1 of the same direction."""
        return self / self.norm()

    def tangent_vector(self) -> "FactorArray":
        """The vector turned by 90 degrees: (-y, x)."""
        return np.array([-self[1], self[0]]).view(FactorArray)

    def abs(self) -> Any:
        """The absolute values."""
        return np.abs(self)

    def sign(self) -> Any:
        """The signs."""
        return np.sign(self)
