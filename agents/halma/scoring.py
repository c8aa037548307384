"""What knowledge says about the options at a panel, and how it enters the choice of an option.

    guide = make_guide(knowledge, num_envs, max_opt_len)
    guide.observe(percept)                           # once a step
    logits = logits + weight * guide.bias(chosen)    # of each choice in turn, given those made before it

There are two guides. `GraphGuide` looks up the facts that speak for a choice in a graph, as agents of every world do
(gumption.agents.advice). `StrategyGuide` follows HALMA's meta-strategy (paper, A.3), which people wrote, with an
agent's own knowledge. It scores each direction and length, 0 where knowledge says nothing; a choice is worth as much
as the best option that it leaves attainable:

     1      the next move of the known path to the goal; else the hint's direction, as far as the nearest stop
   0.9      a direction that lowers the distance to the goal, where no hint is understood, as far as the nearest stop
   0.6      another open direction, as far as the nearest stop
    -1      an option that a wall stops, or that was never carried out

The nearest stop is the least of the crossing's, the wall's and, straight ahead, the goal's digit. One of these digits
that might be the least gets 0.8 of the direction's worth, any other affordable length 0.2. A direction that was tried n
times in this episode is worth 1 / (1 + 2 n) of that, where the way back counts as one more try; and it is worth 0.3 of
that where a hint or the known path leads elsewhere. A length that was tried n times gets 1 / (1 + n) besides: an agent
that does not know yet what a goal looks like would otherwise pass over it, from stop to stop.
"""

from typing import TYPE_CHECKING

import numpy as np

from gumption.data import InputError
from gumption.envs.halma.facts import HALMAFacts
from gumption.envs.halma.rules import RULES, Rules
from gumption.envs.halma.signs import signs

from .acting import Percept, panel_rows
from .episodic import NONE, EpisodicMemory
from .experience import shown_digits
from .knowledge import HALMAKnowledge

if TYPE_CHECKING:
    from gumption.agents.advice import Advice

TOWARDS_GOAL, ELSEWHERE = 0.9, 0.6
ASIDE = 0.3  # of a score, where a hint or a plan leads elsewhere
POSSIBLE_STOP, ON_THE_WAY = 0.8, 0.2  # of a direction's worth
STOPPED = -1.0
UNKNOWN, HOPELESS, CLASSES = 0, 10, 11  # lengths: 1 to 9 as measured, and two classes of options without a measure

_NO_COLOUR = 8
_DIRECTION = np.arange(4)


