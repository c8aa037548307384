"""`gumption play wordcraft`: training tasks with feedback, then test tasks without."""

from __future__ import annotations

import copy
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Whole, checked
from gumption.envs.priors import Laws, Names
from gumption.scripts.apps import App
from gumption.scripts.play import Numbers, Record, Session, ask

if TYPE_CHECKING:
    from gumption.envs.wordcraft import Split, WordCraftEnv, WordCraftVectorEnv

app = App(add_completion=False)

SCHEMA = "gumption/play/1"
INTRODUCTION = """Two things from the table make a third. Choose them by their numbers, one after the other;
the same one may be chosen twice. q stops; the same command goes on later."""
RULES = "Two things from the table make a third. Choose the two that make the goal; the same one may be chosen twice."


@app.command("wordcraft", epilog="Example: gumption play wordcraft --distractors 8 --out me.json")
def play(
    *,
    recipe_book: str = "commonsense",
    distractors: Whole = 8,
    seed: Seed = 0,
    split_seed: Seed = 0,
    train_tasks: Whole = 40,
    test_tasks: Count = 40,
    names: Names = "real",
    laws: Laws = "real",
    out: Path = Path("play.json"),
) -> None:
    """Play training tasks with feedback, then test tasks without (Jiang et al., 2020, Appendix C.5).

    The result is kept after every task, so a game that was interrupted goes on where it stopped.

    :param recipe_book: Name of a recipe book, or a file.
    :param distractors: Entities on the table that the task does not need.
    :param seed: Draws the tasks and their tables.
    :param split_seed: Of the split by recipe: 20 % for testing, as in the experiments.
    :param train_tasks: Tasks with feedback, to learn the game.
    :param test_tasks: Tasks without feedback, which count.
    :param names: What things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    :param out: Result file; the same command goes on with it.
    """
    from gumption.envs.wordcraft import RecipeBook

    settings = {
        "depth": 1,
        "num_distractors": distractors,
        "split": "by_recipe",
        "train_ratio": 0.8,
        "split_seed": split_seed,
    }
    game = Game(
        RecipeBook.load(recipe_book).under(names, laws), settings, seed, {"train": train_tasks, "test": test_tasks}
    )
    session = Session(out, game.description, train_tasks + test_tasks, "task", summary)
    if session.play(INTRODUCTION, game.play_task):
        print(f"Done: {session.result['success']:.0%} of {test_tasks} test tasks solved. Result: {out}")


def summary(records: list[Record]) -> dict[str, float | None]:
    """Share of the tasks that were solved: of the test tasks, which count, and of the training tasks."""
    shares: dict[str, float | None] = {}
    for part, name in (("test", "success"), ("train", "train_success")):
        won = [record["success"] for record in records if record["part"] == part]
        shares[name] = sum(won) / len(won) if won else None
    return shares


class Game:
    """Which tasks, on which tables, and how one is played."""

    def __init__(self, book: Any, settings: dict[str, Any], seed: int, tasks: dict[str, int]) -> None:
        """:raises InputError: more tasks than the split has."""
        from gumption.envs.wordcraft import WordCraftVectorEnv

        self.seed, self.wanted = seed, tasks
        self.envs = {
            part: WordCraftVectorEnv(
                1, recipe_book=book, partition=part, fit_validation=True, autoreset_mode="Disabled", **settings
            )
            for part in tasks
        }
        self.chosen = {}
        for part, count in tasks.items():
            self.chosen[part] = drawn_tasks(self.envs[part].split, part, count, seed, f"--{part}-tasks")
        self.description = {
            "schema": SCHEMA,
            "world": "wordcraft",
            "settings": settings,
            "book": {"name": book.name, "hash": book.hash},
            "split_hash": self.envs["test"].split.hash,
            "seed": seed,
            "tasks": tasks,
        }

    def play_task(self, done: int) -> Record | None:
        """The record of a task, by its number in the game; None if the player stops."""
        import numpy as np

        from gumption.envs.wordcraft.render import as_text

        part = "train" if done < self.wanted["train"] else "test"
        number = done if part == "train" else done - self.wanted["train"]
        if number == 0 and part == "test":
            print("Now the tasks that count. There is no feedback from here on.\n")
        print(f"{'training' if part == 'train' else 'test'} task {number + 1} of {self.wanted[part]}")
        env, index = self.envs[part], self.chosen[part][number]
        lay_table(env, index, part, number, self.seed)
        state = env.describe(0)
        record = {"part": part, "task": index, "goal": state["goal"], "table": state["table"], "chosen": []}
        start = time.monotonic()
        over = False
        while not over:
            print(as_text(env.describe(0)), end="")
            slot = ask(partial(parse_slot, slots=len(env.describe(0)["table"])))
            if slot is None:
                return None
            record["chosen"].append(env.describe(0)["table"][slot])
            _, _, terminated, _, infos = env.step(np.array([slot]))
            over, record["success"] = bool(terminated[0]), bool(infos["success"][0])
        record["seconds"] = round(time.monotonic() - start, 1)
        if part == "train":
            print(_feedback(env, index, record))
        print()
        return record


