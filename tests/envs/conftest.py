"""A small recipe book and the maze of a published example, for the tests of the worlds."""

from itertools import pairwise

import numpy as np
import pytest

from gumption.envs.halma import Maze
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


@pytest.fixture(scope="session")
def golden() -> Maze:
    """The maze of the paper's example trial (A.3), as far as its words and digits tell it."""
    path = [*((x, 0) for x in range(6)), (5, -1), (6, -1), (7, -1), (7, -2)]
    branches = [((0, 0), (0, 1)), ((2, 0), (2, 1)), ((3, 0), (3, -1)), ((4, 0), (4, 1))]
    branches += [((5, -1), (5, -2)), ((7, -1), (7, 0)), ((7, -2), (7, -3))]
    return Maze((0, 0), (7, -2), [*pairwise(path), *branches])


class LookUp:
    """1 for a known fact of two parties, 0 for any other, in the form that `KGScores` asks of advice."""

    def __init__(self, triples, vocabulary, relations):
        self.relations, self.vocabulary = tuple(relations), tuple(vocabulary)
        ids = {label: i for i, label in enumerate(vocabulary)}
        self.tables = np.zeros((len(self.relations), len(ids), len(ids)), dtype=np.float32)
        for subject, relation, target in triples:
            if relation in self.relations:
                self.tables[self.relations.index(relation), ids[subject], ids[target]] = 1.0

    def score(self, facts):
        columns = [facts.relations.index(relation) for relation in self.relations]
        return self.tables[np.arange(len(columns)), facts.subject[:, :, columns], facts.object[:, :, columns]]


@pytest.fixture
def look_up():
    return LookUp
