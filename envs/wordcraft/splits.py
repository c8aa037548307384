"""Splits of a book into a training and a test part, kept as files: made once, loaded everywhere."""

import os
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
from annotated_types import Gt, Le

from gumption.data import InputError, Note
from gumption.data.settings import Seed, check, checked, checked_methods
from gumption.data.writing import write_bytes
from gumption.envs.split_files import SplitFormat, read_file

from .recipe_book import RecipeBook, recipe_rows
from .tasks import Depth, TaskList, enumerate_tasks, recipes_used, solved_otherwise

Mode = Literal["by_recipe", "by_recipe_train_all_goals", "by_goal", "by_goal_train_terminals", "by_task", "none"]
MODES = get_args(Mode)
TrainRatio = Annotated[float, Gt(0), Le(1)]  # 1 goes with the mode "none"
Partition = Literal["train", "test", "all"]
SCHEMA = "gumption/wordcraft-split/2"
FORMAT = SplitFormat(SCHEMA, sort_keys=True, ensure_ascii=False)
FIRST = replace(FORMAT, schema="gumption/wordcraft-split/1")  # leaves no task out


class LeakyTasks(Note):
    """A split from before version 2 has tasks that a recipe of the other part solves."""


@checked_methods
@dataclass(frozen=True, eq=False)
class Split:
    """The recipes and tasks of training and of testing.

    :ivar book_hash: `RecipeBook.hash` of the book it was made for.
    :ivar parameters: mode, train_ratio, seed, depth, shortcuts.
    :ivar train_recipes, test_recipes: (n, 3) int64 rows (a, b, product) of entity ids, sorted, disjoint.
    :ivar train_tasks, test_tasks: (n,) int64 sorted indices into `enumerate_tasks(book, depth, shortcuts)`, disjoint.
    :ivar left_out: how many tasks of "train" and of "test" are in neither part, because mixes that the task does not
        name solve it by recipes of the other part (see `leaky_tasks`); None for a file of schema version 1, which
        leaves none out.
    """

    book_name: str
    book_hash: str
    parameters: dict[str, Any]
    train_recipes: np.ndarray
    test_recipes: np.ndarray
    train_tasks: np.ndarray
    test_tasks: np.ndarray
    left_out: dict[str, int] | None = None

    @property
    def format(self) -> SplitFormat:
        return FIRST if self.left_out is None else FORMAT

    @property
    def hash(self) -> str:
        """sha256 hex of the content, without the book's name."""
        content = {"schema": self.format.schema, **self._content(), "book": {"hash": self.book_hash}}
        return self.format.sha256(content)

    def tasks(self, partition: str) -> np.ndarray:
        """(n,) int64 indices of the tasks of a partition: "train", "test" or "all".

        :raises InputError: unknown partition, or the test part of the mode "none".
        """
        check("partition", partition, Partition)
        chosen = {
            "train": self.train_tasks,
            "test": self.test_tasks,
            "all": np.union1d(self.train_tasks, self.test_tasks),
        }[partition]
        if not len(chosen):
            raise InputError(f"the split {self.parameters['mode']!r} has no {partition} part; use partition='train'")
        return chosen

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, beside and then renamed."""
        write_bytes(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """The split file."""
        return self.format.seal(self._content())

    @classmethod
    def load(cls, path: str | os.PathLike[str], book: RecipeBook | None = None) -> "Split":
        """Read a split.

        :param book: the book it will be used with.
        :raises InputError: missing file, no split, a changed byte, or a split of another book.
        """
        path = Path(path)
        sealed = read_file(path)
        first = FIRST.schema.encode() in sealed
        content = (FIRST if first else FORMAT).unseal(sealed, path)
        try:
            left_out = None if first else {part: int(content["left_out"][part]) for part in ("train", "test")}
            parts = {name: np.array(content[name], dtype=np.int64) for name in ("train_tasks", "test_tasks")}
            for name in ("train_recipes", "test_recipes"):
                parts[name] = np.array(content[name], dtype=np.int64).reshape(-1, 3)
            split = cls(
                content["book"]["name"], content["book"]["hash"], content["parameters"], **parts, left_out=left_out
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a split file ({error}); make it again") from None
        if book is not None:
            split.check_book(book, str(path))
        return split

    def check_book(self, book: RecipeBook, where: str = "split") -> None:
        """:raises InputError: unless the split was made for this book."""
        if self.book_hash != book.hash:
            raise InputError(
                f"{where}: made for the recipe book {self.book_name} ({self.book_hash[:12]}), "
                f"not for {book.name} ({book.hash[:12]}); make a split of this book"
            )

    def _content(self) -> dict[str, Any]:
        return {
            "book": {"hash": self.book_hash, "name": self.book_name},
            "parameters": self.parameters,
            "train_recipes": self.train_recipes.tolist(),
            "test_recipes": self.test_recipes.tolist(),
            "train_tasks": self.train_tasks.tolist(),
            "test_tasks": self.test_tasks.tolist(),
            **({} if self.left_out is None else {"left_out": self.left_out}),
        }


def leaky_tasks(split: Split, book: RecipeBook) -> tuple[np.ndarray, np.ndarray]:
    """Tasks that a recipe of the other part solves, such as a training task with a wheel on the table and the goal
    bicycle, where wheel + wheel makes a bicycle and is a test recipe. Everything is played that can be mixed from the
    base in as many mixes as the task is deep; ways that a distractor opens in two mixes or more are not.

    :returns: (n,) int64 training tasks in which a test recipe makes the goal or an intermediate, or something that
        goes into one; (m,) int64 test tasks that need a test recipe and whose goal training recipes alone make, too.
    """
    tasks = enumerate_tasks(book, split.parameters["depth"], split.parameters["shortcuts"])
    unseen = np.zeros(len(book), dtype=bool)
    unseen[recipe_rows(book, *(split.test_recipes.T + 1))] = True
    train = split.train_tasks[solved_otherwise(tasks, split.train_tasks, unseen)[0]] if unseen.any() else np.zeros(0)
    unseen[:] = True
    unseen[recipe_rows(book, *(split.train_recipes.T + 1))] = False
    test = split.test_tasks[unseen[tasks.recipes[split.test_tasks]].any(axis=1)]
    return train.astype(np.int64), test[solved_otherwise(tasks, test, unseen)[1]]


@checked
@lru_cache(maxsize=16)
def make_split(
    book: RecipeBook,
    mode: Mode = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    seed: Seed = 0,
    depth: Depth = 1,
    shortcuts: bool = False,
) -> Split:
    """Divide a book; the same arguments and the same recipes give the same split, whatever the order of the file.

    - by_recipe: the distinct pairs of ingredients are shuffled and cut. A task is a test task if any of its pairs is.
    - by_recipe_train_all_goals: then every goal gets a training recipe and every entity an appearance in training,
      where need be by moving a pair from test to train.
    - by_goal: the goals are shuffled and cut; a recipe follows its product and a task its goal. A training task that
      would make a test goal on the way is in neither part.
    - by_goal_train_terminals: the same, with the terminal goals (never an ingredient) all in training.
    - by_task: the tasks of the depth are shuffled and cut. Test recipes are those that no training task uses.
    - none: everything is training; there is no test part.

    A task that a recipe of the other part solves (`leaky_tasks`) is then left out of its part and counted.

    :param train_ratio: strictly between 0 and 1 (the mode "none" does not read it).
    :raises InputError: unknown mode, a ratio out of range, or a part that would be empty.
    """
    whole = _divided(book, mode, train_ratio, seed, depth, shortcuts)
    tasks = enumerate_tasks(book, depth, shortcuts)
    split = whole
    while any(map(len, leaky := leaky_tasks(split, book))):
        train, test = np.setdiff1d(split.train_tasks, leaky[0]), np.setdiff1d(split.test_tasks, leaky[1])
        split = replace(split, train_tasks=train, test_tasks=test)
        if mode != "by_task":
            break
        split = _recipes_of_tasks(split, tasks)  # a recipe that training no longer uses can leak in its turn
    left_out = {
        part: len(getattr(whole, f"{part}_tasks")) - len(getattr(split, f"{part}_tasks")) for part in ("train", "test")
    }
    split = replace(split, left_out=left_out)
    _refuse_empty(split, tasks)
    return split


def _divided(book: RecipeBook, mode: Mode, train_ratio: float, seed: int, depth: int, shortcuts: bool) -> Split:
    """A split of schema version 1: no task is left out."""
    if mode != "none" and train_ratio == 1:
        raise InputError("train_ratio is 1; it is below 1. To train on all use split='none'")
    tasks = enumerate_tasks(book, depth, shortcuts)
    rng = np.random.Generator(np.random.PCG64(seed))
    recipe_test = np.zeros(len(book), dtype=bool)
    if mode.startswith("by_recipe"):
        pair_test = _cut(rng, len(book.pairs), _share(train_ratio, len(book.pairs)))
        if mode == "by_recipe_train_all_goals":
            _move_for_all_goals(book, pair_test, rng)
        recipe_test = pair_test[book.pair_of_recipe]
        task_test = recipe_test[tasks.recipes].any(axis=1)
        task_train = ~task_test
    elif mode.startswith("by_goal"):
        goals = np.unique(book.recipes[:, 2])
        free = np.setdiff1d(goals, book.terminals) if mode == "by_goal_train_terminals" else goals
        goal_test = np.zeros(len(book.entities), dtype=bool)
        goal_test[free] = _cut(rng, len(free), _share(train_ratio, len(goals)) - (len(goals) - len(free)))
        recipe_test = goal_test[book.recipes[:, 2]]
        task_test = goal_test[tasks.goal.astype(np.int64) - 1]
        task_train = ~recipe_test[tasks.recipes].any(axis=1)
    elif mode == "by_task":
        task_test = _cut(rng, len(tasks), _share(train_ratio, len(tasks)))
        task_train = ~task_test
    else:
        task_test = np.zeros(len(tasks), dtype=bool)
        task_train = ~task_test
    split = Split(
        book_name=book.name,
        book_hash=book.hash,
        parameters={
            "mode": mode,
            "train_ratio": float(train_ratio) if mode != "none" else 1.0,
            "seed": int(seed),
            "depth": depth,
            "shortcuts": shortcuts,
        },
        train_recipes=book.recipes[~recipe_test],
        test_recipes=book.recipes[recipe_test],
        train_tasks=np.flatnonzero(task_train),
        test_tasks=np.flatnonzero(task_test),
    )
    if mode == "by_task":
        split = _recipes_of_tasks(split, tasks)
    _refuse_empty(split, tasks)
    return split


def _share(train_ratio: float, size: int) -> int:
    return ceil(round(train_ratio * size, 9))  # rounded first: 0.07 * 100 is a little above 7


def _cut(rng: np.random.Generator, size: int, train: int) -> np.ndarray:
    """(size,) bool: true for the test part, what a shuffled order has behind its first `train` items."""
    test = np.zeros(size, dtype=bool)
    test[rng.permutation(size)[max(0, train) :]] = True
    return test


def _move_for_all_goals(book: RecipeBook, pair_test: np.ndarray, rng: np.random.Generator) -> None:
    a, b, product = book.recipes.T
    for entity in range(len(book.entities)):
        train = ~pair_test[book.pair_of_recipe]
        made = product == entity
        if not made.any():  # a root cannot be a goal: it must appear as an ingredient
            made = (a == entity) | (b == entity)
        if made.any() and not (made & train).any():
            pair_test[rng.choice(np.unique(book.pair_of_recipe[made]))] = False


def _recipes_of_tasks(split: Split, tasks: TaskList) -> Split:
    """Training recipes are those that a training task uses; test recipes those that only other tasks use."""
    train = recipes_used(tasks, split.train_tasks)
    test = np.setdiff1d(tasks.recipes, train)
    return replace(split, train_recipes=tasks.book.recipes[train], test_recipes=tasks.book.recipes[test])


def _refuse_empty(split: Split, tasks: TaskList) -> None:
    parts = ["train_tasks", "train_recipes"]
    if split.parameters["mode"] != "none":
        parts += ["test_tasks"] if split.parameters["mode"] == "by_task" else ["test_tasks", "test_recipes"]
    for part in parts:
        if not len(getattr(split, part)):
            given = ", ".join(f"{key}={value}" for key, value in split.parameters.items())
            raise InputError(
                f"the split ({given}) of {split.book_name} ({len(tasks)} tasks) leaves {part} empty; "
                "choose another train_ratio or a larger book"
            )


def resolve_split(
    book: RecipeBook,
    split: "str | os.PathLike[str] | Split | None",
    train_ratio: float,
    seed: int,
    depth: int,
    shortcuts: bool,
    as_2020: bool = False,
) -> Split:
    """The split that an environment is to use: a mode, None for "none", a Split, or the path of a split file (.json).

    :param as_2020: for a mode leave no task out, as the first release did.

    :raises InputError: also when a given split was made for another book, depth or choice of shortcuts.
    """
    if split is None or (isinstance(split, str) and split in MODES):
        make = _divided if as_2020 else make_split
        return make(book, cast("Mode", split or "none"), train_ratio, seed, depth, shortcuts)
    if not isinstance(split, Split):
        if Path(split).suffix != ".json":
            raise InputError(f"split is {str(split)!r}; it can be {', '.join(MODES)}, or a split file ending in .json")
        split = Split.load(split)
    split.check_book(book)
    if split.left_out is None and not as_2020:
        leaky = [len(tasks) for tasks in leaky_tasks(split, book)]
        if any(leaky):
            # One place, so that Python tells the same thing once.
            warnings.warn(
                f"a split of schema version 1: test recipes solve {leaky[0]} of its {len(split.train_tasks)} training "
                f"tasks, and training recipes {leaky[1]} of its {len(split.test_tasks)} test tasks; "
                "gumption splits wordcraft makes one without these",
                LeakyTasks,
                stacklevel=1,
            )
    for name, value in (("depth", depth), ("shortcuts", shortcuts)):
        if split.parameters[name] != value:
            raise InputError(f"the split was made with {name}={split.parameters[name]}, the environment has {value}")
    return split


_TESTED = {
    "by_recipe": "unseen recipes",
    "by_recipe_train_all_goals": "unseen recipes",
    "by_goal": "unseen goals",
    "by_goal_train_terminals": "unseen goals",
    "by_task": "unseen tasks",
    "none": "training tasks",
}


def what_is_tested(split: str | Split) -> str:
    """The tasks that the "test_success" of a run measures: "unseen recipes", "unseen goals", "unseen tasks" or, where
    the split sets nothing aside, "training tasks".

    :param split: a way of splitting, a split, or the file of one.
    :raises InputError: neither.
    """
    if isinstance(split, str) and split not in MODES:
        split = Split.load(split)
    return _TESTED[split if isinstance(split, str) else split.parameters["mode"]]
