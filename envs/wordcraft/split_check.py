"""Check that the parts of a split are separate, and that its parameters reproduce it.

The check works on sets of labels from the book, by code other than that of `make_split`.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import combinations_with_replacement

from gumption.data import InputError
from gumption.data.recipe_files import family_of
from gumption.data.tables import grouped

from .recipe_book import RecipeBook
from .splits import PARTS, Split, make_split
from .tasks import Task, enumerate_tasks

Recipe = tuple[str, str, str]
Products = Mapping[tuple[str, str], list[str]]
MOST = 5  # faults listed of each kind


def check_split(split: Split, book: RecipeBook) -> list[str]:
    """Return the faults of a split, the first few of each kind; none if no item of validation or test leaks into an
    earlier part.

    :raises InputError: a split of another book.
    """
    split.check_book(book)
    parameters = split.parameters
    mode = parameters["mode"]
    tasks = enumerate_tasks(book, parameters["depth"], parameters["shortcuts"])
    parts = [part for part in PARTS if part != "validation" or split.validation_tasks is not None]
    indices = {part: getattr(split, f"{part}_tasks").tolist() for part in parts}
    if any(not 0 <= index < len(tasks) for part in indices.values() for index in part):
        return [f"it names tasks that the book does not have: there are {len(tasks)}"]
    of = {part: {index: tasks[index] for index in indices[part]} for part in parts}
    recipes = {part: {_labels(book, row) for row in getattr(split, f"{part}_recipes").tolist()} for part in parts}
    rows = (_labels(book, row) for row in book.recipes[book.book_order.argsort()].tolist())
    products = grouped(((a, b), product) for a, b, product in rows)
    found: list[Iterable[str]] = []
    terminals = {book.entities[i] for i in book.terminals.tolist()}
    for number, later in enumerate(parts):
        seen: set[Recipe] = set().union(*(recipes[part] for part in parts[:number]))
        found.append(_known(later, of[later], seen | recipes[later]))
        for earlier in parts[:number]:
            found += [
                _apart(f"in {_word(earlier)} and in {later}", of[earlier], of[later], recipes[earlier], recipes[later]),
                _solved_by_unseen(_word(earlier), of[earlier], products, later, recipes[later]),
            ]
            if mode.startswith("by_recipe"):
                both = {recipe[:2] for recipe in recipes[earlier]} & {recipe[:2] for recipe in recipes[later]}
                found.append([f"what {a} and {b} make is in two parts" for a, b in sorted(both)])
        if number:
            found.append(_solved_by_seen(later, of[later], products, seen))
            if mode.startswith("by_recipe") or mode == "by_family":
                found.append(_need_unseen(later, of[later], recipes[later]))
            if mode.startswith("by_goal"):
                found.append(_goals_unmade(later, of[later], seen))
            if mode == "by_goal_train_terminals":
                ends = ((i, task.goal) for i, task in of[later].items() if task.goal in terminals)
                found.append([f"{later} task {i} has the terminal goal {goal}" for i, goal in ends])
    if mode == "by_recipe_train_all_goals":
        goals = {book.entities[i] for i in book.recipes[:, 2].tolist()} - {recipe[2] for recipe in recipes["train"]}
        found.append([f"no training recipe makes {goal}" for goal in sorted(goals)])
    if mode == "by_family":
        found.append(_families_apart(book, recipes))
    faults = [fault for kind in found for fault in _first(kind)]
    return faults or _rederived(split, book)


def _labels(book: RecipeBook, row: list[int]) -> Recipe:
    a, b, product = (book.entities[i] for i in row)
    return a, b, product


def _first(kind: Iterable[str]) -> list[str]:
    faults = list(kind)
    more = [f"... and {len(faults) - MOST} more like the last"] if len(faults) > MOST else []
    return faults[:MOST] + more


def _word(part: str) -> str:
    return "training" if part == "train" else part


def _apart(
    where: str, first: dict[int, Task], second: dict[int, Task], seen: set[Recipe], unseen: set[Recipe]
) -> Iterator[str]:
    yield from (f"task {index} ({first[index].goal}) is {where}" for index in sorted(first.keys() & second.keys()))
    yield from (f"{_told(recipe)} is {where}" for recipe in sorted(seen & unseen))


def _known(part: str, tasks: dict[int, Task], known: set[Recipe]) -> Iterator[str]:
    lacks = "which is no training recipe" if part == "train" else "which only a later part has, or none"
    for index, task in tasks.items():
        for recipe in task.recipes:
            if recipe not in known:
                yield f"{_word(part)} task {index} ({task.goal}) uses {_told(recipe)}, {lacks}"


def _need_unseen(part: str, tasks: dict[int, Task], unseen: set[Recipe]) -> Iterator[str]:
    for index, task in tasks.items():
        if not unseen.intersection(task.recipes):
            yield f"{part} task {index} ({task.goal}) needs no {part} recipe"


def _goals_unmade(part: str, tasks: dict[int, Task], seen: set[Recipe]) -> Iterator[str]:
    made = {recipe[2]: recipe for recipe in sorted(seen, reverse=True)}
    for index, task in tasks.items():
        if task.goal in made:
            yield f"{part} task {index}: its goal {task.goal} is made outside this part, by {_told(made[task.goal])}"


def _families_apart(book: RecipeBook, recipes: Mapping[str, set[Recipe]]) -> Iterator[str]:
    part_of: dict[str, str] = {}
    for row, origin in zip(book.recipes.tolist(), book.origins or (), strict=True):
        recipe = _labels(book, row)
        mine = next((part for part, those in recipes.items() if recipe in those), "")
        if mine and family_of(origin) is None and mine != "train":
            yield f"{_told(recipe)} is in {mine}, and its origin {origin} is no family"
        elif mine and part_of.setdefault(origin, mine) != mine:
            yield f"the {origin.replace(':', ' ')} is in {part_of[origin]} and in {mine}: {_told(recipe)}"


def _solved_by_unseen(
    part: str, tasks: dict[int, Task], products: Products, later: str, unseen: set[Recipe]
) -> Iterator[str]:
    for index, task in tasks.items():
        for recipes in _ways(task, products):
            if used := recipes & unseen:
                yield f"{part} task {index} ({task.goal}) is solved with {_told(min(used))}, a {later} recipe"
                break


def _solved_by_seen(part: str, tasks: dict[int, Task], products: Products, seen: set[Recipe]) -> Iterator[str]:
    for index, task in tasks.items():
        if not seen.issuperset(task.recipes):
            for recipes in _ways(task, products):
                if recipes <= seen and any(recipe[2] == task.goal for recipe in recipes):
                    told = " and ".join(map(_told, sorted(recipes)))
                    yield f"{part} task {index} ({task.goal}) is solved by earlier parts alone: {told}"
                    break


def _ways(task: Task, products: Products) -> Iterator[Set[Recipe]]:
    """Yield the recipes of each way to make the goal or an intermediate in at most len(task.recipes) mixes."""
    wanted = frozenset(task.intermediates)
    return _mixes({label: frozenset() for label in task.base}, task.goal, wanted, len(task.recipes), products)


def _mixes(
    known: Mapping[str, Set[Recipe]], goal: str, wanted: Set[str], mixes: int, products: Products
) -> Iterator[Set[Recipe]]:
    """As `_ways`, from the table `known`: label -> the recipes that made it."""
    for a, b in combinations_with_replacement(sorted(known), 2):
        several = products.get((a, b))
        if several is None:
            continue
        made = goal if goal in several else next((product for product in several if product in wanted), several[0])
        behind = known[a] | known[b] | {(a, b, made)}
        if made == goal or made in wanted:
            yield behind
        if mixes > 1 and made != goal and made not in known:
            yield from _mixes({**known, made: behind}, goal, wanted - {made}, mixes - 1, products)


def _rederived(split: Split, book: RecipeBook) -> list[str]:
    try:
        again = make_split(book, **split.parameters, fit_validation=split.validation_tasks is None)
    except (InputError, TypeError) as error:
        return [f"its parameters make no split: {error}"]
    if split.left_out is None:  # a split of version 1 equals one of version 2 that leaves no task out
        again = replace(again, left_out=None)
    return [] if again.hash == split.hash else ["its parameters make another split than this one"]


def _told(recipe: Recipe) -> str:
    a, b, product = recipe
    return f"{a} + {b} > {product}"
