"""Word vectors of labels, from the shipped files or your own file, as gensim's KeyedVectors."""

import hashlib
import re
import string
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from gumption.data import InputError, Note, path
from gumption.data.label_words import label_words, tokens
from gumption.data.settings import checked_methods

SHIPPED = "glove-100d"
FREQUENT = "glove-frequent"  # the 20,000 most frequent words, in 8 bits
SHORTEST_MISSPELT = 4  # letters; shorter words are a letter away from almost any other
_CASES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|[_/]")  # camelCase, word2, snake_case
_EXAMPLES = 3

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


class GuessedVectors(Note):
    """Some labels have no word vector of their own and got a guessed vector."""


@dataclass(frozen=True)
class VectorReport:
    """How vectors were guessed for labels without a word vector of their own.

    :ivar labels: the number of all labels.
    :ivar by_parts: label -> the known words among its parts or their dictionary forms, whose mean is the vector.
    :ivar by_spelling: label -> the known words at a distance of a single letter, whose mean is the vector.
    :ivar drawn: labels with a random vector.
    """

    labels: int
    by_parts: dict[str, tuple[str, ...]]
    by_spelling: dict[str, tuple[str, ...]]
    drawn: tuple[str, ...]

    def __str__(self) -> str:
        """Return a summary in one line, empty if no vector was guessed."""
        near = {f"{label} ~ {' '.join(words)}": words for label, words in self.by_spelling.items()}
        ways = (("by their parts", self.by_parts), ("by spelling", near), ("drawn at random", self.drawn))
        guessed = sum(len(found) for _, found in ways)
        if not guessed:
            return ""
        parts = []
        for how, found in ways:
            if found:
                more = ", ..." if len(found) > _EXAMPLES else ""
                parts.append(f"{len(found)} {how} ({', '.join(list(found)[:_EXAMPLES])}{more})")
        return f"{guessed} of {self.labels} words have no vector of their own: {', '.join(parts)}"

    def warn(self) -> None:
        """Warn of guessed vectors, if there are any."""
        if text := str(self):
            warnings.warn(text, GuessedVectors, stacklevel=1)  # always this line, so that Python shows a text once


@checked_methods
class WordVectors:
    """Vectors of words, and of labels made of words.

    A label that is a word of the file has that word's vector. Any other label has the mean over its words, separated by
    spaces and hyphens; an unknown word is split into two known words if possible ("trainyard": train, yard).

    :ivar keyed: the gensim KeyedVectors, for example to query nearest words.
    """

    def __init__(self, keyed: "KeyedVectors", source: str) -> None:
        self.keyed = keyed
        self.source = source

    @classmethod
    def load(cls, file: str | PathLike[str] | None = None) -> "WordVectors":
        """Read word2vec's binary format, written by `gumption.data.make_word_vectors`. By default, read the shipped
        GloVe vectors of the words of the commonsense book, and of the 20,000 most frequent words in 8 bits.

        :raises InputError: a file that is missing or of another format.
        """
        from gensim.models import KeyedVectors  # takes half a second, and few runs read vectors

        where = path(SHIPPED) if file is None else Path(file)
        if not where.is_file():
            raise InputError(
                f"{where}: no such file of word vectors; make one with python -m gumption.data.make_word_vectors"
            )
        try:
            keyed = KeyedVectors.load_word2vec_format(str(where), binary=True)
            words, at_end = "".join(f"{word} " for word in keyed.key_to_index), where.stat().st_size
            with where.open("rb") as content:
                rest = at_end - len(content.readline()) - len(words.encode()) - keyed.vectors.nbytes
            # Some writers end each vector with a newline. Other remaining bytes mean that the file is word2vec's text.
            if rest not in (0, len(keyed)):
                raise ValueError(
                    f"{rest} bytes are left after {len(keyed)} words with {keyed.vector_size} numbers each"
                )
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
        """Return label -> its parts without a vector, for the labels with such parts."""
        return {label: parts for label in labels if (parts := label_words(label, self.keyed.key_to_index)[1])}

    def vectors(self, labels: Sequence[str]) -> np.ndarray:
        """Return (n, dimensions) float32, in the order of the labels. Parts without a vector are ignored.

        :raises InputError: labels none of whose parts has a vector.
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
        """Return (n, dimensions) float32 for any labels, and a report on guessed vectors.

        A label with a vector in `vectors` has the same vector here. Any other label gets the mean over its known parts,
        split also at underscores, digits and capitals ("iceCream_2"), or over their dictionary forms; else a normal
        draw, seeded by the label and scaled to the median length of the file's vectors.

        :param spelling: before a draw, take the mean over known words that differ by a single letter (inserted,
            deleted, changed, or two swapped) from words of at least four letters. Meanings may differ ("beef", "bee").
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
                    near = map(self._nearest, tokens(_CASES.sub(" ", label)))
                    words, kept = [word for word in near if word is not None], by_spelling
                if words:
                    kept[label] = tuple(words)
            if words:
                row[:] = np.mean([self.keyed[word] for word in words], axis=0)
            else:
                drawn.append(label)
                seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")
                vector = np.random.Generator(np.random.PCG64(seed)).normal(size=self.keyed.vector_size)
                row[:] = np.multiply(vector, self._length / np.linalg.norm(vector))
        return rows, VectorReport(len(labels), by_parts, by_spelling, tuple(drawn))

    def _parts(self, label: str) -> list[str]:
        from simplemma import lemmatize

        known = self.keyed.key_to_index
        split = _CASES.sub(" ", label)
        lemmas = (lemmatize(token, lang="en").lower() for token in tokens(split))
        return label_words(split, known)[0] or [lemma for lemma in lemmas if lemma in known]

    def _nearest(self, token: str) -> str | None:
        """Return the known word that differs by a letter; prefer the same first letter, then the order of the file."""
        if len(token) < SHORTEST_MISSPELT:
            return None
        known = cast("Mapping[str, int]", self.keyed.key_to_index)
        near = [word for word in _one_letter_away(token) if word in known]
        return min(near, key=lambda word: (word[:1] != token[:1], known[word]), default=None)

    @cached_property
    def _length(self) -> float:
        """Return the median length of the file's vectors."""
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
