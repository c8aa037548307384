"""WordCraft on arrays: draw episodes in bulk and apply the rules, one column per environment, without Gymnasium."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError

from .recipe_book import PAD, RecipeBook
from .tasks import TaskList

PENALTY = np.float32(-0.1)
CHUNK = 65_536  # episodes drawn at once, so that their rejections share the calls
BLOCK = 8_192  # episodes shuffled at once, so that the sort keys stay in the processor's cache
TRIES = 50  # rejections of one distractor before the acceptable entities are listed


# ---- Drawing episodes: tasks, distractors, and the order of the table. Columns are episodes (axis -1).


@dataclass
class Episodes:
    """
    :ivar task: (n,) int32 index into the task list.
    :ivar table: (width, n) int16 env ids, padded with PAD.
    :ivar count: (n,) int64 number of entities on the table.
    """

    task: np.ndarray
    table: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, task: np.ndarray, table: np.ndarray) -> "Episodes":
        return cls(task, table, np.count_nonzero(table, axis=0).astype(np.int64))

    @classmethod
    def empty(cls, width: int) -> "Episodes":
        return cls.of(np.zeros(0, dtype=np.int32), np.zeros((width, 0), dtype=np.int16))


class EpisodeSampler:
    """Draw episodes of tasks.

    Distractors are drawn one after another, without replacement. The probability is proportional to the weight (1 plus
    the number of known pairs with the entity), or uniform. The goal, base entities and intermediates are never drawn.
    Unless `alternatives` is true, a distractor is redrawn if one mix of it with itself, the base, an intermediate or an
    earlier distractor can make the goal or an intermediate. If no acceptable entity is left, the episode has fewer
    distractors. With `as_2020`, distractors are drawn with replacement and may open alternatives.

    :raises InputError: more distractors than the book has entities for.
    """

    def __init__(
        self, tasks: TaskList, num_distractors: int, *, uniform: bool, alternatives: bool, as_2020: bool = False,
        known: RecipeBook | None = None,
    ) -> None:  # fmt: skip
        """:param known: the tasks' book restricted to the recipes in force; None if all are."""
        self.known = book = known or tasks.book
        taken = int(((tasks.base > 0).sum(axis=1) + tasks.depth).max())
        if not 0 <= num_distractors <= len(book.entities) - taken:
            raise InputError(
                f"num_distractors is {num_distractors}; with the recipe book {book.name} "
                f"({len(book.entities)} entities) and depth {tasks.depth} it lies between 0 and "
                f"{len(book.entities) - taken}"
            )
        self.tasks = tasks
        self.num_distractors = num_distractors
        self.width = tasks.depth + 1 + num_distractors
        self.weights = np.ones(len(book.entities), dtype=np.int64) if uniform else book.ingredient_counts + 1
        # An urn with one ball per unit of weight makes a weighted draw a single gather.
        self.urn = np.repeat(np.arange(1, len(book.entities) + 1, dtype=np.int16), self.weights)
        self.alternatives = alternatives or as_2020
        self.replacement = as_2020
        self.size = len(book.entities) + 1
        # Transposed, so that each row that is gathered by task is contiguous.
        self.base = np.ascontiguousarray(tasks.base.T)
        self.goals = np.ascontiguousarray(np.concatenate([tasks.goal[:, None], tasks.intermediates], axis=1).T)
        self.entity_bits = len(book.entities).bit_length()
        self.network = _sorting_network(self.width)

    def draw(self, rng: np.random.Generator, tasks: np.ndarray) -> Episodes:
        """Draw one episode for each of the (n,) task indices."""
        parts = [self._draw(rng, tasks[start : start + CHUNK]) for start in range(0, len(tasks), CHUNK)]
        if len(parts) == 1:
            return parts[0]
        return Episodes.of(
            np.concatenate([part.task for part in parts]), np.concatenate([part.table for part in parts], axis=1)
        )

    def draw_random(self, rng: np.random.Generator, allowed: np.ndarray, count: int) -> Episodes:
        """Draw `count` episodes of tasks that are drawn uniformly from the (m,) allowed indices."""
        return self.draw(rng, allowed[rng.integers(0, len(allowed), size=count, dtype=np.int32)])

    def _draw(self, rng: np.random.Generator, task: np.ndarray) -> Episodes:
        given = np.empty((self.width, len(task)), dtype=np.int16)
        for row, column in enumerate(self.base):
            column.take(task, out=given[row], mode="clip")
        if self.num_distractors:
            goals = np.stack([column.take(task) for column in self.goals])
            self._draw_distractors(rng, goals, given)
        return Episodes.of(task.astype(np.int32), self._shuffle(rng, given))

    def _draw_distractors(self, rng: np.random.Generator, goals: np.ndarray, table: np.ndarray) -> None:
        """Fill the rows of `table` after the base; `goals` is (depth, n): goal, then intermediates."""
        base = len(self.base)
        table[base:] = self.urn.take(self._balls(rng, table[base:].shape))
        offsets = goals.astype(np.int32) * self.size
        key = np.empty(table.shape[1], dtype=np.int32)
        clash = np.empty(table.shape[1], dtype=bool)
        other = np.empty_like(clash)
        for row in range(base, len(table)):
            drawn = table[row]
            # Every entity to refuse (goal, base, intermediate, or an ingredient that opens an alternative) is a
            # component of the goal or of an intermediate. One gather per goal finds all but repeated distractors.
            for number, offset in enumerate(offsets):
                np.add(offset, drawn, out=key)
                self.known.component.take(key, out=other if number else clash, mode="clip")
                if number:
                    np.logical_or(clash, other, out=clash)
            if not self.replacement:
                for earlier in range(base, row):
                    np.equal(drawn, table[earlier], out=other)
                    np.logical_or(clash, other, out=clash)
            suspects = np.flatnonzero(clash)
            tries = 0
            while len(suspects):
                suspects = suspects[self._refused(goals[:, suspects], table[:row, suspects], drawn[suspects])]
                if tries == TRIES:
                    self._draw_exhaustively(rng, goals, table, row, suspects)
                    break
                drawn[suspects] = self.urn.take(self._balls(rng, len(suspects)))
                tries += 1

    def _balls(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        dtype = np.uint16 if len(self.urn) <= 1 << 16 else np.uint32
        return rng.integers(0, len(self.urn), size=size, dtype=dtype)

    def _refused(self, goals: np.ndarray, earlier: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Return (n,) bool: which of the (n,) drawn entities may not join the (rows, n) table so far."""
        among = earlier[: len(self.base)] if self.replacement else earlier
        refused = (goals == drawn).any(axis=0) | (among == drawn).any(axis=0)
        if not self.alternatives:
            left = np.flatnonzero(~refused)
            goals, drawn = goals[:, left], drawn[left]
            partners = np.concatenate([earlier[:, left], goals[1:], drawn[None]])
            ways = self.known.makes(goals[:, None], partners, drawn)
            refused[left] = ways.any(axis=(0, 1))
        return refused

    def _draw_exhaustively(
        self, rng: np.random.Generator, goals: np.ndarray, table: np.ndarray, row: int, columns: np.ndarray
    ) -> None:
        """Draw from the same distribution in the few episodes with hardly any acceptable entity."""
        entities = np.arange(1, self.size, dtype=np.int16)
        for column in columns:
            repeated = np.repeat(goals[:, [column]], len(entities), axis=1)
            so_far = np.repeat(table[:row, [column]], len(entities), axis=1)
            weights = np.where(self._refused(repeated, so_far, entities), 0, self.weights).cumsum()
            if weights[-1]:
                table[row, column] = entities[np.searchsorted(weights, rng.integers(weights[-1]), side="right")]
            else:
                table[row, column] = PAD

    def _shuffle(self, rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
        """Shuffle each column uniformly, PAD last. Random keys occupy the bits above the entity's bits, and a sorting
        network of whole-row minima and maxima sorts them. Only the key of PAD has the top bit set."""
        bits, mask = np.uint32(self.entity_bits), np.uint32((1 << self.entity_bits) - 1)
        for start in range(0, table.shape[1], BLOCK):
            block = table[:, start : start + BLOCK]
            keys = rng.integers(0, 1 << 32, size=block.shape, dtype=np.uint32)
            keys >>= np.uint32(1) + bits
            keys <<= bits
            keys |= block.view(np.uint16)
            keys[block == PAD] = np.uint32(1 << 31)
            rows = list(keys)
            spare = np.empty_like(rows[0])
            for low, high in self.network:
                np.minimum(rows[low], rows[high], out=spare)
                np.maximum(rows[low], rows[high], out=rows[high])
                rows[low], spare = spare, rows[low]
            for target, row in zip(block, rows, strict=True):
                np.bitwise_and(row, mask, out=target, casting="unsafe")
        return table


def _sorting_network(size: int) -> list[tuple[int, int]]:
    """Return the compare-exchange pairs of Batcher's odd-even merge sort for any size."""
    pairs = []
    p = 1
    while p < size:
        k = p
        while k >= 1:
            for j in range(k % p, size - k, 2 * k):
                for i in range(min(k, size - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k //= 2
        p *= 2
    return pairs


# ---- Playing episodes


class WordCraftEngine:
    """Play a batch of episodes. All state lies in arrays that are changed in place. They are slot-major: one slot of
    all environments is contiguous.

    :ivar task: (B,) int32 index into `tasks`; -1 for an episode that was set up by hand.
    :ivar goal: (B,) int16 env id.
    :ivar table: (S, B) int16 env ids; the first `count` slots are occupied, the rest hold PAD.
    :ivar count: (B,) int64 number of occupied slots.
    :ivar selection: (B,) int16 env id of the first entity selected, or PAD.
    :ivar steps, mixes: (B,) int16 numbers of steps and of mixes in this episode.
    :ivar wanted: (M-1, B) int16 intermediates of the task; `wanted_made` (M-1, B) bool.
    :ivar refusals: (B,) int16 number of refused actions in this episode.
    :ivar tried: (3, M, B) int16: both ingredients and the product of each mix in this episode. Empty if M is 1, since
        the only mix ends the episode.

    Valid from `step` to the next step or episode: `reward` (B,) float32; `success`, `done`, `refused` (B,) bool;
    `picked` and `product` (B,) int16, the selected entity and the product of the mix, or PAD.
    """

    def __init__(
        self, tasks: TaskList, allowed: np.ndarray, num_envs: int, sampler: EpisodeSampler, *, mixes: int,
        subgoal_rewards: bool, sparse: bool, as_2020: bool,
    ) -> None:  # fmt: skip
        """Start without episodes. `allowed`: (m,) task indices to draw from; `mixes`: M, at least the depth."""
        self.tasks, self.allowed, self.sampler = tasks, allowed, sampler
        self.max_mixes, self.max_steps = mixes, 2 * mixes
        self.subgoal_reward = np.float32(1.0 if subgoal_rewards else 0.0)
        self.sparse, self.as_2020 = sparse, as_2020
        book, self.known = tasks.book, sampler.known
        self.size = len(book.entities) + 1
        self.codes = book.last_product if as_2020 else self.known.single
        # Index: task, or -1 for an episode set up by hand. True: all recipes of the book apply, not only known ones.
        self.open_to = np.ones(len(tasks) + 1, dtype=bool)
        self.open_to[allowed] = False
        self.any_open = False
        self.padded_pick = np.int16(book.file_order[-1] + 1)
        self.slots = (2**tasks.depth if as_2020 else tasks.depth + 1) + sampler.num_distractors + mixes
        self.num_envs = num_envs

        self.task = np.full(num_envs, -1, dtype=np.int32)
        self.goal, self.selection, self.steps, self.mixes, self.refusals = np.zeros((5, num_envs), dtype=np.int16)
        self.table = np.zeros((self.slots, num_envs), dtype=np.int16)
        self.count = np.zeros(num_envs, dtype=np.int64)
        self.wanted = np.zeros((mixes - 1, num_envs), dtype=np.int16)
        self.wanted_made = np.zeros((mixes - 1, num_envs), dtype=bool)
        self.tried = np.zeros((3, mixes if mixes > 1 else 0, num_envs), dtype=np.int16)

        self.reward = np.zeros(num_envs, dtype=np.float32)
        self.success, self.done, self.refused = np.zeros((3, num_envs), dtype=bool)

        self._columns = np.arange(num_envs, dtype=np.int64)
        self._index = np.empty(num_envs, dtype=np.int64)
        self.picked, self.product = np.empty((2, num_envs), dtype=np.int16)
        self._accepted, self._mixing, self._flag = np.empty((3, num_envs), dtype=bool)
        self._pool = Episodes.empty(sampler.width)
        self._next = 0
        self._drawn_by: np.random.Generator | None = None

    # ---- stepping

    def step(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        """Select one slot in each environment. Selecting an empty slot is refused: it uses a step and has no other
        effect.

        :param actions: (B,) int64 slots.
        :param idle: (B,) bool, environments that do not change (reward 0, not done).
        """
        index, picked, code = self._index, self.picked, self.product
        accepted, mixing, flag = self._accepted, self._mixing, self._flag
        # One unsigned comparison refuses negative numbers as well.
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

        # Row and column 0 of the look-up table hold no product: no branch is needed for an empty selection or pick.
        np.multiply(self.selection, self.size, out=index, dtype=np.int64)
        np.add(index, picked, out=index)
        self.codes.take(index, out=code, mode="clip")
        if self.any_open:
            columns = np.flatnonzero(self.open_to[self.task])
            code[columns] = self._of_all_recipes(index[columns], columns)
        np.greater(self.selection, PAD, out=mixing)
        np.greater(picked, PAD, out=flag)
        np.logical_and(mixing, flag, out=mixing)
        mixed = np.flatnonzero(mixing) if self.tried.size else self._columns[:0]
        if len(mixed):
            self.tried[0, self.mixes[mixed], mixed] = self.selection[mixed]
            self.tried[1, self.mixes[mixed], mixed] = picked[mixed]
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
        if len(mixed):
            self.tried[2, self.mixes[mixed] - 1, mixed] = code[mixed]
        np.greater_equal(self.mixes, self.max_mixes, out=self.done)
        np.greater_equal(self.steps, self.max_steps, out=flag)
        np.logical_or(self.done, flag, out=self.done)
        np.logical_or(self.done, self.success, out=self.done)
        if idle is not None:
            self.done[idle] = False

    def _of_all_recipes(self, pairs: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return (n,) products of the pairs by all recipes of the book, not only by the known ones."""
        book = self.tasks.book
        made = book.single[pairs]
        many = np.flatnonzero(made < 0)
        if len(many):
            made[many] = self._chosen(book, made[many], columns[many])
        return made

    def _chosen(self, book: RecipeBook, codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return (n,) the product that each pair makes, for pairs with several products in `book`."""
        unmade = np.where(self.wanted_made[:, columns], np.int16(PAD), self.wanted[:, columns]).T
        return book.choose(codes, self.goal[columns], unmade)

    def _add_products(self, columns: np.ndarray, product: np.ndarray) -> None:
        """Set rewards and add products to the table where a mix made something; `product` holds look-up codes."""
        goal = self.goal[columns]
        many = np.flatnonzero(product < 0)
        if len(many):
            product[many] = self._chosen(self.known, product[many], columns[many])
            self.product[columns[many]] = product[many]
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
        """Start new random episodes in the (n,) columns, or in all. Episodes are drawn ahead. A new generator discards
        the stored episodes and draws as many as a batch of n draws ahead."""
        left = self.num_envs if columns is None else len(columns)
        if rng is not self._drawn_by:
            self._pool, self._next, self._drawn_by = self.sampler.draw_random(rng, self.allowed, _ahead(left)), 0, rng
        if columns is None and left <= len(self._pool.task) - self._next:
            self._place(slice(None), self._pool, slice(self._next, self._next + left))
            self._next += left
            return
        columns = self._columns if columns is None else columns
        start = 0
        while start < len(columns):
            if self._next == len(self._pool.task):
                self._pool = self.sampler.draw_random(rng, self.allowed, _ahead(self.num_envs))
                self._next = 0
            take = min(len(columns) - start, len(self._pool.task) - self._next)
            self._place(columns[start : start + take], self._pool, slice(self._next, self._next + take))
            start += take
            self._next += take

    def set_tasks(self, rng: np.random.Generator, tasks: np.ndarray, columns: np.ndarray) -> None:
        """Start new episodes of the (n,) tasks in the (n,) columns."""
        self._place(columns, self.sampler.draw(rng, tasks), slice(None))
        self._look_for_open()

    def place_by_hand(self, column: int, goal: int, table: list[int], wanted: list[int]) -> None:
        """Start one episode from env ids, keeping the order of the table."""
        self._clear(column)
        self.task[column] = -1
        self.goal[column] = goal
        self.table[:, column] = PAD
        self.table[: len(table), column] = table
        self.count[column] = len(table)
        self.wanted[:, column] = PAD
        self.wanted[: len(wanted), column] = wanted
        self._look_for_open()

    def _look_for_open(self) -> None:
        self.any_open = self.known is not self.tasks.book and bool(self.open_to[self.task].any())

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
        self.tried[:, :, columns] = PAD

    def random_actions(self, rng: np.random.Generator) -> np.ndarray:
        """Draw (B,) int64: one occupied slot per environment, uniformly (to 1 part in 2**24)."""
        draw = rng.random(self.num_envs, dtype=np.float32)
        np.multiply(draw, self.count, out=draw)
        return draw.astype(np.int64)

    # ---- saving

    _STATE = (
        "task", "goal", "table", "count", "selection", "steps", "mixes", "wanted", "wanted_made", "refusals", "tried"
    )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Return all state that later steps depend on, except the generator: arrays only."""
        state = {name: getattr(self, name).copy() for name in self._STATE}
        state["pool_task"] = self._pool.task[self._next :].copy()
        state["pool_table"] = self._pool.table[:, self._next :].copy()
        return state

    def load_state_dict(self, state: Mapping[str, Any], rng: np.random.Generator) -> None:
        """:param rng: generator of the episodes after the stored ones."""
        for name in self._STATE:
            getattr(self, name)[...] = state[name]
        self._look_for_open()
        self._pool = Episodes.of(np.array(state["pool_task"], np.int32), np.array(state["pool_table"], np.int16))
        self._next, self._drawn_by = 0, rng


def _ahead(num_envs: int) -> int:
    """Return the number of episodes that a batch draws ahead."""
    return min(65_536, max(1_024, 16 * num_envs))
