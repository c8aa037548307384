"""The keyword arguments of the HALMA environments, checked once."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from gumption.data import InputError
from gumption.data.settings import Count, Seed, settings

from .choices import Images, MeanBranches, MeanDepth, NumMazes, Observation, OptLen, Order, Panels
from .generator import sample_mazes
from .maze import Maze
from .mazes import Mazes


@settings
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
    num_mazes: NumMazes = 100
    maze_seed: Seed = 0
    mean_depth: MeanDepth = 2
    mean_branches: MeanBranches = 5
    order: Order = "random"
    observation: Observation = "symbolic"
    panels: Panels = "redrawn"
    images: Images = "train"
    max_opt_len: OptLen = 5
    trials: Count = 10
    max_steps: Count = 500
    max_trial_steps: Count = 200
    goal_reward: float = 100.0
    invalid_penalty: float = -5.0
    progress_reward: float = 1.0

    def __post_init__(self) -> None:
        """:raises InputError: panels for who sees none."""
        if self.panels != "redrawn" and self.observation != "visual":
            raise InputError(f"panels={self.panels!r} is for observation='visual': symbols are not drawn")

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
