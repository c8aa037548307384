"""Whether a split keeps its parts apart, checked on sets of labels from the book alone, by other code than that of
`make_split`; and whether its parameters give it again.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from itertools import combinations_with_replacement

from gumption.data import InputError

from .recipe_book import RecipeBook
from .splits import Split, make_split
from .tasks import Task, enumerate_tasks

Recipe = tuple[str, str, str]
Products = Mapping[tuple[str, str], list[str]]
MOST = 5  # faults of one kind that are listed


def check_split(split: Split, book: RecipeBook) -> list[str]:
    """The faults of a split, the first few of each kind; none where no test item leaks into training.

    :raises InputError: a split of another book.
    """
    split.check_book(book)
    parameters = split.parameters
    mode = parameters["mode"]
    tasks = enumerate_tasks(book, parameters["depth"], parameters["shortcuts"])
    indices = {part: getattr(split, f"{part}_tasks").tolist() for part in ("train", "test")}
    if any(not 0 <= index < len(tasks) for part in indices.values() for index in part):
        return [f"it names tasks that the book does not have: there are {len(tasks)}"]
    train, test = ({index: tasks[index] for index in part} for part in indices.values())
    recipes = {part: {_labels(book, row) for row in getattr(split, f"{part}_recipes").tolist()} for part in indices}
    products: dict[tuple[str, str], list[str]] = {}
    for row in book.book_order.argsort().tolist():
        a, b, product = _labels(book, book.recipes[row].tolist())
        products.setdefault((a, b), []).append(product)
    found = [
        _apart(train, test, recipes["train"], recipes["test"]),
        _of_training(train, recipes["train"]),
        _solved_by_unseen(train, products, recipes["test"]),
        _solved_by_seen(test, products, recipes["train"]),
    ]
    if mode.startswith("by_recipe"):
        found += [_pairs_apart(recipes["train"], recipes["test"]), _need_unseen(test, recipes["test"])]
    if mode.startswith("by_goal"):
        found.append(_goals_unmade(test, recipes["train"]))
    if mode == "by_recipe_train_all_goals":
        found.append(_all_made(book, recipes["train"]))
    if mode == "by_goal_train_terminals":
        terminals = {book.entities[i] for i in book.terminals.tolist()}
        found.append(f"test task {i} has the terminal goal {t.goal}" for i, t in test.items() if t.goal in terminals)
    faults = [fault for kind in found for fault in _first(kind)]
    return faults or _rederived(split, book)


def _labels(book: RecipeBook, row: list[int]) -> Recipe:
    a, b, product = (book.entities[i] for i in row)
    return a, b, product


def _first(kind: Iterator[str]) -> list[str]:
    faults = list(kind)
    more = [f"... and {len(faults) - MOST} more like the last"] if len(faults) > MOST else []
    return faults[:MOST] + more


def _apart(train: dict[int, Task], test: dict[int, Task], seen: set[Recipe], unseen: set[Recipe]) -> Iterator[str]:
    yield from (f"task {index} ({train[index].goal}) is in both parts" for index in sorted(train.keys() & test.keys()))
    yield from (f"{_told(recipe)} is in both parts" for recipe in sorted(seen & unseen))


def _of_training(train: dict[int, Task], seen: set[Recipe]) -> Iterator[str]:
    for index, task in train.items():
        for recipe in task.recipes:
            if recipe not in seen:
                yield f"training task {index} ({task.goal}) uses {_told(recipe)}, which is no training recipe"


def _pairs_apart(seen: set[Recipe], unseen: set[Recipe]) -> Iterator[str]:
    both = {recipe[:2] for recipe in seen} & {recipe[:2] for recipe in unseen}
    yield from (f"what {a} and {b} make is in both parts" for a, b in sorted(both))


def _need_unseen(test: dict[int, Task], unseen: set[Recipe]) -> Iterator[str]:
    for index, task in test.items():
        if not unseen.intersection(task.recipes):
            yield f"test task {index} ({task.goal}) needs training recipes only"


def _goals_unmade(test: dict[int, Task], seen: set[Recipe]) -> Iterator[str]:
    made = {recipe[2]: recipe for recipe in sorted(seen, reverse=True)}
    for index, task in test.items():
        if task.goal in made:
            yield f"test task {index}: its goal {task.goal} is made in training, by {_told(made[task.goal])}"


def _solved_by_unseen(train: dict[int, Task], products: Products, unseen: set[Recipe]) -> Iterator[str]:
    for index, task in train.items():
        for recipes in _ways(task, products):
            if used := recipes & unseen:
                yield f"training task {index} ({task.goal}) is solved with {_told(min(used))}, a test recipe"
                break


def _solved_by_seen(test: dict[int, Task], products: Products, seen: set[Recipe]) -> Iterator[str]:
    for index, task in test.items():
        if not seen.issuperset(task.recipes):
            for recipes in _ways(task, products):
                if recipes <= seen and any(recipe[2] == task.goal for recipe in recipes):
                    told = " and ".join(map(_told, sorted(recipes)))
                    yield f"test task {index} ({task.goal}) is solved by training alone: {told}"
                    break


def _ways(task: Task, products: Products) -> Iterator[Set[Recipe]]:
    """For each way to make the goal or an intermediate within as many mixes as the task has recipes: its recipes."""
    wanted = frozenset(task.intermediates)
    return _mixes({label: frozenset() for label in task.base}, task.goal, wanted, len(task.recipes), products)


def _mixes(
    known: Mapping[str, Set[Recipe]], goal: str, wanted: Set[str], mixes: int, products: Products
) -> Iterator[Set[Recipe]]:
    """`known`: what is on the table -> the recipes behind it."""
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


def _all_made(book: RecipeBook, seen: set[Recipe]) -> Iterator[str]:
    made = {recipe[2] for recipe in seen}
    goals = {book.entities[i] for i in book.recipes[:, 2].tolist()}
    yield from (f"no training recipe makes {goal}" for goal in sorted(goals - made))


def _rederived(split: Split, book: RecipeBook) -> list[str]:
    try:
        again = make_split(book, **split.parameters)
    except (InputError, TypeError) as error:
        return [f"its parameters make no split: {error}"]
    if split.left_out is None:  # version 1 is the same where it leaves nothing out
        again = replace(again, left_out=None)
    return [] if again.hash == split.hash else ["its parameters make another split than this one"]


def _told(recipe: Recipe) -> str:
    a, b, product = recipe
    return f"{a} + {b} > {product}"
