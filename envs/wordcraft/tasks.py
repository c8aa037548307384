"""Tasks of a recipe book: a goal, and a set of recipes that make it from the base entities."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import check, checked, checked_methods

from .recipe_book import PAD, RecipeBook, recipe_rows

Depth = Annotated[int, Ge(1), Le(6)]
LISTED = 3  # up to this depth all tasks are enumerated; deeper ones are drawn
PLAYED = 16_384  # tasks played at once
DRAWN = 10_000  # random expansions that yield the list of deeper tasks


@checked_methods
@dataclass(frozen=True)
class Task:
    """A task in labels; `recipes` are (ingredient, ingredient, product)."""

    goal: str
    base: tuple[str, ...]
    intermediates: tuple[str, ...]
    recipes: tuple[tuple[str, str, str], ...]


@checked_methods
@dataclass(frozen=True, eq=False)
class TaskList:
    """The tasks of one depth, as arrays of env ids, distinct and sorted by (goal, set of recipes).

    :ivar goal: (T,) int16.
    :ivar base: (T, depth + 1) int16, the entities that the table starts with, ascending, padded with PAD.
    :ivar intermediates: (T, depth - 1) int16, ascending.
    :ivar recipes: (T, depth) int32, rows of `book.recipes`, ascending.
    """

    book: RecipeBook
    depth: int
    shortcuts: bool
    goal: np.ndarray
    base: np.ndarray
    intermediates: np.ndarray
    recipes: np.ndarray

    def __len__(self) -> int:
        return len(self.goal)

    def __getitem__(self, index: int) -> Task:
        book, entities = self.book, self.book.entities
        return Task(
            goal=book.label(self.goal[index]),
            base=tuple(book.labels(self.base[index])),
            intermediates=tuple(book.labels(self.intermediates[index])),
            recipes=tuple(
                (entities[a], entities[b], entities[c]) for a, b, c in book.recipes[self.recipes[index]].tolist()
            ),
        )


@checked
@lru_cache(maxsize=8)
def enumerate_tasks(book: RecipeBook, depth: int = 1, shortcuts: bool = False) -> TaskList:
    """Return the distinct tasks of a depth: the goal and depth - 1 intermediates have one recipe each, without a cycle.
    All tasks are listed up to depth 3. Deeper ones are too many and are drawn: `DRAWN` times, draw a recipe of the book
    uniformly, then depth - 1 times replace an entity in the base by the ingredients of one of its recipes, uniformly
    among all such replacements. Draws that get stuck are dropped, duplicates are kept once. The draw depends only on
    the sorted book and the depth, so that a split can store task indices.

    :param shortcuts: keep tasks that can be finished from their base in fewer mixes than depth.
    :raises InputError: unsupported depth, or a book without a task of that depth.
    """
    depth = check("depth", depth, Depth)
    tasks = _expand_from_goals(book, depth, None if depth <= LISTED else DRAWN)
    goal, base, intermediates, _ = tasks
    if depth > 1 and not shortcuts:
        keep = ~_play(book, goal, intermediates, base, depth - 1)[1]
        tasks = tuple(part[keep] for part in tasks)
    if not len(tasks[0]):
        raise InputError(f"recipe book {book.name} has no task of depth {depth}; use a smaller depth")
    return TaskList(book, depth, shortcuts, *tasks)


def _expand_from_goals(book: RecipeBook, depth: int, drawn: int | None) -> tuple[np.ndarray, ...]:
    """Grow tasks level by level: a base entity with a recipe becomes an intermediate, and the ingredients of the recipe
    join the base. A set of recipes that several orders of expansion produce is kept once.

    :param drawn: number of recipes to draw as starts, each with one random expansion per level; None for all.
    """
    rng = np.random.Generator(np.random.PCG64(depth))
    recipes = book.recipes.astype(np.int16)
    by_product = np.argsort(recipes[:, 2], kind="stable").astype(np.int32)
    counts = np.bincount(recipes[:, 2], minlength=len(book.entities)).astype(np.int64)
    starts = np.cumsum(counts) - counts
    first, second, product = recipes.T + np.int16(1)

    begin = np.arange(len(recipes)) if drawn is None else rng.integers(len(recipes), size=drawn)
    goal = product[begin]
    used = begin.astype(np.int32)[:, None]
    inner = np.zeros((len(begin), 0), dtype=np.int16)
    base = np.stack([first, np.where(first == second, 0, second)], axis=1)[begin]
    for _ in range(depth - 1):
        levels, rows = [], []
        for slot in range(base.shape[1]):
            entity = base[:, slot].astype(np.int64)
            repeats = np.where(entity > 0, counts[entity - 1], 0)
            row = np.repeat(np.arange(len(goal)), repeats)
            within = np.arange(len(row)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            recipe = by_product[np.repeat(starts[entity - 1], repeats) + within]
            a, b = first[recipe], second[recipe]
            taken = np.concatenate([goal[:, None], inner], axis=1)[row]
            free = ~((taken == a[:, None]) | (taken == b[:, None])).any(axis=1)
            row, recipe, a, b = row[free], recipe[free], a[free], b[free]
            grown = np.concatenate([base[row], np.zeros((len(row), 1), dtype=np.int16)], axis=1)
            grown[:, slot] = np.where((grown == a[:, None]).any(axis=1), 0, a)
            grown[:, -1] = np.where((grown == b[:, None]).any(axis=1), 0, b)
            rows.append(row)
            levels.append(
                (
                    goal[row],
                    grown,
                    np.concatenate([inner[row], base[row, slot][:, None]], axis=1),
                    np.concatenate([used[row], recipe[:, None]], axis=1),
                )
            )
        goal, base, inner, used = (np.concatenate(parts) for parts in zip(*levels, strict=True))
        if drawn is not None:
            begun = np.concatenate(rows)  # of each start, keep one expansion, drawn uniformly
            order = np.lexsort((rng.random(len(begun)), begun))
            kept = order[np.diff(begun[order], prepend=-1) > 0]
            goal, base, inner, used = goal[kept], base[kept], inner[kept], used[kept]
            continue
        used.sort(axis=1)
        key = np.zeros(len(used), dtype=np.int64)  # the recipes determine the goal: the product that none of them uses
        for column in used.T:
            key = key * len(recipes) + column
        _, kept = np.unique(key, return_index=True)
        goal, base, inner, used = goal[kept], base[kept], inner[kept], used[kept]
    if drawn is not None:
        used.sort(axis=1)
        _, kept = np.unique(used, axis=0, return_index=True)
        goal, base, inner, used = goal[kept], base[kept], inner[kept], used[kept]
    order = np.lexsort((*used.T[::-1], goal))
    inner.sort(axis=1)
    ascending = (base[order] - np.int16(1)).view(np.uint16)  # PAD wraps to the largest number, and so comes last
    ascending.sort(axis=1)
    return goal[order], ascending.view(np.int16) + np.int16(1), inner[order], used[order]


def solved_otherwise(tasks: TaskList, indices: np.ndarray, foreign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Play all sequences of at most `depth` mixes from the base of each task, by the rule of `book.mix`.

    :param indices: (n,) tasks to play.
    :param foreign: (R,) bool over the rows of `book.recipes`.
    :returns: two (n,) bool: a foreign recipe makes the goal, an intermediate, or an ingredient that leads to one; the
        goal can be made without any foreign recipe.
    """
    goal, wanted, base = tasks.goal[indices], tasks.intermediates[indices], tasks.base[indices]
    return _play(tasks.book, goal, wanted, base, tasks.depth, foreign)


