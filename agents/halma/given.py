"""Agents that are not ours in HALMA's tests: a function of a user's in the place of a run."""

from typing import Any

import numpy as np
from gymnasium import spaces

from gumption.agents.given_policy import GivenPolicy, Policy, name_of
from gumption.data.settings import settings
from gumption.envs.halma.env import PRIMITIVES
from gumption.envs.halma.maze import DIRECTIONS, Images, Observation, OptLen, Panels

from .acting import Percept, panel_rows


@settings
class GivenConfig:
    """What is known of such an agent.

    :ivar agent: its name; `observation` "symbolic" or "visual"; `images`, `panels` and `max_opt_len` as in
        `HALMASettings`.
    """

    agent: str
    observation: Observation
    max_opt_len: OptLen
    images: Images
    panels: Panels = "redrawn"

    def to_json(self) -> dict[str, Any]:
        """For an evaluation."""
        return dict(vars(self))


@settings
class GivenAgent:
    """A policy (observation, info) -> options, to be played in the tests; see `GivenPolicy`.

    The observation is (B, 11, 19) uint8 of symbols, or (B, 128, 128, 3) uint8; the options are (B, 1 + T) integers: a
    direction and T primitives. info has what an agent perceives and nothing else: "first" (B,) bool, an episode
    begins; "trial_over", "success" (B,) bool, "reward" (B,) float32 and "action" (B, 1 + T) of the move before, zeros
    at the beginning; "action_mask" (B, 4 + 4 T); and of symbols "panel" (B, 11), the row that they show.

    :ivar single: the policy is for one environment: its observation, info and option have no leading axis.
    :ivar max_opt_len: T; `evaluate_splits` takes it from the splits.
    """

    policy: Policy
    name: str = ""
    observation: Observation = "symbolic"
    images: Images = "train"
    single: bool = False
    max_opt_len: OptLen = 5

    @property
    def config(self) -> GivenConfig:
        """As of a run."""
        return GivenConfig(self.name or name_of(self.policy), self.observation, self.max_opt_len, self.images)

    def actor(self, test: str = "the test") -> "GivenActor":
        """It, ready to act in a test."""
        space = spaces.MultiDiscrete([len(DIRECTIONS)] + [PRIMITIVES] * self.max_opt_len)
        return GivenActor(GivenPolicy(self.policy, space, single=self.single, name=self.name or None), self, test)


class GivenActor:
    """Gives a policy what it perceives, and plays its options."""

    def __init__(self, policy: GivenPolicy, agent: GivenAgent, test: str) -> None:
        self.policy, self.agent, self.test = policy, agent, test
        self.step = 0

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        """Options (B, 1 + T) int64; InputError where the policy gives none."""
        size, max_opt_len = len(percept.first), self.agent.max_opt_len
        info = {
            "first": percept.first,
            "trial_over": percept.trial_over,
            "success": percept.reached,
            "reward": percept.reward,
            "action": percept.action,
            "action_mask": np.ones((size, len(DIRECTIONS) + PRIMITIVES * max_opt_len), dtype=np.int8),
        }
        if self.agent.observation == "symbolic":
            info["panel"] = panel_rows(percept.observation)
        self.step = 1 if percept.first.all() else self.step + 1
        return self.policy.actions(percept.observation, info, size, f"step {self.step} of {self.test}")
