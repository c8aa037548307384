"""Knowledge-graph scores of each action as a part of the observation, for any world and any learner."""

from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gumption.data import InputError


class ActionScores(Protocol):
    """What the wrapper asks for scores."""

    def action_scores(self, goal: np.ndarray, table: np.ndarray, selection: np.ndarray) -> Any:
        """(B,), (B, S) and (B,) env ids (0 is nothing) -> (B, S, K) float32, K scores for each candidate."""
        ...


class KGScores(gym.ObservationWrapper):
    """Adds `kg_scores` (S, K) float32 to a Dict observation: for each action the scores of the triples that
    `env.unwrapped.action_facts()` names. They are kept within +-bound, so that the space is finite; an empty slot, and
    what has no score (NaN), gets -bound.

    The world must have `kg_query()` -> (goal (1,), candidates (1, S), selection (1,)) of env ids.
    """

    def __init__(self, env: gym.Env, scores: ActionScores, bound: float = 20.0) -> None:
        """:raises InputError: the world has no `kg_query`, or its observation is no Dict."""
        super().__init__(env)
        if not hasattr(env.unwrapped, "kg_query") or not isinstance(env.observation_space, spaces.Dict):
            raise InputError(f"{env.unwrapped} has no kg_query and Dict observation: KG scores cannot be added to it")
        self.scores = scores
        self.bound = float(bound)
        box = spaces.Box(-self.bound, self.bound, self._ask().shape, np.float32)
        self.observation_space = spaces.Dict({**env.observation_space.spaces, "kg_scores": box})

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The observation with `kg_scores` in it."""
        return {**observation, "kg_scores": self._ask()}

    def action_masks(self) -> np.ndarray:
        """(S,) bool of the world below, for MaskablePPO."""
        return self.env.get_wrapper_attr("action_masks")()

    def _ask(self) -> np.ndarray:
        goal, table, selection = self.env.get_wrapper_attr("kg_query")()
        scores = np.asarray(self.scores.action_scores(goal, table, selection), dtype=np.float32)[0]
        finite = np.nan_to_num(scores.clip(-self.bound, self.bound), nan=-self.bound)
        return np.where(table[0][:, None] > 0, finite, np.float32(-self.bound))
