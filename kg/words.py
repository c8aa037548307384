"""Word vectors of labels: gensim's KeyedVectors around the shipped file, or around a file of one's own."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

from gumption.data import InputError, path
from gumption.data.label_words import label_words

SHIPPED = "glove-100d"


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
        """Read word2vec's binary format, as `gumption.data.make_word_vectors` writes it; default: the shipped file.

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
                "with them by python -m gumption.data.make_word_vectors, or use features='random'"
            )
        return rows


def _check_length(file: Path, keyed: KeyedVectors) -> None:
    """Refuse a file that goes on after its last vector: word2vec's text format, which is else read as if binary."""
    with file.open("rb") as content:
        header = len(content.readline())
    words = sum(len(str(word).encode()) + 1 for word in keyed.key_to_index)
    rest = file.stat().st_size - header - words - keyed.vectors.nbytes
    if rest not in (0, len(keyed)):  # some writers end each vector with a newline
        raise ValueError(f"{rest} bytes are left after {len(keyed)} words with {keyed.vector_size} numbers each")