def _play(
    book: RecipeBook,
    goal: np.ndarray,
    wanted: np.ndarray,
    base: np.ndarray,
    mixes: int,
    foreign: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """See `solved_otherwise`. Search breadth first: all tables of a level at once, equal tables of a task once."""
    by_foreign, without = np.zeros(len(goal), dtype=bool), np.zeros(len(goal), dtype=bool)
    size = np.int32(len(book.entities) + 1)
    for start in range(0, len(goal), PLAYED):
        task = np.arange(start, min(start + PLAYED, len(goal)))
        known, left, tainted = base[task], wanted[task], np.zeros((len(task), base.shape[1]), dtype=bool)
        for more in reversed(range(mixes)):  # mixes after this one
            grown = []
            for i, j in combinations_with_replacement(range(known.shape[1]), 2):
                rows = np.flatnonzero(book.single.take(known[:, i] * size + known[:, j]))
                of, a, b = task[rows], known[rows, i], known[rows, j]
                made = book.mix(a, b, goal[of], left[rows])
                taint = tainted[rows, i] | tainted[rows, j]
                if foreign is not None:
                    taint |= foreign[recipe_rows(book, a, b, made)]
                won = made == goal[of]
                by_foreign[of[taint & (won | (left[rows] == made[:, None]).any(axis=1))]] = True
                without[of[won & ~taint]] = True
                if more:
                    new = np.flatnonzero(~won & ~(known[rows] == made[:, None]).any(axis=1))
                    # Keep a product that can lead to the goal, or an intermediate, since making it can change the
                    # product of a pair. With foreign recipes, keep also a product that can lead to an intermediate.
                    into, row = book.goes_into(more), made[new, None]
                    useful = into.take(goal[of[new]] * size + made[new]) | (left[rows[new]] == row).any(axis=1)
                    if foreign is not None:
                        useful |= into.take(left[rows[new]] * size + row).any(axis=1)
                    new = new[useful]
                    grown.append((rows[new], made[new], taint[new]))
            if not grown:
                break
            rows, made, taint = (np.concatenate(parts) for parts in zip(*grown, strict=True))
            over = without & (by_foreign if foreign is not None else True)
            open_ = ~over[task[rows]]
            rows, made, taint = rows[open_], made[open_, None], taint[open_, None]
            task, known = task[rows], np.concatenate([known[rows], made], axis=1)
            tainted = np.concatenate([tainted[rows], taint], axis=1)
            left = np.where(left[rows] == made, np.int16(PAD), left[rows])
            first = base.shape[1]
            table = np.sort(known[:, first:] * np.int32(2) + tainted[:, first:], axis=1)
            order = np.lexsort((*table.T, task))
            same = (task[order][1:] == task[order][:-1]) & (table[order][1:] == table[order][:-1]).all(axis=1)
            kept = order[np.concatenate([np.ones(min(1, len(order)), dtype=bool), ~same])]
            task, known, tainted, left = task[kept], known[kept], tainted[kept], left[kept]
    return by_foreign, without
