"""Knowledge in the choice of options: what each step of decoding an option is worth, for a batch of agents.

    guide = make_guide(knowledge, num_envs, max_opt_len)
    guide.observe(percept)                           # once a step
    logits = logits + weight * guide.bias(chosen)    # of each choice in turn, given those made before it

There are two guides. `StrategyGuide` follows a strategy that people wrote, over an agent's own knowledge: scores of
whole options come from scoring.py, and a choice is worth as much as the best option that it leaves attainable. Which
lengths are attainable follows from the options that the knowledge has measured. `GraphGuide` asks a graph for the facts
that speak for a choice, as agents of every world do (gumption.agents.advice).
"""

import numpy as np

from gumption.agents.advice import Advice
from gumption.data import InputError
from gumption.envs.halma.facts import HALMAFacts

from .acting import Percept, panel_rows
from .episodic import EpisodicMemory
from .knowledge import HALMAKnowledge
from .scoring import CLASSES, Scoring

Knowledge = HALMAKnowledge | Advice


def make_guide(knowledge: Knowledge, num_envs: int, max_opt_len: int) -> "Guide":
    """The guide that goes by some knowledge.

    :raises InputError: knowledge of options of another length.
    """
    if isinstance(knowledge, Advice):
        return GraphGuide(knowledge, num_envs, max_opt_len)
    if knowledge.options.max_opt_len != max_opt_len:
        raise InputError(
            f"the knowledge is about options of up to {knowledge.options.max_opt_len} primitives, not {max_opt_len}"
        )
    return StrategyGuide(knowledge, num_envs)


class GraphGuide:
    """Scores by the facts that speak for a choice: the sum of the advice's scores, one for each relation.

    :ivar knowledge: the advice, about the vocabulary of `HALMAFacts`; it may be replaced at any time.
    """

    def __init__(self, knowledge: Advice, num_envs: int, max_opt_len: int) -> None:
        self.knowledge, self.num_envs = knowledge, num_envs
        self._facts = HALMAFacts(max_opt_len)
        self._rows = np.zeros((num_envs, 11), dtype=np.int64)

    def observe(self, percept: Percept) -> None:
        """Take in what the agents perceive now; InputError for visual panels, whose digits nobody has read yet."""
        self._rows = panel_rows(percept.observation)

    def bias(self, chosen: np.ndarray) -> np.ndarray:
        """(B, 4) float32: of each direction, or of each primitive after those chosen. A graph that is looked up gives
        the number of facts that it states for the choice.

        :param chosen: (B, t) int64, the option so far: nothing, or a direction and t - 1 primitives.
        """
        rows = np.broadcast_to(self._rows, (len(chosen), self._rows.shape[1]))  # one panel may have many options
        return self.knowledge.score(self._facts.facts(rows, chosen)).sum(2).numpy(force=True)


class StrategyGuide:
    """Scores the choices of B agents, each of which remembers the episode it is in.

    Biases lie in [-1, 1]: the best score that the choice leaves attainable. They are exactly 0 where nothing is known.

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
        """Take in what the agents perceive now, and score what they can do; InputError as of `GraphGuide`."""
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

    def bias(self, chosen: np.ndarray) -> np.ndarray:
        """(B, 4) float32: of each direction, or of each primitive after those chosen.

        :param chosen: (B, t) int64, the option so far: nothing, or a direction and t - 1 primitives.
        """
        if chosen.shape[1] == 0:
            return (self._scores + self._scoring.attainable).max(0)
        left = self._scoring.left[chosen.shape[1] - 1].take(self._knowledge.options.of(chosen[:, 1:]), axis=1)
        return (left + self._scores[:, self._each, chosen[:, 0], None]).max(0)


Guide = StrategyGuide | GraphGuide


class KnowledgeActor:
    """Acts by the scores alone: at each step of decoding one of the best choices, drawn uniformly. One that knows
    nothing draws options uniformly.
    """

    def __init__(self, knowledge: Knowledge, max_opt_len: int) -> None:
        """:raises InputError: knowledge of options of another length."""
        self.max_opt_len = max_opt_len
        self.guide = make_guide(knowledge, 0, max_opt_len)

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        """Options (B, 1 + T) int64."""
        size = len(percept.first)
        if self.guide.num_envs != size:
            self.guide = make_guide(self.guide.knowledge, size, self.max_opt_len)
        self.guide.observe(percept)
        chosen = np.zeros((size, 0), dtype=np.int64)
        for _ in range(1 + self.max_opt_len):
            choice = _one_of_the_best(self.guide.bias(chosen), rng)
            chosen = np.concatenate([chosen, choice[:, None]], axis=1)
        return chosen


def _one_of_the_best(bias: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B, 4) -> (B,) int64: uniformly among the greatest."""
    best = bias == bias.max(1, keepdims=True)
    return (rng.random(bias.shape) * best).argmax(1)