def drawn_tasks(split: Split, part: str, count: int, seed: int, what: str) -> list[int]:
    """Task indices of a part of the split, drawn without repetition.

    :param what: the name of `count`, for the message.
    :raises InputError: the part has fewer tasks.
    """
    import numpy as np

    tasks = split.tasks(part)
    if count > len(tasks):
        raise InputError(f"{what} is {count}; the split has {len(tasks)}")
    rng = np.random.Generator(np.random.PCG64([seed, part == "test"]))
    return rng.choice(tasks, count, replace=False).tolist()


def lay_table(env: WordCraftVectorEnv, task: int, part: str, number: int, seed: int) -> None:
    """Begin a task in a batch of one. Every table has a generator of its own, so that a resumed game shows the same.

    :param number: of the task among the drawn ones of its part.
    """
    import numpy as np

    env.start()  # a batch that was not begun draws a table of its own first
    env.np_random = np.random.Generator(np.random.PCG64([seed, part == "test", number]))
    env.set_tasks(np.array([task]))


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
    if number >= tasks:
        raise InputError(f"number is {number}; {tasks} tasks are drawn, from 0 on")
    env = _copy(_first(recipe_book, split_seed, distractors, part, names, laws))
    index = drawn_tasks(env.batch.split, part, tasks, seed, "tasks")[number]
    lay_table(env.batch, index, part, number, seed)
    return env, Feedback(env, index)


@cache
def _book_and_split(recipe_book: str, split_seed: int, names: Names, laws: Laws) -> tuple[Any, Split]:
    """What all tasks of a study share."""
    from gumption.envs.wordcraft import RecipeBook, make_split

    book = RecipeBook.load(recipe_book).under(names, laws)
    return book, make_split(book, "by_recipe", 0.8, split_seed, 1, fit_validation=True)


@cache
def _first(recipe_book: str, split_seed: int, distractors: int, part: str, names: Names, laws: Laws) -> WordCraftEnv:
    """An environment of these settings, of which all tasks of a study are copies."""
    from gumption.envs.wordcraft import WordCraftEnv

    book, split = _book_and_split(recipe_book, split_seed, names, laws)
    env = WordCraftEnv(recipe_book=book, num_distractors=distractors, split=split, partition=part, render_mode="ansi")
    env.reset(seed=0)  # Gymnasium asks for one before the first step; the table is laid anew
    return env


def _copy(env: WordCraftEnv) -> WordCraftEnv:
    """An environment with a state of its own, which shares what no step changes: that takes 2 MB and 20 ms to make, and
    a study has thousands of tasks."""
    batch, engine = env.batch, env.batch.engine
    shared = (
        batch.settings, batch.book, batch.tasks, batch.split, batch.single_observation_space, batch.single_action_space,
        batch.observation_space, batch.action_space, engine.sampler, engine.known, engine.codes, engine.allowed,
        engine.open_to,
    )  # fmt: skip
    return copy.deepcopy(env, {id(one): one for one in shared})


class Feedback(Numbers):
    """A task in words: actions by number or name, and at its end what was made and one way to make the goal."""

    def __init__(self, env: WordCraftEnv, task: int) -> None:
        """:param task: its index."""
        self._env, self._task = env, task

    def rules(self, env: Any) -> str:
        return RULES

    def observe(self, env: Any) -> str:
        return env.render()

    def told(self, info: Any, over: bool) -> str:
        if not over:
            return ""
        made = f"{self._env.batch.last_mix(0)}."
        return made if info["success"] else f"{made} {_one_way(self._env.tasks[self._task].recipes[0])}"


def parse_slot(typed: str, slots: int) -> int:
    """The slot of the table that was typed.

    :raises InputError: no number of one.
    """
    if not (typed.isascii() and typed.isdigit() and int(typed) < slots):
        raise InputError(f"a number from 0 to {slots - 1}, or q to stop")
    return int(typed)


def _feedback(env: WordCraftVectorEnv, index: int, record: Record) -> str:
    first, second = record["chosen"]
    if record["success"]:
        return f"{first} + {second} makes {record['goal']}."
    made = env.describe(0)["table"][len(record["table"]) :]
    return f"{first} + {second} makes {made[0] if made else 'nothing'}. {_one_way(env.tasks[index].recipes[0])}"


def _one_way(recipe: tuple[str, ...]) -> str:
    a, b, goal = recipe
    return f"One way was {a} + {b}, which makes {goal}."
