"""Knowledge in the choice of options: what each step of decoding an option is worth, for a batch of agents.

    guide = Guide(knowledge, num_envs)
    guide.observe(percept)                                      # once a step
    logits = logits + weight * guide.direction_bias()           # then the primitives, one after another
    logits = logits + weight * guide.primitive_bias(direction, chosen)

Scores of whole options come from scoring.py. An option is decoded step by step: a choice is worth as much as the best
option that it leaves attainable, which is asked of what the knowledge has measured, not of arithmetic.
"""

import numpy as np

from gumption.data import InputError

from .acting import Percept
from .episodic import EpisodicMemory
from .knowledge import HALMAKnowledge
from .scoring import CLASSES, Scoring


class Guide:
    """Scores the choices of B agents, each of which remembers the episode it is in.

    At each step `observe` comes first; then `direction_bias`, and `primitive_bias` for each primitive in turn. Biases
    lie in [-1, 1]: the best score that the choice leaves attainable. They are exactly 0 where nothing is known.

    :ivar knowledge: may be replaced at any time by what was learned meanwhile; episodes go on being remembered.
    """

    def __init__(self, knowledge: HALMAKnowledge, num_envs: int) -> None:
        self.episodes = EpisodicMemory(num_envs)
        self.knowledge = knowledge
        self._scores = np.zeros((CLASSES, num_envs, 4), dtype=np.float32)
        self.num_envs = num_envs
        self._each = np.arange(num_envs)

    @property
    def knowledge(self) -> HALMAKnowledge:
        return self._knowledge

    @knowledge.setter
    def knowledge(self, knowledge: HALMAKnowledge) -> None:
        self._knowledge = knowledge
        self._scoring = Scoring(knowledge)

    def observe(self, percept: Percept) -> None:
        """Take in what the agents perceive now, and score what they can do.

        :raises InputError: visual panels, whose digits nobody has read yet.
        """
        knowledge, rows = self._knowledge, panel_rows(percept.observation)
        value = knowledge.measure[knowledge.options.of(percept.action[:, 1:])]
        self.episodes.observe(
            rows, percept.action[:, 0], value, percept.reached, percept.trial_over, percept.first, knowledge
        )
        self._scores = np.ascontiguousarray(self._scoring.scores(rows, self.episodes).transpose(2, 0, 1))

    @property
    def scores(self) -> np.ndarray:
        """(B, 4, 11) float32 [direction, length]: lengths 1 to 9 as the knowledge measures options, 0 for options that
        it does not measure, 10 for those that were never carried out."""
        return self._scores.transpose(1, 2, 0)

    @property
    def attainable(self) -> np.ndarray:
        """(11,) bool: the lengths of `scores` that some option has."""
        return self._scoring.attainable[:, 0, 0] == 0

    def direction_bias(self) -> np.ndarray:
        """(B, 4) float32: of each direction."""
        return (self._scores + self._scoring.attainable).max(0)

    def primitive_bias(self, direction: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """(B, 4) float32: of each primitive after those chosen.

        :param direction: (B,) int64.
        :param chosen: (B, t) int64 primitives, t < max_opt_len.
        """
        left = self._scoring.left[chosen.shape[1]].take(self._knowledge.options.of(chosen), axis=1)
        return (left + self._scores[:, self._each, direction, None]).max(0)


class KnowledgeActor:
    """Acts by the scores alone: at each step of decoding one of the best choices, drawn uniformly. One that knows
    nothing draws options uniformly.
    """

    def __init__(self, knowledge: HALMAKnowledge, max_opt_len: int) -> None:
        """:raises InputError: knowledge of options of another length."""
        if knowledge.options.max_opt_len != max_opt_len:
            raise InputError(
                f"the knowledge is about options of up to {knowledge.options.max_opt_len} primitives, not {max_opt_len}"
            )
        self.max_opt_len = max_opt_len
        self.guide = Guide(knowledge, 0)

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        """Options (B, 1 + T) int64."""
        size = len(percept.first)
        if self.guide.num_envs != size:
            self.guide = Guide(self.guide.knowledge, size)
        self.guide.observe(percept)
        direction = _one_of_the_best(self.guide.direction_bias(), rng)
        chosen = np.zeros((size, 0), dtype=np.int64)
        for _ in range(self.max_opt_len):
            primitive = _one_of_the_best(self.guide.primitive_bias(direction, chosen), rng)
            chosen = np.concatenate([chosen, primitive[:, None]], axis=1)
        return np.concatenate([direction[:, None], chosen], axis=1)


def panel_rows(observation: np.ndarray) -> np.ndarray:
    """(B, 11, 19) uint8 symbolic observations -> (B, 11) int64 rows: which digits and which hint are shown.

    :raises InputError: other observations.
    """
    if observation.shape[1:] != (11, 19):
        raise InputError(
            f"knowledge is about digits, and an observation of shape {observation.shape[1:]} has none: "
            'play with observation="symbolic"'
        )
    rows = observation.argmax(-1)
    rows[:, :10] -= 9
    rows[:, 10] = np.where(observation[:, 10].any(-1), rows[:, 10] + 1, 0)
    return rows


def _one_of_the_best(bias: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B, 4) -> (B,) int64: uniformly among the greatest."""
    best = bias == bias.max(1, keepdims=True)
    return (rng.random(bias.shape) * best).argmax(1)
