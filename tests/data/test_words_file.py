"""The shipped word vectors cover the shipped book, and their maker is exact."""

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gumption.data import InputError, manifest, path
from gumption.data.label_words import label_words, tokens, two_parts
from gumption.data.make_word_vectors import DIMENSIONS, book_labels, make, make_frequent

WORDS = {word: np.random.default_rng(seed).normal(size=DIMENSIONS).round(4)
         for seed, word in enumerate(["rain", "fire", "station", "acid", "x-ray", "ray", "unused"])}  # fmt: skip


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    """A GloVe text file of seven words."""
    file = tmp_path / "glove.txt"
    rows = (" ".join([word, *map(str, numbers)]) for word, numbers in WORDS.items())
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.tsv"
    file.write_text(
        "result\tingredient\tingredient\nAcid rain\train\tzyzzyva\nfirestation\tfire\tx-ray\n", encoding="utf-8"
    )
    return file


@pytest.mark.parametrize("entry", manifest.shipped().values(), ids=lambda entry: entry.name)
def test_the_manifest_tells_the_content_of_shipped_files(entry: manifest.Shipped) -> None:
    manifest.verify(entry)


def test_a_changed_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = manifest.shipped()["commonsense"]
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    with pytest.raises(InputError, match="no file"):
        manifest.verify(entry)


def test_every_label_of_the_shipped_book_has_vectors() -> None:
    vectors = KeyedVectors.load_word2vec_format(str(path("glove-100d")), binary=True)
    labels = book_labels(path("commonsense"))
    missing = {label: label_words(label, vectors)[1] for label in labels}
    assert not {label: unknown for label, unknown in missing.items() if unknown}
    assert vectors.vectors.shape[1] == DIMENSIONS
    assert list(vectors.index_to_key) == sorted(vectors.index_to_key)
    # First numbers of the public 100-d vector of "fire": the shipped numbers are GloVe's own.
    np.testing.assert_allclose(vectors["fire"][:3], [-0.26872, -0.15542, -0.23565], atol=1e-6)


def test_the_maker_keeps_the_words_of_the_labels_and_reports_the_rest(tmp_path: Path, glove: Path, book: Path) -> None:
    words, missing = make(glove, [book], tmp_path / "words.bin")
    assert words == ["acid", "fire", "rain", "ray", "station", "x-ray"]
    assert missing == {"zyzzyva": ["zyzzyva"]}
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "words.bin"), binary=True)
    assert list(vectors.index_to_key) == words
    for word in words:
        np.testing.assert_array_equal(vectors[word], WORDS[word].astype(np.float32))


def test_every_form_of_the_source_gives_the_same_bytes(tmp_path: Path, glove: Path, book: Path) -> None:
    zipped, gzipped, as_json = tmp_path / "glove.6B.zip", tmp_path / "glove.txt.gz", tmp_path / "vectors.json"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.write(glove, "glove.6B.100d.txt")
    gzipped.write_bytes(gzip.compress(glove.read_bytes()))
    # This form carries more than the vector after the first 100 numbers.
    as_json.write_text(json.dumps({"vectors": {word: [*numbers, 9.5, 3] for word, numbers in WORDS.items()}}))
    results = []
    for source in (glove, zipped, gzipped, as_json):
        make(source, [book], tmp_path / "words.bin")
        results.append((tmp_path / "words.bin").read_bytes())
    assert len(set(results)) == 1


def test_json_books(tmp_path: Path, glove: Path) -> None:
    book = tmp_path / "book.json"
    book.write_text(
        json.dumps({"entities": {"acid rain": {"id": 0, "recipes": [["rain", "fire"]]}, "rain": {}, "fire": {}}})
    )
    assert make(glove, [book], tmp_path / "words.bin")[0] == ["acid", "fire", "rain"]


def test_the_real_alchemy2_labels(shared_data: Path) -> None:
    assert len(book_labels(shared_data / "alchemy2.json")) == 700


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("book.tsv", "result\tingredient\tingredient\nsteam\tfire\n", r"book.tsv:2: 2 columns"),
        ("book.json", "[]", "found no entities"),
        ("book.json", '{"entities": {"a": {"recipes": 3}}}', "entity 'a': expected"),
    ],
)
def test_a_bad_book(tmp_path: Path, glove: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        make(glove, [tmp_path / name], tmp_path / "words.bin")
    assert not (tmp_path / "words.bin").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short.txt", b"rain 1 2 3\n", "'rain' has 3 numbers"),
        ("words.txt", b"rain " + b"x " * 99 + b"x\n", "'rain' is not all numbers"),
        ("nan.txt", b"rain " + b"nan " * 99 + b"nan\n", "expected 100 finite"),
        ("other.txt", b"zebra 1 2 3\n", "has none of the"),
        ("not.zip", b"rain", "cannot read word vectors"),
        ("not.json", b"rain", "cannot read word vectors"),
        ("not.txt.gz", b"\x1f\x8b rain", "cannot read word vectors"),
    ],
)
def test_a_bad_source(tmp_path: Path, book: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        make(tmp_path / name, [book], tmp_path / "words.bin")
    assert not (tmp_path / "words.bin").exists()


def test_the_maker_as_a_command(tmp_path: Path, glove: Path, book: Path) -> None:
    command = [sys.executable, "-m", "gumption.data.make_word_vectors", "--recipe-book", str(book)]
    command += ["--out", str(tmp_path / "words.bin"), "--source"]
    done = subprocess.run([*command, str(glove)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "no vector: 'zyzzyva' (unknown: zyzzyva)"
    done = subprocess.run([*command, str(tmp_path / "absent.txt")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_frequent_words_keep_their_order_and_are_near_their_vectors(tmp_path: Path, glove: Path) -> None:
    assert make_frequent(glove, 4, tmp_path / "frequent.npz") == ["rain", "fire", "station", "acid"]
    with np.load(tmp_path / "frequent.npz") as made:
        assert made["words"].tobytes() == b"rain\nfire\nstation\nacid"
        assert made["numbers"].dtype == np.int8
        near = made["numbers"] * made["scale"][:, None]
    np.testing.assert_allclose(near, np.stack(list(WORDS.values())[:4]), atol=0.02)
    first = (tmp_path / "frequent.npz").read_bytes()
    make_frequent(glove, 4, tmp_path / "frequent.npz")
    assert (tmp_path / "frequent.npz").read_bytes() == first
    with pytest.raises(InputError, match=r"has 7 words of letters, and --frequent asks for 8"):
        make_frequent(glove, 8, tmp_path / "more.npz")
    assert not (tmp_path / "more.npz").exists()


def test_labels_are_split_in_words() -> None:
    known = {"frankenstein", "monster", "fire", "station", "x-ray", "o"}
    assert tokens("Frankenstein's monster, double-rainbow!") == ["frankenstein", "monster", "double", "rainbow"]
    assert tokens("jack o'lantern") == ["jack", "lantern"]
    assert label_words("z", known) == ([], ["z"])
    assert label_words("X-ray", known) == (["x-ray"], [])
    assert label_words("firestation", known) == (["fire", "station"], [])
    assert label_words("monster qqq", known) == (["monster"], ["qqq"])


def test_the_most_even_cut_comes_first() -> None:
    assert two_parts("abcdefg") == [("abc", "defg"), ("abcd", "efg")]
    assert two_parts("abcde") == []
