"""The rows that stand beside a guided agent in every table: what does its score come from?

Each plays the tests of the guided run. The row "no knowledge" is another training, the agent MLP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .acting import Actor, MakeActor, OracleActor, Percept, RandomActor, other_options
from .guidance import KnowledgeActor

if TYPE_CHECKING:
    from .runs import HALMARun

KNOWLEDGE_ONLY = "knowledge only"
UNTRAINED = "untrained network + KG"
TAKEN_AWAY = "trained network, KG taken away"
RANDOM, ORACLE = "random", "oracle"
COMPARISONS = (KNOWLEDGE_ONLY, UNTRAINED, TAKEN_AWAY, RANDOM, ORACLE)


class Exploring:
    """An actor that plays its own option with probability `greedy`, else another one, as trained agents do."""

    def __init__(self, actor: Actor, greedy: float) -> None:
        self.actor, self.greedy = actor, greedy

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        """Options (B, 1 + T) int64."""
        options = self.actor.act(percept, rng)
        elsewhere = rng.random(len(options)) >= self.greedy
        return np.where(elsewhere[:, None], other_options(rng, options), options)


def comparisons(run: HALMARun) -> Mapping[str, MakeActor]:
    """The actors of COMPARISONS by name; none for a run that has no knowledge.

    The knowledge is the one that the run had at its end. Nothing is trained: the untrained network has the weights that
    the run's training began with.
    """
    knowledge, config = run.player.knowledge, run.config
    if knowledge is None:
        return {}
    return {
        KNOWLEDGE_ONLY: lambda _: Exploring(KnowledgeActor(knowledge, config.max_opt_len), config.learner.greedy_last),
        UNTRAINED: lambda _: run.actor(trained=False),
        TAKEN_AWAY: lambda _: run.actor(guided=False),
        RANDOM: lambda _: RandomActor(config.max_opt_len),
        ORACLE: OracleActor,
    }
