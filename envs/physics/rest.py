"""When a scene rests: nothing was elsewhere within the last steps, or a step changes nothing.

A speed below a threshold is no rest: what sets off has none, and what creeps has little for long. Nor is it rest to be
where one was some steps earlier: what turns around comes back there at full speed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Steps over which places are compared.
WINDOW = 30


@dataclass
class RestWatch:
    """What is known of the way to rest of B scenes with N discs.

    :ivar places: (B, W, N, 2) float64, places of the last W steps, at [step % W].
    :ivar age: (B,) int64, steps since the watch began.
    :ivar near: (B,) float64: a disc rests that is less than this away from each place where it was in the last W steps.
    """

    places: np.ndarray
    age: np.ndarray
    near: np.ndarray

    @classmethod
    def begin(cls, places: np.ndarray, near: np.ndarray, window: int = WINDOW) -> "RestWatch":
        """A watch that begins now.

        :param places: (2, N, B), as the column of Position.
        """
        _, discs, batch = places.shape
        watch = cls(np.zeros((batch, window, discs, 2)), np.zeros(batch, dtype=np.int64), near)
        watch.restart(np.arange(batch), places)
        return watch

    def restart(self, columns: np.ndarray, places: np.ndarray) -> None:
        """Begin anew in some scenes; places (2, N, B) of all."""
        self.age[columns] = 0
        self.places[columns, 0] = places[:, :, columns].transpose(2, 1, 0)

    def look(self, b: int, now: np.ndarray, moving: np.ndarray) -> bool:
        """After a step of scene b: whether it rests.

        :param now: (N, 2) places; `moving` (N,) bool, the discs that count.
        """
        self.age[b] += 1
        way: Any = now - self.places[b]
        near = ((way * way).sum(axis=2) < self.near[b] * self.near[b]) | ~moving
        full = self.age[b] >= self.places.shape[1]
        self.places[b, self.age[b] % self.places.shape[1]] = now
        return bool(full and near.all())
