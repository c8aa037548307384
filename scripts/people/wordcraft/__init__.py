"""WordCraft and Little Alchemy in a browser: words as cards on a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.settings import Seed, Whole, shown
from gumption.envs.priors import Laws, Names
from gumption.envs.wordcraft import LittleAlchemyEnv, RecipeBook, WordCraftEnv
from gumption.envs.wordcraft.tasks import Depth
from gumption.scripts.people.web.views import LISTED, View, hashed

GOAL, OPEN = "gumption/WordCraft-v0", "gumption/LittleAlchemy-v0"
TASK_RULES = """\
Make the goal. Two things on the table make a third: choose one, then another; the same one may be chosen twice. What \
is chosen stays chosen until it is mixed.
You have {mixes}."""
OPEN_RULES = """\
Make as many things as you can. Two known things make others: choose one, then another; the same one may be chosen \
twice. What is chosen stays chosen until it is mixed. Most pairs make nothing.
{total} things can be known."""


@dataclass(frozen=True)
class Face:
    """An episode in words; `env` is the one it is about."""

    env: WordCraftEnv | LittleAlchemyEnv

    def rules(self, env: Any) -> str:
        if isinstance(env, LittleAlchemyEnv):
            return OPEN_RULES.format(total=int(env.batch.reachable[0].sum()))
        mixes = env.batch.engine.max_mixes
        return TASK_RULES.format(mixes="one try" if mixes == 1 else f"{mixes} tries")

    def observe(self, env: Any) -> str:
        return env.render()

    def parse(self, typed: str, env: Any) -> int:
        return parse(typed, env)

    def told(self, info: Mapping[str, Any], over: bool) -> str:
        """The latest mix, and whether the goal is made; nothing after the first choice of a pair."""
        if info["selection"]:
            return ""
        mixed = self.env.batch.last_mix(0)
        return f"{mixed}; that is the goal" if info["success"] and "goal" in info else mixed


def begin(
    *,
    env: Literal["gumption/WordCraft-v0", "gumption/LittleAlchemy-v0"] = GOAL,
    recipe_book: str = "commonsense",
    depth: Depth = 1,
    distractors: Whole = 8,
    seed: Seed = 0,
    names: Names = "real",
    laws: Laws = "real",
) -> tuple[WordCraftEnv | LittleAlchemyEnv, Face]:
    """Make the goal from words on a table, or in Little Alchemy as many words as you can.

    :param env: Id of the environment.
    :param recipe_book: Name of a recipe book, or a file.
    :param depth: Mixes that the goal needs; not for Little Alchemy.
    :param distractors: Words on the table that the goal does not need; not for Little Alchemy.
    :param seed: Draws the task and its table.
    :param names: What words are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    """
    book = _book(recipe_book, names, laws)
    if env == OPEN:
        made = LittleAlchemyEnv(render_mode="ansi", recipe_book=book)
    else:
        settings: dict[str, Any] = {"depth": depth, "num_distractors": distractors, "partition": "all"}
        made = WordCraftEnv(render_mode="ansi", recipe_book=book, **settings)
    made.reset(seed=seed)
    return made, Face(made)


@cache
def _book(name: str, names: Names, laws: Laws) -> RecipeBook:
    """The book that all episodes share."""
    return RecipeBook.load(name).under(names, laws)


def drawing(env: Any) -> dict[str, Any]:
    """The goal, the table, what is chosen and the latest mix; in Little Alchemy what is known in place of the goal."""
    state = env.batch.describe(0)
    common = {"kind": "words", "table": state["table"], "selection": state["selection"], "last": env.batch.last_mix(0)}
    if isinstance(env, LittleAlchemyEnv):
        known, total = state["num_discovered"], int(env.batch.reachable[0].sum())
        return common | {"goal": None, "made": env.batch.latest_finds(0), "known": known, "total": total}
    engine = env.batch.engine
    product = int(engine.product[0]) if engine.steps[0] else 0
    return common | {"goal": state["goal"], "made": [env.vocabulary[product]] if product else []}


def parse(action: Any, env: Any) -> int:
    """The slot of a word on the table, or its number in Little Alchemy.

    :raises InputError: no word, or one that is not on the table.
    """
    table = env.batch.describe(0)["table"]
    if not isinstance(action, str):
        raise InputError(f"the action is {shown(action)}; it is a word on the table")
    word = action.strip()
    if word not in table:
        hint = did_you_mean(word, table, f"choose one of the {len(table)} words on it")
        raise InputError(f"{word!r} is not on the table; {hint}")
    return env.book.entity_id(word) if isinstance(env, LittleAlchemyEnv) else table.index(word)


def choices(env: Any) -> list[dict[str, Any]]:
    """A choice for each word on the table, while they can be listed."""
    table = env.batch.describe(0)["table"]
    return [{"action": word, "label": word} for word in table] if len(table) <= LISTED else []


def played(env: Any) -> dict[str, Any]:
    """The recipe book and, of tasks, the split, which say what is a fact of training."""
    split = {} if isinstance(env, LittleAlchemyEnv) else {"split": env.batch.split}
    return {"recipe_book": env.book, **split}


VIEW = View(
    begin,
    drawing,
    parse,
    choices,
    folder=Path(__file__).parent,
    text=True,
    action="own",
    # What is seen is the whole state; what is saved has hashes of the book and the split, which take milliseconds.
    state=lambda env: hashed(env.batch.observe()),
    played=played,
)
