"""How well an agent does in each maze, against the oracle (paper, section 3.3)."""

from typing import NamedTuple

import numpy as np

from .env import HALMAVectorEnv, Outcome


class Measures(NamedTuple):
    """Of M episodes, each (M,) float64 between 0 and 1.

    :ivar rho_a: valid moves / all moves.
    :ivar rho_g: successful trials / N; trials that were not begun count as failed.
    :ivar rho_p: mean over the N trials of the oracle's length / the trial's, at most 1, and 0 for a failed or unstarted
        trial (decision). The oracle explores in its first trial and follows its plan in the others.
    """

    rho_a: np.ndarray
    rho_g: np.ndarray
    rho_p: np.ndarray


class Tally:
    """The measures of the episode that each environment of a batch plays, counted move by move."""

    def __init__(self, env: HALMAVectorEnv) -> None:
        """To be made when the episodes begin."""
        self.trials = env.settings.trials
        planned, exploring = env.mazes.planned(env.max_opt_len), env.mazes.exploring(env.max_opt_len)
        self.oracle = np.stack([exploring[env.maze_index], planned[env.maze_index]])
        self.moves, self.valid, self.successes, self.length = np.zeros((4, env.num_envs), dtype=np.int64)
        self.efficiency = np.zeros(env.num_envs)
        self.over = np.zeros(env.num_envs, dtype=bool)

    def add(self, outcome: Outcome) -> None:
        """Count a move of every environment whose episode is not over."""
        playing = ~self.over
        self.moves += playing
        self.length += playing
        self.valid += playing & outcome.valid
        won = playing & outcome.reached
        self.successes += won
        oracle = np.where(outcome.trial == 0, self.oracle[0], self.oracle[1])
        self.efficiency += won * np.minimum(oracle / np.maximum(self.length, 1), 1.0)
        self.length[outcome.trial_over] = 0
        self.over |= outcome.done

    def measures(self) -> Measures:
        """What the episodes came to."""
        moves = np.maximum(self.moves, 1)
        return Measures(self.valid / moves, self.successes / self.trials, self.efficiency / self.trials)
