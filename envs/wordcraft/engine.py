"""The rules of WordCraft on arrays with one column per environment; no Gymnasium, no labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .episodes import Episodes, EpisodeSampler
from .recipe_book import PAD
from .tasks import TaskList

PENALTY = np.float32(-0.1)


class WordCraftEngine:
    """A batch of episodes. All state lies in arrays that are changed in place; slot-major, so that one slot of all
    environments is contiguous.

    :ivar task: (B,) int32 index into `tasks`; -1 for an episode that was set up by hand.
    :ivar goal: (B,) int16 env id.
    :ivar table: (S, B) int16 env ids; the first `count` slots are occupied, PAD behind.
    :ivar count: (B,) int64.
    :ivar selection: (B,) int16 env id of the first entity selected, or PAD.
    :ivar steps, mixes: (B,) int16.
    :ivar wanted: (M-1, B) int16 intermediates of the task; `wanted_made` (M-1, B) bool.
    :ivar refusals: (B,) int16, actions of this episode that were refused.

    After `step`, until the next one or a new episode: `reward` (B,) float32; `success`, `done`, `refused` (B,) bool;
    `picked` and `product` (B,) int16, the selected entity and the product of the mix, PAD where there is none.
    """

    def __init__(
        self,
        tasks: TaskList,
        allowed: np.ndarray,
        num_envs: int,
        sampler: EpisodeSampler,
        *,
        mixes: int,
        subgoal_rewards: bool,
        sparse: bool,
        as_2020: bool,
    ) -> None:
        """`allowed`: (m,) task indices that episodes are drawn from; `mixes`: M, at least the depth."""
        self.tasks, self.allowed, self.sampler = tasks, allowed, sampler
        self.max_mixes, self.max_steps = mixes, 2 * mixes
        self.subgoal_reward = np.float32(1.0 if subgoal_rewards else 0.0)
        self.sparse, self.as_2020 = sparse, as_2020
        book = tasks.book
        self.size = len(book.entities) + 1
        self.codes = book.last_product if as_2020 else book.single
        self.padded_pick = np.int16(book.file_order[-1] + 1)
        self.slots = (2**tasks.depth if as_2020 else tasks.depth + 1) + sampler.num_distractors + mixes
        self.num_envs = num_envs

        self.task = np.full(num_envs, -1, dtype=np.int32)
        self.goal = np.zeros(num_envs, dtype=np.int16)
        self.table = np.zeros((self.slots, num_envs), dtype=np.int16)
        self.count = np.zeros(num_envs, dtype=np.int64)
        self.selection = np.zeros(num_envs, dtype=np.int16)
        self.steps = np.zeros(num_envs, dtype=np.int16)
        self.mixes = np.zeros(num_envs, dtype=np.int16)
        self.wanted = np.zeros((mixes - 1, num_envs), dtype=np.int16)
        self.wanted_made = np.zeros((mixes - 1, num_envs), dtype=bool)
        self.refusals = np.zeros(num_envs, dtype=np.int16)

        self.reward = np.zeros(num_envs, dtype=np.float32)
        self.success = np.zeros(num_envs, dtype=bool)
        self.done = np.zeros(num_envs, dtype=bool)
        self.refused = np.zeros(num_envs, dtype=bool)

        self._columns = np.arange(num_envs, dtype=np.int64)
        self._index = np.empty(num_envs, dtype=np.int64)
        self.picked = np.empty(num_envs, dtype=np.int16)
        self.product = np.empty(num_envs, dtype=np.int16)
        self._accepted = np.empty(num_envs, dtype=bool)
        self._mixing = np.empty(num_envs, dtype=bool)
        self._flag = np.empty(num_envs, dtype=bool)
        self._pool = Episodes.empty(sampler.width)
        self._next = 0
        self._pool_size = min(65_536, max(1_024, 16 * num_envs))

    # ---- stepping

    def step(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        """One action per environment: the slot to select. A slot that holds nothing, or does not exist, is refused:
        it costs a step and changes nothing else.

        :param actions: (B,) int64.
        :param idle: (B,) bool, environments that are left as they are (reward 0, not done).
        """
        index, picked, code, accepted, mixing, flag = (
            self._index,
            self.picked,
            self.product,
            self._accepted,
            self._mixing,
            self._flag,
        )
        # One unsigned comparison refuses negative numbers too.
        np.less(actions.view(np.uint64), self.count.view(np.uint64), out=accepted)
        np.multiply(actions, self.num_envs, out=index)
        np.add(index, self._columns, out=index)
        self.table.reshape(-1).take(index, out=picked, mode="clip")
        np.multiply(picked, accepted, out=picked)
        if self.as_2020:  # an empty slot is the last entity of the file
            empty = (actions >= 0) & (actions < self.slots) & ~accepted
            picked[empty] = self.padded_pick
            accepted |= empty
        np.logical_not(accepted, out=self.refused)
        if idle is not None:
            picked[idle] = PAD
            self.refused[idle] = False
            self.steps -= idle
        self.steps += np.int16(1)
        self.refusals += self.refused

        # Row and column 0 of the look-up make nothing, so no branch on "is something selected, was something picked".
        np.multiply(self.selection, self.size, out=index, dtype=np.int64)
        np.add(index, picked, out=index)
        self.codes.take(index, out=code, mode="clip")
        np.greater(self.selection, PAD, out=mixing)
        np.greater(picked, PAD, out=flag)
        np.logical_and(mixing, flag, out=mixing)
        self.mixes += mixing
        np.add(self.selection, picked, out=self.selection)  # at most one of the two is not PAD, unless mixing
        np.logical_not(mixing, out=flag)
        np.multiply(self.selection, flag, out=self.selection)

        if self.sparse:
            self.reward.fill(0.0)
        else:
            np.multiply(mixing, PENALTY, out=self.reward)
        self.success.fill(False)
        made = code.nonzero()[0]
        if len(made):
            self._add_products(made, code[made])
        np.greater_equal(self.mixes, self.max_mixes, out=self.done)
        np.greater_equal(self.steps, self.max_steps, out=flag)
        np.logical_or(self.done, flag, out=self.done)
        np.logical_or(self.done, self.success, out=self.done)
        if idle is not None:
            self.done[idle] = False

    def _add_products(self, columns: np.ndarray, product: np.ndarray) -> None:
        """Rewards and new table entries of the environments whose mix made something; `product` holds look-up codes."""
        goal = self.goal[columns]
        many = np.flatnonzero(product < 0)
        if len(many):
            where = columns[many]
            unmade = np.where(self.wanted_made[:, where], np.int16(PAD), self.wanted[:, where]).T
            product[many] = self.tasks.book.choose(product[many], goal[many], unmade)
            self.product[where] = product[many]
        won = product == goal
        self.success[columns[won]] = True
        self.reward[columns[won]] = 1.0
        for wanted, wanted_made in zip(self.wanted, self.wanted_made, strict=True):
            hit = np.flatnonzero((wanted[columns] == product) & ~won)
            at = columns[hit]
            if not self.sparse:
                self.reward[at] = np.where(wanted_made[at], np.float32(0.0), self.subgoal_reward)
            wanted_made[at] = True
        if not self.as_2020:
            new = ~(self.table[:, columns] == product).any(axis=0)
            columns, product = columns[new], product[new]
        self.table[self.count[columns], columns] = product
        self.count[columns] += 1

    # ---- episodes

    def renew(self, rng: np.random.Generator, columns: np.ndarray | None = None) -> None:
        """Put new random episodes into the given (n,) columns, or into all of them."""
        left = self.num_envs if columns is None else len(columns)
        if columns is None and left <= len(self._pool.task) - self._next:
            self._place(slice(None), self._pool, slice(self._next, self._next + left))
            self._next += left
            return
        columns = self._columns if columns is None else columns
        start = 0
        while start < len(columns):
            if self._next == len(self._pool.task):
                self._pool = self.sampler.draw_random(rng, self.allowed, self._pool_size)
                self._next = 0
            take = min(len(columns) - start, len(self._pool.task) - self._next)
            self._place(columns[start : start + take], self._pool, slice(self._next, self._next + take))
            start += take
            self._next += take

    def set_tasks(self, rng: np.random.Generator, tasks: np.ndarray, columns: np.ndarray) -> None:
        """Put fresh episodes of the given (n,) tasks into the given (n,) columns."""
        self._place(columns, self.sampler.draw(rng, tasks), slice(None))

    def place_by_hand(self, column: int, goal: int, table: list[int], wanted: list[int]) -> None:
        """One episode from env ids, the table in the given order."""
        self._clear(column)
        self.task[column] = -1
        self.goal[column] = goal
        self.table[:, column] = PAD
        self.table[: len(table), column] = table
        self.count[column] = len(table)
        self.wanted[:, column] = PAD
        self.wanted[: len(wanted), column] = wanted

    def forget_drawn(self) -> None:
        """Drop the episodes drawn ahead, so that the next come from the generator as it is now."""
        self._pool, self._next = Episodes.empty(self.sampler.width), 0

    def _place(self, columns: np.ndarray | slice, episodes: Episodes, chosen: slice) -> None:
        self._clear(columns)
        task, table = episodes.task[chosen], episodes.table[:, chosen]
        self.task[columns] = task
        self.goal[columns] = self.tasks.goal.take(task)
        for slot, entities in zip(self.table, table, strict=False):
            slot[columns] = entities
        for slot in self.table[len(table) :]:
            slot[columns] = PAD
        self.count[columns] = episodes.count[chosen]
        for number in range(self.tasks.depth - 1):
            self.wanted[number, columns] = self.tasks.intermediates[task, number]
        self.wanted[self.tasks.depth - 1 :, columns] = PAD

    def _clear(self, columns: "np.ndarray | slice | int") -> None:
        for state in (self.selection, self.steps, self.mixes, self.refusals, self.refused, self.success):
            state[columns] = 0
        self.wanted_made[:, columns] = False

    def random_actions(self, rng: np.random.Generator) -> np.ndarray:
        """(B,) int64, one occupied slot each, uniformly (to 1 part in 2**24)."""
        draw = rng.random(self.num_envs, dtype=np.float32)
        np.multiply(draw, self.count, out=draw)
        return draw.astype(np.int64)

    # ---- saving

    _STATE = ("task", "goal", "table", "count", "selection", "steps", "mixes", "wanted", "wanted_made", "refusals")

    def state_dict(self) -> dict[str, Any]:
        """Everything that later steps depend on besides the generator: arrays only."""
        state = {name: getattr(self, name).copy() for name in self._STATE}
        state["pool_task"] = self._pool.task[self._next :].copy()
        state["pool_table"] = self._pool.table[:, self._next :].copy()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name in self._STATE:
            getattr(self, name)[...] = state[name]
        self._pool = Episodes.of(np.array(state["pool_task"], np.int32), np.array(state["pool_table"], np.int16))
        self._next = 0
