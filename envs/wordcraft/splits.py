"""Split a recipe book into training, validation and test; store splits as files."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
from annotated_types import Gt, Le

from gumption.data import InputError
from gumption.data.recipe_files import FAMILY, family_of
from gumption.data.settings import Seed, check, checked, checked_methods, shown
from gumption.data.writing import write_bytes
from gumption.envs.split_files import SplitFormat, read_file

from .recipe_book import RecipeBook, recipe_rows
from .tasks import Depth, TaskList, enumerate_tasks, solved_otherwise

Mode = Literal[
    "by_recipe",
    "by_recipe_train_all_goals",
    "by_goal",
    "by_goal_train_terminals",
    "by_family",
    "by_task",
    "none",
]
MODES = get_args(Mode)
TrainRatio = Annotated[float, Gt(0), Le(1)]  # 1 is for the mode "none" only
PARTS = ("train", "validation", "test")
Kind = Literal["recipes", "tasks"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Partition = Literal["train", "validation", "test", "all"]
FEW = 100  # success on fewer tasks is reported with its interval
SCHEMA = "gumption/wordcraft-split/3"
FORMAT = SplitFormat(SCHEMA, sort_keys=True, ensure_ascii=False)
SECOND = replace(FORMAT, schema="gumption/wordcraft-split/2")  # no validation part: for the last fit
FIRST = replace(FORMAT, schema="gumption/wordcraft-split/1")  # no validation part, no task left out: rules of 2020


@checked_methods
@dataclass(frozen=True, eq=False)
class Split:
    """The recipes and tasks of the training, validation and test parts.

    :ivar book_hash: `RecipeBook.hash` of the book it was made for.
    :ivar parameters: mode, train_ratio, seed, depth, shortcuts.
    :ivar train_recipes, test_recipes: (n, 3) int64 rows (a, b, product) of entity ids, sorted, disjoint.
    :ivar train_tasks, test_tasks: (n,) int64 sorted indices into `enumerate_tasks(book, depth, shortcuts)`, disjoint.
    :ivar left_out: number of tasks left out of each part because recipes of another part solve them (see
        `leaky_tasks`); None by the rules of 2020, which leave none out.
    :ivar validation_recipes, validation_tasks: likewise for the validation part, which serves to choose settings; None
        if validation is a part of training: for the last fit, and by the rules of 2020.
    """

    book_name: str
    book_hash: str
    parameters: dict[str, Any]
    train_recipes: np.ndarray
    test_recipes: np.ndarray
    train_tasks: np.ndarray
    test_tasks: np.ndarray
    left_out: dict[str, int] | None = None
    validation_recipes: np.ndarray | None = None
    validation_tasks: np.ndarray | None = None

    @property
    def format(self) -> SplitFormat:
        if self.left_out is None:
            return FIRST
        return SECOND if self.validation_tasks is None else FORMAT

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that have tasks."""
        return tuple(part for part in PARTS if len(self.of("tasks", part)))

    @property
    def hash(self) -> str:
        """sha256 hex of the content, without the book's name."""
        content = {"schema": self.format.schema, **self._content(), "book": {"hash": self.book_hash}}
        return self.format.sha256(content)

    def tasks(self, partition: str) -> np.ndarray:
        """Return (n,) int64 sorted indices of the tasks of a partition: "train", "validation", "test" or "all".

        :raises InputError: unknown partition, or a part that the split does not have.
        """
        check("partition", partition, Partition)
        if partition == "all":
            return np.unique(np.concatenate([self.of("tasks", part) for part in PARTS]))
        return self._some("tasks", partition)

    def recipes(self, partition: str) -> np.ndarray:
        """Return (n, 3) int64 rows of the recipes of a part: "train", "validation" or "test".

        :raises InputError: unknown part, or a part that the split does not have.
        """
        check("partition", partition, Literal["train", "validation", "test"])
        return self._some("recipes", partition)

    def known_recipes(self, partition: str) -> np.ndarray | None:
        """Return (n, 3) int64 rows of the recipes in force in a partition: training recipes in "train", training and
        validation recipes in "validation"; None for all recipes in the other partitions."""
        check("partition", partition, Partition)
        parts = {"train": PARTS[:1], "validation": PARTS[:2]}.get(partition)
        return parts and np.concatenate([self.of("recipes", part) for part in parts])

    def of(self, kind: Kind, part: str) -> np.ndarray:
        """Return the recipes or tasks of one of `PARTS`; empty for a part that the split does not have.

        :raises InputError: no such part.
        """
        if part not in PARTS:
            raise InputError(f"part is {shown(part)}; it can be {', '.join(PARTS)}")
        found = getattr(self, f"{part}_{kind}")
        return getattr(self, f"train_{kind}")[:0] if found is None else found

    def _some(self, kind: Kind, part: str) -> np.ndarray:
        if len(rows := self.of(kind, part)):
            return rows
        mode = self.parameters["mode"]
        why = f"the split {mode!r} has no {part} part; use partition='train'"
        if part == "validation" and mode != "none" and self.validation_tasks is None:
            how = "is a part of training here" if self.format is SECOND else "was not made"
            why = (
                f"the split {mode!r} has no validation part: it {how}; gumption splits wordcraft makes a file with one"
            )
        raise InputError(why)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the split as JSON, atomically: to a temporary file that is then renamed."""
        write_bytes(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the split file."""
        return self.format.seal(self._content())

    @classmethod
    def load(cls, path: str | os.PathLike[str], book: RecipeBook | None = None) -> "Split":
        """Read a split.

        :param book: the book it will be used with.
        :raises InputError: missing file, not a split, a changed byte, or a split of another book.
        """
        path = Path(path)
        sealed = read_file(path)
        form = next((old for old in (FIRST, SECOND) if f'"{old.schema}"'.encode() in sealed), FORMAT)
        content = form.unseal(sealed, path)
        there = PARTS if form is FORMAT else ("train", "test")
        try:
            left_out = None if form is FIRST else {part: int(content["left_out"][part]) for part in there}
            parts = {f"{part}_tasks": np.array(content[f"{part}_tasks"], dtype=np.int64) for part in there}
            for name in (f"{part}_recipes" for part in there):
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
            **{
                f"{part}_{kind}": self.of(kind, part).tolist()
                for part in (PARTS if self.validation_tasks is not None else ("train", "test"))
                for kind in KINDS
            },
            **({} if self.left_out is None else {"left_out": self.left_out}),
        }


