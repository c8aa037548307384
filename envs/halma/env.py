"""HALMA's Gymnasium environments: the batch of vector_env.py, and a single one that is a batch of one."""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.envs.native import NativeEnv

from .mazes import Mazes
from .outcome import Outcome
from .vector_env import PRIMITIVES, HALMAVectorEnv

__all__ = ["PRIMITIVES", "HALMAEnv", "HALMAVectorEnv", "Outcome"]


class HALMAEnv(NativeEnv):
    """Find the goal of a maze that is not shown, by what coloured digits tell (Xie et al., 2021, sections 3.1 to 3.3).

    Description: the agent stands in a cell of a maze. A panel shows the distances to the wall and to the nearest
    crossing in each direction (red left, orange up, yellow right, green down), the offset of the goal (cyan left, blue
    up, purple right, white down), and at crossings a shape that tells the direction to take (circle left, triangle up,
    square right, pentagon down). Only non-zero distances are shown.

    Observation: "symbolic" Box (11, 19) uint8, one-hot: rows 0-3 crossing, 4-7 wall, each left, up, right, down; 8, 9
    goal dx, dy; column value + 9. Row 10 is the hint, columns 0-3 by direction, all zeros when there is none.
    "visual" Box (128, 128, 3) uint8: the same as handwritten MNIST digits of random size and place, drawn anew at each
    look, or with panels="fixed" once for each cell of each maze.

    Actions: MultiDiscrete([4] + [4] * max_opt_len): a direction (left, up, right, down) and an option of so many
    primitives of 0 to 3 cells. The agent moves by their sum, or not at all where a wall is in the way or the sum is 0:
    the move is invalid then. Anything else than these numbers is an InputError.

    Reward: 100 for ending on the goal; -5 for an invalid move; 1.0 * (Manhattan distance to the goal before - after).

    Termination: an episode is one maze. A trial ends on the goal or after 200 steps and puts the agent back at the
    start, which is no termination. The episode is terminated after 10 trials and truncated after 500 steps.

    Info: maze, cell, digits and hint that the panel shows, panel (the row, see `panel_row`), trial, trial_steps,
    success (the latest move ended on the goal), valid_move, trial_over, action_mask (all of the choices are open: what
    a wall stops is for the agent to find out), and for visual panels the boxes of all items.

    Reset options: {"maze": a Maze, its JSON, or an index of the set} plays that maze.

    Parameters: see `HALMASettings`; render_mode "ansi" or "rgb_array".
    """

    batch: HALMAVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `HALMASettings`."""
        super().__init__(HALMAVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    @property
    def mazes(self) -> Mazes:
        """The mazes that are played."""
        return self.batch.mazes

    def action_masks(self) -> np.ndarray:
        """(4 + 4 T,) bool, for MaskablePPO: every choice is open."""
        return np.ones(4 + PRIMITIVES * self.batch.max_opt_len, dtype=bool)
