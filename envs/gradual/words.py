"""Stand-in until the word list is merged."""

from functools import cache
from pathlib import Path


@cache
def load_words():
    return tuple((Path(__file__).parent / "stand_in_words.txt").read_text().split())


def filtered_words(words):
    from .logic_tasks import SYNONYMS

    every = [synonym for words in SYNONYMS.values() for synonym in words]
    return tuple(word for word in words if not any(one in word for one in every))
