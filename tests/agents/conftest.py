"""A small recipe book with word vectors, and the settings of runs on it that take less than a second."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.agents import TrainConfig
from gumption.data.make_word_vectors import write_word2vec
from gumption.envs.wordcraft import RecipeBook

# product, ingredient, ingredient; fire + wood makes three things, three things combine with themselves
RECIPES = """
mud water earth       steam water fire      lava earth fire        brick mud fire         brick mud sun
stone lava air        obsidian lava water   sand stone air         glass sand fire        wall brick brick
house wall wall       geyser steam earth    energy fire fire       plasma energy fire     sun plasma sky
sky air sun           rain sky water        smoke wood fire        charcoal wood fire     campfire wood fire
plant rain earth      wood plant time       desert sand sand       oasis desert water     steam rain fire
mud rain sand         glass sand lava       plant rain mud         wall brick stone       house wall wood
geyser steam stone    stone lava rain       rain sky steam         lava stone energy      obsidian lava rain
tool stone wood       axe tool wood         forest plant plant     beach sand water       island beach water
"""

Configure = Callable[..., TrainConfig]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fitted predictors, shared by the tests that do not look at the fitting."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """No test touches the user's cache."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(cache))


@pytest.fixture(scope="session")
def book_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = RECIPES.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    file = tmp_path_factory.mktemp("book") / "small.tsv"
    file.write_text("\n".join(["result\tingredient\tingredient", *rows]) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def book(book_file: Path) -> RecipeBook:
    """31 entities, 40 recipes of 38 pairs."""
    return RecipeBook.load(book_file)


@pytest.fixture(scope="session")
def words_file(book: RecipeBook, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors that say nothing, in a file as `make_word_vectors` writes it."""
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("words") / "words.bin"
    write_word2vec(file, book.entities, {word: rng.normal(size=100).astype(np.float32) for word in book.entities})
    return file


@pytest.fixture(scope="session")
def configure(book_file: Path, words_file: Path) -> Configure:
    """TrainConfig on the small book: 32 updates with four evaluations, unless told otherwise.

    `overrides` are added to the small sizes of the network.
    """

    def make(overrides: dict[str, Any] | None = None, **changes: Any) -> TrainConfig:
        learner = {"batch_size": 64, "key_size": 24, "value_size": 16, "encoder_size": 16, "hidden_size": 32}
        unread = {"mlp": ("key_size", "value_size")}.get(changes.get("agent", "attention"), ("hidden_size",))
        learner = {name: value for name, value in learner.items() if name not in unread} | (overrides or {})
        settings: dict[str, Any] = {
            "recipe_book": str(book_file),
            "word_vectors": str(words_file),
            "num_distractors": 3,
            "features": "onehot",
            "total_steps": 4096,
            "eval_interval": 1024,
            "final_draws": 2,
            "device": "cpu",
            "overrides": tuple(learner.items()),
        }
        return TrainConfig(**(settings | changes))

    return make
