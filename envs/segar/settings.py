"""The keyword arguments of SEGAR's environments, checked once."""

from collections.abc import Mapping
from os import PathLike
from typing import Annotated, Any

from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Positive, Seed, Size, settings
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.simulator import Preset

from .levels import Levels, Split, draw_levels, load_levels
from .observations import ObservationSettings, read_settings
from .renderers import RendererSettings


@settings
class SegarSettings:
    """What is played, and what is seen of it.

    :ivar levels: the name of a configuration such as "objectsx2-hard", a distribution of a person's own, a file of
        levels, or `Levels`; None for the usual one of the task.
    :ivar partition: "train" or "test" levels, where they are drawn.
    :ivar num_levels, level_seed: how many levels are drawn. Each episode plays one of them, which makes them an
        epistemic POMDP (section 5).
    :ivar observation: "rgb", "state" or another kind, or settings such as {"kind": "state", "hidden": ["Mass"]}; see
        `ObservationSettings`.
    :ivar resolution: pixels of a side, of the observation "rgb".
    :ivar directions: 0: an action is a force in a box; n: 0 is no force, and 1 to n are forces of `action_max` in n
        directions, counter-clockwise from the right.
    :ivar action_max: the largest force along an axis.
    :ivar sub_steps: steps of the simulation in a step of the environment; the force acts before the first.
    :ivar max_steps: an episode is cut off after so many steps; with "compat" after one more, in which nothing moves.
    :ivar friction, wall_damping: of the scenes, where they are to differ from those of the levels.
    :ivar preset: "fixed" or "compat"; see `Simulator`. With "compat" textures are drawn anew in each episode, and what
        overlaps in a level is moved as in the code of 2022.
    """

    levels: str | PathLike[str] | Mapping[str, Any] | Initialization | Levels | None = None
    partition: Split = "train"
    num_levels: Size = 100
    level_seed: Seed = 0
    observation: str | Mapping[str, Any] | ObservationSettings = "rgb"
    resolution: Size = 64
    directions: Annotated[int, Ge(0), Le(360)] = 0
    action_max: Positive = 2.0
    sub_steps: Count = 5
    max_steps: Count = 50
    friction: NonNegative | None = None
    wall_damping: NonNegative | None = None
    preset: Preset = "fixed"

    def __post_init__(self) -> None:
        if self.directions in (1, 2):
            raise InputError(f"directions is {self.directions}; it is 0, or at least 3")

    def seen(self) -> ObservationSettings:
        """The settings of the observation."""
        if self.observation == "rgb":
            renderer = RendererSettings(resolution=self.resolution, preset=self.preset)
            return ObservationSettings(renderer=renderer)
        return read_settings(self.observation)

    def load_levels(self, usual: str) -> Levels:
        """The levels that are played.

        :param usual: the configuration where none is given.
        :raises InputError: no such configuration or file, or scenes that cannot be placed.
        """
        given = usual if self.levels is None else self.levels
        if isinstance(given, Levels):
            return given
        if isinstance(given, PathLike) or (isinstance(given, str) and given.endswith(".json")):
            return load_levels(given)  # pyright: ignore[reportArgumentType]
        if isinstance(given, Mapping):
            given = Initialization.read(given)
        return draw_levels(given, self.partition, n=self.num_levels, seed=self.level_seed, preset=self.preset)
