"""Word vectors of labels agree with gensim, and nothing without a vector is silently zero."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gumption.data import InputError, path
from gumption.envs.wordcraft import RecipeBook
from gumption.kg import WordVectors
from gumption.kg.sources.words import GuessedVectors
from tests.processor import cost

WORDS = ["acid", "fire", "rain", "ray", "station", "x-ray"]


@pytest.fixture(scope="module")
def gensim_vectors() -> KeyedVectors:
    keyed = KeyedVectors(5)
    keyed.add_vectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32))
    return keyed


@pytest.fixture
def words(gensim_vectors: KeyedVectors, tmp_path: Path) -> WordVectors:
    gensim_vectors.save_word2vec_format(str(tmp_path / "small.bin"), binary=True)
    return WordVectors.load(tmp_path / "small.bin")


def test_shipped_vectors_are_those_that_gensim_reads() -> None:
    words = WordVectors.load()
    keyed = KeyedVectors.load_word2vec_format(str(path("glove-100d")), binary=True)
    found = words.vectors(["fire", "water", "Fire"])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [keyed["fire"], keyed["water"], keyed["fire"]])


def test_frequent_words_have_vectors_of_their_own_beside_those_of_the_book() -> None:
    words = WordVectors.load()
    assert len(words.keyed.key_to_index) > 20_000
    assert words.unknown(["beef", "algae", "base", "grandmother"]) == {}
    beef, meat, bee, base, bale = words.vectors(["beef", "meat", "bee", "base", "bale"])

    def cosine(one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    assert cosine(beef, meat) > 0.7 > cosine(beef, bee)
    assert cosine(base, bale) < 0.3


def test_every_entity_of_the_shipped_book_has_a_finite_vector_of_its_own() -> None:
    entities = RecipeBook.load("commonsense").entities
    words = WordVectors.load()
    vectors = words.vectors(entities)
    assert vectors.shape == (len(entities), 100)
    assert np.isfinite(vectors).all()
    assert words.unknown(entities) == {}
    assert len(np.unique(vectors, axis=0)) > 0.98 * len(entities)


def test_a_compound_is_the_mean_of_its_parts(words: WordVectors, gensim_vectors: KeyedVectors) -> None:
    of = gensim_vectors
    expected = {
        "acid rain": (of["acid"] + of["rain"]) / 2,
        "Acid-Rain fire": (of["acid"] + of["rain"] + of["fire"]) / 3,
        "firestation": (of["fire"] + of["station"]) / 2,  # unknown, cut in two known words
        "x-ray": of["x-ray"],  # a label that is a word as it stands is not cut
        "rain zyzzyva": of["rain"],  # an unknown part is left out
    }
    np.testing.assert_allclose(words.vectors(list(expected)), list(expected.values()), rtol=1e-6)
    assert words.unknown([*expected, "zyzzyva"]) == {"rain zyzzyva": ["zyzzyva"], "zyzzyva": ["zyzzyva"]}


def test_labels_without_any_vector_are_named(words: WordVectors) -> None:
    with pytest.raises(InputError, match=r"small\.bin has no word vector for 2 of 3 labels: 'zyzzyva', 'qqq'\. Make"):
        words.vectors(["zyzzyva", "fire", "qqq"])
    many = [f"qqq{number}" for number in range(20)]
    with pytest.raises(InputError, match=r"20 of 20 labels: 'qqq0'.* 'qqq7' \.\.\."):
        words.vectors(many)
    assert words.vectors([]).shape == (0, 5)


def test_a_word_that_is_spelt_alike_is_another_word(words: WordVectors) -> None:
    """Once "beef" had the vector of "bee"."""
    _, report = words.guessed_vectors(["firre", "statoin"])
    assert (report.by_spelling, report.drawn) == ({}, ("firre", "statoin"))


def test_any_label_gets_a_vector_and_it_is_told_how(words: WordVectors, gensim_vectors: KeyedVectors) -> None:
    of = gensim_vectors
    expected = {
        "Acid-Rain fire": (of["acid"] + of["rain"] + of["fire"]) / 3,
        "rain zyzzyva": of["rain"],
        "fireRain2": (of["fire"] + of["rain"]) / 2,
        "fire_station2": (of["fire"] + of["station"]) / 2,
        "stations": of["station"],  # its dictionary form
        "satin ran": None,
        "statoin": of["station"],  # swapped
        "firre": of["fire"],
        "acd rane": None,  # too short, and two letters away
        "zyzzyva": None,
        "!": None,
    }
    labels = list(expected)
    vectors, report = words.guessed_vectors(labels, spelling=True)
    assert vectors.dtype == np.float32
    for label, vector in zip(labels, vectors, strict=True):
        if expected[label] is not None:
            np.testing.assert_allclose(vector, expected[label], rtol=1e-6)
    assert report.by_parts == {
        "rain zyzzyva": ("rain",), "fireRain2": ("fire", "rain"), "fire_station2": ("fire", "station"),
        "stations": ("station",),
    }  # fmt: skip
    assert report.by_spelling == {"statoin": ("station",), "firre": ("fire",)}
    assert report.drawn == ("satin ran", "acd rane", "zyzzyva", "!")
    assert str(report) == (
        "10 of 11 words have no vector of their own: 4 by their parts (rain zyzzyva, fireRain2, fire_station2, ...), "
        "2 by spelling (statoin ~ station, firre ~ fire), 4 drawn at random (satin ran, acd rane, zyzzyva, ...)"
    )
    with pytest.warns(GuessedVectors, match="^10 of 11 words have no vector"):
        report.warn()


def test_drawn_vectors_are_those_of_their_labels_and_as_long_as_others(words: WordVectors) -> None:
    one, _ = words.guessed_vectors(["zyzzyva", "qqq"])
    other, _ = words.guessed_vectors(["qqq", "fire", "zyzzyva"])
    np.testing.assert_array_equal(one, other[[2, 0]])
    assert not np.allclose(one[0], one[1])
    typical = np.median(np.linalg.norm(words.keyed.vectors, axis=1))
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), typical, rtol=1e-5)


def test_words_that_have_vectors_keep_them_to_the_bit() -> None:
    entities = RecipeBook.load("commonsense").entities
    words = WordVectors.load()
    vectors, report = words.guessed_vectors(entities)
    assert vectors.tobytes() == words.vectors(entities).tobytes()
    assert str(report) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report.warn()


def test_many_misspelt_labels_are_quick() -> None:
    words = WordVectors.load()
    assert cost(lambda: words.guessed_vectors([f"zq{number:06}xwv" for number in range(300)])) < 75


def test_files_with_and_without_line_ends_are_read(tmp_path: Path, gensim_vectors: KeyedVectors) -> None:
    file = tmp_path / "lines.bin"  # as word2vec itself writes them
    rows = (word.encode() + b" " + gensim_vectors[word].tobytes() + b"\n" for word in WORDS)
    file.write_bytes(b"6 5\n" + b"".join(rows))
    words = WordVectors.load(file)
    np.testing.assert_array_equal(words.vectors(WORDS), gensim_vectors[WORDS])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.bin: no such file of word vectors; make one with"):
        WordVectors.load(tmp_path / "absent.bin")
    with pytest.raises(InputError, match="no such file of word vectors"):
        WordVectors.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"6 5\nacid ", b"3 100\n" + b"\xff" * 5000, b"PK\x03\x04" * 9])
def test_another_format(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other.bin"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.bin: not word vectors in word2vec's binary format"):
        WordVectors.load(file)


def test_the_text_format_is_not_taken_for_numbers(tmp_path: Path, gensim_vectors: KeyedVectors) -> None:
    file = tmp_path / "small.txt"
    gensim_vectors.save_word2vec_format(str(file), binary=False)
    with pytest.raises(InputError, match="bytes are left after"):
        WordVectors.load(file)
