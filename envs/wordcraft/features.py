"""Feature vectors of a book's entities, as rows to gather by env id."""

from os import PathLike
from typing import Literal, get_args

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, checked

from .recipe_book import RecipeBook

Features = Literal["glove", "random", "onehot"]
RANDOM_SIZE = 300


@checked
def entity_features(
    book: RecipeBook, kind: str, *, seed: Seed = 0, word_vectors: str | PathLike[str] | None = None
) -> np.ndarray:
    """(N + 1, F) float32, row 0 (PAD) zero.

    - glove: word vectors of the labels (F = 100), from `word_vectors` or, without it, the shipped file; for labels
      that have none the next best, told by a warning (see `WordVectors.guessed_vectors`).
    - random: independent draws from a Laplace distribution of mean 0 and standard deviation 0.4 (F = 300), by seed.
    - onehot: F = N.

    :raises InputError: unknown kind, or a file that holds no word vectors.
    """
    if kind == "glove":
        from gumption.kg import WordVectors

        rows, report = WordVectors.load(word_vectors).guessed_vectors(book.entities)
        report.warn()
    elif kind == "random":
        rng = np.random.Generator(np.random.PCG64(seed))
        rows = rng.laplace(0.0, 0.4 / np.sqrt(2.0), size=(len(book.entities), RANDOM_SIZE))
    elif kind == "onehot":
        rows = np.eye(len(book.entities))
    else:
        raise InputError(f"features is {kind!r}; it can be {', '.join(get_args(Features))} or None")
    return np.concatenate([np.zeros((1, rows.shape[1])), rows]).astype(np.float32)
