"""A small recipe book, and vectors of its words."""

from pathlib import Path

import numpy as np
import pytest

from gumption.data.make_word_vectors import write_word2vec
from gumption.envs.wordcraft import RecipeBook

RECIPES = """
steam water fire      mud water earth      lava earth fire       brick mud fire        stone lava air
glass sand fire       sand stone air       wall brick brick      house wall wall       rain sky water
plant rain earth      wood plant time      forest plant plant    beach sand water      island beach water
campfire wood fire    charcoal wood fire   smoke wood fire       axe stone wood        sky air sun
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    words = RECIPES.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    file = tmp_path / "small.tsv"
    file.write_text("\n".join(["result\tingredient\tingredient", *rows]) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def words_file(book: Path, tmp_path: Path) -> Path:
    entities, rng = RecipeBook.load(book).entities, np.random.default_rng(0)
    write_word2vec(tmp_path / "w.bin", entities, {word: rng.normal(size=100).astype(np.float32) for word in entities})
    return tmp_path / "w.bin"
