"""A trained agent of SEGAR to look at, level by level."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.agents.watching import Candidate, Choice, PolicyPlayer
from gumption.envs.segar.env import SegarVectorEnv

if TYPE_CHECKING:
    from .training import SegarRun


def told(env: SegarVectorEnv) -> str:
    """What the latest step of the first environment came to, in words."""
    now = env.info_arrays()
    if now["success"][0]:
        return "the goal is reached"
    if not now["alive"][0]:
        return "the ball is destroyed"
    return f"distance {now['distance'][0]:.3f}"


class PushPlayer(PolicyPlayer):
    """Plays the most probable pushes of a policy of the general learner."""

    env: SegarVectorEnv

    def __init__(self, policy: Any, env: SegarVectorEnv, options: dict[str, Any]) -> None:
        """:param options: of each reset."""
        super().__init__(policy, env, question="push", options=options)

    def labels(self) -> list[str]:
        """The direction of each push, in degrees counter-clockwise from the right."""
        count = self.env.settings.directions
        return ["none", *(f"{360 * turn / count:g} degrees" for turn in range(count))]

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return told(self.env), bool(infos["success"][0])


class ForcePlayer:
    """Plays the most probable forces of a run of PPO or SAC, which have no candidates beside them."""

    def __init__(self, run: "SegarRun", env: SegarVectorEnv, options: dict[str, Any]) -> None:
        """:param options: of each reset."""
        self._run, self.env, self._options = run, env, options

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed, options=self._options)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        force = self._run.player(self.env, self.env.episode_begins())
        x, y = force[0].tolist()
        return force, (Choice("force", (Candidate(f"{x:.2f}, {y:.2f}", 1.0),), 0),)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return told(self.env), bool(infos["success"][0])
