"""Drawing episodes in bulk: tasks, their distractors, and the order of the table. Columns are episodes (axis -1)."""

from dataclasses import dataclass

import numpy as np

from gumption.data import InputError

from .recipe_book import PAD
from .tasks import TaskList

CHUNK = 65_536  # episodes drawn at once: their rejections share the calls
BLOCK = 8_192  # episodes shuffled at once: the keys stay in the processor's cache
TRIES = 50  # rejections of one distractor before the acceptable entities are listed


@dataclass
class Episodes:
    """
    :ivar task: (n,) int32 index into the task list.
    :ivar table: (width, n) int16 env ids, PAD behind the last.
    :ivar count: (n,) int64, how many entities are on the table.
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
    """Draws episodes of given tasks.

    Distractors are drawn one after the other with probability proportional to their weight (how many pairs they occur
    in, plus one; or all alike), without replacement, never the goal, a base entity or an intermediate. Unless
    `alternatives` is true, one that together with itself, the base, the intermediates or an earlier distractor could
    make the goal or an intermediate in one mix is drawn anew. Where a book has no acceptable entity left, the episode
    has fewer distractors. With `as_2020` they are drawn with replacement and may open alternatives.

    :raises InputError: more distractors than the book has entities for.
    """

    def __init__(
        self, tasks: TaskList, num_distractors: int, *, uniform: bool, alternatives: bool, as_2020: bool = False
    ) -> None:
        book = tasks.book
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
        # An urn with one ball per unit of weight: a weighted draw is one gather.
        self.urn = np.repeat(np.arange(1, len(book.entities) + 1, dtype=np.int16), self.weights)
        self.alternatives = alternatives or as_2020
        self.replacement = as_2020
        self.size = len(book.entities) + 1
        # Rows to gather by task: contiguous per column.
        self.base = np.ascontiguousarray(tasks.base.T)
        self.goals = np.ascontiguousarray(np.concatenate([tasks.goal[:, None], tasks.intermediates], axis=1).T)
        self.entity_bits = len(book.entities).bit_length()
        self.network = _sorting_network(self.width)

    def draw(self, rng: np.random.Generator, tasks: np.ndarray) -> Episodes:
        """One episode for each of the (n,) task indices."""
        parts = [self._draw(rng, tasks[start : start + CHUNK]) for start in range(0, len(tasks), CHUNK)]
        if len(parts) == 1:
            return parts[0]
        return Episodes.of(
            np.concatenate([part.task for part in parts]), np.concatenate([part.table for part in parts], axis=1)
        )

    def draw_random(self, rng: np.random.Generator, allowed: np.ndarray, count: int) -> Episodes:
        """Episodes of tasks drawn uniformly from the (m,) allowed indices."""
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
        """Fill the rows of `table` behind the base; `goals` is (depth, n): goal, then intermediates."""
        base = len(self.base)
        table[base:] = self.urn.take(self._balls(rng, table[base:].shape))
        offsets = goals.astype(np.int32) * self.size
        key = np.empty(table.shape[1], dtype=np.int32)
        clash = np.empty(table.shape[1], dtype=bool)
        other = np.empty_like(clash)
        for row in range(base, len(table)):
            drawn = table[row]
            # Goal, base and intermediates are components of the goal or of an intermediate, as is whatever could open
            # another way: so one gather (per goal) finds all suspects but repeated distractors.
            for number, offset in enumerate(offsets):
                np.add(offset, drawn, out=key)
                self.tasks.book.component.take(key, out=other if number else clash, mode="clip")
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
        """(n,) bool: which of the (n,) draws may not join the (rows, n) table so far."""
        among = earlier[: len(self.base)] if self.replacement else earlier
        refused = (goals == drawn).any(axis=0) | (among == drawn).any(axis=0)
        if not self.alternatives:
            left = np.flatnonzero(~refused)
            goals, drawn = goals[:, left], drawn[left]
            partners = np.concatenate([earlier[:, left], goals[1:], drawn[None]])
            ways = self.tasks.book.makes(goals[:, None], partners, drawn)
            refused[left] = ways.any(axis=(0, 1))
        return refused

    def _draw_exhaustively(
        self, rng: np.random.Generator, goals: np.ndarray, table: np.ndarray, row: int, columns: np.ndarray
    ) -> None:
        """The same distribution for the few episodes in which hardly any entity is acceptable."""
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
        """Each column in a uniformly random order with PAD last: random keys above the entity's bits, sorted by a
        network of whole-row minima and maxima. PAD keeps the top bit, which no key has."""
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
    """Compare-exchanges of Batcher's odd-even merge sort for any size."""
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
