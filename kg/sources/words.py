"""Word vectors of labels: gensim's KeyedVectors around the shipped file, or around a file of one's own."""

import hashlib
import re
import string
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np
from gensim.models import KeyedVectors

from gumption.data import InputError, Note, path
from gumption.data.label_words import label_words, tokens
from gumption.data.settings import checked_methods

SHIPPED = "glove-100d"
FREQUENT = "glove-frequent"  # the 20,000 most frequent words, in 8 bits
SHORTEST_MISSPELT = 4  # letters; of a shorter word almost any other is one letter away
_CASES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|[_/]")  # camelCase, word2, snake_case
_EXAMPLES = 3


class GuessedVectors(Note):
    """Some labels have no word vector of their own and were given another."""


@dataclass(frozen=True)
class VectorReport:
    """How labels without a word vector of their own came by one.

    :ivar labels: how many labels there were.
    :ivar by_parts: label -> the known words among its parts, or the dictionary forms of these; the vector is the mean.
    :ivar by_spelling: label -> the known words that are one letter away from its words; the vector is their mean.
    :ivar drawn: labels whose vector was drawn at random.
    """

    labels: int
    by_parts: dict[str, tuple[str, ...]]
    by_spelling: dict[str, tuple[str, ...]]
    drawn: tuple[str, ...]

    def __str__(self) -> str:
        """One line; empty where each label has a vector of its own."""
        near = {f"{label} ~ {' '.join(words)}": words for label, words in self.by_spelling.items()}
        ways = (("by their parts", self.by_parts), ("by spelling", near), ("drawn at random", self.drawn))
        told = [f"{len(found)} {how} ({_listed(found)})" for how, found in ways if found]
        guessed = sum(len(found) for _, found in ways)
        if not guessed:
            return ""
        return f"{guessed} of {self.labels} words have no vector of their own: {', '.join(told)}"

    def warn(self) -> None:
        """Tell it in one GuessedVectors warning, where there is something to tell."""
        if text := str(self):
            # One place, so that Python tells the same thing once.
            warnings.warn(text, GuessedVectors, stacklevel=1)


