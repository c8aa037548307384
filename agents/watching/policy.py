"""A policy as a player: whatever reads an environment, gives logits and may be advised by a graph."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from gumption.agents.advice import Advice
from gumption.agents.readout import MASKED

from .steps import Candidate, Choice, Score, in_words


class PolicyPlayer:
    """Plays the most probable actions of a policy.

    :ivar env: see `Player`; its `action_facts` name the candidates.
    """

    def __init__(
        self, policy: Any, env: Any, *, question: str = "action", options: Mapping[str, Any] | None = None
    ) -> None:
        """
        :param policy: `policy.read(env)` is a state, `policy(state)` its Readout; `policy.advice` an `Advice` or None.
        :param question: what is chosen.
        :param options: of each reset.
        """
        self.policy, self.env, self.question, self.options = policy, env, question, dict(options or {})

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed, options=self.options)

    @torch.no_grad()
    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        readout = self.policy(self.policy.read(self.env))
        logits = readout.logits[0]
        probabilities = logits.softmax(0).tolist()
        best = int(logits.argmax())
        names = self.labels()
        places = [a for a, logit in enumerate(logits.tolist()) if logit > MASKED / 2]
        candidates = tuple(
            Candidate(
                names[a] or f"action {a}",
                probabilities[a],
                float(readout.attention[0, a]),
                self._scores(a),
                float(logits[a]),
            )
            for a in places
        )
        return np.array([best]), (Choice(self.question, candidates, places.index(best)),)

    def labels(self) -> list[str]:
        """The name of each candidate, "" for one that has none."""
        return self.env.action_facts().candidates(self.env.vocabulary)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return "", bool(infos["success"][0]) if "success" in infos else False

    def _scores(self, action: int) -> tuple[Score, ...]:
        return () if self.policy.advice is None else scores_of(self.policy.advice, action)


def scores_of(advice: Advice, candidate: int) -> tuple[Score, ...]:
    """What was last said of a candidate of the first environment, in the order of the relations."""
    said = sorted(advice.why(0, candidate), key=lambda pair: advice.relations.index(pair[0][1]))
    return tuple(Score(fact[1], score, (in_words(fact) + "?",)) for fact, score in said)