def leaky_tasks(split: Split, book: RecipeBook) -> tuple[np.ndarray, np.ndarray]:
    """Return the tasks that a recipe of the other part solves, such as a training task with a wheel on the table and
    the goal bicycle, if wheel + wheel > bicycle is a test recipe. All mixes from the base are played, to the depth of
    the task. Ways that a distractor opens in two mixes or more are not checked.

    :returns: (n,) int64 training tasks in which a test recipe makes the goal, an intermediate, or an ingredient that
        leads to one; (m,) int64 test tasks that need a test recipe though training recipes alone can make the goal.
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
    fit_validation: bool = False,
) -> Split:
    """Split a book. Equal arguments and recipes give equal splits, whatever the order of the file.

    The test part is cut off first. A fifth of the rest is then cut off for validation in the same way: by default 64 %
    training, 16 % validation, 20 % test.

    - by_recipe: shuffle and cut the distinct pairs of ingredients. A task is a test task if any of its pairs is.
    - by_recipe_train_all_goals: as by_recipe, then move pairs to training until every goal has a training recipe and
      every entity occurs in training.
    - by_goal: shuffle and cut the goals. A recipe follows its product and a task its goal. A training task with a test
      goal as an intermediate is in no part.
    - by_goal_train_terminals: as by_goal, with all terminal goals (never an ingredient) in training.
    - by_family: shuffle and cut the families of the book. A recipe follows its family; recipes without a family are in
      training. A task is a test task if any of its recipes is.
    - by_task: shuffle and cut the tasks of the depth. Recipes that only tasks outside training use are test recipes.
    - none: everything is in training; the other parts are empty.

    Tasks that a recipe of another part solves (`leaky_tasks`) are then left out of their part and counted. If a book is
    too small for validation, that part is empty.

    :param train_ratio: share outside the test, strictly between 0 and 1 (ignored by the mode "none").
    :param fit_validation: make validation a part of training, for the last fit after settings are chosen. The test part
        does not change.
    :raises InputError: unknown mode, a ratio out of range, a part that would be empty, or a book without families.
    """
    if not fit_validation and mode != "none":
        whole = make_split(book, mode, train_ratio, seed, depth, shortcuts, fit_validation=True)
        return _with_validation(whole, book)
    tasks = enumerate_tasks(book, depth, shortcuts)
    split = _without_leaks(_divided(book, mode, train_ratio, seed, depth, shortcuts), book)
    _refuse_empty(split, tasks)
    return split


def _divided(book: RecipeBook, mode: Mode, train_ratio: float, seed: int, depth: int, shortcuts: bool) -> Split:
    """Split by the rules of 2020: leave no task out, without a validation part."""
    if mode != "none" and train_ratio == 1:
        raise InputError("train_ratio is 1; it is below 1. To train on all use split='none'")
    tasks = enumerate_tasks(book, depth, shortcuts)
    everything = Split(
        book_name=book.name,
        book_hash=book.hash,
        parameters={
            "mode": mode,
            "train_ratio": float(train_ratio) if mode != "none" else 1.0,
            "seed": int(seed),
            "depth": depth,
            "shortcuts": shortcuts,
        },
        train_recipes=book.recipes,
        test_recipes=book.recipes[:0],
        train_tasks=np.arange(len(tasks)),
        test_tasks=np.zeros(0, dtype=np.int64),
    )
    split = everything if mode == "none" else _cut_off(everything, book, train_ratio, np.random.PCG64(seed))
    _refuse_empty(split, tasks)
    return split


def _with_validation(whole: Split, book: RecipeBook) -> Split:
    """Return the split with a fifth of its training part moved to validation."""
    outside = replace(whole, test_recipes=whole.test_recipes[:0], test_tasks=whole.test_tasks[:0], left_out=None)
    inner = _cut_off(outside, book, OUTSIDE_VALIDATION, np.random.PCG64([whole.parameters["seed"], 1]))
    inner = _without_leaks(inner, book)
    out, left_out = whole.left_out, inner.left_out
    assert out is not None
    assert left_out is not None
    if not len(inner.train_tasks):
        inner, left_out = outside, {"train": 0, "test": 0}
    return replace(
        whole,
        train_recipes=inner.train_recipes,
        train_tasks=inner.train_tasks,
        validation_recipes=inner.test_recipes,
        validation_tasks=inner.test_tasks,
        left_out={
            "train": out["train"] + left_out["train"],
            "validation": left_out["test"],
            "test": out["test"],
        },
    )


def _without_leaks(split: Split, book: RecipeBook) -> Split:
    """Return the split without its `leaky_tasks`, counted in `left_out`."""
    whole, by_task = split, split.parameters["mode"] == "by_task"
    while any(map(len, leaky := leaky_tasks(split, book))):
        train, test = np.setdiff1d(split.train_tasks, leaky[0]), np.setdiff1d(split.test_tasks, leaky[1])
        split = replace(split, train_tasks=train, test_tasks=test)
        if not by_task:
            break
        split = _recipes_of_tasks(split, book)  # a recipe that training no longer uses can now leak
    left_out = {
        part: len(getattr(whole, f"{part}_tasks")) - len(getattr(split, f"{part}_tasks")) for part in ("train", "test")
    }
    return replace(split, left_out=left_out)


def _cut_off(split: Split, book: RecipeBook, ratio: float, bits: np.random.PCG64) -> Split:
    """Return the split with a part of its training recipes and tasks moved to the test, according to its mode.

    :param ratio: the share that stays in training.
    """
    mode, rng = split.parameters["mode"], np.random.Generator(bits)
    tasks = enumerate_tasks(book, split.parameters["depth"], split.parameters["shortcuts"])
    among, rows = split.train_tasks, recipe_rows(book, *(split.train_recipes.T + 1))
    if mode == "by_task":
        cut = _cut(rng, len(among), _share(ratio, len(among)))
        return _recipes_of_tasks(replace(split, train_tasks=among[~cut], test_tasks=among[cut]), book)
    held = np.zeros(len(book), dtype=bool)  # recipes that are moved
    goal_held = np.zeros(len(book.entities), dtype=bool)
    if mode.startswith("by_recipe"):
        pairs = np.unique(book.pair_of_recipe[rows])
        pair_held = np.zeros(len(book.pairs), dtype=bool)
        pair_held[pairs] = _cut(rng, len(pairs), _share(ratio, len(pairs)))
        if mode == "by_recipe_train_all_goals":
            _move_for_all_goals(book, rows, pair_held, rng)
        held[rows] = pair_held[book.pair_of_recipe[rows]]
    elif mode.startswith("by_goal"):
        goals = np.unique(book.recipes[rows, 2])
        free = np.setdiff1d(goals, book.terminals) if mode == "by_goal_train_terminals" else goals
        goal_held[free] = _cut(rng, len(free), _share(ratio, len(goals)) - (len(goals) - len(free)))
        held[rows] = goal_held[book.recipes[rows, 2]]
    else:
        family, names = families(book)
        there = np.unique(family[rows][family[rows] >= 0])
        family_held = np.zeros(len(names) + 1, dtype=bool)  # the last entry, never held: recipes without a family
        family_held[there] = _cut(rng, len(there), _share(ratio, len(there)))
        held[rows] = family_held[family[rows]]
    needs = held[tasks.recipes[among]].any(axis=1)
    moved = goal_held[tasks.goal[among].astype(np.int64) - 1] if mode.startswith("by_goal") else needs
    return replace(
        split,
        train_recipes=book.recipes[rows[~held[rows]]],
        test_recipes=book.recipes[held],
        train_tasks=among[~needs],
        test_tasks=among[moved],
    )


def families(book: RecipeBook) -> tuple[np.ndarray, list[str]]:
    """Return (R,) int64 the family of each row of `book.recipes`, -1 for none, and the sorted names of the families.

    :raises InputError: a book without families.
    """
    origins = book.origins or ()
    told = [family_of(origin) for origin in origins]
    names = sorted({name for name in told if name is not None})
    if not names:
        raise InputError(
            f"the recipe book {book.name} names no families, so it has no split by_family; write {FAMILY}NAME as the "
            "origin of its recipes, or split it by_recipe or by_goal"
        )
    number = {name: index for index, name in enumerate(names)}
    return np.array([-1 if name is None else number[name] for name in told], dtype=np.int64), names


def set_aside_together(book: RecipeBook, mode: Mode) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function from recipes (n, 3) of entity ids to (n,) int64 the group that each is set aside with: its
    goal, or its family (-1 for none). Return None for a mode that sets aside pairs or tasks."""
    if mode.startswith("by_goal"):
        return lambda rows: rows[:, 2]
    if mode != "by_family":
        return None
    family = families(book)[0]
    of_recipe = {
        (*sorted(pair), product): number
        for (*pair, product), number in zip(book.recipes.tolist(), family.tolist(), strict=True)
    }
    return lambda rows: np.array([of_recipe.get((min(a, b), max(a, b), c), -1) for a, b, c in rows.tolist()])