class Scoring:
    """Tables from which scores are gathered.

    :ivar attainable: (11, 1, 1) float32 by length: 0 where some option has it, else -inf.
    :ivar left: T arrays (11, options, 4) float32, by the number of primitives chosen: 0 for the lengths that are still
        attainable after one more primitive, else -inf. With the length first the maximum is found fastest.
    """

    def __init__(self, knowledge: HALMAKnowledge) -> None:
        self._knowledge = knowledge
        options = knowledge.options
        kind = np.where(knowledge.measure > 0, knowledge.measure, np.where(knowledge.stopped, HOPELESS, UNKNOWN))
        self.left: list[np.ndarray] = []
        reached: np.ndarray = np.eye(CLASSES, dtype=bool)[kind]  # (options, 11), with all primitives chosen
        for _ in range(options.max_opt_len):
            after = reached[options.extended]  # (options, 4, 11)
            self.left.insert(0, _barred(after.transpose(2, 0, 1)))
            reached = np.logical_or.reduce(after, axis=1)
        self.attainable = _barred(reached[0])[:, None, None]
        measurable = np.isin(np.arange(10), knowledge.measure[knowledge.measure > 0])
        # The colour of each direction's wall and crossing, and of the goal's digit.
        self._way = _only_colour(knowledge.lowers & knowledge.stopped_without)
        self._goal = _only_colour(knowledge.lowers & knowledge.reaches_goal)
        unknown = np.zeros((1, 10, 10), dtype=bool)
        greater = np.concatenate([knowledge.greater, unknown])[self._way]  # (4, 10, 10), by direction
        self._step = np.stack([_one_option(table, measurable) for table in greater])
        # The two digits of the direction's colour and the goal's straight ahead: 1,000 cases for each direction.
        cases = np.stack(np.unravel_index(np.arange(1000), (10, 10, 10)), axis=-1)[:, None]
        cases = np.broadcast_to(cases, (1000, 4, 3))
        self._affordable, self._part = _stops(cases, greater, self._step, knowledge.lesser_shows_hint)
        self._leads = np.concatenate([np.zeros((1, 4), dtype=bool), knowledge.leads_to])

    def scores(self, rows: np.ndarray, episodes: EpisodicMemory) -> np.ndarray:
        """(B, 4, 11) float32 for the panels (B, 11) at which the episodes are."""
        each = np.arange(len(rows))
        shown = np.zeros((len(rows), 9, 2), dtype=np.int64)
        shown[:, :_NO_COLOUR] = shown_digits(rows)
        digits = shown[:, self._way]  # (B, 4, 2)
        to_goal = shown[:, self._goal, 0]  # (B, 4)
        there = digits[..., 0] + digits[..., 1] > 0
        straight = shown[:, self._goal, 0].astype(bool).sum(1, keepdims=True) == 1
        case = 100 * digits[..., 0] + 10 * digits[..., 1] + straight * there * to_goal
        affordable, part = self._affordable[case, _DIRECTION], self._part[case, _DIRECTION]
        tried = episodes.tried[each, episodes.here]  # (B, 4, 10)
        worth = self._worth(rows[:, 10], to_goal > 0, there, tried.sum(2), episodes)
        scores = np.zeros((len(rows), 4, CLASSES), dtype=np.float32)
        scores[:, :, :HOPELESS] = np.where(part > 0, part * worth[..., None] / (1 + tried), part)
        self._follow_plan(scores, affordable, episodes)
        scores[~there & (self._way < _NO_COLOUR)] = STOPPED
        scores[:, :, :HOPELESS][episodes.failed[each, episodes.here]] = STOPPED
        scores[:, :, HOPELESS] = STOPPED
        return scores

    def _worth(
        self, hint: np.ndarray, nearer: np.ndarray, there: np.ndarray, tried: np.ndarray, episodes: EpisodicMemory
    ) -> np.ndarray:
        """(B, 4) float32 of each direction; 0 where a wall is next."""
        came = episodes.came
        back = (came != NONE)[:, None] & self._knowledge.opposite[came]
        worth = np.where(nearer, TOWARDS_GOAL, ELSEWHERE) / (1 + 2 * (tried + back))
        leads = self._leads[hint]
        worth = np.where(leads.any(1, keepdims=True), np.where(leads, 1.0, ASIDE * worth), worth)
        planned = episodes.pending_direction[:, None]
        worth = np.where(planned != NONE, np.where(planned == _DIRECTION, 1.0, ASIDE * worth), worth)
        return (worth * there).astype(np.float32)

    def _follow_plan(self, scores: np.ndarray, affordable: np.ndarray, episodes: EpisodicMemory) -> None:
        """If the planned move is affordable for sure, it gets 1, and the other options less than they had."""
        each, direction = np.arange(len(scores)), episodes.pending_direction
        step = self._step[direction, episodes.pending_value]
        follow = (direction != NONE) & (step > 0) & affordable[each, direction, step]
        env = each[follow]
        scores[env] = np.where(scores[env] > 0, ASIDE * scores[env], scores[env])
        scores[env, direction[env], step[env]] = 1.0


def _barred(allowed: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.where(allowed, np.float32(0), np.float32(-np.inf)))


def _only_colour(table: np.ndarray) -> np.ndarray:
    """(4, 8) bool -> (4,) int64: the one colour of each direction, 8 for none or several."""
    return np.where(table.sum(1) == 1, table.argmax(1), _NO_COLOUR)


def _one_option(greater: np.ndarray, measurable: np.ndarray) -> np.ndarray:
    """(10,) int64: how much of a distance one option covers: all of it, else the greatest lesser length that an option
    has; 0 where none is known."""
    within = greater & measurable  # [distance, length]
    within &= ~(within[:, :, None] & greater).any(1)  # the greatest of these
    return np.where(measurable, np.arange(10), np.where(within.any(1), within.argmax(1), 0))