@checked_methods
class WordVectors:
    """Vectors of words, and of labels made of words.

    A label that is a word of the file has that word's vector; any other has the mean over its parts: the words between
    spaces and hyphens, an unknown one split into two known words where that can be ("trainyard": train, yard).

    :ivar keyed: the gensim KeyedVectors, for its own queries (nearest words and so on).
    """

    def __init__(self, keyed: KeyedVectors, source: str) -> None:
        self.keyed = keyed
        self.source = source

    @classmethod
    def load(cls, file: str | PathLike[str] | None = None) -> "WordVectors":
        """Read word2vec's binary format, as `gumption.data.make_word_vectors` writes it; default: the shipped vectors,
        those of the commonsense book as GloVe has them and those of the 20,000 most frequent words in 8 bits.

        :raises InputError: a file that is missing or of another format.
        """
        where = path(SHIPPED) if file is None else Path(file)
        if not where.is_file():
            raise InputError(
                f"{where}: no such file of word vectors; make one with python -m gumption.data.make_word_vectors"
            )
        try:
            keyed = KeyedVectors.load_word2vec_format(str(where), binary=True)
            _check_length(where, keyed)
        except (ValueError, EOFError) as error:
            raise InputError(f"{where}: not word vectors in word2vec's binary format ({error})") from None
        if file is None:
            with np.load(path(FREQUENT)) as frequent:
                words = frequent["words"].tobytes().decode().split("\n")
                new = [row for row, word in enumerate(words) if word not in keyed.key_to_index]
                vectors = frequent["numbers"][new].astype(np.float32) * frequent["scale"][new, None]
            keyed.add_vectors([words[row] for row in new], vectors)
        return cls(keyed, where.name)

    def unknown(self, labels: Sequence[str]) -> dict[str, list[str]]:
        """The labels with parts that have no vector -> those parts. A label all of whose parts are unknown has none."""
        return {label: parts for label in labels if (parts := label_words(label, self.keyed.key_to_index)[1])}

    def vectors(self, labels: Sequence[str]) -> np.ndarray:
        """(n, dimensions) float32, in the order of the labels. Unknown parts of a label that has others are left out.

        :raises InputError: labels none of whose parts has a vector; nothing is silently zero.
        """
        rows = np.empty((len(labels), self.keyed.vector_size), dtype=np.float32)
        without = []
        for row, label in zip(rows, labels, strict=True):
            words, _ = label_words(label, self.keyed.key_to_index)
            if words:
                row[:] = np.mean([self.keyed[word] for word in words], axis=0)
            else:
                without.append(label)
        if without:
            listed = ", ".join(map(repr, without[:8])) + (" ..." if len(without) > 8 else "")
            raise InputError(
                f"{self.source} has no word vector for {len(without)} of {len(labels)} labels: {listed}. Make a file "
                "with them by python -m gumption.data.make_word_vectors"
            )
        return rows

    def guessed_vectors(self, labels: Sequence[str], spelling: bool = False) -> tuple[np.ndarray, VectorReport]:
        """(n, dimensions) float32 for any labels, and how those got theirs that have none of their own.

        A label for which `vectors` finds words has the same numbers here. For any other it is the first that there is
        of: the mean over its parts, split also at underscores, digits and capitals ("iceCream_2"), or over their
        dictionary forms; a draw from a normal distribution, seeded by the label, as long as the vectors of the file are
        in the median.

        :param spelling: before a draw, take the mean over the words that are one letter away from its words (one put
            in, left out, changed or two swapped), for words of four letters or more. Such words may mean another thing
            ("beef", "bee").
        """
        known = self.keyed.key_to_index
        rows = np.empty((len(labels), self.keyed.vector_size), dtype=np.float32)
        by_parts: dict[str, tuple[str, ...]] = {}
        by_spelling: dict[str, tuple[str, ...]] = {}
        drawn: list[str] = []
        for row, label in zip(rows, labels, strict=True):
            words, unknown = label_words(label, known)
            if unknown:
                words = words or self._parts(label)
                kept = by_parts
                if not words and spelling:
                    words, kept = self._misspelt(label), by_spelling
                if words:
                    kept[label] = tuple(words)
            if words:
                row[:] = np.mean([self.keyed[word] for word in words], axis=0)
            else:
                drawn.append(label)
                row[:] = self._drawn(label)
        return rows, VectorReport(len(labels), by_parts, by_spelling, tuple(drawn))

    def _parts(self, label: str) -> list[str]:
        from simplemma import lemmatize

        known = self.keyed.key_to_index
        split = _CASES.sub(" ", label)
        lemmas = (lemmatize(token, lang="en").lower() for token in tokens(split))
        return label_words(split, known)[0] or [lemma for lemma in lemmas if lemma in known]

    def _misspelt(self, label: str) -> list[str]:
        found = (self._nearest(token) for token in tokens(_CASES.sub(" ", label)))
        return [word for word in found if word is not None]

    def _nearest(self, token: str) -> str | None:
        """The known word one letter away; of several one with the same first letter, then the first in the file."""
        if len(token) < SHORTEST_MISSPELT:
            return None
        known = cast("Mapping[str, int]", self.keyed.key_to_index)
        near = [word for word in _one_letter_away(token) if word in known]
        return min(near, key=lambda word: (word[:1] != token[:1], known[word]), default=None)

    def _drawn(self, label: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")
        vector = np.random.Generator(np.random.PCG64(seed)).normal(size=self.keyed.vector_size)
        return np.multiply(vector, self._length / np.linalg.norm(vector))

    @cached_property
    def _length(self) -> float:
        return float(np.median(np.linalg.norm(self.keyed.vectors, axis=1)))


def _one_letter_away(word: str) -> Iterator[str]:
    letters = sorted({*string.ascii_lowercase, *word})
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in letters:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]


def _listed(labels: Sequence[str] | dict[str, tuple[str, ...]]) -> str:
    shown = list(labels)[:_EXAMPLES]
    return ", ".join(shown) + (", ..." if len(labels) > _EXAMPLES else "")


def _check_length(file: Path, keyed: KeyedVectors) -> None:
    """Refuse a file that goes on after its last vector: word2vec's text format, which is else read as if binary."""
    with file.open("rb") as content:
        header = len(content.readline())
    words = sum(len(str(word).encode()) + 1 for word in keyed.key_to_index)
    rest = file.stat().st_size - header - words - keyed.vectors.nbytes
    if rest not in (0, len(keyed)):  # some writers end each vector with a newline
        raise ValueError(f"{rest} bytes are left after {len(keyed)} words with {keyed.vector_size} numbers each")
