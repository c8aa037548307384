"""What a move leads to."""

from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What one move of B environments led to, told before any of them began a new trial or episode.

    :ivar before, after: (B, 11) int8 panel rows of the cells where the moves began and ended.
    :ivar reward: (B,) float32. `valid`, `reached`, `trial_over`, `done` (B,) bool: it was carried out; it ended on the
        goal; ended the trial; ended the episode.
    :ivar maze, trial: (B,) int64, the maze, and trials of the episode before this move's.
    """

    before: np.ndarray
    after: np.ndarray
    reward: np.ndarray
    valid: np.ndarray
    reached: np.ndarray
    trial_over: np.ndarray
    done: np.ndarray
    maze: np.ndarray
    trial: np.ndarray
