"""WordCraft for people: tasks in words for studies, and the game of `gumption play wordcraft`: training tasks with
feedback, then test tasks without."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Whole, checked
from gumption.envs.priors import Laws, Names
from gumption.scripts.play import Game, Numbers, Record

if TYPE_CHECKING:
    from gumption.envs.wordcraft import Split, WordCraftEnv

RULES = "Two things from the table make a third. Choose the two that make the goal; the same one may be chosen twice."
COUNTS = "Now the tasks that count. There is no feedback from here on.\n\n"


def game(
    *,
    recipe_book: str = "commonsense",
    distractors: Whole = 8,
    seed: Seed = 0,
    split_seed: Seed = 0,
    train_tasks: Whole = 40,
    test_tasks: Count = 40,
    names: Names = "real",
    laws: Laws = "real",
) -> Game:
    """Play training tasks with feedback, then test tasks without (Jiang et al., 2020, Appendix C.5).

    :param recipe_book: Name of a recipe book, or a file.
    :param distractors: Entities on the table that the task does not need.
    :param seed: Draws the tasks and their tables.
    :param split_seed: Of the split by recipe: 20 % for testing, as in the experiments.
    :param train_tasks: Tasks with feedback, to learn the game.
    :param test_tasks: Tasks without feedback, which count.
    :param names: What things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    :raises InputError: more tasks than the split has.
    """
    book, split = _book_and_split(recipe_book, split_seed, names, laws)
    counts = {"train": train_tasks, "test": test_tasks}
    tasks = {part: drawn_tasks(split, part, count, seed, f"--{part}-tasks") for part, count in counts.items()}
    _first(recipe_book, split_seed, distractors, "test", names, laws)  # raises InputError for too many distractors
    places = [(part, number) for part, count in counts.items() for number in range(count)]

    def begin_task(number: int) -> tuple[Any, Any]:
        part, place = places[number]
        drawn: dict[str, Any] = {"part": part, "tasks": counts[part], "number": place}
        drawn |= {"recipe_book": recipe_book, "distractors": distractors, "seed": seed, "split_seed": split_seed}
        return begin(**drawn, names=names, laws=laws)

    def record(number: int, env: Any, actions: Sequence[int]) -> Record:
        part, place = places[number]
        state = env.batch.describe(0)
        table = state["table"][: distractors + 2]  # the initial table, without products
        chosen = [state["table"][slot] for slot in actions]
        task: Record = {"part": part, "task": tasks[part][place], "goal": state["goal"], "table": table}
        return task | {"chosen": chosen, "success": state["success"]}

    headings = [
        f"{'training' if part == 'train' else 'test'} task {number + 1} of {counts[part]}" for part, number in places
    ]
    headings[train_tasks] = COUNTS + headings[train_tasks]
    settings = {"depth": 1, "num_distractors": distractors, "split": "by_recipe", "train_ratio": 0.8}
    about = {
        "schema": "gumption/play/1",
        "world": "wordcraft",
        "settings": settings | {"split_seed": split_seed},
        "book": {"name": book.name, "hash": book.hash},
        "split_hash": split.hash,
        "seed": seed,
        "tasks": counts,
    }
    return Game(
        about, "task", headings, begin_task, record, summary,
        done=f"{{success:.0%}} of {test_tasks} test tasks solved", feedback=lambda number: number < train_tasks,
    )  # fmt: skip


def summary(records: Sequence[Record]) -> dict[str, float | None]:
    """Return the shares of solved test tasks, the result, and of solved training tasks."""
    shares: dict[str, float | None] = {}
    for part, name in (("test", "success"), ("train", "train_success")):
        won = [record["success"] for record in records if record["part"] == part]
        shares[name] = sum(won) / len(won) if won else None
    return shares


def drawn_tasks(split: Split, part: str, count: int, seed: int, what: str) -> list[int]:
    """Draw task indices of a part of the split without repetition.

    :param what: the name of `count`, for the message.
    :raises InputError: the part has fewer tasks.
    """
    import numpy as np

    tasks = split.tasks(part)
    if count > len(tasks):
        raise InputError(f"{what} is {count}; the split has {len(tasks)}")
    rng = np.random.Generator(np.random.PCG64([seed, part == "test"]))
    return rng.choice(tasks, count, replace=False).tolist()


@checked
def begin(
    *,
    recipe_book: str = "commonsense",
    distractors: Whole = 8,
    part: Literal["train", "test"] = "test",
    tasks: Count = 40,
    number: Whole = 0,
    seed: Seed = 0,
    split_seed: Seed = 0,
    names: Names = "real",
    laws: Laws = "real",
) -> tuple[Any, Feedback]:
    """A task of `gumption play wordcraft`, for studies: the same tasks and tables for the same seed.

    :param recipe_book: Name of a recipe book, or a file.
    :param distractors: Entities on the table that the task does not need.
    :param part: Part of the split: train or test.
    :param tasks: How many of the part are drawn.
    :param number: Which of these it is, from 0.
    :param seed: Draws the tasks and their tables.
    :param split_seed: Of the split by recipe: 20 % for testing.
    :param names: What things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    """
    import numpy as np

    if number >= tasks:
        raise InputError(f"number is {number}; {tasks} tasks are drawn, from 0 on")
    env = _copy(_first(recipe_book, split_seed, distractors, part, names, laws))
    index = drawn_tasks(env.batch.split, part, tasks, seed, "tasks")[number]
    env.batch.start()  # otherwise the batch would first draw a table of its own
    # Each table has a separate generator, so that a resumed game shows the same table.
    env.batch.np_random = np.random.Generator(np.random.PCG64([seed, part == "test", number]))
    env.batch.set_tasks(np.array([index]))
    return env, Feedback(env, index)


@cache
def _book_and_split(recipe_book: str, split_seed: int, names: Names, laws: Laws) -> tuple[Any, Split]:
    """Return recipe book and split, which all tasks of a study share."""
    from gumption.envs.wordcraft import RecipeBook, make_split

    book = RecipeBook.load(recipe_book).under(names, laws)
    return book, make_split(book, "by_recipe", 0.8, split_seed, 1, fit_validation=True)


@cache
def _first(recipe_book: str, split_seed: int, distractors: int, part: str, names: Names, laws: Laws) -> WordCraftEnv:
    """Return an environment of these settings, which is copied for each task of a study."""
    from gumption.envs.wordcraft import WordCraftEnv

    book, split = _book_and_split(recipe_book, split_seed, names, laws)
    env = WordCraftEnv(recipe_book=book, num_distractors=distractors, split=split, partition=part, render_mode="ansi")
    env.reset(seed=0)  # Gymnasium requires it before the first step; the table is replaced later
    return env


def _copy(env: WordCraftEnv) -> WordCraftEnv:
    """Copy an environment's state, but share its constant parts: they take 2 MB and 20 ms to make, and a study has
    thousands of tasks."""
    batch, engine = env.batch, env.batch.engine
    shared = (
        batch.settings, batch.book, batch.tasks, batch.split, batch.single_observation_space, batch.single_action_space,
        batch.observation_space, batch.action_space, engine.sampler, engine.known, engine.codes, engine.allowed,
        engine.open_to,
    )  # fmt: skip
    return copy.deepcopy(env, {id(one): one for one in shared})


class Feedback(Numbers):
    """A task in words: actions by number or name; at the end the product and one way to make the goal."""

    def __init__(self, env: WordCraftEnv, task: int) -> None:
        """:param task: index of the task."""
        self._env, self._task = env, task

    def rules(self, env: Any) -> str:
        return RULES

    def observe(self, env: Any) -> str:
        return env.render()

    def told(self, info: Any, over: bool) -> str:
        if not over:
            return ""
        made = f"{self._env.batch.last_mix(0)}."
        if info["success"]:
            return made
        a, b, goal = self._env.tasks[self._task].recipes[0]
        return f"{made} One way was {a} + {b}, which makes {goal}."
