"""An agent's memory of its episode: places, the moves that it tried there, and the path that led to the goal.

A place is recognised by its panel, which no other cell of a maze shows (the goal's offset is in it). Everything is
arrays over B episodes; the moves' lengths are values that the agent's knowledge measured, 0 where it could not.
"""

from collections.abc import Mapping

import numpy as np

from gumption.envs.halma.maze import place_codes

from .knowledge import HALMAKnowledge

PLACES = 100  # a maze has no more cells
NONE = -1


class EpisodicMemory:
    """:ivar here: (B,) int64 index of the place, in the order of the episode's first visits.
    :ivar came: (B,) int64 direction of the move that led here, NONE at a trial's start.
    :ivar tried: (B, PLACES, 4, 10) int16: how often a move of this direction and value left a place; value 0 is
        unknown.
    :ivar failed: (B, PLACES, 4, 10) bool: it was not carried out there; never set for unknown values.
    :ivar plan_direction, plan_value: (B, PLACES) int64: the next move of the known path to the goal; NONE off the path.
    :ivar pending_direction, pending_value: (B,) int64: the rest of a planned move that takes several options.
    """

    def __init__(self, num_envs: int) -> None:
        self._each = np.arange(num_envs)
        shape = (num_envs, PLACES)
        self.here, self.came, self.pending_direction, self.pending_value = np.zeros((4, num_envs), dtype=np.int64)
        self.tried = np.zeros((*shape, 4, 10), dtype=np.int16)
        self.failed = np.zeros((*shape, 4, 10), dtype=bool)
        self.plan_direction, self.plan_value = np.zeros((2, *shape), dtype=np.int64)
        self._codes = np.zeros(shape, dtype=np.int64)
        self._count, self._plan_moves = np.zeros((2, num_envs), dtype=np.int64)
        # The path of this trial without its loops: places and the moves from each to the next.
        self._way, self._direction, self._value = np.zeros((3, *shape), dtype=np.int64)
        self._length = np.zeros(num_envs, dtype=np.int64)

    def observe(
        self,
        rows: np.ndarray,
        direction: np.ndarray,
        value: np.ndarray,
        reached: np.ndarray,
        trial_over: np.ndarray,
        first: np.ndarray,
        knowledge: HALMAKnowledge,
    ) -> None:
        """Remember where the previous moves led.

        :param rows: (B, 11) the panels that are shown now.
        :param direction, value: (B,) of the previous moves; value 0 for one that knowledge does not measure.
        :param reached, trial_over, first: (B,) bool; see `Percept`.
        """
        first = first | (self._count == 0)  # also where memory begins in the middle of an episode
        each, codes = self._each, place_codes(rows)
        stayed = ~first & ~trial_over & (codes == self._codes[each, self.here])
        moved = ~first & ~trial_over & ~stayed
        failed = stayed & (value > 0)
        self.failed[each[failed], self.here[failed], direction[failed], value[failed]] = True
        left = moved | (reached & ~first)
        self.tried[each[left], self.here[left], direction[left], value[left]] += 1
        last = self._length - 1
        self._direction[each[left], last[left]] = direction[left]
        self._value[each[left], last[left]] = value[left]
        if reached.any():
            self._plan(np.flatnonzero(reached & ~first), knowledge)
        if first.any():
            self.tried[first], self.failed[first], self.plan_direction[first] = 0, False, NONE
            self._count[first], self._codes[first], self._plan_moves[first] = 0, NONE, PLACES
        same = self._codes == codes[:, None]
        self.here = np.where(stayed, self.here, np.where(same.any(1), same.argmax(1), self._count))
        self._codes[each, self.here] = codes
        self._count = np.maximum(self._count, self.here + 1)
        self._walk(moved, ~stayed & ~moved)
        self.came = np.where(moved, direction, np.where(stayed, self.came, NONE))
        self._carry_on(moved, stayed, direction, value, knowledge)

    def state_dict(self) -> dict[str, np.ndarray]:
        """The whole memory, by name."""
        return {name: value.copy() for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Put back what `state_dict` gave of as many episodes."""
        for name, value in state.items():
            getattr(self, name)[...] = value

    def _walk(self, moved: np.ndarray, begun: np.ndarray) -> None:
        """Append the place to the path, or cut the path there if the place is on it already."""
        on_way = (self._way == self.here[:, None]) & (np.arange(PLACES) < self._length[:, None])
        back = on_way.any(1)
        self._length = np.where(moved, np.where(back, on_way.argmax(1), self._length) + 1, self._length)
        self._length[begun] = 1
        self._way[self._each, self._length - 1] = self.here

    def _plan(self, envs: np.ndarray, knowledge: HALMAKnowledge) -> None:
        """Plan the path of the trial that has just reached the goal, with moves in one line merged into one.

        It goes backwards from the goal. The knowledge adds two values; they stay two moves where it does not know the
        sum. A move too far and back again is merged into their difference.
        """
        envs = envs[self._length[envs] < self._plan_moves[envs]]
        direction, value, moves = np.full(len(envs), NONE), np.zeros(len(envs), dtype=np.int64), 0
        for i in range(int(self._length[envs].max(initial=0)) - 1, -1, -1):
            on = i < self._length[envs]
            now, far = self._direction[envs, i], self._value[envs, i]
            onward = direction != NONE
            total = np.where(onward & (now == direction), knowledge.sums[far, value], 0)
            back = onward & knowledge.opposite[now, direction]
            total = np.where(back, knowledge.differences[far, value], total)
            merged = total > 0
            direction = np.where(on, now, direction)
            value = np.where(on, np.where(merged, total, far), value)
            moves = moves + (on & ~merged)
            self.plan_direction[envs[on], self._way[envs[on], i]] = direction[on]
            self.plan_value[envs[on], self._way[envs[on], i]] = value[on]
        self._plan_moves[envs] = moves

    def _carry_on(
        self, moved: np.ndarray, stayed: np.ndarray, direction: np.ndarray, value: np.ndarray, knowledge: HALMAKnowledge
    ) -> None:
        """The pending move: on the known path the plan's, else the rest of the previous one."""
        follows = moved & (direction == self.pending_direction)
        left = np.where(follows, knowledge.differences[self.pending_value, value], 0)
        left = np.where(stayed, self.pending_value, left)
        planned = self.plan_direction[self._each, self.here]
        on_way = planned != NONE
        self.pending_value = np.where(on_way, self.plan_value[self._each, self.here], left)
        pending = np.where(on_way, planned, np.where(left > 0, self.pending_direction, NONE))
        self.pending_direction = pending