def _stops(
    cases: np.ndarray, greater: np.ndarray, step: np.ndarray, lesser_shows_hint: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths that digits afford, and the share of a direction's worth that each gets, STOPPED beyond all digits.

    :param cases: (n, 4, 3): two digits of the direction's colour, and the goal's if it lies straight ahead; 0 for none.
    :param greater: (4, 10, 10) bool by direction; `step` (4, 10), see `_one_option`.
    :param lesser_shows_hint: without this knowledge either of two digits may be the one to stop at.
    :returns: (n, 4, 10) bool and float32. A digit affords the lengths that are not greater than it (Definition 13).
    """
    direction = _DIRECTION[:, None]
    shown = cases > 0
    walls, there = cases[..., :2], shown[..., :2]
    same = walls[..., None] == np.arange(10)
    affordable = ((greater[direction, walls] | same) & there[..., None]).any(2)
    beyond = (greater.transpose(0, 2, 1)[direction, walls] | ~there[..., None]).all(2) & there.any(2, keepdims=True)
    part = np.where(affordable, ON_THE_WAY, np.where(beyond, STOPPED, 0.0)).astype(np.float32)
    mine, other = cases[..., :, None], cases[..., None, :]
    order = greater[direction[..., None], mine, other] & shown[..., None, :] & lesser_shows_hint
    beaten = order.any(3)
    least = (order.swapaxes(2, 3) | (mine == other) | ~shown[..., None, :]).all(3)
    value = np.where(least, 1.0, POSSIBLE_STOP).astype(np.float32)
    place = step[direction, cases]
    value[~shown | beaten | (place == 0)] = 0
    for i in range(3):
        at = place[..., i, None]
        best = np.maximum(np.take_along_axis(part, at, 2), value[..., i, None])
        np.put_along_axis(part, at, best, 2)
    part[..., 0] = 0
    return affordable, part


# ---- Guides


def make_guide(knowledge: "HALMAKnowledge | Advice", num_envs: int, max_opt_len: int, rules: Rules = RULES) -> "Guide":
    """:raises InputError: knowledge of options of another length."""
    if not isinstance(knowledge, HALMAKnowledge):
        return GraphGuide(knowledge, num_envs, max_opt_len, rules)
    if knowledge.options.max_opt_len != max_opt_len:
        raise InputError(
            f"the knowledge is about options of up to {knowledge.options.max_opt_len} primitives, not {max_opt_len}"
        )
    return StrategyGuide(knowledge, num_envs)


class GraphGuide:
    """Scores a choice by the sum of the advice's scores, one for each relation of `HALMAFacts`."""

    def __init__(self, knowledge: "Advice", num_envs: int, max_opt_len: int, rules: Rules) -> None:
        self.knowledge, self.num_envs = knowledge, num_envs
        self._facts, self._signs = HALMAFacts(max_opt_len, rules), None if rules.plain_signs else signs(rules)
        self._rows = np.zeros((num_envs, 11), dtype=np.int64)

    def observe(self, percept: Percept) -> None:
        """Read the panels of the agents; InputError for visual ones."""
        panels = panel_rows(percept.observation)
        self._rows = panels if self._signs is None else self._signs.truth(panels)

    def bias(self, chosen: np.ndarray) -> np.ndarray:
        """(B, 4) float32: of each direction, or of each primitive after those chosen. A graph that is looked up gives
        the number of facts that it states for the choice.

        :param chosen: (B, t) int64, the option so far: empty, or a direction and t - 1 primitives.
        """
        rows = np.broadcast_to(self._rows, (len(chosen), self._rows.shape[1]))  # one panel may have many options
        return self.knowledge.score(self._facts.facts(rows, chosen)).sum(2).numpy(force=True)


class StrategyGuide:
    """Scores the choices of B agents, which remember their episodes.

    Biases lie in [-1, 1]: the best score that the choice leaves attainable. They are exactly 0 where nothing is known.

    :ivar knowledge: may be replaced during episodes; their memory stays.
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
        """Read the panels, remember the moves that led there, and score the options; InputError for visual panels."""
        knowledge, rows = self._knowledge, panel_rows(percept.observation)
        value = knowledge.measure[knowledge.options.of(percept.action[:, 1:])]
        self.episodes.observe(
            rows, percept.action[:, 0], value, percept.reached, percept.trial_over, percept.first, knowledge
        )
        self._scores = np.ascontiguousarray(self._scoring.scores(rows, self.episodes).transpose(2, 0, 1))

    @property
    def scores(self) -> np.ndarray:
        """(B, 4, 11) float32 [direction, length]: lengths 1 to 9 as measured, UNKNOWN and HOPELESS."""
        return self._scores.transpose(1, 2, 0)

    @property
    def attainable(self) -> np.ndarray:
        """(11,) bool: the lengths of `scores` that some option has."""
        return self._scoring.attainable[:, 0, 0] == 0

    def bias(self, chosen: np.ndarray) -> np.ndarray:
        """(B, 4) float32; see `GraphGuide.bias`."""
        if chosen.shape[1] == 0:
            return (self._scores + self._scoring.attainable).max(0)
        left = self._scoring.left[chosen.shape[1] - 1].take(self._knowledge.options.of(chosen[:, 1:]), axis=1)
        return (left + self._scores[:, self._each, chosen[:, 0], None]).max(0)


Guide = StrategyGuide | GraphGuide


class KnowledgeActor:
    """Acts by the scores alone: at each step of decoding it draws one of the best choices uniformly."""

    def __init__(self, knowledge: "HALMAKnowledge | Advice", max_opt_len: int, rules: Rules = RULES) -> None:
        """:raises InputError: knowledge of options of another length."""
        self.max_opt_len, self.rules = max_opt_len, rules
        self.guide = make_guide(knowledge, 0, max_opt_len, rules)

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        size = len(percept.first)
        if self.guide.num_envs != size:
            self.guide = make_guide(self.guide.knowledge, size, self.max_opt_len, self.rules)
        self.guide.observe(percept)
        chosen = np.zeros((size, 0), dtype=np.int64)
        for _ in range(1 + self.max_opt_len):
            bias = self.guide.bias(chosen)
            best = bias == bias.max(1, keepdims=True)
            chosen = np.concatenate([chosen, (rng.random(bias.shape) * best).argmax(1)[:, None]], axis=1)
        return chosen
