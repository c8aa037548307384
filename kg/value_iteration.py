"""Looking ahead if a product replaces its subject: value iteration on a graph of states (Bellman, 1957).

In a maze the relation maps a place and an option to the next place. With h uses left the value of option o in s is

    Q_h(s, o) = p(goal | s, o) + gamma sum_x p(x | s, o) V_{h-1}(x) + gamma p(nothing | s, o) V_{h-1}(s)
    V_h(s) = max over o of Q_h(s, o),    V_0 = 0

If nothing is made, the state stays s. With certain facts the shortest path decides: its discounted length is the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from gumption.data import InputError

from .planning_kernels import GAMMA

ENTRIES = 1 << 24  # maximum number of values in memory: goals times pairs


@dataclass(frozen=True, eq=False)
class Outcomes:
    """p(product | pair). Ids are from 1, as in a world's vocabulary; the key of a pair is first * size + second.

    :ivar size: N + 1.
    :ivar pairs: (P,) int64 sorted keys of the pairs that can make something.
    :ivar start: (P + 1,) int64, the start of each pair's products in `product` and `probability` (n,).
    """

    size: int
    pairs: np.ndarray
    start: np.ndarray
    product: np.ndarray
    probability: np.ndarray

    def rows(self) -> np.ndarray:
        """Return (n, 3) int64 (first, second, product), in the order of `product`."""
        pairs = np.repeat(self.pairs, np.diff(self.start))
        return np.stack([pairs // self.size, pairs % self.size, self.product.astype(np.int64)], axis=1)

    def made(self, first: int, second: int) -> list[tuple[int, float]]:
        """Return the products of a pair and their probabilities."""
        key = first * self.size + second
        row = int(self.pairs.searchsorted(key))
        if row == len(self.pairs) or self.pairs[row] != key:
            return []
        part = slice(self.start[row], self.start[row + 1])
        return list(zip(self.product[part].tolist(), self.probability[part].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Transitions(Outcomes):
    """p(product | subject, given); the probabilities of a pair add up to 1 at most."""

    @classmethod
    def of(cls, size: int, rows: np.ndarray, probability: np.ndarray) -> Transitions:
        """
        :param size: N + 1.
        :param rows: (n, 3) int64 rows (subject, given, product) of ids from 1, each at most once.
        :param probability: (n,). If the probabilities of a pair add up to more than 1, as with several facts about a
            pair, they are divided by their sum.
        """
        keys = rows[:, 0] * size + rows[:, 1]
        order = np.lexsort((rows[:, 2], keys))
        pairs, start = np.unique(keys[order], return_index=True)
        ends = np.append(start, len(keys)).astype(np.int64)
        p = probability[order].astype(np.float64)
        mass = np.add.reduceat(p, start) if len(start) else np.zeros(0)
        return cls(size, pairs, ends, rows[order, 2], p / np.repeat(np.maximum(mass, 1.0), np.diff(ends)))

    def values(
        self,
        at_hand: np.ndarray,
        goal: np.ndarray,
        candidates: np.ndarray,
        chosen: np.ndarray,
        tried: np.ndarray,
        horizon: np.ndarray,
    ) -> np.ndarray:
        """Return (B, A) float32, as `Planner.values`.

        :raises InputError: several things at hand, or a party that is already chosen.
        """
        if at_hand.shape[1] != 1 or chosen.any():
            raise InputError(
                "where a product replaces its subject, one thing is at hand and a choice names the other party: "
                f"at_hand has shape {at_hand.shape}, and {int((chosen > 0).sum())} parties are chosen already"
            )
        found = np.zeros(candidates.shape, dtype=np.float32)
        asked = np.concatenate([goal[:, None], tried.reshape(len(goal), -1)], axis=1)
        known, unit = np.unique(asked, axis=0, return_inverse=True)
        unit = unit.reshape(-1)
        keys = at_hand * self.size + candidates
        there = (candidates > 0) & (at_hand > 0) & (goal[:, None] > 0)
        at_once = max(1, ENTRIES // max(1, len(self.pairs)))
        for begin in range(0, len(known), at_once):
            mine = np.flatnonzero((unit >= begin) & (unit < begin + at_once))
            iteration = _Iteration(self, known[begin : begin + at_once])
            for uses in range(1, int(horizon[mine].max(initial=0)) + 1):
                before = iteration.state
                q = iteration.advance()
                settled = np.array_equal(before, iteration.state)  # further uses add no value
                now = mine[horizon[mine] >= uses] if settled else mine[horizon[mine] == uses]
                stay = GAMMA * before[unit[now] - begin, at_hand[now, 0]]
                found[now] = _read(iteration.pairs, q, unit[now] - begin, keys[now], stay) * there[now]
                if settled:
                    break
        return found

    def derivation(
        self, place: int, goal: int, option: int, tried: np.ndarray, horizon: int
    ) -> list[tuple[tuple[int, int], int, float]]:
        """Return the likeliest path to the goal that begins with an option: ((subject, given), product, probability) in
        order, without uses that make nothing; empty if none is known.

        :param tried: (T, 3) rows (subject, given, product) of this episode.
        """
        iteration = _Iteration(self, np.concatenate([[goal], tried.ravel()])[None])
        states = [iteration.state[0]]
        for _ in range(horizon):
            iteration.advance()
            states.append(iteration.state[0])
        uses: list[tuple[tuple[int, int], int, float]] = []
        for left in range(horizon, 0, -1):
            worth = GAMMA * states[left - 1]
            worth[goal] = 1.0
            options = [option] if left == horizon else self._options(place, tried)
            best, most = None, 0.0
            for given in options:
                made = self._made(place, given, tried)
                for product, p in made:
                    if p * worth[product] > most:
                        best, most = ((place, given), product, p), p * worth[product]
                if (1.0 - sum(p for _, p in made)) * worth[place] > most:
                    best, most = None, (1.0 - sum(p for _, p in made)) * worth[place]
            if not most:
                return []
            if best is not None:
                uses.append(best)
                place = best[1]
            if place == goal:
                break
        return uses

    def _options(self, place: int, tried: np.ndarray) -> list[int]:
        low, high = self.pairs.searchsorted([place * self.size, (place + 1) * self.size])
        mine = tried[tried[:, 0] == place, 1]
        return np.union1d(self.pairs[low:high] % self.size, mine).tolist()

    def _made(self, place: int, given: int, tried: np.ndarray) -> list[tuple[int, float]]:
        lived = tried[(tried[:, 0] == place) & (tried[:, 1] == given)]
        if len(lived):
            return [(int(lived[-1, 2]), 1.0)] if lived[-1, 2] else []
        return self.made(place, given)


class _Iteration:
    """The values of U units, which differ in their goal and in the rows already tried.

    :ivar state: (U, N + 1), the value of each state. `pairs`: (P,) sorted keys, including the tried pairs.
    """

    def __init__(self, known: Transitions, asked: np.ndarray) -> None:
        """:param asked: (U, 1 + 3 T) goal and the rows already tried."""
        self.goal, size = asked[:, 0], known.size
        tried = asked[:, 1:].reshape(len(asked), -1, 3)
        unit, place = tried[:, :, 0].nonzero()
        self._subject, given, self._product = tried[unit, place].T
        lived = self._subject * size + given
        self.pairs = np.union1d(known.pairs, lived) if len(lived) else known.pairs
        self._unit, self._lived = unit, self.pairs.searchsorted(lived)
        row = np.repeat(self.pairs.searchsorted(known.pairs), np.diff(known.start))
        self._p = csr_matrix((known.probability, (row, known.product)), shape=(len(self.pairs), size))
        self._nothing = np.maximum(1.0 - np.asarray(self._p.sum(axis=1)).ravel(), 0.0)
        self._states = self.pairs // size
        self._first = np.flatnonzero(np.diff(self._states, prepend=-1))
        self.state = np.zeros((len(asked), size))

    def advance(self) -> np.ndarray:
        """Return the (U, P) values of pairs with one more use left, and update `state` accordingly."""
        before = self.state
        worth = GAMMA * before
        worth[np.arange(len(worth)), self.goal] = 1.0
        q = (self._p @ worth.T).T + self._nothing * GAMMA * before[:, self._states]
        stay = GAMMA * before[self._unit, self._subject]
        q[self._unit, self._lived] = np.where(self._product > 0, worth[self._unit, self._product], stay)
        self.state = np.zeros_like(before)
        if len(self._first):
            self.state[:, self._states[self._first]] = np.maximum.reduceat(q, self._first, axis=1)
        # A state without pairs cannot be left, and an unknown pair leaves the state unchanged.
        self.state = np.maximum(self.state, GAMMA * before)
        return q


def _read(pairs: np.ndarray, q: np.ndarray, unit: np.ndarray, keys: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """Return (B, A), the values of keys (B, A); for an unknown pair, the value of staying (B,)."""
    if not len(pairs):
        return np.repeat(stay[:, None], keys.shape[1], axis=1)
    place = np.minimum(pairs.searchsorted(keys), len(pairs) - 1)
    return np.where(pairs[place] == keys, q[unit[:, None], place], stay[:, None])
