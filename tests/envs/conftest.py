"""A small recipe book for the tests of the worlds."""

import pytest

from gumption.envs.wordcraft import RecipeBook

ROWS = [
    ("mud", "water", "earth"),
    ("steam", "water", "fire"),
    ("lava", "earth", "fire"),
    ("brick", "mud", "fire"),
    ("brick", "mud", "sun"),
    ("stone", "lava", "air"),
    ("obsidian", "lava", "water"),
    ("sand", "stone", "air"),
    ("glass", "sand", "fire"),
    ("wall", "brick", "brick"),
    ("house", "wall", "wall"),
    ("geyser", "steam", "earth"),
    ("energy", "fire", "fire"),
    ("plasma", "energy", "fire"),
    ("sun", "plasma", "sky"),
    ("sky", "air", "sun"),
    ("rain", "sky", "water"),
    ("smoke", "wood", "fire"),
    ("charcoal", "wood", "fire"),
    ("campfire", "wood", "fire"),
    ("plant", "rain", "earth"),
    ("wood", "plant", "time"),
    ("desert", "sand", "sand"),
    ("oasis", "desert", "water"),
    ("steam", "rain", "fire"),
    ("mud", "rain", "sand"),
    ("glass", "sand", "lava"),
    ("plant", "rain", "mud"),
    ("wall", "brick", "stone"),
    ("house", "wall", "wood"),
    ("geyser", "steam", "stone"),
    ("stone", "lava", "rain"),
    ("rain", "sky", "steam"),
    ("lava", "stone", "energy"),
    ("obsidian", "lava", "rain"),
    ("mud", "mud", "air"),
]


@pytest.fixture(scope="session")
def rows() -> list[tuple[str, str, str]]:
    """(product, ingredient, ingredient) in book order; the last needs its own product."""
    return ROWS


@pytest.fixture(scope="session")
def book(rows) -> RecipeBook:
    """28 entities (20 within reach of air, earth, fire, time and water), 35 recipes; fire + wood makes three things."""
    return RecipeBook("small", list(dict.fromkeys(label for row in rows for label in row)), rows)