OUTSIDE_VALIDATION = 0.8  # share of training in the items outside the test


def _share(train_ratio: float, size: int) -> int:
    return ceil(round(train_ratio * size, 9))  # rounded first: 0.07 * 100 is a little above 7


def _cut(rng: np.random.Generator, size: int, train: int) -> np.ndarray:
    """Return (size,) bool: true for the test part, the items after the first `train` of a random order."""
    test = np.zeros(size, dtype=bool)
    test[rng.permutation(size)[max(0, train) :]] = True
    return test


def _move_for_all_goals(book: RecipeBook, rows: np.ndarray, pair_held: np.ndarray, rng: np.random.Generator) -> None:
    """Clear entries of `pair_held` until the remaining recipes of `rows` make every product and use every root."""
    a, b, product = book.recipes[rows].T
    pair = book.pair_of_recipe[rows]
    for entity in range(len(book.entities)):
        stays = ~pair_held[pair]
        made = product == entity
        if not made.any():  # a root cannot be a goal: it must appear as an ingredient
            made = (a == entity) | (b == entity)
        if made.any() and not (made & stays).any():
            pair_held[rng.choice(np.unique(pair[made]))] = False


def _recipes_of_tasks(split: Split, book: RecipeBook) -> Split:
    """Divide the recipes again: to training if a training task uses them, to the test if only other tasks do."""
    tasks = enumerate_tasks(book, split.parameters["depth"], split.parameters["shortcuts"])
    train = np.unique(tasks.recipes[split.train_tasks]).astype(np.int64)
    both = recipe_rows(book, *(np.concatenate([split.train_recipes, split.test_recipes]).T + 1))
    test = np.setdiff1d(np.intersect1d(tasks.recipes, both), train)
    return replace(split, train_recipes=book.recipes[train], test_recipes=book.recipes[test])


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
    fit_validation: bool = False,
) -> Split:
    """Return the split of an environment from a mode, None for "none", a Split, or the path of a split file (.json).

    :param as_2020: for a mode, leave no task out and set nothing aside for validation, as in the first release.
    :param fit_validation: see `make_split`; a Split or file is made again with it, from its parameters.

    :raises InputError: also for a Split or file of another book, depth or choice of shortcuts.
    """
    if split is None or (isinstance(split, str) and split in MODES):
        mode = cast("Mode", split or "none")
        if as_2020:
            return _divided(book, mode, train_ratio, seed, depth, shortcuts)
        return make_split(book, mode, train_ratio, seed, depth, shortcuts, fit_validation)
    if not isinstance(split, Split):
        if Path(split).suffix != ".json":
            raise InputError(f"split is {str(split)!r}; it can be {', '.join(MODES)}, or a split file ending in .json")
        split = Split.load(split)
    split.check_book(book)
    if fit_validation and split.format is FORMAT:
        split = make_split(book, **split.parameters, fit_validation=True)
    for name, value in (("depth", depth), ("shortcuts", shortcuts)):
        if split.parameters[name] != value:
            raise InputError(f"the split was made with {name}={split.parameters[name]}, the environment has {value}")
    return split


_TESTED = {
    "by_recipe": "unseen recipes",
    "by_recipe_train_all_goals": "unseen recipes",
    "by_goal": "unseen goals",
    "by_goal_train_terminals": "unseen goals",
    "by_family": "unseen families",
    "by_task": "unseen tasks",
    "none": "training tasks",
}


def what_is_tested(split: str | Split) -> str:
    """Return the kind of tasks that "test_success" of a run measures: "unseen recipes", "unseen goals", "unseen
    families", "unseen tasks" or, if the split sets nothing aside, "training tasks".

    :param split: a mode, a Split, or the path of a split file.
    :raises InputError: anything else.
    """
    if isinstance(split, str) and split not in MODES:
        split = Split.load(split)
    return _TESTED[split if isinstance(split, str) else split.parameters["mode"]]
