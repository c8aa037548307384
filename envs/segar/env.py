"""SEGAR's Gymnasium environments: the batches of vector_env.py, and single ones that are batches of one."""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.envs.native import NativeEnv
from gumption.envs.physics.simulator import Simulator

from .vector_env import SegarVectorEnv


class PuttPuttVectorEnv(SegarVectorEnv):
    """See `PuttPuttEnv`."""

    task_name = "PuttPutt"


class PuttPuttNegDistVectorEnv(SegarVectorEnv):
    """See `PuttPuttNegDistEnv`."""

    task_name = "PuttPuttNegDist"


class InvisiballVectorEnv(SegarVectorEnv):
    """See `InvisiballEnv`."""

    task_name = "Invisiball"


class BilliardsVectorEnv(SegarVectorEnv):
    """See `BilliardsEnv`."""

    task_name = "Billiards"


class SegarEnv(NativeEnv):
    """A task of SEGAR, alone. :cvar batched: the class of its batches."""

    batched: type[SegarVectorEnv] = SegarVectorEnv
    batch: SegarVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `SegarSettings`."""
        super().__init__(self.batched(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    @property
    def simulator(self) -> Simulator:
        """What runs the scene."""
        return self.batch.simulator

    def action_masks(self) -> np.ndarray:
        """(A,) bool: every direction is open."""
        return np.ones(len(self.batch.info_arrays()["action_mask"][0]), dtype=bool)


class PuttPuttEnv(SegarEnv):
    """Bring a golf ball to the goal, past objects and over tiles (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: a ball lies on a table between walls, with a goal and, in most configurations, charged, magnetic,
    speeding and slowing objects that it collides with, or tiles of sand, magma and fire and holes that it rolls over.
    The rules of motion are those of the simulator. Each episode plays one of `num_levels` scenes that were drawn from a
    distribution: an epistemic POMDP. Training and test levels come from different random streams.

    Observation: "rgb" Box (64, 64, 3) uint8, in textures that tell factors; or factors themselves, or both; see
    `ObservationSettings`.

    Actions: Box (2,) float32 within +-`action_max`: a force on the ball, which changes its velocity by force / mass at
    once. With `directions`=n Discrete(n + 1): no force, or one of n directions. Then `sub_steps` steps of 0.01 s pass.

    Reward: -D^2, D the distance of ball and goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: `success` (the goal was reached), `distance` (D), `mass`, `velocity`, `acceleration`, `alive` of the ball,
    `level` (its name; of a batch its number), `scene` (as data), `action_mask` (of the directions: all are open).

    Reset options: `level` (a name such as "objectsx2-hard/test/0/17", or a number of this environment's levels) or
    `scene` (as data).
    """

    batched = PuttPuttVectorEnv


class PuttPuttNegDistEnv(SegarEnv):
    """PuttPutt with another reward (Hjelm et al., 2022, SEGAR).

    Description: as `PuttPuttEnv`. Observation and Actions: too.

    Reward: -D, the distance of ball and goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`.
    """

    batched = PuttPuttNegDistVectorEnv


class InvisiballEnv(SegarEnv):
    """PuttPutt with a ball that cannot be seen (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: the ball is visible before the first action alone. It is charged, and so are other objects, so that
    their motion tells where it is. Observation, Actions: see `PuttPuttEnv`.

    Reward: -D^2, D the distance of ball and goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`.
    """

    batched = InvisiballVectorEnv


class BilliardsEnv(SegarEnv):
    """Bring ten balls into holes by collisions with a cue ball (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: ten balls in a triangle, a hole in each corner, and a cue ball that forces act on. Observation,
    Actions: see `PuttPuttEnv`.

    Reward: minus the sum over balls of the squared distance to the nearest hole, in diagonals of the arena; -100 more
    once the cue ball is destroyed.

    Termination: the cue ball is destroyed or in a hole, or no other ball is left. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`; `distance` is the sum over the balls that are left.
    """

    batched = BilliardsVectorEnv
