"""A trained agent of ProbSol to look at, action by action."""

from typing import Any

from gumption.agents.watching import PolicyPlayer, Score
from gumption.envs.probsol.vector_env import ProbSolVectorEnv


class ActionPlayer(PolicyPlayer):
    """Plays the most probable actions of a policy of the general learner."""

    env: ProbSolVectorEnv

    def labels(self) -> list[str]:
        """Each action as one would type it."""
        return [" ".join(map(str, self.env.label(a))) for a in range(self.env.labels.num_actions)]

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """How near the goal is, or how the episode ended."""
        told = self.env.describe(0)
        if told["end"]:
            return f"ended: {told['end']}", bool(told["success"])
        return f"solution rate {told['solution_rate']:.3f}", False

    def _scores(self, action: int) -> tuple[Score, ...]:
        # Thousands of points are open at once: what is said of each would take minutes, and nobody would read it.
        return super()._scores(action) if action < self.env.labels.first_point else ()
