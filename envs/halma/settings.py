"""The keyword arguments of the HALMA environments, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from gumption.data import InputError

from .generator import sample_mazes
from .maze import Maze
from .mazes import Mazes

OBSERVATIONS = ("symbolic", "visual")
PANELS = ("redrawn", "fixed")
ORDERS = ("random", "sequential")


@dataclass(frozen=True)
class HALMASettings:
    """What is played, and by which rules; the defaults are the paper's (Table S3).

    :ivar mazes: a `Mazes`, a list of `Maze`, or a JSON Lines file; None for mazes that are sampled.
    :ivar num_mazes, maze_seed, mean_depth, mean_branches: of mazes that are sampled.
    :ivar order: each episode plays a maze drawn at "random", or the next one ("sequential").
    :ivar observation: "symbolic" or "visual".
    :ivar panels: visual panels are "redrawn" at each look, or "fixed": each cell of each maze has one picture, which is
        the same whenever and wherever the maze is played.
    :ivar images: whose handwriting the visual panels show: "train" or "test", of the digits that ship, or "train-full"
        or "test-full", of all of MNIST.
    :ivar max_opt_len: primitives of an option, T.
    :ivar trials, max_steps: an episode ends after so many trials (N) or steps (L).
    :ivar max_trial_steps: a trial ends after so many steps (H).
    :ivar goal_reward, invalid_penalty, progress_reward: for reaching the goal; for a move that is not carried out;
        times the Manhattan distance to the goal that a move gains.
    """

    mazes: Mazes | Sequence[Maze] | str | PathLike[str] | None = None
    num_mazes: int = 100
    maze_seed: int = 0
    mean_depth: float = 2
    mean_branches: float = 5
    order: str = "random"
    observation: str = "symbolic"
    panels: str = "redrawn"
    images: str = "train"
    max_opt_len: int = 5
    trials: int = 10
    max_steps: int = 500
    max_trial_steps: int = 200
    goal_reward: float = 100.0
    invalid_penalty: float = -5.0
    progress_reward: float = 1.0

    def __post_init__(self) -> None:
        """:raises InputError: a value that is unknown or out of range."""
        for name, known in (("observation", OBSERVATIONS), ("panels", PANELS), ("order", ORDERS)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}; it can be {' or '.join(known)}")
        if self.panels != "redrawn" and self.observation != "visual":
            raise InputError(f"panels={self.panels!r} is for observation='visual': symbols are not drawn")
        for name in ("num_mazes", "max_opt_len", "trials", "max_steps", "max_trial_steps"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} is {value!r}; it is a whole number, at least 1")
        for name in ("goal_reward", "invalid_penalty", "progress_reward"):
            if not np.isfinite(getattr(self, name)):
                raise InputError(f"{name} is {getattr(self, name)}; it is a finite number")

    def load_mazes(self) -> Mazes:
        """The mazes that are played.

        :raises InputError: no mazes, or a file that holds none.
        """
        if self.mazes is None:
            return Mazes(sample_mazes(self.num_mazes, self.maze_seed, self.mean_depth, self.mean_branches))
        if isinstance(self.mazes, Mazes):
            return self.mazes
        if isinstance(self.mazes, str | PathLike):
            return Mazes.load(Path(self.mazes))
        return Mazes(self.mazes)
