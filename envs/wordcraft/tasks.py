"""Tasks of a recipe book: a goal and the set of recipes that leads to it from the base entities."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import check, checked, checked_methods

from .recipe_book import RecipeBook, recipe_rows

Depth = Annotated[int, Ge(1), Le(3)]


@checked_methods
@dataclass(frozen=True)
class Task:
    """One task in labels; `recipes` are (ingredient, ingredient, product)."""

    goal: str
    base: tuple[str, ...]
    intermediates: tuple[str, ...]
    recipes: tuple[tuple[str, str, str], ...]


@checked_methods
@dataclass(frozen=True, eq=False)
class TaskList:
    """All tasks of one depth, as arrays of env ids; distinct by (goal, set of recipes) and sorted by it.

    :ivar goal: (T,) int16.
    :ivar base: (T, depth + 1) int16, what is on the table at first; ascending, PAD behind.
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
    """Every distinct task of the depth: the goal and depth - 1 intermediates each get one recipe, without a cycle.

    :param shortcuts: keep also the tasks that can be finished from their base in fewer mixes than depth.
    :raises InputError: unsupported depth, or a book without a task of that depth.
    """
    depth = check("depth", depth, Depth)
    tasks = _expand_from_goals(book, depth)
    goal, base, intermediates, _ = tasks
    if depth > 1 and not shortcuts:
        keep = ~can_make(book, goal, intermediates, base, mixes=depth - 1)
        tasks = tuple(part[keep] for part in tasks)
    if not len(tasks[0]):
        raise InputError(f"recipe book {book.name} has no task of depth {depth}; use a smaller depth")
    return TaskList(book, depth, shortcuts, *tasks)


def _expand_from_goals(book: RecipeBook, depth: int) -> tuple[np.ndarray, ...]:
    """Grow tasks level by level: one base entity that can be made becomes an intermediate and its recipe's
    ingredients enter the base. The same recipe set comes up once per order of expansion: kept once."""
    recipes = book.recipes.astype(np.int16)
    by_product = np.argsort(recipes[:, 2], kind="stable").astype(np.int32)
    counts = np.bincount(recipes[:, 2], minlength=len(book.entities)).astype(np.int64)
    starts = np.cumsum(counts) - counts
    first, second, product = recipes.T + np.int16(1)

    goal = product
    used = np.arange(len(recipes), dtype=np.int32)[:, None]
    inner = np.zeros((len(recipes), 0), dtype=np.int16)
    base = np.stack([first, np.where(first == second, 0, second)], axis=1)
    for _ in range(depth - 1):
        levels = []
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
            levels.append(
                (
                    goal[row],
                    grown,
                    np.concatenate([inner[row], base[row, slot][:, None]], axis=1),
                    np.concatenate([used[row], recipe[:, None]], axis=1),
                )
            )
        goal, base, inner, used = (np.concatenate(parts) for parts in zip(*levels, strict=True))
        used.sort(axis=1)
        key = np.zeros(len(used), dtype=np.int64)  # the recipes determine the goal: the one product that is not used up
        for column in used.T:
            key = key * len(recipes) + column
        _, kept = np.unique(key, return_index=True)
        goal, base, inner, used = goal[kept], base[kept], inner[kept], used[kept]
    order = np.lexsort((*used.T[::-1], goal))
    inner.sort(axis=1)
    return goal[order], _pads_last(base[order]), inner[order], used[order]


def _pads_last(base: np.ndarray) -> np.ndarray:
    unsigned = (base - np.int16(1)).view(np.uint16)  # PAD wraps to the largest number
    unsigned.sort(axis=1)
    return unsigned.view(np.int16) + np.int16(1)


def can_make(book: RecipeBook, goal: np.ndarray, wanted: np.ndarray, known: np.ndarray, mixes: int) -> np.ndarray:
    """Whether the goal can be reached from the known entities within so many mixes, each making what `book.mix` says.

    :param goal: (n,) env ids; :param wanted: (n, k) intermediates; :param known: (n, m), PAD where there is none.
    :returns: (n,) bool.
    """
    size = known.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    found = np.zeros(len(goal), dtype=bool)
    for i, j in pairs:
        found |= book.makes(goal, known[:, i], known[:, j])
    if mixes == 1:
        return found
    for i, j in pairs:
        made = book.mix(known[:, i], known[:, j], goal, wanted)
        rows = np.flatnonzero((made > 0) & ~found & ~(known == made[:, None]).any(axis=1))
        if len(rows):
            now = made[rows]
            left = np.where(wanted[rows] == now[:, None], np.int16(0), wanted[rows])
            more = np.concatenate([known[rows], now[:, None]], axis=1)
            found[rows] = can_make(book, goal[rows], left, more, mixes - 1)
    return found


def solved_otherwise(tasks: TaskList, indices: np.ndarray, foreign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Play every pair that can be mixed within `depth` mixes from the base of each task, as `book.mix` says.

    :param indices: (n,) tasks to play.
    :param foreign: (R,) bool over the rows of `book.recipes`.
    :returns: two (n,) bool: a foreign recipe makes the goal or an intermediate, or something that goes into one; the
        goal is made without any foreign recipe.
    """
    base = tasks.base[indices]
    return _ways(tasks.book, tasks.goal[indices], tasks.intermediates[indices], base, base < 0, tasks.depth, foreign)


def _ways(
    book: RecipeBook,
    goal: np.ndarray,
    wanted: np.ndarray,
    known: np.ndarray,
    tainted: np.ndarray,
    mixes: int,
    foreign: np.ndarray,
    later: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """`tainted`: (n, m) bool, which of the known entities a foreign recipe made or helped to make."""
    by_foreign, without = np.zeros(len(goal), dtype=bool), np.zeros(len(goal), dtype=bool)
    newest, size = known.shape[1] - 1, np.int32(len(book.entities) + 1)
    for i in range(newest + 1):
        for j in range(i, newest + 1):
            code = book.single.take(known[:, i] * size + known[:, j])
            # The last of several mixes without the newest entity: played before, unless the pair has several products.
            again = later and mixes == 1 and j < newest
            rows = np.flatnonzero(code < 0 if again else code)
            made = book.mix(known[rows, i], known[rows, j], goal[rows], wanted[rows])
            recipes = recipe_rows(book, known[rows, i], known[rows, j], made)
            taint = tainted[rows, i] | tainted[rows, j] | foreign[recipes]
            won = made == goal[rows]
            by_foreign[rows] |= taint & (won | (wanted[rows] == made[:, None]).any(axis=1))
            without[rows] |= won & ~taint
            new = ~won & ~(known[rows] == made[:, None]).any(axis=1)
            if mixes > 1 and new.any():
                rows, made, taint = rows[new], made[new, None], taint[new, None]
                left = np.where(wanted[rows] == made, np.int16(0), wanted[rows])
                more = np.concatenate([known[rows], made], axis=1), np.concatenate([tainted[rows], taint], axis=1)
                after = _ways(book, goal[rows], left, *more, mixes - 1, foreign, later=True)
                by_foreign[rows] |= after[0]
                without[rows] |= after[1]
    return by_foreign, without


def recipes_used(tasks: TaskList, indices: Sequence[int] | np.ndarray) -> np.ndarray:
    """(n,) int64 sorted rows of `book.recipes` that the given tasks need."""
    return np.unique(tasks.recipes[np.asarray(indices, dtype=np.int64)]).astype(np.int64)
