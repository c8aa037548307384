"""What knowledge says about the options at a panel: a score of each direction and length.

The scores are what HALMA's meta-strategy (paper, A.3) makes of what is known, and 0 where knowledge says nothing:

     1      the next move of the known way to the goal; else where the hint leads, as far as the nearest stop
   0.9      a direction that lowers the distance to the goal, where no hint is understood, as far as the nearest stop
   0.6      another direction in which there is a way, as far as the nearest stop
    -1      an option that a wall stops, or that was never carried out

The nearest stop is the least of the crossing's, the wall's and, straight ahead, the goal's digit. One of these digits
that might be the least gets 0.8 of what the direction is worth, any other affordable length 0.2. A direction is worth
a third, a fifth, ... where it was tried before in this episode, and so is the way back; and it is worth 0.3 of that
where a hint or the known way leads elsewhere. A length that was tried gets a half, a third, ... besides: who does not
know yet what a goal looks like passes over it otherwise, from stop to stop.
"""

import numpy as np

from .episodic import NONE, EpisodicMemory
from .experience import shown_digits
from .knowledge import HALMAKnowledge

TOWARDS_GOAL, ELSEWHERE = 0.9, 0.6
ASIDE = 0.3  # what is left of a score where a hint or a plan says otherwise
POSSIBLE_STOP, ON_THE_WAY = 0.8, 0.2  # parts of a direction's worth
STOPPED = -1.0
UNKNOWN, HOPELESS, CLASSES = 0, 10, 11  # lengths: 1 to 9 as measured, and two classes of options that have no measure

_NO_COLOUR = 8
_DIRECTION = np.arange(4)


class Scoring:
    """Knowledge in the form that scores are gathered from.

    :ivar attainable: (11, 1, 1) float32 by length: 0 where some option has it, else -inf.
    :ivar left: T arrays (11, options, 4) float32, by the number of primitives chosen: 0 for the lengths that they can
        still come to after one primitive more, else -inf. The length comes first: then a best one is found fastest.
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
        # What each direction is about: the colour of its digits, and that of the goal's.
        self._way = _only_colour(knowledge.lowers & knowledge.stopped_without)
        self._goal = _only_colour(knowledge.lowers & knowledge.reaches_goal)
        unknown = np.zeros((1, 10, 10), dtype=bool)
        greater = np.concatenate([knowledge.greater, unknown])[self._way]  # (4, 10, 10), by direction
        self._step = np.stack([_one_option(table, measurable) for table in greater])
        # By the two digits of the direction's colour and the goal's straight ahead: 1,000 cases for each direction.
        cases = np.stack(np.unravel_index(np.arange(1000), (10, 10, 10)), axis=-1)[:, None]
        cases = np.broadcast_to(cases, (1000, 4, 3))
        self._affordable, self._part = _stops(cases, greater, self._step, knowledge.lesser_shows_hint)
        self._leads = np.concatenate([np.zeros((1, 4), dtype=bool), knowledge.leads_to])

    def scores(self, rows: np.ndarray, episodes: EpisodicMemory) -> np.ndarray:
        """(B, 4, 11) float32 for the panels (B, 11) of places where the episodes are."""
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
        """(B, 4) float32: what each direction is worth that has a way."""
        came = episodes.came
        back = (came != NONE)[:, None] & self._knowledge.opposite[came]
        worth = np.where(nearer, TOWARDS_GOAL, ELSEWHERE) / (1 + 2 * (tried + back))
        leads = self._leads[hint]
        worth = np.where(leads.any(1, keepdims=True), np.where(leads, 1.0, ASIDE * worth), worth)
        planned = episodes.pending_direction[:, None]
        worth = np.where(planned != NONE, np.where(planned == _DIRECTION, 1.0, ASIDE * worth), worth)
        return (worth * there).astype(np.float32)

    def _follow_plan(self, scores: np.ndarray, affordable: np.ndarray, episodes: EpisodicMemory) -> None:
        """The planned direction and length get 1, and other ways less than they had, if it is affordable for sure."""
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
    """(10,) int64: how far one option goes towards a distance: all of it, else the greatest lesser length that an
    option has, and 0 where none is known."""
    within = greater & measurable  # [distance, length]
    within &= ~(within[:, :, None] & greater).any(1)  # without those that are less than another
    return np.where(measurable, np.arange(10), np.where(within.any(1), within.argmax(1), 0))


def _stops(
    cases: np.ndarray, greater: np.ndarray, step: np.ndarray, lesser_shows_hint: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths that digits afford, and what part of a direction's worth each is, STOPPED for those beyond all digits.

    :param cases: (n, 4, 3): two digits of the direction's colour, and the goal's if it lies straight ahead; 0 for none.
    :param greater: (4, 10, 10) bool by direction; `step` (4, 10), see `_one_option`.
    :param lesser_shows_hint: only who has learned this knows that the lesser of two digits is the one to stop at.
    :returns: (n, 4, 10) bool and float32. A digit affords what is not greater than it (Definition 13).
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
